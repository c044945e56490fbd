//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/IRUtils/InlinePTX.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InlineAsm.h"

using namespace llvm;
using namespace llvm::mneme;

bool mneme::isArithmeticPTX(const InlineAsm &Asm) {
  static constexpr StringLiteral Opcodes[] = {
      "abs",  "add",  "addc", "and",      "bfe",   "bfi",   "bfind",
      "brev", "clz",  "cnot", "copysign", "cos",   "cvt",   "div",
      "ex2",  "fma",  "lg2",  "lop3",     "mad",   "mad24", "madc",
      "max",  "min",  "mov",  "mul",      "mul24", "neg",   "not",
      "or",   "popc", "prmt", "rcp",      "rem",   "rsqrt", "sad",
      "selp", "set",  "setp", "shf",      "shl",   "shr",   "sin",
      "slct", "sqrt", "sub",  "subc",     "tanh",  "testp", "xor"};
  StringRef Text = StringRef(Asm.getAsmString()).trim();
  if (Asm.hasSideEffects() || Text.find_first_of("%[") != StringRef::npos)
    return false;
  if (Text.consume_front("{") && !Text.consume_back("}"))
    return false;
  SmallVector<StringRef, 16> Statements;
  Text.split(Statements, ';');
  return all_of(Statements, [](StringRef S) {
    S = S.trim();
    StringRef Opcode =
        S.take_until([](char C) { return C == '.' || isSpace(C); });
    return S.empty() || (!S.contains('\n') && (S.starts_with(".reg ") ||
                                               is_contained(Opcodes, Opcode)));
  });
}
