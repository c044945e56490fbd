// A launch that fails is not recorded, and fails as it does without recording.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// DEFINE: %{how} =
// DEFINE: %{record} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.%{how}.rec -- %t %{how} 2> %t.err
// DEFINE: %{plain} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc %t %{how}

// The runtime refuses it.
// REDEFINE: %{how} = refused
// RUN: %{plain} | FileCheck %s --check-prefix=REFUSED
// RUN: %{record} | FileCheck %s --check-prefix=REFUSED
// RUN: FileCheck %s --check-prefix=REFUSEDERR < %t.err
// REFUSED: launch: invalid configuration argument, then: no error
// REFUSED: value 1
// REFUSEDERR: warning: kernel '_Z5storePii' is not recorded: the launch failed
// REFUSEDERR: 2 launches seen, 1 recorded, 1 skipped

// It crashes: nothing works after that.
// REDEFINE: %{how} = crash
// RUN: %{plain} | FileCheck %s --check-prefix=CRASH
// RUN: %{record} | FileCheck %s --check-prefix=CRASH
// RUN: FileCheck %s --check-prefix=CRASHERR < %t.err
// RUN: find %t.crash.rec -name 'DeviceState*' | count 0
// CRASH: launch: no error, then: an illegal memory access was encountered
// CRASH: free: an illegal memory access was encountered
// CRASHERR: warning: kernel '_Z5storePii' is not recorded: the launch failed: {{.*(ILLEGAL_ADDRESS|IllegalAddress)}}
// CRASHERR: 2 launches seen, 0 recorded, 2 skipped

// Another launch crashed, and nobody has asked yet.
// REDEFINE: %{how} = before
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --kernel=store -o %t.before.rec -- %t before 2> %t.err \
// RUN:   | FileCheck %s --check-prefix=BEFORE
// RUN: FileCheck %s --check-prefix=BEFOREERR < %t.err
// BEFORE: then: an illegal memory access was encountered
// BEFORE: free: an illegal memory access was encountered
// BEFOREERR: warning: kernel '_Z5storePii' is not recorded: an earlier launch failed: {{.*(ILLEGAL_ADDRESS|IllegalAddress)}}

// The folder is gone.
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind --any-executable -o %t.gone.rec -- sh \
// RUN:   -c 'rm -rf %t.gone.rec; exec %t gone' 2> %t.err | FileCheck %s --check-prefix=GONE
// RUN: FileCheck %s --check-prefix=GONEERR < %t.err
// GONE: launch: no error, then: no error
// GONE: value 1
// GONEERR: warning: kernel '_Z5storePii' is not recorded: cannot create a file in '{{.*}}': No such file or directory

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void store(int *P, int V) { *P = V; }
__global__ void wild(int *P) { *P = 1; }

int main(int, char **Argv) {
  const char *How = Argv[1];
  int *D, H;
  OK(cudaMalloc(&D, 4));
  if (!strcmp(How, "before"))
    wild<<<1, 1>>>(nullptr);
  store<<<1, strcmp(How, "refused") ? 1 : 10000>>>(
      strcmp(How, "crash") ? D : nullptr, 2);
  printf("launch: %s, then: ", cudaGetErrorString(cudaGetLastError()));
  printf("%s\n", cudaGetErrorString(cudaDeviceSynchronize()));
  store<<<1, 1>>>(D, 1);
  if (cudaMemcpy(&H, D, 4, cudaMemcpyDeviceToHost) == cudaSuccess)
    printf("value %d\n", H);
  printf("free: %s\n", cudaGetErrorString(cudaFree(D)));
}
