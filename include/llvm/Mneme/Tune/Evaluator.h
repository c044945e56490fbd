//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a study searches in: something that makes numbers of configurations.
/// lib/Farm replays a recording for it; tests compute something.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_EVALUATOR_H
#define LLVM_MNEME_TUNE_EVALUATOR_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Tune/Trial.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A configuration to be compiled, verified and measured.
struct EvaluationRequest {
  uint64_t Id = 0;     ///< Of the caller; comes back with the result.
  json::Object Config; ///< Keys of Replay/Config.def.
  /// Measure even if the same code was measured before: baseline, canary.
  bool Fresh = false;
  /// Requests with different numbers share no compilation: a compiler may do
  /// something else each time.
  uint64_t Attempt = 0;
  /// Stop measuring once it is clear that the median is above this; 0: never.
  double StopAbove = 0; ///< Nanoseconds.
  /// The same by Evaluation::Device: where there is any, a device that is not
  /// among them never stops.
  StringMap<double> StopAboveOn;
  /// A launch that takes longer than this has failed; 0: the study's limit.
  double LaunchTimeout = 0; ///< Seconds.
  /// Which of the recorded launches that the study is about.
  unsigned Instance = 0;
  /// The application's own machine code instead of a compilation.
  bool AppCode = false;
  /// Without it the launch is verified only, and the result has no samples.
  bool Measure = true;
  /// Only there, as Evaluation::Device says it: "WorkerLost" if that is gone.
  /// Empty: anywhere.
  std::string Device;

  double stopAbove(StringRef Where) const {
    return StopAboveOn.empty() ? StopAbove : StopAboveOn.lookup(Where);
  }
};

struct Evaluation {
  uint64_t Id = 0;
  /// Empty: verified. Else a verdict's name, or "WorkerLost", or Cancelled.
  std::string Failure;
  std::string Error;
  bool Stopped = false; ///< At StopAbove.
  StringMap<double> Metrics; ///< Metrics.def: "time", "reg_usage", ...
  std::vector<double> Samples; ///< Nanoseconds; empty if nothing was measured.
  std::string IRHash, AssemblyHash, CodeHash;
  /// What was already known, and of which request. Metrics and samples are
  /// then that one's.
  Duplicate DuplicateKind = Duplicate::None;
  std::optional<uint64_t> DuplicateOf; ///< Its Id.
  double CompileSeconds = 0, RunSeconds = 0;
  double Started = 0, Ended = 0; ///< Seconds since the epoch.
  std::string Worker;
  /// Where it was measured: "machine/device", the device by its own number
  /// where it has one. Times of two devices cannot be compared. May be empty
  /// where there is only one.
  std::string Device;

  /// It was not begun when Evaluator::cancel() came.
  static constexpr StringLiteral Cancelled = "Cancelled";
};

/// Samples of several configurations taken side by side, in turns.
struct PairedEvaluation {
  uint64_t Id = 0;
  std::string Failure, Error; ///< Of the first one that failed.
  /// One list a configuration, of equal length; element I of each was taken in
  /// round I.
  std::vector<std::vector<double>> Samples;
  std::string Worker;
  std::string Device; ///< As Evaluation's.

  /// Somebody did not want to wait for it any more.
  static constexpr StringLiteral Interrupted = "Interrupted";
};

class Evaluator {
public:
  virtual ~Evaluator() = default;

  /// How many requests should be under way for nothing to stand idle.
  virtual unsigned capacity() const = 0;
  /// Never waits.
  virtual Error submit(EvaluationRequest Request) = 0;
  /// Waits up to \p Seconds for results; those that there are. Error: nothing
  /// can be evaluated any more.
  virtual Expected<std::vector<Evaluation>> wait(double Seconds) = 0;
  /// Measures the configurations in turns, so many rounds at least, while
  /// nothing else runs there. Waits for it, and asks \p Stop about once a
  /// second whether to break it off, which is the failure Interrupted.
  virtual Expected<PairedEvaluation>
  comparePaired(ArrayRef<EvaluationRequest> Requests, unsigned Rounds,
                function_ref<bool()> Stop = nullptr) = 0;
  /// What an earlier run found, so that equal code need not be measured again.
  /// A later Evaluation may say DuplicateOf \p Known's Id.
  virtual void remember(const EvaluationRequest &, const Evaluation &Known) {
    (void)Known;
  }
  /// Forgets what is not begun, and \returns its Ids; results of the rest still
  /// come. Of what other machines had not begun the result is Cancelled.
  virtual std::vector<uint64_t> cancel() = 0;
  /// For the progress line and the journal: what evaluates (a GPU's name, ...).
  virtual json::Object describe() const { return {}; }
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_EVALUATOR_H
