//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileRequest.h"
#include "Facts.h"
#include "LinkImage.h"
#include "llvm/Analysis/RuntimeLibcallInfo.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/CodeGen/LibcallLoweringInfo.h"
#include "llvm/CodeGen/TargetSubtargetInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Mneme/Compile/LLVMOptions.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral Entry = MNEME_JIT_FUNCTION_ENTRY;

/// The CPU and the features are those that the program was compiled for:
/// results are the same.
static Expected<std::unique_ptr<TargetMachine>>
createTargetMachine(const Module &M, unsigned Level) {
  const Triple &T = M.getTargetTriple();
  std::string Message;
  const Target *Found = TargetRegistry::lookupTarget(T, Message);
  if (!Found)
    return createStringError(Message);
  const Function &F = *M.getFunction(Entry);
  TargetOptions Options;
  Options.AllowFPOpFusion = FPOpFusion::Standard; // As clang.
  std::optional<CodeGenOptLevel> CodeGen = CodeGenOpt::getLevel(Level);
  std::unique_ptr<TargetMachine> TM(Found->createTargetMachine(
      T, F.getFnAttribute("target-cpu").getValueAsString(),
      F.getFnAttribute("target-features").getValueAsString(), Options,
      Reloc::PIC_, CodeModel::Small,
      CodeGen.value_or(CodeGenOptLevel::Aggressive)));
  if (!TM)
    return createStringError("cannot generate code for '" + T.str() + "'");
  return std::move(TM);
}

/// Decides as the code generator does whether a product is rounded before a
/// sum. Otherwise, a product of constants would be, and the result might differ
/// from that of the program.
static void decideFusion(Module &M, const TargetMachine &TM) {
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    const TargetSubtargetInfo &CPU = *TM.getSubtargetImpl(F);
    bool HasFMA = CPU.checkFeatures("+fma") || CPU.checkFeatures("+fma4");
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      auto *Call = dyn_cast<IntrinsicInst>(&I);
      if (!Call || Call->getIntrinsicID() != Intrinsic::fmuladd)
        continue;
      Type *T = Call->getType(), *Element = T->getScalarType();
      IRBuilder<> B(Call);
      B.setFastMathFlags(Call->getFastMathFlags());
      Value *X = Call->getArgOperand(0), *Y = Call->getArgOperand(1),
            *Z = Call->getArgOperand(2);
      bool IsFused = Element->isHalfTy() ? CPU.checkFeatures("+avx512fp16")
                                         : HasFMA && (Element->isFloatTy() ||
                                                      Element->isDoubleTy());
      Value *Sum = IsFused ? B.CreateIntrinsic(Intrinsic::fma, {T}, {X, Y, Z})
                           : B.CreateFAdd(B.CreateFMul(X, Y), Z);
      Call->replaceAllUsesWith(Sum);
      Call->eraseFromParent();
    }
  }
}

static Error optimize(Module &M, TargetMachine &TM, const KernelConfig &Config,
                      ArrayRef<std::string> Plugins,
                      const SpecializeOptions &SO) {
  LoopAnalysisManager LAM;
  FunctionAnalysisManager FAM;
  CGSCCAnalysisManager CAM;
  ModuleAnalysisManager MAM;
  PassBuilder PB(&TM);
  for (const std::string &Path : Plugins) {
    Expected<PassPlugin> Plugin = PassPlugin::Load(Path);
    if (!Plugin)
      return Plugin.takeError();
    Plugin->registerPassBuilderCallbacks(PB);
  }
  registerKnownLoads(PB, SO);
  MAM.registerPass(
      [&] { return RuntimeLibraryAnalysis(TM.getTargetTriple()); });
  MAM.registerPass([&] { return LibcallLoweringModuleAnalysis(); });
  PB.registerModuleAnalyses(MAM);
  PB.registerCGSCCAnalyses(CAM);
  PB.registerFunctionAnalyses(FAM);
  PB.registerLoopAnalyses(LAM);
  PB.crossRegisterProxies(LAM, FAM, CAM, MAM);
  ModulePassManager MPM;
  if (Error E =
          PB.parsePassPipeline(MPM, Config.Passes.value_or("default<O3>")))
    return E;
  MPM.run(M, MAM);
  std::string Problem;
  raw_string_ostream OS(Problem);
  if (verifyModule(M, &OS))
    return createStringError("invalid IR after the pipeline: " + Problem);
  return Error::success();
}

Expected<JitResult> llvm::mneme::compileFunction(const JitJob &Job,
                                                 const Payload &Code,
                                                 const KernelConfig &Config) {
  const ::mneme::JitRequest &Q = Job.Request;
  LLVMContext Context;
  Context.setDiscardValueNames(true);
  Expected<std::unique_ptr<Module>> Parsed =
      parseBitcodeFile(MemoryBufferRef(Code.Bitcode, Q.Symbol), Context);
  if (!Parsed)
    return Parsed.takeError();
  Module &M = **Parsed;
  Function *F = M.getFunction(Entry);
  std::string Problem;
  raw_string_ostream OS(Problem);
  if (!F || F->isDeclaration() || verifyModule(M, &OS))
    return createStringError("the code is damaged: " + Problem);

  JitResult Result;
  if (!Q.Fields.empty()) {
    LLVMContext Scratch;
    std::unique_ptr<Module> Copy = copyModule(M, Scratch);
    Result.Facts = findFacts(*Copy, Entry, Q);
  }
  ::mneme::JitRequest Needed = Q;
  applyFacts(Needed, Result.Facts);
  SpecializeOptions SO = getSpecialization(Needed, Entry);
  ModuleAnalysisManager MAM;
  SpecializePass(SO).run(M, MAM);

  LLVMOptionScope Scope;
  if (Error E = Scope.enter(Config.LLVMOptions))
    return std::move(E);
  Expected<std::unique_ptr<TargetMachine>> TM =
      createTargetMachine(M, Config.CodeGenLevel.value_or(3));
  if (!TM)
    return TM.takeError();
  M.setDataLayout((*TM)->createDataLayout());
  decideFusion(M, **TM);
  if (Error E = optimize(M, **TM, Config, Job.Plugins, SO))
    return std::move(E);

  SmallVector<char, 0> Object;
  raw_svector_ostream Out(Object);
  legacy::PassManager Emission;
  if ((*TM)->addPassesToEmitFile(Emission, Out, nullptr,
                                 CodeGenFileType::ObjectFile))
    return createStringError("cannot emit objects for '" +
                             M.getTargetTriple().str() + "'");
  Emission.run(M);
  if (Error E =
          linkImage(MemoryBufferRef(StringRef(Object.data(), Object.size()),
                                    Q.Symbol),
                    Entry)
              .moveInto(Result.Image))
    return std::move(E);
  // For debuggers, it is the function itself.
  for (::mneme::JitImage::Function &Each : Result.Image.Functions)
    if (Each.Name == Entry)
      Each.Name = Q.Symbol;
  return std::move(Result);
}
