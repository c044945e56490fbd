//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUPTI as far as it is used: its activity API for launches that have run, with
// their times by the host's clock, and its range profiler, whose counters are
// formulas of the launch. NVML's energy is 2 J per launch of an application's
// kernel and 1 mJ per reading. Its sampler finds the warps of a launch at two
// instructions of the kernel: one of line 2 that waits for memory, and one
// without a line.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/CuptiProfiler.h"
#include <atomic>
#include <cmath>
#include <cstring>
#include <dlfcn.h>
#include <mutex>

using namespace cupti;
using namespace emulated;

namespace {
struct Profiler {
  std::mutex Lock;
  BufferRequested Request = nullptr;
  BufferCompleted Complete = nullptr;
  bool IsEnabled = false;
  uint8_t *Buffer = nullptr;
  size_t Size = 0, Used = 0;

  void giveBack() {
    if (uint8_t *Full = std::exchange(Buffer, nullptr))
      Complete(nullptr, 0, Full, Size, std::exchange(Used, 0));
  }
  void add(const ActivityKernel &K) {
    if (Buffer && Size - Used < sizeof(K))
      giveBack();
    size_t Max = 0;
    if (!Buffer)
      Request(&Buffer, &Size, &Max);
    if (!Buffer)
      return;
    memcpy(Buffer + Used, &K, sizeof(K));
    Used += sizeof(K);
  }
};
} // namespace

static Profiler &profiler() {
  static Profiler &P = *new Profiler;
  return P;
}

namespace {
/// The range profiler.
struct CounterState {
  /// Metrics of a pass.
  static constexpr size_t PerPass = 4;

  std::atomic<uint64_t> Launches{0}; ///< Of the application's kernels.
  std::atomic<uint64_t> Readings{0}; ///< Of the energy.
  bool IsInRange = false, HasRange = false;
  unsigned LaunchesInRange = 0;
  size_t Passes = 0, DonePasses = 0;
  double Threads = 0, BlockThreads = 0;

  void note(llvm::StringRef Name, const llvm::mneme::LaunchConfig &Config) {
    Launches += !Name.starts_with("mneme_");
    if (!IsInRange)
      return;
    ++LaunchesInRange;
    BlockThreads = Config.Block.count();
    Threads = BlockThreads * Config.Grid.count();
  }
  double evaluate(llvm::StringRef Metric) const {
    if (Metric.contains("_op_st.ratio"))
      return NAN; // no stores
    if (Metric.ends_with(".ratio"))
      return 4;
    if (Metric.starts_with("smsp__warp_issue_stalled"))
      return 100 - 100 * BlockThreads / 1024;
    if (Metric.contains(".pct"))
      return 100 * BlockThreads / 1024;
    if (Metric.contains(".per_cycle"))
      return 1.5;
    return Threads * Metric.size();
  }
};

/// The sampling of program counters.
struct SamplerState {
  bool IsEnabled = false, IsStarted = false;
  SampledPCs *Rest = nullptr;
  unsigned Launches = 0; ///< Between start and stop.
  std::string Kernel;

  void note(const std::string &Name) {
    if (!IsStarted)
      return;
    ++Launches;
    Kernel = Name;
  }
};

/// The metrics of a host object.
struct MetricList {
  std::vector<std::string> Names;
};
} // namespace

static CounterState &counters() {
  static CounterState &C = *new CounterState;
  return C;
}

static SamplerState &sampler() {
  static SamplerState &S = *new SamplerState;
  return S;
}

void emulated::startProfiler() {
  static std::once_flag Once;
  std::call_once(Once, [] {
    const char *Path = getenv("CUDA_INJECTION64_PATH");
    void *Library = Path ? dlopen(Path, RTLD_NOW) : nullptr;
    if (!Library)
      return;
    if (void *Start = dlsym(Library, "InitializeInjection"))
      reinterpret_cast<int (*)()>(Start)();
  });
}

void emulated::noteLaunch(const Function &F,
                          const llvm::mneme::LaunchConfig &Config,
                          uint64_t Start, uint64_t End) {
  Profiler &P = profiler();
  std::lock_guard<std::mutex> Guard(P.Lock);
  counters().note(F.Name, Config);
  sampler().note(F.Name);
  if (!P.IsEnabled)
    return;
  ActivityKernel K = {};
  K.Kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  K.Registers = uint16_t(F.Registers);
  K.Start = Start;
  K.End = End;
  for (unsigned I = 0; I != 3; ++I) {
    K.Grid[I] = int32_t(Config.Grid[I]);
    K.Block[I] = int32_t(Config.Block[I]);
  }
  K.StaticShared = int32_t(F.StaticShared);
  K.DynamicShared = int32_t(Config.DynamicShared);
  K.LocalPerThread = uint32_t(F.Local);
  K.Name = F.Name.c_str();
  P.add(K);
}

extern "C" {
int cuptiActivityRegisterCallbacks(BufferRequested Request,
                                   BufferCompleted Complete) {
  if (getenv("MNEME_EMULATED_NO_CUPTI"))
    return 35; // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
  profiler().Request = Request;
  profiler().Complete = Complete;
  return 0;
}

int cuptiActivityEnable(int Kind) {
  profiler().IsEnabled |= Kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  return 0;
}

int cuptiActivityDisable(int Kind) {
  profiler().IsEnabled &= Kind != CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  return 0;
}

int cuptiActivityFlushAll(uint32_t) {
  Profiler &P = profiler();
  std::lock_guard<std::mutex> Guard(P.Lock);
  P.giveBack();
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t *Buffer, size_t ValidSize,
                               void **Record) {
  uint8_t *Next = *Record
                      ? static_cast<uint8_t *>(*Record) + sizeof(ActivityKernel)
                      : Buffer;
  if (Next >= Buffer + ValidSize)
    return 12; // CUPTI_ERROR_MAX_LIMIT_REACHED
  *Record = Next;
  return 0;
}

int cuptiActivityGetNumDroppedRecords(void *, uint32_t, size_t *Dropped) {
  *Dropped = 0;
  return 0;
}

int cuptiGetResultString(int, const char **Text) {
  *Text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
  return 0;
}

//===----------------------------------------------------------------------===//
// The range profiler
//===----------------------------------------------------------------------===//

static constexpr CUptiResult InvalidOperation = 7;

int cuptiProfilerInitialize(ProfilerParams *) {
  if (getenv("MNEME_EMULATED_NO_CUPTI"))
    return CUPTI_ERROR_INSUFFICIENT_PRIVILEGES;
  const char *Result = getenv("MNEME_EMULATED_PROFILER");
  return Result ? atoi(Result) : 0;
}

int cuptiDeviceGetChipName(ChipNameParams *P) {
  P->Name = "GH100";
  return 0;
}

int cuptiProfilerGetCounterAvailability(AvailabilityParams *) {
  return InvalidOperation;
}

int cuptiProfilerHostInitialize(HostInitializeParams *P) {
  P->Host = reinterpret_cast<HostObject *>(new MetricList);
  return 0;
}

int cuptiProfilerHostDeinitialize(HostParams *P) {
  delete reinterpret_cast<MetricList *>(P->Host);
  return 0;
}

int cuptiProfilerHostConfigAddMetrics(AddMetricsParams *P) {
  const char *Unknown = getenv("MNEME_EMULATED_NO_METRICS");
  auto *List = reinterpret_cast<MetricList *>(P->Host);
  for (size_t I = 0; I != P->Count; ++I) {
    if (Unknown && llvm::is_contained(llvm::split(Unknown, ','), P->Names[I]))
      return CUPTI_ERROR_INVALID_METRIC_NAME;
    List->Names.push_back(P->Names[I]);
  }
  return 0;
}

int cuptiProfilerHostGetConfigImageSize(ConfigSizeParams *P) {
  P->ImageSize = sizeof(size_t);
  return 0;
}

int cuptiProfilerHostGetConfigImage(ConfigImageParams *P) {
  size_t Passes = (reinterpret_cast<MetricList *>(P->Host)->Names.size() +
                   CounterState::PerPass - 1) /
                  CounterState::PerPass;
  memcpy(P->Image, &Passes, sizeof(Passes));
  return 0;
}

int cuptiProfilerHostGetNumOfPasses(NumPassesParams *P) {
  memcpy(&P->Passes, P->Image, sizeof(P->Passes));
  return 0;
}

int cuptiRangeProfilerEnable(RangeEnableParams *P) {
  // One user at a time.
  if (profiler().IsEnabled)
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  P->Range = reinterpret_cast<RangeObject *>(&counters());
  return 0;
}

int cuptiRangeProfilerDisable(RangeParams *) { return 0; }

int cuptiRangeProfilerGetCounterDataSize(DataSizeParams *P) {
  P->DataSize = 64;
  return 0;
}

int cuptiRangeProfilerCounterDataImageInitialize(DataInitializeParams *) {
  return 0;
}

int cuptiRangeProfilerSetConfig(RangeConfigParams *P) {
  if (P->RangeMode != CUPTI_UserRange || P->ReplayMode != CUPTI_UserReplay)
    return InvalidOperation;
  memcpy(&counters().Passes, P->Config, sizeof(size_t));
  counters().DonePasses = 0;
  return 0;
}

int cuptiRangeProfilerStart(RangeParams *) {
  CounterState &C = counters();
  if (C.HasRange || C.DonePasses == C.Passes)
    return InvalidOperation;
  C.LaunchesInRange = 0;
  return 0;
}

int cuptiRangeProfilerPushRange(PushRangeParams *) {
  std::lock_guard<std::mutex> Guard(profiler().Lock);
  counters().IsInRange = counters().HasRange = true;
  return 0;
}

int cuptiRangeProfilerPopRange(RangeParams *) {
  std::lock_guard<std::mutex> Guard(profiler().Lock);
  counters().IsInRange = false;
  // Memory kernels would be counted, too.
  return counters().LaunchesInRange == 1 ? 0 : InvalidOperation;
}

int cuptiRangeProfilerStop(StopParams *P) {
  CounterState &C = counters();
  if (!std::exchange(C.HasRange, false))
    return InvalidOperation;
  P->AllPassesSubmitted = ++C.DonePasses == C.Passes;
  return 0;
}

int cuptiRangeProfilerDecodeData(DecodeParams *) {
  return counters().DonePasses == counters().Passes ? 0 : InvalidOperation;
}

int cuptiProfilerHostEvaluateToGpuValues(EvaluateParams *P) {
  for (size_t I = 0; I != P->Count; ++I)
    P->Values[I] = counters().evaluate(P->Names[I]);
  return 0;
}

//===----------------------------------------------------------------------===//
// Sampling of program counters
//===----------------------------------------------------------------------===//

static constexpr const char *StallReasons[] = {
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard",
    "smsp__pcsamp_warps_issue_stalled_long_scoreboard_not_issued",
    "smsp__pcsamp_warps_issue_stalled_selected"};
static constexpr uint64_t EmulatedCRC = 42, NumberedOffset = 32;

int cuptiPCSamplingEnable(SamplingParams *) {
  if (profiler().IsEnabled)
    return CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED;
  const char *Result = getenv("MNEME_EMULATED_PROFILER");
  if (Result && atoi(Result))
    return atoi(Result);
  sampler().IsEnabled = true;
  return 0;
}

int cuptiPCSamplingDisable(SamplingParams *) {
  sampler() = {};
  return 0;
}

int cuptiPCSamplingGetNumStallReasons(NumStallReasonsParams *P) {
  if (!sampler().IsEnabled)
    return InvalidOperation;
  *P->Count = std::size(StallReasons);
  return 0;
}

int cuptiPCSamplingGetStallReasons(StallReasonsParams *P) {
  for (size_t I = 0; I != P->Count; ++I) {
    P->Indices[I] = I;
    strncpy(P->Names[I], StallReasons[I], StallReasonLength - 1);
  }
  return 0;
}

int cuptiPCSamplingSetConfigurationAttribute(SamplingConfigParams *P) {
  for (size_t I = 0; I != P->Count; ++I)
    if (P->Attributes[I].Attribute == CUPTI_PC_SAMPLING_ATTR_DATA_BUFFER)
      sampler().Rest = static_cast<SampledPCs *>(P->Attributes[I].Buffer);
  return sampler().Rest ? 0 : InvalidOperation;
}

int cuptiPCSamplingStart(SamplingParams *) {
  std::lock_guard<std::mutex> Guard(profiler().Lock);
  sampler().IsStarted = true;
  sampler().Launches = 0;
  return 0;
}

int cuptiPCSamplingStop(SamplingParams *) {
  std::lock_guard<std::mutex> Guard(profiler().Lock);
  sampler().IsStarted = false;
  // Memory kernels would be sampled, too.
  return sampler().Launches == 1 ? 0 : InvalidOperation;
}

/// Gives one instruction per call.
int cuptiPCSamplingGetData(SamplingDataParams *P) {
  SampledPCs &Data = *P->Data;
  bool IsFirst = Data.Remaining != 1;
  SampledPC &PC = Data.PCs[0];
  PC.ImageCRC = EmulatedCRC;
  PC.Function = strdup(sampler().Kernel.c_str());
  PC.Offset = IsFirst ? NumberedOffset : 0;
  PC.Stalls[0] = {0, IsFirst ? 1500u : 0u};
  PC.Stalls[1] = {2, 250};
  PC.NumStalls = 2;
  Data.Count = 1;
  Data.Dropped = IsFirst ? 3 : 0;
  Data.Remaining = IsFirst;
  return 0;
}

int cuptiGetSassToSourceCorrelation(SourceLineParams *P) {
  if (P->Offset != NumberedOffset)
    return InvalidOperation;
  P->Line = 2;
  P->File = strdup("instructions");
  P->Folder = strdup(".");
  return 0;
}

int cuptiGetCubinCrc(ImageCRCParams *P) {
  P->CRC = EmulatedCRC;
  return 0;
}

//===----------------------------------------------------------------------===//
// NVML
//===----------------------------------------------------------------------===//

int nvmlInit_v2() { return 0; }
int nvmlDeviceGetHandleByUUID(const char *, void **Device) {
  *Device = &counters();
  return 0;
}
int nvmlDeviceGetTemperature(void *, int, unsigned *Value) {
  *Value = 40;
  return 0;
}
int nvmlDeviceGetPowerUsage(void *, unsigned *Milliwatts) {
  *Milliwatts = 100000;
  return 0;
}
int nvmlDeviceGetClockInfo(void *, int, unsigned *MHz) {
  *MHz = 1000;
  return 0;
}
int nvmlDeviceGetTotalEnergyConsumption(void *,
                                        unsigned long long *Millijoules) {
  if (getenv("MNEME_EMULATED_NO_ENERGY"))
    return 3; // NVML_ERROR_NOT_SUPPORTED
  *Millijoules = 2000 * counters().Launches + ++counters().Readings;
  return 0;
}
}
