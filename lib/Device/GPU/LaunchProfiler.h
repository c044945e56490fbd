//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What profilers of single launches have in common.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_LAUNCHPROFILER_H
#define LLVM_MNEME_LIB_DEVICE_GPU_LAUNCHPROFILER_H

#include "llvm/Mneme/Runtime/CuptiProfiler.h"
#include "llvm/Support/Error.h"

namespace llvm {
namespace mneme {

class LaunchProfiler {
public:
  virtual ~LaunchProfiler() = default;

  /// A pass is one launch. The device must be idle at its begin and end.
  virtual Error beginPass() = 0;
  virtual Error endPass() = 0;
};

/// Returns an error unless \p R is success: the reason and a fix, if they are
/// known, or what CUPTI cannot do.
Error checkProfiler(cupti::CUptiResult R, const Twine &What,
                    cupti::CUptiResult (*GetResultString)(cupti::CUptiResult,
                                                          const char **));

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_LAUNCHPROFILER_H
