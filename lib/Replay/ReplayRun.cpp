//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file implements one evaluation: load, verify, measure.
//
//===----------------------------------------------------------------------===//

#include "ReplayRun.h"
#include "ScopedTimer.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"

using namespace llvm;
using namespace llvm::mneme;

void mneme::describeCode(const CompiledKernel &Code, ReplayResult &R) {
  R.HostStrategy = Code.HostStrategy;
  R.HostReason = Code.HostReason;
  R.GPUFailure = Code.GPUFailure;
  R.Resources = Code.Resources;
  R.App = Code.App;
  R.ObjectSize = Code.ObjectSize;
  R.IRHash = Code.IRHash;
  R.AssemblyHash = Code.AssemblyHash;
  R.CodeHash = Code.CodeHash;
  if (!Code.Image.Object.empty())
    R.ImageDigest = toHexString(digest128(
        StringRef(Code.Image.Object.data(), Code.Image.Object.size())));
  R.Assembler = Code.Assembler;
  R.V = Code.V;
  R.Error = Code.Error;
  R.Features = Code.Features;
  R.Times.Specialize = Code.Times.Specialize;
  R.Times.Optimize = Code.Times.Optimize;
  R.Times.Codegen = Code.Times.Codegen;
  R.Times.Assemble = Code.Times.Assemble;
  R.Times.GPUCodegen = Code.Times.GPUCodegen;
}

Expected<ReplayResult> ReplayRun::run(const CompiledKernel &Code) {
  R.StartTime = epochSeconds();
  R.Device = D.getName();
  describeCode(Code, R);
  if (GPU)
    describeGPU();
  if (!Code.failed())
    if (Error E = execute(Code))
      return std::move(E);
  // Skip the query in a search: it takes longer than a short kernel.
  if (GPU && R.Executed && !Options.Quick)
    R.GPU->State = GPU->readState();
  R.Times.Prepare = std::exchange(Session.PrepareTime, 0);
  R.EndTime = epochSeconds();
  return std::move(R);
}

/// In a search, uses a timer that works for batches of enqueued launches.
static GPUTimer getTimer(const ReplayOptions &O) {
  return O.Quick && O.Timer == GPUTimer::Auto ? GPUTimer::Events : O.Timer;
}

Error ReplayRun::execute(const CompiledKernel &Code) {
  if (Error E = Session.prepare(Report))
    return E;
  if (Error E = Session.chooseTimer(getTimer(Options)))
    return E;
  Replayer &Memory = *Session.Memory;
  // Without verification, changes made by the launch are not tracked.
  if (!Options.Verify)
    Memory.markAllDirty();
  MeasuredKernel Candidate(Session, Plan, R.Times, Report);
  if (Error E = Candidate.load(Code, Session.Kernels))
    return E;
  if (Candidate.isGood() && Options.Verify)
    if (Error E = verify(Candidate))
      return E;
  if (Candidate.isGood()) {
    if (GPU)
      if (Error E = describeOnGPU(*Candidate.Kernel))
        return E;
    Expected<std::unique_ptr<MeasuredKernel>> Other = prepareBaseline();
    if (!Other)
      return Other.takeError();
    // The baseline may have caused the loss of the device.
    if (!Session.Lost)
      if (Error E = measure(Candidate, Other->get()))
        return E;
    if (GPU && !Session.Lost && Candidate.isGood() && !Options.Counters.empty())
      if (Error E = count(Candidate))
        return E;
    if (GPU && !Session.Lost && Candidate.isGood() && Options.Hot)
      if (Error E = sample(Code, Candidate.LastNanoseconds))
        return E;
  }
  if (Candidate.V == Verdict::Mismatch)
    if (Error E = Candidate.checkReproducibility())
      return E;
  take(Candidate);
  return Error::success();
}

/// A mismatch may be due to results that vary, which is measured on demand.
Error ReplayRun::verify(MeasuredKernel &Candidate) {
  if (Error E = Candidate.verify(/*MayWait=*/GPU && Options.Quick))
    return E;
  if (Candidate.V == Verdict::Mismatch && Session.MayVary) {
    if (Error E = Candidate.keepFailures())
      return E;
    if (Error E = Session.probeEnvelope(Report))
      return E;
    if (Session.Measured) {
      Candidate.NumCompared = 0;
      if (Error E = Candidate.verify())
        return E;
    }
  }
  return Candidate.verifyRepeatedly();
}

/// A crash or a hang destroys a GPU's context; on the host it may have
/// overwritten loaded kernels.
void ReplaySession::noteEnd(const MeasuredKernel &C) {
  if (C.V != Verdict::Crash && C.V != Verdict::Timeout)
    return;
  Lost |= D->asGPU() != nullptr;
  Kernels = LoadedKernels();
}

void ReplayRun::take(MeasuredKernel &C) {
  R.V = C.V;
  R.Error = C.Message;
  R.Executed = C.Executed;
  R.Buffers = std::move(C.Compared.Buffers);
  R.Stray = C.Compared.Stray;
  R.Power = Session.Power;
  if (OwnBound)
    R.Power.Bound = std::move(OwnBound);
  R.ComparedLaunches = C.NumCompared;
  Session.noteEnd(C);
}

void ReplayRun::describeGPU() {
  R.GPU.emplace();
  R.GPU->Info = GPU->info();
  R.GPU->Backend = GPU->getBackendName().str();
  StringRef(D.getName()).split(':').second.getAsInteger(10, R.GPU->Number);
  if (Plan.compiler().arch() != Plan.kernel().Arch)
    R.GPU->Retargeted = Plan.compiler().arch().str();
}

Error ReplayRun::describeOnGPU(DeviceKernel &Kernel) {
  R.GPU->MemoryMode = Session.Memory->mode().str();
  Expected<unsigned> Blocks =
      GPU->getOccupancy(Kernel, Plan.block().count(), Plan.sharedMem());
  if (!Blocks)
    return Blocks.takeError();
  R.GPU->BlocksPerMultiprocessor = *Blocks;
  if (unsigned Threads = R.GPU->Info.ThreadsPerMultiprocessor)
    R.GPU->Occupancy = double(*Blocks * Plan.block().count()) / Threads;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Measuring
//===----------------------------------------------------------------------===//

unsigned mneme::getHostIterations(const ReplayOptions &O) {
  constexpr unsigned Pairs = 10;
  static_assert(Pairs >= MinIntervalSamples);
  return O.Iterations.value_or(O.Compared == Baseline::None ? O.HostIterations
                                                            : Pairs);
}

MeasureRules ReplayRun::getRules() const {
  MeasureRules Rules = !Options.Quick ? MeasureRules()
                       : GPU          ? MeasureRules::quickOnGPU()
                                      : MeasureRules::quick();
  Rules.Samples = Options.Iterations;
  Rules.Warmup = Options.Warmup;
  Rules.StopAbove = Options.StopAbove;
  if (GPU || Options.Adaptive || Options.Quick)
    return Rules;
  Rules.Samples = getHostIterations(Options);
  Rules.Warmup = Options.Warmup.value_or(Options.HostWarmup);
  return Rules;
}

Error ReplayRun::measure(MeasuredKernel &Candidate, MeasuredKernel *Other) {
  SmallVector<MeasuredKernel *, 2> MeasuredKernels = {&Candidate};
  if (Other)
    MeasuredKernels.push_back(Other);
  bool Restore = Session.needsRestoring(Plan);
  double Run = R.Times.Run, Restored = R.Times.Restore;
  Expected<std::vector<Measurement>> Measured = [&] {
    ScopedTimer Timer(Run);
    return measureAll(*Session.TheMeasurer, D, MeasuredKernels, Restore,
                      getRules());
  }();
  R.Times.Run = Run - (R.Times.Restore - Restored);
  if (!Measured)
    return Measured.takeError();
  if (Measured->empty()) {
    if (Other && Other->failed()) {
      R.Compared->V = Other->V;
      R.Compared->Error = Other->Message;
      Session.noteEnd(*Other);
    }
    return Error::success();
  }
  if (Options.Verify)
    if (Error E = Candidate.confirm())
      return E;
  if (!Candidate.isGood())
    return Error::success();
  if (Error E = Session.checkBound(Plan, Candidate, Measured->front(), Report,
                                   OwnBound))
    return E;
  R.Measured = std::move(Measured->front());
  if (Other)
    compareWithBaseline(std::move(Measured->back()));
  return Error::success();
}

/// The last launch may be one that needs no verification: confirm() has
/// verified the code.
Error ReplayRun::count(MeasuredKernel &Candidate) {
  double Restored = R.Times.Restore, Run = R.Times.Run;
  Error E = [&] {
    ScopedTimer Timer(Run);
    return Candidate.count(Options.Counters, R.Counters);
  }();
  R.Times.Run = Run - (R.Times.Restore - Restored);
  return E;
}

void ReplayRun::compareWithBaseline(Measurement Other) {
  ArrayRef<double> Ours = R.nanoseconds();
  auto IsPositive = [](double N) { return N > 0; };
  if (!Ours.empty() && all_of(Ours, IsPositive) &&
      all_of(Other.Nanoseconds, IsPositive))
    R.Compared->Speedup = estimatePairedRatio(Other.Nanoseconds, Ours);
  R.Compared->Measured = std::move(Other);
}

Expected<CompiledKernel> ReplayRun::makeBaselineCode() {
  if (Options.Compared == Baseline::App)
    return readAppCode(Plan, Options.appFile());
  return compileVariant(*BaselinePlan, GPU ? CodeTarget::GPU : CodeTarget::Host,
                        [&](ReplayStage) { Report(ReplayStage::Baseline); });
}

/// \returns null if there is no baseline, or if the baseline failed, which the
/// result then reports.
Expected<std::unique_ptr<MeasuredKernel>> ReplayRun::prepareBaseline() {
  if (Options.Compared == Baseline::None)
    return nullptr;
  ScopedTimer Timer(R.Times.Baseline);
  R.Compared.emplace();
  R.Compared->Kind = Options.Compared;
  ReplayOptions Own = getBaselineOptions(Options);
  Own.Untrusted = Options.Untrusted; // The same work between launches.
  Expected<std::unique_ptr<ReplayPlan>> Varied = Plan.vary(std::move(Own));
  if (!Varied)
    return Varied.takeError();
  BaselinePlan = std::move(*Varied);
  Expected<CompiledKernel> Code = makeBaselineCode();
  if (!Code)
    return Code.takeError();
  R.Compared->Resources = Code->Resources;
  R.Compared->V = Code->V;
  R.Compared->Error = Code->Error;
  if (Code->failed())
    return nullptr;
  auto Other = std::make_unique<MeasuredKernel>(Session, *BaselinePlan,
                                                OtherTimes, Report);
  if (Error E = Other->load(*Code, Session.Kernels))
    return std::move(E);
  if (Other->isGood() && Options.Verify)
    if (Error E = Other->verify())
      return std::move(E);
  R.Compared->V = Other->V;
  R.Compared->Error = Other->Message;
  if (Other->isGood())
    return std::move(Other);
  Session.noteEnd(*Other);
  return nullptr;
}
