//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Spaces of pass pipelines: LLVM's textual pipelines with choices in them
/// (docs/PipelineSpaces). Pure text: nothing here knows which passes there are.
///
///   module(function({sroa|sroa<modify-cfg>},gvn?,
///                   simplifycfg<bonus-inst-threshold=[1..4]>))
///   function(perm(sroa,early-cse,instcombine))
///   function(seq<4..12>(gvn|licm?|dse|instcombine))
///   $level={O2|O3}; default<$level>,function(loop-unroll<$level>)
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PIPELINE_PIPELINESPACE_H
#define LLVM_MNEME_PIPELINE_PIPELINESPACE_H

#include "llvm/ADT/APInt.h"
#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// What is wrong with the text of a space, and where.
class PipelineSpaceError : public ErrorInfo<PipelineSpaceError> {
public:
  static char ID;
  PipelineSpaceError(unsigned Line, unsigned Column, std::string Message)
      : Line(Line), Column(Column), Message(std::move(Message)) {}
  unsigned Line, Column; ///< From 1; columns in bytes.
  std::string Message;
  /// "1:14: expected ')'".
  void log(raw_ostream &OS) const override;
  std::error_code convertToErrorCode() const override;
};

/// One of the choices that a point of a space makes. Its values are 0 to
/// Count - 1.
struct PipelineDecision {
  enum KindTy {
    Alternative, ///< Which one of {a|b|c}, in the order of the text.
    Optional,    ///< 1: x? is there.
    Integer,     ///< [lo..hi:step]: Low + value * Step.
    Rank,   ///< perm(): which of the elements that are not placed yet is next.
    Length, ///< seq<lo..hi>: Low + value elements.
  };
  KindTy Kind;
  uint64_t Count;
  int64_t Low = 0, Step = 1;
  std::vector<std::string> Labels; ///< Of an Alternative: as written.
  /// Unique in the space and stable: the name of a named choice ("$level"),
  /// else the way down from the root ("0.2.1").
  std::string Name;

  /// The decision matters only where another one, earlier in the list, has a
  /// value in [From, To) and matters itself.
  struct Condition {
    unsigned Decision;
    uint64_t From, To;
  };
  /// It matters if any of these holds; always, when there is none. There are
  /// several when a named choice is used more than once.
  std::vector<Condition> ActiveIf;
};

/// A value for each decision of a space. Of decisions that do not matter it is
/// 0 in a canonical point; canonical points are equal when their pipelines
/// were chosen in the same way.
using PipelinePoint = std::vector<uint64_t>;

using RandomEngine = std::mt19937_64;

/// A pipeline that has one pass of a space in its place.
struct PipelineProbe {
  struct Place {
    unsigned Line, Column;
    std::string Text; ///< "gvn<no-pre>", "function<eager-inv>".
  };
  std::string Pipeline;
  std::vector<Place> Path; ///< The adaptors from the outermost; the pass last.
  /// The pass stands behind something else at the top, which tells LLVM what
  /// kind of passes the pipeline has.
  std::string First;
};

class PipelineSpace {
public:
  /// Errors are PipelineSpaceErrors.
  static Expected<PipelineSpace> parse(StringRef Text);
  PipelineSpace(PipelineSpace &&);
  PipelineSpace &operator=(PipelineSpace &&);
  PipelineSpace(const PipelineSpace &);
  PipelineSpace &operator=(const PipelineSpace &);
  ~PipelineSpace();

  /// The space in its normal form; parses to an equal space.
  std::string print() const;
  /// The pipeline of a point, as LLVM parses it.
  std::string print(const PipelinePoint &P) const;

  ArrayRef<PipelineDecision> decisions() const;
  bool isActive(const PipelinePoint &P, unsigned Decision) const;
  /// isActive() of all decisions.
  std::vector<bool> activity(const PipelinePoint &P) const;
  void canonicalize(PipelinePoint &P) const;

  /// How many canonical points there are, as wide as it takes.
  APInt count() const;
  /// The point with this number, which is below count().
  PipelinePoint at(const APInt &Index) const;
  APInt indexOf(const PipelinePoint &P) const;
  /// Hands all points to \p Fn, in order of their numbers, until it returns
  /// false.
  void enumerate(function_ref<bool(const PipelinePoint &)> Fn) const;
  /// A point that prints as \p Pipeline does without its spaces; unset: there
  /// is none, or finding it takes more than a great many steps.
  std::optional<PipelinePoint> find(StringRef Pipeline) const;

  /// Can a point have a pass or an adaptor of this name, which has less than 64
  /// characters? Its parameters do not count. True also for some names that
  /// only points could give that choose differently at two uses of one name.
  bool canName(StringRef Pass) const;

  /// Pipelines for somebody who knows passes, in the order of the text: each
  /// pass of each alternative in its place, an integer at its ends, alone
  /// before it is behind others. Of a pass with many alternatives in its name
  /// and parameters not all combinations.
  std::vector<PipelineProbe> probes() const;

  /// Each canonical point is as likely as any other.
  PipelinePoint sample(RandomEngine &Random) const;
  /// Another point one change away: another value for a decision, an element
  /// of a sequence inserted, removed, replaced, swapped with any or moved, two
  /// of a permutation swapped. What did not matter before gets random values.
  /// Equal to \p P only in a space of one.
  PipelinePoint mutate(const PipelinePoint &P, RandomEngine &Random) const;
  /// Decisions of both, and parts of both sequences at sequences (cut and
  /// spliced).
  PipelinePoint crossover(const PipelinePoint &A, const PipelinePoint &B,
                          RandomEngine &Random) const;
  /// All points that differ in the value of one decision (an integer: one step
  /// up or down), or in one insertion, removal or swap of neighbours in a
  /// sequence or permutation. What did not matter before is 0. Canonical,
  /// without \p P, each once.
  std::vector<PipelinePoint> neighbours(const PipelinePoint &P) const;

private:
  struct Impl;
  std::shared_ptr<const Impl> I;
  explicit PipelineSpace(std::shared_ptr<const Impl> I);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PIPELINE_PIPELINESPACE_H
