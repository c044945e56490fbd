//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of the driver: those that Mneme uses, in
/// CudaDriverFunctions.def, and those that liboffload's CUDA plugin resolves.
/// Where those two want the same in two versions, the prototypes are the same.
///
//===----------------------------------------------------------------------===//

#include "CudaTypes.h"
#include "DriverTables.h"
#include "Emulator.h"
#include "ImageBytes.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <map>
#include <new>
#include <set>
#include <thread>
#include <unistd.h>

using namespace emulated;
using llvm::ArrayRef;
using llvm::SmallVector;
using llvm::StringRef;
using llvm::Twine;
using llvm::mneme::LaunchConfig;

#ifdef MNEME_EMULATE_HIP
#define MNEME_EMULATED_NAME "emulated HIP runtime"
#else
#define MNEME_EMULATED_NAME "emulated CUDA driver"
#endif

// Mneme's declarations, so that a difference does not compile.
extern "C" {
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  CUresult Symbol Parameters;
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
}

// And one that is missing does not link.
[[gnu::used]] static void (*const Required[])() = {
#define CUDA_DRIVER(Name, Symbol, Kind, HipSymbol, Parameters)                 \
  reinterpret_cast<void (*)()>(Symbol),
#include "llvm/Mneme/Runtime/CudaDriverFunctions.def"
};

//===----------------------------------------------------------------------===//
// The machine
//===----------------------------------------------------------------------===//

static uint64_t readNumber(const char *Name, uint64_t Default) {
  const char *Text = std::getenv(Name);
  if (!Text || !*Text)
    return Default;
  uint64_t Value;
  if (!StringRef(Text).getAsInteger(0, Value))
    return Value;
  complain(Twine(Name) + ": '" + Text + "' is no number");
  std::abort();
}

void emulated::complain(const Twine &Message) {
  llvm::errs() << MNEME_EMULATED_NAME ": " << Message << '\n';
}

void emulated::endWithoutMemory() {
  static constexpr llvm::StringLiteral Message =
      MNEME_EMULATED_NAME ": out of memory\n";
  [[maybe_unused]] ssize_t N =
      ::write(STDERR_FILENO, Message.data(), Message.size());
  ::_exit(77);
}

/// What C++ code of the process and LLVM do without memory.
static const bool HandlersAreSet = [] {
  std::set_new_handler(emulated::endWithoutMemory);
  llvm::install_bad_alloc_error_handler(
      [](void *, const char *, bool) { emulated::endWithoutMemory(); });
  return true;
}();

static Settings readSettings() {
  Settings S;
  auto Text = [](const char *Name) {
    const char *Value = std::getenv(Name);
    return StringRef(Value ? Value : "");
  };
  SmallVector<StringRef, 4> Paths;
  Text("MNEME_EMULATED_KERNELS").split(Paths, ':', -1, /*KeepEmpty=*/false);
  for (StringRef Path : Paths)
    S.Kernels.push_back(Path.str());
  SmallVector<StringRef, 4> Arches;
  Text("MNEME_EMULATED_ARCH").split(Arches, ',', -1, /*KeepEmpty=*/false);
  bool IsAMD = !Arches.empty() && Arches[0].starts_with("gfx");
  if (IsAMD)
    S.AMDArches.assign(Arches.begin(), Arches.end());
  else if (!Arches.empty())
    S.Arches.clear();
  for (StringRef Arch : Arches) {
    if (IsAMD)
      continue;
    Arch.consume_front("sm_");
    if (Arch.getAsInteger(10, S.Arches.emplace_back())) {
      complain("MNEME_EMULATED_ARCH: 'sm_" + Arch + "' is no architecture");
      std::abort();
    }
  }
  S.NumDevices = readNumber("MNEME_EMULATED_DEVICES", S.NumDevices);
  S.HavePeers = readNumber("MNEME_EMULATED_PEERS", 0);
  S.MemoryBytes = readNumber("MNEME_EMULATED_MEMORY", S.MemoryBytes);
  S.Version = readNumber("MNEME_EMULATED_VERSION", S.Version);
  S.InitResult = readNumber("MNEME_EMULATED_INIT", S.InitResult);
  S.InitMilliseconds =
      readNumber("MNEME_EMULATED_INIT_MS", S.InitMilliseconds);
  S.InitMeeting = Text("MNEME_EMULATED_INIT_MEET").str();
  S.ExportsNothing = readNumber("MNEME_EMULATED_NO_EXPORT", 0);
  S.PinningWaits = readNumber("MNEME_EMULATED_PINNING_WAITS", 0);
  S.DispatchTimes = readNumber("MNEME_EMULATED_DISPATCH_TIMES", 1);
  S.BlockMicroseconds = readNumber("MNEME_EMULATED_BLOCK_US", 0);
  S.Log = Text("MNEME_EMULATED_LOG").str();
  auto [Base, Size] = Text("MNEME_EMULATED_TAKEN").split(':');
  if (!Base.empty() && (Base.getAsInteger(0, S.TakenBase) ||
                        Size.getAsInteger(0, S.TakenSize))) {
    complain("MNEME_EMULATED_TAKEN is not 'address:bytes'");
    std::abort();
  }
  return S;
}

const Settings &emulated::settings() {
  static const Settings &S = *new Settings(readSettings());
  return S;
}

void emulated::log(const Twine &Line) {
  if (settings().Log.empty())
    return;
  std::error_code EC;
  llvm::raw_fd_ostream OS(settings().Log, EC, llvm::sys::fs::OF_Append);
  if (!EC)
    OS << (Line + "\n").str();
}

unsigned emulated::archOf(CUdevice Device) {
  const std::vector<unsigned> &Arches = settings().Arches;
  return Arches[std::min<size_t>(Device, Arches.size() - 1)];
}

StringRef emulated::amdArchOf(CUdevice Device) {
  const std::vector<std::string> &Arches = settings().AMDArches;
  return Arches[std::min<size_t>(Device, Arches.size() - 1)];
}

// Half an H100's shape, in small: what waits for all multiprocessors is quick.
static constexpr int NumMultiprocessors = 4;
static constexpr int ThreadsPerMultiprocessor = 2048;
static constexpr int BlocksPerMultiprocessor = 32;
static constexpr int SharedPerMultiprocessor = 228 << 10;
static constexpr int SharedPerBlock = 227 << 10;
static constexpr int ReservedSharedPerBlock = 1 << 10;
static constexpr int RegistersPerMultiprocessor = 64 << 10;

//===----------------------------------------------------------------------===//
// What handles stand for
//===----------------------------------------------------------------------===//

namespace {
struct Stream {
  std::shared_ptr<Queue> Work;
  unsigned Flags = 0;
  CUcontext Owner = nullptr;
  /// While it is captured: the graph, and its own queue.
  std::shared_ptr<Graph> Captured;
  std::shared_ptr<Queue> Suspended;
};

struct Event {
  unsigned Flags;
  std::shared_ptr<Mark> Last; ///< Null before the first record.
};

/// Objects whose handles are valid.
template <typename T> class HandleSet {
  std::mutex Lock;
  std::set<T *> Alive;

public:
  T *add(T *Object) {
    std::lock_guard<std::mutex> Guard(Lock);
    Alive.insert(Object);
    return Object;
  }
  bool has(void *Handle) {
    std::lock_guard<std::mutex> Guard(Lock);
    return Alive.count(static_cast<T *>(Handle));
  }
  bool remove(void *Handle) {
    std::lock_guard<std::mutex> Guard(Lock);
    return Alive.erase(static_cast<T *>(Handle));
  }
};

/// The primary context of a device.
struct Context {
  explicit Context(CUdevice Device) : Device(Device) {}

  CUdevice Device;
  unsigned References = 0;
  unsigned Flags = 0;
  size_t Limits[16] = {1024, 1 << 20, 8 << 20};
  /// The first failure of a kernel; all calls return it from then on.
  std::atomic<CUresult> Failure{CUDA_SUCCESS};
  std::mutex Lock;
  std::vector<std::shared_ptr<Queue>> Queues;
  /// The null stream's, and that of the streams that wait for it.
  std::shared_ptr<Queue> Default = addQueue();

  std::shared_ptr<Queue> addQueue() {
    auto Q = std::make_shared<Queue>(Failure);
    std::lock_guard<std::mutex> Guard(Lock);
    Queues.push_back(Q);
    return Q;
  }
  void waitForAll() {
    std::vector<std::shared_ptr<Queue>> All;
    {
      std::lock_guard<std::mutex> Guard(Lock);
      All = Queues;
    }
    for (const std::shared_ptr<Queue> &Q : All)
      Q->wait();
  }
};

/// Code for all devices: a module is loaded where a kernel of it is used.
struct CodeLibrary {
  std::string Image;
  std::map<CUdevice, emulated::Module *> Modules = {};
};

struct LibraryKernel {
  CodeLibrary *Owner;
  std::string Name;
};

struct Driver {
  std::atomic<bool> Initialized{false};
  std::mutex Lock;
  std::vector<std::unique_ptr<Context>> Contexts; ///< By device.
  HandleSet<Stream> Streams;
  HandleSet<Event> Events;
  HandleSet<emulated::Module> Modules;
  HandleSet<Function> Functions;
  HandleSet<CodeLibrary> Libraries;
  HandleSet<LibraryKernel> Kernels;
};
} // namespace

static Driver &driver() {
  static Driver &D = *new Driver;
  return D;
}

static thread_local Context *Current;

static bool isDevice(CUdevice Device) {
  return Device >= 0 && Device < settings().NumDevices;
}

/// What every call that needs a context begins with.
static CUresult checkContext() {
  if (!driver().Initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (!Current)
    return CUDA_ERROR_INVALID_CONTEXT;
  return Current->Failure;
}

#define CHECK_CONTEXT()                                                        \
  do {                                                                         \
    if (CUresult Failed = checkContext())                                      \
      return Failed;                                                           \
  } while (false)

#define CHECK_DEVICE(Device)                                                   \
  do {                                                                         \
    if (!driver().Initialized)                                                 \
      return CUDA_ERROR_NOT_INITIALIZED;                                       \
    if (!isDevice(Device))                                                     \
      return CUDA_ERROR_INVALID_DEVICE;                                        \
  } while (false)

/// Declares what a handle stands for, in the current context.
#define FIND(Object, Of)                                                       \
  CHECK_CONTEXT();                                                             \
  auto Object = Of;                                                            \
  if (!Object)                                                                 \
  return CUDA_ERROR_INVALID_HANDLE

#define CHECK_HANDLE(Set, Handle)                                              \
  CHECK_CONTEXT();                                                             \
  if (!driver().Set.has(Handle))                                               \
  return CUDA_ERROR_INVALID_HANDLE

namespace {
/// Since CUDA 13, functions that take a stream need no current context.
class ContextOf {
public:
  explicit ContextOf(CUstream S) {
    if (!Current && settings().Version >= 13000 && driver().Streams.has(S)) {
      Current =
          reinterpret_cast<Context *>(reinterpret_cast<Stream *>(S)->Owner);
      IsLent = true;
    }
  }
  ContextOf(const ContextOf &) = delete;
  ContextOf &operator=(const ContextOf &) = delete;
  ~ContextOf() {
    if (IsLent)
      Current = nullptr;
  }

private:
  bool IsLent = false;
};
} // namespace

/// \returns the queue of \p S, or null for a handle that is none.
static std::shared_ptr<Queue> queueOf(CUstream S) {
  // Null, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD.
  if (reinterpret_cast<uintptr_t>(S) <= 2)
    return Current->Default;
  if (!driver().Streams.has(S))
    return nullptr;
  return reinterpret_cast<Stream *>(S)->Work;
}

/// How many captures are under way that allow no thread to allocate or free
/// memory, unless it said that it knows (cuThreadExchangeStreamCaptureMode).
static std::atomic<unsigned> GlobalCaptures{0};
/// One that was disturbed.
static std::atomic<bool> IsCaptureBroken{false};
enum { CaptureGlobal = 0, CaptureRelaxed = 2 };
static thread_local int CaptureMode = CaptureGlobal;

/// Whether a capture forbids what may wait for the device.
static bool disturbsCapture() {
  if (CaptureMode == CaptureRelaxed || !GlobalCaptures)
    return false;
  IsCaptureBroken = true;
  return true;
}

#define CHECK_CAPTURE()                                                        \
  do {                                                                         \
    if (disturbsCapture())                                                     \
      return CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED;                            \
  } while (false)

static bool isCapturing(CUstream S) {
  return driver().Streams.has(S) && reinterpret_cast<Stream *>(S)->Captured;
}

std::shared_ptr<Queue> emulated::findQueue(CUstream S) { return queueOf(S); }

static Event *eventOf(CUevent E) {
  return driver().Events.has(E) ? reinterpret_cast<Event *>(E) : nullptr;
}

static std::mutex &LibraryLock = *new std::mutex;

static CUresult findModule(CodeLibrary &L, CUdevice Device,
                           emulated::Module *&M) {
  std::lock_guard<std::mutex> Guard(LibraryLock);
  emulated::Module *&Known = L.Modules[Device];
  if (!Known)
    if (CUresult R = emulated::Module::load(Device, L.Image.data(), Known))
      return R;
  M = Known;
  return CUDA_SUCCESS;
}

static CUresult findFunction(LibraryKernel &K, CUdevice Device, Function *&F) {
  emulated::Module *M = nullptr;
  if (CUresult R = findModule(*K.Owner, Device, M))
    return R;
  std::lock_guard<std::mutex> Guard(LibraryLock);
  return M->getFunction(K.Name, F);
}

/// A kernel of a library stands for its function in the current context.
static Function *functionOf(CUfunction F) {
  if (driver().Kernels.has(F)) {
    Function *Found = nullptr;
    findFunction(*reinterpret_cast<LibraryKernel *>(F), Current->Device, Found);
    return Found;
  }
  return driver().Functions.has(F) ? reinterpret_cast<Function *>(F) : nullptr;
}

//===----------------------------------------------------------------------===//
// Devices and contexts
//===----------------------------------------------------------------------===//

/// Waits until two processes are in here.
static void meetAnother(const std::string &File) {
  constexpr int NumProcesses = 2;
  int FD = ::open(File.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (FD < 0 || ::write(FD, "1", 1) != 1) {
    complain("MNEME_EMULATED_INIT_MEET: cannot write to '" + File + "'");
    std::abort();
  }
  while (::lseek(FD, 0, SEEK_END) < NumProcesses)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::close(FD);
}

static CUresult initialize() {
  Driver &D = driver();
  std::lock_guard<std::mutex> Guard(D.Lock);
  if (!D.Initialized) {
    std::this_thread::sleep_for(
        std::chrono::milliseconds(settings().InitMilliseconds));
    if (!settings().InitMeeting.empty())
      meetAnother(settings().InitMeeting);
    noteMappings();
  }
  if (settings().InitResult)
    return settings().InitResult;
  if (settings().NumDevices <= 0)
    return CUDA_ERROR_NO_DEVICE;
  if (D.Contexts.empty())
    for (CUdevice I = 0; I != settings().NumDevices; ++I)
      D.Contexts.push_back(std::make_unique<Context>(I));
  D.Initialized = true;
  return CUDA_SUCCESS;
}

CUresult cuInit(unsigned) {
  CUresult R = initialize();
  if (!R)
    startProfiler();
  return R;
}

CUresult cuDriverGetVersion(int *Version) {
  *Version = settings().Version;
  return CUDA_SUCCESS;
}

CUresult cuGetErrorName(CUresult Code, const char **Name) {
  *Name = nameDriverError(Code);
  return *Name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult Code, const char **Text) {
  *Text = nameDriverError(Code) ? describeDriverError(Code) : nullptr;
  return *Text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuDeviceGetCount(int *Count) {
  if (!driver().Initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  *Count = settings().NumDevices;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGet(CUdevice *Device, int Ordinal) {
  CHECK_DEVICE(Ordinal);
  *Device = Ordinal;
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char *Name, int Size, CUdevice Device) {
  CHECK_DEVICE(Device);
  snprintf(Name, Size, "Emulated GPU");
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(void *Bytes16, CUdevice Device) {
  CHECK_DEVICE(Device);
  std::memset(Bytes16, 0xe0 + Device, 16);
  return CUDA_SUCCESS;
}

CUresult cuDeviceTotalMem_v2(size_t *Bytes, CUdevice Device) {
  CHECK_DEVICE(Device);
  *Bytes = settings().MemoryBytes;
  return CUDA_SUCCESS;
}

static CudaDeviceProp13 describe(CUdevice Device) {
  CudaDeviceProp13 P = {};
  P.maxThreadsPerBlock = P.maxThreadsDim[0] = P.maxThreadsDim[1] = 1024;
  P.maxThreadsDim[2] = 64;
  P.maxGridSize[0] = 0x7fffffff;
  P.maxGridSize[1] = P.maxGridSize[2] = 65535;
  P.sharedMemPerBlock = 48 << 10;
  P.totalConstMem = 64 << 10;
  P.warpSize = 32;
  P.regsPerBlock = P.regsPerMultiprocessor = RegistersPerMultiprocessor;
  P.multiProcessorCount = NumMultiprocessors;
  P.memoryBusWidth = 128;
  P.l2CacheSize = 1 << 20;
  P.maxThreadsPerMultiProcessor = ThreadsPerMultiprocessor;
  P.maxBlocksPerMultiProcessor = BlocksPerMultiprocessor;
  P.sharedMemPerMultiprocessor = SharedPerMultiprocessor;
  P.sharedMemPerBlockOptin = SharedPerBlock;
  P.reservedSharedMemPerBlock = ReservedSharedPerBlock;
  P.major = archOf(Device) / 10;
  P.minor = archOf(Device) % 10;
  P.unifiedAddressing = P.managedMemory = P.pageableMemoryAccess =
      P.concurrentManagedAccess = P.canUseHostPointerForRegisteredMem =
          P.cooperativeLaunch = P.memoryPoolsSupported = 1;
  return P;
}

static int getDeviceAttribute(int Attribute, CUdevice Device) {
  constexpr int VirtualMemoryManagement = 102;
  CudaDeviceProp13 P = describe(Device);
  auto clockRate = [] { return 1000000; }; // kHz
  switch (Attribute) {
#define DEVICE_ATTRIBUTE(Number, Result)                                       \
  case Number:                                                                 \
    return int(Result);
#include "CudaDeviceAttributes.def"
  default:
    return Attribute == VirtualMemoryManagement;
  }
}

CUresult cuDeviceGetAttribute(int *Value, int Attribute, CUdevice Device) {
  CHECK_DEVICE(Device);
  *Value = getDeviceAttribute(Attribute, Device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceCanAccessPeer(int *Can, CUdevice Device, CUdevice Peer) {
  CHECK_DEVICE(Device);
  CHECK_DEVICE(Peer);
  *Can = Device != Peer && settings().HavePeers;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *Result, CUdevice Device) {
  CHECK_DEVICE(Device);
  Context &C = *driver().Contexts[Device];
  std::lock_guard<std::mutex> Guard(C.Lock);
  ++C.References;
  *Result = reinterpret_cast<CUcontext>(&C);
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease_v2(CUdevice Device) {
  CHECK_DEVICE(Device);
  Context &C = *driver().Contexts[Device];
  std::lock_guard<std::mutex> Guard(C.Lock);
  if (!C.References)
    return CUDA_ERROR_INVALID_CONTEXT;
  --C.References;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxGetState(CUdevice Device, unsigned *Flags,
                                    int *Active) {
  CHECK_DEVICE(Device);
  Context &C = *driver().Contexts[Device];
  std::lock_guard<std::mutex> Guard(C.Lock);
  *Flags = C.Flags;
  *Active = C.References != 0;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext C) {
  if (!driver().Initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  Current = reinterpret_cast<Context *>(C);
  return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext *C) {
  if (!driver().Initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  *C = reinterpret_cast<CUcontext>(Current);
  return CUDA_SUCCESS;
}

/// A device has one context, whichever function asks for it.
extern "C" CUresult cuCtxCreate_v2(CUcontext *C, unsigned, CUdevice Device) {
  if (CUresult R = cuDevicePrimaryCtxRetain(C, Device))
    return R;
  return cuCtxSetCurrent(*C);
}

extern "C" CUresult cuCtxDestroy_v2(CUcontext C) {
  return cuDevicePrimaryCtxRelease_v2(reinterpret_cast<Context *>(C)->Device);
}

extern "C" CUresult cuCtxGetApiVersion(CUcontext, unsigned *Version) {
  *Version = 3020;
  return CUDA_SUCCESS;
}

/// The contexts under the current one.
static thread_local std::vector<Context *> Below;

extern "C" CUresult cuCtxPushCurrent_v2(CUcontext C) {
  if (!driver().Initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  Below.push_back(Current);
  Current = reinterpret_cast<Context *>(C);
  return CUDA_SUCCESS;
}

extern "C" CUresult cuCtxPopCurrent_v2(CUcontext *C) {
  CHECK_CONTEXT();
  if (C)
    *C = reinterpret_cast<CUcontext>(Current);
  Current = nullptr;
  if (!Below.empty()) {
    Current = Below.back();
    Below.pop_back();
  }
  return CUDA_SUCCESS;
}

CUresult cuCtxGetDevice(CUdevice *Device) {
  CHECK_CONTEXT();
  *Device = Current->Device;
  return CUDA_SUCCESS;
}

CUresult cuCtxSynchronize() {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  Current->waitForAll();
  return Current->Failure;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

CUresult cuMemGetInfo_v2(size_t *Free, size_t *Total) {
  CHECK_CONTEXT();
  *Total = settings().MemoryBytes;
  *Free = *Total - usedMemory(Current->Device);
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *Address, size_t Size) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  return allocateMemory(Current->Device, Size, *Address);
}

CUresult cuMemFree_v2(CUdeviceptr Address) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  Current->waitForAll();
  return freeMemory(Address);
}

CUresult cuMemHostAlloc(void **Address, size_t Size, unsigned) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  if (settings().PinningWaits)
    Current->waitForAll();
  return allocateHost(Size, *Address);
}

CUresult cuMemFreeHost(void *Address) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  return freeHost(Address);
}

/// Enqueues a copy. \p Wait: until it is done, as copies from and to memory
/// that is not pinned do.
static CUresult copyMemory(uint64_t To, uint64_t From, size_t Size, CUstream S,
                           bool Wait) {
  std::shared_ptr<Queue> Q = queueOf(S);
  if (!Q)
    return CUDA_ERROR_INVALID_HANDLE;
  Q->enqueue([=]() -> CUresult {
    std::memmove(reinterpret_cast<void *>(To),
                 reinterpret_cast<const void *>(From), Size);
    return CUDA_SUCCESS;
  });
  if (!Wait)
    return CUDA_SUCCESS;
  Q->wait();
  return Current->Failure;
}

CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr To, const void *From, size_t Size,
                              CUstream S) {
  CHECK_CONTEXT();
  if (!isDeviceMemory(To, Size))
    return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Queue> Q = queueOf(S);
  if (!Q)
    return CUDA_ERROR_INVALID_HANDLE;
  if (isPinned(From, Size))
    return copyMemory(To, reinterpret_cast<uint64_t>(From), Size, S, false);
  // The driver keeps a copy of memory that is not pinned. On a GPU this has been
  // seen to wait for a kernel of another stream.
  Current->waitForAll();
  auto Staged = std::make_shared<std::string>(static_cast<const char *>(From),
                                              Size);
  Q->enqueue([=]() -> CUresult {
    std::memcpy(reinterpret_cast<void *>(To), Staged->data(), Size);
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}

CUresult cuMemcpyDtoHAsync_v2(void *To, CUdeviceptr From, size_t Size,
                              CUstream S) {
  CHECK_CONTEXT();
  if (!isDeviceMemory(From, Size))
    return CUDA_ERROR_INVALID_VALUE;
  if (!isPinned(To, Size))
    Current->waitForAll();
  return copyMemory(reinterpret_cast<uint64_t>(To), From, Size, S,
                    /*Wait=*/!isPinned(To, Size));
}

CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr To, CUdeviceptr From, size_t Size,
                              CUstream S) {
  CHECK_CONTEXT();
  if (!isDeviceMemory(To, Size, Current->Device) ||
      !isDeviceMemory(From, Size, Current->Device))
    return CUDA_ERROR_INVALID_VALUE;
  return copyMemory(To, From, Size, S, false);
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr To, const void *From, size_t Size) {
  CHECK_CONTEXT();
  if (!isDeviceMemory(To, Size))
    return CUDA_ERROR_INVALID_VALUE;
  return copyMemory(To, reinterpret_cast<uint64_t>(From), Size, nullptr, true);
}

CUresult cuMemcpyDtoH_v2(void *To, CUdeviceptr From, size_t Size) {
  CHECK_CONTEXT();
  if (!isDeviceMemory(From, Size))
    return CUDA_ERROR_INVALID_VALUE;
  return copyMemory(reinterpret_cast<uint64_t>(To), From, Size, nullptr, true);
}

extern "C" CUresult cuMemcpyDtoD_v2(CUdeviceptr To, CUdeviceptr From,
                                    size_t Size) {
  if (CUresult R = cuMemcpyDtoDAsync_v2(To, From, Size, nullptr))
    return R;
  return cuStreamSynchronize(nullptr);
}

template <typename T>
static CUresult fillMemory(CUdeviceptr To, size_t Pitch, T Value, size_t Width,
                           size_t Height, CUstream S) {
  FIND(Q, queueOf(S));
  for (size_t Row = 0; Row != Height; ++Row)
    if (!isDeviceMemory(To + Row * Pitch, Width * sizeof(T)))
      return CUDA_ERROR_INVALID_VALUE;
  Q->enqueue([=]() -> CUresult {
    for (size_t Row = 0; Row != Height; ++Row)
      std::fill_n(reinterpret_cast<T *>(To + Row * Pitch), Width, Value);
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}

#define SET(Name, Type)                                                        \
  extern "C" CUresult cuMemset##Name##Async(CUdeviceptr To, Type Value,        \
                                            size_t Count, CUstream S) {        \
    return fillMemory(To, 0, Value, Count, 1, S);                              \
  }                                                                            \
  extern "C" CUresult cuMemsetD2##Name##Async(CUdeviceptr To, size_t Pitch,    \
                                              Type Value, size_t Width,        \
                                              size_t Height, CUstream S) {     \
    return fillMemory(To, Pitch, Value, Width, Height, S);                     \
  }
SET(D8, unsigned char)
SET(D16, unsigned short)
SET(D32, unsigned)
#undef SET

CUresult cuPointerGetAttribute(void *Data, int Attribute, CUdeviceptr Address) {
  constexpr int MemoryType = 2, Host = 1, Device = 2;
  constexpr int RangeStart = 11, RangeSize = 12;
  CHECK_CONTEXT();
  if (Attribute == RangeStart || Attribute == RangeSize) {
    CUdeviceptr Start;
    size_t Size;
    if (!findAllocation(Address, Start, Size))
      return CUDA_ERROR_INVALID_VALUE;
    if (Attribute == RangeStart)
      *static_cast<CUdeviceptr *>(Data) = Start;
    else
      *static_cast<size_t *>(Data) = Size;
    return CUDA_SUCCESS;
  }
  MemoryKind Kind = kindOf(Address);
  if (Attribute != MemoryType || Kind == MemoryKind::None)
    return CUDA_ERROR_INVALID_VALUE;
  *static_cast<int *>(Data) = Kind == MemoryKind::Pinned ? Host : Device;
  return CUDA_SUCCESS;
}

CUresult cuMemHostGetDevicePointer_v2(CUdeviceptr *Address, void *P,
                                      unsigned) {
  CHECK_CONTEXT();
  if (!isPinned(P, 1))
    return CUDA_ERROR_INVALID_VALUE;
  *Address = reinterpret_cast<CUdeviceptr>(P);
  return CUDA_SUCCESS;
}

CUresult cuMemGetAllocationGranularity(size_t *Size,
                                       const CUmemAllocationProp *P, int) {
  if (!driver().Initialized)
    return CUDA_ERROR_NOT_INITIALIZED;
  if (P->Type != 1 || P->Location.Type != 1 || !isDevice(P->Location.Id))
    return CUDA_ERROR_INVALID_VALUE;
  *Size = Granularity;
  return CUDA_SUCCESS;
}

CUresult cuMemAddressReserve(CUdeviceptr *Address, size_t Size, size_t,
                             CUdeviceptr Hint, unsigned long long) {
  CHECK_CONTEXT();
  return reserveAddresses(Hint, Size, *Address);
}

CUresult cuMemAddressFree(CUdeviceptr Address, size_t Size) {
  CHECK_CONTEXT();
  return freeAddresses(Address, Size);
}

CUresult cuMemCreate(CUmemHandle *Handle, size_t Size,
                     const CUmemAllocationProp *P, unsigned long long) {
  CHECK_CONTEXT();
  if (P->Type != 1 || P->Location.Type != 1 || !isDevice(P->Location.Id))
    return CUDA_ERROR_INVALID_VALUE;
  constexpr int PosixFile = 1;
  if (P->RequestedHandleTypes && settings().ExportsNothing)
    return CUDA_ERROR_NOT_SUPPORTED;
  return createHandle(P->Location.Id, Size, P->RequestedHandleTypes & PosixFile,
                      *Handle);
}

CUresult cuMemExportToShareableHandle(void *File, CUmemHandle Handle, int Type,
                                      unsigned long long) {
  CHECK_CONTEXT();
  return Type == 1 ? exportHandle(Handle, *static_cast<int *>(File))
                   : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemImportFromShareableHandle(CUmemHandle *Handle, void *File,
                                        int Type) {
  CHECK_CONTEXT();
  return Type == 1
             ? importHandle(int(reinterpret_cast<intptr_t>(File)), *Handle)
             : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuMemRelease(CUmemHandle Handle) {
  CHECK_CONTEXT();
  return releaseHandle(Handle);
}

CUresult cuMemMap(CUdeviceptr Address, size_t Size, size_t Offset,
                  CUmemHandle Handle, unsigned long long) {
  CHECK_CONTEXT();
  return mapHandle(Address, Size, Offset, Handle);
}

CUresult cuMemUnmap(CUdeviceptr Address, size_t Size) {
  CHECK_CONTEXT();
  return unmapHandle(Address, Size);
}

CUresult cuMemSetAccess(CUdeviceptr Address, size_t Size,
                        const CUmemAccessDesc *Access, size_t Count) {
  CHECK_CONTEXT();
  for (size_t I = 0; I != Count; ++I)
    if (Access[I].Location.Type != 1 || !isDevice(Access[I].Location.Id) ||
        Access[I].Flags != 3)
      return CUDA_ERROR_NOT_SUPPORTED;
  for (size_t I = 0; I != Count; ++I)
    if (CUresult R = allowAccess(Address, Size, Access[I].Location.Id))
      return R;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

CUresult cuModuleLoadData(CUmodule *Result, const void *Image) {
  CHECK_CONTEXT();
  emulated::Module *M = nullptr;
  if (CUresult R = emulated::Module::load(Current->Device, Image, M))
    return R;
  *Result = reinterpret_cast<CUmodule>(driver().Modules.add(M));
  return CUDA_SUCCESS;
}

CUresult cuModuleUnload(CUmodule Handle) {
  CHECK_CONTEXT();
  if (!driver().Modules.remove(Handle))
    return CUDA_ERROR_INVALID_HANDLE;
  Current->waitForAll();
  auto *M = reinterpret_cast<emulated::Module *>(Handle);
  for (const std::unique_ptr<Function> &F : M->functions())
    driver().Functions.remove(F.get());
  delete M;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetFunction(CUfunction *Result, CUmodule Handle,
                             const char *Name) {
  CHECK_HANDLE(Modules, Handle);
  Function *F = nullptr;
  auto *M = reinterpret_cast<emulated::Module *>(Handle);
  std::lock_guard<std::mutex> Guard(LibraryLock);
  if (CUresult R = M->getFunction(Name, F))
    return R;
  *Result = reinterpret_cast<CUfunction>(driver().Functions.add(F));
  return CUDA_SUCCESS;
}

CUresult cuLibraryLoadData(CUlibrary *Result, const void *Image, int *, void **,
                           unsigned, int *, void **, unsigned) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  size_t Size = sizeOfImage(Image);
  auto L = std::make_unique<CodeLibrary>();
  L->Image.assign(static_cast<const char *>(Image), Size);
  emulated::Module *&M = L->Modules[Current->Device];
  if (CUresult R = emulated::Module::load(Current->Device, Image, M))
    return R;
  log("library " + llvm::mneme::toHexString(llvm::mneme::digest128(L->Image)));
  *Result = reinterpret_cast<CUlibrary>(driver().Libraries.add(L.release()));
  return CUDA_SUCCESS;
}

CUresult cuLibraryUnload(CUlibrary Handle) {
  CHECK_CONTEXT();
  return driver().Libraries.remove(Handle) ? CUDA_SUCCESS
                                           : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetKernel(CUkernel *Result, CUlibrary Handle,
                            const char *Name) {
  CHECK_HANDLE(Libraries, Handle);
  auto K = std::make_unique<LibraryKernel>(
      LibraryKernel{reinterpret_cast<CodeLibrary *>(Handle), Name});
  Function *F = nullptr;
  if (CUresult R = findFunction(*K, Current->Device, F))
    return R;
  *Result = reinterpret_cast<CUkernel>(driver().Kernels.add(K.release()));
  return CUDA_SUCCESS;
}

CUresult cuKernelGetFunction(CUfunction *Result, CUkernel Handle) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  if (!driver().Kernels.has(Handle))
    return CUDA_ERROR_INVALID_HANDLE;
  *Result = reinterpret_cast<CUfunction>(Handle);
  return CUDA_SUCCESS;
}

CUresult cuFuncLoad(CUfunction Handle) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  return functionOf(Handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult cuLibraryGetGlobal(CUdeviceptr *Address, size_t *Size,
                            CUlibrary Handle, const char *Name) {
  CHECK_HANDLE(Libraries, Handle);
  emulated::Module *M = nullptr;
  if (CUresult R = findModule(*reinterpret_cast<CodeLibrary *>(Handle),
                              Current->Device, M))
    return R;
  const Variable *V = nullptr;
  if (CUresult R = M->getVariable(Name, V))
    return R;
  *Address = V->Address;
  *Size = V->Size;
  return CUDA_SUCCESS;
}

CUresult cuModuleGetGlobal_v2(CUdeviceptr *Address, size_t *Size,
                              CUmodule Handle, const char *Name) {
  CHECK_HANDLE(Modules, Handle);
  const Variable *V = nullptr;
  auto *M = reinterpret_cast<emulated::Module *>(Handle);
  if (CUresult R = M->getVariable(Name, V))
    return R;
  if (Address)
    *Address = V->Address;
  if (Size)
    *Size = V->Size;
  return CUDA_SUCCESS;
}

CUresult cuFuncGetAttribute(int *Value, int Attribute, CUfunction Handle) {
  FIND(F, functionOf(Handle));
  switch (Attribute) {
  case 0: // MAX_THREADS_PER_BLOCK
    *Value = F->MaxThreads;
    return CUDA_SUCCESS;
  case 1: // SHARED_SIZE_BYTES
    *Value = F->StaticShared;
    return CUDA_SUCCESS;
  case 2: // CONST_SIZE_BYTES
    *Value = F->Constant;
    return CUDA_SUCCESS;
  case 3: // LOCAL_SIZE_BYTES
    *Value = F->Local;
    return CUDA_SUCCESS;
  case 4: // NUM_REGS
    *Value = F->Registers;
    return CUDA_SUCCESS;
  case 5: // PTX_VERSION
  case 6: // BINARY_VERSION
    *Value = archOf(Current->Device);
    return CUDA_SUCCESS;
  case 8: // MAX_DYNAMIC_SHARED_SIZE_BYTES
    *Value = F->MaxDynamicShared;
    return CUDA_SUCCESS;
  default:
    *Value = 0;
    return CUDA_SUCCESS;
  }
}

static CUresult setAttribute(Function &F, int Attribute, int Value) {
  if (Attribute != 8) // Preferences have no effect here.
    return CUDA_SUCCESS;
  if (Value < 0 || Value > SharedPerBlock - int(F.StaticShared))
    return CUDA_ERROR_INVALID_VALUE;
  F.MaxDynamicShared = Value;
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction Handle, int Attribute, int Value) {
  CHECK_CONTEXT();
  Function *F = functionOf(Handle);
  return F ? setAttribute(*F, Attribute, Value) : CUDA_ERROR_INVALID_HANDLE;
}

extern "C" CUresult cuKernelGetAttribute(int *Value, int Attribute,
                                         CUkernel Handle, CUdevice Device) {
  CUfunction F;
  if (CUresult R = cuKernelGetFunction(&F, Handle))
    return R;
  return cuFuncGetAttribute(Value, Attribute, F);
}

CUresult cuKernelSetAttribute(int Attribute, int Value, CUkernel Handle,
                              CUdevice Device) {
  CHECK_DEVICE(Device);
  if (!driver().Kernels.has(Handle))
    return CUDA_ERROR_INVALID_HANDLE;
  Function *F = nullptr;
  if (CUresult R =
          findFunction(*reinterpret_cast<LibraryKernel *>(Handle), Device, F))
    return R;
  log("attribute " + Twine(Attribute) + ": " + Twine(Value));
  return setAttribute(*F, Attribute, Value);
}

CUresult cuKernelSetCacheConfig(CUkernel Handle, int Config, CUdevice Device) {
  CHECK_DEVICE(Device);
  if (!driver().Kernels.has(Handle))
    return CUDA_ERROR_INVALID_HANDLE;
  log("cache " + Twine(Config));
  return CUDA_SUCCESS;
}

static int countBlocks(const Function &F, uint64_t BlockThreads,
                       uint64_t DynamicShared) {
  uint64_t Warps = std::max<uint64_t>(1, (BlockThreads + 31) / 32);
  uint64_t Shared = F.StaticShared + DynamicShared + ReservedSharedPerBlock;
  uint64_t Registers = Warps * 32 * std::max<uint64_t>(1, F.Registers);
  return std::min<uint64_t>(
      {uint64_t(BlocksPerMultiprocessor),
       ThreadsPerMultiprocessor / (Warps * 32),
       SharedPerMultiprocessor / Shared,
       RegistersPerMultiprocessor / Registers});
}

CUresult cuOccupancyMaxActiveBlocksPerMultiprocessor(int *Blocks,
                                                     CUfunction Handle,
                                                     int BlockThreads,
                                                     size_t DynamicShared) {
  FIND(F, functionOf(Handle));
  if (BlockThreads <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  *Blocks = countBlocks(*F, BlockThreads, DynamicShared);
  return CUDA_SUCCESS;
}

/// What a launch that was refused returns.
static CUresult checkLaunch(const Function &F, const LaunchConfig &C) {
  uint64_t Threads = C.Block.count();
  if (!C.Grid.count() || !Threads || C.Grid.X > 0x7fffffffu ||
      C.Grid.Y > 65535 || C.Grid.Z > 65535 || C.Block.X > 1024 ||
      C.Block.Y > 1024 || C.Block.Z > 64 || Threads > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (Threads > F.MaxThreads)
    return CUDA_ERROR_INVALID_VALUE;
  if (C.DynamicShared > uint64_t(F.MaxDynamicShared) ||
      C.DynamicShared + F.StaticShared > SharedPerBlock)
    return CUDA_ERROR_INVALID_VALUE;
  int Blocks = countBlocks(F, Threads, C.DynamicShared);
  if (!Blocks)
    return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  if (C.Cooperative && C.Grid.count() > uint64_t(Blocks) * NumMultiprocessors)
    return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  return CUDA_SUCCESS;
}

/// Copies the parameters, given as pointers or as one buffer.
static CUresult readArguments(const Function &F, void **Args, void **Extra,
                              std::vector<char> &Bytes) {
  uint64_t Size = 0;
  for (const Parameter &P : F.Parameters)
    Size = std::max(Size, P.Offset + P.Size);
  Bytes.resize(Size);
  if (!Size)
    return CUDA_SUCCESS;
  if (Args && Extra)
    return CUDA_ERROR_INVALID_VALUE;
  if (Args) {
    for (size_t I = 0; I != F.Parameters.size(); ++I)
      std::memcpy(Bytes.data() + F.Parameters[I].Offset, Args[I],
                  F.Parameters[I].Size);
    return CUDA_SUCCESS;
  }
  size_t BufferSize = 0;
  const char *Buffer = findBuffer(Extra, BufferSize);
  if (!Buffer || BufferSize < Size)
    return CUDA_ERROR_INVALID_VALUE;
  std::memcpy(Bytes.data(), Buffer, Size);
  return CUDA_SUCCESS;
}

CUresult emulated::readCall(CUfunction Handle, const LaunchConfig &Config,
                            void **Args, void **Extra, KernelCall &Call) {
  FIND(F, functionOf(Handle));
  if (CUresult R = checkLaunch(*F, Config))
    return R;
  if (CUresult R = F->findCode())
    return R;
  Call = {F, Config, std::make_shared<std::vector<char>>(), Current->Device};
  return readArguments(*F, Args, Extra, *Call.Bytes);
}

std::vector<void *> KernelCall::pointers() const {
  std::vector<void *> Pointers;
  for (const Parameter &P : F->Parameters)
    Pointers.push_back(Bytes->data() + P.Offset);
  return Pointers;
}

CUresult KernelCall::run() const {
  std::vector<void *> Pointers = pointers();
  for (size_t I = 0; I != Pointers.size(); ++I) {
    uint64_t Address = 0;
    if (F->Parameters[I].Size == sizeof(Address))
      std::memcpy(&Address, Pointers[I], sizeof(Address));
    // As most kernels use what they are given.
    if (Address && isOutOfReach(Address, Device))
      return CUDA_ERROR_ILLEGAL_ADDRESS;
  }
  return F->run(Config, Pointers);
}

static CUresult launch(CUfunction Handle, const LaunchConfig &Config,
                       CUstream S, void **Args, void **Extra) {
  ContextOf Here(S);
  FIND(Q, queueOf(S));
  KernelCall Call;
  if (CUresult R = readCall(Handle, Config, Args, Extra, Call))
    return R;
  if (isCapturing(S)) {
    constexpr int Kernel = 0;
    addCaptured(*reinterpret_cast<Stream *>(S)->Captured, Kernel)->Kernel =
        Call;
    return CUDA_SUCCESS;
  }
  Q->enqueue([=] { return Call.run(); });
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction F, unsigned GridX, unsigned GridY,
                        unsigned GridZ, unsigned BlockX, unsigned BlockY,
                        unsigned BlockZ, unsigned DynamicShared, CUstream S,
                        void **Args, void **Extra) {
  LaunchConfig Config;
  Config.Grid = {GridX, GridY, GridZ};
  Config.Block = {BlockX, BlockY, BlockZ};
  Config.DynamicShared = DynamicShared;
  return launch(F, Config, S, Args, Extra);
}

CUresult cuLaunchCooperativeKernel(CUfunction F, unsigned GridX, unsigned GridY,
                                   unsigned GridZ, unsigned BlockX,
                                   unsigned BlockY, unsigned BlockZ,
                                   unsigned DynamicShared, CUstream S,
                                   void **Args) {
  LaunchConfig Config;
  Config.Grid = {GridX, GridY, GridZ};
  Config.Block = {BlockX, BlockY, BlockZ};
  Config.DynamicShared = DynamicShared;
  Config.Cooperative = true;
  return launch(F, Config, S, Args, nullptr);
}

static bool isValidCluster(const uint32_t (&Size)[3],
                           llvm::mneme::Dim3 Grid) {
  constexpr unsigned MaxPortable = 8;
  for (unsigned I = 0; I != 3; ++I)
    if (!Size[I] || Grid[I] % Size[I])
      return false;
  return Size[0] * Size[1] * Size[2] <= MaxPortable;
}

CUresult cuLaunchKernelEx(const CUlaunchConfig *C, CUfunction F, void **Args,
                          void **Extra) {
  // CUlaunchAttribute: a number and, 8 bytes behind it, a value.
  constexpr unsigned Size = 72, Cooperative = 2, ClusterDim = 4;
  LaunchConfig Config;
  Config.Grid = {C->GridX, C->GridY, C->GridZ};
  Config.Block = {C->BlockX, C->BlockY, C->BlockZ};
  Config.DynamicShared = C->DynamicShared;
  for (unsigned I = 0; I != C->NumAttributes; ++I) {
    uint32_t Id, Value;
    const char *A = static_cast<const char *>(C->Attributes) + I * Size;
    std::memcpy(&Id, A, sizeof(Id));
    std::memcpy(&Value, A + 8, sizeof(Value));
    log("launch attribute " + Twine(Id) + ": " + Twine(Value));
    if (Id == Cooperative)
      Config.Cooperative = Value;
    uint32_t Cluster[3];
    std::memcpy(Cluster, A + 8, sizeof(Cluster));
    if (Id != ClusterDim)
      continue;
    if (!isValidCluster(Cluster, Config.Grid))
      return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    Config.Cluster = {Cluster[0], Cluster[1], Cluster[2]};
  }
  return launch(F, Config, C->Stream, Args, Extra);
}

//===----------------------------------------------------------------------===//
// Streams and events
//===----------------------------------------------------------------------===//

static constexpr unsigned NonBlocking = 1;
static constexpr unsigned DisableTiming = 2;

CUresult cuStreamCreate(CUstream *Result, unsigned Flags) {
  CHECK_CONTEXT();
  auto *S = new Stream;
  S->Flags = Flags;
  S->Owner = reinterpret_cast<CUcontext>(Current);
  S->Work = Flags & NonBlocking ? Current->addQueue() : Current->Default;
  *Result = reinterpret_cast<CUstream>(driver().Streams.add(S));
  return CUDA_SUCCESS;
}

CUresult cuStreamDestroy_v2(CUstream Handle) {
  CHECK_CONTEXT();
  if (!driver().Streams.remove(Handle))
    return CUDA_ERROR_INVALID_HANDLE;
  if (reinterpret_cast<Stream *>(Handle)->Captured && GlobalCaptures)
    --GlobalCaptures;
  delete reinterpret_cast<Stream *>(Handle);
  return CUDA_SUCCESS;
}

CUresult cuStreamSynchronize(CUstream S) {
  ContextOf Here(S);
  FIND(Q, queueOf(S));
  Q->wait();
  return Current->Failure;
}

CUresult cuStreamQuery(CUstream S) {
  ContextOf Here(S);
  FIND(Q, queueOf(S));
  if (!Q->isIdle())
    return CUDA_ERROR_NOT_READY;
  return Current->Failure;
}

CUresult cuStreamGetFlags(CUstream S, unsigned *Flags) {
  CHECK_CONTEXT();
  if (!queueOf(S))
    return CUDA_ERROR_INVALID_HANDLE;
  *Flags = driver().Streams.has(S) ? reinterpret_cast<Stream *>(S)->Flags : 0;
  return CUDA_SUCCESS;
}

CUresult cuStreamIsCapturing(CUstream S, int *Status) {
  ContextOf Here(S);
  CHECK_CONTEXT();
  if (!queueOf(S))
    return CUDA_ERROR_INVALID_HANDLE;
  *Status = isCapturing(S);
  return CUDA_SUCCESS;
}

static CUresult beginCapture(CUstream S, std::shared_ptr<Graph> G, int Mode) {
  CHECK_CONTEXT();
  if (!driver().Streams.has(S) || isCapturing(S) || !G)
    return CUDA_ERROR_INVALID_VALUE;
  auto *Captured = reinterpret_cast<Stream *>(S);
  Captured->Captured = G;
  Captured->Suspended = Captured->Work;
  Captured->Work = std::make_shared<Queue>([G](Queue::Work Work) {
    constexpr int Host = 3; // A guess: nobody asks.
    addCaptured(*G, Host)->Work = std::move(Work);
  });
  if (Mode == CaptureGlobal)
    ++GlobalCaptures;
  return CUDA_SUCCESS;
}

extern "C" CUresult cuStreamBeginCapture_v2(CUstream S, int Mode) {
  return beginCapture(S, std::make_shared<Graph>(), Mode);
}

extern "C" CUresult cuStreamEndCapture(CUstream S, CUgraph *Result) {
  CHECK_CONTEXT();
  *Result = nullptr;
  if (!isCapturing(S))
    return CUDA_ERROR_INVALID_VALUE;
  auto *Captured = reinterpret_cast<Stream *>(S);
  std::shared_ptr<Graph> G = std::move(Captured->Captured);
  Captured->Captured = nullptr;
  Captured->Work = std::move(Captured->Suspended);
  if (GlobalCaptures)
    --GlobalCaptures;
  if (IsCaptureBroken.exchange(false))
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  *Result = giveGraph(G);
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCaptureInfo_v2(CUstream S, int *Status,
                                   unsigned long long *Id, CUgraph *G,
                                   const CUgraphNode **Last, size_t *Count) {
  CHECK_CONTEXT();
  static thread_local CUgraphNode LastNode;
  *Status = isCapturing(S);
  if (!*Status)
    return CUDA_SUCCESS;
  Graph &Captured = *reinterpret_cast<Stream *>(S)->Captured;
  *Id = 1;
  *G = reinterpret_cast<CUgraph>(&Captured);
  *Count = !Captured.Nodes.empty();
  if (*Count)
    LastNode = reinterpret_cast<CUgraphNode>(Captured.Nodes.back().get());
  *Last = &LastNode;
  return CUDA_SUCCESS;
}

CUresult cuThreadExchangeStreamCaptureMode(int *Mode) {
  std::swap(*Mode, CaptureMode);
  return CUDA_SUCCESS;
}

CUresult cuEventCreate(CUevent *Result, unsigned Flags) {
  CHECK_CONTEXT();
  auto *E = new Event{Flags, nullptr};
  *Result = reinterpret_cast<CUevent>(driver().Events.add(E));
  return CUDA_SUCCESS;
}

CUresult cuEventDestroy_v2(CUevent Handle) {
  CHECK_CONTEXT();
  if (!driver().Events.remove(Handle))
    return CUDA_ERROR_INVALID_HANDLE;
  delete reinterpret_cast<Event *>(Handle);
  return CUDA_SUCCESS;
}

CUresult cuEventRecord(CUevent Handle, CUstream S) {
  FIND(E, eventOf(Handle));
  FIND(Q, queueOf(S));
  auto M = std::make_shared<Mark>();
  E->Last = M;
  Q->enqueue(
      [=]() -> CUresult {
        M->reach();
        return CUDA_SUCCESS;
      },
      /*Always=*/true);
  return CUDA_SUCCESS;
}

CUresult cuEventQuery(CUevent Handle) {
  FIND(E, eventOf(Handle));
  return !E->Last || E->Last->isDone() ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY;
}

CUresult cuEventSynchronize(CUevent Handle) {
  FIND(E, eventOf(Handle));
  if (std::shared_ptr<Mark> M = E->Last)
    M->wait();
  return Current->Failure;
}

CUresult cuEventElapsedTime(float *Milliseconds, CUevent Start, CUevent End) {
  CHECK_CONTEXT();
  Event *A = eventOf(Start), *B = eventOf(End);
  if (!A || !B || !A->Last || !B->Last ||
      ((A->Flags | B->Flags) & DisableTiming))
    return CUDA_ERROR_INVALID_HANDLE;
  if (!A->Last->isDone() || !B->Last->isDone())
    return CUDA_ERROR_NOT_READY;
  *Milliseconds =
      (double(B->Last->Nanoseconds) - double(A->Last->Nanoseconds)) / 1e6;
  return CUDA_SUCCESS;
}

//===----------------------------------------------------------------------===//
// What liboffload's CUDA plugin wants beside the above
//===----------------------------------------------------------------------===//

extern "C" {

CUresult cuDevicePrimaryCtxSetFlags_v2(CUdevice Device, unsigned Flags) {
  CHECK_DEVICE(Device);
  Context &C = *driver().Contexts[Device];
  std::lock_guard<std::mutex> Guard(C.Lock);
  C.Flags = Flags;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext C, unsigned Flags) {
  CHECK_CONTEXT();
  auto *Peer = reinterpret_cast<Context *>(C);
  if (Flags)
    return CUDA_ERROR_INVALID_VALUE;
  if (!Peer || Peer == Current)
    return CUDA_ERROR_INVALID_CONTEXT;
  if (!settings().HavePeers)
    return CUDA_ERROR_PEER_ACCESS_UNSUPPORTED;
  return enablePeer(Current->Device, Peer->Device)
             ? CUDA_SUCCESS
             : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}

CUresult cuIpcGetMemHandle(SharedAllocation *Handle, CUdeviceptr Address) {
  CHECK_CONTEXT();
  return shareMemory(Address, *Handle);
}

CUresult cuIpcOpenMemHandle_v2(CUdeviceptr *Address, SharedAllocation Handle,
                               unsigned Flags) {
  CHECK_CONTEXT();
  constexpr unsigned LazyEnablePeerAccess = 1;
  if (Flags != LazyEnablePeerAccess)
    return CUDA_ERROR_INVALID_VALUE;
  return openMemory(Handle, *Address);
}

CUresult cuIpcCloseMemHandle(CUdeviceptr Address) {
  CHECK_CONTEXT();
  Current->waitForAll();
  return isOpened(Address) ? freeMemory(Address) : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuMemPoolExportPointer(SharedAllocation *Data, CUdeviceptr Address) {
  return cuIpcGetMemHandle(Data, Address);
}

CUresult cuMemPoolImportPointer(CUdeviceptr *Address, void *,
                                const SharedAllocation *Data) {
  CHECK_CONTEXT();
  return openMemory(*Data, *Address);
}

CUresult cuMemGetAddressRange_v2(CUdeviceptr *Start, size_t *Size,
                                 CUdeviceptr Address) {
  CHECK_CONTEXT();
  CUdeviceptr Found = 0;
  size_t Bytes = 0;
  if (!findAllocation(Address, Found, Bytes))
    return CUDA_ERROR_NOT_FOUND;
  if (Start)
    *Start = Found;
  if (Size)
    *Size = Bytes;
  return CUDA_SUCCESS;
}

CUresult cuCtxGetLimit(size_t *Value, int Limit) {
  CHECK_CONTEXT();
  if (Limit < 0 || Limit >= 16)
    return CUDA_ERROR_INVALID_VALUE;
  *Value = Current->Limits[Limit];
  return CUDA_SUCCESS;
}

CUresult cuCtxSetLimit(int Limit, size_t Value) {
  CHECK_CONTEXT();
  if (Limit < 0 || Limit >= 16)
    return CUDA_ERROR_INVALID_VALUE;
  Current->Limits[Limit] = Value;
  return CUDA_SUCCESS;
}

CUresult cuMemAllocHost_v2(void **Address, size_t Size) {
  return cuMemHostAlloc(Address, Size, 0);
}

CUresult cuMemAllocManaged(CUdeviceptr *Address, size_t Size, unsigned Flags) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  if (!Size || (Flags != 1 && Flags != 2)) // attached to all, or to the host
    return CUDA_ERROR_INVALID_VALUE;
  return allocateManaged(Current->Device, Size, *Address);
}

CUresult cuMemAllocPitch_v2(CUdeviceptr *Address, size_t *Pitch, size_t Width,
                            size_t Height, unsigned) {
  constexpr size_t Alignment = 512;
  size_t Size;
  *Pitch = (Width + Alignment - 1) / Alignment * Alignment;
  if (*Pitch < Width || __builtin_mul_overflow(*Pitch, Height, &Size))
    return CUDA_ERROR_INVALID_VALUE;
  return cuMemAlloc_v2(Address, Size);
}

CUresult cuMemHostRegister_v2(void *Address, size_t Size, unsigned) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  return registerHost(Address, Size);
}

CUresult cuMemHostUnregister(void *Address) {
  CHECK_CONTEXT();
  CHECK_CAPTURE();
  return unregisterHost(Address);
}

// One pool is as good as another here, and memory is there at once.
CUresult cuMemAllocAsync(CUdeviceptr *Address, size_t Size, CUstream S) {
  CHECK_CONTEXT();
  if (!queueOf(S))
    return CUDA_ERROR_INVALID_HANDLE;
  return allocateMemory(Current->Device, Size, *Address);
}

CUresult cuMemAllocFromPoolAsync(CUdeviceptr *Address, size_t Size, void *,
                                 CUstream S) {
  return cuMemAllocAsync(Address, Size, S);
}

CUresult cuMemFreeAsync(CUdeviceptr Address, CUstream S) {
  FIND(Q, queueOf(S));
  if (!isAllocation(Address))
    return CUDA_ERROR_INVALID_VALUE;
  Q->enqueue([=] { return freeMemory(Address); });
  return CUDA_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream S, CUcontext *C) {
  ContextOf Here(S);
  CHECK_CONTEXT();
  if (!queueOf(S))
    return CUDA_ERROR_INVALID_HANDLE;
  *C = driver().Streams.has(S) ? reinterpret_cast<Stream *>(S)->Owner
                               : reinterpret_cast<CUcontext>(Current);
  return CUDA_SUCCESS;
}

// Goes through the host where devices have no way to each other.
CUresult cuMemcpyPeerAsync(CUdeviceptr To, CUcontext, CUdeviceptr From,
                           CUcontext, size_t Size, CUstream S) {
  CHECK_CONTEXT();
  if (!isDeviceMemory(To, Size) || !isDeviceMemory(From, Size))
    return CUDA_ERROR_INVALID_VALUE;
  return copyMemory(To, From, Size, S, false);
}

CUresult cuMemcpyBatchAsync_v2(CUdeviceptr *To, CUdeviceptr *From,
                               size_t *Sizes, size_t Count, void *,
                               size_t *Indices, size_t NumAttributes,
                               CUstream S) {
  CHECK_CONTEXT();
  if (!S || !Count || !NumAttributes || Indices[0])
    return CUDA_ERROR_INVALID_VALUE;
  for (size_t I = 0; I != Count; ++I)
    if (CUresult R = copyMemory(To[I], From[I], Sizes[I], S, false))
      return R;
  return CUDA_SUCCESS;
}

CUresult cuStreamWriteValue32_v2(CUstream S, CUdeviceptr To, uint32_t Value,
                                 unsigned) {
  return fillMemory(To, 0, Value, 1, 1, S);
}

CUresult cuStreamWriteValue64_v2(CUstream S, CUdeviceptr To, uint64_t Value,
                                 unsigned) {
  return fillMemory(To, 0, Value, 1, 1, S);
}

/// Of the operations only those that write.
CUresult cuStreamBatchMemOp_v2(CUstream S, unsigned Count, void *Operations,
                               unsigned) {
  constexpr uint32_t Write32 = 2, Write64 = 5;
  struct Operation {
    uint32_t Kind;
    CUdeviceptr To;
    uint64_t Value;
    uint64_t Rest[3];
  };
  for (unsigned I = 0; I != Count; ++I) {
    const Operation &O = static_cast<Operation *>(Operations)[I];
    CUresult R = CUDA_ERROR_NOT_SUPPORTED;
    if (O.Kind == Write32)
      R = cuStreamWriteValue32_v2(S, O.To, O.Value, 0);
    else if (O.Kind == Write64)
      R = cuStreamWriteValue64_v2(S, O.To, O.Value, 0);
    if (R)
      return R;
  }
  return CUDA_SUCCESS;
}

CUresult cuModuleLoadDataEx(CUmodule *Result, const void *Image, unsigned,
                            int *, void **) {
  return cuModuleLoadData(Result, Image);
}

CUresult cuFuncGetParamInfo(CUfunction Handle, size_t Index, size_t *Offset,
                            size_t *Size) {
  FIND(F, functionOf(Handle));
  if (CUresult R = F->findCode())
    return R;
  if (Index >= F->Parameters.size())
    return CUDA_ERROR_INVALID_VALUE;
  *Offset = F->Parameters[Index].Offset;
  if (Size)
    *Size = F->Parameters[Index].Size;
  return CUDA_SUCCESS;
}

/// The module and the name of a function.
CUresult cuFuncGetModule(CUmodule *M, CUfunction Handle) {
  CHECK_HANDLE(Functions, Handle);
  *M = reinterpret_cast<CUmodule>(functionOf(Handle)->Owner);
  return driver().Modules.has(*M) ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetName(const char **Name, CUfunction Handle) {
  FIND(F, functionOf(Handle));
  *Name = F->Name.c_str();
  return CUDA_SUCCESS;
}

CUresult cuKernelGetParamInfo(CUkernel K, size_t Index, size_t *Offset,
                              size_t *Size) {
  return cuFuncGetParamInfo(reinterpret_cast<CUfunction>(K), Index, Offset,
                            Size);
}

CUresult cuModuleLoad(CUmodule *Result, const char *Path) {
  auto File = llvm::MemoryBuffer::getFile(Path);
  if (!File)
    return 301; // CUDA_ERROR_FILE_NOT_FOUND
  return cuModuleLoadData(Result, (*File)->getBufferStart());
}

/// Finds the version of a function that a program of CUDA \p Version wants.
CUresult cuGetProcAddress_v2(const char *Symbol, void **Function, int Version,
                             uint64_t Flags, int *Status) {
  static void *const Own = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
  *Function = findEntryPoint(Own, Symbol, Version, /*PerThread=*/Flags == 2);
  if (Status)
    *Status = *Function ? 0 : 1;
  return *Function ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}

CUresult cuGetProcAddress(const char *Symbol, void **Function, int Version,
                          uint64_t Flags) {
  return cuGetProcAddress_v2(Symbol, Function, Version, Flags, nullptr);
}

CUresult cuOccupancyMaxPotentialBlockSize(int *Blocks, int *BlockThreads,
                                          CUfunction Handle, void *, size_t,
                                          int) {
  FIND(F, functionOf(Handle));
  *Blocks = NumMultiprocessors;
  *BlockThreads = F->MaxThreads;
  return CUDA_SUCCESS;
}

CUresult cuStreamWaitEvent(CUstream S, CUevent Handle, unsigned) {
  FIND(E, eventOf(Handle));
  FIND(Q, queueOf(S));
  if (std::shared_ptr<Mark> M = E->Last)
    Q->enqueue([=]() -> CUresult {
      M->wait();
      return CUDA_SUCCESS;
    });
  return CUDA_SUCCESS;
}

CUresult cuLaunchHostFunc(CUstream S, void (*Function)(void *), void *Data) {
  ContextOf Here(S);
  FIND(Q, queueOf(S));
  Q->enqueue([=]() -> CUresult {
    Function(Data);
    return CUDA_SUCCESS;
  });
  return CUDA_SUCCESS;
}

CUresult cuStreamAddCallback(CUstream S,
                             void (*Function)(CUstream, CUresult, void *),
                             void *Data, unsigned) {
  FIND(Q, queueOf(S));
  std::atomic<CUresult> &Failure = Current->Failure;
  Q->enqueue(
      [=, &Failure]() -> CUresult {
        Function(S, Failure, Data);
        return CUDA_SUCCESS;
      },
      /*Always=*/true);
  return CUDA_SUCCESS;
}

CUresult cuMemcpy3D_v2(const CUmemcpy3D *Copy) {
  if (CUresult R = cuMemcpy3DAsync_v2(Copy, nullptr))
    return R;
  return cuStreamSynchronize(nullptr);
}

CUresult cuProfilerStop() { return CUDA_SUCCESS; }

#define ALIAS(Name, Target)                                                    \
  __attribute__((visibility("default"), alias(#Target))) decltype(Target) Name;
ALIAS(cuDeviceGetUuid, cuDeviceGetUuid_v2)
ALIAS(cuDevicePrimaryCtxRelease, cuDevicePrimaryCtxRelease_v2)
ALIAS(cuDevicePrimaryCtxSetFlags, cuDevicePrimaryCtxSetFlags_v2)
ALIAS(cuEventDestroy, cuEventDestroy_v2)
ALIAS(cuMemcpyDtoDAsync, cuMemcpyDtoDAsync_v2)
ALIAS(cuMemcpyDtoH, cuMemcpyDtoH_v2)
ALIAS(cuMemcpyDtoHAsync, cuMemcpyDtoHAsync_v2)
ALIAS(cuMemcpyHtoD, cuMemcpyHtoD_v2)
ALIAS(cuMemcpyHtoDAsync, cuMemcpyHtoDAsync_v2)
ALIAS(cuModuleGetGlobal, cuModuleGetGlobal_v2)
ALIAS(cuModuleLoadFatBinary, cuModuleLoadData)
ALIAS(cuStreamDestroy, cuStreamDestroy_v2)
#undef ALIAS
}
