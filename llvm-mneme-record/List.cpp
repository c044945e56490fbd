//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record list: the kernels and instances in a folder.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getListCommand() {
  static cl::SubCommand Command("list", "List the recordings in a folder");
  return Command;
}

static cl::opt<std::string> ListDir(cl::Positional, cl::Required,
                                    cl::desc("<folder or static hash.json>"),
                                    cl::sub(getListCommand()),
                                    cl::cat(CommandCategory));
static cl::opt<bool> ListJSON("json", cl::desc("Print JSON"),
                              cl::sub(getListCommand()),
                              cl::cat(CommandCategory));

/// Returns the size on disk of a file next to \p KernelFile; 0 if it is
/// missing.
static uint64_t sizeBeside(StringRef KernelFile, StringRef Name) {
  SmallString<128> Path(sys::path::parent_path(KernelFile));
  sys::path::append(Path, Name);
  uint64_t Size = 0;
  return sys::fs::file_size(Path, Size) ? 0 : Size;
}

static void printRow(StringRef File, const RecordedKernel &K) {
  textOuts() << K.displayName() << '\n'
             << "  static hash " << K.StaticHash << ", " << K.Arch << ", -O"
             << K.OptLevel << ", recorded on " << K.Device << '\n';
  for (const RecordedInstance &I : K.Instances)
    textOuts() << "  " << I.DynamicHash << "  grid " << formatDims(I.Grid)
               << ", block " << formatDims(I.Block) << ", shared "
               << I.SharedMem
               << (I.Cluster == Dim3()
                       ? ""
                       : ", clusters of " + formatDims(I.Cluster))
               << ", launches " << I.Occurrences << ", "
               << formatSize(sizeBeside(File, I.Prologue) +
                             sizeBeside(File, I.Epilogue))
               << '\n';
}

/// Page files are shared by all launches of a folder.
static void printPages(StringRef Folder) {
  uint64_t NumFiles = 0, Bytes = 0;
  std::error_code EC;
  for (sys::fs::directory_iterator It(Folder, EC), End; !EC && It != End;
       It.increment(EC)) {
    uint64_t Size = 0;
    if (!PageFile::idOf(sys::path::filename(It->path())) ||
        sys::fs::file_size(It->path(), Size))
      continue;
    ++NumFiles;
    Bytes += Size;
  }
  textOuts() << "all memory: " << formatCount(NumFiles, "page file") << ", "
             << formatSize(Bytes) << '\n';
}

Expected<int> mneme::runList(ToolArgs) {
  json::Array All;
  Expected<int> ExitCode =
      forEachKernel(ListDir, [&](StringRef File, const RecordedKernel &K) {
        if (ListJSON)
          All.push_back(toJSON(K));
        else
          printRow(File, K);
      });
  if (!ExitCode)
    return ExitCode;
  if (ListJSON)
    jsonOuts() << formatv("{0:2}\n", json::Value(std::move(All)));
  else if (sys::fs::is_directory(ListDir))
    printPages(ListDir);
  return ExitCode;
}
