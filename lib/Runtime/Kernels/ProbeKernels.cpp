//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels that run at the peaks of a GPU, from which Replay/Bound.h computes
// how long a launch takes at least. They have the same parameters, and blocks
// of MNEME_PROBE_BLOCK threads. For GPUs only; the host device runs them, too.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/ProbeKernels.h"
#include "GPU.h"

using namespace gpu;

/// The widest access of current machines.
typedef uint32_t Words __attribute__((ext_vector_type(8)));
typedef uint32_t SharedWords __attribute__((ext_vector_type(4)));
typedef _Float16 Half2 __attribute__((ext_vector_type(2)));

static_assert(sizeof(Words) == MNEME_PROBE_VECTOR, "the size of an element");

/// \param Count   vectors; of probes that repeat, vectors of a chunk.
/// \param Rounds  repetitions.
/// \param Stride  unknown to the compiler, so that it cannot compute results.
#define PROBE(Name)                                                            \
  MNEME_KERNEL void mneme_probe_##Name(                                        \
      [[maybe_unused]] GlobalPtr<Words> In,                                    \
      [[maybe_unused]] GlobalPtr<Words> Out, [[maybe_unused]] uint64_t Count,  \
      [[maybe_unused]] uint64_t Rounds, [[maybe_unused]] uint64_t Stride)

/// Uses a value that would be computed for nothing otherwise.
template <typename T> static inline void use(T Value, GlobalPtr<Words> Out) {
  uint32_t Bits = 0;
  __builtin_memcpy(&Bits, &Value, sizeof(T) < 4 ? sizeof(T) : 4);
  if (Bits == 0x9e3779b9)
    Out[0] = Words(Bits);
}

PROBE(empty) {}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Vectors of a thread: enough loads in flight. Neighbouring threads access
/// neighbouring vectors.
constexpr unsigned PerThread = MNEME_PROBE_PER_THREAD;

static inline uint64_t first() {
  return uint64_t(block()) * MNEME_PROBE_BLOCK * PerThread + thread();
}

PROBE(copy) {
  Words V[PerThread];
#pragma unroll
  for (unsigned I = 0; I != PerThread; ++I)
    V[I] = In[first() + I * MNEME_PROBE_BLOCK];
#pragma unroll
  for (unsigned I = 0; I != PerThread; ++I)
    Out[first() + I * MNEME_PROBE_BLOCK] = V[I];
}

PROBE(read) {
  Words Sum = Words(0);
#pragma unroll
  for (unsigned I = 0; I != PerThread; ++I)
    Sum ^= In[first() + I * MNEME_PROBE_BLOCK];
  use(Sum[0] ^ Sum[1] ^ Sum[2] ^ Sum[3] ^ Sum[4] ^ Sum[5] ^ Sum[6] ^ Sum[7],
      Out);
}

PROBE(write) {
#pragma unroll
  for (unsigned I = 0; I != PerThread; ++I)
    Out[first() + I * MNEME_PROBE_BLOCK] = Words(uint32_t(Stride));
}

/// Reads a chunk of Count vectors in each round: with Stride 0 always the
/// block's own, otherwise those of other blocks, which no other cache than the
/// shared one can hold.
PROBE(cache) {
  Words Sum = Words(0);
  for (uint64_t R = 0; R != Rounds; ++R) {
    GlobalPtr<Words> Chunk = In + (block() + R * Stride) % numBlocks() * Count;
#pragma unroll 4
    for (uint64_t I = thread(); I < Count; I += MNEME_PROBE_BLOCK)
      Sum ^= Chunk[I];
  }
  use(Sum[0] ^ Sum[1] ^ Sum[2] ^ Sum[3] ^ Sum[4] ^ Sum[5] ^ Sum[6] ^ Sum[7],
      Out);
}

[[clang::loader_uninitialized]] static __gpu_local SharedWords Tile[1024];

PROBE(shared) {
  for (unsigned I = thread(); I < 1024; I += MNEME_PROBE_BLOCK)
    Tile[I] = SharedWords(I);
  __gpu_sync_threads();
  SharedWords Sum = SharedWords(0);
  uint32_t At = thread();
  for (uint64_t R = 0; R != Rounds; ++R)
#pragma unroll
    for (unsigned I = 0; I != MNEME_PROBE_STEPS; ++I) {
      Sum ^= Tile[At & 1023];
      At += uint32_t(Stride);
    }
  use(Sum[0] ^ Sum[1] ^ Sum[2] ^ Sum[3], Out);
}

//===----------------------------------------------------------------------===//
// Computation
//===----------------------------------------------------------------------===//

/// Independent values of a thread, and steps of a round.
constexpr unsigned Chains = MNEME_PROBE_CHAINS, Steps = MNEME_PROBE_STEPS;

/// Applies \p Step to all chains.
template <typename T, typename StepFn>
static inline void chain(T Begin, uint64_t Rounds, GlobalPtr<Words> Out,
                         StepFn Step) {
  T Values[Chains];
#pragma unroll
  for (unsigned C = 0; C != Chains; ++C)
    Values[C] = Begin + T(C);
  for (uint64_t R = 0; R != Rounds; ++R)
#pragma unroll
    for (unsigned S = 0; S != Steps; ++S)
#pragma unroll
      for (unsigned C = 0; C != Chains; ++C)
        Values[C] = Step(Values[C]);
  T Sum = Values[0];
#pragma unroll
  for (unsigned C = 1; C != Chains; ++C)
    Sum = Sum + Values[C];
  use(Sum, Out);
}

/// A factor below 1, so that values stay finite.
static inline float factor(uint64_t Stride) { return float(Stride) * 0x1p-20f; }

PROBE(fp16) {
  Half2 F = Half2(_Float16(factor(Stride)));
  chain<Half2>(F, Rounds, Out,
               [=](Half2 V) { return __builtin_elementwise_fma(V, F, F); });
}

PROBE(fp32) {
  float F = factor(Stride);
  chain<float>(F, Rounds, Out,
               [=](float V) { return __builtin_elementwise_fma(V, F, F); });
}

PROBE(fp64) {
  double F = factor(Stride);
  chain<double>(F, Rounds, Out,
                [=](double V) { return __builtin_elementwise_fma(V, F, F); });
}

PROBE(integer) {
  uint32_t F = uint32_t(Stride);
  chain<uint32_t>(thread(), Rounds, Out, [=](uint32_t V) { return V * F + F; });
}

PROBE(special) {
  chain<float>(factor(Stride), Rounds, Out, [](float V) {
#if defined(__NVPTX__)
    return __nvvm_ex2_approx_ftz_f(V);
#else
    return __builtin_amdgcn_exp2f(V);
#endif
  });
}

#if defined(__NVPTX__)
/// A round has Steps instructions of a warp for matrices of 16 x 16.
PROBE(tensor) {
  constexpr unsigned Sums = 4;
  int A[8], B[8];
  float C[Sums][8];
  for (unsigned I = 0; I != 8; ++I) {
    A[I] = B[I] = int(Stride);
    for (unsigned S = 0; S != Sums; ++S)
      C[S][I] = 0;
  }
  for (uint64_t R = 0; R != Rounds; ++R)
#pragma unroll
    for (unsigned I = 0; I != Steps; ++I)
      __hmma_m16n16k16_mma_f32f32(C[I % Sums], A, B, C[I % Sums], 0, 0);
  float Sum = 0;
  for (unsigned S = 0; S != Sums; ++S)
    for (unsigned I = 0; I != 8; ++I)
      Sum += C[S][I];
  use(Sum, Out);
}
#endif
