//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Fills the slots of instrumented code with the host device's functions.
/// Functions that the host device lacks are replaced by one that prints an
/// error.
///
//===----------------------------------------------------------------------===//

#include "Device.h"
#include "Message.h"

#include <array>
#include <cstring>
#include <utility>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Missing functions
//===----------------------------------------------------------------------===//

static constexpr size_t MaxMissing = 512;

struct MissingFunction {
  const char *Name; ///< Null if memory was short.
  bool Reported;
};

static std::mutex MissingLock; ///< Protects the following variables.
static MissingFunction Missing[MaxMissing];
static size_t NumMissing = 0;

static int reportMissing(size_t I) {
  std::lock_guard<std::mutex> Guard(MissingLock);
  MissingFunction &F = Missing[I];
  if (!std::exchange(F.Reported, true))
    tell("mneme: error: %s is not available on the host device\n",
         F.Name ? F.Name : "a function");
  return Device::get().setError(cudaErrorNotSupported);
}

// One function per missing name: the call's arguments do not identify the
// function.
template <size_t I> static int missingThunk() { return reportMissing(I); }

template <size_t... I>
static constexpr std::array<int (*)(), sizeof...(I)>
makeThunks(std::index_sequence<I...>) {
  return {{missingThunk<I>...}};
}

static constexpr auto Thunks =
    makeThunks(std::make_index_sequence<MaxMissing>());

static void *missingFunction(const char *Name) {
  std::lock_guard<std::mutex> Guard(MissingLock);
  size_t I = 0;
  while (I != NumMissing && (!Missing[I].Name || strcmp(Missing[I].Name, Name)))
    ++I;
  if (I == MaxMissing)
    I = MaxMissing - 1;
  else if (I == NumMissing)
    // A copy, because the object may be unloaded.
    Missing[NumMissing++] = {strdup(Name), false};
  return reinterpret_cast<void *>(Thunks[I]);
}

//===----------------------------------------------------------------------===//
// Filling slots
//===----------------------------------------------------------------------===//

static bool startsWith(const char *S, const char *Prefix) {
  return !strncmp(S, Prefix, strlen(Prefix));
}

static bool isRuntimeName(const char *Name) {
  while (*Name == '_')
    ++Name;
  return startsWith(Name, "cuda") || startsWith(Name, "hip");
}

void mneme::patchSlots(MnemeHook *Begin, MnemeHook *End) {
  if (Begin < End) {
    TunedKernels::get().start();
    TunedKernels::get().noteKernels();
  }
  for (MnemeHook *H = Begin; H < End; ++H) {
    // Linkers pad merged sections with zeros.
    if (!H->Name)
      continue;
    void *Fn = lookupFunction(H->Name);
    if (!Fn && isRuntimeName(H->Name))
      Fn = missingFunction(H->Name);
    if (Fn && Fn != H->Fn)
      H->Fn = Fn;
  }
}
