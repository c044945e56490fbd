//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Evidence.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Replay/CodeText.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Mneme/Support/NumberedIR.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

static std::string getRemarksPath(StringRef Path) {
  return (Path + ".yaml").str();
}

/// Returns the optimization remarks of the compilation that wrote \p After,
/// without those of the compilation that wrote \p Before.
static std::vector<std::string> readNewRemarks(StringRef Before,
                                               StringRef After) {
  std::multiset<std::string> Known;
  std::vector<std::string> New;
  for (StringRef Path : {Before, After}) {
    Expected<std::unique_ptr<MemoryBuffer>> Text =
        readFile(getRemarksPath(Path));
    if (!Text) {
      consumeError(Text.takeError()); // the compilation made no remarks
      continue;
    }
    for (StringRef Remark : split((*Text)->getBuffer(), "--- ")) {
      Remark = Remark.split("\n...").first.trim();
      if (Remark.empty())
        continue;
      if (Path == Before)
        Known.insert(Remark.str());
      else if (auto It = Known.find(Remark.str()); It != Known.end())
        Known.erase(It);
      else
        New.push_back(Remark.str());
    }
  }
  return New;
}

static std::string makeFileName(const PassExecution &E, StringRef When,
                                bool Assembly) {
  std::string Name =
      formatv("{0}-{1}.{2}.{3}", E.Number ? utostr(E.Number) : "required",
              E.Pass, When, Assembly ? "s" : "ll")
          .str();
  for (char &C : Name)
    if (!isAlnum(C) && C != '-' && C != '_' && C != '.')
      C = '_';
  return Name;
}

Expected<ReplayResult> mneme::compileOnly(const ReplayPlan &Plan) {
  auto Compile =
      [&](function_ref<void(ReplayStage)> Report) -> Expected<ReplayResult> {
    Expected<CompiledKernel> Code =
        compileVariant(Plan, CodeTarget::None, Report);
    if (!Code)
      return Code.takeError();
    ReplayResult Result;
    Result.V = Code->V;
    Result.Error = std::move(Code->Error);
    return Result;
  };
  return runIsolated(Plan, Compile);
}

Expected<std::string> mneme::emitCode(const ReplayPlan &Plan,
                                      ReplayOptions Options, StringRef NamedIR,
                                      bool Assembly, StringRef Path) {
  Options.Resources = false;
  Options.Execute = true;
  Options.Instruments = InstrumentOptions();
  if (Options.OptTool.empty() && !Assembly)
    Options.Instruments.Remarks = getRemarksPath(Path);
  if (!Assembly)
    Options.IRFile = NamedIR.str();
  (Assembly ? Options.OutputAsm : Options.OutputIR) = Path.str();
  Expected<std::unique_ptr<ReplayPlan>> Variant = Plan.vary(std::move(Options));
  if (!Variant)
    return Variant.takeError();
  Expected<ReplayResult> Made = compileOnly(**Variant);
  if (!Made)
    return Made.takeError();
  if (Made->failed())
    return createStringError(Made->Error);
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Path);
  if (!Text)
    return Text.takeError();
  return (*Text)->getBuffer().str();
}

/// Returns the IR or assembly after the first \p Last executions.
static Expected<std::string> emit(const ReplayPlan &Plan, StringRef NamedIR,
                                  unsigned Last, bool Assembly,
                                  StringRef Path) {
  ReplayOptions Options = Plan.options();
  Options.RunPasses = Last ? "1-" + std::to_string(Last) : "none";
  return emitCode(Plan, std::move(Options), NamedIR, Assembly, Path);
}

/// Removes facts that only later passes use: attributes, metadata, flags,
/// alignments and assumptions.
static void dropFacts(Module &M) {
  SmallVector<CallBase *> Assumptions;
  for (Function &F : M) {
    F.setAttributes(AttributeList());
    F.clearMetadata();
    for (Instruction &I : instructions(F)) {
      I.dropPoisonGeneratingFlags();
      I.dropUnknownNonDebugMetadata();
      if (isa<FPMathOperator>(I))
        I.copyFastMathFlags(FastMathFlags());
      if (auto *L = dyn_cast<LoadInst>(&I))
        L->setAlignment(Align(1));
      if (auto *S = dyn_cast<StoreInst>(&I))
        S->setAlignment(Align(1));
      if (auto *C = dyn_cast<CallBase>(&I)) {
        C->setAttributes(AttributeList());
        if (C->getIntrinsicID() == Intrinsic::assume)
          Assumptions.push_back(C);
      }
    }
  }
  for (CallBase *C : Assumptions)
    C->eraseFromParent();
  StripDebugInfo(M);
  while (!M.named_metadata_empty())
    M.eraseNamedMetadata(&*M.named_metadata_begin());
}

static Expected<std::string> printWithoutFacts(StringRef IR, double Seconds) {
  return inspectIR(MemoryBufferRef(IR, "IR"), Seconds,
                   [](const Module &M) -> Expected<std::string> {
                     std::unique_ptr<Module> Copy = CloneModule(M);
                     dropFacts(*Copy);
                     std::string Text;
                     raw_string_ostream OS(Text);
                     Copy->print(OS, nullptr);
                     return Text;
                   });
}

ChangeKind mneme::classifyChange(const ReplayPlan &Plan,
                                 const PassExecution &E) {
  if (E.Stage != PassStage::IR)
    return ChangeKind::Code;
  auto Classify = [&]() -> Expected<ChangeKind> {
    Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
    if (!Work)
      return Work.takeError();
    std::string NamedIR = Work->pathOf("named.bc"), IR[2], WithoutFacts[2];
    if (Error Failed = writeNamedIR(Plan, NamedIR))
      return std::move(Failed);
    for (bool After : {false, true}) {
      if (Error Failed = emit(Plan, NamedIR, E.Number - !After,
                              /*Assembly=*/false, Work->pathOf("code.ll"))
                             .moveInto(IR[After]))
        return std::move(Failed);
      if (Error Failed = printWithoutFacts(IR[After], Plan.options().Timeout)
                             .moveInto(WithoutFacts[After]))
        return std::move(Failed);
    }
    return IR[0] == IR[1]                       ? ChangeKind::Nothing
           : WithoutFacts[0] == WithoutFacts[1] ? ChangeKind::Facts
                                                : ChangeKind::Code;
  };
  Expected<ChangeKind> Kind = Classify();
  if (Kind)
    return *Kind;
  consumeError(Kind.takeError());
  return ChangeKind::Code;
}

void mneme::keepCode(StringRef Folder, StringRef Name, StringRef Text,
                     std::string &File, std::string &NotKept) {
  if (Folder.empty())
    return;
  std::string Path = pathIn(Folder, Name);
  if (Error Failed = writeFileAtomically(Path, Text))
    NotKept = NotKeptPrefix.str() + toString(std::move(Failed));
  else
    File = std::move(Path);
}

std::string mneme::diffCode(StringRef Before, StringRef After,
                            StringRef Function, bool IsAssembly) {
  if (IsAssembly) {
    std::string Diff = makeCodeDiff(findFunction(Before, Function),
                                    findFunction(After, Function));
    return Diff.empty() ? makeCodeDiff(Before, After) : Diff;
  }
  JointIR Joint = numberJointly(Before, After);
  StringRef A = findFunction(Joint.Before, Function),
            B = findFunction(Joint.After, Function);
  auto Without = [](StringRef Text, StringRef Part) {
    auto [Head, Tail] = Text.split(Part);
    return Part.empty() ? Text.str() : (Head + Tail).str();
  };
  // A pass may also change declarations, globals and other functions.
  return makeIRDiff(Joint, A, B, /*RenumberedValues=*/true) +
         makeIRDiff(Joint, Without(Joint.Before, A), Without(Joint.After, B),
                    /*RenumberedValues=*/true);
}

/// Compares the code before and after \p E. Fails only if scratch files cannot
/// be written; other obstacles become PassEvidence::Missing.
static Error compareCode(const ReplayPlan &Plan, const PassExecution &E,
                         unsigned Tries, StringRef Folder, PassEvidence &Out) {
  Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
  if (!Work)
    return Work.takeError();
  std::string NamedIR = Work->pathOf("named.bc");
  if (Error Failed = writeNamedIR(Plan, NamedIR))
    return Failed;
  std::string Texts[2], Paths[2], NotKept;
  for (bool After : {false, true}) {
    std::string Name =
        makeFileName(E, After ? "after" : "before", Out.IsAssembly);
    Paths[After] = Work->pathOf(Name);
    // A pass that acts at random may need several compilations to show it.
    for (unsigned Try = 0; Try != (After ? Tries : 1); ++Try) {
      Expected<std::string> Text =
          emit(Plan, NamedIR, E.Number - !After, Out.IsAssembly, Paths[After]);
      if (!Text) {
        Out.Missing = (After ? "no code after it: " : "no code before it: ") +
                      toString(Text.takeError());
        break;
      }
      Texts[After] = std::move(*Text);
      if (Texts[true] != Texts[false])
        break;
    }
    if (!Out.Missing.empty())
      break;
    keepCode(Folder, Name, Texts[After], After ? Out.AfterFile : Out.BeforeFile,
             NotKept);
  }
  if (!Out.Missing.empty())
    return Error::success();
  Out.BeforeText = Texts[0];
  Out.AfterText = Texts[1];
  Out.Diff = diffCode(Texts[0], Texts[1], E.Function, Out.IsAssembly);
  if (Out.Diff.empty())
    Out.Missing = Texts[0] == Texts[1]
                      ? "no change unless executions after it run"
                      : "it only renumbers values";
  else
    Out.Missing = std::move(NotKept);
  Out.Remarks = readNewRemarks(Paths[0], Paths[1]);
  return Error::success();
}

PassEvidence mneme::makeEvidence(const ReplayPlan &Plan, const PassExecution &E,
                                 unsigned Tries, StringRef Folder) {
  PassEvidence Out;
  Out.Number = E.Number;
  Out.IsAssembly = E.Stage == PassStage::CodeGen;
  // The answer is valid without evidence, so this is not an error.
  if (Error Failed = compareCode(Plan, E, Tries, Folder, Out))
    Out.Missing = "cannot be shown: " + toString(std::move(Failed));
  return Out;
}

PassEvidence mneme::makeStepEvidence(const ReplayPlan &Before,
                                     const ReplayPlan &After,
                                     const PassExecution &E, StringRef Folder) {
  PassEvidence Out;
  std::string NotKept;
  auto Compare = [&]() -> Error {
    Expected<PrivateFolder> Work = PrivateFolder::createTemporary();
    if (!Work)
      return Work.takeError();
    auto Read = [&](const ReplayPlan &Plan, StringRef When, std::string &Text,
                    std::string &File) -> Error {
      std::string Name = makeFileName(E, When, /*Assembly=*/false);
      if (Error Failed = emitCode(Plan, Plan.options(), Plan.options().IRFile,
                                  /*Assembly=*/false, Work->pathOf(Name))
                             .moveInto(Text))
        return Failed;
      keepCode(Folder, Name, Text, File, NotKept);
      return Error::success();
    };
    if (Error Failed = Read(Before, "before", Out.BeforeText, Out.BeforeFile))
      return Failed;
    return Read(After, "after", Out.AfterText, Out.AfterFile);
  };
  if (Error Failed = Compare()) {
    Out.Missing = "cannot be shown: " + toString(std::move(Failed));
    return Out;
  }
  Out.Diff = diffCode(Out.BeforeText, Out.AfterText, E.Function,
                      /*IsAssembly=*/false);
  Out.Missing = std::move(NotKept);
  return Out;
}
