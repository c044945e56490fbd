//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The formats of elements and the layouts of fragments of mma.sync, as the PTX ISA
/// describes them.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_TEST_MATRIX_H
#define MNEME_TEST_MATRIX_H

#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

/// \returns a pseudorandom number below \p Count.
static unsigned draw(unsigned Count) {
  static uint64_t State = 88172645463325252ull;
  State ^= State << 13, State ^= State >> 7, State ^= State << 17;
  return (unsigned)(State >> 33) % Count;
}

/// An element type by its name in PTX.
struct Format {
  std::string Name;
  int Bits;
  int Exponent = 0, Fraction = 0; ///< Of a number that is not f32 or f64.

  explicit Format(const char *N) : Name(N) {
    bool IsBrain = Name == "bf16";
    Bits = Name[0] == 'e' ? 8 : atoi(N + (IsBrain ? 2 : Name == "tf32" ? 2 : 1));
    if (Name == "f16")
      Exponent = 5, Fraction = 10;
    else if (IsBrain)
      Exponent = 8, Fraction = 7;
    else if (Name[0] == 'e')
      Exponent = Name[1] - '0', Fraction = Name[3] - '0';
  }

  bool isInteger() const { return Name[0] == 's' || Name[0] == 'u' || Name[0] == 'b'; }

  /// \returns a small integer that every format of its kind can hold.
  double draw() const {
    if (Name == "s32")
      return (int)::draw(2000001) - 1000000;
    if (Bits == 1 || Name[0] == 'u')
      return ::draw(1u << Bits);
    if (Name[0] == 's')
      return (int)::draw(1u << Bits) - (1 << (Bits - 1));
    return (int)::draw(9) - 4;
  }

  uint32_t encode(double V) const {
    if (isInteger() && Name != "bf16")
      return (uint32_t)(int64_t)V & (Bits == 32 ? ~0u : (1u << Bits) - 1);
    float F = (float)V;
    if (Bits == 32) {
      uint32_t R;
      memcpy(&R, &F, 4);
      return R;
    }
    if (V == 0)
      return 0;
    int E;
    double M = std::frexp(std::fabs(V), &E); // In [0.5, 1).
    int Bias = (1 << (Exponent - 1)) - 1;
    return (V < 0 ? 1u << (Bits - 1) : 0) | (uint32_t)(E - 1 + Bias) << Fraction |
           (uint32_t)std::ldexp(2 * M - 1, Fraction);
  }

  double decode(uint32_t R) const {
    if (Name == "s32")
      return (int32_t)R;
    if (Bits == 32) {
      float F;
      memcpy(&F, &R, 4);
      return F;
    }
    int E = R >> Fraction & ((1 << Exponent) - 1);
    double M = R & ((1 << Fraction) - 1), Bias = (1 << (Exponent - 1)) - 1;
    double V = std::ldexp(E ? M + (1 << Fraction) : M, (E ? E : 1) - Bias - Fraction);
    return R >> (Bits - 1) ? -V : V;
  }
};

/// The elements of an operand 'a', 'b', 'c' or 'd' in the registers of a warp.
struct Fragment {
  Format F;
  int Rows, Columns;
  char Operand;
  int Flags;  ///< mma.m8n8k4 of f16: 1 if A is column-major, 2 if B is row-major.
  int Groups; ///< Pairs of matrices.
  int Elements;

  Fragment(Format F, int Rows, int Columns, char Operand, int Flags, int K)
      : F(F), Rows(Rows), Columns(Columns), Operand(Operand), Flags(Flags) {
    bool IsVolta = K == 4 && F.Name != "tf32" && F.Bits <= 32 && (Rows == 8 || Columns == 8) &&
                   (Rows <= 8 && Columns <= 8);
    Groups = IsVolta ? 4 : 1;
    Elements = Groups * Rows * Columns / 32;
  }

  /// \returns the index of element \p I of thread \p T among all elements.
  int at(int T, int I) const {
    int G = T >> 2, Q = T & 3; // groupID, threadID_in_group
    int Row, Column;
    if (Groups == 4) {
      // MMA computation 1 has threads 0-3 and 16-19, 2 has 4-7 and 20-23, ...
      int High = T < 16 ? 0 : 4;
      if (Operand == 'a')
        Row = (Flags & 1 ? I : Q) + High, Column = Flags & 1 ? Q : I;
      else if (Operand == 'b')
        Row = Flags & 2 ? Q : I, Column = (Flags & 2 ? I : Q) + High;
      else if (F.Bits == 16)
        Row = Q + High, Column = I;
      else
        Row = (T & 1) + (I & 2) + High, Column = (I & 4) + (T & 2) + (I & 1);
      return ((G & 3) * Rows + Row) * Columns + Column;
    }
    int E = F.Bits < 32 ? 32 / F.Bits : 1; // Elements of a register.
    if (Operand == 'b') {
      Row = Q * E + I % E + I / E * 4 * E, Column = G;
    } else if (Operand == 'a') {
      bool IsTall = Rows == 16;
      Row = G + (IsTall && I / E % 2 ? 8 : 0);
      Column = Q * E + I % E + I / (IsTall ? 2 * E : E) * 4 * E;
    } else {
      Row = G + (I >= 2 ? 8 : 0), Column = Q * 2 + I % 2;
    }
    return Row * Columns + Column;
  }

  /// Appends registers, each for all threads.
  void pack(const std::vector<double> &Values, std::vector<uint32_t> &Words) const {
    size_t First = Words.size();
    Words.resize(First + Elements * F.Bits);
    for (int T = 0; T < 32; ++T)
      for (int I = 0; I < Elements; ++I)
        Words[First + I * F.Bits / 32 * 32 + T] |= F.encode(Values[at(T, I)]) << I * F.Bits % 32;
  }

  std::vector<double> unpack(const uint32_t *Words) const {
    std::vector<double> Values(Groups * Rows * Columns);
    for (int T = 0; T < 32; ++T)
      for (int I = 0; I < Elements; ++I) {
        uint32_t Word = Words[I * F.Bits / 32 * 32 + T] >> I * F.Bits % 32;
        Values[at(T, I)] = F.decode(F.Bits < 32 ? Word & ((1u << F.Bits) - 1) : Word);
      }
    return Values;
  }
};

#endif // MNEME_TEST_MATRIX_H
