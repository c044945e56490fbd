//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record source: writes the source of a recorded kernel.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/Mneme/Source/FindSource.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::SourceCommand(
    "source", "Write the source of a recorded kernel, ready to be edited");

static cl::list<std::string>
    Words(cl::Positional, cl::OneOrMore,
          cl::desc("<folder or static hash.json> [-- compiler arguments...]"),
          cl::sub(SourceCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    Commands("compile-commands",
             cl::desc("compile_commands.json of the application's build"),
             cl::value_desc("file"), cl::sub(SourceCommand),
             cl::cat(CommandCategory));
static cl::opt<std::string>
    App("app",
        cl::desc("Application, library or object file that was built with "
                 "MNEME_SOURCE=1 in the environment"),
        cl::value_desc("file"), cl::sub(SourceCommand),
        cl::cat(CommandCategory));
static cl::opt<std::string> SourceOutput("o", cl::desc("Output folder"),
                                         cl::value_desc("folder"), cl::Required,
                                         cl::sub(SourceCommand),
                                         cl::cat(CommandCategory));

static Expected<SourceUnit> findUnit(const RecordedKernel &K,
                                     const std::string &Tools) {
  if ((Words.size() > 1) + !Commands.empty() + !App.empty() != 1)
    return createStringError(
        "expected one of --compile-commands=<file>, --app=<file> and, after "
        "--, the command that compiles the kernel's file");
  if (!App.empty()) {
    Expected<std::vector<EmbeddedSource>> Units = readEmbeddedSources(App);
    if (!Units)
      return Units.takeError();
    return findSource(K, *Units, Tools);
  }
  if (!Commands.empty()) {
    Expected<std::vector<CompileCommand>> All = readCompileCommands(Commands);
    if (!All)
      return All.takeError();
    return findSource(K, *All, Tools);
  }
  CompileCommand One;
  One.Words.assign(Words.begin() + 1, Words.end());
  return findSource(K, One, Tools);
}

Expected<int> mneme::runSource(ToolArgs Args) {
  StringRef Recording = Words.front();
  Expected<std::vector<std::string>> Files = getKernelFiles(Recording);
  if (!Files)
    return Files.takeError();
  if (Files->size() != 1)
    return createFileError(
        Recording,
        createStringError("holds " + formatCount(Files->size(), "kernel") +
                          ": name the file of one"));
  Expected<RecordedKernel> K = readKernelFile(Files->front());
  if (!K)
    return K.takeError();
  Expected<SourceUnit> Unit =
      findUnit(*K, getInstallPrefix(Args.front()) + "/bin");
  if (!Unit)
    return Unit.takeError();
  if (Error E = Unit->save(SourceOutput))
    return std::move(E);
  const SourceInfo &Info = Unit->info();
  textOuts() << formatv("{0}: {1} of '{2}'\n", K->displayName(),
                        formatCount(Info.Blocks.size(), "function"), Info.File);
  for (const SourceBlock &B : Info.Blocks)
    textOuts() << formatv("  {0}: lines {1} to {2}\n", B.Name, B.First, B.Last);
  textOuts() << formatv("  static hash {0}, as recorded\n", Info.StaticHash);
  return 0;
}
