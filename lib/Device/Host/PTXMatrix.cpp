//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Matrix instructions: mma, wmma, ldmatrix and stmatrix.
//
//===----------------------------------------------------------------------===//

#include "HostMatrix.h"
#include "PTXTranslator.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;
using namespace llvm::mneme::ptx;

/// Appends the registers {a, b} of an operand. One register needs no braces.
static void listRegisters(const Operand &O,
                          SmallVectorImpl<const Operand *> &Registers) {
  if (O.Kind != Operand::Vector) {
    Registers.push_back(&O);
    return;
  }
  for (const Operand &Element : O.Elements)
    Registers.push_back(&Element);
}

void Translator::lowerMatrix() {
  std::optional<MatrixInstruction> I = parseMatrix(S->Opcode);
  SmallVector<const Operand *, 8> Outputs, Inputs;
  Value *Address = nullptr, *Stride = nullptr;
  bool HasAddress = false;
  for (const Operand &O : S->Operands) {
    if (O.Kind == Operand::Address) {
      Failed |= HasAddress;
      HasAddress = true;
      Address = address(&O - S->Operands.begin());
    } else if (I && I->getNumOutputs() && &O == S->Operands.begin()) {
      listRegisters(O, Outputs);
    } else if (Address &&
               Outputs.size() + Inputs.size() ==
                   (I ? I->getNumInputs() + I->getNumOutputs() : 0)) {
      Failed |= Stride != nullptr;
      Stride = read(&O - S->Operands.begin(), B.getInt32Ty());
    } else {
      listRegisters(O, Inputs);
    }
  }
  if (!I || Failed || Inputs.size() != I->getNumInputs() ||
      Outputs.size() != I->getNumOutputs() ||
      HasAddress == (I->Kind == MatrixInstruction::Multiply) ||
      (Stride && I->Op.Kind != MNEME_MATRIX_wmma)) {
    Failed = true;
    return;
  }
  Type *Register = I->getRegisterTy(M.getContext());
  SmallVector<Value *, 32> Values;
  for (const Operand *O : Inputs)
    Values.push_back(readOperand(*O, Register));
  if (Failed)
    return;
  SmallVector<Value *, 8> Results =
      createMatrix(B, Library, *I, Values, Address, Stride);
  for (auto [O, V] : zip_equal(Outputs, Results))
    writeOperand(*O, V, /*IsSigned=*/false);
}
