//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Instruction counts of the baseline's and the winner's machine code.
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/InstructionMix.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

static Expected<InstructionMix> countIn(const ReplayPlan &Plan,
                                        Expected<CompiledKernel> Code) {
  if (!Code)
    return Code.takeError();
  if (Code->V == Verdict::CompileError)
    return createStringError(Code->Error);
  const SmallVector<char, 0> &Object = Code->Image.Object;
  return readInstructionMix(StringRef(Object.data(), Object.size()),
                            Code->Image.KernelName, Plan.options().CudaPath);
}

static Expected<InstructionMix> countWith(const ReplayPlan &Plan,
                                          const json::Object &Config) {
  ReplayOptions O = Plan.options();
  if (Error E = applyConfig(Config, O))
    return std::move(E);
  Expected<std::unique_ptr<ReplayPlan>> Variant = Plan.vary(std::move(O));
  if (!Variant)
    return Variant.takeError();
  return countIn(**Variant, compileVariant(**Variant, CodeTarget::GPU,
                                           [](ReplayStage) {}));
}

bool mneme::canCountInstructions(const ReplayPlan &Plan, bool OnHost,
                                 const StudyRecord &R) {
  return R.winner() && Triple(Plan.kernel().Triple).isNVPTX() &&
         (!OnHost || Plan.options().Resources);
}

Error mneme::countInstructions(const ReplayPlan &Plan, StudyRecord &R) {
  const Trial *Winner = R.winner();
  // Check this before compiling.
  if (Error E = findNvdisasm(Plan.options().CudaPath).takeError())
    return E;
  Expected<InstructionMix> Before =
      R.Outcome.AppCode
          ? countIn(Plan, readAppCode(Plan, Plan.options().appFile()))
          : countWith(Plan, json::Object());
  if (!Before)
    return Before.takeError();
  Expected<InstructionMix> After = countWith(Plan, Winner->Config);
  if (!After)
    return After.takeError();
  R.BaselineInstructions = std::move(*Before);
  R.BestInstructions = std::move(*After);
  return Error::success();
}
