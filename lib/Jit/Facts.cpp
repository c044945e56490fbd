//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Facts.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::JitFacts;
using ::mneme::JitRequest;
using ::mneme::JitTarget;

namespace {
/// Accesses to bytes [Begin, End) of an object.
class Accesses {
public:
  Accesses(uint64_t Begin, uint64_t End, const DataLayout &DL)
      : Begin(Begin), End(End), DL(DL) {}
  /// \param V  an address \p Offset bytes into the object.
  void visit(const Value &V, uint64_t Offset);

  bool AreRead = false, AreWritten = false;

private:
  bool overlaps(uint64_t Offset, uint64_t Size) const {
    return Offset < End && Offset + Size > Begin;
  }
  void visitCall(const CallBase &Call, const Use &U, uint64_t Offset);

  uint64_t Begin, End;
  const DataLayout &DL;
};
} // namespace

void Accesses::visitCall(const CallBase &Call, const Use &U, uint64_t Offset) {
  auto *Copy = dyn_cast<MemTransferInst>(&Call);
  auto *Length = Copy ? dyn_cast<ConstantInt>(Copy->getLength()) : nullptr;
  if (Length && !overlaps(Offset, Length->getZExtValue()))
    return;
  if (Copy) {
    bool IsSource = Copy->getRawSource() == U.get();
    AreRead |= IsSource;
    AreWritten |= !IsSource;
    return;
  }
  if (auto *I = dyn_cast<IntrinsicInst>(&Call);
      I && (I->isLifetimeStartOrEnd() || I->isAssumeLikeIntrinsic()))
    return;
  AreRead = true;
  AreWritten |=
      !Call.isArgOperand(&U) || !Call.onlyReadsMemory(Call.getArgOperandNo(&U));
}

void Accesses::visit(const Value &V, uint64_t Offset) {
  for (const Use &U : V.uses()) {
    const User *By = U.getUser();
    if (auto *GEP = dyn_cast<GEPOperator>(By)) {
      APInt Delta(DL.getIndexTypeSizeInBits(GEP->getType()), 0);
      if (GEP->accumulateConstantOffset(DL, Delta)) {
        visit(*GEP, Offset + Delta.getSExtValue());
        continue;
      }
      // Anywhere.
      Accesses Any(0, UINT64_MAX, DL);
      Any.visit(*GEP, 0);
      AreRead |= Any.AreRead;
      AreWritten |= Any.AreWritten;
    } else if (isa<AddrSpaceCastOperator>(By)) {
      visit(*By, Offset);
    } else if (auto *Load = dyn_cast<LoadInst>(By)) {
      AreRead |= overlaps(Offset, DL.getTypeStoreSize(Load->getType()));
    } else if (auto *Store = dyn_cast<StoreInst>(By)) {
      bool Escapes = Store->getValueOperand() == U.get();
      AreRead |= Escapes;
      AreWritten |=
          Escapes || overlaps(Offset, DL.getTypeStoreSize(
                                          Store->getValueOperand()->getType()));
    } else if (auto *Call = dyn_cast<CallBase>(By)) {
      visitCall(*Call, U, Offset);
    } else if (isa<ICmpInst>(By)) {
      AreRead = true;
    } else {
      AreRead = AreWritten = true;
    }
  }
}

static void findFields(const Function &F, const JitRequest &Q,
                       JitFacts &Facts) {
  const DataLayout &DL = F.getDataLayout();
  for (auto [I, Field] : enumerate(Q.Fields)) {
    auto Refuse = [&, I = I](StringRef Why) {
      Facts.Refused.push_back({uint32_t(I), Why.str()});
    };
    if (Field.Arg >= F.arg_size()) {
      Refuse("there is no such argument");
      continue;
    }
    const Argument &A = *F.getArg(Field.Arg);
    bool IsUsed = !A.use_empty();
    if (Field.Kind == MNEME_JIT_ARRAY && IsUsed && !A.onlyReadsMemory()) {
      Refuse("the code may write to it");
      continue;
    }
    if (Field.Kind == MNEME_JIT_POINTEE ||
        (Field.Kind == MNEME_JIT_VALUE && A.getPointeeInMemoryValueType())) {
      Accesses Found(Field.Offset, Field.Offset + Field.Size, DL);
      Found.visit(A, 0);
      IsUsed = Found.AreRead;
      // The memory of an argument that is passed by value is the code's own.
      if (Field.Kind == MNEME_JIT_POINTEE && IsUsed && Found.AreWritten) {
        Refuse("the code may write to it");
        continue;
      }
    }
    if (IsUsed)
      Facts.Fields |= uint64_t(1) << I;
  }
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

JitFacts llvm::mneme::findFacts(Module &M, StringRef Entry, const JitRequest &Q) {
  JitFacts Facts;
  Function *F = M.getFunction(Entry);
  if (!F)
    return Facts;
  if (!Q.Fields.empty() && (Q.Specialize & ::mneme::JitArgs)) {
    // Parameters are in memory until promoted.
    runPasses(M, "function(sroa,early-cse),cgscc(function-attrs)");
    findFields(*F, Q, Facts);
  }
  if (Q.Target != JitTarget::Function)
    findDimensions(M, Q, Facts);
  return Facts;
}
