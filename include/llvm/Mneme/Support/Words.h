//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Splits and quotes command lines.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_WORDS_H
#define LLVM_MNEME_SUPPORT_WORDS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct Dim3;

/// Splits \p Text as LLVM splits a response file, with quotes and backslashes,
/// skipping empty words.
std::vector<std::string> splitWords(StringRef Text);

/// Quotes a word if necessary, for shells and splitWords().
std::string quoteWord(StringRef Word);

/// Joins words to a text for shells and splitWords(), for users to paste.
std::string quoteCommand(ArrayRef<std::string> Words);

/// Returns "; did you mean 'X'?" for the end of a message, where X is the name
/// with the smallest edit distance to \p Wrong. Returns an empty string if
/// \p Wrong is one of \p Names, or if all names are more than a third of its
/// length plus one edit away.
std::string suggest(StringRef Wrong, ArrayRef<StringRef> Names);

/// Returns "2x3x1".
std::string formatDims(const Dim3 &D);

/// Returns "1 launch", "2 launches": a number and the plural of a noun.
std::string formatCount(uint64_t Number, StringRef Noun);
/// Returns "512 B", "1.5 MiB".
std::string formatBytes(uint64_t Bytes);
/// Returns "12.30 us".
std::string formatSeconds(double Seconds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_WORDS_H
