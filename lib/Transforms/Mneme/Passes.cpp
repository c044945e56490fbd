//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Transforms/Passes.h"
#include "JitEmbed.h"
#include "ParsePass.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Count.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Mneme/Transforms/Fault.h"
#include "llvm/Mneme/Transforms/Fill.h"
#include "llvm/Mneme/Transforms/Number.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Mneme/Transforms/Trace.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

/// Drops kernels that another file defines from clang's list of device code
/// that the host uses. clang 22 declares them as functions, and nvlink refuses
/// that.
static void dropDeclaredKernels(Module &M) {
  GlobalVariable *List =
      M.getGlobalVariable("__clang_gpu_used_external", /*AllowInternal=*/true);
  auto *Listed = List && List->hasInitializer()
                     ? dyn_cast<ConstantArray>(List->getInitializer())
                     : nullptr;
  if (!Listed || !getTriple(M).isNVPTX())
    return;
  SmallVector<Constant *, 16> Kept;
  for (const Use &U : Listed->operands()) {
    auto *F = dyn_cast<Function>(U->stripPointerCasts());
    if (!F || !F->isDeclaration())
      Kept.push_back(cast<Constant>(U));
  }
  if (Kept.size() == Listed->getNumOperands())
    return;
  removeFromUsedLists(
      M, [&](Constant *C) { return C->stripPointerCasts() == List; });
  if (!Kept.empty()) {
    auto *Type = ArrayType::get(Kept.front()->getType(), Kept.size());
    auto *New =
        new GlobalVariable(M, Type, List->isConstant(), List->getLinkage(),
                           ConstantArray::get(Type, Kept), "", List,
                           List->getThreadLocalMode(), List->getAddressSpace());
    New->takeName(List);
    appendToCompilerUsed(M, New);
  }
  List->eraseFromParent();
}

PreservedAnalyses InstrumentPass::run(Module &M, ModuleAnalysisManager &MAM) {
  if (isGPU(M)) {
    dropDeclaredKernels(M);
    writeJitAnnotations(M, Options);
    CapturePass(Options).run(M, MAM);
    return PreservedAnalyses::none();
  }
  // The order matters: mneme-embed reads calls that mneme-hooks redirects, and
  // code for the JIT is as instrumented.
  JitEmbedding Jit(M, Options);
  EmbedPass(Options.IsSlim).run(M, MAM);
  HooksPass().run(M, MAM);
  Jit.emit();
  return PreservedAnalyses::none();
}

void InstrumentPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  OS << MapClassName2PassName(name()) << "<O" << Options.OptLevel
     << (Options.IsRDC ? ";rdc" : "") << (Options.IsSlim ? ";slim>" : ">");
}

/// Parses "O0" … "O3", "Os", "Oz", "rdc" and "slim", separated by semicolons.
static Expected<CaptureOptions> parseCaptureOptions(StringRef Text) {
  CaptureOptions Options;
  while (!Text.empty()) {
    StringRef Option;
    std::tie(Option, Text) = Text.split(';');
    if (Option == "rdc")
      Options.IsRDC = true;
    else if (Option == "slim")
      Options.IsSlim = true;
    else if (Option.size() == 2 && Option[0] == 'O' &&
             StringRef("0123sz").contains(Option[1]))
      Options.OptLevel = Option[1];
    else
      return createStringError(inconvertibleErrorCode(),
                               "invalid mneme-capture parameter '" + Option +
                                   "'");
  }
  return Options;
}

void mneme::registerMnemePasses(PassBuilder &PB) {
  if (PassInstrumentationCallbacks *PIC =
          PB.getPassInstrumentationCallbacks()) {
    PIC->addClassToPassName(CapturePass::name(), "mneme-capture");
    PIC->addClassToPassName(EmbedPass::name(), "mneme-embed");
    PIC->addClassToPassName(HooksPass::name(), "mneme-hooks");
    PIC->addClassToPassName(InstrumentPass::name(), "mneme-instrument");
  }
  PB.registerPipelineParsingCallback(
      [](StringRef Name, ModulePassManager &MPM,
         ArrayRef<PassBuilder::PipelineElement>) {
        if (Name == "mneme-embed") {
          MPM.addPass(EmbedPass());
          return true;
        }
        if (Name == "mneme-hooks") {
          MPM.addPass(HooksPass());
          return true;
        }
        return false;
      });
  registerPass<CapturePass>(PB, "mneme-capture", parseCaptureOptions);
  registerPass<InstrumentPass>(PB, "mneme-instrument", parseCaptureOptions);
  registerSpecializePass(PB);
  registerDeployablePass(PB);
  registerFillPass(PB);
  registerTracePass(PB);
  registerCountPass(PB);
  registerNumberPass(PB);
  registerFaultPass(PB);
}
