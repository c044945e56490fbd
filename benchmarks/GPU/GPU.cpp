//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mneme-bench-gpu: measures the cost of replaying on a GPU. Prints one line of
/// JSON.
///
///   memory       rates of restoring and comparing memory, relative to the
///                device's own copy
///   evaluations  replays of a recording per second in one process, and the
///                times of their steps
///   noise        differences between two measurements of the same kernel
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <functional>

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<std::string>
    Part(cl::Positional, cl::Required,
         cl::desc("<memory | evaluations | noise>"));
static cl::list<std::string> Inputs(cl::Positional,
                                    cl::desc("<static hash>.json..."));
static cl::opt<std::string> DeviceName("device", cl::init("cuda:0"),
                                       cl::desc("Device"));
static cl::opt<std::string> Passes("passes", cl::init("default<O3>"),
                                   cl::desc("Pipeline"));
static cl::opt<double> Seconds("seconds", cl::init(5),
                               cl::desc("Of each case"));
static cl::opt<unsigned> MaxMiB("max-mib", cl::init(8192),
                                cl::desc("The largest memory"));

static ExitOnError ExitOnErr;

static double now() {
  return std::chrono::duration<double>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

namespace {
/// Work that is partly enqueued and then waited for.
struct MemoryCase {
  std::string Name;
  uint64_t Bytes; ///< Read and written bytes.
  std::function<void()> Enqueue;
  std::vector<double> Seconds;
};
} // namespace

static MnemeComparePart makePart(uint64_t Expected, uint64_t Actual,
                                 uint64_t Size, uint32_t DType,
                                 uint32_t Tolerance) {
  return {Expected, Actual, Size, /*Value=*/1e-6, DType, Tolerance, 0, 0};
}

/// Measures all operations on \p Size bytes in turns.
static json::Object measureMemory(GPUDevice &GPU, uint64_t Size) {
  uint64_t A = ExitOnErr(GPU.allocate(Size));
  uint64_t B = ExitOnErr(GPU.allocate(Size));
  // Floats that are neither zero nor NaN.
  ExitOnErr(GPU.fill(A, 0x3f, Size));
  ExitOnErr(GPU.copy(B, A, Size));
  ExitOnErr(GPU.synchronize());

  std::unique_ptr<CopyPlan> Whole =
      ExitOnErr(GPU.planCopies({{B, A, Size}}));
  // Every second snapshot page: the worst case of a kernel that writes a
  // column.
  std::vector<MnemeCopyPart> Pages;
  const uint64_t MaxPages = 65536;
  uint64_t Step = std::max<uint64_t>(2 * MNEME_SNAPSHOT_PAGE,
                                     alignTo(Size / MaxPages, 8192));
  for (uint64_t At = 0; At + Step <= Size; At += Step)
    Pages.push_back({B + At, A + At, Step / 2});
  std::unique_ptr<CopyPlan> Scattered = ExitOnErr(GPU.planCopies(Pages));

  auto Compare = [&](uint32_t DType, uint32_t Tolerance) {
    return [&GPU, A, B, Size, DType, Tolerance] {
      for (const MnemeCompareResult &R : ExitOnErr(
               GPU.compare(makePart(A, B, Size, DType, Tolerance))))
        if (R.Mismatches)
          ExitOnErr(createStringError("equal memory differs"));
    };
  };
  MemoryCase Cases[] = {
      {"copy", 2 * Size, [&] { ExitOnErr(GPU.copy(B, A, Size)); }, {}},
      {"restore, one range", 2 * Size, [&] { ExitOnErr(GPU.copy(*Whole)); }, {}},
      {"restore, every second page",
       uint64_t(Pages.size()) * Step,
       [&] { ExitOnErr(GPU.copy(*Scattered)); },
       {}},
      {"compare, bytes", 2 * Size,
       Compare(MNEME_DTYPE_BYTES, MNEME_TOLERANCE_EXACT), {}},
      {"compare, f32 rel", 2 * Size,
       Compare(MNEME_DTYPE_F32, MNEME_TOLERANCE_REL), {}},
      {"compare, f64 ulp", 2 * Size,
       Compare(MNEME_DTYPE_F64, MNEME_TOLERANCE_ULP), {}},
      {"find changed pages", 2 * Size,
       [&] { (void)ExitOnErr(GPU.diffPages(MnemeDiffPart{A, B, Size, 0})); },
       {}},
  };
  // Enough repetitions to make the host's enqueueing and waiting negligible.
  unsigned Repeat = std::max<uint64_t>(1, (uint64_t(1) << 30) / Size);
  for (unsigned Round = 0; Round < 6; ++Round)
    for (MemoryCase &C : Cases) {
      double Start = now();
      for (unsigned I = 0; I < Repeat; ++I)
        C.Enqueue();
      ExitOnErr(GPU.synchronize());
      if (Round) // The first round warms up.
        C.Seconds.push_back((now() - Start) / Repeat);
    }
  json::Array Rows;
  double CopyRate = 0;
  for (MemoryCase &C : Cases) {
    double Rate = C.Bytes / summarize(C.Seconds).Median;
    if (!CopyRate)
      CopyRate = Rate;
    Rows.push_back(json::Object{{"name", C.Name},
                                {"bytes_per_second", Rate},
                                {"of_copy", Rate / CopyRate}});
  }
  ExitOnErr(GPU.release(A));
  ExitOnErr(GPU.release(B));
  return json::Object{{"bytes", Size}, {"cases", std::move(Rows)}};
}

static json::Value measureMemories() {
  std::unique_ptr<GPUDevice> GPU = ExitOnErr(createGPUDevice(DeviceName));
  json::Array Sizes;
  double Start = now();
  for (uint64_t MiB : {64, 256, 1024, 4096, 8192}) {
    uint64_t Size = MiB << 20;
    if (MiB > MaxMiB || now() - Start > Seconds ||
        ExitOnErr(GPU->availableMemory()) < 2 * Size + (512 << 20))
      break;
    Sizes.push_back(measureMemory(*GPU, Size));
  }
  return json::Object{{"device", DeviceName},
                      {"gpu", GPU->info().Name},
                      {"backend", GPU->getBackendName()},
                      {"sizes", std::move(Sizes)}};
}

//===----------------------------------------------------------------------===//
// Evaluations
//===----------------------------------------------------------------------===//

static ReplayOptions makeOptions() {
  ReplayOptions O;
  O.Device = DeviceName;
  O.Passes = Passes;
  O.Isolate = false;
  return O;
}

/// Requires the replay to verify; otherwise, it could be fast for the wrong
/// reason.
static ReplayResult verify(Expected<ReplayResult> R) {
  ReplayResult Result = ExitOnErr(std::move(R));
  if (!Result.verified())
    ExitOnErr(createStringError(getVerdictName(Result.V) + ": " + Result.Error));
  return Result;
}

static constexpr std::pair<StringLiteral, double ReplayTimes::*> Steps[] = {
    {"specialize", &ReplayTimes::Specialize},
    {"optimize", &ReplayTimes::Optimize},
    {"codegen", &ReplayTimes::Codegen},
    {"assemble", &ReplayTimes::Assemble},
    {"load", &ReplayTimes::Load},
    {"restore", &ReplayTimes::Restore},
    {"run", &ReplayTimes::Run},
    {"compare", &ReplayTimes::Compare}};

/// Calls \p Evaluate until the time has passed.
static json::Object countEvaluations(StringRef Name,
                                     function_ref<ReplayResult()> Evaluate) {
  Evaluate();
  std::vector<ReplayResult> Results;
  double Start = now(), End = Start;
  for (; End - Start < Seconds; End = now())
    Results.push_back(Evaluate());
  json::Object Split;
  for (auto [Key, Member] : Steps) {
    std::vector<double> Values;
    for (const ReplayResult &R : Results)
      Values.push_back(R.Times.*Member * 1e3);
    Split[Key] = summarize(Values).Median;
  }
  return json::Object{{"name", Name},
                      {"per_second", Results.size() / (End - Start)},
                      {"evaluations", int64_t(Results.size())},
                      {"milliseconds", std::move(Split)}};
}

static json::Value measureEvaluations(StringRef Input) {
  ReplayOptions O = makeOptions();
  // The verified launch, and the number of timed launches with which a tuner
  // begins.
  O.Warmup = 0;
  O.Iterations = 7;
  auto NoReport = [](ReplayStage) {};
  std::unique_ptr<ReplayPlan> Plan = ExitOnErr(ReplayPlan::create(Input, O));
  std::unique_ptr<ReplaySession> Session =
      ExitOnErr(ReplaySession::create(*Plan, NoReport));
  ReplayResult First = verify(Session->evaluate(*Plan, NoReport));
  json::Array Cases;
  Cases.push_back(countEvaluations("new pipeline", [&] {
    std::unique_ptr<ReplayPlan> Variant = ExitOnErr(Plan->vary(O));
    return verify(Session->evaluate(*Variant, NoReport));
  }));
  CompiledKernel Code = ExitOnErr(Session->compile(*Plan, NoReport));
  // Drop the compile times of the code, which are not part of these
  // evaluations.
  Code.Times = {};
  Cases.push_back(countEvaluations("same code again", [&] {
    return verify(Session->run(*Plan, Code, NoReport));
  }));
  return json::Object{
      {"kernel", Plan->kernel().DemangledName},
      {"device", DeviceName},
      {"passes", Passes},
      {"nanoseconds", summarize(First.nanoseconds()).Median},
      {"once_milliseconds",
       json::Object{{"open", First.Times.Open * 1e3},
                    {"parse", Plan->parseTime() * 1e3},
                    {"read", Plan->readTime() * 1e3},
                    {"prepare", First.Times.Prepare * 1e3}}},
      {"cases", std::move(Cases)}};
}

//===----------------------------------------------------------------------===//
// Noise
//===----------------------------------------------------------------------===//

/// Measures the same code repeatedly by the rules of measurement, so that each
/// median has as many samples as they require.
static json::Object measureNoise(ReplaySession &Session, const ReplayPlan &Plan,
                                 CacheMode Cache) {
  auto NoReport = [](ReplayStage) {};
  ReplayOptions O = makeOptions();
  O.Cache = Cache;
  std::unique_ptr<ReplayPlan> Variant = ExitOnErr(Plan.vary(O));
  CompiledKernel Code = ExitOnErr(Session.compile(*Variant, NoReport));
  std::vector<double> Medians, LogRatios;
  unsigned Significant = 0;
  uint64_t Samples = 0;
  std::optional<Measurement> Last;
  for (double Start = now(); now() - Start < Seconds;) {
    ReplayResult R = verify(Session.run(*Variant, Code, NoReport));
    Samples += R.nanoseconds().size();
    Medians.push_back(summarize(R.nanoseconds()).Median);
    // Pairs that share no measurement.
    if (Medians.size() % 2 == 0) {
      LogRatios.push_back(std::log(Medians.back() / Medians[Medians.size() - 2]));
      RatioEstimate Ratio =
          estimateRatio(R.nanoseconds(), Last->Nanoseconds);
      Significant += Ratio.isSignificant();
    }
    Last = std::move(R.Measured);
  }
  double Sum = 0;
  for (double L : LogRatios)
    Sum += L * L; // The mean is 0, as both have the same code.
  return json::Object{
      {"cache", getCacheModeName(Cache)},
      {"timer", Last ? Last->Timer : ""},
      {"nanoseconds", summarize(Medians).Median},
      {"pairs", int64_t(LogRatios.size())},
      {"samples_of_a_median", double(Samples) / Medians.size()},
      {"sd_of_log_ratio", std::sqrt(Sum / LogRatios.size())},
      {"significant_pairs", Significant}};
}

static json::Value measureNoises(StringRef Input) {
  std::unique_ptr<ReplayPlan> Plan =
      ExitOnErr(ReplayPlan::create(Input, makeOptions()));
  std::unique_ptr<ReplaySession> Session =
      ExitOnErr(ReplaySession::create(*Plan, [](ReplayStage) {}));
  json::Array Caches;
  for (CacheMode Cache : {CacheMode::Cold, CacheMode::Warm})
    Caches.push_back(measureNoise(*Session, *Plan, Cache));
  return json::Object{{"kernel", Plan->kernel().DemangledName},
                      {"device", DeviceName},
                      {"caches", std::move(Caches)}};
}

int main(int Argc, char **Argv) {
  InitLLVM X(Argc, Argv);
  cl::ParseCommandLineOptions(Argc, Argv, "replaying on a GPU\n");
  ExitOnErr.setBanner(std::string(Argv[0]) + ": error: ");
  initializeTargets();
  if (Part != "memory" && Part != "evaluations" && Part != "noise")
    ExitOnErr(createStringError("unknown part '" + Part + "'"));
  if ((Part == "memory") != Inputs.empty() || Inputs.size() > 1)
    ExitOnErr(createStringError("evaluations and noise want one recording"));
  outs() << (Part == "memory"  ? measureMemories()
             : Part == "noise" ? measureNoises(Inputs[0])
                               : measureEvaluations(Inputs[0]))
         << '\n';
  return 0;
}
