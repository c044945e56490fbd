//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One launch as the application makes it.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H
#define MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H

#include "CudaRuntime.h"
#include "Recorder.h"

#include <type_traits>

namespace mneme {

struct Launch {
  const CudaRuntime &Runtime;
  const void *Stub;
  LaunchShape Shape;
  CUstream Stream;
  void **Args;
  const char *Obstacle; ///< Why it cannot be recorded, or null.
};

/// Refers to a function without arguments that makes a launch as the
/// application would without Mneme, and returns its error. Does not own the
/// function; a temporary one lives until the call that it is passed to ends.
class OriginalCall {
public:
  template <typename Fn, typename = std::enable_if_t<
                             !std::is_same_v<std::decay_t<Fn>, OriginalCall>>>
  OriginalCall(Fn &&F)
      : Call([](void *P) {
          return (*static_cast<std::remove_reference_t<Fn> *>(P))();
        }),
        Function(&F) {}
  int operator()() const { return Call(Function); }

private:
  int (*Call)(void *);
  void *Function;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H
