//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The host device as the CUDA runtime API sees it: memory, modules, kernels,
/// launches, errors.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTAPI_DEVICE_H
#define MNEME_LIB_RUNTIME_HOSTAPI_DEVICE_H

#include "Arena.h"
#include "CudaTypes.h"
#include "Kernel.h"
#include "Program.h"
#include "Recorder.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

namespace mneme {

/// Kinds of arena allocations.
enum : uint32_t {
  KindDevice = MNEME_REGION_HEAP,
  KindVariable = MNEME_REGION_GLOBAL,
  KindManaged,
  KindPinned, ///< Page-locked host memory: the device can reach it too.
  KindGraph,  ///< Of a graph, as long as that lives.
  KindArray,
  KindTexture, ///< The MnemeTexture of a texture or surface object.
};

/// Flags of arena allocations: the device was given the address of this pinned
/// memory, so kernels may use it.
enum : uint32_t { FlagMapped = 1 };

/// A module, loaded: its variables have their addresses and initial values.
struct Module {
  std::string Error; ///< Why it could not be loaded.
  std::map<std::string, Variable> Variables;
};

/// One kernel, compiled for this host.
struct HostKernel : Kernel {
  CudaError Error = cudaSuccess; ///< Why it cannot be launched.
  MnemeHostKernel Host = {};
  /// Dynamic shared memory that a launch may ask for (cudaFuncSetAttribute).
  uint64_t MaxDynamicShared = 0;
};

/// Limits that the host device reports, those of an sm_90.
struct DeviceLimits {
  static constexpr unsigned MaxThreadsPerBlock = MNEME_HOST_MAX_THREADS;
  static constexpr unsigned MaxBlockZ = 64;
  static constexpr unsigned MaxGridX = 0x7fffffff;
  static constexpr unsigned MaxGridYZ = 65535;
  static constexpr unsigned ThreadsPerMultiprocessor = 2048;
  static constexpr unsigned BlocksPerMultiprocessor = 32;
  static constexpr unsigned SharedPerBlock = 48u << 10;
  static constexpr unsigned SharedPerBlockOptin = MNEME_HOST_SHARED_SIZE;
  static constexpr unsigned SharedPerMultiprocessor = 228u << 10;
  static constexpr unsigned ReservedShared = 1024;
  static constexpr unsigned ConstantMemory = 64u << 10;
  static constexpr unsigned Registers = 65536;
  static constexpr unsigned PitchAlignment = 512;
  static constexpr unsigned MaxTexture2D = 32768;
  static constexpr unsigned MaxTexture3D = 16384;
  static constexpr unsigned MaxLayers = 2048;
  static constexpr unsigned MaxTexturePitch = 2097120;
  static constexpr unsigned MaxTextureLinear = 1u << 28; ///< In elements.
};

/// Public functions throw nothing: without memory, calls fail with
/// cudaErrorMemoryAllocation, as a GPU's runtime does it, and can be made again.
class Device {
public:
  static Device &get();

  //===--- Errors: the last one per host thread, a sticky one per process
  //----===//

  /// Notes an error of this thread. \returns \p E.
  CudaError setError(CudaError E);
  /// The result of a call that used the device: the sticky error goes first.
  CudaError result(CudaError E);
  CudaError sticky() const { return CudaError(Sticky.load()); }
  CudaError peekLastError() const;
  CudaError takeLastError();

  //===--- Memory
  //------------------------------------------------------------===//

  CudaError allocate(void **Ptr, uint64_t Size, uint32_t Kind,
                     uint32_t Flags = 0);
  /// \p Kinds is a mask of 1 << kind that \p Ptr may be.
  CudaError release(void *Ptr, uint32_t Kinds);
  /// Copies the description of the allocation that \p Ptr lies in.
  bool find(const void *Ptr, Arena::Allocation &Found);
  void markMapped(const void *Ptr);
  CudaError copy(void *Dst, const void *Src, uint64_t Size, int Kind);
  CudaError copy2D(void *Dst, uint64_t DstPitch, const void *Src,
                   uint64_t SrcPitch, uint64_t Width, uint64_t Height,
                   int Kind);
  CudaError set(void *Dst, int Value, uint64_t Size);
  void memoryInfo(uint64_t &Free, uint64_t &Total);

  CudaError registerHost(void *Ptr, uint64_t Size, bool IsMapped);
  CudaError unregisterHost(void *Ptr);
  bool isRegisteredHost(const void *Ptr);

  /// Makes memory that both sides use for a __managed__ variable, which is a
  /// pointer to it on both.
  CudaError registerManaged(void **Pointer, const void *Initial,
                            const char *Name, uint64_t Size);

  /// Warns of an annotation that makes no sense, and forgets it.
  void annotate(Annotation A);

  //===--- Kernels and variables
  //----------------------------------------------===//

  /// The device's copy of a shadow variable. Loads its module.
  CudaError findVariable(const void *Shadow, Variable &V);
  /// Compiles the kernel behind a stub or handle when needed. \returns why it
  /// cannot be launched; \p K is valid for good, or null when nothing is known
  /// of the kernel.
  CudaError findKernel(const void *Stub, HostKernel *&K);
  /// For cudaFuncSetAttribute.
  CudaError setMaxDynamicShared(const void *Stub, int64_t Bytes);
  CudaError launch(const void *Stub, const LaunchShape &Shape, void **Args);
  /// Resident blocks that occupancy queries answer for one multiprocessor.
  unsigned maxActiveBlocks(const HostKernel &K, unsigned BlockSize,
                           uint64_t DynamicShared) const;

  unsigned multiprocessors() const { return Cores; }
  unsigned warpSize();
  /// Compute capability that the device reports.
  void computeCapability(int &Major, int &Minor);

  /// Tells the launcher what happened, if there is anything to tell.
  void finish();

private:
  Device();
  bool ensureArena();
  // These throw std::bad_alloc, with nothing done.
  Module *loadModule(const DeviceModule &Code);
  void fillModule(Module &M, const DeviceModule &Code);
  CudaError loadKernel(const IndexEntry &Entry, HostKernel &K);
  bool placeSegments(WireReader &R, std::string &Error);
  HostKernel *lookUpKernel(const void *Stub);
  CudaError lookUpVariable(const void *Shadow, Variable &V);

  CudaError run(HostKernel &K, const MnemeHostLaunch &L);
  std::vector<Recording::Region> findRegions(const HostKernel &K, void **Args,
                                             Omission &Omitted);
  std::unique_ptr<Recording> beginRecording(HostKernel &K,
                                            const LaunchShape &Shape,
                                            const LaunchId &Id, void **Args);
  void finishRecording(std::unique_ptr<Recording> R);
  static void storePrologue(Recording &R);
  static void storeEpilogue(Recording &R);
  bool validCopySide(const void *Ptr, uint64_t Size);

  // Order: LaunchLock, then MemoryLock.
  std::mutex LaunchLock; ///< Launches, modules, kernels.
  std::mutex MemoryLock; ///< The arena and what is known about its contents.
  Arena Memory;
  bool ArenaFailed = false;
  /// Memory of the application's own that was page-locked.
  struct Registered {
    uint64_t Size;
    bool IsMapped; ///< The device was given its address.
  };
  std::map<uint64_t, Registered> RegisteredHost; ///< By address.
  std::map<uint64_t, Registered>::iterator findRegistered(uint64_t Address);
  /// By the device symbol of the pointer.
  std::map<std::string, uint64_t> ManagedVariables;
  Annotations Notes;
  std::map<DeviceModule::Key, std::unique_ptr<Module>> Modules;
  /// By payload, its object and the name.
  std::map<std::tuple<std::string, uint32_t, std::string>,
           std::unique_ptr<HostKernel>>
      Kernels;
  std::unordered_map<const void *, HostKernel *> KernelsByStub;
  unsigned Generation = 0; ///< Of the program, when KernelsByStub was right.
  std::atomic<int> Sticky{0};
  std::atomic<bool> Forked{false};
  bool Finished = false; ///< Has said what it recorded; under LaunchLock.
  unsigned Cores;
  unsigned Workers = 0;
  double TimeoutSeconds = 0;
  Recorder Records;
};

/// Our implementation of a runtime function, or null.
void *lookupFunction(const char *Name);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTAPI_DEVICE_H
