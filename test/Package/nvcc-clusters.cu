// __cluster_dims__, which clang ignores: with nvcc-as-clang it reaches GPU code, and the host device runs such clusters.

// REQUIRES: clang, cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// DEFINE: %{nvcc} = env MNEME_PASS=%mneme_pass MNEME_CLANG=%clangxx_path CUDA_PATH=%cuda_path %python %mneme_src/utils/nvcc-as-clang
// RUN: %{nvcc} -O1 -ptx %s -o - | FileCheck %s --check-prefix=PTX
// PTX-LABEL: .entry _Z3one
// PTX: .reqnctapercluster 1, 1, 1
// PTX-LABEL: .entry _Z3two
// PTX: .reqnctapercluster 2, 1, 1
// PTX-LABEL: .entry _Z9templatedILi3E
// PTX: .reqnctapercluster 1, 3, 1
// RUN: %{nvcc} -O1 %s -o %t/app
// RUN: llvm-mneme-record --device=host -o %t/rec -- %t/app 2>&1 | FileCheck %s
// CHECK: all as it should be
// CHECK: 3 launches seen, 3 recorded

// Without the pass, nothing would translate it.
// RUN: not env MNEME_PASS= MNEME_CLANG=%clangxx_path CUDA_PATH=%cuda_path %python %mneme_src/utils/nvcc-as-clang -ptx %s -o - 2>&1 \
// RUN:   | FileCheck %s --check-prefix=NONE
// NONE: error: __cluster_dims__ needs MnemePass.so: unset MNEME_PASS

#include "../Runtime/Inputs/check.h"

__global__ void __cluster_dims__(1) one(int *P) { P[blockIdx.x] = 1; }
__device__ int blocks() {
#ifdef __CUDA_ARCH__
  return __nvvm_read_ptx_sreg_cluster_nctarank();
#else
  return 0;
#endif
}
__global__ void __cluster_dims__(2, 1, 1) two(int *P) { P[blockIdx.x] = blocks(); }
template <int N> __global__ void __cluster_dims__(1, N) templated(int *P) { P[blockIdx.y] = blocks(); }

int main() {
  int *P, H[4] = {};
  OK(cudaMalloc(&P, sizeof(H)));
  OK(cudaMemset(P, 0, sizeof(H)));
  one<<<2, 1>>>(P);
  OK(cudaDeviceSynchronize());
  OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 1 && H[1] == 1 && H[2] == 0);
  two<<<5, 1>>>(P);
  EXPECT(cudaErrorInvalidClusterSize, cudaGetLastError());
  two<<<4, 1>>>(P);
  OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 2 && H[3] == 2);
  EXPECT(cudaErrorInvalidValue, cudaFuncSetAttribute(two, cudaFuncAttributeRequiredClusterWidth, 4));
  cudaGetLastError();
  templated<3><<<dim3(1, 3), 1>>>(P);
  OK(cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost));
  CHECK(H[0] == 3 && H[2] == 3 && H[3] == 2);
  cudaFuncAttributes F;
  OK(cudaFuncGetAttributes(&F, two));
  CHECK(F.requiredClusterWidth == 2 && F.requiredClusterHeight == 1 && F.requiredClusterDepth == 1);
  printf("all as it should be\n");
}
