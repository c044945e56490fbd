//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BufferBounds.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/MemoryLocation.h"
#include "llvm/Analysis/ScalarEvolution.h"
#include "llvm/Analysis/ScalarEvolutionExpressions.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Endian.h"

using namespace llvm;
using namespace llvm::mneme;

std::vector<BufferPlace> mneme::findBufferPlaces(const ReplayPlan &Plan) {
  std::vector<BufferPlace> Places;
  for (auto [Arg, Bytes] : enumerate(Plan.state().args()))
    for (unsigned At = 0; At + 8 <= Bytes.size(); At += 8) {
      uint64_t Word = support::endian::read64le(Bytes.data() + At);
      std::optional<size_t> Region = Plan.state().findRegionOf(Word);
      if (!Region)
        continue;
      const SnapshotRegion &Info = Plan.state().regions()[*Region].Info;
      Places.push_back({unsigned(Arg), At, Word - Info.Address, Info.Size});
    }
  return Places;
}

namespace {
/// Looks at the accesses of one function.
class OutsideFinder {
public:
  OutsideFinder(const DataLayout &DL, ScalarEvolution &SE,
                ArrayRef<BufferPlace> Places)
      : DL(DL), SE(SE), Places(Places) {}

  /// Returns the argument whose buffer an access of \p Size bytes leaves.
  std::optional<unsigned> find(Value &Pointer, uint64_t Size) const;

private:
  const BufferPlace *findPlace(const Value &Pointer) const;

  const DataLayout &DL;
  ScalarEvolution &SE;
  ArrayRef<BufferPlace> Places;
};

struct FindOutsidePass : PassInfoMixin<FindOutsidePass> {
  FindOutsidePass(StringRef Kernel, ArrayRef<BufferPlace> Places,
                  std::set<unsigned> &Found)
      : Kernel(Kernel), Places(Places), Found(Found) {}
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM);

  StringRef Kernel;
  ArrayRef<BufferPlace> Places;
  std::set<unsigned> &Found;
};
} // namespace

/// Returns the place of a pointer that the kernel is given: an argument, or a
/// member of a structure. Null for others.
const BufferPlace *OutsideFinder::findPlace(const Value &Pointer) const {
  const Value *V = &Pointer;
  APInt Offset(64, 0);
  const auto *Load = dyn_cast<LoadInst>(V);
  if (Load) {
    V = Load->getPointerOperand();
    Offset = APInt(DL.getIndexTypeSizeInBits(V->getType()), 0);
    V = V->stripAndAccumulateConstantOffsets(DL, Offset,
                                             /*AllowNonInbounds=*/true);
  }
  const auto *A = dyn_cast<Argument>(V);
  if (!A || bool(A->getPointeeInMemoryValueType()) != bool(Load))
    return nullptr;
  auto It = llvm::find_if(Places, [&](const BufferPlace &P) {
    return P.Arg == A->getArgNo() && Offset == P.Offset;
  });
  return It == Places.end() ? nullptr : It;
}

std::optional<unsigned> OutsideFinder::find(Value &Pointer,
                                            uint64_t Size) const {
  constexpr unsigned Bits = 64;
  ConstantRange Offset(APInt(Bits, 0));
  for (Value *V = &Pointer;;) {
    const SCEV *Address = SE.getSCEV(V), *Base = SE.getPointerBase(Address);
    const auto *Unknown = dyn_cast<SCEVUnknown>(Base);
    if (!Unknown)
      return std::nullopt;
    Offset = Offset.add(
        SE.getSignedRange(SE.removePointerBase(Address)).sextOrTrunc(Bits));
    V = Unknown->getValue();
    if (auto *Cast = dyn_cast<AddrSpaceCastOperator>(V)) {
      V = Cast->getPointerOperand();
      continue;
    }
    const BufferPlace *P = findPlace(*V);
    if (!P || Offset.isFullSet())
      return std::nullopt;
    Offset = Offset.add(ConstantRange(APInt(Bits, P->Before)));
    bool IsBehind = (Offset.getSignedMin() + Size).sgt(P->Size);
    if (IsBehind || Offset.getSignedMax().isNegative())
      return P->Arg;
    return std::nullopt;
  }
}

PreservedAnalyses FindOutsidePass::run(Function &F,
                                       FunctionAnalysisManager &FAM) {
  if (F.getName() != Kernel)
    return PreservedAnalyses::all();
  const DataLayout &DL = F.getDataLayout();
  OutsideFinder Finder(DL, FAM.getResult<ScalarEvolutionAnalysis>(F), Places);
  auto Look = [&](Value *Pointer, uint64_t Size) {
    if (std::optional<unsigned> Arg = Finder.find(*Pointer, Size))
      Found.insert(*Arg);
  };
  for (Instruction &I : instructions(F)) {
    if (auto *Copy = dyn_cast<AnyMemTransferInst>(&I))
      Look(Copy->getRawSource(), 1);
    if (auto *Fill = dyn_cast<AnyMemIntrinsic>(&I))
      Look(Fill->getRawDest(), 1);
    else if (std::optional<MemoryLocation> L = MemoryLocation::getOrNone(&I))
      Look(const_cast<Value *>(L->Ptr),
           L->Size.hasValue() && !L->Size.isScalable()
               ? L->Size.getValue().getFixedValue()
               : 1);
  }
  return PreservedAnalyses::all();
}

std::set<unsigned> mneme::findOutside(Module &M, const SpecializeOptions &S,
                                      ArrayRef<BufferPlace> Places) {
  std::set<unsigned> Found;
  for (Function &F : M)
    if (!F.isDeclaration() && F.getName() != S.Kernel)
      F.setLinkage(GlobalValue::InternalLinkage);
  runPasses(M, nullptr, [&](PassBuilder &PB, ModulePassManager &MPM) {
    MPM.addPass(SpecializePass(S));
    cantFail(PB.parsePassPipeline(
        MPM, "cgscc(inline),function(sroa,early-cse,"
             "instcombine<no-verify-fixpoint>,simplifycfg,sroa,early-cse)"));
    MPM.addPass(createModuleToFunctionPassAdaptor(
        FindOutsidePass(S.Kernel, Places, Found)));
  });
  return Found;
}
