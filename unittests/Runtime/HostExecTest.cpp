//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The host executor, driven by hand-written entry functions: what the compiler
// would make of a kernel, in C++.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Support/Compiler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <atomic>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <numeric>
#include <sched.h>
#include <set>
#include <string>
#include <sys/mman.h>
#include <sys/wait.h>
#include <thread>
#include <time.h>
#include <unistd.h>
#include <vector>

static void *findSymbol(const char *Name) {
  size_t Count;
  const MnemeHostSymbol *Symbols = mneme_host_symbols(&Count);
  for (size_t I = 0; I != Count; ++I)
    if (!strcmp(Symbols[I].Name, Name))
      return Symbols[I].Address;
  return nullptr;
}

template <typename FnT> static FnT *symbol(const char *Name) {
  return reinterpret_cast<FnT *>(findSymbol(Name));
}

static uint64_t sync(uint32_t Op, uint32_t Mode = 0, uint64_t Mask = 0,
                     uint64_t Value = 0, uint32_t B = 0, uint32_t C = 0,
                     uint32_t Site = 1) {
  static auto *Sync =
      symbol<uint64_t(uint32_t, uint32_t, uint64_t, uint64_t, uint32_t,
                      uint32_t, uint32_t)>("__mneme_host_sync");
  return Sync(Op, Mode, Mask, Value, B, C, Site);
}

static MnemeHostResult launch(const MnemeHostKernel &K, unsigned Grid,
                              unsigned Block, void **Args = nullptr,
                              unsigned Workers = 2, double Timeout = 10,
                              unsigned Dynamic = 0) {
  MnemeHostLaunch L = {{Grid, 1, 1}, {Block, 1, 1}, Dynamic,
                       Workers,      Timeout,       Args};
  MnemeHostResult R;
  EXPECT_EQ(mneme_host_launch(&K, &L, &R), R.Status);
  return R;
}

static MnemeHostKernel kernel(void *Entry, MnemeHostStrategy Strategy,
                              unsigned WaveSize = 32) {
  MnemeHostKernel K = {};
  K.Name = "test";
  K.Entry = Entry;
  K.Strategy = Strategy;
  K.WaveSize = WaveSize;
  return K;
}

/// The body of a fiber kernel; a launch runs it once a thread.
static std::function<void(MnemeHostThread &)> Body;

static void fiberEntry(MnemeHostThread *T, void **) { Body(*T); }

static MnemeHostResult runFibers(std::function<void(MnemeHostThread &)> Fn,
                                 unsigned Grid, unsigned Block,
                                 unsigned WaveSize = 32, double Timeout = 10) {
  Body = std::move(Fn);
  return launch(
      kernel(reinterpret_cast<void *>(fiberEntry), MNEME_HOST_FIBER, WaveSize),
      Grid, Block, nullptr, 2, Timeout);
}

static void loopEntry(MnemeHostBlock *B, void **Args) {
  auto &Fn = *static_cast<std::function<void(MnemeHostBlock &)> *>(Args[0]);
  Fn(*B);
}

static MnemeHostResult runLoop(std::function<void(MnemeHostBlock &)> Fn,
                               unsigned Grid = 1, unsigned Block = 1,
                               double Timeout = 10) {
  void *Args[] = {&Fn};
  return launch(kernel(reinterpret_cast<void *>(loopEntry), MNEME_HOST_LOOP),
                Grid, Block, Args, 2, Timeout);
}

TEST(HostExecTest, LoopRunsEveryBlockOnce) {
  std::vector<std::atomic<int>> Seen(1000);
  std::atomic<bool> Fits{true};
  MnemeHostResult R = runLoop(
      [&](MnemeHostBlock &B) {
        ++Seen[B.BlockIdx[0]];
        if (B.NumThreads != 3 || B.GridDim[0] != 1000 || B.BlockDim[0] != 3)
          Fits = false;
      },
      1000, 3);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_TRUE(Fits);
  for (auto &S : Seen)
    EXPECT_EQ(S, 1);
  EXPECT_GT(R.Nanoseconds, 0u);
}

TEST(HostExecTest, BlockIndexIsThreeDimensional) {
  std::vector<int> Seen(2 * 3 * 5);
  std::function<void(MnemeHostBlock &)> Fn = [&](MnemeHostBlock &B) {
    ++Seen[B.BlockIdx[0] + 2 * (B.BlockIdx[1] + 3 * B.BlockIdx[2])];
  };
  void *Args[] = {&Fn};
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(loopEntry), MNEME_HOST_LOOP);
  MnemeHostLaunch L = {{2, 3, 5}, {1, 1, 1}, 0, 1, 0, Args};
  MnemeHostResult R;
  ASSERT_EQ(mneme_host_launch(&K, &L, &R), MNEME_HOST_OK);
  EXPECT_EQ(Seen, std::vector<int>(30, 1));
}

TEST(HostExecTest, RefusesImpossibleLaunches) {
  auto Nothing = [](MnemeHostBlock &) {};
  MnemeHostResult R = runLoop(Nothing, 1, 1025);
  EXPECT_EQ(R.Status, MNEME_HOST_INVALID_CONFIG);
  EXPECT_STREQ(R.Message, "block (1025,1,1) has more than 1024 threads");
  EXPECT_EQ(runLoop(Nothing, 0, 1).Status, MNEME_HOST_INVALID_CONFIG);
  EXPECT_EQ(runLoop(Nothing, 1, 0).Status, MNEME_HOST_INVALID_CONFIG);

  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(fiberEntry), MNEME_HOST_FIBER);
  K.StaticShared = 1024;
  Body = [](MnemeHostThread &) {};
  EXPECT_EQ(launch(K, 1, 1, nullptr, 1, 0, (227 << 10) - 1024).Status,
            MNEME_HOST_OK);
  EXPECT_EQ(launch(K, 1, 1, nullptr, 1, 0, (227 << 10) - 1023).Status,
            MNEME_HOST_INVALID_CONFIG);
}

TEST(HostExecTest, SharedMemoryHas32BitAddressesAndDynamicPart) {
  bool Low = false;
  uint32_t Offset = 0, Size = 0;
  Body = [&](MnemeHostThread &T) {
    Low = reinterpret_cast<uint64_t>(T.Block->Shared) >> 32 == 0;
    Offset = T.Block->DynamicOffset;
    Size = T.Block->DynamicSize;
    memset(T.Block->Shared, 1, Offset + Size);
  };
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(fiberEntry), MNEME_HOST_FIBER);
  K.StaticShared = 256;
  MnemeHostResult R = launch(K, 1, 1, nullptr, 1, 0, 5000);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_TRUE(Low);
  EXPECT_EQ(Offset, 256u);
  EXPECT_EQ(Size, 5000u);
}

TEST(HostExecTest, BarrierSeparatesPhases) {
  const unsigned N = 200;
  std::vector<int> A(4 * N), B(4 * N);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned Base = T.Block->BlockIdx[0] * N;
        A[Base + T.Linear] = T.Linear;
        sync(MNEME_OP_BARRIER);
        B[Base + T.Linear] = A[Base + N - 1 - T.Linear];
      },
      4, N);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned I = 0; I != 4 * N; ++I)
    EXPECT_EQ(B[I], int(N - 1 - I % N));
}

TEST(HostExecTest, BarrierCountsLiveThreadsOnly) {
  std::atomic<int> Passed{0};
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        if (T.Linear % 3 == 0)
          return;
        sync(MNEME_OP_BARRIER);
        ++Passed;
      },
      1, 99);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_EQ(Passed, 66);
}

TEST(HostExecTest, NamedBarriersAreIndependent) {
  // Warp 0 and 1 meet at barrier 1 twice before warp 2 and 3 come to barrier 2.
  std::vector<int> Order;
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned Pair = T.Linear / 64;
        for (int I = 0; I != 2; ++I) {
          sync(MNEME_OP_BARRIER, 0, 1 + Pair, 0, 64);
          if (T.Linear % 64 == 0)
            Order.push_back(Pair);
        }
        sync(MNEME_OP_BARRIER);
      },
      1, 128);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_EQ(Order.size(), 4u);
}

TEST(HostExecTest, BarrierReductions) {
  std::vector<uint64_t> And(64), Or(64), Count(64);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned I = T.Linear;
        And[I] = sync(MNEME_OP_BARRIER_RED, 0, 0, I != 5);
        Or[I] = sync(MNEME_OP_BARRIER_RED, 1, 0, I == 5);
        Count[I] = sync(MNEME_OP_BARRIER_RED, 2, 0, I < 5 ? 7 : 0);
      },
      1, 64);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_EQ(And, std::vector<uint64_t>(64, 0));
  EXPECT_EQ(Or, std::vector<uint64_t>(64, 1));
  EXPECT_EQ(Count, std::vector<uint64_t>(64, 5));
}

TEST(HostExecTest, Shuffles) {
  const uint32_t All = 0xffffffff;
  struct Case {
    uint32_t Mode, B, C;
    std::function<unsigned(unsigned)> Source; ///< 32 or more: not valid.
  } Cases[] = {
      {0, 3, 0, [](unsigned L) { return L >= 3 ? L - 3 : 99; }},
      {1, 4, 0x1f, [](unsigned L) { return L + 4 < 32 ? L + 4 : 99; }},
      {2, 5, 0x1f, [](unsigned L) { return L ^ 5; }},
      {3, 7, 0x1f, [](unsigned) { return 7; }},
      // Segments of 8 lanes: mask 0x18 in bits 8..12.
      {3, 2, 0x181f, [](unsigned L) { return (L & ~7u) + 2; }},
      {1, 1, 0x181f, [](unsigned L) { return L % 8 < 7 ? L + 1 : 99; }},
  };
  for (const Case &C : Cases) {
    std::vector<uint64_t> Got(40), Valid(40);
    MnemeHostResult R = runFibers(
        [&](MnemeHostThread &T) {
          Got[T.Linear] =
              sync(MNEME_OP_SHUFFLE, C.Mode, All, 100 + T.Linear, C.B, C.C);
          Valid[T.Linear] = T.Result2;
        },
        1, 32);
    ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
    for (unsigned L = 0; L != 32; ++L) {
      unsigned S = C.Source(L);
      EXPECT_EQ(Got[L], 100 + (S < 32 ? S : L)) << C.Mode << " lane " << L;
      EXPECT_EQ(Valid[L], S < 32) << C.Mode << " lane " << L;
    }
  }
}

TEST(HostExecTest, ShuffleOfHalfAWarpAndOfAPartialWarp) {
  std::vector<uint64_t> Got(40);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned L = T.Linear;
        // Two groups of one warp, at different places; and a warp of 8 lanes.
        if (L < 16)
          Got[L] = sync(MNEME_OP_SHUFFLE, 3, 0xffff, L, 15, 0x1f, 1);
        else
          Got[L] = sync(MNEME_OP_SHUFFLE, 3, L < 32 ? 0xffff0000 : 0xffffffff,
                        L, L < 32 ? 16 : 3, 0x1f, 2);
      },
      1, 40);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned L = 0; L != 40; ++L)
    EXPECT_EQ(Got[L], L < 16 ? 15u : L < 32 ? 16u : 35u);
}

TEST(HostExecTest, Votes) {
  std::vector<uint64_t> Got(32 * 4);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        for (unsigned Mode = 0; Mode != 4; ++Mode)
          Got[Mode * 32 + T.Linear] =
              sync(MNEME_OP_VOTE, Mode, 0xffffffff, T.Linear % 2);
      },
      1, 32);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned L = 0; L != 32; ++L) {
    EXPECT_EQ(Got[L], 1u);
    EXPECT_EQ(Got[32 + L], 0u);
    EXPECT_EQ(Got[64 + L], 0xaaaaaaaau);
    EXPECT_EQ(Got[96 + L], 0u);
  }
}

TEST(HostExecTest, VoteWithAMaskThatDiffersByLane) {
  // Not allowed by CUDA, common in old code: each lane gets its part.
  std::vector<uint64_t> Got(32);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        Got[T.Linear] =
            sync(MNEME_OP_VOTE, 2, (uint64_t(2) << T.Linear) - 1, 1);
      },
      1, 32);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned L = 0; L != 32; ++L)
    EXPECT_EQ(Got[L], (uint64_t(2) << L) - 1);
}

TEST(HostExecTest, Matches) {
  std::vector<uint64_t> Any(32), All(32), Pred(32), Same(32);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned L = T.Linear;
        Any[L] = sync(MNEME_OP_MATCH, 0, 0xffffffff, L % 2);
        All[L] = sync(MNEME_OP_MATCH, 1, 0xffffffff, L % 2);
        Same[L] = sync(MNEME_OP_MATCH, 1, 0xffffffff, uint64_t(9) << 40);
        Pred[L] = T.Result2;
      },
      1, 32);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned L = 0; L != 32; ++L) {
    EXPECT_EQ(Any[L], L % 2 ? 0xaaaaaaaau : 0x55555555u);
    EXPECT_EQ(All[L], 0u);
    EXPECT_EQ(Same[L], 0xffffffffu);
    EXPECT_EQ(Pred[L], 1u);
  }
}

TEST(HostExecTest, Reductions) {
  const uint32_t Expected[] = {
      uint32_t(-16), uint32_t(-16), 15, 0, uint32_t(-1), 0, uint32_t(-1), 0};
  for (unsigned Mode = 0; Mode != 8; ++Mode) {
    std::vector<uint64_t> Got(32);
    MnemeHostResult R = runFibers(
        [&](MnemeHostThread &T) {
          Got[T.Linear] = sync(MNEME_OP_REDUX, Mode, 0xffffffff,
                               uint32_t(int(T.Linear) - 16));
        },
        1, 32);
    ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
    EXPECT_EQ(Got, std::vector<uint64_t>(32, Expected[Mode])) << Mode;
  }
}

TEST(HostExecTest, ConvergeGroupsByBranch) {
  std::vector<uint64_t> In(32), After(32);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned L = T.Linear;
        if (L % 4 == 0)
          In[L] = sync(MNEME_OP_CONVERGE, 0, 0, 0, 0, 0, 1);
        After[L] = sync(MNEME_OP_CONVERGE, 0, 0, 0, 0, 0, 2);
      },
      1, 32);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned L = 0; L != 32; ++L) {
    EXPECT_EQ(In[L], L % 4 ? 0u : 0x11111111u);
    EXPECT_EQ(After[L], 0xffffffffu);
  }
}

TEST(HostExecTest, WavesOf64) {
  std::vector<uint64_t> Ballot(64), First(64), Permute(64), Lane(64);
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        unsigned L = T.Linear;
        Ballot[L] = sync(MNEME_OP_WAVE_BALLOT, 0, 0, L >= 60, 0, 0, 1);
        First[L] = sync(MNEME_OP_WAVE_FIRST, 0, 0, L + 7, 0, 0, 2);
        Permute[L] =
            sync(MNEME_OP_WAVE_PERMUTE, 0, 0, L, ((L + 1) % 64) * 4, 0, 3);
        Lane[L] = sync(MNEME_OP_WAVE_READLANE, 0, 0, L, 63, 0, 4);
      },
      1, 64, 64);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  for (unsigned L = 0; L != 64; ++L) {
    EXPECT_EQ(Ballot[L], uint64_t(0xf) << 60);
    EXPECT_EQ(First[L], 7u);
    EXPECT_EQ(Permute[L], (L + 1) % 64);
    EXPECT_EQ(Lane[L], 63u);
  }
}

TEST(HostExecTest, ImplicitArgumentsOfCodeObject5) {
  std::vector<uint8_t> Seen(256);
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(fiberEntry), MNEME_HOST_FIBER, 64);
  Body = [&](MnemeHostThread &T) {
    if (T.Linear == 0)
      memcpy(Seen.data(), T.Block->ImplicitArgs, Seen.size());
  };
  MnemeHostLaunch L = {{7, 2, 1}, {64, 3, 1}, 48, 1, 0, nullptr};
  MnemeHostResult R;
  ASSERT_EQ(mneme_host_launch(&K, &L, &R), MNEME_HOST_OK) << R.Message;
  auto Read = [&](size_t Offset, size_t Size) {
    uint64_t V = 0;
    memcpy(&V, Seen.data() + Offset, Size);
    return V;
  };
  EXPECT_EQ(Read(0, 4), 7u);
  EXPECT_EQ(Read(4, 4), 2u);
  EXPECT_EQ(Read(8, 4), 1u);
  EXPECT_EQ(Read(12, 2), 64u);
  EXPECT_EQ(Read(14, 2), 3u);
  EXPECT_EQ(Read(18, 6), 0u);
  EXPECT_EQ(Read(64, 2), 2u);
  EXPECT_EQ(Read(120, 4), 48u);
}

namespace {
/// A coroutine as LLVM lays it out: the resume function comes first.
struct CountFrame {
  void (*Resume)(void *);
  MnemeHostThread *T;
  int *Out;
  int Step;
};
} // namespace

static void resumeCount(void *Handle) {
  auto *F = static_cast<CountFrame *>(Handle);
  F->Out[F->T->Linear] += F->T->Result + 1;
  F->T->Op = ++F->Step == 3 ? MNEME_OP_EXIT : MNEME_OP_BARRIER;
}

static void *countRamp(MnemeHostThread *T, void **Args) {
  auto *Allocate =
      symbol<void *(MnemeHostThread *, uint64_t)>("__mneme_host_frame");
  auto *F = static_cast<CountFrame *>(Allocate(T, sizeof(CountFrame)));
  *F = {resumeCount, T, static_cast<int *>(Args[0]), 0};
  T->Result = 0;
  T->Mask = 0;
  T->B = 0;
  T->Op = MNEME_OP_BARRIER;
  return F;
}

TEST(HostExecTest, CoroutinesResumeUntilTheyExit) {
  std::vector<int> Out(1024);
  void *Args[] = {Out.data()};
  MnemeHostResult R =
      launch(kernel(reinterpret_cast<void *>(countRamp), MNEME_HOST_COROUTINE),
             1, 1024, Args);
  ASSERT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_EQ(Out, std::vector<int>(1024, 3));
}

TEST(HostExecTest, CoroutineFramesGrowFromLaunchToLaunch) {
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(countRamp), MNEME_HOST_COROUTINE);
  // One worker: the second launch finds the frames of the first.
  for (unsigned Threads : {32, 1024}) {
    std::vector<int> Out(1024);
    void *Args[] = {Out.data()};
    EXPECT_EQ(launch(K, 1, Threads, Args, 1).Status, MNEME_HOST_OK);
    EXPECT_EQ(std::accumulate(Out.begin(), Out.end(), 0u), 3 * Threads);
  }
}

TEST(HostExecTest, GridBarrierBySpinning) {
  // More blocks than workers, all of which wait for all: later blocks must
  // start while earlier ones spin.
  const unsigned Blocks = 50;
  std::atomic<unsigned> Arrived{0}, Bad{0};
  auto *Yield = symbol<void()>("__mneme_host_yield");
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        sync(MNEME_OP_BARRIER);
        if (T.Linear == 0) {
          ++Arrived;
          while (Arrived != Blocks)
            Yield();
        }
        sync(MNEME_OP_BARRIER);
        if (Arrived != Blocks)
          ++Bad;
      },
      Blocks, 33);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_EQ(Bad, 0u);
}

//===----------------------------------------------------------------------===//
// Random schedules
//===----------------------------------------------------------------------===//

static MnemeHostResult runAtRandom(std::function<void(MnemeHostThread &)> Fn,
                                   unsigned Grid, unsigned Block,
                                   uint64_t Seed) {
  Body = std::move(Fn);
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(fiberEntry), MNEME_HOST_FIBER);
  MnemeHostLaunch L = {};
  L.Grid[0] = Grid;
  L.Block[0] = Block;
  L.Grid[1] = L.Grid[2] = L.Block[1] = L.Block[2] = 1;
  L.TimeoutSeconds = 10;
  L.Random = 1;
  L.Seed = Seed;
  MnemeHostResult R;
  EXPECT_EQ(mneme_host_launch(&K, &L, &R), MNEME_HOST_OK) << R.Message;
  return R;
}

TEST(HostExecTest, SeedDeterminesTheOrderOfThreads) {
  constexpr unsigned Blocks = 13, Threads = 70, Seeds = 12;
  using Event = std::pair<unsigned, unsigned>; // block and thread
  auto *Preempt = symbol<void(uint32_t)>("__mneme_host_preempt");
  std::vector<Event> All;
  for (unsigned B = 0; B != Blocks; ++B)
    for (unsigned T = 0; T != Threads; ++T)
      All.emplace_back(B, T);
  std::set<std::vector<Event>> Orders{All};
  for (unsigned Seed = 1; Seed <= Seeds; ++Seed) {
    std::vector<Event> Runs[2];
    for (std::vector<Event> &Order : Runs)
      runAtRandom(
          [&](MnemeHostThread &T) {
            Preempt(1);
            Order.emplace_back(T.Block->BlockIdx[0], T.Linear);
          },
          Blocks, Threads, Seed);
    EXPECT_EQ(Runs[0], Runs[1]);
    Orders.insert(Runs[0]);
    std::sort(Runs[0].begin(), Runs[0].end());
    EXPECT_EQ(Runs[0], All);
  }
  EXPECT_EQ(Orders.size(), Seeds + 1);
}

TEST(HostExecTest, RandomSchedulesKeepBarriersAndWarpOperations) {
  constexpr unsigned Blocks = 6, Threads = 100;
  auto *Preempt = symbol<void(uint32_t)>("__mneme_host_preempt");
  for (unsigned Seed = 1; Seed <= 12; ++Seed) {
    std::vector<unsigned> Arrived(Blocks, 0);
    unsigned Bad = 0;
    runAtRandom(
        [&](MnemeHostThread &T) {
          unsigned &Mine = Arrived[T.Block->BlockIdx[0]];
          Preempt(1);
          ++Mine;
          sync(MNEME_OP_BARRIER);
          Bad += Mine != Threads;
          unsigned Lanes = T.Linear / 32 == 3 ? 4 : 32;
          uint64_t All = (uint64_t(1) << Lanes) - 1;
          Preempt(1);
          Bad += sync(MNEME_OP_CONVERGE) != All;
          uint64_t Odd =
              sync(MNEME_OP_VOTE, 2, 0xffffffff, T.Linear & 1, 0, 0, 2);
          Bad += Odd != (All & 0xaaaaaaaa);
        },
        Blocks, Threads, Seed);
    EXPECT_EQ(Bad, 0u) << Seed;
  }
}

TEST(HostExecTest, RandomSchedulesLetBlocksWaitForEachOther) {
  constexpr unsigned Blocks = 20;
  auto *Yield = symbol<void()>("__mneme_host_yield");
  for (unsigned Seed = 1; Seed <= 8; ++Seed) {
    unsigned Arrived = 0;
    runAtRandom(
        [&](MnemeHostThread &T) {
          if (T.Linear == 0)
            ++Arrived;
          while (Arrived != Blocks)
            Yield();
        },
        Blocks, 33, Seed);
    EXPECT_EQ(Arrived, Blocks);
  }
}

TEST(HostExecTest, SomeSeedsShowALostUpdate) {
  constexpr unsigned Blocks = 8, Seeds = 32;
  auto *Preempt = symbol<void(uint32_t)>("__mneme_host_preempt");
  unsigned Shown = 0;
  for (unsigned Seed = 1; Seed <= Seeds; ++Seed) {
    unsigned Count = 0;
    runAtRandom(
        [&](MnemeHostThread &T) {
          if (T.Linear != 0)
            return;
          for (unsigned I = 0; I != 40; ++I)
            Preempt(1);
          unsigned Old = Count;
          Preempt(8);
          Count = Old + 1;
        },
        Blocks, 32, Seed);
    Shown += Count != Blocks;
  }
  EXPECT_GE(Shown, Seeds / 8);
  EXPECT_LT(Shown, Seeds); // Some only change the order.
}

TEST(HostExecTest, SpinningLanesWaitForTheirOwnWarp) {
  volatile int Flag = 0;
  auto *Yield = symbol<void()>("__mneme_host_yield");
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        if (T.Linear == 31)
          Flag = 1;
        else
          while (!Flag)
            Yield();
        sync(MNEME_OP_CONVERGE);
      },
      1, 32);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
}

TEST(HostExecTest, DeadlockIsReported) {
  MnemeHostResult R = runFibers(
      [](MnemeHostThread &T) {
        if (T.Linear < 32)
          sync(MNEME_OP_BARRIER, 0, 0);
        else
          sync(MNEME_OP_BARRIER, 0, 1);
      },
      1, 64);
  EXPECT_EQ(R.Status, MNEME_HOST_DEADLOCK);
  EXPECT_NE(strstr(R.Message, "deadlock in kernel 'test'"), nullptr);
}

TEST(HostExecTest, IllegalAddressEndsTheLaunchOnly) {
  for (int Round = 0; Round != 3; ++Round) {
    MnemeHostResult R = runLoop(
        [](MnemeHostBlock &B) {
          if (B.BlockIdx[0] == 17)
            *reinterpret_cast<volatile int *>(0x10) = 1;
        },
        40);
    EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_ADDRESS);
    EXPECT_EQ(R.FaultAddress, 0x10u);
    EXPECT_NE(strstr(R.Message, "illegal address 0x10 in kernel 'test', block "
                                "(17,0,0)"),
              nullptr)
        << R.Message;
    EXPECT_EQ(runLoop([](MnemeHostBlock &) {}).Status, MNEME_HOST_OK);
  }
  MnemeHostResult R = runFibers(
      [](MnemeHostThread &T) {
        sync(MNEME_OP_BARRIER);
        if (T.Linear == 3)
          *reinterpret_cast<volatile int *>(0x18) = 1;
      },
      4, 64);
  EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_ADDRESS);
  EXPECT_EQ(R.FaultAddress, 0x18u);
}

TEST(HostExecTest, SharedMemoryEndsInAGuardPage) {
  // The most a block can have: a block's memory may be left over from a launch
  // that had more, but never from one that had more than this.
  constexpr size_t End = (MNEME_HOST_SHARED_SIZE + 4095) / 4096 * 4096;
  bool Last = false;
  Body = [&](MnemeHostThread &T) {
    volatile uint8_t *Shared = static_cast<uint8_t *>(T.Block->Shared);
    Shared[End - 1] = 1;
    Last = true;
    Shared[End] = 1;
  };
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(fiberEntry), MNEME_HOST_FIBER);
  MnemeHostResult R = launch(K, 1, 1, nullptr, 1, 0, MNEME_HOST_SHARED_SIZE);
  EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_ADDRESS);
  EXPECT_TRUE(Last);
}

static int recurse(volatile int *Depth) {
  volatile char Local[512];
  Local[0] = static_cast<char>(++*Depth);
  return *Depth < 100000 ? recurse(Depth) + Local[0] : 0;
}

TEST(HostExecTest, FiberStackOverflow) {
  MnemeHostResult R = runFibers(
      [](MnemeHostThread &) {
        volatile int Depth = 0;
        recurse(&Depth);
      },
      1, 8);
  EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_ADDRESS);
  EXPECT_NE(strstr(R.Message, "stack overflow in kernel 'test'"), nullptr)
      << R.Message;
}

#ifdef __clang__
__attribute__((no_sanitize("integer-divide-by-zero")))
#endif
static void divideByZero() {
  volatile int Zero = 0;
  Zero = 7 / Zero;
}

TEST(HostExecTest, TrapsAndUnsupported) {
  auto *Trap = symbol<void()>("__mneme_host_trap");
  auto *Unsupported = symbol<void(const char *)>("__mneme_host_unsupported");
  EXPECT_EQ(runLoop([&](MnemeHostBlock &) { Trap(); }).Status, MNEME_HOST_TRAP);
  MnemeHostResult R =
      runLoop([&](MnemeHostBlock &) { Unsupported("wmma.load"); });
  EXPECT_EQ(R.Status, MNEME_HOST_UNSUPPORTED);
  EXPECT_STREQ(R.Message, "kernel 'test' executed 'wmma.load', which the host "
                          "device does not have");
  R = runLoop([](MnemeHostBlock &) { divideByZero(); });
  EXPECT_EQ(R.Status, MNEME_HOST_TRAP);
  R = runLoop([](MnemeHostBlock &) { __builtin_trap(); });
  EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_INSTRUCTION);
}

TEST(HostExecTest, AssertionNamesTheThread) {
  auto *Fail =
      symbol<void(const char *, const char *, uint32_t, const char *, size_t)>(
          "__assertfail");
  testing::internal::CaptureStderr();
  MnemeHostResult R = runFibers(
      [&](MnemeHostThread &T) {
        if (T.Linear == 5)
          Fail("x < 3", "a.cu", 12, "void k(int)", 1);
      },
      1, 8);
  // After it AddressSanitizer may warn that it does not know a fiber's stack.
  EXPECT_THAT(
      testing::internal::GetCapturedStderr(),
      testing::StartsWith("a.cu:12: void k(int): block: [0,0,0], thread: "
                          "[5,0,0] Assertion `x < 3` failed.\n"));
  EXPECT_EQ(R.Status, MNEME_HOST_ASSERT);
}

TEST(HostExecTest, EndlessLoopTimesOutOnEveryWorker) {
  MnemeHostResult R = runLoop(
      [](MnemeHostBlock &) {
        for (volatile int I = 0;;)
          I = I + 1;
      },
      8, 1, 0.05);
  EXPECT_EQ(R.Status, MNEME_HOST_TIMEOUT);
  EXPECT_STREQ(R.Message, "kernel 'test' ran longer than 0.05 s");
  auto *Yield = symbol<void()>("__mneme_host_yield");
  R = runFibers(
      [&](MnemeHostThread &) {
        for (;;)
          Yield();
      },
      8, 32, 32, 0.05);
  EXPECT_EQ(R.Status, MNEME_HOST_TIMEOUT);
  EXPECT_EQ(runLoop([](MnemeHostBlock &) {}, 8).Status, MNEME_HOST_OK);
}

TEST(HostExecTest, TheLimitDoesNotDependOnTheLoadOfTheMachine) {
  cpu_set_t All, One;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(All), &All), 0);
  int Core = 0;
  while (!CPU_ISSET(Core, &All))
    ++Core;
  CPU_ZERO(&One);
  CPU_SET(Core, &One);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(One), &One), 0);
  std::atomic<bool> IsOver{false};
  std::vector<std::thread> Others; // They inherit the core.
  for (int I = 0; I != 4; ++I)
    Others.emplace_back([&] {
      while (!IsOver)
        ;
    });
  MnemeHostResult R = runLoop(
      [](MnemeHostBlock &) {
        auto Seconds = [] {
          timespec T;
          clock_gettime(CLOCK_THREAD_CPUTIME_ID, &T);
          return T.tv_sec + T.tv_nsec * 1e-9;
        };
        for (double End = Seconds() + 0.2; Seconds() < End;)
          ;
      },
      1, 1, /*Timeout=*/0.4);
  IsOver = true;
  for (std::thread &T : Others)
    T.join();
  ::sched_setaffinity(0, sizeof(All), &All);
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
}

TEST(HostExecTest, AFailureEndsTheOtherWorkersToo) {
  std::atomic<int> Started{0};
  MnemeHostResult R = runLoop(
      [&](MnemeHostBlock &B) {
        ++Started;
        if (B.BlockIdx[0] != 0)
          for (volatile int I = 0;;)
            I = I + 1;
        while (Started != 2)
          ;
        *reinterpret_cast<volatile int *>(0x20) = 1;
      },
      2, 1, 20);
  EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_ADDRESS);
}

TEST(HostExecTest, CopiesSurviveBadAddresses) {
  char A[16] = "hello", B[16] = "";
  EXPECT_EQ(mneme_host_copy(B, A, 16, 0), 0);
  EXPECT_STREQ(B, "hello");
  EXPECT_EQ(mneme_host_copy(nullptr, nullptr, 0, 0), 0);
  EXPECT_EQ(mneme_host_copy(B, nullptr, 4, 0), -1);
  EXPECT_EQ(mneme_host_copy(B, reinterpret_cast<void *>(0x40), 4, 0), -1);
  EXPECT_EQ(mneme_host_copy(reinterpret_cast<void *>(0x40), A, 4, 0), -1);
  EXPECT_EQ(mneme_host_set(reinterpret_cast<void *>(0x40), 0, 4, 0), -1);
  EXPECT_EQ(mneme_host_set(A, 'x', 5, 0), 0);
  EXPECT_STREQ(A, "xxxxx");
}

static volatile sig_atomic_t ApplicationSaw;
static sigjmp_buf ApplicationResume;

TEST(HostExecTest, FaultsOutsideKernelsGoToTheApplication) {
  struct sigaction Action = {};
  Action.sa_handler = [](int) {
    ApplicationSaw = 1;
    siglongjmp(ApplicationResume, 1);
  };
  sigaction(SIGSEGV, &Action, nullptr);
  EXPECT_EQ(runLoop([](MnemeHostBlock &) {
              *reinterpret_cast<volatile int *>(0x10) = 1;
            }).Status,
            MNEME_HOST_ILLEGAL_ADDRESS);
  EXPECT_FALSE(ApplicationSaw);
  if (!sigsetjmp(ApplicationResume, 1))
    *reinterpret_cast<volatile int *>(0x10) = 1;
  EXPECT_TRUE(ApplicationSaw);
  // The executor notices at its next launch that it has no handler.
  signal(SIGSEGV, SIG_DFL);
  EXPECT_EQ(runLoop([](MnemeHostBlock &) {
              *reinterpret_cast<volatile int *>(0x10) = 1;
            }).Status,
            MNEME_HOST_ILLEGAL_ADDRESS);
}

TEST(HostExecTest, WithoutAHandlerAFaultOutsideKernelsKills) {
#if LLVM_ADDRESS_SANITIZER_BUILD
  GTEST_SKIP() << "AddressSanitizer has a handler";
#endif
  EXPECT_EQ(runLoop([](MnemeHostBlock &) {}).Status, MNEME_HOST_OK);
  pid_t Child = fork();
  if (Child == 0) {
    *reinterpret_cast<volatile int *>(0x10) = 1;
    _exit(0);
  }
  int Status;
  waitpid(Child, &Status, 0);
  EXPECT_TRUE(WIFSIGNALED(Status));
  EXPECT_EQ(WTERMSIG(Status), SIGSEGV);
}

TEST(HostExecTest, AForkedChildHasItsOwnPool) {
  EXPECT_EQ(runLoop([](MnemeHostBlock &) {}, 64).Status, MNEME_HOST_OK);
  pid_t Child = fork();
  if (Child == 0) {
    std::atomic<int> Count{0};
    MnemeHostResult R = runLoop([&](MnemeHostBlock &) { ++Count; }, 64, 1, 5);
    _exit(R.Status == MNEME_HOST_OK && Count == 64 ? 7 : 8);
  }
  int Status;
  waitpid(Child, &Status, 0);
  EXPECT_TRUE(WIFEXITED(Status));
  EXPECT_EQ(WEXITSTATUS(Status), 7);
}

TEST(HostExecTest, LaunchesFromSeveralThreadsTakeTurns) {
  std::atomic<int> Inside{0}, Worst{0}, Failed{0};
  std::vector<std::thread> Threads;
  for (int I = 0; I != 4; ++I)
    Threads.emplace_back([&] {
      for (int J = 0; J != 50; ++J) {
        std::function<void(MnemeHostBlock &)> Fn = [&](MnemeHostBlock &) {
          int Now = ++Inside;
          if (Now > Worst)
            Worst = Now;
          --Inside;
        };
        void *Args[] = {&Fn};
        MnemeHostKernel K =
            kernel(reinterpret_cast<void *>(loopEntry), MNEME_HOST_LOOP);
        MnemeHostLaunch L = {{4, 1, 1}, {1, 1, 1}, 0, 1, 0, Args};
        MnemeHostResult R;
        Failed += mneme_host_launch(&K, &L, &R) != MNEME_HOST_OK;
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(Failed, 0);
  EXPECT_EQ(Worst, 1);
}

TEST(HostExecTest, PrintfReadsTheDeviceBuffer) {
  auto *Print = symbol<int(const char *, const char *)>("vprintf");
  struct {
    int A = -7;
    int Pad0 = 0;
    double B = 1.5;
    const char *C = "text";
    long long D = 1ll << 40;
    int Width = 6;
    int E = 42;
    void *F = reinterpret_cast<void *>(0x1234);
    int G = 'x';
  } Buffer;
  int Count = 0;
  testing::internal::CaptureStdout();
  MnemeHostResult R = runLoop([&](MnemeHostBlock &) {
    Count = Print("%d %.2f %s %lld [%*d] %p %c 100%%\n",
                  reinterpret_cast<const char *>(&Buffer));
  });
  std::string Out = testing::internal::GetCapturedStdout();
  EXPECT_EQ(R.Status, MNEME_HOST_OK) << R.Message;
  EXPECT_EQ(Out, "-7 1.50 text 1099511627776 [    42] 0x1234 x 100%\n");
  EXPECT_EQ(Count, 7);

  const char *Bad = reinterpret_cast<const char *>(0x10);
  R = runLoop([&](MnemeHostBlock &) {
    Print("%s", reinterpret_cast<const char *>(&Bad));
  });
  EXPECT_EQ(R.Status, MNEME_HOST_ILLEGAL_ADDRESS);
}

TEST(HostExecTest, DeviceHeapRefusesForeignPointers) {
  auto *Malloc = symbol<void *(size_t)>("malloc");
  auto *Free = symbol<void(void *)>("free");
  bool Aligned = false;
  EXPECT_EQ(runLoop([&](MnemeHostBlock &) {
              void *P = Malloc(100);
              Aligned = P && reinterpret_cast<uintptr_t>(P) % 16 == 0;
              memset(P, 1, 100);
              Free(P);
              Free(nullptr);
            }).Status,
            MNEME_HOST_OK);
  EXPECT_TRUE(Aligned);
  alignas(16) static char Foreign[64];
  EXPECT_EQ(runLoop([&](MnemeHostBlock &) { Free(Foreign + 32); }).Status,
            MNEME_HOST_ILLEGAL_ADDRESS);
}

TEST(HostExecTest, SupportRoutines) {
  auto *Extend = symbol<float(_Float16)>("__extendhfsf2");
  auto *Truncate = symbol<_Float16(float)>("__truncsfhf2");
  EXPECT_EQ(Extend(Truncate(1.0009765625f)), 1.0009765625f);
  EXPECT_EQ(Extend(Truncate(1e9f)), INFINITY);
  auto *ExtendB = symbol<float(_Float16)>("__extendbfsf2");
  auto *TruncateB = symbol<_Float16(float)>("__truncsfbf2");
  auto *TruncateDB = symbol<_Float16(double)>("__truncdfbf2");
  EXPECT_EQ(ExtendB(TruncateB(1.0f + 0x1p-8f)), 1.0f);
  EXPECT_EQ(ExtendB(TruncateB(1.0f + 3 * 0x1p-8f)), 1.0f + 0x1p-6f);
  // Just above a tie that float cannot tell from the tie.
  EXPECT_EQ(ExtendB(TruncateDB(1.0 + 0x1p-8 + 0x1p-40)), 1.0f + 0x1p-7f);
  EXPECT_TRUE(std::isnan(ExtendB(TruncateB(NAN))));
  auto *Div = symbol<__int128(__int128, __int128)>("__divti3");
  EXPECT_TRUE(Div(__int128(1) << 100, -3) == -((__int128(1) << 100) / 3));
  EXPECT_EQ(symbol<float(float)>("exp2f")(3.0f), 8.0f);
  EXPECT_EQ(symbol<double(double)>("exp2")(3.0), 8.0);
  EXPECT_EQ(findSymbol("system"), nullptr);
}

TEST(HostExecTest, FillsSharedMemory) {
  constexpr unsigned Words = 4096;
  std::vector<uint32_t> Start(Words);
  std::function<void(MnemeHostBlock &)> Fn = [&](MnemeHostBlock &B) {
    memcpy(Start.data(), B.Shared, 4 * Words);
    memset(B.Shared, 0x5a, 4 * Words);
  };
  void *Args[] = {&Fn};
  MnemeHostKernel K =
      kernel(reinterpret_cast<void *>(loopEntry), MNEME_HOST_LOOP);
  K.StaticShared = 4 * Words;
  auto Count = [&](uint64_t Fill, uint32_t Word) {
    MnemeHostLaunch L = {{1, 1, 1}, {1, 1, 1}, 0, 1, 0, Args};
    L.Fill = Fill;
    MnemeHostResult R;
    EXPECT_EQ(mneme_host_launch(&K, &L, &R), MNEME_HOST_OK);
    return std::count(Start.begin(), Start.end(), Word);
  };
  EXPECT_EQ(Count(MNEME_HOST_FILL_NONE, 0), Words);
  EXPECT_EQ(Count(MNEME_HOST_FILL_LEFT, 0x5a5a5a5a), Words);
  EXPECT_EQ(Count(MNEME_HOST_FILL_ZEROS, 0), Words);
  EXPECT_EQ(Count(MNEME_HOST_FILL_ONES, ~0u), Words);
  // A part of random words is zero.
  for (uint64_t Seed : {MNEME_HOST_FILL_RANDOM + 0, MNEME_HOST_FILL_RANDOM + 7})
    EXPECT_NEAR(Count(Seed, 0), Words / 4, Words / 16);
  std::vector<uint32_t> Drawn = Start;
  Count(MNEME_HOST_FILL_RANDOM + 7, 0);
  EXPECT_EQ(Start, Drawn);
  Count(MNEME_HOST_FILL_RANDOM + 8, 0);
  EXPECT_NE(Start, Drawn);
}
