// REQUIRES: cuda-toolkit, device-host
//
// Clusters of thread blocks. An H200 prints the same (2026-11-30).
//
// RUN: rm -rf %t.*
// RUN: nvcc-as-clang -arch=sm_90 -O1 %s -o %t
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t | FileCheck %s
// RUN: %python %S/../../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t.rec host | FileCheck %s --check-prefix=REPLAYS
// REPLAYS-NOT: {{: [^M]}}
// REPLAYS: multicast grid 8: Match

#include <cooperative_groups.h>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace cg = cooperative_groups;

#define OK(CALL)                                                               \
  if (cudaError_t E = (CALL)) {                                                \
    printf("%d: %s\n", __LINE__, cudaGetErrorName(E));                         \
    exit(1);                                                                   \
  }

template <typename... Ts>
static cudaError_t launch(void (*Kernel)(Ts...), dim3 Grid, dim3 Block, dim3 Cluster, Ts... Args) {
  cudaLaunchAttribute A = {};
  A.id = cudaLaunchAttributeClusterDimension;
  A.val.clusterDim.x = Cluster.x;
  A.val.clusterDim.y = Cluster.y;
  A.val.clusterDim.z = Cluster.z;
  cudaLaunchConfig_t C = {};
  C.gridDim = Grid;
  C.blockDim = Block;
  C.attrs = &A;
  C.numAttrs = 1;
  return cudaLaunchKernelEx(&C, Kernel, Args...);
}

static int *Device, Host[4096];

static void print(const char *What, int Count) {
  OK(cudaMemcpy(Host, Device, sizeof(Host), cudaMemcpyDeviceToHost));
  OK(cudaMemset(Device, 0, sizeof(Host)));
  printf("%s:", What);
  for (int I = 0; I != Count; ++I)
    printf(" %d", Host[I]);
  printf("\n");
}

__device__ int linearBlock() { return blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z); }

// Special registers

__global__ void registers(int *Out) {
#ifdef __CUDA_ARCH__
  int *To = Out + 14 * linearBlock();
  *To++ = __nvvm_read_ptx_sreg_cluster_ctaid_x();
  *To++ = __nvvm_read_ptx_sreg_cluster_ctaid_y();
  *To++ = __nvvm_read_ptx_sreg_cluster_ctaid_z();
  *To++ = __nvvm_read_ptx_sreg_cluster_nctaid_x();
  *To++ = __nvvm_read_ptx_sreg_cluster_nctaid_y();
  *To++ = __nvvm_read_ptx_sreg_cluster_nctaid_z();
  *To++ = __nvvm_read_ptx_sreg_clusterid_x();
  *To++ = __nvvm_read_ptx_sreg_clusterid_y();
  *To++ = __nvvm_read_ptx_sreg_clusterid_z();
  *To++ = __nvvm_read_ptx_sreg_nclusterid_x() + 10 * __nvvm_read_ptx_sreg_nclusterid_y() +
          100 * __nvvm_read_ptx_sreg_nclusterid_z();
  *To++ = __nvvm_read_ptx_sreg_cluster_ctarank();
  int Rank, Blocks;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(Rank));
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(Blocks));
  *To++ = Rank;
  *To++ = Blocks;
  *To++ = __nvvm_is_explicit_cluster();
#endif
}

// Shared memory of other blocks, through three forms of mapa

__global__ void neighbours(int *Out) {
  __shared__ int Pad[3], Own[32];
  extern __shared__ int Dynamic[];
  cg::cluster_group C = cg::this_cluster();
  int Rank = C.block_rank(), Next = (Rank + 1) % C.num_blocks();
  Pad[threadIdx.x % 3] = -1;
  Own[threadIdx.x] = 100 * linearBlock() + threadIdx.x;
  Dynamic[threadIdx.x] = 7000 + Own[threadIdx.x];
  C.sync();
  int Sum = *C.map_shared_rank(&Own[threadIdx.x], Next);
  int *Far = nullptr, *Back = nullptr;
  unsigned Narrow = 0, Value = 0, RankOfFar = 0, Is = 0, IsShared = 0, IsGlobal = 0;
#ifdef __CUDA_ARCH__
  asm("mapa.u64 %0, %1, %2;" : "=l"(Far) : "l"(&Dynamic[threadIdx.x]), "r"(Next));
  Narrow = __cvta_generic_to_shared(&Own[1]);
  asm("mapa.shared::cluster.u32 %0, %0, %1;" : "+r"(Narrow) : "r"(Next));
  asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(Value) : "r"(Narrow));
  asm("getctarank.u64 %0, %1;" : "=r"(RankOfFar) : "l"(Far));
  asm("mapa.u64 %0, %1, %2;" : "=l"(Back) : "l"(Far), "r"(Rank));
  asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(Is) : "l"(Far));
  asm("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(IsShared) : "l"(Far));
  asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(IsGlobal) : "l"(Far));
#endif
  Sum += *Far + Value;
  int *To = Out + 6 * (linearBlock() * blockDim.x + threadIdx.x);
  To[0] = Sum;
  To[1] = RankOfFar == Next;
  To[2] = Back == &Dynamic[threadIdx.x];
  To[3] = Is + 10 * IsShared + 100 * IsGlobal;
  C.sync(); // Nobody leaves while others read.
  To[4] = C.query_shared_rank(C.map_shared_rank(&Own[0], Rank));
  To[5] = C.thread_rank() + 1000 * C.num_threads();
}

// The barrier in two halves, threads that exit early, and atomics

__global__ void barriers(int *Out) {
  __shared__ int Count;
  cg::cluster_group C = cg::this_cluster();
  if (threadIdx.x == 0)
    Count = 0;
  C.sync();
  if (threadIdx.x >= 48)
    return; // Not waited for.
  atomicAdd(C.map_shared_rank(&Count, 0), C.block_rank() + 1);
  for (int Round = 0; Round != 3; ++Round) {
    auto Token = C.barrier_arrive();
    if (threadIdx.x == 0)
      Out[8 + Round * gridDim.x + blockIdx.x] = Round;
    C.barrier_wait(static_cast<decltype(Token) &&>(Token));
    if (threadIdx.x < 2 && Round == 1)
      atomicAdd(C.map_shared_rank(&Count, C.num_blocks() - 1), 1000);
  }
  C.sync();
  if (threadIdx.x == 0)
    Out[blockIdx.x] = Count;
  C.sync();
}

// An mbarrier object of another block

__device__ bool test(const unsigned long long *Barrier, unsigned Parity) {
  unsigned Done = 0;
#ifdef __CUDA_ARCH__
  asm volatile("{ .reg .pred p; mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], %2;"
               " selp.u32 %0, 1, 0, p; }" : "=r"(Done) : "r"((unsigned)__cvta_generic_to_shared(Barrier)), "r"(Parity) : "memory");
#endif
  return Done;
}

__global__ void remoteArrivals(int *Out) {
  __shared__ unsigned long long Barrier;
  __shared__ int Values[64];
  cg::cluster_group C = cg::this_cluster();
  unsigned At = __cvta_generic_to_shared(&Barrier);
#ifdef __CUDA_ARCH__
  if (threadIdx.x == 0)
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(At), "r"(C.num_blocks() * blockDim.x) : "memory");
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  C.sync();
  for (unsigned Rank = 0; Rank != C.num_blocks(); ++Rank) {
    if (Rank == 0)
      *C.map_shared_rank(&Values[C.thread_rank()], 0) = C.thread_rank() * 3;
    unsigned Remote;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(Remote) : "r"(At), "r"(Rank));
    asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(Remote) : "memory");
  }
  while (!test(&Barrier, 0))
    ;
  int Sum = 0;
  if (C.block_rank() == 0 && threadIdx.x == 0)
    for (int I = 0; I != C.num_blocks() * blockDim.x; ++I)
      Sum += Values[I];
  if (threadIdx.x == 0)
    Out[blockIdx.x] = Sum;
  C.sync();
#endif
}

// Bulk copies into several blocks, and from one block's shared memory to another's

__global__ void multicast(int *Out) {
  __shared__ alignas(128) int Buffer[32];
  __shared__ alignas(128) int Ring[16];
  __shared__ unsigned long long Barrier, RingBarrier;
  cg::cluster_group C = cg::this_cluster();
  unsigned To = __cvta_generic_to_shared(Buffer), At = __cvta_generic_to_shared(&Barrier);
  unsigned RingTo = __cvta_generic_to_shared(Ring), RingAt = __cvta_generic_to_shared(&RingBarrier);
  unsigned Rank = C.block_rank();
#ifdef __CUDA_ARCH__
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(At) : "memory");
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(RingAt) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    // The even and the odd blocks get halves from blocks 0 and 1.
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 128;" ::"r"(At) : "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 64;" ::"r"(RingAt) : "memory");
  }
  for (int I = threadIdx.x; I < 32; I += blockDim.x)
    Buffer[I] = -1;
  C.sync();
  if (threadIdx.x == 0 && Rank < 2)
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
                 " [%0], [%1], 128, [%2], %3;" ::"r"(To), "l"(Out + 1024 + 32 * Rank), "r"(At),
                 "h"((unsigned short)(0x55 << Rank & (1 << C.num_blocks()) - 1)) : "memory");
  while (!test(&Barrier, 0))
    ;
  int Sum = 0;
  for (int I = 0; I != 32; ++I)
    Sum += Buffer[I];
  if (threadIdx.x == 0)
    Out[blockIdx.x] = Sum;
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  if (threadIdx.x == 0) {
    unsigned There, BarrierThere, Next = (Rank + 1) % C.num_blocks();
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(There) : "r"(RingTo), "r"(Next));
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(BarrierThere) : "r"(RingAt), "r"(Next));
    asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], 64, [%2];" ::"r"(There),
                 "r"(To), "r"(BarrierThere) : "memory");
  }
  while (!test(&RingBarrier, 0))
    ;
  if (threadIdx.x == 0)
    Out[64 + blockIdx.x] = Ring[15];
  C.sync();
#endif
}

// Asynchronous stores into another block

__global__ void stores(int *Out) {
  __shared__ alignas(16) int Box[64];
  __shared__ unsigned long long Barrier;
  cg::cluster_group C = cg::this_cluster();
  unsigned At = __cvta_generic_to_shared(&Barrier), To = __cvta_generic_to_shared(Box);
#ifdef __CUDA_ARCH__
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(At) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 192;" ::"r"(At) : "memory");
  }
  C.sync();
  unsigned There, BarrierThere, Next = (C.block_rank() + 1) % C.num_blocks();
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(There) : "r"(To), "r"(Next));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(BarrierThere) : "r"(At), "r"(Next));
  int Value = 1000 * blockIdx.x + threadIdx.x;
  if (threadIdx.x < 16)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.s32 [%0], %1, [%2];" ::"r"(There + 4 * threadIdx.x),
                 "r"(Value), "r"(BarrierThere) : "memory");
  else if (threadIdx.x < 24)
    asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.v4.s32 [%0], {%1, %1, %1, %2}, [%3];" ::"r"(
                     There + 64 + 16 * (threadIdx.x - 16)), "r"(Value), "r"(-Value), "r"(BarrierThere) : "memory");
  while (!test(&Barrier, 0))
    ;
  if (threadIdx.x == 0) {
    Out[4 * blockIdx.x] = Box[15];
    Out[4 * blockIdx.x + 1] = Box[44];
    Out[4 * blockIdx.x + 2] = Box[47];
  }
  C.sync();
#endif
}

// A rank that is checked first, which LLVM may ask for before that; and more blocks than can be live, without any barrier

__global__ void guarded(int *Out) {
  __shared__ int Own[4];
  cg::cluster_group C = cg::this_cluster();
  unsigned Next = C.block_rank() + 1;
  Own[threadIdx.x % 4] = 10 * blockIdx.x;
  C.sync();
  int Sum = 0;
  for (int I = 0; I != 4; ++I)
    if (Next < C.num_blocks())
      Sum += C.map_shared_rank(Own, Next)[I];
  Out[blockIdx.x] = Sum;
  C.sync();
}

__global__ void histogram(int *Out) {
  extern __shared__ int Bins[];
  cg::cluster_group C = cg::this_cluster();
  Bins[threadIdx.x] = 0;
  C.sync();
  for (int I = 0; I != 100; ++I)
    atomicAdd(C.map_shared_rank(&Bins[(threadIdx.x + I) % 32], (blockIdx.x + I) % C.num_blocks()), 1);
  C.sync();
  if (C.thread_rank() == 0)
    atomicAdd(Out, *C.map_shared_rank(&Bins[5], 1) + Bins[5]);
}

int main() {
  OK(cudaMalloc(&Device, sizeof(Host)));
  OK(cudaMemset(Device, 0, sizeof(Host)));

  registers<<<2, 1>>>(Device);
  print("none", 28);
  // CHECK: none: 0 0 0 1 1 1 0 0 0 112 0 0 1 0 0 0 0 1 1 1 1 0 0 112 0 0 1 0
  OK(launch(registers, dim3(2, 4, 2), dim3(1), dim3(2, 2, 2), Device));
  print("2x2x2", 16 * 14);
  // CHECK: 2x2x2: 0 0 0 2 2 2 0 0 0 121 0 0 8 1
  // CHECK-SAME: 1 1 0 2 2 2 0 0 0 121 3 3 8 1 0 0 0 2 2 2 0 1 0 121 0 0 8 1
  // CHECK-SAME: 1 1 1 2 2 2 0 1 0 121 7 7 8 1{{$}}

  for (int Blocks : {2, 4}) {
    cudaLaunchAttribute A = {};
    A.id = cudaLaunchAttributeClusterDimension;
    A.val.clusterDim.x = Blocks;
    A.val.clusterDim.y = A.val.clusterDim.z = 1;
    cudaLaunchConfig_t C = {};
    C.gridDim = 4;
    C.blockDim = 32;
    C.dynamicSmemBytes = 128;
    C.attrs = &A;
    C.numAttrs = 1;
    OK(cudaLaunchKernelEx(&C, neighbours, Device));
    print("neighbours", 12);
  }
  // CHECK: neighbours: 7301 1 1 1 0 64000 7303 1 1 1 0 64001
  // CHECK: neighbours: 7301 1 1 1 0 128000 7303 1 1 1 0 128001

  OK(launch(barriers, dim3(8), dim3(64), dim3(4), Device));
  print("barriers", 32);
  // CHECK: barriers: 480 0 0 8000 480 0 0 8000 0 0 0 0 0 0 0 0 1 1 1 1 1 1 1 1 2 2 2 2 2 2 2 2{{$}}

  OK(launch(remoteArrivals, dim3(4), dim3(32), dim3(2), Device));
  print("arrivals", 4);
  // CHECK: arrivals: 6048 0 6048 0

  OK(launch(stores, dim3(4), dim3(32), dim3(2), Device));
  print("stores", 16);
  // CHECK: stores: 1015 1023 -1023 0 15 23 -23 0 3015 3023 -3023 0 2015 2023 -2023 0

  OK(launch(guarded, dim3(4), dim3(4), dim3(4), Device));
  print("guarded", 4);
  // CHECK: guarded: 40 80 120 0
  cudaLaunchAttribute A = {};
  A.id = cudaLaunchAttributeClusterDimension;
  A.val.clusterDim.x = 2;
  A.val.clusterDim.y = A.val.clusterDim.z = 1;
  cudaLaunchConfig_t C = {};
  C.gridDim = 4000;
  C.blockDim = 32;
  C.dynamicSmemBytes = 48 << 10;
  C.attrs = &A;
  C.numAttrs = 1;
  OK(cudaLaunchKernelEx(&C, histogram, Device));
  print("histogram", 1);
  // CHECK: histogram: 400000

  for (int I = 0; I != 64; ++I)
    Host[1024 + I] = I < 32 ? I : 100 + I;
  OK(cudaMemcpy(Device, Host, sizeof(Host), cudaMemcpyHostToDevice));
  OK(cudaMemset(Device, 0, 1024 * sizeof(int)));
  OK(launch(multicast, dim3(8), dim3(32), dim3(4), Device));
  print("multicast", 72);
  // CHECK: multicast: 496 4720 496 4720 496 4720 496 4720 0
  // CHECK-SAME: 0 147 15 147 15 147 15 147 15{{$}}
}
