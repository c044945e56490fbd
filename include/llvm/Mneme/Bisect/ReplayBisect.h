//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Bisects a recorded launch by replaying it, and documents the result with
/// tested commands.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_REPLAYBISECT_H
#define LLVM_MNEME_BISECT_REPLAYBISECT_H

#include "llvm/Mneme/Bisect/Report.h"
#include "llvm/Mneme/Deploy/Application.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"

namespace llvm {
namespace mneme {

struct ReplayBisectOptions {
  std::string Database; ///< Database of the plan.
  FarmResources Resources;
  BisectSides Sides; ///< Applied on top of the plan's options.
  /// The application that judges results instead of a comparison of memory.
  std::optional<ApplicationOptions> App = std::nullopt;
  /// Search by verdicts even if an empty kernel would verify.
  bool AllowVacuous = false;
  BisectOptions Bisect;
  /// Folder for the IR before and after the culprits; empty: not kept.
  std::string Output;
  /// Path of alive-tv; empty: the IR of the culprits is not checked.
  std::string AliveTV;
  /// Path of llvm-mneme-replay to test commands; empty: not tested.
  std::string Program;
  /// Words common to all commands: the database, the device, ...
  std::vector<std::string> CommonWords;
  std::function<void(StringRef)> Say;
};

/// Runs the bisection. Call it in a process with one thread that has not used a
/// GPU. Fails like bisect(), if the device is unusable, or if a folder is not
/// writable.
Expected<BisectReport> bisectReplay(const ReplayPlan &Plan,
                                    const ReplayBisectOptions &O);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_REPLAYBISECT_H
