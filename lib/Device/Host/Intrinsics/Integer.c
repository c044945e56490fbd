//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Integer instructions, dot products, and SIMD video instructions.
///
//===----------------------------------------------------------------------===//

#include "Library.h"

s16 NVVM(mulhi_s)(s16 A, s16 B) { return (s32)A * B >> 16; }
u16 NVVM(mulhi_us)(u16 A, u16 B) { return (u32)A * B >> 16; }
s32 NVVM(mulhi_i)(s32 A, s32 B) { return (s64)A * B >> 32; }
u32 NVVM(mulhi_ui)(u32 A, u32 B) { return (u64)A * B >> 32; }
s64 NVVM(mulhi_ll)(s64 A, s64 B) { return (s128)A * B >> 64; }
u64 NVVM(mulhi_ull)(u64 A, u64 B) { return (u128)A * B >> 64; }
u32 NVVM(mul24_i)(s32 A, s32 B) {
  return (u32)((s64)((s32)((u32)A << 8) >> 8) * ((s32)((u32)B << 8) >> 8));
}
u32 NVVM(mul24_ui)(u32 A, u32 B) { return (A & 0xffffff) * (B & 0xffffff); }

#define SAD(NAME, TYPE, UNSIGNED)                                              \
  UNSIGNED NVVM(sad_##NAME)(TYPE A, TYPE B, UNSIGNED C) {                      \
    return (A > B ? (UNSIGNED)A - (UNSIGNED)B : (UNSIGNED)B - (UNSIGNED)A) +   \
           C;                                                                  \
  }
SAD(s, s16, u16)
SAD(us, u16, u16)
SAD(i, s32, u32)
SAD(ui, u32, u32)
SAD(ll, s64, u64)
SAD(ull, u64, u64)

u32 NVVM(prmt)(u32 A, u32 B, u32 Selector) {
  u64 Bytes = (u64)B << 32 | A;
  u32 R = 0;
  for (int I = 0; I < 4; ++I) {
    u32 S = Selector >> 4 * I & 15;
    u32 Byte = Bytes >> (S & 7) * 8 & 255;
    if (S & 8)
      Byte = Byte & 128 ? 255 : 0;
    R |= Byte << 8 * I;
  }
  return R;
}
u32 NVVM(prmt_f4e)(u32 A, u32 B, u32 N) {
  return ((u64)B << 32 | A) >> (N & 3) * 8;
}
u32 NVVM(prmt_b4e)(u32 A, u32 B, u32 N) {
  // Selectors 0x5670, 0x6701, 0x7012, 0x0123.
  return NVVM(prmt)(A, B, (0x0123701267015670ull >> (N & 3) * 16) & 0xffff);
}
u32 NVVM(prmt_rc8)(u32 A, u32 N) {
  return (A >> (N & 3) * 8 & 255) * 0x01010101;
}
u32 NVVM(prmt_ecl)(u32 A, u32 N) {
  return NVVM(prmt)(A, 0, (0x3333322232113210ull >> (N & 3) * 16) & 0xffff);
}
u32 NVVM(prmt_ecr)(u32 A, u32 N) {
  return NVVM(prmt)(A, 0,
                    (0x3210321132223333ull >> (3 - (N & 3)) * 16) & 0xffff);
}
u32 NVVM(prmt_rc16)(u32 A, u32 N) {
  return (A >> (N & 1) * 16 & 0xffff) * 0x00010001;
}

u32 PTX(lop3)(u32 A, u32 B, u32 C, u32 Table) {
  u32 R = 0;
  for (int I = 0; I < 8; ++I)
    if (Table >> I & 1)
      R |= (I & 4 ? A : ~A) & (I & 2 ? B : ~B) & (I & 1 ? C : ~C);
  return R;
}

#define SHIFTS(BITS, UNSIGNED, SIGNED)                                         \
  UNSIGNED PTX(shl_b##BITS)(UNSIGNED A, u32 N) {                               \
    return N >= BITS ? 0 : (UNSIGNED)(A << N);                                 \
  }                                                                            \
  UNSIGNED PTX(shr_u##BITS)(UNSIGNED A, u32 N) {                               \
    return N >= BITS ? 0 : A >> N;                                             \
  }                                                                            \
  SIGNED PTX(shr_s##BITS)(SIGNED A, u32 N) {                                   \
    return A >> (N >= BITS ? BITS - 1 : N);                                    \
  }
SHIFTS(16, u16, s16)
SHIFTS(32, u32, s32)
SHIFTS(64, u64, s64)

u32 NVVM(fshl_clamp_i32)(u32 High, u32 Low, u32 N) {
  return ((u64)High << 32 | Low) << (N > 32 ? 32 : N) >> 32;
}
u32 NVVM(fshr_clamp_i32)(u32 High, u32 Low, u32 N) {
  return ((u64)High << 32 | Low) >> (N > 32 ? 32 : N);
}
// shf names the low half first.
u32 PTX(shf_l_clamp_b32)(u32 Low, u32 High, u32 N) {
  return NVVM(fshl_clamp_i32)(High, Low, N);
}
u32 PTX(shf_r_clamp_b32)(u32 Low, u32 High, u32 N) {
  return NVVM(fshr_clamp_i32)(High, Low, N);
}
u32 PTX(shf_l_wrap_b32)(u32 Low, u32 High, u32 N) {
  return NVVM(fshl_clamp_i32)(High, Low, N & 31);
}
u32 PTX(shf_r_wrap_b32)(u32 Low, u32 High, u32 N) {
  return NVVM(fshr_clamp_i32)(High, Low, N & 31);
}

HELPER u32 lead(u64 A, int Bits, u32 Shift) {
  if (!A)
    return ~0u;
  u32 I = 63 - __builtin_clzll(A);
  return Shift ? Bits - 1 - I : I;
}
#define FIND_LEADING(BITS, UNSIGNED, SIGNED)                                   \
  u32 NVVM(flo_u_i##BITS)(UNSIGNED A, _Bool Shift) {                           \
    return lead(A, BITS, Shift);                                               \
  }                                                                            \
  u32 NVVM(flo_s_i##BITS)(UNSIGNED A, _Bool Shift) {                           \
    return lead((UNSIGNED)((SIGNED)A < 0 ? ~A : A), BITS, Shift);              \
  }
FIND_LEADING(32, u32, s32)
FIND_LEADING(64, u64, s64)

HELPER s32 signExtend(u32 A, u32 N) {
  return N >= 32 ? (s32)A : N == 0 ? 0 : (s32)(A << (32 - N)) >> (32 - N);
}
HELPER u32 zeroExtend(u32 A, u32 N) {
  return N >= 32 ? A : A & ((1u << N) - 1);
}
s32 NVVM(sext_clamp)(u32 A, u32 N) { return signExtend(A, N); }
s32 NVVM(sext_wrap)(u32 A, u32 N) { return signExtend(A, N & 31); }
u32 NVVM(zext_clamp)(u32 A, u32 N) { return zeroExtend(A, N); }
u32 NVVM(zext_wrap)(u32 A, u32 N) { return zeroExtend(A, N & 31); }
u32 NVVM(bmsk_clamp)(u32 A, u32 N) {
  return A >= 32 ? 0 : zeroExtend(~0u, N) << A;
}
u32 NVVM(bmsk_wrap)(u32 A, u32 N) {
  return zeroExtend(~0u, N & 31) << (A & 31);
}
u32 NVVM(fns)(u32 Mask, u32 Base, s32 Offset) {
  Base &= 31;
  if (Offset == 0)
    return Mask >> Base & 1 ? Base : ~0u;
  s32 Step = Offset > 0 ? 1 : -1, Left = Offset > 0 ? Offset : -Offset;
  for (s32 I = Base; I >= 0 && I < 32; I += Step)
    if (Mask >> I & 1 && --Left == 0)
      return I;
  return ~0u;
}

#define BFE(BITS, UNSIGNED, SIGNED)                                            \
  UNSIGNED PTX(bfe_u##BITS)(UNSIGNED A, u32 Start, u32 Length) {               \
    Start &= 255, Length &= 255;                                               \
    A = Start < BITS ? A >> Start : 0;                                         \
    return Length >= BITS ? A : A & (((UNSIGNED)1 << Length) - 1);             \
  }                                                                            \
  SIGNED PTX(bfe_s##BITS)(SIGNED A, u32 Start, u32 Length) {                   \
    Start &= 255, Length &= 255;                                               \
    if (Length == 0)                                                           \
      return 0;                                                                \
    A >>= Start < BITS ? Start : BITS - 1;                                     \
    u32 Drop = Length < BITS ? BITS - Length : 0;                              \
    return (SIGNED)((UNSIGNED)A << Drop) >> Drop;                              \
  }                                                                            \
  UNSIGNED PTX(bfi_b##BITS)(UNSIGNED A, UNSIGNED B, u32 Start, u32 Length) {   \
    Start &= 255, Length &= 255;                                               \
    if (Start >= BITS || Length == 0)                                          \
      return B;                                                                \
    UNSIGNED Mask =                                                            \
        (Length >= BITS ? ~(UNSIGNED)0 : ((UNSIGNED)1 << Length) - 1)          \
        << Start;                                                              \
    return (A << Start & Mask) | (B & ~Mask);                                  \
  }
BFE(32, u32, s32)
BFE(64, u64, s64)

#define BYTE(TYPE, X, I) ((s32)(TYPE)((X) >> 8 * (I)))
#define WORD(TYPE, X, I) ((s32)(TYPE)((X) >> 16 * (I)))
#define DOT(NAME, A8, B8, A16)                                                 \
  u32 NVVM(idp4a_##NAME)(u32 A, u32 B, u32 C) {                                \
    for (int I = 0; I < 4; ++I)                                                \
      C += (u32)(BYTE(A8, A, I) * BYTE(B8, B, I));                             \
    return C;                                                                  \
  }                                                                            \
  u32 NVVM(idp2a_##NAME)(u32 A, u32 B, _Bool High, u32 C) {                    \
    B >>= High ? 16 : 0;                                                       \
    for (int I = 0; I < 2; ++I)                                                \
      C += (u32)(WORD(A16, A, I) * BYTE(B8, B, I));                            \
    return C;                                                                  \
  }
DOT(s_s, s8, s8, s16)
DOT(s_u, s8, u8, s16)
DOT(u_s, u8, s8, u16)
DOT(u_u, u8, u8, u16)

//===----------------------------------------------------------------------===//
// SIMD video: vadd2.u32.u32.u32 is mneme_ptx_vadd2_u32, with _sat or _add as
// the instruction has it.
//===----------------------------------------------------------------------===//

HELPER s32 clampLane(s32 X, s32 Low, s32 High) {
  return X < Low ? Low : X > High ? High : X;
}
HELPER s32 difference(s32 A, s32 B) { return A > B ? A - B : B - A; }
#define LANES(N, BITS, NAME, LANE, EXPR)                                       \
  u32 PTX(NAME)(u32 X, u32 Y, u32 Z) {                                         \
    u32 R = 0;                                                                 \
    for (int I = 0; I < N; ++I) {                                              \
      s32 A = (s32)(LANE)(X >> BITS * I), B = (s32)(LANE)(Y >> BITS * I);      \
      R |= ((u32)(EXPR) & (u32)((1ull << BITS) - 1)) << BITS * I;              \
    }                                                                          \
    return R;                                                                  \
  }
#define LANES_SUM(N, BITS, NAME, LANE, EXPR)                                   \
  u32 PTX(NAME)(u32 X, u32 Y, u32 Z) {                                         \
    for (int I = 0; I < N; ++I) {                                              \
      s32 A = (s32)(LANE)(X >> BITS * I), B = (s32)(LANE)(Y >> BITS * I);      \
      Z += (u32)(EXPR);                                                        \
    }                                                                          \
    return Z;                                                                  \
  }
#define COMPARE(N, BITS, TYPE, LANE, NAME, OP)                                 \
  LANES(N, BITS, vset##N##_##TYPE##_##NAME, LANE, A OP B)                      \
  LANES_SUM(N, BITS, vset##N##_##TYPE##_##NAME##_add, LANE, A OP B)
#define VIDEO(N, BITS, TYPE, LANE, LOW, HIGH)                                  \
  LANES(N, BITS, vadd##N##_##TYPE, LANE, A + B)                                \
  LANES(N, BITS, vsub##N##_##TYPE, LANE, A - B)                                \
  LANES(N, BITS, vadd##N##_##TYPE##_sat, LANE, clampLane(A + B, LOW, HIGH))    \
  LANES(N, BITS, vsub##N##_##TYPE##_sat, LANE, clampLane(A - B, LOW, HIGH))    \
  LANES(N, BITS, vavrg##N##_##TYPE, LANE, (A + B + 1) >> 1)                    \
  LANES(N, BITS, vmin##N##_##TYPE, LANE, A < B ? A : B)                        \
  LANES(N, BITS, vmax##N##_##TYPE, LANE, A > B ? A : B)                        \
  LANES(N, BITS, vabsdiff##N##_##TYPE, LANE, difference(A, B))                 \
  LANES(N, BITS, vabsdiff##N##_##TYPE##_sat, LANE,                             \
        clampLane(difference(A, B), LOW, HIGH))                                \
  LANES_SUM(N, BITS, vabsdiff##N##_##TYPE##_add, LANE, difference(A, B))       \
  COMPARE(N, BITS, TYPE, LANE, eq, ==)                                         \
  COMPARE(N, BITS, TYPE, LANE, ne, !=)                                         \
  COMPARE(N, BITS, TYPE, LANE, lt, <)                                          \
  COMPARE(N, BITS, TYPE, LANE, le, <=)                                         \
  COMPARE(N, BITS, TYPE, LANE, gt, >)                                          \
  COMPARE(N, BITS, TYPE, LANE, ge, >=)
VIDEO(4, 8, s32, s8, -128, 127)
VIDEO(4, 8, u32, u8, 0, 255)
VIDEO(2, 16, s32, s16, -32768, 32767)
VIDEO(2, 16, u32, u16, 0, 65535)
