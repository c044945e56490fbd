//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Units of a program that was built with MNEME_SOURCE=1: MnemePass embeds the
/// text and the options of each device compilation in section mneme_source.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_EMBEDDEDSOURCE_H
#define LLVM_MNEME_RECORD_EMBEDDEDSOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

inline constexpr StringLiteral SourceSection = "mneme_source";

/// A unit in the section begins with this text and the sizes of the whole
/// record, of the compressed and of the plain contents: 64 bits each,
/// little-endian.
inline constexpr StringLiteral SourceMagic = "MNEMESC1";
inline constexpr size_t SourceHeaderSize = 8 + 3 * sizeof(uint64_t);

/// One device compilation.
struct EmbeddedSource {
  /// `clang -cc1` from "-cc1", without actions, output and input.
  std::vector<std::string> Words;
  std::string Input; ///< Name of the source, for messages.
  /// The unit as -frewrite-includes writes it.
  std::string Rewritten;
};

/// Returns the bytes that the section holds for a unit, a multiple of 8.
Expected<std::string> makeSourceRecord(const EmbeddedSource &Unit);

/// Reads all units of an ELF file or archive. Fails if there are none.
Expected<std::vector<EmbeddedSource>> readEmbeddedSources(StringRef Path);

/// Returns \p Words, a command of `clang -cc1`, without actions, output and
/// input; the last word is the input.
std::vector<std::string> dropOutputs(ArrayRef<std::string> Words);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_EMBEDDEDSOURCE_H
