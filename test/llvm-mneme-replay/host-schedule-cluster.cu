// Random schedules find a block that reads another one's shared memory too early; with the barrier of the cluster, all agree.

// REQUIRES: clang, cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: nvcc-as-clang -arch=sm_90 -O1 %s -o good && nvcc-as-clang -arch=sm_90 -O1 -DTOO_EARLY %s -o bad
// RUN: llvm-mneme-record --device=host --quiet -o rec -- ./good && llvm-mneme-record --device=host --quiet -o early -- ./bad
// DEFINE: %{replay} = llvm-mneme-replay --device=host --format=text --host-schedule=random
// RUN: %{replay}:1 rec > out && %{replay}:2 rec >> out && %{replay}:3 rec >> out && FileCheck %s < out
// CHECK-COUNT-3: verdict {{ *}}Match
// RUN: (%{replay}:1 early; %{replay}:2 early; %{replay}:3 early; true) | FileCheck %s --check-prefix=EARLY
// EARLY: verdict {{ *}}Mismatch

#include <cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void __cluster_dims__(4) shift(int *Out) {
  __shared__ int Own;
  cg::cluster_group C = cg::this_cluster();
  Own = 0;
  C.sync();
  if (threadIdx.x == 0)
    Own = blockIdx.x + 10;
#ifdef TOO_EARLY
  __syncthreads();
#else
  C.sync();
#endif
  int Value = *C.map_shared_rank(&Own, (C.block_rank() + 1) % 4);
  C.sync();
  Out[blockIdx.x * 32 + threadIdx.x] = Value;
}

int main() {
  int *P;
  cudaMalloc(&P, 1024);
  cudaMemset(P, 0, 1024);
  shift<<<8, 32>>>(P);
  return cudaDeviceSynchronize();
}
