//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Notifies AddressSanitizer of switches between stacks. Empty in other builds.
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

/// Bounds of the stack of a worker's scheduler.
struct SchedulerStackBounds {
  const void *Bottom;
  size_t Size;
  bool InFiber;
};

#if defined(MNEME_HOST_ASAN)
/// A signal must not leave a switch between begin and end.
constexpr bool SwitchIsBusy = true;
/// Must be called before switching to the stack [\p Bottom, +\p Size).
inline void beginSwitch(void **Frames, const void *Bottom, size_t Size) {
  __sanitizer_start_switch_fiber(Frames, Bottom, Size);
}
inline void endSwitch(void *Frames, SchedulerStackBounds *Left) {
  __sanitizer_finish_switch_fiber(Frames, Left ? &Left->Bottom : nullptr,
                                  Left ? &Left->Size : nullptr);
}
/// Unpoisons a fiber's stack: a failed launch has abandoned frames there.
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
