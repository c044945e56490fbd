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

char PipelineSpaceError::ID;

void PipelineSpaceError::log(raw_ostream &OS) const {
  OS << Line << ':' << Column << ": " << Message;
}

std::error_code PipelineSpaceError::convertToErrorCode() const {
  return std::make_error_code(std::errc::invalid_argument);
}

PipelineSpace::PipelineSpace(std::shared_ptr<const Impl> I) : I(std::move(I)) {}
PipelineSpace::PipelineSpace(PipelineSpace &&) = default;
PipelineSpace &PipelineSpace::operator=(PipelineSpace &&) = default;
PipelineSpace::PipelineSpace(const PipelineSpace &) = default;
PipelineSpace &PipelineSpace::operator=(const PipelineSpace &) = default;
PipelineSpace::~PipelineSpace() = default;

Expected<PipelineSpace> PipelineSpace::parse(StringRef Text) {
  auto I = std::make_shared<Impl>();
  Expected<PipelineTree> Tree = parsePipelineTree(Text);
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

/// Does the next decision matter? \p Active of those before.
static bool isNextActive(const PipelineDecision &D, const PipelinePoint &P,
                         const std::vector<bool> &Active) {
  return D.ActiveIf.empty() ||
         any_of(D.ActiveIf, [&](const PipelineDecision::Condition &C) {
           uint64_t Value = P[C.Decision];
           return Active[C.Decision] && C.From <= Value && Value < C.To;
         });
}

bool PipelineSpace::isActive(const PipelinePoint &P, unsigned Decision) const {
  return activity(P)[Decision];
}

std::vector<bool> PipelineSpace::activity(const PipelinePoint &P) const {
  std::vector<bool> Active;
  for (const PipelineDecision &D : decisions())
    Active.push_back(isNextActive(D, P, Active));
  return Active;
}

void PipelineSpace::canonicalize(PipelinePoint &P) const {
  P.resize(decisions().size());
  std::vector<bool> Active;
  for (auto [D, Value] : zip_equal(decisions(), P)) {
    Active.push_back(isNextActive(D, P, Active));
    Value = Active.back() ? std::min(Value, D.Count - 1) : 0;
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
  APInt Count = count();
  unsigned Bits = Count.getActiveBits();
  SmallVector<uint64_t> Words(divideCeil(Bits, 64));
  // Numbers of as many bits are below the count in every other try.
  APInt Index(Bits, 0);
  do {
    for (uint64_t &Word : Words)
      Word = Random();
    Index = APInt(Bits, Words);
  } while (Index.uge(Count.trunc(Bits)));
  return at(Index);
}
