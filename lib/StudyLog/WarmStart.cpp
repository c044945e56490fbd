//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/StudyLog/WarmStart.h"
#include "OptunaTrial.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/StudyLog/Journal.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/xxhash.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral JournalName = "study.log";

//===----------------------------------------------------------------------===//
// Similar kernels
//===----------------------------------------------------------------------===//

/// Adds the numbers of \p V to \p Counts, each under its path.
static void addCounts(const json::Value &V, const Twine &Path,
                      StringMap<double> &Counts, double Sign) {
  if (std::optional<double> N = V.getAsNumber())
    Counts[Path.str()] += Sign * std::log2(1 + std::max(0.0, *N));
  else if (const json::Object *O = V.getAsObject())
    for (const auto &[Key, Member] : *O)
      addCounts(Member, Path + "/" + StringRef(Key), Counts, Sign);
}

std::optional<double> mneme::getFeatureDistance(const json::Value *A,
                                                const json::Value *B) {
  if (!A || !B || !A->getAsObject() || !B->getAsObject())
    return std::nullopt;
  StringMap<double> Differences;
  addCounts(*A, "", Differences, 1);
  addCounts(*B, "", Differences, -1);
  double Sum = 0;
  for (const auto &D : Differences)
    Sum += D.second * D.second;
  return std::sqrt(Sum);
}

//===----------------------------------------------------------------------===//
// Journals
//===----------------------------------------------------------------------===//

/// Adds the folders with a journal in \p Folder, in the order of their names.
static Error findJournals(StringRef Folder, std::vector<std::string> &Found) {
  std::vector<std::string> Here;
  std::error_code EC;
  for (sys::fs::recursive_directory_iterator
           It(Folder, EC, /*follow_symlinks=*/false),
       End;
       It != End && !EC; It.increment(EC))
    if (sys::path::filename(It->path()) == JournalName)
      Here.push_back(sys::path::parent_path(It->path()).str());
  if (EC)
    return createFileError(Folder, EC);
  if (Here.empty())
    return createFileError(
        Folder, createStringError("no study.log in it or below: give the "
                                  "results folder of a study, or a folder "
                                  "that holds some"));
  sort(Here);
  append_range(Found, Here);
  return Error::success();
}

/// Adds the existing folders to which the store's links lead.
static void readStore(StringRef Store, std::vector<std::string> &Found) {
  std::vector<std::string> Here;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Store, EC), End; It != End && !EC;
       It.increment(EC))
    if (sys::fs::exists(pathIn(It->path(), JournalName))) {
      SmallString<128> Real;
      if (!sys::fs::real_path(It->path(), Real))
        Here.push_back(std::string(Real));
    }
  sort(Here);
  append_range(Found, Here);
}

namespace {
struct Earlier {
  std::string Folder;
  JournalHeader Header;
  bool SameKernel;
  double Distance; ///< 0 for the same kernel.
};

class Finder {
public:
  Finder(const SearchSpace &Space, const WarmStartOptions &O)
      : Space(Space), Params(Space), O(O) {}
  void addStudy(StringRef Folder);
  WarmStart take();

private:
  void addPoints(const Earlier &E);

  const SearchSpace &Space;
  OptunaSpace Params;
  const WarmStartOptions &O;
  std::vector<Earlier> Studies;
  DenseSet<uint64_t> Digests;
  WarmStart Result;
};
} // namespace

void Finder::addStudy(StringRef Folder) {
  Expected<FinishedStudy> S =
      readFinishedStudy(pathIn(Folder, JournalName), /*HeaderOnly=*/true);
  if (!S) {
    Result.Warnings.push_back("an earlier study is ignored: " +
                              toString(S.takeError()));
    return;
  }
  ++Result.NumStudies;
  const Objective &Ours = Space.study().Objectives.front();
  ArrayRef<Objective> Theirs = S->Header.Objectives;
  if (Theirs.empty() || Theirs.front().Metric != Ours.Metric ||
      Theirs.front().Dir != Ours.Dir)
    return;
  Earlier E{Folder.str(), std::move(S->Header), false, 0};
  E.SameKernel = E.Header.Info.getString("static_hash") == O.StaticHash;
  if (!E.SameKernel) {
    std::optional<double> Distance =
        getFeatureDistance(E.Header.Info.get(FeaturesKey), &O.Features);
    if (!Distance || *Distance >= O.MaxDistance)
      return;
    E.Distance = *Distance;
  }
  Studies.push_back(std::move(E));
}

void Finder::addPoints(const Earlier &E) {
  Expected<FinishedStudy> S = readFinishedStudy(pathIn(E.Folder, JournalName));
  if (!S) {
    Result.Warnings.push_back("an earlier study is ignored: " +
                              toString(S.takeError()));
    return;
  }
  const Objective &Obj = S->Header.Objectives.front();
  bool IsTime = Obj.Metric == "time";
  erase_if(S->Trials, [&](const FinishedTrial &T) {
    return T.Values.empty() || !std::isfinite(T.Values.front()) ||
           (IsTime && (T.Values.front() <= 0 ||
                       T.Baseline / T.Values.front() <= 1 + O.MinEffect));
  });
  stable_sort(S->Trials, [&](const FinishedTrial &A, const FinishedTrial &B) {
    if (IsTime)
      return A.Baseline / A.Values.front() > B.Baseline / B.Values.front();
    return Obj.Dir == Direction::Minimize ? A.Values.front() < B.Values.front()
                                          : A.Values.front() > B.Values.front();
  });
  unsigned Left = E.SameKernel ? O.PerStudy : 1;
  for (const FinishedTrial &T : S->Trials) {
    if (!Left || Result.Points.size() == O.Limit)
      return;
    std::optional<Point> P = Params.adapt(T.Params);
    if (!P || !Digests.insert(Space.digest(*P)).second)
      continue;
    Result.Points.push_back({std::move(*P), E.Header.Name, E.Folder,
                             E.SameKernel,
                             IsTime ? T.Baseline / T.Values.front() : 1});
    --Left;
  }
}

WarmStart Finder::take() {
  stable_sort(Studies, [](const Earlier &A, const Earlier &B) {
    return std::pair(!A.SameKernel, A.Distance) <
           std::pair(!B.SameKernel, B.Distance);
  });
  for (const Earlier &E : Studies)
    if (Result.Points.size() < O.Limit)
      addPoints(E);
  stable_sort(Result.Points, [](const WarmPoint &A, const WarmPoint &B) {
    if (A.SameKernel != B.SameKernel)
      return A.SameKernel;
    return A.SameKernel && A.Speedup > B.Speedup;
  });
  return std::move(Result);
}

Expected<WarmStart> mneme::findWarmStart(const SearchSpace &Space,
                                         const WarmStartOptions &O) {
  std::vector<std::string> Folders;
  for (StringRef Folder : O.Folders)
    if (Error E = findJournals(Folder, Folders))
      return std::move(E);
  if (!O.Store.empty())
    readStore(O.Store, Folders);
  Finder F(Space, O);
  StringSet<> Seen;
  for (StringRef Folder : Folders) {
    SmallString<128> Real;
    if (!sys::fs::real_path(Folder, Real) && Seen.insert(Real).second)
      F.addStudy(Folder);
  }
  return F.take();
}

//===----------------------------------------------------------------------===//
// The user's store
//===----------------------------------------------------------------------===//

std::string mneme::getDefaultStudyStore() {
  if (std::optional<std::string> Store =
          sys::Process::GetEnv("MNEME_STUDY_STORE"))
    return *Store == "off" ? "" : *Store;
  SmallString<128> Path;
  if (std::optional<std::string> State = getUserFolder("XDG_STATE_HOME"))
    Path = *State;
  else if (sys::path::home_directory(Path))
    sys::path::append(Path, ".local", "state");
  else
    return "";
  sys::path::append(Path, "mneme", "studies");
  return std::string(Path);
}

Error mneme::rememberStudy(StringRef Store, StringRef ResultsDir) {
  SmallString<128> Real;
  if (std::error_code EC = sys::fs::real_path(ResultsDir, Real))
    return createFileError(ResultsDir, EC);
  if (std::error_code EC = sys::fs::create_directories(Store))
    return createFileError(Store, EC);
  std::error_code EC;
  std::vector<std::string> Dead;
  for (sys::fs::directory_iterator It(Store, EC), End; It != End && !EC;
       It.increment(EC))
    if (It->type() == sys::fs::file_type::symlink_file &&
        !sys::fs::exists(It->path()))
      Dead.push_back(It->path());
  for (const std::string &Link : Dead)
    sys::fs::remove(Link);
  std::string Link =
      pathIn(Store, utohexstr(xxh3_64bits(StringRef(Real)), /*LowerCase=*/true,
                              /*Width=*/16));
  EC = sys::fs::create_link(Real, Link);
  if (EC && EC != std::errc::file_exists)
    return createFileError(Link, EC);
  return Error::success();
}
