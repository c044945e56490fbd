// REQUIRES: cuda-toolkit, device-host
//
// Without clusters, each block is its own: of rank 0, the only one whose memory mapa finds.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O1 %s -o %t
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t 0 | FileCheck %s
// RUN: not llvm-mneme-record --device=host -o %t.1 -- %t 1 2>&1 | FileCheck %s --check-prefix=OTHER
// CHECK: 5 5 1
// OTHER: executed 'mapa of another thread block of a cluster', which the host device does not have

#include <cstdio>
#include <cstdlib>

__global__ void look(int *Out, int Rank) {
  __shared__ int Own;
  int *Intrinsic = &Own, *Text = &Own;
  Own = 5;
#ifdef __CUDA_ARCH__
  Intrinsic = static_cast<int *>(__nvvm_mapa(&Own, Rank));
  asm("mapa.u64 %0, %1, %2;" : "=l"(Text) : "l"(&Own), "r"(Rank));
  Out[2] = __nvvm_read_ptx_sreg_cluster_nctarank();
#endif
  Out[0] = *Intrinsic;
  Out[1] = *Text;
}

int main(int, char **Argv) {
  int *P, H[3];
  cudaMalloc(&P, sizeof(H));
  look<<<1, 1>>>(P, atoi(Argv[1]));
  if (cudaMemcpy(H, P, sizeof(H), cudaMemcpyDeviceToHost))
    return 1;
  printf("%d %d %d\n", H[0], H[1], H[2]);
}
