// A CUDA program of many launch forms: instrumented in any way, it runs as before
// and carries its kernels. No GPU is needed: without one, it fails as before too.
// REQUIRES: cuda-toolkit, nvptx-registered-target
// DEFINE: %{mode} =
// DEFINE: %{build} = %cuda_cc_plain -std=c++17 -fpass-plugin=%mneme_pass %{mode} %s -o
// DEFINE: %{check} = %t/app > %t/app.txt 2>&1 && diff %t/plain.txt %t/app.txt && llvm-mneme-record list-kernels %t/app | FileCheck %s
// RUN: rm -rf %t && mkdir %t
// RUN: %clangxx -shared -fPIC -I%mneme_src/include %S/Inputs/attach.cpp -o %t/attach.so
// RUN: %cuda_cc_plain -std=c++17 -O2 %s -o %t/plain -lcudart
// RUN: %t/plain > %t/plain.txt 2>&1

// REDEFINE: %{mode} = -O0
// RUN: %{build} %t/app -lcudart
// RUN: %{check} --check-prefixes=CHECK,O0
// REDEFINE: %{mode} = -O1 -g
// RUN: %{build} %t/app -lcudart
// RUN: %{check} --check-prefixes=CHECK,O1
// REDEFINE: %{mode} = -O3 --no-offload-new-driver
// RUN: %{build} %t/app -lcudart
// RUN: %{check} --check-prefixes=CHECK,O3
// REDEFINE: %{mode} = -O0 -g --no-offload-new-driver
// RUN: %{build} %t/app -lcudart
// RUN: %{check} --check-prefixes=CHECK,O0
// REDEFINE: %{mode} = -Oz -save-temps=obj
// RUN: %{build} %t/app -lcudart
// RUN: %{check} --check-prefixes=CHECK,OZ
// REDEFINE: %{mode} = -O2
// RUN: %{build} %t/app -lcudart
// RUN: %{check} --check-prefixes=CHECK,O2
// RUN: env LD_PRELOAD=%t/attach.so %t/app | FileCheck %s --check-prefix=ATTACH

// The static runtime, which is what CMake links by default.
// RUN: %{build} %t/app -lcudart_static -ldl -lrt -lpthread
// RUN: %{check} --check-prefixes=CHECK,O2
// RUN: env LD_PRELOAD=%t/attach.so %t/app | FileCheck %s --check-prefix=ATTACH

// Equal sources make equal bytes, wherever and however they are compiled.
// RUN: mkdir %t/elsewhere && cp %s %t/elsewhere/cuda.cu
// RUN: %{build} %t/1.o -c && llvm-mneme-record list-kernels %t/1.o | grep 'IR hash' > %t/1.txt
// RUN: %cuda_cc_plain -std=c++17 -fpass-plugin=%mneme_pass -O2 -c --no-offload-new-driver %t/elsewhere/cuda.cu -o %t/2.o
// RUN: llvm-mneme-record list-kernels %t/2.o | grep 'IR hash' | diff %t/1.txt -

// CHECK:     5 kernels
// CHECK-DAG: {{^}}  scale{{$}}
// CHECK-DAG: symbol: scale
// CHECK-DAG: (anonymous namespace)::hidden(float*)
// CHECK-DAG: local(float*, Big)
// CHECK-DAG: arguments: 8 (pointer), 24
// CHECK-DAG: void reverse<float, 3>(float*, int)
// CHECK-DAG: flags(bool, signed char, double, float4)
// CHECK-DAG: arguments: 1, 1, 8, 16
// O0-DAG:    source: cuda.cu, -O0
// O1-DAG:    source: cuda.cu, -O1
// O2-DAG:    source: cuda.cu, -O2
// O3-DAG:    source: cuda.cu, -O3
// OZ-DAG:    source: cuda.cu, -Oz

// ATTACH:     attach
// ATTACH-DAG: index kernel scale for sm_90 from cuda.cu: size 0 flags 0 host set
// ATTACH-DAG: index kernel _ZN12_GLOBAL__N_16hiddenEPf for
// ATTACH-DAG: index kernel _ZL5localPf3Big for
// ATTACH-DAG: index kernel _Z7reverseIfLi3EEvPT_i for
// ATTACH-DAG: index variable counter for sm_90 from cuda.cu: size 4 flags 0 host set
// ATTACH-DAG: index variable coefficients for sm_90 from cuda.cu: size 16 flags 1 host set
// ATTACH-DAG: hook cudaLaunchKernel
// ATTACH-DAG: hook cudaLaunchKernelExC
// ATTACH-DAG: hook __cudaRegisterFunction
// ATTACH-DAG: hook cudaMemcpyToSymbol
// ATTACH:     fake malloc 1024
// ATTACH:     malloc: no error
// ATTACH:     fake free

#include <cstdio>
#include <memory>

__device__ int counter;
__constant__ float coefficients[4];

struct Big {
  int A;
  double B;
  char C[5];
};

template <typename T, int N>
__global__ __launch_bounds__(256, 2) void reverse(T *P, int Size) {
  __shared__ T Tile[256];
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  Tile[threadIdx.x] = I < Size ? P[I] : T(0);
  __syncthreads();
  if (I < Size)
    P[I] = Tile[255 - threadIdx.x] * N + coefficients[I & 3];
}

namespace {
__global__ void hidden(float *P) {
  atomicAdd(&counter, 1);
  P[threadIdx.x] = sinf(P[threadIdx.x]);
}
} // namespace

static __global__ void local(float *P, Big B) {
  P[threadIdx.x] += B.B + B.C[1];
}

__global__ void flags(bool, signed char, double, float4) {}

extern "C" __global__ void scale(const float *A, float *B, int N) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  if (I < N)
    B[I] = 2 * A[I];
}

static void launchThrough(void (*Kernel)(const float *, float *, int),
                          float *D) {
  Kernel<<<1, 1>>>(D, D, 1);
}

int main() {
  void *Memory = nullptr;
  cudaError_t E = cudaMalloc(&Memory, 1024);
  printf("malloc: %s\n", cudaGetErrorString(E));
  float *D = static_cast<float *>(Memory);
  {
    float Values[4] = {1, 2, 3, 4};
    E = cudaMemcpyToSymbol(coefficients, Values, sizeof(Values));
    printf("copy: %d\n", E);
    scale<<<dim3(4), dim3(64), 16>>>(D, D, 256);
    reverse<float, 3><<<4, 256>>>(D, 256);
    hidden<<<1, 64>>>(D);
    local<<<1, 64>>>(D, Big{1, 2.0, "hey"});
    launchThrough(scale, D);
    printf("launches: %d\n", cudaGetLastError());
    int N = 1;
    const float *In = D;
    void *Args[] = {&In, &D, &N};
    printf("direct: %d\n", cudaLaunchKernel((const void *)scale, dim3(1),
                                            dim3(1), Args, 0, nullptr));
    cudaLaunchConfig_t Config = {};
    Config.gridDim = dim3(2);
    Config.blockDim = dim3(32);
    printf("extended: %d\n", cudaLaunchKernelEx(&Config, scale, In, D, N));
  }
  // The deleter is a runtime function that is passed around.
  std::unique_ptr<void, cudaError_t (*)(void *)> Owner(Memory, cudaFree);
  Owner.reset();
  printf("free: %d\n", cudaGetLastError());
}
