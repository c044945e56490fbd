//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Strategy "region": the code between two sync points becomes a loop over the
/// block's threads. A block then costs as much as its loops, and the vectorizer
/// may process several threads at a time.
///
/// The kernel is cut after every sync point. For each piece, all code that can
/// be reached without passing a sync point is cloned into a loop over threads.
/// Values that live across a sync point are recomputed if they are cheap
/// functions of the thread index and the arguments. All others are kept in
/// MnemeHostBlock::Context: one array element per thread, or one scalar if the
/// value is uniform, which keeps addresses such as B[(k + tid.y) * N + tid.x]
/// unit-stride.
///
/// There are two forms:
/// * lockstep: every sync point is passed by all threads or none. The pieces
///   branch to each other directly.
/// * apart: threads may return early, or sync points are in divergent control
///   flow (the last warp of a reduction). Each thread has a state, each piece
///   runs the threads in its state, and the executor chooses the next piece.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostDivergence.h"
#include "HostSync.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Mneme/Runtime/HostExchange.h"
#include "llvm/Transforms/Scalar/EarlyCSE.h"
#include "llvm/Transforms/Scalar/SROA.h"
#include "llvm/Transforms/Scalar/SimplifyCFG.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/Cloning.h"
#include "llvm/Transforms/Utils/Local.h"
#include "llvm/Transforms/Utils/LowerSwitch.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

/// Limits of the compile time: each piece clones all code that it reaches.
static constexpr unsigned MaxSites = MNEME_HOST_MAX_SITES;
static constexpr unsigned MaxBlocks = 2000;
/// Recomputing longer expressions costs more than a load.
static constexpr unsigned MaxRecompute = 12;

//===----------------------------------------------------------------------===//
// The kernel, cut at its sync points
//===----------------------------------------------------------------------===//

/// Placeholders for the result of the sync point that begins a region. The
/// second one is for uniform results.
static constexpr StringLiteral ResultName = "mneme.host.result";
static constexpr StringLiteral UniformResultName = "mneme.host.result.uniform";

namespace {
/// A sync point. Its call is the last but one instruction of its block.
struct Site {
  CallInst *Call = nullptr;
  BasicBlock *Continue = nullptr; ///< Begins the region of the same number.
  unsigned Op = 0;
  bool HasResult = false;
  bool Apart = false;
  unsigned Size = 8; ///< Bytes of a value.
  unsigned Flags = 0;

  bool isBarrier() const {
    return Op == MNEME_OP_BARRIER || Op == MNEME_OP_BARRIER_RED;
  }
  /// \returns whether threads store operands, which the executor processes.
  bool exchanges() const {
    if (Op == MNEME_OP_MATRIX) // The results are in memory.
      return true;
    return HasResult && Op != MNEME_OP_BARRIER && Op != MNEME_OP_WARP_SYNC;
  }
};

/// A value that lives across a sync point.
struct Slot {
  AllocaInst *Memory = nullptr; ///< In the flat kernel.
  bool Scalar = false;          ///< The same value in all threads.
  uint64_t Offset = 0;          ///< In the context.
};

/// A local variable, with one copy per thread.
struct LocalVariable {
  uint64_t Offset = 0;
  uint64_t Stride = 0; ///< Bytes from one thread's copy to the next.
};

class RegionBuilder {
  /// The code that a thread may run before its next sync point, while it is
  /// built.
  struct Region {
    unsigned Number = 0; ///< Of the sync point before it; 0: the entry.
    DenseMap<const BasicBlock *, unsigned> SiteOf; ///< Numbers of their ends.
    SetVector<BasicBlock *> Blocks;                ///< Of the flat kernel.
    SmallPtrSet<const Value *, 16> Read, Written;  ///< Slots.
    ThreadLoops Loops;
    BasicBlock *Run = nullptr;     ///< Where a thread begins.
    Value *Index = nullptr;        ///< The thread's.
    Value *StateAddress = nullptr; ///< If threads are apart.
    ThreadValues Thread;
    SmallVector<BasicBlock *, 16> Clones; ///< Parallel to Blocks.
    SmallSetVector<unsigned, 4> Targets;  ///< Sync points after it; 0: none.

    /// \returns whether a thread needs the value of \p S at the beginning. A
    /// slot that is written only on some paths keeps its value on the others.
    bool reads(const Slot &S) const {
      return Number != 0 && (Read.count(S.Memory) || Written.count(S.Memory));
    }
  };

  Function &Kernel;
  FunctionAnalysisManager &FAM;
  Module &M;
  LLVMContext &C;
  IRBuilder<> B;
  const DataLayout &DL;
  const unsigned WaveSize;
  std::string Why;

  // The kernel without calls and placeholders, except for the thread's index.
  Function *Flat = nullptr;
  SmallVector<Site, 16> Sites;
  SmallVector<Slot, 16> Slots;
  MapVector<AllocaInst *, LocalVariable> Locals;
  bool Apart = false; ///< See the file comment.

  // The context.
  uint64_t ExchangeOffset = 0;
  uint64_t ContextSize = 0;

  // The entry.
  Function *Entry = nullptr;
  ThreadValues BlockValues;
  SmallVector<Value *, 8> Arguments; ///< Replace Flat's parameters.
  Value *Block = nullptr;
  Value *Context = nullptr;
  Value *NumThreads = nullptr;
  GlobalVariable *SiteTable = nullptr;
  DenseMap<AllocaInst *, AllocaInst *> Working; ///< A thread's copy of a slot.
  DenseMap<AllocaInst *, AllocaInst *> LastValue; ///< Of scalar slots.
  AllocaInst *Next = nullptr; ///< The region that the last thread goes to.
  BasicBlock *Done = nullptr;
  BasicBlock *Dispatch = nullptr;      ///< Apart only.
  SmallVector<BasicBlock *, 16> Begin; ///< Of each region.

public:
  RegionBuilder(Function &Kernel, FunctionAnalysisManager &FAM)
      : Kernel(Kernel), FAM(FAM), M(*Kernel.getParent()),
        C(Kernel.getContext()), B(C), DL(M.getDataLayout()),
        WaveSize(getWaveSize(Kernel)) {}
  ~RegionBuilder();

  /// \returns whether the kernel has its entry. If not, why() has the reason.
  bool build();
  StringRef why() const { return Why; }

private:
  bool fail(const Twine &Reason) {
    Why = Reason.str();
    return false;
  }
  void createPrologue();
  bool flatten();
  bool findSites();
  bool checkSite(const SyncCall &Sync);
  void cut();
  bool keepCrossingValues();
  void layOutContext();
  void createSiteTable();
  Region findRegion(unsigned Number);
  Value *slotAddress(const Slot &S, Value *Index);
  DenseMap<const AllocaInst *, Value *> loadScalars(const Region &R);
  void enterLoop(Region &R);
  void cloneBlocks(Region &R);
  Value *readPlaceholder(const Region &R, StringRef Name);
  void resolvePlaceholders(Region &R);
  void emitLeave(Region &R, unsigned Target);
  void emitOperands(const Region &R, const Site &S, const SyncCall &Sync);
  void emitWaysOut(Region &R);
  void emitRegion(unsigned Number);
  void emitNext(unsigned Number, ArrayRef<unsigned> Targets);
  Value *contextAddress(uint64_t Offset, Value *Index, uint64_t Stride);
  Value *exchangeAddress(size_t Field, Value *Index, uint64_t Stride) {
    return contextAddress(ExchangeOffset + Field, Index, Stride);
  }
};
} // namespace

RegionBuilder::~RegionBuilder() {
  if (Flat) {
    FAM.clear(*Flat, Flat->getName());
    Flat->eraseFromParent();
  }
  if (!Why.empty() && Entry)
    Entry->eraseFromParent();
}

/// The fields that are the same for all threads of a block.
static SmallVector<Value **, 13> getUniformFields(ThreadValues &V) {
  SmallVector<Value **, 13> Fields;
  for (auto *Register : {&V.NTid, &V.CTAId, &V.NCTAId})
    for (Value *&Axis : *Register)
      Fields.push_back(&Axis);
  for (Value **Field : {&V.Shared, &V.DynShared, &V.DynSize, &V.ImplicitArg})
    Fields.push_back(Field);
  return Fields;
}

void RegionBuilder::createPrologue() {
  Type *Ptr = B.getPtrTy();
  Entry = createEntry(
      Kernel, FunctionType::get(B.getVoidTy(), {Ptr, Ptr}, false), "region");
  Block = Entry->getArg(0);
  Block->setName("block");
  Entry->getArg(1)->setName("args");
  Entry->addParamAttr(0, Attribute::NoAlias);
  Entry->addParamAttr(1, Attribute::NoAlias);
  B.SetInsertPoint(BasicBlock::Create(C, "entry", Entry));
  BlockValues = loadBlockValues(B, Block, &Kernel);
  Context = loadField(B, Block, BlockContext, Ptr, "context");
  NumThreads = loadField(B, Block, BlockNumThreads, B.getInt32Ty(), "threads");
  Arguments = loadArguments(B, Kernel, Entry->getArg(1));
  for (Value **Field : getUniformFields(BlockValues))
    Arguments.push_back(*Field);
}

/// Inlines the kernel into a function whose arguments are all uniform values.
bool RegionBuilder::flatten() {
  SmallVector<Type *, 16> Params;
  for (Value *V : Arguments)
    Params.push_back(V->getType());
  Flat = Function::Create(FunctionType::get(B.getVoidTy(), Params, false),
                          GlobalValue::InternalLinkage,
                          "mneme.flat." + Kernel.getName(), M);
  IRBuilder<> FB(BasicBlock::Create(C, "entry", Flat));
  SmallVector<Value *, 8> KernelArgs;
  for (unsigned I = 0; I != Kernel.arg_size(); ++I)
    KernelArgs.push_back(Flat->getArg(I));
  CallInst *Call = callKernel(FB, Kernel, KernelArgs);
  FB.CreateRetVoid();
  InlineFunctionInfo IFI;
  if (!InlineFunction(*Call, IFI).isSuccess())
    return fail("kernel cannot be inlined");
  ThreadValues V;
  unsigned Param = Kernel.arg_size();
  for (Value **Field : getUniformFields(V))
    *Field = Flat->getArg(Param++);
  replacePlaceholders(*Flat, V);

  // A thread that exits returns: only the block is above it.
  for (CallInst *Sync : findSyncs(*Flat)) {
    if (SyncCall(Sync).getOp() != MNEME_OP_EXIT)
      continue;
    BasicBlock *BB = Sync->getParent();
    BB->splitBasicBlock(Sync);
    ReplaceInstWithInst(BB->getTerminator(), ReturnInst::Create(C));
  }
  removeUnreachableBlocks(*Flat);

  // Otherwise loop counters would be in memory, where their uniformity cannot
  // be determined.
  FunctionPassManager FPM;
  FPM.addPass(SROAPass(SROAOptions::ModifyCFG));
  FPM.addPass(EarlyCSEPass());
  FPM.addPass(SimplifyCFGPass());
  FPM.addPass(LowerSwitchPass());
  FPM.run(*Flat, FAM);
  FAM.invalidate(*Flat, PreservedAnalyses::none());

  for (Instruction &I : make_early_inc_range(instructions(*Flat))) {
    if (auto *A = dyn_cast<AllocaInst>(&I)) {
      if (!A->isStaticAlloca())
        return fail("local variable of variable size");
      Locals[A] = {};
    } else if (I.isLifetimeStartOrEnd()) {
      I.eraseFromParent();
    }
  }
  if (Flat->size() > MaxBlocks)
    return fail("too much code");
  return true;
}

bool RegionBuilder::checkSite(const SyncCall &Sync) {
  switch (Sync.getOp()) {
  case MNEME_OP_NONE:
    return fail("threads wait in a loop for others");
  case MNEME_OP_BARRIER_ARRIVE:
    return fail("barrier of some of the threads");
  case MNEME_OP_CLUSTER_ARRIVE:
  case MNEME_OP_CLUSTER_WAIT:
    return fail("barrier of a cluster of blocks");
  case MNEME_OP_PREEMPT: // mapa
    return fail("shared memory of other blocks");
  case MNEME_OP_BARRIER:
  case MNEME_OP_BARRIER_RED: {
    auto *Count = dyn_cast<ConstantInt>(Sync.getB());
    if (!Count || !Count->isZero() || !isa<ConstantInt>(Sync.getMask()))
      return fail("barrier of some of the threads");
    for (const Site &S : Sites)
      if (S.isBarrier() && SyncCall(S.Call).getMask() != Sync.getMask())
        return fail("several barriers");
    return true;
  }
  default:
    return true;
  }
}

bool RegionBuilder::findSites() {
  SmallVector<CallInst *, 8> Calls = findSyncs(*Flat);
  if (Calls.empty())
    return fail("no synchronization");
  if (Calls.size() > MaxSites)
    return fail(Twine(Calls.size()) + " sync points");
  llvm::sort(Calls, [](CallInst *L, CallInst *R) {
    return SyncCall(L).getSite() < SyncCall(R).getSite();
  });
  const APInt AllLanes = APInt::getLowBitsSet(64, WaveSize);
  for (CallInst *Call : Calls) {
    SyncCall Sync(Call);
    if (!checkSite(Sync))
      return false;
    Site S;
    S.Call = Call;
    S.Op = Sync.getOp();
    bool Wide = WaveSize == 64 &&
                (S.Op == MNEME_OP_WAVE_BALLOT || S.Op == MNEME_OP_CONVERGE);
    if (!Wide &&
        computeKnownBits(Sync.getValue(), DL).countMinLeadingZeros() >= 32)
      S.Size = 4;
    auto *Mask = dyn_cast<ConstantInt>(Sync.getMask());
    if (!S.isBarrier() && S.Op <= MNEME_OP_MATRIX &&
        !(Mask && AllLanes.isSubsetOf(Mask->getValue())))
      S.Flags |= MNEME_SITE_MASKED;
    auto IsSmall = [](Value *V) {
      auto *CI = dyn_cast<ConstantInt>(V);
      return CI && CI->getValue().isIntN(16);
    };
    if (IsSmall(Sync.getB()) && IsSmall(Sync.getC()))
      S.Flags |= MNEME_SITE_FIXED;
    if (S.Op == MNEME_OP_BARRIER_RED) // The executor counts 4-byte predicates.
      S.Size = 4;
    Sites.push_back(S);
  }
  return true;
}

/// Ends the block of each sync point after the sync, and replaces the result of
/// the sync by a placeholder.
void RegionBuilder::cut() {
  for (Site &S : Sites) {
    BasicBlock *BB = S.Call->getParent();
    S.Continue = SplitBlock(BB, S.Call->getNextNode());
    if (S.Call->use_empty())
      continue;
    StringRef Name =
        S.Op == MNEME_OP_BARRIER_RED ? UniformResultName : ResultName;
    FunctionCallee Result = M.getOrInsertFunction(Name, B.getInt64Ty());
    IRBuilder<> RB(&S.Continue->front());
    S.Call->replaceAllUsesWith(RB.CreateCall(Result));
    S.HasResult = true;
  }
  for (CallInst *Call : findPlaceholders(*Flat)) {
    if (getPlaceholderName(*Call) != "sync2")
      continue;
    for (Site &S : Sites)
      if (S.Continue == Call->getParent()) {
        S.HasResult = true;
        S.Flags |= MNEME_SITE_RESULT2;
      }
  }
}

//===----------------------------------------------------------------------===//
// Values across sync points
//===----------------------------------------------------------------------===//

/// \returns whether \p V is a cheap function of the arguments and the thread's
/// index. \p Budget limits the number of instructions.
static bool canRecompute(const Value *V, unsigned &Budget) {
  if (isa<Constant, Argument, AllocaInst>(V))
    return true;
  auto *I = dyn_cast<Instruction>(V);
  if (!I || Budget == 0)
    return false;
  --Budget;
  StringRef Name = getPlaceholderName(*I);
  if (Name.starts_with("tid.") || Name == "laneid" || Name == "warpid")
    return true;
  if (I->getType()->isFPOrFPVectorTy() ||
      !isa<BinaryOperator, CastInst, GetElementPtrInst, ICmpInst, SelectInst,
           FreezeInst>(I))
    return false;
  return all_of(I->operands(),
                [&](const Use &Op) { return canRecompute(Op, Budget); });
}

static Value *recompute(Value *V, Instruction *Before,
                        DenseMap<Value *, Value *> &Known) {
  auto *I = dyn_cast<Instruction>(V);
  if (!I || isa<AllocaInst>(I))
    return V;
  if (Value *Old = Known.lookup(I))
    return Old;
  Instruction *New = I->clone();
  for (Use &Op : New->operands())
    Op.set(recompute(Op, Before, Known));
  New->insertBefore(Before->getIterator());
  Known[I] = New;
  return New;
}

namespace {
/// Determines which uses can be reached from their definition through a sync
/// point.
class Crossings {
  DenseMap<const BasicBlock *, unsigned> Number;
  SmallVector<BitVector, 32> Reach;  ///< Blocks reached from a block's start.
  SmallVector<BitVector, 32> Beyond; ///< From its end, through a sync point.

public:
  Crossings(Function &F, ArrayRef<Site> Sites);

  bool reaches(const BasicBlock *From, const BasicBlock *To) const {
    return Reach[Number.lookup(From)][Number.lookup(To)];
  }
  bool crosses(const Instruction &Def, const Use &U) const {
    auto *User = cast<Instruction>(U.getUser());
    const BasicBlock *At = User->getParent();
    auto *Phi = dyn_cast<PHINode>(User);
    if (Phi)
      At = Phi->getIncomingBlock(U);
    if (At == Def.getParent() && (Phi || Def.comesBefore(User)))
      return false;
    return Beyond[Number.lookup(Def.getParent())][Number.lookup(At)];
  }
};
} // namespace

Crossings::Crossings(Function &F, ArrayRef<Site> Sites) {
  SmallVector<BasicBlock *, 32> Blocks;
  for (BasicBlock &BB : F) {
    Number[&BB] = Blocks.size();
    Blocks.push_back(&BB);
  }
  const unsigned N = Blocks.size();
  Reach.assign(N, BitVector(N));
  for (unsigned I = 0; I != N; ++I)
    Reach[I].set(I);
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (unsigned I = N; I-- != 0;) {
      unsigned Before = Reach[I].count();
      for (BasicBlock *S : successors(Blocks[I]))
        Reach[I] |= Reach[Number[S]];
      Changed |= Reach[I].count() != Before;
    }
  }
  Beyond.assign(N, BitVector(N));
  for (unsigned I = 0; I != N; ++I) {
    BitVector FromEnd(N);
    for (BasicBlock *S : successors(Blocks[I]))
      FromEnd |= Reach[Number[S]];
    for (const Site &S : Sites)
      if (FromEnd[Number[S.Continue]])
        Beyond[I] |= Reach[Number[S.Continue]];
  }
}

/// Turns every value that crosses a sync point into a recomputation or a slot.
bool RegionBuilder::keepCrossingValues() {
  Divergence D(*Flat);
  Crossings X(*Flat, Sites);
  Apart = D.hasEarlyExit();
  for (Site &S : Sites) {
    S.Apart = D.isApart(*S.Call->getParent());
    Apart |= S.Apart;
  }
  // Threads that are apart wait at several sync points at once, whose values
  // must not overlap.
  bool Differ = any_of(
      Sites, [&](const Site &S) { return S.Size != Sites.front().Size; });
  if (Apart && Differ)
    for (Site &S : Sites)
      S.Size = 8;
  // Threads that are apart may pass a block again before others have left it,
  // so its values must not be shared.
  auto IsScalar = [&](const Instruction &I) {
    return !D.isDivergent(I) && !D.isApart(*I.getParent()) &&
           none_of(Sites, [&](const Site &S) {
             return S.Apart && X.reaches(S.Continue, I.getParent());
           });
  };

  SmallVector<std::pair<Instruction *, bool>, 32> Demote;
  SmallVector<Instruction *, 64> All;
  for (Instruction &I : instructions(*Flat))
    if (!isa<AllocaInst>(I) && !I.getType()->isVoidTy())
      All.push_back(&I);
  for (Instruction *I : All) {
    auto Crosses = [&](Use &U) { return X.crosses(*I, U); };
    if (none_of(I->uses(), Crosses))
      continue;
    if (I->getType()->isTokenTy())
      return fail("token across a sync point");
    unsigned Budget = MaxRecompute;
    if (!canRecompute(I, Budget)) {
      Demote.push_back({I, IsScalar(*I)});
      continue;
    }
    for (Use &U : make_early_inc_range(I->uses())) {
      if (!Crosses(U))
        continue;
      auto *At = cast<Instruction>(U.getUser());
      if (auto *Phi = dyn_cast<PHINode>(At))
        At = Phi->getIncomingBlock(U)->getTerminator();
      DenseMap<Value *, Value *> Known;
      U.set(recompute(I, At, Known));
    }
  }
  for (auto [I, Scalar] : Demote)
    if (AllocaInst *Memory = DemoteRegToStack(*I, false, std::nullopt))
      Slots.push_back({Memory, Scalar, 0});
  return true;
}

void RegionBuilder::layOutContext() {
  constexpr uint64_t Line = 64;
  uint64_t Offset = 0;
  auto Take = [&](uint64_t Size) {
    uint64_t At = alignTo(Offset, Line);
    Offset = At + Size;
    return At;
  };
  for (Slot &S : Slots)
    S.Offset = Take(DL.getTypeAllocSize(S.Memory->getAllocatedType()) *
                    MNEME_HOST_MAX_THREADS);
  for (auto &[Alloca, L] : Locals) {
    uint64_t Size = Alloca->getAllocationSize(DL)->getFixedValue();
    L.Stride = alignTo(std::max<uint64_t>(Size, 1),
                       std::max(Alloca->getAlign(), Align(8)));
    L.Offset = alignTo(Take(0), Alloca->getAlign());
    Offset = L.Offset + L.Stride * MNEME_HOST_MAX_THREADS;
  }
  ExchangeOffset = Take(sizeof(MnemeHostExchange));
  ContextSize = Offset;
}

//===----------------------------------------------------------------------===//
// The entry
//===----------------------------------------------------------------------===//

/// \p Index is an i64, in units of \p Stride bytes.
Value *RegionBuilder::contextAddress(uint64_t Offset, Value *Index,
                                     uint64_t Stride) {
  Value *Base = B.CreateInBoundsGEP(B.getInt8Ty(), Context, B.getInt64(Offset));
  if (!Index)
    return Base;
  return B.CreateInBoundsGEP(ArrayType::get(B.getInt8Ty(), Stride), Base,
                             Index);
}

void RegionBuilder::createSiteTable() {
  Type *I8 = B.getInt8Ty(), *I16 = B.getInt16Ty();
  StructType *Ty = StructType::get(C, {I8, I8, I8, I8, I16, I16});
  static_assert(sizeof(MnemeHostSite) == 8, "the table below has its layout");
  SmallVector<Constant *, 16> Entries = {ConstantAggregateZero::get(Ty)};
  for (const Site &S : Sites) {
    SyncCall Sync(S.Call);
    bool Fixed = S.Flags & MNEME_SITE_FIXED;
    auto Operand = [&](Value *V) {
      return Fixed ? cast<ConstantInt>(V)->getZExtValue() : 0;
    };
    Entries.push_back(ConstantStruct::get(
        Ty, {ConstantInt::get(I8, S.Op), ConstantInt::get(I8, Sync.getMode()),
             ConstantInt::get(I8, S.Size), ConstantInt::get(I8, S.Flags),
             ConstantInt::get(I16, Operand(Sync.getB())),
             ConstantInt::get(I16, Operand(Sync.getC()))}));
  }
  ArrayType *TableTy = ArrayType::get(Ty, Entries.size());
  SiteTable = new GlobalVariable(
      M, TableTy, /*isConstant=*/true, GlobalValue::PrivateLinkage,
      ConstantArray::get(TableTy, Entries), "mneme.sites." + Kernel.getName());
}

/// Emits the code after region \p Number: resolves the sync point that its
/// threads have reached, and goes to the region after it. \p Targets are the
/// sync points that they can reach.
void RegionBuilder::emitNext(unsigned Number, ArrayRef<unsigned> Targets) {
  if (Apart) {
    B.CreateBr(Dispatch);
    return;
  }
  auto EmitTarget = [&](unsigned Target) {
    if (Target == 0) {
      B.CreateBr(Done);
      return;
    }
    if (Sites[Target - 1].exchanges()) {
      Type *Ptr = B.getPtrTy(), *I32 = B.getInt32Ty();
      FunctionCallee Exchange = M.getOrInsertFunction(
          "__mneme_host_exchange", B.getVoidTy(), Ptr, I32, Ptr, I32);
      B.CreateCall(Exchange,
                   {exchangeAddress(0, nullptr, 0), NumThreads,
                    B.CreateConstInBoundsGEP2_32(SiteTable->getValueType(),
                                                 SiteTable, 0, Target),
                    B.getInt32(WaveSize)});
    }
    B.CreateBr(Begin[Target]);
  };
  if (Targets.size() == 1) {
    EmitTarget(Targets.front());
    return;
  }
  SwitchInst *Switch =
      B.CreateSwitch(B.CreateLoad(B.getInt32Ty(), Next), Done, Targets.size());
  for (unsigned Target : Targets) {
    if (Target == 0)
      continue;
    BasicBlock *BB = BasicBlock::Create(C, "to." + Twine(Target), Entry);
    Switch->addCase(B.getInt32(Target), BB);
    B.SetInsertPoint(BB);
    EmitTarget(Target);
  }
}

RegionBuilder::Region RegionBuilder::findRegion(unsigned Number) {
  Region R;
  R.Number = Number;
  for (unsigned I = 0; I != Sites.size(); ++I)
    R.SiteOf[Sites[I].Call->getParent()] = I + 1;
  R.Blocks.insert(Number ? Sites[Number - 1].Continue : &Flat->getEntryBlock());
  for (unsigned I = 0; I != R.Blocks.size(); ++I)
    if (!R.SiteOf.count(R.Blocks[I]))
      R.Blocks.insert(succ_begin(R.Blocks[I]), succ_end(R.Blocks[I]));
  for (BasicBlock *BB : R.Blocks)
    for (Instruction &I : *BB) {
      if (auto *L = dyn_cast<LoadInst>(&I))
        R.Read.insert(L->getPointerOperand());
      else if (auto *S = dyn_cast<StoreInst>(&I))
        R.Written.insert(S->getPointerOperand());
    }
  return R;
}

Value *RegionBuilder::slotAddress(const Slot &S, Value *Index) {
  uint64_t Stride =
      DL.getTypeAllocSize(S.Memory->getAllocatedType()).getFixedValue();
  return contextAddress(S.Offset, Index, Stride);
}

/// Loads the scalar slots, which have the same value in all threads.
DenseMap<const AllocaInst *, Value *>
RegionBuilder::loadScalars(const Region &R) {
  DenseMap<const AllocaInst *, Value *> Values;
  Value *FirstThread = nullptr;
  for (const Slot &S : Slots) {
    if (!S.Scalar || !R.reads(S))
      continue;
    // In lockstep there is one value; apart, each thread's element has it.
    if (Apart && !FirstThread)
      FirstThread = B.CreateZExt(
          B.CreateLoad(
              B.getInt32Ty(),
              exchangeAddress(offsetof(MnemeHostExchange, First), nullptr, 0)),
          B.getInt64Ty());
    Values[S.Memory] =
        B.CreateLoad(S.Memory->getAllocatedType(), slotAddress(S, FirstThread));
  }
  return Values;
}

/// Begins the loop over threads, and loads the thread's slots into Working.
void RegionBuilder::enterLoop(Region &R) {
  B.SetInsertPoint(Begin[R.Number]);
  DenseMap<const AllocaInst *, Value *> Scalars = loadScalars(R);
  R.Loops = createThreadLoops(B, BlockValues);
  R.Index = B.CreateZExt(R.Loops.Linear, B.getInt64Ty());
  if (Apart) {
    R.StateAddress =
        exchangeAddress(offsetof(MnemeHostExchange, State), R.Index, 1);
    if (R.Number != 0) {
      Value *State = B.CreateLoad(B.getInt8Ty(), R.StateAddress, "state");
      BasicBlock *Run = BasicBlock::Create(C, "run", Entry, R.Loops.Latch);
      B.CreateCondBr(B.CreateICmpEQ(State, B.getInt8(R.Number)), Run,
                     R.Loops.Latch);
      B.SetInsertPoint(Run);
    }
  }
  R.Run = B.GetInsertBlock();
  std::copy(R.Loops.Tid.begin(), R.Loops.Tid.end(), R.Thread.Tid.begin());
  setLane(B, R.Loops.Linear, WaveSize, R.Thread);
  for (const Slot &S : Slots) {
    AllocaInst *Copy = Working[S.Memory];
    Type *Ty = S.Memory->getAllocatedType();
    if (R.reads(S)) {
      Value *In = Scalars.lookup(S.Memory);
      B.CreateStore(In ? In : B.CreateLoad(Ty, slotAddress(S, R.Index)), Copy);
    } else if (R.Written.count(S.Memory)) {
      // No value flows from one thread to the next.
      B.CreateStore(PoisonValue::get(Ty), Copy);
    }
  }
}

void RegionBuilder::cloneBlocks(Region &R) {
  ValueToValueMapTy Map;
  for (BasicBlock *BB : R.Blocks) {
    BasicBlock *Clone = CloneBasicBlock(BB, Map, ".r" + Twine(R.Number), Entry);
    Map[BB] = Clone;
    R.Clones.push_back(Clone);
  }
  for (unsigned I = 0; I != Arguments.size(); ++I)
    Map[Flat->getArg(I)] = Arguments[I];
  for (auto &[From, To] : Working)
    Map[From] = To;
  for (const auto &[Alloca, L] : Locals)
    Map[Alloca] = contextAddress(L.Offset, R.Index, L.Stride);
  B.CreateBr(R.Clones.front());
  for (BasicBlock *Clone : R.Clones)
    for (PHINode &Phi : Clone->phis())
      for (unsigned I = Phi.getNumIncomingValues(); I-- != 0;)
        if (!R.Blocks.contains(Phi.getIncomingBlock(I)) ||
            R.SiteOf.count(Phi.getIncomingBlock(I)))
          Phi.removeIncomingValue(I, /*DeletePHIIfEmpty=*/false);
  remapInstructionsInBlocks(R.Clones, Map);
}

/// \returns the value of the placeholder \p Name.
Value *RegionBuilder::readPlaceholder(const Region &R, StringRef Name) {
  if (Value *Known = R.Thread.lookup(Name))
    return Known;
  // The result of the sync point before this region.
  bool IsSecond = Name == "sync2";
  unsigned Size = IsSecond ? 4 : Sites[R.Number - 1].Size;
  size_t Field = IsSecond ? offsetof(MnemeHostExchange, Results2)
                          : offsetof(MnemeHostExchange, Results);
  Value *Result = B.CreateLoad(B.getIntNTy(8 * Size),
                               exchangeAddress(Field, R.Index, Size));
  return B.CreateZExt(Result, B.getInt64Ty());
}

void RegionBuilder::resolvePlaceholders(Region &R) {
  SmallVector<Instruction *, 16> Dead;
  for (BasicBlock *Clone : R.Clones)
    for (Instruction &I : *Clone) {
      if (isa<AllocaInst>(I)) {
        Dead.push_back(&I);
        continue;
      }
      auto *Call = dyn_cast<CallInst>(&I);
      if (!Call)
        continue;
      StringRef Name = getPlaceholderName(*Call);
      if (Name.empty()) {
        if (asksForThread(*Call))
          announceThread(*Call, Block, R.Loops);
        continue;
      }
      if (Name == "sync")
        continue;
      B.SetInsertPoint(Call);
      Call->replaceAllUsesWith(readPlaceholder(R, Name));
      Dead.push_back(Call);
    }
  for (Instruction *I : Dead)
    I->eraseFromParent();
}

/// Emits the branch of a thread to a sync point, or to its end (\p Target 0).
void RegionBuilder::emitLeave(Region &R, unsigned Target) {
  R.Targets.insert(Target);
  for (const Slot &S : Slots) {
    if (!R.Written.count(S.Memory))
      continue;
    Value *Out = B.CreateLoad(S.Memory->getAllocatedType(), Working[S.Memory]);
    B.CreateStore(Out, S.Scalar && !Apart ? LastValue[S.Memory]
                                          : slotAddress(S, R.Index));
  }
  if (!Apart) {
    B.CreateStore(B.getInt32(Target), Next);
  } else {
    unsigned State = MNEME_STATE_EXIT;
    if (Target != 0)
      State = Target + (Sites[Target - 1].isBarrier() ? MNEME_STATE_BARRIER
                                                      : MNEME_STATE_WARP);
    B.CreateStore(B.getInt8(State), R.StateAddress);
  }
  B.CreateBr(R.Loops.Latch);
}

/// Stores the thread's operands for sync point \p S.
void RegionBuilder::emitOperands(const Region &R, const Site &S,
                                 const SyncCall &Sync) {
  auto Put = [&](size_t Field, Value *Operand, unsigned Size) {
    Operand = B.CreateZExtOrTrunc(Operand, B.getIntNTy(8 * Size));
    B.CreateStore(Operand, exchangeAddress(Field, R.Index, Size));
  };
  if (!S.exchanges())
    return;
  Put(offsetof(MnemeHostExchange, Values), Sync.getValue(), S.Size);
  if (S.Flags & MNEME_SITE_MASKED)
    Put(offsetof(MnemeHostExchange, Masks), Sync.getMask(), 8);
  if (!(S.Flags & MNEME_SITE_FIXED)) {
    Put(offsetof(MnemeHostExchange, B), Sync.getB(), 4);
    Put(offsetof(MnemeHostExchange, C), Sync.getC(), 4);
  }
}

void RegionBuilder::emitWaysOut(Region &R) {
  for (auto [BB, Clone] : zip_equal(R.Blocks, R.Clones)) {
    Instruction *Terminator = Clone->getTerminator();
    if (isa<ReturnInst>(Terminator)) {
      B.SetInsertPoint(Terminator);
      emitLeave(R, 0);
      Terminator->eraseFromParent();
      continue;
    }
    unsigned Target = R.SiteOf.lookup(BB);
    if (Target == 0)
      continue;
    auto *Call = cast<CallInst>(Terminator->getPrevNode());
    B.SetInsertPoint(Call);
    emitOperands(R, Sites[Target - 1], SyncCall(Call));
    emitLeave(R, Target);
    Call->eraseFromParent();
    Terminator->eraseFromParent();
  }
}

void RegionBuilder::emitRegion(unsigned Number) {
  Region R = findRegion(Number);
  enterLoop(R);
  cloneBlocks(R);
  resolvePlaceholders(R);
  emitWaysOut(R);

  SmallVector<BasicBlock *, 16> Marked(R.Clones);
  Marked.push_back(R.Loops.Body);
  if (R.Run != R.Loops.Body)
    Marked.push_back(R.Run);
  markParallel(R.Loops.LatchBranch, Marked);

  B.SetInsertPoint(R.Loops.Exit);
  for (const Slot &S : Slots)
    if (S.Scalar && !Apart && R.Written.count(S.Memory))
      B.CreateStore(
          B.CreateLoad(S.Memory->getAllocatedType(), LastValue[S.Memory]),
          contextAddress(S.Offset, nullptr, 0));
  emitNext(Number, R.Targets.getArrayRef());
}

bool RegionBuilder::build() {
  createPrologue();
  if (!flatten() || !findSites())
    return false;
  cut();
  if (!keepCrossingValues())
    return false;
  layOutContext();
  createSiteTable();

  for (const Slot &S : Slots) {
    Type *Ty = S.Memory->getAllocatedType();
    Working[S.Memory] = B.CreateAlloca(Ty, nullptr, "value");
    if (S.Scalar && !Apart)
      LastValue[S.Memory] = B.CreateAlloca(Ty, nullptr, "last");
  }
  if (!Apart)
    Next = B.CreateAlloca(B.getInt32Ty(), nullptr, "next");
  for (unsigned I = 0; I <= Sites.size(); ++I)
    Begin.push_back(BasicBlock::Create(C, "region." + Twine(I), Entry));
  Done = BasicBlock::Create(C, "done", Entry);
  B.CreateBr(Begin.front());
  B.SetInsertPoint(Done);
  B.CreateRetVoid();
  if (Apart) {
    Dispatch = BasicBlock::Create(C, "dispatch", Entry);
    B.SetInsertPoint(Dispatch);
    Type *Ptr = B.getPtrTy(), *I32 = B.getInt32Ty();
    FunctionCallee Advance =
        M.getOrInsertFunction("__mneme_host_advance", I32, Ptr, I32, Ptr, I32);
    Value *Region =
        B.CreateCall(Advance, {exchangeAddress(0, nullptr, 0), NumThreads,
                               SiteTable, B.getInt32(WaveSize)});
    SwitchInst *Switch = B.CreateSwitch(Region, Done, Sites.size());
    for (unsigned I = 1; I <= Sites.size(); ++I)
      Switch->addCase(B.getInt32(I), Begin[I]);
  }
  for (unsigned I = 0; I <= Sites.size(); ++I)
    emitRegion(I);
  removeUnreachableBlocks(*Entry);
  setIntAttr(*Entry, ContextSizeAttr, ContextSize);
  return true;
}

PreservedAnalyses HostRegionPass::run(Module &M, ModuleAnalysisManager &MAM) {
  auto &FAM = MAM.getResult<FunctionAnalysisManagerModuleProxy>(M).getManager();
  bool Changed = false;
  for (Function *Kernel : findKernels(M)) {
    Changed = true;
    if (Function *F = findSyncInCallee(*Kernel)) {
      setReason(*Kernel, "no region: synchronization in function '" +
                             F->getName() + "', which is not inlined");
      continue;
    }
    bool Built;
    {
      RegionBuilder Builder(*Kernel, FAM);
      Built = Builder.build();
      if (!Built)
        setReason(*Kernel, "no region: " + Builder.why());
    }
    if (Built)
      retireKernel(*Kernel);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}
