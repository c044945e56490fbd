// The launcher is killed while the application runs. On the host device, which it
// compiles for, what is compiled goes on; what was recorded is whole; the next run
// records the rest and removes what was left.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O1 %s -o %t
// RUN: rm -rf %t.rec
// The application has ended when nobody writes to the pipe any more.
// RUN: { llvm-mneme-record --device=host -o %t.rec -- %t kill || echo exit $?; } 2>&1 | cat > %t.out
// RUN: FileCheck %s --check-prefix=KILLED < %t.out
// KILLED-DAG: exit 137
// KILLED-DAG: first 1
// KILLED-DAG: mneme: warning: kernel '_Z5storePii' is not recorded: the launcher is gone
// KILLED-DAG: mneme: error: kernel '_Z3addPii': the launcher is gone
// KILLED-DAG: second 2
// KILLED-DAG: third cudaErrorInvalidDeviceFunction
// RUN: llvm-mneme-record check %t.rec | FileCheck %s --check-prefix=WHOLE
// WHOLE: 1 kernel, 1 instance, 0 problems

// RUN: llvm-mneme-record --device=host -o %t.rec -- %t 2>&1 | FileCheck %s --check-prefix=AGAIN
// AGAIN: third cudaSuccess
// AGAIN: mneme: 3 launches seen, 2 recorded, 1 skipped
// RUN: llvm-mneme-record check %t.rec | FileCheck %s --check-prefix=REST
// REST: 2 kernels, 3 instances, 0 problems
// RUN: find %t.rec -name '.recording-*' | count 0

#include "Inputs/check.h"
#include <csignal>
#include <cuda_runtime.h>
#include <unistd.h>

__global__ void store(int *P, int V) { *P = V; }
__global__ void add(int *P, int V) { *P += V; }

int main(int Argc, char **) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  int *P, H = 0;
  OK(cudaMalloc(&P, 4));
  store<<<1, 1>>>(P, 1);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  printf("first %d\n", H);
  pid_t Launcher = getppid();
  if (Argc > 1) {
    CHECK(!kill(Launcher, SIGKILL));
    while (getppid() == Launcher)
      usleep(1000);
  }
  store<<<2, 1>>>(P, 2);
  OK(cudaMemcpy(&H, P, 4, cudaMemcpyDeviceToHost));
  printf("second %d\n", H);
  add<<<1, 1>>>(P, 2);
  printf("third %s\n", cudaGetErrorName(cudaGetLastError()));
}
