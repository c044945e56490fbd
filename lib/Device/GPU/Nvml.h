//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What NVIDIA's management library tells of a GPU, where there is one.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_NVML_H
#define LLVM_MNEME_LIB_DEVICE_GPU_NVML_H

#include "llvm/Mneme/Device/GPUDevice.h"

namespace llvm {
namespace mneme {

/// The state of the GPU called \p UUID ("GPU-..."); without what the library
/// does not tell, and empty without the library.
GPUState readNvmlState(const std::string &UUID);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_NVML_H
