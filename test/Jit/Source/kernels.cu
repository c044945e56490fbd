// Kernels of a source that is compiled at run time, instances of kernel templates, and functions that launch kernels. They run on the
// host device, and are recorded and replayed as those of the program. The same source is compiled once.
//
// REQUIRES: cuda-toolkit, ptxas, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o %t/app -lcudart
// DEFINE: %{run} = env MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report %source_run %t/app
// RUN: %{run} | FileCheck %s
// CHECK: scale 0: 0 2 4 6
// CHECK: add 0: 3 5 7 9
// CHECK: shared 0: 5
// CHECK: attribute 0, large 0
// CHECK: launched 10 12 14 16
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=FIRST
// FIRST: library with kernels C++ compiled: 2
// RUN: %{run} | FileCheck %s
// RUN: %python %S/Inputs/sources.py %t/report | FileCheck %s --match-full-lines --check-prefix=SECOND
// SECOND: library with kernels C++ cache: 2
//
// RUN: env MNEME_JIT_CACHE=%t/cache llvm-mneme-record -o %t/rec --kernel=add --device=host --any-executable -- %t/app | FileCheck %s
// RUN: llvm-mneme-record list %t/rec | FileCheck %s --check-prefix=LIST
// LIST: {{^}}void add<3>(float*)
// RUN: llvm-mneme-replay %t/rec/*.json --passes='default<O3>' --format=text | FileCheck %s --check-prefix=REPLAY
// REPLAY: verdict{{ +}}Match

#include <cstdio>
#include <mneme/jit_module.h>

using mneme::jit_target;

static const char *Code = R"(
extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; }
template <int N> __global__ void add(float *X) { X[threadIdx.x] += N; }
extern "C" __global__ void shared(float *X) {
  extern __shared__ float S[];
  S[threadIdx.x] = X[threadIdx.x];
  __syncthreads();
  X[threadIdx.x] = S[blockDim.x - 1 - threadIdx.x];
}
extern "C" void all(float *X, int N) { scale<<<1, N>>>(X, 2); cudaDeviceSynchronize(); })";

int main() {
  float *X;
  cudaMallocManaged(&X, 4 * sizeof(float));
  for (int I = 0; I < 4; ++I)
    X[I] = I;
  mneme::jit_module M(jit_target::cuda, Code);
  auto Scale = M.kernel<void(float *, float)>("scale");
  if (!Scale)
    return std::printf("%s", M.error().c_str());
  int Error = Scale.launch(1, 4, 0, nullptr, X, 2);
  cudaDeviceSynchronize();
  std::printf("scale %d: %g %g %g %g\n", Error, X[0], X[1], X[2], X[3]);
  Error = M.instantiate("add", "3").launch(dim3(1), dim3(4), 0, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("add %d: %g %g %g %g\n", Error, X[0], X[1], X[2], X[3]);
  auto Shared = M.kernel<void(float *)>("shared");
  Error = Shared.launch(1, 4, 4 * sizeof(float), nullptr, X);
  cudaDeviceSynchronize();
  std::printf("shared %d: %g\n", Error, X[2]);
  Error = Shared.set_attribute(cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);
  int Large = Shared.launch(1, 4, 60000, nullptr, X);
  cudaDeviceSynchronize();
  std::printf("attribute %d, large %d\n", Error, Large);

  for (int I = 0; I < 4; ++I)
    X[I] = 5 + I;
  mneme::jit_module Both(jit_target::host_cuda, Code);
  Both.function<void(float *, int)>("all")(X, 4);
  std::printf("launched %g %g %g %g\n", X[0], X[1], X[2], X[3]);
}
