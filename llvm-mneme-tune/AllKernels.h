//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-tune --all-kernels: the studies of all kernels of an application.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TOOLS_ALLKERNELS_H
#define LLVM_MNEME_TOOLS_ALLKERNELS_H

#include "Tune.h"
#include "llvm/Mneme/Deploy/Prove.h"
#include "llvm/Mneme/Launch/Profile.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Support/Clock.h"
#include <limits>

namespace llvm {
namespace mneme {

/// A proof needs this number of runs: without packages, and a pair of each
/// kind.
constexpr unsigned LeastProofRuns = 6;

constexpr StringLiteral OutOfTime = "the time is used up (--budget)";

/// A recorded kernel, its part of the application's time, and its study.
struct StudiedKernel {
  TunedKernel Recorded;
  std::string Folder;
  /// Of all launches that the recording stands for, with the recorded
  /// configuration.
  double Nanoseconds = 0;
  double Share = 0;
  /// Of the launches that are not tuned, as their verification is vacuous.
  double UntunedNanoseconds = 0;
  StringMap<double> LaunchNanoseconds; ///< By dynamic hash.
  /// Launches to tune; empty for all.
  std::vector<std::string> Launches;
  std::string Obstacle;             ///< Why the kernel is not tuned.
  std::string NeedsLaunch;          ///< TuneOptions::NeedsLaunch.
  std::optional<StudyResult> Study; ///< Of the last step.
  /// Of the last step, besides the search; first of timing the launches.
  double StartSeconds = 0;

  double countThreads() const {
    double Threads = 0;
    for (const RecordedInstance &I : Recorded.Kernel.Instances)
      Threads += double(I.Grid.count()) * I.Block.count() * I.Occurrences;
    return Threads;
  }
  bool isPackaged() const {
    return Study && Study->IsPackaged && Study->Speedup;
  }
  bool isExhausted() const { return Study && Study->IsExhausted; }
  /// Returns true if a re-test may find a winner.
  bool hasCandidate() const { return Study && Study->Best.value_or(2) > 1; }
  /// Returns false if the time did not suffice for a trial: launches and their
  /// re-test may take long.
  bool hasTried() const {
    return Study && (Study->Trials || Study->IsExhausted);
  }
  /// Says why its study found nothing.
  std::string describeNothing() const {
    return hasTried()           ? "nothing faster"
           : Study->IsOutOfTime ? "not tuned: " + OutOfTime.str()
                                : "not tuned: no trial has ended";
  }
  /// Returns the fraction of the application's time that more trials may save.
  /// After N trials without success, the next one succeeds with a probability
  /// of 1/(N + 2).
  double promise() const {
    double Found = Study && Study->Best ? 1 - 1 / *Study->Best : 0;
    double Hope = isExhausted() ? 0 : 1.0 / (2 + (Study ? Study->Trials : 0));
    return Share * std::max(Found, Hope);
  }
  /// Returns the predicted nanoseconds of its launches, given the speed-up.
  double after(double RatioEstimate::*Bound) const {
    if (!isPackaged())
      return Nanoseconds;
    return UntunedNanoseconds +
           (Nanoseconds - UntunedNanoseconds) / ((*Study->Speedup).*Bound);
  }
};

/// Records an application, tunes its kernels, and proves their package, in the
/// time of O.Budget seconds, if there is a budget.
class ApplicationStudy {
public:
  ApplicationStudy(TuneOptions O)
      : O(std::move(O)), Begin(steadySeconds()), Interrupts(countInterrupts()) {
  }
  /// \returns the exit code; fails if nothing can be tuned.
  Expected<int> run();

private:
  TuneOptions O;
  const double Begin;
  const std::atomic<int> &Interrupts;
  std::string Dir, Package;
  std::vector<StudiedKernel> Kernels;
  std::optional<Profile> Profiled;
  double UnrecordedNanoseconds = 0; ///< Of kernels that only the profile has.
  std::optional<Proof> Proved;
  /// Proved has kernels that were taken out of the package.
  bool IsProofOfMore = false;
  std::string NoProof;     ///< Why the package could not be proven.
  double RunSeconds = 0;   ///< At most that of one run; 0 if unknown.
  double ProofSeconds = 0; ///< That studies leave for the proof.

  enum class Step { Look, Search, Finish };

  Error prepareFolder();
  Error runRecorder(std::vector<std::string> Options, StringRef Output) const;
  Error record();
  void warnOfDifferences(StringRef File) const;
  Error read();
  Expected<std::unique_ptr<ReplayPlan>> makePlan(const StudiedKernel &K,
                                                 const RecordedInstance &I,
                                                 bool Verify) const;
  void measure(StudiedKernel &K) const;
  StringMap<double> readTimes() const;
  void measureShares();
  void inspect(StudiedKernel &K) const;
  TuneOptions makeOptions(const StudiedKernel &K, Step S, double Seconds,
                          bool Explain) const;
  Error tune(StudiedKernel &K, Step S, double Seconds, bool Explain);
  Error divide(double Seconds, Step S);
  Error tuneAll();
  Error save() const;
  Error writeReport() const;
  void sayProgress(const StudiedKernel &K) const;
  bool hasPackage() const {
    return any_of(Kernels, [](const auto &K) { return K.isPackaged(); });
  }
  Error leaveOutVacuous(StudiedKernel &K, Error E) const;
  Error proveOnApplication();
  Expected<bool> dropSlower();
  Error proveWhatHelps();
  double secondsLeft() const {
    return O.Budget ? Begin + O.Budget - steadySeconds()
                    : std::numeric_limits<double>::infinity();
  }
  /// Returns the time that is left for studies.
  double secondsForStudies() const { return secondsLeft() - ProofSeconds; }
  double unrecordedShare() const {
    double All = UnrecordedNanoseconds;
    for (const StudiedKernel &K : Kernels)
      All += K.Nanoseconds;
    return All ? UnrecordedNanoseconds / All : 0;
  }
  RatioEstimate predict() const;
  json::Object describe() const;
  void print(raw_ostream &OS) const;
  std::vector<std::string> deviceOption() const;
  std::string command(StringRef Name) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TOOLS_ALLKERNELS_H
