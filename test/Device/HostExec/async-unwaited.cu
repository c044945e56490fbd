// REQUIRES: cuda-toolkit, device-host
//
// A copy is made when it is waited for: a program that reads before it waits, or
// overwrites the source of a bulk copy too early, sees that. (On a GPU, both are races.)
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O1 %s -o %t.app
// RUN: llvm-mneme-record --device=host -o %t.rec -- %t.app | FileCheck %s
// CHECK: unwaited 0 of 64
// CHECK: one group too few 0 of 64
// CHECK: waited 64 of 64
// CHECK: overwritten 0 of 64, kept 64 of 64

#include "Inputs/check.h"

__global__ void copies(const int *In, int *Out) {
  __shared__ int S[3][64];
  unsigned T = threadIdx.x;
  for (int I = 0; I < 3; ++I) {
    S[I][T] = -1;
    asm volatile("cp.async.ca.shared.global [%0], [%1], 4;\ncp.async.commit_group;"
                 ::"r"((unsigned)__cvta_generic_to_shared(&S[I][T])), "l"(In + T) : "memory");
  }
  Out[T] = S[0][T];
  asm volatile("cp.async.wait_group 2;" ::: "memory");
  Out[64 + T] = S[1][T];
  Out[128 + T] = S[0][T];
  asm volatile("cp.async.wait_all;" ::: "memory");
}

__global__ void bulk(int *Out) {
  __shared__ alignas(16) int S[2][64];
  unsigned T = threadIdx.x;
  S[0][T] = S[1][T] = T;
  __syncthreads();
  if (T == 0) {
    for (int I = 0; I < 2; ++I)
      asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 256;\ncp.async.bulk.commit_group;"
                   ::"l"(Out + 64 * I), "r"((unsigned)__cvta_generic_to_shared(S[I])) : "memory");
    asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
  }
  __syncthreads();
  S[0][T] = S[1][T] = -2;
  // The end of the block completes what nobody waits for.
}

static int count(int *Found, int *Expected) {
  int Count = 0;
  for (int I = 0; I < 64; ++I)
    Count += Found[I] == Expected[I];
  return Count;
}

int main() {
  Buffer<int> In(64), Out(192);
  for (int I = 0; I < 64; ++I)
    In[I] = I;
  copies<<<1, 64>>>(In, Out);
  launched();
  printf("unwaited %d of 64\n", count(Out, In));
  printf("one group too few %d of 64\n", count(Out + 64, In));
  printf("waited %d of 64\n", count(Out + 128, In));
  bulk<<<1, 64>>>(Out);
  launched();
  printf("overwritten %d of 64, kept %d of 64\n", count(Out + 64, In), count(Out, In));
}
