//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CounterProfiler.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;
using namespace cupti;

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

static constexpr std::pair<CUptiResult, StringLiteral> Reasons[] = {
    {CUPTI_ERROR_INSUFFICIENT_PRIVILEGES,
     "the driver restricts profiling to administrators (ERR_NVGPUCTRPERM): run "
     "as root, or load the kernel module nvidia with "
     "NVreg_RestrictProfilingToAdminUsers=0"},
    {CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES,
     "profiling is disabled for this virtual GPU: enable it in the hypervisor"},
    {CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED,
     "another profiler is active in this process, such as ncu or nsys: run "
     "without it"},
    {CUPTI_ERROR_HARDWARE_BUSY,
     "another process profiles this GPU, such as ncu or dcgm: end it"},
    {CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED,
     "CUPTI's range profiler does not support this GPU: counters need Turing "
     "or later"},
    {CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED,
     "confidential computing is on"},
    {CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED,
     "the GPU is split (MIG): disable it with nvidia-smi -mig 0"},
    {CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED, "not supported in WSL"},
};

Error mneme::checkProfiler(CUptiResult R, const Twine &What,
                           CUptiResult (*GetResultString)(CUptiResult,
                                                          const char **)) {
  if (!R)
    return Error::success();
  for (auto [Code, Reason] : Reasons)
    if (R == Code)
      return createStringError(Reason);
  return createStringError("CUPTI cannot " + What + ": " +
                           describe(R, GetResultString));
}

Error CounterProfiler::check(CUptiResult R, const Twine &What) const {
  return checkProfiler(R, What, F.GetResultString);
}

//===----------------------------------------------------------------------===//
// Opening and closing
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<CounterProfiler>>
CounterProfiler::create(void *Context, unsigned Ordinal) {
  std::unique_ptr<CounterProfiler> P(new CounterProfiler(Context));
  std::string Problem;
  if (!P->F.load(Problem))
    return createStringError(Problem);
  ProfilerParams Initialize;
  if (Error E = P->check(P->F.Initialize(&Initialize), "start its profiler"))
    return std::move(E);
  ChipNameParams Name;
  Name.Device = Ordinal;
  if (Error E = P->check(P->F.GetChipName(&Name), "name the GPU's chip"))
    return std::move(E);
  P->Chip = Name.Name;
  RangeEnableParams Enable;
  Enable.Context = Context;
  if (Error E = P->check(P->F.Enable(&Enable), "profile the device"))
    return std::move(E);
  P->Range = Enable.Range;
  return std::move(P);
}

CounterProfiler::~CounterProfiler() {
  closeHost();
  RangeParams Disable;
  Disable.Range = Range;
  if (Range)
    F.Disable(&Disable);
}

void CounterProfiler::closeHost() {
  HostParams Close;
  Close.Host = std::exchange(Host, nullptr);
  if (Close.Host)
    F.HostDeinitialize(&Close);
}

/// Only for a chip that is newer than CUPTI, the GPU is asked for its counters,
/// which takes half a second.
Error CounterProfiler::openHost(HostObject *&Opened) {
  HostInitializeParams Initialize;
  Initialize.Chip = Chip.c_str();
  Initialize.Availability =
      Availability.empty() ? nullptr : Availability.data();
  CUptiResult R = F.HostInitialize(&Initialize);
  if (R && Availability.empty()) {
    AvailabilityParams A;
    A.Context = Context;
    if (Error E = check(F.GetAvailability(&A), "list the GPU's counters"))
      return E;
    Availability.resize(A.ImageSize);
    A.Image = Availability.data();
    if (Error E = check(F.GetAvailability(&A), "list the GPU's counters"))
      return E;
    Initialize.Availability = Availability.data();
    R = F.HostInitialize(&Initialize);
  }
  Opened = Initialize.Host;
  return check(R, "describe chip " + Chip);
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// Adds the metric to a host object of its own: one that refused a metric
/// cannot be used any more.
bool CounterProfiler::hasMetric(const char *Metric) {
  HostParams Probe;
  if (Error E = openHost(Probe.Host)) {
    consumeError(std::move(E));
    return false;
  }
  AddMetricsParams Add;
  Add.Host = Probe.Host;
  Add.Names = &Metric;
  Add.Count = 1;
  bool Has = F.HostAddMetrics(&Add) == CUPTI_SUCCESS;
  F.HostDeinitialize(&Probe);
  return Has;
}

Error CounterProfiler::select(ArrayRef<const CounterInfo *> Counters) {
  if (ArrayRef(Selected) == Counters)
    return Error::success();
  // The first alternatives are those of recent GPUs. To ask for each metric
  // takes as long as ten passes.
  Found = Counters.vec();
  Selected.clear();
  Missing.clear();
  Metrics.clear();
  for (const CounterInfo *C : Found)
    Metrics.push_back(C->Source.split('|').first.str());
  Error E = configure();
  if (!E) {
    Selected = Counters.vec();
    return E;
  }
  consumeError(std::move(E));
  Found.clear();
  Metrics.clear();
  for (const CounterInfo *C : Counters) {
    SmallVector<StringRef, 2> Alternatives;
    C->Source.split(Alternatives, '|');
    const auto *Metric = find_if(Alternatives, [&](StringRef Name) {
      return hasMetric(Name.str().c_str());
    });
    if (Metric == Alternatives.end()) {
      Missing.push_back(C);
      continue;
    }
    Found.push_back(C);
    Metrics.push_back(Metric->str());
  }
  if (!Found.empty())
    if (Error E = configure())
      return E;
  Selected = Counters.vec();
  return Error::success();
}

/// Selects Metrics.
Error CounterProfiler::configure() {
  Names.clear();
  for (const std::string &M : Metrics)
    Names.push_back(M.c_str());
  closeHost();
  if (Error E = openHost(Host))
    return E;
  AddMetricsParams Add;
  Add.Host = Host;
  Add.Names = Names.data();
  Add.Count = Names.size();
  if (Error E = check(F.HostAddMetrics(&Add), "select counters"))
    return E;
  ConfigSizeParams ConfigSize;
  ConfigSize.Host = Host;
  if (Error E = check(F.HostGetConfigSize(&ConfigSize), "select counters"))
    return E;
  Config.resize(ConfigSize.ImageSize);
  ConfigImageParams Image;
  Image.Host = Host;
  Image.ImageSize = Config.size();
  Image.Image = Config.data();
  if (Error E = check(F.HostGetConfig(&Image), "select counters"))
    return E;
  NumPassesParams Count;
  Count.ImageSize = Config.size();
  Count.Image = Config.data();
  if (Error E = check(F.HostGetNumPasses(&Count), "count passes"))
    return E;
  Passes = Count.Passes;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Passes
//===----------------------------------------------------------------------===//

Error CounterProfiler::restart() {
  if (std::exchange(IsInPass, false)) {
    RangeParams Pop;
    Pop.Range = Range;
    F.PopRange(&Pop);
    StopParams Stop;
    Stop.Range = Range;
    F.Stop(&Stop);
  }
  IsDone = Found.empty();
  if (IsDone)
    return Error::success();
  DataSizeParams Size;
  Size.Range = Range;
  Size.Names = Names.data();
  Size.Count = Names.size();
  if (Error E = check(F.GetDataSize(&Size), "hold the values"))
    return E;
  Data.assign(Size.DataSize, 0);
  DataInitializeParams Initialize;
  Initialize.Range = Range;
  Initialize.DataSize = Data.size();
  Initialize.Data = Data.data();
  if (Error E = check(F.InitializeData(&Initialize), "hold the values"))
    return E;
  RangeConfigParams Set;
  Set.Range = Range;
  Set.ConfigSize = Config.size();
  Set.Config = Config.data();
  Set.DataSize = Data.size();
  Set.Data = Data.data();
  return check(F.SetConfig(&Set), "configure the passes");
}

Error CounterProfiler::beginPass() {
  RangeParams Start;
  Start.Range = Range;
  if (Error E = check(F.Start(&Start), "start a pass"))
    return E;
  IsInPass = true;
  PushRangeParams Push;
  Push.Range = Range;
  Push.Name = "launch";
  return check(F.PushRange(&Push), "start a pass");
}

Error CounterProfiler::endPass() {
  RangeParams Pop;
  Pop.Range = Range;
  if (Error E = check(F.PopRange(&Pop), "end a pass"))
    return E;
  StopParams Stop;
  Stop.Range = Range;
  if (Error E = check(F.Stop(&Stop), "end a pass"))
    return E;
  IsInPass = false;
  IsDone = Stop.AllPassesSubmitted;
  return Error::success();
}

Error CounterProfiler::evaluate(StringMap<double> &Values) {
  if (Found.empty())
    return Error::success();
  DecodeParams Decode;
  Decode.Range = Range;
  if (Error E = check(F.Decode(&Decode), "read the counters"))
    return E;
  if (Decode.DroppedRanges)
    return createStringError("CUPTI dropped the values of a pass");
  std::vector<double> Numbers(Names.size());
  EvaluateParams Evaluate;
  Evaluate.Host = Host;
  Evaluate.Data = Data.data();
  Evaluate.DataSize = Data.size();
  Evaluate.Names = Names.data();
  Evaluate.Count = Names.size();
  Evaluate.Values = Numbers.data();
  if (Error E = check(F.HostEvaluate(&Evaluate), "read the counters"))
    return E;
  // A ratio of two zeros, such as the sectors per load of a kernel without
  // loads, has no value.
  for (auto [C, N] : zip_equal(Found, Numbers))
    if (std::isfinite(N))
      Values[C->Name] = N;
  return Error::success();
}
