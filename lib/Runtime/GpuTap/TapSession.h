//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recording on an NVIDIA GPU: gives out device memory at fixed addresses, and
/// decides for every launch what happens with it. The CUDA runtime that the
/// program has does all else.
///
/// While a launch is recorded, its memory is copied on the device, and what it
/// has changed; then the application goes on, and a thread of ours brings the
/// copies to the host and writes them.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_TAPSESSION_H
#define MNEME_LIB_RUNTIME_GPUTAP_TAPSESSION_H

#include "AddressMap.h"
#include "CudaRuntime.h"
#include "DeviceWork.h"
#include "Gpu.h"
#include "Kernel.h"
#include "Recorder.h"
#include "Waiter.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <list>
#include <memory>
#include <mutex>
#include <pthread.h>
#include <set>
#include <tuple>

namespace mneme {

/// A variable of the program's own modules, one on each device.
struct ShadowedVariable {
  Variable V; ///< V.Address: in recordings, from the device's homes on.
  const void *Shadow;
  const CudaRuntime *Runtime; ///< Knows where it really is.
};

/// What launches of one kernel go to, or of its code for one architecture.
struct Target {
  std::string Name; ///< Empty for stubs that no payload describes.
  IndexEntry Entry;
  bool Selected = false;
  /// Of a kernel that is not selected.
  std::atomic<uint64_t> Launches{0};

  // Of a selected one, once the launcher was asked.
  bool Loaded = false;
  std::string Problem; ///< Why it cannot be recorded.
  Kernel K;
  std::vector<const ShadowedVariable *> Variables; ///< As K.Reached.
};

/// One launch, and how it is really done.
struct Launch {
  const CudaRuntime &Runtime;
  const void *Stub;
  LaunchShape Shape;
  CUstream Stream;
  void **Args;
  const char *Obstacle; ///< Why it cannot be recorded, or null.
};

/// Memory that the runtime has given, and the arena has not.
struct ForeignMemory {
  uint64_t Size;
  uint64_t Host; ///< Its address for the host.
  /// MNEME_REGION_MANAGED or MNEME_REGION_PINNED; 0 for what cannot be recorded.
  uint32_t Kind;
  /// What was current then, and goes with it.
  CUcontext Owner = nullptr;
  bool IsPortable = false; ///< All devices can access it.
};

/// A texture or surface object of the application.
struct TappedTexture {
  CudaResourceDesc Resource;
  CudaTextureDesc Texture;
  bool IsSurface;
  bool HasView; ///< It has another format or extent than its resource.
};

/// What a recording has of textures beside the memory of the application.
struct TexturePiece {
  uint64_t Offset; ///< In our memory.
  uint64_t Size;
  uint32_t Kind; ///< MNEME_REGION_*
  MnemeTexture Description;
};

struct TexturePieces {
  std::map<uint64_t, TexturePiece> ByAddress; ///< In the recording.
  uint64_t Total = 0;
};

/// Elements of an array, while a launch is recorded in memory of ours.
struct TappedElements {
  std::vector<CUmemcpy3D> Copies; ///< Of its levels, to there.
  bool IsWritten = false;         ///< By surfaces.
};

/// What a kernel node of a graph stands for.
struct GraphTarget {
  const void *Stub;
  Target *Goal;
  CUcontext Owner; ///< What was current then, and goes with it.
};

/// A selected kernel of a graph.
struct GraphKernel {
  const void *Stub;
  Target *Goal;
  LaunchShape Shape;
  void **Args; ///< The node's own.
  CUcontext Context;
  const char *Obstacle; ///< Why it cannot be recorded, or null.
};

/// Some nodes of a graph, which are launched together.
struct GraphPart {
  CUgraphExec Exec = nullptr;
  std::vector<CUgraphNode> Kernels; ///< The selected ones.
  bool IsWanted = false; ///< It is one kernel, which may be recorded.
};

/// An executable graph, as far as it is known.
struct TappedGraph {
  unsigned long long Flags = 0;
  CUcontext Owner = nullptr;      ///< As GraphTarget's.
  CUgraph Copy = nullptr;         ///< Does what it does. Null with an obstacle.
  std::string Obstacle;           ///< Why it cannot be launched in parts.
  std::set<CUgraphNode> Disabled; ///< Nodes of the copy.
  std::map<CUgraphNode, GraphKernel> Kernels; ///< The selected ones, by node.
  std::map<Target *, uint64_t> Others; ///< How many nodes launch another one.
};

/// The calling thread's own.
inline const CUstream ThreadStream = reinterpret_cast<CUstream>(2);
/// Nobody has said which.
inline const CUstream AnyStream = reinterpret_cast<CUstream>(~uintptr_t(0));

/// Whether \p E says that a call is not allowed while something is captured.
bool isCaptureError(CUresult E);

class TapSession {
public:
  static TapSession &get();

  /// Gives memory from the arena, or what \p Original gives. With \p Stream,
  /// in that stream's order.
  template <typename Fn>
  int allocate(const CudaRuntime &R, void **Ptr, size_t Size, Fn Original,
               const CUstream *Stream = nullptr) {
    int Result = cudaSuccess;
    if (Ptr && Size && !Off && Selection::get().includesRank() &&
        allocate(R, *Ptr, Size, Stream, Result))
      return Result;
    Result = Original();
    if (!Result && Ptr)
      note(*Ptr, Size, /*Kind=*/0);
    return Result;
  }
  /// Whether a context is current.
  bool hasContext();
  /// The bytes from one row to the next in memory of the runtime, which is
  /// asked once: \p Ask(pointer, pitch) allocates such a row. \returns 0 when
  /// it gives none.
  template <typename Fn> size_t pitchOf(size_t Width, Fn Ask) {
    size_t Pitch = 0;
    void *Row = nullptr;
    if (Off || findPitch(Width, Pitch))
      return Pitch;
    if (Ask(&Row, &Pitch))
      return 0;
    keepPitch(Width, Pitch, Row);
    return Pitch;
  }
  /// Frees memory that allocate() gave, or does what \p Original does.
  template <typename Fn> int release(void *Ptr, Fn Original) {
    int Result;
    if (isOurs(Ptr) && release(Ptr, Result))
      return Result;
    forget(Ptr);
    return Original();
  }
  /// The same in the order of \p Stream.
  template <typename Fn> int release(void *Ptr, CUstream Stream, Fn Original) {
    int Result;
    if (isOurs(Ptr) && releaseInOrder(Ptr, Stream, Result))
      return Result;
    forget(Ptr);
    return Original();
  }
  /// The runtime has given this. \p Kind and \p IsPortable: those of
  /// ForeignMemory.
  void note(void *Host, size_t Size, uint32_t Kind, bool IsPortable = true);
  /// The runtime is going to take it back. Not while it is recorded.
  void forget(const void *Host);
  /// The driver has taken back all that lies there.
  void forgetAll(const void *Ptr, size_t Size);
  /// Other processes want to see memory of pools: it stays the runtime's.
  void sharePools() { PoolsAreShared = true; }
  bool arePoolsShared() const { return PoolsAreShared; }
  template <typename Fn> int launch(const Launch &L, Fn Original) {
    Target &T = targetOf(L);
    if (!T.Selected && !Captures)
      if (Gate::Pass Pass{Calls, lineOf(L.Stream)}) {
        T.Launches.fetch_add(1, std::memory_order_relaxed);
        return Original();
      }
    return launch(T, L, [](void *F) { return (*static_cast<Fn *>(F))(); },
                  &Original);
  }
  /// Calls what may change device memory in a stream, but not while a launch is
  /// recorded that has to do with it.
  template <typename Fn> int change(CUstream S, Fn Original) {
    if (Gate::Pass Pass{Calls, lineOf(S)})
      return Original();
    Gate::Pass Pass = passLater(S);
    return Original();
  }
  /// While anything is captured into a graph, nobody may wait for the device.
  template <typename Fn> int beginCapture(CUstream S, Fn Original) {
    // Not while a launch is recorded.
    std::unique_lock<std::mutex> Guard(Lock, std::defer_lock);
    if (!Off)
      Guard.lock();
    int Result = Original();
    if (!Result && !Forked)
      noteCapture(S);
    return Result;
  }
  /// For all that ends a capture, if there is one that began in \p S.
  template <typename Fn> int endCapture(CUstream S, Fn Original) {
    int Result = Original();
    if (Forked || !Captures)
      return Result;
    // Whatever it says, the capture is over.
    std::lock_guard<std::mutex> Guard(CaptureLock);
    auto I = std::find_if(Capturing.begin(), Capturing.end(),
                          [S](const auto &C) { return C.first == S; });
    if (I != Capturing.end())
      Capturing.erase(I);
    Captures = Capturing.size();
    return Result;
  }
  /// \p N was added for a kernel, or changed to launch it.
  void noteKernelNode(const CudaRuntime &R, CUgraphNode N, const void *Stub);
  /// \p Exec was made of \p G.
  void noteGraph(CUgraphExec Exec, CUgraph G, unsigned long long Flags);
  void forgetGraph(CUgraphExec Exec);
  /// \p Exec does what \p G does from now on.
  void updateGraph(CUgraphExec Exec, CUgraph G);
  /// A node of \p Exec was changed: \p Change(session, graph, node of the copy)
  /// does the same with the copy. \returns false where it cannot.
  template <typename Fn>
  void changeNode(CUgraphExec Exec, CUgraphNode N, Fn Change) {
    changeNode(
        Exec, N,
        [](TapSession &S, TappedGraph &T, CUgraphNode Copy, void *F) {
          return (*static_cast<Fn *>(F))(S, T, Copy);
        },
        &Change);
  }
  /// The same for changes that no copy follows.
  void spoilNode(CUgraphExec Exec, CUgraphNode N) {
    changeNode(Exec, N, nullptr, nullptr);
  }
  bool changeKernel(TappedGraph &T, CUgraphNode N,
                    const CudaKernelNodeParams &P);
  bool changeCopy(CUgraphNode N, const CudaMemcpy3DParms &P);
  bool changeSet(CUgraphNode N, const CudaMemsetParams &P);
  bool changeHost(CUgraphNode N, const CudaHostNodeParams &P);
  template <typename Fn>
  int launchGraph(const CudaRuntime &R, CUgraphExec Exec, CUstream S,
                  Fn Original) {
    return launchGraph(
        R, Exec, S, [](void *F) { return (*static_cast<Fn *>(F))(); },
        &Original);
  }
  void noteTexture(uint64_t Handle, const TappedTexture &T);
  /// Not while it is recorded.
  void forgetTexture(uint64_t Handle, bool IsSurface);
  /// Gives device memory back that the application does not know of, before it
  /// asks how much is free.
  void trim();
  /// Some devices are going to access memory of others.
  void connectDevices(const CudaRuntime &R);
  /// Before cudaDeviceReset.
  void reset();
  void annotate(Annotation A);
  /// Writes what is under way, and the summary. Once.
  void finish();

private:
  /// Memory that a launch may use.
  struct Part {
    uint64_t Address; ///< In the recording.
    CUdeviceptr Live; ///< On the device.
    uint64_t Size;
    CUdeviceptr Copy; ///< As it was before the launch.
  };
  struct ForeignRange {
    uint64_t Begin, End;
    uint32_t Kind; ///< That of ForeignMemory.
  };
  /// A recording on its way to the disk.
  struct Job {
    std::unique_ptr<Recording> R;
    Gpu *On = nullptr;
    CUstream Stream = nullptr;
    std::vector<uint64_t> Pointers; ///< In the arguments, with --reachable.
    /// The arguments as recordings have them: with the addresses of recorded
    /// descriptions as handles of textures.
    std::vector<std::vector<char>> ArgBytes;
    std::vector<void *> Args;
    std::vector<TappedElements> Elements; ///< Of arrays.
    Buffer Textures;                      ///< Elements and descriptions.
    std::vector<Part> Parts;
    /// Memory as it was before the launch, then room for flags and a table.
    Buffer Copies;
    CUdeviceptr Flags = 0, Table = 0;
    std::vector<DeviceWork::Piece> Changed;
    Buffer Gathered; ///< What Changed refers to, unless that is live memory.
    /// What is not recorded, by address: nothing recorded may point there.
    std::vector<ForeignRange> Unrecorded;
    bool Again = false; ///< The next attempt has better chances.
  };

  TapSession() = default;
  /// Whether \p Ptr may be of an arena.
  bool isOurs(const void *Ptr) const {
    uint64_t Begin = ArenasBegin.load(std::memory_order_acquire);
    return reinterpret_cast<uint64_t>(Ptr) - Begin <
           ArenasSize.load(std::memory_order_relaxed);
  }
  bool allocate(const CudaRuntime &R, void *&Ptr, size_t Size,
                const CUstream *Stream, int &Result);
  bool allocateOurs(const CudaRuntime &R, void *&Ptr, size_t Size,
                    const CUstream *Stream, int &Result);
  bool regainMemory(Gpu *&G, std::unique_lock<std::mutex> &Guard);
  bool release(void *Ptr, int &Result);
  bool releaseInOrder(void *Ptr, CUstream Stream, int &Result);
  AddressMap::Allocation *findLive(void *Ptr, Gpu *&G);
  void releasePlace(Gpu &G, uint64_t Address);
  CUresult recordEvent(Gpu &G, CUstream S, CUevent &E);
  bool reusePlace(Gpu &G, size_t Size, CUstream S, void *&Ptr);
  void finishFrees(Gpu &G, uint64_t WaitedFor = 0);
  Waiter::Contexts activeContexts() const;
  bool isElsewhere(const Gpu &G, CUstream S) const;
  void noteCapture(CUstream S);
  Gate::Pass passLater(CUstream S);
  bool findPitch(size_t Width, size_t &Pitch);
  void keepPitch(size_t Width, size_t Pitch, void *Row);
  void noteForeign(void *Host, size_t Size, uint32_t Kind, bool IsPortable);
  void eraseForeign(uint64_t Address, uint64_t Size);
  const std::pair<const uint64_t, ForeignMemory> *
  findForeign(uint64_t Address) const;
  bool canRecord(const Gpu &G, const ForeignMemory &M) const {
    return (M.Kind == MNEME_REGION_PINNED &&
            (M.IsPortable || M.Owner == G.Context)) ||
           (M.Kind == MNEME_REGION_MANAGED && G.ManagedIsShared);
  }

  Target &targetOf(const Launch &L);
  Target &findTarget(const Launch &L);
  // These may throw, with nothing done.
  Target &lookUpTarget(const Launch &L);
  Target &targetFor(const IndexEntry &Entry, bool Selected);
  bool selects(const std::string &Name);
  void load(Target &T);
  std::string loadVariables(const DeviceModule &Code,
                            const std::vector<std::string> &Names,
                            const std::vector<ModuleVariable> &Known,
                            std::vector<const ShadowedVariable *> &Found);

  bool loadDriver();
  Gpu *bind(const CudaRuntime &R);
  std::string bindTo(Gpu &G, const CudaRuntime &R);
  std::string reserve(Gpu &G);
  std::string reserveFirst(CudaMapping &M, uint64_t Total) const;
  std::string reserveBeside(CudaMapping &M) const;
  void shareMemory(Gpu &New);
  void noteRange(const Gpu &G);
  bool isPrimary(CUcontext C) const;
  /// Null where \p C is not bound.
  Gpu *gpuOf(CUcontext C) const;
  /// The one with the arena that \p Address is in, or null.
  Gpu *ownerOf(uint64_t Address) const;
  CUcontext currentContext() const;
  int makeContext(const CudaRuntime &R);
  void freeLater(CUdeviceptr P);
  bool isIdle(const Gpu &G);
  bool canFreeMemory(const Gpu &G);
  std::string waitForDevices(Gpu &G, Deadline Until);
  void giveUp(Gpu &G);
  bool isCapturing(CUstream S) const;
  std::string prepare(Gpu &G);
  unsigned lineOf(CUstream S) const;
  Gate::Lines linesOf(CUstream S) const;
  CUresult waitForStream(Gpu &G, CUstream S, Deadline Until);
  std::string waitBefore(Gpu &G, CUstream S, Deadline Until);
  CUresult waitAfter(Gpu &G, CUstream S, Deadline Until);

  using Call = int (*)(void *);
  int launch(Target &First, const Launch &L, Call Original, void *Closure);
  bool launchSelected(Target &First, const Launch &L, Call Original,
                      void *Closure, int &Result);
  Target &loadTarget(Target &First, const Launch &L);
  int launchGraph(const CudaRuntime &R, CUgraphExec Exec, CUstream S,
                  Call Original, void *Closure);
  bool launchSplit(const CudaRuntime &R, TappedGraph &T, CUstream S,
                   int &Result);
  int launchParts(const CudaRuntime &R, const TappedGraph &T, CUstream S,
                  const std::vector<GraphPart> &Parts);
  std::string splitGraph(const TappedGraph &T,
                         const std::set<CUgraphNode> &Wanted, CUgraph G,
                         std::vector<GraphPart> &Parts);
  std::string makePart(CUgraph G, const std::vector<CUgraphNode> &All,
                       const std::set<CUgraphNode> &Kept, GraphPart &P);
  void listKernels(const TappedGraph &T, CUgraphNode N,
                   std::vector<CUgraphNode> &Kernels) const;
  void countKernel(const CudaRuntime &R, const GraphKernel &K, CUstream S);
  Launch launchOf(const CudaRuntime &R, const GraphKernel &K, CUstream S) const;
  bool mayRecord(const CudaRuntime &R, const GraphKernel &K, CUstream S);
  void readGraph(TappedGraph &T, CUgraph G);
  void readKernel(TappedGraph &T, CUgraphNode N);
  void rereadGraph(TappedGraph &T, CUgraph G);
  void noteCaptured(const Launch &L);
  void forgetCopy(CUgraphExec Exec);
  void forgetGraphs(CUcontext Gone);
  using GraphChange = bool (*)(TapSession &, TappedGraph &, CUgraphNode,
                               void *);
  void changeNode(CUgraphExec Exec, CUgraphNode N, GraphChange Change,
                  void *Closure);
  std::string findObstacle(const Target &T, const Launch &L, const Gpu *G);
  /// \returns false when the launch was not made; \p Result is the launch's.
  bool record(Gpu &G, Target &T, const Launch &L, const LaunchId &Id,
              Call Original, void *Closure, int &Result);
  std::string locate(const Target &T, const Launch &L, Job &J,
                     std::vector<Recording::Region> &Regions);
  std::string locateTextures(const Target &T, const Launch &L, Job &J,
                             std::vector<Recording::Region> &Regions,
                             std::set<uint64_t> &Named);
  std::string addObject(Job &J, char *At, bool IsSurface, TexturePieces &Pieces,
                        std::set<uint64_t> &Named);
  std::string describeObject(const Gpu &G, const TappedTexture &O,
                             MnemeTexture &D, TappedElements &Elements,
                             uint64_t &Size, std::set<uint64_t> &Named);
  std::string describeArray(const TappedTexture &O, MnemeTexture &T,
                            std::vector<CUmemcpy3D> &Levels);
  std::string homeOf(const Gpu &G, uint64_t Key, uint64_t Size,
                     uint64_t &Address);
  std::string copyElements(Job &J, bool OnlyWritten);
  std::string storePrologue(Job &J, std::vector<DeviceWork::Piece> &Pages,
                            DeviceWork &W);
  std::string leaveOutUnreached(Job &J, std::vector<DeviceWork::Piece> &Pages,
                                DeviceWork &W);
  /// \returns false when the job has come to its end; \p Result is the
  /// launch's.
  bool run(Job &J, Call Original, void *Closure, int &Result);
  std::string copyMemory(Job &J, bool &HasCopies);
  bool recordOnDevice(Job &J, Call Original, void *Closure, int &Result);
  bool recordThroughHost(Job &J, Call Original, void *Closure, int &Result);
  std::string storeBefore(Job &J);
  std::string storeAfter(Job &J);
  std::string findPages(Job &J, bool BeforeLaunch,
                        std::vector<DeviceWork::Piece> &Pages, DeviceWork &W);
  std::string gather(Job &J);
  void abandon(Job &J, std::string_view Reason, bool Keep = false);

  /// \p Scratch: little, without which nothing can be recorded.
  bool acquire(Gpu &G, uint64_t Size, Buffer &B, bool Scratch = false);
  /// \p Keep: nobody may wait now, as the driver does to free memory.
  void giveBack(Gpu &G, Buffer &B, bool Keep = false);
  bool releaseBuffers(Gpu &G);
  /// Or may have some soon.
  bool hasBuffers(const Gpu &G);

  bool startWriter();
  void enqueue(Job &J);
  void write(Job &J, DeviceWork &W);
  std::string store(Job &J, DeviceWork &W);
  std::string store(const std::vector<DeviceWork::Piece> &Pages,
                    SnapshotFile &File, DeviceWork &W);
  void noteOnHost(bool Is);
  void claim();
  /// Waits until everything is written. \returns false when the driver has kept
  /// the writer for longer than --wait-limit; with \p GiveUp, what is not
  /// written then never will be, and counts as skipped.
  bool drain(bool GiveUp = false);
  static void *runWriter(void *Self);

  /// In a child that was forked, which must leave everything alone.
  inline static std::atomic<bool> Forked{false};
  /// The addresses from the first arena's beginning to the last one's end.
  std::atomic<uint64_t> ArenasBegin{0}, ArenasSize{0};
  std::mutex CaptureLock;
  /// Where captures have begun, and the context of that; threads call their own
  /// streams the same.
  std::vector<std::pair<CUstream, CUcontext>> Capturing;
  std::atomic<size_t> Captures{0}; ///< How many these are.
  /// For work on all streams, before a launch is recorded; else for what the
  /// launch's own depends on.
  const bool WaitsForAll = Selection::get().waitFor() == WaitFor::Device;
  Gate Calls; ///< Closed while a launch is recorded.
  /// Nothing more is recorded, or given out.
  std::atomic<bool> Off{!Selection::get().includesRank()};
  std::atomic<bool> PoolsAreShared{false};

  // Order: Lock, then WriterLock or CaptureLock.
  std::mutex Lock; ///< All but what follows WriterLock.
  const CudaDriver *Driver = nullptr;
  std::string NoDriver; ///< Why there is none.
  /// In the order of their first use. The first one's arena is where
  /// MNEME_VA_BASE says.
  std::vector<std::unique_ptr<Gpu>> Gpus;
  uint64_t NumFrees = 0; ///< In the order of streams, so far.
  std::unique_ptr<Waiter> Waiting;
  /// By address on the device.
  std::map<uint64_t, ForeignMemory> Foreign;
  /// There was no memory to note some of it: nothing that a launch may use is
  /// known to be all.
  bool IsForeignIncomplete = false;
  /// Offsets of variables in all Homes. No memory.
  AddressMap Homes{{512, 0}};
  Annotations Notes;

  struct LoadedModule {
    std::string Error;
    std::vector<ModuleVariable> Variables;
  };
  std::map<DeviceModule::Key, std::unique_ptr<LoadedModule>> Modules;
  /// Hash of the module, or of the payload; object; name.
  using Symbol = std::tuple<std::string, uint32_t, std::string>;
  std::map<Symbol, std::unique_ptr<ShadowedVariable>> Variables;
  std::map<Symbol, std::unique_ptr<Target>> Targets;
  /// Of stubs that no payload describes, and of those for which there was no
  /// memory.
  Target Unknown, Unloaded;
  /// By the driver's handle of a kernel, and such a handle by launch stub, for
  /// kernels that are nodes of graphs.
  std::map<const void *, GraphTarget> GraphKernels;
  std::map<const void *, const void *> KernelHandles;
  std::map<CUgraphExec, TappedGraph> TappedGraphs;
  /// By the context that was current, handle, and whether it is of a surface.
  std::map<std::tuple<CUcontext, uint64_t, bool>, TappedTexture> Textures;
  /// Offsets in Homes, by array or by handle, and by size.
  std::map<std::pair<uint64_t, uint64_t>, uint64_t> TextureHomes;
  bool Finished = false;
  Recorder Records;

  std::mutex WriterLock;
  std::condition_variable HasJob, HasRoom;
  bool WriterStarted = false, WriterBusy = false;
  /// Addresses of pinned memory that recorded memory was seen to point to.
  std::set<uint64_t> PointedTo;
  std::list<Job> Jobs;
  const Kernel *Writing = nullptr; ///< Of the job that the writer has.
  bool Lost = false;               ///< That one is counted as skipped.
  /// When the writer last came to the host, or left it, and whether it is there.
  std::atomic<uint64_t> LastSign{0};
  std::atomic<bool> OnHost{false};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_TAPSESSION_H
