//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes studies of texts, for tests.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_TUNE_STUDYBUILDER_H
#define LLVM_MNEME_UNITTESTS_TUNE_STUDYBUILDER_H

#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Study/Study.h"

namespace llvm {
namespace mneme {

/// Texts must be right; what checkStudy() finds may be wrong.
class StudyBuilder {
public:
  StudyBuilder() { S.Objectives.push_back({"time", Direction::Minimize}); }

  Expr expr(StringRef Text) const {
    return cantFail(parseExpr(
        Text,
        [&](StringRef Name) -> Expected<ValueType> {
          if (const Parameter *P = S.findParameter(Name))
            return P->type();
          for (const DerivedValue &D : S.Derived)
            if (D.Name == Name)
              return D.Is.type();
          return createStringError("no parameter '" + Name + "'");
        }));
  }

  StudyBuilder &range(StringRef Name, StringRef Low, StringRef High,
                      StringRef Step = "") {
    Parameter P;
    P.Name = Name.str();
    P.Low = expr(Low);
    P.High = expr(High);
    P.Kind = P.Low.type() == ValueType::Real ? Parameter::Real : Parameter::Int;
    if (!Step.empty())
      P.Step = expr(Step);
    S.Parameters.push_back(P);
    return *this;
  }
  /// Of the last parameter.
  StudyBuilder &log() {
    S.Parameters.back().Scale = Parameter::Log;
    return *this;
  }
  StudyBuilder &when(StringRef Text) {
    Expr E = expr(Text);
    S.Parameters.back().When = E;
    return *this;
  }
  StudyBuilder &startWith(StringRef Text) {
    S.Parameters.back().Default = expr(Text);
    return *this;
  }
  StudyBuilder &boolean(StringRef Name) {
    Parameter P;
    P.Name = Name.str();
    P.Kind = Parameter::Bool;
    S.Parameters.push_back(P);
    return *this;
  }
  StudyBuilder &choice(StringRef Name, ArrayRef<StringRef> Texts) {
    Parameter P;
    P.Name = Name.str();
    P.Kind = Parameter::Choice;
    for (StringRef T : Texts)
      P.Choices.push_back(expr(T));
    S.Parameters.push_back(P);
    return *this;
  }
  StudyBuilder &pipeline(StringRef Name, StringRef Space) {
    Parameter P;
    P.Name = Name.str();
    P.Kind = Parameter::Pipeline;
    P.Space = Space.str();
    S.Parameters.push_back(P);
    return *this;
  }
  StudyBuilder &derive(StringRef Name, StringRef Text) {
    S.Derived.push_back({Name.str(), expr(Text)});
    return *this;
  }
  StudyBuilder &require(StringRef Text, StringRef Message = "") {
    S.Constraints.push_back({expr(Text), Message.str()});
    return *this;
  }
  StudyBuilder &field(StringRef Key, StringRef Text, StringRef When = "") {
    S.Fields.push_back(
        {Key.str(), expr(Text), When.empty() ? Expr() : expr(When)});
    return *this;
  }
  StudyBuilder &objective(StringRef Metric,
                          Direction Dir = Direction::Minimize) {
    S.Objectives.push_back({Metric.str(), Dir});
    return *this;
  }

  Study S;
};

/// 100 blocks of 256 threads, of an application built at -O3.
inline RecordedFacts makeFacts() {
  return makeRecordedFacts({100, 1, 1}, {256, 1, 1}, 0, false, "3", "sm_90",
                           "kernel");
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_TUNE_STUDYBUILDER_H
