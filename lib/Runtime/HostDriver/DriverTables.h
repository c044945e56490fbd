//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the driver of the host device and the tests' emulated driver know of
/// any CUDA driver: errors, and the versions of functions.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTDRIVER_DRIVERTABLES_H
#define MNEME_LIB_RUNTIME_HOSTDRIVER_DRIVERTABLES_H

#include <dlfcn.h>
#include <string>

namespace mneme {

/// Returns null for an invalid error number.
inline const char *nameDriverError(int Code) {
  switch (Code) {
#define ERROR_NAME(Code, Name)                                                 \
  case Code:                                                                   \
    return #Name;
#include "Errors.def"
  default:
    return nullptr;
  }
}

/// Returns the description of an error. Those of driver and runtime with one
/// number are the same; null if the runtime has none.
inline const char *describeDriverError(int Code) {
  switch (Code) {
#define CUDA_ERROR(Code, Name, Text)                                           \
  case Code:                                                                   \
    return Text;
#include "CudaErrors.def"
  default:
    return nullptr;
  }
}

/// Returns true if cuGetProcAddress of a CUDA version returns a function.
inline bool isKnownTo(int Version, const std::string &Name) {
#define SINCE(First, Versioned)                                                \
  if (Name == #Versioned)                                                      \
    return Version >= First;
#include "Versions.def"
  return true;
}

/// Finds the function of \p Library that a program of a CUDA version calls by
/// \p Name. \param PerThread  The program has a default stream per thread.
inline void *findEntryPoint(void *Library, const char *Name, int Version,
                            bool PerThread) {
  for (const char *Suffix : {"_v4", "_v3", "_v2", ""}) {
    std::string Full = std::string(Name) + Suffix;
    if (!isKnownTo(Version, Full))
      continue;
    for (const char *Twin : {"_ptsz", "_ptds", ""})
      if (PerThread || !*Twin)
        if (void *Function = dlsym(Library, (Full + Twin).c_str()))
          return Function;
  }
  return nullptr;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTDRIVER_DRIVERTABLES_H
