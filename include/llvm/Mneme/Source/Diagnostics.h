//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The front end's diagnostics as data.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_DIAGNOSTICS_H
#define LLVM_MNEME_SOURCE_DIAGNOSTICS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A position in a source. Lines and columns count from 1; 0: unknown.
struct SourcePosition {
  std::string File; ///< KernelSourceName for the version; may be empty.
  unsigned Line = 0, Column = 0;
};

/// A replacement of the text from Begin to before End.
struct SourceFixIt {
  SourcePosition Begin, End;
  std::string Text;
};

struct SourceDiagnostic {
  SourcePosition Where;
  std::string Severity; ///< "error", "fatal error", "warning", "note".
  std::string Message;
  std::vector<SourceFixIt> FixIts;
  std::vector<SourceDiagnostic> Notes;

  bool isError() const { return StringRef(Severity).contains("error"); }
};

json::Value toJSON(const SourceDiagnostic &D);
bool fromJSON(const json::Value &V, SourceDiagnostic &D, json::Path P);

/// Parses clang's messages with -fdiagnostics-parseable-fixits. \p Translate
/// maps a position that clang printed.
std::vector<SourceDiagnostic>
parseDiagnostics(StringRef Messages,
                 function_ref<SourcePosition(SourcePosition)> Translate);

/// Largest size of diagnostics as text.
inline constexpr size_t MaxDiagnosticText = 20 << 10;

/// Prints diagnostics as clang does, errors first, with lines of \p Version
/// where they are in it. At most MaxDiagnosticText bytes.
std::string printDiagnostics(ArrayRef<SourceDiagnostic> Diagnostics,
                             StringRef Version);

/// A version of a source that does not compile.
class SourceError : public ErrorInfo<SourceError> {
public:
  static char ID;
  SourceError(std::vector<SourceDiagnostic> Diagnostics, StringRef Version)
      : Diagnostics(std::move(Diagnostics)),
        Text(printDiagnostics(this->Diagnostics, Version)) {}

  const std::vector<SourceDiagnostic> Diagnostics;
  const std::string Text; ///< Of printDiagnostics().
  void log(raw_ostream &OS) const override { OS << Text; }
  std::error_code convertToErrorCode() const override;
};

/// Returns a SourceError with the message of \p E, unless that is one already
/// or a ShortageError.
Error makeSourceError(Error E, StringRef Version);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_DIAGNOSTICS_H
