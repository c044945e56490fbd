//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Smallest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Mneme/Support/MinimizeSet.h"
#include "llvm/Mneme/Tune/Explain.h"
#include "llvm/Mneme/Tune/FinalTest.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned MaxEvaluations = 100;

namespace {
class WinnerReducer {
public:
  WinnerReducer(Judge &J, const ReducedWinner &W, function_ref<bool()> IsOver)
      : J(J), W(W), IsOver(IsOver), LogSpeedup(std::log(W.J.Speedup->Value)),
        Text(W.Text) {}

  Expected<std::optional<SmallestChange>> run();

private:
  Judge &J;
  const ReducedWinner &W;
  function_ref<bool()> IsOver;
  double LogSpeedup;
  std::string Text;
  InstanceConfigs Configs; ///< Without the source; one per launch of the farm.
  SmallestChange Result;
  unsigned Evaluations = 0;
  std::map<std::string, std::optional<double>> Known;
  StringSet<> SameCode; ///< Keys of changes that compile to the winner's code.

  static std::string makeKey(StringRef Text, const InstanceConfigs &C);
  CandidateConfig configure(StringRef Text, InstanceConfigs C) const;
  Expected<std::optional<double>> measure(StringRef Text,
                                          const InstanceConfigs &C);
  Error reduceText();
  Error reduceConfig();
  Error compareWithWinner(const CandidateConfig &Config);
  Expected<bool> confirm();
};

/// The lines of two texts, as hunks of the difference and what is between them.
class Hunks {
public:
  Hunks(StringRef Before, StringRef After);

  size_t size() const { return NumHunks; }
  /// Returns the first text with some hunks of the second one.
  std::string apply(const BitVector &Kept) const;

private:
  struct Line {
    StringRef Text;
    bool IsOld, IsNew;
    size_t Hunk; ///< Meaningless for lines of both texts.
  };
  std::vector<Line> Lines;
  size_t NumHunks = 0;
};
} // namespace

Hunks::Hunks(StringRef Before, StringRef After) {
  std::vector<StringRef> Old = splitLines(Before), New = splitLines(After);
  std::optional<std::vector<DiffLine>> Diff = compareLines(Old, New);
  if (!Diff)
    return;
  char Last = ' ';
  for (const DiffLine &D : *Diff) {
    if (D.Kind != ' ' && Last == ' ')
      ++NumHunks;
    Last = D.Kind;
    Lines.push_back({D.Kind == '+' ? New[D.B] : Old[D.A], D.Kind != '+',
                     D.Kind != '-', NumHunks - (D.Kind != ' ')});
  }
}

std::string Hunks::apply(const BitVector &Kept) const {
  std::string Text;
  for (const Line &L : Lines)
    if ((L.IsOld && L.IsNew) || (Kept[L.Hunk] ? L.IsNew : L.IsOld))
      Text += (L.Text + "\n").str();
  return Text;
}

CandidateConfig WinnerReducer::configure(StringRef Text,
                                         InstanceConfigs C) const {
  for (json::Object &O : C)
    O["source"] = makeSourceSetting(Text);
  return CandidateConfig(std::move(C));
}

std::string WinnerReducer::makeKey(StringRef Text, const InstanceConfigs &C) {
  std::string Key = Text.str();
  for (const json::Object &O : C)
    Key += formatv("\n{0}", json::Value(json::Object(O))).str();
  return Key;
}

/// Returns the logarithm of a speed-up; unset if a change is wrong, or keeps
/// less than ExplainOptions::Hope in one measurement.
Expected<std::optional<double>>
WinnerReducer::measure(StringRef Text, const InstanceConfigs &C) {
  auto [Entry, IsNew] = Known.try_emplace(makeKey(Text, C));
  if (!IsNew || Evaluations == MaxEvaluations || IsOver())
    return Entry->second;
  ++Evaluations;
  CandidateConfig Config = configure(Text, C);
  Expected<std::vector<Judgement>> Results =
      J.judge(Config, JudgeStage::Measure);
  if (!Results)
    return Results.takeError();
  const Judgement &R = Results->front();
  if (!R.Failure.empty() || !R.Estimate)
    return std::nullopt;
  if (J.training().size() == 1 && R.CodeHash == W.J.CodeHash &&
      printLaunch(Config.of(0)) == printLaunch(W.Config.of(0))) {
    SameCode.insert(Entry->first);
    return Entry->second = LogSpeedup;
  }
  if (std::log(*R.Estimate) < ExplainOptions::Hope * LogSpeedup)
    return std::nullopt;
  Expected<std::vector<RetestedTrial>> Pairs =
      retest(J.makeSetting(ExplainOptions::Rounds), J.makeCase(Config));
  if (!Pairs)
    return Pairs.takeError();
  if (Pairs->front().Failure.empty())
    Entry->second = std::log(Pairs->front().Speedup.Value);
  return Entry->second;
}

Error WinnerReducer::reduceText() {
  Hunks All(W.Start, W.Text);
  Result.Hunks = Result.KeptHunks = All.size();
  Expected<BitVector> Kept = minimizeSet(
      All.size(),
      [&](ArrayRef<BitVector> Sets) -> Expected<std::optional<size_t>> {
        for (auto [I, Set] : enumerate(Sets)) {
          Expected<std::optional<double>> Log =
              measure(All.apply(Set), Configs);
          if (!Log)
            return Log.takeError();
          if (*Log && **Log >= ExplainOptions::DefaultShare * LogSpeedup)
            return I;
        }
        return std::nullopt;
      });
  if (!Kept)
    return Kept.takeError();
  if (Kept->count() == All.size())
    return Error::success();
  Result.KeptHunks = Kept->count();
  Text = All.apply(*Kept);
  return Error::success();
}

Error WinnerReducer::reduceConfig() {
  ExplainOptions EO;
  EO.LogSpeedup = LogSpeedup;
  EO.Limit = MaxEvaluations;
  Expected<MinimalChange> M = findMinimalChange(
      Configs,
      [&](ArrayRef<InstanceConfigs> Some)
          -> Expected<std::vector<std::optional<double>>> {
        std::vector<std::optional<double>> Logs;
        for (const InstanceConfigs &C : Some)
          if (Error E = measure(Text, C).moveInto(Logs.emplace_back()))
            return std::move(E);
        return Logs;
      },
      EO);
  if (!M)
    return M.takeError();
  Configs = M->smallest();
  return Error::success();
}

/// Compares with the winner, in the same pairs. The winner's own code needs no
/// comparison, which could only find noise.
Error WinnerReducer::compareWithWinner(const CandidateConfig &Config) {
  if (SameCode.contains(makeKey(Text, Configs))) {
    Result.Speedup = *W.J.Speedup;
    Result.Kept = 1;
    return Error::success();
  }
  TestCase Cases[] = {J.makeCase(W.Config), J.makeCase(Config)};
  Cases[1].Number = 1;
  Expected<std::vector<RetestedTrial>> All =
      retest(J.makeSetting(W.Rounds), Cases);
  if (!All)
    return All.takeError();
  const RetestedTrial &Whole = (*All)[0], &Part = (*All)[1];
  if (!Whole.Failure.empty() || !Part.Failure.empty())
    return Error::success();
  double Win = std::log(Whole.Speedup.Value);
  if (Win <= 0)
    return Error::success();
  Result.Speedup = Part.Speedup;
  // More than the whole is noise, or a change did harm.
  Result.Kept = std::min(1.0, std::log(Part.Speedup.Value) / Win);
  return Error::success();
}

/// Tests the result on what is held out, too.
Expected<bool> WinnerReducer::confirm() {
  CandidateConfig Config = configure(Text, Configs);
  if (Error E = compareWithWinner(Config))
    return std::move(E);
  if (Result.Kept < ExplainOptions::DefaultShare)
    return false;
  Judgement Final = W.J;
  Final.Failure = FailureKind::None;
  Final.Speedup = Result.Speedup;
  if (Error E = J.testFinalist(Config, Final))
    return std::move(E);
  return Final.passed();
}

Expected<std::optional<SmallestChange>> WinnerReducer::run() {
  for (size_t I = 0; I != J.farm().plans().size(); ++I) {
    Configs.push_back(W.Config.of(I));
    Configs.back().erase("source");
  }
  InstanceConfigs Before = Configs;
  if (Error E = reduceText())
    return std::move(E);
  if (Error E = reduceConfig())
    return std::move(E);
  if (Text == W.Text && Configs == Before)
    return std::nullopt;
  Expected<bool> IsConfirmed = confirm();
  if (!IsConfirmed)
    return IsConfirmed.takeError();
  if (!*IsConfirmed)
    return std::nullopt;
  Result.Text = std::move(Text);
  Result.Config = std::move(Configs.front());
  Result.Evaluations = Evaluations;
  return std::move(Result);
}

Expected<std::optional<SmallestChange>>
mneme::findSmallestChange(Judge &J, const ReducedWinner &W,
                          function_ref<bool()> IsOver) {
  return WinnerReducer(J, W, IsOver).run();
}
