//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Farm/Assess.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Transforms/Fault.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::getFaultOutcomeName(FaultResult::OutcomeTy O) {
  static constexpr StringLiteral Names[] = {"caught", "missed", "no-place",
                                            "not-run"};
  return Names[O];
}

unsigned Assessment::count(FaultResult::OutcomeTy O) const {
  return count_if(Faults, [&](const FaultResult &F) { return F.Outcome == O; });
}

std::string Assessment::describe() const {
  auto List = [&](FaultResult::OutcomeTy O) {
    std::string Text;
    ListSeparator LS;
    for (const FaultResult &F : Faults)
      if (F.Outcome == O)
        Text += (StringRef(LS) + F.Name).str();
    return Text;
  };
  std::string Text =
      formatv("caught {0} of {1} planted faults", caught(), planted()).str();
  if (caught() != planted())
    Text += "; missed " + List(FaultResult::Missed);
  if (count(FaultResult::NotRun))
    Text += "; not run: " + List(FaultResult::NotRun);
  return Text;
}

json::Value mneme::toJSON(const Assessment &A) {
  json::Array Faults;
  for (const FaultResult &F : A.Faults)
    Faults.push_back(json::Object{{"fault", F.Name},
                                  {"outcome", getFaultOutcomeName(F.Outcome)},
                                  {"reason", orNull(F.Reason)}});
  return json::Object{{"caught", A.caught()},
                      {"planted", A.planted()},
                      {"faults", std::move(Faults)}};
}

namespace {
class Assessor {
public:
  Assessor(Evaluator &E, const AssessOptions &O) : E(E), O(O) {}
  Expected<Assessment> run();

private:
  Evaluator &E;
  const AssessOptions &O;
  std::chrono::steady_clock::time_point Begin =
      std::chrono::steady_clock::now();
  /// The id of the unchanged kernel's request; the planted faults have the ids
  /// after it. A search in the same farm numbers its requests from 1.
  static constexpr uint64_t FirstId = uint64_t(1) << 40;
  std::map<uint64_t, Evaluation> Results;

  double secondsLeft() const;
  Error submit(uint64_t Id, StringRef Fault, double LaunchTimeout);
  Error waitForAll(size_t Count);
  FaultResult judge(StringRef Name, uint64_t Id) const;
};
} // namespace

double Assessor::secondsLeft() const {
  if (O.Interrupts && *O.Interrupts)
    return 0;
  if (O.Seconds <= 0)
    return std::numeric_limits<double>::infinity();
  return O.Seconds - secondsSince(Begin);
}

Error Assessor::submit(uint64_t Id, StringRef Fault, double LaunchTimeout) {
  EvaluationRequest R;
  R.Id = Id;
  R.Instance = O.Instance;
  R.Measure = false;
  R.LaunchTimeout = LaunchTimeout;
  std::string Passes = O.Pipeline;
  if (!Fault.empty())
    Passes += (",mneme-fault<" + Fault + ">").str();
  R.Config["passes"] = std::move(Passes);
  return E.submit(std::move(R));
}

/// Waits for all results, or until there is no time left for requests that have
/// not begun.
Error Assessor::waitForAll(size_t Count) {
  size_t Forgotten = 0;
  while (Results.size() + Forgotten < Count) {
    Expected<std::vector<Evaluation>> Some = E.wait(0.2);
    if (!Some)
      return Some.takeError();
    for (Evaluation &V : *Some)
      Results[V.Id] = std::move(V);
    if (secondsLeft() <= 0)
      Forgotten += E.cancel().size();
  }
  return Error::success();
}

FaultResult Assessor::judge(StringRef Name, uint64_t Id) const {
  FaultResult F;
  F.Name = Name.str();
  auto It = Results.find(Id);
  if (It == Results.end() || It->second.Failure == Evaluation::Cancelled) {
    F.Reason = "no time was left";
    return F;
  }
  const Evaluation &V = It->second;
  if (V.DuplicateOf == FirstId || V.CodeHash == Results.at(FirstId).CodeHash) {
    F.Outcome = FaultResult::NoPlace;
  } else if (V.Failure.empty()) {
    F.Outcome = FaultResult::Missed;
  } else if (V.Failure == FailureKind::Mismatch ||
             V.Failure == FailureKind::Crash ||
             V.Failure == FailureKind::Timeout) {
    F.Outcome = FaultResult::Caught;
    F.Reason = V.Failure.str();
  } else {
    F.Reason = V.Failure.str() + ": " + V.Error;
  }
  return F;
}

Expected<Assessment> Assessor::run() {
  if (Error Err = submit(FirstId, "", 0))
    return std::move(Err);
  if (Error Err = waitForAll(1))
    return std::move(Err);
  auto First = Results.find(FirstId);
  if (First == Results.end())
    return createStringError("no time was left for the recorded kernel");
  const Evaluation &Right = First->second;
  if (!Right.Failure.empty())
    return createStringError(
        formatv("the recorded kernel does not verify ({0}: {1})", Right.Failure,
                Right.Error)
            .str());
  double Limit = std::max(1.0, O.LaunchTimeoutFactor * Right.RunSeconds);
  ArrayRef<FaultInfo> Faults = getFaults();
  for (auto [I, Fault] : enumerate(Faults))
    if (Error Err = submit(FirstId + 1 + I, Fault.Name, Limit))
      return std::move(Err);
  if (Error Err = waitForAll(Faults.size() + 1))
    return std::move(Err);
  Assessment A;
  for (auto [I, Fault] : enumerate(Faults))
    A.Faults.push_back(judge(Fault.Name, FirstId + 1 + I));
  return A;
}

Expected<Assessment> mneme::assess(Evaluator &E, const AssessOptions &O) {
  return Assessor(E, O).run();
}
