// REQUIRES: cuda-toolkit, device-host
//
// ldmatrix and stmatrix: the lanes whose addresses count, the order of the matrices,
// transposition.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t.O0 | FileCheck %s
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host -o %t.1 -- %t.O3 | FileCheck %s
// RUN: env MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.2 -- %t.O3 | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"

#define REGISTERS1 "{%0}"
#define REGISTERS2 "{%0,%1}"
#define REGISTERS4 "{%0,%1,%2,%3}"
#define OUT1 "=r"(R[0])
#define OUT2 OUT1, "=r"(R[1])
#define OUT4 OUT2, "=r"(R[2]), "=r"(R[3])
#define IN1 "r"(R[0])
#define IN2 IN1, "r"(R[1])
#define IN4 IN2, "r"(R[2]), "r"(R[3])
#define ADDRESS1 "[%1]"
#define ADDRESS2 "[%2]"
#define ADDRESS4 "[%4]"

// Row r of matrix m is at row 5 * (8 * m + r) mod 32 of shared memory; the addresses of
// other lanes are not valid. The rows that stmatrix writes are apart.
#define ROW(COUNT, TRANS, NAME)                                                \
  __global__ void NAME(const unsigned short *In, unsigned *Registers,          \
                       unsigned short *Out) {                                  \
    __shared__ alignas(16) unsigned short From[32 * 8], To[32 * 8];            \
    unsigned T = threadIdx.x, R[4] = {};                                       \
    for (int I = T; I < 256; I += 32)                                          \
      From[I] = In[I], To[I] = 0xffff;                                         \
    __syncthreads();                                                           \
    bool Counts = T < 8 * COUNT;                                               \
    unsigned A = (unsigned)__cvta_generic_to_shared(From + T * 5 % 32 * 8);    \
    A = Counts ? A : 0xffffff0;                                                \
    asm volatile("ldmatrix.sync.aligned.m8n8.x" #COUNT TRANS                   \
                 ".shared.b16 " REGISTERS##COUNT ", " ADDRESS##COUNT ";"       \
                 : OUT##COUNT : "r"(A) : "memory");                            \
    for (int I = 0; I < COUNT; ++I)                                            \
      Registers[32 * I + T] = R[I];                                            \
    A = (unsigned)__cvta_generic_to_shared(To + T * 3 % 32 * 8);               \
    A = Counts ? A : 0xffffff0;                                                \
    asm volatile("stmatrix.sync.aligned.m8n8.x" #COUNT TRANS                   \
                 ".shared.b16 " ADDRESS_##COUNT ", " STORED##COUNT ";"         \
                 :: "r"(A), IN##COUNT : "memory");                             \
    __syncthreads();                                                           \
    for (int I = T; I < 256; I += 32)                                          \
      Out[I] = To[I];                                                          \
  }
#define ADDRESS_1 "[%0]"
#define ADDRESS_2 "[%0]"
#define ADDRESS_4 "[%0]"
#define STORED1 "{%1}"
#define STORED2 "{%1,%2}"
#define STORED4 "{%1,%2,%3,%4}"
#define ROWS                                                                   \
  ROW(1, "", x1) ROW(2, "", x2) ROW(4, "", x4)                                 \
  ROW(1, ".trans", x1t) ROW(2, ".trans", x2t) ROW(4, ".trans", x4t)
ROWS
#undef ROW

using Kernel = void (*)(const unsigned short *, unsigned *, unsigned short *);

static void run(const char *Name, Kernel K, int Count, bool IsTransposed) {
  Buffer<unsigned short> In(256), Out(256);
  Buffer<unsigned> Registers(128);
  for (int I = 0; I < 256; ++I)
    In[I] = I * 257 + 3;
  K<<<1, 32>>>(In, Registers, Out);
  launched();
  auto Element = [&](int M, int R, int C) { return In[(8 * M + R) * 5 % 32 * 8 + C]; };
  for (int M = 0; M < Count; ++M)
    for (int T = 0; T < 32; ++T)
      for (int H = 0; H < 2; ++H) {
        int R = T / 4, C = T % 4 * 2 + H;
        expect(Name, M * 64 + T * 2 + H, Registers[32 * M + T] >> 16 * H & 0xffff,
               (unsigned)(IsTransposed ? Element(M, C, R) : Element(M, R, C)));
      }
  // What was loaded and stored in one way is as it was.
  std::vector<unsigned short> Expected(256, 0xffff);
  for (int L = 0; L < 8 * Count; ++L)
    for (int C = 0; C < 8; ++C)
      Expected[L * 3 % 32 * 8 + C] = Element(L / 8, L % 8, C);
  for (int I = 0; I < 256; ++I)
    expect("stmatrix", I, Out[I], Expected[I]);
}

int main() {
#define ROW(COUNT, TRANS, NAME) run(#NAME, NAME, COUNT, sizeof(TRANS) > 1);
  ROWS
  return finish();
}
