//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A translation unit that clang's -frewrite-includes has made one text of, as
/// one of its files and the rest.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_UNITTEXT_H
#define LLVM_MNEME_SOURCE_UNITTEXT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A text made from a version of the file, and the origin of its lines.
struct ComposedText {
  std::string Text;
  /// The line of the version for each line of Text; 0: from the rest.
  std::vector<unsigned> Origins;
  /// Number of conditionals that the text before Text leaves open; see
  /// UnitText::composeRest().
  unsigned OpenBefore = 0;
  /// Size of the part up to the last inclusion before the first block, ...
  size_t Fixed = 0;
  /// ... and the line markers for a text that begins there.
  std::string FixedMarkers;
};

/// The part of a line range between markers.
struct SourceBlock {
  std::string Name;
  unsigned First = 0, Last = 0; ///< 1-based lines of the file, inclusive.
};

class UnitText {
public:
  UnitText() = default;
  /// \param File  the name of the file as it is in the line markers of
  /// \p Rewritten. Fails if there is no such file, or if it is there several
  /// times.
  static Expected<UnitText> parse(std::string Rewritten, StringRef File);

  StringRef file() const { return File; }
  /// Returns the whole unit.
  StringRef rewritten() const { return Rewritten; }
  /// Returns the text of the file as its author wrote it.
  StringRef original() const { return Original; }

  /// Returns the unit with another version of the file. Directives that include
  /// a file are replaced by its text, as far as the original includes it;
  /// others stay. Lines with markers do not count for __LINE__.
  /// \param Blocks    the blocks of the original. Lines behind a block have
  /// their number in the original.
  /// \param WithTail  whether to add the text behind the last block.
  ComposedText compose(StringRef Version, ArrayRef<SourceBlock> Blocks,
                       bool WithTail) const;
  /// The same without the part of size ComposedText::Fixed, which takes most of
  /// the time. It depends only on the text of the version before the first
  /// block.
  ComposedText composeRest(StringRef Version, ArrayRef<SourceBlock> Blocks,
                           bool WithTail) const;

private:
  /// A directive of the file that compose() replaces.
  struct Directive {
    enum KindTy { Include, Condition } Kind;
    std::string Spelling; ///< Name and rest, as of getDirectiveName().
    /// What an inclusion stands for; may be empty.
    size_t Begin = 0, End = 0;
    bool IsTrue = false; ///< Of a condition.
  };

  class Parser;
  class Composer;

  std::string Rewritten, File, Original;
  std::vector<std::string> Includers; ///< The main file first.
  /// The text before and behind the file, with the conditional directives that
  /// include it.
  size_t Begin = 0, End = 0;
  unsigned OpenAtBegin = 0; ///< Conditionals.
  std::vector<Directive> Directives;
};

/// Lines that contain these texts in a comment enclose a block.
inline constexpr StringLiteral BlockStart = "EVOLVE-BLOCK-START",
                               BlockEnd = "EVOLVE-BLOCK-END";

/// Returns the text with marker lines around the blocks.
std::string addMarkers(StringRef Original, ArrayRef<SourceBlock> Blocks);

/// A version of a file, cut at its marker lines.
struct MarkedText {
  /// Outside and inside of blocks, alternately; an odd number. Without the
  /// marker lines.
  std::vector<StringRef> Parts;
  std::vector<std::string> Names; ///< Of the blocks; may be empty.
};

/// Fails if markers do not alternate. The error is a TextError.
Expected<MarkedText> cutAtMarkers(StringRef Text);

/// Returns true for a comment line with BlockStart or BlockEnd.
bool isMarkerLine(StringRef Line);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_UNITTEXT_H
