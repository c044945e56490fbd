// A forked child cannot use the device that its parent used, as in CUDA; a program
// that the application starts can use its own.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t 2>&1 | FileCheck %s

#include "Inputs/check.h"
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

__global__ void store(int *P, int V) { *P = V; }

static int run(int V) {
  int *D, H = 0;
  OK(cudaMalloc(&D, 4));
  store<<<1, 1>>>(D, V);
  OK(cudaGetLastError());
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  return H;
}

int main(int Argc, char **Argv) {
  setvbuf(stdout, nullptr, _IONBF, 0);
  int Status;
  if (Argc > 1) {
    printf("started: %d\n", run(7));
    return 0;
  }
  // Before the first use, forking is fine.
  // CHECK: before: 5
  if (!fork()) {
    printf("before: %d\n", run(5));
    exit(0);
  }
  wait(&Status);
  // CHECK: parent: 6
  printf("parent: %d\n", run(6));
  if (!fork()) {
    int *D;
    OK(cudaMalloc(&D, 4));
    store<<<1, 1>>>(D, 1);
    // CHECK: child: cudaErrorInitializationError
    printf("child: %s\n", cudaGetErrorName(cudaGetLastError()));
    execl(Argv[0], Argv[0], "again", nullptr);
    _exit(1);
  }
  wait(&Status);
  // CHECK: started: 7
  // CHECK: parent again: 8, child's status 0
  printf("parent again: %d, child's status %d\n", run(8), Status);
}
