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

/// A comparison's result must fit into a message, where a device may take some
/// more samples than it must.
static constexpr size_t MaxCompareSamples = MaxSamples / 4;

/// The same of its requests.
static constexpr size_t MaxCompareBytes =
    message::CompareThere::Kind.LineBytes / 2;

/// \returns false when the comparison is to be broken off.
Expected<bool> Coordinator::turn(function_ref<bool()> Stop) {
  bool Ignored = false;
  pump(Config.TurnSeconds, -1, Ignored);
  if (Error E = checkAlive())
    return std::move(E);
  return !Stop || !Stop();
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
                     "the comparison was broken off");
}

/// Does nothing run where a comparison is to run?
bool Coordinator::isQuiet() const {
  for (const auto &D : Devices)
    if (isReserved(*D) && D->Active && !D->Active->Sent.empty())
      return false;
  return true;
}

/// Their time does not go on, either.
void Coordinator::pauseCompilers(bool Stop) {
  if (!Config.PauseCompilesToCompare || Stop == Paused.has_value())
    return;
  for (auto &C : Compilers) {
    if (!C->P || C->Ending)
      continue;
    C->P->pause(Stop);
    if (!Stop && C->Deadline)
      *C->Deadline += Clock::now() - *Paused;
  }
  Paused.reset();
  if (Stop)
    Paused = Clock::now();
}

/// Null: there is none here, or somebody else has it while other machines have
/// theirs; that may be a worker of this study.
Coordinator::DeviceSlot *Coordinator::chooseDevice() const {
  DeviceSlot *Locked = nullptr;
  for (const auto &D : Devices) {
    if (!D->Reason.empty())
      continue;
    if (D->Owned)
      return D.get();
    Locked = D.get();
  }
  return Others && Others->capacity() ? nullptr : Locked;
}

/// Its code is there, and nothing else runs.
void Coordinator::sendComparison(Comparison &C, unsigned Rounds) {
  C.Sent = true;
  pauseCompilers(true);
  Runner &R = *C.Device->Active;
  message::Compare M;
  M.Ticket = C.Members.front();
  M.Rounds = Rounds;
  for (uint64_t Ticket : C.Members) {
    Job &J = *find(Ticket);
    sendCode(R, *J.Code);
    EvaluationRequest Request = J.Request;
    Request.LaunchTimeout = getLaunchTimeout(*C.Device, Request);
    R.LaunchLimit = std::max(R.LaunchLimit, Request.LaunchTimeout);
    M.Requests.push_back(std::move(Request));
    M.Hashes.push_back(J.Code->Code.CodeHash);
  }
  R.Comparing =
      Runner::ComparisonSent{M.Ticket, M.Requests.size(), Rounds, Clock::now()};
  setStage(R, "", SetupSeconds + R.LaunchLimit);
  queue(R.P->channel(), M);
}

Expected<PairedEvaluation>
Coordinator::compareHere(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                         function_ref<bool()> Stop) {
  Comparison Now;
  scope_exit Leave([&] {
    Current = nullptr;
    for (uint64_t Ticket : Now.Members) {
      Job &J = *find(Ticket);
      leaveCode(J);
      if (J.State == Job::Waiting || J.State == Job::Compiling)
        erase(CodeTable::resolve(*J.Code).Waiting, &J);
      Jobs.erase(Ticket);
    }
    Codes.shrink();
  });
  for (const EvaluationRequest &R : Requests) {
    Expected<FarmKeys> Keys = Backend.keys(R);
    if (!Keys)
      return makeFailure(Requests, FailureKind::Invalid,
                         toString(Keys.takeError()));
    auto Owned = std::make_unique<Job>();
    Job &J = *Owned;
    J.Ticket = NextTicket++;
    J.Request = R;
    J.Keys = std::move(*Keys);
    J.ForPair = true;
    Jobs[J.Ticket] = std::move(Owned);
    Now.Members.push_back(J.Ticket);
    admit(J);
  }
  auto Pending = [&](uint64_t Ticket) {
    return find(Ticket)->State != Job::Held &&
           find(Ticket)->State != Job::Failed;
  };
  // Where no device is left, nothing is compiled either.
  while (hasDevice() && any_of(Now.Members, Pending)) {
    Expected<bool> Goes = turn(Stop);
    if (!Goes)
      return Goes.takeError();
    if (!*Goes)
      return makeInterrupted(Requests);
  }
  for (uint64_t Ticket : Now.Members)
    if (Job &J = *find(Ticket); J.State == Job::Failed)
      return makeFailure(Requests, J.Failure, J.Error);

  Current = &Now;
  while (!Now.Result) {
    if (!Now.Device || !Now.Device->Reason.empty() || !Now.Device->Owned)
      Now.Device = chooseDevice();
    if (!Now.Device)
      return compareOutside(Requests, Rounds, Stop);
    if (!Now.Sent && isUsable(*Now.Device) && isQuiet())
      sendComparison(Now, Rounds);
    Expected<bool> Goes = turn(Stop);
    if (Now.Result || !Now.Sent || !Goes || !*Goes)
      pauseCompilers(false);
    if (!Goes)
      return Goes.takeError();
    if (*Goes || Now.Result)
      continue;
    // Its process is in the middle of it, and knows nothing of us.
    if (Now.Sent && Now.Device->Active) {
      Now.Device->Active->Spent = true;
      kill(*Now.Device->Active);
    }
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
      tell(toString(P.takeError()));
      Asked = false;
    } else if (*P) {
      (*P)->Id = Requests.front().Id;
      return std::move(**P);
    }
  }
}

/// Do it and its result fit into messages?
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
  return hasDevice() ? compareHere(Requests, Rounds, Stop)
                     : compareOutside(Requests, Rounds, Stop);
}
