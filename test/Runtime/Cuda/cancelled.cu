// A thread that is cancelled while a launch of its own is recorded, and waits for other
// work, ends behind the launch. Nothing else ends, and no lock stays behind.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t 2> %t.err | FileCheck %s
// CHECK: cancelled: 1, all is well
// RUN: FileCheck %s --check-prefix=ERR < %t.err
// ERR: 3 launches seen, 3 recorded

#include "../Inputs/check.h"
#include <atomic>
#include <cuda_runtime.h>
#include <pthread.h>
#include <unistd.h>

__global__ void store(int *P, int V) { *P = V; }

static std::atomic<bool> Ready{false};
static std::atomic<bool> Begins{false};

static void wait(void *) {
  while (!Ready)
    usleep(100);
}

static void *launch(void *P) {
  Begins = true;
  store<<<2, 1>>>(static_cast<int *>(P), 2);
  pthread_testcancel();
  return nullptr;
}

int main() {
  int *D, H = 0;
  void *Result = nullptr;
  OK(cudaMalloc(&D, 4));
  store<<<1, 1>>>(D, 1);
  OK(cudaDeviceSynchronize());
  OK(cudaLaunchHostFunc(nullptr, wait, nullptr));
  pthread_t Thread;
  CHECK(!pthread_create(&Thread, nullptr, launch, D));
  while (!Begins)
    ;
  // As a rule, it waits by now.
  usleep(100000);
  CHECK(!pthread_cancel(Thread));
  Ready = true;
  CHECK(!pthread_join(Thread, &Result));
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 2);
  store<<<3, 1>>>(D, 3);
  OK(cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost));
  CHECK(H == 3);
  OK(cudaFree(D));
  printf("cancelled: %d, all is well\n", Result == PTHREAD_CANCELED);
}
