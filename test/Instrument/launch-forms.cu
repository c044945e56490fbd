// Kernels and launches as programs write them, recorded and replayed: lambdas,
// functors, templates of templates, function pointers, kernels in anonymous namespaces,
// every launch function, with a default stream per thread or without, on the host device
// and with the emulated GPU.
//
// REQUIRES: cuda-toolkit, device-host, emulated-cuda-programs
// DEFINE: %{mode} = -O2
// DEFINE: %{bc} = %cuda_cc_plain -std=c++17 %{mode} --cuda-device-only -emit-llvm -c %s -o %t.bc
// DEFINE: %{replay} = %python %S/../Runtime/Cuda/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// DEFINE: %{host} = rm -rf %t.rec && llvm-mneme-record --max-recordings=0 --device=host -o %t.rec -- %t 2>&1 | FileCheck %s && %{replay}
// DEFINE: %{cuda} = rm -rf %t.rec && %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --max-recordings=0 --device=cuda -o %t.rec -- %t 2>&1 \
// DEFINE:   | FileCheck %s && %{replay}
// RUN: %cuda_cc -std=c++17 %{mode} %s -o %t && %{bc}
// RUN: %{host}
// RUN: %{cuda}

// REDEFINE: %{mode} = -O3 -DCUDA_API_PER_THREAD_DEFAULT_STREAM
// RUN: %cuda_cc_static -std=c++17 %{mode} %s -o %t %emulated_static_libs && %{bc}
// RUN: %{host}
// RUN: %{cuda}

// REDEFINE: %{mode} = -O0 -g --no-offload-new-driver
// RUN: %cuda_cc -std=c++17 %{mode} %s -o %t && %{bc}
// RUN: %{host}
// RUN: %{cuda}

// CHECK: results 1111111111111
// CHECK: mneme: 13 launches seen, 13 recorded, 0 skipped
// REPLAY-COUNT-13: Match
// REPLAY-NOT: {{.}}

#include "../Runtime/Inputs/check.h"
#include <cuda_runtime.h>

template <typename F> __global__ void apply(int *P, F Body) { Body(P); }
template <typename T, template <typename> class Box> __global__ void boxed(T *P, Box<T> B) {
  *P += B.Value;
}
template <typename T> struct Holder {
  T Value;
  double Padding;
};
struct Functor {
  int By;
  __device__ void operator()(int *P) const { *P += By; }
};
namespace {
struct Local {
  char Small;
  int By;
};
__global__ void hidden(int *P, Local L) { *P += L.By; }
template <int N> __global__ void numbered(int *P) { *P += N; }
} // namespace
static __global__ void many(int *P, int A, int B, char C) { *P += A + B + C; }
__global__ void plain(int *P, int By) { *P += By; }



int main() {
  constexpr int N = 13;
  int *D, H[N] = {};
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemset(D, 0, sizeof(H)));
  int One = 1, I = 0;

  apply<<<1, 1>>>(D + I++, Functor{1});
  apply<<<1, 1>>>(D + I++, [=] __device__(int *P) { *P += One; });
  apply<<<1, 1>>>(D + I++, [] __device__(int *P) { *P = 1; });
  boxed<int, Holder><<<1, 1>>>(D + I++, Holder<int>{1, 0.5});
  hidden<<<1, 1>>>(D + I++, Local{7, 1});
  numbered<1><<<1, 1>>>(D + I++);
  many<<<1, 1>>>(D + I++, 2, 3, -4);

  // One kernel, told apart by the grid.
  void (*Table[])(int *, int) = {plain, nullptr};
  Table[0]<<<1, 1>>>(D + I++, 1);
  int *P = D + I++;
  void *Args[] = {&P, &One};
  OK(cudaLaunchKernel(plain, dim3(1, 1, 1), dim3(1, 1, 1), Args, 16, nullptr));
  P = D + I++;
  OK(cudaLaunchKernel(reinterpret_cast<const void *>(plain), 1, 1, Args, 32, nullptr));
  P = D + I++;
  OK(cudaLaunchCooperativeKernel(plain, dim3(1), dim3(1), Args, 0, nullptr));
  P = D + I++;
  cudaLaunchConfig_t Config = {};
  Config.gridDim = Config.blockDim = dim3(1);
  Config.dynamicSmemBytes = 48;
  OK(cudaLaunchKernelExC(&Config, reinterpret_cast<const void *>(plain), Args));
  Config.dynamicSmemBytes = 64;
  OK(cudaLaunchKernelEx(&Config, plain, D + I++, 1));
  CHECK(I == N);

  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("results ");
  for (int V : H)
    printf("%d", V);
  printf("\n");
  OK(cudaGetLastError());
}
