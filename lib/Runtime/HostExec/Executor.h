//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the files of the host executor share. Everything here is reached from
/// signal handlers or from inside an application, so: plain structures, mmap,
/// pthreads, and singletons that are never destroyed.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTEXEC_EXECUTOR_H
#define MNEME_LIB_RUNTIME_HOSTEXEC_EXECUTOR_H

#include "Sanitizer.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include <atomic>
#include <initializer_list>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

namespace mneme {
namespace host {

constexpr unsigned MaxWarps = MNEME_HOST_MAX_THREADS / 32;

/// A fiber's stack with its guard page, the lowest.
constexpr size_t FiberStride = (128u << 10) + 4096;

/// The lanes of one warp (or wave), by what they do. A live lane is in exactly
/// one of Runnable, Yielded, AtBarrier and Waiting.
struct WarpState {
  uint64_t Alive;
  uint64_t Runnable;
  uint64_t Yielded;   ///< Gave way in a spin loop; runnable, but not progress.
  uint64_t AtBarrier; ///< Block barriers.
  uint64_t Waiting;   ///< Operations of the warp.
};

/// Everything one live block needs. A worker has one, and more only when blocks
/// spin, waiting for others (grid barriers).
struct BlockState {
  MnemeHostBlock Block;
  WarpState Warps[MaxWarps];
  uint32_t NumWarps;
  uint32_t Live; ///< Threads that have not exited.
  /// All threads at a barrier are at the same one, which takes no value.
  bool PlainBarriers;
  uint64_t BarrierNumber; ///< Of the first thread that came.
  uint32_t NumAtBarrier;
  uint32_t Arrangement; ///< Random schedules: how a step orders its threads.
  uint32_t HeldWarps;   ///< Random schedules: warps that do not run now.
  size_t ThreadsSize; ///< Bytes mapped, as all sizes below.
  size_t SharedSize;
  size_t ContextSize;
  size_t FramesSize;
  size_t StacksSize;
  uint8_t *Stacks;
  BlockState *Next; ///< In the worker's ring of live blocks or its free list.
};

/// Where to go on when the code between enter and leave faults.
struct FaultFrame {
  sigjmp_buf Resume;
  /// A fault goes to the handler that was there before us, where there is one.
  bool AsksHandlers;
  volatile int Signal;
  volatile uint64_t Address;
};

struct LaunchState;

/// The pseudorandom numbers of a schedule (splitmix64).
struct RandomSource {
  uint64_t State;

  uint64_t next();
  /// \returns a number below \p Count, which is not 0.
  uint32_t below(uint32_t Count) { return next() % Count; }
};

/// The blocks of a launch in a pseudorandom order: a Feistel network over the
/// next power of four, without the numbers that are no blocks.
struct BlockOrder {
  uint64_t Total;
  unsigned HalfBits;
  uint64_t Keys[4];

  void init(uint64_t NumBlocks, RandomSource &R);
  /// \returns the block at position \p I of the order.
  uint64_t operator()(uint64_t I) const;
};

/// One OS thread that runs blocks. Worker 0 is the thread that launches.
struct Worker {
  unsigned Index;
  pthread_t Thread;
  LaunchState *Launch;
  BlockState *Active;       ///< The block that runs now.
  BlockState *Free;         ///< Block states to reuse.
  MnemeHostThread *Current; ///< The GPU thread that runs now.
  void *SchedulerStack;     ///< Of the fiber switch.
  SchedulerStackBounds Bounds;
  FaultFrame Fault;
  /// Nonzero while a lock of the C library may be held: leaving is put off.
  volatile sig_atomic_t Busy;
  volatile sig_atomic_t LeaveLater;
  RandomSource Random;
  /// Accesses of up to this power of two, by weight, are between two
  /// preemptions; 0: there is no preemption.
  uint32_t QuantumBits;
  uint32_t Quantum; ///< Accesses left until the next preemption.
  bool Preempted;   ///< One came since a block was chosen.
  Worker *Next;
};

struct LaunchState {
  const MnemeHostKernel *Kernel;
  const MnemeHostLaunch *Config;
  MnemeHostResult *Result;
  uint32_t NumThreads; ///< Of a block.
  uint64_t Total;      ///< Blocks.
  uint64_t Chunk;      ///< Blocks a worker takes at once.
  BlockOrder Order;    ///< Random schedules only.
  uint32_t MaxLive;    ///< Blocks that a random schedule interleaves.
  /// What CUDA's cooperative groups synchronize a grid with: a size, a barrier.
  uint32_t GridWorkspace[2];
  std::atomic<uint64_t> NextBlock;
  std::atomic<int> Status; ///< First failure wins.
  std::atomic<uint64_t> FirstStart;
  std::atomic<uint64_t> LastEnd;
};

/// The worker that this OS thread is while it runs blocks. initial-exec: signal
/// handlers and generated code read it without a call that could allocate.
extern thread_local Worker *TheWorker
    __attribute__((tls_model("initial-exec")));

uint64_t nanoseconds();

// Memory.cpp

/// Maps \p Size bytes (rounded up to pages), zeroed, between two guard pages.
/// \returns null when there is no memory.
uint8_t *mapGuarded(size_t Size, bool Low32);
void unmapGuarded(uint8_t *Base, size_t Size);
/// \returns a block state with room for a block of \p Launch, or null.
BlockState *acquireBlock(Worker &W);
void releaseBlock(Worker &W, BlockState *S);
/// Maps the fiber stacks of \p S. \returns false when there is no memory.
bool mapFiberStacks(BlockState &S);
/// Says whether \p Address lies in a guard page of \p S's fiber stacks.
bool isFiberGuard(const BlockState &S, uint64_t Address);

// Scheduler.cpp

enum class StepResult { Progress, Spinning, Finished };

/// Makes the threads of \p S ready to start.
/// \returns false when there is no memory.
bool startBlock(Worker &W, BlockState &S);
/// Runs each thread that can run until it waits, and resolves what can be.
StepResult stepBlock(Worker &W, BlockState &S);
/// Runs threads of \p S in a random order, each until it waits or is
/// preempted, and resolves what can be.
StepResult stepAtRandom(Worker &W, BlockState &S);
/// Chooses when the worker's random schedule preempts the next thread.
void drawQuantum(Worker &W);

// Faults.cpp

/// Makes our handlers the current ones and gives this OS thread a signal stack.
void prepareFaults();
/// Lets the five signals through in this thread; \p Old is for restoreSignals.
void unblockSignals(sigset_t &Old);
void restoreSignals(const sigset_t &Old);
/// Ends the launch that this worker runs, from inside a kernel.
[[noreturn]] void leaveKernel(Worker &W, int Status, const char *Format, ...)
    __attribute__((format(printf, 3, 4)));
/// Records a failure of the launch unless there already is one.
void failLaunch(LaunchState &L, int Status, const char *Format, ...)
    __attribute__((format(printf, 3, 4)));
/// Turns the signal that ended the kernel into the launch's failure.
void reportFault(Worker &W);
/// Calls kernel code; \returns false when that faulted.
bool enterFaultFrame(FaultFrame &Frame, void (*Body)(void *), void *Arg);
/// Nests: code that must not be left half-way (see Worker::Busy).
void enterBusy(Worker &W);
void leaveBusy(Worker &W);

/// Makes \p Thread leave its launch if that has failed. Async-signal-safe.
void interruptThread(pthread_t Thread);

/// Ends the running launch after \p Seconds; one at a time.
class Deadline {
public:
  Deadline(LaunchState &L, double Seconds);
  ~Deadline();

private:
  timer_t Timer;
  bool Armed = false;
};

// Executor.cpp

/// Makes all workers but \p Except leave a failed launch. Async-signal-safe.
void interruptWorkers(const Worker *Except);

} // namespace host
} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTEXEC_EXECUTOR_H
