//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Measures the baseline of a study repeatedly on each device, and determines
/// its time at the time of another measurement.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TUNE_BASELINEKEEPER_H
#define LLVM_MNEME_LIB_TUNE_BASELINEKEEPER_H

#include "Requests.h"
#include "TrialStore.h"
#include "llvm/Mneme/Tune/Baseline.h"
#include "llvm/Mneme/Tune/Tuner.h"

namespace llvm {
namespace mneme {

/// A device that measures for the study.
struct StudyDevice {
  std::vector<bool> Known; ///< By instance: measured in this run.
  double LastBaseline = 0, BaselineTakes = 0;
  uint64_t TrialsSinceBaseline = 0, TrialsSinceCanary = 0;
  unsigned BaselinesUnderWay = 0;
  /// Handlers that wait for the baseline of an instance.
  std::multimap<unsigned, std::function<Error()>> Waiting;
  bool Gone = false;
  bool BaselineFails = false; ///< The last measurement failed.
};

class BaselineKeeper {
public:
  /// All arguments must outlive the keeper. \p Weights add up to 1. \p Note
  /// receives messages for the user.
  BaselineKeeper(ArrayRef<StudyInstance> Instances, ArrayRef<double> Weights,
                 const TunerOptions &O, Requests &Asked, TrialStore &Store,
                 StudyOutcome &Outcome, TrialStore::NoteFn Note);

  BaselineTracks Tracks;
  std::map<std::string, StudyDevice> Devices; ///< By Evaluation::Device.
  bool AppCode = false; ///< The baseline is the application's machine code.
  unsigned UnderWay = 0;

  StudyDevice &getDevice(StringRef Device);
  /// Creates a request with the baseline's launch timeout.
  EvaluationRequest makeRequest(unsigned Instance, json::Object Config);
  /// Seconds; 0: unknown. Covers all devices, since a request may run on any.
  double getLaunchTimeout(unsigned Instance) const;

  using BaselineHandler = std::function<Error(Evaluation, BaselineSample)>;
  /// Measures on \p Device; empty: on any device. \p Take receives the sample
  /// or, if that is doubtful, the median of three; it receives a failure at
  /// once.
  Error measure(StringRef Device, unsigned Instance, BaselineHandler Take,
                std::vector<Evaluation> Before = {});
  Error remeasureOn(StringRef Device, unsigned Instance);
  /// Repeats the measurement where it is due; if \p Now, everywhere.
  Error remeasure(bool Now);
  Error add(const BaselineSample &S);

  /// Returns the baseline's time when and where \p V was measured; 0 if it is
  /// not yet known there.
  double getBaselineOf(const Evaluation &V, unsigned Instance);
  /// Calls \p Then once the baseline has been measured there, or cannot be.
  Error waitFor(StringRef Device, unsigned Instance,
                std::function<Error()> Then);
  /// Drops a device; one that comes back with its name is unrelated.
  void leave(StringRef Device);
  /// Drops everything that waits for a baseline.
  void forget();

  /// Returns the weighted mean of the first measurements.
  double weightedReference() const;

private:
  ArrayRef<StudyInstance> Instances;
  ArrayRef<double> Weights;
  const TunerOptions &O;
  Requests &Asked;
  TrialStore &Store;
  StudyOutcome &Outcome;
  TrialStore::NoteFn Note;

  Error submit(StringRef Device, unsigned Instance, Requests::Handler H);
};

/// \p Weights add up to 1.
double weightedMean(ArrayRef<double> Values, ArrayRef<double> Weights,
                    bool Geometric);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TUNE_BASELINEKEEPER_H
