//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Command lines as one text.
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

/// The words of a text with quotes and backslashes, as those of a response
/// file: empty ones are left out.
std::vector<std::string> splitWords(StringRef Text);

/// As one word of a text, quoted where need be. Both a shell and splitWords()
/// read it.
std::string quoteWord(StringRef Word);

/// The words of a text that a shell and splitWords() read, for people to paste.
std::string quoteCommand(ArrayRef<std::string> Words);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_WORDS_H
