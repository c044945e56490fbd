// What a GPU has run in clusters is replayed in clusters of the same size on the host device. A bound of their size alone asks for no
// clusters.

// REQUIRES: emulated-cuda-programs
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} llvm-mneme-record --device=cuda -o %t/rec -- %t/app
// RUN: %python %S/../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec host | FileCheck %s
// CHECK: bounded grid 2: Match
// CHECK-NEXT: clustered grid 2: Match
// RUN: %{gpu} %python %S/../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/rec cuda:0 | FileCheck %s --check-prefix=GPU
// GPU: bounded grid 2: Match
// GPU-NEXT: clustered grid 2: Match
// RUN: not llvm-mneme-replay --device=host --format=text --grid-dim-x=3 $(grep -l clustered %t/rec/*.json) 2>&1 | FileCheck %s --check-prefix=TEXT
// TEXT: invalid-configuration: grid (3,1,1) is not a whole number of clusters of 2x1x1 thread blocks

#include <cuda_runtime.h>

// As mneme/nvcc.h defines __cluster_dims__(2).
__global__ void __attribute__((annotate("mneme.cluster_dims", 2))) clustered(int *P) { P[blockIdx.x] = 1; }
__global__ void __launch_bounds__(32, 1, 4) bounded(int *P) { P[blockIdx.x] += 2; }

int main() {
  int *P;
  cudaMalloc(&P, 8);
  cudaMemset(P, 0, 8);
  clustered<<<2, 1>>>(P);
  bounded<<<2, 1>>>(P);
  return cudaDeviceSynchronize();
}
