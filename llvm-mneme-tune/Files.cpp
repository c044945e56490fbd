//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Tune/Summary.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

static std::string inFolder(StringRef Dir, StringRef Name) {
  SmallString<128> Path(Dir);
  sys::path::append(Path, Name);
  return Path.str().str();
}

Error mneme::prepareResults(const TuneOptions &O, StringRef Dir) {
  // An empty journal is one of a study that was killed before it began.
  uint64_t Size = 0;
  bool HasStudy =
      !sys::fs::file_size(inFolder(Dir, "study.log"), Size) && Size;
  if (HasStudy && !O.Resume)
    return createFileError(
        Dir, createStringError("holds a study already; go on with it "
                               "(--resume) or name another folder (-o)"));
  if (!HasStudy && O.Resume)
    return createFileError(Dir, createStringError("holds no study to resume"));
  if (std::error_code EC = sys::fs::create_directories(Dir))
    return createFileError(Dir, EC);
  return Error::success();
}

Expected<std::vector<std::string>>
mneme::writeResults(const TuneOptions &O, StringRef Dir, const StudyRecord &R) {
  std::vector<std::string> Written;
  auto Add = [&](StringRef Name, Error E) {
    if (!E)
      Written.push_back(Name.str());
    return E;
  };
  if (Error E = Add("best.json", writeBest(R, inFolder(Dir, "best.json"))))
    return std::move(E);
  if (Error E = Add("summary.json",
                    writeFileAtomically(
                        inFolder(Dir, "summary.json"),
                        formatv("{0:2}\n", makeSummary(R)).str())))
    return std::move(E);
  if (O.Report)
    if (Error E =
            Add("report.html", writeReport(R, inFolder(Dir, "report.html"))))
      return std::move(E);
  for (const TuneOptions::Export &X : O.Exports) {
    if (exportsOnlyWinner(X.Format) && !R.winner()) {
      printNote("there is no winner to export for " + X.Format);
      continue;
    }
    std::string Name =
        X.Path.empty() ? "study." + getExportExtension(X.Format)->str()
                       : X.Path;
    if (Error E = Add(Name, exportStudy(X.Format, R,
                                        X.Path.empty() ? inFolder(Dir, Name)
                                                       : X.Path)))
      return std::move(E);
  }
  return Written;
}
