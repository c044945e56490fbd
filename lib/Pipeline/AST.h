//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tree of a pipeline space: its syntax, the indices of its decisions in a
/// point, and the number of ways to choose each part.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_PIPELINE_AST_H
#define LLVM_MNEME_LIB_PIPELINE_AST_H

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// From 1; columns in bytes.
struct SourcePos {
  unsigned Line = 1, Column = 1;
};

/// Returns the TextError "Message" at \p Pos.
Error makeError(SourcePos Pos, const Twine &Message);

/// The number of ways to choose a node, by the set of shared named choices that
/// they use (bits in the order of PipelineTree::Shared). Sorted by set, each
/// set once, no zeros.
using Ways = SmallVector<std::pair<uint64_t, APInt>, 1>;

struct PipelineNode {
  enum KindTy {
    Text,     ///< Part of a word.
    Word,     ///< Children glued together.
    Params,   ///< "<a;b>"; children are items.
    Range,    ///< "[lo..hi:step]".
    Choice,   ///< "{a|b}"; children are Lists.
    Optional, ///< "x?".
    Adaptor,  ///< "name(items)"; two children.
    List,     ///< Items.
    Perm,     ///< "perm(items)".
    Seq,      ///< "seq<lo..hi>(a|b)"; children are Lists.
    Use,      ///< "$name" or "$name={...}".
  };
  PipelineNode(KindTy Kind, SourcePos Pos) : Kind(Kind), Pos(Pos) {}

  KindTy Kind;
  SourcePos Pos;
  std::string Characters; ///< Of Text, without escapes.
  std::vector<std::unique_ptr<PipelineNode>> Children;
  int64_t Low = 0, High = 0, Step = 1; ///< Of Range; Low and High of Seq.
  unsigned Binding = 0;                ///< Of Use: which.
  bool Binds = false;                  ///< Of Use: "$name={...}".
  char Separator = ',';                ///< Of List: ';' in parameters.

  /// Index of the node's first decision in its frame, which is the whole tree,
  /// a slot of a seq or a shared named choice. The node's own decisions precede
  /// its children's.
  unsigned First = 0;
  unsigned NumDecisions = 0; ///< Including its children's.
  unsigned Stride = 0;       ///< Of Seq: decisions of a slot.
  bool UsesShared = false;   ///< A shared named choice is used below the node.
  uint64_t Printed = 0;      ///< Upper bound of its text in bytes.

  Ways Total;
  /// For a product of children: the ways of the varying children from the I-th
  /// on. For a Seq: the ways of I slots.
  std::vector<Ways> Tail;
  SmallVector<PipelineNode *, 0> Varying; ///< Children with more than one way.

  size_t size() const { return Children.size(); }
  PipelineNode &child(size_t I) const { return *Children[I]; }
  bool varies() const { return NumDecisions || UsesShared; }
  /// For a Range: the number of its values.
  uint64_t numValues() const {
    return (uint64_t(High) - uint64_t(Low)) / uint64_t(Step) + 1;
  }
  /// For a Seq: whether its length is a decision, and the index of slot \p I's
  /// first decision in the frame.
  bool hasLength() const { return High > Low; }
  unsigned slot(unsigned I) const { return First + hasLength() + I * Stride; }
};

struct PipelineBinding {
  std::string Name; ///< With its '$'.
  SourcePos Pos;
  std::unique_ptr<PipelineNode> Definition;
  unsigned Height = 0; ///< Levels of nesting in the definition.
  unsigned NumUses = 0;
  bool InSeq = false; ///< A use lies in a seq.
  bool isUsedOften() const { return NumUses > 1 || InSeq; }
  /// Used often and varies. Its decisions come after those of the tree.
  bool Shared = false;
  unsigned Bit = 0;  ///< If shared.
  unsigned Base = 0; ///< If shared: where its frame begins.
};

struct PipelineTree {
  std::unique_ptr<PipelineNode> Root;
  /// In the order in which their definitions end, so that a definition uses
  /// only earlier bindings.
  std::vector<PipelineBinding> Bindings;
  std::vector<unsigned> Definitions; ///< Bindings before the pipeline: "$x={a};"
  std::vector<unsigned> Shared;      ///< Bindings, by bit.
  unsigned NumDecisions = 0;

  const PipelineNode &definition(const PipelineNode &Use) const {
    return *Bindings[Use.Binding].Definition;
  }
  /// \returns where the frame of the definition of \p Use begins. The frame of
  /// \p Use begins at \p Base.
  unsigned base(const PipelineNode &Use, unsigned Base) const {
    const PipelineBinding &B = Bindings[Use.Binding];
    return B.Shared ? B.Base : Base;
  }
  /// \returns whether \p N can be part of a name. If not, \p Not is the
  /// offending node.
  bool isPartOfName(const PipelineNode &N, const PipelineNode *&Not) const;
  /// \returns whether \p N can print as nothing.
  bool canBeEmpty(const PipelineNode &N) const;
  /// Prints the source in normal form.
  std::string print() const;
  std::string print(const PipelineNode &N) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_PIPELINE_AST_H
