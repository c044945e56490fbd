//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Sizes of the probe kernels (lib/Runtime/Kernels/ProbeKernels.cpp), and their
/// bitcode: for nvptx64-nvidia-cuda, and for amdgcn-amd-amdhsa without a
/// processor. Every kernel is void(In, Out, uint64_t Count, uint64_t Rounds,
/// uint64_t Stride).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_PROBEKERNELS_H
#define LLVM_MNEME_RUNTIME_PROBEKERNELS_H

#include <stdint.h>

#define MNEME_PROBE_BLOCK 256    /**< Threads of a block. */
#define MNEME_PROBE_VECTOR 32    /**< Bytes of an element of memory. */
#define MNEME_PROBE_PER_THREAD 4 /**< Elements of a thread. */
#define MNEME_PROBE_CHAINS 16    /**< Independent operations of a step. */
#define MNEME_PROBE_STEPS 8      /**< Steps of a round. */

#ifdef __cplusplus
extern "C" {
#endif

extern const char mneme_probe_kernels_nvptx64_bc[];
extern const uint64_t mneme_probe_kernels_nvptx64_bc_size;
extern const char mneme_probe_kernels_amdgcn_bc[];
extern const uint64_t mneme_probe_kernels_amdgcn_bc_size;

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_PROBEKERNELS_H
