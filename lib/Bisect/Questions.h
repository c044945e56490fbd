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

/// Passes questions to a judge, reports each step, and enforces the limit of
/// steps.
class Questions {
public:
  using SayFn = std::function<void(StringRef)>;
  Questions(Judge &J, unsigned MaxSteps, SayFn Say);

  /// Judges configurations. After the limit, all answers are Unresolved.
  Expected<std::vector<Answer>> ask(ArrayRef<json::Object> Configs);
  Expected<Answer> ask(const json::Object &Config);
  /// Returns false if the limit of steps was reached.
  bool complete() const { return Complete; }

  Judge &judge() { return J; }
  const Judge &judge() const { return J; }
  void say(const Twine &Text) const;

private:
  Judge &J;
  unsigned MaxSteps;
  SayFn Say;
  bool Complete = true;

  void describeStep(const json::Object &Config, const Judgement &V) const;
};

/// "3 of 5 replays failed", "5 of 5 replays verify"
std::string describeReplays(const Judgement &V);
/// "bad (Mismatch), 3 of 5 replays failed"
std::string describeJudgement(const Judgement &V, const Criterion &What);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_QUESTIONS_H
