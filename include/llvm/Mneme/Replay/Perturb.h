//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recorded launches with other inputs: a candidate that was made for the
/// recorded ones fails on them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_PERTURB_H
#define LLVM_MNEME_REPLAY_PERTURB_H

#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// Floating-point numbers that are drawn. Integers are within the range of
/// their buffer; with others than Near, also any that the IR permits, unless
/// they decide where the kernel accesses memory or how often a loop runs.
enum class DrawnValues {
  Near,      ///< Within a factor of two, with either sign.
  Far,       ///< Of any magnitude, and zeros.
  NonFinite, ///< As Far, with some NaNs and infinities.
};

/// Scalar arguments that are drawn: floating-point numbers, and integers from 1
/// to the recorded value, or beside it if that is 0, 1 or negative. A scalar
/// that the recorded code does not work with alone is drawn with others, too.
enum class DrawnScalars {
  None,
  Each,    ///< One after the other.
  Related, ///< All at once: products, multiples and neighbours stay what they
           ///< are to each other, such as a width and the stride of rows.
  Some,    ///< As Each, but some, chosen at random, keep their values.
};

/// How the inputs of a launch are drawn.
struct PerturbOptions {
  uint64_t Seed = 0;
  /// Only put the elements of each buffer in another order, so that the launch
  /// does the same work. Otherwise, also draw other values, in particular for
  /// buffers whose elements are all equal.
  bool OnlyOrder = false;
  /// With rules of comparison other than equality, with results that vary, and
  /// for code that is compiled for finite numbers, Near replaces others.
  DrawnValues Values = DrawnValues::Near;
  DrawnScalars Scalars = DrawnScalars::None;
  /// Integers among them are multiples of powers of two, or of the number of
  /// threads or blocks: code for whole blocks is wrong for such sizes only.
  bool RoundScalars = false;
  /// Also give the buffers another order and other distances.
  bool MovesBuffers = false;
};

/// The input of PerturbOptions::MovesBuffers.
inline constexpr StringLiteral BufferDistances = "distances of buffers";

/// A launch with drawn inputs.
struct PerturbedLaunch {
  std::string File; ///< The kernel's file.
  /// The inputs with other values: "buffer 2", "argument 6 (N)".
  std::vector<std::string> Changed;
  /// The inputs of which only the order or some members of records changed.
  std::vector<std::string> Partly;
  /// The same as Changed, of memory that the recorded code does not read.
  std::vector<std::string> Unread;
  /// The inputs with recorded values that should have others, and why.
  std::vector<std::string> Unchanged;
};

/// Writes a recording of the launch of \p Plan, a plan of the recorded IR, to
/// the folder \p Dir, with other inputs. The outcome is what the recorded code
/// computes on the plan's device. An input keeps its recorded contents if the
/// recorded code fails with the others that were drawn, writes to buffers that
/// it did not change in the recorded launch (unless it changed none), computes
/// infinities or NaNs from values that are Near, or if its results begin to
/// depend on the order of blocks. Fails if no input can be changed.
Expected<PerturbedLaunch> writePerturbed(const ReplayPlan &Plan, StringRef Dir,
                                         const PerturbOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_PERTURB_H
