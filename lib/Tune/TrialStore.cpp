//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TrialStore.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Clock.h"

using namespace llvm;
using namespace llvm::mneme;

/// Largest number of trials in one access to the log.
static constexpr size_t MaxLoggedAtOnce = 64;

Trial *TrialStore::find(uint64_t Number) {
  auto *It =
      llvm::partition_point(MutableArrayRef<Trial>(Trials),
                            [&](const Trial &T) { return T.Number < Number; });
  return It != Trials.data() + Trials.size() && It->Number == Number ? It
                                                                     : nullptr;
}

uint64_t TrialStore::getFreeNumber() const {
  uint64_t Number = Trials.empty() ? 0 : Trials.back().Number + 1;
  if (Number == Trials.size())
    return Number;
  for (const auto &[I, T] : enumerate(Trials))
    if (T.Number != I)
      return I;
  return Number;
}

Trial &TrialStore::add(Trial T) {
  Proposed.insert(Space.digest(T.P));
  NumTrials += T.Kind != TrialKind::Canary;
  auto It = llvm::partition_point(
      Trials, [&](const Trial &Other) { return Other.Number < T.Number; });
  return *Trials.insert(It, std::move(T));
}

void TrialStore::closeRunning() {
  auto IsClosed = [](const Trial &T) {
    return T.Failure == FailureKind::Cancelled;
  };
  for (Trial &T : Trials) {
    if (T.State != TrialState::Running)
      continue;
    T.State = TrialState::Failed;
    T.Failure = FailureKind::Cancelled;
    T.Error = "the study ended before this trial; --resume runs it";
    T.Ended = epochSeconds();
    end(T);
  }
  write();
  // If they cannot be logged now, they stay running in the log.
  llvm::erase_if(Unlogged,
                 [&](uint64_t Number) { return IsClosed(*find(Number)); });
  llvm::erase_if(Trials, IsClosed);
}

void TrialStore::begin(ArrayRef<Trial> Begun) {
  if (Log && !LogFailed)
    consumeError(Log->beginTrials(Begun));
}

void TrialStore::end(const Trial &T) {
  if (Log)
    Unlogged.push_back(T.Number);
}

void TrialStore::write() {
  while (!Unlogged.empty()) {
    SmallVector<const Trial *> Some;
    for (uint64_t Number : Unlogged) {
      Some.push_back(find(Number));
      if (Some.size() == MaxLoggedAtOnce)
        break;
    }
    if (Error Err = Log->addTrials(Some)) {
      if (!LogFailed)
        Note("trials cannot be logged now: " + toString(std::move(Err)));
      else
        consumeError(std::move(Err));
      LogFailed = true;
      return;
    }
    Unlogged.erase(Unlogged.begin(), Unlogged.begin() + Some.size());
  }
  if (LogFailed)
    Note("trials are logged again");
  LogFailed = false;
}

Error TrialStore::addBaseline(const BaselineSample &S) {
  return Log && !LogFailed ? Log->addBaseline(S) : Error::success();
}
