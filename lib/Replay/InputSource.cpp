//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InputSource.h"
#include "ElementTypes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace llvm::mneme;

/// Returns null for integers.
static const fltSemantics *getSemantics(uint32_t DType) {
  switch (DType) {
  case MNEME_DTYPE_F64:
    return &APFloat::IEEEdouble();
  case MNEME_DTYPE_F32:
    return &APFloat::IEEEsingle();
  case MNEME_DTYPE_F16:
    return &APFloat::IEEEhalf();
  case MNEME_DTYPE_BF16:
    return &APFloat::BFloat();
  default:
    return nullptr;
  }
}

bool mneme::isFloatType(uint32_t DType) { return getSemantics(DType); }

uint64_t mneme::getElementBits(const char *Bytes, size_t Size) {
  uint64_t Bits = 0;
  std::memcpy(&Bits, Bytes, Size);
  return Bits;
}

APFloat mneme::getFloatElement(const char *Bytes, uint32_t DType) {
  unsigned Size = getDTypeSize(DType);
  return APFloat(*getSemantics(DType),
                 APInt(8 * Size, getElementBits(Bytes, Size)));
}

void mneme::putFloatElement(char *Bytes, uint32_t DType, double Value) {
  APFloat F(Value);
  bool LosesInfo;
  F.convert(*getSemantics(DType), APFloat::rmNearestTiesToEven, &LosesInfo);
  uint64_t Bits = F.bitcastToAPInt().getZExtValue();
  std::memcpy(Bytes, &Bits, getDTypeSize(DType));
}

uint64_t mneme::countNonFinite(ArrayRef<char> Contents, uint32_t DType) {
  if (!getSemantics(DType))
    return 0;
  uint64_t Count = 0;
  size_t Size = getDTypeSize(DType);
  for (size_t I = 0; I + Size <= Contents.size(); I += Size)
    Count += !getFloatElement(&Contents[I], DType).isFinite();
  return Count;
}

/// Shuffles the elements.
void InputSource::permute(MutableArrayRef<char> Contents, size_t Size) {
  for (size_t I = Contents.size() / Size; I > 1; --I) {
    size_t J = Random() % I;
    std::swap_ranges(Contents.begin() + (I - 1) * Size,
                     Contents.begin() + I * Size, Contents.begin() + J * Size);
  }
}

/// The sign changes in the first attempt only.
double InputSource::drawFloat(double Old, DrawnValues Values,
                              unsigned Attempt) {
  if (!std::isfinite(Old))
    return Old;
  double New = Old == 0 ? draw(0.25, 1) : Old * draw(0.5, 2);
  if (Values != DrawnValues::Near) {
    New = std::ldexp(New, int(draw(-1, 1) * (Attempt == 0 ? 24 : 6)));
    if (Random() % 16 == 0)
      New = 0;
  }
  if (Values == DrawnValues::NonFinite && Random() % 64 == 0) {
    double Special[] = {std::numeric_limits<double>::quiet_NaN(),
                        std::numeric_limits<double>::infinity(),
                        -std::numeric_limits<double>::infinity()};
    return Special[Random() % 3];
  }
  return Attempt == 0 && Random() % 4 == 0 ? -New : New;
}

/// Sizes, indices and counts become smaller, half of them by a quarter at most,
/// and some as small as can be; others the next one.
int64_t InputSource::drawInteger(int64_t Old, unsigned Attempt,
                                 ArrayRef<uint64_t> Units) {
  if (Old < 0)
    return Old + 1;
  if (Old < 2)
    return Attempt == 1 ? Old + 1 : 1 - Old;
  if (Attempt == 1)
    return Old - 1;
  SmallVector<uint64_t, 4> Fitting;
  copy_if(Units, std::back_inserter(Fitting),
          [&](uint64_t U) { return U <= uint64_t(Old) / 2; });
  if (Attempt == 0 && !Fitting.empty()) {
    uint64_t Unit = Fitting[Random() % Fitting.size()];
    Unit <<= Random() % Log2_64(Old / Unit);
    return Unit * (1 + Random() % ((Old - 1) / Unit));
  }
  if (Attempt == 0 && Random() % 2)
    return Old - 1 - Random() % (uint64_t(Old + 3) / 4);
  return Attempt == 0 && Random() % 4 == 0 ? 1 : 1 + Random() % (Old - 1);
}

bool mneme::isUniform(ArrayRef<char> Contents, size_t Size) {
  for (size_t At = Size; At + Size <= Contents.size(); At += Size)
    if (std::memcmp(&Contents[0], &Contents[At], Size))
      return false;
  return true;
}

bool mneme::holdsPlaces(const RecordedState &State, ArrayRef<char> Contents) {
  for (size_t At = 0; At + 8 <= Contents.size(); At += 8) {
    uint64_t Word = support::endian::read64le(&Contents[At]);
    if (Word && (State.findRegionOf(Word) || State.findRegionOf(Word - 1)))
      return true;
  }
  return false;
}

void InputSource::drawFloats(MutableArrayRef<char> Contents, uint32_t DType,
                             DrawnValues Values, unsigned Attempt) {
  size_t Size = getDTypeSize(DType);
  bool IsConstant = isUniform(Contents, Size);
  for (size_t At = 0; At + Size <= Contents.size(); At += Size) {
    if (!IsConstant && Random() % 2)
      continue;
    if (Values == DrawnValues::NonFinite && Random() % 16 == 0) {
      putAnyFinite(&Contents[At], DType);
      continue;
    }
    double Old = getFloatElement(&Contents[At], DType).convertToDouble();
    putDrawn(&Contents[At], DType, drawFloat(Old, Values, Attempt));
  }
}

/// Most such buffers count or mark something.
void InputSource::drawEqual(MutableArrayRef<char> Contents, size_t Size,
                            bool IsFree, unsigned Attempt) {
  uint64_t Old = getElementBits(Contents.data(), Size);
  for (size_t At = 0; At + Size <= Contents.size(); At += Size) {
    if (Attempt != 0 && Random() % 2)
      continue;
    uint64_t New = Old == 0 ? Random() % 3
                   : IsFree ? Random() % (2 * Old + 1)
                            : 1 + Random() % Old;
    std::memcpy(&Contents[At], &New, Size);
  }
}

void InputSource::putDrawn(char *Bytes, uint32_t DType, double Value) const {
  bool IsDouble = DType == MNEME_DTYPE_F64;
  if (std::isnan(Value) && (IsHost || (IsCuda && IsDouble)))
    Value = -std::numeric_limits<double>::quiet_NaN();
  putFloatElement(Bytes, DType, Value);
  if (std::isnan(Value) && IsCuda && !IsDouble) {
    size_t Size = getDTypeSize(DType);
    uint64_t AllOnes = maskTrailingOnes<uint64_t>(8 * Size - 1);
    std::memcpy(Bytes, &AllOnes, Size);
  }
}

/// Of any magnitude, and a quarter of them subnormal.
void InputSource::putAnyFinite(char *Bytes, uint32_t DType) {
  size_t Size = getDTypeSize(DType);
  unsigned Mantissa = APFloat::semanticsPrecision(*getSemantics(DType)) - 1;
  uint64_t Sign = uint64_t(1) << (8 * Size - 1);
  bool IsSubnormal = Random() % 4 == 0;
  do {
    uint64_t Bits = Random();
    if (IsSubnormal)
      Bits &= Sign | maskTrailingOnes<uint64_t>(Mantissa);
    std::memcpy(Bytes, &Bits, Size);
  } while (!getFloatElement(Bytes, DType).isFinite());
}

void InputSource::drawInRange(MutableArrayRef<char> Contents, size_t Size,
                              unsigned Attempt) {
  auto Get = [&](size_t At) {
    return SignExtend64(getElementBits(&Contents[At], Size), 8 * Size);
  };
  int64_t Low = Get(0), High = Low;
  for (size_t At = 0; At + Size <= Contents.size(); At += Size) {
    Low = std::min(Low, Get(At));
    High = std::max(High, Get(At));
  }
  uint64_t Range = uint64_t(High) - uint64_t(Low);
  for (size_t At = 0; At + Size <= Contents.size(); At += Size) {
    if (Random() % (Attempt == 0 ? 2 : 16))
      continue;
    uint64_t Step = Range == UINT64_MAX ? Random() : Random() % (Range + 1);
    uint64_t New = uint64_t(Low) + Step;
    std::memcpy(&Contents[At], &New, Size);
  }
}

void InputSource::drawWithin(MutableArrayRef<char> Contents, size_t Size,
                             const ConstantRange &Range) {
  if (Range.isFullSet() || Range.isEmptySet() ||
      Range.getBitWidth() != 8 * Size)
    return;
  uint64_t Low = Range.getLower().getZExtValue();
  uint64_t Count = (Range.getUpper() - Range.getLower()).getZExtValue();
  for (size_t At = 0; At + Size <= Contents.size(); At += Size) {
    if (Range.contains(APInt(8 * Size, getElementBits(&Contents[At], Size))))
      continue;
    uint64_t New = Low + Random() % Count;
    std::memcpy(&Contents[At], &New, Size);
  }
}

void InputSource::drawAny(MutableArrayRef<char> Contents, size_t Size) {
  for (size_t At = 0; At + Size <= Contents.size(); At += Size) {
    if (Random() % 2 && Contents.size() != Size)
      continue;
    // Of any magnitude, some negative.
    uint64_t New = Random() >> (64 - 8 * Size) >> Random() % (8 * Size);
    if (Random() % 4 == 0)
      New = -New;
    std::memcpy(&Contents[At], &New, Size);
  }
}
