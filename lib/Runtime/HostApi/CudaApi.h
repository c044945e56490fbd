//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// How the functions of the CUDA runtime are written here: as hidden rt_<name>,
/// to which Exports.cpp gives their public names.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTAPI_CUDAAPI_H
#define MNEME_LIB_RUNTIME_HOSTAPI_CUDAAPI_H

#include "CudaTypes.h"
#include "Device.h"

/// Exports.cpp refers to these in assembly only, hence used.
#define MNEME_API extern "C" __attribute__((visibility("hidden"), used)) int

namespace mneme {

/// Ends a call that used the device.
inline int done(CudaError E) { return Device::get().result(E); }

/// Ends a call that only asked something: those work after a sticky error.
inline int answered(CudaError E) { return Device::get().setError(E); }

/// Makes the arrays of a copy memory with a pitch, and its elements bytes.
CudaError replaceArrays(CudaMemcpy3DParms &P);

/// Whether \p S is a stream of ours or one of the default streams.
bool isStream(CudaStream *S);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTAPI_CUDAAPI_H
