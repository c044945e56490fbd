//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Exports.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static json::Object makeDims(const Dim3 &D) {
  return json::Object{{"x", D.X}, {"y", D.Y}, {"z", D.Z}};
}

void WinnerRecord::setRecording(const RecordedKernel &K,
                                ArrayRef<RecordedInstance> Instances) {
  Kernel = K.KernelName;
  DemangledName = K.DemangledName;
  StaticHash = K.StaticHash;
  Arch = K.Arch;
  OptLevel = K.OptLevel;
  for (const RecordedInstance &I : Instances)
    Launches.push_back(json::Object{{"record_id", I.DynamicHash},
                                    {"grid", makeDims(I.Grid)},
                                    {"block", makeDims(I.Block)},
                                    {"shared_mem", I.SharedMem}});
  Toolchain = json::Object{{"mneme", getVersion()},
                           {"llvm", LLVM_VERSION_STRING},
                           {"application", K.Toolchain}};
}

const Trial *WinnerRecord::findTrial(uint64_t Number) const {
  auto It = find_if(Trials, [&](const Trial &T) { return T.Number == Number; });
  return It == Trials.end() ? nullptr : &*It;
}

const Trial *WinnerRecord::winner() const {
  std::optional<uint64_t> Number = Outcome.winner();
  return Number ? findTrial(*Number) : nullptr;
}

json::Object WinnerRecord::withBase(const json::Object &Config) const {
  json::Object Whole(Config);
  for (const auto &[Key, V] : Base)
    Whole.try_emplace(Key, V);
  return Whole;
}

json::Object WinnerRecord::withControls(const json::Object &Config) const {
  json::Object Whole = withBase(Config);
  loadControls(Whole, Controls);
  return Whole;
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
enum class Exported { Study, Winner };
struct ExportInfo {
  StringLiteral Name, Extension;
  Error (*Function)(const StudyRecord &R, StringRef Path);
  Exported What;
  StringLiteral Description;
};
} // namespace

static constexpr ExportInfo Infos[] = {
#define EXPORT(Name, Extension, Function, What, Description)                   \
  {Name, Extension, Function, Exported::What, Description},
#include "llvm/Mneme/Report/Exports.def"
};

static const ExportInfo *findExport(StringRef Name) {
  const ExportInfo *It =
      find_if(Infos, [&](const ExportInfo &I) { return I.Name == Name; });
  return It == std::end(Infos) ? nullptr : It;
}

Error mneme::exportStudy(StringRef Format, const StudyRecord &R,
                         StringRef Path) {
  if (const ExportInfo *Info = findExport(Format))
    return Info->Function(R, Path);
  return createStringError(
      "there is no format '" + Format + "': there are " +
      join(map_range(Infos, [](const ExportInfo &I) { return I.Name; }), ", "));
}

std::optional<StringRef> mneme::getExportExtension(StringRef Format) {
  const ExportInfo *Info = findExport(Format);
  return Info ? std::optional<StringRef>(Info->Extension) : std::nullopt;
}

bool mneme::exportsOnlyWinner(StringRef Format) {
  const ExportInfo *Info = findExport(Format);
  return Info && Info->What == Exported::Winner;
}

void mneme::listExports(raw_ostream &OS) {
  for (const ExportInfo &I : Infos)
    OS << I.Name << "  " << I.Description << '\n';
}

std::optional<StringRef> mneme::getMetricUnit(StringRef Metric) {
  const MetricInfo *M = findMetric(Metric);
  return M ? std::optional<StringRef>(M->Unit) : std::nullopt;
}

Error mneme::writeJSON(StringRef Path, json::Value V) {
  return writeFileAtomically(Path, formatv("{0:2}\n", V).str());
}

Error mneme::exportPackage(const StudyRecord &R, StringRef Path) {
  if (!R.WritePackage)
    return createFileError(
        Path, createStringError("only llvm-mneme-tune can export a package"));
  return R.WritePackage(Path);
}

//===----------------------------------------------------------------------===//
// best.json
//===----------------------------------------------------------------------===//

static json::Object makeMetrics(const StringMap<double> &Metrics) {
  json::Object O;
  for (const auto &[Name, V] : Metrics)
    O[Name.str()] = V;
  return O;
}

/// Returns median and 95 % interval.
static json::Value summarizeTime(ArrayRef<double> Samples, double Median) {
  if (Samples.empty())
    return Median ? json::Value(Median) : json::Value(nullptr);
  SampleSummary S = summarize(Samples);
  return json::Object{{"median", S.Median}, {"low", S.Low}, {"high", S.High}};
}

/// Returns a trial's configuration and code on one instance: settings that
/// follow from the launch differ, and so does specialized code.
static json::Object makeInstanceCode(const WinnerRecord &R,
                                     const RetestedTrial &T,
                                     unsigned Instance) {
  return json::Object{{"record_id", R.Outcome.Instances[Instance].Id},
                      {"config", R.withControls(T.Configs[Instance])},
                      {"code_hash", orNull(T.CodeHashes[Instance])}};
}

/// Returns the trials that are significantly better for one instance than the
/// common winner.
static json::Array makeInstanceWinners(const WinnerRecord &R) {
  json::Array Winners;
  const FinalTestResult &Final = R.Outcome.Final;
  if (!R.winner() || !Final.isSignificant() || !Final.Winner)
    return Winners;
  const RetestedTrial &Common = Final.Candidates[*Final.Winner];
  for (const InstanceRegret &G : R.Outcome.Regrets) {
    auto Best = find_if(Final.Candidates,
                        [&](const auto &T) { return T.Number == G.BestTrial; });
    if (Best == Final.Candidates.end() || Best->Device != Common.Device ||
        Best->PerInstance[G.Instance].Low <=
            Common.PerInstance[G.Instance].High ||
        compareWithBaseline(Best->PerInstance[G.Instance], Final.MinEffect) !=
            Comparison::Faster)
      continue;
    json::Object Own = makeInstanceCode(R, *Best, G.Instance);
    Own["trial"] = Best->Number;
    Own["speedup"] = toJSON(Best->PerInstance[G.Instance]);
    Winners.push_back(std::move(Own));
  }
  return Winners;
}

json::Object mneme::makeBest(const WinnerRecord &R) {
  const Trial *Winner = R.winner();
  const InstanceOutcome *Instance =
      R.Outcome.Instances.empty() ? nullptr : &R.Outcome.Instances.front();
  json::Object Expected{
      {"time_ns", nullptr}, {"baseline_ns", nullptr}, {"speedup", nullptr}};
  // The winner may have been measured on another device or in an earlier run.
  if (Winner && R.Outcome.Instances.size() == 1 && Winner->BaselineNanoseconds)
    Expected["baseline_ns"] =
        json::Object{{"median", Winner->BaselineNanoseconds}};
  else if (Instance)
    Expected["baseline_ns"] = summarizeTime(Instance->Samples, 0);
  Expected["time_ns"] = Winner ? summarizeTime(Winner->Samples, 0)
                               : json::Value(*Expected.get("baseline_ns"));
  if (Winner && R.Outcome.Final.Confirmed) {
    const RetestedTrial &C = *R.Outcome.Final.Confirmed;
    Expected["speedup"] = toJSON(C.Speedup);
    if (C.OtherCacheSpeedup)
      Expected["other_cache"] =
          toJSON(*C.OtherCacheSpeedup, R.Outcome.Final.OtherCache);
    // Measured side by side, unlike the times of the search.
    Expected["retest"] = json::Object{{"time_ns", C.Nanoseconds},
                                      {"baseline_ns", C.BaselineNanoseconds}};
  }
  json::Array RecordIds;
  for (const InstanceOutcome &I : R.Outcome.Instances)
    RecordIds.push_back(I.Id);
  json::Object Metrics;
  StringRef CodeHash;
  if (Winner) {
    Metrics = makeMetrics(Winner->Metrics);
    CodeHash = Winner->CodeHash;
  } else if (Instance) {
    Metrics = makeMetrics(Instance->Metrics);
    CodeHash = Instance->CodeHash;
  }
  json::Object Best{
      {"format", "mneme-best"},
      {"version", 1},
      {"kernel", orNull(R.Kernel)},
      {"demangled_name", orNull(R.DemangledName)},
      {"static_hash", orNull(R.StaticHash)},
      {"arch", orNull(R.Arch)},
      {"opt_level", orNull(R.OptLevel)},
      {"launches", json::Array(R.Launches)},
      {"record_id", Instance ? orNull(Instance->Id) : json::Value(nullptr)},
      {"record_ids", std::move(RecordIds)},
      {"config", R.withControls(Winner ? Winner->Config : json::Object())},
      {"options", json::Object(R.Options)},
      {"trial", Winner ? json::Value(Winner->Number) : json::Value(nullptr)},
      {"expected", std::move(Expected)},
      {"code_hash", orNull(CodeHash)},
      {"metrics", std::move(Metrics)},
      {"device", orNull(R.Device)},
      {"gpu",
       R.GPU ? json::Value(json::fixUTF8(*R.GPU)) : json::Value(nullptr)},
      {"exact", R.Level == CompareLevel::Exact},
      {"level", getLevelName(R.Level)},
      {"judge", R.IsJudgedByApp ? "app" : "memory"},
      {"toolchain", json::Object(R.Toolchain)}};
  if (const auto &C = R.Outcome.Final.Confirmed;
      Winner && C && C->Failure.empty() && C->Configs.size() > 1) {
    json::Array Configs;
    for (unsigned I = 0; I != C->Configs.size(); ++I)
      Configs.push_back(makeInstanceCode(R, *C, I));
    Best["instance_configs"] = std::move(Configs);
  }
  if (json::Array Own = makeInstanceWinners(R); !Own.empty())
    Best["instance_winners"] = std::move(Own);
  if (!R.Tested.empty())
    Best["tested"] = json::Array(R.Tested);
  return Best;
}

Error mneme::writeBest(const WinnerRecord &R, StringRef Path) {
  return writeJSON(Path, makeBest(R));
}
