// With -fgpu-rdc, the name of a static kernel depends on all options of the
// compiler, unless -cuid names the translation unit.
//
// DEFINE: %{rdc} = -O2 -fgpu-rdc -cuid=smooth
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %cuda_cc %{rdc} %s -o app
// RUN: llvm-mneme-record -o rec --device=host --quiet -- %t/app > app.txt
// RUN: llvm-mneme-replay rec "--passes=default<O1>" > replay.json
// RUN: %best replay.json best.json "" rec
// RUN: %baking_cc %{rdc} %s -mllvm -mneme-apply=best.json -o baked 2> log
// RUN: count 0 < log
// RUN: llvm-mneme-record -o other --device=host --quiet -- %t/baked > baked.txt
// RUN: cmp app.txt baked.txt
// RUN: %baking_cc %{rdc} %s -o again
// RUN: cmp app again
// RUN: not cmp app baked
//
// RUN: %baking_cc -O2 -fgpu-rdc %s -mllvm -mneme-apply=best.json -o plain 2>&1 \
// RUN:   | FileCheck %s
// CHECK: warning: mneme: kernel 'smooth(float*, float, int)' is not the one that 'best.json' tuned, and is compiled without it: {{.*}}or is static, which needs the same -cuid in both builds

#include <cstdio>

static __global__ void smooth(float *x, float a, int n) {
  float sum = 0;
  for (int i = 0; i < n; ++i)
    sum += x[threadIdx.x] * a;
  x[threadIdx.x] = sum;
}

int main() {
  float *d, h[32] = {1, 2, 3};
  cudaMalloc(&d, sizeof(h));
  cudaMemcpy(d, h, sizeof(h), cudaMemcpyHostToDevice);
  smooth<<<1, 32>>>(d, 2, 10);
  cudaMemcpy(h, d, sizeof(h), cudaMemcpyDeviceToHost);
  printf("%g %g\n", h[0], h[2]);
}
