//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record check: reports all problems of a folder's recordings.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand
    mneme::CheckCommand("check",
                        "Read recordings completely and report all problems");

static cl::opt<std::string> Dir(cl::Positional, cl::Required,
                                cl::desc("<folder or static hash.json>"),
                                cl::sub(CheckCommand),
                                cl::cat(CommandCategory));
static cl::opt<bool>
    Update("update",
           cl::desc("Add digests to kernel files of format version 1 that have "
                    "no problem"),
           cl::sub(CheckCommand), cl::cat(CommandCategory));
static cl::opt<bool> PrintJSON("json", cl::desc("Print JSON"),
                               cl::sub(CheckCommand), cl::cat(CommandCategory));

/// Returns files that no kernel file refers to, for example after a launcher
/// was killed.
static std::vector<std::string> findOrphans(StringRef Folder,
                                            const StringSet<> &Known) {
  std::vector<std::string> Orphans;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Folder, EC), End; !EC && It != End;
       It.increment(EC)) {
    StringRef Name = sys::path::filename(It->path());
    bool IsStaging = isStagingFolderName(Name) && isRealFolder(It->path());
    if ((isArtifact(Name) || IsStaging) && !Known.contains(Name))
      Orphans.push_back(It->path());
  }
  llvm::sort(Orphans);
  return Orphans;
}

/// Adds digests if requested, or warns that there are none.
static Error updateFormat(StringRef File, const RecordedKernel &K) {
  std::string Text = getFormatWarning(K);
  if (Text.empty())
    return Error::success();
  if (Update)
    return sealKernelFile(File, K);
  printWarning(Text);
  return Error::success();
}

Expected<int> mneme::runCheck(ToolArgs) {
  Expected<std::vector<std::string>> Files = getKernelFiles(Dir);
  if (!Files)
    return Files.takeError();
  size_t Instances = 0;
  std::vector<std::string> Problems, Orphans;
  StringSet<> Reported; // A page file's problem is found with each of its
                        // snapshots.
  auto Report = [&](std::string Problem) {
    if (!Reported.insert(Problem).second)
      return;
    printError(createStringError(Problem));
    Problems.push_back(std::move(Problem));
  };
  StringSet<> Known;
  StringRef Folder = Dir;
  if (!sys::fs::is_directory(Folder))
    Folder = sys::path::parent_path(Folder);
  auto Pages = std::make_shared<PageStore>(Folder);
  for (const std::string &File : *Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    if (!K) {
      Report(toString(K.takeError()));
      continue;
    }
    KernelCheck Found = checkKernel(Folder.empty() ? "." : Folder, *K, Pages);
    if (Found.Problems.empty()) {
      if (Error E = updateFormat(File, *K))
        Report(toString(std::move(E)));
      // An intact recording may still be useless for verification.
      if (Found.Unchanged)
        printWarning(
            formatv("kernel '{0}': {1} of {2} changed no memory; run "
                    "llvm-mneme-replay assess to see what verification notices",
                    K->displayName(), Found.Unchanged,
                    formatCount(K->Instances.size(), "instance"))
                .str());
    }
    for (std::string &Problem : Found.Problems)
      Report(std::move(Problem));
    Instances += K->Instances.size();
    Known.insert_range(K->codeFiles());
    for (const RecordedInstance &I : K->Instances) {
      Known.insert(I.Prologue);
      Known.insert(I.Epilogue);
    }
  }
  // Orphans are unknown if a file cannot be read: it may refer to them.
  for (const Digest128 &Id : Pages->opened())
    Known.insert(PageFile::nameOf(Id));
  if (sys::fs::is_directory(Dir) && Problems.empty())
    Orphans = findOrphans(Dir, Known);
  for (const std::string &Path : Orphans)
    printWarning("'" + Path + "': belongs to no recording");
  if (PrintJSON) {
    auto Strings = [](ArrayRef<std::string> Texts) {
      json::Array A;
      for (const std::string &Text : Texts)
        A.push_back(json::fixUTF8(Text));
      return A;
    };
    json::Object Result{{"Kernels", Files->size()},
                        {"Instances", Instances},
                        {"Problems", Strings(Problems)},
                        {"Orphans", Strings(Orphans)}};
    jsonOuts() << formatv("{0:2}\n", json::Value(std::move(Result)));
  } else {
    textOuts() << formatCount(Files->size(), "kernel") << ", "
               << formatCount(Instances, "instance") << ", "
               << formatCount(Problems.size(), "problem") << '\n';
  }
  return Problems.empty() ? 0 : 1;
}
