//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// State of a GPU from NVIDIA's management library, if that is installed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_NVML_H
#define LLVM_MNEME_LIB_DEVICE_GPU_NVML_H

#include "llvm/Mneme/Device/GPUDevice.h"

namespace llvm {
namespace mneme {

/// \returns the state of the GPU \p UUID ("GPU-..."), without values that the
/// library does not report, and empty without the library.
GPUState readNvmlState(const std::string &UUID);

/// \returns the joules that the GPU has used since the driver was loaded; unset
/// if the library does not report them.
std::optional<double> readNvmlEnergy(const std::string &UUID);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_NVML_H
