//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaRuntime.h"
#include "DriverSymbols.h"

#include <cstring>
#include <dlfcn.h>

using namespace mneme;

CudaRuntime mneme::findDriverFunctions() {
  CudaRuntime R = {};
  if (!loadedDriver())
    dlopen(DriverLibraries[0], RTLD_LAZY);
#define TAP(Name, Symbol, Parameters, ...)                                     \
  if (isDriverSymbol(#Symbol))                                                 \
    R.Name = reinterpret_cast<decltype(R.Name)>(findInDriver(#Symbol));
#include "VendorFunctions.def"
  return R;
}

void *mneme::findExported(const char *Symbol) {
  size_t Count;
  const ExportedFunction *F = exportedFunctions(Count);
  for (size_t I = 0; I != Count; ++I)
    if (!strcmp(F[I].Symbol, Symbol))
      return F[I].Function;
  return nullptr;
}
