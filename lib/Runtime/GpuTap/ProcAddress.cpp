//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Gives programs, and CUDA runtimes, the functions of this library where they
/// ask the driver for its functions: with cuGetProcAddress(), or with dlsym().
///
//===----------------------------------------------------------------------===//

#include "CudaRuntime.h"
#include "DriverSymbols.h"

#include <cstring>
#include <dlfcn.h>

using namespace mneme;

#ifdef MNEME_HIP
extern "C" __attribute__((visibility("default"))) int
hipGetProcAddress(const char *Symbol, void **Function, int HipVersion,
                  uint64_t Flags, int *Status) {
  using GetProcAddress = int (*)(const char *, void **, int, uint64_t, int *);
  void *H = loadedDriver();
  auto Original = reinterpret_cast<GetProcAddress>(
      H ? dlsym(H, "hipGetProcAddress") : nullptr);
  if (!Original)
    return CUDA_ERROR_NOT_INITIALIZED;
  int E = Original(Symbol, Function, HipVersion, Flags, Status);
  if (E || !Symbol || !Function || !*Function)
    return E;
  if (void *Own = functionInPlaceOf(Symbol))
    *Function = Own;
  return E;
}

void *mneme::functionInPlaceOf(const char *Symbol) {
  return !strcmp(Symbol, "hipGetProcAddress")
             ? reinterpret_cast<void *>(hipGetProcAddress)
             : findExported(Symbol);
}
#else
/// The function in place of \p Original, which the driver found for \p Symbol.
static void *findInPlaceOf(void *Original, const char *Symbol, int CudaVersion,
                           uint64_t Flags) {
  size_t Count;
  const ExportedFunction *F = exportedFunctions(Count);
  void *H = loadedDriver();
  size_t Length = strlen(Symbol);
  for (size_t I = 0; I != Count; ++I)
    if (!strncmp(F[I].Symbol, Symbol, Length) &&
        (!F[I].Symbol[Length] || F[I].Symbol[Length] == '_') && H &&
        dlsym(H, F[I].Symbol) == Original)
      return F[I].Function;
  // The driver need not return the addresses of its exported symbols. Programs
  // that ask for versions before CUDA 10.1 are too old to matter.
  constexpr int Newest = 10010;
  constexpr uint64_t PerThread = 2;
  if (CudaVersion < Newest)
    return nullptr;
  for (const char *Version : {"_v2", ""})
    for (const char *Stream : {"_ptsz", "_ptds", ""}) {
      if (*Stream && !(Flags & PerThread))
        continue;
      char Name[96];
      if (Length + 9 > sizeof(Name))
        return nullptr;
      strcpy(Name, Symbol);
      strcat(Name, Version);
      strcat(Name, Stream);
      // The second versions of these came later than those of the rest.
      if (*Version && CudaVersion < 13000 && strstr(Symbol, "BatchAsync"))
        continue;
      if (void *Found = findExported(Name))
        return Found;
    }
  return nullptr;
}

extern "C" {
using GetProcAddress = int (*)(const char *, void **, int, uint64_t);
using GetProcAddressV2 = int (*)(const char *, void **, int, uint64_t, int *);

static int findFor(int E, const char *Symbol, void **Function, int CudaVersion,
                   uint64_t Flags);

__attribute__((visibility("default"))) int cuGetProcAddress(const char *Symbol,
                                                            void **Function,
                                                            int CudaVersion,
                                                            uint64_t Flags) {
  void *H = loadedDriver();
  auto Original = reinterpret_cast<GetProcAddress>(
      H ? dlsym(H, "cuGetProcAddress") : nullptr);
  return Original ? findFor(Original(Symbol, Function, CudaVersion, Flags),
                            Symbol, Function, CudaVersion, Flags)
                  : int(CUDA_ERROR_NOT_INITIALIZED);
}

__attribute__((visibility("default"))) int
cuGetProcAddress_v2(const char *Symbol, void **Function, int CudaVersion,
                    uint64_t Flags, int *Status) {
  void *H = loadedDriver();
  auto Original = reinterpret_cast<GetProcAddressV2>(
      H ? dlsym(H, "cuGetProcAddress_v2") : nullptr);
  return Original
             ? findFor(Original(Symbol, Function, CudaVersion, Flags, Status),
                       Symbol, Function, CudaVersion, Flags)
             : int(CUDA_ERROR_NOT_INITIALIZED);
}
}

/// Puts a function of this library in place of the driver's, if there is one.
static int findFor(int E, const char *Symbol, void **Function, int CudaVersion,
                   uint64_t Flags) {
  if (E || !Symbol || !Function || !*Function)
    return E;
  constexpr int SecondVersion = 12000;
  void *Own = !strcmp(Symbol, "cuGetProcAddress")
                  ? CudaVersion >= SecondVersion
                        ? reinterpret_cast<void *>(cuGetProcAddress_v2)
                        : reinterpret_cast<void *>(cuGetProcAddress)
                  : findInPlaceOf(*Function, Symbol, CudaVersion, Flags);
  if (Own)
    *Function = Own;
  return E;
}

void *mneme::functionInPlaceOf(const char *Symbol) {
  if (!strcmp(Symbol, "cuGetProcAddress_v2"))
    return reinterpret_cast<void *>(cuGetProcAddress_v2);
  if (!strcmp(Symbol, "cuGetProcAddress"))
    return reinterpret_cast<void *>(cuGetProcAddress);
  return findExported(Symbol);
}
#endif
