//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The metrics of an evaluated configuration (Metrics.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_CONFIG_METRICS_H
#define LLVM_MNEME_CONFIG_METRICS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <optional>

namespace llvm {
namespace mneme {

enum class Direction { Minimize, Maximize };

/// A row of Metrics.def.
struct MetricInfo {
  StringLiteral Name, Unit;
  StringLiteral AMDUnit; ///< Unit for kernels of AMD GPUs.
  Direction BetterWhen;
  bool OfImage;
  StringLiteral Description;
};

/// Returns the rows in the order of the table.
ArrayRef<MetricInfo> getMetricInfos();
/// Returns null if there is no such metric.
const MetricInfo *findMetric(StringRef Name);
/// Returns the names of all metrics.
SmallVector<StringRef, 16> getMetricNames();
/// Returns the default direction of a metric; unset if there is no such metric.
std::optional<Direction> getMetricDirection(StringRef Metric);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_CONFIG_METRICS_H
