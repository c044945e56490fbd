//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Pipeline/PipelineParts.h"
#include "Impl.h"
#include "Parser.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;

class PipelineParts::Collector {
public:
  Collector(const PipelineTree &T, PipelineParts &Into) : T(T), Into(Into) {}

  /// \returns false if an element is not a pass with parameters.
  bool addList(const PipelineNode &List, int Parent, unsigned Depth) {
    return all_of(List.Children, [&](const auto &Element) {
      return addElement(*Element, Parent, Depth);
    });
  }

private:
  const PipelineTree &T;
  PipelineParts &Into;

  int add(const PipelineNode &N, int Parent, unsigned Depth, bool IsParameter) {
    Part P;
    P.Text = printWord(T, N);
    P.IsParameter = IsParameter;
    P.Parent = Parent;
    P.Depth = Depth;
    Into.Parts.push_back(std::move(P));
    return Into.Parts.size() - 1;
  }

  bool addElement(const PipelineNode &N, int Parent, unsigned Depth) {
    bool IsNest = N.Kind == PipelineNode::Adaptor;
    const PipelineNode &Word = IsNest ? N.child(0) : N;
    bool HasParams = Word.Kind == PipelineNode::Word && Word.size() == 2 &&
                     Word.child(1).Kind == PipelineNode::Params;
    const PipelineNode &Name = HasParams ? Word.child(0) : Word;
    if (Name.Kind != PipelineNode::Text)
      return false;
    int Self = add(Name, Parent, Depth, /*IsParameter=*/false);
    Into.Parts[Self].IsNest = IsNest;
    if (HasParams)
      for (const auto &Parameter : Word.child(1).Children)
        add(*Parameter, Self, Depth, /*IsParameter=*/true);
    return !IsNest || addList(N.child(1), Self, Depth + 1);
  }
};

std::optional<PipelineParts> PipelineParts::parse(StringRef Text) {
  Expected<PipelineTree> Tree =
      parsePipelineTree(Text, PipelineSyntax::Pipeline);
  if (!Tree) {
    consumeError(Tree.takeError());
    return std::nullopt;
  }
  PipelineParts Result;
  if (!Tree->Root->size() ||
      !Collector(*Tree, Result).addList(*Tree->Root, -1, 0))
    return std::nullopt;
  return Result;
}

unsigned PipelineParts::numLevels() const {
  unsigned Depth = 0;
  for (const Part &P : Parts)
    Depth = std::max(Depth, P.Depth);
  return Depth + 2;
}

bool PipelineParts::isReached(unsigned Part) const {
  for (int P = Parts[Part].Parent; P != -1; P = Parts[P].Parent)
    if (!Parts[P].Kept)
      return false;
  return true;
}

std::vector<unsigned> PipelineParts::partsOfLevel(unsigned Level) const {
  bool WantParameters = Level + 1 == numLevels();
  std::vector<unsigned> Result;
  for (const auto &[I, P] : enumerate(Parts))
    if (P.Kept && P.IsParameter == WantParameters &&
        (WantParameters || P.Depth == Level) && isReached(I))
      Result.push_back(I);
  return Result;
}

std::string PipelineParts::printChildren(int Parent) const {
  SmallVector<std::string> Elements;
  for (const auto &[I, P] : enumerate(Parts)) {
    if (P.Parent != Parent || !P.Kept || P.IsParameter)
      continue;
    SmallVector<StringRef> Parameters;
    for (const Part &Q : Parts)
      if (Q.IsParameter && Q.Kept && Q.Parent == static_cast<int>(I))
        Parameters.push_back(Q.Text);
    std::string Text = P.Text;
    if (!Parameters.empty())
      Text += "<" + join(Parameters, ";") + ">";
    if (P.IsNest) {
      std::string Inner = printChildren(I);
      if (Inner.empty())
        continue;
      Text += "(" + Inner + ")";
    }
    Elements.push_back(std::move(Text));
  }
  return join(Elements, ",");
}

PipelineParts PipelineParts::keep(ArrayRef<unsigned> Some,
                                  const BitVector &Kept) const {
  PipelineParts New = *this;
  for (auto [I, Part] : enumerate(Some))
    New.setKept(Part, Kept[I]);
  return New;
}

std::string PipelineParts::print() const { return printChildren(-1); }
