//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The compiled memory kernels (MemoryKernels.h) for GPUs, contained in every
/// program that links mneme_memory_kernels. Also for the runtime: C, no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_KERNELIMAGES_H
#define LLVM_MNEME_RUNTIME_KERNELIMAGES_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// PTX for sm_70 and later, which the driver compiles for its device. A NUL
/// follows the Size bytes.
extern const char mneme_memory_kernels_ptx[];
extern const uint64_t mneme_memory_kernels_ptx_size;
/// PTX for applications: without mneme_compare, which accounts for most of the
/// driver's compile time.
extern const char mneme_recording_kernels_ptx[];
extern const uint64_t mneme_recording_kernels_ptx_size;

/// An offload bundle of code objects for AMD GPUs, from which HIP takes the one
/// for its device. Empty if they were not built.
extern const char mneme_memory_kernels_hip[];
extern const uint64_t mneme_memory_kernels_hip_size;

/// LLVM bitcode for nvptx64-nvidia-cuda, and for amdgcn-amd-amdhsa without a
/// processor, which is chosen when the bitcode is compiled.
extern const char mneme_memory_kernels_nvptx64_bc[];
extern const uint64_t mneme_memory_kernels_nvptx64_bc_size;
extern const char mneme_memory_kernels_amdgcn_bc[];
extern const uint64_t mneme_memory_kernels_amdgcn_bc_size;

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_KERNELIMAGES_H
