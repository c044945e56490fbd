// A static variable would no longer be that of other kernels.
//
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %cuda_cc -O1 %s -o app
// RUN: llvm-mneme-record -o rec --device=host --quiet --kernel=count -- %t/app
// RUN: llvm-mneme-replay rec "--passes=default<O3>" > replay.json
// RUN: %best replay.json best.json "" rec
// RUN: not %baking_cc -O1 %s -mllvm -mneme-apply=best.json -o baked 2>&1 | FileCheck %s
// CHECK: error: mneme: 'best.json': kernel '_Z5countPi': {{.*}}it uses the static variable '_ZL5calls', which other kernels share: declare it without 'static', or pass it as an argument

static __device__ int calls;

__global__ void count(int *x) { x[0] = atomicAdd(&calls, 1); }
__global__ void look(int *x) { x[0] = calls; }

int main() {
  int *d;
  cudaMalloc(&d, sizeof(int));
  count<<<1, 1>>>(d);
  look<<<1, 1>>>(d);
  cudaFree(d);
}
