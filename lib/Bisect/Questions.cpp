//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Questions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

/// Steps after which a few known answers are asked for again, and how many of
/// the newest good and bad ones are. Most searches take fewer steps.
static constexpr unsigned StepsPerCheck = 64, MaxKept = 2;

/// Contradictions of a metric that end a search, if they are at least a third
/// of the answers: some are close to the threshold. One of a verdict is enough:
/// the fault is nondeterministic.
static constexpr unsigned MaxContradictions = 3;

Questions::Questions(Judge &J, unsigned MaxSteps, SayFn Say)
    : J(J), MaxSteps(MaxSteps), Say(std::move(Say)), NextCheck(StepsPerCheck) {
  J.Progress = [this](const json::Object &Config, const Judgement &V) {
    describeStep(Config, V);
  };
}

void Questions::say(const Twine &Text) const {
  if (Say)
    Say(Text.str());
}

Expected<std::vector<Answer>> Questions::ask(ArrayRef<json::Object> Configs) {
  if (J.counts().Steps >= MaxSteps)
    Stopped = formatv("the limit of {0} steps was reached", MaxSteps);
  if (!complete())
    return std::vector<Answer>(Configs.size(), Answer::Unresolved);
  Expected<std::vector<Answer>> Answers = J.ask(Configs);
  if (!Answers)
    return Answers.takeError();
  for (auto [Config, A] : zip_equal(Configs, *Answers))
    keep(Config, A);
  if (J.counts().Steps < NextCheck)
    return Answers;
  if (Error E = askAgain())
    return std::move(E);
  NextCheck = J.counts().Steps + StepsPerCheck;
  return Answers;
}

void Questions::keep(const json::Object &Config, Answer A) {
  if (A == Answer::Unresolved)
    return;
  std::vector<json::Object> &Of = Last[A == Answer::Bad];
  if (is_contained(Of, Config))
    return;
  Of.push_back(Config);
  if (Of.size() > MaxKept)
    Of.erase(Of.begin());
}

/// Asks again about both sides and the newest answers.
Error Questions::askAgain() {
  std::vector<json::Object> Configs = {J.goodConfig(), J.badConfig()};
  for (const std::vector<json::Object> &Of : Last)
    append_range(Configs, Of);
  for (auto [I, Config] : enumerate(Configs)) {
    bool IsGoodSide = I == 0;
    const Judgement *Known = IsGoodSide ? &J.good() : J.find(Config);
    // A fault that comes at random need not come again, and metrics are
    // compared with the good side's.
    if (!Known || Known->A == Answer::Unresolved || !complete() ||
        (J.isRandom() && Known->A == Answer::Bad) ||
        (IsGoodSide && !J.what().isVerify()))
      continue;
    Answer Before = Known->A;
    Expected<Judgement> Now = J.judgeAnew(Config);
    if (!Now)
      return Now.takeError();
    ++NumAsked;
    if (Now->A != Answer::Unresolved && Now->A != Before)
      noteContradiction(Config, Before, Now->A);
  }
  return Error::success();
}

static std::string describeConfig(const json::Object &Config) {
  std::string Options = quoteCommand(makeOptions(Config));
  return Options.empty() ? "as given" : Options;
}

void Questions::noteContradiction(const json::Object &Config, Answer Before,
                                  Answer Now) {
  LastContradiction = formatv("{0} was {1}, then {2}",
                              StringRef(describeConfig(Config)).take_front(80),
                              getAnswerName(Before), getAnswerName(Now));
  say("contradiction: " + LastContradiction);
  ++NumContradictions;
  bool IsVerify = J.what().isVerify();
  if (!IsVerify && (NumContradictions < MaxContradictions ||
                    3 * NumContradictions < NumAsked))
    return;
  Stopped = "the answers vary: " + describeVariance();
  // If the good side fails, no other answer says anything.
  if (IsVerify && Config != J.goodConfig())
    Varying = Config;
}

std::optional<json::Object> Questions::takeVarying() {
  if (Varying)
    Stopped.clear();
  for (std::vector<json::Object> &Of : Last)
    Of.clear();
  return std::exchange(Varying, std::nullopt);
}

std::string Questions::describeVariance() const {
  StringRef Cure =
      J.what().isVerify()
          ? "make the kernel's results repeatable (--host-schedule=random:1), "
            "or accept how they vary (--tolerance, --envelope)"
          : "give a larger --threshold or another --criterion, or measure on a "
            "machine without other work";
  if (NumContradictions == 0)
    return Cure.str();
  return formatv("{0} of {1} questions that were asked again had another "
                 "answer, lastly {2}; {3}",
                 NumContradictions, NumAsked, LastContradiction, Cure);
}

Expected<Answer> Questions::ask(const json::Object &Config) {
  Expected<std::vector<Answer>> Answers = ask(ArrayRef(Config));
  if (!Answers)
    return Answers.takeError();
  return Answers->front();
}

std::string mneme::describeReplays(const Judgement &V) {
  if (V.Failures == 0)
    return formatv("{0} of {0} replays verify", V.Replays);
  return formatv("{0} of {1} replays failed", V.Failures, V.Replays);
}

std::string mneme::describeJudgement(const Judgement &V,
                                     const Criterion &What) {
  std::string Text = getAnswerName(V.A).str();
  if (!V.Failure.empty())
    Text += " (" + V.Failure.str() + ")";
  else if (V.Ratio && !What.isVerify())
    Text += formatv(" ({0} x {1:f3})", What.Metric, V.Ratio->Value).str();
  if (!V.Certain)
    Text += ", not significant";
  if (V.Replays > 1)
    Text += ", " + describeReplays(V);
  return Text;
}

void Questions::describeStep(const json::Object &Config,
                             const Judgement &V) const {
  std::string What;
  for (StringRef Key : {"run_passes", "skip_passes"})
    if (std::optional<StringRef> Text = Config.getString(Key)) {
      StringRef Short = *Text;
      What = (StringRef(Key == "run_passes" ? "run " : "skip ") +
              Short.take_front(60) + (Short.size() > 60 ? "..." : ""))
                 .str();
    }
  auto Add = [&](const Twine &More) {
    What += ((What.empty() ? "" : ", ") + More).str();
  };
  if (std::optional<StringRef> Counter = Config.getString("llvm.debug-counter"))
    Add("rewrites " + Counter->take_front(60));
  if (std::optional<StringRef> IR = Config.getString("ir"))
    Add("IR " + sys::path::filename(*IR));
  if (What.empty())
    What = quoteCommand(makeOptions(Config));
  say(formatv("step {0}: {1}: {2}", J.counts().Steps,
              What.empty() ? "as given" : What,
              describeJudgement(V, J.what())));
}
