//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Studies as text in the dialect `mneme`, without MLIR in the interface. If
/// Mneme was built without MLIR, all functions return an error that says so.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DIALECT_IMPORT_H
#define LLVM_MNEME_DIALECT_IMPORT_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Study/Study.h"

namespace llvm {
namespace mneme {

/// Parses a text with exactly one study. Errors have the form
/// "file:line:column: message", with \p FileName, and separate lines for notes.
Expected<Study> parseStudy(StringRef Text, StringRef FileName);

/// Prints a study so that parseStudy() returns an equal one. Fails on errors
/// that checkStudy() finds.
Expected<std::string> printStudy(const Study &S);

/// A study that is part of the tools.
struct Preset {
  StringLiteral Name;
  StringLiteral Text;
  /// Returns a one-line description of the search space.
  StringRef summary() const;
};

/// Returns all presets, from the fastest to the widest; empty without MLIR.
ArrayRef<Preset> getPresets();
/// Returns a preset. Fails if there is no such preset; the error lists all.
Expected<Study> getPreset(StringRef Name);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DIALECT_IMPORT_H
