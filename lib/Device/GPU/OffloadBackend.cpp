//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The backends that use LLVM's liboffload.
///
/// CUDA: programs, symbols, copies, launches of the 22.1 interface. The stream
/// and the driver's function handles come from the tap (OffloadTap/), which
/// also records events around a launch. Other missing features (cooperative
/// launches, time limits) use the driver, on the same stream.
///
/// AMD: programs, symbols, launches, on a queue of HSA. All else is on a stream
/// of HIP, which uses the same HSA runtime and therefore the same memory. A
/// launch waits for the stream, and then for its kernel. A tap takes the
/// reports of failures, at which liboffload would end the process.
///
//===----------------------------------------------------------------------===//

#include "OffloadBackend.h"
#include "OffloadTap/CudaTap.h"
#include "OffloadTap/HsaTap.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"
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

  decltype(&mneme_cuda_tap) Tap = nullptr;
  decltype(&mneme_hsa_tap_failure) HsaFailure = nullptr;
  std::string NoTap, NoHsaTap; ///< Why there is none.
  ol_device_handle_t Host = nullptr;
  std::vector<ol_device_handle_t> CudaDevices; ///< In CUDA's order.
  std::vector<ol_device_handle_t> AMDDevices;  ///< In HSA's order.
  /// Guards programs and symbols: liboffload does not lock the data that they
  /// share.
  std::mutex Lock;

  Error open();

private:
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

/// Finds \p Function in the tap \p File of the same build or install tree as
/// the program, or in that which \p Variable names.
template <typename T>
static Error loadTap(const char *Variable, StringRef File, StringRef Of,
                     const char *Name, T &Function) {
  std::string Path;
  if (auto Given = sys::Process::GetEnv(Variable)) {
    Path = *Given;
  } else {
    std::string Program = sys::fs::getMainExecutable(
        nullptr, reinterpret_cast<void *>(&describe));
    SmallString<256> Lib =
        sys::path::parent_path(sys::path::parent_path(Program));
    sys::path::append(Lib, "lib", "mneme", File);
    Path = std::string(Lib);
  }
  void *Library = openLibrary(Path);
  if (!Library)
    return loadFailure("the tap of " + Of);
  Function = reinterpret_cast<T>(dlsym(Library, Name));
  if (!Function)
    return createStringError("'" + Path + "' is not a tap of " + Of);
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
  // Before liboffload loads the drivers. A tap fails where there is no driver.
  if (Error E = loadTap("MNEME_CUDA_TAP", "MnemeCudaTap.so", "the CUDA driver",
                        "mneme_cuda_tap", Tap))
    NoTap = toString(std::move(E));
  if (Error E = loadTap("MNEME_HSA_TAP", "MnemeHsaTap.so", "HSA",
                        "mneme_hsa_tap_failure", HsaFailure))
    NoHsaTap = toString(std::move(E));
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
      O.CudaDevices.push_back(Device);
    else if (Backend == OL_PLATFORM_BACKEND_AMDGPU)
      O.AMDDevices.push_back(Device);
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
  GPUBackend::Program Twin = nullptr; ///< The same image, loaded by HIP.
  /// What kernels need and liboffload does not have, by name.
  StringMap<const char *> Unsupported;
  StringMap<std::unique_ptr<OffloadKernel>> Kernels;
};

class OffloadBackend : public GPUBackend {
protected:
  const CudaDriver &Driver;
  Offload &O;
  ol_device_handle_t Device;
  ol_queue_handle_t Queue = nullptr;
  uint64_t Leaked = 0;

public:
  OffloadBackend(const CudaDriver &Driver, Offload &O,
                 ol_device_handle_t Device)
      : Driver(Driver), O(O), Device(Device) {}
  ~OffloadBackend() override {
    if (Queue)
      O.DestroyQueue(Queue);
  }

  virtual Error open();

  StringRef getName() const override { return "liboffload"; }
  uint64_t leakedBytes() const override { return Leaked; }

  Expected<Program> load(ArrayRef<char> Object) override;
  Error unload(Program P) override;
  Expected<Kernel> getKernel(Program P, StringRef Name) override;
  CUfunction getFunction(Kernel K) override {
    return static_cast<OffloadKernel *>(K)->Function;
  }
  bool getGlobal(Program P, StringRef Name, uint64_t &Address,
                 uint64_t &Size) override;

protected:
  /// Finds the function of the driver that is the kernel \p Name.
  virtual Expected<CUfunction> findFunction(OffloadProgram &P,
                                            StringRef Name) = 0;
  ol_result_t launchOnce(const OffloadKernel &K, const GPULaunch &L,
                         ArrayRef<char> Args);
};

class CudaOffloadBackend final : public OffloadBackend {
  CUstream Stream = nullptr;

public:
  using OffloadBackend::OffloadBackend;

  Error open() override;

  CUstream getStream() override { return Stream; }

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
  Expected<CUfunction> findFunction(OffloadProgram &P, StringRef Name) override;
  GPUResult toResult(ol_result_t R);
  GPUResult launchWithEvents(const OffloadKernel &K, const GPULaunch &L,
                             ArrayRef<char> Args, CUevent Start, CUevent Stop);
  GPUResult launchByDriver(const OffloadKernel &K, const GPULaunch &L);
};

class HipOffloadBackend final : public OffloadBackend {
  std::unique_ptr<GPUBackend> Hip;

public:
  using OffloadBackend::OffloadBackend;

  Error open() override;

  CUstream getStream() override { return Hip->getStream(); }

  Expected<Program> load(ArrayRef<char> Object) override;
  Error unload(Program P) override;

  GPUResult upload(uint64_t To, const void *From, uint64_t Size) override {
    return Hip->upload(To, From, Size);
  }
  GPUResult download(void *To, uint64_t From, uint64_t Size) override {
    return Hip->download(To, From, Size);
  }
  GPUResult copy(uint64_t To, uint64_t From, uint64_t Size) override {
    return Hip->copy(To, From, Size);
  }
  GPUResult fill(uint64_t To, uint8_t Byte, uint64_t Size) override {
    return Hip->fill(To, Byte, Size);
  }

  GPUResult launch(Kernel K, const GPULaunch &L) override;
  GPUResult synchronize(double TimeoutSeconds) override {
    return Hip->synchronize(TimeoutSeconds);
  }

private:
  Expected<CUfunction> findFunction(OffloadProgram &P, StringRef Name) override;
  GPUResult checkLaunch(const OffloadKernel &K, const GPULaunch &L);
  GPUResult waitForQueue(double TimeoutSeconds);
};
} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

Error OffloadBackend::open() {
  if (ol_result_t R = O.CreateQueue(Device, &Queue))
    return createStringError("liboffload cannot create a queue: " +
                             describe(R));
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
  ol_result_t R = O.GetSymbol(P.Handle, Name.str().c_str(),
                              OL_SYMBOL_KIND_KERNEL, &New->Symbol);
  Expected<CUfunction> Function =
      R ? createStringError(describe(R)) : findFunction(P, Name);
  if (!Function) {
    P.Kernels.erase(Name);
    return Function.takeError();
  }
  New->Function = *Function;
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

/// A buffer with exactly the layout and size of the kernel's parameters.
static SmallVector<char, 256> packArguments(const GPULaunch &L) {
  SmallVector<char, 256> Args;
  for (auto [Arg, Value] : zip_equal(L.Layout, L.Args)) {
    size_t End = size_t(Arg.Offset) + Arg.Size;
    if (Args.size() < End)
      Args.resize(End);
    memcpy(Args.data() + Arg.Offset, Value, Arg.Size);
  }
  return Args;
}

ol_result_t OffloadBackend::launchOnce(const OffloadKernel &K,
                                       const GPULaunch &L,
                                       ArrayRef<char> Args) {
  ol_kernel_launch_size_args_t Shape;
  Shape.Dimensions = 3;
  Shape.NumGroups = {L.Grid.X, L.Grid.Y, L.Grid.Z};
  Shape.GroupSize = {L.Block.X, L.Block.Y, L.Block.Z};
  Shape.DynSharedMemory = L.DynamicShared;
  return O.LaunchKernel(Queue, Device, K.Symbol,
                        Args.empty() ? nullptr : Args.data(), Args.size(),
                        &Shape);
}

//===----------------------------------------------------------------------===//
// CUDA
//===----------------------------------------------------------------------===//

/// liboffload's codes are not specific. A kernel's failure sticks to the
/// context, so the driver still knows it.
GPUResult CudaOffloadBackend::toResult(ol_result_t R) {
  if (!R)
    return {};
  CUresult Code = Driver.StreamQuery(Stream);
  if (Code == CUDA_SUCCESS || Code == CUDA_ERROR_NOT_READY)
    return {CUDA_ERROR_UNKNOWN, describe(R)};
  return Code;
}

/// Opens the queue and finds its stream. A queue has no stream before its first
/// work, so a fill is enqueued.
Error CudaOffloadBackend::open() {
  if (Error E = OffloadBackend::open())
    return E;
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

/// Called immediately after liboffload has found the kernel.
Expected<CUfunction> CudaOffloadBackend::findFunction(OffloadProgram &,
                                                      StringRef) {
  return static_cast<CUfunction>(std::exchange(O.Tap()->Function, nullptr));
}

GPUResult CudaOffloadBackend::launchWithEvents(const OffloadKernel &K,
                                               const GPULaunch &L,
                                               ArrayRef<char> Args,
                                               CUevent Start, CUevent Stop) {
  MnemeCudaTap &Tap = *O.Tap();
  Tap.Start = Start;
  Tap.Stop = Stop;
  Tap.Result = CUDA_SUCCESS;
  ol_result_t R = launchOnce(K, L, Args);
  // Still set if liboffload failed before it called the driver.
  Tap.Start = Tap.Stop = nullptr;
  if (R && Tap.Result != CUDA_SUCCESS)
    return CUresult(Tap.Result);
  return toResult(R);
}

/// liboffload has neither cooperative launches nor clusters.
GPUResult CudaOffloadBackend::launchByDriver(const OffloadKernel &K,
                                             const GPULaunch &L) {
  if (!K.Function)
    return {CUDA_ERROR_UNKNOWN,
            "liboffload does not launch cooperatively, nor with clusters"};
  return launchDirectly(Driver, K.Function, L, Stream);
}

GPUResult CudaOffloadBackend::launch(Kernel Handle, const GPULaunch &L) {
  auto &K = *static_cast<OffloadKernel *>(Handle);
  SmallVector<char, 256> Args = packArguments(L);
  for (unsigned I = 0; I != L.Repeat; ++I) {
    CUevent Start = I == 0 ? L.Start : nullptr;
    CUevent Stop = I + 1 == L.Repeat ? L.Stop : nullptr;
    if (!L.Cooperative && L.Cluster == Dim3()) {
      if (GPUResult R = launchWithEvents(K, L, Args, Start, Stop))
        return R;
      continue;
    }
    if (Start)
      if (CUresult R = Driver.EventRecord(Start, Stream))
        return R;
    if (GPUResult R = launchByDriver(K, L))
      return R;
    if (Stop)
      if (CUresult R = Driver.EventRecord(Stop, Stream))
        return R;
  }
  return {};
}

GPUResult CudaOffloadBackend::synchronize(double TimeoutSeconds) {
  if (CUresult R = waitForStream(Driver, Stream, TimeoutSeconds))
    return R;
  // All work is done, but liboffload frees its resources only now.
  return toResult(O.SyncQueue(Queue));
}

//===----------------------------------------------------------------------===//
// AMD
//===----------------------------------------------------------------------===//

Error HipOffloadBackend::open() {
  if (Error E = OffloadBackend::open())
    return E;
  return createDriverBackend(Driver).moveInto(Hip);
}

/// Finds the kernels that need what liboffload does not have, by their implicit
/// arguments.
static StringMap<const char *> findUnsupported(ArrayRef<char> Object) {
  StringMap<const char *> Found;
  auto Text = [](msgpack::DocNode &N) {
    return N.isString() ? N.getString() : StringRef();
  };
  auto ReadKernel = [&](msgpack::MapDocNode &Kernel) {
    StringSet<> Kinds;
    if (Kernel[".args"].isArray())
      for (msgpack::DocNode &Arg : Kernel[".args"].getArray())
        if (Arg.isMap())
          Kinds.insert(Text(Arg.getMap()[".value_kind"]));
    // Code that is not optimized has all, whether or not it uses them.
    if (Kinds.contains("hidden_completion_action"))
      return;
    const char *Need = Kinds.contains("hidden_hostcall_buffer")
                           ? "it calls the host, as printf does"
                       : Kinds.contains("hidden_heap_v1")
                           ? "it allocates memory"
                           : nullptr;
    if (Need)
      Found[Text(Kernel[".name"])] = Need;
  };
  using Elf = object::ELF64LEFile;
  // CudaDevice has checked the image.
  Elf File = cantFail(Elf::create({Object.data(), Object.size()}));
  for (const Elf::Elf_Shdr &S : cantFail(File.sections())) {
    if (S.sh_type != ELF::SHT_NOTE)
      continue;
    Error Err = Error::success();
    for (auto Note : File.notes(S, Err)) {
      msgpack::Document Doc;
      if (Note.getType() != ELF::NT_AMDGPU_METADATA ||
          !Doc.readFromBlob(Note.getDescAsStringRef(4), /*Multi=*/false) ||
          !Doc.getRoot().isMap())
        continue;
      msgpack::DocNode &Kernels = Doc.getRoot().getMap()["amdhsa.kernels"];
      if (Kernels.isArray())
        for (msgpack::DocNode &Kernel : Kernels.getArray())
          if (Kernel.isMap())
            ReadKernel(Kernel.getMap());
    }
    consumeError(std::move(Err));
  }
  return Found;
}

/// HIP loads the image, too, for what it knows of functions: resources and
/// occupancy.
Expected<GPUBackend::Program> HipOffloadBackend::load(ArrayRef<char> Object) {
  Expected<Program> P = OffloadBackend::load(Object);
  if (!P)
    return P;
  auto &Loaded = *static_cast<OffloadProgram *>(*P);
  Loaded.Unsupported = findUnsupported(Object);
  if (Error E = Hip->load(Object).moveInto(Loaded.Twin)) {
    consumeError(OffloadBackend::unload(*P));
    return std::move(E);
  }
  return P;
}

Error HipOffloadBackend::unload(Program P) {
  Program Twin = static_cast<OffloadProgram *>(P)->Twin;
  return joinErrors(Hip->unload(Twin), OffloadBackend::unload(P));
}

Expected<CUfunction> HipOffloadBackend::findFunction(OffloadProgram &P,
                                                     StringRef Name) {
  if (const char *Need = P.Unsupported.lookup(Name))
    return createStringError(Twine(Need) +
                             ", which liboffload does not support: use HIP, "
                             "--device=hip");
  Expected<Kernel> K = Hip->getKernel(P.Twin, Name);
  if (!K)
    return K.takeError();
  return Hip->getFunction(*K);
}

/// liboffload checks nothing, and HSA ends the process at an impossible launch.
GPUResult HipOffloadBackend::checkLaunch(const OffloadKernel &K,
                                         const GPULaunch &L) {
  constexpr int MaxThreadsPerBlock = 0; // CU_FUNC_ATTRIBUTE_*
  if (L.Cooperative)
    return {CUDA_ERROR_NOT_SUPPORTED,
            "liboffload has no cooperative launches for AMD "
            "GPUs: use HIP, --device=hip"};
  if (L.Cluster != Dim3())
    return {CUDA_ERROR_NOT_SUPPORTED, "no clusters of blocks on this device"};
  int MaxThreads = 0, Blocks = 0;
  if (CUresult R =
          Driver.FuncGetAttribute(&MaxThreads, MaxThreadsPerBlock, K.Function))
    return R;
  uint64_t Threads = L.Block.count();
  if (!Threads || !L.Grid.count() || Threads > uint64_t(MaxThreads))
    return CUDA_ERROR_INVALID_VALUE;
  // A packet has the number of threads in each dimension.
  for (auto [Grid, Block] :
       {std::pair(L.Grid.X, L.Block.X), std::pair(L.Grid.Y, L.Block.Y),
        std::pair(L.Grid.Z, L.Block.Z)})
    if (uint64_t(Grid) * Block > UINT32_MAX)
      return {CUDA_ERROR_INVALID_VALUE,
              "a grid has at most 4294967295 threads in each dimension"};
  if (CUresult R = Driver.OccupancyMaxActiveBlocksPerMultiprocessor(
          &Blocks, K.Function, Threads, L.DynamicShared))
    return R;
  return Blocks ? CUDA_SUCCESS : CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
}

/// What HIP reports for a failure that HSA reported.
static CUresult failureOf(int Status) {
  enum { ApertureViolation = 41, IllegalInstruction, MemoryFault };
  switch (Status) {
  case 0:
    return CUDA_SUCCESS;
  case ApertureViolation:
  case MemoryFault:
    return CUDA_ERROR_ILLEGAL_ADDRESS;
  case IllegalInstruction:
    return CUDA_ERROR_ILLEGAL_INSTRUCTION;
  default:
    return CUDA_ERROR_LAUNCH_FAILED;
  }
}

GPUResult HipOffloadBackend::waitForQueue(double TimeoutSeconds) {
  ol_result_t Failed = nullptr;
  CUresult R = waitUntil(TimeoutSeconds, [&]() -> CUresult {
    if (CUresult R = failureOf(O.HsaFailure()))
      return R;
    bool IsEmpty = false;
    Failed =
        O.GetQueueInfo(Queue, OL_QUEUE_INFO_EMPTY, sizeof(IsEmpty), &IsEmpty);
    return Failed    ? CUDA_ERROR_UNKNOWN
           : IsEmpty ? CUDA_SUCCESS
                     : CUDA_ERROR_NOT_READY;
  });
  return Failed ? GPUResult(R, describe(Failed)) : GPUResult(R);
}

/// Waits: what follows on the stream of HIP must not overtake the kernel.
GPUResult HipOffloadBackend::launch(Kernel Handle, const GPULaunch &L) {
  auto &K = *static_cast<OffloadKernel *>(Handle);
  if (GPUResult R = checkLaunch(K, L))
    return R;
  SmallVector<char, 256> Args = packArguments(L);
  if (GPUResult R = Hip->synchronize(0))
    return R;
  if (L.Start) {
    if (CUresult R = Driver.EventRecord(L.Start, getStream()))
      return R;
    if (GPUResult R = Hip->synchronize(0))
      return R;
  }
  for (unsigned I = 0; I != L.Repeat; ++I)
    if (ol_result_t R = launchOnce(K, L, Args))
      return {CUDA_ERROR_UNKNOWN, describe(R)};
  if (GPUResult R = waitForQueue(L.TimeoutSeconds))
    return R;
  if (L.Stop)
    return Driver.EventRecord(L.Stop, getStream());
  return {};
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

/// Finds the device that HIP numbers \p Ordinal.
static Expected<ol_device_handle_t>
findAMDDevice(const Offload &O, const CudaDriver &Driver, unsigned Ordinal) {
  // HIP has the digits of HSA's "GPU-0123456789abcdef".
  char Digits[16] = {};
  CUdevice Number = 0;
  if (!Driver.DeviceGet(&Number, Ordinal) &&
      !Driver.DeviceGetUuid(Digits, Number))
    for (ol_device_handle_t D : O.AMDDevices) {
      char Name[256] = "";
      if (!O.GetDeviceInfo(D, OL_DEVICE_INFO_UID, sizeof(Name) - 1, Name) &&
          StringRef(Name).ends_with(StringRef(Digits, sizeof(Digits))))
        return D;
    }
  // Old GPUs have none.
  if (Ordinal < O.AMDDevices.size())
    return O.AMDDevices[Ordinal];
  return createStringError("liboffload finds " + Twine(O.AMDDevices.size()) +
                           " AMD GPUs, no number " + Twine(Ordinal));
}

bool llvm::mneme::hasOffload() { return true; }

Expected<std::unique_ptr<GPUBackend>>
llvm::mneme::createOffloadBackend(const CudaDriver &Driver, unsigned Ordinal) {
  // liboffload changes the current context.
  CUcontext Context = nullptr;
  Driver.CtxGetCurrent(&Context);
  Expected<Offload *> O = getOffload();
  Driver.CtxSetCurrent(Context);
  if (!O)
    return O.takeError();
  std::unique_ptr<OffloadBackend> Backend;
  if (Driver.IsHip) {
    if (!(*O)->HsaFailure)
      return createStringError((*O)->NoHsaTap);
    Expected<ol_device_handle_t> D = findAMDDevice(**O, Driver, Ordinal);
    if (!D)
      return D.takeError();
    Backend = std::make_unique<HipOffloadBackend>(Driver, **O, *D);
  } else {
    const std::vector<ol_device_handle_t> &Devices = (*O)->CudaDevices;
    if (!(*O)->Tap)
      return createStringError((*O)->NoTap);
    if (Ordinal >= Devices.size())
      return createStringError("liboffload finds " + Twine(Devices.size()) +
                               " CUDA devices, no number " + Twine(Ordinal));
    Backend =
        std::make_unique<CudaOffloadBackend>(Driver, **O, Devices[Ordinal]);
  }
  Error E = Backend->open();
  Driver.CtxSetCurrent(Context);
  if (E)
    return std::move(E);
  return std::move(Backend);
}
