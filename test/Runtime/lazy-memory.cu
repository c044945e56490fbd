// A program may map memory when it is first used, in a handler of SIGSEGV. Copies
// by the host device ask that handler, as those of a real runtime do, which run into
// the same fault.
//
// REQUIRES: cuda-toolkit, device-host
// RUN: %cuda_cc -O2 %s -o %t
// RUN: llvm-mneme-record --device=host --no-record -- %t 2>&1 | FileCheck %s

#include "Inputs/check.h"
#include <csetjmp>
#include <csignal>
#include <cuda_runtime.h>
#include <sys/mman.h>

static constexpr size_t Size = 64 << 10;
static char *Lazy;
static int Faults;
static sigjmp_buf Leave;

/// Maps the page with the fault, filled with its number.
static void mapPage(int, siginfo_t *Info, void *) {
  size_t At = static_cast<char *>(Info->si_addr) - Lazy;
  if (At >= Size)
    siglongjmp(Leave, 1);
  char *Page = Lazy + At / 4096 * 4096;
  if (mprotect(Page, 4096, PROT_READ | PROT_WRITE))
    _exit(1);
  memset(Page, int(At / 4096 + 1), 4096);
  ++Faults;
}

static void protect() {
  OK(mprotect(Lazy, Size, PROT_NONE) ? cudaErrorUnknown : cudaSuccess);
  Faults = 0;
}

__global__ void add(char *P) { ++P[blockIdx.x * blockDim.x + threadIdx.x]; }

int main() {
  char *D;
  static char Back[Size];
  Lazy = static_cast<char *>(mmap(nullptr, Size, PROT_NONE,
                                  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  CHECK(Lazy != MAP_FAILED);
  OK(cudaMalloc(&D, Size));
  // Without a handler, there is nobody to ask.
  EXPECT(cudaErrorInvalidValue, cudaMemcpy(D, Lazy, Size, cudaMemcpyHostToDevice));

  struct sigaction Action = {};
  Action.sa_sigaction = mapPage;
  Action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &Action, nullptr);
  OK(cudaMemcpy(D, Lazy, Size, cudaMemcpyHostToDevice));
  // CHECK: read: 16 faults
  printf("read: %d faults\n", Faults);
  add<<<Size / 256, 256>>>(D);
  protect();
  OK(cudaMemcpy(Lazy, D, Size, cudaMemcpyDeviceToHost));
  // CHECK: written: 16 faults, 2 to 17
  printf("written: %d faults, %d to %d\n", Faults, Lazy[0], Lazy[Size - 1]);

  // The same from another handler, which came later, and is not asked whether it
  // wants to be.
  protect();
  Action.sa_flags = SA_SIGINFO | SA_NODEFER;
  sigaction(SIGSEGV, &Action, nullptr);
  OK(cudaMemcpyAsync(Lazy + 4096, D, 4096, cudaMemcpyDeviceToHost, nullptr));
  // CHECK: again: 1 faults, 2
  printf("again: %d faults, %d\n", Faults, Lazy[4096]);

  // A handler that leaves by a jump.
  if (!sigsetjmp(Leave, 1)) {
    cudaMemcpy(reinterpret_cast<void *>(8), D, 4, cudaMemcpyDeviceToHost);
    printf("not reached\n");
  }
  // What kernels do wrong is the device's, as ever.
  OK(cudaMemcpy(Back, D, Size, cudaMemcpyDeviceToHost));
  // CHECK: left: 2
  printf("left: %d\n", Back[0]);
  add<<<1, 1>>>(nullptr);
  // CHECK: kernel: an illegal memory access was encountered
  printf("kernel: %s\n", cudaGetErrorString(cudaDeviceSynchronize()));
}
