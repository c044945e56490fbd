// Kernels of a source that is compiled at run time, through the CUDA runtime of the program and the driver. The architecture is that
// of the device.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 -DKERNEL --cuda-device-only -emit-llvm -c %s -o %t/kernel.bc
// RUN: %cuda_cc_plain -O2 -std=c++17 -I%mneme_src/include %s -o %t/app -lcudart
// DEFINE: %{run} = %jit_gpu MNEME_EMULATED_KERNELS=%t/kernel.bc MNEME_JIT_CACHE=%t/cache MNEME_JIT_REPORT=%t/report
// RUN: %{run} %t/app | FileCheck %s
// CHECK: no error: 6
// CHECK: no error: 24
// RUN: grep -c '"origin": "compiled"' %t/report | FileCheck %s --check-prefix=FIRST
// FIRST: {{^}}1{{$}}
// RUN: %{run} %t/app | FileCheck %s
// RUN: grep -c '"origin": "cache"' %t/report | FileCheck %s --check-prefix=FIRST

#ifdef KERNEL
extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; }
#else
#include <cstdio>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module M(mneme::jit_target::cuda, R"(
    extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; })");
  auto Scale = M.kernel<void(float *, float)>("scale");
  if (!Scale)
    return std::printf("%s", M.error().c_str());
  float *X, Value = 3;
  cudaMalloc(&X, sizeof(float));
  cudaMemcpy(X, &Value, sizeof(float), cudaMemcpyHostToDevice);
  cudaStream_t Stream;
  cudaStreamCreate(&Stream);
  for (float Factor : {2.0f, 4.0f}) {
    cudaError_t Error = Scale.launch(1, 1, 0, Stream, X, Factor);
    cudaStreamSynchronize(Stream);
    cudaMemcpy(&Value, X, sizeof(float), cudaMemcpyDeviceToHost);
    std::printf("%s: %g\n", cudaGetErrorString(Error), Value);
  }
}
#endif
