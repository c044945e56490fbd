// What is recorded: which launches, which memory, which pages of it.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t 2> %t.err | FileCheck %s
// RUN: FileCheck %s --check-prefix=ALL < %t.err
// ALL: mneme: 13 launches seen, 6 recorded, 7 skipped
// ALL-DAG: 4 skipped: limit of recordings per kernel reached
// ALL-DAG: 3 skipped: same launch configuration recorded before
// RUN: llvm-mneme-record check %t.rec
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW

// Only pages that hold something are in a prologue, only changed ones in an
// epilogue: a sparse buffer of 64 MiB takes a few hundred bytes.
// RUN: find %t.rec -name '*.mneme' -size +20k | count 0

// The pattern is searched in the symbol and in the demangled name.
// RUN: llvm-mneme-record --device=host --kernel='^sparse\(' -o %t.byname.rec -- %t 2>&1 | FileCheck %s --check-prefix=BYNAME
// RUN: llvm-mneme-record --device=host --kernel='^_Z6sparse' -o %t.bysymbol.rec -- %t 2>&1 | FileCheck %s --check-prefix=BYNAME
// BYNAME-DAG: 13 launches seen, 2 recorded, 11 skipped
// BYNAME-DAG: 11 skipped: not selected

// RUN: llvm-mneme-record --device=host --kernel=counted --skip=3 --max-recordings=2 -o %t.skip.rec -- %t 2>&1 | FileCheck %s --check-prefix=SKIP
// SKIP-DAG: 13 launches seen, 2 recorded, 11 skipped
// SKIP-DAG: 3 skipped: among the first launches, to be skipped
// SKIP-DAG: 2 skipped: not selected

#include "Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Used[3] = {1, 2, 3};
__device__ int Unused = 4;
__constant__ int Zero;

__global__ void counted(int *P) { P[blockIdx.x] += Used[blockIdx.x % 3] + Zero; }
__global__ void sparse(char *P, size_t N) { P[N / 2] = 2; P[N - 1] = 3; }
__global__ void user() { ++Unused; }

int main() {
  int *D, *Freed;
  char *Large;
  const size_t N = (64 << 20) + 100;
  OK(cudaMalloc(&Freed, 10000));
  OK(cudaMalloc(&D, 1024));
  OK(cudaMemset(D, 0, 1024));
  OK(cudaFree(Freed));
  for (int Grid = 1; Grid <= 8; ++Grid)
    counted<<<Grid, 1>>>(D);
  // Again: these are known.
  for (int Grid = 1; Grid <= 3; ++Grid)
    counted<<<Grid, 1>>>(D);
  OK(cudaMalloc(&Large, N));
  OK(cudaMemset(Large, 1, 5));
  sparse<<<1, 1>>>(Large, N);
  sparse<<<1, 2>>>(Large, N);
  int H[8];
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  // Recording changes nothing.
  // CHECK: 11 18 21 8
  printf("%d %d %d %d\n", H[0], H[1], H[2], H[4]);
}
// The freed buffer and the variable that no kernel reads are not there.
// SHOW: counted(int*)
// SHOW: grid 1x1x1, block 1x1x1, dynamic shared memory 0, launches 2
// SHOW-DAG: buffer 0: 1.0 KiB (1024 bytes) {{.*}}, 1 bytes changed
// SHOW-DAG: variable 'Used': 12 bytes {{.*}}, unchanged
// SHOW-DAG: variable 'Zero': 4 bytes {{.*}}, unchanged
// SHOW-NOT: 'Unused'
// SHOW-NOT: buffer 1:
// SHOW: grid 2x1x1
// SHOW: sparse(char*, unsigned long)
// SHOW: buffer 1: 64.0 MiB (67108964 bytes) {{.*}}, 2 bytes changed
