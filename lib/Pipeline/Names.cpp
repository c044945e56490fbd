//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Determines which passes the points of a space can name. Alternatives may be
/// parts of a name, so a name need not be in the text.
///
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "llvm/ADT/DenseMap.h"
#include <cassert>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// A set of positions in the name: bit I is set if the text read so far can be
/// the first I characters of the name.
using Places = uint64_t;

class NameFinder {
public:
  NameFinder(const PipelineTree &T, StringRef Name) : T(T), Name(Name) {
    assert(Name.size() < 64 && "no bit for its end");
  }

  /// \returns whether \p N is or contains an item that can have the name.
  bool isIn(const PipelineNode &N);

private:
  /// \returns the positions after \p N, a part of a word that is read at \p
  /// From.
  Places read(const PipelineNode &N, Places From);
  Places readNode(const PipelineNode &N, Places From);
  bool isWord(const PipelineNode &N) { return read(N, 1) >> Name.size() & 1; }

  const PipelineTree &T;
  StringRef Name;
  /// Memoized because definitions may use each other many times.
  DenseMap<std::pair<const PipelineNode *, Places>, Places> Known;
  DenseMap<const PipelineNode *, bool> Searched;
};
} // namespace

Places NameFinder::readNode(const PipelineNode &N, Places From) {
  Places To = 0;
  switch (N.Kind) {
  case PipelineNode::Text:
    for (size_t I = 0; I <= Name.size(); ++I)
      if (From >> I & 1 && Name.drop_front(I).starts_with(N.Characters))
        To |= Places(1) << (I + N.Characters.size());
    return To;
  case PipelineNode::Range:
    for (size_t I = 0; I <= Name.size(); ++I)
      for (size_t Size = 1; From >> I & 1 && I + Size <= Name.size(); ++Size) {
        int64_t Value;
        if (!Name.substr(I, Size).getAsInteger(10, Value) && Value >= N.Low &&
            Value <= N.High)
          To |= Places(1) << (I + Size);
      }
    return To;
  case PipelineNode::Params: // Not part of the name.
    return From;
  case PipelineNode::Use:
    return read(T.definition(N), From);
  case PipelineNode::Optional:
    return From | read(N.child(0), From);
  case PipelineNode::Choice:
    for (const auto &C : N.Children)
      To |= read(*C, From);
    return To;
  case PipelineNode::Word:
    for (const auto &C : N.Children)
      From = read(*C, From);
    return From;
  case PipelineNode::List:
    return N.size() == 0 ? From : N.size() == 1 ? read(N.child(0), From) : 0;
  case PipelineNode::Adaptor:
  case PipelineNode::Perm:
  case PipelineNode::Seq:
    return 0;
  }
  llvm_unreachable("all kinds");
}

Places NameFinder::read(const PipelineNode &N, Places From) {
  auto It = Known.find({&N, From});
  if (It != Known.end())
    return It->second;
  Places To = readNode(N, From);
  Known[{&N, From}] = To;
  return To;
}

bool NameFinder::isIn(const PipelineNode &N) {
  auto [It, IsNew] = Searched.try_emplace(&N, false);
  if (!IsNew)
    return It->second;
  bool Found = false;
  switch (N.Kind) {
  case PipelineNode::Params:
    break;
  case PipelineNode::Text:
  case PipelineNode::Word:
  case PipelineNode::Range:
    Found = isWord(N);
    break;
  case PipelineNode::Use:
    Found = isIn(T.definition(N));
    break;
  case PipelineNode::Adaptor:
    Found = isWord(N.child(0)) || isIn(N.child(1));
    break;
  case PipelineNode::Choice:
  case PipelineNode::Optional:
  case PipelineNode::List:
  case PipelineNode::Perm:
  case PipelineNode::Seq:
    Found = any_of(N.Children, [&](const auto &C) { return isIn(*C); });
    break;
  }
  return Searched[&N] = Found;
}

bool PipelineSpace::canName(StringRef Pass) const {
  return NameFinder(I->Tree, Pass).isIn(*I->Tree.Root);
}
