//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The schedule of the host device as a dimension of a nondeterministic fault:
/// a race that shows in some replays shows in every replay with the right seed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_SCHEDULESEARCH_H
#define LLVM_MNEME_LIB_BISECT_SCHEDULESEARCH_H

#include "llvm/Mneme/Bisect/Bisect.h"

namespace llvm {
namespace mneme {

/// What a search for a schedule found.
struct ScheduleChoice {
  /// The first schedule under which the bad side always fails and the good side
  /// never does; empty if there is none.
  std::string Schedule;
  /// Further schedules for configurations that are good with this one; the good
  /// side is good with them. More if the first one was hard to find.
  std::vector<std::string> Others;
  unsigned Tried = 0;    ///< Seeds.
  unsigned BothFail = 0; ///< Seeds with which the good side fails, too.
};

/// Tries the seeds 1 to \p MaxSeeds, one minute at most. Must be called after
/// \p J has begun. Fails if the evaluator is lost.
Expected<ScheduleChoice> findSchedule(Judge &J, const BisectSides &Sides,
                                      unsigned MaxSeeds);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_SCHEDULESEARCH_H
