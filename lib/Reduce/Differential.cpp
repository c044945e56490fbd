//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Reduce/Differential.h"
#include "Parts.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Support/FormatVariadic.h"
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

/// Default number of rounds of a paired measurement.
static constexpr unsigned MinRounds = 11;
/// Seed for the order of the rounds.
static constexpr uint64_t RoundSeed = 1;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

namespace {
struct CheckInfo {
  CrossCheck C;
  StringLiteral Name, Description;
};
} // namespace

static constexpr CheckInfo Checks[] = {
#define CROSS_CHECK(NAME, TEXT, DESC) {CrossCheck::NAME, TEXT, DESC},
#include "llvm/Mneme/Reduce/CrossChecks.def"
};

static const CheckInfo &getInfo(CrossCheck C) {
  return Checks[static_cast<size_t>(C)];
}

StringRef mneme::getCrossCheckName(CrossCheck C) { return getInfo(C).Name; }

StringRef mneme::describeCrossCheck(CrossCheck C) {
  return getInfo(C).Description;
}

std::vector<CrossCheck> mneme::getAllCrossChecks() {
  std::vector<CrossCheck> All;
  for (const CheckInfo &I : Checks)
    All.push_back(I.C);
  return All;
}

Expected<std::vector<CrossCheck>> mneme::parseCrossChecks(StringRef Text) {
  std::vector<CrossCheck> Parsed;
  if (Text == "none")
    return Parsed;
  for (StringRef Name : split(Text, ',')) {
    const CheckInfo *I =
        find_if(Checks, [&](const CheckInfo &I) { return I.Name == Name; });
    if (I == std::end(Checks))
      return createStringError(
          formatv("unknown cross-check '{0}': expected 'none' or a list of {1}",
                  Name, printCrossChecks(getAllCrossChecks()))
              .str());
    Parsed.push_back(I->C);
  }
  return Parsed;
}

std::string mneme::printCrossChecks(ArrayRef<CrossCheck> Which) {
  if (Which.empty())
    return "none";
  SmallVector<StringRef> Names;
  for (CrossCheck C : Which)
    Names.push_back(getCrossCheckName(C));
  return join(Names, ",");
}

StringRef mneme::getDifferenceName(Difference D) {
  switch (D) {
  case Difference::None:
    return "none";
  case Difference::Present:
    return "present";
  case Difference::Untestable:
    return "untestable";
  }
  llvm_unreachable("unknown difference");
}

Error mneme::checkCriterion(StringRef By) {
  if (By == "verify" || findMetric(By))
    return Error::success();
  SmallVector<StringRef> Names = {"verify"};
  append_range(Names, getMetricNames());
  return createStringError("cannot compare by '" + By + "': there are " +
                           join(Names, ", "));
}

//===----------------------------------------------------------------------===//
// Comparing
//===----------------------------------------------------------------------===//

namespace {
/// A number that a forked process can set.
class SharedNumber {
public:
  SharedNumber()
      : At(::mmap(nullptr, sizeof(size_t), PROT_READ | PROT_WRITE,
                  MAP_SHARED | MAP_ANONYMOUS, -1, 0)) {}
  SharedNumber(const SharedNumber &) = delete;
  SharedNumber &operator=(const SharedNumber &) = delete;
  ~SharedNumber() {
    if (*this)
      ::munmap(At, sizeof(size_t));
  }
  explicit operator bool() const { return At != MAP_FAILED; }
  size_t &operator*() const { return *static_cast<size_t *>(At); }

private:
  void *At;
};

class Comparison {
public:
  Comparison(const ReplayPlan &Base, const DifferentialOptions &O)
      : Base(Base), O(O) {}

  Expected<DifferentialResult> run();

private:
  const ReplayPlan &Base;
  const DifferentialOptions &O;
  /// A plan whose expected outcome is that of the good side.
  std::unique_ptr<ReplayPlan> Expecting;
  DifferentialResult Result;

  bool byVerdict() const { return O.By == "verify"; }
  ReplayOptions prepare(ReplayOptions Side) const;
  Error runGood();
  Error runBad();
  Error measureBoth(const ReplayPlan &Good, const ReplayPlan &Bad);
  void judgeVerdict();
  void judgeMetric(const ReplayPlan &Good, const ReplayPlan &Bad);
  /// A variant that must leave the same memory as the good side. Check is unset
  /// for the cured bad side.
  struct Variant {
    ReplayOptions Side;
    std::optional<CrossCheck> Check;
  };
  std::vector<Variant> makeVariants() const;
  Error checkGood();
  std::optional<ReplayOptions> getVariant(CrossCheck C) const;
  void set(Difference D, std::string Reason) {
    Result.D = D;
    Result.Reason = std::move(Reason);
  }
};
} // namespace

std::string mneme::describeResult(const ReplayResult &R) {
  std::string Text = getVerdictName(R.V).str();
  return R.Error.empty() ? Text : Text + ": " + R.Error;
}

/// One launch suffices to compare memory. Files are written once, elsewhere.
ReplayOptions Comparison::prepare(ReplayOptions Side) const {
  Side.IRFile = Base.options().IRFile;
  Side.Verify = Side.Execute = true;
  // Both sides begin with the same memory, and poison depends on the results.
  Side.Poison = false;
  // The recorded code gives the results of neither.
  Side.Envelope.Replays = 0;
  Side.Iterations = 1;
  Side.Warmup = 0;
  Side.Adaptive = false;
  Side.Compared = Baseline::None;
  Side.App.clear();
  Side.CompareWithApp.clear();
  Side.OutputIR.clear();
  Side.OutputAsm.clear();
  Side.OutputObject.clear();
  Side.Resources = O.wantsResources();
  return Side;
}

Error Comparison::runGood() {
  Expected<std::unique_ptr<ReplayPlan>> Plan = Base.vary(prepare(O.Good));
  if (!Plan)
    return Plan.takeError();
  Expected<CapturedReplay> R = captureReplay(**Plan);
  if (!R)
    return R.takeError();
  Result.Good = std::move(R->Result);
  if (Result.Good.failed()) {
    set(Difference::Untestable,
        "the good side fails: " + describeResult(Result.Good));
    return Error::success();
  }
  bool IsStable = none_of(Result.Good.Buffers, [](const BufferReport &B) {
    return B.Reproducible && !*B.Reproducible;
  });
  if (!IsStable) {
    set(Difference::Untestable, "the good side gives two results");
    return Error::success();
  }
  Result.Expectation = R->Changed;
  Expecting = Base.withOutcome(std::move(R->Changed));
  return Error::success();
}

Error Comparison::runBad() {
  Expected<std::unique_ptr<ReplayPlan>> Plan =
      Expecting->vary(prepare(Base.options()));
  if (!Plan)
    return Plan.takeError();
  if (O.By == "time") {
    Expected<std::unique_ptr<ReplayPlan>> Good =
        Expecting->vary(prepare(O.Good));
    if (!Good)
      return Good.takeError();
    return measureBoth(**Good, **Plan);
  }
  if (Error E = runIsolatedReplay(**Plan).moveInto(Result.Bad))
    return E;
  if (byVerdict())
    judgeVerdict();
  else
    judgeMetric(**Plan, **Plan);
  return Error::success();
}

void Comparison::judgeVerdict() {
  const ReplayResult &Bad = Result.Bad;
  std::string Text = "the bad side: " + describeResult(Bad);
  if (Bad.verified())
    return set(Difference::None, "both sides leave the same memory");
  if (O.Expected)
    return set(Bad.V == *O.Expected ? Difference::Present
                                    : Difference::Untestable,
               std::move(Text));
  bool HasRun = Bad.V == Verdict::Mismatch || Bad.V == Verdict::Crash ||
                Bad.V == Verdict::Timeout ||
                (O.AnyFailure && Bad.V == Verdict::CompileError);
  set(HasRun ? Difference::Present : Difference::Untestable, std::move(Text));
}

void Comparison::judgeMetric(const ReplayPlan &Good, const ReplayPlan &Bad) {
  if (!Result.Bad.verified())
    return set(Difference::Untestable,
               "the bad side must leave the same memory as the good side: " +
                   describeResult(Result.Bad));
  auto Get = [&](const ReplayPlan &Plan,
                 const ReplayResult &R) -> std::optional<double> {
    StringMap<double> Values = getMetrics(Plan, R);
    auto It = Values.find(O.By);
    return It == Values.end() ? std::nullopt : std::optional(It->second);
  };
  Result.GoodValue = Get(Good, Result.Good);
  Result.BadValue = Get(Bad, Result.Bad);
  if (!Result.GoodValue || !Result.BadValue)
    return set(Difference::Untestable, "nobody tells '" + O.By + "'");
  double G = *Result.GoodValue, B = *Result.BadValue;
  if (G > 0)
    Result.Ratio = RatioEstimate{B / G, B / G, B / G};
  bool Worse = getMetricDirection(O.By) == Direction::Minimize
                   ? B > G && B >= G * (1 + O.Threshold)
                   : B < G && B <= G / (1 + O.Threshold);
  set(Worse ? Difference::Present : Difference::None,
      formatv("{0}: {1} on the bad side, {2} on the good one", O.By,
              json::Value(B), json::Value(G))
          .str());
}

/// Measures both in turns, so that other load of the machine affects both.
Error Comparison::measureBoth(const ReplayPlan &Good, const ReplayPlan &Bad) {
  unsigned Rounds = Base.options().Iterations.value_or(MinRounds);
  auto Body = [&](ReplaySession &Session,
                  ReplaySession::StageFn Report) -> Expected<ReplayResult> {
    Expected<CompiledKernel> GoodCode = Session.compile(Good, Report);
    if (!GoodCode)
      return GoodCode.takeError();
    Expected<CompiledKernel> BadCode = Session.compile(Bad, Report);
    if (!BadCode)
      return BadCode.takeError();
    Expected<PairedResult> Paired = Session.compare(
        {{&Good, &*GoodCode}, {&Bad, &*BadCode}}, Rounds, RoundSeed, Report);
    if (!Paired)
      return Paired.takeError();
    ReplayResult R;
    R.V = Paired->V;
    R.Error = Paired->Error;
    R.CodeHash = BadCode->CodeHash;
    if (Paired->Measured.empty())
      return R;
    R.Compared.emplace();
    R.Compared->Measured = Paired->Measured[0];
    R.Measured = Paired->Measured[1];
    // With equal code, any difference is noise.
    bool Equal = GoodCode->CodeHash == BadCode->CodeHash;
    R.Compared->Speedup =
        Equal ? RatioEstimate()
              : estimatePairedRatio(Paired->Measured[1].Nanoseconds,
                                    Paired->Measured[0].Nanoseconds);
    return R;
  };
  if (Error E = ReplaySession::runIsolated(Bad, Body).moveInto(Result.Bad))
    return E;
  const ReplayResult &R = Result.Bad;
  if (!R.verified() || !R.Compared || !R.Compared->Speedup) {
    set(Difference::Untestable,
        "the bad side must leave the same memory as the good side: " +
            describeResult(R));
    return Error::success();
  }
  Result.Ratio = R.Compared->Speedup;
  Result.GoodValue = summarize(R.Compared->Measured->Nanoseconds).Median;
  Result.BadValue = summarize(R.Measured->Nanoseconds).Median;
  set(Result.Ratio->Low > 1 + O.Threshold ? Difference::Present
                                          : Difference::None,
      formatv("the bad side takes {0:f3} times as long (95 %: {1}), {2:f1} us "
              "instead of {3:f1}",
              Result.Ratio->Value, describeInterval(*Result.Ratio),
              *Result.BadValue / 1000, *Result.GoodValue / 1000)
          .str());
  return Error::success();
}

/// Returns the good side under a variation; unset if it would change nothing.
std::optional<ReplayOptions> Comparison::getVariant(CrossCheck C) const {
  ReplayOptions Side = O.Good;
  auto SetPasses = [&](StringRef Passes) {
    Side.Passes = Passes.str();
    Side.RunPasses.reset();
    Side.SkipPasses.reset();
  };
  switch (C) {
  case CrossCheck::Fill0:
  case CrossCheck::Fill255:
    if (Side.Fill)
      return std::nullopt;
    Side.Fill = C == CrossCheck::Fill0 ? 0 : 255;
    return Side;
  case CrossCheck::NoPasses:
    SetPasses("");
    return Side;
  case CrossCheck::O1:
    SetPasses("default<O1>");
    return Side;
  case CrossCheck::Finish:
    if (Result.Good.Device != "host")
      return std::nullopt;
    Side.Host.Finish = Side.Host.Finish == HostFinish::None ? HostFinish::O3
                                                            : HostFinish::None;
    return Side;
  }
  llvm_unreachable("unknown cross-check");
}

std::vector<Comparison::Variant> Comparison::makeVariants() const {
  std::vector<Variant> Variants;
  if (O.Cured && byVerdict())
    Variants.push_back({*O.Cured, std::nullopt});
  for (CrossCheck C : O.Checks)
    if (std::optional<ReplayOptions> Side = getVariant(C))
      Variants.push_back({std::move(*Side), C});
  return Variants;
}

/// Checks that each variant leaves the same memory as the good side. Runs all
/// variants in one process: most of them pass, and starting a process takes
/// longer than a small kernel.
Error Comparison::checkGood() {
  std::vector<Variant> Variants = makeVariants();
  if (Variants.empty())
    return Error::success();
  SharedNumber Reached;
  if (!Reached)
    return createStringError(errnoAsErrorCode(), "cannot map memory");
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  for (Variant &V : Variants) {
    V.Side = prepare(std::move(V.Side));
    V.Side.Resources = false;
    Plans.emplace_back();
    if (Error E = Expecting->vary(V.Side).moveInto(Plans.back()))
      return E;
  }
  auto Body = [&](ReplaySession &Session,
                  ReplaySession::StageFn Report) -> Expected<ReplayResult> {
    ReplayResult Last;
    for (const std::unique_ptr<ReplayPlan> &Plan : Plans) {
      *Reached = &Plan - &Plans.front();
      Expected<ReplayResult> R = Session.evaluate(*Plan, Report);
      if (!R || !R->verified())
        return R;
      Last = std::move(*R);
    }
    return Last;
  };
  ReplayResult R;
  if (Error E = ReplaySession::runIsolated(*Plans.front(), Body).moveInto(R))
    return E;
  if (R.verified())
    return Error::success();
  const Variant &V = Variants[*Reached];
  Result.Failed = V.Check;
  std::string What = V.Check ? ("the good side gives another result " +
                                describeCrossCheck(*V.Check))
                                   .str()
                             : "the bad side is not good without the culprit";
  set(Difference::Untestable, What + ": " + describeResult(R));
  return Error::success();
}

Expected<DifferentialResult> Comparison::run() {
  if (Error E = runGood())
    return std::move(E);
  if (!Expecting)
    return std::move(Result);
  if (Error E = runBad())
    return std::move(E);
  if (Result.D == Difference::Present)
    if (Error E = checkGood())
      return std::move(E);
  return std::move(Result);
}

Expected<DifferentialResult> mneme::compareSides(const ReplayPlan &Bad,
                                                 const DifferentialOptions &O) {
  if (Error E = checkCriterion(O.By))
    return std::move(E);
  return Comparison(Bad, O).run();
}

/// Returns whether the recorded kernel fails a cross-check, and the good side
/// is right.
static Expected<bool> failsAsRecorded(const ReplayPlan &Bad,
                                      DifferentialOptions O, CrossCheck C) {
  if (C == CrossCheck::Fill0 || C == CrossCheck::Fill255)
    return false;
  ReplayOptions Recorded = Bad.options();
  Recorded.IRFile.clear();
  Expected<std::unique_ptr<ReplayPlan>> Plan = Bad.vary(std::move(Recorded));
  if (!Plan)
    return Plan.takeError();
  O.Good.IRFile.clear();
  O.Cured.reset();
  O.Checks = {C};
  Expected<DifferentialResult> R = compareSides(**Plan, O);
  if (!R)
    return R.takeError();
  return R->Failed == C && R->Good.verified();
}

Expected<DifferentialResult> mneme::compareWithRecorded(const ReplayPlan &Bad,
                                                        DifferentialOptions O) {
  std::string Omitted;
  while (true) {
    Expected<DifferentialResult> R = compareSides(Bad, O);
    if (!R)
      return R;
    bool IsOmitted = false;
    if (R->Failed)
      if (Error E = failsAsRecorded(Bad, O, *R->Failed).moveInto(IsOmitted))
        return std::move(E);
    if (!IsOmitted) {
      R->Reason += Omitted;
      return R;
    }
    Omitted += ("; not checked " + describeCrossCheck(*R->Failed) +
                ": the recorded kernel fails there, too")
                   .str();
    llvm::erase(O.Checks, *R->Failed);
  }
}
