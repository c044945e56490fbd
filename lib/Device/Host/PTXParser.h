//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parser of inline PTX. The result is a list of statements without semantics.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_HOST_PTXPARSER_H
#define LLVM_MNEME_LIB_DEVICE_HOST_PTXPARSER_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <optional>
#include <vector>

namespace llvm {
namespace mneme {
namespace ptx {

struct Operand {
  enum KindTy {
    Name,    ///< A register, an operand of the asm ($0), a special register, a
             ///< label.
    Integer, ///< Bits, also those of a hexadecimal float (0f..., 0d...).
    Real,    ///< A decimal number with a point.
    Vector,  ///< {a, b}
    Address, ///< [a + offset], [texture, {coordinates}]
  };
  KindTy Kind = Name;
  StringRef Text;                ///< Of a Name.
  bool Negated = false;          ///< !p
  uint64_t Bits = 0;             ///< Of an Integer; the offset of an Address.
  double Number = 0;             ///< Of a Real.
  std::vector<Operand> Elements; ///< Of a Vector; the base of an
                                 ///< Address, and what follows a comma.
  StringRef Second;              ///< Of a Name: q in p|q.
};

struct Statement {
  enum KindTy { Instruction, Declaration, Label };
  KindTy Kind = Instruction;
  /// An instruction's opcode, split at dots; a declaration's type; a label's
  /// name.
  SmallVector<StringRef, 6> Opcode;
  SmallVector<Operand, 5> Operands;
  std::optional<Operand> Predicate;
  unsigned Count = 0; ///< Of a declaration name<Count>; 0 for plain names.

  bool has(StringRef Modifier) const;
};

/// Parses \p Text, in which operands of the asm statement are $0, $1, ... The
/// result refers to \p Text. \returns std::nullopt if any part is not
/// understood.
std::optional<SmallVector<Statement, 0>> parse(StringRef Text);

} // namespace ptx
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_HOST_PTXPARSER_H
