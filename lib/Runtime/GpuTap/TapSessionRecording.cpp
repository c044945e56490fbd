//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recording one launch, and the thread that writes recordings.
///
//===----------------------------------------------------------------------===//

#include "Reachability.h"
#include "Shortage.h"
#include "TapSession.h"

#include <algorithm>
#include <cstring>
#include <set>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>
#include <utility>

using namespace mneme;

static constexpr int CaptureModeRelaxed = 2; // CU_STREAM_CAPTURE_MODE_RELAXED
/// Beside the kinds of regions: of another device's arena.
static constexpr uint32_t OfOtherDevice = UINT32_MAX;

//===----------------------------------------------------------------------===//
// Which launches
//===----------------------------------------------------------------------===//

/// \p First: what the launch would go to on the first device.
int TapSession::launch(Target &First, const Launch &L, Call Original,
                       void *Closure) {
  std::unique_lock<std::mutex> Guard(Lock, std::defer_lock);
  auto Forward = [&] {
    Gate::Pass Pass(Calls, lineOf(L.Stream), /*Closed=*/true);
    if (Guard)
      Guard.unlock();
    return Original(Closure);
  };
  // A forked child must not touch the lock.
  bool IsOff = Off;
  if (!IsOff) {
    Guard.lock();
    IsOff = Off;
  }
  bool HasDriver = false;
  if (Captures && !IsOff)
    attempt([&] { HasDriver = loadDriver(); });
  if (HasDriver && isCapturing(L.Stream)) {
    // It becomes a node, which is no launch.
    int Result = Forward();
    if (!Result)
      noteCaptured(L);
    return Result;
  }
  if (!First.Selected || IsOff) {
    First.Launches.fetch_add(1, std::memory_order_relaxed);
    return Forward();
  }
  int Result;
  return launchSelected(First, L, Original, Closure, Result) ? Result
                                                             : Forward();
}

/// \returns false when the launch was not made, and is counted; \p Result is
/// the launch's.
bool TapSession::launchSelected(Target &First, const Launch &L, Call Original,
                                void *Closure, int &Result) {
  Target *T = nullptr;
  if (!attempt([&] { T = &loadTarget(First, L); })) {
    Records.countUnknown(First.Name, outOfMemory());
    return false;
  }
  if (!T->Problem.empty()) {
    Records.countUnknown(T->Name, T->Problem);
    return false;
  }
  LaunchId Id;
  if (!Records.wants(T->K, L.Shape, L.Args, Id))
    return false;
  // What cannot be used has a reason.
  Gpu *G = Driver ? gpuOf(currentContext()) : nullptr;
  std::string Obstacle;
  if (!attempt([&] { Obstacle = findObstacle(*T, L, G); }))
    Obstacle = outOfMemory();
  if (!Obstacle.empty()) {
    Records.skip(T->K, Obstacle);
    return false;
  }
  // No memory comes or goes meanwhile, and nothing else is launched.
  return record(*G, *T, L, Id, Original, Closure, Result);
}

/// What the launch goes to on its device. May throw.
Target &TapSession::loadTarget(Target &First, const Launch &L) {
  Gpu *G = Captures ? nullptr : bind(L.Runtime);
  IndexEntry Entry;
  bool IsOther =
      G && unsigned(G->Arch) != Program::get().deviceArchitecture() &&
      Program::get().find(L.Stub, MNEME_INDEX_KERNEL, Entry, G->Arch);
  Target &T = IsOther ? targetFor(Entry, /*Selected=*/true) : First;
  load(T);
  return T;
}

Gate::Pass TapSession::passLater(CUstream S) {
  std::unique_lock<std::mutex> Guard(Lock, std::defer_lock);
  if (!Off) // Nor must it here.
    Guard.lock();
  return Gate::Pass(Calls, lineOf(S), /*Closed=*/true);
}

void TapSession::noteCapture(CUstream S) {
  CUcontext C = Driver ? currentContext() : nullptr;
  std::lock_guard<std::mutex> Guard(CaptureLock);
  // One that is not known makes the driver say so when it is waited for.
  attempt([&] { Capturing.push_back({S, C}); });
  Captures = Capturing.size();
}

/// Whether something is mapped there in this process.
static bool isHostMemory(uint64_t Address) {
  unsigned char Resident;
  void *Page = reinterpret_cast<void *>(Address & ~uint64_t(4095));
  return !mincore(Page, 1, &Resident);
}

std::string TapSession::findObstacle(const Target &T, const Launch &L,
                                     const Gpu *G) {
  constexpr int PointerMemoryType = 2;
  if (L.Obstacle)
    return L.Obstacle;
  if (IsForeignIncomplete)
    return outOfMemory();
  if (!G)
    return NoDriver.empty() ? "there is no device" : NoDriver;
  if (!G->isUsable())
    return G->Unusable;
  if (Captures || isCapturing(LegacyStream))
    return "launched while another stream is captured into a graph";
  if (!L.Args)
    return T.K.Args.empty() ? "" : "launched without arguments";
  std::string Obstacle;
  forEachPointer(T.K, L.Args, [&](uint64_t V) {
    int Type = 0;
    const Gpu *Owner = ownerOf(V);
    if (!V || Owner == G)
      return;
    if (Owner) {
      // Many numbers are addresses, too.
      if (std::as_const(Owner->Heap).find(V))
        Obstacle = "an argument points to memory of another device";
      return;
    }
    if (const auto *Found = findForeign(V);
        Found && canRecord(*G, Found->second))
      return;
    if (Driver->PointerGetAttribute &&
        !Driver->PointerGetAttribute(&Type, PointerMemoryType, V))
      Obstacle = "an argument points to memory that cannot be recorded";
  });
  if (!Obstacle.empty() || !G->ReadsHost)
    return Obstacle;
  for (size_t I = 0; I != T.K.Args.size(); ++I) {
    if (T.K.Args[I].Kind != MNEME_ARG_POINTER || T.K.Args[I].Size != 8)
      continue;
    uint64_t V;
    memcpy(&V, L.Args[I], sizeof(V));
    if (!ownerOf(V) && !findForeign(V) && isHostMemory(V))
      return "an argument points to memory of the host that CUDA does not know";
  }
  return "";
}

/// Finds all memory that a launch may use, in the order of its addresses.
std::string TapSession::locate(const Target &T, const Launch &L, Job &J,
                               std::vector<Recording::Region> &Regions) {
  const Gpu &G = *J.On;
  std::vector<Part> &Parts = J.Parts;
  for (const auto &[Address, A] : G.Heap.allocations()) {
    Regions.push_back({Address, A.Size, MNEME_REGION_HEAP, ""});
    Parts.push_back({Address, Address, A.Size, 0});
  }
  for (const auto &Other : Gpus)
    if (Other.get() != &G)
      for (const auto &[Address, A] : Other->Heap.allocations())
        J.Unrecorded.push_back(
            {Address, Address + std::max<uint64_t>(A.Size, 1), OfOtherDevice});
  // Much pinned memory is for copies alone: it counts where it is pointed to.
  std::set<uint64_t> Named;
  forEachPointer(T.K, L.Args, [&](uint64_t V) {
    if (const auto *Found = findForeign(V))
      Named.insert(Found->first);
  });
  std::string Error = locateTextures(T, L, J, Regions, Named);
  if (!Error.empty())
    return Error;
  {
    std::lock_guard<std::mutex> Guard(WriterLock);
    Named.insert(PointedTo.begin(), PointedTo.end());
  }
  for (const auto &[Address, M] : Foreign) {
    if (canRecord(G, M) &&
        (M.Kind == MNEME_REGION_MANAGED || Named.count(Address))) {
      Regions.push_back({Address, M.Size, M.Kind, ""});
      Parts.push_back({Address, Address, M.Size, 0});
    } else {
      J.Unrecorded.push_back({Address, Address + M.Size, M.Kind});
    }
  }
  for (const ShadowedVariable *S : T.Variables) {
    if (!S->V.Size)
      continue;
    void *Live = nullptr;
    int E = S->Runtime->GetSymbolAddress
                ? S->Runtime->GetSymbolAddress(&Live, S->Shadow)
                : cudaErrorInvalidSymbol;
    if (E)
      return "the CUDA runtime does not find variable '" + S->V.Name +
             "' (error " + std::to_string(E) + ")";
    uint64_t Home = G.Homes + S->V.Address;
    if (Home + S->V.Size > G.end())
      return "variable '" + S->V.Name + "' has no address left for it";
    Regions.push_back({Home, S->V.Size, MNEME_REGION_GLOBAL, S->V.Name});
    Parts.push_back({Home, reinterpret_cast<CUdeviceptr>(Live), S->V.Size, 0});
  }
  std::sort(Parts.begin(), Parts.end(),
            [](const Part &A, const Part &B) { return A.Address < B.Address; });
  std::sort(J.Unrecorded.begin(), J.Unrecorded.end(),
            [](const ForeignRange &A, const ForeignRange &B) {
              return A.Begin < B.Begin;
            });
  return "";
}

//===----------------------------------------------------------------------===//
// Recording
//===----------------------------------------------------------------------===//

// The runtime is preloaded, so there is room in the static block.
static thread_local bool IsWriter __attribute__((tls_model("initial-exec"))) =
    false;

void TapSession::abandon(Job &J, std::string_view Reason, bool Keep) {
  giveBack(*J.On, J.Copies, Keep);
  giveBack(*J.On, J.Gathered, Keep);
  giveBack(*J.On, J.Textures, Keep);
  claim();
  if (J.R)
    Records.abandon(std::move(J.R), Reason, J.Again);
}

/// Nothing works there any more.
void TapSession::giveUp(Gpu &G) {
  if (!attempt([&] { G.Unusable = "the device had failed before"; }))
    G.Unusable = outOfMemory();
  if (Gpus.size() == 1)
    Off = true;
}

namespace {
/// Opens a gate at its end.
class OpenLater {
public:
  explicit OpenLater(Gate &G) : G(G) {}
  OpenLater(const OpenLater &) = delete;
  OpenLater &operator=(const OpenLater &) = delete;
  ~OpenLater() { G.open(); }

private:
  Gate &G;
};
} // namespace

bool TapSession::record(Gpu &G, Target &T, const Launch &L, const LaunchId &Id,
                        Call Original, void *Closure, int &Result) {
  Uncancelled Here;
  RecordingTime Time(Records);
  Deadline Until = deadline();
  std::string Error;
  Job J;
  J.On = &G;
  J.Stream = L.Stream;
  auto Skip = [&] {
    giveBack(G, J.Textures);
    Records.skip(T.K, Error);
    return false;
  };
  if (!Calls.close(linesOf(L.Stream), Until)) {
    Error = tooLong("a call of another thread");
    return Skip();
  }
  OpenLater Opener(Calls);
  std::vector<Recording::Region> Regions;
  if (!attempt([&] {
        Error = waitBefore(G, L.Stream, Until);
        if (!Error.empty())
          return;
        finishFrees(G, WaitsForAll ? NumFrees : 0);
        Error = prepare(G);
        if (Error.empty())
          Error = locate(T, L, J, Regions);
      }))
    Error = outOfMemory();
  if (!Error.empty())
    return Skip();
  void **Args = J.Args.empty() ? L.Args : J.Args.data();
  J.R = Records.begin(T.K, L.Shape, Id, Args, std::move(Regions), G.begin(),
                      G.end() - G.begin(), Notes);
  if (!J.R) {
    giveBack(G, J.Textures);
    return false;
  }
  bool HasCopies = false;
  if (!attempt([&] {
        J.R->Device = G.Facts;
        if (Selection::get().reachableOnly())
          forEachPointer(T.K, Args,
                         [&](uint64_t V) { J.Pointers.push_back(V); });
        Error = copyMemory(J, HasCopies);
      }))
    Error = outOfMemory();
  if (!Error.empty()) {
    abandon(J, Error);
    return false;
  }
  return HasCopies ? recordOnDevice(J, Original, Closure, Result)
                   : recordThroughHost(J, Original, Closure, Result);
}

/// Copies the memory of a job on the device, where there is room. \returns an
/// empty string, or why the launch cannot be recorded. May throw.
std::string TapSession::copyMemory(Job &J, bool &HasCopies) {
  Gpu &G = *J.On;
  uint64_t Memory = 0, NumFlags = 0;
  for (const Part &P : J.Parts) {
    Memory += alignCopy(P.Size);
    NumFlags += flagsOf(P.Size);
  }
  uint64_t Scratch = alignCopy(NumFlags) + tableSize(J.Parts.size());
  HasCopies = acquire(G, Memory + Scratch, J.Copies);
  if (!HasCopies && !acquire(G, Scratch, J.Copies, /*Scratch=*/true))
    return "no device memory is left to record with";
  J.Flags = J.Copies.Address + (HasCopies ? Memory : 0);
  J.Table = J.Flags + alignCopy(NumFlags);
  if (!HasCopies)
    return "";
  std::vector<MnemeCopyPart> Copies;
  CUdeviceptr To = J.Copies.Address;
  for (Part &P : J.Parts) {
    P.Copy = To;
    Copies.push_back({P.Copy, P.Live, P.Size});
    To += alignCopy(P.Size);
  }
  return G.Work->copy(Copies, J.Table);
}

/// \returns false when the launch was not made; \p Result is the launch's.
bool TapSession::recordOnDevice(Job &J, Call Original, void *Closure,
                                int &Result) {
  if (!run(J, Original, Closure, Result))
    return true;
  std::string Error;
  if (!attempt([&] {
        Error = copyElements(J, /*OnlyWritten=*/true);
        if (Error.empty())
          Error = findPages(J, /*BeforeLaunch=*/false, J.Changed, *J.On->Work);
        if (Error.empty())
          Error = gather(J);
      }))
    Error = outOfMemory();
  if (!Error.empty())
    abandon(J, Error);
  else if (J.Gathered.Size || J.Changed.empty())
    enqueue(J);
  else // Live memory is going to change.
    write(J, *J.On->Work);
  return true;
}

namespace {
/// Events around a launch, where its time matters.
class LaunchTimer {
public:
  LaunchTimer(const CudaDriver &Driver, CUstream Stream)
      : Driver(Driver), Stream(Stream) {
    if (Recorder::timesLaunches() && !Driver.EventCreate(&Begin, 0) &&
        !Driver.EventCreate(&End, 0))
      Driver.EventRecord(Begin, Stream);
  }
  void stop() {
    if (End)
      Driver.EventRecord(End, Stream);
  }
  /// Once the device has done all. 0 where that is not known.
  uint64_t nanoseconds() const {
    float Milliseconds = 0;
    if (!End || Driver.EventElapsedTime(&Milliseconds, Begin, End))
      return 0;
    return uint64_t(double(Milliseconds) * 1e6);
  }
  ~LaunchTimer() {
    for (CUevent E : {Begin, End})
      if (E)
        Driver.EventDestroy(E);
  }

private:
  const CudaDriver &Driver;
  CUstream Stream;
  CUevent Begin = nullptr, End = nullptr;
};
} // namespace

bool TapSession::run(Job &J, Call Original, void *Closure, int &Result) {
  LaunchTimer Timer(*Driver, J.Stream);
  {
    // What is behind us may call us: that is part of the launch.
    Gate::Pass Inside(Calls, lineOf(J.Stream), /*Closed=*/true);
    Result = Original(Closure);
  }
  Timer.stop();
  if (Result) {
    abandon(J, "the launch failed");
    return false;
  }
  CUresult E;
  if (!attempt([&] { E = waitAfter(*J.On, J.Stream, deadline()); })) {
    // Nobody knows when it ends.
    abandon(J, outOfMemory(), /*Keep=*/true);
    return false;
  }
  if (E) {
    // One that is not ready may wait for what the application does next.
    bool IsLate = E == CUDA_ERROR_NOT_READY;
    std::string Why = IsLate ? tooLong("the launch") : outOfMemory();
    if (!IsLate) {
      attempt([&] { Why = "the launch failed: " + Driver->describe(E); });
      giveUp(*J.On);
    }
    abandon(J, Why, /*Keep=*/IsLate);
    return false;
  }
  if (Records.keeps(*J.R, Timer.nanoseconds()))
    return true;
  giveBack(*J.On, J.Copies);
  giveBack(*J.On, J.Textures);
  Records.discard(std::move(J.R));
  return false;
}

/// The pages of the copies that are not zero, or the live ones that differ from
/// their copies.
std::string TapSession::findPages(Job &J, bool BeforeLaunch,
                                  std::vector<DeviceWork::Piece> &Pages,
                                  DeviceWork &W) {
  std::vector<MnemeDiffPart> Diffs;
  for (const Part &P : J.Parts)
    if (BeforeLaunch)
      Diffs.push_back({P.Copy ? P.Copy : P.Live, 0, P.Size, 0});
    else
      Diffs.push_back({P.Live, P.Copy, P.Size, 0});
  std::vector<uint8_t> Flags;
  std::string Error = W.diff(Diffs, J.Table, J.Flags, Flags);
  if (!Error.empty())
    return Error;
  const uint8_t *Flag = Flags.data();
  for (size_t I = 0; I != Diffs.size(); ++I) {
    const Part &P = J.Parts[I];
    forEachRun(
        P.Size, [&](uint64_t, uint64_t) { return *Flag++ != 0; },
        [&](uint64_t At, uint64_t Size) {
          Pages.push_back({P.Address + At, Diffs[I].A + At, Size});
        });
  }
  return "";
}

/// Copies the changed pages on the device, where there is room.
std::string TapSession::gather(Job &J) {
  uint64_t Bytes = 0;
  for (const DeviceWork::Piece &P : J.Changed)
    Bytes += alignCopy(P.Size);
  if (!Bytes ||
      !acquire(*J.On, Bytes + tableSize(J.Changed.size()), J.Gathered))
    return "";
  std::vector<MnemeCopyPart> Copies;
  CUdeviceptr To = J.Gathered.Address;
  for (DeviceWork::Piece &P : J.Changed) {
    Copies.push_back({To, P.From, P.Size});
    P.From = To;
    To += alignCopy(P.Size);
  }
  return J.On->Work->copy(Copies, To);
}

/// Brings pages from the device into a snapshot.
std::string TapSession::store(const std::vector<DeviceWork::Piece> &Pages,
                              SnapshotFile &File, DeviceWork &W) {
  return W.bring(
      Pages,
      [&](const char *Bytes, uint64_t Address, uint64_t Size) {
        noteOnHost(true);
        File.data(Bytes, Address, Size);
      },
      [&] {
        File.drain();
        noteOnHost(false);
      });
}

namespace {
/// Looks for values that may be pointers to some ranges of memory.
class PointerScan {
public:
  /// \p Ranges are sorted, and outlive this.
  template <typename RangeT>
  explicit PointerScan(const std::vector<RangeT> &Ranges) {
    for (const RangeT &R : Ranges)
      Starts.push_back({R.Begin, R.End});
    if (!Starts.empty()) {
      Begin = Starts.front().first;
      Span = Starts.back().second - Begin;
    }
  }

  /// \p Address: of the bytes, in the recording.
  void scan(const char *Bytes, uint64_t Address, uint64_t Size) {
    for (uint64_t At = -Address & 7; Span && At + 8 <= Size; At += 8) {
      uint64_t V;
      memcpy(&V, Bytes + At, 8);
      if (V - Begin < Span)
        look(V);
    }
  }

  /// By number, the ranges that something points to.
  const std::set<size_t> &found() const { return Found; }

private:
  void look(uint64_t V) {
    auto I = std::upper_bound(Starts.begin(), Starts.end(),
                              std::make_pair(V, UINT64_MAX));
    if (I != Starts.begin() && V < std::prev(I)->second)
      Found.insert(std::prev(I) - Starts.begin());
  }

  std::vector<std::pair<uint64_t, uint64_t>> Starts;
  uint64_t Begin = 0, Span = 0;
  std::set<size_t> Found;
};
} // namespace

/// Takes what neither arguments nor variables lead to out of a job, and out of
/// \p Pages, which are sorted.
std::string TapSession::leaveOutUnreached(Job &J,
                                          std::vector<DeviceWork::Piece> &Pages,
                                          DeviceWork &W) {
  Reachability Reached(J.R->Regions);
  for (uint64_t V : J.Pointers)
    Reached.addRoot(V);
  auto IsBefore = [](const DeviceWork::Piece &P, uint64_t Address) {
    return P.Address < Address;
  };
  while (const Recording::Region *Next = Reached.next()) {
    auto PagesFrom = [&](uint64_t Address) {
      return std::lower_bound(Pages.begin(), Pages.end(), Address, IsBefore);
    };
    std::string Error = W.bring(
        {PagesFrom(Next->Address), PagesFrom(Next->Address + Next->Size)},
        [&](const char *Bytes, uint64_t Address, uint64_t Size) {
          Reached.scan(Bytes, Address, Size);
        },
        [&] { noteOnHost(false); });
    if (!Error.empty())
      return Error;
  }
  J.R->Omitted = Reached.filter(J.R->Regions, J.R->Regions.size());
  std::map<uint64_t, uint64_t> Kept;
  for (const Recording::Region &R : J.R->Regions)
    Kept[R.Address] = R.Size;
  auto Filter = [&](auto &Pieces) {
    Pieces.erase(std::remove_if(Pieces.begin(), Pieces.end(),
                                [&](const auto &P) {
                                  auto I = Kept.upper_bound(P.Address);
                                  return I == Kept.begin() ||
                                         P.Address - std::prev(I)->first >=
                                             std::prev(I)->second;
                                }),
                 Pieces.end());
  };
  Filter(Pages);
  size_t NumChanged = J.Changed.size();
  Filter(J.Changed);
  if (J.Changed.size() != NumChanged && WaitsForAll)
    return "it changes memory that --reachable leaves out";
  Filter(J.Parts);
  return "";
}

/// Brings what was before the launch to the file, unless it points to what is
/// not recorded.
std::string TapSession::storePrologue(Job &J,
                                      std::vector<DeviceWork::Piece> &Pages,
                                      DeviceWork &W) {
  if (Selection::get().reachableOnly()) {
    std::string Error = leaveOutUnreached(J, Pages, W);
    if (!Error.empty())
      return Error;
  }
  Recorder::describeMemory(*J.R);
  SnapshotFile &File = J.R->Prologue;
  PointerScan Scan(J.Unrecorded);
  std::string Error = W.bring(
      Pages,
      [&](const char *Bytes, uint64_t Address, uint64_t Size) {
        noteOnHost(true);
        Scan.scan(Bytes, Address, Size);
        File.data(Bytes, Address, Size);
      },
      [&] {
        File.drain();
        noteOnHost(false);
      });
  if (!Error.empty())
    return Error;
  std::lock_guard<std::mutex> Guard(WriterLock);
  for (size_t I : Scan.found()) {
    if (J.Unrecorded[I].Kind != MNEME_REGION_PINNED) {
      J.Again = false;
      return J.Unrecorded[I].Kind == OfOtherDevice
                 ? "memory points to memory of another device"
                 : "memory points to memory that cannot be recorded";
    }
    // Another job may have said so already, after this one was launched.
    PointedTo.insert(J.Unrecorded[I].Begin);
    J.Again = true;
    Error = "memory points to pinned memory, which launches are recorded with "
            "from now on";
  }
  return Error;
}

/// Records where the device has no room for a copy: all memory goes to the
/// host, twice. \returns false when the launch was not made; \p Result is the
/// launch's.
bool TapSession::recordThroughHost(Job &J, Call Original, void *Closure,
                                   int &Result) {
  std::string Error;
  if (!attempt([&] { Error = storeBefore(J); }))
    Error = outOfMemory();
  if (!Error.empty()) {
    abandon(J, Error);
    return false;
  }
  if (!run(J, Original, Closure, Result))
    return true;
  if (!attempt([&] { Error = storeAfter(J); }))
    Error = outOfMemory();
  if (!Error.empty()) {
    abandon(J, Error);
    return true;
  }
  giveBack(*J.On, J.Copies);
  giveBack(*J.On, J.Textures);
  Records.finish(std::move(J.R));
  return true;
}

std::string TapSession::storeBefore(Job &J) {
  DeviceWork &Work = *J.On->Work;
  std::vector<DeviceWork::Piece> Pages;
  std::string Error = findPages(J, /*BeforeLaunch=*/true, Pages, Work);
  if (Error.empty())
    Error = storePrologue(J, Pages, Work);
  J.R->Prologue.close();
  return Error.empty() ? J.R->Prologue.error() : Error;
}

std::string TapSession::storeAfter(Job &J) {
  SnapshotFile &Before = J.R->Prologue, &After = J.R->Epilogue;
  std::string Error = copyElements(J, /*OnlyWritten=*/true);
  if (!Error.empty())
    return Error;
  Recorder::openEpilogue(*J.R);
  std::vector<DeviceWork::Piece> Pages;
  for (const Part &P : J.Parts)
    Pages.push_back({P.Address, P.Live, P.Size});
  return J.On->Work->bring(
      Pages,
      [&](const char *Bytes, uint64_t Address, uint64_t Size) {
        forEachRun(
            Size,
            [&](uint64_t At, uint64_t N) {
              return Before.differs(Bytes + At, Address + At, N);
            },
            [&](uint64_t At, uint64_t N) {
              After.data(Bytes + At, Address + At, N);
            });
      },
      [&] { After.drain(); });
}

//===----------------------------------------------------------------------===//
// Memory for copies
//===----------------------------------------------------------------------===//

/// May throw, with nothing acquired.
bool TapSession::acquire(Gpu &G, uint64_t Size, Buffer &B, bool Scratch) {
  std::vector<Buffer> &Spare = G.Spare;
  std::unique_lock<std::mutex> Guard(WriterLock);
  makeRoom(Spare, G.NumBuffers + 1);
  while (true) {
    // The smallest that is large enough, but no giant for a dwarf.
    auto Best = Spare.end();
    for (auto I = Spare.begin(); I != Spare.end(); ++I)
      if (I->Size >= Size && I->Size / 8 <= Size &&
          (Best == Spare.end() || I->Size < Best->Size))
        Best = I;
    if (Best != Spare.end()) {
      B = *Best;
      Spare.erase(Best);
      return true;
    }
    // The application must find some memory free.
    size_t Free = 0, Total = 0;
    if (!Driver->MemGetInfo(&Free, &Total) &&
        (Scratch || (Free >= Size && Free - Size >= Total / 16)) &&
        !Driver->MemAlloc(&B.Address, Size)) {
      B.Size = Size;
      ++G.NumBuffers;
      return true;
    }
    if (!Spare.empty()) {
      Guard.unlock();
      bool IsFreed = canFreeMemory(G) && releaseBuffers(G);
      Guard.lock();
      if (IsFreed)
        continue;
    }
    if (Jobs.empty() && !WriterBusy)
      return false;
    HasRoom.wait(Guard);
  }
}

void TapSession::giveBack(Gpu &G, Buffer &B, bool Keep) {
  if (!B.Size)
    return;
  size_t Free = 0, Total = 0;
  // Kept for the next recording, unless it is much.
  bool IsKept = Keep || !WaitsForAll ||
                (!Driver->MemGetInfo(&Free, &Total) && Free >= Total / 4);
  // This may wait for a kernel that waits for the application: without a lock.
  if (!IsKept)
    Driver->MemFree(B.Address);
  std::lock_guard<std::mutex> Guard(WriterLock);
  if (IsKept)
    G.Spare.push_back(B);
  else
    --G.NumBuffers;
  B = {};
  HasRoom.notify_all();
}

bool TapSession::hasBuffers(const Gpu &G) {
  std::lock_guard<std::mutex> Guard(WriterLock);
  return !G.Spare.empty() || !Jobs.empty() || WriterBusy;
}

/// \returns whether there was something to release.
bool TapSession::releaseBuffers(Gpu &G) {
  std::unique_lock<std::mutex> Guard(WriterLock);
  size_t Count = G.Spare.size();
  for (size_t I = 0; I != Count && !G.Spare.empty(); ++I) {
    Buffer Old = G.Spare.back();
    G.Spare.pop_back();
    --G.NumBuffers;
    Guard.unlock();
    Driver->MemFree(Old.Address);
    Guard.lock();
  }
  return Count;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

void TapSession::write(Job &J, DeviceWork &W) {
  std::string Error;
  if (!attempt([&] { Error = store(J, W); }))
    Error = outOfMemory();
  giveBack(*J.On, J.Copies);
  giveBack(*J.On, J.Gathered);
  giveBack(*J.On, J.Textures);
  claim();
  if (Error.empty())
    Records.finish(std::move(J.R));
  else
    Records.abandon(std::move(J.R), Error, J.Again);
}

/// May throw.
std::string TapSession::store(Job &J, DeviceWork &W) {
  std::vector<DeviceWork::Piece> Pages;
  // Other threads have the time to wait for the disk.
  if (IsWriter)
    J.R->Pages.writeBack();
  std::string Error = findPages(J, /*BeforeLaunch=*/true, Pages, W);
  if (Error.empty())
    Error = storePrologue(J, Pages, W);
  noteOnHost(true);
  J.R->Prologue.close();
  noteOnHost(false);
  giveBack(*J.On, J.Copies);
  if (!Error.empty())
    return Error;
  noteOnHost(true);
  Recorder::openEpilogue(*J.R);
  noteOnHost(false);
  return store(J.Changed, J.R->Epilogue, W);
}

void *TapSession::runWriter(void *Self) {
  TapSession &S = *static_cast<TapSession *>(Self);
  IsWriter = true;
  // What the thread allocates must not disturb what others capture.
  int Mode = CaptureModeRelaxed;
  if (S.Driver->ThreadExchangeStreamCaptureMode)
    S.Driver->ThreadExchangeStreamCaptureMode(&Mode);
  std::unique_lock<std::mutex> Guard(S.WriterLock);
  while (true) {
    S.HasJob.wait(Guard, [&] { return !S.Jobs.empty(); });
    std::list<Job> Now;
    Now.splice(Now.begin(), S.Jobs, S.Jobs.begin());
    Job &J = Now.front();
    S.WriterBusy = true;
    S.Writing = J.R->K;
    S.noteOnHost(false);
    Guard.unlock();

    S.Driver->CtxSetCurrent(J.On->Context);
    S.write(J, *J.On->WriterWork);
    Now.clear();

    Guard.lock();
    S.WriterBusy = false;
    S.HasRoom.notify_all();
  }
}

/// With the writer's lock.
bool TapSession::startWriter() {
  if (WriterStarted)
    return true;
  // The application's signal handlers do not belong on our thread.
  sigset_t All, Old;
  sigfillset(&All);
  pthread_sigmask(SIG_SETMASK, &All, &Old);
  pthread_t Thread;
  WriterStarted = !pthread_create(&Thread, nullptr, runWriter, this);
  pthread_sigmask(SIG_SETMASK, &Old, nullptr);
  if (WriterStarted)
    pthread_detach(Thread);
  return WriterStarted;
}

void TapSession::enqueue(Job &J) {
  std::list<Job> New;
  bool IsTaken = false;
  if (attempt([&] { New.emplace_back(); })) {
    std::lock_guard<std::mutex> Guard(WriterLock);
    IsTaken = startWriter();
    if (IsTaken) {
      New.front() = std::move(J);
      Jobs.splice(Jobs.end(), New);
      HasJob.notify_one();
    }
  }
  if (!IsTaken)
    write(J, *J.On->Work);
}

/// The writer's time on the host has no limit: it ends with the disk's work.
void TapSession::noteOnHost(bool Is) {
  if (!IsWriter)
    return;
  LastSign = Recorder::now();
  OnHost = Is;
}

/// The writer comes back from the driver for the last time with this job.
/// Does not return when drain() has given it up.
void TapSession::claim() {
  if (!IsWriter)
    return;
  std::unique_lock<std::mutex> Guard(WriterLock);
  noteOnHost(true);
  bool IsLost = Lost;
  Guard.unlock();
  while (IsLost)
    pause();
}

bool TapSession::drain(bool GiveUp) {
  Uncancelled Here;
  constexpr uint64_t Step = 100000000; // Nanoseconds.
  uint64_t Limit = Selection::get().waitLimit();
  auto IsDone = [&] { return Jobs.empty() && !WriterBusy; };
  std::unique_lock<std::mutex> Guard(WriterLock);
  LastSign = Recorder::now();
  while (!waitUntil(HasRoom, Guard, Recorder::now() + Step, IsDone)) {
    uint64_t Last = LastSign;
    if (!Limit || OnHost || Recorder::now() - Last < Limit)
      continue;
    if (!GiveUp)
      return false;
    Lost = true;
    std::string Why = tooLong("the device's part in writing it");
    if (WriterBusy)
      Records.skip(*Writing, Why);
    for (Job &J : Jobs)
      Records.abandon(std::move(J.R), Why);
    Jobs.clear();
    return false;
  }
  return true;
}
