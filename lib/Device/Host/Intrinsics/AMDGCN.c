//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// AMDGCN instructions.
///
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "llvm/Mneme/Runtime/HostExec.h"

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

HELPER f16 halfRoot(f16 A) {
  return halfOfFloat(__builtin_elementwise_sqrt(widenHalf(A)));
}
#define FUNCTION16_32(NAME, EXPR)                                              \
  f32 AMDGCN(NAME##_f32)(f32 A) { return EXPR; }                               \
  f16 AMDGCN(NAME##_f16)(f16 Bits) {                                           \
    f32 A = widenHalf(Bits);                                                   \
    return halfOfFloat(EXPR);                                                  \
  }
FUNCTION16_32(rcp, 1.0f / A)
FUNCTION16_32(rsq, 1.0f / __builtin_elementwise_sqrt(A))
FUNCTION16_32(sqrt, __builtin_elementwise_sqrt(A))
FUNCTION16_32(exp2, __builtin_exp2f(A))
FUNCTION16_32(log, __builtin_log2f(A))
FUNCTION16_32(tanh, PTX(tanh_approx_f32)(A))
// The unit of the argument is one turn.
FUNCTION16_32(sin,
              __builtin_sinf((A - __builtin_floorf(A)) * 6.2831853071795864f))
FUNCTION16_32(cos,
              __builtin_cosf((A - __builtin_floorf(A)) * 6.2831853071795864f))
f32 AMDGCN(rcp_legacy)(f32 A) { return A == 0 ? 0 : 1.0f / A; }
f32 AMDGCN(rsq_legacy)(f32 A) {
  return A == 0 ? 0 : 1.0f / __builtin_elementwise_sqrt(A);
}
f64 AMDGCN(rcp_f64)(f64 A) { return 1.0 / A; }
f64 AMDGCN(rsq_f64)(f64 A) { return 1.0 / __builtin_elementwise_sqrt(A); }
f64 AMDGCN(sqrt_f64)(f64 A) { return __builtin_elementwise_sqrt(A); }
HELPER f32 limit32(f32 R) {
  return R > 0x1.fffffep127f    ? 0x1.fffffep127f
         : R < -0x1.fffffep127f ? -0x1.fffffep127f
                                : R;
}
f32 AMDGCN(rsq_clamp_f32)(f32 A) {
  return limit32(1.0f / __builtin_elementwise_sqrt(A));
}
f32 AMDGCN(log_clamp_f32)(f32 A) { return limit32(__builtin_log2f(A)); }
f32 AMDGCN(fdiv_fast)(f32 A, f32 B) { return A / B; }
HELPER f32 legacyProduct(f32 A, f32 B) { return A == 0 || B == 0 ? 0 : A * B; }
f32 AMDGCN(fmul_legacy)(f32 A, f32 B) { return legacyProduct(A, B); }
f32 AMDGCN(fma_legacy)(f32 A, f32 B, f32 C) {
  return A == 0 || B == 0 ? C : __builtin_elementwise_fma(A, B, C);
}
f32 AMDGCN(fmad_ftz_f32)(f32 A, f32 B, f32 C) {
  return flush(flush(A) * flush(B) + flush(C));
}

// The result is less than one, even if the subtraction rounds up.
f32 AMDGCN(fract_f32)(f32 A) {
  f32 R = A - __builtin_floorf(A);
  return R >= 1.0f ? 0x1.fffffep-1f : R;
}
f64 AMDGCN(fract_f64)(f64 A) {
  f64 R = A - __builtin_floor(A);
  return R >= 1.0 ? 0x1.fffffffffffffp-1 : R;
}
f16 AMDGCN(fract_f16)(f16 A) {
  f32 F = widenHalf(A);
  f16 R = halfOfFloat(F - __builtin_floorf(F));
  return R == 0x3c00 ? 0x3bff : R;
}

s32 AMDGCN(frexp_exp_i32_f32)(f32 X) {
  u32 B = bitsOf32(X), E = B >> 23 & 255;
  if (E == 255 || !(B << 1))
    return 0;
  if (!E)
    return (s32)(bitsOf32(X * 0x1p64f) >> 23 & 255) - 126 - 64;
  return (s32)E - 126;
}
f32 AMDGCN(frexp_mant_f32)(f32 X) {
  u32 B = bitsOf32(X), E = B >> 23 & 255;
  if (E == 255 || !(B << 1))
    return X;
  if (!E)
    B = bitsOf32(X * 0x1p64f);
  return float32((B & 0x807fffffu) | 0x3f000000u);
}
s32 AMDGCN(frexp_exp_i32_f64)(f64 X) {
  u64 B = bitsOf64(X), E = B >> 52 & 2047;
  if (E == 2047 || !(B << 1))
    return 0;
  if (!E)
    return (s32)(bitsOf64(X * 0x1p128) >> 52 & 2047) - 1022 - 128;
  return (s32)E - 1022;
}
f64 AMDGCN(frexp_mant_f64)(f64 X) {
  u64 B = bitsOf64(X), E = B >> 52 & 2047;
  if (E == 2047 || !(B << 1))
    return X;
  if (!E)
    B = bitsOf64(X * 0x1p128);
  return float64((B & 0x800fffffffffffffull) | 0x3fe0000000000000ull);
}
s16 AMDGCN(frexp_exp_i16_f16)(f16 X) {
  return AMDGCN(frexp_exp_i32_f32)(widenHalf(X));
}
f16 AMDGCN(frexp_mant_f16)(f16 X) {
  return halfOfFloat(AMDGCN(frexp_mant_f32)(widenHalf(X)));
}

/// The bits of 2/pi after the binary point.
static const u64 TwoOverPi[20] = {0xA2F9836E4E441529, 0xFC2757D1F534DDC0,
                                  0xDB6295993C439041, 0xFE5163ABDEBBC561,
                                  0xB7246E3A424DD2E0, 0x06492EEA09D1921C,
                                  0xFE1DEB1CB129A73E, 0xE88235F52EBB4484,
                                  0xE99C7026B45F7E41, 0x3991D639835339F4,
                                  0x9C845F8BBDF9283B, 0x1FF897FFDE05980F,
                                  0xEF2F118B5A0A6D1F, 0x6D367ECF27CB09B7,
                                  0x4F463F669E5FEA2D, 0x7527BAC7EBE5F17B,
                                  0x3D0739F78A5292EA, 0x6BFB5FB1F8D5D085,
                                  0x6033046FC7B6BABF, 0};
f64 AMDGCN(trig_preop_f64)(f64 X, u32 Segment) {
  u32 E = bitsOf64(X) >> 52 & 2047;
  u32 Shift = (Segment & 31) * 53 + (E > 1077 ? E - 1077 : 0);
  u64 Bits = 0;
  if (Shift < 1201) {
    u32 Word = Shift >> 6, Bit = Shift & 63;
    u64 High = TwoOverPi[Word], Low = TwoOverPi[Word + 1];
    Bits = (Bit ? High << Bit | Low >> (64 - Bit) : High) >> 11;
  }
  s32 Scale = -53 - (s32)Shift + (E >= 1968 ? 128 : 0);
  f64 R = (f64)Bits;
  if (Scale < -1000) {
    R *= 0x1p-500;
    Scale += 500;
  }
  return Scale < -1000 ? 0 : R * float64((u64)(Scale + 1023) << 52);
}

// div.scale, div.fmas and div.fixup are three steps of a division. Here, the
// last step divides; the others only keep the operands unscaled.
#define DIVISION(SUFFIX, TYPE)                                                 \
  TYPE AMDGCN(div_scale_##SUFFIX##_0)(TYPE A, TYPE B, _Bool Numerator) {       \
    return Numerator ? A : B;                                                  \
  }                                                                            \
  _Bool AMDGCN(div_scale_##SUFFIX##_1)(TYPE A, TYPE B, _Bool Numerator) {      \
    return 0;                                                                  \
  }                                                                            \
  TYPE AMDGCN(div_fmas_##SUFFIX)(TYPE A, TYPE B, TYPE C, _Bool Scale) {        \
    return __builtin_elementwise_fma(A, B, C);                                 \
  }                                                                            \
  TYPE AMDGCN(div_fixup_##SUFFIX)(TYPE Quotient, TYPE B, TYPE A) {             \
    return A / B;                                                              \
  }
DIVISION(f32, f32)
DIVISION(f64, f64)
f16 AMDGCN(div_fixup_f16)(f16 Quotient, f16 B, f16 A) {
  return halfOfFloat(widenHalf(A) / widenHalf(B));
}

HELPER _Bool classify(_Bool NaN, _Bool Quiet, _Bool Infinite, _Bool Zero,
                      _Bool Subnormal, _Bool Negative, u32 Mask) {
  if (NaN)
    return Mask >> (Quiet ? 1 : 0) & 1;
  u32 Bit = Infinite ? 2 : Zero ? 5 : Subnormal ? 4 : 3;
  return Mask >> (Negative ? Bit : 11 - Bit) & 1;
}
_Bool AMDGCN(class_f32)(f32 X, u32 Mask) {
  u32 B = bitsOf32(X), M = B & 0x7fffffff;
  return classify(M > 0x7f800000, M >> 22 & 1, M == 0x7f800000, M == 0,
                  M < 0x800000, B >> 31, Mask);
}
_Bool AMDGCN(class_f64)(f64 X, u32 Mask) {
  u64 B = bitsOf64(X), M = B & 0x7fffffffffffffff;
  return classify(M > 0x7ff0000000000000, M >> 51 & 1, M == 0x7ff0000000000000,
                  M == 0, M < 0x10000000000000, B >> 63, Mask);
}
_Bool AMDGCN(class_f16)(f16 B, u32 Mask) {
  u32 M = B & 0x7fff;
  return classify(M > 0x7c00, M >> 9 & 1, M == 0x7c00, M == 0, M < 0x400,
                  B >> 15, Mask);
}

f32 AMDGCN(fmed3_f32)(f32 A, f32 B, f32 C) {
  if (A != A || B != B || C != C)
    return minimum32(minimum32(A, B), C);
  return maximum32(minimum32(A, B), minimum32(maximum32(A, B), C));
}
f16 AMDGCN(fmed3_f16)(f16 A, f16 B, f16 C) {
  return halfOfFloat(
      AMDGCN(fmed3_f32)(widenHalf(A), widenHalf(B), widenHalf(C)));
}

//===----------------------------------------------------------------------===//
// Packing and bytes
//===----------------------------------------------------------------------===//

u32 AMDGCN(cvt_pkrtz)(f32 A, f32 B) {
  return pack(encodeHalf(A, RZ), encodeHalf(B, RZ));
}
HELPER s32 clampTo(f32 X, s32 Low, s32 High) {
  return X != X ? 0 : X <= Low ? Low : X >= High ? High : (s32)X;
}
u32 AMDGCN(cvt_pknorm_i16)(f32 A, f32 B) {
  return pack(
      clampTo(__builtin_elementwise_roundeven(A * 32767.0f), -32767, 32767),
      clampTo(__builtin_elementwise_roundeven(B * 32767.0f), -32767, 32767));
}
u32 AMDGCN(cvt_pknorm_u16)(f32 A, f32 B) {
  return pack(clampTo(__builtin_elementwise_roundeven(A * 65535.0f), 0, 65535),
              clampTo(__builtin_elementwise_roundeven(B * 65535.0f), 0, 65535));
}
u32 AMDGCN(cvt_pk_i16)(s32 A, s32 B) {
  return pack(clampLane(A, -32768, 32767), clampLane(B, -32768, 32767));
}
u32 AMDGCN(cvt_pk_u16)(u32 A, u32 B) {
  return pack(A > 65535 ? 65535 : A, B > 65535 ? 65535 : B);
}
u32 AMDGCN(cvt_pk_u8_f32)(f32 X, u32 Byte, u32 Old) {
  u32 Shift = (Byte & 3) * 8;
  u32 V = clampTo(__builtin_elementwise_roundeven(X), 0, 255);
  return (Old & ~(255u << Shift)) | V << Shift;
}

u32 AMDGCN(perm)(u32 A, u32 B, u32 Selector) {
  u64 Bytes = (u64)A << 32 | B;
  u32 R = 0;
  for (int I = 0; I < 4; ++I) {
    u32 S = Selector >> 8 * I & 255;
    u32 Byte = S < 8     ? Bytes >> S * 8 & 255
               : S < 12  ? (Bytes >> ((S - 8) * 16 + 15) & 1 ? 255 : 0)
               : S == 12 ? 0
                         : 255;
    R |= Byte << 8 * I;
  }
  return R;
}
u32 AMDGCN(alignbyte)(u32 High, u32 Low, u32 N) {
  return ((u64)High << 32 | Low) >> 8 * (N & 3);
}
u32 AMDGCN(ubfe_i32)(u32 A, u32 Start, u32 Length) {
  Start &= 31, Length &= 31;
  return A >> Start & ((1u << Length) - 1);
}
s32 AMDGCN(sbfe_i32)(u32 A, u32 Start, u32 Length) {
  return signExtend((u32)((s32)A >> (Start & 31)), Length & 31);
}
s32 AMDGCN(sffbh_i32)(s32 A) {
  u32 B = A < 0 ? ~A : A;
  return B ? __builtin_clz(B) : -1;
}
u32 AMDGCN(lerp)(u32 A, u32 B, u32 C) {
  u32 R = 0;
  for (int I = 0; I < 4; ++I)
    R |= (BYTE(u8, A, I) + BYTE(u8, B, I) + (C >> 8 * I & 1)) >> 1 << 8 * I;
  return R;
}
u32 AMDGCN(sad_u8)(u32 A, u32 B, u32 C) {
  for (int I = 0; I < 4; ++I)
    C += difference(BYTE(u8, A, I), BYTE(u8, B, I));
  return C;
}
u32 AMDGCN(msad_u8)(u32 A, u32 B, u32 C) {
  for (int I = 0; I < 4; ++I)
    if (BYTE(u8, B, I))
      C += difference(BYTE(u8, A, I), BYTE(u8, B, I));
  return C;
}
u32 AMDGCN(sad_hi_u8)(u32 A, u32 B, u32 C) {
  return (AMDGCN(sad_u8)(A, B, 0) << 16) + C;
}
u32 AMDGCN(sad_u16)(u32 A, u32 B, u32 C) {
  for (int I = 0; I < 2; ++I)
    C += difference(WORD(u16, A, I), WORD(u16, B, I));
  return C;
}
u32 AMDGCN(bitop3_i32)(u32 A, u32 B, u32 C, u32 Table) {
  return PTX(lop3)(A, B, C, Table);
}
#define LOW24S(X) ((s32)((u32)(X) << 8) >> 8)
s32 AMDGCN(mul_i24_i32)(s32 A, s32 B) {
  return (s32)((s64)LOW24S(A) * LOW24S(B));
}
u32 AMDGCN(mul_u24_i32)(u32 A, u32 B) {
  return (A & 0xffffff) * (B & 0xffffff);
}
s32 AMDGCN(mulhi_i24)(s32 A, s32 B) { return (s64)LOW24S(A) * LOW24S(B) >> 32; }
u32 AMDGCN(mulhi_u24)(u32 A, u32 B) {
  return (u64)(A & 0xffffff) * (B & 0xffffff) >> 32;
}

HELPER s32 clampSum(s64 X) {
  return X < -0x80000000ll ? S32_MIN : X > 0x7fffffff ? 0x7fffffff : (s32)X;
}
HELPER u32 clampUnsigned(u64 X) {
  return X > 0xffffffff ? 0xffffffffu : (u32)X;
}
#define NIBBLE(X, I) (((s32)((X) << (28 - 4 * (I)))) >> 28)
#define SIGNED_DOT(NAME, COUNT, TERM)                                          \
  s32 AMDGCN(NAME)(u32 A, u32 B, s32 C, _Bool Clamp) {                         \
    s64 Sum = C;                                                               \
    for (int I = 0; I < COUNT; ++I)                                            \
      Sum += TERM;                                                             \
    return Clamp ? clampSum(Sum) : (s32)Sum;                                   \
  }
#define UNSIGNED_DOT(NAME, COUNT, TERM)                                        \
  u32 AMDGCN(NAME)(u32 A, u32 B, u32 C, _Bool Clamp) {                         \
    u64 Sum = C;                                                               \
    for (int I = 0; I < COUNT; ++I)                                            \
      Sum += TERM;                                                             \
    return Clamp ? clampUnsigned(Sum) : (u32)Sum;                              \
  }
SIGNED_DOT(sdot2, 2, (s64)WORD(s16, A, I) * WORD(s16, B, I))
SIGNED_DOT(sdot4, 4, BYTE(s8, A, I) * BYTE(s8, B, I))
SIGNED_DOT(sdot8, 8, NIBBLE(A, I) * NIBBLE(B, I))
UNSIGNED_DOT(udot2, 2, (u64)(A >> 16 * I & 0xffff) * (B >> 16 * I & 0xffff))
UNSIGNED_DOT(udot4, 4, (A >> 8 * I & 255) * (B >> 8 * I & 255))
UNSIGNED_DOT(udot8, 8, (A >> 4 * I & 15) * (B >> 4 * I & 15))
/// Each operand is signed or not.
#define MIXED_DOT(NAME, COUNT, SIGNED, UNSIGNED)                               \
  s32 AMDGCN(NAME)(_Bool SignA, u32 A, _Bool SignB, u32 B, s32 C,              \
                   _Bool Clamp) {                                              \
    s64 Sum = C;                                                               \
    for (int I = 0; I < COUNT; ++I)                                            \
      Sum += (SignA ? (s64)SIGNED(A, I) : (s64)UNSIGNED(A, I)) *               \
             (SignB ? (s64)SIGNED(B, I) : (s64)UNSIGNED(B, I));                \
    return Clamp ? clampSum(Sum) : (s32)Sum;                                   \
  }
#define SIGNED_BYTE(X, I) BYTE(s8, X, I)
#define UNSIGNED_BYTE(X, I) ((X) >> 8 * (I) & 255)
#define UNSIGNED_NIBBLE(X, I) ((X) >> 4 * (I) & 15)
MIXED_DOT(sudot4, 4, SIGNED_BYTE, UNSIGNED_BYTE)
MIXED_DOT(sudot8, 8, NIBBLE, UNSIGNED_NIBBLE)
f32 AMDGCN(fdot2)(f16x2 A, f16x2 B, f32 C, _Bool Clamp) {
  f32 R =
      widenHalf(A) * widenHalf(B) + widenHalf(A >> 16) * widenHalf(B >> 16) + C;
  return Clamp ? saturate(R) : R;
}

//===----------------------------------------------------------------------===//
// Lanes. Values of all types are exchanged as 64 bits.
//===----------------------------------------------------------------------===//

HELPER u64 pull(u64 Value, u32 Lane) {
  return mneme_host_sync(MNEME_OP_WAVE_PERMUTE, 0, ~0ull, Value,
                         (s32)(Lane * 4), 0, 0);
}
HELPER u64 ballot(_Bool Bit) {
  return mneme_host_sync(MNEME_OP_WAVE_BALLOT, 0, ~0ull, Bit, 0, 0, 0);
}

u32 AMDGCN(mbcnt_lo)(u32 Mask, u32 Base) {
  u32 Lane = mneme_host_laneid();
  u32 Below = Lane >= 32 ? ~0u : (1u << Lane) - 1;
  return __builtin_popcount(Mask & Below) + Base;
}
u32 AMDGCN(mbcnt_hi)(u32 Mask, u32 Base) {
  u32 Lane = mneme_host_laneid();
  u32 Below = Lane >= 32 ? (1u << (Lane & 31)) - 1 : 0;
  return __builtin_popcount(Mask & Below) + Base;
}
u64 AMDGCN(writelane)(u64 Value, u32 Lane, u64 Old) {
  return mneme_host_laneid() == Lane ? Value : Old;
}

/// ds.permute pushes values. Each lane finds the lanes that push to it by
/// comparing its number with all addresses, bit by bit. The highest of these
/// lanes wins.
u32 AMDGCN(ds_permute)(u32 Address, u32 Value) {
  u32 Target = Address >> 2, Lane = mneme_host_laneid();
  u64 Pushers = ballot(1);
  u64 Bit0 = ballot(Target & 1), Bit1 = ballot(Target >> 1 & 1);
  u64 Bit2 = ballot(Target >> 2 & 1), Bit3 = ballot(Target >> 3 & 1);
  u64 Bit4 = ballot(Target >> 4 & 1), Bit5 = ballot(Target >> 5 & 1);
  Pushers &= Lane & 1 ? Bit0 : ~Bit0;
  Pushers &= Lane & 2 ? Bit1 : ~Bit1;
  Pushers &= Lane & 4 ? Bit2 : ~Bit2;
  Pushers &= Lane & 8 ? Bit3 : ~Bit3;
  Pushers &= Lane & 16 ? Bit4 : ~Bit4;
  Pushers &= Lane & 32 ? Bit5 : ~Bit5;
  u64 Received = pull(Value, Pushers ? 63 - __builtin_clzll(Pushers) : Lane);
  return Pushers ? Received : 0;
}
u32 AMDGCN(ds_swizzle)(u32 Value, u32 Pattern) {
  u32 Lane = mneme_host_laneid(), Source;
  if (Pattern & 0x8000) {
    Source = (Lane & ~3u) | (Pattern >> 2 * (Lane & 3) & 3);
  } else {
    u32 And = Pattern & 31, Or = Pattern >> 5 & 31, Xor = Pattern >> 10 & 31;
    Source = (Lane & ~31u) | ((((Lane & 31) & And) | Or) ^ Xor);
  }
  return pull(Value, Source);
}

/// \returns the lane that DPP reads, or -1 if there is none.
HELPER s32 dppSource(s32 Lane, u32 Control) {
  s32 Row = Lane & ~15, In = Lane & 15, N = Control & 15;
  if (Control <= 0xff)
    return (Lane & ~3) | (Control >> 2 * (Lane & 3) & 3);
  switch (Control & 0x1f0) {
  case 0x100: // row_shl
    return In + N < 16 ? Lane + N : -1;
  case 0x110: // row_shr
    return In - N >= 0 ? Lane - N : -1;
  case 0x120: // row_ror
    return Row | ((In - N) & 15);
  case 0x150: // row_share, row_newbcast
    return Row | N;
  case 0x160: // row_xmask
    return Row | (In ^ N);
  }
  switch (Control) {
  case 0x130: // wave_shl
    return Lane < 63 ? Lane + 1 : -1;
  case 0x134: // wave_rol
    return (Lane + 1) & 63;
  case 0x138: // wave_shr
    return Lane - 1;
  case 0x13c: // wave_ror
    return (Lane - 1) & 63;
  case 0x140: // row_mirror
    return Row | (15 - In);
  case 0x141: // row_half_mirror
    return (Lane & ~7) | (7 - (Lane & 7));
  case 0x142: // row_bcast15: lane 15 of each row to the next row
    return Lane >= 16 ? Row - 1 : -1;
  case 0x143: // row_bcast31: lane 31 to the upper half
    return Lane >= 32 ? 31 : -1;
  }
  return -1;
}
u64 AMDGCN(update_dpp)(u64 Old, u64 Value, u32 Control, u32 RowMask,
                       u32 BankMask, _Bool BoundControl) {
  s32 Lane = (s32)mneme_host_laneid(), Source = dppSource(Lane, Control);
  u64 Active = ballot(1);
  u64 Received = pull(Value, Source < 0 ? Lane : Source);
  if (Source >= 0 && !(Active >> Source & 1))
    Source = -1; // A lane that is not active has no value.
  if (!(RowMask >> (Lane >> 4 & 3) & 1) || !(BankMask >> (Lane >> 2 & 3) & 1))
    return Old;
  return Source >= 0 ? Received : BoundControl ? 0 : Old;
}
u64 AMDGCN(mov_dpp)(u64 Value, u32 Control, u32 RowMask, u32 BankMask,
                    _Bool BoundControl) {
  return AMDGCN(update_dpp)(0, Value, Control, RowMask, BankMask, BoundControl);
}
u64 AMDGCN(mov_dpp8)(u64 Value, u32 Selectors) {
  u32 Lane = mneme_host_laneid();
  return pull(Value, (Lane & ~7u) | (Selectors >> 3 * (Lane & 7) & 7));
}
HELPER u32 rowSelect(u32 Lane, u32 Low, u32 High) {
  return (Lane & 8 ? High : Low) >> 4 * (Lane & 7) & 15;
}
u64 AMDGCN(permlane16)(u64 Old, u64 Value, u32 Low, u32 High, _Bool Inactive,
                       _Bool BoundControl) {
  u32 Lane = mneme_host_laneid();
  return pull(Value, (Lane & ~15u) | rowSelect(Lane, Low, High));
}
u64 AMDGCN(permlanex16)(u64 Old, u64 Value, u32 Low, u32 High, _Bool Inactive,
                        _Bool BoundControl) {
  u32 Lane = mneme_host_laneid();
  return pull(Value, ((Lane & ~15u) ^ 16) | rowSelect(Lane, Low, High));
}
u64 AMDGCN(permlane64)(u64 Value) {
  return pull(Value, mneme_host_laneid() ^ 32);
}
