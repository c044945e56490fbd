// A launch that fails is not recorded, and fails as it does without recording.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// DEFINE: %{how} =
// DEFINE: %{record} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.%{how}.rec -- %t %{how} 2> %t.err
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
// CRASHERR: warning: kernel '_Z5storePii' is not recorded: the launch failed: {{.*}}700
// CRASHERR: 2 launches seen, 0 recorded, 2 skipped

// Another launch crashed, and nobody has asked yet.
// REDEFINE: %{how} = before
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda --kernel=store -o %t.before.rec -- %t before 2> %t.err | FileCheck %s --check-prefix=CRASH
// RUN: FileCheck %s --check-prefix=BEFOREERR < %t.err
// BEFOREERR: warning: kernel '_Z5storePii' is not recorded: an earlier launch failed: {{.*}}700

// A file that cannot grow is what a full disk looks like.
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda --any-executable -o %t.full.rec -- sh -c 'trap "" XFSZ; ulimit -f 8; exec %t full' 2> %t.err | FileCheck %s --check-prefix=FULL
// RUN: FileCheck %s --check-prefix=FULLERR < %t.err
// RUN: find %t.full.rec -name 'DeviceState*' | count 0
// FULL: launch: no error, then: no error
// FULL: value 1
// FULLERR: warning: kernel '_Z5storePii' is not recorded: cannot write '{{.*}}DeviceState.prologue.{{.*}}': File too large

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <vector>

__global__ void store(int *P, int V) { *P = V; }
__global__ void wild(int *P) { *P = 1; }

int main(int, char **Argv) {
  const char *How = Argv[1];
  int *D, H;
  std::vector<unsigned> Noise(1 << 20);
  unsigned Random = 1;
  for (unsigned &V : Noise) // Does not compress.
    V = Random = Random * 1664525 + 1013904223;
  OK(cudaMalloc(&D, 4 << 20));
  OK(cudaMemcpy(D, Noise.data(), 4 << 20, cudaMemcpyHostToDevice));
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
