//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// GPU instructions as C functions, compiled to bitcode when Mneme is built and
/// linked into each kernel that needs them. HostIntrinsics finds the function
/// of an intrinsic by its name: llvm.nvvm.add.rm.f is mneme_nvvm_add_rm_f. A
/// structure result has one function per element: name_0, name_1.
/// Half-precision and packed values are integers of the same size.
///
/// No headers, and no library calls except LLVM's math intrinsics: the code
/// must vectorize over the threads of a block.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_INTRINSICS_LIBRARY_H
#define MNEME_INTRINSICS_LIBRARY_H

typedef __INT8_TYPE__ s8;
typedef __INT16_TYPE__ s16;
typedef __INT32_TYPE__ s32;
typedef __INT64_TYPE__ s64;
typedef __UINT8_TYPE__ u8;
typedef __UINT16_TYPE__ u16;
typedef __UINT32_TYPE__ u32;
typedef __UINT64_TYPE__ u64;
typedef float f32;
typedef double f64;
typedef u16 f16;
typedef u16 bf16;
typedef u32 f16x2;
typedef u32 bf16x2;
typedef unsigned __int128 u128;
typedef __int128 s128;

#define NVVM(NAME) mneme_nvvm_##NAME
#define AMDGCN(NAME) mneme_amdgcn_##NAME
#define PTX(NAME) mneme_ptx_##NAME
#define HELPER static inline __attribute__((always_inline))

// The placeholders of HostPasses.h that C code may use.
u32 mneme_host_laneid(void) __asm__("mneme.host.laneid");
u8 *mneme_host_shared(void) __asm__("mneme.host.shared");
u32 mneme_host_dynshared(void) __asm__("mneme.host.dynshared");
u32 mneme_host_dynsize(void) __asm__("mneme.host.dynsize");
u64 mneme_host_sync(s32 Op, s32 Mode, u64 Mask, u64 Value, s32 B, s32 C,
                    s32 Site) __asm__("mneme.host.sync")
    __attribute__((convergent));

HELPER u32 bitsOf32(f32 X) { return __builtin_bit_cast(u32, X); }
HELPER u64 bitsOf64(f64 X) { return __builtin_bit_cast(u64, X); }
HELPER f32 float32(u32 X) { return __builtin_bit_cast(f32, X); }
HELPER f64 float64(u64 X) { return __builtin_bit_cast(f64, X); }

/// Flushes subnormals to zeros of the same sign.
HELPER f32 flush(f32 X) {
  return __builtin_fabsf(X) < 0x1p-126f ? __builtin_copysignf(0.0f, X) : X;
}
/// Clamps to [0, 1]; NaN gives 0.
HELPER f32 saturate(f32 X) { return X > 0.0f ? (X < 1.0f ? X : 1.0f) : 0.0f; }

/// The neighbours of a number. Called only if the result exists.
HELPER f32 previous32(f32 X) {
  u32 B = bitsOf32(X);
  return float32(X > 0 ? B - 1 : X < 0 ? B + 1 : 0x80000001u);
}
HELPER f32 next32(f32 X) {
  u32 B = bitsOf32(X);
  return float32(X > 0 ? B + 1 : X < 0 ? B - 1 : 1u);
}
HELPER f64 previous64(f64 X) {
  u64 B = bitsOf64(X);
  return float64(X > 0 ? B - 1 : X < 0 ? B + 1 : 0x8000000000000001ull);
}
HELPER f64 next64(f64 X) {
  u64 B = bitsOf64(X);
  return float64(X > 0 ? B + 1 : X < 0 ? B - 1 : 1ull);
}

/// \returns the rounding error of Sum = A + B (Knuth).
HELPER f64 sumError(f64 A, f64 B, f64 Sum) {
  f64 C = Sum - A;
  return (A - (Sum - C)) + (B - C);
}

enum Rounding { RN, RZ, RM, RP, RNA };

/// Rounds Value + Error to f32; |Error| is less than half an ulp of Value.
HELPER f32 narrow32(f64 Value, f64 Error, enum Rounding Mode) {
  f32 R = (f32)Value;
  if (Mode == RN)
    return R;
  if (Mode == RZ)
    Mode = Value < 0 ? RP : RM;
  f64 Wide = R;
  if (Mode == RM)
    return Wide > Value || (Wide == Value && Error < 0) ? previous32(R) : R;
  return Wide < Value || (Wide == Value && Error > 0) ? next32(R) : R;
}

/// Rounds to odd, so that rounding the result again, to fewer bits, is correct.
HELPER f64 odd64(f64 Value, f64 Error) {
  u64 B = bitsOf64(Value);
  if (Error == 0 || Error != Error || (B & 1))
    return Value;
  return float64((Error > 0) == (Value > 0) ? B + 1 : B - 1);
}
HELPER f32 odd32(f64 Value) {
  f32 R = (f32)Value;
  u32 B = bitsOf32(R);
  f64 Wide = R;
  if (Wide == Value || Value != Value || (B & 1))
    return R;
  if (Wide == 0)
    return float32(B | 1);
  return float32((Value > Wide) == (Value > 0) ? B + 1 : B - 1);
}

HELPER f32 widenHalf(f16 X) { return (f32) __builtin_bit_cast(_Float16, X); }
HELPER f32 widenBFloat(bf16 X) { return float32((u32)X << 16); }
HELPER f16 halfOfFloat(f32 X) {
  return X != X ? 0x7fff : __builtin_bit_cast(u16, (_Float16)X);
}
HELPER f16 halfOfDouble(f64 X) { return halfOfFloat(odd32(X)); }
HELPER bf16 bfloatOfFloat(f32 X) {
  u32 B = bitsOf32(X);
  return X != X ? 0x7fff : (B + 0x7fff + ((B >> 16) & 1)) >> 16;
}
HELPER bf16 bfloatOfDouble(f64 X) { return bfloatOfFloat(odd32(X)); }
HELPER u32 pack(u16 Low, u16 High) { return Low | (u32)High << 16; }

/// Rounds any number to a smaller format with \p M fraction bits, smallest
/// normal exponent \p MinExponent and the sign at bit \p SignBit. Larger
/// magnitudes become the encoding \p Limit; there is no other handling of
/// overflow. The caller handles NaN.
HELPER u32 encode(f64 X, int M, int MinExponent, int SignBit, u32 Limit,
                  enum Rounding Mode) {
  u64 B = bitsOf64(X);
  int Negative = B >> 63;
  int E = (int)((B >> 52) & 2047) - 1023;
  u64 Fraction = (B & 0xfffffffffffffull) | (E == -1023 ? 0 : 1ull << 52);
  int Shift = 52 - M + (E < MinExponent ? MinExponent - E : 0);
  Shift = Shift > 63 ? 63 : Shift;
  u64 Kept = Fraction >> Shift;
  u64 Rest = Fraction & ((1ull << Shift) - 1), Half = 1ull << (Shift - 1);
  u64 R = E < MinExponent ? Kept : ((u64)(E - MinExponent) << M) + Kept;
  if (Mode == RN)
    R += Rest > Half || (Rest == Half && (Kept & 1));
  else if (Mode == RNA)
    R += Rest >= Half;
  else if (Mode == RP)
    R += Rest != 0 && !Negative;
  else if (Mode == RM)
    R += Rest != 0 && Negative;
  return (R > Limit ? Limit : (u32)R) | (u32)Negative << SignBit;
}

/// \returns the encoding of an overflow: infinity, or the largest number.
HELPER u32 overflow(u32 Infinity, int Negative, enum Rounding Mode) {
  int Away = Mode == RN || Mode == RNA || (Mode == RP && !Negative) ||
             (Mode == RM && Negative);
  return Away ? Infinity : Infinity - 1;
}
HELPER f16 encodeHalf(f64 X, enum Rounding Mode) {
  if (X != X)
    return 0x7fff;
  if (Mode == RN)
    return halfOfDouble(X);
  int Infinite = __builtin_fabs(X) == __builtin_inf();
  return encode(X, 10, -14, 15,
                Infinite ? 0x7c00 : overflow(0x7c00, X < 0, Mode), Mode);
}
HELPER bf16 encodeBFloat(f64 X, enum Rounding Mode) {
  if (X != X)
    return 0x7fff;
  if (Mode == RN)
    return bfloatOfDouble(X);
  int Infinite = __builtin_fabs(X) == __builtin_inf();
  return encode(X, 7, -126, 15,
                Infinite ? 0x7f80 : overflow(0x7f80, X < 0, Mode), Mode);
}

#endif // MNEME_INTRINSICS_LIBRARY_H
