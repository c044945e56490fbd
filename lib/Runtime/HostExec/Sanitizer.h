//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tells AddressSanitizer of the jumps between stacks. Nothing in other builds.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTEXEC_SANITIZER_H
#define MNEME_LIB_RUNTIME_HOSTEXEC_SANITIZER_H

#include <stddef.h>

#if defined(__SANITIZE_ADDRESS__)
#define MNEME_HOST_ASAN
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define MNEME_HOST_ASAN
#endif
#endif
#if defined(MNEME_HOST_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#endif

namespace mneme {
namespace host {

/// The stack that a worker's scheduler runs on, as AddressSanitizer knows it.
struct SchedulerStackBounds {
  const void *Bottom;
  size_t Size;
  bool InFiber;
};

#if defined(MNEME_HOST_ASAN)
/// A switch between begin and end must not be left by a signal.
constexpr bool SwitchIsBusy = true;
/// About to run on [\p Bottom, +\p Size).
inline void beginSwitch(void **Frames, const void *Bottom, size_t Size) {
  __sanitizer_start_switch_fiber(Frames, Bottom, Size);
}
inline void endSwitch(void *Frames, SchedulerStackBounds *Left) {
  __sanitizer_finish_switch_fiber(Frames, Left ? &Left->Bottom : nullptr,
                                  Left ? &Left->Size : nullptr);
}
/// A launch that failed has left frames on a fiber's stack for good.
inline void forgetFrames(const void *Bottom, size_t Size) {
  __asan_unpoison_memory_region(Bottom, Size);
}
#else
constexpr bool SwitchIsBusy = false;
inline void beginSwitch(void **, const void *, size_t) {}
inline void endSwitch(void *, SchedulerStackBounds *) {}
inline void forgetFrames(const void *, size_t) {}
#endif

} // namespace host
} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTEXEC_SANITIZER_H
