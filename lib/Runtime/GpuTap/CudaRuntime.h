//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The CUDA runtime beside which recording stands. A program may hold several:
/// each object that links it statically has its own.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_CUDARUNTIME_H
#define MNEME_LIB_RUNTIME_GPUTAP_CUDARUNTIME_H

#include "CudaTypes.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"

namespace mneme {

/// A stream in some versions of a function, and something else in others.
struct CudaMaybeStream;

/// One copy of the CUDA runtime, as far as one loaded object calls it: other
/// functions are null.
struct CudaRuntime {
#define TAP(Name, Symbol, Parameters, ...) int(*Name) Parameters;
#define KEEP(Name, Symbol, Parameters) int(*Name) Parameters;
#include "TappedFunctions.def"
};

/// The runtime that the object with these slots calls.
const CudaRuntime &runtimeOf(const MnemeHook *Object);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_CUDARUNTIME_H
