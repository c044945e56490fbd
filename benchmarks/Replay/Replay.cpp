//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// mneme-bench-replay: replays one recorded launch repeatedly in one process
/// and reports the times of the steps.
///
//===----------------------------------------------------------------------===//

#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<std::string> Input(cl::Positional, cl::Required,
                                  cl::desc("<static hash>.json"));
static cl::opt<std::string> RecordId("record-id", cl::desc("Recorded launch"));
static cl::opt<std::string> Passes("passes", cl::init("default<O3>"),
                                   cl::desc("Pipeline"));
static cl::opt<unsigned> Repetitions("repetitions", cl::init(50),
                                     cl::desc("Replays of each case"));
static cl::opt<bool> Json("json", cl::desc("Print JSON"));

static ExitOnError ExitOnErr;

namespace {

enum Step { Optimize, Codegen, Load, Restore, Run, Compare, NumSteps };
const char *const StepNames[NumSteps] = {"optimize", "codegen", "load",
                                         "restore",  "run",     "compare"};

struct Case {
  std::string Name;
  bool Compile;
  HostFinish Finish;
  std::vector<double> Milliseconds[NumSteps];
  double Seconds = 0;
};

} // namespace

static double secondsSince(std::chrono::steady_clock::time_point T) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - T)
      .count();
}

/// Calls \p F and records its time.
template <typename FnT> static auto timed(std::vector<double> &To, FnT F) {
  auto Start = std::chrono::steady_clock::now();
  auto Result = F();
  To.push_back(secondsSince(Start) * 1e3);
  return Result;
}

static DeviceImage compile(Case &C, const ReplayPlan &Plan) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  CompileResult Compiled;
  ExitOnErr(timed(C.Milliseconds[Optimize],
                  [&] { return Plan.compiler().optimize(*M, Compiled); }));
  HostOptions Options;
  Options.Finish = C.Finish;
  return ExitOnErr(timed(C.Milliseconds[Codegen], [&] {
    return compileKernelForHost(*M, Plan.kernel().KernelName, Options);
  }));
}

static void runCase(Case &C, const ReplayPlan &Plan, Device &Dev,
                    Replayer &Memory) {
  LaunchConfig Config;
  Config.Grid = Plan.grid();
  Config.Block = Plan.block();
  Config.DynamicShared = Plan.sharedMem();
  std::vector<KernelGlobal> Globals = Plan.globals();

  std::unique_ptr<DeviceKernel> Kernel;
  if (!C.Compile) {
    Case Untimed = C;
    Kernel = ExitOnErr(Dev.load(compile(Untimed, Plan), Globals));
  }
  auto Start = std::chrono::steady_clock::now();
  for (unsigned I = 0; I < Repetitions; ++I) {
    if (C.Compile) {
      Kernel.reset();
      DeviceImage Image = compile(C, Plan);
      Kernel = ExitOnErr(timed(C.Milliseconds[Load],
                               [&] { return Dev.load(Image, Globals); }));
    }
    ExitOnErr(timed(C.Milliseconds[Restore], [&] { return Memory.restore(); }));
    LaunchOutcome Outcome = ExitOnErr(timed(
        C.Milliseconds[Run], [&] { return Memory.launch(*Kernel, Config); }));
    if (Outcome.Status != LaunchStatus::Ok)
      ExitOnErr(createStringError(getLaunchStatusName(Outcome.Status) + ": " +
                                  Outcome.Message));
    MemoryComparison Found = ExitOnErr(timed(C.Milliseconds[Compare], [&] {
      return Memory.compare(Plan.comparison());
    }));
    for (const BufferReport &B : Found.Buffers)
      if (!B.Stats.Pass)
        ExitOnErr(createStringError("buffer " + Twine(B.Id) + " differs"));
  }
  C.Seconds = secondsSince(Start);
}

int main(int Argc, char **Argv) {
  InitLLVM X(Argc, Argv);
  cl::ParseCommandLineOptions(Argc, Argv, "replays a second\n");
  ExitOnErr.setBanner(std::string(Argv[0]) + ": error: ");
  initializeTargets();
  if (Repetitions == 0)
    ExitOnErr(createStringError("--repetitions must be positive"));

  ReplayOptions Options;
  Options.RecordId = RecordId;
  Options.Passes = Passes;
  Options.Device = "host";
  std::unique_ptr<ReplayPlan> Plan =
      ExitOnErr(ReplayPlan::create(Input, Options));
  std::unique_ptr<Device> Dev = ExitOnErr(openDevice("host"));
  auto PrepareStart = std::chrono::steady_clock::now();
  Replayer Memory = ExitOnErr(Replayer::create(Plan->state(), *Dev));
  double Prepare = secondsSince(PrepareStart);

  Case Cases[] = {{"new pipeline, finish none", true, HostFinish::None, {}, 0},
                  {"new pipeline, finish O3", true, HostFinish::O3, {}, 0},
                  {"same code again", false, HostFinish::O3, {}, 0}};
  json::Array Rows;
  for (Case &C : Cases) {
    runCase(C, *Plan, *Dev, Memory);
    json::Object Steps;
    for (int S = 0; S < NumSteps; ++S)
      if (!C.Milliseconds[S].empty())
        Steps[StepNames[S]] = summarize(C.Milliseconds[S]).Median;
    Rows.push_back(json::Object{{"name", C.Name},
                                {"replays_per_second", Repetitions / C.Seconds},
                                {"milliseconds", std::move(Steps)}});
  }
  json::Object Once{{"parse", Plan->parseTime() * 1e3},
                    {"read", Plan->readTime() * 1e3},
                    {"prepare", Prepare * 1e3}};
  if (Json) {
    outs() << formatv("{0:2}\n", json::Value(json::Object{
                                     {"kernel", Plan->kernel().DemangledName},
                                     {"passes", Passes},
                                     {"once_milliseconds", std::move(Once)},
                                     {"cases", std::move(Rows)}}));
    return 0;
  }
  outs() << format("once: parse %.3f ms, read %.3f ms, prepare %.3f ms\n",
                   Plan->parseTime() * 1e3, Plan->readTime() * 1e3,
                   Prepare * 1e3);
  for (const Case &C : Cases) {
    outs() << format("%-28s %8.1f replays/s\n", C.Name.c_str(),
                     Repetitions / C.Seconds);
    for (int S = 0; S < NumSteps; ++S)
      if (!C.Milliseconds[S].empty())
        outs() << format("    %-24s %8.3f ms\n", StepNames[S],
                         summarize(C.Milliseconds[S]).Median);
  }
  return 0;
}
