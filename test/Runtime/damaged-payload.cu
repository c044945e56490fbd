// A damaged payload costs the recording of its kernels, not the application.
//
// REQUIRES: cuda-toolkit
// RUN: rm -rf %t && mkdir %t
// RUN: %cuda_cc %s -o %t/app
// RUN: %python %S/Inputs/damage-payload.py %t/app %t llvm-mneme-record --any-executable --device=host -o %t/rec -- | FileCheck %s --check-prefix=RAN
// RAN: {{[0-9]+}} programs
//
// The message names the kernel.
// RUN: %python -c \
// RUN:   "import sys; d = bytearray(open(sys.argv[1], 'rb').read()); at = d.index(b'MNEMEPL1') + 16; d[at:at + 8] = bytes(7) + b'\x01'; \
// RUN:     open(sys.argv[2], 'wb').write(d)" \
// RUN:   %t/app %t/damaged
// RUN: chmod +x %t/damaged
// RUN: llvm-mneme-record --any-executable --device=host -o %t/rec -- %t/damaged 2>&1 | FileCheck %s
// CHECK: mneme: error: kernel '_Z5storePi': its source was not compiled with MnemePass, or its device code is damaged, so there is nothing to run on the host device
// CHECK: launch cudaErrorInvalidDeviceFunction

#include <cstdio>

__global__ void store(int *P) { *P = threadIdx.x; }

int main() {
  int *P;
  cudaMalloc(&P, 4);
  store<<<1, 1>>>(P);
  fprintf(stderr, "launch %s\n", cudaGetErrorName(cudaGetLastError()));
}
