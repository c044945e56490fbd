//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the studies of an application's kernels come to: the proof, the
// prediction, the table and the report.
//
//===----------------------------------------------------------------------===//

#include "AllKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Report/ApplicationReport.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <numeric>

using namespace llvm;
using namespace llvm::mneme;

/// The part of the proof's time that is kept for a second one.
static constexpr double SecondProofPart = 0.4;

/// The speed-up in the application below which a kernel is slower, if too few
/// pairs of runs were made for an interval.
static constexpr double ClearlySlower = 0.95;

static constexpr StringLiteral ProofOfMore =
    "with kernels that were slower and are no longer in the package; no time "
    "was left to prove the rest";

//===----------------------------------------------------------------------===//
// The proof
//===----------------------------------------------------------------------===//

Error ApplicationStudy::proveOnApplication() {
  ProveOptions P;
  P.App = *O.Application;
  P.Serve = O.Serve;
  if (O.Budget) {
    P.Deadline = Begin + O.Budget;
    // The rest of the package may have to be proven, too.
    if (!Proved && secondsLeft() > 2 * LeastProofRuns * RunSeconds)
      P.Deadline -= SecondProofPart * secondsLeft();
    if (secondsLeft() <= 0)
      return createStringError(OutOfTime);
    if (!P.App.Timeout || P.App.Timeout > secondsLeft())
      P.App.Timeout = secondsLeft();
  }
  if (!O.Quiet)
    P.Say = printNote;
  if (Error E = resolvePackages(Package).moveInto(P.Packages))
    return E;
  Error E = prove(P).moveInto(Proved);
  if (!E || secondsLeft() > 0)
    return E;
  consumeError(std::move(E));
  return createStringError(OutOfTime);
}

/// Returns the speed-up of a kernel in the application, if it was measured.
static std::optional<RatioEstimate>
findMeasured(const std::optional<Proof> &Proved, const StudiedKernel &K) {
  if (!Proved)
    return std::nullopt;
  auto V = find_if(Proved->Variants, [&](const ProvedVariant &V) {
    return V.StaticHash == K.Recorded.Kernel.StaticHash && V.Measured.Ratio;
  });
  return V == Proved->Variants.end() ? std::nullopt : V->Measured.Ratio;
}

/// Returns true if pairs of runs show that a kernel is slower.
static bool isSlower(const RatioEstimate &R) {
  return R.hasInterval() ? R.High < 1 : R.Value < ClearlySlower;
}

/// Takes those kernels out of the package that are slower in the application
/// than without it. \returns whether there were any.
Expected<bool> ApplicationStudy::dropSlower() {
  Expected<TunedPackage> P = readPackage(Package);
  if (!P)
    return P.takeError();
  bool HasDropped = false;
  for (StudiedKernel &K : Kernels) {
    std::optional<RatioEstimate> Ratio = findMeasured(Proved, K);
    if (!K.isPackaged() || !Ratio || !isSlower(*Ratio))
      continue;
    HasDropped = true;
    K.Study->IsPackaged = false;
    K.Study->NoPackage = "slower in the application: " + formatSpeedup(*Ratio);
    erase_if(P->Kernels, [&](const PackagedKernel &Own) {
      return toHexString(Own.StaticHash) == K.Recorded.Kernel.StaticHash;
    });
    if (!O.Quiet)
      sayProgress(K);
  }
  if (!HasDropped)
    return false;
  if (!P->Kernels.empty()) {
    if (Error E = writePackage(Package, *P))
      return std::move(E);
    return true;
  }
  if (std::error_code EC = sys::fs::remove(Package))
    return createFileError(Package, EC);
  return true;
}

/// What was slower in one proof may hide something in the next one.
Error ApplicationStudy::proveWhatHelps() {
  bool HasDropped = true;
  while (HasDropped && hasPackage()) {
    if (Error E = proveOnApplication()) {
      Proved.reset(); // What it proved is no longer the package.
      return E;
    }
    if (!Proved->holds())
      return Error::success();
    if (Error E = dropSlower().moveInto(HasDropped))
      return E;
    double Longest = 0;
    for (double Seconds : Proved->PlainSeconds)
      Longest = std::max(Longest, Seconds);
    IsProofOfMore =
        HasDropped && secondsLeft() < 1.5 * LeastProofRuns * Longest;
    HasDropped &= !IsProofOfMore;
  }
  if (!hasPackage())
    Proved.reset();
  return Error::success();
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
  double Before =
      UnrecordedNanoseconds + Sum([](const auto &K) { return K.Nanoseconds; });
  if (!Before)
    return RatioEstimate();
  auto Ratio = [&](double RatioEstimate::*Bound) {
    return Before / (UnrecordedNanoseconds +
                     Sum([&](const auto &K) { return K.after(Bound); }));
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
        {"obstacle", orNull(K.Obstacle)},
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
      {"unrecorded_ns", UnrecordedNanoseconds},
      {"speedup", toJSON(predict())},
      {"package", hasPackage() ? json::Value(json::fixUTF8(Package))
                               : json::Value(nullptr)},
      {"proof", Proved ? toJSON(*Proved) : json::Value(nullptr)},
      {"no_proof", orNull(NoProof)}};
}

Error ApplicationStudy::save() const {
  return writeFileAtomically(pathIn(Dir, "application.json"),
                             formatv("{0:2}\n", json::Value(describe())).str());
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

static std::string describeResult(const StudiedKernel &K) {
  return !K.Study || (!K.Obstacle.empty() && !K.hasTried())
             ? "not tuned: " + K.Obstacle
         : !K.Obstacle.empty() ? "not re-tested: " + K.Obstacle
         : !K.Study->Speedup   ? K.describeNothing()
         : K.isPackaged()      ? "packaged"
                               : "no package: " + K.Study->NoPackage;
}

Error ApplicationStudy::writeReport() const {
  ApplicationRecord R;
  R.Title = O.Application ? quoteCommand(O.Application->Command) : O.Database;
  for (const StudiedKernel &K : Kernels) {
    ReportedKernel Row;
    Row.Name = K.Recorded.Kernel.displayName();
    Row.Share = K.Share;
    if (K.Study) {
      Row.Trials = K.Study->Trials;
      Row.Speedup = K.Study->Speedup;
    }
    // Without a re-test there is none.
    if (sys::fs::exists(pathIn(K.Folder, "report.html")))
      Row.Report = pathIn(sys::path::filename(K.Folder), "report.html");
    Row.Measured = findMeasured(Proved, K);
    Row.IsPackaged = K.isPackaged();
    Row.Result = describeResult(K);
    R.Kernels.push_back(std::move(Row));
  }
  if (double Part = unrecordedShare(); Part > 0) {
    R.Kernels.emplace_back();
    R.Kernels.back().Name = "(others)";
    R.Kernels.back().Share = Part;
    R.Kernels.back().Result = "not recorded";
  }
  R.Predicted = predict();
  if (StringRef Device = getNamedDevice(O); !Device.empty())
    R.Facts.emplace_back("device", Device);
  R.Facts.emplace_back("time of all steps",
                       formatv("{0:F0} s", steadySeconds() - Begin));
  if (Proved) {
    R.Facts.emplace_back("results with the package",
                         Proved->isEqual() ? "equal" : "different");
    R.Facts.emplace_back("launches served", std::to_string(Proved->Use.Served));
    if (Proved->Application.Ratio)
      R.Facts.emplace_back("whole application",
                           describeInterval(*Proved->Application.Ratio) +
                               " times as fast");
    if (!Proved->isEqual())
      R.Caveats.push_back(Proved->Difference);
  }
  if (IsProofOfMore)
    R.Caveats.push_back(("proven " + ProofOfMore).str());
  if (!NoProof.empty())
    R.Caveats.push_back("no proof: " + NoProof);
  if (hasPackage())
    R.Commands = {{"Prove the package again", command("prove")},
                  {"Run the application with it", command("run")}};
  return writeApplicationReport(R, pathIn(Dir, "report.html"));
}

void ApplicationStudy::print(raw_ostream &OS) const {
  TextTable Table({"kernel", "share", "trials", "speed-up", "result"});
  for (const StudiedKernel &K : Kernels) {
    TextTable::Row Row{K.Recorded.Kernel.displayName(),
                       formatv("{0:F1} %", K.Share * 100), "", "",
                       describeResult(K)};
    if (K.Study) {
      Row[2] = std::to_string(K.Study->Trials);
      if (K.Study->Speedup)
        Row[3] = formatv("{0:F3} ({1})", K.Study->Speedup->Value,
                         describeInterval(*K.Study->Speedup));
    }
    for (std::string &Cell : Row)
      Cell = printable(Cell);
    Table.add(std::move(Row));
  }
  if (double Part = unrecordedShare(); Part > 0)
    Table.add(
        {"(others)", formatv("{0:F1} %", Part * 100), "", "", "not recorded"});
  Table.fit(getLineWidth(/*OnStandardError=*/false));
  Table.print(OS, "lrrll");
  if (!hasPackage()) {
    OS << "nothing to deploy\n";
    return;
  }
  if (Proved)
    printProof(OS, *Proved);
  if (IsProofOfMore)
    OS << formatv("{0,-12} {1}\n", "proven", ProofOfMore);
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
