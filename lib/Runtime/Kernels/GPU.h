//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The machine's functions that the kernels use. On a GPU they come from
/// clang's <gpuintrin.h>. Elsewhere the kernels are plain functions
/// (HostKernels.h), and a wave has one lane.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_KERNELS_GPU_H
#define MNEME_LIB_RUNTIME_KERNELS_GPU_H

#include <stdint.h>

#if defined(__NVPTX__) || defined(__AMDGPU__)
#define MNEME_ON_GPU 1
#include <gpuintrin.h>
#define MNEME_KERNEL extern "C" __gpu_kernel
#else
#define MNEME_ON_GPU 0
#include "HostKernels.h"
#include <chrono>
#define MNEME_KERNEL extern "C"
#endif

namespace gpu {

typedef uint64_t Word128 __attribute__((vector_size(16)));

#if MNEME_ON_GPU

/// Pointers of the kernels. Without the address space, each access would first
/// have to check for shared memory.
template <typename T> using GlobalPtr = __gpu_global T *;

inline uint32_t block() { return __gpu_block_id_x(); }
inline uint32_t numBlocks() { return __gpu_num_blocks_x(); }
inline uint32_t thread() { return __gpu_thread_id_x(); }
inline uint32_t numThreads() { return __gpu_num_threads_x(); }
inline uint32_t lane() { return __gpu_lane_id(); }
#if defined(__NVPTX__)
constexpr uint32_t MaxLanes = 32;
inline uint32_t numLanes() { return 32; } // A constant, unlike the register.
#else
constexpr uint32_t MaxLanes = 64;
inline uint32_t numLanes() { return __gpu_num_lanes(); }
#endif
constexpr uint32_t MinLanes = 32;
/// All lanes instead of the active ones: after a divergent branch, the
/// operation waits for the other lanes.
constexpr uint64_t AllLanes = ~uint64_t(0);
/// Returns a bit for each lane in which \p Condition is true. All lanes must
/// call it.
inline uint64_t ballot(bool Condition) {
  return __gpu_ballot(AllLanes, Condition);
}
inline uint64_t shuffleXor(uint64_t V, uint32_t Mask) {
  return __gpu_shuffle_idx_u64(AllLanes, lane() ^ Mask, V, numLanes());
}

inline void atomicAdd(uint64_t &Place, uint64_t V) {
  __scoped_atomic_fetch_add(&Place, V, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
inline void atomicMin(uint64_t &Place, uint64_t V) {
  __scoped_atomic_fetch_min(&Place, V, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
inline void atomicMax(uint64_t &Place, uint64_t V) {
  __scoped_atomic_fetch_max(&Place, V, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}

/// Nanoseconds on NVIDIA GPUs, with a coarse resolution.
inline uint64_t steadyTime() { return __builtin_readsteadycounter(); }
inline uint64_t cycles() { return __builtin_readcyclecounter(); }

#else

template <typename T> using GlobalPtr = T *;

inline uint32_t block() { return mneme_kernel_thread.Block; }
inline uint32_t numBlocks() { return mneme_kernel_thread.NumBlocks; }
inline uint32_t thread() { return mneme_kernel_thread.Thread; }
inline uint32_t numThreads() { return mneme_kernel_thread.NumThreads; }
inline uint32_t lane() { return 0; }
constexpr uint32_t MinLanes = 1, MaxLanes = 1;
inline uint32_t numLanes() { return 1; }
inline uint64_t ballot(bool Condition) { return Condition; }
inline uint64_t shuffleXor(uint64_t V, uint32_t) { return V; }

inline void atomicAdd(uint64_t &Place, uint64_t V) {
  __atomic_fetch_add(&Place, V, __ATOMIC_RELAXED);
}
inline void atomicMin(uint64_t &Place, uint64_t V) {
  uint64_t Old = __atomic_load_n(&Place, __ATOMIC_RELAXED);
  while (V < Old &&
         !__atomic_compare_exchange_n(&Place, &Old, V, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
    ;
}
inline void atomicMax(uint64_t &Place, uint64_t V) {
  uint64_t Old = __atomic_load_n(&Place, __ATOMIC_RELAXED);
  while (V > Old &&
         !__atomic_compare_exchange_n(&Place, &Old, V, true, __ATOMIC_RELAXED,
                                      __ATOMIC_RELAXED))
    ;
}

inline uint64_t steadyTime() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(
             std::chrono::steady_clock::now().time_since_epoch())
      .count();
}
/// A clock with 1 GHz.
inline uint64_t cycles() { return steadyTime(); }

#endif

/// Returns true if \p Condition is true in any lane. All lanes must call it.
inline bool any(bool Condition) { return ballot(Condition) != 0; }

} // namespace gpu

#endif // MNEME_LIB_RUNTIME_KERNELS_GPU_H
