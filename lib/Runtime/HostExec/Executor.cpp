//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The worker pool and the launch. Blocks start in linear order, so a block may
/// wait for an earlier one. Blocks that spin are suspended and later ones
/// started, so a block may also wait for a later one (grid barriers).
///
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "llvm/Mneme/Runtime/Scramble.h"
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

using namespace mneme::host;

thread_local Worker *mneme::host::TheWorker;

namespace {
struct Pool {
  pthread_mutex_t Lock;
  pthread_cond_t Wake; ///< Signaled when there is a launch to join.
  pthread_cond_t Done; ///< Signaled when a worker has left the launch.
  Worker *First;       ///< Worker 0; the list is append-only.
  unsigned NumWorkers;
  LaunchState *Launch; ///< Null if there is none to join.
  uint64_t Generation;
  unsigned Wanted; ///< Workers below this index take part.
  unsigned Joined; ///< Workers, except 0, that run the launch.
};
} // namespace

/// Never destroyed: workers still wait on it while static destructors run.
static std::atomic<Pool *> ThePool;
static pthread_mutex_t LaunchLock = PTHREAD_MUTEX_INITIALIZER;

uint64_t mneme::host::nanoseconds() {
  struct timespec T;
  clock_gettime(CLOCK_MONOTONIC, &T);
  return uint64_t(T.tv_sec) * 1000000000u + uint64_t(T.tv_nsec);
}

//===----------------------------------------------------------------------===//
// Random schedules
//===----------------------------------------------------------------------===//

using llvm::mneme::scramble;

uint64_t RandomSource::next() {
  State += 0x9e3779b97f4a7c15u;
  return scramble(State);
}

void ClusterOrder::init(uint64_t NumClusters, RandomSource &R) {
  Total = NumClusters;
  HalfBits = 1;
  while (HalfBits != 32 && (Total - 1) >> 2 * HalfBits)
    ++HalfBits;
  for (uint64_t &Key : Keys)
    Key = R.next();
}

uint64_t ClusterOrder::operator()(uint64_t I) const {
  const uint64_t Mask = (uint64_t(1) << HalfBits) - 1;
  do {
    uint64_t Left = I >> HalfBits, Right = I & Mask;
    for (uint64_t Key : Keys) {
      uint64_t Old = Left;
      Left = Right;
      Right = Old ^ (scramble(Right + Key) & Mask);
    }
    I = Left << HalfBits | Right;
  } while (I >= Total);
  return I;
}

/// Draws all that is the same for the whole launch.
static void startRandomSchedule(Worker &W, LaunchState &L) {
  static constexpr uint32_t QuantumBits[] = {0, 4, 6, 9};
  static constexpr uint32_t LiveBlocks[] = {1, 4, 8, 8};
  W.Random.State = L.Config->Seed;
  L.Order.init(L.Total, W.Random);
  L.MaxLive = LiveBlocks[W.Random.below(4)];
  if (L.Config->Cooperative)
    L.MaxLive = L.Total * L.ClusterSize;
  W.QuantumBits = QuantumBits[W.Random.below(4)];
  W.Preempted = false;
  drawQuantum(W);
}

/// Returns true if a random schedule goes on with any live block. Else it stays
/// with the one that has just run: a thread that was preempted must wait for
/// long, so that the others come to where it was.
static bool choosesBlock(Worker &W, StepResult Result) {
  bool WasPreempted = W.Preempted;
  W.Preempted = false;
  return WasPreempted || Result == StepResult::Spinning ||
         W.Random.below(8) == 0;
}

//===----------------------------------------------------------------------===//
// Running blocks
//===----------------------------------------------------------------------===//

/// Sets the AMDGPU implicit arguments of code object version 5.
static void fillImplicitArgs(MnemeHostBlock &B) {
  uint8_t *Out = reinterpret_cast<uint8_t *>(B.ImplicitArgs);
  memset(Out, 0, sizeof(B.ImplicitArgs));
  memcpy(Out, B.GridDim, 12);
  uint16_t Dims = 1;
  for (unsigned I = 0; I != 3; ++I) {
    uint16_t Size = B.BlockDim[I];
    memcpy(Out + 12 + 2 * I, &Size, 2); // The remainders at 18 stay zero.
    if (B.BlockDim[I] * uint64_t(B.GridDim[I]) > 1)
      Dims = I + 1;
  }
  memcpy(Out + 64, &Dims, 2);
  memcpy(Out + 120, &B.DynamicSize, 4);
}

static BlockState &acquireOrLeave(Worker &W) {
  BlockState *S = acquireBlock(W);
  if (!S)
    leaveKernel(W, MNEME_HOST_OUT_OF_MEMORY,
                "no memory for a block of kernel '%s'", W.Launch->Kernel->Name);
  const LaunchState &L = *W.Launch;
  MnemeHostBlock &B = S->Block;
  memcpy(B.BlockDim, L.Config->Block, sizeof(B.BlockDim));
  memcpy(B.GridDim, L.Config->Grid, sizeof(B.GridDim));
  B.NumThreads = L.NumThreads;
  B.DynamicOffset = L.Kernel->StaticShared;
  B.DynamicSize = L.Config->DynamicShared;
  fillImplicitArgs(B);
  return *S;
}

/// Gives \p B the coordinates of a block by the number of its cluster and its
/// rank there; x is the fastest axis of both.
static void setBlockIdx(const LaunchState &L, MnemeHostBlock &B,
                        uint64_t Cluster, uint32_t Rank) {
  for (unsigned I = 0; I != 3; ++I) {
    uint32_t Clusters = B.GridDim[I] / L.Cluster[I];
    B.BlockIdx[I] = Cluster % Clusters * L.Cluster[I] + Rank % L.Cluster[I];
    Cluster /= Clusters;
    Rank /= L.Cluster[I];
  }
}

namespace {
/// The clusters of blocks that a worker runs, in the order of the launch.
class ClusterSource {
  LaunchState &L;
  uint64_t Next = 0, End = 0;

public:
  explicit ClusterSource(LaunchState &L) : L(L) {}

  bool take(uint64_t &Index) {
    if (Next == End) {
      if (L.Status.load(std::memory_order_relaxed) != MNEME_HOST_OK)
        return false;
      Next = L.NextBlock.fetch_add(L.Chunk, std::memory_order_relaxed);
      if (Next >= L.Total) {
        End = Next;
        return false;
      }
      End = Next + L.Chunk < L.Total ? Next + L.Chunk : L.Total;
    }
    bool IsOther = L.Config->Random || L.Config->Shuffled;
    Index = IsOther ? L.Order(Next) : Next;
    ++Next;
    return true;
  }
};
} // namespace

/// Runs the blocks of loop and region kernels, whose entry runs a whole block.
/// Such kernels do not use that blocks of a cluster run together.
static void runWholeBlocks(Worker &W) {
  LaunchState &L = *W.Launch;
  ClusterSource Source(L);
  uint64_t Index;
  if (!Source.take(Index))
    return;
  BlockState &S = acquireOrLeave(W);
  W.Active = &S;
  // The current thread for called functions; the entry advances it.
  W.Current = S.Block.Threads;
  W.Current->Block = &S.Block;
  using EntryFn = void (*)(MnemeHostBlock *, void **);
  EntryFn Entry = reinterpret_cast<EntryFn>(L.Kernel->Entry);
  S.Cluster = &S.OwnCluster;
  S.OwnCluster = {};
  do {
    for (uint32_t Rank = 0; Rank != L.ClusterSize; ++Rank) {
      setBlockIdx(L, S.Block, Index, Rank);
      S.OwnCluster.Blocks[Rank] = &S;
      Entry(&S.Block, L.Config->Args);
      S.OwnCluster.Blocks[Rank] = nullptr;
      finishCopies(S);
    }
  } while (Source.take(Index));
}

/// Runs the blocks of coroutine and fiber kernels, whose threads the scheduler
/// runs. W.Active is a ring of live blocks.
static void runScheduledBlocks(Worker &W) {
  LaunchState &L = *W.Launch;
  ClusterSource Source(L);
  BlockState *Last = nullptr; // Precedes W.Active in the ring.
  unsigned NumLive = 0;
  unsigned NumSpinning = 0; // Consecutive blocks that only spun.
  const bool Random = L.Config->Random;
  for (;;) {
    if (NumSpinning >= NumLive || NumLive < L.MaxLive) {
      uint64_t Index;
      if (Source.take(Index)) {
        ClusterState *Cluster = nullptr;
        // The first block is the first to run.
        for (uint32_t Rank = L.ClusterSize; Rank-- != 0;) {
          BlockState &S = acquireOrLeave(W);
          if (!Cluster) {
            Cluster = &S.OwnCluster;
            *Cluster = {};
          }
          S.Cluster = Cluster;
          Cluster->Blocks[Rank] = &S;
          setBlockIdx(L, S.Block, Index, Rank);
          if (!startBlock(W, S)) {
            releaseBlock(W, &S);
            leaveKernel(W, MNEME_HOST_OUT_OF_MEMORY,
                        "no memory for the stacks of kernel '%s'",
                        L.Kernel->Name);
          }
          if (NumLive++ == 0)
            Last = &S;
          S.Next = W.Active ? W.Active : &S;
          Last->Next = &S;
          W.Active = &S;
        }
        NumSpinning = 0;
      } else if (NumLive == 0 || L.Status.load() != MNEME_HOST_OK) {
        return;
      } else if (NumSpinning >= NumLive) {
        sched_yield(); // Another worker must make progress first.
        NumSpinning = 0;
      }
    }

    BlockState &S = *W.Active;
    StepResult Result = Random ? stepAtRandom(W, S) : stepBlock(W, S);
    if (Result != StepResult::Finished) {
      NumSpinning = Result == StepResult::Spinning ? NumSpinning + 1 : 0;
      uint32_t Steps = 1;
      if (Random)
        Steps = choosesBlock(W, Result) ? W.Random.below(NumLive) : 0;
      for (; Steps != 0; --Steps) {
        Last = W.Active;
        W.Active = W.Active->Next;
      }
      continue;
    }
    NumSpinning = 0;
    finishCopies(S);
    // releaseActive() needs a complete ring when the launch is left.
    enterBusy(W);
    Last->Next = S.Next;
    W.Active = --NumLive ? S.Next : nullptr;
    releaseBlock(W, &S);
    leaveBusy(W);
  }
}

static void releaseActive(Worker &W) {
  bool Scheduled = W.Launch->Kernel->Strategy >= MNEME_HOST_COROUTINE;
  BlockState *First = W.Active;
  for (BlockState *S = First; S;) {
    BlockState *Next = Scheduled ? S->Next : nullptr;
    dropCopies(*S);
    releaseBlock(W, S);
    S = Next == First ? nullptr : Next;
  }
  W.Active = nullptr;
  W.Current = nullptr;
}

static void updateMin(std::atomic<uint64_t> &A, uint64_t V) {
  uint64_t Old = A.load();
  while (V < Old && !A.compare_exchange_weak(Old, V))
    ;
}

static void updateMax(std::atomic<uint64_t> &A, uint64_t V) {
  uint64_t Old = A.load();
  while (V > Old && !A.compare_exchange_weak(Old, V))
    ;
}

/// Clears the shared memory of the worker's blocks, so that a launch cannot
/// read what an earlier one left there.
static void clearShared(const Worker &W, const LaunchState &L) {
  size_t Used = size_t(L.Kernel->StaticShared) + L.Config->DynamicShared;
  for (BlockState *S = W.Free; S; S = S->Next)
    memset(S->SharedMemory, 0, Used < S->SharedSize ? Used : S->SharedSize);
}

/// Fills the worker's own stack where kernels run on it.
[[gnu::noinline]] static void fillStack(Worker &W) {
  constexpr size_t Size = 256 << 10;
  alignas(8) uint8_t Stack[Size];
  fill(W, Stack, Size);
  asm volatile("" : : "r"(Stack) : "memory");
}

/// Fills the memory that earlier launches used.
static void fillMemory(Worker &W) {
  for (BlockState *S = W.Free; S; S = S->Next)
    fillBlock(W, *S);
  if (W.Launch->Kernel->Strategy != MNEME_HOST_FIBER)
    fillStack(W);
}

static void runLaunch(Worker &W, LaunchState &L) {
  W.Launch = &L;
  W.Active = nullptr;
  W.Busy = W.LeaveLater = 0;
  Worker *Outer = TheWorker;
  TheWorker = &W;
#if defined(__x86_64__)
  // A GPU does not flush denormals merely because the application was linked
  // with -ffast-math.
  unsigned Rounding = _mm_getcsr();
  _mm_setcsr(0x1f80);
#endif
  if (L.Config->Fill == MNEME_HOST_FILL_NONE) {
    clearShared(W, L);
  } else if (L.Config->Fill != MNEME_HOST_FILL_LEFT) {
    W.Filler.State = L.Config->Fill + W.Index * 0xd1342543de82ef95u;
    fillMemory(W);
  }
  W.Quantum = 0;
  if (L.Config->Random)
    startRandomSchedule(W, L);
  updateMin(L.FirstStart, nanoseconds());
  bool Ok = enterFaultFrame(
      W.Fault,
      [](void *Arg) {
        Worker &W = *static_cast<Worker *>(Arg);
        if (W.Launch->Kernel->Strategy >= MNEME_HOST_COROUTINE)
          runScheduledBlocks(W);
        else
          runWholeBlocks(W);
      },
      &W);
  updateMax(L.LastEnd, nanoseconds());
#if defined(__x86_64__)
  _mm_setcsr(Rounding);
#endif
  if (!Ok) {
    reportFault(W);
    interruptWorkers(&W);
  }
  releaseActive(W);
  TheWorker = Outer;
}

//===----------------------------------------------------------------------===//
// The pool
//===----------------------------------------------------------------------===//

static Worker *createWorker(unsigned Index) {
  void *P = mmap(nullptr, sizeof(Worker), PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (P == MAP_FAILED)
    return nullptr;
  Worker *W = static_cast<Worker *>(P);
  W->Index = Index;
  return W;
}

static void *runWorker(void *Arg) {
  Worker &W = *static_cast<Worker *>(Arg);
  Pool &P = *ThePool.load();
  prepareFaults();
  uint64_t Seen = 0;
  pthread_mutex_lock(&P.Lock);
  for (;;) {
    while (!P.Launch || P.Generation == Seen || W.Index >= P.Wanted)
      pthread_cond_wait(&P.Wake, &P.Lock);
    Seen = P.Generation;
    LaunchState &L = *P.Launch;
    ++P.Joined;
    pthread_mutex_unlock(&P.Lock);
    runLaunch(W, L);
    pthread_mutex_lock(&P.Lock);
    if (--P.Joined == 0)
      pthread_cond_signal(&P.Done);
  }
  return nullptr;
}

static void resetAfterFork() {
  // The child has no worker threads and may have inherited a held lock.
  ThePool.store(nullptr);
  pthread_mutex_init(&LaunchLock, nullptr);
  TheWorker = nullptr;
}

static Pool *getPool() {
  if (Pool *P = ThePool.load())
    return P;
  void *Memory = mmap(nullptr, sizeof(Pool), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  Worker *First = createWorker(0);
  if (Memory == MAP_FAILED || !First)
    return nullptr;
  Pool *P = static_cast<Pool *>(Memory);
  pthread_mutex_init(&P->Lock, nullptr);
  pthread_cond_init(&P->Wake, nullptr);
  pthread_cond_init(&P->Done, nullptr);
  P->First = First;
  P->NumWorkers = 1;
  static bool Registered;
  if (!Registered)
    Registered = pthread_atfork(nullptr, nullptr, resetAfterFork) == 0;
  ThePool.store(P);
  return P;
}

/// Starts workers until there are \p Count. Having fewer is not an error, only
/// slower.
static void growPool(Pool &P, unsigned Count) {
  if (P.NumWorkers >= Count)
    return;
  Worker *Last = P.First;
  while (Last->Next)
    Last = Last->Next;
  // The application's signals must not be handled on Mneme's threads.
  sigset_t All, Old;
  sigfillset(&All);
  for (int Signal : {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGURG, SIGTRAP})
    sigdelset(&All, Signal);
  pthread_sigmask(SIG_SETMASK, &All, &Old);
  while (P.NumWorkers < Count) {
    Worker *W = createWorker(P.NumWorkers);
    if (!W || pthread_create(&W->Thread, nullptr, runWorker, W) != 0)
      break;
    pthread_detach(W->Thread);
    Last->Next = W;
    Last = W;
    ++P.NumWorkers;
  }
  pthread_sigmask(SIG_SETMASK, &Old, nullptr);
}

void mneme::host::interruptWorkers(const Worker *Except) {
  Pool *P = ThePool.load();
  if (!P)
    return;
  for (Worker *W = P->First; W; W = W->Next)
    if (W != Except)
      interruptThread(W->Thread);
}

static unsigned countCores() {
  cpu_set_t Set;
  if (sched_getaffinity(0, sizeof(Set), &Set) != 0)
    return 1;
  int Count = CPU_COUNT(&Set);
  return Count > 0 ? Count : 1;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// Divides the grid into clusters of the size that the launch or the kernel
/// gives. \returns false, after reporting the error in \p L, if that is not
/// possible.
static bool setClusters(LaunchState &L) {
  const uint32_t *Given = L.Config->Cluster, *Required = L.Kernel->ClusterDim;
  const uint32_t *Grid = L.Config->Grid;
  uint64_t Size = 1;
  bool Fits = true, AsRequired = true;
  for (unsigned I = 0; I != 3; ++I) {
    uint32_t Blocks = Given[I] ? Given[I] : Required[I] ? Required[I] : 1;
    L.Cluster[I] = Blocks;
    // Avoids overflow, like the number of threads.
    Size = Size > MNEME_HOST_MAX_CLUSTER ? Size : Size * Blocks;
    Fits &= Grid[I] % Blocks == 0;
    AsRequired &= !Required[I] || Blocks == Required[I];
  }
  const uint32_t *C = L.Cluster;
  L.ClusterSize = Size;
  if (Size > MNEME_HOST_MAX_CLUSTER)
    failLaunch(L, MNEME_HOST_INVALID_CONFIG,
               "clusters of %ux%ux%u thread blocks are larger than %u", C[0],
               C[1], C[2], MNEME_HOST_MAX_CLUSTER);
  else if (!AsRequired)
    failLaunch(L, MNEME_HOST_INVALID_CONFIG,
               "clusters of %ux%ux%u thread blocks: the kernel requires "
               "%ux%ux%u",
               C[0], C[1], C[2], Required[0], Required[1], Required[2]);
  else if (!Fits)
    failLaunch(L, MNEME_HOST_INVALID_CONFIG,
               "grid (%u,%u,%u) is not a whole number of clusters of %ux%ux%u "
               "thread blocks",
               Grid[0], Grid[1], Grid[2], C[0], C[1], C[2]);
  else
    L.Total /= Size;
  return L.Status.load() == MNEME_HOST_OK;
}

/// \returns false, after reporting the error in \p L, if the launch is invalid.
static bool checkConfig(LaunchState &L) {
  const MnemeHostLaunch &C = *L.Config;
  uint64_t Threads = uint64_t(1);
  L.Total = 1;
  for (unsigned I = 0; I != 3; ++I) {
    if (C.Grid[I] == 0 || C.Block[I] == 0) {
      failLaunch(L, MNEME_HOST_INVALID_CONFIG,
                 "grid (%u,%u,%u) of blocks (%u,%u,%u) is empty", C.Grid[0],
                 C.Grid[1], C.Grid[2], C.Block[0], C.Block[1], C.Block[2]);
      return false;
    }
    // Avoids overflow; the loop keeps the first value that is too large.
    Threads = Threads > MNEME_HOST_MAX_THREADS ? Threads : Threads * C.Block[I];
    if (__builtin_mul_overflow(L.Total, uint64_t(C.Grid[I]), &L.Total)) {
      failLaunch(L, MNEME_HOST_INVALID_CONFIG, "grid (%u,%u,%u) is too large",
                 C.Grid[0], C.Grid[1], C.Grid[2]);
      return false;
    }
  }
  if (Threads > MNEME_HOST_MAX_THREADS) {
    failLaunch(L, MNEME_HOST_INVALID_CONFIG,
               "block (%u,%u,%u) has more than %u threads", C.Block[0],
               C.Block[1], C.Block[2], MNEME_HOST_MAX_THREADS);
    return false;
  }
  L.NumThreads = Threads;
  if (!setClusters(L))
    return false;
  uint64_t Shared = uint64_t(L.Kernel->StaticShared) + C.DynamicShared;
  if (Shared > MNEME_HOST_SHARED_SIZE) {
    failLaunch(L, MNEME_HOST_INVALID_CONFIG,
               "kernel '%s' needs %llu bytes of shared memory, more than %u",
               L.Kernel->Name, static_cast<unsigned long long>(Shared),
               MNEME_HOST_SHARED_SIZE);
    return false;
  }
  return true;
}

static void runOnPool(Pool &P, LaunchState &L) {
  uint64_t Workers = L.Config->Workers ? L.Config->Workers : countCores();
  // Each fiber stack takes two mappings, and a process has at most 65530.
  const unsigned Most = MNEME_HOST_MAX_CLUSTER / L.ClusterSize;
  if (L.Kernel->Strategy == MNEME_HOST_FIBER && Workers > Most)
    Workers = Most;
  if (L.Kernel->Ordered || L.Config->Random)
    Workers = 1;
  if (Workers > L.Total)
    Workers = L.Total;
  growPool(P, Workers);
  L.Chunk = L.Total / (Workers * 16);
  if (L.Chunk == 0)
    L.Chunk = 1;
  if (L.Config->Shuffled) {
    RandomSource R;
    R.State = L.Config->Seed;
    L.Order.init(L.Total, R);
  }

  if (Workers > 1) {
    pthread_mutex_lock(&P.Lock);
    P.Launch = &L;
    ++P.Generation;
    P.Wanted = Workers;
    pthread_cond_broadcast(&P.Wake);
    pthread_mutex_unlock(&P.Lock);
  }
  runLaunch(*P.First, L);
  if (Workers > 1) {
    pthread_mutex_lock(&P.Lock);
    P.Launch = nullptr; // No worker can join any more.
    while (P.Joined != 0)
      pthread_cond_wait(&P.Done, &P.Lock);
    pthread_mutex_unlock(&P.Lock);
  }
}

extern "C" int mneme_host_launch(const MnemeHostKernel *Kernel,
                                 const MnemeHostLaunch *Launch,
                                 MnemeHostResult *Result) {
  memset(Result, 0, sizeof(*Result));
  LaunchState L = {};
  L.Kernel = Kernel;
  L.Config = Launch;
  L.Result = Result;
  L.FirstStart = ~uint64_t(0);
  if (checkConfig(L)) {
    pthread_mutex_lock(&LaunchLock);
    if (Pool *P = getPool()) {
      // Prepare this first: the deadline may pass at once.
      P->First->Thread = pthread_self();
      prepareFaults();
      sigset_t Old;
      unblockSignals(Old);
      {
        Deadline D(L, Launch->TimeoutSeconds);
        runOnPool(*P, L);
      }
      restoreSignals(Old);
      Result->Nanoseconds = L.LastEnd - L.FirstStart;
    } else {
      failLaunch(L, MNEME_HOST_OUT_OF_MEMORY, "no memory for a worker");
    }
    pthread_mutex_unlock(&LaunchLock);
  }
  Result->Status = L.Status;
  return Result->Status;
}
