//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conventions for functions of the CUDA runtime: they are implemented as
/// hidden rt_<name>, and Exports.cpp defines their public names.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTAPI_CUDAAPI_H
#define MNEME_LIB_RUNTIME_HOSTAPI_CUDAAPI_H

#include "CudaTypes.h"
#include "Device.h"

/// Only assembly in Exports.cpp refers to these functions, hence "used".
#define MNEME_API extern "C" __attribute__((visibility("hidden"), used)) int

namespace mneme {

/// Returns the result of a call that used the device.
inline int done(CudaError E) { return Device::get().result(E); }

/// Returns the result of a query, which works after a sticky error, too.
inline int answered(CudaError E) { return Device::get().setError(E); }

/// Replaces the arrays of a copy by pitched memory, and elements by bytes.
CudaError replaceArrays(CudaMemcpy3DParms &P);

/// Returns true if the process has loaded the runtime of HIP 5, which differs
/// from HIP 6 in some types and values.
bool isHip5();

/// Returns true if \p S is a stream of this runtime or a default stream.
bool isStream(CudaStream *S);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTAPI_CUDAAPI_H
