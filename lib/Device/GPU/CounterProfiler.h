//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Hardware counters of a GPU, from CUPTI's range profiler. Like the driver,
/// CUPTI is loaded on demand.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_COUNTERPROFILER_H
#define LLVM_MNEME_LIB_DEVICE_GPU_COUNTERPROFILER_H

#include "LaunchProfiler.h"
#include "llvm/Mneme/Config/Counters.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include <memory>

namespace llvm {
namespace mneme {

/// Profiles launches in one context. The hardware has fewer counters than a
/// selection needs: several passes, each with one equal launch, measure all.
class CounterProfiler final : public LaunchProfiler {
public:
  /// Fails if the counters of this GPU cannot be read, with the reason and a
  /// fix. \p Context is current; \p Ordinal is the driver's number of its GPU.
  static Expected<std::unique_ptr<CounterProfiler>> create(void *Context,
                                                           unsigned Ordinal);
  ~CounterProfiler() override;

  /// Prepares the passes for \p Counters.
  Error select(ArrayRef<const CounterInfo *> Counters);
  /// Returns the selected counters that this GPU lacks.
  ArrayRef<const CounterInfo *> missing() const { return Missing; }
  /// Returns the number of passes of the selection.
  unsigned numPasses() const { return Passes; }

  /// Discards the passes of another kernel.
  Error restart();
  Error beginPass() override;
  Error endPass() override;
  /// Returns true after the last pass.
  bool isDone() const { return IsDone; }
  /// Adds the values of all passes to \p Values.
  Error evaluate(StringMap<double> &Values);

private:
  explicit CounterProfiler(void *Context) : Context(Context) {}

  Error check(cupti::CUptiResult R, const Twine &What) const;
  Error openHost(cupti::HostObject *&Host);
  bool hasMetric(const char *Metric);
  Error configure();
  void closeHost();

  void *Context;
  cupti::RangeProfilerFunctions F = {};
  std::string Chip;
  std::vector<uint8_t> Availability;
  cupti::RangeObject *Range = nullptr;
  cupti::HostObject *Host = nullptr; ///< With the metrics of the selection.
  std::vector<const CounterInfo *> Selected, Found, Missing;
  std::vector<std::string> Metrics; ///< Of Found.
  std::vector<const char *> Names;  ///< The same, for CUPTI.
  std::vector<uint8_t> Config, Data;
  unsigned Passes = 0;
  bool IsDone = false;
  bool IsInPass = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_COUNTERPROFILER_H
