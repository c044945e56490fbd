//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Lowering of matrix instructions (llvm/Mneme/Runtime/HostMatrix.h), from
/// intrinsics and from inline PTX.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_HOSTMATRIX_H
#define LLVM_MNEME_LIB_DEVICE_HOST_HOSTMATRIX_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/Mneme/Runtime/HostMatrix.h"
#include <optional>

namespace llvm {
namespace mneme {
namespace host {

class IntrinsicLibrary;

/// A matrix instruction of a table: HostMatrix.def for mma and wmma.
struct MatrixInstruction {
  enum KindTy { Multiply, Load, Store, GatherRows, ScatterRows };
  KindTy Kind = Multiply;
  MnemeMatrixOp Op = {};
  char Operand = 'd';     ///< Of Load and Store.
  bool IsRowMajor = true; ///< Of Load and Store.

  /// \returns the type of a register: i64 for double, otherwise i32.
  Type *getRegisterTy(LLVMContext &C) const;
  unsigned getNumRegisters(char Of) const;
  /// \returns the number of registers that the instruction reads and writes.
  unsigned getNumInputs() const;
  unsigned getNumOutputs() const;
};

/// Parses the parts of a PTX opcode, or of an intrinsic's name after llvm.nvvm.
/// \returns std::nullopt for instructions that the host device does not have.
std::optional<MatrixInstruction> parseMatrix(ArrayRef<StringRef> Parts);

/// Emits the instruction \p I. \p Address and \p Stride are those of an access
/// to memory; a null \p Stride is the matrix's own. \returns its registers.
SmallVector<Value *, 8>
createMatrix(IRBuilderBase &B, IntrinsicLibrary &Library,
             const MatrixInstruction &I, ArrayRef<Value *> Inputs,
             Value *Address = nullptr, Value *Stride = nullptr);

/// Gives each function the frame that its matrix instructions share.
void createMatrixFrames(Module &M);

} // namespace host
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_HOSTMATRIX_H
