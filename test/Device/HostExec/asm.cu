// REQUIRES: cuda-toolkit, device-host
//
// Inline PTX against what the PTX manual says, over random operands.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t.O0 | FileCheck %s
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host -o %t.1 -- %t.O3 | FileCheck %s
// RUN: env MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.2 -- %t.O3 | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"

#define N 1024

typedef unsigned long long u64;

// ROW(instruction on 32-bit %0 <- %1, %2, %3; what it should give from X, Y, Z)
#define ROWS                                                                   \
  ROW("add.sat.s32 %0, %1, %2;", (unsigned)clamp((int64_t)(int)X + (int)Y))    \
  ROW("sub.sat.s32 %0, %1, %2;", (unsigned)clamp((int64_t)(int)X - (int)Y))    \
  ROW("mul.lo.u32 %0, %1, %2;", X *Y)                                          \
  ROW("mul.hi.s32 %0, %1, %2;", (unsigned)(((int64_t)(int)X * (int)Y) >> 32))  \
  ROW("mad.hi.u32 %0, %1, %2, %3;", (unsigned)(((u64)X * Y) >> 32) + Z)        \
  ROW("mad24.lo.u32 %0, %1, %2, %3;", (X & 0xffffff) * (Y & 0xffffff) + Z)     \
  ROW("sad.u32 %0, %1, %2, %3;", (X > Y ? X - Y : Y - X) + Z)                  \
  ROW("div.u32 %0, %1, %2;", Y ? X / Y : ~0u)                                  \
  ROW("rem.s32 %0, %1, %2;",                                                   \
      Y == 0      ? ~0u                                                        \
      : Y == ~0u ? 0                                                          \
                  : (unsigned)((int)X % (int)Y))                               \
  ROW("min.s32 %0, %1, %2;", (int)X < (int)Y ? X : Y)                          \
  ROW("max.u32 %0, %1, %2;", X > Y ? X : Y)                                    \
  ROW("shl.b32 %0, %1, %2;", Y > 31 ? 0 : X << Y)                              \
  ROW("shr.s32 %0, %1, %2;", (unsigned)((int)X >> (Y > 31 ? 31 : Y)))          \
  ROW("shr.u32 %0, %1, %2;", Y > 31 ? 0 : X >> Y)                              \
  ROW("shf.l.wrap.b32 %0, %1, %2, %3;",                                        \
      (unsigned)(((u64)Y << 32 | X) << (Z & 31) >> 32))                        \
  ROW("shf.r.clamp.b32 %0, %1, %2, %3;",                                       \
      Z > 31 ? Y : (unsigned)(((u64)Y << 32 | X) >> Z))                        \
  ROW("lop3.b32 %0, %1, %2, %3, 0xca;", (X & Y) | (~X & Z))                    \
  ROW("lop3.b32 %0, %1, %2, %3, 0x96;", X ^ Y ^ Z)                             \
  ROW("bfe.u32 %0, %1, 5, 9;", X >> 5 & 511)                                   \
  ROW("bfe.s32 %0, %1, 20, 30;", (unsigned)((int)X >> 20))                     \
  ROW("bfe.s32 %0, %1, 3, 4;", (unsigned)((int)(X << 25) >> 28))               \
  ROW("bfi.b32 %0, %1, %2, 8, 12;",                                            \
      (Y & ~0xfff00u) | (X << 8 & 0xfff00u))                                   \
  ROW("bfind.u32 %0, %1;", X ? 31 - __builtin_clz(X) : ~0u)                    \
  ROW("bfind.shiftamt.u32 %0, %1;", X ? __builtin_clz(X) : ~0u)                \
  ROW("clz.b32 %0, %1;", X ? __builtin_clz(X) : 32)                            \
  ROW("popc.b32 %0, %1;", __builtin_popcount(X))                               \
  ROW("brev.b32 %0, %1;", __builtin_bitreverse32(X))                           \
  ROW("prmt.b32 %0, %1, %2, 0x5410;", (X & 0xffff) | Y << 16)                  \
  ROW("prmt.b32.f4e %0, %1, %2, 1;", X >> 8 | Y << 24)                         \
  ROW("prmt.b32.rc8 %0, %1, %2, 2;", (X >> 16 & 255) * 0x01010101u)            \
  ROW("cnot.b32 %0, %1;", X == 0)                                              \
  ROW("not.b32 %0, %1;", ~X)                                                   \
  ROW("cvt.s32.s8 %0, %1;", (unsigned)(int)(int8_t)X)                          \
  ROW("cvt.u32.u16 %0, %1;", X & 0xffff)                                       \
  ROW("cvt.sat.s8.s32 %0, %1;",                                                \
      (unsigned)((int)X < -128 ? -128 : (int)X > 127 ? 127 : (int)X))          \
  ROW("cvt.sat.u8.s32 %0, %1;",                                                \
      (unsigned)((int)X < 0 ? 0 : (int)X > 255 ? 255 : (int)X))                \
  ROW("selp.b32 %0, %1, %2, 1;", X)                                            \
  ROW("slct.b32.s32 %0, %1, %2, %3;", (int)Z >= 0 ? X : Y)                     \
  ROW("set.lt.u32.s32 %0, %1, %2;", (int)X < (int)Y ? ~0u : 0)                 \
  ROW("{ .reg .pred p, q; setp.gt.u32 p|q, %1, %2; selp.u32 %0, 1, 2, p; @q "  \
      "add.u32 %0, %0, 10; }",                                                 \
      X > Y ? 1 : 12)                                                          \
  ROW("{ .reg .pred p; setp.ne.u32 p, %3, 0; setp.lt.and.s32 p, %1, %2, p; "   \
      "selp.u32 %0, %1, %2, p; }",                                             \
      Z != 0 && (int)X < (int)Y ? X : Y)                                       \
  ROW("{ .reg .u32 lo, hi; mul.lo.u32 lo, %1, %2; mul.hi.u32 hi, %1, %2; "     \
      "add.cc.u32 lo, lo, %3; addc.u32 %0, hi, 0; }",                          \
      (unsigned)(((u64)X * Y + Z) >> 32))                                      \
  ROW("{ .reg .u32 t; sub.cc.u32 t, %1, %2; subc.u32 %0, %3, 0; }",            \
      Z - (X < Y))                                                             \
  ROW("{ .reg .u64 w; mad.wide.u32 w, %1, %2, 7; shr.u64 w, w, 16; "           \
      "cvt.u32.u64 %0, w; }",                                                  \
      (unsigned)(((u64)X * Y + 7) >> 16))                                      \
  ROW("{ .reg .u32 i; .reg .pred p; mov.u32 i, 0; mov.u32 %0, 0; again: "      \
      "add.u32 %0, %0, %1; add.u32 i, i, 1; setp.lt.u32 p, i, 5; @p bra "      \
      "again; }",                                                              \
      5 * X)                                                                   \
  ROW("dp4a.s32.u32 %0, %1, %2, %3;", dot(X, Y, Z))                            \
  ROW("vadd4.u32.u32.u32.sat %0, %1, %2, %3;", lanes(X, Y, 0))                 \
  ROW("vabsdiff4.u32.u32.u32.add %0, %1, %2, %3;", Z + lanes(X, Y, 1))         \
  ROW("vset4.u32.u32.lt %0, %1, %2, %3;", lanes(X, Y, 2))                      \
  ROW("vavrg4.u32.u32.u32 %0, %1, %2, %3;", lanes(X, Y, 3))

static int64_t clamp(int64_t V) {
  return V < INT32_MIN ? INT32_MIN : V > INT32_MAX ? INT32_MAX : V;
}
static unsigned dot(unsigned X, unsigned Y, unsigned Z) {
  for (int I = 0; I < 4; ++I)
    Z += (int)(int8_t)(X >> 8 * I) * (int)(uint8_t)(Y >> 8 * I);
  return Z;
}
static unsigned lanes(unsigned X, unsigned Y, int Op) {
  unsigned R = 0, Sum = 0;
  for (int I = 0; I < 4; ++I) {
    int A = X >> 8 * I & 255, B = Y >> 8 * I & 255;
    int V = Op == 0   ? (A + B > 255 ? 255 : A + B)
            : Op == 1 ? std::abs(A - B)
            : Op == 2 ? A < B
                      : (A + B + 1) / 2;
    Sum += V;
    R |= (unsigned)V << 8 * I;
  }
  return Op == 1 ? Sum : R;
}

__global__ void integers(const unsigned *In, unsigned *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x, R = 0;
  unsigned X = In[I], Y = In[N + I], Z = In[2 * N + I], V;
#define ROW(ASM, EXPR)                                                         \
  asm volatile(ASM : "=r"(V) : "r"(X), "r"(Y), "r"(Z));                        \
  Out[R++ * N + I] = V;
  ROWS
#undef ROW
}

__global__ void floats(const float *In, float *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x, R = 0;
  float X = In[I], Y = In[N + I], V;
  double D;
#define PUT Out[R++ * N + I] = V;
  asm("add.rz.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("sub.rm.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("mul.ftz.sat.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("fma.rn.f32 %0, %1, %2, 0f3F800000;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("min.xorsign.abs.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("cvt.rmi.f32.f32 %0, %1;" : "=f"(V) : "f"(X)); PUT
  asm("cvt.rz.f32.f64 %0, %1;" : "=f"(V) : "d"((double)X * Y)); PUT
  asm("copysign.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("set.leu.f32.f32 %0, %1, %2;" : "=f"(V) : "f"(X), "f"(Y)); PUT
  asm("neg.f32 %0, %1;" : "=f"(V) : "f"(X)); PUT
  asm("mov.f64 %0, 0d3FF8000000000000;" : "=d"(D));
  V = (float)D; PUT
}

// Memory: vectors, offsets, caches, a predicated load; asynchronous copies.
__global__ void memory(const int *In, int *Out) {
  __shared__ int S[256];
  int T = threadIdx.x, A, B, C = -1, D;
  asm volatile("ld.global.cg.v2.s32 {%0, %1}, [%2];" : "=r"(A), "=r"(B) : "l"(In + 2 * T));
  asm volatile("{ .reg .pred p; setp.eq.s32 p, %2, 0; @p ld.global.nc.s32 %0, [%1+4]; }" : "+r"(C) : "l"(In), "r"(T & 1));
  unsigned Address = (unsigned)__cvta_generic_to_shared(&S[T]);
  asm volatile("st.shared.s32 [%0], %1;" ::"r"(Address), "r"(A + B) : "memory");
  asm volatile("bar.sync 0;" ::: "memory");
  unsigned Other = (unsigned)__cvta_generic_to_shared(&S[63 - T]);
  asm volatile("ld.shared.s32 %0, [%1];" : "=r"(D) : "r"(Other) : "memory");
  Out[T] = D, Out[64 + T] = C;
  unsigned To = (unsigned)__cvta_generic_to_shared(&S[64 + T]);
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(To), "l"(In + T) : "memory");
  asm volatile("cp.async.commit_group;");
  asm volatile("cp.async.wait_group 0;" ::: "memory");
  __syncthreads();
  Out[128 + T] = S[64 + (T ^ 1)];
  unsigned IsShared;
  asm("{ .reg .pred p; isspacep.shared p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(IsShared) : "l"(&S[T]));
  Out[192 + T] = IsShared * 2 + __isGlobal(In) + 4 * __isShared(In);
}

int main() {
  Buffer<unsigned> In(3 * N), Out(64 * N);
  uint64_t State = 88172645463325252ull;
  for (int I = 0; I < 3 * N; ++I) {
    State ^= State << 13, State ^= State >> 7, State ^= State << 17;
    In[I] = (unsigned)State >> (I % 5 == 0 ? State >> 59 : 0);
    if (I % 7 == 0)
      In[I] %= 40;
  }
  In[3] = 0x80000000u, In[N + 3] = ~0u, In[5] = 0;
  integers<<<N / 128, 128>>>(In, Out);
  launched();
  for (int I = 0; I < N; ++I) {
    unsigned X = In[I], Y = In[N + I], Z = In[2 * N + I];
    int R = 0;
#define ROW(ASM, EXPR) expect(ASM, I, Out[R * N + I], (unsigned)(EXPR)), ++R;
    ROWS
  }

  Buffer<float> F(2 * N), G(16 * N);
  for (int I = 0; I < 2 * N; ++I)
    F[I] = ((int)In[I] % 1000) / 64.0f;
  F[7] = NAN, F[N + 9] = NAN;
  floats<<<N / 128, 128>>>(F, G);
  launched();
  for (int I = 0; I < N; ++I) {
    float X = F[I], Y = F[N + I];
    // These sums are exact.
    expect("add.rz", I, G[I], X + Y);
    float Difference = X - Y;
    expect("sub.rm", I, G[N + I], Difference == 0 ? -0.0f : Difference);
    float P = X * Y;
    expect("mul.sat", I, G[2 * N + I], P > 0 ? (P < 1 ? P : 1) : 0.0f);
    expect("fma", I, G[3 * N + I], std::fma(X, Y, 1.0f));
    bool NaN = X != X || Y != Y;
    expect("max.NaN", I, G[4 * N + I], NaN ? NAN : std::fmax(X, Y));
    if (!NaN) {
      float M = std::fmin(std::fabs(X), std::fabs(Y));
      expect("min.xorsign", I, G[5 * N + I], std::signbit(X) != std::signbit(Y) ? -M : M);
      expect("copysign", I, G[8 * N + I], std::copysign(Y, X));
    }
    expect("cvt.rmi", I, G[6 * N + I], std::floor(X));
    expect("cvt.rz", I, G[7 * N + I], P);
    expect("set.leu", I, G[9 * N + I], !(X > Y) ? 1.0f : 0.0f);
    expect("neg", I, G[10 * N + I], -X);
    expect("0d", I, G[11 * N + I], 1.5f);
  }

  Buffer<int> Result(256);
  memory<<<1, 64>>>((int *)In.Data, Result);
  launched();
  for (int T = 0; T < 64; ++T) {
    int O = 63 - T;
    expect("shared", T, Result[T], (int)(In[2 * O] + In[2 * O + 1]));
    expect("predicated load", T, Result[64 + T], T & 1 ? -1 : (int)In[1]);
    expect("cp.async", T, Result[128 + T], (int)In[T ^ 1]);
    expect("isspacep", T, Result[192 + T], 3);
  }
  return finish();
}
