//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads and stores of matrices (llvm/Mneme/Runtime/HostMatrix.h). Each lane
/// accesses its part of the memory; only ldmatrix and stmatrix need the others.
///
//===----------------------------------------------------------------------===//

#include "Library.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Runtime/HostMatrix.h"

HELPER void exchangeMatrices(MnemeMatrixFrame *Frame) {
  mneme_host_sync(MNEME_OP_MATRIX, 0, ~0ull, (u64)Frame, 0, 0, 0);
}

void PTX(ldmatrix)(MnemeMatrixFrame *Frame, const u32 *P, u32 Count) {
  // The addresses of other lanes need not be valid.
  if (mneme_host_laneid() < 8 * Count)
    for (u32 I = 0; I != 4; ++I)
      Frame->Words[I] = P[I];
  exchangeMatrices(Frame);
}

void PTX(stmatrix)(MnemeMatrixFrame *Frame, u32 *P, u32 Count) {
  exchangeMatrices(Frame);
  if (mneme_host_laneid() < 8 * Count)
    for (u32 I = 0; I != 4; ++I)
      P[I] = Frame->Words[I];
}

/// Returns the position of an element in a matrix in memory.
HELPER u64 positionOf(MnemeMatrixPlace P, u32 Stride, u32 IsRowMajor) {
  return IsRowMajor ? (u64)P.Row * Stride + P.Column
                    : (u64)P.Column * Stride + P.Row;
}

void PTX(wmma_load)(MnemeMatrixFrame *Frame, const u8 *P, u32 Stride,
                    u32 Operand, u32 IsRowMajor) {
  const MnemeMatrixOp Op = Frame->Op;
  u32 Lane = mneme_host_laneid();
  u32 Bits = mneme_matrix_bits(mneme_matrix_type(&Op, Operand));
  u32 Count = mneme_matrix_elements(&Op, Operand);
  u32 Used = Count * Bits / 32, Words = mneme_matrix_words(&Op, Operand);
  // Elements of a register may be neighbors in memory; 4-bit elements and bits
  // always are.
  _Bool Whole = Operand == 'a' ? IsRowMajor : Operand == 'b' && !IsRowMajor;
  u32 Step = Whole && Bits < 32 ? 32 / Bits : 1;
  for (u32 I = 0; I < Count; I += Step) {
    u64 At = positionOf(mneme_matrix_place(&Op, Operand, Lane, I), Stride,
                        IsRowMajor);
    u32 *To = Frame->Words + I * Bits / 32;
    if (Bits == 64)
      *(u64 *)To = ((const u64 *)P)[At];
    else if (Bits * Step == 32)
      *To = *(const u32 *)(P + At * Bits / 8);
    else if (Bits == 16)
      ((u16 *)Frame->Words)[I] = ((const u16 *)P)[At];
    else
      ((u8 *)Frame->Words)[I] = P[At];
  }
  for (u32 I = Used; I < Words; ++I)
    Frame->Words[I] = Frame->Words[I % Used];
}

void PTX(wmma_store)(MnemeMatrixFrame *Frame, u8 *P, u32 Stride, u32 Operand,
                     u32 IsRowMajor) {
  const MnemeMatrixOp Op = Frame->Op;
  u32 Lane = mneme_host_laneid();
  u32 Bits = mneme_matrix_bits(mneme_matrix_type(&Op, Operand));
  u32 Count = mneme_matrix_elements(&Op, Operand);
  for (u32 I = 0; I != Count; ++I) {
    u64 At = positionOf(mneme_matrix_place(&Op, Operand, Lane, I), Stride,
                        IsRowMajor);
    if (Bits == 64)
      ((u64 *)P)[At] = ((const u64 *)Frame->Words)[I];
    else if (Bits == 32)
      ((u32 *)P)[At] = Frame->Words[I];
    else
      ((u16 *)P)[At] = ((const u16 *)Frame->Words)[I];
  }
}
