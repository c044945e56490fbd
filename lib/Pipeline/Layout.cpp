//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Layout.h"
#include "Counting.h"
#include "Limits.h"

using namespace llvm;
using namespace llvm::mneme;

/// Marks the bindings that are used inside a seq, where each slot would have
/// decisions of its own.
static void markUsesInSeq(PipelineTree &T, const PipelineNode &N, bool InSeq) {
  if (N.Kind == PipelineNode::Use)
    T.Bindings[N.Binding].InSeq |= InSeq;
  for (const auto &C : N.Children)
    markUsesInSeq(T, *C, InSeq || N.Kind == PipelineNode::Seq);
}

namespace {
class LayoutBuilder {
public:
  explicit LayoutBuilder(PipelineTree &T) : T(T) {}
  Error run();

private:
  PipelineTree &T;

  /// \p Next is the next free index in the frame. The cost of the subtree is
  /// added to \p Cost: its decisions, uses and steps, in all slots.
  Error layOut(PipelineNode &N, unsigned &Next, uint64_t &Cost);
  Error layOutChildren(PipelineNode &N, unsigned &Next, uint64_t &Cost);
  Error layOutSeq(PipelineNode &N, unsigned &Next, uint64_t &Cost);
  Error layOutUse(PipelineNode &N, unsigned &Next, uint64_t &Cost);
  Error measure(PipelineNode &N, uint64_t Cost);
};
} // namespace

/// Decisions of the node itself.
static unsigned countOwn(const PipelineNode &N) {
  switch (N.Kind) {
  case PipelineNode::Choice:
    return N.size() > 1;
  case PipelineNode::Optional:
    return 1;
  case PipelineNode::Range:
    return N.numValues() > 1;
  case PipelineNode::Perm:
    return N.size() - 1;
  case PipelineNode::Seq:
    return N.hasLength();
  default:
    return 0;
  }
}

Error LayoutBuilder::layOut(PipelineNode &N, unsigned &Next, uint64_t &Cost) {
  N.First = Next;
  unsigned Own = countOwn(N);
  Next += Own;
  Cost += Own;
  Error E = N.Kind == PipelineNode::Seq   ? layOutSeq(N, Next, Cost)
            : N.Kind == PipelineNode::Use ? layOutUse(N, Next, Cost)
                                          : layOutChildren(N, Next, Cost);
  if (E)
    return E;
  N.NumDecisions = Next - N.First;
  return measure(N, Cost);
}

Error LayoutBuilder::layOutChildren(PipelineNode &N, unsigned &Next,
                                    uint64_t &Cost) {
  for (auto &C : N.Children) {
    if (Error E = layOut(*C, Next, Cost))
      return E;
    N.UsesShared |= C->UsesShared;
  }
  return Error::success();
}

Error LayoutBuilder::layOutSeq(PipelineNode &N, unsigned &Next,
                               uint64_t &Cost) {
  unsigned InSlot = N.size() > 1;
  uint64_t SlotCost = 1 + InSlot;
  if (Error E = layOutChildren(N, InSlot, SlotCost))
    return E;
  N.Stride = InSlot;
  Cost += N.High * SlotCost;
  if (Cost > MaxPipelineDecisions)
    return measure(N, Cost);
  Next += N.High * InSlot;
  return Error::success();
}

Error LayoutBuilder::layOutUse(PipelineNode &N, unsigned &Next,
                               uint64_t &Cost) {
  PipelineBinding &B = T.Bindings[N.Binding];
  ++Cost;
  N.UsesShared = B.Shared;
  if (!B.isUsedOften()) {
    if (Error E = layOut(*B.Definition, Next, Cost))
      return E;
    N.UsesShared = B.Definition->UsesShared;
  }
  N.Printed = B.Definition->Printed;
  return Error::success();
}

Error LayoutBuilder::measure(PipelineNode &N, uint64_t Cost) {
  if (Cost > MaxPipelineDecisions)
    return makeError(N.Pos,
                     "more than " + Twine(MaxPipelineDecisions) + " decisions");
  uint64_t Sum = 0, Max = 0;
  for (const auto &C : N.Children) {
    Sum += C->Printed + 1;
    Max = std::max(Max, C->Printed + 1);
  }
  if (N.Kind == PipelineNode::Choice)
    N.Printed = Max;
  else if (N.Kind == PipelineNode::Seq)
    N.Printed = N.High * Max;
  else if (N.Kind != PipelineNode::Use)
    N.Printed = Sum + N.Characters.size() + 20; // the digits of an integer
  if (N.Printed > MaxPipelinePrinted)
    return makeError(N.Pos, "pipelines of more than " +
                                Twine(MaxPipelinePrinted) + " bytes");
  return Error::success();
}

Error LayoutBuilder::run() {
  markUsesInSeq(T, *T.Root, false);
  for (const PipelineBinding &B : T.Bindings)
    markUsesInSeq(T, *B.Definition, false);

  uint64_t Cost = 0;
  std::vector<unsigned> Sizes;
  for (auto [I, B] : enumerate(T.Bindings)) {
    if (!B.isUsedOften())
      continue;
    unsigned Size = 0;
    if (Error E = layOut(*B.Definition, Size, Cost))
      return E;
    B.Shared = B.Definition->varies();
    if (!B.Shared)
      continue;
    if (T.Shared.size() == MaxPipelineShared)
      return makeError(B.Pos, "more than " + Twine(MaxPipelineShared) +
                                  " named choices that are used often");
    B.Bit = T.Shared.size();
    T.Shared.push_back(I);
    Sizes.push_back(Size);
  }
  if (Error E = layOut(*T.Root, T.NumDecisions, Cost))
    return E;
  for (unsigned Bit = T.Shared.size(); Bit-- > 0;) {
    T.Bindings[T.Shared[Bit]].Base = T.NumDecisions;
    T.NumDecisions += Sizes[Bit];
  }
  return Error::success();
}

Error mneme::layOutDecisions(PipelineTree &T) { return LayoutBuilder(T).run(); }

namespace {
/// The conditions for a node to be active: any of these holds. Always if empty.
using Context = std::vector<PipelineDecision::Condition>;

class DecisionWriter {
public:
  explicit DecisionWriter(const PipelineTree &T)
      : T(T), Uses(T.Shared.size()), Always(T.Shared.size()),
        Decisions(T.NumDecisions) {}
  Expected<std::vector<PipelineDecision>> run();

private:
  const PipelineTree &T;
  std::vector<Context> Uses; ///< Of the shared named choices.
  std::vector<bool> Always;
  std::vector<PipelineDecision> Decisions;
  uint64_t NumConditions = 0;

  void write(const PipelineNode &N, unsigned Base, const std::string &Path,
             const Context &C);
  void writeAlternatives(const PipelineNode &N, unsigned Decision,
                         unsigned Base, const std::string &Path,
                         const Context &C);
  void writeSeq(const PipelineNode &N, unsigned Base, const std::string &Path,
                const Context &C);
  void writeUse(const PipelineNode &N, unsigned Base, const Context &C);
  PipelineDecision &add(unsigned At, PipelineDecision::KindTy Kind,
                        uint64_t Count, std::string Name, const Context &C);
};
} // namespace

static std::string below(const std::string &Path, size_t I) {
  return Path.empty() ? std::to_string(I) : Path + "." + std::to_string(I);
}

PipelineDecision &DecisionWriter::add(unsigned At,
                                      PipelineDecision::KindTy Kind,
                                      uint64_t Count, std::string Name,
                                      const Context &C) {
  PipelineDecision &D = Decisions[At];
  D.Kind = Kind;
  D.Count = Count;
  D.Name = std::move(Name);
  NumConditions += C.size();
  if (NumConditions <= MaxPipelineConditions)
    D.ActiveIf = C;
  return D;
}

/// \p Decision chooses the alternative.
void DecisionWriter::writeAlternatives(const PipelineNode &N, unsigned Decision,
                                       unsigned Base, const std::string &Path,
                                       const Context &C) {
  if (N.size() == 1)
    return write(N.child(0), Base, below(Path, 0), C);
  PipelineDecision &D =
      add(Decision, PipelineDecision::Alternative, N.size(), Path, C);
  for (auto [I, Child] : enumerate(N.Children)) {
    D.Labels.push_back(T.print(*Child));
    write(*Child, Base, below(Path, I), {{Decision, I, I + 1}});
  }
}

void DecisionWriter::writeSeq(const PipelineNode &N, unsigned Base,
                              const std::string &Path, const Context &C) {
  unsigned Length = Base + N.First;
  uint64_t Count = N.High - N.Low + 1;
  if (N.hasLength())
    add(Length, PipelineDecision::Length, Count, Path, C).Low = N.Low;
  for (unsigned I = 0; I != N.High; ++I) {
    unsigned Slot = Base + N.slot(I);
    if (I < N.Low)
      writeAlternatives(N, Slot, Slot, below(Path, I), C);
    else
      writeAlternatives(N, Slot, Slot, below(Path, I),
                        {{Length, I + 1 - uint64_t(N.Low), Count}});
  }
}

void DecisionWriter::writeUse(const PipelineNode &N, unsigned Base,
                              const Context &C) {
  const PipelineBinding &B = T.Bindings[N.Binding];
  if (!B.Shared)
    return write(*B.Definition, Base, B.Name, C);
  if (C.empty())
    Always[B.Bit] = true;
  NumConditions += C.size();
  if (NumConditions > MaxPipelineConditions)
    return;
  append_range(Uses[B.Bit], C);
}

void DecisionWriter::write(const PipelineNode &N, unsigned Base,
                           const std::string &Path, const Context &C) {
  if (!N.varies() || NumConditions > MaxPipelineConditions)
    return;
  unsigned First = Base + N.First;
  switch (N.Kind) {
  case PipelineNode::Choice:
    return writeAlternatives(N, First, Base, Path, C);
  case PipelineNode::Seq:
    return writeSeq(N, Base, Path, C);
  case PipelineNode::Use:
    return writeUse(N, Base, C);
  case PipelineNode::Optional:
    add(First, PipelineDecision::Optional, 2, Path, C);
    return write(N.child(0), Base, below(Path, 0), {{First, 1, 2}});
  case PipelineNode::Range: {
    PipelineDecision &D =
        add(First, PipelineDecision::Integer, N.numValues(), Path, C);
    D.Low = N.Low;
    D.Step = N.Step;
    return;
  }
  case PipelineNode::Perm:
    for (unsigned I = 0; I + 1 != N.size(); ++I)
      add(First + I, PipelineDecision::Rank, N.size() - I,
          Path + "#" + std::to_string(I), C);
    break;
  default:
    break;
  }
  for (auto [I, Child] : enumerate(N.Children))
    write(*Child, Base, below(Path, I), C);
}

Expected<std::vector<PipelineDecision>> DecisionWriter::run() {
  write(*T.Root, 0, "", {});
  for (unsigned Bit = T.Shared.size(); Bit-- > 0;) {
    const PipelineBinding &B = T.Bindings[T.Shared[Bit]];
    Context &C = Uses[Bit];
    auto Key = [](const PipelineDecision::Condition &X) {
      return std::tuple(X.Decision, X.From, X.To);
    };
    llvm::sort(C, [&](auto &X, auto &Y) { return Key(X) < Key(Y); });
    C.erase(llvm::unique(C, [&](auto &X, auto &Y) { return Key(X) == Key(Y); }),
            C.end());
    write(*B.Definition, B.Base, B.Name, Always[Bit] ? Context() : C);
    if (NumConditions > MaxPipelineConditions)
      return makeError(B.Pos, "'" + B.Name + "' is used in too many places");
  }
  return std::move(Decisions);
}

Expected<std::vector<PipelineDecision>>
mneme::describeDecisions(const PipelineTree &T) {
  return DecisionWriter(T).run();
}
