//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the tap (HsaTap.c) has seen of the failures that HSA reports to LLVM's
/// liboffload, which would end the process.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_HSATAP_H
#define LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_HSATAP_H

#ifdef __cplusplus
extern "C" {
#endif

/// The first failure of a kernel in this process: 0, or a hsa_status_t. The
/// kernel's queue is dead.
int mneme_hsa_tap_failure(void);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_LIB_DEVICE_GPU_OFFLOADTAP_HSATAP_H
