//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matrix instructions of a warp (HostMatrix.h). Integers are exact. Products
/// of floating-point numbers are exact, and a sum of products and C is computed
/// in double precision and rounded once; f64 is a chain of fused operations in
/// the order of K.
///
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include "Scheduler.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Mneme/Runtime/HostMatrix.h"
#include <math.h>
#include <string.h>

using namespace mneme::host;
using llvm::mneme::halfToDouble;

static constexpr unsigned Lanes = 32;
static constexpr unsigned MaxRows = 32, MaxColumns = 32, MaxDepth = 256;
static constexpr unsigned MaxElements = 128; // Of a lane: b1 16x8x256.

template <typename To, typename From> static To bitsAs(From V) {
  static_assert(sizeof(To) == sizeof(From), "only the type changes");
  To R;
  memcpy(&R, &V, sizeof(R));
  return R;
}

//===----------------------------------------------------------------------===//
// Formats
//===----------------------------------------------------------------------===//

/// e4m3 has no infinity, one NaN, and the exponent of half plus 8.
static double readE4M3(uint32_t Bits) {
  if ((Bits & 0x7f) == 0x7f)
    return NAN;
  return halfToDouble((Bits & 0x80) << 8 | (Bits & 0x7f) << 7) * 256;
}

/// Rounds to the nearest half, ties to even. There is one NaN.
static uint32_t writeHalf(float F) {
  uint32_t Bits = bitsAs<uint32_t>(F), Sign = Bits >> 16 & 0x8000;
  Bits &= 0x7fffffff;
  if (Bits > 0x7f800000)
    return 0x7fff;
  if (Bits >= 0x477ff000) // Rounds to 2^16.
    return Sign | 0x7c00;
  if (Bits < 0x38800000)
    // Subnormal: a sum whose unit in the last place is 2^-24.
    return Sign | (bitsAs<uint32_t>(bitsAs<float>(Bits) + 0.5f) - 0x3f000000);
  return Sign | (Bits + 0xfff + (Bits >> 13 & 1) - 0x38000000) >> 13;
}

/// Reads a floating-point element of a register.
static float readFloat(unsigned Type, uint32_t Bits) {
  switch (Type) {
  case MNEME_MATRIX_f16:
    return static_cast<float>(halfToDouble(Bits));
  case MNEME_MATRIX_bf16:
    return bitsAs<float>(Bits << 16);
  case MNEME_MATRIX_tf32:
    // The lower bits are not part of the number.
    return bitsAs<float>(Bits & 0xffffe000);
  case MNEME_MATRIX_e4m3:
    return static_cast<float>(readE4M3(Bits));
  case MNEME_MATRIX_e5m2:
    // The upper half of a half.
    return static_cast<float>(halfToDouble(Bits << 8));
  default:
    return bitsAs<float>(Bits);
  }
}

static int32_t readInteger(unsigned Type, uint32_t Bits) {
  switch (Type) {
  case MNEME_MATRIX_s8:
    return static_cast<int8_t>(Bits);
  case MNEME_MATRIX_s4:
    return static_cast<int8_t>(Bits << 4) >> 4;
  default:
    return static_cast<int32_t>(Bits);
  }
}

//===----------------------------------------------------------------------===//
// Matrices
//===----------------------------------------------------------------------===//

namespace {
/// The operands of one warp.
class Matrices {
  const MnemeMatrixOp Op; ///< A copy, as results overwrite frames.
  MnemeMatrixFrame *Frames[Lanes];
  unsigned FirstWord[4]; ///< Of A, B, C and D.

public:
  explicit Matrices(MnemeHostThread *Warp)
      : Op(*reinterpret_cast<MnemeMatrixOp *>(Warp[0].Value)) {
    for (unsigned Lane = 0; Lane != Lanes; ++Lane)
      Frames[Lane] = reinterpret_cast<MnemeMatrixFrame *>(Warp[Lane].Value);
    FirstWord[0] = FirstWord[3] = 0;
    FirstWord[1] = mneme_matrix_words(&Op, 'a');
    FirstWord[2] = FirstWord[1] + mneme_matrix_words(&Op, 'b');
  }

  void multiply();

private:
  /// Calls \p Fn(lane, element, place) for all elements of \p Operand in the
  /// lanes of \p Group, which is 0 unless there are several.
  template <typename FnT>
  void forEach(char Operand, unsigned Group, FnT Fn) const {
    const bool HasGroups = mneme_matrix_has_groups(&Op);
    const unsigned Count = mneme_matrix_elements(&Op, Operand);
    // All layouts are sums of a place of the lane and a place of the element.
    MnemeMatrixPlace Elements[MaxElements];
    for (unsigned I = 0; I != Count; ++I)
      Elements[I] = mneme_matrix_place(&Op, Operand, 0, I);
    for (unsigned Lane = 0; Lane != Lanes; ++Lane) {
      if (HasGroups && (Lane >> 2 & 3) != Group)
        continue;
      MnemeMatrixPlace Base = mneme_matrix_place(&Op, Operand, Lane, 0);
      for (unsigned I = 0; I != Count; ++I)
        Fn(Lane, I,
           MnemeMatrixPlace{Base.Row + Elements[I].Row,
                            Base.Column + Elements[I].Column});
    }
  }
  uint32_t *words(char Operand, unsigned Lane) const {
    return Frames[Lane]->Words + FirstWord[Operand - 'a'];
  }
  /// \returns the bits of an element of at most 32 bits.
  uint32_t read(char Operand, unsigned Lane, unsigned I) const {
    unsigned Bits = mneme_matrix_bits(mneme_matrix_type(&Op, Operand));
    uint32_t Word = words(Operand, Lane)[I * Bits / 32];
    return Bits == 32 ? Word : Word >> I * Bits % 32 & ((1u << Bits) - 1);
  }
  void multiplyFloats(unsigned Group);
  void multiplyDoubles();
  void multiplyIntegers();
  void multiplyBits();
};
} // namespace

void Matrices::multiplyFloats(unsigned Group) {
  alignas(64) double A[MaxRows][16 * 2], B[16 * 2][MaxColumns],
      C[MaxRows][MaxColumns];
  forEach('a', Group, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    A[P.Row][P.Column] = readFloat(Op.A, read('a', Lane, I));
  });
  forEach('b', Group, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    B[P.Row][P.Column] = readFloat(Op.B, read('b', Lane, I));
  });
  forEach('c', Group, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    C[P.Row][P.Column] = readFloat(Op.C, read('c', Lane, I));
  });
  for (unsigned M = 0; M != Op.M; ++M)
    for (unsigned K = 0; K != Op.K; ++K)
      for (unsigned N = 0; N != Op.N; ++N)
        C[M][N] += A[M][K] * B[K][N];
  forEach('d', Group, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    float R = static_cast<float>(C[P.Row][P.Column]);
    uint32_t *To = words('d', Lane);
    if (Op.D == MNEME_MATRIX_f32) {
      To[I] = R != R ? 0x7fffffff : bitsAs<uint32_t>(R);
      return;
    }
    uint32_t Half = writeHalf(R);
    To[I / 2] = I % 2 ? (To[I / 2] & 0xffff) | Half << 16 : Half;
  });
}

void Matrices::multiplyDoubles() {
  alignas(64) double A[16][16], B[16][16], C[16][16];
  auto Read = [&](char Operand, double (*To)[16]) {
    forEach(Operand, 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
      memcpy(&To[P.Row][P.Column], words(Operand, Lane) + 2 * I, 8);
    });
  };
  Read('a', A);
  Read('b', B);
  Read('c', C);
  forEach('d', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    double Sum = C[P.Row][P.Column];
    for (unsigned K = 0; K != Op.K; ++K)
      Sum = fma(A[P.Row][K], B[K][P.Column], Sum);
    memcpy(words('d', Lane) + 2 * I, &Sum, 8);
  });
}

void Matrices::multiplyIntegers() {
  // The depth of 8-bit and 4-bit elements is at most 64.
  alignas(64) int32_t A[MaxRows][64], B[MaxColumns][64];
  int64_t C[MaxRows][MaxColumns];
  forEach('a', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    A[P.Row][P.Column] = readInteger(Op.A, read('a', Lane, I));
  });
  forEach('b', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    B[P.Column][P.Row] = readInteger(Op.B, read('b', Lane, I));
  });
  forEach('c', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    C[P.Row][P.Column] = static_cast<int32_t>(read('c', Lane, I));
  });
  forEach('d', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    int32_t Sum = 0;
    for (unsigned K = 0; K != Op.K; ++K)
      Sum += A[P.Row][K] * B[P.Column][K];
    int64_t R = C[P.Row][P.Column] + Sum;
    if (Op.Flags & MNEME_MATRIX_SATURATE)
      R = R < INT32_MIN ? INT32_MIN : R > INT32_MAX ? INT32_MAX : R;
    words('d', Lane)[I] = static_cast<uint32_t>(R);
  });
}

void Matrices::multiplyBits() {
  uint32_t A[16][MaxDepth / 32], B[8][MaxDepth / 32], C[16][8];
  auto Read = [&](char Operand, auto Store) {
    forEach(Operand, 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
      if (I % 32 == 0)
        Store(P, words(Operand, Lane)[I / 32]);
    });
  };
  Read('a', [&](MnemeMatrixPlace P, uint32_t Word) {
    A[P.Row][P.Column / 32] = Word;
  });
  Read('b', [&](MnemeMatrixPlace P, uint32_t Word) {
    B[P.Column][P.Row / 32] = Word;
  });
  forEach('c', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    C[P.Row][P.Column] = read('c', Lane, I);
  });
  forEach('d', 0, [&](unsigned Lane, unsigned I, MnemeMatrixPlace P) {
    uint32_t Sum = C[P.Row][P.Column];
    for (unsigned K = 0; K != Op.K / 32u; ++K) {
      uint32_t X = A[P.Row][K], Y = B[P.Column][K];
      Sum += __builtin_popcount(Op.Flags & MNEME_MATRIX_AND ? X & Y : X ^ Y);
    }
    words('d', Lane)[I] = Sum;
  });
}

void Matrices::multiply() {
  switch (Op.A) {
  case MNEME_MATRIX_f64:
    return multiplyDoubles();
  case MNEME_MATRIX_b1:
    return multiplyBits();
  case MNEME_MATRIX_s8:
  case MNEME_MATRIX_u8:
  case MNEME_MATRIX_s4:
  case MNEME_MATRIX_u4:
    return multiplyIntegers();
  default:
    break;
  }
  const unsigned Groups = mneme_matrix_has_groups(&Op) ? 4 : 1;
  for (unsigned Group = 0; Group != Groups; ++Group)
    multiplyFloats(Group);
}

//===----------------------------------------------------------------------===//
// Rows and registers
//===----------------------------------------------------------------------===//

/// Moves 8x8 matrices of 16-bit elements between the rows that ldmatrix and
/// stmatrix access (lane 8 * I + R: row R of matrix I) and registers. PTX ISA
/// 9.0, 9.7.14.5.15 "ldmatrix": register I of a lane has two neighbors of row
/// lane / 4, with .trans of column lane / 4.
static void moveRows(MnemeHostThread *Warp) {
  MnemeMatrixFrame *Frames[Lanes];
  uint16_t Rows[4][8][8];
  for (unsigned Lane = 0; Lane != Lanes; ++Lane)
    Frames[Lane] = reinterpret_cast<MnemeMatrixFrame *>(Warp[Lane].Value);
  const MnemeMatrixOp Op = Frames[0]->Op;
  const bool Gather = Op.Kind == MNEME_MATRIX_GATHER;
  auto MoveRows = [&](bool ToRows) {
    for (unsigned Lane = 0; Lane != 8 * Op.Count; ++Lane) {
      void *Row = Rows[Lane / 8][Lane % 8], *Words = Frames[Lane]->Words;
      memcpy(ToRows ? Row : Words, ToRows ? Words : Row, 16);
    }
  };
  if (Gather)
    MoveRows(true);
  for (unsigned Lane = 0; Lane != Lanes; ++Lane)
    for (unsigned I = 0; I != Op.Count; ++I)
      for (unsigned Half = 0; Half != 2; ++Half) {
        unsigned Major = Lane / 4, Minor = Lane % 4 * 2 + Half;
        uint16_t &Element = Op.Flags & MNEME_MATRIX_TRANSPOSE
                                ? Rows[I][Minor][Major]
                                : Rows[I][Major][Minor];
        char *Register =
            reinterpret_cast<char *>(Frames[Lane]->Words + I) + 2 * Half;
        memcpy(Gather ? Register : reinterpret_cast<char *>(&Element),
               Gather ? reinterpret_cast<char *>(&Element) : Register, 2);
      }
  if (!Gather)
    MoveRows(false);
}

void mneme::host::executeMatrixOp(MnemeHostThread *Warp, uint64_t Group) {
  Worker &W = *TheWorker;
  const char *Problem = Group != 0xffffffff ? "by a part of a warp" : nullptr;
  for (unsigned Lane = 1; Lane != Lanes && !Problem; ++Lane)
    if (memcmp(reinterpret_cast<void *>(Warp[0].Value),
               reinterpret_cast<void *>(Warp[Lane].Value),
               sizeof(MnemeMatrixOp)) != 0)
      Problem = "that differs between the lanes of a warp";
  if (Problem)
    leaveKernel(W, MNEME_HOST_ILLEGAL_INSTRUCTION,
                "kernel '%s' executed a matrix instruction %s",
                W.Launch->Kernel->Name, Problem);
  const auto *Op = reinterpret_cast<const MnemeMatrixOp *>(Warp[0].Value);
  if (Op->Kind >= MNEME_MATRIX_GATHER)
    moveRows(Warp);
  else
    Matrices(Warp).multiply();
}
