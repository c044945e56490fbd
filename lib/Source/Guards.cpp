//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Source/Guards.h"
#include "llvm/ADT/SCCIterator.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/CallGraph.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/CallingConv.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/IRUtils/AsmAccess.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Support/AtomicOrdering.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <map>
#include <set>
#include <utility>

using namespace llvm;
using namespace llvm::mneme;

/// Intrinsics that differ between launches of the same kernel, or between GPUs,
/// by prefix.
static constexpr StringLiteral Clocks[] = {
    "llvm.nvvm.read.ptx.sreg.aggr_smem_size",
    "llvm.nvvm.read.ptx.sreg.clock",
    "llvm.nvvm.read.ptx.sreg.envreg",
    "llvm.nvvm.read.ptx.sreg.globaltimer",
    "llvm.nvvm.read.ptx.sreg.gridid",
    "llvm.nvvm.read.ptx.sreg.nsmid",
    "llvm.nvvm.read.ptx.sreg.nwarpid",
    "llvm.nvvm.read.ptx.sreg.pm",
    "llvm.nvvm.read.ptx.sreg.smid",
    "llvm.nvvm.read.ptx.sreg.total_smem_size",
    "llvm.nvvm.read.ptx.sreg.warpid",
    "llvm.nvvm.clusterlaunchcontrol.",
    "llvm.readcyclecounter",
    "llvm.readsteadycounter",
    "llvm.amdgcn.dispatch.id",
    "llvm.amdgcn.s.barrier.signal.isfirst",
    "llvm.amdgcn.s.get.barrier.state",
    "llvm.amdgcn.s.get.named.barrier.state",
    "llvm.amdgcn.s.getreg",
    "llvm.amdgcn.s.memrealtime",
    "llvm.amdgcn.s.memtime",
    "llvm.amdgcn.s.sendmsg.rtn",
};

/// Intrinsics whose effect depends on the GPU: how long a thread waits, and
/// which thread is elected.
static constexpr StringLiteral Choices[] = {
    "llvm.nvvm.elect.sync",
    "llvm.nvvm.nanosleep",
    "llvm.nvvm.griddepcontrol.launch.dependents",
    "llvm.amdgcn.s.sleep",
};

/// Intrinsics whose result depends on which lanes of a wave run together, by
/// prefix. Schedules of the host device do not vary that.
static constexpr StringLiteral Waves[] = {
    "llvm.amdgcn.ballot",        "llvm.amdgcn.fcmp",         "llvm.amdgcn.icmp",
    "llvm.amdgcn.readfirstlane", "llvm.amdgcn.wave.reduce.",
};

/// Barriers of a block, by prefix.
static constexpr StringLiteral Barriers[] = {"llvm.nvvm.barrier.cta.sync.",
                                             "llvm.nvvm.barrier0",
                                             "llvm.amdgcn.s.barrier"};

/// Arrivals at a cluster's barrier, and waits, by prefix; also in assembly,
/// where the first words are left out.
static constexpr StringLiteral ClusterBarriers[] = {
    "llvm.nvvm.barrier.cluster.arrive", "llvm.nvvm.barrier.cluster.wait"};

/// Intrinsics that return where the thread's stack, its code or its registers
/// are, by prefix.
static constexpr StringLiteral Places[] = {
    "llvm.addressofreturnaddress", "llvm.frameaddress", "llvm.localaddress",
    "llvm.localrecover",           "llvm.read_register", "llvm.returnaddress",
    "llvm.sponentry",              "llvm.stackaddress",  "llvm.stacksave",
    "llvm.thread.pointer",         "llvm.write_register",
};

/// Local memory per thread that needs no reason.
static constexpr uint64_t OrdinaryLocalBytes = 64 << 10;

/// The largest alignment of an access. Code may test for it.
static constexpr uint64_t MaxAlignment = 128;

/// Functions of the device runtime that allocate memory or launch kernels.
static constexpr StringLiteral Runtime[] = {
    "malloc",           "free",
    "cudaMalloc",       "cudaFree",
    "cudaLaunchDevice", "cudaGetParameterBuffer",
    "__cudaCDP2"};

namespace {
/// What a module has, by what the guards say about it.
struct Contents {
  std::set<std::string> Refused, Suspicious;
  uint64_t LocalBytes = 0; ///< Per thread.
  /// Fences of a wider scope than a block, atomic operations behind one, and
  /// volatile accesses, all but those of shared and local memory.
  unsigned NumFences = 0, NumPublished = 0, NumVolatile = 0;
  /// Those of NumFences, and atomic operations, that the host and other GPUs
  /// see in order.
  unsigned NumSystem = 0;
  /// Fences of a block that are no part of a barrier, and barriers.
  unsigned NumBlockFences = 0, NumBarriers = 0;
  /// Arrivals at a cluster's barrier that release memory, and waits.
  unsigned NumClusterBarriers = 0;

  /// Memory that other blocks see, by the argument or variable that leads
  /// there.
  using Names = std::set<std::string>;
  Names Written, Read;
  bool WritesUnknown = false;
  /// Accessed by ordinary loads and stores, and by atomic or volatile ones.
  Names Loads, Stores, AtomicLoads, AtomicStores;
  /// Read as if nothing wrote it during the launch (__ldg()).
  Names Invariant;
  /// Written before an atomic or volatile write, and read after such a read,
  /// with no fence between them.
  Names Unpublished, Unacquired;
  /// Accessed before a wait for the kernel before (griddepcontrol.wait).
  Names Early;
  bool Waits = false;
  std::set<std::string> Printed; ///< Formats.

  /// Looks at \p M, and at a copy without the variables of clang.
  explicit Contents(const Module &M);

private:
  SmallPtrSet<const Value *, 32> Seen, Derived;
  const DataLayout *DL = nullptr; ///< Of the copy.
  bool HasClusters = false;       ///< Other blocks see shared memory.

  void visit(const Module &M);
  void visit(const Instruction &I);
  void visit(const Constant &C);
  void visitCall(const CallBase &C);

  void visitPointers(const Instruction &I);
  void visitPointer(const Value &P);
  void visitLoadedPointer(const LoadInst &L);
  void visitAddress(const Value &Address);
  void visitScope(const Instruction &I);
  void visitOrder(Function &F);
  void visitAccess(const Instruction &I);
  void findUnpublished(const Function &F);
  void findUnacquired(const Function &F);
  void findEarly(const Function &F);
  void visitWaves(Function &F);
  void visitLocal(const AllocaInst &A);
};
} // namespace

static bool beginsWithOneOf(StringRef Name, ArrayRef<StringLiteral> Prefixes) {
  return any_of(Prefixes, [&](StringRef P) { return Name.starts_with(P); });
}

/// Returns why what a variable contains is not known in a launch; empty if it
/// is: shared memory, and what nothing writes.
static StringRef explainState(const GlobalVariable &G) {
  constexpr unsigned Generic = 0, Global = 1, Constant = 4;
  unsigned Space = G.getAddressSpace();
  bool IsConstant = G.isConstant() && !G.isExternallyInitialized();
  if (IsConstant || G.getName().starts_with("llvm.") ||
      G.getSection() == "llvm.metadata")
    return "";
  if (Space == Constant || G.isConstant())
    return "can be written by the host";
  return Space == Generic || Space == Global
             ? "keeps its value between launches"
             : "";
}

static bool isCalled(const Function &F) {
  return any_of(F.users(), [](const User *U) { return isa<CallBase>(U); });
}

static bool isForClusters(const Instruction &I);

/// Instructions after inlining, up to which all calls are inlined.
static constexpr uint64_t MaxInlined = 200000;

/// Returns the number of instructions that the largest function has when all
/// that it calls is inlined.
static uint64_t countInlined(Module &M) {
  std::map<const Function *, uint64_t> Sizes;
  uint64_t Largest = 0;
  CallGraph Calls(M);
  for (auto It = scc_begin(&Calls); !It.isAtEnd(); ++It)
    for (const CallGraphNode *N : *It) {
      const Function *F = N->getFunction();
      if (!F || F->isDeclaration())
        continue;
      uint64_t &Size = Sizes[F];
      Size = F->getInstructionCount();
      for (const CallGraphNode::CallRecord &C : *N)
        if (auto Callee = Sizes.find(C.second->getFunction());
            Callee != Sizes.end() && Callee->first != F)
          Size = SaturatingAdd(Size, Callee->second);
      Largest = std::max(Largest, Size);
    }
  return Largest;
}

Contents::Contents(const Module &M) {
  visit(M);
  // What passes through local variables, as all values do in M, is seen in the
  // registers of the copy only: a pointer that was stored as an integer.
  LLVMContext Context;
  std::unique_ptr<Module> Copy = copyModule(M, Context);
  bool IsInlined = countInlined(*Copy) <= MaxInlined;
  if (!IsInlined)
    Refused.insert("calls that make too much code when they are inlined");
  for (Function &F : *Copy) {
    // Accesses in functions that are not inlined could not be attributed.
    if (!F.isDeclaration() && IsInlined) {
      F.removeFnAttr(Attribute::OptimizeNone);
      F.removeFnAttr(Attribute::NoInline);
      F.addFnAttr(Attribute::AlwaysInline);
    }
  }
  for (const Function &F : M)
    HasClusters |= any_of(instructions(F), isForClusters);
  runPasses(*Copy, "function(sroa),cgscc(inline),"
                   "function(sroa,early-cse,"
                   "instcombine<no-verify-fixpoint>,simplifycfg)");
  Seen.clear();
  DL = &Copy->getDataLayout();
  visit(*Copy);
  bool HasKernel = any_of(*Copy, isKernel);
  for (Function &F : *Copy) {
    for (const Instruction &I : instructions(F))
      visitPointers(I);
    visitOrder(F);
    visitWaves(F);
    // What was inlined may be left.
    if (HasKernel && !isKernel(F) && !isCalled(F))
      continue;
    for (const Instruction &I : instructions(F))
      visitAccess(I);
    findUnpublished(F);
    findUnacquired(F);
    findEarly(F);
  }
}

void Contents::visit(const Module &M) {
  if (!M.getModuleInlineAsm().empty())
    Refused.insert("assembly outside of functions");
  for (const GlobalVariable &G : M.globals()) {
    if (StringRef Why = explainState(G); !Why.empty())
      Refused.insert(("the variable '" + G.getName() + "' " + Why).str());
    if (G.hasInitializer())
      visit(*G.getInitializer());
  }
  for (const Function &F : M) {
    if (F.isDeclaration() && !F.isIntrinsic())
      Refused.insert((beginsWithOneOf(F.getName(), Runtime)
                          ? "a call to the device runtime's '"
                          : "a call to the undefined function '") +
                     F.getName().str() + "'");
    for (const Instruction &I : instructions(F))
      visit(I);
  }
  CallGraph Calls(const_cast<Module &>(M));
  for (auto It = scc_begin(&Calls); !It.isAtEnd(); ++It)
    if (It.hasCycle())
      Suspicious.insert("it has a recursive function, and threads of a GPU "
                        "have small stacks");
}

void Contents::visit(const Instruction &I) {
  if (const auto *Call = dyn_cast<CallBase>(&I))
    visitCall(*Call);
  if (const auto *Cast = dyn_cast<IntToPtrInst>(&I)) {
    if (isa<Constant>(Cast->getOperand(0)))
      Refused.insert("a constant address");
    else
      Suspicious.insert("it computes a pointer from an integer");
  }
  for (const Use &U : I.operands())
    if (const auto *C = dyn_cast<Constant>(U))
      visit(*C);
}

void Contents::visit(const Constant &C) {
  if (!Seen.insert(&C).second || isa<GlobalValue>(C))
    return;
  if (const auto *E = dyn_cast<ConstantExpr>(&C)) {
    // Also an offset to null.
    bool IsOffset = E->getOpcode() == Instruction::GetElementPtr &&
                    isa<ConstantPointerNull>(E->getOperand(0));
    if (E->getOpcode() == Instruction::IntToPtr || IsOffset)
      Refused.insert("a constant address");
  }
  if (const auto *E = dyn_cast<ConstantExpr>(&C))
    if (E->getOpcode() == Instruction::PtrToInt ||
        E->getOpcode() == Instruction::PtrToAddr) {
      const auto *G = dyn_cast<GlobalVariable>(
          E->getOperand(0)->stripInBoundsConstantOffsets());
      // The offset of shared memory is no address.
      if (!G || G->getAddressSpace() != 3)
        Suspicious.insert("it computes with the address of memory");
    }
  for (const Use &U : C.operands())
    if (const auto *Part = dyn_cast<Constant>(U))
      visit(*Part);
}

void Contents::visitCall(const CallBase &C) {
  if (const auto *Asm = dyn_cast<InlineAsm>(C.getCalledOperand())) {
    auto IsPointer = [](const Type *T) { return T->isPtrOrPtrVectorTy(); };
    bool MakesPointer =
        IsPointer(C.getType()) || any_of(C.getType()->subtypes(), IsPointer) ||
        any_of(C.args(), [&](const Use &A) { return IsPointer(A->getType()); });
    if (MakesPointer || !isArithmeticPTX(*Asm))
      Suspicious.insert("it has the inline assembly '" +
                        std::string(Asm->getAsmString()) + "'");
    // Recorded assembly may have another address.
    for (const AsmAccess &A : findAsmAccesses(C))
      if (!A.IsOwn && A.Address->getType()->isIntegerTy() &&
          !isa<PtrToIntOperator>(A.Address))
        Suspicious.insert("it computes a pointer from an integer");
    return;
  }
  const Function *F = C.getCalledFunction();
  // Local variables of M have the functions that are inlined in the copy.
  if (C.isIndirectCall() && DL)
    Suspicious.insert("it calls a function by its address");
  if (StringRef Format; F && F->getName() == "vprintf" &&
                        getConstantStringInfo(C.getArgOperand(0), Format))
    Printed.insert(Format.str());
  if (F && beginsWithOneOf(F->getName(), Clocks))
    Suspicious.insert("it reads '" + F->getName().str() + "'");
  if (F && F->getIntrinsicID() == Intrinsic::nvvm_activemask)
    Suspicious.insert(ActiveMaskSuspicion.str());
  if (F && beginsWithOneOf(F->getName(), Choices))
    Suspicious.insert("it calls '" + F->getName().str() + "'");
  if (F && beginsWithOneOf(F->getName(), Places))
    Refused.insert("a call to '" + F->getName().str() +
                   "', which finds the thread's stack, code or registers");
}

//===----------------------------------------------------------------------===//
// Where pointers come from
//===----------------------------------------------------------------------===//

/// Each pointer must derive from an argument, a local variable or a variable of
/// the module, and accesses with constant offsets must be inside.
void Contents::visitPointers(const Instruction &I) {
  if (const auto *A = dyn_cast<AllocaInst>(&I))
    visitLocal(*A);
  if (const auto *P = dyn_cast<PtrToIntInst>(&I))
    visitAddress(*P);
  if (const auto *P = dyn_cast<PtrToAddrInst>(&I))
    visitAddress(*P);
  if (const auto *II = dyn_cast<IntrinsicInst>(&I);
      II && II->getIntrinsicID() == Intrinsic::ptrmask) {
    const auto *Mask = dyn_cast<ConstantInt>(II->getArgOperand(1));
    if (!Mask || (~Mask->getValue()).uge(MaxAlignment))
      Suspicious.insert("it computes with the address of memory");
  }
  if (const Value *P = getLoadStorePointerOperand(&I)) {
    const Value *Object = getUnderlyingObject(P);
    if (isa<Function>(Object) || isa<BlockAddress>(Object))
      Refused.insert("an access to code");
    if (I.isVolatile() && isa<AllocaInst>(Object))
      Suspicious.insert("it has volatile local memory");
  }
  visitScope(I);
  if (isa<ICmpInst>(I))
    return;
  for (const Use &U : I.operands())
    if (U->getType()->isPtrOrPtrVectorTy() && !U->getType()->isLabelTy())
      visitPointer(*U);
}

/// Returns the constant offset of \p P from the variable \p Object, unless it
/// is inside.
static std::optional<int64_t> findOffsetOutside(const Value &P,
                                                const Value *&Object,
                                                const DataLayout &DL) {
  APInt Offset(DL.getIndexTypeSizeInBits(P.getType()), 0);
  Object = P.stripAndAccumulateConstantOffsets(DL, Offset,
                                               /*AllowNonInbounds=*/true);
  uint64_t Size = 0;
  if (const auto *A = dyn_cast<AllocaInst>(Object)) {
    std::optional<TypeSize> S = A->getAllocationSize(DL);
    if (!S || S->isScalable())
      return std::nullopt;
    Size = S->getFixedValue();
  } else if (const auto *G = dyn_cast<GlobalVariable>(Object)) {
    Size = DL.getTypeAllocSize(G->getValueType());
    if (G->isDeclaration() || Size == 0) // Dynamic shared memory.
      Size = 227 << 10;
  } else {
    return std::nullopt;
  }
  // One behind the end is a pointer, too.
  if (Offset.isNegative() || Offset.ugt(Size))
    return Offset.getSExtValue();
  return std::nullopt;
}

void Contents::visitPointer(const Value &P) {
  if (!Derived.insert(&P).second)
    return;
  if (const auto *GEP = dyn_cast<GEPOperator>(&P)) {
    const Value *Object = nullptr;
    if (!P.getType()->isVectorTy())
      if (std::optional<int64_t> Offset = findOffsetOutside(P, Object, *DL))
        Refused.insert(formatv("an access at offset {0} of the {1} '{2}'",
                               *Offset,
                               isa<AllocaInst>(Object) ? "local variable"
                                                       : "variable",
                               Object->getName())
                           .str());
    return visitPointer(*GEP->getPointerOperand());
  }
  if (const auto *Cast = dyn_cast<AddrSpaceCastOperator>(&P))
    return visitPointer(*Cast->getOperand(0));
  if (const auto *Load = dyn_cast<LoadInst>(&P))
    return visitLoadedPointer(*Load);
  if (const auto *Phi = dyn_cast<PHINode>(&P)) {
    for (const Use &U : Phi->incoming_values())
      visitPointer(*U);
    return;
  }
  if (const auto *S = dyn_cast<SelectInst>(&P)) {
    visitPointer(*S->getTrueValue());
    return visitPointer(*S->getFalseValue());
  }
  if (const auto *F = dyn_cast<FreezeInst>(&P))
    return visitPointer(*F->getOperand(0));
  // It reads the distance from memory.
  if (const auto *II = dyn_cast<IntrinsicInst>(&P);
      II && II->getIntrinsicID() == Intrinsic::load_relative)
    Suspicious.insert("it makes a pointer of other data");
  // Casts of integers are found elsewhere, and what functions return is checked
  // in them.
  if (isa<Argument>(P) || isa<AllocaInst>(P) || isa<Constant>(P) ||
      isa<IntToPtrInst>(P) || isa<CallBase>(P) || isa<InlineAsm>(P))
    return;
  Suspicious.insert("it makes a pointer of other data");
}

/// Returns true if all that is written to a variable is pointers, which are
/// checked where they are written.
static bool holdsOnlyPointers(const Value &Variable) {
  SmallVector<const Value *, 8> Work = {&Variable};
  while (!Work.empty())
    for (const User *U : Work.pop_back_val()->users()) {
      if (isa<GEPOperator>(U) || isa<AddrSpaceCastOperator>(U)) {
        Work.push_back(U);
        continue;
      }
      const auto *I = dyn_cast<Instruction>(U);
      if (!I || (!isa<LoadInst>(I) && !isa<StoreInst>(I) &&
                 !I->isLifetimeStartOrEnd()))
        return false;
      if (const auto *S = dyn_cast<StoreInst>(I))
        if (!S->getValueOperand()->getType()->isPtrOrPtrVectorTy() ||
            getUnderlyingObject(S->getValueOperand()) == &Variable)
          return false;
    }
  return true;
}

void Contents::visitLoadedPointer(const LoadInst &L) {
  const Value *Object = getUnderlyingObject(L.getPointerOperand());
  // A structure that the kernel takes by value.
  if (const auto *A = dyn_cast<Argument>(Object))
    if (A->hasByValAttr() || A->hasByRefAttr())
      return;
  const auto *G = dyn_cast<GlobalVariable>(Object);
  if (G && G->isConstant())
    return;
  bool IsOwn = isa<AllocaInst>(Object) || (G && G->getAddressSpace() == 3);
  if (!IsOwn)
    Suspicious.insert("it loads a pointer from memory");
  else if (!holdsOnlyPointers(*Object))
    Suspicious.insert("it makes a pointer of other data");
}

/// Looks at what becomes of an address. A test of its alignment, and a distance
/// of two pointers, say nothing about where memory is.
void Contents::visitAddress(const Value &Address) {
  for (const User *U : Address.users()) {
    const auto *I = dyn_cast<Instruction>(U);
    auto IsAddress = [](const Value *V) {
      return isa<PtrToIntInst>(V) || isa<PtrToAddrInst>(V);
    };
    bool IsHarmless = false;
    if (I && I->getOpcode() == Instruction::And) {
      const auto *Mask = dyn_cast<ConstantInt>(I->getOperand(1));
      IsHarmless = Mask && Mask->getValue().ult(MaxAlignment);
    } else if (I && isa<TruncInst>(I)) {
      IsHarmless = I->getType()->getScalarSizeInBits() <= 7;
    } else if (I && (I->getOpcode() == Instruction::Sub || isa<ICmpInst>(I))) {
      IsHarmless = IsAddress(I->getOperand(0)) && IsAddress(I->getOperand(1));
    }
    if (!IsHarmless)
      Suspicious.insert("it computes with the address of memory");
  }
}

/// Returns true if only the threads of a block, or fewer, see an operation in
/// order.
static bool isNarrow(SyncScope::ID Scope, LLVMContext &Context) {
  SmallVector<StringRef, 8> Names;
  Context.getSyncScopeNames(Names);
  StringRef Name = Scope < Names.size() ? Names[Scope] : "";
  Name.consume_back("-one-as");
  return Name == "block" || Name == "cta" || Name == "workgroup" ||
         Name == "wavefront" || Name == "warp" || Name == "singlethread";
}

/// Returns where an access that may be atomic is; null for other instructions.
static const Value *getAtomicPointer(const Instruction &I) {
  if (isa<AtomicRMWInst, AtomicCmpXchgInst>(I))
    return I.getOperand(0);
  return getLoadStorePointerOperand(&I);
}

/// Returns true for memory that only the threads of a block see.
static bool isOfBlock(const Value &Pointer) {
  const Value *Object = getUnderlyingObject(&Pointer, /*MaxLookup=*/0);
  const auto *G = dyn_cast<GlobalVariable>(Object);
  return isa<AllocaInst>(Object) || (G && G->getAddressSpace() == 3);
}

/// Inline assembly that orders accesses, and does so for a block only.
static constexpr StringLiteral AsmFences[] = {
    "membar.", "fence.", ".acquire", ".release", "griddepcontrol.wait"};
static constexpr StringLiteral AsmFencesOfBlock[] = {".cta", "membar.warp"};

/// Returns the ordering of an atomic access to memory that other blocks see.
/// CUDA's own functions (atomicAdd()) are sequentially consistent in the IR,
/// but order nothing.
static AtomicOrdering getOrdering(const Instruction &I) {
  std::optional<SyncScope::ID> Scope = getAtomicSyncScopeID(&I);
  if (isa<FenceInst>(I) || !Scope || isOfBlock(*getAtomicPointer(I)) ||
      isNarrow(*Scope, I.getContext()))
    return AtomicOrdering::NotAtomic;
  if (const auto *Load = dyn_cast<LoadInst>(&I))
    return Load->getOrdering();
  if (const auto *Store = dyn_cast<StoreInst>(&I))
    return Store->getOrdering();
  const auto *RMW = dyn_cast<AtomicRMWInst>(&I);
  AtomicOrdering Ordering =
      RMW ? RMW->getOrdering() : cast<AtomicCmpXchgInst>(I).getMergedOrdering();
  return Ordering == AtomicOrdering::SequentiallyConsistent
             ? AtomicOrdering::Monotonic
             : Ordering;
}

/// Returns the text of inline assembly, or else the name of the function that
/// is called; empty for other instructions.
static StringRef getCalledText(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return "";
  if (const auto *Asm = dyn_cast<InlineAsm>(Call->getCalledOperand()))
    return Asm->getAsmString();
  const Function *F = Call->getCalledFunction();
  return F ? F->getName() : "";
}

static bool hasOneOf(StringRef Text, ArrayRef<StringLiteral> Words) {
  return any_of(Words, [&](StringRef W) { return Text.contains(W); });
}

static bool isInlineAsm(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  return Call && Call->isInlineAsm();
}

/// Returns true for what waits for the kernel before.
static bool isKernelWait(const Instruction &I) {
  return getCalledText(I).contains("griddepcontrol.wait");
}

/// Returns true for what orders accesses for more threads than those of a
/// block, such as those of the kernel before.
static bool isWideFence(const Instruction &I) {
  if (const auto *F = dyn_cast<FenceInst>(&I))
    return !isNarrow(F->getSyncScopeID(), I.getContext());
  if (isStrongerThanMonotonic(getOrdering(I)))
    return true;
  StringRef Text = getCalledText(I);
  if (isInlineAsm(I))
    return hasOneOf(Text, AsmFences) && !hasOneOf(Text, AsmFencesOfBlock);
  return Text == "llvm.nvvm.membar.gl" || Text == "llvm.nvvm.membar.sys" ||
         isKernelWait(I);
}

static bool isBarrier(const Instruction *I) {
  return I && beginsWithOneOf(getCalledText(*I), Barriers);
}

/// Returns true for a fence of a block. Barriers of AMD GPUs have one before
/// and one behind them.
static bool isBlockFence(const Instruction &I) {
  StringRef Text = getCalledText(I);
  if (const auto *F = dyn_cast<FenceInst>(&I))
    return isNarrow(F->getSyncScopeID(), I.getContext()) &&
           !isBarrier(I.getPrevNode()) && !isBarrier(I.getNextNode());
  return Text == "llvm.nvvm.membar.cta" ||
         (isInlineAsm(I) && hasOneOf(Text, {"membar.cta", "fence."}) &&
          hasOneOf(Text, AsmFencesOfBlock));
}

/// Returns true for what orders accesses for the host and other GPUs, too.
static bool isSystemWide(const Instruction &I) {
  if (const auto *F = dyn_cast<FenceInst>(&I))
    return F->getSyncScopeID() == SyncScope::System;
  StringRef Text = getCalledText(I);
  return isInlineAsm(I) ? Text.contains(".sys")
                        : Text == "llvm.nvvm.membar.sys" ||
                              (Text.starts_with("llvm.nvvm.atomic.") &&
                               Text.contains(".sys."));
}

/// Returns true for what only a kernel with clusters does.
static bool isForClusters(const Instruction &I) {
  StringRef Text = getCalledText(I);
  return Text.contains("mapa") || Text.contains("shared::cluster") ||
         Text.contains("barrier.cluster");
}

/// Returns true for an arrival at a cluster's barrier that releases memory, and
/// for a wait.
static bool isClusterBarrier(const Instruction &I) {
  StringRef Text = getCalledText(I);
  return !Text.contains(".relaxed") &&
         any_of(ClusterBarriers, [&](StringRef Name) {
           return Text.contains(
               Name.drop_front(StringRef("llvm.nvvm.").size()));
         });
}

/// Returns the name of memory that other blocks see; empty for other memory,
/// and if it is not known.
static std::string nameMemory(const Value &Pointer) {
  const Value *Object = getUnderlyingObject(&Pointer, /*MaxLookup=*/0);
  if (const auto *G = dyn_cast<GlobalVariable>(Object))
    return isOfBlock(*G) ? "" : ("variable '" + G->getName() + "'").str();
  std::string Member;
  if (const auto *Load = dyn_cast<LoadInst>(Object)) {
    APInt Offset(64, 0);
    Object = Load->getPointerOperand()->stripAndAccumulateConstantOffsets(
        Load->getDataLayout(), Offset, /*AllowNonInbounds=*/true);
    Member = formatv(" + {0}", Offset.getSExtValue()).str();
  }
  const auto *A = dyn_cast<Argument>(Object);
  if (!A || isCalled(*A->getParent()) ||
      bool(A->getPointeeInMemoryValueType()) == Member.empty())
    return "";
  return formatv("argument {0}{1}", A->getArgNo(), Member).str();
}

static bool isAtomicOrVolatile(const Instruction &I) {
  return I.isAtomic() || I.isVolatile();
}

/// Returns true for an atomic or volatile write that others wait for, or such a
/// read, of memory that other blocks see.
static bool isSignal(const Instruction &I, bool IsWrite) {
  const Value *P = getAtomicPointer(I);
  return P && isAtomicOrVolatile(I) && !isOfBlock(*P) &&
         (IsWrite ? I.mayWriteToMemory() : !isa<StoreInst>(I));
}

/// Calls \p Note with each address that \p I accesses.
static void
forEachAccess(const Instruction &I,
              function_ref<void(const Value &, bool IsWrite)> Note) {
  if (const auto *Set = dyn_cast<AnyMemIntrinsic>(&I))
    Note(*Set->getRawDest(), true);
  if (const auto *Copy = dyn_cast<AnyMemTransferInst>(&I))
    Note(*Copy->getRawSource(), false);
  if (const auto *Call = dyn_cast<CallBase>(&I))
    for (const AsmAccess &A : findAsmAccesses(*Call)) {
      if (A.IsStore && !A.IsOwn)
        Note(*A.Address, true);
      if (A.IsLoad && !A.IsOwn)
        Note(*A.Address, false);
    }
  const Value *P = getAtomicPointer(I);
  if (P && !isa<StoreInst>(I))
    Note(*P, false);
  if (P && !isa<LoadInst>(I))
    Note(*P, true);
}

void Contents::visitAccess(const Instruction &I) {
  forEachAccess(I, [&](const Value &At, bool IsWrite) {
    std::string Name = nameMemory(At);
    if (IsWrite)
      WritesUnknown |= Name.empty() && !isOfBlock(At);
    (IsWrite ? Written : Read).insert(std::move(Name));
  });
  if (const auto *Call = dyn_cast<CallBase>(&I))
    for (const AsmAccess &A : findAsmAccesses(*Call))
      if (A.IsLoad && getCalledText(I).contains(".nc"))
        Invariant.insert(nameMemory(*A.Address));
  const Value *P = getAtomicPointer(I);
  if (!P)
    return;
  std::string Name = nameMemory(*P);
  bool IsSignal = isAtomicOrVolatile(I);
  if (I.hasMetadata(LLVMContext::MD_invariant_load))
    Invariant.insert(Name);
  if (isa<LoadInst>(I))
    (IsSignal ? AtomicLoads : Loads).insert(Name);
  if (isa<StoreInst>(I))
    (IsSignal ? AtomicStores : Stores).insert(Name);
}

/// Follows what a thread does in one direction from each signal to the next
/// fence, and calls \p Note with each instruction on the way.
/// \param FromEntry  from the begin of the function instead.
static void followSignals(const Function &F, bool IsForward, bool FromEntry,
                          function_ref<bool(const Instruction &)> IsFence,
                          function_ref<void(const Instruction &)> Note) {
  std::map<const BasicBlock *, bool> AtEnd; ///< In the direction.
  auto Walk = [&](const BasicBlock &BB, bool Notes) {
    bool Behind = FromEntry && BB.isEntryBlock();
    auto Join = [&](auto Others) {
      for (const BasicBlock *Other : Others)
        Behind |= AtEnd[Other];
    };
    auto Step = [&](const Instruction &I) {
      // A signal can be its own fence.
      if (!FromEntry && isSignal(I, !IsForward))
        Behind = !IsFence(I);
      else if (IsFence(I))
        Behind = false;
      else if (Behind && Notes)
        Note(I);
    };
    if (IsForward) {
      Join(predecessors(&BB));
      for (const Instruction &I : BB)
        Step(I);
    } else {
      Join(successors(&BB));
      for (const Instruction &I : reverse(BB))
        Step(I);
    }
    return Behind;
  };
  for (bool Changed = true; Changed;) {
    Changed = false;
    for (const BasicBlock &BB : F) {
      bool Behind = Walk(BB, /*Notes=*/false);
      Changed |= Behind != std::exchange(AtEnd[&BB], Behind);
    }
  }
  for (const BasicBlock &BB : F)
    Walk(BB, /*Notes=*/true);
}

void Contents::findUnpublished(const Function &F) {
  followSignals(
      F, /*IsForward=*/false, /*FromEntry=*/false,
      [](const Instruction &I) {
        AtomicOrdering O = getOrdering(I);
        return O == AtomicOrdering::NotAtomic ? isWideFence(I)
                                              : isReleaseOrStronger(O);
      },
      [&](const Instruction &I) {
        if (const auto *Store = dyn_cast<StoreInst>(&I))
          Unpublished.insert(nameMemory(*Store->getPointerOperand()));
      });
}

void Contents::findUnacquired(const Function &F) {
  followSignals(
      F, /*IsForward=*/true, /*FromEntry=*/false,
      [](const Instruction &I) {
        AtomicOrdering O = getOrdering(I);
        return O == AtomicOrdering::NotAtomic ? isWideFence(I)
                                              : isAcquireOrStronger(O);
      },
      [&](const Instruction &I) {
        if (const auto *Load = dyn_cast<LoadInst>(&I))
          Unacquired.insert(nameMemory(*Load->getPointerOperand()));
      });
}

/// The host device runs no two kernels at the same time. Without a wait, all
/// accesses are early.
void Contents::findEarly(const Function &F) {
  Waits |= any_of(instructions(F), isKernelWait);
  followSignals(F, /*IsForward=*/true, /*FromEntry=*/true, isKernelWait,
                [&](const Instruction &I) {
                  forEachAccess(I, [&](const Value &At, bool) {
                    Early.insert(nameMemory(At));
                  });
                });
}

/// Counts what orders a thread's accesses for other threads: the host device
/// performs them in order.
void Contents::visitOrder(Function &F) {
  if (F.isDeclaration())
    return;
  SmallVector<const Instruction *, 4> Fences, Atomics;
  for (const Instruction &I : instructions(F)) {
    const Value *P = getLoadStorePointerOperand(&I);
    NumSystem += isSystemWide(I);
    NumBlockFences += isBlockFence(I);
    NumBarriers += isBarrier(&I);
    NumClusterBarriers += isClusterBarrier(I);
    if (isWideFence(I))
      Fences.push_back(&I);
    else if (isa<AtomicRMWInst, AtomicCmpXchgInst>(I) &&
             !isOfBlock(*I.getOperand(0)))
      Atomics.push_back(&I);
    else if (P && I.isVolatile() && !isOfBlock(*P))
      ++NumVolatile;
  }
  NumFences += Fences.size();
  if (Fences.empty())
    return;
  DominatorTree DT(F);
  NumPublished += count_if(Atomics, [&](const Instruction *A) {
    return any_of(Fences,
                  [&](const Instruction *I) { return DT.dominates(I, A); });
  });
}

/// Where all lanes of a wave arrive exactly once, they run together.
void Contents::visitWaves(Function &F) {
  SmallVector<const CallBase *, 4> Calls;
  for (const Instruction &I : instructions(F))
    if (const auto *Call = dyn_cast<CallBase>(&I))
      if (const Function *Callee = Call->getCalledFunction();
          Callee && beginsWithOneOf(Callee->getName(), Waves))
        Calls.push_back(Call);
  if (Calls.empty())
    return;
  DominatorTree DT(F);
  PostDominatorTree PDT(F);
  LoopInfo Loops(DT);
  bool IsKernel = F.getCallingConv() == CallingConv::AMDGPU_KERNEL;
  for (const CallBase *Call : Calls) {
    const BasicBlock *BB = Call->getParent();
    if (!IsKernel || !PDT.dominates(BB, &F.getEntryBlock()) ||
        Loops.getLoopFor(BB))
      Suspicious.insert("it calls '" +
                        Call->getCalledFunction()->getName().str() +
                        "' where not all lanes of a wave need arrive together");
  }
}

/// No schedule of the host device shows that an atomic operation is for a block
/// only. In a cluster, shared memory is for more.
void Contents::visitScope(const Instruction &I) {
  const Value *P = nullptr;
  bool Narrow = false;
  if (const auto *RMW = dyn_cast<AtomicRMWInst>(&I)) {
    P = RMW->getPointerOperand();
    Narrow = isNarrow(RMW->getSyncScopeID(), I.getContext());
  } else if (const auto *X = dyn_cast<AtomicCmpXchgInst>(&I)) {
    P = X->getPointerOperand();
    Narrow = isNarrow(X->getSyncScopeID(), I.getContext());
  } else if (const auto *II = dyn_cast<IntrinsicInst>(&I)) {
    StringRef Name = II->getCalledFunction()->getName();
    if (Name.starts_with("llvm.nvvm.atomic.")) {
      P = II->getArgOperand(0);
      Narrow = Name.contains(".cta.");
    }
  }
  if (!P || !Narrow)
    return;
  const auto *G = dyn_cast<GlobalVariable>(getUnderlyingObject(P));
  if (!G || G->getAddressSpace() != 3 || HasClusters)
    Suspicious.insert("it has an atomic operation of block scope");
}

void Contents::visitLocal(const AllocaInst &A) {
  std::optional<TypeSize> Size = A.getAllocationSize(A.getDataLayout());
  if (Size && !Size->isScalable())
    LocalBytes += Size->getFixedValue();
  else
    Suspicious.insert("it has a local variable of variable size");
}

/// Finds accesses to memory that other blocks see which, unlike those of the
/// recorded code, a GPU may perform in another order.
static void findDisorder(const Contents &Here, const Contents &There,
                         std::vector<std::string> &Suspicions) {
  for (const std::string &Name : There.AtomicLoads)
    if (!Name.empty() && !There.Loads.count(Name) && Here.Loads.count(Name))
      Suspicions.push_back("it reads the memory of " + Name +
                           " by ordinary loads, unlike the recorded code");
  for (const std::string &Name : There.AtomicStores)
    if (!Name.empty() && !There.Stores.count(Name) && Here.Stores.count(Name))
      Suspicions.push_back("it writes the memory of " + Name +
                           " by ordinary stores, unlike the recorded code");
  for (const std::string &Name : Here.Invariant)
    if (!Name.empty() && Here.Written.count(Name) &&
        !There.Invariant.count(Name))
      Suspicions.push_back("it writes the memory of " + Name +
                           ", and reads it as constant (__ldg())");
  for (const std::string &Name : Here.Early)
    if (There.Waits && !Name.empty() && !There.Early.count(Name) &&
        (There.Read.count(Name) || There.Written.count(Name)))
      Suspicions.push_back("it accesses the memory of " + Name +
                           " before 'griddepcontrol.wait', unlike the recorded "
                           "code");
  if (!There.NumFences)
    return;
  for (const std::string &Name : Here.Unpublished)
    if (!Name.empty() && !There.Unpublished.count(Name))
      Suspicions.push_back("it writes the memory of " + Name +
                           " before an atomic or volatile write, without a "
                           "fence between them, unlike the recorded code");
  for (const std::string &Name : Here.Unacquired)
    if (Here.Written.count(Name) && !There.Unacquired.count(Name))
      Suspicions.push_back("it reads the memory of " + Name +
                           " after an atomic or volatile read, without a "
                           "fence between them, unlike the recorded code");
}

GuardFindings mneme::findGuarded(const Module &Version,
                                 const Module &Recorded) {
  Contents Here(Version), There(Recorded);
  GuardFindings Found;
  for (const std::string &R : Here.Refused)
    if (!There.Refused.count(R))
      Found.Refusals.push_back(R);
  for (const std::string &S : Here.Suspicious)
    if (!There.Suspicious.count(S))
      Found.Suspicions.push_back(S);
  if (Here.NumFences < There.NumFences)
    Found.Suspicions.push_back("it lacks fences of the recorded code");
  else if (Here.NumPublished < There.NumPublished)
    Found.Suspicions.push_back(
        "it has fewer atomic operations behind fences than the recorded code");
  else if (Here.NumSystem < There.NumSystem)
    Found.Suspicions.push_back(
        "it has fewer fences and atomic operations of system scope than the "
        "recorded code");
  // A barrier can replace a fence.
  if (Here.NumBlockFences < There.NumBlockFences &&
      Here.NumBarriers <= There.NumBarriers)
    Found.Suspicions.push_back(
        "it lacks fences of block scope of the recorded code");
  if (Here.NumClusterBarriers < There.NumClusterBarriers)
    Found.Suspicions.push_back("it lacks barriers of clusters, or their order "
                               "of memory, of the recorded code");
  if (Here.Printed != There.Printed)
    Found.Suspicions.push_back("it prints other text than the recorded code");
  if (There.NumVolatile && !Here.NumVolatile)
    Found.Suspicions.push_back(
        "it lacks the volatile accesses of the recorded code");
  findDisorder(Here, There, Found.Suspicions);
  // Others may read it while the kernel runs.
  for (const std::string &Name : Here.Written)
    if (!Name.empty() && !There.WritesUnknown && There.Read.count(Name) &&
        !There.Written.count(Name))
      Found.Suspicions.push_back("it writes the memory of " + Name +
                                 ", which the recorded code only reads");
  if (Here.LocalBytes > std::max(There.LocalBytes, OrdinaryLocalBytes))
    Found.Suspicions.push_back(
        formatv("it has {0} bytes of local memory per thread", Here.LocalBytes)
            .str());
  return Found;
}
