// REQUIRES: cuda-toolkit, device-host
//
// What is undefined at the barrier of a cluster ends the launch with a reason.
//
// RUN: rm -rf %t.*
// RUN: nvcc-as-clang -arch=sm_90 -O1 %s -o %t
// DEFINE: %{run} = not llvm-mneme-record --no-record --device=host -- %t
// RUN: %{run} 0 2>&1 | FileCheck %s --check-prefix=SPLIT
// SPLIT: deadlock in kernel '_Z5splitv', block ({{[01]}},0,0): 64 of 64 live threads wait at a barrier
// RUN: %{run} 1 2>&1 | FileCheck %s --check-prefix=WAITS
// WAITS: thread 0 waits at the barrier of the cluster without having arrived
// RUN: %{run} 2 2>&1 | FileCheck %s --check-prefix=TWICE
// TWICE: thread 0 arrived twice at the barrier of the cluster without waiting
// RUN: %{run} 3 2>&1 | FileCheck %s --check-prefix=RANK
// RANK: illegal address

#include <cooperative_groups.h>
#include <cstdlib>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(2) split() {
  if (threadIdx.x < 32)
    cg::this_cluster().sync();
  else
    __syncthreads();
}

__global__ void __cluster_dims__(2) waits() { asm volatile("barrier.cluster.wait;" ::: "memory"); }

__global__ void __cluster_dims__(2) twice() {
  asm volatile("barrier.cluster.arrive;" ::: "memory");
  asm volatile("barrier.cluster.arrive;" ::: "memory");
}

__global__ void __cluster_dims__(2) rank(int R) {
  __shared__ int Own;
  Own = 1;
  *(volatile int *)cg::this_cluster().map_shared_rank(&Own, R) = 2;
}

int main(int, char **Argv) {
  switch (atoi(Argv[1])) {
  case 0:
    split<<<2, 64>>>();
    break;
  case 1:
    waits<<<2, 32>>>();
    break;
  case 2:
    twice<<<2, 32>>>();
    break;
  default:
    rank<<<2, 32>>>(2);
  }
  return cudaDeviceSynchronize();
}
