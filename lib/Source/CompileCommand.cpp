//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/CompileCommand.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Record/EmbeddedSource.h"
#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/StringSaver.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// compile_commands.json
//===----------------------------------------------------------------------===//

std::vector<std::string> mneme::splitCommand(StringRef Text) {
  BumpPtrAllocator Allocator;
  StringSaver Saver(Allocator);
  SmallVector<const char *, 64> Words;
  cl::TokenizeGNUCommandLine(Text, Saver, Words);
  return std::vector<std::string>(Words.begin(), Words.end());
}

Expected<std::vector<CompileCommand>>
mneme::readCompileCommands(StringRef Path) {
  auto Refuse = [&](const Twine &Why) {
    return createFileError(Path, createStringError(Why));
  };
  Expected<json::Value> V = readJSONFile(Path);
  if (!V)
    return V.takeError();
  const json::Array *Entries = V->getAsArray();
  if (!Entries)
    return Refuse("expected an array of compile commands");
  std::vector<CompileCommand> Commands;
  for (const auto &[I, Entry] : enumerate(*Entries)) {
    const json::Object *O = Entry.getAsObject();
    CompileCommand C;
    if (O) {
      C.Directory = O->getString("directory").value_or("").str();
      C.File = O->getString("file").value_or("").str();
      if (std::optional<StringRef> Text = O->getString("command"))
        C.Words = splitCommand(*Text);
      else if (const json::Array *Words = O->getArray("arguments"))
        for (const json::Value &Word : *Words)
          C.Words.push_back(Word.getAsString().value_or("").str());
    }
    if (C.Words.empty())
      return Refuse(
          formatv("entry {0} has neither 'command' nor 'arguments'", I).str());
    Commands.push_back(std::move(C));
  }
  return std::move(Commands);
}

//===----------------------------------------------------------------------===//
// Device compilations
//===----------------------------------------------------------------------===//

static bool isLauncher(StringRef Program) {
  return is_contained({"ccache", "sccache", "distcc"},
                      sys::path::filename(Program));
}

/// Returns the path of a program relative to the folder of the command.
static Expected<std::string> findCompiler(StringRef Program,
                                          StringRef Directory) {
  if (!Program.contains('/')) {
    ErrorOr<std::string> Found = sys::findProgramByName(Program);
    if (!Found)
      return createStringError("no program '" + Program + "' in PATH");
    return *Found;
  }
  SmallString<128> Path(Program);
  sys::path::make_absolute(Directory, Path);
  return std::string(Path);
}

/// Returns the clang commands of an nvcc command.
static Expected<std::vector<CompileCommand>>
translateNvcc(CompileCommand Command, StringRef ToolFolder) {
  SmallString<128> Tool(ToolFolder);
  sys::path::append(Tool, "nvcc-as-clang");
  Command.Words[0] = std::string(Tool);
  Command.Words.insert(Command.Words.begin() + 1, "-dryrun");
  Expected<CompilerRun> Run =
      runCompiler(std::string(Tool), Command.Words, {Command.Directory});
  if (!Run)
    return Run.takeError();
  std::vector<CompileCommand> Commands;
  for (StringRef Line : split(Run->Messages, '\n'))
    if (Line.consume_front("#$ "))
      Commands.push_back({splitCommand(Line), Command.Directory, Command.File});
  return std::move(Commands);
}

StringRef DeviceJob::valueOf(StringRef Option) const {
  for (size_t I = 1; I < Words.size(); ++I)
    if (Words[I - 1] == Option)
      return Words[I];
  return "";
}

/// Turns a line of `clang -###` into a job; nothing for other jobs.
static std::optional<DeviceJob> parseJob(StringRef Line, StringRef Directory) {
  DeviceJob Job;
  std::vector<std::string> Words = splitCommand(Line);
  if (Words.size() < 3 || Words[1] != "-cc1" ||
      !is_contained(Words, "-fcuda-is-device"))
    return std::nullopt;
  Job.Program = Words.front();
  Job.Directory = Directory.str();
  Job.Input = Words.back();
  Words.erase(Words.begin());
  Job.Words = dropOutputs(Words);
  return std::move(Job);
}

Expected<std::vector<DeviceJob>>
mneme::findDeviceJobs(const CompileCommand &Command, StringRef ToolFolder) {
  CompileCommand C = Command;
  while (C.Words.size() > 1 && isLauncher(C.Words.front()))
    C.Words.erase(C.Words.begin());
  StringRef Name = sys::path::filename(C.Words.front());
  if (Name == "nvcc" || Name == "nvcc-as-clang") {
    Expected<std::vector<CompileCommand>> Translated =
        translateNvcc(std::move(C), ToolFolder);
    if (!Translated)
      return Translated.takeError();
    std::vector<DeviceJob> All;
    for (const CompileCommand &Own : *Translated) {
      // The linker's objects do not exist yet.
      if (is_contained(Own.Words, "--offload-link"))
        continue;
      Expected<std::vector<DeviceJob>> Jobs = findDeviceJobs(Own, ToolFolder);
      if (!Jobs)
        return Jobs.takeError();
      append_range(All, *Jobs);
    }
    return std::move(All);
  }
  Expected<std::string> Program = findCompiler(C.Words.front(), C.Directory);
  if (!Program)
    return Program.takeError();
  // Each step would have a file of its own.
  erase_if(C.Words, [](StringRef W) { return W.starts_with("-save-temps"); });
  C.Words.insert(C.Words.begin() + 1, "-###");
  Expected<CompilerRun> Run = runCompiler(*Program, C.Words, {C.Directory});
  if (!Run)
    return Run.takeError();
  if (!Run->succeeded())
    return createStringError("'" + quoteCommand(Command.Words) +
                             "' fails: " + Run->describeFailure());
  std::vector<DeviceJob> Jobs;
  for (StringRef Line : split(Run->Messages, '\n'))
    if (std::optional<DeviceJob> Job = parseJob(Line.trim(), C.Directory))
      Jobs.push_back(std::move(*Job));
  return std::move(Jobs);
}

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// Options with a separate value that affect the IR.
static constexpr StringLiteral WithValue[] = {"-triple",
                                              "-aux-triple",
                                              "-target-cpu",
                                              "-target-feature",
                                              "-target-abi",
                                              "-aux-target-cpu",
                                              "-x",
                                              "-mllvm",
                                              "-mrelocation-model",
                                              "-main-file-name",
                                              "-D",
                                              "-U",
                                              "-aux-target-feature",
                                              "-mcode-object-version",
                                              "-pic-level"};

/// Beginnings of options without a separate value that affect the IR, ...
static constexpr StringLiteral Kept[] = {"-O",
                                         "-f",
                                         "-m",
                                         "-std=",
                                         "-D",
                                         "-U",
                                         "-cuid=",
                                         "-target-sdk-version=",
                                         "-vectorize-",
                                         "-disable-",
                                         "-no-",
                                         "-pthread",
                                         "-discard-value-names",
                                         "-clear-ast-before-backend",
                                         "--offload-new-driver",
                                         "-stack-protector",
                                         "-pic-is-pie"};

/// ... except for these. Files that a candidate must not name, and messages.
static constexpr StringLiteral Dropped[] = {"-fplugin",
                                            "-fpass-plugin",
                                            "-fmodule",
                                            "-fprofile",
                                            "-fcoverage",
                                            "-fdebug",
                                            "-ftime",
                                            "-fsave",
                                            "-fcache",
                                            "-fbuild",
                                            "-fdiagnostics",
                                            "-fno-diagnostics",
                                            "-fembed",
                                            "-fcolor",
                                            "-fmessage-length",
                                            "-ferror-limit",
                                            "-fcaret",
                                            "-fno-caret",
                                            "-fansi",
                                            "-fxray",
                                            "-fsanitize",
                                            "-foffload",
                                            "-fthinlto",
                                            "-fcodegen-data",
                                            "-ffile-",
                                            "-fmacro-prefix-map",
                                            "-frandomize",
                                            "-fcrash",
                                            "-ftest-",
                                            "-fmemory-profile",
                                            "-fbasic-block-sections",
                                            "-mlink-builtin-bitcode",
                                            "-mlink-bitcode-file",
                                            "-mthin",
                                            "-main-file"};

static bool startsWithAny(StringRef Word, ArrayRef<StringLiteral> Beginnings) {
  return any_of(Beginnings, [&](StringRef B) { return Word.starts_with(B); });
}

std::vector<std::string> mneme::selectOptions(ArrayRef<std::string> Words) {
  std::vector<std::string> Selected;
  for (size_t I = 0; I < Words.size(); ++I) {
    StringRef Word = Words[I];
    if (is_contained(WithValue, Word) && I + 1 < Words.size()) {
      StringRef Value = Words[++I];
      // Of the plugin, which is not loaded.
      if (Word == "-mllvm" && Value.ltrim('-').starts_with("mneme-"))
        continue;
      Selected.push_back(Word.str());
      Selected.push_back(Value.str());
    } else if (startsWithAny(Word, Kept) && !startsWithAny(Word, Dropped)) {
      Selected.push_back(Word.str());
    }
  }
  return Selected;
}

std::vector<std::string> mneme::getLinkedBitcode(ArrayRef<std::string> Words) {
  std::vector<std::string> Files;
  for (size_t I = 1; I < Words.size(); ++I)
    if (Words[I - 1] == "-mlink-builtin-bitcode")
      Files.push_back(Words[I]);
  return Files;
}
