// Memory that passes through the pinned buffers in several parts, where the device
// has room for copies of it, and where it has none.
//
// RUN: %cuda_cc_plain -O2 --cuda-device-only -emit-llvm -c %s -o %t.bc
// RUN: %cuda_cc -O2 %s -o %t
// RUN: rm -rf %t.*rec
// RUN: %emulated_gpu MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.rec -- %t 2>&1 | FileCheck %s
// CHECK: sum {{.*}}, no error
// CHECK: 2 launches seen, 2 recorded, 0 skipped
// RUN: llvm-mneme-record check %t.rec
// RUN: llvm-mneme-record show %t.rec | FileCheck %s --check-prefix=SHOW
// SHOW: buffer 0: 100.0 MiB (104857600 bytes) {{.*}}, unchanged
// SHOW: buffer 1: 100.0 MiB (104857604 bytes) {{.*}} bytes changed
// SHOW: buffer 2: 1 bytes {{.*}}, unchanged
// RUN: %python %S/Inputs/replay-all.py llvm-mneme-replay %t.rec | FileCheck %s --check-prefix=REPLAY
// REPLAY: spread grid 1: Match
// REPLAY-NEXT: spread grid 2: Match

// 256 MiB: no room for 200 more. The files hold the same.
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x10000000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.small.rec -- %t 2>&1 \
// RUN:   | FileCheck %s
// RUN: for f in %t.rec/DeviceState*; do cmp $f %t.small.rec/$(basename $f) || exit 1; done
// Room for one at a time: 512 MiB.
// RUN: %emulated_gpu MNEME_EMULATED_MEMORY=0x20000000 MNEME_EMULATED_KERNELS=%t.bc llvm-mneme-record --device=%gpu_kind -o %t.one.rec -- %t 2>&1 | FileCheck %s
// RUN: for f in %t.rec/DeviceState*; do cmp $f %t.one.rec/$(basename $f) || exit 1; done

#include "../Inputs/check.h"
#include <cuda_runtime.h>
#include <vector>

__global__ void spread(unsigned *To, const unsigned *From, size_t N) {
  // Half of the pages, and the last bytes.
  for (size_t I = threadIdx.x; I < N && !blockIdx.x; I += blockDim.x)
    if (I / 1024 % 2 == 0 || I == N - 1)
      To[I] += From[N - 1 - I] * gridDim.x;
}

int main() {
  const size_t N = 25 << 20;
  std::vector<unsigned> H(N);
  unsigned Random = 1;
  for (unsigned &V : H)
    V = Random = Random * 1664525 + 1013904223;
  unsigned *From, *To, *Small;
  OK(cudaMalloc(&From, 4 * N));
  OK(cudaMalloc(&To, 4 * N + 4));
  OK(cudaMalloc(&Small, 1));
  OK(cudaMemcpy(From, H.data(), 4 * N, cudaMemcpyHostToDevice));
  OK(cudaMemset(To, 0, 4 * N + 4));
  OK(cudaMemset(Small, 1, 1));
  spread<<<1, 32>>>(To, From, N);
  spread<<<2, 32>>>(To, From, N);
  OK(cudaMemcpy(H.data(), To, 4 * N, cudaMemcpyDeviceToHost));
  unsigned Sum = 0;
  for (unsigned V : H)
    Sum += V;
  printf("sum %u, %s\n", Sum, cudaGetErrorString(cudaGetLastError()));
}
