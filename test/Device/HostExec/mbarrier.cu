// REQUIRES: cuda-toolkit, device-host
//
// mbarrier objects with arrivals and bytes, bulk copies that they track, barriers at
// which some threads only arrive.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t.O0 | FileCheck %s
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host -o %t.1 -- %t.O3 | FileCheck %s
// RUN: env MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.2 -- %t.O3 | FileCheck %s
// RUN: llvm-mneme-replay %t.2 --all --device=host --host-schedule=random:3 > %t.json
// RUN: FileCheck %s --check-prefix=MATCH < %t.json
// CHECK: all right
// MATCH-COUNT-4: "verdict": "Match"

#include "Inputs/check.h"

typedef unsigned long long u64;

__device__ unsigned shared(const void *P) { return (unsigned)__cvta_generic_to_shared(P); }
__device__ void init(u64 *B, unsigned Count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared(B)), "r"(Count) : "memory");
}
__device__ void arrive(u64 *B) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(shared(B)) : "memory");
}
__device__ void waitParity(u64 *B, unsigned Parity) {
  asm volatile("{\n.reg .pred P1;\nLAB_WAIT:\n"
               "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 P1, [%0], %1;\n"
               "@P1 bra DONE;\nbra LAB_WAIT;\nDONE:\n}"
               ::"r"(shared(B)), "r"(Parity) : "memory");
}

/// A warp fills a ring of two tiles by bulk copies for another one, and two objects per
/// tile keep them in step.
__global__ void ring(const int *In, int *Out, int Tiles) {
  __shared__ alignas(16) int S[2][32];
  __shared__ u64 Full[2], Empty[2];
  unsigned T = threadIdx.x;
  if (T == 0) {
    for (int I = 0; I < 2; ++I)
      init(Full + I, 1), init(Empty + I, 32);
    asm volatile("fence.mbarrier_init.release.cluster;\nfence.proxy.async;" ::: "memory");
  }
  __syncthreads();
  if (T == 0) {
    for (int I = 0; I < Tiles; ++I) {
      u64 *B = Full + I % 2;
      waitParity(Empty + I % 2, 1 ^ (I / 2 & 1));
      asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(shared(B)) : "memory");
      asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 128, [%2];"
                   ::"r"(shared(S[I % 2])), "l"(In + 32 * I), "r"(shared(B)) : "memory");
    }
  } else if (T >= 32) {
    int Sum = 0;
    for (int I = 0; I < Tiles; ++I) {
      waitParity(Full + I % 2, I / 2 & 1);
      Sum = 3 * Sum + S[I % 2][63 - T];
      arrive(Empty + I % 2);
    }
    Out[T - 32] = Sum;
  }
}

/// States, pending counts and dropped arrivals.
__global__ void states(u64 *Out) {
  __shared__ u64 B;
  if (threadIdx.x != 0)
    return;
  auto Test = [&](u64 State) {
    unsigned R;
    asm volatile("{ .reg .pred p; mbarrier.test_wait.shared.b64 p, [%1], %2; selp.u32 %0, 1, 0, p; }"
                 : "=r"(R) : "r"(shared(&B)), "l"(State) : "memory");
    return R;
  };
  auto Pending = [&](u64 State) {
    unsigned R;
    asm volatile("mbarrier.pending_count.b64 %0, %1;" : "=r"(R) : "l"(State));
    return R;
  };
  u64 First, Second, Third;
  init(&B, 5);
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1], 2;" : "=l"(First) : "r"(shared(&B)) : "memory");
  Out[0] = Pending(First), Out[1] = Test(First);
  asm volatile("mbarrier.arrive_drop.shared.b64 %0, [%1], 2;" : "=l"(Second) : "r"(shared(&B)) : "memory");
  Out[2] = Pending(Second), Out[3] = Test(First);
  // The bytes hold the phase.
  asm volatile("mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(shared(&B)) : "memory");
  arrive(&B);
  Out[4] = Test(First);
  asm volatile("mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%0], 64;" ::"r"(shared(&B)) : "memory");
  Out[5] = Test(First);
  // The next phase expects three.
  asm volatile("mbarrier.arrive.shared.b64 %0, [%1];" : "=l"(Third) : "r"(shared(&B)) : "memory");
  Out[6] = Pending(Third), Out[7] = Test(Third);
  asm volatile("mbarrier.inval.shared.b64 [%0];" ::"r"(shared(&B)) : "memory");
}

/// Warp 1 computes what warp 0 needs, and does not wait for it.
__global__ void named(int *Out) {
  __shared__ int S[32];
  unsigned T = threadIdx.x;
  if (T >= 32) {
    S[T - 32] = 3 * T;
    __threadfence_block();
    asm volatile("barrier.cta.arrive 4, 64;" ::: "memory");
    Out[T] = T;
  } else {
    asm volatile("barrier.cta.sync 4, 64;" ::: "memory");
    Out[T] = S[31 - T];
  }
}

/// A tile goes to shared memory and back; the second copy is waited for.
__global__ void store(const int *In, int *Out) {
  __shared__ alignas(16) int S[64];
  unsigned T = threadIdx.x;
  S[T] = In[T] + 1;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  if (T == 0) {
    asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;" ::"l"(Out), "r"(shared(S)) : "memory");
    asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
    Out[0] += 1000;
  }
}

int main() {
  Buffer<int> In(32 * 7), Out(64);
  for (size_t I = 0; I < In.Size; ++I)
    In[I] = I % 11;
  ring<<<1, 64>>>(In, Out, 7);
  launched();
  for (int T = 0; T < 32; ++T) {
    int Sum = 0;
    for (int I = 0; I < 7; ++I)
      Sum = 3 * Sum + In[32 * I + 31 - T];
    expect("ring", T, Out[T], Sum);
  }
  Buffer<u64> Results(8);
  states<<<1, 32>>>(Results);
  launched();
  const u64 Expected[] = {5, 0, 3, 0, 0, 1, 3, 0};
  for (int I = 0; I < 8; ++I)
    expect("states", I, Results[I], Expected[I]);
  named<<<1, 64>>>(Out);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("named", T, Out[T], T < 32 ? 3 * (63 - T) : T);
  store<<<1, 64>>>(In, Out);
  launched();
  for (int T = 0; T < 64; ++T)
    expect("store", T, Out[T], In[T] + 1 + (T ? 0 : 1000));
  return finish();
}
