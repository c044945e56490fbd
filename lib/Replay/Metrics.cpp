//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Compile/Occupancy.h"
#include "llvm/Mneme/Config/Metrics.h"

using namespace llvm;
using namespace llvm::mneme;

using Metric = std::optional<double>;

static Metric toMetric(std::optional<uint64_t> V) {
  return V ? Metric(static_cast<double>(*V)) : std::nullopt;
}

static KernelResources getResources(const ReplayResult &R) {
  return R.Resources.value_or(KernelResources());
}

static Metric getTime(const ReplayPlan &, const ReplayResult &R) {
  if (R.nanoseconds().empty())
    return std::nullopt;
  return summarize(R.nanoseconds()).Median;
}

static Metric getRegisters(const ReplayPlan &, const ReplayResult &R) {
  return toMetric(getResources(R).Registers);
}

static Metric getSpills(const ReplayPlan &, const ReplayResult &R) {
  KernelResources Resources = getResources(R);
  if (!Resources.SpillStores)
    return std::nullopt;
  return static_cast<double>(*Resources.SpillStores +
                             Resources.SpillLoads.value_or(0));
}

static Metric getLocalMemory(const ReplayPlan &, const ReplayResult &R) {
  return toMetric(getResources(R).Local);
}

static Metric getSharedMemory(const ReplayPlan &, const ReplayResult &R) {
  return toMetric(getResources(R).Shared);
}

static Metric getObjectSize(const ReplayPlan &, const ReplayResult &R) {
  return R.ObjectSize ? Metric(static_cast<double>(R.ObjectSize))
                      : std::nullopt;
}

static Metric getCodeSize(const ReplayPlan &, const ReplayResult &R) {
  return toMetric(getResources(R).CodeSize);
}

static Metric getCompileTime(const ReplayPlan &, const ReplayResult &R) {
  const ReplayTimes &T = R.Times;
  double Seconds = T.Specialize + T.Optimize + T.Codegen + T.Assemble;
  return Seconds > 0 ? Metric(Seconds) : std::nullopt;
}

static Metric getOccupancy(const ReplayPlan &Plan, const ReplayResult &R) {
  if (R.GPU && R.GPU->BlocksPerMultiprocessor)
    return R.GPU->Occupancy;
  if (!R.Resources)
    return std::nullopt;
  std::optional<Occupancy> O =
      computeOccupancy(Plan.compiler().arch(), *R.Resources,
                       Plan.block().count(), Plan.sharedMem());
  return O ? Metric(O->percent() / 100) : std::nullopt;
}

static Metric getBound(const ReplayPlan &, const ReplayResult &R) {
  return R.bound();
}

static Metric getSol(const ReplayPlan &, const ReplayResult &R) {
  return R.sol();
}

using MetricFn = Metric (*)(const ReplayPlan &, const ReplayResult &);

static constexpr std::pair<StringLiteral, MetricFn> MetricFns[] = {
    {"time", getTime},
    {"reg_usage", getRegisters},
    {"spills", getSpills},
    {"local_mem_usage", getLocalMemory},
    {"shared_mem_usage", getSharedMemory},
    {"obj_size", getObjectSize},
    {"code_size", getCodeSize},
    {"compile_time", getCompileTime},
    {"occupancy", getOccupancy},
    {"bound", getBound},
    {"sol", getSol},
};

StringMap<double> mneme::getMetrics(const ReplayPlan &Plan,
                                    const ReplayResult &R) {
  StringMap<double> Values;
  for (auto [Name, Get] : MetricFns)
    if (Metric Value = Get(Plan, R))
      Values[Name] = *Value;
  for (const auto &[Name, Value] : R.Counters.Values)
    Values[Name] = Value;
  return Values;
}

bool mneme::needsResources(StringRef Name) {
  const MetricInfo *M = findMetric(Name);
  return M && M->OfImage;
}
