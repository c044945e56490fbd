//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The host device for the CUDA runtime API: memory, modules, kernels,
/// launches, errors.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTAPI_DEVICE_H
#define MNEME_LIB_RUNTIME_HOSTAPI_DEVICE_H

#include "Arena.h"
#include "CudaTypes.h"
#include "JitEntries.h"
#include "JitSite.h"
#include "Kernel.h"
#include "LaunchProfile.h"
#include "Library.h"
#include "Program.h"
#include "Recorder.h"
#include "TunedKernels.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
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
  KindPinned, ///< Page-locked host memory, which the device can access, too.
  KindGraph,  ///< Memory of a graph, during the graph's lifetime.
  KindArray,
  KindTexture, ///< The MnemeTexture of a texture or surface object.
};

/// Flags of arena allocations. FlagMapped: the device was given the address of
/// this pinned memory, so kernels may use it.
enum : uint32_t { FlagMapped = 1 };

/// A loaded module, whose variables have addresses and initial values.
struct Module {
  std::string Error; ///< Reason if it could not be loaded.
  std::map<std::string, Variable> Variables;
};

/// A kernel compiled for the host device.
struct HostKernel : Kernel {
  CudaError Error = cudaSuccess; ///< Reason if it cannot be launched.
  MnemeHostKernel Host = {};
  /// Maximum dynamic shared memory of a launch (cudaFuncSetAttribute).
  uint64_t MaxDynamicShared = 0;
  /// Clusters may be larger than on every GPU that has them
  /// (cudaFuncSetAttribute).
  bool AllowsLargeClusters = false;
  /// The size of clusters of launches that give none, by axis
  /// (cudaFuncSetAttribute); 0: not set.
  uint32_t Cluster[3] = {};

  JitSite *Jit = nullptr; ///< Only if the kernel may be compiled again.

  // Only if launches may be served by packages.
  TunedStub *Tuned = nullptr;
  DeviceModule::Key Module; ///< To which the kernel belongs.
  /// Code of variants, linked for the variables of the module.
  std::map<const TunedVariant *, MnemeHostKernel> Variants;
};

/// Returns true if the executor can run the kernel.
bool isSane(const MnemeHostKernel &K);

/// Limits that the host device reports: those of an sm_90.
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

/// Public functions do not throw. If memory is short, calls fail with
/// cudaErrorMemoryAllocation, as with a GPU's runtime, and can be repeated.
class Device {
public:
  static Device &get();

  //===--- Errors: the last one per host thread, a sticky one per process
  //----===//

  /// Stores an error of this thread. \returns \p E.
  CudaError setError(CudaError E);
  /// Returns the result of a call that used the device. A sticky error takes
  /// precedence.
  CudaError result(CudaError E);
  CudaError sticky() const { return CudaError(Sticky.load()); }
  CudaError peekLastError() const;
  CudaError takeLastError();

  //===--- Memory
  //------------------------------------------------------------===//

  CudaError allocate(void **Ptr, uint64_t Size, uint32_t Kind,
                     uint32_t Flags = 0);
  /// \p Kinds is a mask of the permitted kinds: 1 << kind.
  CudaError release(void *Ptr, uint32_t Kinds);
  /// Copies the allocation that contains \p Ptr to \p Found.
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

  /// Allocates memory for a __managed__ variable. On both sides the variable is
  /// a pointer to that memory.
  CudaError registerManaged(void **Pointer, const void *Initial,
                            const char *Name, uint64_t Size);

  /// Stores an annotation; warns of an invalid one and ignores it.
  void annotate(Annotation A);

  //===--- Kernels and variables
  //----------------------------------------------===//

  /// Sets \p V to the device's copy of a shadow variable. Loads its module.
  CudaError findVariable(const void *Shadow, Variable &V);
  /// Calls \p OnVariable for the variables of a kernel's module. May throw.
  void visitVariables(const void *Stub, VariableCallback *OnVariable,
                      void *Data);
  /// Compiles the kernel of a stub or handle if necessary. \returns the reason
  /// why it cannot be launched, or cudaSuccess. \p K remains valid; it is null
  /// if the kernel is unknown.
  CudaError findKernel(const void *Stub, HostKernel *&K);
  /// Implements cudaFuncSetAttribute.
  CudaError setMaxDynamicShared(const void *Stub, int64_t Bytes);
  CudaError launch(const void *Stub, const LaunchShape &Shape, void **Args);

  /// Loads code that the program passes: an image whose IR is registered, or
  /// bitcode. Prints why it cannot be loaded.
  CudaError loadLibrary(std::string Image, Library *&L);
  CudaError unloadLibrary(Library *L);
  /// Sets \p Handle to what stands for a kernel instead of a stub. The kernel
  /// is compiled when it is first used.
  CudaError findLibraryKernel(Library *L, const char *Name,
                              const void *&Handle);
  CudaError findLibraryVariable(Library *L, const char *Name, Variable &V);
  /// Sets \p Handles to those of all kernels, in the order of the IR.
  CudaError listLibraryKernels(Library *L, std::vector<const void *> &Handles);
  /// Implements cudaDeviceReset, except for memory: it remains allocated, as
  /// programs reset the device when they are about to end. A sticky error
  /// remains, too: according to the CUDA manual, it requires a new process.
  void reset();
  /// Returns the number of resident blocks per multiprocessor, for occupancy
  /// queries.
  unsigned maxActiveBlocks(const HostKernel &K, unsigned BlockSize,
                           uint64_t DynamicShared) const {
    return maxActiveBlocks(K.Host.StaticShared, BlockSize, DynamicShared);
  }

  /// Returns the largest number of blocks of a cluster.
  static unsigned maxCluster(const HostKernel &K);
  /// Checks the size of clusters that a launch asks for.
  static CudaError validCluster(const HostKernel &K, const LaunchShape &Shape);
  /// Returns the number of clusters that are resident together.
  unsigned maxActiveClusters(const HostKernel &K,
                             const LaunchShape &Shape) const;

  unsigned multiprocessors() const { return Cores; }
  unsigned warpSize();
  /// Sets the compute capability that the device reports.
  void computeCapability(int &Major, int &Minor);

  /// Sends the summary to the launcher, unless this process was forked or
  /// another thread is in a launch.
  void finish();

private:
  Device();
  static unsigned maxActiveBlocks(uint64_t StaticShared, unsigned BlockSize,
                                  uint64_t DynamicShared);
  bool ensureArena();
  // On lack of memory, these throw std::bad_alloc without effect.
  Module *loadModule(const DeviceModule &Code);
  Module *addModule(const DeviceModule::Key &Key, std::string Error,
                    const std::vector<ModuleVariable> &Variables);
  void initialize(Module &M, const DeviceModule::Key &Key);
  void releaseVariables(const Module &M);
  CudaError renewModules();
  CudaError loadKernel(const void *Stub, const IndexEntry &Entry,
                       HostKernel &K);
  CudaError loadCode(const KernelRequest &Q, const Module &M, HostKernel &K);
  CudaError addLibraryCode(Library &L, const RegisteredIR *IR);
  HostKernel *lookUpLibraryKernel(const void *Handle);
  template <typename Fn> CudaError withLibrary(Library *L, Fn F);
  void forgetCode(const Library &L);
  bool placeSegments(WireReader &R, std::string &Error);
  HostKernel *lookUpKernel(const void *Stub);
  CudaError lookUpVariable(const void *Shadow, Variable &V);

  CudaError run(HostKernel &K, const MnemeHostLaunch &L);
  CudaError report(const HostKernel &K, const MnemeHostLaunch &L,
                   MnemeHostResult &Result, int Status);
  void findJit(HostKernel &K, const void *Stub, const IndexEntry &Entry,
               const DeviceModule &Code, const Module &M);
  CudaError runJit(HostKernel &K, const LaunchShape &Shape,
                   const MnemeHostLaunch &L);
  bool fits(const MnemeHostKernel &Code, const LaunchShape &Shape,
            const MnemeHostLaunch &L) const;
  void findTuned(HostKernel &K, const DeviceModule::Key &Module);
  CudaError runTuned(HostKernel &K, const LaunchShape &Shape,
                     const MnemeHostLaunch &L);
  bool findExtent(uint64_t Address, MemoryExtent &E);
  TunedVariant *selectTuned(HostKernel &K, const LaunchShape &Shape,
                            const MnemeHostLaunch &L, LaunchPlan &Plan);
  bool verifyTuned(HostKernel &K, TunedVariant &V, VerifyReason Why,
                   const MnemeHostKernel &Code, const MnemeHostLaunch &Changed,
                   const MnemeHostLaunch &L, CudaError &E);
  std::vector<MemoryRange> findVerified(const TunedKernel &K, void **Args);
  Fallback loadTuned(HostKernel &K, TunedVariant &V, MnemeHostKernel *&Code);
  std::vector<Recording::Region> findRegions(const HostKernel &K, void **Args,
                                             Omission &Omitted);
  bool reachesHeap(const HostKernel &K, void **Args);
  std::unique_ptr<Recording> beginRecording(HostKernel &K,
                                            const LaunchShape &Shape,
                                            const LaunchId &Id, void **Args);
  void finishRecording(std::unique_ptr<Recording> R, void **Args);
  static void storePrologue(Recording &R);
  static void storeEpilogue(Recording &R);
  bool validCopySide(const void *Ptr, uint64_t Size);

  // Locking order: LaunchLock, CopyLock, MemoryLock.
  std::mutex LaunchLock; ///< Protects launches, modules, kernels.
  /// Shared by copies; a verification, which puts saved memory back, has it
  /// alone.
  std::shared_mutex CopyLock;
  std::mutex MemoryLock; ///< Protects the arena and data about its contents.
  Arena Memory;
  bool ArenaFailed = false;
  /// Memory of the application that was page-locked.
  struct Registered {
    uint64_t Size;
    bool IsMapped; ///< The device was given its address.
    bool HasOwnPages; ///< No other address leads to them.
  };
  std::map<uint64_t, Registered> RegisteredHost; ///< By address.
  std::map<uint64_t, Registered>::iterator findRegistered(uint64_t Address);
  /// By the device symbol of the pointer.
  std::map<std::string, uint64_t> ManagedVariables;
  Annotations Notes;
  std::map<DeviceModule::Key, std::unique_ptr<Module>> Modules;
  std::string LoadError; ///< Of the last module.
  /// The next use of the device gives all variables their initial values.
  bool WasReset = false;
  /// By payload, object and name.
  std::map<std::tuple<std::string, uint32_t, std::string>,
           std::unique_ptr<HostKernel>>
      Kernels;
  std::unordered_map<const void *, HostKernel *> KernelsByStub;
  std::map<Library *, std::unique_ptr<Library>> Libraries;
  uint32_t NumLibraries = 0; ///< That were loaded so far.
  unsigned Generation = 0; ///< The program's, for which KernelsByStub is valid.
  std::atomic<int> Sticky{0};
  std::atomic<bool> Forked{false};
  bool Finished = false; ///< The summary was sent; under LaunchLock.
  unsigned Cores;
  unsigned Workers = 0;
  double TimeoutSeconds = 0;
  Recorder Records;
  bool Profiles = false;
  LaunchProfile Profile;
};

/// Returns our implementation of a runtime function, or null.
void *lookupFunction(const char *Name);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTAPI_DEVICE_H
