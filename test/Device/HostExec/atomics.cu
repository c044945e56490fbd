// REQUIRES: cuda-toolkit, device-host
//
// Atomics of every operation, width and scope, in global and shared memory.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: %cuda_cc -O2 %s -o %t.O2
// RUN: for B in O0 O2; do for S in auto fiber; do for F in none O3; do \
// RUN:   env MNEME_HOST_STRATEGY=$S MNEME_HOST_FINISH=$F \
// RUN:   llvm-mneme-record --device=host -o %t.$B.$S.$F -- %t.$B || exit 1; \
// RUN: done; done; done | FileCheck %s
// CHECK-COUNT-8: all right

#include "Inputs/check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define BLOCKS 16
#define THREADS 96
#define COUNT (BLOCKS * THREADS)

struct Cells {
  int Add, Sub, Min, Max, And, Or, Xor, Inc, Dec, Exch, CAS;
  unsigned UMin, UMax;
  unsigned long long Add64, Min64, Max64, And64, Or64, Xor64, CAS64, Exch64;
  float FAdd;
  double DAdd;
  __half2 HAdd;
  __nv_bfloat162 BAdd;
  __half HAdd1;
  int AddBlock, AddSystem, AsmAdd, AsmRed, Short;
  float AsmFloat;
  unsigned short CAS16;
};

__device__ void use(Cells *C, int I) {
  atomicAdd(&C->Add, I), atomicSub(&C->Sub, I), atomicMin(&C->Min, I - 50);
  atomicMax(&C->Max, I), atomicAnd(&C->And, ~(1 << I % 20)), atomicOr(&C->Or, 1 << I % 30);
  atomicXor(&C->Xor, I * 77);
  atomicInc((unsigned *)&C->Inc, 100), atomicDec((unsigned *)&C->Dec, 77);
  atomicExch(&C->Exch, 4711);
  for (int Old = C->CAS, Seen; (Seen = atomicCAS(&C->CAS, Old, Old + 2)) != Old;)
    Old = Seen;
  atomicMin(&C->UMin, (unsigned)I + 3), atomicMax(&C->UMax, (unsigned)I | 0x80000000u);
  unsigned long long L = (unsigned long long)I << 33;
  atomicAdd(&C->Add64, L), atomicMin(&C->Min64, L + 9), atomicMax(&C->Max64, L);
  atomicAnd(&C->And64, ~(1ull << I % 60)), atomicOr(&C->Or64, 1ull << I % 61);
  atomicXor(&C->Xor64, L * 3);
  for (unsigned long long Old = C->CAS64, Seen; (Seen = atomicCAS(&C->CAS64, Old, Old + L)) != Old;)
    Old = Seen;
  atomicExch(&C->Exch64, 1ull << 40);
  atomicAdd(&C->FAdd, 1.5f), atomicAdd(&C->DAdd, 0.25);
  // Small integers: exact in any order.
  if (I % 16 == 0) {
    atomicAdd(&C->HAdd, __floats2half2_rn(1, 2));
    atomicAdd(&C->BAdd, __floats2bfloat162_rn(1, 2));
    atomicAdd(&C->HAdd1, __float2half(2));
  }
  atomicAdd_block(&C->AddBlock, 2), atomicAdd_system(&C->AddSystem, 3);
  int Old;
  asm volatile("atom.add.s32 %0, [%1], %2;" : "=r"(Old) : "l"(&C->AsmAdd), "r"(5) : "memory");
  asm volatile("red.relaxed.gpu.max.s32 [%0], %1;" ::"l"(&C->AsmRed), "r"(I) : "memory");
  asm volatile("red.add.f32 [%0+0], %1;" ::"l"(&C->AsmFloat), "f"(0.5f) : "memory");
  unsigned short S = C->CAS16, T;
  while ((T = atomicCAS(&C->CAS16, S, (unsigned short)(S + 1))) != S)
    S = T;
}

__global__ void global(Cells *C) {
  use(C, blockIdx.x * blockDim.x + threadIdx.x);
}
__global__ void shared(Cells *C) {
  __shared__ Cells S;
  if (threadIdx.x == 0)
    memcpy(&S, C, sizeof S);
  __syncthreads();
  for (int I = threadIdx.x; I < COUNT; I += THREADS)
    use(&S, I);
  __syncthreads();
  if (threadIdx.x == 0)
    memcpy(C, &S, sizeof S);
}
/// The value that each thread got back is its own.
__global__ void tickets(int *Counter, int *Seen) {
  Seen[atomicAdd(Counter, 1)] += 1;
}

static void check(Cells &C) {
  Cells E;
  memset((void *)&E, 0, sizeof E);
  E.Min = 1000, E.And = E.And64 = -1, E.UMin = -1u, E.Min64 = -1ull;
  for (unsigned I = 0; I < COUNT; ++I) {
    unsigned long long L = (unsigned long long)I << 33;
    E.Add += I, E.Sub -= I, E.Min = std::min(E.Min, (int)I - 50), E.Max = I;
    E.And &= ~(1 << I % 20), E.Or |= 1 << I % 30, E.Xor ^= I * 77;
    E.Inc = E.Inc >= 100 ? 0 : E.Inc + 1;
    E.Dec = E.Dec == 0 || E.Dec > 77 ? 77 : E.Dec - 1;
    E.CAS += 2, E.UMin = std::min(E.UMin, I + 3), E.UMax = std::max(E.UMax, I | 0x80000000u);
    E.Add64 += L, E.Min64 = std::min(E.Min64, L + 9), E.Max64 = L;
    E.And64 &= ~(1ull << I % 60), E.Or64 |= 1ull << I % 61, E.Xor64 ^= L * 3, E.CAS64 += L;
  }
#define SAME(FIELD) expect(#FIELD, 0, (double)C.FIELD, (double)E.FIELD);
  SAME(Add) SAME(Sub) SAME(Min) SAME(Max) SAME(And) SAME(Or) SAME(Xor) SAME(Inc)
  SAME(Dec) SAME(CAS) SAME(UMin) SAME(UMax) SAME(Add64) SAME(Min64) SAME(Max64)
  SAME(And64) SAME(Or64) SAME(Xor64) SAME(CAS64)
  expect("Exch", 0, C.Exch, 4711);
  expect("Exch64", 0, C.Exch64, 1ull << 40);
  expect("FAdd", 0, C.FAdd, 1.5f * COUNT);
  expect("DAdd", 0, C.DAdd, 0.25 * COUNT);
  expect("HAdd", 0, __low2float(C.HAdd), COUNT / 16.0f);
  expect("HAdd", 1, __high2float(C.HAdd), COUNT / 8.0f);
  expect("BAdd", 0, __low2float(C.BAdd), COUNT / 16.0f);
  expect("BAdd", 1, __high2float(C.BAdd), COUNT / 8.0f);
  expect("HAdd1", 0, __half2float(C.HAdd1), COUNT / 8.0f);
  expect("AddBlock", 0, C.AddBlock, 2 * COUNT);
  expect("AddSystem", 0, C.AddSystem, 3 * COUNT);
  expect("AsmAdd", 0, C.AsmAdd, 5 * COUNT);
  expect("AsmRed", 0, C.AsmRed, COUNT - 1);
  expect("AsmFloat", 0, C.AsmFloat, COUNT / 2.0f);
  expect("CAS16", 0, (int)C.CAS16, COUNT);
}

int main() {
  for (int Shared = 0; Shared < 2; ++Shared) {
    Buffer<Cells> C(1);
    memset((void *)C.Data, 0, sizeof(Cells));
    C[0].Min = 1000, C[0].And = C[0].And64 = -1, C[0].UMin = -1u, C[0].Min64 = -1ull;
    if (Shared)
      shared<<<1, THREADS>>>(C);
    else
      global<<<BLOCKS, THREADS>>>(C);
    launched();
    check(C[0]);
  }
  Buffer<int> Counter(1), Seen(COUNT);
  tickets<<<BLOCKS, THREADS>>>(Counter, Seen);
  launched();
  for (int I = 0; I < COUNT; ++I)
    expect("ticket", I, Seen[I], 1);
  return finish();
}
