//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles kernels for NVIDIA GPUs while the program runs.
///
//===----------------------------------------------------------------------===//

#include "GpuDeployment.h"
#include "Jit.h"
#include "JitEntries.h"
#include "JitKernel.h"
#include "LaunchCompiler.h"
#include "LoadedStubs.h"
#include "Prewarm.h"
#include "RelaxedCapture.h"
#include "Shortage.h"

#include <algorithm>
#include <map>
#include <new>
#include <tuple>

using namespace mneme;

/// The stream of the launch that the thread makes: contents of memory are read
/// in its order.
static thread_local CUstream LaunchStream
    __attribute__((tls_model("initial-exec"))) = nullptr;

namespace {
class CubinLoader final : public JitLoader {
public:
  CubinLoader(const CudaDriver &Driver, DeviceModule Module)
      : Driver(Driver), Module(std::move(Module)) {
    if (Driver.CtxGetCurrent(&Context))
      Context = nullptr;
  }

  void *load(JitImage &Image, std::string &Error) override;
  bool read(void *To, const void *From, uint64_t Size) override {
    return !Driver.MemcpyDtoHAsync(To, reinterpret_cast<CUdeviceptr>(From),
                                   Size, LaunchStream) &&
           !Driver.StreamSynchronize(LaunchStream);
  }
  std::vector<const MnemePayloadHeader *> payloads() override {
    return Module.Payloads;
  }

private:
  const CudaDriver &Driver;
  const DeviceModule Module;
  CUcontext Context = nullptr; ///< Of the first launch.
};

/// Code for launches of a kernel. Lives as long as the process.
struct CompiledCode {
  CUkernel Kernel = nullptr;
  /// If it uses variables of the application.
  std::unique_ptr<BoundImage> Bound;
  /// Bit N: prepared for device N.
  std::atomic<uint64_t> Prepared{0};
};

struct JitCode final : LaunchCode {
  void addTime(uint64_t Nanoseconds) override {
    Site->addTime(*Variant, IsOwnTurn, Nanoseconds);
  }
  void fail(Fallback Kind, const char *Why) override;

  JitSite *Site = nullptr;
  JitVariant *Variant = nullptr;
};

/// A kernel of the application that may be compiled again. Lives as long as the
/// process.
class GpuJitKernel {
public:
  explicit GpuJitKernel(const CudaDriver &Driver) : Driver(Driver) {}

  /// Finds code for a launch on the current device, and makes it ready. Counts
  /// the launch, and returns false, if there is none.
  bool findCode(const LaunchRequest &L, JitCode &C);
  void setAttribute(const FunctionAttribute &A);
  void forget(int Device);

  JitSite *Site = nullptr; ///< Null: the kernel is not compiled again.
  std::atomic<bool> IsPrewarmed{false};

private:
  bool prepare(JitCode &C, CompiledCode &Code);
  CUresult apply(const CompiledCode &C, const FunctionAttribute &A) const;
  std::string doPrepare(CompiledCode &C, int Device);

  const CudaDriver &Driver;
  std::mutex Lock; ///< Protects the following data, and preparations.
  std::vector<FunctionAttribute> Attributes;
  std::vector<std::pair<CompiledCode *, JitVariant *>>
      Known; ///< Prepared once.
};

class GpuJit final : public LaunchCompiler {
public:
  static GpuJit &get() {
    // Never destroyed, because applications may use it while they exit.
    alignas(GpuJit) static char Storage[sizeof(GpuJit)];
    static GpuJit &J = *new (Storage) GpuJit;
    return J;
  }
  int launch(const LaunchRequest &L, OriginalCall Own) override;
  void mirrorAttribute(const void *Stub, unsigned Variation, unsigned Arch,
                       const FunctionAttribute &A) override {
    if (GpuJitKernel *K = find(Stub, Variation, Arch))
      K->setAttribute(A);
  }
  void forget(int Device) override;

private:
  GpuJitKernel *find(const void *Stub, unsigned Variation, unsigned Arch);
  void prewarmAll(unsigned Variation, unsigned Arch);
  GpuJitKernel *lookUp(const void *Stub, uint64_t Key, unsigned Arch);
  GpuJitKernel &makeKernel(const void *Stub, unsigned Arch,
                           const CudaDriver &Driver);

  LoadedStubs<GpuJitKernel> Stubs;
  std::mutex Lock; ///< Protects the following data, and adding stubs.
  /// By module, symbol and architecture.
  std::map<std::tuple<DeviceModule::Key, std::string, unsigned>,
           std::unique_ptr<GpuJitKernel>>
      Kernels;
};
} // namespace

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

void *CubinLoader::load(JitImage &Image, std::string &Error) {
  // A thread of the JIT has none, and drivers may want one.
  CUcontext Current = nullptr;
  if (Context && !Driver.CtxGetCurrent(&Current) && !Current)
    Driver.CtxSetCurrent(Context);
  RelaxedCapture Relaxed(Driver);
  auto Code = std::make_unique<CompiledCode>();
  std::vector<ImageVariable> Variables;
  for (const JitImage::Variable &V : Image.Variables)
    Variables.push_back({V.Name, V.Size, V.Slot});
  if (!Variables.empty())
    Code->Bound = std::make_unique<BoundImage>(std::move(Variables), Module);
  CUlibrary Library = nullptr;
  if (CUresult E = Driver.LibraryLoadData(&Library, Image.Cubin.data(), nullptr,
                                          nullptr, 0, nullptr, nullptr, 0)) {
    Error = Driver.describe(E);
    return nullptr;
  }
  if (CUresult E = Driver.LibraryGetKernel(&Code->Kernel, Library,
                                           Image.Kernel.c_str())) {
    Driver.LibraryUnload(Library);
    Error = "it does not have the kernel: " + Driver.describe(E);
    return nullptr;
  }
  if (Code->Bound)
    Code->Bound->setLibrary(Library, Code->Kernel);
  return Code.release();
}

static JitReason reasonFor(Fallback Why) {
  switch (Why) {
  case Fallback::NoContext:
  case Fallback::OtherDevice:
  case Fallback::OtherStream:
    return JitReason::Context;
  case Fallback::UnknownAttribute:
    return JitReason::Attribute;
  case Fallback::Capture:
    return JitReason::Capture;
  case Fallback::Load:
    return JitReason::Load;
  case Fallback::Variables:
    return JitReason::Variables;
  case Fallback::OutOfMemory:
    return JitReason::Memory;
  default:
    return JitReason::Launch;
  }
}

void JitCode::fail(Fallback Kind, const char *Why) {
  Site->fail(*Variant, reasonFor(Kind), Why);
}

/// A captured launch gets none: the graph may get other arguments later.
bool GpuJitKernel::findCode(const LaunchRequest &L, JitCode &C) {
  if (!Jit::get().isOn()) {
    Site->count(JitReason::Disabled);
    return false;
  }
  Fallback F = GpuDeployment::get().checkUncaptured(L, C.Device);
  if (F != Fallback::None) {
    Site->count(reasonFor(F));
    return false;
  }
  JitLaunch Launch;
  Launch.Places = L.Facts.Args;
  for (unsigned I = 0; I != 3; ++I) {
    C.Plan.Grid[I] = Launch.Grid[I] = L.Facts.Grid[I];
    C.Plan.Block[I] = Launch.Block[I] = L.Facts.Block[I];
  }
  C.Plan.DynamicShared = uint32_t(L.Facts.DynamicShared);
  LaunchStream = L.Stream;
  C.Site = Site;
  C.Variant = Site->find(Launch);
  auto *Code =
      C.Variant ? static_cast<CompiledCode *>(C.Variant->Code) : nullptr;
  if (!Code ||
      (!(Code->Prepared.load(std::memory_order_acquire) >> C.Device & 1) &&
       !prepare(C, *Code)))
    return false;
  C.Function = reinterpret_cast<CUfunction>(Code->Kernel);
  C.ToRefresh = Code->Bound.get();
  C.IsTimed = Jit::get().settings().Times;
  C.IsOwnTurn = C.IsTimed && Site->isOwnTurn(*C.Variant);
  return true;
}

CUresult GpuJitKernel::apply(const CompiledCode &C,
                             const FunctionAttribute &A) const {
  return A.Attribute == FunctionAttribute::CacheConfig
             ? Driver.KernelSetCacheConfig(C.Kernel, A.Value, A.Device)
             : Driver.KernelSetAttribute(A.Attribute, A.Value, C.Kernel,
                                         A.Device);
}

/// With Lock held. \returns an error message. May throw.
std::string GpuJitKernel::doPrepare(CompiledCode &C, int Device) {
  for (const FunctionAttribute &A : Attributes)
    if (A.Device == Device)
      if (CUresult E = apply(C, A))
        return "an attribute cannot be set: " + Driver.describe(E);
  if (C.Bound && !C.Bound->isPrepared(Device))
    return C.Bound->prepare(Driver, Device);
  return "";
}

/// Makes code ready for the current device. Counts the launch, and returns
/// false, if that fails.
bool GpuJitKernel::prepare(JitCode &C, CompiledCode &Code) {
  std::string Error = outOfMemory();
  if (attempt([&] {
        Uncancelled Here;
        RelaxedCapture Relaxed(Driver);
        std::lock_guard<std::mutex> Guard(Lock);
        std::pair Now(&Code, C.Variant);
        if (!std::count(Known.begin(), Known.end(), Now))
          Known.push_back(Now);
        Error = doPrepare(Code, C.Device);
        if (Error.empty())
          Code.Prepared.fetch_or(uint64_t(1) << C.Device,
                                 std::memory_order_release);
      }) &&
      Error.empty())
    return true;
  C.fail(Fallback::Load, Error.c_str());
  return false;
}

void GpuJitKernel::setAttribute(const FunctionAttribute &A) {
  std::lock_guard<std::mutex> Guard(Lock);
  bool Ok = attempt([&] { setFunctionAttribute(Attributes, A); });
  for (auto [Code, Variant] : Known)
    if (Code->Prepared >> A.Device & 1)
      if (!Ok || apply(*Code, A))
        Site->disable(*Variant, JitReason::Load, "an attribute cannot be set");
}

void GpuJitKernel::forget(int Device) {
  std::lock_guard<std::mutex> Guard(Lock);
  forgetFunctionAttributes(Attributes, Device);
  for (auto [Code, Variant] : Known) {
    Code->Prepared.fetch_and(~(uint64_t(1) << Device));
    if (Code->Bound)
      Code->Bound->forget(Device);
  }
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// May throw.
GpuJitKernel &GpuJit::makeKernel(const void *Stub, unsigned Arch,
                                 const CudaDriver &Driver) {
  // Leads to no site: launches of other kernels.
  static GpuJitKernel &Other = *new GpuJitKernel(Driver);
  IndexEntry Entry;
  if (!Program::get().find(Stub, MNEME_INDEX_KERNEL, Entry, Arch))
    return Other;
  DeviceModule Module = Program::get().moduleOf(Entry);
  auto &Known = Kernels[{Module.key(), Entry.Name, Arch}];
  if (Known)
    return *Known;
  JitRequest Q;
  if (!describeJitKernel(Stub, Entry, Module, JitTarget::Cuda, Q))
    return Other;
  Q.Arch = "sm_" + std::to_string(Arch);
  auto New = std::make_unique<GpuJitKernel>(Driver);
  New->Site = &Jit::get().add(std::make_unique<JitSite>(
      Jit::get(), std::move(Q),
      std::make_unique<CubinLoader>(Driver, std::move(Module))));
  Known = std::move(New);
  return *Known;
}

GpuJitKernel *GpuJit::lookUp(const void *Stub, uint64_t Key, unsigned Arch) {
  const CudaDriver *Driver = GpuDeployment::get().driver();
  if (!Stub || !Driver)
    return nullptr;
  return Stubs.findOrMake(
      Key, Lock,
      [&]() -> GpuJitKernel & { return makeKernel(Stub, Arch, *Driver); },
      [](const GpuJitKernel &K) { return K.Site; });
}

int GpuJit::launch(const LaunchRequest &L, OriginalCall Own) {
  GpuDeployment &D = GpuDeployment::get();
  JitCode C;
  unsigned Variation = 0, Arch = 0;
  GpuJitKernel *K = D.findArch(L, C.Device, Variation, Arch)
                        ? find(L.Stub, Variation, Arch)
                        : nullptr;
  return K && K->findCode(L, C) ? D.serve(L, C, Own) : D.launchOwn(Own);
}

/// Returns null for kernels that are not compiled again. \p Variation
/// distinguishes architectures.
GpuJitKernel *GpuJit::find(const void *Stub, unsigned Variation,
                           unsigned Arch) {
  // Launched through the driver.
  if (!Stub)
    return nullptr;
  uint64_t Key = Stubs.keyOf(Stub, Variation);
  GpuJitKernel *K = Stubs.find(Key);
  // A forked child cannot use locks; kernels that were never launched while the
  // JIT was on are counted nowhere.
  if (!K && Jit::get().isOn()) {
    K = lookUp(Stub, Key, Arch);
    if (TunedKernels::get().isActive())
      prewarmAll(Variation, Arch);
  }
  return K && K->Site ? K : nullptr;
}

/// For all kernels of the program, once for each.
void GpuJit::prewarmAll(unsigned Variation, unsigned Arch) {
  const DeployDevice *D = GpuDeployment::get().deviceOf(Arch);
  if (!D)
    return;
  attempt([&] {
    for (const void *Stub : Program::get().stubs()) {
      TunedStub *Tuned = TunedKernels::get().find(Stub, Variation, Arch);
      if (!Tuned || !Tuned->Kernel || Tuned->Problem != Fallback::None)
        continue;
      GpuJitKernel *K = lookUp(Stub, Stubs.keyOf(Stub, Variation), Arch);
      if (K && K->Site && !K->IsPrewarmed.exchange(true))
        prewarm(*K->Site, *Tuned->Kernel, *D);
    }
  });
}

void GpuJit::forget(int Device) {
  std::lock_guard<std::mutex> Guard(Lock);
  for (const auto &[Key, K] : Kernels)
    if (K)
      K->forget(Device);
}

//===----------------------------------------------------------------------===//
// The runtime
//===----------------------------------------------------------------------===//

LaunchCompiler *mneme::startCompiler() {
  Jit::get().start();
  return Jit::get().isOn() ? &GpuJit::get() : nullptr;
}

void *mneme::findCompilerFunction(const char *Name) {
  return findJitFunction(Name);
}

void mneme::visitVariables(const void *HostPtr, VariableCallback *OnVariable,
                           void *Data) {
  IndexEntry Kernel;
  if (!Program::get().find(HostPtr, MNEME_INDEX_KERNEL, Kernel))
    return;
  DeviceModule Module = Program::get().moduleOf(Kernel);
  for (const auto &[Shadow, Entry] : Program::get().variables(Module))
    OnVariable(Data, Entry.Name.c_str(), Shadow,
               findVariable(Entry.Object, Shadow), Entry.Size);
}
