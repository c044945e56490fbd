//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Converts the result of a replay to the metrics of Config/Metrics.def.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_METRICS_H
#define LLVM_MNEME_REPLAY_METRICS_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Replay/Replayer.h"

namespace llvm {
namespace mneme {

/// Returns the metrics of Config/Metrics.def that the result has. Metrics of
/// the GPU image are present if one was built: on the host device with
/// ReplayOptions::Resources.
StringMap<double> getMetrics(const ReplayPlan &Plan, const ReplayResult &R);

/// Returns true if \p Metric needs ReplayOptions::Resources on the host.
bool needsResources(StringRef Metric);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_METRICS_H
