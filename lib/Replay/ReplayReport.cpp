//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReplayRun.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Compile/Occupancy.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// The result as JSON, as sent by the worker process
//===----------------------------------------------------------------------===//

static constexpr std::pair<StringLiteral, double ReplayTimes::*> TimeKeys[] = {
    {"open", &ReplayTimes::Open},
    {"front_end", &ReplayTimes::FrontEnd},
    {"parse", &ReplayTimes::Parse},
    {"read", &ReplayTimes::Read},
    {"specialize", &ReplayTimes::Specialize},
    {"optimize", &ReplayTimes::Optimize},
    {"codegen", &ReplayTimes::Codegen},
    {"assemble", &ReplayTimes::Assemble},
    {"gpu_codegen", &ReplayTimes::GPUCodegen},
    {"prepare", &ReplayTimes::Prepare},
    {"load", &ReplayTimes::Load},
    {"restore", &ReplayTimes::Restore},
    {"run", &ReplayTimes::Run},
    {"compare", &ReplayTimes::Compare},
    {"baseline", &ReplayTimes::Baseline},
};

json::Value mneme::toJSON(const ReplayTimes &T) {
  json::Object O;
  for (auto [Key, Member] : TimeKeys)
    O[Key] = T.*Member;
  return O;
}

bool mneme::fromJSON(const json::Value &V, ReplayTimes &T, json::Path P) {
  json::ObjectMapper O(V, P);
  if (!O)
    return false;
  for (auto [Key, Member] : TimeKeys)
    if (!O.map(Key, T.*Member))
      return false;
  return true;
}

json::Value mneme::toJSON(const ReplayGPU &R) {
  return json::Object{
      {"number", R.Number},
      {"name", R.Info.Name},
      {"arch", R.Info.Arch},
      {"driver", R.Info.Driver},
      {"uuid", R.Info.UUID},
      {"memory", R.Info.MemoryBytes},
      {"cache", R.Info.CacheBytes},
      {"multiprocessors", R.Info.Multiprocessors},
      {"threads_per_multiprocessor", R.Info.ThreadsPerMultiprocessor},
      {"max_clock", R.Info.ClockMHz},
      {"clock", R.State.ClockMHz},
      {"memory_clock", R.State.MemoryClockMHz},
      {"temperature", R.State.Temperature},
      {"power", R.State.Power},
      {"backend", R.Backend},
      {"memory_mode", R.MemoryMode},
      {"retargeted", orNull(R.Retargeted)},
      {"blocks_per_multiprocessor", R.BlocksPerMultiprocessor},
      {"occupancy", R.Occupancy}};
}

bool mneme::fromJSON(const json::Value &V, ReplayGPU &R, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<std::string> Retargeted;
  if (!O || !O.map("number", R.Number) || !O.map("name", R.Info.Name) ||
      !O.map("arch", R.Info.Arch) || !O.map("driver", R.Info.Driver) ||
      !O.map("uuid", R.Info.UUID) || !O.map("memory", R.Info.MemoryBytes) ||
      !O.map("cache", R.Info.CacheBytes) ||
      !O.map("multiprocessors", R.Info.Multiprocessors) ||
      !O.map("threads_per_multiprocessor", R.Info.ThreadsPerMultiprocessor) ||
      !O.map("max_clock", R.Info.ClockMHz) ||
      !O.map("clock", R.State.ClockMHz) ||
      !O.map("memory_clock", R.State.MemoryClockMHz) ||
      !O.map("temperature", R.State.Temperature) ||
      !O.map("power", R.State.Power) || !O.map("backend", R.Backend) ||
      !O.map("memory_mode", R.MemoryMode) || !O.map("retargeted", Retargeted) ||
      !O.map("blocks_per_multiprocessor", R.BlocksPerMultiprocessor) ||
      !O.map("occupancy", R.Occupancy))
    return false;
  R.Retargeted = Retargeted.value_or("");
  return true;
}

/// "exec_time" holds the samples, "measurement" the rest.
static bool mapMeasurement(json::ObjectMapper &O,
                           std::optional<Measurement> &M) {
  std::vector<double> Nanoseconds;
  if (!O.map("measurement", M) || !O.map("exec_time", Nanoseconds))
    return false;
  if (M)
    M->Nanoseconds = std::move(Nanoseconds);
  return true;
}

static json::Value ratioToJSON(const std::optional<RatioEstimate> &R) {
  if (!R)
    return nullptr;
  return json::Object{{"value", R->Value},
                      {"interval", makeInterval(*R)},
                      {"significant", R->isSignificant()}};
}

static bool ratioFromJSON(const json::Value *V, std::optional<RatioEstimate> &R,
                          json::Path P) {
  if (!V || V->kind() == json::Value::Null)
    return true;
  json::ObjectMapper O(*V, P);
  RatioEstimate Read;
  if (!O || !O.map("value", Read.Value))
    return false;
  const json::Array *Interval = V->getAsObject()->getArray("interval");
  if (!Interval || !readInterval(*Interval, Read)) {
    P.field("interval").report("expected two numbers");
    return false;
  }
  R = Read;
  return true;
}

json::Value mneme::toJSON(const BaselineResult &R) {
  return json::Object{
      {"kind", getBaselineName(R.Kind)},
      {"verdict", getVerdictName(R.V)},
      {"error", orNull(R.Error)},
      {"exec_time",
       R.Measured ? json::Array(R.Measured->Nanoseconds) : json::Array()},
      {"measurement", R.Measured},
      {"resources", R.Resources ? toJSON(*R.Resources) : json::Value(nullptr)},
      {"speedup", ratioToJSON(R.Speedup)}};
}

static bool readVerdict(StringRef Name, Verdict &V, json::Path P) {
  std::optional<Verdict> Known = parseVerdict(Name);
  if (!Known) {
    P.field("verdict").report("unknown verdict");
    return false;
  }
  V = *Known;
  return true;
}

bool mneme::fromJSON(const json::Value &V, BaselineResult &R, json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Kind, Name;
  std::optional<std::string> Error;
  if (!O || !O.map("kind", Kind) || !O.map("verdict", Name) ||
      !O.map("error", Error) || !mapMeasurement(O, R.Measured) ||
      !O.map("resources", R.Resources) ||
      !ratioFromJSON(V.getAsObject()->get("speedup"), R.Speedup,
                     P.field("speedup")))
    return false;
  if (!readVerdict(Name, R.V, P))
    return false;
  R.Error = Error.value_or("");
  R.Kind = Kind == getBaselineName(Baseline::App) ? Baseline::App
                                                  : Baseline::Recompiled;
  return true;
}

json::Value mneme::toJSON(const VerificationPower &P) {
  return json::Object{
      {"vacuous", P.Vacuous},
      {"changed_bytes", P.ChangedBytes},
      {"poisoned_bytes", P.PoisonedBytes},
      {"no_poison", orNull(P.NoPoison)},
      {"level", getLevelName(P.Level)},
      {"envelope", P.Envelope ? toJSON(*P.Envelope) : json::Value(nullptr)},
      {"no_envelope", orNull(P.NoEnvelope)},
      {"bound", P.Bound ? toJSON(*P.Bound) : json::Value(nullptr)},
      {"no_bound", orNull(P.NoBound)}};
}

bool mneme::fromJSON(const json::Value &V, VerificationPower &P,
                     json::Path Path) {
  json::ObjectMapper O(V, Path);
  std::optional<std::string> NoPoison, NoEnvelope, NoBound;
  std::string Level;
  if (!O || !O.map("vacuous", P.Vacuous) ||
      !O.map("changed_bytes", P.ChangedBytes) ||
      !O.map("poisoned_bytes", P.PoisonedBytes) ||
      !O.map("no_poison", NoPoison) || !O.map("level", Level) ||
      !O.map("envelope", P.Envelope) || !O.map("no_envelope", NoEnvelope) ||
      !O.map("bound", P.Bound) || !O.map("no_bound", NoBound))
    return false;
  std::optional<CompareLevel> Known = parseLevel(Level);
  if (!Known) {
    Path.field("level").report("unknown value");
    return false;
  }
  P.Level = *Known;
  P.NoPoison = NoPoison.value_or("");
  P.NoEnvelope = NoEnvelope.value_or("");
  P.NoBound = NoBound.value_or("");
  return true;
}

/// Describes the level that a buffer needs.
static std::string describeLevel(const BufferReport &B) {
  const CompareStats &S = B.Stats;
  std::string Text = "buffer " + utostr(B.Id);
  if (!B.Name.empty())
    Text += " (" + B.Name + ")";
  raw_string_ostream OS(Text);
  OS << ": ";
  if (!B.Records.empty()) {
    OS << B.Records;
  } else if (B.Rule.Measured) {
    OS << format("largest error %.3g, %.3g ulp, of %.3g, %.3g ulp", S.MaxAbs,
                 S.MaxUlp, *B.Rule.Measured, B.Rule.Value);
  } else if (S.NormError) {
    OS << getNormName(B.Rule.Norm)
       << format(" of the errors %.3g within ", *S.NormError)
       << getToleranceText(B.Rule);
  } else {
    OS << format("largest error %.3g, %.3g of the value, %.3g ulp, within ",
                 S.MaxAbs, S.MaxRel, S.MaxUlp)
       << getToleranceText(B.Rule);
  }
  return Text;
}

std::string mneme::describeReason(const ReplayResult &R) {
  if (!R.verified() || R.V == Verdict::Match)
    return R.Error;
  constexpr size_t MaxBuffers = 3;
  std::vector<std::string> Texts;
  for (const BufferReport &B : R.Buffers)
    if (B.Level != CompareLevel::Exact)
      Texts.push_back(describeLevel(B));
  std::string Text = join(
      ArrayRef(Texts).take_front(std::min(Texts.size(), MaxBuffers)), "; ");
  if (Texts.size() > MaxBuffers)
    Text += "; " + formatCount(Texts.size() - MaxBuffers, "more buffer");
  if (R.Power.varies())
    Text = "within the envelope of " + R.Power.Envelope->describeSource() +
           ": " + Text + "; " + formatCount(R.ComparedLaunches, "launch") +
           " compared";
  return Text;
}

std::optional<double> ReplayResult::bound() const {
  if (!Power.Bound || nanoseconds().empty())
    return std::nullopt;
  return Power.Bound->nanoseconds(Measured->Cache);
}

std::optional<double> ReplayResult::sol() const {
  std::optional<double> Bound = bound();
  return Bound ? std::optional(*Bound / summarize(nanoseconds()).Median)
               : std::nullopt;
}

StringRef ReplayResult::limitedBy() const {
  if (!Power.Bound || nanoseconds().empty())
    return "";
  return Power.Bound->limiter(Measured->Cache, summarize(nanoseconds()).Median);
}

static json::Value limitsToJSON(const ReplayResult &R) {
  if (!R.bound())
    return nullptr;
  json::Object Limits;
  for (const BoundTerm &T : R.Power.Bound->terms(R.Measured->Cache))
    Limits[T.Name] = T.Nanoseconds;
  return Limits;
}

/// Returns null if no counters were wanted.
static json::Value countersToJSON(const CounterReading &R) {
  if (R.Values.empty() && R.Problem.empty())
    return nullptr;
  json::Object Values;
  for (const auto &[Name, Value] : R.Values)
    Values[Name.str()] = Value;
  return json::Object{{"values", std::move(Values)},
                      {"problem", orNull(R.Problem)},
                      {"passes", R.Passes}};
}

static bool countersFromJSON(const json::Value *V, CounterReading &R,
                             json::Path P) {
  if (!V || V->kind() == json::Value::Null)
    return true;
  json::ObjectMapper O(*V, P);
  std::map<std::string, double> Values;
  std::optional<std::string> Problem;
  if (!O || !O.map("values", Values) || !O.map("problem", Problem) ||
      !O.map("passes", R.Passes))
    return false;
  for (const auto &[Name, Value] : Values)
    R.Values[Name] = Value;
  R.Problem = Problem.value_or("");
  return true;
}

json::Value mneme::toJSON(const ReplayResult &R) {
  bool Compiled = R.ObjectSize != 0;
  json::Object O{
      {"verdict", getVerdictName(R.V)},
      {"verified", R.V == Verdict::NotVerified ? json::Value(nullptr)
                                               : json::Value(R.verified())},
      {"executed", R.Executed},
      {"failed", R.failed()},
      {"error", orNull(R.Error)},
      {"start_time", R.StartTime},
      {"end_time", R.EndTime},
      {"preprocess_ir_time", R.Times.Specialize},
      {"opt_time", R.Times.Optimize},
      {"codegen_time", R.Times.Codegen + R.Times.Assemble},
      {"obj_size", Compiled ? json::Value(R.ObjectSize) : json::Value(nullptr)},
      {"ir_hash", orNull(R.IRHash)},
      {"assembly_hash", orNull(R.AssemblyHash)},
      {"code_hash", orNull(R.CodeHash)},
      {"image_digest", orNull(R.ImageDigest)},
      {"toolchain", json::Object{{"mneme", getVersion()},
                                 {"llvm", LLVM_VERSION_STRING},
                                 {"ptxas", orNull(R.Assembler)}}},
      {"exec_time", json::Array(R.nanoseconds())},
      {"measurement", R.Measured},
      {"counters", countersToJSON(R.Counters)},
      {"hot", R.Hot},
      {"baseline", R.Compared},
      {"gpu_id", R.GPU ? json::Value(R.GPU->Number) : json::Value(nullptr)},
      {"device", orNull(R.Device)},
      {"gpu", R.GPU},
      {"host_strategy", orNull(R.HostStrategy)},
      {"host_strategy_reason", orNull(R.HostReason)},
      {"reason", orNull(describeReason(R))},
      {"compared_launches", R.ComparedLaunches},
      {"reads_uninitialized", R.ReadsUninitialized},
      {"times", toJSON(R.Times)},
      {"diagnostics", json::Array(R.Diagnostics)},
      {"verification", json::Array(R.Buffers)},
      {"stray_write", R.Stray},
      {"power", toJSON(R.Power)},
      {"bound", R.bound()},
      {"sol", R.sol()},
      {"limited_by", orNull(R.limitedBy())},
      {"limits", limitsToJSON(R)}};
  KernelResources None;
  const KernelResources &Resources = R.Resources ? *R.Resources : None;
  O["reg_usage"] = Resources.Registers;
  O["local_mem_usage"] = Resources.Local;
  O["const_mem_usage"] = Resources.Constant;
  O["resources"] = R.Resources ? toJSON(*R.Resources) : json::Value(nullptr);
  O["compare_with_app"] = R.App ? toJSON(*R.App) : json::Value(nullptr);
  if (R.Features.kind() != json::Value::Null)
    O["features"] = R.Features;
  if (!R.GPUFailure.empty())
    O["gpu_failure"] = json::fixUTF8(R.GPUFailure);
  return O;
}

bool mneme::fromJSON(const json::Value &V, ReplayResult &R, json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Name;
  std::optional<std::string> Error, Device, Strategy, Reason, Ptxas;
  std::optional<std::string> IRHash, AssemblyHash, CodeHash, ImageDigest;
  std::optional<uint64_t> Size;
  if (!O || !O.map("verdict", Name) || !O.map("executed", R.Executed) ||
      !O.map("error", Error) || !O.map("start_time", R.StartTime) ||
      !O.map("end_time", R.EndTime) || !O.map("times", R.Times) ||
      !O.map("obj_size", Size) || !O.map("ir_hash", IRHash) ||
      !O.map("assembly_hash", AssemblyHash) || !O.map("code_hash", CodeHash) ||
      !O.map("image_digest", ImageDigest) || !mapMeasurement(O, R.Measured) ||
      !O.map("baseline", R.Compared) || !O.map("gpu", R.GPU) ||
      !O.map("device", Device) || !O.map("host_strategy", Strategy) ||
      !O.map("host_strategy_reason", Reason) ||
      !O.map("reads_uninitialized", R.ReadsUninitialized) ||
      !O.map("compared_launches", R.ComparedLaunches) ||
      !O.map("resources", R.Resources) || !O.map("compare_with_app", R.App) ||
      !O.map("verification", R.Buffers) || !O.map("stray_write", R.Stray) ||
      !O.map("power", R.Power) || !O.map("hot", R.Hot) ||
      !countersFromJSON(V.getAsObject()->get("counters"), R.Counters,
                        P.field("counters")))
    return false;
  if (!readVerdict(Name, R.V, P))
    return false;
  R.Error = Error.value_or("");
  R.Device = Device.value_or("");
  R.HostStrategy = Strategy.value_or("");
  R.HostReason = Reason.value_or("");
  R.ObjectSize = Size.value_or(0);
  R.IRHash = IRHash.value_or("");
  R.AssemblyHash = AssemblyHash.value_or("");
  R.CodeHash = CodeHash.value_or("");
  R.ImageDigest = ImageDigest.value_or("");
  json::ObjectMapper Tools(*V.getAsObject()->get("toolchain"),
                           P.field("toolchain"));
  if (!Tools || !Tools.map("ptxas", Ptxas))
    return false;
  R.Assembler = Ptxas.value_or("");
  if (const json::Value *Features = V.getAsObject()->get("features"))
    R.Features = *Features;
  R.GPUFailure = V.getAsObject()->getString("gpu_failure").value_or("").str();
  return true;
}

//===----------------------------------------------------------------------===//
// Reports
//===----------------------------------------------------------------------===//

static json::Value dimsToJSON(const Dim3 &D) {
  return json::Object{{"x", D.X}, {"y", D.Y}, {"z", D.Z}};
}

static json::Object describeConfig(const ReplayPlan &Plan,
                                   const ReplayResult &R) {
  const ReplayOptions &O = Plan.options();
  // A process that died has not reported its device.
  bool RanOnHost =
      (R.Device.empty() && O.Execute ? O.Device : R.Device) == "host";
  auto OrAuto = [&](std::optional<unsigned> Count, unsigned OnHost) {
    if (!Count && RanOnHost && !O.Adaptive)
      Count = OnHost;
    return Count ? json::Value(*Count) : json::Value("auto");
  };
  const SpecializeOptions &SO = Plan.compiler().options().Specialize;
  json::Object Report{
      {"kernel", Plan.kernel().KernelName},
      {"demangled_name", orNull(Plan.kernel().DemangledName)},
      {"static_hash", Plan.kernel().StaticHash},
      {"record_id", Plan.instance().DynamicHash},
      {"grid", dimsToJSON(Plan.grid())},
      {"block", dimsToJSON(Plan.block())},
      {"shared_mem", Plan.sharedMem()},
      {"config", makeConfig(O)},
      {"passes", Plan.compiler().pipeline()},
      {"codegen_opt", Plan.compiler().codeGenLevel()},
      {"arch", Plan.compiler().arch()},
      {"ptxas_options", json::fixUTF8(join(O.PtxasOptions, " "))},
      {"ptxas_controls",
       describeControls(Plan.compiler().options().PtxasControls)},
      {"max_threads",
       O.SetLaunchBounds ? json::Value(SO.MaxThreads) : json::Value(nullptr)},
      {"min_blocks_per_sm",
       O.SetLaunchBounds ? json::Value(SO.MinBlocks) : json::Value(nullptr)},
      {"fill", O.Fill ? json::Value(*O.Fill) : json::Value(nullptr)},
      {"compare_with_app", orNull(O.CompareWithApp)},
      {"device", O.Execute ? json::Value(O.Device) : json::Value(nullptr)},
      {"host_finish", RanOnHost ? json::Value(getHostFinishName(O.Host.Finish))
                                : json::Value(nullptr)},
      {"host_strategy", RanOnHost
                            ? json::Value(getHostStrategyName(O.Host.Strategy))
                            : json::Value(nullptr)},
      {"host_schedule", RanOnHost ? json::Value(Plan.schedule().toString())
                                  : json::Value(nullptr)},
      {"warmup", OrAuto(O.Warmup, O.HostWarmup)},
      {"iterations", OrAuto(O.Iterations, getHostIterations(O))},
      {"cache",
       O.Cache ? json::Value(getCacheModeName(*O.Cache)) : json::Value("auto")},
      {"baseline", O.Compared == Baseline::None
                       ? json::Value(nullptr)
                       : json::Value(getBaselineName(O.Compared))},
      {"timeout", O.Timeout},
      {"isolated", O.Isolate},
      {"verify", O.Verify && O.Execute},
      {"poison", O.Poison && O.Verify && O.Execute}};
  // Settings that are not listed above with their effective values.
  json::Object Config = makeConfig(O);
  for (const SettingInfo &S : getSettings())
    if (S.Stage != SettingStage::Launch && !Report.get(S.Key)) {
      json::Value Default = nullptr;
      if (S.Type == SettingType::Bool)
        Default = false;
      const json::Value *V = Config.get(S.Key);
      Report[S.Key] = V ? *V : Default;
    }
  return Report;
}

/// Occupancy of the replayed launch; unset without an image for an NVIDIA GPU.
static std::optional<Occupancy> getLaunchOccupancy(const ReplayPlan &Plan,
                                                   const ReplayResult &R) {
  if (!R.Resources)
    return std::nullopt;
  return computeOccupancy(Plan.compiler().arch(), *R.Resources,
                          Plan.block().count(), Plan.sharedMem());
}

/// Describes an external program that replaces a stage.
static json::Value describeTool(StringRef Program) {
  if (Program.empty())
    return nullptr;
  Expected<ToolInfo> Tool = identifyTool(Program);
  if (!Tool) {
    consumeError(Tool.takeError());
    return nullptr;
  }
  return json::Object{{"kind", getToolKindName(Tool->Kind)},
                      {"program", json::fixUTF8(Tool->Path)},
                      {"version", json::fixUTF8(Tool->Version)}};
}

json::Value mneme::makeReport(const ReplayPlan &Plan, const ReplayResult &R) {
  json::Value Result = toJSON(R);
  const ReplayOptions &Options = Plan.options();
  json::Object &Tools = *Result.getAsObject()->getObject("toolchain");
  Tools["application"] = orNull(Plan.kernel().Toolchain);
  Tools["opt_tool"] = describeTool(Options.OptTool);
  Tools["llc_tool"] = describeTool(Options.LlcTool);
  std::optional<Occupancy> O = getLaunchOccupancy(Plan, R);
  (*Result.getAsObject())["suspicions"] = json::Array(Plan.suspicions());
  (*Result.getAsObject())["occupancy"] = O ? toJSON(*O) : json::Value(nullptr);
  return json::Object{{"Replay-config", describeConfig(Plan, R)},
                      {"Result", std::move(Result)}};
}

namespace {
/// A table of aligned names and values.
class Table {
public:
  explicit Table(raw_ostream &OS) : OS(OS) {}
  void row(StringRef Name, const Twine &Value) {
    OS << left_justify(Name, 16) << Value << '\n';
  }
  void row(StringRef Name, const Twine &Value, raw_ostream::Colors C) {
    OS << left_justify(Name, 16);
    WithColor(OS, C) << Value;
    OS << '\n';
  }

private:
  raw_ostream &OS;
};
} // namespace

static void printCounters(raw_ostream &OS, const CounterReading &R) {
  if (R.Values.empty())
    return;
  OS << left_justify("counters", 16) << formatCount(R.Passes, "more launch")
     << '\n';
  for (const CounterInfo &C : getCounterInfos())
    if (auto It = R.Values.find(C.Name); It != R.Values.end())
      OS << formatv("  {0,-24} {1,12}   {2}\n", C.Name,
                    formatCounter(C, It->second),
                    findMetric(C.Name)->Description);
}

static void printResources(Table &T, const KernelResources &R) {
  std::string Text;
  raw_string_ostream OS(Text);
  ListSeparator LS(", ");
  auto Add = [&](const std::optional<uint64_t> &V, StringRef What) {
    if (V)
      OS << LS << *V << ' ' << What;
  };
  bool IsForAMD = R.ScalarRegisters.has_value();
  Add(R.Registers, IsForAMD ? "VGPRs" : "registers");
  Add(R.ScalarRegisters, "SGPRs");
  Add(R.AccumRegisters, "AGPRs");
  Add(R.SpillStores, IsForAMD ? "VGPRs spilled" : "bytes spilled");
  Add(R.ScalarSpills, "SGPRs spilled");
  Add(R.Local, IsForAMD ? "bytes scratch" : "bytes local");
  Add(R.Shared, IsForAMD ? "bytes LDS" : "bytes shared");
  Add(R.Constant, "bytes constant");
  Add(R.CodeSize, "bytes of code");
  T.row("resources", Text);
}

static void printAppComparison(Table &T, const ReplayResult &R) {
  const AppComparison &C = *R.App;
  std::string Text;
  raw_string_ostream OS(Text);
  if (C.Code.Identical)
    OS << "identical to " << C.App
       << (C.Code.Relocated ? " except for the addresses of variables" : "");
  else
    OS << "differs from " << C.App << " (" << C.Code.Difference;
  if (C.Code.FirstDifference)
    OS << format(" at 0x%llx", (unsigned long long)*C.Code.FirstDifference);
  if (!C.Code.Identical)
    OS << "; " << C.Resources.CodeSize.value_or(0) << " bytes of code and "
       << C.Resources.Registers.value_or(0) << " registers there)";
  T.row("machine code", Text);
}

static void printBuffers(raw_ostream &OS, ArrayRef<BufferReport> Buffers) {
  OS << "\nbuffer           bytes  type   tolerance      differ    wrong  "
        "max abs   max rel   max ulp\n";
  for (const BufferReport &B : Buffers) {
    const CompareStats &S = B.Stats;
    std::string Name = B.Name.empty() ? utostr(B.Id) : B.Name;
    OS << left_justify(Name, 8)
       << format(" %13llu  ", (unsigned long long)B.Size)
       << left_justify(getDTypeName(B.Rule.DType), 7)
       << left_justify(getToleranceText(B.Rule), 11)
       << format(" %9llu %8llu  ", (unsigned long long)S.Differences,
                 (unsigned long long)S.Mismatches)
       << format("%-9.3g %-9.3g %-9.3g", S.MaxAbs, S.MaxRel, S.MaxUlp);
    if (S.NormError)
      OS << ' ' << getNormName(B.Rule.Norm) << ' '
         << format("%.3g", *S.NormError);
    OS << '\n';
    if (S.First)
      OS << "         first wrong at " << *S.First << ": " << S.Actual
         << " instead of " << S.Expected << '\n';
  }
}

static std::string describeSchedule(const HostSchedule &S) {
  return S.Order == HostSchedule::Parallel ? "" : ", schedule " + S.toString();
}

static std::string describeDevice(const ReplayPlan &Plan,
                                  const ReplayResult &R) {
  if (!R.GPU)
    return R.HostStrategy.empty()
               ? R.Device
               : formatv("{0} (strategy {1}, finish {2}{3})", R.Device,
                         R.HostStrategy,
                         getHostFinishName(Plan.options().Host.Finish),
                         describeSchedule(Plan.schedule()))
                     .str();
  std::string Text = formatv("{0} ({1}, {2}, driver {3}, through {4})",
                             R.Device, R.GPU->Info.Name, R.GPU->Info.Arch,
                             R.GPU->Info.Driver, R.GPU->Backend)
                         .str();
  if (R.GPU->MemoryMode == "host")
    Text += ", which is too small for three copies of the memory";
  if (!R.GPU->Retargeted.empty())
    Text += ", retargeted from " + Plan.kernel().Arch;
  return Text;
}

static std::string describeMeasurement(const Measurement &M) {
  SampleSummary S = summarize(M.Nanoseconds);
  std::string Text;
  raw_string_ostream OS(Text);
  OS << formatSeconds(S.Median * 1e-9) << " median of " << S.Count << " ("
     << formatSeconds(S.Low * 1e-9) << " to " << formatSeconds(S.High * 1e-9)
     << (S.hasInterval() ? ")" : ", all samples)");
  if (M.Timer != "host")
    OS << ", " << getCacheModeName(M.Cache) << " cache, by " << M.Timer;
  if (M.Repeat > 1)
    OS << ", " << M.Repeat << " launches a sample";
  if (M.isBimodal())
    OS << ", bimodal";
  if (M.Throttled)
    OS << ", clock low";
  if (M.Dropped)
    OS << ", " << M.Dropped << " dropped";
  return Text;
}

static void printBaseline(Table &T, const BaselineResult &R) {
  if (!R.Measured || R.Measured->Nanoseconds.empty()) {
    T.row("baseline", getBaselineName(R.Kind) + ", " + getVerdictName(R.V) +
                          (R.Error.empty() ? "" : ": ") + R.Error);
    return;
  }
  T.row("baseline",
        getBaselineName(R.Kind) + ", " + describeMeasurement(*R.Measured));
  if (!R.Speedup)
    return;
  std::string Interval = " (" + describeInterval(*R.Speedup, 4) + ")";
  T.row("speedup", R.Speedup->isSignificant() || !R.Speedup->hasInterval()
                       ? formatv("{0:f4}", R.Speedup->Value).str() + Interval
                       : "no significant difference" + Interval);
}

static void printBound(Table &T, const ReplayPlan &Plan,
                       const ReplayResult &R) {
  if (std::optional<double> Bound = R.bound()) {
    T.row("bound", formatSeconds(*Bound * 1e-9) + ": " +
                       describeBound(*R.Power.Bound, R.Measured->Cache));
    T.row("speed of light",
          formatv("{0:f1} %, limited by {1}", 100 * *R.sol(), R.limitedBy())
              .str());
  } else if (!R.Power.NoBound.empty() &&
             Plan.options().Bound == BoundMode::On) {
    T.row("bound", "not determined: " + R.Power.NoBound);
  }
}

std::string mneme::describePower(const VerificationPower &P) {
  std::string NoPoison =
      P.NoPoison.empty() ? ""
                         : " (nothing could be poisoned: " + P.NoPoison + ")";
  if (P.isVacuous()) {
    std::string Text = "verification is vacuous: an empty kernel would match";
    // Otherwise tolerances accept every value.
    if (!P.ChangedBytes)
      Text += ", as the recorded launch changed no memory";
    return Text + NoPoison;
  }
  std::string Text =
      formatv("{0} B in pages that the launch changed", P.ChangedBytes).str();
  if (P.PoisonedBytes.value_or(0))
    Text += formatv(", {0} B poisoned", *P.PoisonedBytes).str();
  return Text + NoPoison;
}

std::string mneme::describeEnvelope(const VerificationPower &P) {
  if (P.Envelope)
    return P.Envelope->describe();
  return P.NoEnvelope.empty() ? "" : "not measured: " + P.NoEnvelope;
}

std::string mneme::adviseJudge(const VerificationPower &P) {
  const BufferVariation *V =
      P.Envelope ? P.Envelope->find(BufferVariation::Undecided) : nullptr;
  if (!V)
    return "";
  return V->describeBuffer() + " cannot be judged: " + V->Reason +
         "; let the application judge, with --judge-by=app of llvm-mneme-tune "
         "or bisect";
}

void mneme::printReport(raw_ostream &OS, const ReplayPlan &Plan,
                        const ReplayResult &R) {
  Table T(OS);
  const RecordedKernel &K = Plan.kernel();
  T.row("kernel", K.displayName());
  T.row("record", Plan.instance().DynamicHash);
  Dim3 Cluster = Plan.instance().Cluster;
  std::string Clusters =
      Cluster == Dim3() ? "" : ", clusters of " + formatDims(Cluster);
  T.row("launch", "grid " + formatDims(Plan.grid()) + ", block " +
                      formatDims(Plan.block()) + ", shared " +
                      Twine(Plan.sharedMem()) + " B" + Clusters);
  T.row("pipeline", !Plan.hasIR() ? ("none: the recorded " +
                                     getImageKind(K.Image.IsPTX, K.Image.Arch))
                                        .str()
                    : Plan.compiler().pipeline().empty()
                        ? "none"
                        : Plan.compiler().pipeline());
  if (Plan.options().RunPasses)
    T.row("run passes", *Plan.options().RunPasses);
  if (Plan.options().SkipPasses)
    T.row("skip passes", *Plan.options().SkipPasses);
  T.row("target", Plan.compiler().arch() + ", code generation level " +
                      Twine(Plan.compiler().codeGenLevel()));
  if (json::Value Controls =
          describeControls(Plan.compiler().options().PtxasControls);
      const json::Object *C = Controls.getAsObject())
    T.row("controls", formatv("{0} bytes, digest {1}", *C->getInteger("bytes"),
                              *C->getString("digest"))
                          .str());
  if (!R.Device.empty())
    T.row("device", describeDevice(Plan, R));
  T.row("verdict", getVerdictName(R.V), getVerdictColor(R.V));
  if (std::string Reason = describeReason(R); !Reason.empty())
    T.row("reason", Reason);
  if (R.Executed && R.Power.Vacuous)
    T.row("verified by", describePower(R.Power));
  if (std::string Envelope = describeEnvelope(R.Power);
      R.Executed && !Envelope.empty())
    T.row("envelope", Envelope);
  T.row("compile", "optimize " + formatSeconds(R.Times.Optimize) +
                       ", generate code " +
                       formatSeconds(R.Times.Codegen + R.Times.Assemble));
  if (R.ObjectSize)
    T.row("object", Twine(R.ObjectSize) + " B");
  if (R.Resources)
    printResources(T, *R.Resources);
  if (!R.GPUFailure.empty())
    T.row("GPU code", "cannot be generated: " + R.GPUFailure);
  if (std::optional<Occupancy> O = getLaunchOccupancy(Plan, R))
    T.row("occupancy",
          formatv("{0} blocks, {1} of {2} {3} ({4:f0} %), limited by {5}",
                  O->Blocks, O->Warps, O->MaxWarps,
                  Triple(K.Triple).isAMDGPU() ? "waves" : "warps", O->percent(),
                  join(O->Limiters, ", "))
              .str());
  if (R.App)
    printAppComparison(T, R);
  if (!R.nanoseconds().empty())
    T.row("time", describeMeasurement(*R.Measured));
  printBound(T, Plan, R);
  if (R.Compared)
    printBaseline(T, *R.Compared);
  printCounters(OS, R.Counters);
  if (R.Hot)
    print(*R.Hot, Plan.options().Hot, OS);
  if (!R.Buffers.empty())
    printBuffers(OS, R.Buffers);
}

int mneme::getExitCode(const ReplayPlan &Plan, const ReplayResult &R) {
  const ReplayOptions &O = Plan.options();
  if (R.App && !R.App->Code.Identical)
    return 2;
  bool Wanted = O.Execute && O.Verify;
  if (R.verified() || (!Wanted && R.V == Verdict::NotVerified))
    return 0;
  return 2;
}
