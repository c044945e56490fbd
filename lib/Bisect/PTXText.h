//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A parser for PTX and two edits: isolate instructions, so that ptxas cannot
/// combine them with others, and remove statements.
///
/// No option or pragma disables ptxas's optimizations for a part of a function.
/// Instead, each value that an isolated instruction reads or writes is combined
/// (xor) with a zero that the kernel loads from memory. ptxas cannot know the
/// loaded value, so it must compute all bits. Results remain exactly the same.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_PTXTEXT_H
#define LLVM_MNEME_LIB_BISECT_PTXTEXT_H

#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct PTXStatement {
  enum Kind {
    Label,
    Directive,
    Instruction,
    Group, ///< { ... }: a call, or inline assembly.
  } What = Instruction;
  size_t Begin = 0, End = 0; ///< Offsets in the text, with the semicolon.
  size_t Operands = 0;       ///< Offset after the opcode and its result.
  unsigned Line = 0;         ///< From 1.
  unsigned Function = 0;     ///< Index in PTXText::functions().
  unsigned Block = 0;        ///< From 0, within the function.
  std::string Opcode;        ///< "ld.global.b32"
  /// Registers of the function that the statement writes and reads.
  std::vector<std::string> Defs, Uses;
};

struct PTXFunction {
  std::string Name;
  bool IsEntry = false;
  size_t Begin = 0, End = 0; ///< Offsets of the definition.
  size_t Body = 0;           ///< Offset after the opening brace.
  unsigned NumBlocks = 0;
  StringMap<unsigned> Registers; ///< Size in bits; 1 for predicates.
  /// "%r<13>" declares %r0 to %r12.
  struct Range {
    std::string Prefix;
    unsigned Count, Bits;
  };
  std::vector<Range> Ranges;

  /// Returns the size of a register in bits; 0 if the function has no such
  /// register.
  unsigned bits(StringRef Register) const;
};

class PTXText {
public:
  /// Parses PTX. Fails if braces are unbalanced or there is no function.
  static Expected<PTXText> parse(std::string Text);

  StringRef text() const { return Text; }
  ArrayRef<PTXFunction> functions() const { return Functions; }
  /// In the order of the text.
  ArrayRef<PTXStatement> statements() const { return Statements; }
  StringRef textOf(const PTXStatement &S) const;

  bool canIsolate(size_t Statement) const;
  /// Returns the text with these statements isolated. Statements that cannot be
  /// isolated stay unchanged.
  std::string isolate(const BitVector &Isolated) const;

  bool canRemove(size_t Statement) const;
  /// Returns the text without the removable statements that are not in \p Kept.
  /// A register that loses a definition starts as zero, so that no new
  /// undefined values appear. Functions that become unused are also removed.
  std::string keep(const BitVector &Kept) const;

private:
  std::string Text;
  std::string Code; ///< Text with blanks for comments and strings.
  std::vector<PTXFunction> Functions;
  std::vector<PTXStatement> Statements;

  size_t findClose(size_t Open) const;
  Error parseFunction(size_t Begin, size_t Open, size_t Close);
  void parseBody(PTXFunction &F, size_t Close);
  void parseRegisters(PTXFunction &F, StringRef Declaration);
  void parseInstruction(const PTXFunction &F, PTXStatement &S);
  std::vector<std::string> findRegisters(const PTXFunction &F, size_t Begin,
                                         size_t End) const;
  std::string renderIsolated(const PTXStatement &S, std::string &Declarations,
                             unsigned &Next) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_PTXTEXT_H
