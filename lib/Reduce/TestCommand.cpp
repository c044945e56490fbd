//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns true for configuration keys of the recorded launch and of files.
static bool isOfRecording(StringRef Key) {
  return Key.starts_with("grid.") || Key.starts_with("block.") ||
         getSettingStage(Key) == SettingStage::Input;
}

/// Makes a path absolute, because scripts of a report run in its folder.
static std::string makeAbsolute(StringRef File) {
  SmallString<128> Path(File);
  return sys::fs::make_absolute(Path) ? File.str() : std::string(Path);
}

/// Returns true for the path of a program. A name without a folder is looked up
/// in PATH instead.
static bool isPathOfProgram(StringRef Key, const json::Value &V) {
  const SettingInfo *S = findSetting(Key);
  return S && S->Reach == SettingReach::RunsPrograms &&
         V.getAsString().value_or("").contains('/');
}

static json::Object makeSettings(const ReplayOptions &O) {
  json::Object Config = makeConfig(O), Kept;
  for (auto &KV : Config) {
    if (isOfRecording(KV.first))
      continue;
    if (isPathOfProgram(KV.first, KV.second))
      KV.second = makeAbsolute(*KV.second.getAsString());
    Kept[KV.first] = std::move(KV.second);
  }
  return Kept;
}

static std::string printNumber(double Value) {
  return formatv("{0:r}", json::Value(Value)).str();
}

std::vector<std::string> mneme::makeArguments(const ReplayOptions &O) {
  std::vector<std::string> Arguments = makeOptions(makeSettings(O));
  llvm::append_range(Arguments, makeFlags(O));
  auto Add = [&](StringRef Name, const Twine &Value) {
    Arguments.push_back(("--" + Name + "=" + Value).str());
  };
  if (O.Fill)
    Add("fill", Twine(static_cast<unsigned>(*O.Fill)));
  if (O.Iterations)
    Add("iterations", Twine(*O.Iterations));
  Add("timeout", printNumber(O.Timeout));
  if (O.LaunchTimeout)
    Add("launch-timeout", printNumber(*O.LaunchTimeout));
  return Arguments;
}

Expected<std::string> mneme::makeSideText(const ReplayOptions &Side,
                                          const ReplayOptions &Base) {
  json::Object Settings = makeSettings(Side), Common = makeSettings(Base);
  for (const auto &KV : Common)
    if (!Settings.get(KV.first))
      return createStringError("the good side cannot unset '" + KV.first.str() +
                               "', which the bad side sets");
  json::Object Different;
  for (const auto &KV : Settings) {
    const json::Value *Old = Common.get(KV.first);
    if (!Old || *Old != KV.second)
      Different[KV.first] = KV.second;
  }
  return quoteCommand(makeOptions(Different));
}

Expected<std::vector<std::string>>
mneme::makeTestCommand(const ReplayPlan &Bad, const ReduceOptions &O,
                       StringRef Tool, StringRef Recording) {
  const DifferentialOptions &D = O.Difference;
  Expected<std::string> Good = makeSideText(D.Good, Bad.options());
  if (!Good)
    return Good.takeError();
  std::vector<std::string> Words = {Tool.str(), "compare", Recording.str()};
  llvm::append_range(Words, makeArguments(Bad.options()));
  auto Add = [&](StringRef Name, const Twine &Value) {
    Words.push_back(("--" + Name + "=" + Value).str());
  };
  Add("good", *Good);
  if (D.By != "verify") {
    Add("criterion", D.By);
    Add("threshold", printNumber(D.Threshold));
  }
  if (D.Resources)
    Words.push_back("--resources");
  if (D.Expected)
    Add("verdict", getVerdictName(*D.Expected));
  if (!O.Culprit.empty())
    Add("culprit", O.Culprit);
  Add("cross-checks", printCrossChecks(D.Checks));
  Add("exit-code", "interesting");
  return Words;
}
