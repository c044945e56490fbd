//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Instruments.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/IR2Vec.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Mneme/Compile/InstructionMix.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/KernelFeatures.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/TimeProfiler.h"
#include "llvm/Support/raw_ostream.h"
#include <fcntl.h>
#include <map>
#include <sys/file.h>

using namespace llvm;
using namespace llvm::mneme;

/// Microseconds; shorter events are omitted from a trace.
static constexpr unsigned TraceGranularity = 0;

Instruments::~Instruments() {
  if (Traces)
    timeTraceProfilerCleanup();
}

//===----------------------------------------------------------------------===//
// Beginning and end
//===----------------------------------------------------------------------===//

Error Instruments::begin() {
  if (!O.SaveTemps.empty())
    if (std::error_code EC = sys::fs::create_directories(O.SaveTemps))
      return createFileError(O.SaveTemps, EC);
  if (!O.Remarks.empty()) {
    // No ToolOutputFile: keep the remarks of a compilation that crashes.
    Expected<int> FD = openToWrite(O.Remarks, O_TRUNC);
    if (!FD)
      return FD.takeError();
    RemarksFile = std::make_unique<raw_fd_ostream>(*FD, /*shouldClose=*/true,
                                                   /*unbuffered=*/true);
  }
  if (!O.TimeTrace.empty()) {
    timeTraceProfilerInitialize(TraceGranularity, "llvm-mneme-replay");
    Traces = true;
  }
  return Error::success();
}

Error Instruments::end() {
  if (RemarksFile) {
    std::error_code EC = RemarksFile->error();
    RemarksFile->clear_error();
    RemarksFile.reset();
    if (EC)
      return createFileError(O.Remarks, EC);
  }
  if (!std::exchange(Traces, false))
    return Error::success();
  SmallVector<char, 0> Bytes;
  raw_svector_ostream OS(Bytes);
  timeTraceProfilerWrite(OS);
  timeTraceProfilerCleanup();
  return writeFileAtomically(O.TimeTrace, OS.str());
}

//===----------------------------------------------------------------------===//
// Files between the stages
//===----------------------------------------------------------------------===//

Error Instruments::save(StringRef Name, StringRef Contents) {
  return writeFileAtomically(pathIn(O.SaveTemps, Name), Contents);
}

Error Instruments::saveIR(StringRef Name, const Module &M) {
  std::string Text;
  raw_string_ostream OS(Text);
  M.print(OS, nullptr);
  return save(Name, Text);
}

Error Instruments::seeRecorded(const Module &M) {
  if (!O.Dataset.empty())
    if (Error E = describe("recorded", M))
      return E;
  if (O.SaveTemps.empty())
    return Error::success();
  if (Error E = saveIR("1-recorded.ll", M))
    return E;
  LLVMContext Other;
  std::unique_ptr<Module> Copy = copyModule(M, Other);
  Plan.compiler().preprocess(*Copy);
  return saveIR("2-preprocessed.ll", *Copy);
}

Error Instruments::seeOptimized(const Module &M) {
  if (!O.Dataset.empty())
    if (Error E = describe("optimized", M))
      return E;
  return O.SaveTemps.empty() ? Error::success() : saveIR("3-optimized.ll", M);
}

Error Instruments::seeGPUCode(const CompileResult &Compiled) {
  StringRef Image(Compiled.Image.data(), Compiled.Image.size());
  const ReplayOptions &Options = Plan.options();
  bool IsNVPTX = Plan.isNVPTX();
  if (!O.Dataset.empty() && IsNVPTX && !Image.empty()) {
    // Optional: a disassembler may not be available.
    Expected<InstructionMix> Mix =
        readInstructionMix(Image, Plan.kernel().KernelName, Options.CudaPath);
    json::Object Counts;
    if (Mix)
      for (const auto &[Opcode, Count] : *Mix)
        Counts[Opcode] = Count;
    consumeError(Mix.takeError());
    if (!Counts.empty())
      Features["machine_instructions"] = std::move(Counts);
  }
  if (O.SaveTemps.empty())
    return Error::success();
  if (Error E =
          save(IsNVPTX ? "4-kernel.ptx" : "4-kernel.s", Compiled.Assembly))
    return E;
  if (Image.empty())
    return Error::success();
  if (Error E = save(IsNVPTX ? "5-kernel.cubin" : "5-kernel.hsaco", Image))
    return E;
  Expected<std::string> Text = IsNVPTX
                                   ? disassembleCubin(Image, Options.CudaPath)
                                   : disassembleObject(Image);
  if (Text)
    return save(IsNVPTX ? "6-kernel.sass" : "6-kernel.dis", *Text);
  O.Note("--save-temps: no disassembly: " + toString(Text.takeError()));
  return Error::success();
}

Error Instruments::seeHostCode(StringRef Object) {
  if (O.SaveTemps.empty())
    return Error::success();
  if (Error E = save("7-host.o", Object))
    return E;
  Expected<std::string> Text = disassembleObject(Object);
  if (Text)
    return save("8-host.dis", *Text);
  O.Note("--save-temps: no disassembly of the host's code: " +
         toString(Text.takeError()));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Features
//===----------------------------------------------------------------------===//

Error Instruments::embed(const Module &M, json::Object &Out) {
  LLVMOptionScope Scope;
  if (Error E = Scope.enter({{"ir2vec-vocab-path", O.Vocabulary}}))
    return E;
  // LLVM reports errors in the file through the context.
  LLVMContext Other;
  std::string Message;
  Other.setDiagnosticHandlerCallBack(
      [](const DiagnosticInfo *DI, void *Text) {
        raw_string_ostream OS(*static_cast<std::string *>(Text));
        DiagnosticPrinterRawOStream Printer(OS);
        DI->print(Printer);
      },
      &Message);
  std::unique_ptr<Module> Copy = copyModule(M, Other);
  ModuleAnalysisManager MAM;
  ir2vec::Vocabulary Vocabulary = IR2VecVocabAnalysis().run(*Copy, MAM);
  if (!Message.empty() || !Vocabulary.isValid())
    return createFileError(O.Vocabulary,
                           createStringError(Message.empty()
                                                 ? "no vocabulary of IR2Vec"
                                                 : StringRef(Message).trim()));
  const Function &F = *Copy->getFunction(Plan.kernel().KernelName);
  std::unique_ptr<ir2vec::Embedder> Embedder =
      ir2vec::Embedder::create(ir2vec::IR2VecEmbeddingKind, F, Vocabulary);
  Out["ir2vec"] = json::Array(Embedder->getFunctionVector().getData());
  return Error::success();
}

Error Instruments::describe(StringRef Stage, const Module &M) {
  const Function *F = M.getFunction(Plan.kernel().KernelName);
  if (!F || F->isDeclaration())
    return Error::success();
  // Some of LLVM's options control these statistics.
  LLVMOptionScope Scope;
  if (Error E = Plan.compiler().enterLLVMOptions(Scope))
    return E;
  json::Object Out = getKernelFeatures(M, *F);
  if (!O.Vocabulary.empty())
    if (Error E = embed(M, Out))
      return E;
  Features[Stage.str()] = std::move(Out);
  return Error::success();
}

json::Value Instruments::takeFeatures() {
  if (O.Dataset.empty())
    return nullptr;
  return std::move(Features);
}

//===----------------------------------------------------------------------===//
// Data sets
//===----------------------------------------------------------------------===//

static json::Value makeSample(const ReplayPlan &Plan, const ReplayResult &R) {
  json::Value Report = makeReport(Plan, R);
  json::Object &Asked = *Report.getAsObject()->getObject("Replay-config");
  json::Object &Result = *Report.getAsObject()->getObject("Result");
  json::Object Sample{{"mneme", getVersion()}};
  for (StringRef Key :
       {"kernel", "static_hash", "record_id", "grid", "block", "shared_mem",
        "config", "passes", "codegen_opt", "arch", "host_finish", "cache"})
    Sample[Key] = std::move(*Asked.get(Key));
  for (StringRef Key : {"verdict", "error", "device", "exec_time", "resources",
                        "occupancy", "obj_size", "ir_hash", "assembly_hash",
                        "code_hash", "toolchain", "times", "start_time"})
    Sample[Key] = std::move(*Result.get(Key));
  Sample["features"] = R.Features;
  return std::move(Sample);
}

/// Appends the line atomically, even if several processes append.
static Error appendLine(StringRef Path, StringRef Line) {
  Expected<int> FD = openToWrite(Path, O_APPEND);
  if (!FD)
    return FD.takeError();
  raw_fd_ostream OS(*FD, /*shouldClose=*/true, /*unbuffered=*/true);
  sys::RetryAfterSignal(-1, ::flock, *FD, LOCK_EX);
  OS << Line;
  std::error_code EC = OS.error();
  OS.clear_error();
  return EC ? createFileError(Path, EC) : Error::success();
}

Error mneme::appendToDataset(const ReplayPlan &Plan, const ReplayResult &R) {
  const std::string &Path = Plan.options().Instruments.Dataset;
  if (Path.empty())
    return Error::success();
  return appendLine(Path, formatv("{0}\n", makeSample(Plan, R)).str());
}
