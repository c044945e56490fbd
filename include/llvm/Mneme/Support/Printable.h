//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Escapes text from files, programs and devices for a terminal: control
/// characters and characters that change the direction of text. Prints numbers.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_PRINTABLE_H
#define LLVM_MNEME_SUPPORT_PRINTABLE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <string>

namespace llvm {
namespace mneme {

/// Escapes a single line: "a\x1b[2Jb\nc". Keeps printable UTF-8 characters.
std::string printable(StringRef Text);
/// Escapes text, but keeps newlines and tabs.
std::string printableLines(StringRef Text);
/// Likewise, for an error, which may quote what a file or a peer says: lines of
/// more than 2000 bytes lack their middle.
std::string printableMessage(StringRef Text);

/// Escapes what a path must not have in a URI.
std::string encodeURI(StringRef Path);

/// Returns the shortest text that is read as the same number: "1e-06", "4".
std::string printShortest(double D);

/// Escapes everything as printableLines() does and writes it to another stream.
/// Unbuffered, to preserve the order of that stream's output.
class PrintableStream : public raw_ostream {
public:
  /// JSON uses the equivalent escape "\u001b".
  enum class Syntax { Text, JSON };
  explicit PrintableStream(raw_ostream &OS, Syntax S = Syntax::Text);
  ~PrintableStream() override;

  // Colors are those of the other stream.
  raw_ostream &changeColor(Colors C, bool Bold, bool Background) override;
  raw_ostream &resetColor() override;
  bool is_displayed() const override { return OS.is_displayed(); }
  bool has_colors() const override { return OS.has_colors(); }
  void enable_colors(bool Enable) override { OS.enable_colors(Enable); }

private:
  raw_ostream &OS;
  Syntax S;
  std::string Pending; ///< An incomplete character.

  void write_impl(const char *Ptr, size_t Size) override;
  uint64_t current_pos() const override { return OS.tell(); }
};

/// Return the standard output for text and for JSON.
raw_ostream &textOuts();
raw_ostream &jsonOuts();

/// Makes the exit of a tool report that its standard output could not be
/// written, with exit code 1; LLVM's report looks like a crash. Called once.
void reportLostOutput();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_PRINTABLE_H
