//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Elements of buffers, and a source of other ones.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_INPUTSOURCE_H
#define LLVM_MNEME_LIB_REPLAY_INPUTSOURCE_H

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/Mneme/Replay/Perturb.h"
#include <random>

namespace llvm {
namespace mneme {

/// \p DType is one of MNEME_DTYPE_*.
bool isFloatType(uint32_t DType);
/// Returns an integer of \p Size bytes, at most 8, zero-extended.
uint64_t getElementBits(const char *Bytes, size_t Size);
APFloat getFloatElement(const char *Bytes, uint32_t DType);
void putFloatElement(char *Bytes, uint32_t DType, double Value);
/// Returns 0 for integers.
uint64_t countNonFinite(ArrayRef<char> Contents, uint32_t DType);
/// Returns true if all elements of \p Size bytes are equal.
bool isUniform(ArrayRef<char> Contents, size_t Size);

/// Returns true if a buffer may contain addresses of recorded memory, among
/// them the ends of buffers and the handles of textures.
bool holdsPlaces(const RecordedState &State, ArrayRef<char> Contents);

/// Draws inputs.
class InputSource {
public:
  /// \param Device  its own NaNs are drawn, so that results have the same bits
  /// whether code copies or computes them.
  InputSource(uint64_t Seed, StringRef Device)
      : Random(Seed), IsHost(Device == "host"),
        IsCuda(Device.starts_with("cuda")) {}

  void permute(MutableArrayRef<char> Contents, size_t Size);
  /// Changes floating-point elements.
  void drawFloats(MutableArrayRef<char> Contents, uint32_t DType,
                  DrawnValues Values, unsigned Attempt);
  /// Changes integers that are all equal.
  /// \param IsFree  they may become larger.
  void drawEqual(MutableArrayRef<char> Contents, size_t Size, bool IsFree,
                 unsigned Attempt);
  /// Changes integers to others from the range of the buffer.
  void drawInRange(MutableArrayRef<char> Contents, size_t Size,
                   unsigned Attempt);
  /// Changes integers to any others.
  void drawAny(MutableArrayRef<char> Contents, size_t Size);
  /// Replaces integers outside of \p Range by others.
  void drawWithin(MutableArrayRef<char> Contents, size_t Size,
                  const ConstantRange &Range);
  double drawFloat(double Old, DrawnValues Values, unsigned Attempt);
  /// \param Units  round numbers; empty for any.
  int64_t drawInteger(int64_t Old, unsigned Attempt, ArrayRef<uint64_t> Units);
  uint64_t next() { return Random(); }

private:
  std::mt19937_64 Random;
  bool IsHost, IsCuda;

  void putDrawn(char *Bytes, uint32_t DType, double Value) const;
  void putAnyFinite(char *Bytes, uint32_t DType);
  double draw(double Low, double High) {
    return Low + (High - Low) * (Random() >> 11) / double(1ull << 53);
  }
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_INPUTSOURCE_H
