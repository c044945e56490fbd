//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Studies as text: the dialect `mneme` without a word of MLIR. Where Mneme was
/// built without MLIR everything here is an error that says so.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DIALECT_IMPORT_H
#define LLVM_MNEME_DIALECT_IMPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Tune/Study.h"

namespace llvm {
namespace mneme {

/// The one study in a text. Errors are "file:line:column: what is wrong", with
/// \p FileName, and notes in lines of their own.
Expected<Study> parseStudy(StringRef Text, StringRef FileName);

/// The text of a study; parseStudy() makes an equal one of it. Error: what
/// checkStudy() finds.
Expected<std::string> printStudy(const Study &S);

/// A study that comes with the tools.
struct Preset {
  StringLiteral Name;
  StringLiteral Text;
  /// What it searches, in a line.
  StringRef summary() const;
};

/// From the fastest to the widest; none without MLIR.
ArrayRef<Preset> getPresets();
/// Error: there is no such preset; with those that there are.
Expected<Study> getPreset(StringRef Name);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DIALECT_IMPORT_H
