//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FailingNew.h"
#include <atomic>
#include <cstdlib>
#include <new>

using namespace mneme;

static std::atomic<bool> Armed, All, Failed;
static std::atomic<uint64_t> Left; ///< Allocations before the one that fails.
static thread_local unsigned Pauses;

FailingNew::FailingNew(uint64_t Index, bool AllFollowing) {
  Left = Index;
  All = AllFollowing;
  Failed = false;
  Armed = true;
}

FailingNew::~FailingNew() { Armed = false; }

bool FailingNew::hasFailed() const { return Failed; }

FailingNew::Pause::Pause() { ++Pauses; }
FailingNew::Pause::~Pause() { --Pauses; }

static bool fails() {
  if (!Armed || Pauses || (Failed && !All))
    return false;
  if (!Failed && Left-- != 0)
    return false;
  Failed = true;
  return true;
}

void *operator new(size_t Size) {
  void *P = fails() ? nullptr : std::malloc(Size ? Size : 1);
  if (!P)
    throw std::bad_alloc();
  return P;
}

void operator delete(void *P) noexcept { std::free(P); }
void operator delete(void *P, size_t) noexcept { std::free(P); }
