// With -fgpu-rdc, kernels may need what other translation units have, which nothing
// links. These are not recorded, all others are.
//
// DEFINE: %{ir} = %cuda_cc_plain -O2 -fgpu-rdc --cuda-device-only -emit-llvm -c %s
// RUN: %{ir} -o %t.main.bc && %{ir} -DOTHER -o %t.other.bc
// RUN: llvm-link %t.main.bc %t.other.bc -o %t.bc
// RUN: %cuda_cc -O2 -fgpu-rdc -DOTHER -c %s -o %t.o
// RUN: %cuda_cc -O2 -fgpu-rdc -c %s -o %t.main.o
// RUN: %cuda_cc -O2 --offload-link %t.main.o %t.o -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK-DAG: warning: kernel '_Z5callsPf' is not recorded: function '_Z5otherf' is of another translation unit
// CHECK-DAG: warning: kernel '_Z5readsPf' is not recorded: variable 'Factor' is of another translation unit
// CHECK-DAG: result 33, no error
// CHECK: 4 launches seen, 2 recorded, 2 skipped
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY-DAG: alone grid 1: Match
// REPLAY-DAG: prints grid 1: Match

#ifdef OTHER

__device__ float Factor = 3;
__device__ float other(float X) { return X + 10; }

#else

#include <cstdio>

extern __device__ float Factor;
__device__ float other(float X);

__global__ void calls(float *Y) { Y[threadIdx.x] = other(Y[threadIdx.x]); }
__global__ void reads(float *Y) { Y[threadIdx.x] *= Factor; }
__global__ void alone(float *Y) { Y[threadIdx.x] += 1; }

// What the system has is of no unit.
__global__ void prints(float *Y) {
  if (Y[threadIdx.x] < 0)
    printf("%f\n", Y[threadIdx.x]);
}

int main() {
  float *Y, Result;
  cudaMalloc(&Y, 128);
  cudaMemset(Y, 0, 128);
  alone<<<1, 32>>>(Y);
  calls<<<1, 32>>>(Y);
  reads<<<1, 32>>>(Y);
  prints<<<1, 32>>>(Y);
  cudaMemcpy(&Result, Y, sizeof(Result), cudaMemcpyDeviceToHost);
  std::printf("result %g, %s\n", Result, cudaGetErrorString(cudaGetLastError()));
}

#endif
