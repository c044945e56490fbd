//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;

std::vector<unsigned> mneme::orderOf(const PipelineNode &N, unsigned Base,
                                     const PipelinePoint &P) {
  std::vector<unsigned> Left(N.size()), Order;
  std::iota(Left.begin(), Left.end(), 0);
  while (Left.size() > 1) {
    auto It = Left.begin() + P[Base + N.First + Order.size()];
    Order.push_back(*It);
    Left.erase(It);
  }
  Order.push_back(Left.front());
  return Order;
}

void mneme::setOrder(const PipelineNode &N, unsigned Base,
                     ArrayRef<unsigned> Order, PipelinePoint &P) {
  for (size_t I = 0; I + 1 < Order.size(); ++I)
    P[Base + N.First + I] = llvm::count_if(
        Order.drop_front(I), [&](unsigned E) { return E < Order[I]; });
}

namespace {
class PointPrinter {
public:
  PointPrinter(const PipelineTree &T, const PipelinePoint &P) : T(T), P(P) {}
  using Items = std::vector<std::string>;
  /// Appends the items of the node, without empty ones.
  void addItems(const PipelineNode &N, unsigned Base, Items &To) const;
  std::string printWord(const PipelineNode &N, unsigned Base) const;

private:
  const PipelineTree &T;
  const PipelinePoint &P;
};
} // namespace

std::string PointPrinter::printWord(const PipelineNode &N,
                                    unsigned Base) const {
  unsigned First = Base + N.First;
  switch (N.Kind) {
  case PipelineNode::Text:
    return N.Characters;
  case PipelineNode::Range:
    // Unsigned, so that the product fits, as High - Low does.
    return itostr(N.Low + (N.numValues() > 1 ? P[First] : 0) * N.Step);
  case PipelineNode::Choice:
    return printWord(chosen(N, First, P), Base);
  case PipelineNode::Optional:
    return P[First] ? printWord(N.child(0), Base) : "";
  case PipelineNode::Use:
    return printWord(T.definition(N), T.base(N, Base));
  case PipelineNode::Params: {
    Items Params;
    for (const auto &C : N.Children)
      addItems(*C, Base, Params);
    return Params.empty() ? "" : "<" + join(Params, ";") + ">";
  }
  case PipelineNode::Adaptor: {
    // LLVM does not accept empty nested pipelines.
    Items Inner;
    addItems(N.child(1), Base, Inner);
    return Inner.empty()
               ? ""
               : printWord(N.child(0), Base) + "(" + join(Inner, ",") + ")";
  }
  default: {
    std::string Text;
    for (const auto &C : N.Children)
      Text += printWord(*C, Base);
    return Text;
  }
  }
}

void PointPrinter::addItems(const PipelineNode &N, unsigned Base,
                            Items &To) const {
  unsigned First = Base + N.First;
  switch (N.Kind) {
  case PipelineNode::List:
    for (const auto &C : N.Children)
      addItems(*C, Base, To);
    return;
  case PipelineNode::Choice:
    return addItems(chosen(N, First, P), Base, To);
  case PipelineNode::Optional:
    if (P[First])
      addItems(N.child(0), Base, To);
    return;
  case PipelineNode::Use:
    return addItems(T.definition(N), T.base(N, Base), To);
  case PipelineNode::Perm:
    for (unsigned I : orderOf(N, Base, P))
      addItems(N.child(I), Base, To);
    return;
  case PipelineNode::Seq:
    for (unsigned I = 0, E = lengthOf(N, Base, P); I != E; ++I)
      addItems(chosen(N, Base + N.slot(I), P), Base + N.slot(I), To);
    return;
  default:
    std::string Word = printWord(N, Base);
    if (!Word.empty())
      To.push_back(std::move(Word));
    return;
  }
}

std::string mneme::printPoint(const PipelineTree &T, const PipelinePoint &P) {
  PointPrinter::Items Items;
  PointPrinter(T, P).addItems(*T.Root, 0, Items);
  return join(Items, ",");
}

std::string mneme::printWord(const PipelineTree &T, const PipelineNode &N) {
  return PointPrinter(T, {}).printWord(N, 0);
}
