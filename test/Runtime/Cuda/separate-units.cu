// With -fgpu-rdc, kernels may need what other translation units have: it is linked, and
// variables are where the runtime has them. What is not in the executable is named.
//
// DEFINE: %{ir} = %cuda_cc_plain -O2 -fgpu-rdc --cuda-device-only -emit-llvm -c %s
// DEFINE: %{record} = rm -rf %t.rec && %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1
// DEFINE: %{replay} = %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec
// RUN: %{ir} -o %t.main.bc && %{ir} -DOTHER -o %t.other.bc
// RUN: llvm-link %t.main.bc %t.other.bc -o %t.bc
// RUN: %cuda_cc -O2 -fgpu-rdc -DOTHER -c %s -o %t.o
// RUN: %cuda_cc -O2 -fgpu-rdc -c %s -o %t.main.o
// RUN: %cuda_cc -O2 --offload-link %t.main.o %t.o -o %t
// RUN: %{record} | FileCheck %s
// CHECK: result 33, no error
// CHECK: 4 launches seen, 4 recorded, 0 skipped
// RUN: %{replay} | FileCheck %s --check-prefixes=REPLAY,LINKED
// REPLAY-DAG: alone grid 1: Match
// REPLAY-DAG: prints grid 1: Match
// LINKED-DAG: calls grid 1: Match
// LINKED-DAG: reads grid 1: Match
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// SHOW: variable 'Factor': 4 bytes

// Another compiler's unit.
// RUN: %cuda_cc_plain -O2 -fgpu-rdc -DOTHER -c %s -o %t.o
// RUN: %cuda_cc -O2 --offload-link %t.main.o %t.o -o %t
// RUN: %{record} | FileCheck %s --check-prefix=MISSING
// MISSING-DAG: warning: kernel '_Z5callsPf' is not recorded: function '_Z5otherf' belongs to another translation unit
// MISSING-DAG: warning: kernel '_Z5readsPf' is not recorded: variable 'Factor' belongs to another translation unit
// MISSING-DAG: result 33, no error
// MISSING: 4 launches seen, 2 recorded, 2 skipped
// RUN: %{replay} | FileCheck %s --check-prefix=REPLAY

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
