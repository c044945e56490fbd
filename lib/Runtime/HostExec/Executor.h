//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Declarations shared by the files of the host executor. All of them may be
/// used by signal handlers or inside an application, hence plain structures,
/// mmap, pthreads, and singletons that are never destroyed.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTEXEC_EXECUTOR_H
#define MNEME_LIB_RUNTIME_HOSTEXEC_EXECUTOR_H

#include "Sanitizer.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/ThreadTimes.h"
#include <atomic>
#include <initializer_list>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>

namespace mneme {
namespace host {

constexpr unsigned MaxWarps = MNEME_HOST_MAX_THREADS / 32;

/// A fiber's stack, with a guard page at its lowest addresses.
constexpr size_t FiberStride = (128u << 10) + 4096;

/// The lanes of a warp (or wave), by state. A live lane is in exactly one of
/// Runnable, Yielded, AtBarrier, AtCluster and Waiting.
struct WarpState {
  uint64_t Alive;
  uint64_t Runnable;
  uint64_t Yielded;   ///< Yielded in a spin loop; runnable, but without
                      ///< progress.
  uint64_t AtBarrier; ///< At a block barrier.
  uint64_t AtCluster; ///< At the barrier of the cluster.
  uint64_t Waiting;   ///< At a warp operation.
  /// Of Runnable and Yielded, those that have yielded and were at most
  /// preempted since.
  uint64_t Spinning;
};

struct AsyncState;
struct BlockState;

/// The blocks of a cluster, which one worker runs together.
struct ClusterState {
  uint32_t Live;    ///< Threads that have not exited.
  uint32_t Arrived; ///< Of them, those that the barrier need not wait for.
  uint32_t Phase;   ///< How often the barrier has let threads pass.
  BlockState *Blocks[MNEME_HOST_MAX_CLUSTER]; ///< By rank.
};

/// The state of a live block. A worker has one; it has more only when blocks
/// spin, waiting for others (grid barriers).
struct BlockState {
  MnemeHostBlock Block;
  WarpState Warps[MaxWarps];
  uint32_t NumWarps;
  uint32_t Live; ///< Threads that have not exited.
  /// All threads at a barrier are at the same one, which reduces no value.
  bool PlainBarriers;
  uint64_t BarrierNumber; ///< Of the first thread that arrived.
  uint32_t NumAtBarrier;
  /// Threads that have arrived at a barrier by number without waiting there.
  uint32_t NumArrived[16];
  uint32_t Arrangement; ///< Random schedules: how a step orders its threads.
  uint32_t HeldWarps;   ///< Random schedules: warps that do not run now.
  uint32_t ClusterPhase; ///< Of the cluster's barrier, as far as noticed.
  /// The last thread of the cluster has exited. Until then, others may use the
  /// block's shared memory.
  bool Ends;
  ClusterState *Cluster;   ///< The OwnCluster of its first block.
  ClusterState OwnCluster; ///< Used if this is the first block of its cluster.
  size_t ThreadsSize; ///< Mapped bytes, like all sizes below.
  size_t SharedSize;
  uint8_t *SharedMemory; ///< Block.Shared is its end, or its begin.
  size_t ContextSize;
  size_t FramesSize;
  size_t StacksSize;
  uint8_t *Stacks;
  AsyncState *Async; ///< Pending copies; null until the first one.
  BlockState *Next; ///< In the worker's ring of live blocks, or in its free
                    ///< list.
};

/// The context to resume when the code between enter and leave faults.
struct FaultFrame {
  sigjmp_buf Resume;
  /// A fault is passed to the previous handler if there is one.
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

/// The clusters of a launch in a pseudorandom order: a Feistel network over the
/// next power of four, without the numbers that are no clusters.
struct ClusterOrder {
  uint64_t Total;
  unsigned HalfBits;
  uint64_t Keys[4];

  void init(uint64_t NumClusters, RandomSource &R);
  /// \returns the cluster at position \p I of the order.
  uint64_t operator()(uint64_t I) const;
};

/// An OS thread that runs blocks. Worker 0 is the thread that launches.
struct Worker {
  unsigned Index;
  pthread_t Thread;
  LaunchState *Launch;
  BlockState *Active;       ///< The running block.
  BlockState *Free;         ///< Block states to reuse.
  MnemeHostThread *Current; ///< The running GPU thread.
  void *SchedulerStack;     ///< For the fiber switch.
  SchedulerStackBounds Bounds;
  FaultFrame Fault;
  /// Nonzero while a lock of the C library may be held: leaving is deferred.
  volatile sig_atomic_t Busy;
  volatile sig_atomic_t LeaveLater;
  RandomSource Random;
  RandomSource Filler; ///< The contents of memory at the start.
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
  uint32_t NumThreads; ///< Per block.
  uint32_t Cluster[3]; ///< Blocks of a cluster.
  uint32_t ClusterSize; ///< All of them.
  uint64_t Total;       ///< Number of clusters.
  uint64_t Chunk;       ///< Clusters that a worker takes at a time.
  ClusterOrder Order;   ///< Random and shuffled schedules only.
  uint64_t MaxLive;    ///< Blocks that a random schedule interleaves.
  /// The workspace of CUDA's cooperative groups for grid barriers: a size, a
  /// barrier.
  uint32_t GridWorkspace[2];
  std::atomic<uint64_t> NextBlock;
  std::atomic<int> Status; ///< The first failure is kept.
  std::atomic<uint64_t> FirstStart;
  std::atomic<uint64_t> LastEnd;
};

/// The worker of this OS thread while it runs blocks. initial-exec, because
/// signal handlers and generated code must read it without a call that could
/// allocate.
extern thread_local Worker *TheWorker
    __attribute__((tls_model("initial-exec")));

uint64_t nanoseconds();

// Memory.cpp

/// Maps \p Size zeroed bytes (rounded up to pages) between two guard pages.
/// \returns null if there is not enough memory.
uint8_t *mapGuarded(size_t Size, bool Low32);
void unmapGuarded(uint8_t *Base, size_t Size);
/// \returns a block state with memory for a block of the launch, or null.
BlockState *acquireBlock(Worker &W);
void releaseBlock(Worker &W, BlockState *S);
/// Maps the fiber stacks of \p S. \returns false if memory is short.
bool mapFiberStacks(Worker &W, BlockState &S);
/// Writes what the launch starts from, if it chooses that. \p Size is a
/// multiple of 8.
void fill(Worker &W, uint8_t *Base, size_t Size);
/// Fills the memory of \p S in which a kernel keeps variables.
void fillBlock(Worker &W, BlockState &S);
/// Returns true if \p Address is in a guard page of \p S's fiber stacks.
bool isFiberGuard(const BlockState &S, uint64_t Address);

// Scheduler.cpp

enum class StepResult { Progress, Spinning, Finished };

/// Prepares the threads of \p S to start.
/// \returns false if memory is short.
bool startBlock(Worker &W, BlockState &S);
/// Runs each runnable thread until it waits, and performs the operations that
/// can be performed.
StepResult stepBlock(Worker &W, BlockState &S);
/// Runs threads of \p S in a random order, each until it waits or is
/// preempted, and resolves what can be.
StepResult stepAtRandom(Worker &W, BlockState &S);
/// Chooses when the worker's random schedule preempts the next thread.
void drawQuantum(Worker &W);

// Cluster.cpp

/// \returns the rank of \p S in its cluster.
uint32_t getRank(const LaunchState &L, const BlockState &S);
/// \returns the block of the running one's cluster that has \p P in its shared
/// memory, or null.
BlockState *findOwner(Worker &W, const void *P);
/// \returns the place of block \p Rank that \p P, in the shared memory of the
/// cluster, has in its own block. Ends the launch if there is none.
uint8_t *mapToBlock(Worker &W, const void *P, uint32_t Rank);

// Async.cpp

/// Makes the pending copies of \p S, which has ended, to global memory.
void finishCopies(BlockState &S);
/// Forgets the pending copies of \p S, which was left.
void dropCopies(BlockState &S);

// Faults.cpp

/// Installs our signal handlers and gives this OS thread a signal stack.
void prepareFaults();
/// Unblocks our signals in this thread; \p Old is for restoreSignals.
void unblockSignals(sigset_t &Old);
void restoreSignals(const sigset_t &Old);
/// Ends the launch of this worker, from inside a kernel.
[[noreturn]] void leaveKernel(Worker &W, int Status, const char *Format, ...)
    __attribute__((format(printf, 3, 4)));
/// Records the launch's first failure; ignores later ones.
void failLaunch(LaunchState &L, int Status, const char *Format, ...)
    __attribute__((format(printf, 3, 4)));
/// Converts the signal that ended the kernel to a failure of the launch.
void reportFault(Worker &W);
/// Calls kernel code; \returns false if it faulted.
bool enterFaultFrame(FaultFrame &Frame, void (*Body)(void *), void *Arg);
/// Encloses code that must not be left half-way (see Worker::Busy). Can be
/// nested.
void enterBusy(Worker &W);
void leaveBusy(Worker &W);

/// Makes \p Thread leave its launch if the launch has failed.
/// Async-signal-safe.
void interruptThread(pthread_t Thread);

/// Ends the running launch after \p Seconds, in which the time during which the
/// launching thread had no processor does not count. Only one can exist at a
/// time.
class Deadline {
public:
  Deadline(LaunchState &L, double Seconds);
  ~Deadline();

  /// Fails the launch, or gives it more time. Async-signal-safe.
  void pass();

private:
  LaunchState &Launch;
  timer_t Timer;
  bool Armed = false;
  llvm::mneme::ThreadExtension Extension;

  void arm(double Seconds);
};

// Executor.cpp

/// Makes all workers except \p Except leave a failed launch. Async-signal-safe.
void interruptWorkers(const Worker *Except);

} // namespace host
} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTEXEC_EXECUTOR_H
