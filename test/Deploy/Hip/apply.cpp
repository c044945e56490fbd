// A tuned kernel that is compiled into a HIP application has the machine code of the study, at all -O levels
// of the application. Another kernel keeps its own, although both use the same function.
//
// DEFINE: %{level} =
// DEFINE: %{apply} = -fplugin=%mneme_pass -Xclang -mllvm -Xclang -mneme-apply=best.json
// DEFINE: %{record} = %emulated_gpu llvm-mneme-record --device=host --quiet
// DEFINE: %{compare} = --no-execute --format=text --compare-with-app
// DEFINE: %{test} = rm -rf %t && mkdir %t && cd %t \
// DEFINE:   && %cuda_cc %{level} %s -o app \
// DEFINE:   && %{record} -o rec --kernel=smooth -- %t/app > app.txt \
// DEFINE:   && %{record} -o other --kernel=fill -- %t/app \
// DEFINE:   && llvm-mneme-replay rec "--passes=default<O3>,loop-unroll" --device=host \
// DEFINE:     --mllvm=-unroll-threshold=2000 --set-launch-bounds > replay.json \
// DEFINE:   && %python %mneme_src/test/llvm-mneme-deploy/Inputs/best.py replay.json best.json "Emulated GPU" rec \
// DEFINE:   && %cuda_cc %{level} %s %{apply} -o baked \
// DEFINE:   && not llvm-mneme-replay rec --config=best.json %{compare}=app > text \
// DEFINE:   && llvm-mneme-replay rec --config=best.json %{compare}=baked >> text \
// DEFINE:   && llvm-mneme-replay other %{compare}=baked >> text \
// DEFINE:   && FileCheck %s < text
// CHECK: machine code    differs from app
// CHECK: machine code    identical to baked
// CHECK: machine code    identical to baked
//
// REDEFINE: %{level} = -O0
// RUN: %{test}
// REDEFINE: %{level} = -O1 -gline-tables-only
// RUN: %{test}
// REDEFINE: %{level} = -O2
// RUN: %{test}
//
// The payload still has the kernel of the source.
// RUN: llvm-mneme-record list-kernels --static-hash %t/app | grep static: > %t/app.hashes
// RUN: llvm-mneme-record list-kernels --static-hash %t/baked | grep static: > %t/baked.hashes
// RUN: cmp %t/app.hashes %t/baked.hashes
// RUN: %{record} -o %t/again -- %t/baked > %t/baked.txt
// RUN: cmp %t/app.txt %t/baked.txt
//
// The GPU gets the tuned kernel.
// RUN: cd %t && %cuda_cc_plain %{level} -fpass-plugin=%mneme_pass %{apply} --cuda-device-only -emit-llvm -c %s -o baked.bc
// RUN: llvm-dis %t/baked.bc -o - | FileCheck %s --check-prefix=IR
// IR-DAG: define hidden {{.*}}@_Z3mixfi__tuned___Z6smoothIfEvPT_i(
// IR-DAG: define {{.*}}amdgpu_kernel void @_Z6smoothIfEvPT_i(
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t/baked.bc %t/baked > %t/gpu.txt
// RUN: cmp %t/app.txt %t/gpu.txt

#include <cstdio>

__device__ int total;
__constant__ float weights[4] = {1, 2, 3, 4};

__device__ __attribute__((noinline)) float mix(float x, int n) {
  for (int k = 0; k < n; ++k)
    x = x * 0.5f + weights[k & 3];
  return x;
}

template <typename T> __global__ void smooth(T *x, int n) {
  __shared__ T tile[64];
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  tile[threadIdx.x] = x[i];
  __syncthreads();
  T sum = 0;
  for (int k = 0; k < n; ++k)
    sum += tile[(threadIdx.x + k) % 64];
  x[i] = mix(sum, n) + sum;
  if (i == 0)
    atomicAdd(&total, n);
}

__global__ void fill(float *x, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  float v = i;
  for (int k = 0; k < n; ++k)
    v = v * 2 + k;
  x[i] = mix(v, n);
}

int main() {
  constexpr int N = 256;
  float h[N], *d;
  int t;
  cudaMalloc(&d, sizeof(h));
  fill<<<N / 64, 64>>>(d, 9);
  smooth<float><<<N / 64, 64>>>(d, 9);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  cudaMemcpyFromSymbol(&t, total, sizeof(t));
  printf("%g %d\n", h[5], t);
}
