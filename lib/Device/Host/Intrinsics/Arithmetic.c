//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// f32 and f64 arithmetic in every rounding mode, and approximations, which are
/// as accurate here as the C library.
///
//===----------------------------------------------------------------------===//

#include "Library.h"

//===----------------------------------------------------------------------===//
// f32: computed in f64, where it is exact or its error is known, and rounded
// once.
//===----------------------------------------------------------------------===//

/// An exact sum of zero is -0 when rounding down, unless both terms are +0.
HELPER f32 signZero(f32 R, f64 A, f64 B, enum Rounding Mode) {
  if (R == 0 && A + B == 0 && Mode == RM)
    return (bitsOf64(A) | bitsOf64(B)) >> 63 ? -0.0f : 0.0f;
  return R;
}
HELPER f32 add32(f32 A, f32 B, enum Rounding Mode) {
  if (Mode == RN)
    return A + B;
  f64 Sum = (f64)A + (f64)B;
  f32 R = narrow32(Sum, sumError(A, B, Sum), Mode);
  return signZero(R, A, B, Mode);
}
HELPER f32 mul32(f32 A, f32 B, enum Rounding Mode) {
  return Mode == RN ? A * B : narrow32((f64)A * (f64)B, 0, Mode);
}
HELPER f32 fma32(f32 A, f32 B, f32 C, enum Rounding Mode) {
  if (Mode == RN)
    return __builtin_elementwise_fma(A, B, C);
  f64 Product = (f64)A * (f64)B, Sum = Product + (f64)C;
  f32 R = narrow32(Sum, sumError(Product, C, Sum), Mode);
  return signZero(R, Product, C, Mode);
}
// No quotient or root of 24-bit numbers is closer to a 24-bit number than f64
// resolves.
HELPER f32 div32(f32 A, f32 B, enum Rounding Mode) {
  return Mode == RN ? A / B : narrow32((f64)A / (f64)B, 0, Mode);
}
HELPER f32 rcp32(f32 A, enum Rounding Mode) { return div32(1.0f, A, Mode); }
HELPER f32 sqrt32(f32 A, enum Rounding Mode) {
  return Mode == RN ? __builtin_elementwise_sqrt(A)
                    : narrow32(__builtin_elementwise_sqrt((f64)A), 0, Mode);
}

#define UNARY32(OP, NAME, MODE)                                                \
  f32 NVVM(OP##_##NAME##_f)(f32 A) { return OP##32(A, MODE); }                 \
  f32 NVVM(OP##_##NAME##_ftz_f)(f32 A) { return flush(OP##32(flush(A), MODE)); }
#define BINARY32(OP, NAME, MODE)                                               \
  f32 NVVM(OP##_##NAME##_f)(f32 A, f32 B) { return OP##32(A, B, MODE); }       \
  f32 NVVM(OP##_##NAME##_ftz_f)(f32 A, f32 B) {                                \
    return flush(OP##32(flush(A), flush(B), MODE));                            \
  }                                                                            \
  f32 NVVM(OP##_##NAME##_sat_f)(f32 A, f32 B) {                                \
    return saturate(OP##32(A, B, MODE));                                       \
  }                                                                            \
  f32 NVVM(OP##_##NAME##_ftz_sat_f)(f32 A, f32 B) {                            \
    return saturate(flush(OP##32(flush(A), flush(B), MODE)));                  \
  }
#define TERNARY32(OP, NAME, MODE)                                              \
  f32 NVVM(OP##_##NAME##_f)(f32 A, f32 B, f32 C) {                             \
    return OP##32(A, B, C, MODE);                                              \
  }                                                                            \
  f32 NVVM(OP##_##NAME##_ftz_f)(f32 A, f32 B, f32 C) {                         \
    return flush(OP##32(flush(A), flush(B), flush(C), MODE));                  \
  }                                                                            \
  f32 NVVM(OP##_##NAME##_sat_f)(f32 A, f32 B, f32 C) {                         \
    return saturate(OP##32(A, B, C, MODE));                                    \
  }                                                                            \
  f32 NVVM(OP##_##NAME##_ftz_sat_f)(f32 A, f32 B, f32 C) {                     \
    return saturate(flush(OP##32(flush(A), flush(B), flush(C), MODE)));        \
  }
#define IN_MODE32(NAME, MODE)                                                  \
  BINARY32(add, NAME, MODE)                                                    \
  BINARY32(mul, NAME, MODE)                                                    \
  BINARY32(div, NAME, MODE)                                                    \
  TERNARY32(fma, NAME, MODE)                                                   \
  UNARY32(rcp, NAME, MODE)                                                     \
  UNARY32(sqrt, NAME, MODE)
IN_MODE32(rn, RN)
IN_MODE32(rz, RZ)
IN_MODE32(rm, RM)
IN_MODE32(rp, RP)

//===----------------------------------------------------------------------===//
// f64: the processor's own rounding modes. These cannot be vectorized or
// inlined, and are rare.
//===----------------------------------------------------------------------===//

f64 NVVM(add_rn_d)(f64 A, f64 B) { return A + B; }
f64 NVVM(mul_rn_d)(f64 A, f64 B) { return A * B; }
f64 NVVM(div_rn_d)(f64 A, f64 B) { return A / B; }
f64 NVVM(rcp_rn_d)(f64 A) { return 1.0 / A; }
f64 NVVM(sqrt_rn_d)(f64 A) { return __builtin_elementwise_sqrt(A); }
f64 NVVM(fma_rn_d)(f64 A, f64 B, f64 C) {
  return __builtin_elementwise_fma(A, B, C);
}

#define ROUNDED64(NAME, FLT_ROUNDS, PARAMS, EXPRESSION)                        \
  __attribute__((noinline)) f64 NVVM(NAME) PARAMS {                            \
    _Pragma("STDC FENV_ACCESS ON") __builtin_set_flt_rounds(FLT_ROUNDS);       \
    f64 R = EXPRESSION;                                                        \
    __builtin_set_flt_rounds(1);                                               \
    return R;                                                                  \
  }
#define IN_MODE64(NAME, FLT_ROUNDS)                                            \
  ROUNDED64(add_##NAME##_d, FLT_ROUNDS, (f64 A, f64 B), A + B)                 \
  ROUNDED64(mul_##NAME##_d, FLT_ROUNDS, (f64 A, f64 B), A *B)                  \
  ROUNDED64(div_##NAME##_d, FLT_ROUNDS, (f64 A, f64 B), A / B)                 \
  ROUNDED64(rcp_##NAME##_d, FLT_ROUNDS, (f64 A), 1.0 / A)                      \
  ROUNDED64(sqrt_##NAME##_d, FLT_ROUNDS, (f64 A), __builtin_sqrt(A))           \
  ROUNDED64(fma_##NAME##_d, FLT_ROUNDS, (f64 A, f64 B, f64 C),                 \
            __builtin_fma(A, B, C))
IN_MODE64(rz, 0)
IN_MODE64(rp, 2)
IN_MODE64(rm, 3)

//===----------------------------------------------------------------------===//
// Approximations
//===----------------------------------------------------------------------===//

HELPER f32 ex2(f32 A) { return __builtin_exp2f(A); }
HELPER f32 lg2(f32 A) { return __builtin_log2f(A); }
HELPER f32 sine(f32 A) { return __builtin_sinf(A); }
HELPER f32 cosine(f32 A) { return __builtin_cosf(A); }
HELPER f32 rsqrt(f32 A) { return 1.0f / __builtin_elementwise_sqrt(A); }
HELPER f32 root(f32 A) { return __builtin_elementwise_sqrt(A); }
HELPER f32 reciprocal(f32 A) { return 1.0f / A; }

#define APPROX(NAME, FTZ_NAME, F)                                              \
  f32 NVVM(NAME)(f32 A) { return F(A); }                                       \
  f32 NVVM(FTZ_NAME)(f32 A) { return flush(F(flush(A))); }
APPROX(ex2_approx_f32, ex2_approx_ftz_f32, ex2)
APPROX(ex2_approx_f, ex2_approx_ftz_f, ex2)
APPROX(lg2_approx_f, lg2_approx_ftz_f, lg2)
APPROX(sin_approx_f, sin_approx_ftz_f, sine)
APPROX(cos_approx_f, cos_approx_ftz_f, cosine)
APPROX(rsqrt_approx_f, rsqrt_approx_ftz_f, rsqrt)
APPROX(sqrt_approx_f, sqrt_approx_ftz_f, root)
APPROX(rcp_approx_f, rcp_approx_ftz_f, reciprocal)
f32 NVVM(sqrt_f)(f32 A) { return root(A); }
f32 NVVM(div_approx_f)(f32 A, f32 B) { return A / B; }
f32 NVVM(div_approx_ftz_f)(f32 A, f32 B) { return flush(flush(A) / flush(B)); }
f32 NVVM(div_full)(f32 A, f32 B) { return A / B; }
f32 NVVM(div_full_ftz)(f32 A, f32 B) { return flush(flush(A) / flush(B)); }
f64 NVVM(lg2_approx_d)(f64 A) { return __builtin_log2(A); }
f64 NVVM(ex2_approx_d)(f64 A) { return __builtin_exp2(A); }
f64 NVVM(rsqrt_approx_d)(f64 A) { return 1.0 / __builtin_elementwise_sqrt(A); }
// The hardware's tables give only the upper half of the result, and flush.
HELPER f64 upperHalf(f64 A) {
  return float64(bitsOf64(A) & 0xffffffff00000000ull);
}
HELPER f64 flush64(f64 A) {
  return __builtin_fabs(A) < 0x1p-1022 ? __builtin_copysign(0.0, A) : A;
}
f64 NVVM(rcp_approx_ftz_d)(f64 A) {
  return flush64(upperHalf(1.0 / flush64(upperHalf(A))));
}
f64 NVVM(rsqrt_approx_ftz_d)(f64 A) {
  return upperHalf(1.0 / __builtin_elementwise_sqrt(flush64(upperHalf(A))));
}
f32 PTX(tanh_approx_f32)(f32 A) {
  f32 E = __builtin_exp2f(__builtin_fabsf(A) * -2.88539008f);
  f32 T = (1.0f - E) / (1.0f + E);
  // For small arguments, 1 - E has no precision left.
  f32 S = A * A;
  f32 Series = __builtin_fabsf(A) * (1.0f - S * (1.0f / 3) * (1.0f - S * 0.4f));
  return A != A ? A : __builtin_copysignf(S < 0.01f ? Series : T, A);
}

//===----------------------------------------------------------------------===//
// Signs, rounding to integers, minimum and maximum
//===----------------------------------------------------------------------===//

f32 NVVM(fabs_ftz_f32)(f32 A) { return flush(__builtin_fabsf(A)); }
f32 NVVM(saturate_f)(f32 A) { return saturate(A); }
f32 NVVM(saturate_ftz_f)(f32 A) { return saturate(flush(A)); }
f64 NVVM(saturate_d)(f64 A) { return A > 0 ? (A < 1 ? A : 1) : 0; }

#define ROUND(NAME, F)                                                         \
  f32 NVVM(NAME##_f)(f32 A) { return F(A); }                                   \
  f32 NVVM(NAME##_ftz_f)(f32 A) { return F(flush(A)); }                        \
  f64 NVVM(NAME##_d)(f64 A) { return F(A); }
ROUND(round, __builtin_elementwise_roundeven)
ROUND(floor, __builtin_elementwise_floor)
ROUND(ceil, __builtin_elementwise_ceil)
ROUND(trunc, __builtin_elementwise_trunc)

/// -0 is less than +0. A NaN loses against a number; two NaNs give the
/// canonical NaN.
#define MIN_MAX(TYPE, SUFFIX, SIGNBIT, BITS, NAN)                              \
  HELPER TYPE minimum##SUFFIX(TYPE A, TYPE B) {                                \
    if (A != A)                                                                \
      return B != B ? NAN : B;                                                 \
    return B != B || A < B || (A == B && (BITS(A) & SIGNBIT)) ? A : B;         \
  }                                                                            \
  HELPER TYPE maximum##SUFFIX(TYPE A, TYPE B) {                                \
    if (A != A)                                                                \
      return B != B ? NAN : B;                                                 \
    return B != B || A > B || (A == B && !(BITS(A) & SIGNBIT)) ? A : B;        \
  }
MIN_MAX(f32, 32, 0x80000000u, bitsOf32, float32(0x7fffffff))
MIN_MAX(f64, 64, 0x8000000000000000ull, bitsOf64,
        float64(0x7fffffffffffffffull))
f64 NVVM(fmin_d)(f64 A, f64 B) { return minimum64(A, B); }
f64 NVVM(fmax_d)(f64 A, f64 B) { return maximum64(A, B); }

HELPER f32 propagate(f32 A, f32 B, f32 R) {
  return A != A || B != B ? float32(0x7fffffff) : R;
}
HELPER f32 xorSign(f32 A, f32 B, f32 R) {
  u32 Sign = (bitsOf32(A) ^ bitsOf32(B)) & 0x80000000u;
  return R != R ? R : float32(bitsOf32(R) | Sign);
}
#define MIN_MAX32(OP, F)                                                       \
  HELPER f32 OP##32(f32 A, f32 B, int NaN, int XorSign) {                      \
    f32 R = XorSign ? F(__builtin_fabsf(A), __builtin_fabsf(B)) : F(A, B);     \
    if (NaN)                                                                   \
      R = propagate(A, B, R);                                                  \
    return XorSign ? xorSign(A, B, R) : R;                                     \
  }                                                                            \
  f32 NVVM(OP##_f)(f32 A, f32 B) { return OP##32(A, B, 0, 0); }                \
  f32 NVVM(OP##_nan_f)(f32 A, f32 B) { return OP##32(A, B, 1, 0); }            \
  f32 NVVM(OP##_xorsign_abs_f)(f32 A, f32 B) { return OP##32(A, B, 0, 1); }    \
  f32 NVVM(OP##_nan_xorsign_abs_f)(f32 A, f32 B) {                             \
    return OP##32(A, B, 1, 1);                                                 \
  }                                                                            \
  f32 NVVM(OP##_ftz_f)(f32 A, f32 B) {                                         \
    return OP##32(flush(A), flush(B), 0, 0);                                   \
  }                                                                            \
  f32 NVVM(OP##_ftz_nan_f)(f32 A, f32 B) {                                     \
    return OP##32(flush(A), flush(B), 1, 0);                                   \
  }                                                                            \
  f32 NVVM(OP##_ftz_xorsign_abs_f)(f32 A, f32 B) {                             \
    return OP##32(flush(A), flush(B), 0, 1);                                   \
  }                                                                            \
  f32 NVVM(OP##_ftz_nan_xorsign_abs_f)(f32 A, f32 B) {                         \
    return OP##32(flush(A), flush(B), 1, 1);                                   \
  }
MIN_MAX32(fmin, minimum32)
MIN_MAX32(fmax, maximum32)

// redux.sync has no operation on floats. They are encoded as integers of the
// same order, with NaN beyond the end at which it must lose or win.
s32 mneme_redux_encode(f32 X, s32 NaN) {
  s32 B = (s32)bitsOf32(X);
  return X != X ? NaN : B ^ ((B >> 31) & 0x7fffffff);
}
f32 mneme_redux_decode(s32 X) {
  f32 R = float32((u32)(X ^ ((X >> 31) & 0x7fffffff)));
  return R != R ? float32(0x7fffffff) : R;
}
