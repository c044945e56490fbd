//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Parts.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Keys of configurations that are about the recorded launch and files.
static bool isOfRecording(StringRef Key) {
  return Key.starts_with("grid.") || Key.starts_with("block.") ||
         getSettingStage(Key) == SettingStage::Input;
}

/// Scripts of a report run in its folder.
static std::string makeAbsolute(StringRef File) {
  SmallString<128> Path(File);
  return sys::fs::make_absolute(Path) ? File.str() : std::string(Path);
}

/// A name without a folder is looked for in PATH.
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

static StringRef getToleranceName(uint32_t Kind) {
  switch (Kind) {
  case MNEME_TOLERANCE_ABS:
    return "abs";
  case MNEME_TOLERANCE_REL:
    return "rel";
  case MNEME_TOLERANCE_ULP:
    return "ulp";
  default:
    return "exact";
  }
}

static std::string atBuffer(StringRef Buffer) {
  return Buffer.empty() ? "" : ("@" + Buffer).str();
}

static std::string printNumber(double Value) {
  return formatv("{0:r}", json::Value(Value)).str();
}

/// What Config.def does not have.
static std::vector<std::string> makeFlags(const ReplayOptions &O) {
  std::vector<std::string> Flags;
  auto Add = [&](StringRef Name, const Twine &Value) {
    Flags.push_back(("--" + Name + "=" + Value).str());
  };
  Add("device", O.Device);
  for (const std::string &Plugin : O.Plugins)
    Add("load-pass-plugin", makeAbsolute(Plugin));
  if (O.Host.Finish != HostFinish::O3)
    Add("host-finish", getHostFinishName(O.Host.Finish));
  if (O.Host.Strategy != HostStrategy::Auto)
    Add("host-strategy", getHostStrategyName(O.Host.Strategy));
  if (O.Cache)
    Add("cache", *O.Cache == CacheMode::Cold ? "cold" : "warm");
  if (O.Assembler != PTXCompiler::Auto)
    Add("ptx-compiler",
        O.Assembler == PTXCompiler::Ptxas ? "ptxas" : "nvptxcompiler");
  if (!O.CudaPath.empty())
    Add("cuda-path", makeAbsolute(O.CudaPath));
  for (const ElementTypeSpec &S : O.ElementTypes)
    Add("dtype", getDTypeName(S.DType) + atBuffer(S.Buffer));
  for (const ToleranceSpec &S : O.Tolerances)
    Add("tolerance",
        getToleranceName(S.Kind) +
            (S.Kind == MNEME_TOLERANCE_EXACT ? ""
                                             : ":" + printNumber(S.Value)) +
            atBuffer(S.Buffer));
  if (O.Norm)
    Add("norm", getNormName(*O.Norm));
  if (O.NaN == NaNRule::Error)
    Add("nan", "error");
  if (O.Fill)
    Add("fill", Twine(static_cast<unsigned>(*O.Fill)));
  if (O.Iterations)
    Add("iterations", Twine(*O.Iterations));
  Add("timeout", printNumber(O.Timeout));
  if (O.LaunchTimeout)
    Add("launch-timeout", printNumber(*O.LaunchTimeout));
  return Flags;
}

std::vector<std::string> mneme::makeArguments(const ReplayOptions &O) {
  std::vector<std::string> Arguments = makeOptions(makeSettings(O));
  llvm::append_range(Arguments, makeFlags(O));
  return Arguments;
}

Expected<std::string> mneme::makeSideText(const ReplayOptions &Side,
                                          const ReplayOptions &Base) {
  json::Object Settings = makeSettings(Side), Common = makeSettings(Base);
  for (const auto &KV : Common)
    if (!Settings.get(KV.first))
      return createStringError("the good side cannot be without '" +
                               KV.first.str() + "', which the bad side has");
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
  std::vector<std::string> Words = {Tool.str(), Recording.str()};
  llvm::append_range(Words, makeArguments(Bad.options()));
  auto Add = [&](StringRef Name, const Twine &Value) {
    Words.push_back(("--" + Name + "=" + Value).str());
  };
  Add("differs-from", *Good);
  if (D.By != "verify") {
    Add("differs-by", D.By);
    Add("threshold", printNumber(D.Threshold));
  }
  if (D.Expected)
    Add("differs-as", getVerdictName(*D.Expected));
  if (!O.Culprit.empty())
    Add("culprit", O.Culprit);
  if (D.Checks != getAllCrossChecks())
    Add("cross-checks", printCrossChecks(D.Checks));
  Add("exit-code", "interesting");
  return Words;
}
