//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The executor of the host device: runs a kernel that lib/Device/Host compiled
/// to host code, block by block on all cores. Used inside the application
/// (libmneme_rt) and by replay: C, no LLVM. The lowering relies on the layouts
/// of MnemeHostBlock and MnemeHostThread (lib/Device/Host/HostABI.h mirrors the
/// offsets with static_asserts).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_HOSTEXEC_H
#define LLVM_MNEME_RUNTIME_HOSTEXEC_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define MNEME_HOST_MAX_THREADS 1024u        /* threads of a block */
#define MNEME_HOST_SHARED_SIZE (227u << 10) /* shared memory of a block */
#define MNEME_HOST_MAX_CLUSTER 16u          /* thread blocks of a cluster */

/// The form of a kernel's host code.
enum MnemeHostStrategy {
  MNEME_HOST_LOOP = 0,      ///< void(MnemeHostBlock *, void **Args)
  MNEME_HOST_REGION = 1,    ///< void(MnemeHostBlock *, void **Args)
  MNEME_HOST_COROUTINE = 2, ///< void *(MnemeHostThread *, void **Args): a ramp
  MNEME_HOST_FIBER = 3,     ///< void(MnemeHostThread *, void **Args)
};

/// The operation of a thread at a synchronization point.
enum MnemeHostOp {
  MNEME_OP_NONE = 0,
  MNEME_OP_BARRIER = 1,     ///< Block barrier; Mask = barrier number, C = 1 if
                            ///< a warp must execute it as a whole.
  MNEME_OP_BARRIER_RED = 2, ///< Mode 0 and, 1 or, 2 popc; Value = predicate.
  MNEME_OP_WARP_SYNC = 3,   ///< __syncwarp(Mask).
  /// Mode 0 up 1 down 2 bfly 3 idx; B = lane or delta, C = PTX's clamp word.
  MNEME_OP_SHUFFLE = 4,
  MNEME_OP_VOTE = 5,  ///< Mode 0 any 1 all 2 ballot 3 uni.
  MNEME_OP_MATCH = 6, ///< Mode 0 any 1 all (Result2 = predicate).
  /// No mask: all arriving lanes; Result = their mask (activemask).
  MNEME_OP_CONVERGE = 7,
  MNEME_OP_REDUX = 8, ///< Mode 0 add 1 min 2 max 3 umin 4 umax 5 and 6 or 7
                      ///< xor.
  /// A matrix instruction; Value = the lane's MnemeMatrixFrame.
  MNEME_OP_MATRIX = 9,
  /// barrier.arrive: as MNEME_OP_BARRIER, but the thread does not wait.
  MNEME_OP_BARRIER_ARRIVE = 10,
  MNEME_OP_CLUSTER_ARRIVE = 11, ///< barrier.cluster.arrive.
  MNEME_OP_CLUSTER_WAIT = 12,   ///< barrier.cluster.wait.
  MNEME_OP_WAVE_BALLOT = 20,    ///< AMDGPU, no mask, 64 lanes.
  MNEME_OP_WAVE_PERMUTE = 21,   ///< ds.bpermute; B = byte address.
  MNEME_OP_WAVE_FIRST = 22,     ///< readfirstlane.
  MNEME_OP_WAVE_READLANE = 23,  ///< readlane; B = lane.
  MNEME_OP_EXIT = 100,
  /// The thread let others run, and goes on: a random schedule stopped it, or
  /// it looked for the shared memory of another block.
  MNEME_OP_PREEMPT = 101,
};

/// The special registers of a cluster that compiled kernels ask for.
enum MnemeHostClusterRegister {
  MNEME_CLUSTER_CTAID,    ///< %cluster_ctaid, by axis like the next three.
  MNEME_CLUSTER_NCTAID,   ///< %cluster_nctaid.
  MNEME_CLUSTER_ID,       ///< %clusterid.
  MNEME_CLUSTER_COUNT,    ///< %nclusterid.
  MNEME_CLUSTER_CTARANK,  ///< %cluster_ctarank.
  MNEME_CLUSTER_NCTARANK, ///< %cluster_nctarank.
  MNEME_CLUSTER_EXPLICIT, ///< %is_explicit_cluster.
};

struct MnemeHostBlock;

/// One GPU thread. 128 bytes.
typedef struct MnemeHostThread {
  uint32_t ThreadIdx[3];        // 0
  uint32_t Linear;              // 12
  struct MnemeHostBlock *Block; // 16
  uint64_t Value;               // 24
  uint64_t Result;              // 32
  uint32_t Op;                  // 40
  uint32_t Mode;                // 44
  uint64_t Mask;                // 48
  uint32_t B;                   // 56
  uint32_t C;                   // 60
  uint32_t Site;                // 64
  uint32_t NumBarriers;         // 68 that a warp must execute as a whole
  uint64_t Result2;             // 72
  void *Handle;                 // 80 fiber stack pointer or coroutine handle
  /// 1 + the phase of the cluster's barrier at which the thread has arrived; 0
  /// if it has not.
  uint32_t Arrival; // 88
  uint32_t Pad[9];  // 92
} MnemeHostThread;

/// One block during its execution.
typedef struct MnemeHostBlock {
  uint32_t BlockDim[3];      // 0
  uint32_t BlockIdx[3];      // 12
  uint32_t GridDim[3];       // 24
  uint32_t NumThreads;       // 36
  uint8_t *Shared;           // 40 static shared memory, then dynamic
  uint32_t DynamicOffset;    // 48 of dynamic shared memory in Shared
  uint32_t DynamicSize;      // 52
  MnemeHostThread *Threads;  // 56
  uint8_t *Context;          // 64 region strategy: values that cross a barrier
  uint8_t *Frames;           // 72 coroutine frames, bump-allocated
  uint64_t FramesUsed;       // 80
  uint64_t Reserved;         // 88
  uint64_t ImplicitArgs[40]; // 96 AMDGPU implicit arguments (code object 5)
} MnemeHostBlock;

/// A compiled kernel: the results of the lowering and its entry point.
typedef struct MnemeHostKernel {
  const char *Name;
  void *Entry;
  uint32_t Strategy;     ///< MnemeHostStrategy.
  uint32_t StaticShared; ///< Bytes of static shared memory, padded.
  uint32_t WaveSize;     ///< 32, or 64 on AMDGPU wave64.
  uint64_t ContextSize;  ///< Region strategy: bytes of MnemeHostBlock::Context.
  uint32_t Ordered;      ///< Results depend on the block order: one worker.
  /// Blocks of a cluster, as the kernel requires them; 0: none required.
  uint32_t ClusterDim[3];
} MnemeHostKernel;

/// Contents of local and shared memory at the start of a launch.
enum MnemeHostFill {
  MNEME_HOST_FILL_NONE, ///< Shared memory is zero, local memory as it was left.
  MNEME_HOST_FILL_LEFT, ///< What earlier launches left.
  MNEME_HOST_FILL_ZEROS, ///< All bits are 0.
  MNEME_HOST_FILL_ONES,  ///< All bits are 1.
  MNEME_HOST_FILL_RANDOM ///< This and greater numbers are seeds.
};

typedef struct MnemeHostLaunch {
  uint32_t Grid[3];
  uint32_t Block[3];
  uint32_t DynamicShared;
  uint32_t Workers;      ///< Host threads; 0: one per core.
  double TimeoutSeconds; ///< 0: none.
  void **Args;           ///< One pointer per kernel argument.
  /// Blocks and, in the coroutine and fiber strategies, threads run on one host
  /// thread in an order that Seed alone determines.
  uint32_t Random;
  /// Blocks start in an order that Seed determines, on Workers host threads.
  uint32_t Shuffled;
  uint64_t Seed;
  uint64_t Fill; ///< MnemeHostFill, or the seed of random contents.
  /// Random: fail if the threads of a warp do not execute equally many barriers
  /// that a warp must execute as a whole.
  uint32_t Strict;
  /// Random: activemask reports any of the threads that could be together.
  uint32_t Splits;
  uint32_t Cooperative; ///< The grid has a barrier, so all blocks are live.
  /// Blocks of a cluster. 0: as the kernel requires.
  uint32_t Cluster[3];
} MnemeHostLaunch;

enum MnemeHostStatus {
  MNEME_HOST_OK = 0,
  MNEME_HOST_INVALID_CONFIG, ///< More threads or shared memory than available.
  MNEME_HOST_ILLEGAL_ADDRESS,
  MNEME_HOST_TIMEOUT,
  MNEME_HOST_TRAP, ///< Trap, integer division by zero.
  MNEME_HOST_ASSERT,
  MNEME_HOST_ILLEGAL_INSTRUCTION,
  MNEME_HOST_UNSUPPORTED, ///< Executed an unsupported instruction.
  MNEME_HOST_DEADLOCK,    ///< No thread of a block can proceed.
  MNEME_HOST_OUT_OF_MEMORY,
};

typedef struct MnemeHostResult {
  int32_t Status; ///< MnemeHostStatus.
  uint32_t Reserved;
  uint64_t Nanoseconds; ///< From the start of the first block to the end of the
                        ///< last.
  uint64_t FaultAddress; ///< ILLEGAL_ADDRESS only.
  char Message[256];     ///< For the user; empty if Status is OK.
} MnemeHostResult;

/// Runs one launch to its end. Launches in a process are serialized. Never
/// unwinds or kills the process because of errors in the kernel.
/// \returns Result->Status.
int mneme_host_launch(const MnemeHostKernel *Kernel,
                      const MnemeHostLaunch *Launch, MnemeHostResult *Result);

/// Sets a filter for the addresses of faulting accesses in kernels and copies.
/// If it returns nonzero, the access is retried. Called in a signal handler on
/// any thread. Null: no filter. Do not call during a launch.
void mneme_host_set_fault_filter(int (*Filter)(uint64_t Address));

/// Copies memory unless the copy faults. \returns 0, or -1 if a range is not
/// mapped. With \p AsksHandlers, a fault goes to a handler that the process has
/// installed, as with a runtime that simply copies: the handler may map the
/// memory.
int mneme_host_copy(void *Dst, const void *Src, size_t Size, int AsksHandlers);
/// Like mneme_host_copy(), for memset.
int mneme_host_set(void *Dst, int Value, size_t Size, int AsksHandlers);

/// Calls \p Visit for each block of memory that kernels have allocated with
/// malloc and not freed. Do not call during a launch.
void mneme_host_visit_heap(void (*Visit)(void *Data, uint64_t Address,
                                         uint64_t Size),
                           void *Data);
/// Frees these blocks. Do not call during a launch.
void mneme_host_free_heap(void);

/// A function that compiled kernels can call.
typedef struct MnemeHostSymbol {
  const char *Name;
  void *Address;
} MnemeHostSymbol;

/// Returns all such functions: the executor's __mneme_host_*, __assertfail,
/// vprintf, the kernel's malloc and free, and the C library's memory and math
/// functions that LLVM may call.
const MnemeHostSymbol *mneme_host_symbols(size_t *Count);

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_HOSTEXEC_H
