//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_QUESTIONS_H
#define LLVM_MNEME_LIB_BISECT_QUESTIONS_H

#include "llvm/ADT/Twine.h"
#include "llvm/Mneme/Bisect/Judge.h"

namespace llvm {
namespace mneme {

/// Passes questions to a judge, reports each step, enforces the limit of steps,
/// and asks some questions again, to notice early that the answers vary.
class Questions {
public:
  using SayFn = std::function<void(StringRef)>;
  Questions(Judge &J, unsigned MaxSteps, SayFn Say);

  /// Judges configurations. Once the search must end, all answers are
  /// Unresolved.
  Expected<std::vector<Answer>> ask(ArrayRef<json::Object> Configs);
  Expected<Answer> ask(const json::Object &Config);
  /// Returns false if the search must end; stopReason() has the reason.
  bool complete() const { return Stopped.empty(); }
  StringRef stopReason() const { return Stopped; }
  /// Returns the configuration whose answers ended the search, for
  /// Judge::becomeRandom(), and lets the search go on. Unset: none did.
  std::optional<json::Object> takeVarying();
  /// "2 of 8 questions that were asked again had another answer, ...", and what
  /// to do about it.
  std::string describeVariance() const;

  Judge &judge() { return J; }
  const Judge &judge() const { return J; }
  void say(const Twine &Text) const;

private:
  Judge &J;
  unsigned MaxSteps;
  SayFn Say;
  std::string Stopped;
  std::optional<json::Object> Varying;
  std::vector<json::Object> Last[2]; ///< Good and bad, the newest last.
  unsigned NextCheck;                ///< In steps.
  unsigned NumAsked = 0, NumContradictions = 0; ///< Of the second questions.
  std::string LastContradiction;

  void keep(const json::Object &Config, Answer A);
  Error askAgain();
  void noteContradiction(const json::Object &Config, Answer Before, Answer Now);
  void describeStep(const json::Object &Config, const Judgement &V) const;
};

/// "3 of 5 replays failed", "5 of 5 replays verify"
std::string describeReplays(const Judgement &V);
/// "bad (Mismatch), 3 of 5 replays failed"
std::string describeJudgement(const Judgement &V, const Criterion &What);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_QUESTIONS_H
