// Pinned memory is copied before a launch in case that it matters. A recording does not contain it where no recorded memory
// points to it, even if it changes.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// DEFINE: %{gpu} = %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t 2>&1 | FileCheck %s
// RUN: llvm-mneme-record check %t.rec
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// RUN: %{gpu} llvm-mneme-record --device=%gpu_kind --reachable -o %t.reachable.rec -- %t 2>&1 | FileCheck %s
// RUN: llvm-mneme-record check %t.reachable.rec
// RUN: llvm-mneme-record show %t.reachable.rec | FileCheck %s --check-prefix=SHOW
// CHECK: 1 launch seen, 1 recorded
// SHOW: write(unsigned long, int*)
// SHOW-NOT: pinned

#include "../Inputs/check.h"
#include <cuda_runtime.h>

__global__ void write(unsigned long Hidden, int *To) {
  *reinterpret_cast<int *>(~Hidden) = *To = 5;
}

int main() {
  int *Pinned, *Device;
  OK(cudaMallocHost((void **)&Pinned, sizeof(int)));
  OK(cudaMalloc((void **)&Device, sizeof(int)));
  *Pinned = 1;
  write<<<1, 1>>>(~reinterpret_cast<unsigned long>(Pinned), Device);
  OK(cudaDeviceSynchronize());
  CHECK(*Pinned == 5);
}
