//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Spaces of pass pipelines: LLVM's textual pipelines with choices
/// (docs/PipelineSpaces). Pure text processing, independent of the available
/// passes.
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

/// One of the choices of a point in a space. Its values are 0 to Count - 1.
struct PipelineDecision {
  enum KindTy {
    Alternative, ///< The index in {a|b|c}, in the order of the text.
    Optional,    ///< 1 if x? is present.
    Integer,     ///< [lo..hi:step]: Low + value * Step.
    Rank,   ///< perm(): index of the next element among those not yet placed.
    Length, ///< seq<lo..hi>: Low + value elements.
  };
  KindTy Kind;
  uint64_t Count;
  int64_t Low = 0, Step = 1;
  std::vector<std::string> Labels; ///< Text of each Alternative.
  /// Unique in the space and stable: the name of a named choice ("$level"),
  /// otherwise the path from the root ("0.2.1").
  std::string Name;

  /// A condition that an earlier decision is active and has a value in [From,
  /// To).
  struct Condition {
    unsigned Decision;
    uint64_t From, To;
  };
  /// The decision is active if any of these holds, or if there are none. There
  /// are several if a named choice is used more than once.
  std::vector<Condition> ActiveIf;
};

/// One value per decision of a space. Canonical points have 0 for inactive
/// decisions; equal canonical points result from equal choices.
using PipelinePoint = std::vector<uint64_t>;

using RandomEngine = std::mt19937_64;

/// A pipeline that contains one pass of a space in its context.
struct PipelineProbe {
  struct Place {
    unsigned Line, Column;
    std::string Text; ///< "gvn<no-pre>", "function<eager-inv>".
  };
  std::string Pipeline;
  std::vector<Place> Path; ///< Adaptors from the outermost; the pass last.
  /// The top-level element in front of the pass, from which LLVM infers the
  /// kind of passes in the pipeline; may be empty.
  std::string First;
};

/// A parsed space of pass pipelines.
class PipelineSpace {
public:
  /// Parses a space. Errors are TextErrors.
  static Expected<PipelineSpace> parse(StringRef Text);
  PipelineSpace(PipelineSpace &&);
  PipelineSpace &operator=(PipelineSpace &&);
  PipelineSpace(const PipelineSpace &);
  PipelineSpace &operator=(const PipelineSpace &);
  ~PipelineSpace();

  /// Prints the space in normal form; parsing it returns an equal space.
  std::string print() const;
  /// Prints the pipeline of a point in LLVM's syntax.
  std::string print(const PipelinePoint &P) const;

  ArrayRef<PipelineDecision> decisions() const;
  bool isActive(const PipelinePoint &P, unsigned Decision) const;
  /// Returns isActive() for each decision.
  std::vector<bool> activity(const PipelinePoint &P) const;
  /// Sets inactive decisions to 0.
  void canonicalize(PipelinePoint &P) const;

  /// Returns the number of canonical points, with the necessary bit width.
  APInt count() const;
  /// Returns the point with this index below count().
  PipelinePoint at(const APInt &Index) const;
  APInt indexOf(const PipelinePoint &P) const;
  /// Calls \p Fn with all points in the order of their indices, until it
  /// returns false.
  void enumerate(function_ref<bool(const PipelinePoint &)> Fn) const;
  /// Finds a point that prints as \p Pipeline, ignoring spaces. Returns nothing
  /// if there is none or the search takes too many steps.
  std::optional<PipelinePoint> find(StringRef Pipeline) const;

  /// Returns true if a point can contain a pass or an adaptor with this name of
  /// less than 64 characters, ignoring parameters. Also returns true for some
  /// names that require a named choice to have different values at two uses.
  bool canName(StringRef Pass) const;

  /// Returns pipelines for checking the passes of a space, in the order of the
  /// text: each pass of each alternative in its context, with integers at their
  /// bounds, and alone before following others. Does not include all
  /// combinations of alternatives in the name and parameters of a pass.
  std::vector<PipelineProbe> probes() const;

  /// Returns a uniformly distributed canonical point.
  PipelinePoint sample(RandomEngine &Random) const;
  /// Returns a point one change away: another value of a decision; an element
  /// of a sequence inserted, removed, replaced, swapped or moved; or two
  /// elements of a permutation swapped. Newly active decisions get random
  /// values. Equal to \p P only in a space with one point.
  PipelinePoint mutate(const PipelinePoint &P, RandomEngine &Random) const;
  /// Combines decisions of both points, and cuts and splices their sequences.
  PipelinePoint crossover(const PipelinePoint &A, const PipelinePoint &B,
                          RandomEngine &Random) const;
  /// Returns all distinct canonical points, except \p P, that differ in the
  /// value of one decision (integers: by one step), or in one insertion,
  /// removal or swap of neighbours in a sequence or permutation. Newly active
  /// decisions are 0.
  std::vector<PipelinePoint> neighbours(const PipelinePoint &P) const;
  /// Like above for at most \p Max changes, drawn at random if there are more.
  std::vector<PipelinePoint> neighbours(const PipelinePoint &P, size_t Max,
                                        RandomEngine &Random) const;

private:
  struct Impl;
  std::shared_ptr<const Impl> I;
  explicit PipelineSpace(std::shared_ptr<const Impl> I);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PIPELINE_PIPELINESPACE_H
