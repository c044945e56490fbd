//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record copy, move, prune, export, import.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Manage.h"
#include "Commands.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::CopyCommand("copy", "Copy recordings to another folder");
cl::SubCommand mneme::MoveCommand("move", "Move recordings to another folder");
cl::SubCommand
    mneme::PruneCommand("prune",
                        "Remove recordings, and files that no recording needs");
cl::SubCommand mneme::ExportCommand("export", "Write recordings to one file");
cl::SubCommand
    mneme::ImportCommand("import",
                         "Add the recordings of an exported file to a folder");

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

static cl::opt<std::string> Managed(cl::Positional, cl::Required,
                                    cl::desc("<folder or static hash.json>"),
                                    cl::sub(CopyCommand), cl::sub(MoveCommand),
                                    cl::sub(ExportCommand),
                                    cl::cat(CommandCategory));
static cl::opt<std::string> Target(cl::Positional, cl::Required,
                                   cl::desc("<target folder>"),
                                   cl::sub(CopyCommand), cl::sub(MoveCommand),
                                   cl::cat(CommandCategory));
static cl::opt<std::string> Pruned(cl::Positional, cl::Required,
                                   cl::desc("<folder>"), cl::sub(PruneCommand),
                                   cl::cat(CommandCategory));
static cl::opt<std::string> Imported(cl::Positional, cl::Required,
                                     cl::desc("<exported file>"),
                                     cl::sub(ImportCommand),
                                     cl::cat(CommandCategory));
static cl::opt<std::string> ImportTarget(cl::Positional, cl::Required,
                                         cl::desc("<target folder>"),
                                         cl::sub(ImportCommand),
                                         cl::cat(CommandCategory));
static cl::opt<std::string> ExportFile("o", cl::desc("File to write"),
                                       cl::value_desc("file"), cl::Required,
                                       cl::sub(ExportCommand),
                                       cl::cat(CommandCategory));
static cl::opt<bool> DryRun("dry-run",
                            cl::desc("Print what would be removed, and "
                                     "remove nothing"),
                            cl::sub(PruneCommand), cl::cat(CommandCategory));
static cl::opt<bool> ManageJSON("json", cl::desc("Print JSON"),
                                cl::sub(CopyCommand), cl::sub(MoveCommand),
                                cl::sub(PruneCommand), cl::sub(ExportCommand),
                                cl::sub(ImportCommand),
                                cl::cat(CommandCategory));

// Selection of recordings
static cl::opt<std::string>
    Kernel("kernel",
           cl::desc("Kernels whose symbol or demangled name matches this POSIX "
                    "extended regular expression"),
           cl::value_desc("regex"), cl::sub(getListCommand()),
           cl::sub(getShowCommand()), cl::sub(CopyCommand),
           cl::sub(MoveCommand), cl::sub(PruneCommand), cl::sub(ExportCommand),
           cl::cat(CommandCategory));
static cl::list<std::string> Hashes(
    "hash", cl::desc("Kernels whose static hash begins with one of these"),
    cl::value_desc("hash"), cl::CommaSeparated, cl::sub(getListCommand()),
    cl::sub(getShowCommand()), cl::sub(CopyCommand), cl::sub(MoveCommand),
    cl::sub(PruneCommand), cl::sub(ExportCommand), cl::cat(CommandCategory));
static cl::list<std::string>
    Instances("instance",
              cl::desc("Launches whose dynamic hash begins with one of these"),
              cl::value_desc("hash"), cl::CommaSeparated,
              cl::sub(getListCommand()), cl::sub(getShowCommand()),
              cl::sub(CopyCommand), cl::sub(MoveCommand), cl::sub(PruneCommand),
              cl::sub(ExportCommand), cl::cat(CommandCategory));

RecordingFilter mneme::getFilter() {
  RecordingFilter F;
  F.KernelRegex = Kernel;
  F.StaticHashes.assign(Hashes.begin(), Hashes.end());
  F.DynamicHashes.assign(Instances.begin(), Instances.end());
  return F;
}

Expected<int> mneme::forEachKernel(
    StringRef Path,
    function_ref<void(StringRef File, const RecordedKernel &K)> F) {
  Expected<std::vector<std::string>> Files = getKernelFiles(Path);
  if (!Files)
    return Files.takeError();
  RecordingFilter Filter = getFilter();
  if (Error E = Filter.check())
    return std::move(E);
  std::vector<RecordedKernel> Others;
  bool IsEmpty = true;
  int ExitCode = 0;
  for (const std::string &File : *Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    if (!K) {
      printError(K.takeError());
      ExitCode = 1;
    } else if (Filter.isEmpty()) {
      // A kernel may have no recorded launches.
      F(File, *K);
    } else if (std::optional<RecordedKernel> Some = Filter.select(*K)) {
      F(File, *Some);
      IsEmpty = false;
    } else {
      Others.push_back(std::move(*K));
    }
  }
  if (IsEmpty && !Others.empty())
    return Filter.choose(Others, Path).takeError();
  return ExitCode;
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

static void printJSON(const ManageStats &Stats) {
  json::Array Files;
  for (const std::string &File : Stats.Files)
    Files.push_back(json::fixUTF8(File));
  textOuts() << formatv(
      "{0:2}\n", json::Value(json::Object{{"Kernels", Stats.Kernels},
                                          {"Instances", Stats.Instances},
                                          {"AlreadyThere", Stats.AlreadyThere},
                                          {"Bytes", Stats.Bytes},
                                          {"Removed", std::move(Files)}}));
}

static Expected<int> report(StringRef What, Expected<ManageStats> Stats) {
  if (!Stats)
    return Stats.takeError();
  if (ManageJSON) {
    printJSON(*Stats);
    return 0;
  }
  for (const std::string &File : Stats->Files)
    textOuts() << What << " '" << File << "'\n";
  textOuts() << formatv(
      "{0} {1} of {2}, {3}", What, formatCount(Stats->Instances, "instance"),
      formatCount(Stats->Kernels, "kernel"), formatSize(Stats->Bytes));
  if (Stats->AlreadyThere)
    textOuts() << formatv("; already there: {0}",
                          formatCount(Stats->AlreadyThere, "instance"));
  textOuts() << '\n';
  return 0;
}

Expected<int> mneme::runCopy(ToolArgs) {
  return report("copied", copyRecordings(Managed, getFilter(), Target));
}

Expected<int> mneme::runMove(ToolArgs) {
  return report("moved", moveRecordings(Managed, getFilter(), Target));
}

Expected<int> mneme::runPrune(ToolArgs) {
  return report(DryRun ? "would remove" : "removed",
                pruneRecordings(Pruned, getFilter(), DryRun));
}

Expected<int> mneme::runExport(ToolArgs) {
  return report("exported", exportRecordings(Managed, getFilter(), ExportFile));
}

Expected<int> mneme::runImport(ToolArgs) {
  return report("imported", importRecordings(Imported, ImportTarget));
}
