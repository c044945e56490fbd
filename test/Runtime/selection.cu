// Which of a kernel's launches are recorded: by number, by what tells them apart, the
// slowest, a sample.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc -O2 %s -o %t/app
// DEFINE: %{what} =
// DEFINE: %{dir} =
// DEFINE: %{record} = llvm-mneme-record --device=host -o %t/%{dir} %{what} -- %t/app

// REDEFINE: %{dir} = fifth
// REDEFINE: %{what} = --launches=5
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=FIFTH
// FIFTH: sum 156
// FIFTH: mneme: 24 launches seen, 1 recorded, 23 skipped
// FIFTH-DAG: 4 skipped: not one of the launches to be recorded
// FIFTH-DAG: 19 skipped: same launch configuration recorded before
// RUN: llvm-mneme-record show %t/fifth | FileCheck %s --check-prefix=SHOWS5
// SHOWS5: instance {{.*}} launches 24
// SHOWS5: argument 1: i32 = 5

// Every launch one of its own.
// REDEFINE: %{dir} = ordinal
// REDEFINE: %{what} = --launches=3,10-11,20- --record-id=ordinal --max-recordings=6
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=ORDINAL
// What is left out is counted all the same.
// ORDINAL: step(int*, int, State) 6 24
// ORDINAL: mneme: 24 launches seen, 6 recorded, 18 skipped
// ORDINAL-DAG: 16 skipped: not one of the launches to be recorded
// ORDINAL-DAG: 2 skipped: limit of recordings per kernel reached
// RUN: llvm-mneme-record check %t/ordinal
// RUN: llvm-mneme-record show %t/ordinal | grep 'argument 1' | FileCheck %s --check-prefix=SIX
// SIX: i32 = 3
// SIX-NEXT: i32 = 10
// SIX-NEXT: i32 = 11
// SIX-NEXT: i32 = 8
// SIX-NEXT: i32 = 9
// SIX-NEXT: i32 = 10
// SIX-NOT: {{.}}
// RUN: grep -A7 DynamicHashInputs %t/ordinal/*.json | FileCheck %s --check-prefix=INPUTS
// INPUTS: "Cooperative"
// INPUTS-NEXT: "Ordinal"
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/ordinal | grep -c Match | grep -x 6

// What the first launches were left out of has the others under their numbers.
// REDEFINE: %{dir} = numbers
// REDEFINE: %{what} = --record-id=ordinal --max-recordings=0 --skip=20
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=LAST
// LAST: step(int*, int, State) 4 24
// LAST: mneme: 24 launches seen, 4 recorded, 20 skipped
// LAST-NEXT: 20 skipped: among the first launches, to be skipped
// RUN: llvm-mneme-record list %t/numbers | grep -c 'launches 1,' | grep -x 4
// REDEFINE: %{what} = --record-id=ordinal --max-recordings=0
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=REST
// REST: mneme: 24 launches seen, 20 recorded, 4 skipped
// REST-NEXT: 4 skipped: already in the output directory
// RUN: llvm-mneme-record list %t/numbers | grep -c 'launches 2,' | grep -x 4
// RUN: llvm-mneme-record list %t/numbers | grep -c 'launches 1,' | grep -x 20

// Values of arguments, also those in structs, but no addresses: the second buffer is
// another one.
// REDEFINE: %{dir} = scalars
// REDEFINE: %{what} = --record-id=scalars --max-recordings=0
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=SCALARS
// SCALARS: mneme: 24 launches seen, 12 recorded, 12 skipped
// SCALARS: 12 skipped: same launch configuration and scalars recorded before
// Again: all of them are there.
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=HELD
// HELD: 24 launches seen, 0 recorded, 24 skipped
// HELD: 24 skipped: already in the output directory

// One folder, one way to tell launches apart.
// RUN: not llvm-mneme-record --device=host -o %t/scalars -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MIXED --implicit-check-not=sum
// MIXED: error: '{{.*}}scalars': holds launches that are distinguished by StaticHash, GridDims, BlockDims, SharedMem, Cooperative, Scalars, not by StaticHash, GridDims, BlockDims, SharedMem, Cooperative: give the same --record-id, or another folder
// RUN: not llvm-mneme-record --device=host --record-id=scalars -o %t/ordinal -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=MIXED2 --implicit-check-not=sum
// MIXED2: Ordinal, not by {{.*}}Scalars:

// REDEFINE: %{dir} = slowest
// REDEFINE: %{what} = --pick=slowest
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=SLOWEST
// SLOWEST: sum 156
// SLOWEST: mneme: 24 launches seen, 1 recorded, 23 skipped
// SLOWEST: 23 skipped: others were picked
// SLOWEST: 1 instance of 1 kernel
// RUN: llvm-mneme-record check %t/slowest 2>&1 | FileCheck %s --check-prefix=CLEAN
// CLEAN-NOT: warning
// RUN: llvm-mneme-record show %t/slowest | FileCheck %s --check-prefix=SHOWS7
// SHOWS7: instance {{.*}} launches 24
// SHOWS7: argument 1: i32 = 7
// RUN: ls %t/slowest/*.json | xargs llvm-mneme-replay --passes='default<O2>'
// A GPU's driver is not to load kernels when they are launched.
// RUN: llvm-mneme-record --device=host -o %t/none --any-executable --pick=slowest -- \
// RUN:   sh -c 'echo loading: $CUDA_MODULE_LOADING' | FileCheck %s --check-prefix=LOADING
// LOADING: loading: EAGER

// What is picked so far outlives the application.
// RUN: not llvm-mneme-record --device=host -o %t/killed --pick=slowest -- %t/app kill 2>&1 \
// RUN:   | FileCheck %s --check-prefix=KILLED
// KILLED: 1 instance of 1 kernel
// KILLED: 1 of 1 processes ended without a report
// RUN: llvm-mneme-record check %t/killed
// RUN: llvm-mneme-record show %t/killed | FileCheck %s --check-prefix=KILLED7
// KILLED7: argument 1: i32 = 7
// Where that cannot be stored any more, it is said.
// RUN: not llvm-mneme-record --device=host -o %t/lost --pick=slowest -- %t/app kill %t/lost 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LOST
// LOST: 1 skipped: '{{.*}}lost{{.*}}': No such file or directory
// LOST: 0 instances of 0 kernels

// Three of all launches.
// REDEFINE: %{dir} = sample
// REDEFINE: %{what} = --pick=sample --record-id=ordinal --max-recordings=3
// RUN: %{record} 2>&1 | FileCheck %s --check-prefix=SAMPLE
// SAMPLE: mneme: 24 launches seen, 3 recorded, 21 skipped
// SAMPLE: 21 skipped: others were picked
// SAMPLE: 3 instances of 1 kernel
// RUN: llvm-mneme-record check %t/sample
// RUN: find %t/sample -name 'DeviceState.*' | count 6
// RUN: %python %S/Cuda/Inputs/replay-all.py llvm-mneme-replay %t/sample | grep -c Match | grep -x 3

#include "Inputs/check.h"
#include <csignal>
#include <cstdlib>
#include <cuda_runtime.h>
#include <string>

struct State {
  int *Where;
  int Work;
};

__global__ void step(int *P, int Number, State S) {
  *P += Number;
  volatile int Spin = 0;
  for (int I = 0; I < S.Work; ++I)
    Spin = Spin + 1;
  *S.Where = Spin;
}

int main(int Argc, char **Argv) {
  int *D, *E;
  OK(cudaMalloc(&D, 8));
  OK(cudaMalloc(&E, 8));
  OK(cudaMemset(D, 0, 8));
  OK(cudaMemset(E, 0, 8));
  const char *Much = getenv("MUCH_WORK");
  int Work = Much ? atoi(Much) : 50000000;
  for (int *P : {D, E})
    for (int I = 1; I <= 12; ++I)
      step<<<1, 1>>>(P, I, {P + 1, I == 7 ? Work : 10});
  if (Argc > 2)
    CHECK(!system(("rm -rf " + std::string(Argv[2])).c_str()));
  if (Argc > 1)
    raise(SIGKILL);
  int H[2];
  OK(cudaMemcpy(&H[0], D, 4, cudaMemcpyDeviceToHost));
  OK(cudaMemcpy(&H[1], E, 4, cudaMemcpyDeviceToHost));
  printf("sum %d\n", H[0] + H[1]);
}
