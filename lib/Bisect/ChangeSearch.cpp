//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "ChangeSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Mneme/Support/NumberedIR.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Limit of hunks, since each may take several steps.
static constexpr size_t MaxHunks = 64;

namespace {
/// The diff of two modules, from which any subset of the hunks can be applied.
/// Only functions, globals and named metadata have hunks: each module has the
/// definitions of all nodes and attribute groups of both.
class SplicedIR {
public:
  SplicedIR(StringRef Before, StringRef After)
      : Joint(numberJointly(Before, After)), A(splitLines(Joint.Before)),
        B(splitLines(Joint.After)), Lines(compareLines(A, B)) {
    char Last = ' ';
    for (const DiffLine &L : Lines.value_or(std::vector<DiffLine>())) {
      NumHunks += L.Kind != ' ' && Last == ' ';
      Last = L.Kind;
    }
  }

  unsigned size() const { return NumHunks; }

  /// Returns the old module with the hunks \p Applied.
  std::string print(const BitVector &Applied) const {
    return splice(Applied) + Joint.printDefinitions();
  }

  std::string makeDiff(const BitVector &Applied) const {
    return makeIRDiff(Joint, Joint.Before, splice(Applied),
                      /*RenumberedValues=*/false);
  }

private:
  JointIR Joint;
  std::vector<StringRef> A, B;
  std::optional<std::vector<DiffLine>> Lines;
  unsigned NumHunks = 0;

  std::string splice(const BitVector &Applied) const;
};
} // namespace

std::string SplicedIR::splice(const BitVector &Applied) const {
  std::string Text;
  int Hunk = -1;
  char Last = ' ';
  for (const DiffLine &L : *Lines) {
    Hunk += L.Kind != ' ' && Last == ' ';
    Last = L.Kind;
    if (L.Kind != ' ' && Applied[Hunk] != (L.Kind == '+'))
      continue;
    Text += L.Kind == '+' ? B[L.B] : A[L.A];
    Text += '\n';
  }
  return Text;
}

Expected<BlamedChange> mneme::searchChange(Questions &Q,
                                           const BisectSubject &Subject,
                                           const json::Object &Bad,
                                           const PassExecution &E) {
  BlamedChange Out;
  Out.Number = E.Number;
  Expected<std::pair<std::string, std::string>> Texts =
      Subject.ReadChange(Bad, E);
  if (!Texts) {
    Out.Missing = toString(Texts.takeError());
    return Out;
  }
  SplicedIR Text(Texts->first, Texts->second);
  Out.NumHunks = Text.size();
  if (Text.size() == 0 || Text.size() > MaxHunks) {
    Out.Missing =
        Text.size()
            ? formatv("the change has more than {0} hunks", MaxHunks).str()
            : "no line of the IR changes";
    return Out;
  }
  auto Ask = [&](ArrayRef<BitVector> Sets) -> Expected<std::vector<Answer>> {
    std::vector<json::Object> Configs;
    for (const BitVector &Set : Sets) {
      Expected<json::Object> Config = Subject.WithIR(Bad, Text.print(Set));
      if (!Config)
        return Config.takeError();
      Configs.push_back(std::move(*Config));
    }
    return Q.ask(Configs);
  };
  BitVector All(Text.size(), true), None(Text.size());
  Expected<std::vector<Answer>> Ends = Ask({None, All});
  if (!Ends)
    return Ends.takeError();
  if ((*Ends)[0] != Answer::Good || (*Ends)[1] != Answer::Bad) {
    Out.Missing = "the IR after the pass does not show the fault by itself";
    return Out;
  }
  Expected<BitVector> Least =
      minimize(All, None, Answer::Bad, Q.judge().width(), Ask);
  if (!Least)
    return Least.takeError();
  Out.NumBlamed = Least->count();
  Out.Diff = Text.makeDiff(*Least);
  return Out;
}
