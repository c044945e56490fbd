//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conversions between f32, f64 and integers. Conversions to integers saturate.
/// NaN gives 0, or the most negative pattern if the source is f64 or the result
/// has 64 bits (PTX ISA, cvt).
///
//===----------------------------------------------------------------------===//

#include "Library.h"

#define TO_INTEGER(NAME, SOURCE, RESULT, LOW, HIGH, MIN, MAX, NAN)             \
  HELPER RESULT NAME(SOURCE X) {                                               \
    return X != X ? NAN : X <= LOW ? MIN : X >= HIGH ? MAX : (RESULT)X;        \
  }
#define S32_MIN (-0x7fffffff - 1)
#define S64_MIN (-0x7fffffffffffffffll - 1)
TO_INTEGER(f2i, f32, s32, -0x1p31f, 0x1p31f, S32_MIN, 0x7fffffff, 0)
TO_INTEGER(f2ui, f32, u32, 0.0f, 0x1p32f, 0u, 0xffffffffu, 0u)
TO_INTEGER(f2ll, f32, s64, -0x1p63f, 0x1p63f, S64_MIN, 0x7fffffffffffffffll,
           S64_MIN)
TO_INTEGER(f2ull, f32, u64, 0.0f, 0x1p64f, 0ull, ~0ull, 1ull << 63)
TO_INTEGER(d2i, f64, s32, -0x1p31, 0x1p31, S32_MIN, 0x7fffffff, S32_MIN)
TO_INTEGER(d2ui, f64, u32, 0.0, 0x1p32, 0u, 0xffffffffu, 0x80000000u)
TO_INTEGER(d2ll, f64, s64, -0x1p63, 0x1p63, S64_MIN, 0x7fffffffffffffffll,
           S64_MIN)
TO_INTEGER(d2ull, f64, u64, 0.0, 0x1p64, 0ull, ~0ull, 1ull << 63)

#define TO_INTEGER_IN(MODE, ROUND)                                             \
  s32 NVVM(f2i_##MODE)(f32 X) { return f2i(ROUND(X)); }                        \
  u32 NVVM(f2ui_##MODE)(f32 X) { return f2ui(ROUND(X)); }                      \
  s64 NVVM(f2ll_##MODE)(f32 X) { return f2ll(ROUND(X)); }                      \
  u64 NVVM(f2ull_##MODE)(f32 X) { return f2ull(ROUND(X)); }                    \
  s32 NVVM(f2i_##MODE##_ftz)(f32 X) { return f2i(ROUND(flush(X))); }           \
  u32 NVVM(f2ui_##MODE##_ftz)(f32 X) { return f2ui(ROUND(flush(X))); }         \
  s64 NVVM(f2ll_##MODE##_ftz)(f32 X) { return f2ll(ROUND(flush(X))); }         \
  u64 NVVM(f2ull_##MODE##_ftz)(f32 X) { return f2ull(ROUND(flush(X))); }       \
  s32 NVVM(d2i_##MODE)(f64 X) { return d2i(ROUND(X)); }                        \
  u32 NVVM(d2ui_##MODE)(f64 X) { return d2ui(ROUND(X)); }                      \
  s64 NVVM(d2ll_##MODE)(f64 X) { return d2ll(ROUND(X)); }                      \
  u64 NVVM(d2ull_##MODE)(f64 X) { return d2ull(ROUND(X)); }
TO_INTEGER_IN(rn, __builtin_elementwise_roundeven)
TO_INTEGER_IN(rz, __builtin_elementwise_trunc)
TO_INTEGER_IN(rm, __builtin_elementwise_floor)
TO_INTEGER_IN(rp, __builtin_elementwise_ceil)

#define FROM_U64(NAME, RESULT, PREVIOUS, NEXT)                                 \
  HELPER RESULT NAME(u64 X, enum Rounding Mode) {                              \
    RESULT R = (RESULT)X;                                                      \
    if (Mode == RM || Mode == RZ)                                              \
      return R >= 0x1p64f || (u64)R > X ? PREVIOUS(R) : R;                     \
    if (Mode == RP)                                                            \
      return R < 0x1p64f && (u64)R < X ? NEXT(R) : R;                          \
    return R;                                                                  \
  }                                                                            \
  HELPER RESULT NAME##Signed(s64 X, enum Rounding Mode) {                      \
    if (Mode == RN)                                                            \
      return (RESULT)X;                                                        \
    if (X >= 0)                                                                \
      return NAME(X, Mode);                                                    \
    return -NAME(-(u64)X, Mode == RM ? RP : Mode == RP ? RM : Mode);           \
  }
FROM_U64(u64ToFloat, f32, previous32, next32)
FROM_U64(u64ToDouble, f64, previous64, next64)

#define FROM_INTEGER_IN(NAME, MODE)                                            \
  f32 NVVM(i2f_##NAME)(s32 X) { return narrow32(X, 0, MODE); }                 \
  f32 NVVM(ui2f_##NAME)(u32 X) { return narrow32(X, 0, MODE); }                \
  f64 NVVM(i2d_##NAME)(s32 X) { return X; }                                    \
  f64 NVVM(ui2d_##NAME)(u32 X) { return X; }                                   \
  f32 NVVM(ll2f_##NAME)(s64 X) { return u64ToFloatSigned(X, MODE); }           \
  f32 NVVM(ull2f_##NAME)(u64 X) { return u64ToFloat(X, MODE); }                \
  f64 NVVM(ll2d_##NAME)(s64 X) { return u64ToDoubleSigned(X, MODE); }          \
  f64 NVVM(ull2d_##NAME)(u64 X) { return u64ToDouble(X, MODE); }               \
  f32 NVVM(d2f_##NAME)(f64 X) { return narrow32(X, 0, MODE); }                 \
  f32 NVVM(d2f_##NAME##_ftz)(f64 X) { return flush(narrow32(X, 0, MODE)); }
FROM_INTEGER_IN(rn, RN)
FROM_INTEGER_IN(rz, RZ)
FROM_INTEGER_IN(rm, RM)
FROM_INTEGER_IN(rp, RP)

s32 NVVM(d2i_hi)(f64 X) { return (s32)(bitsOf64(X) >> 32); }
s32 NVVM(d2i_lo)(f64 X) { return (s32)bitsOf64(X); }
f64 NVVM(lohi_i2d)(s32 Low, s32 High) {
  return float64((u64)(u32)High << 32 | (u32)Low);
}

HELPER u32 tf32(f32 X, enum Rounding Mode, int Relu) {
  if (X != X)
    return 0x7fffffff;
  if (Relu && !(X > 0))
    return 0;
  u32 B = bitsOf32(X), Rest = B & 0x1fff, R = B & ~0x1fffu;
  if ((B & 0x7f800000) == 0x7f800000 || Mode == RZ)
    return R;
  int Up = Mode == RNA ? Rest >= 0x1000
                       : Rest > 0x1000 || (Rest == 0x1000 && (B & 0x2000));
  return R + (Up ? 0x2000 : 0);
}
HELPER u32 finiteTf32(u32 X) {
  return (X & 0x7fffffff) == 0x7f800000 ? (X & 0x80000000u) | 0x7f7fe000 : X;
}
#define TF32(NAME, MODE, RELU)                                                 \
  u32 NVVM(f2tf32_##NAME)(f32 X) { return tf32(X, MODE, RELU); }               \
  u32 NVVM(f2tf32_##NAME##_satfinite)(f32 X) {                                 \
    return finiteTf32(tf32(X, MODE, RELU));                                    \
  }
TF32(rn, RN, 0)
TF32(rn_relu, RN, 1)
TF32(rz, RZ, 0)
TF32(rz_relu, RZ, 1)
TF32(rna, RNA, 0)
