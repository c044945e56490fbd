//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Diagnose.h"
#include "PayloadBuilder.h"
#include "SideFiles.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/EmbeddedSource.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/GlobalStatus.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns true for a variable that the host may access by name.
static bool isHostVisible(const GlobalVariable &G) {
  return G.isExternallyInitialized() && !G.isDeclaration() &&
         !G.hasLocalLinkage();
}

static bool isWorthKeeping(const Module &M, const CaptureOptions &Options) {
  // OpenMP compiles the host first and launches kernels differently.
  if (M.getModuleFlag("openmp-device"))
    return false;
  if (any_of(M, isKernel) || any_of(M.globals(), isHostVisible))
    return true;
  // With -fgpu-rdc, other translation units may refer to any external symbol.
  return Options.IsRDC && any_of(M.global_values(), [](const GlobalValue &G) {
           return !G.isDeclaration() && !G.hasLocalLinkage() &&
                  !G.hasAppendingLinkage();
         });
}

/// Returns true if \p G is never written though it is not declared constant,
/// like libdevice's sine and cosine tables: it is invisible outside of the
/// module, and nothing in the module writes it. This must be determined here,
/// because later modules hold single kernels.
static bool isNeverWritten(const GlobalVariable &G) {
  if (!G.hasLocalLinkage() || !G.hasInitializer() || G.isConstant() ||
      G.isExternallyInitialized() ||
      isa<UndefValue>(G.getInitializer())) // Shared memory.
    return false;
  GlobalStatus Status;
  if (GlobalStatus::analyzeGlobal(&G, Status)) // Its address escapes.
    return false;
  return Status.StoredType == GlobalStatus::NotStored;
}

/// Returns the bitcode without the parts that depend on where and how the
/// compiler ran. \p M is modified temporarily instead of cloned: the use-lists
/// of a clone would have another order, on which the result of a pipeline
/// depends.
SmallVector<char, 0> mneme::captureBitcode(Module &M,
                                           const CaptureOptions &Options) {
  std::string Identifier = M.getModuleIdentifier();
  std::string SourceFile = M.getSourceFileName();
  SmallVector<std::pair<Function *, AttributeList>, 0> Changed;
  M.setModuleIdentifier("");
  M.setSourceFileName("");
  if (Options.OptLevel == '0')
    for (Function &F : M)
      if (F.hasFnAttribute(Attribute::OptimizeNone)) {
        Changed.push_back({&F, F.getAttributes()});
        F.removeFnAttr(Attribute::OptimizeNone);
        F.removeFnAttr(Attribute::NoInline);
      }
  SmallVector<GlobalVariable *, 0> Constants;
  for (GlobalVariable &G : M.globals())
    if (isNeverWritten(G)) {
      Constants.push_back(&G);
      G.setConstant(true);
    }
  SmallVector<char, 0> Buffer;
  // Omit the symbol table: writeSymtab() writes one only if the target is
  // registered, so payloads would differ between compilers.
  BitcodeWriter Writer(Buffer);
  Writer.writeModule(M, /*ShouldPreserveUseListOrder=*/true);
  Writer.writeStrtab();
  for (GlobalVariable *G : Constants)
    G->setConstant(false);
  for (auto &[F, Attributes] : Changed)
    F->setAttributes(Attributes);
  M.setSourceFileName(SourceFile);
  M.setModuleIdentifier(Identifier);
  return Buffer;
}

/// Returns the static hashes that the launcher will compute from the bitcode of
/// a payload; none if they cannot be computed, as by another LLVM.
static std::vector<std::string> hashKernels(StringRef Bitcode,
                                            ArrayRef<std::string> Kernels) {
  if (!IsLLVMOfTools)
    return {};
  // Types of the compiler's own module would rename those of the copy.
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> M =
      parseBitcodeFile(MemoryBufferRef(Bitcode, ""), Context);
  if (!M) {
    consumeError(M.takeError());
    return {};
  }
  Expected<std::vector<std::string>> Hashes =
      computeStaticHashes(std::move(*M), Kernels);
  if (Hashes)
    return std::move(*Hashes);
  consumeError(Hashes.takeError());
  return {};
}

static std::string buildPayload(Module &M, const CaptureOptions &Options) {
  PayloadBuilder Payload(M, captureBitcode(M, Options), Options.OptLevel);
  Payload.addFlags(Options.IsRDC ? MNEME_PAYLOAD_RDC : 0);
  std::vector<std::string> Kernels, Hashes;
  for (const Function &F : M)
    if (isKernel(F))
      Kernels.push_back(F.getName().str());
  // Applications have no LLVM to compute them with.
  if (!Options.IsRDC)
    Hashes = hashKernels(Payload.bitcode(), Kernels);
  for (auto [I, Name] : enumerate(Kernels))
    Payload.addKernel(Name, describeArgs(M, Name),
                      Hashes.empty() ? std::nullopt
                                     : parseDigest128(Hashes[I]));
  return Payload.build();
}

/// Runs the preprocessor on the source of this compilation.
static Expected<std::string> makeSource(ArrayRef<std::string> Command) {
  PrivateFolder Folder;
  if (Error E = PrivateFolder::createTemporary().moveInto(Folder))
    return std::move(E);
  EmbeddedSource Unit;
  Unit.Words = dropOutputs(Command.drop_front());
  Unit.Input = Command.back();
  std::string Output = Folder.pathOf("unit"), Problem;
  std::vector<std::string> Words = {Command.front()};
  append_range(Words, Unit.Words);
  Words.insert(Words.end(),
               {"-w", "-E", "-frewrite-includes", "-o", Output, Unit.Input});
  SmallVector<StringRef, 64> Args(Words.begin(), Words.end());
  std::optional<StringRef> Streams[] = {StringRef(), StringRef(), StringRef()};
  if (sys::ExecuteAndWait(Command.front(), Args, std::nullopt, Streams,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &Problem))
    return createStringError("the preprocessor failed" +
                             (Problem.empty() ? "" : ": " + Problem));
  Expected<std::unique_ptr<MemoryBuffer>> Text = readFile(Output);
  if (!Text)
    return Text.takeError();
  Unit.Rewritten = (*Text)->getBuffer().str();
  return makeSourceRecord(Unit);
}

static void keepSource(const Module &M, ArrayRef<std::string> Command,
                       StringRef Target) {
  if (Command.empty())
    return;
  Expected<std::string> Source = makeSource(Command);
  Error E = Source ? writeSideFile(M.getSourceFileName(), Target, *Source,
                                   SideFile::Source)
                   : Source.takeError();
  if (E)
    reportWarning(M, "the source '" + M.getSourceFileName() +
                         "' is not kept: " + toString(std::move(E)));
}

PreservedAnalyses CapturePass::run(Module &M, ModuleAnalysisManager &) {
  if (!isGPU(M) || Options.IsAlone || !isWorthKeeping(M, Options))
    return PreservedAnalyses::all();
  std::string Payload = buildPayload(M, Options);
  // Include the features: two AMDGPU targets may differ only in xnack or
  // sramecc.
  std::string Target = getTriple(M).str() + "," +
                       getTargetAttr(M, "target-cpu").str() + "," +
                       getTargetAttr(M, "target-features").str();
  if (Error E = writeSideFile(M.getSourceFileName(), Target, Payload))
    reportWarning(M, "the device code of '" + M.getSourceFileName() +
                         "' is not kept: " + toString(std::move(E)));
  keepSource(M, Options.SourceCommand, Target);
  return PreservedAnalyses::all();
}

void CapturePass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  OS << MapClassName2PassName(name()) << "<O" << Options.OptLevel
     << (Options.IsRDC ? ";rdc>" : ">");
}
