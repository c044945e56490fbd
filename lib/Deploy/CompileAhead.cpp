//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/CompileAhead.h"
#include "PackGuards.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Transforms/Deployable.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// One compilation, in a child process.
class AheadCompilation {
public:
  AheadCompilation(const Payload &P, const PayloadKernel &K,
                   const AheadOptions &O)
      : P(P), K(K), O(O) {}

  Expected<PackagedKernel> run(std::unique_ptr<Module> M);

private:
  Error checkModule(const Module &M) const;
  CompileOptions getOptions(const Module &M) const;
  Expected<CompiledKernel> compile(std::unique_ptr<Module> M,
                                   const KernelCompiler &C) const;

  const Payload &P;
  const PayloadKernel &K;
  const AheadOptions &O;
};
} // namespace

static json::Object dimsToJSON(const Dim3 &D) {
  return json::Object{{"x", D.X}, {"y", D.Y}, {"z", D.Z}};
}

json::Object mneme::toJSON(const WinnerLaunch &L) {
  json::Object Args;
  for (auto [Index, Value] : L.Args)
    Args[utostr(Index)] = Value;
  return json::Object{{"args", std::move(Args)},
                      {"grid", dimsToJSON(L.Grid)},
                      {"block", dimsToJSON(L.Block)},
                      {"recorded_grid", dimsToJSON(L.RecordedGrid)},
                      {"recorded_block", dimsToJSON(L.RecordedBlock)}};
}

std::optional<WinnerLaunch> mneme::readWinnerLaunch(const json::Object &O) {
  WinnerLaunch L;
  const json::Object *Args = O.getObject("args");
  if (!Args || !readDims(O, "grid", L.Grid) || !readDims(O, "block", L.Block) ||
      !readDims(O, "recorded_grid", L.RecordedGrid) ||
      !readDims(O, "recorded_block", L.RecordedBlock))
    return std::nullopt;
  for (const auto &[Key, Value] : *Args) {
    unsigned Index;
    std::optional<uint64_t> Bits = Value.getAsUINT64();
    if (StringRef(Key).getAsInteger(10, Index) || !Bits)
      return std::nullopt;
    L.Args[Index] = *Bits;
  }
  return L;
}

Error AheadCompilation::checkModule(const Module &M) const {
  if (!isPackageable(M.getTargetTriple()))
    return createStringError("packages are for CUDA and HIP programs");
  if (P.IsRDC)
    if (Error E = checkComplete(M))
      return E;
  bool ReadsSize = any_of(findLaunchRegisters(M), [](const auto &R) {
    return R.first == LaunchRegister::BlockSize ||
           R.first == LaunchRegister::GridSize;
  });
  if (O.SpecializeDims && !O.Block && ReadsSize)
    return createStringError("it needs the JIT: the grid and the block are "
                             "constants of its code");
  return Error::success();
}

CompileOptions AheadCompilation::getOptions(const Module &M) const {
  CompileOptions CO = makeCompileOptions(K.Name, O.Config);
  CO.Deployable |= !O.OnHost && !findOwnVariable(M).empty();
  CO.NumberingLimit = O.Seconds / 2;
  CO.OptLevel = std::string(1, P.OptLevel);
  CO.CudaPath = O.CudaPath;
  SpecializeOptions &S = CO.Specialize;
  if (O.SpecializeDims && O.Block) {
    S.Block = O.Block;
    S.Grid = O.Grid;
  }
  if (!O.Launch)
    return CO;
  if (O.Config.Specialize)
    S.Args = O.Launch->Args;
  if (O.Config.SpecializeDims || O.Config.SpecializeRanges) {
    S.Block = O.Launch->Block;
    S.Grid = O.Launch->Grid;
    S.Constants = O.Config.SpecializeDims;
    S.Ranges = O.Config.SpecializeRanges;
  }
  if (O.Config.SetLaunchBounds && !O.Config.MaxThreads)
    S.MaxThreads = O.Launch->Block.count();
  return CO;
}

Expected<CompiledKernel>
AheadCompilation::compile(std::unique_ptr<Module> M,
                          const KernelCompiler &C) const {
  CompiledKernel Code;
  CompileResult Result;
  if (Error E = C.optimize(M, Result))
    return std::move(E);
  if (O.OnHost) {
    LLVMOptionScope Scope;
    if (Error E = C.enterLLVMOptions(Scope))
      return std::move(E);
    resolveVariableSlots(*M);
    HostOptions Host;
    Host.Finish = O.Finish;
    if (Error E = compileKernelForHost(*M, K.Name, Host).moveInto(Code.Image))
      return std::move(E);
    return std::move(Code);
  }
  if (Error E = C.emitImage(*M, Result))
    return std::move(E);
  Code.Image.Arch = C.arch().str();
  Code.Image.KernelName = K.Name;
  Code.Image.Object = std::move(Result.Image);
  Code.Resources = Result.Resources;
  return std::move(Code);
}

Expected<PackagedKernel> AheadCompilation::run(std::unique_ptr<Module> M) {
  if (Error E = checkModule(*M))
    return std::move(E);
  PackagedKernel Result;
  Result.StaticHash = *parseDigest128(computeStaticHash(*M));
  Result.Name = K.Name;
  for (const KernelArg &A : K.Args)
    Result.Args.push_back({A.Size, A.Offset});
  if (O.NeedsProof) {
    LLVMContext Fresh;
    if (std::string Why = findShapeDependence(*copyModule(*M, Fresh), K.Name);
        !Why.empty())
      return createStringError("another launch may give other results: " + Why);
  }
  PackagedVariant &V = Result.Variants.emplace_back();
  V.Fields.DynamicShared = MNEME_SHARED_SAME;
  if (O.Block) {
    V.Fields.Launch = MNEME_LAUNCH_FIXED;
    V.Fields.Grade = MNEME_GRADE_UNPROVEN;
    for (unsigned Axis = 0; Axis != 3; ++Axis) {
      V.Fields.Block[Axis] = (*O.Block)[Axis];
      V.Fields.Grid[Axis] = (*O.Grid)[Axis];
    }
  }
  Expected<KernelCompiler> C = KernelCompiler::create(*M, getOptions(*M));
  if (!C)
    return C.takeError();
  LLVMContext Fresh;
  std::unique_ptr<Module> Compiled = copyModule(*M, Fresh);
  C->preprocess(*Compiled);
  if (C->options().Deployable && !O.OnHost)
    addVariables(*Compiled, V);
  if (O.Launch)
    addSpecialized(*M, K.Name, C->options().Specialize, *O.Launch, Result.Args,
                   V);
  if (Error E = limitThreads(*Compiled->getFunction(K.Name), O.Block, V))
    return std::move(E);
  Expected<CompiledKernel> Code = compile(std::move(M), *C);
  if (!Code)
    return Code.takeError();
  describeImage(*Code, O.OnHost, V);
  return Result;
}

Expected<PackagedKernel> mneme::compileAhead(ArrayRef<Payload> Payloads,
                                             size_t Index, StringRef Kernel,
                                             const AheadOptions &O) {
  const Payload &P = Payloads[Index];
  const PayloadKernel *K = P.findKernel(Kernel);
  assert(K && "the payload has no such kernel");
  if (needsLaunch(O.Config) && !O.Launch)
    return createStringError("it needs the values of a launch");
  if (std::string Pass = findUnguardedPass(O.Config.Passes.value_or(""));
      !Pass.empty())
    return createStringError("no guards are known for the pass '" + Pass +
                             "' of the pipeline");
  if (std::string Changed =
          findMeaningChange(O.Config, O.Config.Passes.value_or(""), false);
      !Changed.empty())
    return createStringError(Changed +
                             " can change results for other data: nothing was "
                             "verified");
  if (!O.OnHost && StringRef(P.Arch).starts_with("sm_"))
    if (Error E =
            checkPTXCompiler(PTXCompiler::Auto, O.CudaPath, O.Config.Ptxas,
                             !O.Config.PtxasControls.empty()))
      return std::move(E);
  ChildLimits Limits;
  Limits.Seconds = O.Seconds;
  Expected<std::string> Bytes = runInChild(
      "the compiler",
      [&]() -> Expected<std::string> {
        LLVMContext Context;
        Context.setDiscardValueNames(true);
        size_t Unit = 0;
        Expected<DeviceLink> Link =
            DeviceLink::create(selectUnits(Payloads, Index, Unit), Context);
        if (!Link)
          return Link.takeError();
        Expected<std::unique_ptr<Module>> M = Link->extract(Unit, Kernel);
        if (!M)
          return M.takeError();
        TunedPackage One;
        if (Error E = AheadCompilation(P, *K, O)
                          .run(std::move(*M))
                          .moveInto(One.Kernels.emplace_back()))
          return std::move(E);
        return packageBytes(One);
      },
      Limits);
  if (!Bytes)
    return Bytes.takeError();
  Expected<TunedPackage> One = parsePackage(*Bytes, "the compiler's result");
  if (!One)
    return One.takeError();
  return std::move(One->Kernels.front());
}
