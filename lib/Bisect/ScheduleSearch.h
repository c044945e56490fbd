//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds a schedule of the host device that makes a nondeterministic fault
/// deterministic: a race that fails some replays fails every replay with the
/// right seed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_SCHEDULESEARCH_H
#define LLVM_MNEME_LIB_BISECT_SCHEDULESEARCH_H

#include "llvm/Mneme/Bisect/Bisect.h"

namespace llvm {
namespace mneme {

/// The result of a search for a schedule.
struct ScheduleChoice {
  /// The first schedule under which the bad side always fails and the good side
  /// never does; empty if there is none.
  std::string Schedule;
  /// Further schedules to judge configurations that are good with Schedule. The
  /// good side is good with all of them. The rarer the fault, the more there
  /// are.
  std::vector<std::string> Others;
  unsigned Tried = 0;    ///< Seeds.
  unsigned BothFail = 0; ///< Seeds with which the good side fails, too.
};

/// Tries the seeds 1 to \p MaxSeeds for up to a minute. \p J must have begun.
/// Fails if the evaluator is lost.
Expected<ScheduleChoice> findSchedule(Judge &J, const BisectSides &Sides,
                                      unsigned MaxSeeds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_SCHEDULESEARCH_H
