//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Divergence between the threads of a block: LLVM's uniformity analysis,
// applied to threads instead of the lanes of a warp.
//
//===----------------------------------------------------------------------===//

#include "HostDivergence.h"
#include "HostABI.h"
#include "HostSync.h"
#include "llvm/Analysis/CycleAnalysis.h"
#include "llvm/Analysis/TargetTransformInfo.h"
#include "llvm/Analysis/TargetTransformInfoImpl.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassInstrumentation.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

namespace {
/// The target information that UniformityInfo needs, for lowered kernels. Only
/// these values differ between threads: the thread's index, sync results,
/// memory that other threads write in no defined order, unknown calls, and
/// addresses of local variables. A plain load from a uniform address is
/// uniform, unless the kernel has a data race.
class ThreadTTI final : public TargetTransformInfoImplBase {
public:
  explicit ThreadTTI(const DataLayout &DL) : TargetTransformInfoImplBase(DL) {}

  bool hasBranchDivergence(const Function *) const override { return true; }

  InstructionUniformity
  getInstructionUniformity(const Value *V) const override {
    constexpr auto Differs = InstructionUniformity::NeverUniform;
    constexpr auto AsOperands = InstructionUniformity::Default;
    auto *I = dyn_cast<Instruction>(V);
    if (!I)
      return AsOperands; // Arguments are the same for all threads.
    if (isa<AllocaInst>(I) || I->isAtomic() || I->isVolatile())
      return Differs;
    auto *Call = dyn_cast<CallBase>(I);
    if (!Call)
      return AsOperands;
    if (getPlaceholderName(*I) == "result.uniform")
      return InstructionUniformity::AlwaysUniform;
    if (getPlaceholderName(*I).empty() && Call->doesNotAccessMemory())
      return AsOperands;
    return Differs;
  }
};
} // namespace

Divergence::Divergence(Function &F) : F(F) {
  FAM.registerPass([] { return PassInstrumentationAnalysis(); });
  FAM.registerPass([] { return DominatorTreeAnalysis(); });
  FAM.registerPass([] { return CycleAnalysis(); });
  FAM.registerPass([] { return UniformityInfoAnalysis(); });
  FAM.registerPass([] {
    return TargetIRAnalysis([](const Function &F) {
      return TargetTransformInfo(
          std::make_unique<ThreadTTI>(F.getParent()->getDataLayout()));
    });
  });
  UI = &FAM.getResult<UniformityInfoAnalysis>(F);
  for (BasicBlock &BB : F) {
    Number[&BB] = Blocks.size();
    Blocks.push_back(&BB);
  }
  findReachesSync();
  findApart();
}

void Divergence::findReachesSync() {
  ReachesSync.resize(Blocks.size());
  SmallVector<BasicBlock *, 32> Work;
  for (CallInst *Call : findSyncs(F))
    Work.push_back(Call->getParent());
  while (!Work.empty()) {
    BasicBlock *BB = Work.pop_back_val();
    if (ReachesSync[Number[BB]])
      continue;
    ReachesSync.set(Number[BB]);
    append_range(Work, predecessors(BB));
  }
}

/// A block is apart if it is control dependent on a divergent branch, or on a
/// branch in a block that is apart. Edges that leave the part of the kernel
/// with sync points do not count, because threads that take them no longer take
/// part.
void Divergence::findApart() {
  const unsigned N = Blocks.size(), Exit = N;
  SmallVector<SmallVector<unsigned, 2>, 32> Succs(N);
  SmallVector<bool, 32> Pruned(N, false);
  for (unsigned I = 0; I != N; ++I) {
    if (!ReachesSync[I])
      continue;
    bool Divergent = UI->hasDivergentTerminator(*Blocks[I]);
    bool Leaves = false;
    for (BasicBlock *S : successors(Blocks[I])) {
      if (ReachesSync[Number[S]])
        Succs[I].push_back(Number[S]);
      else
        Leaves = true;
    }
    if (Leaves && Divergent && !Succs[I].empty()) {
      Pruned[I] = true;
      HasEarlyExit = true;
    } else if (Leaves) {
      Succs[I].push_back(Exit);
    }
  }

  // Post-dominance requires a path from every block to the exit. Restore the
  // edge where pruning removed the last path.
  auto FindReachesExit = [&] {
    BitVector Reaches(N + 1);
    Reaches.set(Exit);
    for (bool Changed = true; Changed;) {
      Changed = false;
      for (unsigned I = 0; I != N; ++I)
        if (!Reaches[I] &&
            any_of(Succs[I], [&](unsigned S) { return Reaches[S]; })) {
          Reaches.set(I);
          Changed = true;
        }
    }
    return Reaches;
  };
  BitVector Reaches = FindReachesExit();
  for (unsigned I = 0; I != N; ++I)
    if (Pruned[I] && !Reaches[I])
      Succs[I].push_back(Exit);
  Reaches = FindReachesExit();

  // PostDom[I]: the blocks on every path from I to the exit.
  SmallVector<BitVector, 32> PostDom(N + 1, BitVector(N + 1, true));
  PostDom[Exit].reset();
  PostDom[Exit].set(Exit);
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (unsigned I = N; I-- != 0;) {
      if (!ReachesSync[I])
        continue;
      BitVector New(N + 1, true);
      for (unsigned S : Succs[I])
        New &= PostDom[S];
      New.set(I);
      if (New != PostDom[I]) {
        PostDom[I] = std::move(New);
        Changed = true;
      }
    }
  }

  Apart.resize(N);
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (unsigned I = 0; I != N; ++I) {
      // The post-dominators of a block in an endless loop are not meaningful.
      if (!ReachesSync[I] || Succs[I].size() < 2)
        continue;
      if (!Apart[I] && !UI->hasDivergentTerminator(*Blocks[I]) && Reaches[I])
        continue;
      BitVector Dependent(N + 1);
      for (unsigned S : Succs[I])
        Dependent |= PostDom[S];
      BitVector Always = PostDom[I];
      Always.reset(I);
      Dependent.reset(Always);
      Dependent.resize(N);
      Dependent.reset(Apart);
      if (Dependent.none())
        continue;
      Apart |= Dependent;
      Changed = true;
    }
  }
}
