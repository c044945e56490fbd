// REQUIRES: cuda-toolkit, device-host
//
// cp.async: sizes, sources that are read in part or not at all, groups that are waited
// for one by one, an mbarrier object that tracks the copies.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t.O0 | FileCheck %s
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host -o %t.1 -- %t.O3 | FileCheck %s
// RUN: env MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.2 -- %t.O3 | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"
#include <cuda_pipeline.h>

typedef unsigned long long u64;

#define COPY(SIZE, KIND, ...)                                                  \
  asm volatile("cp.async." KIND ".shared.global [%0], [%1], " #SIZE ", %2;"    \
               ::"r"(To), "l"(From), __VA_ARGS__ : "memory")

/// Each thread has 16 bytes.
__global__ void sizes(const uint8_t *In, uint8_t *Out) {
  __shared__ alignas(16) uint8_t S[128 * 16];
  unsigned T = threadIdx.x, To = (unsigned)__cvta_generic_to_shared(S + 16 * T);
  const uint8_t *From = In + 16 * T;
  for (int I = 0; I < 16; ++I)
    S[16 * T + I] = 0xee;
  if (T < 32)
    COPY(4, "ca", "r"(T % 5));
  else if (T < 64)
    COPY(8, "ca", "r"(T % 9));
  else if (T < 96)
    COPY(16, "cg", "r"(T % 17));
  else
    asm volatile("{ .reg .pred p; setp.ne.u32 p, %2, 0; cp.async.ca.shared.global [%0], [%1], 16, p; }"
                 ::"r"(To), "l"(From), "r"(T & 1) : "memory");
  asm volatile("cp.async.wait_all;" ::: "memory");
  for (int I = 0; I < 16; ++I)
    Out[16 * T + I] = S[16 * T + I];
}

/// A sum over tiles of which three are under way.
__global__ void pipeline(const int *In, int *Out, int Tiles) {
  __shared__ int S[4][64];
  unsigned T = threadIdx.x;
  for (int I = 0; I < 3; ++I) {
    __pipeline_memcpy_async(&S[I][T], In + 64 * I + T, 4);
    __pipeline_commit();
  }
  int Sum = 0;
  for (int I = 0; I < Tiles; ++I) {
    __pipeline_wait_prior(2);
    __syncthreads();
    Sum = 3 * Sum + S[I % 4][63 - T];
    if (I + 3 < Tiles)
      __pipeline_memcpy_async(&S[(I + 3) % 4][T], In + 64 * (I + 3) + T, 4);
    __pipeline_commit();
  }
  Out[T] = Sum;
}

/// Threads wait for all copies through one object. Half of them are counted.
__global__ void tracked(const u64 *In, u64 *Out) {
  __shared__ u64 S[64], Barrier;
  unsigned T = threadIdx.x, B = (unsigned)__cvta_generic_to_shared(&Barrier);
  if (T == 0)
    asm volatile("mbarrier.init.shared.b64 [%0], 64;" ::"r"(B) : "memory");
  __syncthreads();
  asm volatile("cp.async.ca.shared.global [%0], [%1], 8;"
               ::"r"((unsigned)__cvta_generic_to_shared(S + T)), "l"(In + T) : "memory");
  if (T < 32) {
    asm volatile("cp.async.mbarrier.arrive.noinc.shared.b64 [%0];" ::"r"(B) : "memory");
  } else {
    asm volatile("cp.async.mbarrier.arrive.shared.b64 [%0];" ::"r"(B) : "memory");
    u64 State;
    asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(State) : "r"(B) : "memory");
  }
  asm volatile("{ .reg .pred p; again: mbarrier.test_wait.parity.shared.b64 p, [%0], 0; @!p bra again; }"
               ::"r"(B) : "memory");
  Out[T] = S[63 - T];
}

int main() {
  Buffer<uint8_t> In(128 * 16), Out(128 * 16);
  for (size_t I = 0; I < In.Size; ++I)
    In[I] = I * 7 + 1;
  sizes<<<1, 128>>>(In, Out);
  launched();
  for (int T = 0; T < 128; ++T)
    for (int I = 0; I < 16; ++I) {
      int Size = T < 32 ? 4 : T < 64 ? 8 : 16;
      int Read = T < 32 ? T % 5 : T < 64 ? T % 9 : T < 96 ? T % 17 : T & 1 ? 0 : 16;
      expect("size", 16 * T + I, (int)Out[16 * T + I], I >= Size ? 0xee : I >= Read ? 0 : (int)In[16 * T + I]);
    }

  Buffer<int> Tiles(64 * 9), Sums(64);
  for (size_t I = 0; I < Tiles.Size; ++I)
    Tiles[I] = I % 11;
  pipeline<<<1, 64>>>(Tiles, Sums, 9);
  launched();
  for (int T = 0; T < 64; ++T) {
    int Sum = 0;
    for (int I = 0; I < 9; ++I)
      Sum = 3 * Sum + Tiles[64 * I + 63 - T];
    expect("pipeline", T, Sums[T], Sum);
  }

  Buffer<u64> Words(64), Copies(64);
  for (int I = 0; I < 64; ++I)
    Words[I] = I * 0x123456789abull;
  tracked<<<1, 64>>>(Words, Copies);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("tracked", T, Copies[T], Words[63 - T]);
  return finish();
}
