//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Definitions that the HIP headers of older ROCm releases expect of clang or
/// of the device libraries, and that clang no longer provides. The program
/// printed by llvm-mneme-record --print-config=hipcc includes this file before
/// each HIP source. It defines nothing that clang or the headers have.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_HIP_H
#define MNEME_HIP_H

#if defined(__HIP__) && defined(__cplusplus) && __has_include(<hip/hip_version.h>)
#include <hip/hip_version.h>

// Removed in clang 22, used by headers before ROCm 7. gfx10 and later run waves
// of 32 threads; -DMNEME_WAVE_SIZE=64 goes with -mwavefrontsize64.
#ifndef __AMDGCN_WAVEFRONT_SIZE
#ifdef MNEME_WAVE_SIZE
#define __AMDGCN_WAVEFRONT_SIZE MNEME_WAVE_SIZE
#elif defined(__GFX10__) || defined(__GFX11__) || defined(__GFX12__)
#define __AMDGCN_WAVEFRONT_SIZE 32
#else
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif
#endif
#ifndef __AMDGCN_WAVEFRONT_SIZE__
#define __AMDGCN_WAVEFRONT_SIZE__ __AMDGCN_WAVEFRONT_SIZE
#endif

// In hip.bc, which clang no longer links; the fences of __syncthreads() and
// __threadfence().
#if HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR < 3
#include <hip/amd_detail/device_library_decls.h>
extern "C" inline __attribute__((device, always_inline)) void
__atomic_work_item_fence(__cl_mem_fence_flags, __memory_order,
                         __memory_scope Scope) {
#ifdef __HIP_DEVICE_COMPILE__
  if (Scope == __memory_scope_work_group)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "workgroup");
  else if (Scope == __memory_scope_device)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent");
  else if (Scope == __memory_scope_all_svm_devices)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "");
  else if (Scope == __memory_scope_sub_group)
    __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "wavefront");
#endif
}
#endif

// Older clangs declared these intrinsics.
#if HIP_VERSION_MAJOR < 6
typedef _Float16 mneme_half2 __attribute__((ext_vector_type(2)));
static inline __attribute__((device, always_inline)) _Float16
__llvm_amdgcn_rcp_f16(_Float16 X) {
  return __builtin_amdgcn_rcph(X);
}
static inline __attribute__((device, always_inline)) mneme_half2
__llvm_amdgcn_rcp_2f16(mneme_half2 X) {
  return mneme_half2{__llvm_amdgcn_rcp_f16(X.x), __llvm_amdgcn_rcp_f16(X.y)};
}
#endif

#endif

#endif // MNEME_HIP_H
