//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/Analysis/MemoryBuiltins.h"
#include "llvm/Analysis/MemorySSA.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::JitFacts;
using ::mneme::JitRequest;
using ::mneme::JitTarget;

namespace {
/// Where the code reads bytes [Begin, End) of an object.
class Reads {
public:
  Reads(uint64_t Begin, uint64_t End, const DataLayout &DL)
      : Begin(Begin), End(End), DL(DL) {}
  /// \param V  an address \p Offset bytes into the object; std::nullopt: any
  /// number.
  void visit(const Value &V, std::optional<uint64_t> Offset);

  bool any() const { return !Readers.empty() || Escapes; }
  SmallVector<const Instruction *, 8> Readers;
  /// The code may read them through pointers that are not known.
  bool Escapes = false;

private:
  bool overlaps(std::optional<uint64_t> Offset, uint64_t Size) const {
    return !Offset || (*Offset < End && *Offset + Size > Begin);
  }
  void visitCall(const CallBase &Call, const Use &U,
                 std::optional<uint64_t> Offset);

  uint64_t Begin, End;
  const DataLayout &DL;
  SmallPtrSet<const Value *, 8> Merged;
};
} // namespace

void Reads::visitCall(const CallBase &Call, const Use &U,
                      std::optional<uint64_t> Offset) {
  if (auto *Copy = dyn_cast<MemTransferInst>(&Call)) {
    auto *Length = dyn_cast<ConstantInt>(Copy->getLength());
    if (Copy->getRawSource() == U.get() &&
        overlaps(Offset, Length ? Length->getZExtValue() : UINT64_MAX / 2))
      Readers.push_back(&Call);
    return;
  }
  if (auto *I = dyn_cast<IntrinsicInst>(&Call);
      I && (I->isLifetimeStartOrEnd() || I->isAssumeLikeIntrinsic()))
    return;
  // The call may be inlined, and its loads replaced.
  Readers.push_back(&Call);
  Escapes |=
      !Call.isArgOperand(&U) || !Call.doesNotCapture(Call.getArgOperandNo(&U));
}

void Reads::visit(const Value &V, std::optional<uint64_t> Offset) {
  for (const Use &U : V.uses()) {
    const User *By = U.getUser();
    if (auto *GEP = dyn_cast<GEPOperator>(By)) {
      APInt Delta(DL.getIndexTypeSizeInBits(GEP->getType()), 0);
      bool IsKnown = Offset && GEP->accumulateConstantOffset(DL, Delta);
      visit(*GEP, IsKnown ? std::optional(*Offset + Delta.getSExtValue())
                          : std::nullopt);
    } else if (isa<AddrSpaceCastOperator>(By)) {
      visit(*By, Offset);
    } else if (isa<PHINode, SelectInst, FreezeInst>(By)) {
      if (Merged.insert(By).second)
        visit(*By, std::nullopt);
    } else if (auto *Load = dyn_cast<LoadInst>(By)) {
      if (overlaps(Offset, DL.getTypeStoreSize(Load->getType())))
        Readers.push_back(Load);
    } else if (auto *Call = dyn_cast<CallBase>(By)) {
      visitCall(*Call, U, Offset);
    } else if (auto *Store = dyn_cast<StoreInst>(By)) {
      Escapes |= Store->getValueOperand() == U.get();
    } else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(By)) {
      // Never replaced.
      Escapes |= U.getOperandNo() != 0;
    } else if (!isa<ICmpInst, ReturnInst>(By)) {
      Escapes = true;
    }
  }
}

namespace {
/// Finds out which fields are used, and which of them the code may change.
class FieldsPass : public PassInfoMixin<FieldsPass> {
public:
  FieldsPass(StringRef Entry, const JitRequest &Q, JitFacts &Facts)
      : Entry(Entry), Q(Q), Facts(Facts) {}
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &FAM);

private:
  std::string findChange(Function &F, const MnemeJitField &Field,
                         const Reads &Found, FunctionAnalysisManager &FAM);

  StringRef Entry;
  const JitRequest &Q;
  JitFacts &Facts;
};
} // namespace

/// Whether an instruction orders the memory accesses of threads, and writes
/// nothing itself.
static bool isSynchronization(const Instruction &I) {
  auto *Call = dyn_cast<IntrinsicInst>(&I);
  return isa<FenceInst>(I) || (Call && none_of(Call->args(), [](const Use &U) {
                                 return U->getType()->isPointerTy();
                               }));
}

/// Whether an instruction calls a function that writes to no memory that the
/// code reads later: one of a library that only has memory of its own, or one
/// that does not return.
static bool isHarmlessCall(const Instruction &I, const TargetLibraryInfo &TLI) {
  auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return false;
  if (isAllocationFn(Call, &TLI) || getFreedOperand(Call, &TLI) ||
      (isa<CallInst>(Call) && Call->doesNotReturn()))
    return true;
  const Function *F = Call->getCalledFunction();
  if (!F || !F->isDeclaration())
    return false;
  if (F->getName() != "printf")
    return is_contained({"vprintf", "puts", "putchar"}, F->getName());
  // The conversion n writes. A GPU's vprintf has none.
  StringRef Format;
  return getConstantStringInfo(Call->getArgOperand(0), Format) &&
         !Regex("%[^a-zA-Z%]*[hlqjzt]*n").match(Format);
}

/// Whether an instruction writes through a pointer to memory of a block or
/// thread.
static bool writesOwnMemory(const Instruction &I) {
  std::optional<MemoryLocation> Loc = MemoryLocation::getOrNone(&I);
  if (!Loc)
    return false;
  constexpr unsigned Shared = 3, Local = 5;
  unsigned Space =
      getUnderlyingObject(Loc->Ptr)->getType()->getPointerAddressSpace();
  return Space == Shared || Space == Local;
}

/// Returns why the code may read other contents than those at its start; empty
/// if it does not.
std::string FieldsPass::findChange(Function &F, const MnemeJitField &Field,
                                   const Reads &Found,
                                   FunctionAnalysisManager &FAM) {
  Argument &A = *F.getArg(Field.Arg);
  bool IsKernel = Q.Target != JitTarget::Function;
  MemoryLocation Loc(&A, LocationSize::afterPointer());
  if (Field.Kind == MNEME_JIT_POINTEE) {
    IRBuilder<> B(&*F.getEntryBlock().getFirstInsertionPt());
    Loc = MemoryLocation(
        B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), &A, Field.Offset),
        LocationSize::precise(Field.Size));
  } else if (Field.CountArg == MNEME_JIT_NO_ARG) {
    Loc.Size = LocationSize::precise(uint64_t(Field.Size) * Field.Count);
  }
  AAResults &AA = FAM.getResult<AAManager>(F);
  MemorySSA &SSA = FAM.getResult<MemorySSAAnalysis>(F).getMSSA();
  const TargetLibraryInfo &TLI = FAM.getResult<TargetLibraryAnalysis>(F);
  auto Mods = make_filter_range(instructions(F), [&](Instruction &I) {
    return I.mayWriteToMemory() && !(IsKernel && isSynchronization(I)) &&
           !isHarmlessCall(I, TLI) && !(IsKernel && writesOwnMemory(I)) &&
           isModSet(AA.getModRefInfo(&I, Loc));
  });
  for (Instruction &I : Mods)
    if (std::optional<MemoryLocation> To = MemoryLocation::getOrNone(&I);
        To && getUnderlyingObject(To->Ptr) == &A)
      return "the code may write to it";
  // A promise of the program.
  if (Field.Flags & MNEME_JIT_IMMUTABLE || Mods.empty())
    return "";
  // Without data races, a thread sees what others write only after it has
  // synchronized, which MemorySSA takes for a write to all memory.
  bool IsUnchanged = !Found.Escapes && all_of(Found.Readers, [&](auto *I) {
    MemoryUseOrDef *Access = SSA.getMemoryAccess(I);
    return !Access ||
           SSA.isLiveOnEntryDef(SSA.getWalker()->getClobberingMemoryAccess(
               Access->getDefiningAccess(), Loc));
  });
  if (IsUnchanged)
    return "";
  std::string Why = "the code may write to it through another pointer";
  if (auto *Call = dyn_cast<CallBase>(&*Mods.begin())) {
    const Function *Callee = Call->getCalledFunction();
    Why = "a call of " +
          (Callee ? "'" + demangle(Callee->getName().str()) + "'"
                  : std::string("an unknown function")) +
          " may write to it";
  }
  if (Field.Kind == MNEME_JIT_ARRAY)
    Why += "; if not, give jit_immutable, or declare it __restrict__";
  return Why;
}

/// Returns the type of a member at \p Offset of \p T.
static Type *findMember(Type *T, uint64_t Offset, const DataLayout &DL) {
  while (true) {
    if (auto *S = dyn_cast<StructType>(T)) {
      const StructLayout *Layout = DL.getStructLayout(S);
      if (Offset >= Layout->getSizeInBytes())
        return nullptr;
      unsigned I = Layout->getElementContainingOffset(Offset);
      Offset -= Layout->getElementOffset(I);
      T = S->getElementType(I);
    } else if (auto *A = dyn_cast<ArrayType>(T)) {
      T = A->getElementType();
      Offset %= std::max<uint64_t>(DL.getTypeAllocSize(T), 1);
    } else {
      return Offset ? nullptr : T;
    }
  }
}

/// Returns how reports show the values of a field. IR has no signs.
static ::mneme::JitShown
findShown(const Argument &A, const MnemeJitField &Field, const Reads &Found) {
  const DataLayout &DL = A.getParent()->getDataLayout();
  Type *T = A.getType();
  if (Type *InMemory = A.getPointeeInMemoryValueType())
    T = findMember(InMemory, Field.Offset, DL);
  if (Field.Kind != MNEME_JIT_VALUE) {
    auto *It = find_if(Found.Readers, [&](const Instruction *I) {
      return isa<LoadInst>(I) &&
             DL.getTypeStoreSize(I->getType()) == Field.Size;
    });
    T = It == Found.Readers.end() ? nullptr : (*It)->getType();
  }
  if (!T || DL.getTypeStoreSize(T) != Field.Size)
    return ::mneme::JitShownBytes;
  if (T->isFloatTy() || T->isDoubleTy())
    return ::mneme::JitShownFloat;
  if (!T->isIntegerTy() || !is_contained({1u, 2u, 4u, 8u}, Field.Size))
    return ::mneme::JitShownBytes;
  return A.hasZExtAttr() ? ::mneme::JitShownUnsigned : ::mneme::JitShownSigned;
}

PreservedAnalyses FieldsPass::run(Function &F, FunctionAnalysisManager &FAM) {
  if (F.getName() != Entry)
    return PreservedAnalyses::all();
  const DataLayout &DL = F.getDataLayout();
  // The members of a closure have no names outside of it.
  for (const MnemeJitField &Field : Q.Fields)
    if (Field.Kind == MNEME_JIT_POINTEE && Field.Arg < F.arg_size())
      F.addParamAttr(Field.Arg, llvm::Attribute::NoAlias);
  Facts.FirstArg = F.hasStructRetAttr();
  Facts.Shown.assign(Q.Fields.size(), ::mneme::JitShownBytes);
  for (auto [I, Field] : enumerate(Q.Fields)) {
    if (Field.Arg >= F.arg_size()) {
      Facts.Refused.push_back({uint32_t(I), "there is no such argument"});
      continue;
    }
    const Argument &A = *F.getArg(Field.Arg);
    bool IsUsed = !A.use_empty();
    bool IsPointee = Field.Kind != MNEME_JIT_VALUE;
    bool HasEnd = Field.Kind != MNEME_JIT_ARRAY;
    uint64_t Begin = HasEnd ? Field.Offset : 0;
    Reads Found(Begin, HasEnd ? Begin + Field.Size : UINT64_MAX, DL);
    if (IsPointee || A.getPointeeInMemoryValueType()) {
      Found.visit(A, 0);
      IsUsed = Found.any();
      // The memory of an argument that is passed by value is the code's own.
      if (std::string Why; IsUsed && IsPointee &&
                           !(Why = findChange(F, Field, Found, FAM)).empty()) {
        Facts.Refused.push_back({uint32_t(I), std::move(Why)});
        continue;
      }
    }
    if (!IsUsed)
      continue;
    Facts.Fields |= uint64_t(1) << I;
    Facts.Shown[I] = findShown(A, Field, Found);
  }
  return PreservedAnalyses::none();
}

/// AMDGPU: dimensions are in memory that these intrinsics point to.
static bool readsImplicitArguments(const Module &M) {
  return any_of(M, [](const Function &F) {
    Intrinsic::ID Id = F.getIntrinsicID();
    return (Id == Intrinsic::amdgcn_implicitarg_ptr ||
            Id == Intrinsic::amdgcn_dispatch_ptr) &&
           !F.use_empty();
  });
}

static void findDimensions(const Module &M, const JitRequest &Q,
                           JitFacts &Facts) {
  constexpr uint32_t All = 7;
  if (readsImplicitArguments(M)) {
    Facts.Block = Q.Specialize & ::mneme::JitBlock ? All : 0;
    Facts.Grid = Q.Specialize & ::mneme::JitGrid ? All : 0;
  }
  bool HasIndexRange = Q.Specialize & ::mneme::JitRanges;
  for (auto [Register, Axis] : findLaunchRegisters(M)) {
    bool IsIndex = Register == LaunchRegister::ThreadIndex ||
                   Register == LaunchRegister::BlockIndex;
    if (IsIndex && !HasIndexRange)
      continue;
    bool IsBlock = Register == LaunchRegister::ThreadIndex ||
                   Register == LaunchRegister::BlockSize;
    if (!IsIndex &&
        !(Q.Specialize & (IsBlock ? ::mneme::JitBlock : ::mneme::JitGrid)))
      continue;
    (IsBlock ? Facts.Block : Facts.Grid) |= 1u << Axis;
  }
  // On the host device, the number of threads per block changes nothing.
  Facts.Bounds =
      Q.Target == JitTarget::Cuda && (Q.Specialize & ::mneme::JitBounds);
}

JitFacts llvm::mneme::findFacts(Module &M, StringRef Entry,
                                const JitRequest &Q) {
  JitFacts Facts;
  Function *F = M.getFunction(Entry);
  if (!F)
    return Facts;
  if (!Q.Fields.empty() && (Q.Specialize & ::mneme::JitArgs)) {
    // Parameters are in memory until promoted, and pointers to them until
    // functions are inlined.
    runPasses(M, nullptr, [&](PassBuilder &PB, ModulePassManager &MPM) {
      cantFail(PB.parsePassPipeline(
          MPM,
          "function(sroa,early-cse),inferattrs,cgscc(inline,function-attrs)"
          ",function(sroa,early-cse)"));
      MPM.addPass(
          createModuleToFunctionPassAdaptor(FieldsPass(Entry, Q, Facts)));
    });
  }
  if (Q.Target != JitTarget::Function)
    findDimensions(M, Q, Facts);
  return Facts;
}
