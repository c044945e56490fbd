//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the tap (Tap.c) saw of the driver's functions that LLVM's liboffload
/// called, and what it shall do there: liboffload tells neither its stream nor
/// the driver's function handles, and has no events with times.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_CUDATAP_H
#define LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_CUDATAP_H

#ifdef __cplusplus
extern "C" {
#endif

/// Handles are the driver's, results its CUresult.
typedef struct {
  void *Function; ///< That cuModuleGetFunction gave last.
  void *Stream;   ///< Of the last fill or launch.
  int Result;     ///< Of the last launch.
  /// Events to record on the stream right before and right after the next
  /// launch, which forgets them; null: none.
  void *Start, *Stop;
} MnemeCudaTap;

/// That of the calling thread.
MnemeCudaTap *mneme_cuda_tap(void);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_CUDATAP_H
