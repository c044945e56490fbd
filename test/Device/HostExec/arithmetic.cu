// REQUIRES: cuda-toolkit, device-host
//
// Rounding, conversions and integer instructions against the CPU's own, bit by bit.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O0 %s -o %t.O0
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t.O0 | FileCheck %s
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host -o %t.1 -- %t.O0 | FileCheck %s
// RUN: %cuda_cc -O3 -frounding-math %s -o %t.O3
// RUN: llvm-mneme-record --device=host -o %t.2 -- %t.O3 | FileCheck %s
// RUN: env MNEME_HOST_FINISH=none llvm-mneme-record --device=host -o %t.3 -- %t.O3 | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"
#include <cfenv>
#include <climits>

#define N 1024

// On the CPU every operation goes through this, or the compiler would move it across
// the changes of the rounding mode.
template <typename F> auto rounded(int Mode, F Fn) {
  std::fesetround(Mode);
  auto R = Fn();
  std::fesetround(FE_TONEAREST);
  return R;
}
static volatile float VA, VB, VC;
static volatile double WA, WB, WC;

__global__ void directed32(const float *A, const float *B, const float *C,
                           float *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  float X = A[I], Y = B[I], Z = C[I];
  float *O = Out + I * 20;
  O[0] = __fadd_rn(X, Y), O[1] = __fadd_rz(X, Y), O[2] = __fadd_rd(X, Y),
  O[3] = __fadd_ru(X, Y);
  O[4] = __fmul_rn(X, Y), O[5] = __fmul_rz(X, Y), O[6] = __fmul_rd(X, Y),
  O[7] = __fmul_ru(X, Y);
  O[8] = __fmaf_rn(X, Y, Z), O[9] = __fmaf_rz(X, Y, Z),
  O[10] = __fmaf_rd(X, Y, Z), O[11] = __fmaf_ru(X, Y, Z);
  O[12] = __fdiv_rn(X, Y), O[13] = __fdiv_rz(X, Y), O[14] = __fdiv_rd(X, Y),
  O[15] = __fdiv_ru(X, Y);
  O[16] = __fsqrt_rn(X), O[17] = __fsqrt_rz(X), O[18] = __fsqrt_rd(X),
  O[19] = __fsqrt_ru(X);
}

__global__ void directed64(const double *A, const double *B, const double *C,
                           double *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  double X = A[I], Y = B[I], Z = C[I];
  double *O = Out + I * 20;
  O[0] = __dadd_rn(X, Y), O[1] = __dadd_rz(X, Y), O[2] = __dadd_rd(X, Y),
  O[3] = __dadd_ru(X, Y);
  O[4] = __dmul_rn(X, Y), O[5] = __dmul_rz(X, Y), O[6] = __dmul_rd(X, Y),
  O[7] = __dmul_ru(X, Y);
  O[8] = __fma_rn(X, Y, Z), O[9] = __fma_rz(X, Y, Z), O[10] = __fma_rd(X, Y, Z),
  O[11] = __fma_ru(X, Y, Z);
  O[12] = __ddiv_rn(X, Y), O[13] = __ddiv_rz(X, Y), O[14] = __ddiv_rd(X, Y),
  O[15] = __ddiv_ru(X, Y);
  O[16] = __dsqrt_rn(X), O[17] = __dsqrt_rz(X), O[18] = __dsqrt_rd(X),
  O[19] = __dsqrt_ru(X);
}

__global__ void convert(const double *D, const long long *L, long long *Out,
                        float *F, double *G) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  double X = D[I];
  float Y = (float)X;
  long long *O = Out + I * 32;
  O[0] = __double2int_rn(X), O[1] = __double2int_rz(X),
  O[2] = __double2int_rd(X), O[3] = __double2int_ru(X);
  O[4] = __double2uint_rn(X), O[5] = __double2uint_rz(X),
  O[6] = __double2uint_rd(X), O[7] = __double2uint_ru(X);
  O[8] = __double2ll_rn(X), O[9] = __double2ll_rz(X), O[10] = __double2ll_rd(X),
  O[11] = __double2ll_ru(X);
  O[12] = __double2ull_rn(X), O[13] = __double2ull_rz(X),
  O[14] = __double2ull_rd(X), O[15] = __double2ull_ru(X);
  O[16] = __float2int_rn(Y), O[17] = __float2int_rz(Y),
  O[18] = __float2int_rd(Y), O[19] = __float2int_ru(Y);
  O[20] = __float2uint_rn(Y), O[21] = __float2uint_rz(Y),
  O[22] = __float2uint_rd(Y), O[23] = __float2uint_ru(Y);
  O[24] = __float2ll_rn(Y), O[25] = __float2ll_rz(Y), O[26] = __float2ll_rd(Y),
  O[27] = __float2ll_ru(Y);
  O[28] = __float2ull_rn(Y), O[29] = __float2ull_rz(Y),
  O[30] = __float2ull_rd(Y), O[31] = __float2ull_ru(Y);
  long long V = L[I];
  float *P = F + I * 20;
  P[0] = __ll2float_rn(V), P[1] = __ll2float_rz(V), P[2] = __ll2float_rd(V),
  P[3] = __ll2float_ru(V);
  P[4] = __ull2float_rn(V), P[5] = __ull2float_rz(V), P[6] = __ull2float_rd(V),
  P[7] = __ull2float_ru(V);
  P[8] = __int2float_rn((int)V), P[9] = __int2float_rz((int)V),
  P[10] = __int2float_rd((int)V), P[11] = __int2float_ru((int)V);
  P[12] = __uint2float_rn((unsigned)V), P[13] = __uint2float_rz((unsigned)V),
  P[14] = __uint2float_rd((unsigned)V), P[15] = __uint2float_ru((unsigned)V);
  P[16] = __double2float_rn(X), P[17] = __double2float_rz(X),
  P[18] = __double2float_rd(X), P[19] = __double2float_ru(X);
  double *Q = G + I * 8;
  Q[0] = __ll2double_rn(V), Q[1] = __ll2double_rz(V), Q[2] = __ll2double_rd(V),
  Q[3] = __ll2double_ru(V);
  Q[4] = __ull2double_rn(V), Q[5] = __ull2double_rz(V),
  Q[6] = __ull2double_rd(V), Q[7] = __ull2double_ru(V);
}

__global__ void integers(const long long *A, const long long *B,
                         unsigned long long *Out) {
  int I = blockIdx.x * blockDim.x + threadIdx.x;
  long long X = A[I], Y = B[I];
  int S = (int)X, T = (int)Y;
  unsigned U = (unsigned)X, V = (unsigned)Y;
  unsigned long long *O = Out + I * 24;
  O[0] = __mulhi(S, T), O[1] = __umulhi(U, V), O[2] = __mul64hi(X, Y),
  O[3] = __umul64hi(X, Y), O[4] = (unsigned)__mul24(S, T), O[5] = __umul24(U, V);
  O[6] = __sad(S, T, 7), O[7] = __usad(U, V, 7), O[8] = __popc(U),
  O[9] = __popcll(X), O[10] = __clz(S), O[11] = __clzll(X), O[12] = __brev(U),
  O[13] = __brevll(X), O[14] = __ffs(S), O[15] = __ffsll(X);
  O[16] = __byte_perm(U, V, (unsigned)(Y >> 32)), O[17] = __funnelshift_l(U, V, Y >> 40),
  O[18] = __funnelshift_rc(U, V, Y >> 40), O[19] = __hadd(S, T), O[20] = __rhadd(S, T);
  O[21] = __dp4a(S, T, 5), O[22] = __vadd4(U, V);
  O[23] = __vabsdiffu4(U, V);
}

static const int Modes[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static uint64_t State = 88172645463325252ull;
static uint64_t next() {
  State ^= State << 13, State ^= State >> 7, State ^= State << 17;
  return State;
}
static double pattern(uint64_t R, bool Wild) {
  if (Wild) {
    double D;
    memcpy(&D, &R, 8);
    return D;
  }
  return ((double)(int64_t)R / 9.2e18) * std::ldexp(1.0, (int)(R % 80) - 10);
}

template <typename T> static long long clampTo(long double V, T Low, T High, bool Is64, bool FromDouble) {
  if (V != V)
    return FromDouble || Is64 ? (long long)(T)(1ull << (sizeof(T) * 8 - 1)) : 0;
  if (V <= (long double)Low)
    return (long long)Low;
  if (V >= (long double)High)
    return (long long)High;
  return (long long)(T)V;
}
static long double roundIn(int Mode, long double V) {
  return rounded(Modes[Mode], [&] { return rintl(V); });
}

int main() {
  {
    Buffer<float> A(N), B(N), C(N), Out(N * 20);
    for (int I = 0; I < N; ++I) {
      uint32_t R[3] = {(uint32_t)next(), (uint32_t)next(), (uint32_t)next()};
      float F[3];
      memcpy(F, R, 12);
      bool Wild = I % 4 == 0;
      A[I] = Wild ? F[0] : (float)pattern(next(), false);
      B[I] = Wild ? F[1] : (float)pattern(next(), false);
      C[I] = I % 8 == 1 ? -A[I] * B[I] : I % 8 == 2 ? 0 : (float)pattern(next(), false);
      if (I % 16 == 5)
        B[I] = -A[I];
      if (I % 16 == 7)
        A[I] = 0, B[I] = I % 32 == 7 ? 0 : -0.0f;
    }
    directed32<<<N / 128, 128>>>(A, B, C, Out);
    launched();
    for (int I = 0; I < N; ++I)
      for (int M = 0; M < 4; ++M) {
        VA = A[I], VB = B[I], VC = C[I];
        expect("add32", I * 4 + M, Out[I * 20 + M], rounded(Modes[M], [] { volatile float R = VA + VB; return (float)R; }));
        expect("mul32", I * 4 + M, Out[I * 20 + 4 + M], rounded(Modes[M], [] { volatile float R = VA * VB; return (float)R; }));
        expect("fma32", I * 4 + M, Out[I * 20 + 8 + M], rounded(Modes[M], [] { volatile float R = fmaf(VA, VB, VC); return (float)R; }));
        expect("div32", I * 4 + M, Out[I * 20 + 12 + M], rounded(Modes[M], [] { volatile float R = VA / VB; return (float)R; }));
        expect("sqrt32", I * 4 + M, Out[I * 20 + 16 + M], rounded(Modes[M], [] { volatile float R = sqrtf(VA); return (float)R; }));
      }
  }
  Buffer<double> A(N), B(N), C(N), Out(N * 20);
  Buffer<long long> L(N), K(N);
  for (int I = 0; I < N; ++I) {
    A[I] = pattern(next(), I % 4 == 0);
    B[I] = pattern(next(), I % 4 == 0);
    C[I] = I % 8 == 1 ? -A[I] * B[I] : pattern(next(), false);
    L[I] = (int64_t)next() >> (next() % 64);
    K[I] = (int64_t)next() >> (next() % 64);
  }
  A[9] = NAN, A[10] = INFINITY, A[11] = -INFINITY, A[13] = 0.5, A[14] = 1.5,
  A[15] = -2.5, A[17] = 0x1p31, A[18] = 0x1p63, A[19] = -0x1p31, A[21] = 4294967295.5;
  {
    directed64<<<N / 128, 128>>>(A, B, C, Out);
    launched();
    for (int I = 0; I < N; ++I)
      for (int M = 0; M < 4; ++M) {
        WA = A[I], WB = B[I], WC = C[I];
        expect("add64", I * 4 + M, Out[I * 20 + M], rounded(Modes[M], [] { volatile double R = WA + WB; return (double)R; }));
        expect("mul64", I * 4 + M, Out[I * 20 + 4 + M], rounded(Modes[M], [] { volatile double R = WA * WB; return (double)R; }));
        expect("fma64", I * 4 + M, Out[I * 20 + 8 + M], rounded(Modes[M], [] { volatile double R = fma(WA, WB, WC); return (double)R; }));
        expect("div64", I * 4 + M, Out[I * 20 + 12 + M], rounded(Modes[M], [] { volatile double R = WA / WB; return (double)R; }));
        expect("sqrt64", I * 4 + M, Out[I * 20 + 16 + M], rounded(Modes[M], [] { volatile double R = sqrt(WA); return (double)R; }));
      }
  }
  {
    Buffer<long long> O(N * 32);
    Buffer<float> F(N * 20);
    Buffer<double> G(N * 8);
    convert<<<N / 128, 128>>>(A, L, O, F, G);
    launched();
    for (int I = 0; I < N; ++I) {
      VA = (float)A[I];
      double X = A[I];
      float Y = VA;
      long long V = L[I];
      for (int M = 0; M < 4; ++M) {
        long double DX = roundIn(M, X), DY = roundIn(M, Y);
        auto Check = [&](const char *Name, int Slot, long long E) {
          expect(Name, I * 4 + M, O[I * 32 + Slot + M], E);
        };
        Check("d2i", 0, clampTo<int>(DX, INT_MIN, INT_MAX, false, true));
        Check("d2ui", 4, (unsigned)clampTo<unsigned>(DX, 0, UINT_MAX, false, true));
        Check("d2ll", 8, clampTo<long long>(DX, LLONG_MIN, LLONG_MAX, true, true));
        Check("d2ull", 12, clampTo<unsigned long long>(DX, 0, ULLONG_MAX, true, true));
        Check("f2i", 16, clampTo<int>(DY, INT_MIN, INT_MAX, false, false));
        Check("f2ui", 20, (unsigned)clampTo<unsigned>(DY, 0, UINT_MAX, false, false));
        Check("f2ll", 24, clampTo<long long>(DY, LLONG_MIN, LLONG_MAX, true, false));
        Check("f2ull", 28, clampTo<unsigned long long>(DY, 0, ULLONG_MAX, true, false));
        // The CPU converts via 80-bit numbers, which hold all 64-bit integers.
        volatile long double W[5] = {(long double)V, (long double)(unsigned long long)V, (long double)(int)V, (long double)(unsigned)V, X};
        for (int T = 0; T < 5; ++T)
          expect("2f", (I * 5 + T) * 4 + M, F[I * 20 + T * 4 + M], rounded(Modes[M], [&] { volatile float R = (float)W[T]; return (float)R; }));
        for (int T = 0; T < 2; ++T)
          expect("2d", (I * 2 + T) * 4 + M, G[I * 8 + T * 4 + M], rounded(Modes[M], [&] { volatile double R = (double)W[T]; return (double)R; }));
      }
    }
  }
  {
    Buffer<unsigned long long> O(N * 24);
    integers<<<N / 128, 128>>>(L, K, O);
    launched();
    for (int I = 0; I < N; ++I) {
      long long X = L[I], Y = K[I];
      int S = (int)X, T = (int)Y;
      unsigned U = (unsigned)X, V = (unsigned)Y;
      unsigned long long E[24];
      E[0] = (int)(((long long)S * T) >> 32), E[1] = (unsigned)(((uint64_t)U * V) >> 32);
      E[2] = (unsigned long long)(((__int128)X * Y) >> 64), E[3] = (unsigned long long)(((unsigned __int128)(uint64_t)X * (uint64_t)Y) >> 64);
      E[4] = (unsigned)((int64_t)((int)(U << 8) >> 8) * ((int)(V << 8) >> 8)), E[5] = (U & 0xffffff) * (V & 0xffffff);
      E[6] = (unsigned)(S > T ? (unsigned)S - T : (unsigned)T - S) + 7u, E[7] = (U > V ? U - V : V - U) + 7;
      E[8] = __builtin_popcount(U), E[9] = __builtin_popcountll(X), E[10] = S ? __builtin_clz(S) : 32, E[11] = X ? __builtin_clzll(X) : 64;
      E[12] = __builtin_bitreverse32(U), E[13] = __builtin_bitreverse64(X), E[14] = __builtin_ffs(S), E[15] = __builtin_ffsll(X);
      uint64_t Both = (uint64_t)V << 32 | U, Sel = (unsigned)(Y >> 32);
      E[16] = 0;
      for (int B = 0; B < 4; ++B) {
        unsigned Q = Sel >> 4 * B & 15, Byte = Both >> (Q & 7) * 8 & 255;
        E[16] |= (uint64_t)Byte << 8 * B;
      }
      unsigned Sh = (unsigned)(Y >> 40);
      E[17] = (unsigned)(Both << (Sh & 31) >> 32), E[18] = (unsigned)(Sh >= 32 ? V : Both >> Sh);
      E[19] = (int)(((int64_t)S + T) >> 1), E[20] = (int)(((int64_t)S + T + 1) >> 1);
      int Dot = 5;
      E[22] = E[23] = 0;
      for (int B = 0; B < 4; ++B) {
        Dot += (int8_t)(U >> 8 * B) * (int8_t)(V >> 8 * B);
        int P = U >> 8 * B & 255, Q = V >> 8 * B & 255;
        E[22] |= (uint64_t)((P + Q) & 255) << 8 * B;
        E[23] |= (uint64_t)std::abs(P - Q) << 8 * B;
      }
      E[21] = (unsigned long long)Dot;
      for (int J = 0; J < 24; ++J)
        expect("integer", I * 24 + J, O[I * 24 + J], E[J]);
    }
  }
  return finish();
}
