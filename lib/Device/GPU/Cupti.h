//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernel times from CUPTI, NVIDIA's profiling interface. Like the driver, it
/// is loaded on demand. A process has one instance, for all devices.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_CUPTI_H
#define LLVM_MNEME_LIB_DEVICE_GPU_CUPTI_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace llvm {
namespace mneme {

/// Asks CUPTI to report the kernels of this process. Call disableCupti() once
/// for each success.
Error enableCupti();
void disableCupti();

/// \returns the total time, in nanoseconds, of the launches of \p Kernel on
/// device \p Ordinal that were reported since the last call, and drops the
/// device's records. The device must have finished the launches. Returns
/// std::nullopt if their number is not \p Launches.
std::optional<double> takeCuptiTime(unsigned Ordinal, StringRef Kernel,
                                    unsigned Launches);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_CUPTI_H
