//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the tap (CudaTap.c) has seen of the driver calls of LLVM's liboffload,
/// and what it must add to the next launch. liboffload exposes neither its
/// stream nor the driver's function handles, and has no timed events.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_CUDATAP_H
#define LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_CUDATAP_H

#ifdef __cplusplus
extern "C" {
#endif

/// Handles are the driver's, results its CUresult.
typedef struct {
  void *Function; ///< Last result of cuModuleGetFunction.
  void *Stream;   ///< Of the last fill or launch.
  int Result;     ///< Of the last launch.
  /// Events to record on the stream immediately before and after the next
  /// launch, which resets them. May be null.
  void *Start, *Stop;
} MnemeCudaTap;

/// \returns the state of the calling thread.
MnemeCudaTap *mneme_cuda_tap(void);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_CUDATAP_H
