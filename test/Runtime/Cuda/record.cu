// What is recorded on a GPU: which launches, which memory, which pages of it. The
// program's own results are what they are without recording.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc %t > %t.expected
// RUN: FileCheck %s < %t.expected
// RUN: rm -rf %t.*rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t > %t.out 2> %t.err
// RUN: cmp %t.expected %t.out
// RUN: FileCheck %s --check-prefix=ALL < %t.err
// ALL: mneme: 12 launches seen, 6 recorded, 6 skipped
// ALL-DAG: 3 skipped: same launch configuration recorded before
// ALL-DAG: 3 skipped: limit of recordings per kernel reached
// RUN: llvm-mneme-record check %t.rec
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// RUN: cat %t.rec/*.json | FileCheck %s --check-prefix=JSON
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY

// The driver that the machine has is asked; there is one here, so auto means it.
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record -o %t.auto.rec -- %t 2>&1 | FileCheck %s --check-prefix=ALL

// A program with the static runtime goes through its slots; so does one that is not
// position-independent, and one of the old driver.
// RUN: %cuda_cc_static -O2 %s -o %t.static %emulated_static_libs
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.static.rec -- %t.static 2>&1 > %t.out \
// RUN:   | FileCheck %s --check-prefix=ALL
// RUN: cmp %t.expected %t.out
// RUN: llvm-mneme-record show %t.static.rec | FileCheck %s --check-prefix=SHOW
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.static.rec | FileCheck %s --check-prefix=REPLAY
// RUN: %cuda_cc -O2 -no-pie %s -o %t.nopie
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.nopie.rec -- %t.nopie 2>&1 > %t.out \
// RUN:   | FileCheck %s --check-prefix=ALL
// RUN: cmp %t.expected %t.out
// RUN: %cuda_cc -O2 --no-offload-new-driver %s -o %t.old
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.old.rec -- %t.old 2>&1 > %t.out | FileCheck %s --check-prefix=ALL
// RUN: cmp %t.expected %t.out

// Only what is selected is asked about, and counted by launch.
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --kernel='^sparse\(' -o %t.byname.rec -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=BYNAME
// BYNAME: sparse(char*, unsigned long) {{ *}}2 {{ *}}2
// BYNAME: counted(int*) {{ *}}0 {{ *}}10 {{ *}}0 B
// BYNAME-DAG: 12 launches seen, 2 recorded, 10 skipped
// BYNAME-DAG: 10 skipped: not selected
// BYNAME: 2 instances of 1 kernel
// RUN: ls %t.byname.rec/*.json | count 1
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --kernel=counted --skip=3 --max-recordings=2 -o %t.skip.rec -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=SKIP
// SKIP-DAG: 12 launches seen, 2 recorded, 10 skipped
// SKIP-DAG: 3 skipped: among the first launches, to be skipped
// SKIP-DAG: 2 skipped: not selected
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --no-record -- %t 2>&1 | FileCheck %s --check-prefix=NONE
// NONE: 12 launches seen, 0 recorded, 0 skipped

// What a folder holds is not recorded again.
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: mneme: 12 launches seen, 3 recorded, 9 skipped
// AGAIN: 9 skipped: already in the output directory

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__device__ int Used[3] = {1, 2, 3};
__device__ int Unused = 4;
__constant__ int Zero;

__global__ void counted(int *P) { P[blockIdx.x] += Used[blockIdx.x % 3] + Zero; }
__global__ void sparse(char *P, size_t N) {
  P[N / 2] = 2;
  P[N - 1] = 3;
  ++Unused;
}

int main() {
  int *D, *Freed;
  char *Large;
  const size_t N = (64 << 20) + 100;
  OK(cudaFree(nullptr));
  OK(cudaMalloc(&Freed, 10000));
  OK(cudaMalloc(&D, 1024));
  OK(cudaMemset(D, 0, 1024));
  OK(cudaFree(Freed));
  for (int Grid = 1; Grid <= 7; ++Grid)
    counted<<<Grid, 1>>>(D);
  // Again: these are known.
  for (int Grid = 1; Grid <= 3; ++Grid)
    counted<<<Grid, 1>>>(D);
  int Two = 2;
  OK(cudaMemcpyToSymbol(Zero, &Two, sizeof(Two)));
  OK(cudaMalloc(&Large, N));
  OK(cudaMemset(Large, 0, N));
  OK(cudaMemset(Large, 1, 5));
  sparse<<<1, 1>>>(Large, N);
  sparse<<<1, 2>>>(Large, N);
  int H[8], Counter;
  char Last;
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(&Last, Large + N - 1, 1, cudaMemcpyDeviceToHost));
  OK(cudaMemcpyFromSymbol(&Counter, Unused, sizeof(Counter)));
  // CHECK: 10 16 18 4, 3, 7, no error
  printf("%d %d %d %d, %d, %d, %s\n", H[0], H[1], H[2], H[3], Last, Counter,
         cudaGetErrorString(cudaGetLastError()));
  OK(cudaFree(D));
}
// The freed buffer and the variables that no kernel reads are not there.
// SHOW: counted(int*)
// SHOW: recorded on: {{cuda|hip}}
// SHOW: grid 1x1x1, block 1x1x1, dynamic shared memory 0, launches 2
// SHOW-NEXT: device: Emulated GPU ({{sm_90|gfx90a:sramecc\+:xnack-}}), driver {{13.0|6.3.0}}, runtime {{13.0|6.3.0|unknown}}
// SHOW-DAG: buffer 0: 1.0 KiB (1024 bytes) at 0x7e0000002800, 1 bytes changed
// SHOW-DAG: variable 'Used': 12 bytes {{.*}}, unchanged
// SHOW-DAG: variable 'Zero': 4 bytes {{.*}}, unchanged
// SHOW-NOT: 'Unused'
// SHOW-NOT: buffer 1:
// SHOW: grid 2x1x1
// SHOW: sparse(char*, unsigned long)
// SHOW: buffer 1: 64.0 MiB (67108964 bytes) at 0x7e0000200000, 2 bytes changed
// SHOW: variable 'Unused': 4 bytes {{.*}}, 1 bytes changed
// JSON: "Device": "{{cuda|hip}}"
// JSON: "Arch": "{{sm_90|gfx90a:sramecc\+:xnack-}}"
// JSON-NEXT: "Driver": "{{13.0|6.3.0}}"
// JSON-NEXT: "Name": "Emulated GPU"
// JSON-NEXT: "Runtime": "{{13.0|6.3.0}}"
// REPLAY: counted grid 1: Match
// REPLAY-NEXT: counted grid 2: Match
// REPLAY-NEXT: counted grid 3: Match
// REPLAY-NEXT: counted grid 4: Match
// REPLAY-NEXT: sparse grid 1: Match
// REPLAY-NEXT: sparse grid 1: Match
