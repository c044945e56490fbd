//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the point that prints as a given pipeline, with a backtracking
/// matcher. The remaining steps form a linked list, so that a postponed
/// alternative is a pointer into it.
///
//===----------------------------------------------------------------------===//

#include "Impl.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Allocator.h"

using namespace llvm;
using namespace llvm::mneme;

/// Limits the search to less than a second and 100 MB.
static constexpr unsigned MaxSteps = 1 << 18;

namespace {
struct Step {
  enum KindTy {
    Items,  ///< Node's items, in a list with this separator.
    Word,   ///< Node as a part of a word.
    Done,   ///< The end of an item that began at At.
    Open,   ///< '(', Node's items, and ')'.
    Close,  ///< Closing bracket; text must have come since At.
    Resume, ///< Return to the state in Saved.
    Slots,  ///< The slots of a Seq from the I-th on.
    Ranks,  ///< The places of a Perm from the I-th on.
  };
  /// State of the text around the next item.
  struct TextState {
    char Pending = 0;     ///< Separator before the next item's text.
    bool Started = false; ///< The list has an item.
    bool Silent = false;  ///< No text may follow.
  };
  KindTy Kind;
  const PipelineNode *Node = nullptr;
  unsigned Base = 0;
  char Separator = ','; ///< Of Close: the bracket.
  unsigned I = 0;
  size_t At = 0;
  TextState Saved{};
  const Step *Next = nullptr;
};

class Matcher {
public:
  Matcher(const PipelineTree &T, StringRef Text)
      : T(T), Text(Text), Values(T.NumDecisions) {}
  bool run();
  PipelinePoint point() const {
    PipelinePoint P;
    for (const std::optional<uint64_t> &V : Values)
      P.push_back(V.value_or(0));
    return P;
  }

private:
  const PipelineTree &T;
  StringRef Text;
  std::vector<std::optional<uint64_t>> Values;
  std::vector<unsigned> Trail; ///< Decided decisions, in order.
  BumpPtrAllocator Allocator;

  struct State {
    size_t At = 0;
    Step::TextState TS;
    const Step *Rest = nullptr;
    size_t TrailSize = 0;
    std::optional<std::pair<unsigned, uint64_t>> Assign;
  };
  State Now;
  std::vector<State> Others; ///< Alternatives, the next to try last.

  void push(Step S) {
    S.Next = Now.Rest;
    Now.Rest = new (Allocator) Step(S);
  }
  void pushWord(const PipelineNode &N, unsigned Base) {
    push({Step::Word, &N, Base});
  }
  void pushItems(const PipelineNode &N, unsigned Base, char Separator) {
    push({Step::Items, &N, Base, Separator});
  }
  void pushChildren(const PipelineNode &N, unsigned Base, char Separator) {
    for (auto &C : reverse(N.Children))
      pushItems(*C, Base, Separator);
  }
  bool emit(StringRef S);
  void assign(unsigned Decision, uint64_t Value) {
    Values[Decision] = Value;
    Trail.push_back(Decision);
  }
  /// Calls \p Continue(value), which pushes the steps that follow from a value
  /// of \p Decision. If several values are possible, postpones each of them and
  /// \returns false.
  template <typename Fn>
  bool decide(unsigned Decision, uint64_t Count, Fn Continue);
  void putAside(State Before, unsigned Decision, uint64_t Value);
  bool resume();

  bool step(const Step &S);
  bool matchItems(const Step &S);
  bool matchWord(const Step &S);
  bool matchRange(const PipelineNode &N, unsigned Base);
  bool matchSlots(const Step &S);
  bool matchRanks(const Step &S);
  void matchSilently(const PipelineNode &N, unsigned Base, char Separator);
  bool open(const PipelineNode &N, unsigned Base, char Open, char Close);
};
} // namespace

bool Matcher::emit(StringRef S) {
  if (S.empty())
    return true;
  if (Now.TS.Silent)
    return false;
  if (Now.TS.Pending) {
    if (!Text.substr(Now.At).starts_with(StringRef(&Now.TS.Pending, 1)))
      return false;
    ++Now.At;
    Now.TS.Pending = 0;
  }
  if (!Text.substr(Now.At).starts_with(S))
    return false;
  Now.At += S.size();
  return true;
}

void Matcher::putAside(State Before, unsigned Decision, uint64_t Value) {
  Before.TrailSize = Trail.size();
  Before.Assign = {Decision, Value};
  Others.push_back(Before);
}

template <typename Fn>
bool Matcher::decide(unsigned Decision, uint64_t Count, Fn Continue) {
  if (Count == 1) {
    Continue(0);
    return true;
  }
  if (Values[Decision]) {
    Continue(*Values[Decision]);
    return true;
  }
  State Before = Now;
  for (uint64_t Value = Count; Value-- > 0;) {
    Now = Before;
    Continue(Value);
    putAside(Now, Decision, Value);
  }
  return false; // resume() takes the first one.
}

bool Matcher::resume() {
  if (Others.empty())
    return false;
  Now = Others.back();
  Others.pop_back();
  for (; Trail.size() > Now.TrailSize; Trail.pop_back())
    Values[Trail.back()].reset();
  if (Now.Assign)
    assign(Now.Assign->first, Now.Assign->second);
  return true;
}

/// Matches the children of \p N with no text.
void Matcher::matchSilently(const PipelineNode &N, unsigned Base,
                            char Separator) {
  Step Resume{Step::Resume};
  Resume.Saved = Now.TS;
  push(Resume);
  pushChildren(N, Base, Separator);
  Now.TS = {0, false, true};
}

bool Matcher::open(const PipelineNode &N, unsigned Base, char Open,
                   char Close) {
  if (!emit(StringRef(&Open, 1)))
    return false;
  push({Step::Close, nullptr, 0, Close, 0, Now.At, Now.TS});
  pushChildren(N, Base, Open == '<' ? ';' : ',');
  Now.TS.Started = false;
  return true;
}

bool Matcher::matchRange(const PipelineNode &N, unsigned Base) {
  unsigned Decision = Base + N.First;
  if (N.numValues() == 1)
    return emit(std::to_string(N.Low));
  if (Values[Decision])
    return emit(std::to_string(N.Low + int64_t(*Values[Decision]) * N.Step));
  if (!emit("") || Now.TS.Silent)
    return false;
  // Some of the digits may not belong to the integer.
  size_t Begin = Now.At + (Now.TS.Pending ? 1 : 0);
  StringRef Digits = Text.substr(Begin);
  size_t Size = Digits.starts_with("-") ? 1 : 0;
  State Before = Now;
  for (; Size < Digits.size() && isDigit(Digits[Size]); ++Size) {
    int64_t Value;
    StringRef Number = Digits.take_front(Size + 1);
    if (Number.getAsInteger(10, Value) || std::to_string(Value) != Number ||
        Value < N.Low || Value > N.High)
      continue;
    uint64_t Offset = uint64_t(Value) - uint64_t(N.Low);
    Now = Before;
    if (Offset % N.Step == 0 && emit(Number))
      putAside(Now, Decision, Offset / N.Step);
  }
  return false;
}

bool Matcher::matchSlots(const Step &S) {
  const PipelineNode &N = *S.Node;
  unsigned Length = S.Base + N.First;
  bool Stop = S.I >= N.Low, Go = S.I < N.High;
  if (N.hasLength() && Values[Length]) {
    Stop = S.I == N.Low + *Values[Length];
    Go = !Stop;
  }
  if (Stop && Go) {
    // Postpone the alternative that the sequence ends here.
    putAside(Now, Length, S.I - N.Low);
  } else if (Stop) {
    if (N.hasLength() && !Values[Length])
      assign(Length, S.I - N.Low);
    return true;
  }
  Step More = S;
  ++More.I;
  push(More);
  unsigned Slot = S.Base + N.slot(S.I);
  return decide(Slot, N.size(), [&](uint64_t Value) {
    pushItems(N.child(Value), Slot, S.Separator);
  });
}

bool Matcher::matchRanks(const Step &S) {
  const PipelineNode &N = *S.Node;
  if (S.I == N.size())
    return true;
  std::vector<unsigned> Left(N.size());
  std::iota(Left.begin(), Left.end(), 0);
  for (unsigned I = 0; I != S.I; ++I)
    Left.erase(Left.begin() + *Values[S.Base + N.First + I]);
  Step More = S;
  ++More.I;
  push(More);
  return decide(S.Base + N.First + S.I, Left.size(), [&](uint64_t Value) {
    pushItems(N.child(Left[Value]), S.Base, S.Separator);
  });
}

bool Matcher::matchItems(const Step &S) {
  const PipelineNode &N = *S.Node;
  unsigned First = S.Base + N.First;
  switch (N.Kind) {
  case PipelineNode::List:
    pushChildren(N, S.Base, S.Separator);
    return true;
  case PipelineNode::Choice:
    return decide(First, N.size(), [&](uint64_t Value) {
      pushItems(N.child(Value), S.Base, S.Separator);
    });
  case PipelineNode::Optional:
    return decide(First, 2, [&](uint64_t Value) {
      if (Value)
        pushItems(N.child(0), S.Base, S.Separator);
    });
  case PipelineNode::Use:
    pushItems(T.definition(N), T.base(N, S.Base), S.Separator);
    return true;
  case PipelineNode::Perm:
    push({Step::Ranks, &N, S.Base, S.Separator});
    return true;
  case PipelineNode::Seq:
    push({Step::Slots, &N, S.Base, S.Separator});
    return true;
  default:
    push({Step::Done, nullptr, 0, S.Separator, 0, Now.At});
    pushWord(N, S.Base);
    Now.TS.Pending = Now.TS.Started ? S.Separator : 0;
    return true;
  }
}

bool Matcher::matchWord(const Step &S) {
  const PipelineNode &N = *S.Node;
  unsigned First = S.Base + N.First;
  switch (N.Kind) {
  case PipelineNode::Text:
    return emit(N.Characters);
  case PipelineNode::Range:
    return matchRange(N, S.Base);
  case PipelineNode::Choice:
    return decide(First, N.size(), [&](uint64_t Value) {
      pushWord(N.child(Value), S.Base);
    });
  case PipelineNode::Optional:
    return decide(First, 2, [&](uint64_t Value) {
      if (Value)
        pushWord(N.child(0), S.Base);
    });
  case PipelineNode::Use:
    pushWord(T.definition(N), T.base(N, S.Base));
    return true;
  case PipelineNode::Params: {
    State Before = Now;
    matchSilently(N, S.Base, ';');
    std::swap(Before, Now);
    if (Now.TS.Silent || !open(N, S.Base, '<', '>')) {
      Now = Before;
      return true;
    }
    Before.TrailSize = Trail.size();
    Before.Assign.reset();
    Others.push_back(Before);
    return true;
  }
  case PipelineNode::Adaptor: {
    State Before = Now;
    matchSilently(N.child(1), S.Base, ',');
    std::swap(Before, Now);
    if (Now.TS.Silent) {
      Now = Before;
      return true;
    }
    Before.TrailSize = Trail.size();
    Before.Assign.reset();
    Others.push_back(Before);
    push({Step::Open, &N.child(1), S.Base});
    pushWord(N.child(0), S.Base);
    return true;
  }
  default:
    for (auto &C : reverse(N.Children))
      pushWord(*C, S.Base);
    return true;
  }
}

/// \returns false if the text does not match, or if all alternatives were
/// postponed.
bool Matcher::step(const Step &S) {
  switch (S.Kind) {
  case Step::Items:
    return matchItems(S);
  case Step::Word:
    return matchWord(S);
  case Step::Slots:
    return matchSlots(S);
  case Step::Ranks:
    return matchRanks(S);
  case Step::Open:
    return open(*S.Node, S.Base, '(', ')');
  case Step::Done:
    Now.TS.Pending = 0;
    Now.TS.Started |= Now.At != S.At;
    return true;
  case Step::Close:
    if (Now.At == S.At || !emit(StringRef(&S.Separator, 1)))
      return false;
    Now.TS = S.Saved;
    return true;
  case Step::Resume:
    Now.TS = S.Saved;
    return true;
  }
  llvm_unreachable("all kinds");
}

bool Matcher::run() {
  pushItems(*T.Root, 0, ',');
  for (unsigned I = 0; I + Others.size() < MaxSteps; ++I) {
    if (!Now.Rest) {
      if (Now.At == Text.size())
        return true;
      if (!resume())
        return false;
      continue;
    }
    const Step &S = *Now.Rest;
    Now.Rest = S.Next;
    if (!step(S) && !resume())
      return false;
  }
  return false;
}

std::optional<PipelinePoint> PipelineSpace::find(StringRef Pipeline) const {
  std::string Text;
  for (char C : Pipeline)
    if (!isSpace(C))
      Text += C;
  Matcher M(I->Tree, Text);
  if (!M.run())
    return std::nullopt;
  PipelinePoint P = M.point();
  canonicalize(P);
  return P;
}
