//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Text from files, programs and devices for a terminal: characters that it
/// takes for commands, or that reverse the order of others, are escaped.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_PRINTABLE_H
#define LLVM_MNEME_SUPPORT_PRINTABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace llvm {
namespace mneme {

/// One line: "a\x1b[2Jb\nc". Printable characters of UTF-8 stay as they are.
std::string printable(StringRef Text);
/// The same but for the ends of lines and tabulators.
std::string printableLines(StringRef Text);

/// Writes all to another stream, as printableLines() has it. Not buffered, so
/// that the other stream's order is kept.
class PrintableStream : public raw_ostream {
public:
  /// In JSON an escape is "\u001b", which means the same.
  enum class Syntax { Text, JSON };
  explicit PrintableStream(raw_ostream &OS, Syntax S = Syntax::Text);
  ~PrintableStream() override;

private:
  raw_ostream &OS;
  Syntax S;
  std::string Pending; ///< A character that is not complete.

  void write_impl(const char *Ptr, size_t Size) override;
  uint64_t current_pos() const override { return OS.tell(); }
};

/// Standard output for texts, and for JSON.
raw_ostream &textOuts();
raw_ostream &jsonOuts();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_PRINTABLE_H
