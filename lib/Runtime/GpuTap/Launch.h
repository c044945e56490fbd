//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One launch, and why it cannot be recorded.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H
#define MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H

#include "KernelLaunch.h"

namespace mneme {

/// Returns why a launch of this form cannot be recorded, or null.
inline const char *findObstacle(LaunchForm F) {
  switch (F) {
  case LaunchForm::PreferredCluster:
    return "launched with a preferred size of clusters";
  case LaunchForm::ShortBlock:
    return "launched with a last block of fewer threads";
  case LaunchForm::Plain:
  case LaunchForm::Extended:
    break;
  }
  return nullptr;
}

/// A launch that the recorder looks at.
struct Launch : KernelLaunch {
  Launch(const KernelLaunch &L, const char *Obstacle)
      : KernelLaunch(L), Obstacle(Obstacle) {}
  explicit Launch(const KernelLaunch &L) : Launch(L, findObstacle(L.Form)) {}

  const char *Obstacle; ///< Why it cannot be recorded, or null.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_LAUNCH_H
