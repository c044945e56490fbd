//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The application's CUDA runtime, or HIP, whose calls are intercepted. A
/// program may have several: each object that links the runtime statically has
/// its own. The driver's functions are in the same structure.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_CUDARUNTIME_H
#define MNEME_LIB_RUNTIME_DRIVER_CUDARUNTIME_H

#include "CudaTypes.h"
#include "Vendor.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"

namespace mneme {

/// The functions of one CUDA runtime, or of HIP, that a loaded object calls.
/// The others are null.
struct CudaRuntime {
#define TAP(Name, Symbol, Parameters, ...) int(*Name) Parameters;
#define KEEP TAP
#define ABSENT(Class, Name, Parameters) Class(Name, , Parameters)
#include "VendorFunctions.def"
};

/// The runtime that the object with the slots \p Object calls.
const CudaRuntime &runtimeOf(const MnemeHook *Object);

CudaRuntime findDriverFunctions();

/// The driver's functions, whatever other libraries of Mneme are in the
/// process. Loads the driver. Null where there is none, or where it lacks them.
inline const CudaRuntime &driverRuntime() {
  static const CudaRuntime R = findDriverFunctions();
  return R;
}

/// A function that is exported in place of the driver's.
struct ExportedFunction {
  const char *Symbol;
  void *Function;
};

/// The functions in place of the driver's, and their number.
const ExportedFunction *exportedFunctions(size_t &Count);

/// The function of exportedFunctions() with this symbol, or null.
void *findExported(const char *Symbol);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_CUDARUNTIME_H
