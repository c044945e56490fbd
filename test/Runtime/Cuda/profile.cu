// A profile on a GPU comes from CUPTI: nothing of the program's is intercepted, and the program needs no plugin.
//
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t/app.bc
// RUN: %cuda_cc_plain -O2 %s -o %t/app -lcudart
// DEFINE: %{gpu} = %emulated_gpu LD_LIBRARY_PATH=%emulated_cuda:%emulated_cuda/cupti MNEME_EMULATED_KERNELS=%t/app.bc
// RUN: %{gpu} llvm-mneme-record --device=cuda --profile=%t/p.json -- %t/app 2>&1 | FileCheck %s
// CHECK: LD_PRELOAD: none, result 55
// CHECK: kernel {{.*}} grid x threads regs occupancy
// CHECK-NEXT: add(int*, int) 100.0 % 10 {{.*}} {{[13]}}x1x1 x 64, 1 more {{[0-9]+ [0-9]+}} %
// CHECK: all kernels:
// RUN: grep '"arch": "sm_90"' %t/p.json
//
// The shapes are those that recording sees.
// RUN: %{gpu} llvm-mneme-record --device=cuda --any-executable --cover=100 --from-profile=%t/p.json -o %t/rec -- %t/app 2>&1 \
// RUN:   | FileCheck %s --check-prefix=COVER
// COVER: 10 launches seen, 2 recorded, 8 skipped
// COVER: 8 skipped: same launch configuration recorded before
//
// The environment's selection of launches does not matter.
// RUN: %{gpu} MNEME_RECORD_REGIONS=x MNEME_KERNELS=x llvm-mneme-record --device=cuda --profile -- %t/app 2>&1 | FileCheck %s
//
// Why nothing is measured is said.
// RUN: not %{gpu} MNEME_EMULATED_NO_CUPTI=1 llvm-mneme-record --device=cuda --profile -- %t/app 2>&1 | FileCheck %s --check-prefix=DENIED
// DENIED: mneme: warning: launches are not timed: CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
// DENIED: result 55
// DENIED: error: no launch was timed
// RUN: not %{gpu} CUDA_INJECTION64_PATH=/other.so llvm-mneme-record --device=cuda --profile -- %t/app 2>&1 | FileCheck %s --check-prefix=TWO
// TWO: error: CUDA_INJECTION64_PATH='/other.so' in the environment: --profile needs the variable for its own profiler

#include <cstdio>
#include <cstdlib>

__global__ void add(int *P, int N) {
  if (blockIdx.x == 0 && threadIdx.x == 0)
    *P += N;
}

int main() {
  int *P, Result;
  cudaMalloc(&P, sizeof(int));
  cudaMemset(P, 0, sizeof(int));
  for (int I = 0; I != 10; ++I)
    add<<<I % 2 ? 1 : 3, 64>>>(P, I + 1);
  cudaMemcpy(&Result, P, sizeof(int), cudaMemcpyDeviceToHost);
  const char *Preloaded = getenv("LD_PRELOAD");
  printf("LD_PRELOAD: %s, result %d\n",
         Preloaded && *Preloaded ? Preloaded : "none", Result);
}
