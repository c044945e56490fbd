//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory for the runtime's exceptions. It replaces libstdc++'s allocation,
/// which calls malloc, then uses a pool that was allocated by malloc, and then
/// ends the program. The runtime throws when memory is short, and catches the
/// exception at once (Shortage.h).
///
//===----------------------------------------------------------------------===//

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <sched.h>

// More threads than are expected to run out of memory at a time.
static constexpr size_t NumSlots = 64;
// Twice the size of libstdc++'s header, which ends where the object begins.
static constexpr size_t HeaderSize = 256;
// A std::system_error has 32 bytes.
static constexpr size_t MaxObject = 256;

namespace {
struct alignas(16) Slot {
  char Header[HeaderSize];
  char Object[MaxObject];
};
} // namespace

static Slot Slots[NumSlots];
static std::atomic<bool> IsTaken[NumSlots];

extern "C" void *__cxa_allocate_exception(size_t Size) noexcept {
  if (Size > MaxObject)
    abort();
  while (true) {
    for (size_t I = 0; I != NumSlots; ++I)
      if (!IsTaken[I].exchange(true)) {
        memset(Slots[I].Header, 0, HeaderSize);
        return Slots[I].Object;
      }
    // Another thread will soon release a slot.
    sched_yield();
  }
}

extern "C" void __cxa_free_exception(void *Object) noexcept {
  size_t Offset = static_cast<char *>(Object) - Slots[0].Object;
  IsTaken[Offset / sizeof(Slot)] = false;
}
