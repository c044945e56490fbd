// The machine code of a replay beside the application's own.
// RUN: rm -rf %t && mkdir %t && cd %t
// RUN: %cuda_cc -O3 %s -o app
// RUN: llvm-mneme-record --quiet --device=host -o rec -- ./app
// RUN: grep -l '"KernelName": *"count"' rec/*.json | xargs cp -t .
// RUN: cp rec/RecordedIR* rec/*.mneme . && mv *.json count.json

// Every kernel is the same: what else there was has left its place, as has the one that
// cannot be recorded.
// RUN: for f in rec/*.json; do llvm-mneme-replay $f --no-execute --compare-with-app=app --format=text || exit 1; done > all.txt
// RUN: FileCheck %s --check-prefix=TEXT < all.txt
// TEXT-COUNT-3: machine code    identical to app
// RUN: llvm-mneme-replay count.json --no-execute --compare-with-app=app | FileCheck %s --check-prefix=SAME
// SAME:      "compare_with_app": "app"
// SAME:      "compare_with_app": {
// SAME-NEXT:   "app": "app",
// SAME-NEXT:   "copies": 1,
// SAME-NEXT:   "difference": null,
// SAME-NEXT:   "first_difference": null,
// SAME-NEXT:   "identical": true,
// SAME-NEXT:   "ptxas_options": "-O 3 -arch sm_90 -m 64",
// SAME-NEXT:   "relocations": null,
// SAME:        "code_size": [[SIZE:[0-9]+]]
// SAME:        "registers": [[REGS:[0-9]+]]
// SAME:      "reg_usage": [[REGS]]
// SAME:        "code_size": [[SIZE]]
// Also when the kernel runs.
// RUN: llvm-mneme-replay count.json --device=host --compare-with-app=app | FileCheck %s --check-prefix=RUNS
// RUNS: "identical": true
// RUNS: "verdict": "Match"

// Other code is no error, but no success.
// RUN: %python %S/../llvm-mneme-replay/Inputs/exit-code.py 2 llvm-mneme-replay count.json 'clang<O0>' --no-execute --compare-with-app=app \
// RUN:   | FileCheck %s --check-prefix=OTHER
// OTHER: "difference": "{{instruction|size}}"
// OTHER-NEXT: "first_difference": {{[0-9]+}}
// OTHER-NEXT: "identical": false

// However the compiler packs it.
// RUN: %cuda_cc -O3 -Xcuda-fatbinary --compress-all -Xcuda-fatbinary --compress-mode=speed %s -o lz4
// RUN: llvm-mneme-replay count.json --no-execute --compare-with-app=lz4 | FileCheck %s --check-prefix=IDENTICAL
// RUN: %cuda_cc -O3 --no-offload-new-driver -Xcuda-fatbinary --compress-all -Xcuda-fatbinary --compress-mode=size %s -o zstd
// RUN: llvm-mneme-replay count.json --no-execute --compare-with-app=zstd | FileCheck %s --check-prefix=IDENTICAL
// IDENTICAL: "identical": true

// What cannot be compared.
// RUN: not llvm-mneme-replay count.json --no-execute --compare-with-app=app --arch=sm_80 2>&1 | FileCheck %s --check-prefix=ARCH
// ARCH: error: 'app': no machine code of kernel 'count' for sm_80, only for sm_90
// RUN: not llvm-mneme-replay count.json --no-execute --compare-with-app=/bin/sh 2>&1 | FileCheck %s --check-prefix=HOST
// HOST: error: '/bin/sh': no machine code of kernel 'count' for sm_90, nor of any other kernel for a GPU
// RUN: not llvm-mneme-replay count.json --no-execute --compare-with-app=count.json 2>&1 | FileCheck %s --check-prefix=TEXTFILE
// TEXTFILE: error: 'count.json': not an ELF file
// RUN: not llvm-mneme-replay count.json --no-execute --compare-with-app=none 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: error: 'none': No such file or directory
// RUN: %python %S/Inputs/damage-fatbin.py app damaged
// RUN: not llvm-mneme-replay count.json --no-execute --compare-with-app=damaged 2>&1 | FileCheck %s --check-prefix=DAMAGED
// DAMAGED: error: 'damaged': damaged fat binary: an image lies outside of it

#include <cstdio>

// Two arrays in constant memory: the second is not at address zero.
__constant__ float First[10], Second[5];
__device__ int Before, Counter, After;

__device__ __noinline__ float twice(float X) { return 2 * X; }
__device__ __noinline__ float thrice(float X) { return 3 * X; }
__device__ float (*Table[2])(float) = {twice, thrice};

extern "C" __global__ void count(float *Y, int N) {
  const float *C = N > 8 ? First : Second;
  Y[threadIdx.x] += C[N];
  atomicAdd(&Counter, N);
}

extern "C" __global__ void indirect(float *Y, int N) {
  Y[threadIdx.x] = Table[N & 1](Y[threadIdx.x]);
  Before = N;
}

extern "C" __global__ void print(int N) {
  printf("%d %f\n", N, First[N]);
  After = 1;
}

// Order of use-lists decides which loop variables remain.
extern "C" __global__ void loops(float *Y, int N, int M) {
  float Local[40], Sum = 0;
  for (int I = 0; I < N; ++I)
    for (int J = I; J < M; ++J)
      Local[(I + J) % 40] = Y[J * N + I] * Second[I % 5];
  for (int I = N - 1; I > 0; --I)
    for (int J = M - 1; J >= I; --J)
      Sum += Local[(I * J) % 40] + Y[J - I];
  Y[threadIdx.x] = Sum;
}

int main() {
  float *Y;
  cudaMalloc(&Y, 4096);
  cudaMemset(Y, 0, 4096);
  count<<<1, 1>>>(Y, 3);
  indirect<<<1, 32>>>(Y, 1);
  print<<<1, 1>>>(2);
  loops<<<1, 1>>>(Y, 4, 4);
  return cudaDeviceSynchronize() != cudaSuccess;
}
