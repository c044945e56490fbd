//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tunes all recorded kernels of an application: a study of each, a share of the
// time for each, one package, and a prediction for all of them together.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/Deploy/Prove.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include <numeric>
#include <tuple>

using namespace llvm;
using namespace llvm::mneme;

/// Kernels with a smaller share of the time are not tuned: a speed-up of theirs
/// would be lost in the noise of the application's time.
static constexpr double LeastShare = 0.01;

/// The part of a kernel's time that its search gets. The rest is for the
/// baseline, the re-test and the explanation.
static constexpr double SearchPart = 0.6;

/// The part of the budget that is left for the proof on the application.
static constexpr double ProofPart = 0.2;

/// Launches of a kernel to determine its share of the time.
static constexpr unsigned ShareIterations = 5;

namespace {
struct StudiedKernel {
  TunedKernel Recorded;
  std::string Folder;
  /// Of all launches that the recording stands for, with the recorded
  /// configuration.
  double Nanoseconds = 0;
  double Share = 0;
  std::string Obstacle; ///< Why the kernel is not tuned.
  std::optional<StudyResult> Study;

  bool isPackaged() const {
    return Study && Study->IsPackaged && Study->Speedup;
  }
  /// Returns the predicted nanoseconds of its launches, given the speed-up.
  double after(double RatioEstimate::*Bound) const {
    return isPackaged() ? Nanoseconds / ((*Study->Speedup).*Bound)
                        : Nanoseconds;
  }
};

class ApplicationStudy {
public:
  ApplicationStudy(TuneOptions O)
      : O(std::move(O)), Begin(steadySeconds()), Interrupts(countInterrupts()) {
  }
  Expected<int> run();

private:
  TuneOptions O;
  const double Begin;
  const std::atomic<int> &Interrupts;
  std::string Dir, Package;
  std::vector<StudiedKernel> Kernels;
  std::optional<Proof> Proved;
  std::string NoProof; ///< Why the package could not be proven.

  Error prepareFolder();
  Error record();
  Error read();
  Expected<std::unique_ptr<ReplayPlan>>
  makePlan(const StudiedKernel &K, const RecordedInstance &I) const;
  void measure(StudiedKernel &K) const;
  void measureShares();
  std::string explainLaunch(const StudiedKernel &K) const;
  TuneOptions makeOptions(const StudiedKernel &K, double Left) const;
  void tune(StudiedKernel &K, double Left);
  bool hasPackage() const {
    return any_of(Kernels, [](const auto &K) { return K.isPackaged(); });
  }
  Error proveOnApplication();
  double secondsLeft(double Part) const {
    return Begin + O.Tuner.Budget * Part - steadySeconds();
  }
  /// Returns the time that is left for studies.
  double secondsForSearch() const {
    return secondsLeft(O.Application ? 1 - ProofPart : 1);
  }
  RatioEstimate predict() const;
  json::Object describe() const;
  void print(raw_ostream &OS) const;
  std::vector<std::string> deviceOption() const;
  std::string command(StringRef Name) const;
};
} // namespace

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

/// Records the application with llvm-mneme-record's defaults, by that tool: its
/// environment variables apply, too.
Error ApplicationStudy::record() {
  O.Database = pathIn(Dir, "recording");
  if (O.Resume && sys::fs::exists(O.Database))
    return Error::success();
  std::string Tool =
      pathIn(sys::path::parent_path(O.ToolPath), "llvm-mneme-record");
  std::vector<StringRef> Words{Tool, "-o", O.Database};
  const std::vector<std::string> Device = deviceOption();
  append_range(Words, Device);
  if (O.Quiet)
    Words.push_back("--quiet");
  Words.push_back("--");
  append_range(Words, O.Application->Command);
  // Standard output is the result's.
  std::string Output = pathIn(Dir, "recorded.out"), Message;
  int Status =
      sys::ExecuteAndWait(Tool, Words, std::nullopt,
                          {std::nullopt, StringRef(Output), std::nullopt},
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &Message);
  if (Status == 0)
    return Error::success();
  // LLVM takes 126 and 127 for a program that could not be started.
  std::string How = Status > 0 ? formatv("exit code {0}", Status).str()
                    : Status == -1 && sys::fs::exists(Tool)
                        ? "exit code 126 or 127"
                        : Message;
  return createStringError(
      formatv("the application was not recorded: '{0}' ended with {1}; '{2}' "
              "has the application's output",
              Tool, How, Output)
          .str());
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
  if (Kernels.empty())
    return createFileError(O.Database,
                           createStringError("holds no recorded launch"));
  return Error::success();
}

Expected<std::unique_ptr<ReplayPlan>>
ApplicationStudy::makePlan(const StudiedKernel &K,
                           const RecordedInstance &I) const {
  ReplayOptions Replay = O.Replay;
  Replay.RecordId = I.DynamicHash;
  if (StringRef Device = getNamedDevice(O); !Device.empty())
    Replay.Device = Device.str();
  if (!Replay.Iterations)
    Replay.Iterations = ShareIterations;
  return ReplayPlan::create(K.Recorded.File, std::move(Replay));
}

/// Replays each recorded launch of a kernel. Kernels that cannot be replayed
/// get an obstacle.
void ApplicationStudy::measure(StudiedKernel &K) const {
  for (const RecordedInstance &I : K.Recorded.Kernel.Instances) {
    std::unique_ptr<ReplayPlan> Plan;
    ReplayResult R;
    auto Run = [&]() -> Error {
      if (Error E = makePlan(K, I).moveInto(Plan))
        return E;
      return replay(*Plan).moveInto(R);
    };
    if (Error E = Run()) {
      K.Obstacle = toString(std::move(E));
      return;
    }
    if (!R.Measured || (O.Replay.Verify && !R.verified())) {
      K.Obstacle = (getVerdictName(R.V) +
                    (R.Error.empty() ? Twine() : ": " + Twine(R.Error)))
                       .str();
      return;
    }
    K.Nanoseconds += summarize(R.nanoseconds()).Median * I.Occurrences;
    if (!Plan->hasIR())
      K.Obstacle = "no IR";
  }
}

void ApplicationStudy::measureShares() {
  double Total = 0;
  for (StudiedKernel &K : Kernels) {
    if (Interrupts)
      K.Obstacle = "interrupted";
    else
      measure(K);
    Total += K.Nanoseconds;
  }
  for (StudiedKernel &K : Kernels) {
    K.Share = Total ? K.Nanoseconds / Total : 0;
    if (K.Obstacle.empty() && K.Share < LeastShare)
      K.Obstacle =
          formatv("less than {0:F0} % of the time", LeastShare * 100).str();
  }
  llvm::sort(Kernels, [](const StudiedKernel &A, const StudiedKernel &B) {
    return std::tie(B.Nanoseconds, A.Recorded.Kernel.StaticHash) <
           std::tie(A.Nanoseconds, B.Recorded.Kernel.StaticHash);
  });
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

/// Returns why a winner with another grid or block would not be packed; empty
/// if it would. It is a matter of the kernel, except for cooperative
/// launches and clusters.
std::string ApplicationStudy::explainLaunch(const StudiedKernel &K) const {
  if (O.Pack.LaunchShape != MNEME_GRADE_PROVEN)
    return "";
  ArrayRef<RecordedInstance> All = K.Recorded.Kernel.Instances;
  const auto *I = find_if(All, [](const RecordedInstance &I) {
    return I.Cooperative || I.Cluster != Dim3();
  });
  std::unique_ptr<ReplayPlan> Plan;
  std::string Why;
  if (Error E = makePlan(K, I == All.end() ? All.front() : *I).moveInto(Plan))
    return toString(std::move(E));
  if (Error E = explainShapeDependence(*Plan).moveInto(Why))
    return toString(std::move(E));
  return Why;
}

/// \p Left is the share of this kernel and those after it.
TuneOptions ApplicationStudy::makeOptions(const StudiedKernel &K,
                                          double Left) const {
  TuneOptions Own = O;
  Own.Database = K.Recorded.File;
  Own.AllInstances = true;
  Own.OfApplication = true;
  Own.NeedsLaunch = explainLaunch(K);
  Own.ResultsDir = K.Folder;
  Own.Resume = O.Resume && sys::fs::exists(pathIn(K.Folder, "study.log"));
  Own.Repair &= Own.Resume;
  Own.Exports.push_back({"package", Package});
  // What earlier kernels did not need is for the others.
  if (O.Tuner.Budget)
    Own.Tuner.Budget =
        std::max(1.0, secondsForSearch() * K.Share / Left * SearchPart);
  return Own;
}

/// A fault of one kernel, such as vacuous verification, must not cost the
/// others' results.
void ApplicationStudy::tune(StudiedKernel &K, double Left) {
  TuneOptions Own = makeOptions(K, Left);
  if (!O.Quiet)
    printNote(formatv("'{0}': {1:F1} % of the time{2}",
                      K.Recorded.Kernel.displayName(), K.Share * 100,
                      Own.NeedsLaunch.empty()
                          ? ""
                          : "; its grid and block are kept, as others may give "
                            "other results: " +
                                Own.NeedsLaunch));
  Expected<StudyResult> R = runStudy(std::move(Own));
  if (R)
    K.Study = std::move(*R);
  else
    K.Obstacle = toString(R.takeError());
}

Error ApplicationStudy::proveOnApplication() {
  ProveOptions P;
  P.App = *O.Application;
  P.Serve = O.Serve;
  if (O.Tuner.Budget)
    P.Limit = std::max(1.0, secondsLeft(1));
  if (!O.Quiet)
    P.Say = printNote;
  if (Error E = resolvePackages(Package).moveInto(P.Packages))
    return E;
  return prove(P).moveInto(Proved);
}

//===----------------------------------------------------------------------===//
// The result
//===----------------------------------------------------------------------===//

/// Returns the speed-up of all kernels together. Its interval assumes that all
/// kernels are at the ends of theirs.
RatioEstimate ApplicationStudy::predict() const {
  auto Sum = [&](auto Of) {
    return std::accumulate(
        Kernels.begin(), Kernels.end(), 0.0,
        [&](double Sum, const StudiedKernel &K) { return Sum + Of(K); });
  };
  double Before = Sum([](const auto &K) { return K.Nanoseconds; });
  if (!Before)
    return RatioEstimate();
  auto Ratio = [&](double RatioEstimate::*Bound) {
    return Before / Sum([&](const auto &K) { return K.after(Bound); });
  };
  return {Ratio(&RatioEstimate::Value), Ratio(&RatioEstimate::Low),
          Ratio(&RatioEstimate::High)};
}

json::Object ApplicationStudy::describe() const {
  json::Array List;
  for (const StudiedKernel &K : Kernels) {
    json::Object Kernel{
        {"kernel", json::fixUTF8(K.Recorded.Kernel.displayName())},
        {"static_hash", K.Recorded.Kernel.StaticHash},
        {"share", K.Share},
        {"time_ns", K.Nanoseconds},
        {"obstacle", K.Obstacle.empty()
                         ? json::Value(nullptr)
                         : json::Value(json::fixUTF8(K.Obstacle))},
        {"folder", nullptr},
        {"trials", nullptr},
        {"speedup", nullptr},
        {"packaged", K.isPackaged()}};
    if (K.Study) {
      Kernel["folder"] = json::fixUTF8(K.Folder);
      Kernel["trials"] = K.Study->Trials;
      if (K.Study->Speedup)
        Kernel["speedup"] = toJSON(*K.Study->Speedup);
    }
    List.push_back(std::move(Kernel));
  }
  return json::Object{
      {"format", "mneme-application"},
      {"version", 1},
      {"kernels", std::move(List)},
      {"speedup", toJSON(predict())},
      {"package", hasPackage() ? json::Value(json::fixUTF8(Package))
                               : json::Value(nullptr)},
      {"proof", Proved ? toJSON(*Proved) : json::Value(nullptr)},
      {"no_proof", NoProof.empty() ? json::Value(nullptr)
                                   : json::Value(json::fixUTF8(NoProof))}};
}

std::string ApplicationStudy::command(StringRef Name) const {
  std::vector<std::string> Words{"llvm-mneme-deploy", Name.str()};
  append_range(Words, deviceOption());
  for (auto [Option, Value] : {std::pair("--scope=", &O.Serve.Scope),
                               {"--launch-shape=", &O.Serve.LaunchShape},
                               {"--code=", &O.Serve.Code},
                               {"--device-match=", &O.Serve.DeviceMatch}})
    if (!Value->empty())
      Words.push_back(Option + *Value);
  Words.push_back(Package);
  Words.push_back("--");
  if (O.Application)
    append_range(Words, O.Application->Command);
  else
    Words.push_back("APPLICATION");
  return quoteCommand(Words);
}

void ApplicationStudy::print(raw_ostream &OS) const {
  TextTable Table({"kernel", "share", "trials", "speed-up", "result"});
  for (const StudiedKernel &K : Kernels) {
    TextTable::Row Row{K.Recorded.Kernel.displayName(),
                       formatv("{0:F1} %", K.Share * 100), "", "",
                       "not tuned: " + K.Obstacle};
    if (K.Study) {
      Row[2] = std::to_string(K.Study->Trials);
      if (K.Study->Speedup)
        Row[3] = formatv("{0:F3} ({1})", K.Study->Speedup->Value,
                         describeInterval(*K.Study->Speedup));
      Row[4] = !K.Study->Speedup ? "nothing faster"
               : K.isPackaged()  ? "packaged"
                                 : "no package: " + K.Study->NoPackage;
    }
    for (std::string &Cell : Row)
      Cell = printable(Cell);
    Table.add(std::move(Row));
  }
  if (outs().is_displayed())
    Table.fit(getLineWidth(/*OnStandardError=*/false));
  Table.print(OS, "lrrll");
  if (!hasPackage()) {
    OS << "nothing to deploy\n";
    return;
  }
  if (Proved)
    printProof(OS, *Proved);
  if (!NoProof.empty())
    OS << formatv("{0,-12} {1}\n", "no proof", printable(NoProof));
  RatioEstimate All = predict();
  OS << formatv("{0,-12} {1:F3} times as fast ({2}), all kernels together\n",
                "predicted", All.Value, describeInterval(All));
  if (!Proved)
    OS << formatv("{0,-12} {1}\n", "prove", command("prove"));
  if (!Proved || Proved->holds())
    OS << formatv("{0,-12} {1}\n", "run", command("run"));
}

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
  measureShares();
  // Written first, as the folder is that of this application from now on.
  auto Save = [&] {
    return writeFileAtomically(
        pathIn(Dir, "application.json"),
        formatv("{0:2}\n", json::Value(describe())).str());
  };
  if (Error E = Save())
    return std::move(E);
  double Left = 0;
  for (const StudiedKernel &K : Kernels)
    if (K.Obstacle.empty())
      Left += K.Share;
  for (StudiedKernel &K : Kernels) {
    if (!K.Obstacle.empty())
      continue;
    if (Interrupts) {
      K.Obstacle = "interrupted";
      continue;
    }
    if (O.Tuner.Budget && secondsForSearch() <= 0) {
      K.Obstacle = "the time is used up (--budget)";
      continue;
    }
    tune(K, Left);
    Left -= K.Share;
    if (Error E = Save())
      return std::move(E);
  }
  if (O.Application && hasPackage() && !Interrupts) {
    // The studies' results stand.
    if (Error E = proveOnApplication())
      NoProof = toString(std::move(E));
  }
  if (Error E = Save())
    return std::move(E);
  if (Kernels.size() > 1)
    if (std::optional<StringRef> Text = findCommonObstacle(Kernels))
      return createStringError(*Text);
  if (O.JSON)
    jsonOuts() << formatv("{0:2}\n", json::Value(describe()));
  else
    print(textOuts());
  bool IsStudied =
      any_of(Kernels, [](const auto &K) { return K.Study.has_value(); });
  return IsStudied && NoProof.empty() && (!Proved || Proved->holds()) ? 0 : 2;
}

Expected<int> mneme::tuneAllKernels(TuneOptions O) {
  return ApplicationStudy(std::move(O)).run();
}
