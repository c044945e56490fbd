//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinator's comparisons: several candidates in one run process, while
// nothing else runs there.
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Limits samples so that a comparison's result fits into a message. A device
/// may take some more samples than it must.
static constexpr size_t MaxCompareSamples = MaxSamples / 4;

/// Limits requests so that a comparison fits into a message.
static constexpr size_t MaxCompareBytes =
    message::CompareThere::Kind.LineBytes / 2;

/// Runs one iteration of the loop. \returns false if the comparison is to be
/// aborted.
Expected<bool> Coordinator::turn(function_ref<bool()> Stop) {
  bool Ignored = false;
  pump(F.Config.TurnSeconds, -1, Ignored);
  if (Error E = checkAlive())
    return std::move(E);
  return !Stop || !Stop();
}

void Coordinator::pauseCompilers(bool Stop) {
  if (F.Config.PauseCompilesToCompare)
    Compilers.pause(Stop);
}

/// \returns null if there is no device here, or if another program has locked
/// it and other machines have devices. That program may be a worker of this
/// study.
RunnerPool::Device *Coordinator::chooseDevice() const {
  return Runners.chooseDevice(/*MayWait=*/!Others || !Others->capacity());
}

static PairedEvaluation makeFailure(ArrayRef<EvaluationRequest> Requests,
                                    FailureKind Failure, StringRef Error) {
  PairedEvaluation P;
  P.Id = Requests.front().Id;
  P.Failure = Failure;
  P.Error = Error.str();
  return P;
}

static PairedEvaluation makeInterrupted(ArrayRef<EvaluationRequest> Requests) {
  return makeFailure(Requests, PairedEvaluation::Interrupted,
                     "the comparison was interrupted");
}

Expected<PairedEvaluation>
Coordinator::compareHere(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                         function_ref<bool()> Stop) {
  RunnerPool::Comparison Now;
  scope_exit Leave([&] {
    Runners.Current = nullptr;
    for (uint64_t Ticket : Now.Members) {
      Job &J = *Jobs.find(Ticket);
      Jobs.leaveCode(J);
      if (J.State == Job::Waiting || J.State == Job::Compiling)
        llvm::erase(CodeTable::resolve(*J.Code).Waiting, &J);
      Jobs.erase(Ticket);
    }
    Jobs.Codes.shrink();
  });
  for (const EvaluationRequest &R : Requests) {
    Expected<FarmKeys> Keys = F.Backend.keys(R);
    if (!Keys)
      return makeFailure(Requests, FailureKind::Invalid,
                         toString(Keys.takeError()));
    Job &J = Jobs.add(R);
    J.Keys = std::move(*Keys);
    J.ForPair = true;
    Now.Members.push_back(J.Ticket);
    Jobs.admit(J);
  }
  auto Pending = [&](uint64_t Ticket) {
    return Jobs.find(Ticket)->State != Job::Held &&
           Jobs.find(Ticket)->State != Job::Failed;
  };
  // Without a device, nothing is compiled either.
  while (Runners.hasDevice() && any_of(Now.Members, Pending)) {
    Expected<bool> Goes = turn(Stop);
    if (!Goes)
      return Goes.takeError();
    if (!*Goes)
      return makeInterrupted(Requests);
  }
  for (uint64_t Ticket : Now.Members)
    if (Job &J = *Jobs.find(Ticket); J.State == Job::Failed)
      return makeFailure(Requests, J.Failure, J.Error);

  Runners.Current = &Now;
  while (!Now.Result) {
    if (!Now.On || !Now.On->Reason.empty() || !Now.On->Owned)
      Now.On = chooseDevice();
    if (!Now.On)
      return compareOutside(Requests, Rounds, Stop);
    if (!Now.Sent && Runners.isReadyToCompare(*Now.On)) {
      pauseCompilers(true);
      Runners.sendComparison(Now, Rounds);
    }
    Expected<bool> Goes = turn(Stop);
    if (Now.Result || !Now.Sent || !Goes || !*Goes)
      pauseCompilers(false);
    if (!Goes)
      return Goes.takeError();
    if (*Goes || Now.Result)
      continue;
    Runners.breakOff(Now);
    return makeInterrupted(Requests);
  }
  Now.Result->Id = Requests.front().Id;
  return std::move(*Now.Result);
}

Expected<PairedEvaluation>
Coordinator::compareOutside(ArrayRef<EvaluationRequest> Requests,
                            unsigned Rounds, function_ref<bool()> Stop) {
  bool Asked = false;
  while (true) {
    if (!Others)
      return createStringError("there is no device to compare on");
    Asked = Asked || Others->compare(Requests, Rounds);
    if (!Asked && chooseDevice())
      return compareHere(Requests, Rounds, Stop);
    Expected<bool> Goes = turn(Stop);
    if (!Goes)
      return Goes.takeError();
    if (!*Goes) {
      Others->stopComparison();
      return makeInterrupted(Requests);
    }
    if (!Asked)
      continue;
    Expected<std::optional<PairedEvaluation>> P = Others->takeComparison();
    if (!P) {
      F.tell(toString(P.takeError()));
      Asked = false;
    } else if (*P) {
      (*P)->Id = Requests.front().Id;
      return std::move(**P);
    }
  }
}

/// Checks that a comparison and its result fit into messages.
static Error checkComparison(ArrayRef<EvaluationRequest> Requests,
                             unsigned Rounds) {
  size_t Bytes = 0;
  for (const EvaluationRequest &R : Requests) {
    Expected<size_t> Size = checkRequest(R);
    if (!Size)
      return Size.takeError();
    Bytes += *Size;
  }
  if (Requests.size() > MaxCompared || Bytes > MaxCompareBytes ||
      Rounds > MaxCompareSamples / Requests.size())
    return createStringError(formatv("comparing {0} configurations in {1} "
                                     "rounds: more than {2} samples",
                                     Requests.size(), Rounds, MaxCompareSamples)
                                 .str());
  return Error::success();
}

Expected<PairedEvaluation>
Coordinator::comparePaired(ArrayRef<EvaluationRequest> Requests,
                           unsigned Rounds, function_ref<bool()> Stop) {
  if (Requests.empty())
    return PairedEvaluation();
  if (Error E = checkAlive())
    return std::move(E);
  if (Error E = checkComparison(Requests, Rounds))
    return makeFailure(Requests, FailureKind::Invalid, toString(std::move(E)));
  return Runners.hasDevice() ? compareHere(Requests, Rounds, Stop)
                             : compareOutside(Requests, Rounds, Stop);
}
