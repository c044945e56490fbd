// mneme::annotate() is kept with the recording of every kernel that runs between
// the call and the end of the memory.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -std=c++17 -O2 -I%mneme_src/include %s -o %t
// RUN: rm -rf %t.rec %t.plain.rec && llvm-mneme-record --device=host -o %t.rec -- %t 2> %t.err
// RUN: FileCheck %s --check-prefix=WARN < %t.err
// RUN: llvm-mneme-record check %t.rec
// Tags are stored as they are.
// RUN: grep -l sums %t.rec/DeviceState.prologue.* | count 1
// RUN: grep -l 'as doubles' %t.rec/DeviceState.prologue.* | count 1
// RUN: not grep sums $(grep -l 'as doubles' %t.rec/DeviceState.prologue.*)
// RUN: grep -l freed %t.rec/DeviceState.prologue.* | count 1
// RUN: not grep -e outside -e none -e negative -e foreign -e pinned -e unused %t.rec/DeviceState.prologue.*
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// SHOW-LABEL: first(float*)
// SHOW-DAG: buffer 0: 3.9 KiB
// SHOW-DAG: annotation 'sums' on buffer 0: 4000 bytes as f32, rel:1e-05, norm l2
// SHOW-DAG: annotation 'freed' on buffer 1 + 40: 40 bytes as bytes, exact
// RUN: llvm-mneme-record show --json %t.rec > %t.json
// RUN: %python -c "import json, sys; ks = {k['Kernel']['KernelName']: k for k in json.load(open(sys.argv[1]))}; \
// RUN:   a, = ks['_Z6secondPf']['Launches'][0]['Annotations']; \
// RUN:   assert (a['Tag'], a['DType'], a['Tolerance'], a['Norm']) == ('as doubles', 'f64', 'ulp:4', 'none'); \
// RUN:   assert (a['Target'], a['Size']) == ('buffer 0', 4000)" %t.json
// Alone it runs as if nothing had been annotated.
// RUN: env LD_PRELOAD= %t --no-device

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <mneme/annotate.h>

__device__ int Other;
__global__ void third(int *P) { *P = Other; }
__global__ void first(float *P) { P[0] = 1; }
__global__ void second(float *P) { P[0] = 2; }

int main(int Argc, char **) {
  float *A, *B = nullptr;
  if (Argc > 1) {
    mneme::annotate(B, 10, mneme::relative(1e-5));
    return 0;
  }
  OK(cudaMalloc(&A, 4000));
  OK(cudaMalloc(&B, 4000));
  mneme::annotate(A, 1000, mneme::relative(1e-5, MNEME_L2), "sums");
  mneme_annotate(B + 10, 40, MNEME_BYTES, MNEME_EXACT, 0, MNEME_PER_ELEMENT, "freed");
  // WARN: mneme: warning: annotation 'outside': {{.*}} is not within one allocation of device memory
  mneme::annotate(A, 1001, mneme::exact(), "outside");
  // WARN: mneme: warning: annotation 'none': no bytes
  mneme::annotate(A + 1, 0, mneme::exact(), "none");
  // WARN: mneme: warning: annotation 'negative': tolerance -1 is not a finite number from 0 up
  mneme::annotate(A + 2, 1, mneme::absolute(-1), "negative");
  // WARN: mneme: warning: annotation 'foreign': unknown element type 99
  mneme_annotate(A + 3, 4, (MnemeDType)99, MNEME_EXACT, 0, MNEME_PER_ELEMENT, "foreign");
  // A page-locked buffer that the kernel was not given, and a variable that it
  // does not use, are not recorded, and neither is what was said about them.
  float *Pinned;
  void *Unused;
  OK(cudaMallocHost(&Pinned, 4000));
  OK(cudaGetSymbolAddress(&Unused, Other));
  mneme::annotate(Pinned, 1000, mneme::exact(), "pinned");
  mneme::annotate((int *)Unused, 1, mneme::exact(), "unused");
  first<<<1, 1>>>(A);
  OK(cudaFree(B));
  mneme::annotate((double *)A, 500, mneme::ulp(4), "as doubles");
  second<<<1, 1>>>(A);
  OK(cudaDeviceSynchronize());
}
