// What is said where no GPU can record the program. The program itself runs on,
// where it can.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// DEFINE: %{record} = llvm-mneme-record --device=cuda -o %t.rec -- %t 2>&1

// RUN: %emulated_gpu MNEME_EMULATED_DEVICES=0 not %{record} | FileCheck %s --check-prefix=NONE --implicit-check-not=sum
// NONE: error: the CUDA driver finds no device (--device=host needs none)
// RUN: %emulated_gpu MNEME_EMULATED_VERSION=11040 not %{record} | FileCheck %s --check-prefix=OLD --implicit-check-not=sum
// OLD: error: the CUDA driver is too old: it supports CUDA 11.4, and 12.0 is needed (--device=host needs none)
// RUN: %emulated_gpu MNEME_EMULATED_INIT=998 not %{record} | FileCheck %s --check-prefix=INIT --implicit-check-not=sum
// INIT: error: the CUDA driver cannot be initialized: CUDA error 998 (--device=host needs none)
// RUN: %emulated_gpu MNEME_EMULATED_DEVICES=0 llvm-mneme-record -o %t.host.rec -- %t 2>&1 | FileCheck %s --check-prefix=HOST
// HOST-NOT: warning
// HOST: sum 3
// HOST: 1 recorded

// RUN: %emulated_gpu MNEME_EMULATED_ARCH=sm_80 not %{record} | FileCheck %s --check-prefix=OTHER --implicit-check-not=sum
// OTHER: error: '{{.*}}': its kernels are for sm_90, the device is an sm_80 (Emulated GPU): none of them runs there (--device=host runs it all the same)
// A later one can run PTX, if the program has any.
// RUN: %emulated_gpu MNEME_EMULATED_ARCH=sm_100 MNEME_EMULATED_KERNELS=%t.bc %{record} | FileCheck %s --check-prefix=PTX
// PTX: warning: '{{.*}}': its kernels are for sm_90, the device is an sm_100 (Emulated GPU): the recordings hold the code that its PTX was compiled from
// PTX: sum 3
// PTX: 1 recorded

// Something else lies where recordings have their memory.
// RUN: %emulated_gpu MNEME_EMULATED_TAKEN=0x7e0000000000:0x200000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.taken.rec -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TAKEN
// TAKEN: mneme: error: nothing is recorded: cannot reserve device addresses [0x7e0000000000, 0x7e8000000000)
// TAKEN: mneme: warning: kernel '_Z3addPi' is not recorded: cannot reserve
// TAKEN: sum 3
// TAKEN: 1 launch seen, 0 recorded, 1 skipped
// Less will do where only the end is taken.
// RUN: %emulated_gpu MNEME_EMULATED_TAKEN=0x7e7000000000:0x200000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.less.rec -- %t 2>&1 \
// RUN:   | FileCheck %s --check-prefix=LESS
// LESS: sum 3
// LESS: 1 recorded
// RUN: llvm-mneme-record show %t.less.rec | FileCheck %s --check-prefix=LESSSHOW
// LESSSHOW: arena: 0x7e0000000000, 256.0 GiB
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.less.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: add grid 1: Match

// Of two architectures, the one is recorded that the device runs.
// RUN: %cuda_cc -O2 --offload-arch=sm_80 %s -o %t.two
// RUN: %emulated_gpu MNEME_EMULATED_ARCH=sm_89 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=cuda -o %t.two.rec -- %t.two 2>&1 \
// RUN:   | FileCheck %s --check-prefix=TWO
// TWO-NOT: warning
// TWO: sum 3
// RUN: llvm-mneme-record show %t.two.rec | FileCheck %s --check-prefix=TWOSHOW
// TWOSHOW: target: sm_80


#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void add(int *P) { P[2] = P[0] + P[1]; }

int main() {
  int *D, H[3] = {1, 2, 0};
  OK(cudaMalloc(&D, sizeof(H)));
  OK(cudaMemcpy(D, H, sizeof(H), cudaMemcpyHostToDevice));
  add<<<1, 1>>>(D);
  OK(cudaGetLastError());
  OK(cudaMemcpy(H, D, sizeof(H), cudaMemcpyDeviceToHost));
  printf("sum %d\n", H[2]);
}
