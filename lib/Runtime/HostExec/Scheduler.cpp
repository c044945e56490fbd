//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs the threads of a block as coroutines or fibers, and computes the
/// results of warp operations and barriers.
///
/// A sweep (stepBlock) runs every runnable thread until it waits. An operation
/// with a mask is performed when all live lanes in its mask have arrived. An
/// operation without a mask (CONVERGE, WAVE_*) is performed when no lane of its
/// warp is runnable any more, by the lanes at the lowest site: sites are
/// numbered in program order, so this is the group that a GPU would have
/// reconverged first. Barriers count only live threads.
///
//===----------------------------------------------------------------------===//

#include "Scheduler.h"
#include "Executor.h"
#include <string.h>

using namespace mneme::host;

//===----------------------------------------------------------------------===//
// Fibers
//===----------------------------------------------------------------------===//

/// Saves the callee-saved registers and the stack pointer in *Save, and resumes
/// the context saved in \p To. Ends with a jump: a ret to another stack is
/// always mispredicted and costs three times as much.
extern "C" void __mneme_host_switch(void **Save, void *To);

#if defined(__x86_64__)
asm(R"(
.text
.p2align 4
.globl __mneme_host_switch
.hidden __mneme_host_switch
.type __mneme_host_switch,@function
__mneme_host_switch:
  push %rbp
  push %rbx
  push %r12
  push %r13
  push %r14
  push %r15
  mov %rsp,(%rdi)
  mov %rsi,%rsp
  pop %r15
  pop %r14
  pop %r13
  pop %r12
  pop %rbx
  pop %rbp
  pop %rcx
  jmp *%rcx
.size __mneme_host_switch,.-__mneme_host_switch
)");
static constexpr unsigned SavedRegisters = 6;
#else
#error "the host device has no fiber switch for this architecture"
#endif

static void suspendFiber() {
  Worker &W = *TheWorker;
  void *Frames;
  if (SwitchIsBusy)
    enterBusy(W);
  beginSwitch(&Frames, W.Bounds.Bottom, W.Bounds.Size);
  __mneme_host_switch(&W.Current->Handle, W.SchedulerStack);
  endSwitch(Frames, &W.Bounds);
  if (SwitchIsBusy)
    leaveBusy(W);
}

static void runFiber() {
  Worker &W = *TheWorker;
  endSwitch(nullptr, &W.Bounds);
  if (SwitchIsBusy)
    leaveBusy(W);
  MnemeHostThread *T = W.Current;
  using EntryFn = void (*)(MnemeHostThread *, void **);
  reinterpret_cast<EntryFn>(W.Launch->Kernel->Entry)(T, W.Launch->Config->Args);
  T->Op = MNEME_OP_EXIT;
  suspendFiber();
  __builtin_unreachable();
}

static void *createFiber(BlockState &S, uint32_t Index) {
  forgetFrames(S.Stacks + Index * FiberStride, FiberStride);
  // Cache coloring: stacks with equal page offsets would share cache sets.
  size_t Color = (Index * 192) & 4095 & ~size_t(63);
  void **Top =
      reinterpret_cast<void **>(S.Stacks + (Index + 1) * FiberStride - Color);
  *--Top = nullptr; // Return address of runFiber; aligns its frame.
  *--Top = reinterpret_cast<void *>(runFiber);
  for (unsigned I = 0; I != SavedRegisters; ++I)
    *--Top = nullptr;
  return Top;
}

extern "C" MnemeHostThread *__mneme_host_current() {
  return TheWorker->Current;
}

extern "C" uint64_t __mneme_host_sync(uint32_t Op, uint32_t Mode, uint64_t Mask,
                                      uint64_t Value, uint32_t B, uint32_t C,
                                      uint32_t Site) {
  MnemeHostThread *T = TheWorker->Current;
  T->Op = Op;
  T->Mode = Mode;
  T->Mask = Mask;
  T->Value = Value;
  T->B = B;
  T->C = C;
  T->Site = Site;
  suspendFiber();
  return T->Result;
}

extern "C" void __mneme_host_yield() {
  Worker &W = *TheWorker;
  // Only fibers can be suspended in a called function.
  if (W.Launch->Kernel->Strategy != MNEME_HOST_FIBER)
    return;
  W.Current->Op = MNEME_OP_NONE;
  suspendFiber();
}

void mneme::host::drawQuantum(Worker &W) {
  // Short and long ones alike.
  W.Quantum = W.QuantumBits
                  ? 1 + W.Random.below(2u << W.Random.below(W.QuantumBits))
                  : 0;
}

/// Called before each memory access that other threads may see. \p Weight: how
/// many accesses it counts for.
extern "C" void __mneme_host_preempt(uint32_t Weight) {
  Worker &W = *TheWorker;
  if (W.Quantum == 0)
    return;
  if (W.Quantum > Weight) {
    W.Quantum -= Weight;
    return;
  }
  drawQuantum(W);
  W.Preempted = true;
  W.Current->Op = MNEME_OP_PREEMPT;
  suspendFiber();
}

//===----------------------------------------------------------------------===//
// Operations of a warp
//===----------------------------------------------------------------------===//

static uint64_t bit(unsigned Lane) { return uint64_t(1) << Lane; }
static unsigned firstLane(uint64_t Lanes) { return __builtin_ctzll(Lanes); }

/// Calls \p Fn with each lane number in \p Lanes.
template <typename FnT> static void forEachLane(uint64_t Lanes, FnT Fn) {
  for (; Lanes; Lanes &= Lanes - 1)
    Fn(firstLane(Lanes));
}

/// The value of a lane that takes no part is undefined: the own one, or under a
/// strict schedule any.
static void shuffle(MnemeHostThread *Warp, uint64_t Group) {
  Worker &W = *TheWorker;
  forEachLane(Group, [&](unsigned Lane) {
    MnemeHostThread &T = Warp[Lane];
    int Source = 0;
    bool Valid = false;
    int B = T.B & 31, Clamp = T.C & 31, Segment = (T.C >> 8) & 31;
    int Max = (Lane & Segment) | (Clamp & ~Segment);
    switch (T.Mode) {
    case 0:
      Source = static_cast<int>(Lane) - B;
      Valid = Source >= Max;
      break;
    case 1:
      Source = Lane + B;
      Valid = Source <= Max;
      break;
    case 2:
      Source = Lane ^ B;
      Valid = Source <= Max;
      break;
    default:
      Source = (Lane & Segment) | (B & ~Segment);
      Valid = Source <= Max;
      break;
    }
    if (!Valid)
      Source = Lane;
    T.Result = Group >> Source & 1        ? Warp[Source].Value
               : W.Launch->Config->Strict ? W.Random.next()
                                          : T.Value;
    T.Result2 = Valid;
  });
}

static void vote(MnemeHostThread *Warp, uint64_t Group) {
  uint64_t Ballot = 0;
  forEachLane(Group, [&](unsigned Lane) {
    if (Warp[Lane].Value)
      Ballot |= bit(Lane);
  });
  forEachLane(Group, [&](unsigned Lane) {
    MnemeHostThread &T = Warp[Lane];
    uint64_t Mask = T.Mask & Group;
    uint64_t Mine = Ballot & Mask;
    switch (T.Mode) {
    case 0:
      T.Result = Mine != 0;
      break;
    case 1:
      T.Result = Mine == Mask;
      break;
    case 2:
      T.Result = Mine;
      break;
    default:
      T.Result = Mine == Mask || Mine == 0;
      break;
    }
  });
}

static void match(MnemeHostThread *Warp, uint64_t Group) {
  bool All = true;
  forEachLane(Group, [&](unsigned Lane) {
    uint64_t Equal = 0;
    forEachLane(Group, [&](unsigned Other) {
      if (Warp[Other].Value == Warp[Lane].Value)
        Equal |= bit(Other);
    });
    Warp[Lane].Result = Equal;
    Warp[Lane].Result2 = 1;
    All &= Equal == Group;
  });
  if (Warp[firstLane(Group)].Mode != 1)
    return;
  forEachLane(Group, [&](unsigned Lane) {
    Warp[Lane].Result = All ? Group : 0;
    Warp[Lane].Result2 = All;
  });
}

static uint32_t combine(uint32_t Mode, uint32_t A, uint32_t B) {
  int32_t SA = static_cast<int32_t>(A), SB = static_cast<int32_t>(B);
  switch (Mode) {
  case 0:
    return A + B;
  case 1:
    return SA < SB ? A : B;
  case 2:
    return SA > SB ? A : B;
  case 3:
    return A < B ? A : B;
  case 4:
    return A > B ? A : B;
  case 5:
    return A & B;
  case 6:
    return A | B;
  default:
    return A ^ B;
  }
}

static void reduce(MnemeHostThread *Warp, uint64_t Group) {
  unsigned First = firstLane(Group);
  uint32_t Result = Warp[First].Value;
  forEachLane(Group & (Group - 1), [&](unsigned Lane) {
    Result = combine(Warp[First].Mode, Result, Warp[Lane].Value);
  });
  forEachLane(Group, [&](unsigned Lane) { Warp[Lane].Result = Result; });
}

void mneme::host::executeWarpOp(MnemeHostThread *Warp, uint64_t Group,
                                unsigned WaveSize) {
  MnemeHostThread &First = Warp[firstLane(Group)];
  switch (First.Op) {
  case MNEME_OP_SHUFFLE:
    return shuffle(Warp, Group);
  case MNEME_OP_VOTE:
    return vote(Warp, Group);
  case MNEME_OP_MATCH:
    return match(Warp, Group);
  case MNEME_OP_REDUX:
    return reduce(Warp, Group);
  case MNEME_OP_MATRIX:
    return executeMatrixOp(Warp, Group);
  case MNEME_OP_CONVERGE:
    forEachLane(Group, [&](unsigned Lane) { Warp[Lane].Result = Group; });
    return;
  case MNEME_OP_WAVE_BALLOT: {
    uint64_t Ballot = 0;
    forEachLane(Group, [&](unsigned Lane) {
      if (Warp[Lane].Value)
        Ballot |= bit(Lane);
    });
    forEachLane(Group, [&](unsigned Lane) { Warp[Lane].Result = Ballot; });
    return;
  }
  case MNEME_OP_WAVE_PERMUTE:
    forEachLane(Group, [&](unsigned Lane) {
      unsigned Source = (Warp[Lane].B >> 2) & (WaveSize - 1);
      Warp[Lane].Result = (Group >> Source & 1) ? Warp[Source].Value : 0;
    });
    return;
  case MNEME_OP_WAVE_FIRST:
    forEachLane(Group, [&](unsigned Lane) { Warp[Lane].Result = First.Value; });
    return;
  case MNEME_OP_WAVE_READLANE:
    forEachLane(Group, [&](unsigned Lane) {
      Warp[Lane].Result = Warp[Warp[Lane].B & (WaveSize - 1)].Value;
    });
    return;
  default: // WARP_SYNC: only waits.
    return;
  }
}

static bool isMaskless(uint32_t Op) {
  return Op == MNEME_OP_CONVERGE || Op >= MNEME_OP_WAVE_BALLOT;
}

/// Performs every operation with a mask whose lanes have all arrived.
/// \returns the lanes that can continue.
static uint64_t resolveMasked(MnemeHostThread *Warp, const WarpState &P,
                              unsigned WaveSize) {
  uint64_t Done = 0;
  for (uint64_t Rest = P.Waiting; Rest; Rest &= Rest - 1) {
    unsigned Lane = firstLane(Rest);
    MnemeHostThread &T = Warp[Lane];
    if ((Done & bit(Lane)) || isMaskless(T.Op))
      continue;
    // Lanes that have exited are not waited for.
    uint64_t Need = T.Mask & P.Alive;
    if (!(Need & bit(Lane)) || (Need & P.Waiting) != Need)
      continue;
    bool Agree = true;
    for (uint64_t Q = P.Waiting; Q && Agree; Q &= Q - 1) {
      const MnemeHostThread &Other = Warp[firstLane(Q)];
      bool Same = Other.Op == T.Op && (Other.Mask & P.Alive) == Need;
      // A lane at the same site with a different mask that overlaps ours
      // disagrees, too: resolveLowestSite performs such operations together.
      if (Need & bit(firstLane(Q)))
        Agree = Same;
      else
        Agree = Other.Site != T.Site || !(Other.Mask & Need);
    }
    if (!Agree)
      continue;
    executeWarpOp(Warp, Need, WaveSize);
    Done |= Need;
  }
  return Done;
}

/// Performs the operation at the lowest site, among those without a mask, or
/// among all if \p Any is set (for masks with lanes that never arrive).
/// \param Splitter  Lanes that converge are any of those at the site.
static uint64_t resolveLowestSite(MnemeHostThread *Warp, const WarpState &P,
                                  unsigned WaveSize, bool Any,
                                  RandomSource *Splitter = nullptr) {
  uint64_t Group = 0;
  uint32_t Lowest = 0;
  forEachLane(P.Waiting, [&](unsigned Lane) {
    const MnemeHostThread &T = Warp[Lane];
    if (!Any && !isMaskless(T.Op))
      return;
    if (Group == 0 || T.Site < Lowest) {
      Lowest = T.Site;
      Group = 0;
    }
    if (T.Site == Lowest)
      Group |= bit(Lane);
  });
  if (Splitter && Group && Warp[firstLane(Group)].Op == MNEME_OP_CONVERGE)
    if (uint64_t Some = Group & Splitter->next())
      Group = Some;
  if (Group)
    executeWarpOp(Warp, Group, WaveSize);
  return Group;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

bool mneme::host::startBlock(Worker &W, BlockState &S) {
  MnemeHostBlock &B = S.Block;
  bool Fibers = W.Launch->Kernel->Strategy == MNEME_HOST_FIBER;
  if (Fibers && !mapFiberStacks(W, S))
    return false;
  B.FramesUsed = 0;
  S.Live = B.NumThreads;
  S.Cluster->Live += B.NumThreads;
  S.ClusterPhase = 0;
  S.Ends = false;
  S.PlainBarriers = true;
  S.NumAtBarrier = 0;
  memset(S.NumArrived, 0, sizeof(S.NumArrived));
  S.HeldWarps = 0;
  S.Arrangement = W.Launch->Config->Random ? W.Random.below(4) : 0;

  uint32_t Index = 0;
  for (uint32_t Z = 0; Z != B.BlockDim[2]; ++Z)
    for (uint32_t Y = 0; Y != B.BlockDim[1]; ++Y)
      for (uint32_t X = 0; X != B.BlockDim[0]; ++X, ++Index) {
        MnemeHostThread &T = B.Threads[Index];
        T.ThreadIdx[0] = X;
        T.ThreadIdx[1] = Y;
        T.ThreadIdx[2] = Z;
        T.Linear = Index;
        T.Block = &B;
        T.Op = MNEME_OP_NONE;
        T.NumBarriers = 0;
        T.Arrival = 0;
        T.Handle = Fibers ? createFiber(S, Index) : nullptr;
      }

  unsigned WaveSize = W.Launch->Kernel->WaveSize;
  S.NumWarps = (B.NumThreads + WaveSize - 1) / WaveSize;
  for (uint32_t I = 0; I != S.NumWarps; ++I) {
    uint32_t Lanes = B.NumThreads - I * WaveSize;
    uint64_t All = Lanes >= WaveSize && WaveSize == 64
                       ? ~uint64_t(0)
                       : bit(Lanes < WaveSize ? Lanes : WaveSize) - 1;
    S.Warps[I] = {All, All, 0, 0, 0, 0, 0};
  }
  return true;
}

static void resume(Worker &W, MnemeHostThread *T, bool Fibers) {
  W.Current = T;
  if (Fibers) {
    void *Frames;
    if (SwitchIsBusy)
      enterBusy(W);
    beginSwitch(&Frames, W.Active->Stacks + T->Linear * FiberStride,
                FiberStride);
    W.Bounds.InFiber = true;
    __mneme_host_switch(&W.SchedulerStack, T->Handle);
    W.Bounds.InFiber = false;
    endSwitch(Frames, nullptr);
    if (SwitchIsBusy)
      leaveBusy(W);
    return;
  }
  if (void *Handle = T->Handle) {
    // A coroutine's frame begins with its resume function.
    using ResumeFn = void (*)(void *);
    return (*static_cast<ResumeFn *>(Handle))(Handle);
  }
  using RampFn = void *(*)(MnemeHostThread *, void **);
  T->Handle = reinterpret_cast<RampFn>(W.Launch->Kernel->Entry)(
      T, W.Launch->Config->Args);
}

/// Lets the threads at the barrier of the cluster pass if all have arrived that
/// have not exited.
static void openCluster(ClusterState &C) {
  if (C.Arrived != C.Live)
    return;
  C.Arrived = 0;
  ++C.Phase;
}

/// Ends the launch: on a GPU, the behavior of \p T is undefined.
[[noreturn]] static void leaveClusterBarrier(const BlockState &S,
                                             const MnemeHostThread &T,
                                             const char *What) {
  Worker &W = *TheWorker;
  const uint32_t *At = S.Block.BlockIdx;
  leaveKernel(W, MNEME_HOST_DEADLOCK,
              "kernel '%s', block (%u,%u,%u): thread %u %s",
              W.Launch->Kernel->Name, At[0], At[1], At[2], T.Linear, What);
}

static void arriveAtCluster(BlockState &S, MnemeHostThread &T) {
  ClusterState &C = *S.Cluster;
  if (T.Arrival)
    leaveClusterBarrier(S, T,
                        "arrived twice at the barrier of the cluster without "
                        "waiting");
  T.Arrival = C.Phase + 1;
  ++C.Arrived;
  openCluster(C);
}

/// \returns true if the thread must wait for others.
static bool waitsForCluster(BlockState &S, MnemeHostThread &T) {
  if (!T.Arrival)
    leaveClusterBarrier(S, T,
                        "waits at the barrier of the cluster without having "
                        "arrived");
  if (T.Arrival == S.Cluster->Phase + 1)
    return true;
  T.Arrival = 0;
  return false;
}

/// Lets the threads run that the barrier of the cluster has let pass. \returns
/// true if there are some.
static bool passCluster(BlockState &S, unsigned WaveSize) {
  if (S.ClusterPhase == S.Cluster->Phase)
    return false;
  S.ClusterPhase = S.Cluster->Phase;
  bool Any = false;
  for (uint32_t K = 0; K != S.NumWarps; ++K) {
    WarpState &P = S.Warps[K];
    for (uint64_t Rest = P.AtCluster; Rest; Rest &= Rest - 1)
      S.Block.Threads[K * WaveSize + firstLane(Rest)].Arrival = 0;
    Any |= P.AtCluster != 0;
    P.Runnable |= P.AtCluster;
    P.AtCluster = 0;
  }
  return Any;
}

static void exitThread(BlockState &S, MnemeHostThread &T) {
  ClusterState &C = *S.Cluster;
  --S.Live;
  if (T.Arrival == C.Phase + 1)
    --C.Arrived;
  if (--C.Live != 0)
    return openCluster(C);
  for (BlockState *Block : C.Blocks)
    if (Block)
      Block->Ends = true;
}

/// Adds \p Lane, which has just stopped, to the set of its state. \returns
/// false if it made no progress: it yielded again, or was preempted in the loop
/// that yields.
static bool sortLane(BlockState &S, WarpState &P, MnemeHostThread &T,
                     uint64_t Lane) {
  const bool Spun = P.Spinning & Lane;
  if (T.Op == MNEME_OP_NONE)
    P.Spinning |= Lane;
  else if (T.Op != MNEME_OP_PREEMPT)
    P.Spinning &= ~Lane;
  switch (T.Op) {
  case MNEME_OP_NONE:
    P.Yielded |= Lane;
    return !Spun;
  case MNEME_OP_EXIT:
    P.Alive &= ~Lane;
    exitThread(S, T);
    return true;
  case MNEME_OP_PREEMPT:
    P.Runnable |= Lane;
    return !Spun;
  case MNEME_OP_BARRIER_ARRIVE:
    ++S.NumArrived[T.Mask & 15];
    S.PlainBarriers = false;
    P.Runnable |= Lane;
    return true;
  case MNEME_OP_CLUSTER_ARRIVE:
    arriveAtCluster(S, T);
    P.Runnable |= Lane;
    return true;
  case MNEME_OP_CLUSTER_WAIT:
    (waitsForCluster(S, T) ? P.AtCluster : P.Runnable) |= Lane;
    return true;
  case MNEME_OP_BARRIER:
  case MNEME_OP_BARRIER_RED:
    P.AtBarrier |= Lane;
    if (S.NumAtBarrier++ == 0)
      S.BarrierNumber = T.Mask;
    if (T.Op != MNEME_OP_BARRIER || T.Mask != S.BarrierNumber || T.B != 0)
      S.PlainBarriers = false;
    return true;
  default:
    P.Waiting |= Lane;
    return true;
  }
}

/// Releases the threads of the barrier (\p Number, \p Count) if all have
/// arrived.
static bool releaseNamed(BlockState &S, unsigned WaveSize, uint64_t Number,
                         uint32_t Count) {
  auto ForEachThere = [&](auto Fn) {
    for (uint32_t K = 0; K != S.NumWarps; ++K)
      forEachLane(S.Warps[K].AtBarrier, [&](unsigned Lane) {
        MnemeHostThread &T = S.Block.Threads[K * WaveSize + Lane];
        if (T.Mask == Number)
          Fn(S.Warps[K], Lane, T);
      });
  };
  uint32_t Arrived = 0, True = 0;
  ForEachThere([&](WarpState &, unsigned, MnemeHostThread &T) {
    ++Arrived;
    True += T.Op == MNEME_OP_BARRIER_RED && T.Value != 0;
  });
  uint32_t &Others = S.NumArrived[Number & 15];
  const uint32_t Possible = S.Live + Others;
  if (Arrived + Others < (Count && Count < Possible ? Count : Possible))
    return false;
  Others = 0;
  ForEachThere([&](WarpState &P, unsigned Lane, MnemeHostThread &T) {
    P.AtBarrier &= ~bit(Lane);
    --S.NumAtBarrier;
    P.Runnable |= bit(Lane);
    if (T.Op == MNEME_OP_BARRIER_RED)
      T.Result = T.Mode == 2 ? True : T.Mode == 0 ? True == Arrived : True != 0;
  });
  return true;
}

/// \returns true if threads were released.
static bool releaseBarriers(BlockState &S, unsigned WaveSize) {
  if (S.NumAtBarrier == 0)
    return false;
  if (S.PlainBarriers) {
    if (S.NumAtBarrier != S.Live)
      return false;
    for (uint32_t K = 0; K != S.NumWarps; ++K) {
      S.Warps[K].Runnable = S.Warps[K].AtBarrier;
      S.Warps[K].AtBarrier = 0;
    }
    S.NumAtBarrier = 0;
    return true;
  }
  bool Released = false;
  for (uint32_t K = 0; K != S.NumWarps; ++K)
    for (uint64_t Rest = S.Warps[K].AtBarrier; Rest; Rest &= Rest - 1) {
      unsigned Lane = firstLane(Rest);
      // Releasing removes lanes from the set that this loop visits.
      if (!(S.Warps[K].AtBarrier & bit(Lane)))
        continue;
      const MnemeHostThread &T = S.Block.Threads[K * WaveSize + Lane];
      Released |= releaseNamed(S, WaveSize, T.Mask, T.B);
    }
  S.PlainBarriers = S.NumAtBarrier == 0;
  return Released;
}

/// Ends the launch if threads of a warp wait at different barriers that a warp
/// must execute as a whole (bar.sync, barrier.sync.aligned): on a GPU, the
/// behavior is undefined. They are copies of one if a pass did not respect
/// "convergent". Coroutines do not store their sites.
static void checkAligned(Worker &W, const BlockState &S) {
  const MnemeHostKernel &Kernel = *W.Launch->Kernel;
  if (S.NumAtBarrier == 0 || Kernel.Strategy != MNEME_HOST_FIBER)
    return;
  for (uint32_t K = 0; K != S.NumWarps; ++K) {
    const MnemeHostThread *Warp = S.Block.Threads + K * Kernel.WaveSize;
    const MnemeHostThread *First = nullptr;
    for (uint64_t Rest = S.Warps[K].AtBarrier; Rest; Rest &= Rest - 1) {
      const MnemeHostThread &T = Warp[firstLane(Rest)];
      if (!T.C)
        continue;
      if (!First)
        First = &T;
      if (T.Site == First->Site)
        continue;
      const uint32_t *At = S.Block.BlockIdx;
      leaveKernel(W, MNEME_HOST_DEADLOCK,
                  "divergent barrier in kernel '%s', block (%u,%u,%u): threads "
                  "%u and %u of a warp wait at different barriers",
                  Kernel.Name, At[0], At[1], At[2], First->Linear, T.Linear);
    }
  }
}

/// Ends the launch if threads of a warp have executed different numbers of
/// barriers that a warp must execute as a whole.
static void checkBarriers(Worker &W, const BlockState &S) {
  const MnemeHostKernel &Kernel = *W.Launch->Kernel;
  for (uint32_t I = 0; I != S.Block.NumThreads; ++I) {
    const MnemeHostThread &T = S.Block.Threads[I];
    const MnemeHostThread &First =
        S.Block.Threads[I / Kernel.WaveSize * Kernel.WaveSize];
    if (T.NumBarriers == First.NumBarriers)
      continue;
    const uint32_t *At = S.Block.BlockIdx;
    leaveKernel(W, MNEME_HOST_DEADLOCK,
                "divergent barrier in kernel '%s', block (%u,%u,%u): threads "
                "%u and %u of a warp executed %u and %u barriers",
                Kernel.Name, At[0], At[1], At[2], First.Linear, T.Linear,
                First.NumBarriers, T.NumBarriers);
  }
}

/// Ends the launch if lanes of a warp wait for others in their mask that went
/// elsewhere: on a GPU, they would wait forever.
static void checkMasks(Worker &W, const BlockState &S) {
  const MnemeHostKernel &Kernel = *W.Launch->Kernel;
  for (uint32_t K = 0; K != S.NumWarps; ++K) {
    const WarpState &P = S.Warps[K];
    const MnemeHostThread *Warp = S.Block.Threads + K * Kernel.WaveSize;
    for (uint64_t Rest = P.Waiting; Rest; Rest &= Rest - 1) {
      const MnemeHostThread &T = Warp[firstLane(Rest)];
      uint64_t Missing = T.Mask & P.Alive & ~P.Waiting;
      if (isMaskless(T.Op) || !Missing)
        continue;
      const uint32_t *At = S.Block.BlockIdx;
      leaveKernel(W, MNEME_HOST_DEADLOCK,
                  "deadlock in kernel '%s', block (%u,%u,%u): thread %u waits "
                  "for thread %u of its warp, which waits elsewhere",
                  Kernel.Name, At[0], At[1], At[2], T.Linear,
                  Warp[firstLane(Missing)].Linear);
    }
  }
}

/// \returns whether threads may still come to the barrier of the cluster of
/// \p S, whose own threads all wait.
static bool mayReachCluster(const BlockState &S) {
  for (const BlockState *Block : S.Cluster->Blocks) {
    if (!Block)
      continue;
    if (Block->ClusterPhase != S.Cluster->Phase)
      return true;
    for (uint32_t K = 0; K != Block->NumWarps; ++K) {
      const WarpState &P = Block->Warps[K];
      if (P.Runnable || P.Yielded || (P.Waiting && Block != &S))
        return true;
    }
  }
  return false;
}

/// Nothing but spinning, or nothing at all: gives up waiting, first for lanes
/// that spin, then for lanes that a mask names but that went elsewhere.
static StepResult giveUpWaiting(Worker &W, BlockState &S) {
  const MnemeHostKernel &Kernel = *W.Launch->Kernel;
  bool Yielded = false;
  uint32_t NumAtCluster = 0;
  for (uint32_t K = 0; K != S.NumWarps; ++K) {
    Yielded |= S.Warps[K].Yielded != 0;
    NumAtCluster += __builtin_popcountll(S.Warps[K].AtCluster);
  }
  Yielded |= NumAtCluster != 0 && mayReachCluster(S);
  for (bool Any : {false, true}) {
    if (Any && W.Launch->Config->Random)
      checkMasks(W, S);
    bool Resolved = false;
    for (uint32_t K = 0; K != S.NumWarps; ++K) {
      WarpState &P = S.Warps[K];
      uint64_t Group = resolveLowestSite(S.Block.Threads + K * Kernel.WaveSize,
                                         P, Kernel.WaveSize, Any);
      P.Waiting &= ~Group;
      P.Runnable |= Group;
      Resolved |= Group != 0;
    }
    if (Resolved)
      return StepResult::Progress;
    if (Yielded)
      return StepResult::Spinning;
  }
  const uint32_t *At = S.Block.BlockIdx;
  leaveKernel(
      W, MNEME_HOST_DEADLOCK,
      "deadlock in kernel '%s', block (%u,%u,%u): %u of %u live threads "
      "wait at a barrier",
      Kernel.Name, At[0], At[1], At[2], S.NumAtBarrier + NumAtCluster, S.Live);
}

StepResult mneme::host::stepBlock(Worker &W, BlockState &S) {
  const MnemeHostKernel &Kernel = *W.Launch->Kernel;
  const unsigned WaveSize = Kernel.WaveSize;
  const bool Fibers = Kernel.Strategy == MNEME_HOST_FIBER;
  bool Progress = passCluster(S, WaveSize);

  for (uint32_t K = 0; K != S.NumWarps; ++K) {
    WarpState &P = S.Warps[K];
    MnemeHostThread *Warp = S.Block.Threads + K * WaveSize;
    uint64_t Run = P.Runnable | P.Yielded;
    P.Runnable = P.Yielded = 0;
    while (Run) {
      for (uint64_t Rest = Run; Rest; Rest &= Rest - 1) {
        unsigned Lane = firstLane(Rest);
        MnemeHostThread &T = Warp[Lane];
        resume(W, &T, Fibers);
        Progress |= sortLane(S, P, T, bit(Lane));
      }
      Run = 0;
      if (!P.Waiting)
        break;
      Run = resolveMasked(Warp, P, WaveSize);
      // Lanes that spin may still arrive.
      if (!Run && !P.Yielded)
        Run = resolveLowestSite(Warp, P, WaveSize, false);
      P.Waiting &= ~Run;
    }
  }
  if (S.Live == 0)
    return S.Ends ? StepResult::Finished : StepResult::Spinning;

  if (releaseBarriers(S, WaveSize))
    return StepResult::Progress;
  return Progress ? StepResult::Progress : giveUpWaiting(W, S);
}

//===----------------------------------------------------------------------===//
// Random schedules
//===----------------------------------------------------------------------===//

/// Lists the threads of \p S that can run and whose warp is not in \p Held.
static uint32_t listThreads(const BlockState &S, unsigned WaveSize,
                            uint32_t Held, uint16_t *Threads) {
  uint32_t Count = 0;
  for (uint32_t K = 0; K != S.NumWarps; ++K)
    if (!(Held >> K & 1))
      forEachLane(S.Warps[K].Runnable | S.Warps[K].Yielded, [&](unsigned Lane) {
        Threads[Count++] = K * WaveSize + Lane;
      });
  return Count;
}

/// Orders threads as the block's arrangement says: the last one first, the
/// first ones last, or, in half of the blocks, at random.
static void arrange(RandomSource &R, uint32_t Arrangement, uint16_t *Threads,
                    uint32_t Count) {
  auto Reverse = [&](uint32_t Begin, uint32_t End) {
    for (; Begin + 1 < End; ++Begin, --End) {
      uint16_t First = Threads[Begin];
      Threads[Begin] = Threads[End - 1];
      Threads[End - 1] = First;
    }
  };
  if (Arrangement == 0) {
    Reverse(0, Count);
  } else if (Arrangement == 1) {
    uint32_t First = R.below(Count);
    Reverse(0, First);
    Reverse(First, Count);
    Reverse(0, Count);
  } else {
    for (uint32_t I = Count; I > 1; --I) {
      uint32_t Other = R.below(I);
      uint16_t Last = Threads[I - 1];
      Threads[I - 1] = Threads[Other];
      Threads[Other] = Last;
    }
  }
}

StepResult mneme::host::stepAtRandom(Worker &W, BlockState &S) {
  const MnemeHostKernel &Kernel = *W.Launch->Kernel;
  const unsigned WaveSize = Kernel.WaveSize;
  RandomSource &R = W.Random;
  bool Progress = passCluster(S, WaveSize);
  // Some warps fall behind the others, as far as synchronization lets them.
  if (R.below(4) == 0)
    S.HeldWarps = R.below(2) ? 0 : static_cast<uint32_t>(R.next());
  uint16_t Threads[MNEME_HOST_MAX_THREADS];
  uint32_t Count = listThreads(S, WaveSize, S.HeldWarps, Threads);
  if (Count == 0) {
    S.HeldWarps = 0;
    Count = listThreads(S, WaveSize, 0, Threads);
  }
  if (Count != 0)
    arrange(R, S.Arrangement, Threads, Count);

  for (uint32_t I = 0; I != Count; ++I) {
    MnemeHostThread &T = S.Block.Threads[Threads[I]];
    WarpState &P = S.Warps[Threads[I] / WaveSize];
    uint64_t Lane = bit(Threads[I] % WaveSize);
    P.Runnable &= ~Lane;
    P.Yielded &= ~Lane;
    resume(W, &T, Kernel.Strategy == MNEME_HOST_FIBER);
    Progress |= sortLane(S, P, T, Lane);
    bool IsBarrier = T.Op == MNEME_OP_BARRIER || T.Op == MNEME_OP_BARRIER_RED;
    T.NumBarriers += IsBarrier && T.C;
  }
  if (S.Live == 0) {
    if (W.Launch->Config->Strict && Kernel.Strategy == MNEME_HOST_FIBER)
      checkBarriers(W, S);
    return S.Ends ? StepResult::Finished : StepResult::Spinning;
  }

  bool Runnable = false;
  for (uint32_t K = 0; K != S.NumWarps; ++K) {
    WarpState &P = S.Warps[K];
    MnemeHostThread *Warp = S.Block.Threads + K * WaveSize;
    uint64_t Run = P.Waiting ? resolveMasked(Warp, P, WaveSize) : 0;
    if (P.Waiting && !Run && !P.Runnable && !P.Yielded)
      Run = resolveLowestSite(Warp, P, WaveSize, false,
                              W.Launch->Config->Splits ? &R : nullptr);
    P.Waiting &= ~Run;
    P.Runnable |= Run;
    Runnable |= P.Runnable != 0;
  }
  checkAligned(W, S);
  if (releaseBarriers(S, WaveSize) || Progress)
    return StepResult::Progress;
  if (!Runnable)
    return giveUpWaiting(W, S);
  // Those that ran wait in a loop, perhaps for those that were held, or else for
  // another block.
  bool Held = S.HeldWarps != 0;
  S.HeldWarps = 0;
  return Held ? StepResult::Progress : StepResult::Spinning;
}
