//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Converts elements of memory to numbers, and computes errors and tolerance
/// checks. Comparisons on host and device share this code, as they must agree
/// bit by bit. Freestanding: no C library, no LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_COMPAREELEMENT_H
#define LLVM_MNEME_RUNTIME_COMPAREELEMENT_H

#include "llvm/Mneme/Runtime/RecordFormat.h"
#include <stdint.h>

namespace llvm {
namespace mneme {

/// An element of memory as a number.
struct CompareElement {
  double Value = 0;
  /// Rank among all values of the type: neighbours differ by one. Both zeros
  /// have the same rank.
  uint64_t Order = 0;
  bool IsNaN = false;
  bool IsFloat = false;
};

/// The absolute and relative error of an element, and its error in ULPs.
struct ElementError {
  double Abs = 0, Rel = 0, Ulp = 0;
};

/// Order of the signed integer 0 and of both floating-point zeros.
constexpr uint64_t CompareOrderOfZero = uint64_t(1) << 63;

inline bool isFloatDType(uint32_t DType) {
  return DType >= MNEME_DTYPE_F32 && DType <= MNEME_DTYPE_BF16;
}

inline bool isSignedDType(uint32_t DType) {
  return DType >= MNEME_DTYPE_I8 && DType <= MNEME_DTYPE_I64;
}

/// Returns the log2 of an element's size in bytes.
inline unsigned getDTypeSizeLog2(uint32_t DType) {
  switch (DType) {
  case MNEME_DTYPE_F64:
  case MNEME_DTYPE_I64:
  case MNEME_DTYPE_U64:
    return 3;
  case MNEME_DTYPE_F32:
  case MNEME_DTYPE_I32:
  case MNEME_DTYPE_U32:
    return 2;
  case MNEME_DTYPE_F16:
  case MNEME_DTYPE_BF16:
  case MNEME_DTYPE_I16:
  case MNEME_DTYPE_U16:
    return 1;
  default:
    return 0;
  }
}

inline CompareElement makeFloatElement(double Value, uint64_t Bits,
                                       unsigned Width) {
  uint64_t Sign = uint64_t(1) << (Width - 1);
  uint64_t Magnitude = Bits & (Sign - 1);
  CompareElement E;
  E.Value = Value;
  E.Order = Bits & Sign ? CompareOrderOfZero - Magnitude
                        : CompareOrderOfZero + Magnitude;
  E.IsNaN = Value != Value;
  E.IsFloat = true;
  return E;
}

inline CompareElement makeSignedElement(int64_t V) {
  CompareElement E;
  E.Value = static_cast<double>(V);
  E.Order = static_cast<uint64_t>(V) + CompareOrderOfZero;
  return E;
}

inline CompareElement makeUnsignedElement(uint64_t V) {
  CompareElement E;
  E.Value = static_cast<double>(V);
  E.Order = V;
  return E;
}

inline double makeDouble(uint64_t Bits) {
  return __builtin_bit_cast(double, Bits);
}

inline double halfToDouble(uint64_t Bits) {
  uint64_t Sign = (Bits & 0x8000) << 48;
  uint64_t Exponent = (Bits >> 10) & 31;
  uint64_t Mantissa = Bits & 1023;
  if (Exponent == 0) { // Mantissa * 2^-24
    double Value = static_cast<double>(Mantissa) * 0x1p-24;
    return Sign ? -Value : Value;
  }
  Exponent = Exponent == 31 ? 2047 : Exponent - 15 + 1023;
  return makeDouble(Sign | Exponent << 52 | Mantissa << 42);
}

/// Converts the zero-extended \p Bits of an element.
inline CompareElement makeElement(uint64_t Bits, uint32_t DType) {
  switch (DType) {
  case MNEME_DTYPE_F32:
    return makeFloatElement(
        __builtin_bit_cast(float, static_cast<uint32_t>(Bits)), Bits, 32);
  case MNEME_DTYPE_F64:
    return makeFloatElement(makeDouble(Bits), Bits, 64);
  case MNEME_DTYPE_F16:
    return makeFloatElement(halfToDouble(Bits), Bits, 16);
  case MNEME_DTYPE_BF16:
    return makeFloatElement(
        __builtin_bit_cast(float, static_cast<uint32_t>(Bits) << 16), Bits, 16);
  case MNEME_DTYPE_I8:
    return makeSignedElement(static_cast<int8_t>(Bits));
  case MNEME_DTYPE_I16:
    return makeSignedElement(static_cast<int16_t>(Bits));
  case MNEME_DTYPE_I32:
    return makeSignedElement(static_cast<int32_t>(Bits));
  case MNEME_DTYPE_I64:
    return makeSignedElement(static_cast<int64_t>(Bits));
  default:
    return makeUnsignedElement(Bits);
  }
}

/// Returns the error of an element whose bits differ from the expected ones, or
/// which is NaN.
inline ElementError getElementError(const CompareElement &Expected,
                                    const CompareElement &Actual,
                                    bool ForbidNaN) {
  const double Inf = __builtin_inf();
  ElementError E;
  if (Expected.IsNaN || Actual.IsNaN) {
    if (!Expected.IsNaN || !Actual.IsNaN || ForbidNaN)
      E.Abs = E.Rel = E.Ulp = Inf;
    return E;
  }
  if (Expected.Order == Actual.Order)
    return E; // Also equal infinities, whose difference is NaN.
  E.Ulp = static_cast<double>(Actual.Order > Expected.Order
                                  ? Actual.Order - Expected.Order
                                  : Expected.Order - Actual.Order);
  E.Abs =
      Expected.IsFloat ? __builtin_fabs(Actual.Value - Expected.Value) : E.Ulp;
  double Scale = __builtin_fabs(Expected.Value);
  E.Rel = E.Abs == Inf || !(Scale > 0) ? Inf : E.Abs / Scale;
  return E;
}

/// Checks elements whose bits differ. \p Tolerance is MNEME_TOLERANCE_*.
inline bool isWithinTolerance(const ElementError &E, uint32_t Tolerance,
                              double Value) {
  switch (Tolerance) {
  case MNEME_TOLERANCE_ABS:
    return E.Abs <= Value;
  case MNEME_TOLERANCE_REL:
    return E.Rel <= Value;
  case MNEME_TOLERANCE_ULP:
    return E.Ulp <= Value;
  default:
    return false;
  }
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RUNTIME_COMPAREELEMENT_H
