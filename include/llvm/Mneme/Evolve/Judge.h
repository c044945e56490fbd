//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Judges versions of a kernel's source whose author is not trusted: in stages,
/// on launches that the author has seen and on others.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_EVOLVE_JUDGE_H
#define LLVM_MNEME_EVOLVE_JUDGE_H

#include "llvm/ADT/DenseMap.h"
#include "llvm/Mneme/Farm/Assess.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Study/Outcome.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Tune/FinalTest.h"
#include <chrono>
#include <map>
#include <memory>

namespace llvm {
namespace mneme {

enum class DrawnScalars;

/// The stages of a judgement, in order.
enum class JudgeStage {
  Compile, ///< Front end, guards and back end.
  Verify,  ///< One launch of the smallest training instance.
  Measure, ///< Some launches of all training instances.
  Compare, ///< Pairs with the recorded code.
  HeldOut, ///< Launches and inputs that the author has not seen.
  Done,
};
StringRef getStageName(JudgeStage S); ///< "compile", ...

struct JudgeOptions {
  /// Base.SourceDir is the source folder. Judge sets RecordIds.
  FarmOptions Farm;
  std::vector<RecordedInstance> Instances;
  /// Record ids, or beginnings of them, of the instances that candidates are
  /// not trained on. Empty: the last quarter, if there are two or more.
  std::vector<std::string> HeldOut;
  /// Number of launches with drawn inputs (Perturb.h).
  unsigned Perturbed = 4;
  /// Scalar arguments of these launches have the recorded values.
  bool FixedScalars = false;
  /// Number of random schedules of the host device; a quarter as many only
  /// shuffle the blocks. There are fewer for launches of many threads.
  unsigned Schedules = 32;
  unsigned Rounds = 30; ///< Pairs.
  /// Of the drawn launches and the schedules. Unset: random.
  std::optional<uint64_t> Seed;
  /// Returns true to end re-tests and tests of finalists. Empty: never.
  std::function<bool()> Stop;
  /// Suspicions do not bar a candidate.
  bool AcceptSuspect = false;
  /// Require all of the above; otherwise a candidate only has to verify.
  bool Untrusted = true;
};

/// The judgement on a candidate.
struct Judgement {
  JudgeStage Reached = JudgeStage::Compile; ///< The stage that it failed in.
  FailureKind Failure; ///< None if it passed; Distrusted: see Suspicions.
  std::string Error;
  std::vector<SourceDiagnostic> Diagnostics;
  std::vector<std::string> Suspicions;
  /// Of the first training instance.
  StringMap<double> Metrics;
  std::string IRHash, AssemblyHash, CodeHash;
  /// Speed-up over the recorded code: of the measurements, and of pairs.
  std::optional<double> Estimate;
  std::optional<RatioEstimate> Speedup;
  /// Of each training instance; empty if unknown.
  std::vector<RatioEstimate> TrainingSpeedups;
  /// The lowest one on inputs in another order or of other values, which the
  /// author has not seen.
  std::optional<RatioEstimate> UnseenSpeedup;
  std::string Untimed; ///< Why an instance has no such inputs.
  /// Launches besides those of the training that the candidate verified on:
  /// held out, with drawn inputs, and under other schedules.
  unsigned TestedLaunches = 0;
  double Seconds[static_cast<size_t>(JudgeStage::Done)] = {};

  bool passed() const { return Reached == JudgeStage::Done; }
};
json::Value toJSON(const Judgement &J);

/// The configuration of a candidate: one for all instances, or one each in the
/// order of the farm's plans.
class CandidateConfig {
public:
  CandidateConfig(json::Object Common) { All.push_back(std::move(Common)); }
  explicit CandidateConfig(std::vector<json::Object> All)
      : All(std::move(All)) {}
  const json::Object &of(unsigned Instance) const {
    return All.size() == 1 ? All[0] : All[Instance];
  }

private:
  std::vector<json::Object> All;
};

/// Returns the value of the setting "source" for the text of a version, also if
/// the text is one line: its author must not name files.
json::Value makeSourceSetting(StringRef Text);

/// A speed-up that only a mistake of the evaluation explains.
inline constexpr double IncredibleSpeedup = 10;

class Judge {
public:
  /// Splits the instances, permutes inputs and assesses the verification. Fails
  /// if the recorded code does not verify, or if an empty kernel does.
  static Expected<std::unique_ptr<Judge>> create(JudgeOptions O);

  /// Judges some candidates up to \p Last, all at the same time.
  Expected<std::vector<Judgement>> judge(ArrayRef<CandidateConfig> Configs,
                                         JudgeStage Last);
  /// Judges a candidate, whose Speedup is known, by its suspicions and on what
  /// it was not trained on. Sets Reached to Done or HeldOut.
  Error testFinalist(const CandidateConfig &Config, Judgement &J);

  ReplayFarm &farm() { return *Farm; }
  /// Returns the numbers of the training instances, 0 and following.
  ArrayRef<unsigned> training() const { return Training; }
  /// How many planted faults verification catches.
  const Assessment &power() const { return Power; }
  /// \param IsOver  no further version is judged: also returns the seed and the
  /// schedules, by which an author could recognize the tests.
  json::Object describe(bool IsOver = true) const;
  /// Returns the launches with drawn inputs on which a configuration was
  /// tested, of each training instance that has some, with the ranges of the
  /// integer arguments and the inputs that no launch changed
  /// (WinnerRecord::Tested).
  Expected<json::Array> describeTested(const CandidateConfig &Config);
  /// Returns what re-tests on the training instances, all of equal weight,
  /// need.
  TestSetting makeSetting(unsigned Rounds, double MinEffect = 0);
  TestCase makeCase(const CandidateConfig &C) const;

private:
  explicit Judge(JudgeOptions O) : O(std::move(O)) {}
  Error split();
  Error assessPower();
  Error checkRecordedCode();
  Expected<std::vector<Evaluation>> measureRecordedCode();
  void noteBaselines(ArrayRef<Evaluation> All);
  Error refreshBaselines();
  double estimate(const Evaluation &E, size_t Place);
  Error perturb();
  struct DrawnLaunch;
  void noteUnperturbed(std::string Why);
  Expected<std::unique_ptr<DrawnLaunch>> draw(unsigned Number, StringRef Device,
                                              bool Scalars,
                                              bool MovesBuffers = true);
  unsigned turnOf(unsigned Number) const;
  bool isRound(unsigned Number) const;
  DrawnScalars chooseScalars(unsigned Number) const;
  ReplayOptions makeTestOptions(StringRef Device) const;
  Expected<std::unique_ptr<DrawnLaunch>> makeRecorded(unsigned I,
                                                      StringRef Device);
  Expected<std::vector<const DrawnLaunch *>> chooseScheduled(StringRef Device);
  Error chooseSchedules(ArrayRef<const DrawnLaunch *> Launches);
  bool splitsWarps() const;
  struct ScheduledLaunch;
  Expected<bool> findChecks(ScheduledLaunch &S);
  Expected<std::vector<Evaluation>>
  evaluate(std::vector<EvaluationRequest> Requests);
  EvaluationRequest makeRequest(const json::Object &Config, unsigned Instance,
                                bool Measure);
  void note(Judgement &J, JudgeStage Stage, const Evaluation &E) const;
  void checkLaunch(Judgement &J) const;
  Error distrust(const CandidateConfig &Config, Judgement &J);
  Error testHeldOut(const CandidateConfig &Config, Judgement &J);
  Error compare(const CandidateConfig &Config, Judgement &J);
  Expected<std::unique_ptr<ReplayPlan>> makePlan(const ReplayPlan &Launch,
                                                 const DrawnLaunch &L,
                                                 const CandidateConfig &Config,
                                                 bool WillCompile) const;
  Expected<const DrawnLaunch *> chooseDrawn(const DrawnLaunch &L,
                                            const CandidateConfig &Config);
  Expected<std::unique_ptr<ReplayPlan>>
  makeDrawn(const DrawnLaunch &L, const CandidateConfig &Config);
  bool isStopped() const { return O.Stop && O.Stop(); }
  bool isStopped(Judgement &J) const;
  Error testDrawn(const CandidateConfig &Config, Judgement &J);
  Error testUnread(const CandidateConfig &Config, Judgement &J);
  Error testSchedules(const CandidateConfig &Config, Judgement &J);
  Expected<std::string> findTimeDoubt(const CandidateConfig &Config,
                                      Judgement &J);
  Expected<const DrawnLaunch *> findTimed(unsigned Instance, bool OnlyOrder);
  Expected<std::optional<RatioEstimate>>
  timeDrawn(const DrawnLaunch &L, const CandidateConfig &Config, Judgement &J);
  Expected<std::optional<RatioEstimate>>
  timeEnds(ArrayRef<const DrawnLaunch *> Launches, ArrayRef<unsigned> Arguments,
           const CandidateConfig &Config);
  Error timeUnseen(const CandidateConfig &Config, Judgement &J);

  JudgeOptions O;
  std::unique_ptr<ReplayFarm> Farm;
  std::vector<unsigned> Training, HeldOut;
  /// Nanoseconds of the recorded code, per training instance: the last
  /// measurements, and their median.
  struct BaselineTimes {
    SmallVector<double, 3> Last;
    double Median = 0;
  };
  std::vector<BaselineTimes> Baselines;
  std::chrono::steady_clock::time_point BaselineTime;
  /// Logarithms of the speed-ups of measured code, by request.
  DenseMap<uint64_t, double> Estimates;
  Assessment Power;
  PrivateFolder Inputs; ///< Contains a folder for each drawn launch.
  struct DrawnLaunch {
    /// Launches with drawn inputs have other scalars from this number on.
    static constexpr unsigned FirstScalars = 2;
    /// From this number on, launches are only for times: of each instance, one
    /// with inputs in another order, and one with other values.
    static constexpr unsigned FirstTimed = 1 << 20;
    unsigned Number = 0, Instance = 0;
    bool OnlyOrder = false;           ///< Other values would be other work.
    std::vector<std::string> Changed; ///< Inputs, with other values.
    std::vector<std::string> Partly;  ///< Inputs, in another order.
    std::vector<std::string> Unread;  ///< As Changed, of unread memory.
    std::vector<std::string> Unchanged; ///< With the reasons.
    std::unique_ptr<ReplayPlan> Plan;   ///< Of the recorded code.
  };
  std::vector<std::unique_ptr<DrawnLaunch>> Perturbed;
  /// Drawn launches with the recorded scalars instead of others; null if none
  /// can be drawn.
  std::map<const DrawnLaunch *, std::unique_ptr<DrawnLaunch>> WithOwnScalars;
  /// Drawn launches for times, by their numbers; null if none can be drawn.
  std::map<unsigned, std::unique_ptr<DrawnLaunch>> Timed;
  std::vector<std::string> Unperturbed; ///< Inputs that are as recorded.
  /// For schedules only: recorded ones; of a GPU's recording, drawn ones.
  std::vector<std::unique_ptr<DrawnLaunch>> OnHost;
  struct ScheduledLaunch {
    const DrawnLaunch *Launch;
    std::vector<HostSchedule> Schedules; ///< Of one kind.
    ScheduleChecks Checks;               ///< That the recorded code stands.
  };
  std::vector<ScheduledLaunch> Scheduled;
  std::vector<std::string> Unscheduled; ///< Why schedules are not tried.
  uint64_t NextId = 1;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_EVOLVE_JUDGE_H
