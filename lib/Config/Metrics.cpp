//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr MetricInfo Metrics[] = {
#define METRIC(Name, Unit, AMDUnit, BetterWhen, OfImage, Description)          \
  {Name, Unit, AMDUnit, Direction::BetterWhen, OfImage, Description},
#include "llvm/Mneme/Config/Metrics.def"
};

ArrayRef<MetricInfo> mneme::getMetricInfos() { return Metrics; }

const MetricInfo *mneme::findMetric(StringRef Name) {
  const MetricInfo *It =
      find_if(Metrics, [&](const MetricInfo &M) { return M.Name == Name; });
  return It == std::end(Metrics) ? nullptr : It;
}

SmallVector<StringRef, 16> mneme::getMetricNames() {
  return to_vector<16>(map_range(
      Metrics, [](const MetricInfo &M) { return StringRef(M.Name); }));
}

std::optional<Direction> mneme::getMetricDirection(StringRef Metric) {
  const MetricInfo *M = findMetric(Metric);
  return M ? std::optional(M->BetterWhen) : std::nullopt;
}
