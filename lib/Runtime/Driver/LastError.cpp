//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LastError.h"
#include "DriverSymbols.h"

#include <atomic>
#include <utility>

using namespace mneme;

/// The error that the program's next hipGetLastError() returns, if HIP has
/// none.
static thread_local int Hidden __attribute__((tls_model("initial-exec"))) = 0;

using ErrorFunction = int (*)();

/// HIP's own function; null while HIP is not loaded.
static ErrorFunction find(std::atomic<ErrorFunction> &Known,
                          const char *Symbol) {
  ErrorFunction F = Known.load(std::memory_order_relaxed);
  if (F)
    return F;
  F = reinterpret_cast<ErrorFunction>(findInDriver(Symbol));
  Known.store(F, std::memory_order_relaxed);
  return F;
}

static ErrorFunction ownGet() {
  static std::atomic<ErrorFunction> Known{nullptr};
  return find(Known, "hipGetLastError");
}

static ErrorFunction ownPeek() {
  static std::atomic<ErrorFunction> Known{nullptr};
  return find(Known, "hipPeekAtLastError");
}

bool LastError::isKnown() { return ownGet() && ownPeek(); }

int LastError::get() {
  int Before = std::exchange(Hidden, 0);
  int E = isKnown() ? ownGet()() : 0;
  return E ? E : Before;
}

int LastError::peek() {
  int E = isKnown() ? ownPeek()() : 0;
  return E ? E : Hidden;
}

void LastError::set(int E) {
  if (ownPeek()() == E) {
    Hidden = 0;
    return;
  }
  ownGet()();
  Hidden = E;
}
