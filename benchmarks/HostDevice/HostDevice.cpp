//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mneme-bench-host: compares kernels on the host device with the same work in
/// plain C++, in one process, on one core, in turns. Prints times and their
/// ratio.
///
//===----------------------------------------------------------------------===//

#include "Native.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IRReader/IRReader.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>
#include <cmath>
#include <random>
#include <sched.h>

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<std::string> Filter("filter", cl::desc("Only matching kernels"),
                                   cl::value_desc("regex"));
static cl::opt<unsigned> Repetitions("repetitions", cl::init(15),
                                     cl::desc("Measurements of each side"));
static cl::opt<std::string> Finish("host-finish", cl::init("O3"),
                                   cl::desc("O3, O1, min or none"));
static cl::opt<std::string> Strategy("host-strategy", cl::init("auto"),
                                     cl::desc("auto, loop, region, coroutine "
                                              "or fiber"));
static cl::opt<bool> Json("json", cl::desc("Print JSON"));

static ExitOnError ExitOnErr;

namespace {

/// A launch and its native counterpart. Arrays are the first arguments: the
/// inputs, then the output, which is also an input if InPlace.
struct Benchmark {
  const char *Kernel;
  double Goal; ///< The ratio must be lower.
  Dim3 Grid, Block;
  std::vector<size_t> InputSizes; ///< Numbers of floats.
  size_t OutputSize;
  bool InPlace;
  std::vector<float> ScalarsBefore; ///< Arguments before the arrays.
  std::vector<int> ScalarsAfter;
  std::function<void(ArrayRef<const float *>, float *)> Native;
  double Tolerance; ///< Relative to max(1, |value|).
};

struct Row {
  std::string Kernel, Strategy, Reason;
  double Goal = 0;
  double CompileMs = 0;
  SampleSummary Native, Device; ///< Milliseconds.
  double WorstError = 0;
  /// Ratio of the fastest runs, which other load on the machine disturbs least.
  double ratio() const { return Device.Min / Native.Min; }
};

} // namespace

static uint32_t blocks(int Threads, int Block) {
  return (Threads + Block - 1) / Block;
}

static std::vector<Benchmark> makeBenchmarks() {
  const int N = 1 << 24, W = 2048, Bodies = 4096, M = 1 << 20, Mat = 512;
  const int TW = 2000, TH = 1400, R = 1 << 22;
  Dim3 Wide{uint32_t(W / 32), uint32_t(W / 8), 1};
  return {
      {"saxpy",
       1.5,
       {blocks(N, 256), 1, 1},
       {256, 1, 1},
       {size_t(N)},
       size_t(N),
       true,
       {1.25f},
       {N},
       [=](ArrayRef<const float *> In, float *Out) {
         native::saxpy(1.25f, In[0], Out, N);
       },
       1e-5},
      {"stencil",
       1.5,
       Wide,
       {32, 8, 1},
       {size_t(W) * W},
       size_t(W) * W,
       false,
       {},
       {W, W},
       [=](ArrayRef<const float *> In, float *Out) {
         native::stencil(In[0], Out, W, W);
       },
       1e-6},
      {"nbody",
       1.5,
       {blocks(Bodies, 256), 1, 1},
       {256, 1, 1},
       {4 * size_t(Bodies)},
       4 * size_t(Bodies),
       false,
       {},
       {Bodies},
       [=](ArrayRef<const float *> In, float *Out) {
         native::nbody(In[0], Out, Bodies);
       },
       1e-3},
      {"math",
       3,
       {blocks(M, 256), 1, 1},
       {256, 1, 1},
       {size_t(M)},
       size_t(M),
       false,
       {},
       {M},
       [=](ArrayRef<const float *> In, float *Out) {
         native::math(In[0], Out, M);
       },
       1e-5},
      {"matmul16",
       1.5,
       {Mat / 16, Mat / 16, 1},
       {16, 16, 1},
       {size_t(Mat) * Mat, size_t(Mat) * Mat},
       size_t(Mat) * Mat,
       false,
       {},
       {Mat},
       [=](ArrayRef<const float *> In, float *Out) {
         native::matmul(In[0], In[1], Out, Mat);
       },
       1e-3},
      {"matmul32",
       1.5,
       {Mat / 32, Mat / 32, 1},
       {32, 32, 1},
       {size_t(Mat) * Mat, size_t(Mat) * Mat},
       size_t(Mat) * Mat,
       false,
       {},
       {Mat},
       [=](ArrayRef<const float *> In, float *Out) {
         native::matmul(In[0], In[1], Out, Mat);
       },
       1e-3},
      {"transpose",
       1.5,
       {blocks(TW, 16), blocks(TH, 16), 1},
       {16, 16, 1},
       {size_t(TW) * TH},
       size_t(TW) * TH,
       false,
       {},
       {TW, TH},
       [=](ArrayRef<const float *> In, float *Out) {
         native::transpose(In[0], Out, TW, TH);
       },
       0},
      {"reduce",
       4,
       {uint32_t(R / 256), 1, 1},
       {256, 1, 1},
       {size_t(R)},
       size_t(R) / 256,
       false,
       {},
       {},
       [=](ArrayRef<const float *> In, float *Out) {
         native::reduce(In[0], Out, R);
       },
       1e-5},
  };
}

static std::vector<float> makeInput(size_t Count, unsigned Seed) {
  std::mt19937 Engine(Seed);
  std::uniform_real_distribution<float> Uniform(0, 1);
  std::vector<float> V(Count);
  for (float &X : V)
    X = Uniform(Engine);
  return V;
}

static ArrayRef<char> bytesOf(ArrayRef<float> V) {
  return {reinterpret_cast<const char *>(V.data()), V.size() * sizeof(float)};
}

static Row runBenchmark(const Benchmark &B, Device &Dev, uint64_t &NextAddress,
                        const HostOptions &Options) {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M =
      parseIRFile(MNEME_BENCH_KERNELS, Diagnostic, Context);
  if (!M)
    ExitOnErr(createStringError(Diagnostic.getMessage()));

  Row Result;
  Result.Kernel = B.Kernel;
  Result.Goal = B.Goal;
  auto Start = std::chrono::steady_clock::now();
  DeviceImage Image = ExitOnErr(compileKernelForHost(*M, B.Kernel, Options));
  Result.CompileMs = std::chrono::duration<double, std::milli>(
                         std::chrono::steady_clock::now() - Start)
                         .count();
  const HostKernelInfo &Info = getHostKernelInfo(Image);
  Result.Strategy = getHostStrategyName(Info.Strategy).str();
  Result.Reason = Info.Reason;
  std::unique_ptr<DeviceKernel> Kernel = ExitOnErr(Dev.load(Image, {}));

  // The same data on both sides.
  std::vector<std::vector<float>> Inputs;
  std::vector<const float *> InputPtrs;
  std::vector<uint64_t> Addresses;
  auto Upload = [&](ArrayRef<float> V) {
    const uint64_t Page = 1 << 21;
    ExitOnErr(Dev.mapMemory(NextAddress, V.size() * sizeof(float)));
    ExitOnErr(Dev.write(NextAddress, bytesOf(V)));
    Addresses.push_back(NextAddress);
    NextAddress += alignTo(V.size() * sizeof(float), Page) + Page;
  };
  for (size_t Size : B.InputSizes) {
    Inputs.push_back(makeInput(Size, Inputs.size() + 1));
    InputPtrs.push_back(Inputs.back().data());
    Upload(Inputs.back());
  }
  std::vector<float> Output(B.OutputSize, 0);
  if (B.InPlace)
    Output = makeInput(B.OutputSize, 99);
  Upload(Output);

  std::vector<float> Floats = B.ScalarsBefore;
  std::vector<int> Ints = B.ScalarsAfter;
  std::vector<void *> Args;
  for (float &F : Floats)
    Args.push_back(&F);
  for (uint64_t &A : Addresses)
    Args.push_back(&A);
  for (int &I : Ints)
    Args.push_back(&I);
  LaunchConfig Config;
  Config.Grid = B.Grid;
  Config.Block = B.Block;

  auto RunDevice = [&] {
    LaunchOutcome O = ExitOnErr(Dev.launch(*Kernel, Config, Args));
    if (O.Status != LaunchStatus::Ok)
      ExitOnErr(createStringError(Twine(B.Kernel) + ": " +
                                  getLaunchStatusName(O.Status) + " " +
                                  O.Message));
    return double(O.Nanoseconds) * 1e-6;
  };
  auto RunNative = [&] {
    auto T0 = std::chrono::steady_clock::now();
    B.Native(InputPtrs, Output.data());
    return std::chrono::duration<double, std::milli>(
               std::chrono::steady_clock::now() - T0)
        .count();
  };

  // The first run of each side is compared, and warms up the caches.
  RunNative();
  RunDevice();
  std::vector<float> Got(Output.size());
  ExitOnErr(Dev.read(Addresses.back(), {reinterpret_cast<char *>(Got.data()),
                                        Got.size() * sizeof(float)}));
  for (size_t I = 0; I < Got.size(); ++I) {
    double E = std::fabs(double(Got[I]) - Output[I]) /
               std::fmax(1.0, std::fabs(double(Output[I])));
    if (!(E <= Result.WorstError))
      Result.WorstError = std::isnan(E) ? INFINITY : E;
  }
  if (!(Result.WorstError <= B.Tolerance))
    ExitOnErr(createStringError(Twine(B.Kernel) + ": the two sides differ by " +
                                formatv("{0:e}", Result.WorstError).str()));

  std::vector<double> NativeMs, DeviceMs;
  for (unsigned I = 0; I < Repetitions; ++I) {
    NativeMs.push_back(RunNative());
    DeviceMs.push_back(RunDevice());
  }
  Result.Native = summarize(NativeMs);
  Result.Device = summarize(DeviceMs);
  return Result;
}

static json::Object toJson(const SampleSummary &S) {
  return json::Object{{"min", S.Min},
                      {"median", S.Median},
                      {"low", S.Low},
                      {"high", S.High},
                      {"count", S.Count}};
}

int main(int Argc, char **Argv) {
  InitLLVM X(Argc, Argv);
  cl::ParseCommandLineOptions(Argc, Argv,
                              "kernels on the host device beside plain C++\n");
  ExitOnErr.setBanner(std::string(Argv[0]) + ": error: ");
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  if (Repetitions == 0)
    ExitOnErr(createStringError("--repetitions must be positive"));

  // One core for both sides; the executor then starts one worker.
  int Cpu = sched_getcpu();
  cpu_set_t Set;
  CPU_ZERO(&Set);
  CPU_SET(Cpu < 0 ? 0 : Cpu, &Set);
  sched_setaffinity(0, sizeof(Set), &Set);

  HostOptions Options;
  Options.Finish = ExitOnErr(parseHostFinish(Finish));
  Options.Strategy = ExitOnErr(parseHostStrategy(Strategy));
  Regex Wanted(Filter.empty() ? ".*" : Filter.getValue());
  std::string BadRegex;
  if (!Wanted.isValid(BadRegex))
    ExitOnErr(createStringError("'" + Filter + "': " + BadRegex));

  std::unique_ptr<Device> Dev = createHostDevice();
  ExitOnErr(Dev->reserveArena(MNEME_ARENA_BASE, MNEME_ARENA_SIZE));
  uint64_t NextAddress = MNEME_ARENA_BASE;
  std::vector<Row> Rows;
  for (const Benchmark &B : makeBenchmarks())
    if (Wanted.match(B.Kernel))
      Rows.push_back(runBenchmark(B, *Dev, NextAddress, Options));

  if (Json) {
    json::Array A;
    for (const Row &R : Rows)
      A.push_back(json::Object{{"kernel", R.Kernel},
                               {"strategy", R.Strategy},
                               {"reason", R.Reason},
                               {"compile_ms", R.CompileMs},
                               {"native_ms", toJson(R.Native)},
                               {"device_ms", toJson(R.Device)},
                               {"ratio", R.ratio()},
                               {"goal", R.Goal},
                               {"worst_error", R.WorstError}});
    outs() << formatv("{0:2}",
                      json::Value(json::Object{{"host_finish", Finish},
                                               {"kernels", std::move(A)}}))
           << '\n';
    return 0;
  }
  outs() << "kernel      strategy    compile ms   C++ ms  device ms   ratio  "
            "goal\n";
  for (const Row &R : Rows)
    outs() << format("%-11s %-10s %11.1f %8.3f %10.3f %7.2f %5.1f%s\n",
                     R.Kernel.c_str(), R.Strategy.c_str(), R.CompileMs,
                     R.Native.Min, R.Device.Min, R.ratio(), R.Goal,
                     R.ratio() <= R.Goal ? "" : "  missed");
  return 0;
}
