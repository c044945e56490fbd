//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Questions.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

Questions::Questions(Judge &J, unsigned MaxSteps, SayFn Say)
    : J(J), MaxSteps(MaxSteps), Say(std::move(Say)) {
  J.Progress = [this](const json::Object &Config, const Judgement &V) {
    describeStep(Config, V);
  };
}

void Questions::say(const Twine &Text) const {
  if (Say)
    Say(Text.str());
}

Expected<std::vector<Answer>> Questions::ask(ArrayRef<json::Object> Configs) {
  if (J.counts().Steps < MaxSteps)
    return J.ask(Configs);
  Complete = false;
  return std::vector<Answer>(Configs.size(), Answer::Unresolved);
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
