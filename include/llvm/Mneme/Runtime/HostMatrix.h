//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Matrix instructions of a warp (mma, wmma, ldmatrix, stmatrix) on the host
/// device. Each lane stores its registers in a frame in its local memory and
/// passes its address to a sync point with MNEME_OP_MATRIX; the executor reads
/// the frames of the whole warp and writes the results into them. Used by the
/// lowering, the intrinsic library and the executor. C only.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_HOSTMATRIX_H
#define LLVM_MNEME_RUNTIME_HOSTMATRIX_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum MnemeMatrixType {
#define MATRIX_TYPE(NAME, BITS) MNEME_MATRIX_##NAME,
#include "llvm/Mneme/Runtime/HostMatrix.def"
};

enum MnemeMatrixKind {
  MNEME_MATRIX_mma,     ///< D = A * B + C; D replaces the registers of A, ...
  MNEME_MATRIX_wmma,    ///< The same, with fragments that wmma.load made.
  MNEME_MATRIX_GATHER,  ///< ldmatrix: each lane has a row, and gets registers.
  MNEME_MATRIX_SCATTER, ///< stmatrix: each lane has registers, and gets a row.
};

enum MnemeMatrixFlags {
  MNEME_MATRIX_COLUMN_A = 1, ///< Column-major; only mma.m8n8k4 of f16 differs.
  MNEME_MATRIX_ROW_B = 2,    ///< Row-major; likewise.
  MNEME_MATRIX_SATURATE = 4, ///< .satfinite
  MNEME_MATRIX_AND = 8,      ///< b1: and instead of xor.
  MNEME_MATRIX_TRANSPOSE = 16,
};

/// An instruction: the beginning of a frame. All lanes must have the same one.
typedef struct MnemeMatrixOp {
  uint16_t M, N, K;
  uint8_t A, B, C, D; ///< MnemeMatrixType.
  uint8_t Kind;       ///< MnemeMatrixKind.
  uint8_t Flags;      ///< MnemeMatrixFlags.
  uint32_t Count;     ///< ldmatrix and stmatrix: matrices.
} MnemeMatrixOp;

/// The largest number of 32-bit registers of one instruction: f64 16x8x16.
#define MNEME_MATRIX_WORDS 32
typedef struct MnemeMatrixFrame {
  MnemeMatrixOp Op;
  /// Before the sync point A, B and C; after it D. ldmatrix and stmatrix:
  /// registers or a row.
  uint32_t Words[MNEME_MATRIX_WORDS];
} MnemeMatrixFrame;

static inline unsigned mneme_matrix_bits(unsigned Type) {
  static const uint8_t Bits[] = {
#define MATRIX_TYPE(NAME, BITS) BITS,
#include "llvm/Mneme/Runtime/HostMatrix.def"
  };
  return Bits[Type];
}

/// Returns nonzero for the instruction of Volta that multiplies four pairs of
/// matrices, each in the registers of eight lanes.
static inline int mneme_matrix_has_groups(const MnemeMatrixOp *Op) {
  return Op->A == MNEME_MATRIX_f16 && Op->M == 8 && Op->N == 8 && Op->K == 4;
}

/// Returns the type of operand 'a', 'b', 'c' or 'd'.
static inline unsigned mneme_matrix_type(const MnemeMatrixOp *Op,
                                         char Operand) {
  return Operand == 'a'   ? Op->A
         : Operand == 'b' ? Op->B
         : Operand == 'c' ? Op->C
                          : Op->D;
}

/// Returns the number of elements of an operand that each lane has.
static inline unsigned mneme_matrix_elements(const MnemeMatrixOp *Op,
                                             char Operand) {
  unsigned Elements = Operand == 'a'   ? Op->M * Op->K
                      : Operand == 'b' ? Op->K * Op->N
                                       : Op->M * Op->N;
  return Elements / (mneme_matrix_has_groups(Op) ? 8 : 32);
}

/// Returns the number of 32-bit registers of an operand in each lane. Fragments
/// of A and B of wmma with f16 always have eight: the elements are repeated.
static inline unsigned mneme_matrix_words(const MnemeMatrixOp *Op,
                                          char Operand) {
  unsigned Type = mneme_matrix_type(Op, Operand);
  if (Op->Kind == MNEME_MATRIX_wmma && Operand <= 'b' &&
      Type == MNEME_MATRIX_f16)
    return 8;
  return mneme_matrix_elements(Op, Operand) * mneme_matrix_bits(Type) / 32;
}

typedef struct MnemeMatrixPlace {
  unsigned Row, Column;
} MnemeMatrixPlace;

/// Returns where in its matrix element \p I of a lane's fragment is. PTX ISA
/// 9.0, 9.7.14.5 "Matrix multiply-accumulate operation using mma instruction",
/// the figures of its fragments, all of which but Volta's have one form: a
/// register has neighbors along K (A, B) or N (C, D), four lanes hold
/// neighboring registers of a row of A or a column of B, eight such groups hold
/// eight rows or columns, and further registers hold further rows (A, C), then
/// further columns. PTX does not define fragments of wmma, which have the same
/// form here.
static inline MnemeMatrixPlace mneme_matrix_place(const MnemeMatrixOp *Op,
                                                  char Operand, unsigned Lane,
                                                  unsigned I) {
  MnemeMatrixPlace P;
  unsigned Group = Lane >> 2, Thread = Lane & 3;
  unsigned Bits = mneme_matrix_bits(mneme_matrix_type(Op, Operand));
  unsigned Each = Bits < 32 ? 32 / Bits : 1; // Elements of a register.
  if (mneme_matrix_has_groups(Op) && Op->Kind == MNEME_MATRIX_mma) {
    // "Matrix Fragments for mma.m8n8k4 with .f16 floating point type".
    unsigned High = Lane >= 16 ? 4 : 0;
    int Column = Op->Flags & MNEME_MATRIX_COLUMN_A;
    int Row = Op->Flags & MNEME_MATRIX_ROW_B;
    if (Operand == 'a') {
      P.Row = (Column ? I : Thread) + High;
      P.Column = Column ? Thread : I;
    } else if (Operand == 'b') {
      P.Row = Row ? Thread : I;
      P.Column = (Row ? I : Thread) + High;
    } else if (Bits == 16) {
      P.Row = Thread + High;
      P.Column = I;
    } else {
      P.Row = (Lane & 1) + (I & 2) + High;
      P.Column = (I & 4) + (Lane & 2) + (I & 1);
    }
    return P;
  }
  if (Operand == 'a') {
    unsigned Tiles = Op->K / (4 * Each); // Along K.
    unsigned Register = I / Each, Lower = 0;
    if (Op->M > 8) {
      Lower = Register & 1;
      Register >>= 1;
    }
    P.Row = Group + 8 * Lower + 16 * (Register / Tiles);
    P.Column = Thread * Each + I % Each + Register % Tiles * 4 * Each;
  } else if (Operand == 'b') {
    unsigned Tiles = Op->K / (4 * Each), Register = I / Each;
    P.Row = Thread * Each + I % Each + Register % Tiles * 4 * Each;
    P.Column = Group + 8 * (Register / Tiles);
  } else {
    unsigned Tiles = Op->N / 8, Pair = I >> 1, Lower = 0;
    if (Op->M > 8) {
      Lower = Pair & 1;
      Pair >>= 1;
    }
    P.Row = Group + 8 * Lower + 16 * (Pair / Tiles);
    P.Column = Thread * 2 + (I & 1) + 8 * (Pair % Tiles);
  }
  return P;
}

#ifdef __cplusplus
}
#endif

#endif // LLVM_MNEME_RUNTIME_HOSTMATRIX_H
