//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Times of kernels as CUPTI, NVIDIA's profiling interface, reports them. It is
/// loaded when it is asked for, like the driver. There is one in a process, for
/// all devices.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_CUPTI_H
#define LLVM_MNEME_LIB_DEVICE_GPU_CUPTI_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace llvm {
namespace mneme {

/// Asks CUPTI to report the kernels of this process, until disableCupti() was
/// called as often as this succeeded.
Error enableCupti();
void disableCupti();

/// The times, in nanoseconds, of all launches of \p Kernel on device \p Ordinal
/// that have been reported since the last call, whose records are forgotten.
/// The device must have finished them. Nothing when there are not exactly
/// \p Launches.
std::optional<double> takeCuptiTime(unsigned Ordinal, StringRef Kernel,
                                    unsigned Launches);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_CUPTI_H
