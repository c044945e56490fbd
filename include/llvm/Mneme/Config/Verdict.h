//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Verdicts of replays and failures of evaluations (Verdicts.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_CONFIG_VERDICT_H
#define LLVM_MNEME_CONFIG_VERDICT_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/raw_ostream.h"
#include <cstdint>
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// The outcome of a replay.
enum class Verdict {
#define VERDICT(Name) Name,
#include "llvm/Mneme/Config/Verdicts.def"
};
StringRef getVerdictName(Verdict V);
std::optional<Verdict> parseVerdict(StringRef Name);
/// Returns true for MATCHING_VERDICTs.
bool isMatch(Verdict V);

/// The levels of verification, from strict to lenient (docs/Verification.rst).
enum class CompareLevel {
  Exact,
  Tolerance, ///< Annotated or given.
  Envelope,  ///< Measured (Replay/Envelope.h).
  Unordered, ///< The same records in another order (Replay/Unordered.h).
};
/// Returns "exact", "tolerance", "envelope" or "unordered".
StringRef getLevelName(CompareLevel L);
std::optional<CompareLevel> parseLevel(StringRef Name);
/// Returns Match, MatchWithinTolerance, MatchWithinEnvelope or MatchUnordered.
Verdict getVerdict(CompareLevel L);

/// Returns green for a match, yellow if nothing was verified, red for a
/// failure.
raw_ostream::Colors getVerdictColor(Verdict V);

/// Why an evaluation failed: a verdict or another reason.
class FailureKind {
public:
  enum Kind : uint8_t {
    None, ///< The evaluation succeeded; its name is empty.
#define FAILING_VERDICT(Name) Name,
#define FAILURE(Name) Name,
#include "llvm/Mneme/Config/Verdicts.def"
  };

  constexpr FailureKind(Kind K = None) : K(K) {}
  /// None if the verdict is not a failure.
  explicit FailureKind(Verdict V);
  /// \p Name must be the name of a kind. Use parse() for names from files.
  FailureKind(const char *Name) : FailureKind(StringRef(Name)) {}
  FailureKind(const std::string &Name) : FailureKind(StringRef(Name)) {}
  FailureKind(StringRef Name);
  static std::optional<FailureKind> parse(StringRef Name);

  bool empty() const { return K == None; }
  StringRef name() const;
  std::string str() const { return name().str(); }

  friend bool operator==(FailureKind A, FailureKind B) { return A.K == B.K; }
  friend bool operator!=(FailureKind A, FailureKind B) { return A.K != B.K; }
  /// In the order of their names.
  friend bool operator<(FailureKind A, FailureKind B) {
    return A.name() < B.name();
  }

private:
  Kind K;
};
raw_ostream &operator<<(raw_ostream &OS, FailureKind K);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_CONFIG_VERDICT_H
