//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The backend that uses LLVM's liboffload. It uses the parts of the 22.1
/// interface that work on CUDA: programs, symbols, copies, launches. Its stream
/// and the driver's function handles come from the tap (OffloadTap/), which
/// also records events around a launch. Other missing features (cooperative
/// launches, time limits) use the driver, on the same stream.
///
//===----------------------------------------------------------------------===//

#include "OffloadBackend.h"
#include "OffloadTap/CudaTap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <dlfcn.h>
#include <mutex>
#include <offload/OffloadAPI.h>
#include <vector>

using namespace llvm;
using namespace llvm::mneme;
using namespace ::mneme;

//===----------------------------------------------------------------------===//
// The library
//===----------------------------------------------------------------------===//

// liboffload's functions change their parameters between versions without
// changing their names, so no other version can be used.
static constexpr const char *LibraryName = "libLLVMOffload.so.22.1";

namespace {
/// liboffload, initialized once per process. It is never shut down, because
/// kernels of a lost device may still run.
struct Offload {
#define OFFLOAD_FUNCTION(Name) decltype(&::ol##Name) Name = nullptr;
#include "OffloadFunctions.def"

  MnemeCudaTap *(*Tap)() = nullptr;
  ol_device_handle_t Host = nullptr;
  std::vector<ol_device_handle_t> Devices; ///< CUDA's, in its order.
  /// Guards programs and symbols: liboffload does not lock the data that they
  /// share.
  std::mutex Lock;

  Error open();

private:
  Error loadTap();
  Error loadLibrary();
};
} // namespace

static std::string describe(ol_result_t R) {
  return R->Details && *R->Details
             ? std::string(R->Details)
             : "liboffload error " + std::to_string(R->Code);
}

static void *openLibrary(StringRef Path) {
  return dlopen(Path.str().c_str(), RTLD_NOW | RTLD_LOCAL);
}

static Error loadFailure(const Twine &What) {
  const char *Text = dlerror();
  return createStringError("cannot load " + What + ": " +
                           (Text ? Text : "unknown error"));
}

/// The tap of the same build or install tree as the program.
static std::string findTap() {
  if (auto Path = sys::Process::GetEnv("MNEME_CUDA_TAP"))
    return *Path;
  std::string Program = sys::fs::getMainExecutable(
      nullptr, reinterpret_cast<void *>(&findTap));
  SmallString<256> Path =
      sys::path::parent_path(sys::path::parent_path(Program));
  sys::path::append(Path, "lib", "MnemeCudaTap.so");
  return std::string(Path);
}

/// Must be called before liboffload loads the driver.
Error Offload::loadTap() {
  std::string Path = findTap();
  void *Library = openLibrary(Path);
  if (!Library)
    return loadFailure("the tap of the CUDA driver");
  Tap = reinterpret_cast<decltype(Tap)>(dlsym(Library, "mneme_cuda_tap"));
  if (!Tap)
    return createStringError("'" + Path + "' is not a tap of the CUDA driver");
  return Error::success();
}

Error Offload::loadLibrary() {
  void *Library = openLibrary(LibraryName);
  if (!Library) {
    SmallString<256> Path(MNEME_LLVM_LIBRARY_DIR);
    sys::path::append(Path, LibraryName);
    if (sys::fs::exists(Path))
      Library = openLibrary(Path);
  }
  if (!Library)
    return loadFailure("liboffload");
  const char *Missing = nullptr;
#define OFFLOAD_FUNCTION(Name)                                                 \
  Name = reinterpret_cast<decltype(Name)>(dlsym(Library, "ol" #Name));         \
  if (!Name)                                                                   \
    Missing = "ol" #Name;
#include "OffloadFunctions.def"
  if (Missing)
    return createStringError(Twine(LibraryName) + " has no '" + Missing + "'");
  return Error::success();
}

Error Offload::open() {
  if (Error E = loadTap())
    return E;
  if (Error E = loadLibrary())
    return E;
  if (ol_result_t R = Init())
    return createStringError("cannot initialize liboffload: " + describe(R));
  auto Visit = [](ol_device_handle_t Device, void *Data) {
    auto &O = *static_cast<Offload *>(Data);
    ol_platform_handle_t Platform = nullptr;
    ol_platform_backend_t Backend = OL_PLATFORM_BACKEND_UNKNOWN;
    if (O.GetDeviceInfo(Device, OL_DEVICE_INFO_PLATFORM, sizeof(Platform),
                        &Platform) ||
        O.GetPlatformInfo(Platform, OL_PLATFORM_INFO_BACKEND, sizeof(Backend),
                          &Backend))
      return true;
    if (Backend == OL_PLATFORM_BACKEND_HOST)
      O.Host = Device;
    else if (Backend == OL_PLATFORM_BACKEND_CUDA)
      O.Devices.push_back(Device);
    return true;
  };
  if (ol_result_t R = IterateDevices(Visit, this))
    return createStringError("liboffload cannot list devices: " + describe(R));
  if (!Host)
    return createStringError("liboffload has no host device");
  return Error::success();
}

/// Opens liboffload at the first call.
static Expected<Offload *> getOffload() {
  static std::mutex &Lock = *new std::mutex;
  static Offload *Opened = nullptr;
  std::lock_guard<std::mutex> Guard(Lock);
  if (Opened)
    return Opened;
  auto O = std::make_unique<Offload>();
  if (Error E = O->open())
    return std::move(E);
  return Opened = O.release();
}

//===----------------------------------------------------------------------===//
// The backend
//===----------------------------------------------------------------------===//

namespace {
struct OffloadKernel {
  ol_symbol_handle_t Symbol = nullptr;
  CUfunction Function = nullptr;
};

struct OffloadProgram {
  ol_program_handle_t Handle = nullptr;
  uint64_t Size = 0; ///< Of the image.
  StringMap<std::unique_ptr<OffloadKernel>> Kernels;
};

class OffloadBackend final : public GPUBackend {
  const CudaDriver &Driver;
  Offload &O;
  ol_device_handle_t Device;
  ol_queue_handle_t Queue = nullptr;
  CUstream Stream = nullptr;
  uint64_t Leaked = 0;

public:
  OffloadBackend(const CudaDriver &Driver, Offload &O,
                 ol_device_handle_t Device)
      : Driver(Driver), O(O), Device(Device) {}
  ~OffloadBackend() override {
    if (Queue)
      O.DestroyQueue(Queue);
  }

  Error open();

  StringRef getName() const override { return "liboffload"; }
  CUstream getStream() override { return Stream; }
  uint64_t leakedBytes() const override { return Leaked; }

  Expected<Program> load(ArrayRef<char> Object) override;
  Error unload(Program P) override;
  Expected<Kernel> getKernel(Program P, StringRef Name) override;
  CUfunction getFunction(Kernel K) override {
    return static_cast<OffloadKernel *>(K)->Function;
  }
  bool getGlobal(Program P, StringRef Name, uint64_t &Address,
                 uint64_t &Size) override;

  GPUResult upload(uint64_t To, const void *From, uint64_t Size) override {
    return toResult(O.Memcpy(Queue, toPointer(To), Device, From, O.Host, Size));
  }
  GPUResult download(void *To, uint64_t From, uint64_t Size) override {
    return toResult(O.Memcpy(Queue, To, O.Host, toPointer(From), Device, Size));
  }
  GPUResult copy(uint64_t To, uint64_t From, uint64_t Size) override {
    return toResult(O.Memcpy(Queue, toPointer(To), Device, toPointer(From),
                             Device, Size));
  }
  GPUResult fill(uint64_t To, uint8_t Byte, uint64_t Size) override {
    return toResult(O.MemFill(Queue, toPointer(To), 1, &Byte, Size));
  }

  GPUResult launch(Kernel K, const GPULaunch &L) override;
  GPUResult synchronize(double TimeoutSeconds) override;

private:
  static void *toPointer(uint64_t Address) {
    return reinterpret_cast<void *>(Address);
  }
  GPUResult toResult(ol_result_t R);
  GPUResult launchOnce(const OffloadKernel &K, const GPULaunch &L,
                       ArrayRef<char> Args, CUevent Start, CUevent Stop);
  GPUResult launchCooperative(const OffloadKernel &K, const GPULaunch &L);
};
} // namespace

/// liboffload's codes are not specific. A kernel's failure sticks to the
/// context, so the driver still knows it.
GPUResult OffloadBackend::toResult(ol_result_t R) {
  if (!R)
    return {};
  CUresult Code = Driver.StreamQuery(Stream);
  if (Code == CUDA_SUCCESS || Code == CUDA_ERROR_NOT_READY)
    return {CUDA_ERROR_UNKNOWN, describe(R)};
  return Code;
}

/// Opens the queue and finds its stream. A queue has no stream before its first
/// work, so a fill is enqueued.
Error OffloadBackend::open() {
  if (ol_result_t R = O.CreateQueue(Device, &Queue))
    return createStringError("liboffload cannot create a queue: " +
                             describe(R));
  CUdeviceptr Scratch = 0;
  if (CUresult R = Driver.MemAlloc(&Scratch, 1))
    return createStringError("cannot allocate device memory: " +
                             Driver.describe(R));
  uint8_t Byte = 0;
  MnemeCudaTap &Tap = *O.Tap();
  Tap.Stream = nullptr;
  ol_result_t R = O.MemFill(Queue, toPointer(Scratch), 1, &Byte, 1);
  if (!R)
    R = O.SyncQueue(Queue);
  Driver.MemFree(Scratch);
  if (R)
    return createStringError("liboffload cannot fill memory: " + describe(R));
  Stream = static_cast<CUstream>(Tap.Stream);
  if (!Stream)
    return createStringError(
        "liboffload does not use the tap of the CUDA driver: was its driver "
        "loaded before?");
  return Error::success();
}

Expected<GPUBackend::Program> OffloadBackend::load(ArrayRef<char> Object) {
  std::lock_guard<std::mutex> Guard(O.Lock);
  // olCreateProgram accepts anything, but unloading a program that is not an
  // ELF file breaks it.
  bool Valid = false;
  if (ol_result_t R =
          O.IsValidBinary(Device, Object.data(), Object.size(), &Valid))
    return createStringError(describe(R));
  if (!Valid)
    return createStringError(
        "the image is not an ELF executable for this device");
  auto P = std::make_unique<OffloadProgram>();
  P->Size = Object.size();
  if (ol_result_t R = O.CreateProgram(Device, Object.data(), Object.size(),
                                      &P->Handle))
    return createStringError(describe(R));
  return P.release();
}

Error OffloadBackend::unload(Program Handle) {
  std::unique_ptr<OffloadProgram> P(static_cast<OffloadProgram *>(Handle));
  std::lock_guard<std::mutex> Guard(O.Lock);
  // liboffload never frees its copy of the image.
  Leaked += P->Size;
  if (ol_result_t R = O.DestroyProgram(P->Handle))
    return createStringError(describe(R));
  return Error::success();
}

Expected<GPUBackend::Kernel> OffloadBackend::getKernel(Program Handle,
                                                       StringRef Name) {
  auto &P = *static_cast<OffloadProgram *>(Handle);
  std::lock_guard<std::mutex> Guard(O.Lock);
  std::unique_ptr<OffloadKernel> &K = P.Kernels[Name];
  if (K)
    return K.get();
  auto New = std::make_unique<OffloadKernel>();
  MnemeCudaTap &Tap = *O.Tap();
  Tap.Function = nullptr;
  if (ol_result_t R = O.GetSymbol(P.Handle, Name.str().c_str(),
                                  OL_SYMBOL_KIND_KERNEL, &New->Symbol)) {
    P.Kernels.erase(Name);
    return createStringError(describe(R));
  }
  New->Function = static_cast<CUfunction>(Tap.Function);
  K = std::move(New);
  return K.get();
}

bool OffloadBackend::getGlobal(Program Handle, StringRef Name,
                               uint64_t &Address, uint64_t &Size) {
  auto &P = *static_cast<OffloadProgram *>(Handle);
  std::lock_guard<std::mutex> Guard(O.Lock);
  ol_symbol_handle_t Symbol = nullptr;
  void *Place = nullptr;
  size_t Bytes = 0;
  if (O.GetSymbol(P.Handle, Name.str().c_str(), OL_SYMBOL_KIND_GLOBAL_VARIABLE,
                  &Symbol) ||
      O.GetSymbolInfo(Symbol, OL_SYMBOL_INFO_GLOBAL_VARIABLE_ADDRESS,
                      sizeof(Place), &Place) ||
      O.GetSymbolInfo(Symbol, OL_SYMBOL_INFO_GLOBAL_VARIABLE_SIZE,
                      sizeof(Bytes), &Bytes))
    return false;
  Address = reinterpret_cast<uint64_t>(Place);
  Size = Bytes;
  return true;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

GPUResult OffloadBackend::launchOnce(const OffloadKernel &K,
                                     const GPULaunch &L, ArrayRef<char> Args,
                                     CUevent Start, CUevent Stop) {
  ol_kernel_launch_size_args_t Shape;
  Shape.Dimensions = 3;
  Shape.NumGroups = {L.Grid.X, L.Grid.Y, L.Grid.Z};
  Shape.GroupSize = {L.Block.X, L.Block.Y, L.Block.Z};
  Shape.DynSharedMemory = L.DynamicShared;
  MnemeCudaTap &Tap = *O.Tap();
  Tap.Start = Start;
  Tap.Stop = Stop;
  Tap.Result = CUDA_SUCCESS;
  ol_result_t R = O.LaunchKernel(Queue, Device, K.Symbol,
                                 Args.empty() ? nullptr : Args.data(),
                                 Args.size(), &Shape);
  // Still set if liboffload failed before it called the driver.
  Tap.Start = Tap.Stop = nullptr;
  if (R && Tap.Result != CUDA_SUCCESS)
    return CUresult(Tap.Result);
  return toResult(R);
}

GPUResult OffloadBackend::launchCooperative(const OffloadKernel &K,
                                            const GPULaunch &L) {
  if (!K.Function)
    return {CUDA_ERROR_UNKNOWN, "liboffload does not launch cooperatively"};
  return Driver.LaunchCooperativeKernel(
      K.Function, L.Grid.X, L.Grid.Y, L.Grid.Z, L.Block.X, L.Block.Y, L.Block.Z,
      L.DynamicShared, Stream, const_cast<void **>(L.Args.data()));
}

GPUResult OffloadBackend::launch(Kernel Handle, const GPULaunch &L) {
  auto &K = *static_cast<OffloadKernel *>(Handle);
  // A buffer with exactly the layout and size of the kernel's parameters.
  SmallVector<char, 256> Args;
  for (auto [Arg, Value] : zip_equal(L.Layout, L.Args)) {
    size_t End = size_t(Arg.Offset) + Arg.Size;
    if (Args.size() < End)
      Args.resize(End);
    memcpy(Args.data() + Arg.Offset, Value, Arg.Size);
  }
  for (unsigned I = 0; I != L.Repeat; ++I) {
    CUevent Start = I == 0 ? L.Start : nullptr;
    CUevent Stop = I + 1 == L.Repeat ? L.Stop : nullptr;
    if (!L.Cooperative) {
      if (GPUResult R = launchOnce(K, L, Args, Start, Stop))
        return R;
      continue;
    }
    if (Start)
      if (CUresult R = Driver.EventRecord(Start, Stream))
        return R;
    if (GPUResult R = launchCooperative(K, L))
      return R;
    if (Stop)
      if (CUresult R = Driver.EventRecord(Stop, Stream))
        return R;
  }
  return {};
}

GPUResult OffloadBackend::synchronize(double TimeoutSeconds) {
  if (CUresult R = waitForStream(Driver, Stream, TimeoutSeconds))
    return R;
  // All work is done, but liboffload frees its resources only now.
  return toResult(O.SyncQueue(Queue));
}

Expected<std::unique_ptr<GPUBackend>>
llvm::mneme::createOffloadBackend(const CudaDriver &Driver, unsigned Ordinal) {
  // liboffload changes the current context.
  CUcontext Context = nullptr;
  Driver.CtxGetCurrent(&Context);
  Expected<Offload *> O = getOffload();
  Driver.CtxSetCurrent(Context);
  if (!O)
    return O.takeError();
  if (Ordinal >= (*O)->Devices.size())
    return createStringError("liboffload finds " + Twine((*O)->Devices.size()) +
                             " CUDA devices, no number " + Twine(Ordinal) + "");
  auto Backend =
      std::make_unique<OffloadBackend>(Driver, **O, (*O)->Devices[Ordinal]);
  Error E = Backend->open();
  Driver.CtxSetCurrent(Context);
  if (E)
    return std::move(E);
  return std::move(Backend);
}
