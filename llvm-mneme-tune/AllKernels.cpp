//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tunes all recorded kernels of an application: a study of each, one package,
// and a prediction for all of them together.
//
// With a budget, a study is run in up to three steps, of which the later ones
// resume it: a short look, a search, and a search with the re-test. After each
// step, the time that is left is divided anew, by what the kernels promise.
//
// What share of the time a kernel has says the application's profile, or,
// without one, replays of the recorded launches.
//
//===----------------------------------------------------------------------===//

#include "AllKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <cmath>
#include <tuple>

using namespace llvm;
using namespace llvm::mneme;

/// Kernels with a smaller share of the time are not tuned: a speed-up of theirs
/// would be lost in the noise of the application's time.
static constexpr double LeastShare = 0.01;

/// The kernels that take this part of the time are recorded.
static constexpr StringLiteral RecordedPart = "98%";

/// The part of the time for checks of the host device's code.
static constexpr double CheckPart = 0.02;

/// The part of the time after the recording that is left for the proof on the
/// application: no more than for ProofRuns, and as much as LeastProofRuns need,
/// up to MaxProofPart.
static constexpr double ProofPart = 0.2, MaxProofPart = 0.4;
static constexpr unsigned ProofRuns = 16;

/// The part of the time for studies in which shares are measured, without a
/// profile.
static constexpr double SharePart = 0.4;

/// The part of the studies' time for a look at each kernel, and the trials of a
/// look.
static constexpr double LookPart = 0.5;
static constexpr uint64_t LookTrials = 8;

/// The part of the time after the looks for the second step. If the studies'
/// starts need more than MaxStartPart of that, the third step gets all.
static constexpr double SearchPart = 0.5, MaxStartPart = 0.2;

/// Starts that take more than these seconds are announced.
static constexpr double LongStart = 5;

/// A search must get this number of times what the start of its study takes.
static constexpr double LeastStarts = 2;

/// Launches of a kernel to determine its share of the time.
static constexpr unsigned ShareIterations = 5;

//===----------------------------------------------------------------------===//
// Kernels and their shares
//===----------------------------------------------------------------------===//

Error ApplicationStudy::prepareFolder() {
  Dir = O.ResultsDir.empty() ? "mneme-tuned" : O.ResultsDir;
  Package = pathIn(Dir, "application.mneme");
  return makeResultsFolder(O, Dir, [&]() -> Error {
    if (O.Resume || !sys::fs::exists(pathIn(Dir, "application.json")))
      return Error::success();
    return createFileError(
        Dir, createStringError("already holds studies; continue them "
                               "(--resume) or name another folder (-o)"));
  });
}

std::vector<std::string> ApplicationStudy::deviceOption() const {
  StringRef Device = getNamedDevice(O);
  if (Device.empty())
    return {};
  return {("--device=" + Device.split(':').first).str()};
}

/// Runs the application by llvm-mneme-record, whose environment variables
/// apply, too. \p Options get the tool's path, device and application.
Error ApplicationStudy::runRecorder(std::vector<std::string> Options,
                                    StringRef Output) const {
  std::string Tool =
      pathIn(sys::path::parent_path(O.ToolPath), "llvm-mneme-record");
  Options.insert(Options.begin(), Tool);
  append_range(Options, deviceOption());
  Options.push_back("--");
  append_range(Options, O.Application->Command);
  const std::vector<StringRef> Words(Options.begin(), Options.end());
  std::string Message;
  // Standard output is the result's.
  int Status = sys::ExecuteAndWait(
      Tool, Words, std::nullopt, {std::nullopt, Output, std::nullopt},
      /*SecondsToWait=*/0, /*MemoryLimit=*/0, &Message);
  if (Status == 0)
    return Error::success();
  // LLVM takes 126 and 127 for a program that could not be started.
  std::string How = Status > 0 ? formatv("exit code {0}", Status).str()
                    : Status == -1 && sys::fs::exists(Tool)
                        ? "exit code 126 or 127"
                        : Message;
  return createStringError("'" + Tool + "' ended with " + How);
}

/// Records the application with llvm-mneme-record's defaults: by a profile, the
/// kernels that take the time, or else all.
Error ApplicationStudy::record() {
  O.Database = pathIn(Dir, "recording");
  if (O.Resume && sys::fs::exists(O.Database))
    return Error::success();
  double Start = steadySeconds();
  std::string Output = pathIn(Dir, "recorded.out");
  std::vector<std::string> Options{"-o", O.Database};
  if (O.Quiet)
    Options.push_back("--quiet");
  if (O.Budget && getNamedDevice(O) == "host")
    Options.push_back(formatv("--check-code={0}", CheckPart * O.Budget).str());
  std::vector<std::string> Covering = Options;
  Covering.push_back(("--cover=" + RecordedPart).str());
  Error E = runRecorder(std::move(Covering), Output);
  if (E && !sys::fs::exists(O.Database)) {
    if (!O.Quiet)
      printNote("without a profile, all kernels are recorded");
    consumeError(std::move(E));
    E = runRecorder(std::move(Options), Output);
  }
  if (E)
    return createStringError(
        "the application was not recorded: " + toString(std::move(E)) + "; '" +
        Output + "' has the application's output");
  RunSeconds = (steadySeconds() - Start) / 2;
  warnOfDifferences(Output);
  if (O.Budget && !O.Quiet)
    printNote(formatv("after recording, which took {0:F0} s, {1:F0} s of "
                      "--budget are left",
                      2 * RunSeconds, std::max(0.0, secondsLeft())));
  return Error::success();
}

/// Says before the time is spent that there will be no proof, if the profiled
/// and the recorded run, whose outputs \p File has, did not print the same.
void ApplicationStudy::warnOfDifferences(StringRef File) const {
  if (!O.Application->Check.empty() ||
      !sys::fs::exists(pathIn(O.Database, RecordedProfile)))
    return;
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(File);
  if (!Text)
    return consumeError(Text.takeError());
  StringRef All = (*Text)->getBuffer();
  size_t Middle = 0;
  for (size_t I = All.count('\n') / 2; I; --I)
    Middle = All.find('\n', Middle) + 1;
  std::string Why =
      explainOutputs(All.take_front(Middle), All.drop_front(Middle),
                     O.Application->IgnoreLines);
  if (!Why.empty())
    printWarning("the application can be tuned, but not proven, as two runs "
                 "print different results: " +
                 Why);
}

Error ApplicationStudy::read() {
  Expected<std::vector<TunedKernel>> All = readKernels(O.Database);
  if (!All)
    return All.takeError();
  StringSet<> Names;
  for (TunedKernel &K : *All) {
    if (K.Kernel.Instances.empty())
      continue;
    if (std::string Text = getFormatWarning(K.Kernel); !Text.empty())
      printWarning(Text);
    // Kernels of different files may have one name.
    std::string Name = makeFileName(K.Kernel.KernelName);
    if (!Names.insert(Name).second)
      Name += "." + K.Kernel.StaticHash.substr(0, 8);
    Kernels.emplace_back();
    Kernels.back().Folder = pathIn(Dir, Name);
    Kernels.back().Recorded = std::move(K);
  }
  std::string File = pathIn(O.Database, RecordedProfile);
  if (sys::fs::exists(File)) {
    Profiled.emplace();
    if (Error E = readProfile(File).moveInto(*Profiled))
      return E;
  }
  if (Kernels.empty())
    return createFileError(O.Database,
                           createStringError("holds no recorded launch"));
  return Error::success();
}

Expected<std::unique_ptr<ReplayPlan>>
ApplicationStudy::makePlan(const StudiedKernel &K, const RecordedInstance &I,
                           bool Verify) const {
  ReplayOptions Replay = O.Replay;
  Replay.Verify &= Verify;
  Replay.RecordId = I.DynamicHash;
  if (StringRef Device = getNamedDevice(O); !Device.empty())
    Replay.Device = Device.str();
  if (!Replay.Iterations)
    Replay.Iterations = ShareIterations;
  return ReplayPlan::create(K.Recorded.File, std::move(Replay));
}

/// Replays each recorded launch of a kernel. Its study verifies it. Kernels
/// that cannot be replayed get an obstacle.
void ApplicationStudy::measure(StudiedKernel &K) const {
  double Start = steadySeconds();
  for (const RecordedInstance &I : K.Recorded.Kernel.Instances) {
    std::unique_ptr<ReplayPlan> Plan;
    ReplayResult R;
    auto Run = [&]() -> Error {
      if (Error E = makePlan(K, I, /*Verify=*/false).moveInto(Plan))
        return E;
      return replay(*Plan).moveInto(R);
    };
    if (Error E = Run()) {
      K.Obstacle = toString(std::move(E));
      return;
    }
    if (!R.Measured) {
      K.Obstacle = (getVerdictName(R.V) +
                    (R.Error.empty() ? Twine() : ": " + Twine(R.Error)))
                       .str();
      return;
    }
    double &Time = K.LaunchNanoseconds[I.DynamicHash];
    Time = summarize(R.nanoseconds()).Median * I.Occurrences;
    K.Nanoseconds += Time;
  }
  K.StartSeconds = steadySeconds() - Start;
}

/// Returns the times of kernels that an earlier run measured, by static hash.
StringMap<double> ApplicationStudy::readTimes() const {
  StringMap<double> Times;
  Expected<std::unique_ptr<MemoryBuffer>> File =
      readFile(pathIn(Dir, "application.json"));
  if (!O.Resume || !File) {
    consumeError(File.takeError());
    return Times;
  }
  Expected<json::Value> All = json::parse((*File)->getBuffer());
  if (!All) {
    consumeError(All.takeError());
    return Times;
  }
  const json::Object *Root = All->getAsObject();
  const json::Array *List = Root ? Root->getArray("kernels") : nullptr;
  for (const json::Value &V : List ? *List : json::Array())
    if (const json::Object *K = V.getAsObject();
        K &&
        (!K->getString("obstacle") || K->getString("obstacle") == OutOfTime))
      Times[K->getString("static_hash").value_or("")] =
          K->getNumber("time_ns").value_or(0);
  return Times;
}

/// Determines the kernels' times, and which ones are worth a study.
void ApplicationStudy::measureShares() {
  // Those with the most threads come first, as time may be short.
  StringMap<double> Threads; // By symbol.
  for (const StudiedKernel &K : Kernels)
    Threads[K.Recorded.Kernel.KernelName] += K.countThreads();
  llvm::sort(Kernels, [&](const StudiedKernel &A, const StudiedKernel &B) {
    return std::pair(B.countThreads(), A.Recorded.Kernel.StaticHash) <
           std::pair(A.countThreads(), B.Recorded.Kernel.StaticHash);
  });
  if (!Profiled && !O.Quiet)
    printNote("timing the recorded launches of " +
              formatCount(Kernels.size(), "kernel"));
  double End = steadySeconds() + SharePart * secondsForStudies();
  const StringMap<double> Known = readTimes();
  double Recorded = 0;
  for (StudiedKernel &K : Kernels) {
    if (Profiled) {
      K.LaunchNanoseconds = Profiled->timesOf(K.Recorded.Kernel);
      // The profile does not tell kernels of different files apart.
      for (auto &L : K.LaunchNanoseconds) {
        L.second *= K.countThreads() / Threads[K.Recorded.Kernel.KernelName];
        K.Nanoseconds += L.second;
      }
    } else {
      K.Nanoseconds = Known.lookup(K.Recorded.Kernel.StaticHash);
    }
    if (Interrupts)
      K.Obstacle = "interrupted";
    else if (K.Nanoseconds == 0 && steadySeconds() >= End)
      K.Obstacle = OutOfTime;
    else if (K.Nanoseconds == 0)
      measure(K);
    Recorded += K.Nanoseconds;
  }
  if (Profiled)
    UnrecordedNanoseconds =
        std::max(0.0, double(Profiled->nanoseconds()) - Recorded);
  double Total = Recorded + UnrecordedNanoseconds;
  for (StudiedKernel &K : Kernels) {
    K.Share = Total ? K.Nanoseconds / Total : 0;
    if (K.Obstacle.empty() && K.Share < LeastShare)
      K.Obstacle =
          formatv("less than {0:F0} % of the time", LeastShare * 100).str();
    if (K.Obstacle.empty())
      inspect(K);
  }
  llvm::sort(Kernels, [](const StudiedKernel &A, const StudiedKernel &B) {
    return std::tie(B.Nanoseconds, A.Recorded.Kernel.StaticHash) <
           std::tie(A.Nanoseconds, B.Recorded.Kernel.StaticHash);
  });
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

/// Finds out whether there is code to tune, and why a winner with another grid
/// or block would not be packed. The latter is a matter of the kernel, except
/// for cooperative launches and clusters.
void ApplicationStudy::inspect(StudiedKernel &K) const {
  ArrayRef<RecordedInstance> All = K.Recorded.Kernel.Instances;
  const auto *I = find_if(All, [](const RecordedInstance &I) {
    return I.Cooperative || I.Cluster != Dim3();
  });
  std::unique_ptr<ReplayPlan> Plan;
  if (Error E = makePlan(K, I == All.end() ? All.front() : *I, /*Verify=*/true)
                    .moveInto(Plan))
    K.Obstacle = toString(std::move(E));
  else if (!Plan->hasIR())
    K.Obstacle = "no IR";
  else if (O.Pack.LaunchShape == MNEME_GRADE_PROVEN)
    if (Error E = explainShapeDependence(*Plan).moveInto(K.NeedsLaunch))
      K.NeedsLaunch = toString(std::move(E));
}

TuneOptions ApplicationStudy::makeOptions(const StudiedKernel &K, Step S,
                                          double Seconds, bool Explain) const {
  TuneOptions Own = O;
  Own.Database = K.Recorded.File;
  Own.AllInstances = K.Launches.empty();
  Own.RecordIds = K.Launches;
  // Replays alone vary too much for weights that a resumed study must share.
  if (Profiled)
    for (const RecordedInstance &I : K.Recorded.Kernel.Instances)
      if (K.Launches.empty() || is_contained(K.Launches, I.DynamicHash))
        Own.InstanceWeights[I.DynamicHash] =
            std::max(1.0, K.LaunchNanoseconds.lookup(I.DynamicHash));
  Own.OfApplication = true;
  Own.NeedsLaunch = K.NeedsLaunch;
  Own.ResultsDir = K.Folder;
  Own.Resume =
      (O.Resume || K.Study) && sys::fs::exists(pathIn(K.Folder, "study.log"));
  Own.Repair &= Own.Resume && !K.Study;
  Own.Budget = O.Budget ? std::max(1e-3, Seconds) : 0;
  if (!Explain)
    Own.Tuner.ExplainLimit = 0;
  if (S == Step::Finish) {
    Own.Exports.push_back({"package", Package});
    return Own;
  }
  // Without a re-test there are no results.
  Own.Tuner.FinalCandidates = Own.Tuner.ExplainLimit = 0;
  Own.Exports.clear();
  Own.Assess = Own.Report = false;
  if (S == Step::Look && (!O.Tuner.Trials || O.Tuner.Trials > LookTrials))
    Own.Tuner.Trials = LookTrials;
  return Own;
}

/// A launch whose verification is vacuous, such as one before there is any data,
/// must not cost the kernel's others. \returns success if they can be tuned.
Error ApplicationStudy::leaveOutVacuous(StudiedKernel &K, Error E) const {
  return handleErrors(
      std::move(E), [&](std::unique_ptr<VacuousLaunches> V) -> Error {
        ArrayRef<RecordedInstance> All = K.Recorded.Kernel.Instances;
        // Launches of a study that has begun do not change.
        if (K.Study || !K.Launches.empty() || V->Ids.size() == All.size())
          return Error(std::move(V));
        // A resumed run knows only their sum.
        if (K.LaunchNanoseconds.empty()) {
          double Known = K.Nanoseconds;
          measure(K);
          K.Nanoseconds = Known;
        }
        for (const RecordedInstance &I : All)
          if (is_contained(V->Ids, I.DynamicHash))
            K.UntunedNanoseconds += K.LaunchNanoseconds.lookup(I.DynamicHash);
          else
            K.Launches.push_back(I.DynamicHash);
        if (!O.Quiet)
          printNote(formatv("'{0}': {1} of {2} is not tuned: {3}",
                            K.Recorded.Kernel.displayName(), V->Ids.size(),
                            formatCount(All.size(), "launch"), V->Why));
        return Error::success();
      });
}

/// A fault of one kernel, such as vacuous verification, must not cost the
/// others' results.
Error ApplicationStudy::tune(StudiedKernel &K, Step S, double Seconds,
                             bool Explain) {
  if (!K.Study) {
    std::string Takes;
    if (K.StartSeconds > LongStart)
      Takes = formatv("; its baseline takes about {0:F0} s", K.StartSeconds);
    if (!O.Quiet)
      printNote(formatv("'{0}': {1:F1} % of the time{2}{3}",
                        K.Recorded.Kernel.displayName(), K.Share * 100, Takes,
                        K.NeedsLaunch.empty()
                            ? ""
                            : "; its grid and block are kept, as others may "
                              "give other results: " +
                                  K.NeedsLaunch));
  }
  double Start = steadySeconds();
  Expected<StudyResult> R = runStudy(makeOptions(K, S, Seconds, Explain));
  if (Error E = leaveOutVacuous(K, R.takeError()))
    R = std::move(E);
  else if (!R)
    R = runStudy(makeOptions(K, S, Seconds, Explain));
  if (R) {
    R->IsExhausted |= O.Tuner.Trials && R->Trials >= O.Tuner.Trials;
    K.StartSeconds = steadySeconds() - Start - R->SearchSeconds;
    // The re-test refuted the search's estimate.
    if (S == Step::Finish && R->Best && !R->Speedup)
      R->Best = 1;
    K.Study = std::move(*R);
  } else {
    K.Obstacle = toString(R.takeError());
    K.Study.reset();
  }
  if (!O.Quiet)
    sayProgress(K);
  return save();
}

/// Divides \p Seconds among the kernels: by share and equally for looks, later
/// by promise. What a kernel does not need is for those after it.
Error ApplicationStudy::divide(double Seconds, Step S) {
  double End = steadySeconds() + Seconds;
  std::vector<StudiedKernel *> Order;
  double Sum = 0;
  auto Weight = [&](const StudiedKernel &K) {
    return S == Step::Look ? K.Share + 1.0 / Kernels.size() : K.promise();
  };
  auto MustEnd = [&](const StudiedKernel &K) {
    return S == Step::Finish && K.hasCandidate();
  };
  for (StudiedKernel &K : Kernels) {
    if (!K.Obstacle.empty() || (K.isExhausted() && !MustEnd(K)))
      continue;
    Order.push_back(&K);
    Sum += Weight(K);
  }
  // Without trials left, a study needs little time: the others get the rest.
  llvm::sort(Order, [&](const auto *A, const auto *B) {
    return std::pair(A->isExhausted(), Weight(*A)) >
           std::pair(B->isExhausted(), Weight(*B));
  });
  auto GetLeast = [](const StudiedKernel &K) {
    return LeastStarts * K.StartSeconds;
  };
  // Drop the least promising ones rather than search too briefly.
  for (size_t I = Order.size(); O.Budget && I-- != 0;) {
    const StudiedKernel &K = *Order[I];
    if (!K.Study || MustEnd(K) || Seconds * Weight(K) / Sum >= GetLeast(K))
      continue;
    Sum -= Weight(K);
    Order.erase(Order.begin() + I);
  }
  for (auto [I, K] : enumerate(Order)) {
    double Own = (End - steadySeconds()) * Weight(*K) / Sum;
    // Looks end after few trials.
    if (S == Step::Look)
      Own = std::max(Own, (End - steadySeconds()) / 2);
    double Least = GetLeast(*K);
    Sum -= Weight(*K);
    if (Interrupts ||
        (O.Budget && End - steadySeconds() < (MustEnd(*K) ? Least : 0))) {
      if (!K->Study || MustEnd(*K))
        K->Obstacle = Interrupts ? "interrupted" : OutOfTime.str();
      continue;
    }
    bool IsLast = all_of(drop_begin(Order, I + 1), [](const auto *Other) {
      return Other->isExhausted();
    });
    if (Error E = tune(*K, S, std::max(Own, Least), !O.Budget || IsLast))
      return E;
  }
  return Error::success();
}

Error ApplicationStudy::tuneAll() {
  // A single kernel gets all at once.
  if (O.Budget &&
      count_if(Kernels, [](const auto &K) { return K.Obstacle.empty(); }) > 1) {
    if (Error E = divide(LookPart * secondsForStudies(), Step::Look))
      return E;
    double Starts = 0, Search = SearchPart * secondsForStudies();
    for (const StudiedKernel &K : Kernels)
      if (K.Study && !K.isExhausted())
        Starts += K.StartSeconds;
    if (Starts < MaxStartPart * Search)
      if (Error E = divide(Search, Step::Search))
        return E;
  }
  if (Error E = divide(secondsForStudies(), Step::Finish))
    return E;
  if (hasPackage() || !ProofSeconds)
    return Error::success();
  // There is nothing to prove.
  ProofSeconds = 0;
  for (StudiedKernel &K : Kernels)
    if (K.Study && K.Obstacle == OutOfTime)
      K.Obstacle.clear();
  return divide(secondsForStudies(), Step::Finish);
}

/// Prints the state of a kernel after a step.
void ApplicationStudy::sayProgress(const StudiedKernel &K) const {
  std::string Text;
  if (!K.Obstacle.empty())
    Text = "not tuned: " + K.Obstacle;
  else if (K.Study->Speedup)
    Text = formatSpeedup(*K.Study->Speedup) +
           (K.isPackaged() ? ", application " + formatSpeedup(predict())
                           : "; no package: " + K.Study->NoPackage);
  else if (K.hasCandidate() && K.Study->Best)
    Text = formatv("{0:F3}x, not re-tested", *K.Study->Best);
  else
    Text = K.describeNothing();
  if (O.Budget)
    errs() << formatv("{0,6:F0} s left  ", std::max(0.0, secondsLeft()));
  errs() << formatv("{0,-32}  {1,5:F1} %  {2,5} trials  {3}\n",
                    printable(shorten(K.Recorded.Kernel.displayName(), 32)),
                    K.Share * 100, K.Study ? K.Study->Trials : 0,
                    printable(Text));
}

//===----------------------------------------------------------------------===//
// All steps
//===----------------------------------------------------------------------===//

/// Returns the text if all kernels have the same obstacle: the options'.
static std::optional<StringRef>
findCommonObstacle(ArrayRef<StudiedKernel> Kernels) {
  StringRef First = Kernels.front().Obstacle;
  if (!First.empty() &&
      all_of(Kernels, [&](const auto &K) { return K.Obstacle == First; }))
    return First;
  return std::nullopt;
}

Expected<int> ApplicationStudy::run() {
  if (Error E = makeStudy(O).takeError())
    return std::move(E);
  if (Error E = prepareFolder())
    return std::move(E);
  if (O.Database.empty())
    if (Error E = record())
      return std::move(E);
  if (Error E = read())
    return std::move(E);
  if (O.Application && O.Budget) {
    ProofSeconds = ProofPart * secondsLeft();
    if (RunSeconds)
      ProofSeconds = std::clamp(ProofSeconds, LeastProofRuns * RunSeconds,
                                ProofRuns * RunSeconds);
    double Most = MaxProofPart * secondsLeft();
    if (Most < LeastProofRuns * RunSeconds && !O.Quiet)
      printNote(formatv(
          "a run of the application takes {0:F1} s, so the time that is left "
          "is too short to prove a gain: --budget={1:F0} would do",
          RunSeconds,
          std::ceil(O.Budget - secondsLeft() +
                    LeastProofRuns * RunSeconds / MaxProofPart)));
    ProofSeconds = std::min(ProofSeconds, Most);
  }
  measureShares();
  // Written first, as the folder is that of this application from now on.
  if (Error E = save())
    return std::move(E);
  if (Error E = tuneAll())
    return std::move(E);
  if (O.Application && hasPackage() && !Interrupts) {
    // The studies' results stand.
    if (Error E = proveWhatHelps())
      NoProof = toString(std::move(E));
  }
  if (Error E = save())
    return std::move(E);
  if (O.Report)
    if (Error E = writeReport())
      return std::move(E);
  if (Kernels.size() > 1)
    if (std::optional<StringRef> Text = findCommonObstacle(Kernels))
      return createStringError(
          *Text + (*Text == OutOfTime ? "; continue with --resume" : ""));
  if (O.JSON)
    jsonOuts() << formatv("{0:2}\n", json::Value(describe()));
  else
    print(textOuts());
  bool HasTried = any_of(Kernels, [](const auto &K) { return K.hasTried(); });
  return HasTried && NoProof.empty() && (!Proved || Proved->holds()) ? 0 : 2;
}

Expected<int> mneme::tuneAllKernels(TuneOptions O) {
  return ApplicationStudy(std::move(O)).run();
}
