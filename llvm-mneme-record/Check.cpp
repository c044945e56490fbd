//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record check: everything that is wrong with the recordings of a
/// folder.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::CheckCommand(
    "check", "Read recordings completely and report all that is wrong");

static cl::opt<std::string> Dir(cl::Positional, cl::Required,
                                cl::desc("<folder or static hash.json>"),
                                cl::sub(CheckCommand), cl::cat(RecordCategory));

/// Artifacts that no kernel file names: a launcher that was killed leaves such.
static void warnOfOrphans(StringRef Folder, const StringSet<> &Known) {
  std::vector<std::string> Orphans;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Folder, EC), End; !EC && It != End;
       It.increment(EC)) {
    StringRef Name = sys::path::filename(It->path());
    bool IsArtifact =
        Name.starts_with("DeviceState.") || Name.starts_with(".recording-") ||
        (Name.starts_with("RecordedIR_") && Name.ends_with(".bc"));
    if (IsArtifact && !Known.contains(Name))
      Orphans.push_back(It->path());
  }
  llvm::sort(Orphans);
  for (const std::string &Path : Orphans)
    WithColor::warning(errs(), "llvm-mneme-record")
        << "'" << Path << "': belongs to no recording\n";
}

Expected<int> mneme::runCheck() {
  Expected<std::vector<std::string>> Files = getKernelFiles(Dir);
  if (!Files)
    return Files.takeError();
  size_t Instances = 0, Problems = 0, Unreadable = 0;
  StringSet<> Known;
  for (const std::string &File : *Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    if (!K) {
      printError(K.takeError());
      ++Unreadable;
      continue;
    }
    StringRef Folder = sys::path::parent_path(File);
    for (const std::string &Problem :
         checkKernel(Folder.empty() ? "." : Folder, *K)) {
      printError(createStringError(Problem));
      ++Problems;
    }
    Instances += K->Instances.size();
    Known.insert_range(K->Modules);
    for (const RecordedInstance &I : K->Instances) {
      Known.insert(I.Prologue);
      Known.insert(I.Epilogue);
    }
  }
  Problems += Unreadable;
  if (sys::fs::is_directory(Dir) && !Unreadable)
    warnOfOrphans(Dir, Known);
  outs() << Files->size() << " kernels, " << Instances << " instances, "
         << Problems << " problems\n";
  return Problems ? 1 : 0;
}
