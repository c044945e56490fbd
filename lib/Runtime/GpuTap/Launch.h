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
#include "InterceptedCall.h"
#include "Recorder.h"

namespace mneme {

struct Launch {
  const CudaRuntime &Runtime;
  const void *Stub;
  LaunchShape Shape;
  CUstream Stream;
  void **Args;
  const char *Obstacle; ///< Why it cannot be recorded, or null.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H
