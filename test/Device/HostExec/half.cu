// REQUIRES: cuda-toolkit, device-host
//
// f16, bf16 and the 8-bit formats: all 65536 values through every conversion, and
// arithmetic against exact arithmetic on the CPU. On the CPU, CUDA's headers emulate
// these types without any of the device's instructions.
//
// RUN: rm -rf %t.*
// RUN: %cuda_cc -O1 %s -o %t.O1
// RUN: llvm-mneme-record --device=host -o %t.0 -- %t.O1 | FileCheck %s
// RUN: env MNEME_HOST_FINISH=none MNEME_HOST_STRATEGY=fiber llvm-mneme-record --device=host -o %t.1 -- %t.O1 | FileCheck %s
// RUN: %cuda_cc -O3 %s -o %t.O3
// RUN: llvm-mneme-record --device=host -o %t.2 -- %t.O3 | FileCheck %s
// CHECK: all right

#include "Inputs/check.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#define N 65536

__device__ unsigned bits(__half H) { return __half_as_ushort(H); }
__device__ unsigned bits(__nv_bfloat16 H) { return __bfloat16_as_ushort(H); }

__global__ void unary(unsigned *Out, float *F) {
  unsigned I = blockIdx.x * blockDim.x + threadIdx.x;
  __half H = __ushort_as_half(I);
  __nv_bfloat16 B = __ushort_as_bfloat16(I);
  F[I] = __half2float(H);
  F[N + I] = __bfloat162float(B);
  int R = 0;
  Out[R++ * N + I] = __half2int_rn(H);
  Out[R++ * N + I] = __half2int_rz(H);
  Out[R++ * N + I] = __half2uint_ru(H);
  Out[R++ * N + I] = (unsigned short)__half2short_rd(H);
  Out[R++ * N + I] = bits(__float2half_rn(__uint_as_float(I * 65537u)));
  Out[R++ * N + I] = bits(__float2half_rz(__uint_as_float(I * 65537u)));
  Out[R++ * N + I] = bits(__float2half_rd(__uint_as_float(I * 65537u)));
  Out[R++ * N + I] = bits(__float2half_ru(__uint_as_float(I * 65537u)));
  Out[R++ * N + I] = bits(__float2bfloat16_rn(__uint_as_float(I * 65537u)));
  Out[R++ * N + I] = bits(__float2bfloat16_rz(__uint_as_float(I * 65537u)));
  Out[R++ * N + I] = bits(__int2half_rn(I * 7 - 200000));
  Out[R++ * N + I] = bits(__double2half((int)I * 0.37 - 9000));
  Out[R++ * N + I] = __nv_cvt_float_to_fp8(__half2float(H), __NV_SATFINITE, __NV_E4M3);
  Out[R++ * N + I] = __nv_cvt_float_to_fp8(__half2float(H), __NV_SATFINITE, __NV_E5M2);
  Out[R++ * N + I] = __nv_cvt_fp8_to_halfraw(I & 255, __NV_E4M3).x;
  Out[R++ * N + I] = __nv_cvt_fp8_to_halfraw(I & 255, __NV_E5M2).x;
}

__global__ void binary(const unsigned *In, unsigned *Out) {
  unsigned I = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned X = In[I], Y = In[N + I], Z = In[2 * N + I];
  __half2 A, B, C;
  __nv_bfloat162 P, Q, S;
  memcpy(&A, &X, 4), memcpy(&B, &Y, 4), memcpy(&C, &Z, 4);
  memcpy(&P, &X, 4), memcpy(&Q, &Y, 4), memcpy(&S, &Z, 4);
  auto Put = [&](int R, auto V) { memcpy(&Out[R * N + I], &V, 4); };
  Put(0, __hadd2(A, B)), Put(1, __hsub2(A, B)), Put(2, __hmul2(A, B)), Put(3, __hfma2(A, B, C));
  Put(4, __hadd2(P, Q)), Put(5, __hsub2(P, Q)), Put(6, __hmul2(P, Q)), Put(7, __hfma2(P, Q, S));
  Put(8, __hmin2(A, B)), Put(9, __hmax2(P, Q)), Put(10, __hneg2(A)), Put(11, __habs2(P));
  Put(12, __heq2(A, B)), Put(13, __hlt2(P, Q));
  Out[14 * N + I] = __hgt(__low2half(A), __low2half(B)) + 2 * __hle(__high2bfloat16(P), __high2bfloat16(Q));
}

static uint16_t halfBits(__half H) { return __half_raw(H).x; }
static uint16_t halfBits(__nv_bfloat16 H) { return __nv_bfloat16_raw(H).x; }
static bool isNaN16(unsigned H, bool BF) {
  return BF ? (H & 0x7fff) > 0x7f80 : (H & 0x7fff) > 0x7c00;
}
static void expect16(const char *Name, size_t I, unsigned Found, unsigned Want, bool BF) {
  if (isNaN16(Found, BF) && isNaN16(Want, BF))
    return;
  expect(Name, I, Found, Want);
}

/// To 11 or 8 bits of fraction, from a long double, which holds every sum and product here.
static unsigned roundTo(long double V, bool BF) {
  int M = BF ? 7 : 10, MinE = BF ? -126 : -14, Bias = BF ? 127 : 15;
  if (V != V)
    return 0x7fff;
  unsigned Sign = std::signbit(V) ? 0x8000 : 0;
  V = fabsl(V);
  unsigned Inf = ((2u * Bias + 1) << M);
  if (V == (long double)INFINITY)
    return Sign | Inf;
  if (V == 0)
    return Sign;
  int E = ilogbl(V);
  E = E < MinE ? MinE : E;
  long double Q = rintl(ldexpl(V, M - E));
  unsigned R = (unsigned)Q + (E - MinE) * (1u << M);
  return Sign | (R >= Inf ? Inf : R);
}

static long double wide(unsigned H, bool BF) {
  __nv_bfloat16_raw B;
  B.x = H;
  __half_raw A;
  A.x = H;
  return BF ? (long double)__bfloat162float(B) : (long double)__half2float(A);
}

int main() {
  Buffer<unsigned> Out(16 * N);
  Buffer<float> F(2 * N);
  unary<<<N / 256, 256>>>(Out, F);
  launched();
  for (unsigned I = 0; I < N; ++I) {
    float HF = wide(I, false), W;
    unsigned WB = I * 65537u;
    memcpy(&W, &WB, 4);
    if (!isNaN16(I, false))
      expect("half2float", I, F[I], HF);
    if (!isNaN16(I, true))
      expect("bfloat2float", I, F[N + I], (float)wide(I, true));
    int R = 0;
    auto Row = [&](const char *Name, unsigned E) { expect(Name, I, Out[R * N + I], E), ++R; };
    auto Row16 = [&](const char *Name, unsigned E, bool BF) { expect16(Name, I, Out[R * N + I], E, BF), ++R; };
    auto Clamp = [&](double V, double Low, double High) { return V < Low ? Low : V > High ? High : V; };
    Row("half2int_rn", HF != HF ? 0 : (int)Clamp(rint((double)HF), INT32_MIN, INT32_MAX));
    Row("half2int_rz", HF != HF ? 0 : (int)Clamp(trunc((double)HF), INT32_MIN, INT32_MAX));
    Row("half2uint_ru", HF != HF ? 0 : (unsigned)Clamp(ceil((double)HF), 0, UINT32_MAX));
    Row("half2short_rd", HF != HF ? 0 : (uint16_t)(int16_t)Clamp(floor((double)HF), -32768, 32767));
    Row16("float2half_rn", halfBits(__float2half_rn(W)), false);
    Row16("float2half_rz", halfBits(__float2half_rz(W)), false);
    Row16("float2half_rd", halfBits(__float2half_rd(W)), false);
    Row16("float2half_ru", halfBits(__float2half_ru(W)), false);
    Row16("float2bfloat_rn", halfBits(__float2bfloat16_rn(W)), true);
    Row16("float2bfloat_rz", halfBits(__float2bfloat16_rz(W)), true);
    Row16("int2half", roundTo((long double)(int)(I * 7 - 200000), false), false);
    Row16("double2half", roundTo((int)I * 0.37 - 9000, false), false);
    Row("to e4m3", __nv_cvt_float_to_fp8(HF, __NV_SATFINITE, __NV_E4M3));
    Row("to e5m2", __nv_cvt_float_to_fp8(HF, __NV_SATFINITE, __NV_E5M2));
    Row16("from e4m3", __nv_cvt_fp8_to_halfraw(I & 255, __NV_E4M3).x, false);
    Row16("from e5m2", __nv_cvt_fp8_to_halfraw(I & 255, __NV_E5M2).x, false);
  }

  Buffer<unsigned> In(3 * N);
  uint64_t State = 88172645463325252ull;
  for (int I = 0; I < 3 * N; ++I) {
    State ^= State << 13, State ^= State >> 7, State ^= State << 17;
    // Mostly numbers of like size, where rounding is seen.
    In[I] = I % 3 ? (unsigned)(State & 0x83ff83ffu) | 0x3c003c00u : (unsigned)State;
  }
  binary<<<N / 256, 256>>>(In, Out);
  launched();
  for (int I = 0; I < N; ++I)
    for (int Half = 0; Half < 2; ++Half) {
      auto Get = [&](int R) { return Out[R * N + I] >> 16 * Half & 0xffff; };
      for (int BF = 0; BF < 2; ++BF) {
        unsigned XB = In[I] >> 16 * Half & 0xffff, YB = In[N + I] >> 16 * Half & 0xffff;
        long double X = wide(XB, BF), Y = wide(YB, BF), Z = wide(In[2 * N + I] >> 16 * Half & 0xffff, BF);
        expect16("add", I, Get(BF * 4), roundTo(X + Y, BF), BF);
        expect16("sub", I, Get(BF * 4 + 1), roundTo(X - Y, BF), BF);
        expect16("mul", I, Get(BF * 4 + 2), roundTo(X * Y, BF), BF);
        // What the sum loses in 64 bits can only break a tie: make its last bit odd.
        long double P = X * Y, S = P + Z, T = S - P;
        long double Lost = (P - (S - T)) + (Z - T);
        unsigned char Last;
        memcpy(&Last, &S, 1);
        if (Lost != 0 && Lost == Lost && !(Last & 1))
          S = nextafterl(S, Lost > 0 ? INFINITY : -INFINITY);
        expect16("fma", I, Get(BF * 4 + 3), roundTo(S, BF), BF);
        bool NaN = X != X || Y != Y;
        if (!NaN && X != Y)
          expect(BF ? "max" : "min", I, Get(8 + BF), BF ? (X > Y ? XB : YB) : (X < Y ? XB : YB));
        expect(BF ? "abs" : "neg", I, Get(10 + BF), BF ? XB & 0x7fff : XB ^ 0x8000);
        expect(BF ? "lt" : "eq", I, Get(12 + BF), BF ? (X < Y ? 0x3f80u : 0) : (X == Y ? 0x3c00u : 0));
      }
    }
  for (int I = 0; I < N; ++I) {
    bool GT = wide(In[I] & 0xffff, false) > wide(In[N + I] & 0xffff, false);
    bool LE = wide(In[I] >> 16, true) <= wide(In[N + I] >> 16, true);
    expect("compare", I, Out[14 * N + I], (unsigned)(GT + 2 * LE));
  }
  return finish();
}
