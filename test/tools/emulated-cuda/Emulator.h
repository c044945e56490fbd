//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the files of the emulated CUDA driver share. It behaves as NVIDIA's
/// does, as far as Mneme and liboffload look: device memory is memory of this
/// process, a stream is a thread, and the code of a kernel comes, by its name,
/// from IR that runs on the host device. Everything lives until the
/// process ends: kernels may still run while static destructors do.
///
/// The environment decides what machine it is:
///   MNEME_EMULATED_KERNELS   .bc and .ll files, or folders of .bc, ':' between
///   MNEME_EMULATED_ARCH      sm_90, or gfx90a:sramecc+:xnack- of the emulated
///                            HIP runtime; of several devices, with ',' between
///   MNEME_EMULATED_DEVICES   their number: 1
///   MNEME_EMULATED_PEERS     1: devices can access each other's memory, once
///   the
///                            program enables it
///   MNEME_EMULATED_MEMORY    bytes of a device: 8 GiB
///   MNEME_EMULATED_VERSION   the version, as cuDriverGetVersion or
///                            hipDriverGetVersion has it
///   MNEME_EMULATED_INIT      what cuInit returns
///   MNEME_EMULATED_INIT_MS   how long that takes: 0 ms
///   MNEME_EMULATED_INIT_MEET a file, empty at first: that takes until a second
///                            process is in cuInit
///   MNEME_EMULATED_TAKEN     address:bytes that nobody can reserve
///   MNEME_EMULATED_NO_EXPORT 1: memory cannot be exported as a descriptor
///   MNEME_EMULATED_PINNING_WAITS
///                            1: cuMemHostAlloc waits for all work, as it may
///                            while kernels run
///   MNEME_EMULATED_DISPATCH_TIMES
///                            0: hipExtModuleLaunchKernel takes no time
///   MNEME_EMULATED_BLOCK_US  how long a block of a kernel takes at least: 0 us
///   MNEME_EMULATED_NO_CUPTI  any value: CUPTI has no permission
///   MNEME_EMULATED_PROFILER  the result of cuptiProfilerInitialize
///   MNEME_EMULATED_NO_METRICS
///                            metrics that CUPTI does not know, ',' between
///   MNEME_EMULATED_NO_ENERGY any value: NVML does not report the energy
///   MNEME_EMULATED_LOG       a file that gets a line for each library that is
///                            loaded, with the digest of its image, for each
///                            attribute of its kernels and for each attribute
///                            of a launch
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_TEST_TOOLS_EMULATED_CUDA_EMULATOR_H
#define MNEME_TEST_TOOLS_EMULATED_CUDA_EMULATOR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Device/Device.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include <atomic>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace llvm {
class Module;
}

namespace emulated {

using namespace mneme;

// Those of cuda.h that CudaDriver.h has no use for.
enum : CUresult {
  CUDA_ERROR_ALREADY_MAPPED = 208,
  CUDA_ERROR_PEER_ACCESS_UNSUPPORTED = 217,
  CUDA_ERROR_INVALID_HANDLE = 400,
  CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED = 704,
  CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED = 712,
  CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED = 713,
};

struct Settings {
  std::vector<std::string> Kernels;
  std::vector<unsigned> Arches = {90}; ///< By device, then as the last: sm_90
  std::vector<std::string> AMDArches = {"gfx90a:sramecc+:xnack-"};
  int NumDevices = 1;
  bool HavePeers = false;
  uint64_t MemoryBytes = uint64_t(8) << 30;
  int Version = 13000;
  CUresult InitResult = CUDA_SUCCESS;
  uint64_t InitMilliseconds = 0;
  std::string InitMeeting;
  uint64_t TakenBase = 0, TakenSize = 0;
  bool ExportsNothing = false;
  bool PinningWaits = false;
  bool DispatchTimes = true;
  uint64_t BlockMicroseconds = 0;
  std::string Log;
};

/// Ends the process, whose memory the emulator shares, with exit code 77: a GPU's
/// driver would have more.
[[noreturn]] void endWithoutMemory();

/// What the environment said when the driver was first asked.
const Settings &settings();

/// The architecture of a device: 90 for sm_90.
unsigned archOf(CUdevice Device);
/// The same for an AMD GPU: "gfx90a:sramecc+:xnack-".
llvm::StringRef amdArchOf(CUdevice Device);

/// Appends a line to MNEME_EMULATED_LOG.
void log(const llvm::Twine &Line);

/// Says on stderr why the emulation cannot go on.
void complain(const llvm::Twine &Message);

//===----------------------------------------------------------------------===//
// Memory.cpp
//===----------------------------------------------------------------------===//

constexpr uint64_t Granularity = uint64_t(2) << 20;

/// New memory holds a pattern, as nobody may count on zeros.
CUresult allocateMemory(CUdevice Device, uint64_t Size, CUdeviceptr &Address);
CUresult freeMemory(CUdeviceptr Address);
/// What cuIpcGetMemHandle() and cuMemPoolExportPointer() have for memory of
/// allocateMemory().
struct SharedAllocation {
  char Magic[16];
  pid_t Process;
  int File; ///< There.
  uint64_t Size;
  CUdevice Device;
  char Rest[24];
};
CUresult shareMemory(CUdeviceptr Address, SharedAllocation &Shared);
/// freeMemory() closes it.
CUresult openMemory(const SharedAllocation &Shared, CUdeviceptr &Address);
bool isOpened(CUdeviceptr Address);
/// Whether it can be freed.
bool isAllocation(CUdeviceptr Address);
/// Memory that kernels and the host share, at addresses where Linux maps
/// nothing: a process after this one finds them free.
CUresult allocateManaged(CUdevice Device, uint64_t Size, CUdeviceptr &Address);
CUresult allocateHost(uint64_t Size, void *&Address);
CUresult freeHost(void *Address);
/// The application's own memory becomes pinned, until it is not any more.
CUresult registerHost(void *Address, uint64_t Size);
CUresult unregisterHost(void *Address);
uint64_t usedMemory(CUdevice Device);

enum class MemoryKind { None, Device, Managed, Pinned };
/// What an address points to.
MemoryKind kindOf(CUdeviceptr Address);
/// The allocation that contains \p Address. \returns false if there is none.
bool findAllocation(CUdeviceptr Address, CUdeviceptr &Start, size_t &Size);
/// Whether every byte of the range is memory that a kernel may access, on
/// \p Device where that is given.
bool isDeviceMemory(CUdeviceptr Address, uint64_t Size, CUdevice Device = -1);
bool isPinned(const void *Address, uint64_t Size);
/// Lets kernels of \p Device access what is allocated on \p Peer, but not what
/// is mapped there. \returns false when they could before.
bool enablePeer(CUdevice Device, CUdevice Peer);
/// Whether \p Address is memory that kernels of \p Device must not access, as
/// it is of another device.
bool isOutOfReach(CUdeviceptr Address, CUdevice Device);

/// When the driver starts.
void noteMappings();
CUresult reserveAddresses(CUdeviceptr Hint, uint64_t Size, CUdeviceptr &Got);
CUresult freeAddresses(CUdeviceptr Address, uint64_t Size);
CUresult createHandle(CUdevice Device, uint64_t Size, bool IsExportable,
                      CUmemHandle &Handle);
CUresult exportHandle(CUmemHandle Handle, int &File);
CUresult importHandle(int File, CUmemHandle &Handle);
CUresult releaseHandle(CUmemHandle Handle);
CUresult mapHandle(CUdeviceptr Address, uint64_t Size, uint64_t Offset,
                   CUmemHandle Handle);
CUresult unmapHandle(CUdeviceptr Address, uint64_t Size);
CUresult allowAccess(CUdeviceptr Address, uint64_t Size, CUdevice Device);

//===----------------------------------------------------------------------===//
// Queue.cpp
//===----------------------------------------------------------------------===//

/// Work that one thread does in order. A failure sticks, and what comes later
/// is not done.
class Queue {
public:
  /// \p Failure is where the result of the first failing work goes.
  explicit Queue(std::atomic<CUresult> &Failure);
  using Work = std::function<CUresult()>;
  /// One that does nothing itself: \p Take gets all work.
  explicit Queue(std::function<void(Work)> Take) : Take(std::move(Take)) {}
  /// \p Always: even after a failure.
  void enqueue(std::function<CUresult()> Work, bool Always = false);
  bool isIdle();
  void wait();

private:
  struct State;
  static void run(State &S);

  std::shared_ptr<State> S; ///< Null where Take is.
  std::function<void(Work)> Take;
};

/// A point in a queue, with the time when it was reached.
struct Mark {
  std::mutex Lock;
  std::condition_variable Reached;
  bool Done = false;
  uint64_t Nanoseconds = 0;

  void reach();
  void wait();
  bool isDone();
};

//===----------------------------------------------------------------------===//
// Code.cpp
//===----------------------------------------------------------------------===//

struct Parameter {
  uint64_t Offset = 0, Size = 0;
};

struct Variable {
  std::string Name;
  CUdeviceptr Address = 0;
  uint64_t Size = 0;
};

class Module;

struct Function {
  Module *Owner = nullptr;
  std::string Name;
  std::vector<Parameter> Parameters;
  /// Of a code object: by kind, without "hidden_".
  std::map<std::string, Parameter> Implicit;
  uint64_t ArgumentBytes = 0; ///< The same, with the implicit ones.
  /// The assembler marked the cubin as miscompiled, by a 'W' at the end of
  /// e_ident: the first pointer's first byte is wrong after each launch.
  bool IsWrong = false;
  uint64_t Registers = 32, StaticShared = 0, Local = 0, Constant = 0;
  uint64_t MaxThreads = 1024;
  int MaxDynamicShared = 48 << 10;
  std::unique_ptr<llvm::mneme::DeviceKernel> Code;
  std::atomic<bool> HasCode{false}; ///< Code is not replaced any more.

  /// Finds code, and the parameters of what is no cubin.
  CUresult findCode();
  /// Whether the implicit arguments in \p Bytes fit the launch.
  CUresult checkImplicitArguments(const llvm::mneme::LaunchConfig &Config,
                                  llvm::ArrayRef<char> Bytes) const;
  /// Runs on the thread that calls. \p Args: one pointer per parameter.
  CUresult run(const llvm::mneme::LaunchConfig &Config,
               llvm::ArrayRef<void *> Args) const;
};

//===----------------------------------------------------------------------===//
// Profiler.cpp
//===----------------------------------------------------------------------===//

/// Loads the profiler that the environment names, as the driver does when it is
/// initialized.
void startProfiler();
/// Gives a launch to the profiler.
void noteLaunch(const Function &F, const llvm::mneme::LaunchConfig &Config,
                uint64_t Start, uint64_t End);

/// A loaded cubin, code object, PTX, fatbin or offload bundle. Of a cubin and
/// of a code object it takes what that says; of PTX and fatbins, what the IR
/// says.
class Module {
public:
  static CUresult load(CUdevice Device, const void *Image, Module *&Result);
  ~Module();

  const std::vector<std::unique_ptr<Function>> &functions() const {
    return Functions;
  }
  CUresult getFunction(llvm::StringRef Name, Function *&Result);
  CUresult getVariable(llvm::StringRef Name, const Variable *&Result);

private:
  friend struct Function;

  explicit Module(CUdevice Device) : Device(Device) {}
  CUresult readCubin(llvm::StringRef Image);
  CUresult readCodeObject(llvm::StringRef Image);
  CUresult readBundle(const char *Bundle);
  CUresult readCompressed(const char *Bundle);
  CUresult readPTX(llvm::StringRef Text);
  CUresult addVariable(llvm::StringRef Name, llvm::StringRef Contents,
                       uint64_t Size);
  CUresult addVariables(const llvm::Module &M,
                        llvm::ArrayRef<std::string> Names);
  CUresult findCode(Function &F);

  CUdevice Device;
  bool IsCubin = false; ///< Or a code object.
  std::string Copy;     ///< Of a code object that must be aligned.
  bool AnyName = false; ///< A fatbin: has whatever it is asked for.
  std::vector<std::unique_ptr<Function>> Functions;
  std::vector<std::unique_ptr<Variable>> Variables;
};

//===----------------------------------------------------------------------===//
// Graphs.cpp
//===----------------------------------------------------------------------===//

/// A kernel with its arguments.
struct KernelCall {
  Function *F = nullptr;
  llvm::mneme::LaunchConfig Config;
  std::shared_ptr<std::vector<char>> Bytes;
  CUdevice Device = 0;

  std::vector<void *> pointers() const;
  CUresult run() const;
};

struct Graph;

struct GraphNode {
  Graph *Owner = nullptr;
  int Type = 0;
  std::vector<GraphNode *> Before;
  KernelCall Kernel;
  std::vector<void *> Pointers;   ///< That were given for its arguments.
  std::function<CUresult()> Work; ///< Of nodes that are no kernels.
  std::shared_ptr<Graph> Child;
  const GraphNode *Original = nullptr; ///< What it was copied from.
  bool IsEnabled = true;               ///< Of an executable graph.
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> Nodes;

  GraphNode *add(int Type, const CUgraphNode *Before, size_t Count);
};

/// What is captured is a chain.
GraphNode *addCaptured(Graph &G, int Type);
CUgraph giveGraph(std::shared_ptr<Graph> G);

// Driver.cpp
CUresult readCall(CUfunction Handle, const llvm::mneme::LaunchConfig &Config,
                  void **Args, void **Extra, KernelCall &Call);
std::shared_ptr<Queue> findQueue(CUstream S);

} // namespace emulated

#endif // MNEME_TEST_TOOLS_EMULATED_CUDA_EMULATOR_H
