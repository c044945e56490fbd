//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface that evaluates the configurations of a study. lib/Farm
/// implements it by replaying a recording; tests use computed values.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_EVALUATOR_H
#define LLVM_MNEME_STUDY_EVALUATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Config/Counters.h"
#include "llvm/Mneme/Source/Diagnostics.h"
#include "llvm/Mneme/Study/Trial.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A configuration to compile, verify and measure.
struct EvaluationRequest {
  uint64_t Id = 0;     ///< Chosen by the caller; returned with the result.
  json::Object Config; ///< Keys of Config/Config.def.
  /// Measure even if equal code was measured before: for baselines and
  /// canaries.
  bool Fresh = false;
  /// Requests with different numbers share no compilation, as compilers may be
  /// nondeterministic.
  uint64_t Attempt = 0;
  /// Compile in a process that has compiled nothing before, with addresses that
  /// depend on Attempt: for compilers whose code depends on earlier
  /// compilations or on the order of pointers.
  bool OwnProcess = false;
  /// Stop measuring once the median is significantly above this; 0: never.
  double StopAbove = 0; ///< Nanoseconds.
  /// StopAbove by Evaluation::Device. If not empty, other devices never stop.
  StringMap<double> StopAboveOn;
  /// Launches that take longer fail; 0: the study's limit.
  double LaunchTimeout = 0; ///< Seconds.
  /// Index among the study's recorded launches.
  unsigned Instance = 0;
  /// Run the application's machine code instead of compiling.
  bool AppCode = false;
  /// If false, the launch is only verified, and the result has no samples.
  bool Measure = true;
  /// Measure with the other state of the cache than the evaluator's: only on a
  /// GPU.
  bool OtherCache = false;
  /// In a comparison, also read hardware counters.
  bool Counters = false;
  /// Run only on this Evaluation::Device; WorkerLost if it is gone. Empty:
  /// any device.
  std::string Device;

  double stopAbove(StringRef Where) const {
    return StopAboveOn.empty() ? StopAbove : StopAboveOn.lookup(Where);
  }
};

/// The result of an EvaluationRequest.
struct Evaluation {
  uint64_t Id = 0;
  FailureKind Failure; ///< None if verified.
  std::string Error;
  /// The front end's messages about a version of a source that it rejected.
  std::vector<SourceDiagnostic> Diagnostics;
  /// Reasons not to trust a version of a source (Source/Guards.h).
  std::vector<std::string> Suspicions;
  /// The most lenient level of the rules under which memory was compared.
  CompareLevel Level = CompareLevel::Exact;
  bool Stopped = false;      ///< Measurement stopped at StopAbove.
  StringMap<double> Metrics; ///< Metrics.def: "time", "reg_usage", ...
  std::vector<double> Samples; ///< Nanoseconds; empty if not measured.
  std::string IRHash, AssemblyHash, CodeHash;
  /// The stage at which an earlier request's code was recognized; its metrics
  /// and samples are reused.
  Duplicate DuplicateKind = Duplicate::None;
  std::optional<uint64_t> DuplicateOf; ///< The Id of that request.
  double CompileSeconds = 0, RunSeconds = 0;
  double Started = 0, Ended = 0; ///< Seconds since the epoch.
  std::string Worker;
  /// The device that measured it: "machine/device", with the device's own
  /// number if it has one. Times of different devices are not comparable. May
  /// be empty if there is only one device.
  std::string Device;

  /// The request had not begun when Evaluator::cancel() was called.
  static constexpr FailureKind Cancelled = FailureKind::Cancelled;
};

/// Samples of several configurations, measured in interleaved rounds.
struct PairedEvaluation {
  uint64_t Id = 0;
  FailureKind Failure;
  std::string Error; ///< The first failed configuration's.
  /// One list per configuration, of equal length; element I of each is from
  /// round I.
  std::vector<std::vector<double>> Samples;
  std::vector<std::string> CodeHashes; ///< Of each configuration's machine code.
  /// One per configuration; empty if none were wanted or could be read.
  std::vector<CounterSamples> Counters;
  std::string CounterProblem; ///< Why counters are missing; empty: none is.
  std::string Worker;
  std::string Device; ///< As in Evaluation.

  /// The comparison was stopped by the caller.
  static constexpr FailureKind Interrupted = FailureKind::Interrupted;
};

/// Evaluates configurations asynchronously.
class Evaluator {
public:
  virtual ~Evaluator() = default;

  /// Returns the number of concurrent requests that keeps all devices busy.
  virtual unsigned capacity() const = 0;
  /// Queues a request without blocking.
  virtual Error submit(EvaluationRequest Request) = 0;
  /// Waits up to \p Seconds and returns the available results. Fails if no
  /// further evaluation is possible.
  virtual Expected<std::vector<Evaluation>> wait(double Seconds) = 0;
  /// Measures the configurations in at least \p Rounds interleaved rounds on an
  /// otherwise idle device. Blocks, and calls \p Stop about once a second; if
  /// it returns true, the result has the failure Interrupted.
  virtual Expected<PairedEvaluation>
  comparePaired(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                function_ref<bool()> Stop = nullptr) = 0;
  /// Registers a result of an earlier run, so that equal code is not measured
  /// again. A later Evaluation may have \p Known's Id in DuplicateOf.
  virtual void remember(const EvaluationRequest &, const Evaluation &Known) {
    (void)Known;
  }
  /// Discards requests that have not begun and \returns their Ids. Results of
  /// the others still arrive; those that had not begun on other machines are
  /// Cancelled.
  virtual std::vector<uint64_t> cancel() = 0;
  /// Describes the evaluator (name of the GPU, ...) for progress line and
  /// journal.
  virtual json::Object describe() const { return {}; }
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_EVALUATOR_H
