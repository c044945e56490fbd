//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GpuDeployment.h"
#include "Message.h"
#include "RelaxedCapture.h"
#include "Shortage.h"
#include "Vendor.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <mutex>
#include <new>
#include <utility>

using namespace mneme;

// Bits of TunedVariant::Prepared.
static constexpr int MaxDevices = BoundImage::MaxDevices;

/// The device that the thread selected; -1 if it selected none. Before CUDA 12,
/// the runtime changes the context later than that.
static thread_local int SelectedDevice
    __attribute__((tls_model("initial-exec"))) = -1;

/// The thread has had a context.
static thread_local bool HasContext __attribute__((tls_model("initial-exec"))) =
    false;

GpuDeployment &GpuDeployment::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(GpuDeployment) static char Storage[sizeof(GpuDeployment)];
  static GpuDeployment &D = *new (Storage) GpuDeployment;
  return D;
}

//===----------------------------------------------------------------------===//
// Devices
//===----------------------------------------------------------------------===//

static const CudaDriver *loadDriver() {
  std::string Error;
  return ForHip ? CudaDriver::loadHip(Error) : CudaDriver::load(Error);
}

/// Lists the devices once the application has initialized the driver. \returns
/// null before.
const GpuDeployment::GpuList *GpuDeployment::findGpus() {
  std::lock_guard<std::mutex> Guard(TunedKernels::get().lock());
  if (const GpuList *Known = Gpus.load(std::memory_order_relaxed))
    return Known;
  const GpuList *Found = nullptr;
  attempt([&] {
    auto New = std::make_unique<GpuList>();
    New->Driver = loadDriver();
    int Count = 0;
    if (!New->Driver || New->Driver->DeviceGetCount(&Count))
      return;
    New->All.resize(std::min(Count, MaxDevices));
    for (size_t I = 0; I != New->All.size(); ++I) {
      Gpu &G = New->All[I];
      auto Get = [&](int Attribute) {
        int Value = 0;
        return New->Driver->DeviceGetAttribute(&Value, Attribute, int(I))
                   ? 0u
                   : unsigned(Value);
      };
      if (New->Driver->DeviceGetName(G.Name, sizeof(G.Name) - 1, int(I)))
        G.Name[0] = 0;
      // MAX_THREADS_PER_BLOCK, MAX_BLOCK_DIM_X to Z, MAX_GRID_DIM_X to Z,
      // COMPUTE_CAPABILITY_MAJOR and MINOR, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN,
      // and without, as HIP knows no other.
      G.Facts = {MNEME_IMAGE_CUBIN,
                 Get(75) * 10 + Get(76),
                 G.Name,
                 Get(1),
                 {Get(2), Get(3), Get(4)},
                 {Get(5), Get(6), Get(7)},
                 std::max(Get(97), Get(8)),
                 /*ArchName=*/nullptr,
                 &findAllocation};
      if (ForHip) {
        G.Arch = New->Driver->archOf(int(I));
        G.Facts.ImageKind = MNEME_IMAGE_CODE_OBJECT;
        G.Facts.Arch = parseArchitecture(G.Arch.c_str());
        G.Facts.ArchName = G.Arch.c_str();
      }
      New->AreAlike &= G.Facts.Arch == New->All[0].Facts.Arch;
    }
    Found = New.release(); // Never deleted.
    Gpus.store(Found, std::memory_order_release);
  });
  return Found;
}

bool GpuDeployment::findAllocation(uint64_t Address, MemoryExtent &E) {
  // CU_POINTER_ATTRIBUTE_*; CU_MEMORYTYPE_DEVICE.
  constexpr int MemoryType = 2, RangeStart = 11, RangeSize = 12;
  constexpr unsigned OnDevice = 2;
  const CudaDriver &Driver = *get().list()->Driver;
  CUdeviceptr Start = 0;
  size_t Size = 0;
  unsigned Type = 0;
  if (!Address || !Driver.PointerGetAttribute ||
      Driver.PointerGetAttribute(&Start, RangeStart, Address) || !Start ||
      Driver.PointerGetAttribute(&Size, RangeSize, Address) || !Size)
    return false;
  // The process may have mapped host memory elsewhere, too.
  bool HasOwnPages = !Driver.PointerGetAttribute(&Type, MemoryType, Address) &&
                     Type == OnDevice;
  E = {Start, Start + Size, HasOwnPages};
  return true;
}

void GpuDeployment::noteDevice(int Device) {
  SelectedDevice = Device;
  HasContext = false;
}

int GpuDeployment::currentDevice() const {
  CUdevice Device = -1;
  const GpuList *L = list();
  return L && !L->Driver->CtxGetDevice(&Device) ? Device : -1;
}

bool GpuDeployment::findArch(const GpuList &L, int &Device, unsigned &Variation,
                             unsigned &Arch) const {
  if (L.All.empty())
    return false;
  if (!L.AreAlike &&
      (L.Driver->CtxGetDevice(&Device) || size_t(Device) >= L.All.size()))
    return false;
  Variation = L.AreAlike ? 0 : Device + 1;
  Arch = L.All[L.AreAlike ? 0 : Device].Facts.Arch;
  return true;
}

/// Returns what \p Stub leads to on the current device; null if that is
/// unknown.
TunedStub *GpuDeployment::find(const GpuList &L, const void *Stub,
                               int &Device) const {
  unsigned Variation = 0, Arch = 0;
  return findArch(L, Device, Variation, Arch)
             ? TunedKernels::get().find(Stub, Variation, Arch)
             : nullptr;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

/// Makes the context that the runtime would make for this launch: that of the
/// selected device, which is 0 at first. \returns null without a driver.
const GpuDeployment::GpuList *GpuDeployment::makeContext() {
  const CudaDriver *Driver = loadDriver();
  CUcontext Context = nullptr;
  if (!Driver || Driver->Init(0) ||
      Driver->DevicePrimaryCtxRetain(&Context,
                                     SelectedDevice < 0 ? 0 : SelectedDevice))
    return nullptr;
  // It is released with the process, or when the device is reset.
  return Driver->CtxSetCurrent(Context) ? nullptr : list();
}

/// Returns the devices, for a launch that may be the first call of the thread.
const GpuDeployment::GpuList *GpuDeployment::listFor(const LaunchRequest &L) {
  const GpuList *All = list();
  // Launches through the driver need a context that is there.
  if (!L.Stub || (All && HasContext))
    return All;
  CUcontext Current = nullptr;
  if (!All || (!All->Driver->CtxGetCurrent(&Current) && !Current)) {
    const GpuList *Made = makeContext();
    if (!Made)
      return All;
    All = Made;
  }
  HasContext = true;
  return All;
}

/// Sets the device of a launch if it is not known yet. \returns why the launch
/// cannot be served, if so.
Fallback GpuDeployment::findDevice(const GpuList &All, const LaunchRequest &L,
                                   int &Device) const {
  if (Device < 0 && All.Driver->CtxGetDevice(&Device))
    return Fallback::NoContext;
  if (size_t(Device) >= All.All.size() ||
      (SelectedDevice >= 0 && SelectedDevice != Device))
    return Fallback::OtherDevice;
  if (All.All.size() > 1 && reinterpret_cast<uintptr_t>(L.Stream) > 2) {
    // The driver would launch on the stream's device, and the runtime fails.
    CUcontext Current = nullptr, Owner = nullptr;
    if (!All.Driver->StreamGetCtx ||
        All.Driver->StreamGetCtx(L.Stream, &Owner) ||
        All.Driver->CtxGetCurrent(&Current) || Current != Owner)
      return Fallback::OtherStream;
  }
  return Fallback::None;
}

/// Sets the stub, the variant, the device and the plan of \p C. \returns false
/// after the launch was counted, if nothing serves it.
bool GpuDeployment::select(const LaunchRequest &L, TunedCode &C) {
  TunedKernels &Kernels = TunedKernels::get();
  const GpuList *All = listFor(L);
  C.Stub = !All ? nullptr : L.Found ? L.Found : find(*All, L.Stub, C.Device);
  if (!C.Stub) {
    Kernels.countEarly();
    return false;
  }
  TunedKernel *K = C.Stub->Kernel;
  if (!K) {
    C.Stub->Unmatched.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  auto Refuse = [&](Fallback F) {
    countFallback(K->FellBack, F);
    return false;
  };
  if (C.Stub->Problem != Fallback::None)
    return Refuse(C.Stub->Problem);
  if (Fallback F = findDevice(*All, L, C.Device); F != Fallback::None)
    return Refuse(F);
  C.Variant = Kernels.select(*K, L.Facts, All->All[C.Device].Facts, C.Plan);
  return C.Variant;
}

int GpuDeployment::launch(const LaunchRequest &L, OriginalCall Own) {
  TunedKernels &Kernels = TunedKernels::get();
  if (TunedCode C; Kernels.isActive() && select(L, C)) {
    TunedVariant &V = *C.Variant;
    if (Fallback F = check(L, C); F != Fallback::None) {
      countFallback(V.FellBack, F);
      return launchOwn(Own);
    }
    int Error;
    VerifyReason Why = Kernels.reasonToVerify(V);
    if (Why != VerifyReason::None && verify(C, Why, L, Own, Error))
      return Error;
    C.IsTimed = Kernels.timed() != TimedCode::None;
    C.IsOwnTurn = Kernels.timed() == TimedCode::Plain;
    if (C.IsTimed)
      V.Matched.fetch_add(1, std::memory_order_relaxed);
    return serve(L, C, Own);
  }
  LaunchCompiler *C = compiler();
  return C ? C->launch(L, Own) : launchOwn(Own);
}

int GpuDeployment::serve(const LaunchRequest &L, LaunchCode &C,
                         OriginalCall Own) {
  const CudaDriver &Driver = *list()->Driver;
  std::optional<LaunchTimer> Timer;
  if (C.IsTimed)
    Timer.emplace().start(Driver, L.Stream);
  Fallback Why = Fallback::None;
  CUresult Refusal = C.IsOwnTurn
                         ? CUDA_SUCCESS
                         : CUresult(change([&] { return fire(L, C, Why); }));
  int Error = C.IsOwnTurn || Refusal ? launchOwn(Own) : int(cudaSuccess);
  if (!Refusal && !Error) {
    if (std::optional<uint64_t> Time = Timer ? Timer->stop() : std::nullopt)
      C.addTime(*Time);
    if (!C.IsOwnTurn)
      C.noteServed();
  }
  // A launch that is invalid for the application's own kernel, too, says
  // nothing about the code.
  if (Refusal && !attempt([&] {
        C.fail(Why, Error ? "" : Driver.describe(Refusal).c_str());
      }))
    C.fail(Why, "");
  return Error;
}

/// The attributes that mean the same to the driver and name nothing of the
/// application's kernel. Later versions of CUDA have others.
static bool isKnownAttribute(uint32_t Id) {
  constexpr uint32_t Priority = 8;
  if (ForHip)
    return Id == CudaLaunchAttributeCooperative || Id == Priority;
  switch (Id) {
  case 0: // IGNORE
  case 1: // ACCESS_POLICY_WINDOW
  case CudaLaunchAttributeCooperative:
  case 3: // SYNCHRONIZATION_POLICY
  case CudaLaunchAttributeClusterDim:
  case 5:  // CLUSTER_SCHEDULING_POLICY_PREFERENCE
  case 6:  // PROGRAMMATIC_STREAM_SERIALIZATION
  case 7:  // PROGRAMMATIC_EVENT
  case Priority:
  case 9:  // MEM_SYNC_DOMAIN_MAP
  case 10: // MEM_SYNC_DOMAIN
  case 12: // LAUNCH_COMPLETION_EVENT
  case 14: // PREFERRED_SHARED_MEMORY_CARVEOUT
    return true;
  }
  return false;
}

/// \returns what prevents that the launch is served, if anything.
static Fallback checkLaunch(const CudaDriver &Driver, const LaunchRequest &L) {
  if (L.Obstacle != Fallback::None)
    return L.Obstacle;
  bool Known = std::all_of(
      L.Attributes, L.Attributes + L.NumAttributes,
      [](const CudaLaunchAttribute &A) { return isKnownAttribute(A.Id); });
  // Older releases of HIP have no launches with attributes.
  if (!Known || (L.NumAttributes && !Driver.LaunchKernelEx) ||
      (L.Facts.Cooperative && !Driver.LaunchCooperativeKernel))
    return Fallback::UnknownAttribute;
  return Fallback::None;
}

static CUresult launchCode(const CudaDriver &Driver, CUfunction F,
                           const LaunchRequest &L, const LaunchPlan &P) {
  void **Args = const_cast<void **>(L.Facts.Args);
  // HIP has no kernels that belong to all devices.
  if (ForHip)
    if (CUresult E =
            Driver.KernelGetFunction(&F, reinterpret_cast<CUkernel>(F)))
      return E;
  if (L.NumAttributes) {
    CUlaunchConfig C = {
        P.Grid[0],  P.Grid[1],       P.Grid[2], P.Block[0],   P.Block[1],
        P.Block[2], P.DynamicShared, L.Stream,  L.Attributes, L.NumAttributes};
    return Driver.LaunchKernelEx(&C, F, Args, nullptr);
  }
  if (L.Facts.Cooperative)
    return Driver.LaunchCooperativeKernel(F, P.Grid[0], P.Grid[1], P.Grid[2],
                                          P.Block[0], P.Block[1], P.Block[2],
                                          P.DynamicShared, L.Stream, Args);
  return Driver.LaunchKernel(F, P.Grid[0], P.Grid[1], P.Grid[2], P.Block[0],
                             P.Block[1], P.Block[2], P.DynamicShared, L.Stream,
                             Args, nullptr);
}

/// Whether the variant can be launched now. Loads it if necessary.
Fallback GpuDeployment::check(const LaunchRequest &L, TunedCode &C) {
  TunedVariant &V = *C.Variant;
  if (Fallback F = checkLaunch(*list()->Driver, L); F != Fallback::None)
    return F;
  int Status = 0;
  // Fails while a stream is captured that the default stream waits for.
  if (CUresult E = list()->Driver->StreamIsCapturing(L.Stream, &Status))
    return isCaptureError(E) ? Fallback::Capture : Fallback::Refused;
  if (Status && V.DependsOnArguments && !TunedKernels::get().capturesAll())
    return Fallback::Capture;
  if (V.UsesVariables)
    return checkBound(L, C, Status);
  if (!(V.Prepared.load(std::memory_order_acquire) >> C.Device & 1)) {
    Fallback F = Status ? Fallback::NotLoaded : prepare(V, C.Device);
    if (F != Fallback::None)
      return F;
  }
  C.Function = static_cast<CUfunction>(V.Code.load(std::memory_order_acquire));
  return Fallback::None;
}

/// Tests the guards whose variables are known only now.
static bool pointsToVariable(const TunedVariant &V, const LaunchFacts &L,
                             const BoundImage &Bound, int Device) {
  return std::any_of(V.Tables.Guards.begin(), V.Tables.Guards.end(),
                     [&](const MnemePackageGuard &G) {
                       if (G.What != MNEME_GUARD_IN_VARIABLE)
                         return false;
                       CUdeviceptr Pointer = 0;
                       std::memcpy(&Pointer,
                                   static_cast<const char *>(L.Args[G.Index]) +
                                       G.Offset,
                                   sizeof(Pointer));
                       return Bound.hasVariableAt(Pointer, Device);
                     });
}

/// The same for a variant that uses variables.
Fallback GpuDeployment::checkBound(const LaunchRequest &L, TunedCode &C,
                                   bool IsCaptured) {
  TunedVariant &V = *C.Variant;
  C.Bound = BoundImage::find(V, *C.Stub);
  if (!C.Bound || !C.Bound->isPrepared(C.Device)) {
    Fallback F =
        IsCaptured ? Fallback::NotLoaded : prepareBound(V, *C.Stub, C.Device);
    if (F != Fallback::None)
      return F;
    C.Bound = BoundImage::find(V, *C.Stub);
  }
  C.Function = reinterpret_cast<CUfunction>(C.Bound->code());
  if (pointsToVariable(V, L.Facts, *C.Bound, C.Device))
    return Fallback::Buffer;
  bool HasCopies = C.Bound->hasCopies();
  if (IsCaptured && HasCopies && !TunedKernels::get().capturesAll())
    return Fallback::CopiesCaptured;
  if (IsCaptured && !HasCopies)
    return C.Bound->isFresh(C.Device) ? Fallback::None : Fallback::NotLoaded;
  return change([&] {
    return C.Bound->refresh(*list()->Driver, C.Device, L.Stream, IsCaptured);
  })
             ? Fallback::Variables
             : Fallback::None;
}

CUresult GpuDeployment::fire(const LaunchRequest &L, LaunchCode &C,
                             Fallback &Why) {
  const CudaDriver &Driver = *list()->Driver;
  Why = Fallback::Variables;
  if (C.ToRefresh)
    if (CUresult E = C.ToRefresh->refresh(Driver, C.Device, L.Stream,
                                          /*IsCaptured=*/false))
      return E;
  Why = Fallback::Refused;
  C.noteLaunch();
  return launchCode(Driver, C.Function, L, C.Plan);
}

Fallback GpuDeployment::checkUncaptured(const LaunchRequest &L,
                                        int &Device) const {
  const CudaDriver &Driver = *list()->Driver;
  Fallback F = findDevice(*list(), L, Device);
  if (F == Fallback::None)
    F = checkLaunch(Driver, L);
  int Status = 0;
  return F == Fallback::None &&
                 (Driver.StreamIsCapturing(L.Stream, &Status) || Status)
             ? Fallback::Capture
             : F;
}

void GpuDeployment::noteFault(int E) {
  attempt([&] {
    // The runtime and the driver have the same numbers.
    if (const GpuList *L = list())
      TunedKernels::get().noteFault(L->Driver->describe(E).c_str());
  });
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Shared by the timer and the driver's thread; the last one to leave frees it.
class LaunchTimer::Gate {
public:
  /// Closes \p S. \returns null if that is not possible.
  static Gate *close(const CudaDriver &D, CUstream S) {
    Gate *G = D.LaunchHostFunc ? new (std::nothrow) Gate : nullptr;
    if (G && D.LaunchHostFunc(S, wait, G)) {
      delete G;
      return nullptr;
    }
    return G;
  }
  void open() {
    IsOpen.store(true, std::memory_order_release);
    leave();
  }

private:
  /// A launch may have to wait for the device, for example to load code. It
  /// must not wait for a stream that waits for the launch.
  static constexpr std::chrono::milliseconds MaxWait{2};

  static void wait(void *Data) {
    Gate *G = static_cast<Gate *>(Data);
    auto End = std::chrono::steady_clock::now() + MaxWait;
    while (!G->IsOpen.load(std::memory_order_acquire) &&
           std::chrono::steady_clock::now() < End)
      ;
    G->leave();
  }
  void leave() {
    if (Users.fetch_sub(1, std::memory_order_acq_rel) == 1)
      delete this;
  }

  std::atomic<bool> IsOpen{false};
  std::atomic<int> Users{2};
};

void LaunchTimer::open() {
  if (Closed)
    Closed->open();
  Closed = nullptr;
}

void LaunchTimer::start(const CudaDriver &D, CUstream S) {
  // A captured launch does not run now.
  int Status = 0;
  if (D.StreamIsCapturing(S, &Status) || Status)
    return;
  Driver = &D;
  Stream = S;
  RelaxedCapture Relaxed(D);
  if (!Events.create(D))
    return;
  Closed = Gate::close(D, S);
  IsRunning = Events.start(S);
}

std::optional<uint64_t> LaunchTimer::stop() {
  if (!IsRunning)
    return std::nullopt;
  RelaxedCapture Relaxed(*Driver);
  bool IsRecorded = Events.stop(Stream);
  open();
  return IsRecorded && Events.wait() ? Events.nanoseconds() : std::nullopt;
}

LaunchTimer::~LaunchTimer() { open(); }

/// With the lock held. \returns an error message. May throw, with nothing done.
static std::string loadImage(const CudaDriver &Driver, const TunedVariant &V,
                             CUlibrary &Library, CUkernel &Code) {
  std::unique_ptr<char[]> Image;
  const Package &P = *V.Tables.From;
  if (std::string Error = P.readImage(*V.Tables.Fields, Image); !Error.empty())
    return "its package " + Error;
  CUresult E = Driver.LibraryLoadData(&Library, Image.get(), nullptr, nullptr,
                                      0, nullptr, nullptr, 0);
  if (E)
    return "the image cannot be loaded: " + Driver.describe(E);
  E = Driver.LibraryGetKernel(&Code, Library,
                              P.text(V.Tables.Fields->EntryOffset));
  if (E) {
    Driver.LibraryUnload(Library);
    return "the image does not have the kernel: " + Driver.describe(E);
  }
  // HIP loads it again for other devices.
  if (ForHip)
    Image.release();
  return "";
}

/// CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
static constexpr int MaxDynamicShared = 8;

static CUresult setAttribute(const CudaDriver &Driver, const TunedVariant &V,
                             CUkernel Code, const FunctionAttribute &A) {
  if (A.Attribute == FunctionAttribute::CacheConfig)
    return Driver.KernelSetCacheConfig(Code, A.Value, A.Device);
  int Value = A.Value;
  const MnemePackageVariant &F = *V.Tables.Fields;
  if (A.Attribute == MaxDynamicShared && F.DynamicShared != MNEME_SHARED_SAME)
    Value = std::max<int64_t>(Value, F.DynamicShared);
  return Driver.KernelSetAttribute(A.Attribute, Value, Code, A.Device);
}

/// With the lock held: sets what the variant itself needs, then what the
/// application set for its kernel.
static CUresult setAttributes(const CudaDriver &Driver, const TunedVariant &V,
                              CUkernel Code, int Device) {
  const MnemePackageVariant &F = *V.Tables.Fields;
  if (F.DynamicShared != MNEME_SHARED_SAME)
    if (CUresult E =
            setAttribute(Driver, V, Code, {Device, MaxDynamicShared, 0}))
      return E;
  for (const FunctionAttribute &A : V.Of->Attributes)
    if (A.Device == Device)
      if (CUresult E = setAttribute(Driver, V, Code, A))
        return E;
  return CUDA_SUCCESS;
}

/// Makes \p Load load and prepare the image of \p V: it returns an error
/// message, and may throw.
template <typename Fn>
static Fallback prepareImage(const CudaDriver &Driver, TunedVariant &V,
                             Fn Load) {
  Fallback Result = Fallback::OutOfMemory;
  attempt([&] {
    Uncancelled Here;
    std::lock_guard<std::mutex> Guard(TunedKernels::get().lock());
    Result = Fallback::Load;
    // Another thread may have failed meanwhile.
    if (V.isDisabled())
      return;
    RelaxedCapture Relaxed(Driver);
    if (std::string Error = Load(); !Error.empty())
      return TunedKernels::get().fail(V, Error.c_str());
    Result = Fallback::None;
  });
  return Result;
}

static std::string explainAttributes(const CudaDriver &Driver,
                                     const TunedVariant &V, CUkernel Code,
                                     int Device) {
  CUfunction F;
  if (ForHip)
    if (CUresult E = Driver.KernelGetFunction(&F, Code))
      return "the image cannot be loaded: " + Driver.describe(E);
  CUresult E = setAttributes(Driver, V, Code, Device);
  return E ? "an attribute cannot be set: " + Driver.describe(E) : "";
}

Fallback GpuDeployment::prepare(TunedVariant &V, int Device) {
  const CudaDriver &Driver = *list()->Driver;
  return prepareImage(Driver, V, [&]() -> std::string {
    auto Code = static_cast<CUkernel>(V.Code.load());
    if (!Code) {
      CUlibrary Library = nullptr;
      if (std::string Error = loadImage(Driver, V, Library, Code);
          !Error.empty())
        return Error;
      V.Code.store(Code, std::memory_order_release);
    }
    std::string Error = explainAttributes(Driver, V, Code, Device);
    if (Error.empty())
      V.Prepared.fetch_or(uint64_t(1) << Device, std::memory_order_release);
    return Error;
  });
}

Fallback GpuDeployment::prepareBound(TunedVariant &V, const TunedStub &Stub,
                                     int Device) {
  const CudaDriver &Driver = *list()->Driver;
  return prepareImage(Driver, V, [&]() -> std::string {
    BoundImage *Image = BoundImage::find(V, Stub);
    if (!Image) {
      auto New = std::make_unique<BoundImage>(BoundImage::listVariables(V),
                                              Stub.Module);
      CUlibrary Library = nullptr;
      CUkernel Code = nullptr;
      if (std::string Error = loadImage(Driver, V, Library, Code);
          !Error.empty())
        return Error;
      New->setLibrary(Library, Code);
      Image = New.get();
      BoundImage::add(V, std::move(New));
    }
    if (Image->isPrepared(Device))
      return "";
    std::string Error = explainAttributes(Driver, V, Image->code(), Device);
    return Error.empty() ? Image->prepare(Driver, Device) : Error;
  });
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// Loads a variant that a captured launch may be served with.
void GpuDeployment::preload(TunedVariant &V, const TunedStub &Stub,
                            int Device) {
  const CudaDriver &Driver = *list()->Driver;
  TunedKernels &Kernels = TunedKernels::get();
  bool NeedsAll = V.DependsOnArguments || mneme::copiesVariables(V.Tables);
  if (V.isDisabled() || (NeedsAll && !Kernels.capturesAll()) ||
      V.Tables.Fields->Grade > Kernels.policy().MaxGrade ||
      !runsOn(V.Tables, list()->All[Device].Facts))
    return;
  auto Load = [&](CUkernel Code) {
    // Drivers load code lazily, which a capture may not permit.
    CUfunction F = nullptr;
    if (Driver.KernelGetFunction && Driver.FuncLoad &&
        !Driver.KernelGetFunction(&F, Code))
      Driver.FuncLoad(F);
  };
  if (!V.UsesVariables) {
    if (prepare(V, Device) == Fallback::None)
      Load(static_cast<CUkernel>(V.Code.load()));
    return;
  }
  if (prepareBound(V, Stub, Device) != Fallback::None)
    return;
  BoundImage &Image = *BoundImage::find(V, Stub);
  Load(Image.code());
  constexpr unsigned NonBlocking = 1; // CU_STREAM_NON_BLOCKING
  CUstream S = nullptr;
  if (Image.isFresh(Device) || Driver.StreamCreate(&S, NonBlocking))
    return;
  if (!Image.refresh(Driver, Device, S, /*IsCaptured=*/false) &&
      !Driver.StreamSynchronize(S))
    Image.refresh(Driver, Device, S, /*IsCaptured=*/false); // Notes the end.
  Driver.StreamDestroy(S);
}

/// Before a capture, in which nothing can be loaded.
void GpuDeployment::preload() {
  TunedKernels &Kernels = TunedKernels::get();
  const GpuList *L = Kernels.isActive() ? list() : nullptr;
  CUdevice Device = -1;
  if (!L || L->Driver->CtxGetDevice(&Device) || size_t(Device) >= L->All.size())
    return;
  uint64_t Now = uint64_t(Program::get().generation()) + 1;
  if (Preloaded[Device].exchange(Now) == Now)
    return;
  RelaxedCapture Relaxed(*L->Driver);
  attempt([&] {
    for (const void *HostPtr : Program::get().stubs()) {
      int Unused = -1;
      TunedStub *Stub = find(*L, HostPtr, Unused);
      if (!Stub || !Stub->Kernel || Stub->Problem != Fallback::None)
        continue;
      for (const std::unique_ptr<TunedVariant> &V : Stub->Kernel->Variants)
        preload(*V, *Stub, Device);
    }
  });
}

//===----------------------------------------------------------------------===//
// Attributes
//===----------------------------------------------------------------------===//

void GpuDeployment::mirrorAttribute(const void *HostPtr, int Attribute,
                                    int Value) {
  int Device = isActive() ? currentDevice() : -1;
  int Unused = -1;
  unsigned Variation = 0, Arch = 0;
  if (Device < 0 || !findArch(*list(), Unused, Variation, Arch))
    return;
  if (LaunchCompiler *C = compiler())
    C->mirrorAttribute(HostPtr, Variation, Arch, {Device, Attribute, Value});
  if (TunedStub *Stub = TunedKernels::get().find(HostPtr, Variation, Arch))
    mirrorAttribute(*Stub, Attribute, Value);
}

void GpuDeployment::mirrorAttribute(TunedStub &Stub, int Attribute, int Value) {
  TunedKernels &Kernels = TunedKernels::get();
  int Device = Kernels.isActive() ? currentDevice() : -1;
  if (Device < 0 || !Stub.Kernel)
    return;
  TunedKernel &K = *Stub.Kernel;
  FunctionAttribute A = {Device, Attribute, Value};
  std::lock_guard<std::mutex> Guard(Kernels.lock());
  // Launches would not say that they have clusters.
  bool Ok = !requiresCluster(Attribute, Value) &&
            attempt([&] { setFunctionAttribute(K.Attributes, A); });
  const CudaDriver &Driver = *list()->Driver;
  for (const std::unique_ptr<TunedVariant> &V : K.Variants) {
    if (V->Prepared >> Device & 1)
      Ok &= !setAttribute(Driver, *V, static_cast<CUkernel>(V->Code.load()), A);
    BoundImage::forEach(*V, [&](BoundImage &Image) {
      if (Image.isPrepared(Device))
        Ok &= !setAttribute(Driver, *V, Image.code(), A);
    });
    if (!Ok)
      V->Failures = TunedVariant::MaxFailures;
  }
}

void GpuDeployment::forget(int Device) {
  HasContext = false;
  if (Device < 0 || Device >= MaxDevices)
    return;
  Buffers.forgetAll(Device);
  Preloaded[Device] = 0;
  if (ForHip)
    forgetHipCode(Device);
  if (LaunchCompiler *C = compiler())
    C->forget(Device);
  TunedKernels &Kernels = TunedKernels::get();
  std::lock_guard<std::mutex> Guard(Kernels.lock());
  Kernels.forEach([&](TunedKernel &K) {
    forgetFunctionAttributes(K.Attributes, Device);
    for (const std::unique_ptr<TunedVariant> &V : K.Variants) {
      V->Prepared.fetch_and(~(uint64_t(1) << Device));
      BoundImage::forEach(*V, [&](BoundImage &I) { I.forget(Device); });
    }
  });
}
