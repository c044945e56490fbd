//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The backend that uses LLVM's liboffload.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADBACKEND_H
#define LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADBACKEND_H

#include "GPUBackend.h"

namespace llvm {
namespace mneme {

/// Returns whether this build can use liboffload.
bool hasOffload();

/// Loads liboffload on the first call. \p Ordinal is the driver's; the device's
/// primary context must be retained and current. Error: also if Mneme was built
/// without liboffload's header.
Expected<std::unique_ptr<GPUBackend>>
createOffloadBackend(const CudaDriver &Driver, unsigned Ordinal);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADBACKEND_H
