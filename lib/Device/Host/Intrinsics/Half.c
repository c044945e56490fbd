//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// f16, bf16, their packed pairs, and the 8-bit formats.
///
//===----------------------------------------------------------------------===//

#include "Library.h"

#define PAIRWISE1(NAME, F)                                                     \
  u32 NAME(u32 A) { return pack(F(A), F(A >> 16)); }
#define PAIRWISE2(NAME, F)                                                     \
  u32 NAME(u32 A, u32 B) { return pack(F(A, B), F(A >> 16, B >> 16)); }
#define PAIRWISE3(NAME, F)                                                     \
  u32 NAME(u32 A, u32 B, u32 C) {                                              \
    return pack(F(A, B, C), F(A >> 16, B >> 16, C >> 16));                     \
  }

//===----------------------------------------------------------------------===//
// Arithmetic: exact in a wider type, then rounded once
//===----------------------------------------------------------------------===//

HELPER f16 flushHalf(f16 X) { return (X & 0x7c00) ? X : X & 0x8000; }
HELPER f16 saturateHalf(f16 X) {
  f32 F = widenHalf(X);
  return F > 0 ? (F < 1 ? X : 0x3c00) : 0;
}
HELPER f16 reluHalf(f16 X) {
  f32 F = widenHalf(X);
  return F != F ? 0x7fff : F > 0 ? X : 0;
}
HELPER bf16 flushBFloat(bf16 X) { return (X & 0x7f80) ? X : X & 0x8000; }
HELPER bf16 saturateBFloat(bf16 X) {
  f32 F = widenBFloat(X);
  return F > 0 ? (F < 1 ? X : 0x3f80) : 0;
}
HELPER bf16 reluBFloat(bf16 X) {
  f32 F = widenBFloat(X);
  return F != F ? 0x7fff : F > 0 ? X : 0;
}

HELPER f64 fmaOdd(f64 A, f64 B, f64 C) {
  f64 Product = A * B, Sum = Product + C;
  return odd64(Sum, sumError(Product, C, Sum));
}
HELPER f16 fmaHalf(f16 A, f16 B, f16 C) {
  return halfOfDouble(fmaOdd(widenHalf(A), widenHalf(B), widenHalf(C)));
}
HELPER bf16 fmaBFloat(bf16 A, bf16 B, bf16 C) {
  return bfloatOfDouble(fmaOdd(widenBFloat(A), widenBFloat(B), widenBFloat(C)));
}

#define FMA(TYPE, KIND, SUFFIX)                                                \
  HELPER TYPE fma##KIND##Ftz(TYPE A, TYPE B, TYPE C) {                         \
    return flush##KIND(                                                        \
        fma##KIND(flush##KIND(A), flush##KIND(B), flush##KIND(C)));            \
  }                                                                            \
  TYPE NVVM(fma_rn_##SUFFIX)(TYPE A, TYPE B, TYPE C) {                         \
    return fma##KIND(A, B, C);                                                 \
  }                                                                            \
  TYPE NVVM(fma_rn_sat_##SUFFIX)(TYPE A, TYPE B, TYPE C) {                     \
    return saturate##KIND(fma##KIND(A, B, C));                                 \
  }                                                                            \
  TYPE NVVM(fma_rn_relu_##SUFFIX)(TYPE A, TYPE B, TYPE C) {                    \
    return relu##KIND(fma##KIND(A, B, C));                                     \
  }                                                                            \
  TYPE NVVM(fma_rn_ftz_##SUFFIX)(TYPE A, TYPE B, TYPE C) {                     \
    return fma##KIND##Ftz(A, B, C);                                            \
  }                                                                            \
  TYPE NVVM(fma_rn_ftz_sat_##SUFFIX)(TYPE A, TYPE B, TYPE C) {                 \
    return saturate##KIND(fma##KIND##Ftz(A, B, C));                            \
  }                                                                            \
  TYPE NVVM(fma_rn_ftz_relu_##SUFFIX)(TYPE A, TYPE B, TYPE C) {                \
    return relu##KIND(fma##KIND##Ftz(A, B, C));                                \
  }                                                                            \
  PAIRWISE3(NVVM(fma_rn_##SUFFIX##x2), NVVM(fma_rn_##SUFFIX))                  \
  PAIRWISE3(NVVM(fma_rn_sat_##SUFFIX##x2), NVVM(fma_rn_sat_##SUFFIX))          \
  PAIRWISE3(NVVM(fma_rn_relu_##SUFFIX##x2), NVVM(fma_rn_relu_##SUFFIX))        \
  PAIRWISE3(NVVM(fma_rn_ftz_##SUFFIX##x2), NVVM(fma_rn_ftz_##SUFFIX))          \
  PAIRWISE3(NVVM(fma_rn_ftz_sat_##SUFFIX##x2), NVVM(fma_rn_ftz_sat_##SUFFIX))  \
  PAIRWISE3(NVVM(fma_rn_ftz_relu_##SUFFIX##x2), NVVM(fma_rn_ftz_relu_##SUFFIX))
FMA(f16, Half, f16)
FMA(bf16, BFloat, bf16)

// add, sub, mul exist in inline PTX only.
#define ARITHMETIC(TYPE, KIND, SUFFIX, CONVERT)                                \
  TYPE PTX(add_##SUFFIX)(TYPE A, TYPE B) {                                     \
    return CONVERT(widen##KIND(A) + widen##KIND(B));                           \
  }                                                                            \
  TYPE PTX(sub_##SUFFIX)(TYPE A, TYPE B) {                                     \
    return CONVERT(widen##KIND(A) - widen##KIND(B));                           \
  }                                                                            \
  TYPE PTX(mul_##SUFFIX)(TYPE A, TYPE B) {                                     \
    return KIND##OfProduct(widen##KIND(A), widen##KIND(B));                    \
  }                                                                            \
  TYPE PTX(saturate_##SUFFIX)(TYPE A) { return saturate##KIND(A); }            \
  TYPE PTX(relu_##SUFFIX)(TYPE A) { return relu##KIND(A); }                    \
  TYPE PTX(flush_##SUFFIX)(TYPE A) { return flush##KIND(A); }                  \
  TYPE PTX(ex2_approx_##SUFFIX)(TYPE A) {                                      \
    return CONVERT(__builtin_exp2f(widen##KIND(A)));                           \
  }                                                                            \
  TYPE PTX(tanh_approx_##SUFFIX)(TYPE A) {                                     \
    return CONVERT(PTX(tanh_approx_f32)(widen##KIND(A)));                      \
  }
HELPER f16 HalfOfProduct(f32 A, f32 B) { return halfOfFloat(A * B); }
// The product of subnormals may be inexact in f32.
HELPER bf16 BFloatOfProduct(f32 A, f32 B) {
  return bfloatOfDouble((f64)A * (f64)B);
}
ARITHMETIC(f16, Half, f16, halfOfFloat)
ARITHMETIC(bf16, BFloat, bf16, bfloatOfFloat)
f16 NVVM(ex2_approx_f16)(f16 A) { return PTX(ex2_approx_f16)(A); }
PAIRWISE1(NVVM(ex2_approx_v2f16), PTX(ex2_approx_f16))
bf16 NVVM(ex2_approx_ftz_bf16)(bf16 A) {
  return flushBFloat(PTX(ex2_approx_bf16)(flushBFloat(A)));
}
PAIRWISE1(NVVM(ex2_approx_ftz_v2bf16), NVVM(ex2_approx_ftz_bf16))
bf16 NVVM(neg_bf16)(bf16 A) { return A ^ 0x8000; }
bf16x2 NVVM(neg_bf16x2)(bf16x2 A) { return A ^ 0x80008000u; }

#define MIN_MAX16(OP, TYPE, KIND, SUFFIX, CONVERT)                             \
  HELPER TYPE OP##KIND(TYPE A, TYPE B, int NaN, int XorSign) {                 \
    return CONVERT(OP##32(widen##KIND(A), widen##KIND(B), NaN, XorSign));      \
  }                                                                            \
  HELPER TYPE OP##KIND##Ftz(TYPE A, TYPE B, int NaN, int XorSign) {            \
    return OP##KIND(flush##KIND(A), flush##KIND(B), NaN, XorSign);             \
  }                                                                            \
  MIN_MAX16_FORMS(OP, TYPE, OP##KIND, SUFFIX, )                                \
  MIN_MAX16_FORMS(OP, TYPE, OP##KIND##Ftz, SUFFIX, ftz_)
#define MIN_MAX16_FORMS(OP, TYPE, F, SUFFIX, FTZ)                              \
  TYPE NVVM(OP##_##FTZ##SUFFIX)(TYPE A, TYPE B) { return F(A, B, 0, 0); }      \
  TYPE NVVM(OP##_##FTZ##nan_##SUFFIX)(TYPE A, TYPE B) {                        \
    return F(A, B, 1, 0);                                                      \
  }                                                                            \
  TYPE NVVM(OP##_##FTZ##xorsign_abs_##SUFFIX)(TYPE A, TYPE B) {                \
    return F(A, B, 0, 1);                                                      \
  }                                                                            \
  TYPE NVVM(OP##_##FTZ##nan_xorsign_abs_##SUFFIX)(TYPE A, TYPE B) {            \
    return F(A, B, 1, 1);                                                      \
  }                                                                            \
  PAIRWISE2(NVVM(OP##_##FTZ##SUFFIX##x2), NVVM(OP##_##FTZ##SUFFIX))            \
  PAIRWISE2(NVVM(OP##_##FTZ##nan_##SUFFIX##x2),                                \
            NVVM(OP##_##FTZ##nan_##SUFFIX))                                    \
  PAIRWISE2(NVVM(OP##_##FTZ##xorsign_abs_##SUFFIX##x2),                        \
            NVVM(OP##_##FTZ##xorsign_abs_##SUFFIX))                            \
  PAIRWISE2(NVVM(OP##_##FTZ##nan_xorsign_abs_##SUFFIX##x2),                    \
            NVVM(OP##_##FTZ##nan_xorsign_abs_##SUFFIX))
MIN_MAX16(fmin, f16, Half, f16, halfOfFloat)
MIN_MAX16(fmax, f16, Half, f16, halfOfFloat)
MIN_MAX16(fmin, bf16, BFloat, bf16, bfloatOfFloat)
MIN_MAX16(fmax, bf16, BFloat, bf16, bfloatOfFloat)

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

HELPER f16 finiteHalf(f16 X) { return (X & 0x7fff) == 0x7c00 ? X - 1 : X; }
HELPER bf16 finiteBFloat(bf16 X) { return (X & 0x7fff) == 0x7f80 ? X - 1 : X; }
f16 NVVM(f2h_rn)(f32 X) { return halfOfFloat(X); }
f16 NVVM(f2h_rn_ftz)(f32 X) { return halfOfFloat(flush(X)); }
f16 NVVM(bf2h_rn)(bf16 X) { return halfOfFloat(widenBFloat(X)); }
f16 NVVM(bf2h_rn_ftz)(bf16 X) { return halfOfFloat(flush(widenBFloat(X))); }

#define NARROW(NAME, MODE)                                                     \
  f16 PTX(f16_f64_##NAME)(f64 X) { return encodeHalf(X, MODE); }               \
  bf16 PTX(bf16_f64_##NAME)(f64 X) { return encodeBFloat(X, MODE); }           \
  NARROW_FORMS(NAME, MODE, f16, encodeHalf, reluHalf, finiteHalf)              \
  NARROW_FORMS(NAME, MODE, bf16, encodeBFloat, reluBFloat, finiteBFloat)
// The first operand is the upper half.
#define NARROW_FORMS(NAME, MODE, SUFFIX, F, RELU, FINITE)                      \
  SUFFIX NVVM(f2##SUFFIX##_##NAME)(f32 X) { return F(X, MODE); }               \
  SUFFIX NVVM(f2##SUFFIX##_##NAME##_relu)(f32 X) { return RELU(F(X, MODE)); }  \
  SUFFIX NVVM(f2##SUFFIX##_##NAME##_satfinite)(f32 X) {                        \
    return FINITE(F(X, MODE));                                                 \
  }                                                                            \
  SUFFIX NVVM(f2##SUFFIX##_##NAME##_relu_satfinite)(f32 X) {                   \
    return FINITE(RELU(F(X, MODE)));                                           \
  }                                                                            \
  NARROW_PAIR(SUFFIX, NAME)                                                    \
  NARROW_PAIR(SUFFIX, NAME##_relu)                                             \
  NARROW_PAIR(SUFFIX, NAME##_satfinite)                                        \
  NARROW_PAIR(SUFFIX, NAME##_relu_satfinite)
#define NARROW_PAIR(SUFFIX, NAME)                                              \
  u32 NVVM(ff2##SUFFIX##x2_##NAME)(f32 High, f32 Low) {                        \
    return pack(NVVM(f2##SUFFIX##_##NAME)(Low),                                \
                NVVM(f2##SUFFIX##_##NAME)(High));                              \
  }
NARROW(rn, RN)
NARROW(rz, RZ)
#define NARROW_DIRECTED(NAME, MODE)                                            \
  f16 PTX(f16_f64_##NAME)(f64 X) { return encodeHalf(X, MODE); }               \
  bf16 PTX(bf16_f64_##NAME)(f64 X) { return encodeBFloat(X, MODE); }           \
  f16 NVVM(f2f16_##NAME)(f32 X) { return encodeHalf(X, MODE); }                \
  bf16 NVVM(f2bf16_##NAME)(f32 X) { return encodeBFloat(X, MODE); }
NARROW_DIRECTED(rm, RM)
NARROW_DIRECTED(rp, RP)

f32 PTX(f32_f16)(f16 X) { return widenHalf(X); }
f32 PTX(f32_bf16)(bf16 X) { return widenBFloat(X); }
// 64-bit integers are rounded to odd first.
#define FROM64(NAME, MODE)                                                     \
  f16 PTX(f16_u64_##NAME)(u64 X) { return encodeHalf(oddOf64(X), MODE); }      \
  bf16 PTX(bf16_u64_##NAME)(u64 X) { return encodeBFloat(oddOf64(X), MODE); }  \
  f16 PTX(f16_s64_##NAME)(s64 X) { return encodeHalf(oddOfSigned(X), MODE); }  \
  bf16 PTX(bf16_s64_##NAME)(s64 X) {                                           \
    return encodeBFloat(oddOfSigned(X), MODE);                                 \
  }
HELPER f64 oddOf64(u64 X) {
  // The bits beyond the 53 of f64 are combined in one sticky bit.
  return X >> 53 ? (f64)((X >> 11) | ((X & 0x7ff) != 0)) * 2048.0 : (f64)X;
}
HELPER f64 oddOfSigned(s64 X) { return X < 0 ? -oddOf64(-(u64)X) : oddOf64(X); }
FROM64(rn, RN)
FROM64(rz, RZ)
FROM64(rm, RM)
FROM64(rp, RP)

//===----------------------------------------------------------------------===//
// 8-bit, 6-bit and 4-bit formats. Conversions to them saturate to finite
// values. e4m3 has no infinity.
//===----------------------------------------------------------------------===//

HELPER u32 toE4M3(f64 X, int Relu) {
  if (X != X)
    return 0x7f;
  if (Relu && X < 0)
    X = 0;
  return encode(X, 3, -6, 7, 0x7e, RN);
}
HELPER u32 toE5M2(f64 X, int Relu) {
  if (X != X)
    return 0x7f;
  if (Relu && X < 0)
    X = 0;
  return encode(X, 2, -14, 7, 0x7b, RN);
}
// These formats have no NaN either: it becomes the largest number.
HELPER u32 toE2M3(f64 X, int Relu) {
  if (X != X)
    return 0x1f;
  return encode(Relu && X < 0 ? 0 : X, 3, 0, 5, 0x1f, RN);
}
HELPER u32 toE3M2(f64 X, int Relu) {
  if (X != X)
    return 0x1f;
  return encode(Relu && X < 0 ? 0 : X, 2, -2, 5, 0x1f, RN);
}
HELPER u32 toE2M1(f64 X, int Relu) {
  if (X != X)
    return 7;
  return encode(Relu && X < 0 ? 0 : X, 1, 0, 3, 7, RN);
}

/// A number with \p M fraction bits below the sign bit; no infinity or NaN.
HELPER f32 decode(u32 X, int M, int MinExponent, int SignBit) {
  u32 Magnitude = X & ((1u << SignBit) - 1), E = Magnitude >> M;
  u32 Fraction = Magnitude & ((1u << M) - 1);
  f32 Scale = float32((u32)(MinExponent - M + 127 + (E ? E - 1 : 0)) << 23);
  f32 R = (f32)(E ? Fraction | 1u << M : Fraction) * Scale;
  return X >> SignBit & 1 ? -R : R;
}
HELPER f32 fromE4M3(u32 X) {
  return (X & 0x7f) == 0x7f ? float32(0x7fffffff) : decode(X & 0xff, 3, -6, 7);
}
HELPER f32 fromE5M2(u32 X) { return widenHalf((X & 0xff) << 8); }
HELPER f32 fromE2M3(u32 X) { return decode(X & 0x3f, 3, 0, 5); }
HELPER f32 fromE3M2(u32 X) { return decode(X & 0x3f, 2, -2, 5); }
HELPER f32 fromE2M1(u32 X) { return decode(X & 0xf, 1, 0, 3); }

#define TO_BYTES(NAME, SUFFIX, F, RELU)                                        \
  u16 NVVM(ff_to_##NAME##x2_rn##SUFFIX)(f32 High, f32 Low) {                   \
    return F(Low, RELU) | F(High, RELU) << 8;                                  \
  }                                                                            \
  u16 NVVM(f16x2_to_##NAME##x2_rn##SUFFIX)(f16x2 X) {                          \
    return F(widenHalf(X), RELU) | F(widenHalf(X >> 16), RELU) << 8;           \
  }
TO_BYTES(e4m3, , toE4M3, 0)
TO_BYTES(e4m3, _relu, toE4M3, 1)
TO_BYTES(e5m2, , toE5M2, 0)
TO_BYTES(e5m2, _relu, toE5M2, 1)
TO_BYTES(e2m3, _satfinite, toE2M3, 0)
TO_BYTES(e2m3, _relu_satfinite, toE2M3, 1)
TO_BYTES(e3m2, _satfinite, toE3M2, 0)
TO_BYTES(e3m2, _relu_satfinite, toE3M2, 1)
u16 NVVM(ff_to_e2m1x2_rn_satfinite)(f32 High, f32 Low) {
  return toE2M1(Low, 0) | toE2M1(High, 0) << 4;
}
u16 NVVM(ff_to_e2m1x2_rn_relu_satfinite)(f32 High, f32 Low) {
  return toE2M1(Low, 1) | toE2M1(High, 1) << 4;
}

#define FROM_BYTES(NAME, F, SHIFT)                                             \
  f16x2 NVVM(NAME##x2_to_f16x2_rn)(u16 X) {                                    \
    return pack(halfOfFloat(F(X)), halfOfFloat(F(X >> SHIFT)));                \
  }                                                                            \
  f16x2 NVVM(NAME##x2_to_f16x2_rn_relu)(u16 X) {                               \
    return pack(reluHalf(halfOfFloat(F(X))),                                   \
                reluHalf(halfOfFloat(F(X >> SHIFT))));                         \
  }
FROM_BYTES(e4m3, fromE4M3, 8)
FROM_BYTES(e5m2, fromE5M2, 8)
FROM_BYTES(e2m3, fromE2M3, 8)
FROM_BYTES(e3m2, fromE3M2, 8)
FROM_BYTES(e2m1, fromE2M1, 4)

/// ue8m0: only an exponent. 0xff is NaN.
HELPER u32 toUE8M0(f32 X, enum Rounding Mode, int Finite) {
  u32 B = bitsOf32(X) & 0x7fffffff;
  if (X != X)
    return 0xff;
  if (B == 0x7f800000)
    return Finite ? 0xfe : 0xff;
  u32 E = B >> 23, R = E + (Mode == RP && (B & 0x7fffff) != 0);
  // 2^-127 is subnormal in f32 and has the encoding 0.
  if (E == 0)
    R = Mode == RP && B > 0x400000;
  return R > 0xfe ? (Finite ? 0xfe : 0xff) : R;
}
#define UE8M0(NAME, MODE, FINITE)                                              \
  u16 NVVM(ff_to_ue8m0x2_##NAME)(f32 High, f32 Low) {                          \
    return toUE8M0(Low, MODE, FINITE) | toUE8M0(High, MODE, FINITE) << 8;      \
  }                                                                            \
  u16 NVVM(bf16x2_to_ue8m0x2_##NAME)(bf16x2 X) {                               \
    return toUE8M0(widenBFloat(X), MODE, FINITE) |                             \
           toUE8M0(widenBFloat(X >> 16), MODE, FINITE) << 8;                   \
  }
UE8M0(rz, RZ, 0)
UE8M0(rz_satfinite, RZ, 1)
UE8M0(rp, RP, 0)
UE8M0(rp_satfinite, RP, 1)
HELPER bf16 fromUE8M0(u8 X) {
  return X == 0xff ? 0x7fff : X == 0 ? 0x0040 : X << 7;
}
bf16x2 NVVM(ue8m0x2_to_bf16x2)(u16 X) {
  return pack(fromUE8M0(X), fromUE8M0(X >> 8));
}
