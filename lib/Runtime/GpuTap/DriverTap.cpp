//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Exports the driver's launch functions, for programs that link the driver.
/// The CUDA runtime gets these functions from the driver itself, and does not
/// come here.
///
//===----------------------------------------------------------------------===//

#include "DriverTap.h"
#include "TapSession.h"

#include <atomic>
#include <dlfcn.h>

using namespace mneme;

static std::atomic<uint64_t> Counts[2];

void mneme::countForeignLaunch(ForeignLaunch Kind) { ++Counts[int(Kind)]; }

uint64_t mneme::foreignLaunches(ForeignLaunch Kind) {
  return Counts[int(Kind)];
}

#define LAUNCH(Symbol, Kind, Parameters, ...)                                  \
  extern "C" __attribute__((visibility("default"))) int Symbol Parameters {    \
    constexpr int NotInitialized = 3; /* CUDA_ERROR_NOT_INITIALIZED */         \
    static auto Original =                                                     \
        reinterpret_cast<int(*) Parameters>(dlsym(RTLD_NEXT, #Symbol));        \
    int E = NotInitialized;                                                    \
    if (Original)                                                              \
      E = TapSession::get().change(AnyStream,                                  \
                                   [&] { return Original(__VA_ARGS__); });     \
    if (!E)                                                                    \
      countForeignLaunch(ForeignLaunch::Kind);                                 \
    return E;                                                                  \
  }
#include "DriverLaunches.def"
