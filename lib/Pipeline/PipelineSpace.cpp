//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "Impl.h"
#include "Layout.h"
#include "Parser.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

PipelineSpace::PipelineSpace(std::shared_ptr<const Impl> I) : I(std::move(I)) {}
PipelineSpace::PipelineSpace(PipelineSpace &&) = default;
PipelineSpace &PipelineSpace::operator=(PipelineSpace &&) = default;
PipelineSpace::PipelineSpace(const PipelineSpace &) = default;
PipelineSpace &PipelineSpace::operator=(const PipelineSpace &) = default;
PipelineSpace::~PipelineSpace() = default;

Expected<PipelineSpace> PipelineSpace::parse(StringRef Text) {
  auto I = std::make_shared<Impl>();
  Expected<PipelineTree> Tree = parsePipelineTree(Text, PipelineSyntax::Space);
  if (!Tree)
    return Tree.takeError();
  I->Tree = std::move(*Tree);
  if (Error E = layOutDecisions(I->Tree))
    return E;
  if (Error E = I->Counter.count(I->Tree))
    return E;
  Expected<std::vector<PipelineDecision>> Decisions =
      describeDecisions(I->Tree);
  if (!Decisions)
    return Decisions.takeError();
  I->Decisions = std::move(*Decisions);
  return PipelineSpace(std::move(I));
}

std::string PipelineSpace::print() const { return I->Tree.print(); }

std::string PipelineSpace::print(const PipelinePoint &P) const {
  return printPoint(I->Tree, P);
}

ArrayRef<PipelineDecision> PipelineSpace::decisions() const {
  return I->Decisions;
}

namespace {
using Flags = SmallVector<bool, 256>;
} // namespace

/// \returns whether a decision is active. \p Active covers the decisions before
/// it.
static bool isActive(const PipelineDecision &D, const PipelinePoint &P,
                     const Flags &Active) {
  if (D.ActiveIf.empty())
    return true;
  for (const PipelineDecision::Condition &C : D.ActiveIf)
    if (Active[C.Decision] && C.From <= P[C.Decision] && P[C.Decision] < C.To)
      return true;
  return false;
}

bool PipelineSpace::isActive(const PipelinePoint &P, unsigned Decision) const {
  return activity(P)[Decision];
}

std::vector<bool> PipelineSpace::activity(const PipelinePoint &P) const {
  Flags Active(decisions().size());
  for (auto [I, D] : llvm::enumerate(decisions()))
    Active[I] = ::isActive(D, P, Active);
  return std::vector<bool>(Active.begin(), Active.end());
}

void PipelineSpace::canonicalize(PipelinePoint &P) const {
  P.resize(decisions().size());
  Flags Active(P.size());
  for (auto [I, D] : llvm::enumerate(decisions())) {
    Active[I] = ::isActive(D, P, Active);
    P[I] = Active[I] ? std::min(P[I], D.Count - 1) : 0;
  }
}

APInt PipelineSpace::count() const { return I->Counter.total(); }

PipelinePoint PipelineSpace::at(const APInt &Index) const {
  PipelinePoint P(decisions().size());
  unsigned Width = I->Counter.total().getBitWidth();
  I->Counter.at(I->Tree, Index.zextOrTrunc(Width), P);
  return P;
}

APInt PipelineSpace::indexOf(const PipelinePoint &P) const {
  return I->Counter.indexOf(I->Tree, P);
}

void PipelineSpace::enumerate(
    function_ref<bool(const PipelinePoint &)> Fn) const {
  APInt Count = count();
  for (APInt Index(Count.getBitWidth(), 0); Index != Count; ++Index)
    if (!Fn(at(Index)))
      return;
}

PipelinePoint PipelineSpace::sample(RandomEngine &Random) const {
  PipelinePoint P(decisions().size());
  I->Counter.draw(I->Tree, Random, P);
  return P;
}
