//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The driver's launch functions as a program that links the driver finds them.
/// The CUDA runtime asks the driver itself, and does not come here.
///
//===----------------------------------------------------------------------===//

#include "DriverTap.h"
#include "Session.h"

#include <dlfcn.h>
#include <mutex>

using namespace mneme;

static std::mutex &foreignLock() {
  static std::mutex &M = *new std::mutex;
  return M;
}

static std::map<std::string, uint64_t> &foreignCounts() {
  static auto &Counts = *new std::map<std::string, uint64_t>;
  return Counts;
}

void mneme::countForeignLaunch(const char *Reason) {
  std::lock_guard<std::mutex> Guard(foreignLock());
  ++foreignCounts()[Reason];
}

std::map<std::string, uint64_t> mneme::foreignLaunches() {
  std::lock_guard<std::mutex> Guard(foreignLock());
  return foreignCounts();
}

#define LAUNCH(Symbol, Reason, Parameters, ...)                                \
  extern "C" __attribute__((visibility("default"))) int Symbol Parameters {    \
    constexpr int NotInitialized = 3; /* CUDA_ERROR_NOT_INITIALIZED */         \
    static auto Original =                                                     \
        reinterpret_cast<int(*) Parameters>(dlsym(RTLD_NEXT, #Symbol));        \
    int E = NotInitialized;                                                    \
    if (Original)                                                              \
      E = Session::get().change(AnyStream,                                     \
                                [&] { return Original(__VA_ARGS__); });        \
    if (!E)                                                                    \
      countForeignLaunch(Reason);                                              \
    return E;                                                                  \
  }
#include "DriverLaunches.def"
