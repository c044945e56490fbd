//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The functions of HSA that LLVM's liboffload loads, in the library of the
/// emulated HIP runtime: both see the same devices, memory and code, as HIP and
/// HSA do. A queue takes kernel dispatch and barrier packets. A kernel that
/// fails does it as on hardware: a wrong address is a system event, all else an
/// error of its queue, and the queue goes no further.
///
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "llvm/Mneme/Runtime/AMDProcessors.h"
#include <array>
#include <chrono>
#include <cstring>
#include <map>

using namespace emulated;

extern "C" {
CUresult cuInit(unsigned);
CUresult cuDeviceGetAttribute(int *, int, CUdevice);
int hipDeviceGetAttribute(int *, int, CUdevice);
int hipDeviceGetUuid(void *, CUdevice);
}

#define API extern "C" __attribute__((visibility("default")))

//===----------------------------------------------------------------------===//
// Types of hsa.h and hsa_ext_amd.h
//===----------------------------------------------------------------------===//

namespace {
using Status = int;
enum : Status {
  Success = 0,
  IllegalInstruction = 42,
  Error = 0x1000,
  InvalidArgument = 0x1001,
  InvalidAllocation = 0x1003,
  OutOfResources = 0x1008,
  NotInitialized = 0x100b,
  InvalidCodeObject = 0x1010,
  InvalidSymbolName = 0x1013,
  Exception = 0x1016,
};

/// An agent, a pool or an object of this file.
struct Handle {
  uint64_t Value;
};

struct PublicQueue {
  uint32_t Type, Features;
  void *Base;
  Handle Doorbell;
  uint32_t Size, Reserved;
  uint64_t Id;
};

struct DispatchPacket {
  uint16_t Header, Setup;
  uint16_t Block[3], Reserved0;
  uint32_t Threads[3];
  uint32_t PrivateSize, GroupSize;
  uint64_t Kernel;
  char *Arguments;
  uint64_t Reserved2;
  Handle Completion;
};

struct BarrierPacket {
  uint16_t Header, Reserved0;
  uint32_t Reserved1;
  Handle Before[5];
  uint64_t Reserved2;
  Handle Completion;
};
static_assert(sizeof(DispatchPacket) == 64 && sizeof(BarrierPacket) == 64);

struct FaultEvent {
  int Type;
  Handle Agent;
  uint64_t Address;
  uint32_t Reasons;
};

using EventHandler = Status (*)(const FaultEvent *, void *);
using QueueHandler = void (*)(Status, PublicQueue *, void *);
} // namespace

//===----------------------------------------------------------------------===//
// Signals
//===----------------------------------------------------------------------===//

namespace {
struct HsaQueue;

struct Signal {
  int64_t Value;
  HsaQueue *Rings = nullptr; ///< The queue whose doorbell it is.
};
} // namespace

// Of all signals: these are few.
static std::mutex &Lock = *new std::mutex;
static std::condition_variable &Changed = *new std::condition_variable;

static Signal *signalOf(Handle H) {
  return reinterpret_cast<Signal *>(H.Value);
}

static void waitFor(Handle H) {
  if (!H.Value)
    return;
  std::unique_lock<std::mutex> Guard(Lock);
  Changed.wait(Guard, [&] { return signalOf(H)->Value == 0; });
}

API Status hsa_amd_signal_create(int64_t Value, uint32_t, const Handle *,
                                 uint64_t, Handle *Result) {
  auto *S = new Signal;
  S->Value = Value;
  Result->Value = reinterpret_cast<uint64_t>(S);
  return Success;
}

API Status hsa_signal_create(int64_t Value, uint32_t Count,
                             const Handle *Consumers, Handle *Result) {
  return hsa_amd_signal_create(Value, Count, Consumers, 0, Result);
}

API Status hsa_signal_destroy(Handle H) {
  delete signalOf(H);
  return Success;
}

API int64_t hsa_signal_load_scacquire(Handle H) {
  std::lock_guard<std::mutex> Guard(Lock);
  return signalOf(H)->Value;
}

API void hsa_signal_store_screlease(Handle H, int64_t Value) {
  std::lock_guard<std::mutex> Guard(Lock);
  signalOf(H)->Value = Value;
  Changed.notify_all();
}

API void hsa_signal_subtract_screlease(Handle H, int64_t Value) {
  if (!H.Value)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  signalOf(H)->Value -= Value;
  Changed.notify_all();
}

API int64_t hsa_signal_wait_scacquire(Handle H, int, int64_t Value,
                                      uint64_t Nanoseconds, int) {
  // The condition is always that it is the value.
  Signal &S = *signalOf(H);
  std::unique_lock<std::mutex> Guard(Lock);
  auto Holds = [&] { return S.Value == Value; };
  if (Nanoseconds == UINT64_MAX)
    Changed.wait(Guard, Holds);
  else
    Changed.wait_for(Guard, std::chrono::nanoseconds(Nanoseconds), Holds);
  return S.Value;
}

//===----------------------------------------------------------------------===//
// Agents
//===----------------------------------------------------------------------===//

static constexpr uint64_t HostAgent = 1;

// From the last to the first: HSA's order need not be HIP's.
static Handle agentOf(CUdevice Device) { return {HostAgent + 1 + Device}; }
static CUdevice deviceOf(Handle Agent) { return Agent.Value - HostAgent - 1; }

static bool IsInitialized = false;
static std::vector<std::pair<EventHandler, void *>> &EventHandlers =
    *new std::vector<std::pair<EventHandler, void *>>;

API Status hsa_init() {
  CUresult R = cuInit(0);
  IsInitialized = R == CUDA_SUCCESS || R == CUDA_ERROR_NO_DEVICE;
  return IsInitialized ? Success : OutOfResources;
}

API Status hsa_shut_down() { return Success; }

API Status hsa_status_string(Status S, const char **Text) {
  switch (S) {
  case Success:
    *Text = "HSA_STATUS_SUCCESS";
    break;
  case InvalidArgument:
    *Text = "HSA_STATUS_ERROR_INVALID_ARGUMENT";
    break;
  case InvalidAllocation:
    *Text = "HSA_STATUS_ERROR_INVALID_ALLOCATION";
    break;
  case OutOfResources:
    *Text = "HSA_STATUS_ERROR_OUT_OF_RESOURCES";
    break;
  case InvalidCodeObject:
    *Text = "HSA_STATUS_ERROR_INVALID_CODE_OBJECT";
    break;
  case InvalidSymbolName:
    *Text = "HSA_STATUS_ERROR_INVALID_SYMBOL_NAME";
    break;
  case Exception:
    *Text = "HSA_STATUS_ERROR_EXCEPTION";
    break;
  default:
    *Text = "HSA_STATUS_ERROR";
  }
  return Success;
}

API Status hsa_system_get_info(int Attribute, void *Value) {
  if (Attribute > 1)
    return InvalidArgument;
  *static_cast<uint16_t *>(Value) = Attribute == 0 ? 1 : 18; // major and minor
  return Success;
}

API Status hsa_iterate_agents(Status (*Visit)(Handle, void *), void *Data) {
  if (!IsInitialized)
    return NotInitialized;
  if (Status S = Visit({HostAgent}, Data))
    return S;
  for (CUdevice I = settings().NumDevices; I-- > 0;)
    if (Status S = Visit(agentOf(I), Data))
      return S;
  return Success;
}

/// A bit of the handle of an instruction set: that of a generic processor.
static constexpr uint64_t GenericIsa = uint64_t(1) << 63;

/// Returns the generic processor with this member; null if there is none.
static const mneme::GenericProcessor *genericOf(llvm::StringRef Processor) {
  for (const mneme::GenericProcessor &G : mneme::GenericProcessors)
    if (mneme::isForAMDDevice(G.Name, Processor))
      return &G;
  return nullptr;
}

static uint32_t attributeOf(CUdevice Device, int Attribute) {
  int Value = 0;
  cuDeviceGetAttribute(&Value, Attribute, Device);
  return Value;
}

/// "gfx90a" of "gfx90a:sramecc+:xnack-".
static std::string processorOf(CUdevice Device) {
  return amdArchOf(Device).split(':').first.str();
}

API Status hsa_agent_get_info(Handle Agent, int Attribute, void *Value) {
  constexpr int Device = 17, Feature = 2, Node = 16;
  auto Set = [&](auto V) -> Status {
    std::memcpy(Value, &V, sizeof(V));
    return Success;
  };
  auto SetText = [&](llvm::StringRef Text) -> Status {
    std::memcpy(Value, Text.data(), Text.size());
    static_cast<char *>(Value)[Text.size()] = 0;
    return Success;
  };
  bool IsHost = Agent.Value == HostAgent;
  if (Attribute == Device)
    return Set(uint32_t(IsHost ? 0 : 1));
  if (Attribute == Feature)
    return Set(uint32_t(IsHost ? 0 : 1)); // takes kernel dispatches
  if (Attribute == Node)
    return Set(uint32_t(Agent.Value - HostAgent));
  if (IsHost)
    return InvalidArgument;
  CUdevice D = deviceOf(Agent);
  constexpr int MultiprocessorCount = 16, HipWarpSize = 87;
  switch (Attribute) {
  case 0: // name
    return SetText(processorOf(D));
  case 1: // vendor
    return SetText("AMD");
  case 3: // large machine model
    return Set(uint32_t(1));
  case 6: { // lanes of a wave
    int Lanes = 0;
    hipDeviceGetAttribute(&Lanes, HipWarpSize, D);
    return Set(uint32_t(Lanes));
  }
  case 7: // threads of a block, by dimension
    return Set(std::array<uint16_t, 3>{1024, 1024, 1024});
  case 8: // threads of a block
    return Set(uint32_t(1024));
  case 9: // threads of a grid, by dimension
    return Set(std::array<uint32_t, 3>{UINT32_MAX, UINT32_MAX, UINT32_MAX});
  case 10: // threads of a grid
    return Set(UINT32_MAX);
  case 12: // number of queues
    return Set(uint32_t(128));
  case 13: // packets of a queue
    return Set(uint32_t(64));
  case 14:
    return Set(uint32_t(1) << 17);
  case 18: // sizes of caches
    return Set(std::array<uint32_t, 4>{16 << 10, 8 << 20, 0, 0});
  case 0xa000: // chip; odd: no APU
    return Set(uint32_t(0x740f));
  case 0xa001: // cache line
    return Set(uint32_t(128));
  case 0xa002:
    return Set(attributeOf(D, MultiprocessorCount));
  case 0xa003: // MHz
    return Set(uint32_t(1000));
  case 0xa009: // product
    return SetText("Emulated GPU");
  case 0xa00a: // waves of a compute unit
    return Set(uint32_t(32));
  case 0xa00b: // SIMDs of a compute unit
    return Set(uint32_t(4));
  case 0xa011: {
    char Digits[16];
    hipDeviceGetUuid(Digits, D);
    return SetText("GPU-" + std::string(Digits, sizeof(Digits)));
  }
  case 0xa016: // Hz of the clock
    return Set(uint64_t(1000000000));
  }
  return InvalidArgument;
}

API Status hsa_agent_iterate_isas(Handle Agent, Status (*Visit)(Handle, void *),
                                  void *Data) {
  if (Status S = Visit(Agent, Data))
    return S;
  // As ROCm 6.3 and later do.
  return genericOf(processorOf(deviceOf(Agent)))
             ? Visit({Agent.Value | GenericIsa}, Data)
             : Success;
}

API Status hsa_isa_get_info_alt(Handle Isa, int Attribute, void *Value) {
  constexpr int NameLength = 0;
  llvm::StringRef Arch = amdArchOf(deviceOf({Isa.Value & ~GenericIsa}));
  auto [Processor, Settings] = Arch.split(':');
  if (Isa.Value & GenericIsa)
    Processor = genericOf(Processor)->Name;
  std::string Name = ("amdgcn-amd-amdhsa--" + Processor +
                      (Settings.empty() ? "" : ":") + Settings)
                         .str();
  if (Attribute == NameLength)
    *static_cast<uint32_t *>(Value) = Name.size() + 1;
  else
    std::memcpy(Value, Name.c_str(), Name.size() + 1);
  return Success;
}

API Status hsa_amd_register_system_event_handler(EventHandler Call,
                                                 void *Data) {
  EventHandlers.push_back({Call, Data});
  return Success;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

// A pool is one of these of an agent, which is in the upper bits.
enum PoolKind : uint64_t { Global, Group };

static Handle poolOf(Handle Agent, PoolKind Kind) {
  return {Agent.Value << 8 | Kind};
}
static Handle agentOfPool(Handle Pool) { return {Pool.Value >> 8}; }
static bool isHostPool(Handle Pool) {
  return agentOfPool(Pool).Value == HostAgent;
}

API Status hsa_amd_agent_iterate_memory_pools(Handle Agent,
                                              Status (*Visit)(Handle, void *),
                                              void *Data) {
  Status S = Visit(poolOf(Agent, Global), Data);
  if (S || Agent.Value == HostAgent)
    return S;
  return Visit(poolOf(Agent, Group), Data);
}

API Status hsa_amd_memory_pool_get_info(Handle Pool, int Attribute,
                                        void *Value) {
  constexpr uint32_t KernelArguments = 1, FineGrained = 2, CoarseGrained = 4;
  constexpr uint32_t GlobalSegment = 0, GroupSegment = 3;
  bool IsGroup = (Pool.Value & 0xff) == Group;
  switch (Attribute) {
  case 0: // segment
    *static_cast<uint32_t *>(Value) = IsGroup ? GroupSegment : GlobalSegment;
    return Success;
  case 1: // flags
    *static_cast<uint32_t *>(Value) = IsGroup ? 0
                                      : isHostPool(Pool)
                                          ? KernelArguments | FineGrained
                                          : CoarseGrained;
    return Success;
  case 2: // bytes
    *static_cast<size_t *>(Value) =
        IsGroup ? size_t(64) << 10 : size_t(settings().MemoryBytes);
    return Success;
  }
  return InvalidArgument;
}

API Status hsa_amd_agent_memory_pool_get_info(Handle, Handle, int Attribute,
                                              void *Value) {
  constexpr int Access = 0;
  constexpr uint32_t AllowedByDefault = 1;
  if (Attribute != Access)
    return InvalidArgument;
  *static_cast<uint32_t *>(Value) = AllowedByDefault;
  return Success;
}

API Status hsa_amd_memory_pool_allocate(Handle Pool, size_t Size, uint32_t,
                                        void **Result) {
  if (!Size)
    return InvalidArgument;
  if (isHostPool(Pool))
    return allocateHost(Size, *Result) ? OutOfResources : Success;
  CUdeviceptr Address = 0;
  if (allocateMemory(deviceOf(agentOfPool(Pool)), Size, Address))
    return OutOfResources;
  *Result = reinterpret_cast<void *>(Address);
  return Success;
}

API Status hsa_amd_memory_pool_free(void *Address) {
  return freeHost(Address) && freeMemory(reinterpret_cast<CUdeviceptr>(Address))
             ? InvalidAllocation
             : Success;
}

API Status hsa_amd_agents_allow_access(uint32_t, const Handle *,
                                       const uint32_t *, const void *) {
  return Success;
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

namespace {
struct Symbol {
  Function *Kernel = nullptr;
  const Variable *Place = nullptr;
};

struct Executable {
  std::unique_ptr<emulated::Module> Code;
  std::map<std::string, Symbol> Symbols;
};
} // namespace

API Status hsa_code_object_reader_create_from_memory(const void *Image, size_t,
                                                     Handle *Reader) {
  Reader->Value = reinterpret_cast<uint64_t>(Image);
  return Success;
}

API Status hsa_code_object_reader_destroy(Handle) { return Success; }

API Status hsa_executable_create_alt(int, int, const char *, Handle *Result) {
  Result->Value = reinterpret_cast<uint64_t>(new Executable);
  return Success;
}

API Status hsa_executable_destroy(Handle E) {
  delete reinterpret_cast<Executable *>(E.Value);
  return Success;
}

API Status hsa_executable_load_agent_code_object(Handle E, Handle Agent,
                                                 Handle Reader, const char *,
                                                 Handle *) {
  emulated::Module *Code = nullptr;
  if (emulated::Module::load(
          deviceOf(Agent), reinterpret_cast<const void *>(Reader.Value), Code))
    return InvalidCodeObject;
  reinterpret_cast<Executable *>(E.Value)->Code.reset(Code);
  return Success;
}

API Status hsa_executable_freeze(Handle, const char *) { return Success; }

API Status hsa_executable_validate(Handle, uint32_t *Result) {
  *Result = 0;
  return Success;
}

API Status hsa_executable_get_symbol_by_name(Handle E, const char *Name,
                                             const Handle *, Handle *Result) {
  auto &X = *reinterpret_cast<Executable *>(E.Value);
  Symbol Found;
  llvm::StringRef Kernel = Name;
  if (Kernel.consume_back(".kd")) {
    CUresult R = X.Code->getFunction(Kernel, Found.Kernel);
    if (R)
      return R == CUDA_ERROR_NOT_FOUND ? InvalidSymbolName : Error;
  } else if (X.Code->getVariable(Name, Found.Place)) {
    return InvalidSymbolName;
  }
  Symbol &S = X.Symbols[Name];
  S = Found;
  Result->Value = reinterpret_cast<uint64_t>(&S);
  return Success;
}

API Status hsa_executable_symbol_get_info(Handle H, int Attribute,
                                          void *Value) {
  auto &S = *reinterpret_cast<Symbol *>(H.Value);
  auto Set = [&](auto V) -> Status {
    std::memcpy(Value, &V, sizeof(V));
    return Success;
  };
  if (Attribute == 0) // type: a kernel or a variable
    return Set(uint32_t(S.Kernel ? 1 : 0));
  if (S.Place && Attribute == 21)
    return Set(uint64_t(S.Place->Address));
  if (S.Place && Attribute == 9)
    return Set(uint32_t(S.Place->Size));
  if (!S.Kernel)
    return InvalidArgument;
  switch (Attribute) {
  case 22: // what a packet names
    return Set(reinterpret_cast<uint64_t>(S.Kernel));
  case 11: // bytes of arguments
    return Set(uint32_t(S.Kernel->ArgumentBytes));
  case 13: // bytes of static LDS
    return Set(uint32_t(S.Kernel->StaticShared));
  case 14: // bytes of scratch memory
    return Set(uint32_t(S.Kernel->Local));
  case 15: // has a stack of unknown size
    return Set(false);
  }
  return InvalidArgument;
}

//===----------------------------------------------------------------------===//
// Queues
//===----------------------------------------------------------------------===//

namespace {
struct HsaQueue {
  PublicQueue Public = {}; ///< First: its address is that of the queue.
  CUdevice Device = 0;
  QueueHandler Fails = nullptr;
  void *Data = nullptr;
  std::vector<DispatchPacket> Ring;
  std::atomic<uint64_t> WriteIndex{0}, ReadIndex{0};
  uint64_t Taken = 0; ///< Packets given to Work.
  std::atomic<CUresult> Failure{CUDA_SUCCESS};
  Queue Work{Failure};

  /// Takes all packets up to number \p Last.
  void ring(uint64_t Last);

private:
  CUresult run(const DispatchPacket &P);
  void report(CUresult R);
};
} // namespace

void HsaQueue::report(CUresult R) {
  constexpr int MemoryFault = 0;
  constexpr uint32_t NotPresent = 1;
  if (R != CUDA_ERROR_ILLEGAL_ADDRESS)
    return Fails(R == CUDA_ERROR_ILLEGAL_INSTRUCTION ? IllegalInstruction
                                                     : Exception,
                 &Public, Data);
  FaultEvent E = {MemoryFault, agentOf(Device), /*Address=*/0, NotPresent};
  for (auto [Call, Data] : EventHandlers)
    Call(&E, Data);
}

CUresult HsaQueue::run(const DispatchPacket &P) {
  auto &F = *reinterpret_cast<Function *>(P.Kernel);
  llvm::mneme::LaunchConfig Config;
  Config.Block = {P.Block[0], P.Block[1], P.Block[2]};
  // A packet has threads, and no number of blocks.
  Config.Grid = {P.Threads[0] / P.Block[0], P.Threads[1] / P.Block[1],
                 P.Threads[2] / P.Block[2]};
  Config.DynamicShared = P.GroupSize - F.StaticShared;
  KernelCall Call = {&F, Config,
                     std::make_shared<std::vector<char>>(
                         P.Arguments, P.Arguments + F.ArgumentBytes),
                     Device};
  if (Config.Block.count() > F.MaxThreads || P.GroupSize < F.StaticShared ||
      P.PrivateSize < F.Local)
    return CUDA_ERROR_INVALID_VALUE;
  if (CUresult R = F.checkImplicitArguments(Config, *Call.Bytes))
    return R;
  return Call.run();
}

void HsaQueue::ring(uint64_t Last) {
  constexpr unsigned KernelDispatch = 2;
  for (; Taken <= Last; ++Taken) {
    DispatchPacket P = Ring[Taken % Ring.size()];
    Work.enqueue([this, P]() -> CUresult {
      if ((P.Header & 0xff) == KernelDispatch) {
        if (CUresult R = run(P)) {
          report(R);
          return R;
        }
      } else {
        BarrierPacket B;
        std::memcpy(&B, &P, sizeof(B));
        for (Handle H : B.Before)
          waitFor(H);
      }
      hsa_signal_subtract_screlease(P.Completion, 1);
      ++ReadIndex;
      return CUDA_SUCCESS;
    });
  }
}

API Status hsa_queue_create(Handle Agent, uint32_t Size, uint32_t Type,
                            QueueHandler Fails, void *Data, uint32_t, uint32_t,
                            PublicQueue **Result) {
  if (!Size || Size & (Size - 1))
    return InvalidArgument;
  auto *Q = new HsaQueue;
  Q->Device = deviceOf(Agent);
  Q->Fails = Fails;
  Q->Data = Data;
  Q->Ring.resize(Size);
  Q->Public.Type = Type;
  Q->Public.Features = 1; // takes kernel dispatches
  Q->Public.Base = Q->Ring.data();
  Q->Public.Size = Size;
  hsa_signal_create(0, 0, nullptr, &Q->Public.Doorbell);
  signalOf(Q->Public.Doorbell)->Rings = Q;
  *Result = &Q->Public;
  return Success;
}

/// Work may still run, and the thread of the queue lives as long as the
/// process.
API Status hsa_queue_destroy(PublicQueue *) { return Success; }

API uint64_t hsa_queue_load_read_index_scacquire(const PublicQueue *Q) {
  return reinterpret_cast<const HsaQueue *>(Q)->ReadIndex;
}

API uint64_t hsa_queue_add_write_index_relaxed(PublicQueue *Q, uint64_t Count) {
  return reinterpret_cast<HsaQueue *>(Q)->WriteIndex.fetch_add(Count);
}

API void hsa_signal_store_relaxed(Handle H, int64_t Value) {
  if (HsaQueue *Q = signalOf(H)->Rings)
    Q->ring(Value);
  else
    hsa_signal_store_screlease(H, Value);
}

//===----------------------------------------------------------------------===//
// Functions that liboffload looks for, but does not call: copies are HIP's
//===----------------------------------------------------------------------===//

#define UNUSED(Name)                                                           \
  API Status Name() { return Error; }
UNUSED(hsa_memory_copy)
UNUSED(hsa_executable_create)
UNUSED(hsa_executable_iterate_symbols)
UNUSED(hsa_code_object_deserialize)
UNUSED(hsa_executable_load_code_object)
UNUSED(hsa_code_object_destroy)
UNUSED(hsa_amd_memory_async_copy)
UNUSED(hsa_amd_memory_fill)
UNUSED(hsa_amd_memory_lock)
UNUSED(hsa_amd_memory_unlock)
UNUSED(hsa_amd_pointer_info)
UNUSED(hsa_amd_signal_async_handler)
