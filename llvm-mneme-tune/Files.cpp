//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/Mneme/Report/Summary.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

Error mneme::makeResultsFolder(const TuneOptions &O, StringRef Dir,
                               function_ref<Error()> Check) {
  if (sys::fs::exists(Dir) && !sys::fs::is_directory(Dir))
    return createFileError(Dir, createStringError("is not a folder"));
  if (Error E = Check())
    return E;
  // The default folder must belong to the user, because the user did not choose
  // it.
  if (O.ResultsDir.empty())
    return makeOwnFolder(Dir);
  if (std::error_code EC = sys::fs::create_directories(Dir))
    return createFileError(Dir, EC);
  return Error::success();
}

static Error checkFolder(const TuneOptions &O, StringRef Dir) {
  // An empty journal is left by a study that was killed before it began.
  std::string Journal = pathIn(Dir, "study.log");
  if (sys::fs::exists(Journal) && !sys::fs::is_regular_file(Journal))
    return createFileError(Journal, createStringError("is not a regular file"));
  uint64_t Size = 0;
  bool HasStudy = !sys::fs::file_size(Journal, Size) && Size;
  if (HasStudy && !O.Resume)
    return createFileError(
        Dir, createStringError("already holds a study; continue it (--resume) "
                               "or name another folder (-o)"));
  if (!HasStudy && O.Resume)
    return createFileError(Dir, createStringError("holds no study to resume"));
  return Error::success();
}

Error mneme::prepareResults(const TuneOptions &O, StringRef Dir) {
  return makeResultsFolder(O, Dir, [&] { return checkFolder(O, Dir); });
}

namespace {
struct ExportName {
  StringRef Format, Extension;
};
} // namespace
static constexpr ExportName ExportNames[] = {
#define EXPORT(Name, Extension, Function, What, Description) {Name, Extension},
#include "llvm/Mneme/Report/Exports.def"
};

/// Returns the requested exports, and those that exist in the folder from an
/// earlier run: they must not be mistaken for exports of this run.
static std::vector<TuneOptions::Export> getExports(const TuneOptions &O,
                                                   StringRef Dir) {
  std::vector<TuneOptions::Export> Exports = O.Exports;
  for (const ExportName &N : ExportNames)
    if (sys::fs::exists(pathIn(Dir, ("study." + N.Extension).str())) &&
        none_of(Exports, [&](const TuneOptions::Export &X) {
          return X.Format == N.Format && X.Path.empty();
        }))
      Exports.push_back({N.Format.str(), ""});
  return Exports;
}

/// Reports why there is no file. Removes an earlier winner's file from the
/// results folder; a file at a given path is kept.
static Error sayNoExport(const TuneOptions::Export &X, StringRef Path,
                         const Twine &Why) {
  printNote(Why);
  if (!X.Path.empty()) {
    if (sys::fs::exists(Path))
      printNote("'" + Path + "' was kept: it is from an earlier study");
    return Error::success();
  }
  if (std::error_code EC = sys::fs::remove(Path))
    return createFileError(Path, EC);
  return Error::success();
}

Error mneme::writeSummary(const TuneOptions &O, StringRef Dir,
                          const StudyRecord &R) {
  if (Error E = writeFileAtomically(pathIn(Dir, "summary.json"),
                                    formatv("{0:2}\n", makeSummary(R)).str()))
    return E;
  return O.Report ? writeReport(R, pathIn(Dir, "report.html"))
                  : Error::success();
}

Expected<std::vector<std::string>>
mneme::writeResults(const TuneOptions &O, StringRef Dir, const StudyRecord &R) {
  std::vector<std::string> Written;
  auto Add = [&](StringRef Name, Error E) {
    if (!E)
      Written.push_back(Name.str());
    return E;
  };
  if (Error E = Add("best.json", writeBest(R, pathIn(Dir, "best.json"))))
    return std::move(E);
  if (Error E = writeSummary(O, Dir, R))
    return std::move(E);
  Written.push_back("summary.json");
  if (O.Report)
    Written.push_back("report.html");
  for (const TuneOptions::Export &X : getExports(O, Dir)) {
    std::string Name = X.Path.empty()
                           ? "study." + getExportExtension(X.Format)->str()
                           : X.Path;
    std::string Path = X.Path.empty() ? pathIn(Dir, Name) : X.Path;
    if (exportsOnlyWinner(X.Format) && !R.winner()) {
      if (O.OfApplication)
        continue;
      if (Error E = sayNoExport(X, Path,
                                "there is no winner to export for " + X.Format))
        return std::move(E);
      continue;
    }
    Error E = handleErrors(
        Add(Name, exportStudy(X.Format, R, Path)), [&](const PackRefusal &No) {
          return O.OfApplication
                     ? Error::success()
                     : sayNoExport(X, Path, "no package: " + No.message());
        });
    if (E)
      return std::move(E);
  }
  return Written;
}
