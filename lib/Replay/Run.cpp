//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/TargetParser/Host.h"
#include <chrono>
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// Adds the time of its scope to a figure.
class ScopedTimer {
public:
  explicit ScopedTimer(double &Sum)
      : Sum(Sum), Start(std::chrono::steady_clock::now()) {}
  ~ScopedTimer() {
    Sum +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - Start)
            .count();
  }

private:
  double &Sum;
  std::chrono::steady_clock::time_point Start;
};

/// One replay in this process.
class ReplayRun {
public:
  ReplayRun(const ReplayPlan &Plan, function_ref<void(ReplayStage)> Report)
      : Plan(Plan), Options(Plan.options()), Report(Report) {}

  Expected<ReplayResult> run();

private:
  const ReplayPlan &Plan;
  const ReplayOptions &Options;
  function_ref<void(ReplayStage)> Report;
  ReplayResult R;

  Error writeIR(const Module &M);
  Error compileForGPU(const Module &M, CompileResult &Compiled);
  Error compareWithApp(StringRef Image);
  Error writeFiles(const CompileResult &Compiled);
  Error execute(Module &M);
  Error runKernel(Replayer &Memory, DeviceKernel &Kernel);
  Expected<bool> launchOnce(Replayer &Memory, DeviceKernel &Kernel,
                            bool IsTimed);

  /// What the compiler says about the code is a result.
  void setCompileError(Error E) {
    R.V = Verdict::CompileError;
    R.Error = toString(std::move(E));
  }
};
} // namespace

static double now() {
  return std::chrono::duration<double>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Expected<std::unique_ptr<Device>> mneme::openDevice(StringRef Name) {
  if (Name == "host" || Name == "auto")
    return createHostDevice();
  return createStringError(
      formatv("no device '{0}': this machine has host", Name).str());
}

void mneme::listDevices(raw_ostream &OS) {
  OS << "host: " << sys::getHostCPUName() << ", "
     << std::thread::hardware_concurrency() << " cores\n";
}

Expected<ReplayResult>
mneme::runReplay(const ReplayPlan &Plan,
                 function_ref<void(ReplayStage)> Report) {
  return ReplayRun(Plan, Report).run();
}

Expected<ReplayResult> ReplayRun::run() {
  R.StartTime = now();
  R.Times.Parse = Plan.parseTime();
  R.Times.Read = Plan.readTime();

  Report(ReplayStage::Optimize);
  std::unique_ptr<Module> M = Plan.cloneModule();
  CompileResult Compiled;
  Error E = Plan.compiler().optimize(*M, Compiled);
  R.Times.Specialize = Compiled.PreprocessTime;
  R.Times.Optimize = Compiled.OptimizeTime;
  if (E) {
    setCompileError(std::move(E));
    R.EndTime = now();
    return std::move(R);
  }
  if (Error Failed = writeIR(*M))
    return std::move(Failed);

  Report(ReplayStage::Codegen);
  if (Error E = compileForGPU(*M, Compiled)) {
    setCompileError(std::move(E));
    R.EndTime = now();
    return std::move(R);
  }
  if (Error Failed = writeFiles(Compiled))
    return std::move(Failed);
  if (Error Failed = compareWithApp(
          StringRef(Compiled.Image.data(), Compiled.Image.size())))
    return std::move(Failed);
  if (Options.Execute)
    if (Error Failed = execute(*M))
      return std::move(Failed);
  R.EndTime = now();
  return std::move(R);
}

Error ReplayRun::writeIR(const Module &M) {
  if (Options.OutputIR.empty())
    return Error::success();
  return writeFileAtomically(Options.OutputIR, [&](raw_ostream &OS) {
    M.print(OS, nullptr);
    return Error::success();
  });
}

/// As far as anybody wants to know: the assembly, the image and its resources.
Error ReplayRun::compileForGPU(const Module &M, CompileResult &Compiled) {
  if (Options.wantsGPUImage()) {
    if (Error E = Plan.compiler().emitImage(M, Compiled))
      return E;
    R.Resources = Compiled.Resources;
    R.ObjectSize = Compiled.Image.size();
    (Options.Execute ? R.Times.GPUCodegen : R.Times.Codegen) =
        Compiled.CodegenTime;
  }
  if (Options.OutputAsm.empty() || !Compiled.Assembly.empty())
    return Error::success();
  return Plan.compiler().emitAssembly(M).moveInto(Compiled.Assembly);
}

/// An application may have several kernels of that name; the one that is the
/// same counts, else the first.
Error ReplayRun::compareWithApp(StringRef Image) {
  for (const SmallVector<char, 0> &Theirs : Plan.appImages()) {
    StringRef Other(Theirs.data(), Theirs.size());
    StringRef Kernel = Plan.kernel().KernelName;
    Expected<CodeComparison> Code = compareKernelCode(Image, Other, Kernel);
    if (!Code)
      return createFileError(Options.CompareWithApp, Code.takeError());
    if (R.App && !Code->Identical)
      continue;
    Expected<KernelResources> Resources = readResources(Other, Kernel);
    if (!Resources)
      return createFileError(Options.CompareWithApp, Resources.takeError());
    R.App.emplace();
    R.App->App = Options.CompareWithApp;
    R.App->Copies = Plan.appImages().size();
    R.App->Options = readPtxasOptions(Other);
    R.App->Code = std::move(*Code);
    R.App->Resources = *Resources;
    if (R.App->Code.Identical)
      break;
  }
  return Error::success();
}

Error ReplayRun::writeFiles(const CompileResult &Compiled) {
  if (!Options.OutputAsm.empty())
    if (Error E = writeFileAtomically(Options.OutputAsm, Compiled.Assembly))
      return E;
  if (Options.OutputObject.empty())
    return Error::success();
  return writeFileAtomically(
      Options.OutputObject,
      StringRef(Compiled.Image.data(), Compiled.Image.size()));
}

Error ReplayRun::execute(Module &M) {
  Expected<DeviceImage> Image = [&] {
    ScopedTimer Timer(R.Times.Codegen);
    return compileKernelForHost(M, Plan.kernel().KernelName, Options.Host);
  }();
  if (!Image) {
    setCompileError(Image.takeError());
    return Error::success();
  }
  const HostKernelInfo &Info = getHostKernelInfo(*Image);
  R.HostStrategy = getHostStrategyName(Info.Strategy).str();
  R.HostReason = Info.Reason;
  if (!R.Resources)
    R.ObjectSize = Image->Object.size();

  Report(ReplayStage::Prepare);
  Expected<std::unique_ptr<Device>> D = openDevice(Options.Device);
  if (!D)
    return D.takeError();
  R.Device = (*D)->getName();
  Expected<Replayer> Memory = [&] {
    ScopedTimer Timer(R.Times.Prepare);
    return Replayer::create(Plan.state(), **D);
  }();
  if (!Memory)
    return Memory.takeError();
  Expected<std::unique_ptr<DeviceKernel>> Kernel = [&] {
    ScopedTimer Timer(R.Times.Load);
    return (*D)->load(*Image, Plan.globals());
  }();
  if (!Kernel) {
    // A function that the pipeline or the user's IR calls and nobody has.
    R.V = Verdict::Unsupported;
    R.Error = toString(Kernel.takeError());
    return Error::success();
  }
  return runKernel(*Memory, **Kernel);
}

/// The verdict on a launch that did not end well.
static Verdict getLaunchVerdict(LaunchStatus S) {
  switch (S) {
  case LaunchStatus::Timeout:
    return Verdict::Timeout;
  case LaunchStatus::InvalidConfiguration:
  case LaunchStatus::Unsupported:
  case LaunchStatus::OutOfMemory:
    return Verdict::Unsupported;
  default:
    return Verdict::Crash;
  }
}

/// \returns false when the launch went wrong, which is then in the result.
Expected<bool> ReplayRun::launchOnce(Replayer &Memory, DeviceKernel &Kernel,
                                     bool IsTimed) {
  {
    ScopedTimer Timer(R.Times.Restore);
    if (Error E = Memory.restore())
      return std::move(E);
  }
  LaunchConfig Config;
  Config.Grid = Plan.grid();
  Config.Block = Plan.block();
  Config.DynamicShared = Plan.sharedMem();
  Config.TimeoutSeconds = Options.Timeout;
  Report(ReplayStage::Launch);
  ScopedTimer Timer(R.Times.Run);
  Expected<LaunchOutcome> Outcome = Memory.launch(Kernel, Config);
  if (!Outcome)
    return Outcome.takeError();
  if (Outcome->Status != LaunchStatus::Ok) {
    R.V = getLaunchVerdict(Outcome->Status);
    R.Error = getLaunchStatusName(Outcome->Status).str();
    if (!Outcome->Message.empty())
      R.Error += ": " + Outcome->Message;
    return false;
  }
  R.Executed = true;
  if (IsTimed)
    R.Nanoseconds.push_back(Outcome->Nanoseconds);
  return true;
}

static Verdict judge(ArrayRef<BufferReport> Buffers) {
  if (any_of(Buffers, [](const BufferReport &B) { return !B.Stats.Pass; }))
    return Verdict::Mismatch;
  if (any_of(Buffers,
             [](const BufferReport &B) { return B.Stats.Differences; }))
    return Verdict::MatchWithinTolerance;
  return Verdict::Match;
}

static std::string describeMismatch(ArrayRef<BufferReport> Buffers) {
  uint64_t Bad =
      count_if(Buffers, [](const BufferReport &B) { return !B.Stats.Pass; });
  const BufferReport &B =
      *find_if(Buffers, [](const BufferReport &B) { return !B.Stats.Pass; });
  std::string Name = B.Name.empty() ? "" : " (" + B.Name + ")";
  std::string Text = formatv("{0} of {1} elements of buffer {2}{3} differ",
                             B.Stats.Mismatches, B.Stats.Elements, B.Id, Name)
                         .str();
  if (B.Stats.First)
    Text += formatv(", first at {0}: {1} instead of {2}", *B.Stats.First,
                    B.Stats.Actual, B.Stats.Expected)
                .str();
  if (Bad > 1)
    Text += formatv(", and {0} more buffers", Bad - 1).str();
  return Text;
}

Error ReplayRun::runKernel(Replayer &Memory, DeviceKernel &Kernel) {
  // Nothing will tell what a launch that is not the recorded one has changed.
  if (!Options.Verify)
    Memory.markAllDirty();
  // The first launch is the one that is verified; a wrong kernel is not timed.
  if (Options.Verify) {
    Expected<bool> Ok = launchOnce(Memory, Kernel, /*IsTimed=*/false);
    if (!Ok)
      return Ok.takeError();
    if (!*Ok)
      return Error::success();
    Report(ReplayStage::Compare);
    ScopedTimer Timer(R.Times.Compare);
    Expected<std::vector<BufferReport>> Buffers =
        Memory.compare(Plan.compareParts());
    if (!Buffers)
      return Buffers.takeError();
    R.Buffers = std::move(*Buffers);
    R.V = judge(R.Buffers);
    if (R.V == Verdict::Mismatch) {
      R.Error = describeMismatch(R.Buffers);
      return Error::success();
    }
  }
  for (unsigned I = 0; I != Options.Warmup + Options.Iterations; ++I) {
    Expected<bool> Ok = launchOnce(Memory, Kernel, I >= Options.Warmup);
    if (!Ok)
      return Ok.takeError();
    if (!*Ok)
      return Error::success();
  }
  return Error::success();
}
