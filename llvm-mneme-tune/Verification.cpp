//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Checks, before the search, whether verification catches faults.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Farm/Assess.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Returns the total time limit of all launches in seconds, a small share of
/// the search.
static double getAssessmentSeconds(const TuneOptions &O) {
  constexpr double Least = 5, Most = 60, ShareOfBudget = 0.1;
  if (!O.Budget)
    return Most;
  // Of an application's kernels, each has a small budget.
  return std::clamp(ShareOfBudget * O.Budget, O.OfApplication ? 0.1 : Least,
                    Most);
}

/// Returns true if an empty kernel verifies. Without a local device, the
/// planted fault "empty" determines that.
static bool isVacuous(const VerificationPower &P, const Assessment *A) {
  if (P.Vacuous || !A)
    return P.isVacuous();
  return any_of(A->Faults, [](const FaultResult &F) {
    return F.Name == "empty" && F.Outcome == FaultResult::Missed;
  });
}

char VacuousLaunches::ID = 0;

/// Fails if \p IsVacuous(index) is true for any launch.
static Error refuseVacuous(const TunedKernel &K,
                           ArrayRef<VerificationPower> Powers,
                           function_ref<bool(size_t)> IsVacuous) {
  std::vector<std::string> Ids;
  std::string Why;
  for (auto [I, P] : enumerate(Powers)) {
    if (!IsVacuous(I))
      continue;
    if (Ids.empty())
      Why = P.Vacuous ? describePower(P)
                      : "verification is vacuous: an empty kernel matched";
    Ids.push_back(K.Instances[I].DynamicHash);
  }
  if (Ids.empty())
    return Error::success();
  return make_error<VacuousLaunches>(std::move(Ids), std::move(Why));
}

/// Returns "caught 27 of 30 planted faults in 3 launches; missed half-precision
/// (3)".
static std::string describeAll(ArrayRef<Assessment> All) {
  if (All.size() == 1)
    return All.front().describe();
  unsigned Caught = 0, Planted = 0;
  std::map<StringRef, unsigned> Missed;
  for (const Assessment &A : All) {
    Caught += A.caught();
    Planted += A.planted();
    for (const FaultResult &F : A.Faults)
      if (F.Outcome == FaultResult::Missed)
        ++Missed[F.Name];
  }
  std::string Text = formatv("caught {0} of {1} planted faults in {2} launches",
                             Caught, Planted, All.size())
                         .str();
  StringRef Separator = "; missed ";
  for (auto [Name, Count] : Missed) {
    Text += formatv("{0}{1} ({2})", Separator, Name, Count).str();
    Separator = ", ";
  }
  return Text;
}

/// Describes the first envelope of results that vary, and counts the others.
static std::string describeEnvelopes(ArrayRef<VerificationPower> Powers) {
  std::string Text;
  unsigned Others = 0;
  for (const VerificationPower &P : Powers) {
    if (!P.varies())
      continue;
    if (Text.empty())
      Text = describeEnvelope(P);
    else
      ++Others;
  }
  return Others ? Text + "; " + formatCount(Others, "more launch") : Text;
}

Expected<StudyVerification>
mneme::checkVerification(const TuneOptions &O, const TunedKernel &K,
                         ReplayFarm &Farm, const std::atomic<int> &Interrupts) {
  StudyVerification V;
  if (!O.Replay.Execute || !O.Replay.Verify)
    return V;
  ArrayRef<VerificationPower> Powers = Farm.powers();
  if (!O.AllowVacuous)
    if (Error E = refuseVacuous(
            K, Powers, [&](size_t I) { return Powers[I].isVacuous(); }))
      return std::move(E);
  for (const VerificationPower &P : Powers)
    if (std::string Advice = adviseJudge(P); !Advice.empty())
      return createStringError(Advice);
  V.Envelope = describeEnvelopes(Powers);
  std::vector<Assessment> All;
  if (O.Assess) {
    AssessOptions A;
    A.Pipeline = getClangPipeline(K.Kernel.OptLevel);
    A.Seconds = getAssessmentSeconds(O) / Powers.size();
    A.Interrupts = &Interrupts;
    for (A.Instance = 0; A.Instance != Powers.size(); ++A.Instance) {
      Expected<Assessment> One = assess(Farm, A);
      if (!One) {
        // The search will report the problem with the recorded kernel.
        consumeError(One.takeError());
        All.clear();
        break;
      }
      All.push_back(std::move(*One));
    }
    CompareLevel Level = CompareLevel::Exact;
    for (const VerificationPower &P : Powers)
      Level = std::max(Level, P.Level);
    if (!All.empty())
      V.Text = describeAll(All);
    if (!All.empty() && Level != CompareLevel::Exact)
      V.Text += ("; compared at the level " + getLevelName(Level)).str();
  }
  auto IsVacuous = [&](size_t I) {
    return isVacuous(Powers[I], All.empty() ? nullptr : &All[I]);
  };
  if (!O.AllowVacuous)
    if (Error E = refuseVacuous(K, Powers, IsVacuous))
      return std::move(E);
  for (auto [I, P] : enumerate(Powers)) {
    const Assessment *A = All.empty() ? nullptr : &All[I];
    json::Object Launch{{"record_id", K.Instances[I].DynamicHash},
                        {"power", toJSON(P)}};
    if (A)
      Launch["assessment"] = toJSON(*A);
    V.Launches.push_back(std::move(Launch));
    if (IsVacuous(I))
      V.Vacuous.push_back(K.Instances[I].DynamicHash);
  }
  return V;
}
