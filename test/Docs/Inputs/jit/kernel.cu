#include <cstdio>
#include <mneme/jit_module.h>

int main() {
  mneme::jit_module M(mneme::jit_target::cuda, R"(
    extern "C" __global__ void scale(float *X, float A) { X[threadIdx.x] *= A; })");
  auto Scale = M.kernel<void(float *, float)>("scale");
  if (!Scale)
    return std::printf("%s", M.error().c_str());
  float *X;
  cudaMallocManaged(&X, sizeof(float));
  *X = 3;
  cudaError_t Error = Scale.launch(/*Grid=*/1, /*Block=*/1, /*SharedBytes=*/0, /*Stream=*/nullptr, X, 2);
  cudaDeviceSynchronize();
  std::printf("%s: %g\n", cudaGetErrorString(Error), *X);
}
