//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The bisection of a recorded launch: evaluates by replaying it, and shows
/// what it found by commands that were run.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_REPLAYBISECT_H
#define LLVM_MNEME_BISECT_REPLAYBISECT_H

#include "llvm/Mneme/Bisect/Report.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"

namespace llvm {
namespace mneme {

struct ReplayBisectOptions {
  std::string Database; ///< Of the plan.
  FarmResources Resources;
  BisectSides Sides; ///< On top of the plan's options.
  /// Search by verdicts although an empty kernel would be verified, too.
  bool AllowVacuous = false;
  BisectOptions Bisect;
  /// Folder for the IR before and after what was found; empty: none is kept.
  std::string Output;
  /// llvm-mneme-replay, to check commands; empty: they are not checked.
  std::string Program;
  /// What a command has beside settings: the database, the device, ...
  std::vector<std::string> CommonWords;
  std::function<void(StringRef)> Say;
};

/// Call it in a process with one thread that has not used a GPU. Errors: as
/// bisect()'s, a device that cannot be used, a folder that cannot be written.
Expected<BisectReport> bisectReplay(const ReplayPlan &Plan,
                                    const ReplayBisectOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_REPLAYBISECT_H
