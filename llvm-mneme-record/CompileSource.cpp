//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record compile: compiles an edited source to IR, for a replay.
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/LLVMOption.h"
#include "llvm/Mneme/Process/Jail.h"
#include "llvm/Mneme/Source/FrontEnd.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::CompileSourceCommand(
    "compile", "Compile an edited source of a recorded kernel to "
               "IR, for llvm-mneme-replay --ir");

static cl::opt<std::string> Source(cl::Positional, cl::Required,
                                   cl::desc("<kernel.cu>"),
                                   cl::sub(CompileSourceCommand),
                                   cl::cat(CommandCategory));
static cl::opt<std::string> Output("o", cl::desc("Output file, bitcode"),
                                   cl::value_desc("file"), cl::Required,
                                   cl::sub(CompileSourceCommand),
                                   cl::cat(CommandCategory));
static cl::list<std::string> Defines("D", cl::desc("Macro, default value 1"),
                                     cl::value_desc("name[=value]"), cl::Prefix,
                                     cl::sub(CompileSourceCommand),
                                     cl::cat(CommandCategory));
static EnumOption<SourceEdit>
    Edit("edit", cl::desc("Parts of the file that may be edited"),
         cl::values(clEnumValN(SourceEdit::Blocks, "blocks",
                               "text between marker lines (default)"),
                    clEnumValN(SourceEdit::Anywhere, "anywhere", "all text")),
         cl::init(SourceEdit::Blocks), cl::sub(CompileSourceCommand),
         cl::cat(CommandCategory));
static cl::opt<bool> CompileJSON("json", cl::desc("Print JSON"),
                                 cl::sub(CompileSourceCommand),
                                 cl::cat(CommandCategory));

static Expected<SourceDefines> parseDefines() {
  SourceDefines All;
  for (StringRef Define : Defines) {
    Expected<LLVMOption> Macro = parseDefine(Define);
    if (!Macro)
      return Macro.takeError();
    All[Macro->Name] = std::move(Macro->Value);
  }
  return std::move(All);
}

static void printCompiled(ArrayRef<SourceDiagnostic> Diagnostics,
                          StringRef Version, const FrontEndResult *Code) {
  if (CompileJSON) {
    json::Array List;
    for (const SourceDiagnostic &D : Diagnostics)
      List.push_back(toJSON(D));
    json::Object All{{"static_hash", nullptr},
                     {"seconds", nullptr},
                     {"diagnostics", std::move(List)}};
    if (Code) {
      All["static_hash"] = Code->StaticHash;
      All["seconds"] = Code->Seconds;
    }
    jsonOuts() << formatv("{0:2}\n", json::Value(std::move(All)));
    return;
  }
  textOuts() << printableLines(printDiagnostics(Diagnostics, Version));
  if (Code)
    textOuts() << "static hash " << Code->StaticHash << '\n';
}

Expected<int> mneme::runCompileSource(ToolArgs Args) {
  Expected<SourceDefines> Macros = parseDefines();
  if (!Macros)
    return Macros.takeError();
  Expected<std::string> Folder = findSourceFolder(Source);
  if (!Folder)
    return Folder.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Source);
  if (!File)
    return File.takeError();
  StringRef Version = (*File)->getBuffer();
  Expected<SourceUnit> Unit = SourceUnit::load(*Folder);
  if (!Unit)
    return Unit.takeError();
  // The text may be another person's or a program's.
  if (Error E = testJail())
    return std::move(E);
  Expected<std::unique_ptr<FrontEnd>> Clang =
      FrontEnd::create(std::make_shared<SourceUnit>(std::move(*Unit)),
                       getInstallPrefix(Args.front()) + "/bin");
  if (!Clang)
    return Clang.takeError();
  Expected<FrontEndResult> Code = (*Clang)->compile(Version, *Macros, Edit);
  if (Code) {
    if (Error E = writeFileAtomically(Output, toStringRef(Code->Bitcode)))
      return std::move(E);
    printCompiled(Code->Warnings, Version, &*Code);
    return 0;
  }
  Error Others = handleErrors(
      Code.takeError(),
      [&](const SourceError &E) {
        printCompiled(E.Diagnostics, Version, nullptr);
      },
      [&](std::unique_ptr<TextError> E) {
        return quoteText(Source, Version, Error(std::move(E)));
      });
  if (Others)
    return std::move(Others);
  return 1;
}
