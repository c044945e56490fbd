//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "VariableWrites.h"
#include "RelaxedCapture.h"
#include "Shortage.h"

#include <algorithm>
#include <new>

using namespace mneme;

/// Writes that may be under way in all streams. More are not noted.
static constexpr size_t MaxPending = 64;

/// With Lock held.
void WrittenVariable::forgetEnded(const CudaDriver &Driver) {
  auto HasEnded = [&](CUevent Write) {
    CUresult E = Driver.EventQuery(Write);
    if (E && E != CUDA_ERROR_NOT_READY)
      setUnknown();
    if (!E)
      Driver.EventDestroy(Write);
    return !E;
  };
  Pending.erase(std::remove_if(Pending.begin(), Pending.end(), HasEnded),
                Pending.end());
}

bool WrittenVariable::isQuiet(const CudaDriver &Driver) {
  // Before the list: a write is in one of them.
  if (Beginning.load())
    return false;
  RelaxedCapture Relaxed(Driver);
  std::lock_guard<std::mutex> Guard(Lock);
  forgetEnded(Driver);
  return Pending.empty();
}

void WrittenVariable::begin() {
  ++Beginning;
  ++Generation;
}

/// \returns whether isQuiet() will tell when the write has ended.
bool WrittenVariable::noteEnd(const CudaDriver &Driver, CUstream S) {
  constexpr unsigned DisableTiming = 2; // CU_EVENT_DISABLE_TIMING
  int Status = 0;
  // A graph repeats a captured write.
  if (Driver.StreamIsCapturing(S, &Status) || Status)
    return false;
  RelaxedCapture Relaxed(Driver);
  std::lock_guard<std::mutex> Guard(Lock);
  forgetEnded(Driver);
  CUevent New = nullptr;
  if (Pending.size() == MaxPending ||
      !attempt([&] { Pending.reserve(MaxPending); }) ||
      Driver.EventCreate(&New, DisableTiming))
    return false;
  Pending.push_back(New);
  return !Driver.EventRecord(New, S);
}

void WrittenVariable::end(const CudaDriver *Driver, CUstream S) {
  if (!Driver || !noteEnd(*Driver, S))
    setUnknown();
  --Beginning;
}

VariableWrites &VariableWrites::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(VariableWrites) static char Storage[sizeof(VariableWrites)];
  static VariableWrites &W = *new (Storage) VariableWrites;
  return W;
}

WrittenVariable &VariableWrites::find(const void *Shadow) {
  std::lock_guard<std::mutex> Guard(Lock);
  std::unique_ptr<WrittenVariable> &V = Variables[Shadow];
  if (!V)
    V = std::make_unique<WrittenVariable>();
  if (AreLost)
    V->setUnknown();
  return *V;
}

WrittenVariable *VariableWrites::tryToFind(const void *Shadow) {
  WrittenVariable *V = nullptr;
  if (attempt([&] { V = &find(Shadow); }))
    return V;
  AreLost = true;
  std::lock_guard<std::mutex> Guard(Lock);
  for (auto &[Known, Variable] : Variables)
    if (Variable)
      Variable->setUnknown();
  return nullptr;
}
