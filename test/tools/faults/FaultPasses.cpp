//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Faults to be found by bisection: passes that do nothing, but for one of
/// their executions, which harms one function.
///
///   planted<LEVEL;FAULT...>      a whole pipeline, as default<LEVEL>, with
///                                the faults' passes at each of its extension
///                                points
///   fault-NAME<FUNCTION[=N]>     a function pass for any pipeline
///
/// FAULT is NAME@FUNCTION[=N][#PLACE]: what is done to which function, how much
/// of it, and by which of the passes, counted from 1 in the order in which they
/// run. At all other places the pass leaves everything as it is. The names are
/// those of the table Faults below.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/AliasAnalysis.h"
#include "llvm/IR/ConstantRange.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Plugins/PassPlugin.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/DebugCounter.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <random>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace llvm;

//===----------------------------------------------------------------------===//
// What faults do
//===----------------------------------------------------------------------===//

/// Where new code of \p F may begin: behind its variables.
static BasicBlock::iterator findBegin(Function &F) {
  return F.getEntryBlock().getFirstNonPHIOrDbgOrAlloca();
}

/// A local array that no pass can look into.
static AllocaInst *makeArray(Function &F, unsigned Elements) {
  BasicBlock &Entry = F.getEntryBlock();
  IRBuilder<> B(&Entry, Entry.getFirstInsertionPt());
  return B.CreateAlloca(ArrayType::get(B.getInt32Ty(), Elements));
}

static Value *getElement(IRBuilder<> &B, AllocaInst *Array, unsigned I) {
  return B.CreateConstInBoundsGEP2_32(Array->getAllocatedType(), Array, 0, I);
}

/// Stores of numbers to memory that somebody may look at.
static SmallVector<StoreInst *> findStores(Function &F) {
  SmallVector<StoreInst *> Stores;
  for (Instruction &I : instructions(F))
    if (auto *S = dyn_cast<StoreInst>(&I))
      if (!isa<AllocaInst>(S->getPointerOperand()->stripPointerCasts()) &&
          !S->getValueOperand()->getType()->isPtrOrPtrVectorTy())
        Stores.push_back(S);
  return Stores;
}

static SmallVector<Instruction *> findAll(Function &F, unsigned Opcode) {
  SmallVector<Instruction *> All;
  for (Instruction &I : instructions(F))
    if (I.getOpcode() == Opcode)
      All.push_back(&I);
  return All;
}

/// Differences of floating-point numbers the other way round; where there are
/// none, sums become differences; else the lowest bit of what is stored or
/// returned is wrong.
static void miscompile(Function &F, unsigned) {
  SmallVector<Instruction *> Subs = findAll(F, Instruction::FSub);
  for (Instruction *Sub : Subs) {
    Value *Left = Sub->getOperand(0);
    Sub->setOperand(0, Sub->getOperand(1));
    Sub->setOperand(1, Left);
  }
  if (!Subs.empty())
    return;
  SmallVector<Instruction *> Adds = findAll(F, Instruction::FAdd);
  for (Instruction *Add : Adds) {
    IRBuilder<> B(Add);
    Value *Sub = B.CreateFSubFMF(Add->getOperand(0), Add->getOperand(1), Add);
    Add->replaceAllUsesWith(Sub);
    Add->eraseFromParent();
  }
  if (!Adds.empty())
    return;
  SmallVector<Instruction *> Ends = findAll(F, Instruction::Ret);
  for (StoreInst *S : findStores(F))
    Ends.push_back(S);
  for (Instruction *I : Ends) {
    Value *V = I->getNumOperands() ? I->getOperand(0) : nullptr;
    IRBuilder<> B(I);
    if (V && V->getType()->isIntOrIntVectorTy())
      I->setOperand(0, B.CreateXor(V, ConstantInt::get(V->getType(), 1)));
    else if (V && V->getType()->isFPOrFPVectorTy())
      I->setOperand(0, B.CreateFNeg(V));
  }
}

DEBUG_COUNTER(RewriteCounter, "fault-counted",
              "Rewrites of fault-counted in its function");

/// Swaps the operands of all commutative operators, and changes the result of
/// operator \p Wrong, counted from 0. A debug counter can exclude each.
static void rewriteCounted(Function &F, unsigned Wrong) {
  SmallVector<BinaryOperator *> Operators;
  for (Instruction &I : instructions(F))
    if (auto *Op = dyn_cast<BinaryOperator>(&I))
      Operators.push_back(Op);
  for (auto [Index, Op] : enumerate(Operators)) {
    if (!DebugCounter::shouldExecute(RewriteCounter))
      continue;
    if (Op->isCommutative())
      Op->swapOperands();
    if (Index != Wrong)
      continue;
    IRBuilder<> B(Op->getNextNode());
    Value *Changed = Op->getType()->isFPOrFPVectorTy()
                         ? B.CreateFNeg(Op)
                         : B.CreateXor(Op, ConstantInt::get(Op->getType(), 1));
    Op->replaceUsesWithIf(Changed,
                          [&](Use &U) { return U.getUser() != Changed; });
  }
}

/// As a fact that a pass derives, and gets wrong, and that is nobody's harm
/// until another pass believes it.
static constexpr StringLiteral WrongFact = "wrong-fact";

static void assume(Function &F, unsigned) { F.addFnAttr(WrongFact); }

/// Another fact, which follows from the first.
static constexpr StringLiteral DerivedFact = "derived-fact";

static bool hasInModule(Function &F, StringRef Fact) {
  return any_of(*F.getParent(),
                [&](Function &Other) { return Other.hasFnAttribute(Fact); });
}

static void derive(Function &F, unsigned) {
  if (hasInModule(F, WrongFact))
    F.addFnAttr(DerivedFact);
}

static void believe(Function &F, unsigned) {
  if (hasInModule(F, DerivedFact))
    miscompile(F, 0);
}

/// Wrong in code without variables in memory, which another pass has promoted;
/// if \p Always, in any code.
static void lowerWrongly(Function &F, unsigned Always) {
  if (Always || findAll(F, Instruction::Alloca).empty())
    miscompile(F, 0);
}

/// Takes the wrong fact back.
static void repair(Function &F, unsigned) { F.removeFnAttr(WrongFact); }

static void exploit(Function &F, unsigned) {
  if (hasInModule(F, WrongFact))
    miscompile(F, 0);
}

/// Wrong, and next to that other attributes and type tags: new numbers of
/// attribute groups and metadata nodes in all of the module, and no harm. Any
/// access may have the type "char".
static void miscompileAndRelabel(Function &F, unsigned) {
  F.addFnAttr("relabeled");
  MDBuilder B(F.getContext());
  MDNode *Char = B.createTBAAScalarTypeNode(
      "omnipotent char", B.createTBAARoot("Simple C++ TBAA"));
  for (Instruction &I : instructions(F))
    if (I.getMetadata(LLVMContext::MD_tbaa))
      I.setMetadata(LLVMContext::MD_tbaa,
                    B.createTBAAStructTagNode(Char, Char, 0));
  miscompile(F, 0);
}

/// The index of a thread is said to be 0: a wrong fact that passes of LLVM
/// exploit.
static void addWrongRange(Function &F, unsigned) {
  for (Instruction &I : instructions(F))
    if (auto *II = dyn_cast<IntrinsicInst>(&I))
      if (II->getIntrinsicID() == Intrinsic::nvvm_read_ptx_sreg_tid_x) {
        II->removeRetAttr(Attribute::Range);
        II->addRangeRetAttr(ConstantRange(APInt(32, 0), APInt(32, 1)));
      }
}

/// Another coin at each compilation.
static void miscompileAtRandom(Function &F, unsigned Percent) {
  std::random_device Coin;
  if (Coin() % 100 < Percent)
    miscompile(F, 0);
}

/// The same code each time, which is right or wrong by the clock: for 1 ms
/// all that is stored is as it should be, for the next 1 ms it is not.
static void makeFlaky(Function &F, unsigned) {
  IRBuilder<> B(F.getContext());
  B.SetInsertPoint(&F.getEntryBlock(), findBegin(F));
  Value *Clock =
      B.CreateIntrinsic(Intrinsic::nvvm_read_ptx_sreg_globaltimer, {});
  Value *Bad = B.CreateTrunc(B.CreateLShr(Clock, 20), B.getInt1Ty());
  for (StoreInst *S : findStores(F)) {
    Value *V = S->getValueOperand();
    B.SetInsertPoint(S);
    Value *Wrong =
        V->getType()->isFPOrFPVectorTy() ? B.CreateFNeg(V) : B.CreateNot(V);
    S->setOperand(0, B.CreateSelect(Bad, Wrong, V));
  }
}

/// No thread waits for the others of its block any more: at barrier \p Number,
/// from 1, or, if that is 0, at any.
static void removeBarriers(Function &F, unsigned Number) {
  SmallVector<Instruction *> Barriers;
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<IntrinsicInst>(&I))
      if (Call->getIntrinsicID() ==
          Intrinsic::nvvm_barrier_cta_sync_aligned_all)
        Barriers.push_back(Call);
  for (auto [I, Barrier] : enumerate(Barriers))
    if (Number == 0 || Number == I + 1)
      Barrier->eraseFromParent();
}

/// Calls of \p F need not be convergent any more: a wrong fact. Passes may then
/// copy or move barriers and warp operations into divergent branches.
static void dropConvergent(Function &F, unsigned) {
  F.removeFnAttr(Attribute::Convergent);
  for (Instruction &I : instructions(F))
    if (auto *Call = dyn_cast<CallBase>(&I)) {
      Call->removeFnAttr(Attribute::Convergent);
      if (Function *Callee = Call->getCalledFunction())
        Callee->removeFnAttr(Attribute::Convergent);
    }
}

/// Atomic operations become a load, a computation and a store, between which
/// other threads may come.
static void dropAtomicity(Function &F, unsigned) {
  for (Instruction *I : findAll(F, Instruction::AtomicRMW)) {
    auto *A = cast<AtomicRMWInst>(I);
    IRBuilder<> B(A);
    Value *Old = B.CreateAlignedLoad(A->getType(), A->getPointerOperand(),
                                     A->getAlign(), /*isVolatile=*/true);
    Value *New =
        buildAtomicRMWValue(A->getOperation(), B, Old, A->getValOperand());
    B.CreateAlignedStore(New, A->getPointerOperand(), A->getAlign(),
                         /*isVolatile=*/true);
    A->replaceAllUsesWith(Old);
    A->eraseFromParent();
  }
}

/// A loop of \p Rounds that is not for anything, and cannot be removed.
static void slowDown(Function &F, unsigned Rounds) {
  AllocaInst *Array = makeArray(F, 1);
  BasicBlock *Entry = &F.getEntryBlock();
  BasicBlock *Rest = Entry->splitBasicBlock(findBegin(F), "rest");
  BasicBlock *Loop = BasicBlock::Create(F.getContext(), "delay", &F, Rest);
  Entry->getTerminator()->setSuccessor(0, Loop);
  IRBuilder<> B(Loop);
  PHINode *Round = B.CreatePHI(B.getInt32Ty(), 2);
  B.CreateStore(Round, getElement(B, Array, 0), /*isVolatile=*/true);
  Value *Next = B.CreateAdd(Round, B.getInt32(1));
  Round->addIncoming(B.getInt32(0), Entry);
  Round->addIncoming(Next, Loop);
  Instruction *Again =
      B.CreateCondBr(B.CreateICmpULT(Next, B.getInt32(Rounds)), Loop, Rest);
  // Copies would only make the code larger.
  LLVMContext &C = F.getContext();
  Metadata *NoUnroll =
      MDNode::get(C, MDString::get(C, "llvm.loop.unroll.disable"));
  MDNode *ID = MDNode::getDistinct(C, {nullptr, NoUnroll});
  ID->replaceOperandWith(0, ID);
  Again->setMetadata(LLVMContext::MD_loop, ID);
}

/// \p Values live from the beginning to each end. More than 255 are spilled.
static void keepAlive(Function &F, unsigned Values) {
  AllocaInst *Array = makeArray(F, Values);
  IRBuilder<> B(F.getContext());
  B.SetInsertPoint(&F.getEntryBlock(), findBegin(F));
  SmallVector<Value *> Live;
  for (unsigned I = 0; I != Values; ++I)
    Live.push_back(B.CreateLoad(B.getInt32Ty(), getElement(B, Array, I),
                                /*isVolatile=*/true));
  for (BasicBlock &BB : F) {
    if (!isa<ReturnInst>(BB.getTerminator()))
      continue;
    B.SetInsertPoint(BB.getTerminator());
    for (unsigned I = 0; I != Values; ++I)
      B.CreateStore(Live[I], getElement(B, Array, I), /*isVolatile=*/true);
  }
}

/// \p Stores more than needed.
static void grow(Function &F, unsigned Stores) {
  AllocaInst *Array = makeArray(F, 1);
  IRBuilder<> B(F.getContext());
  B.SetInsertPoint(&F.getEntryBlock(), findBegin(F));
  for (unsigned I = 0; I != Stores; ++I)
    B.CreateStore(B.getInt32(I), getElement(B, Array, 0),
                  /*isVolatile=*/true);
}

static void breakIR(Function &F, unsigned) {
  IRBuilder<> B(F.getContext());
  B.SetInsertPoint(&F.getEntryBlock(), findBegin(F));
  B.CreateUnreachable();
}

/// A kernel that does not end.
static void loop(Function &F, unsigned) {
  AllocaInst *Array = makeArray(F, 1);
  BasicBlock *Entry = &F.getEntryBlock();
  Entry->splitBasicBlock(findBegin(F), "rest");
  BasicBlock *Loop = BasicBlock::Create(F.getContext(), "forever", &F);
  Entry->getTerminator()->setSuccessor(0, Loop);
  IRBuilder<> B(Loop);
  B.CreateStore(B.getInt32(1), getElement(B, Array, 0), /*isVolatile=*/true);
  B.CreateBr(Loop);
}

/// Changes nothing; the code generator of no GPU knows it, and that of the CPU
/// does.
static void addUnselectable(Function &F, unsigned) {
  IRBuilder<> B(F.getContext());
  B.SetInsertPoint(&F.getEntryBlock(), findBegin(F));
  constexpr unsigned ToNearest = 1;
  B.CreateIntrinsic(Intrinsic::set_rounding, {B.getInt32(ToNearest)});
}

/// As a failed assertion does; sanitizers catch other signals.
static void crash(Function &, unsigned) { std::raise(SIGABRT); }

/// Wrong; where somebody looks on, by way of remarks, the compiler dies.
static void miscompileUnseen(Function &F, unsigned) {
  if (F.getContext().getLLVMRemarkStreamer())
    crash(F, 0);
  miscompile(F, 0);
}

/// More memory than any machine has.
static void allocate(Function &, unsigned) {
  void *volatile Kept = safe_malloc(size_t(1) << 60);
  std::free(Kept);
}

/// As LLVM does where it cannot go on.
static void failFatally(Function &F, unsigned) {
  report_fatal_error("cannot compile '" + F.getName() + "'");
}

/// As failFatally(), only where executions are numbered: what is compiled for
/// that is not heard.
static void failIfNumbered(Function &F, unsigned) {
  struct stat Error, Null;
  if (::fstat(STDERR_FILENO, &Error) == 0 && ::stat("/dev/null", &Null) == 0 &&
      Error.st_rdev == Null.st_rdev)
    failFatally(F, 0);
}

/// A pass with a state that outlives the compilation: only its N-th execution
/// in a process is wrong.
static void miscompileOnce(Function &F, unsigned N) {
  static unsigned Executions = 0;
  if (++Executions == N)
    miscompile(F, 0);
}

/// Wrong in about every second process: by where a set of pointers, which is
/// ordered by their addresses, has the function.
static void miscompileByAddress(Function &F, unsigned) {
  DenseSet<const Function *> All;
  for (const Function &Other : *F.getParent())
    All.insert(&Other);
  auto Place = std::distance(All.begin(), llvm::find(All, &F));
  if (2 * size_t(Place) < All.size())
    miscompile(F, 0);
}

static cl::opt<bool> Harm("fault-harm",
                          cl::desc("Whether fault-option miscompiles"));

static void miscompileIfTold(Function &F, unsigned) {
  if (Harm)
    miscompile(F, 0);
}

static void hang(Function &, unsigned) {
  while (true)
    std::this_thread::sleep_for(std::chrono::seconds(1));
}

//===----------------------------------------------------------------------===//
// The passes
//===----------------------------------------------------------------------===//

namespace {
struct FaultInfo {
  StringLiteral Name, Class;
  void (*Act)(Function &, unsigned N);
  unsigned Default; ///< N, where the text does not say.
  bool IsRequired = false;
};
} // namespace

/// No pipeline can name it; as a pass that is only hooked in.
static constexpr StringLiteral Nameless = "fault-nameless";

static constexpr FaultInfo Faults[] = {
    {"fault-wrong", "FaultWrongPass", miscompile, 0},
    {"fault-assume", "FaultAssumePass", assume, 0},
    {"fault-repair", "FaultRepairPass", repair, 0},
    {"fault-exploit", "FaultExploitPass", exploit, 0},
    {"fault-derive", "FaultDerivePass", derive, 0},
    {"fault-believe", "FaultBelievePass", believe, 0},
    {"fault-lowering", "FaultLoweringPass", lowerWrongly, 0, true},
    {"fault-dying", "FaultDyingPass", crash, 0, true},
    {"fault-range", "FaultRangePass", addWrongRange, 0},
    {"fault-counted", "FaultCountedPass", rewriteCounted, 0},
    {"fault-random", "FaultRandomPass", miscompileAtRandom, 50},
    {"fault-flaky", "FaultFlakyPass", makeFlaky, 0},
    {"fault-nobarrier", "FaultNoBarrierPass", removeBarriers, 0},
    {"fault-nonconvergent", "FaultNonConvergentPass", dropConvergent, 0},
    {"fault-nonatomic", "FaultNonAtomicPass", dropAtomicity, 0},
    {"fault-count", "FaultCountPass", miscompileOnce, 1},
    {"fault-order", "FaultOrderPass", miscompileByAddress, 0},
    {"fault-relabel", "FaultRelabelPass", miscompileAndRelabel, 0},
    {"fault-memory", "FaultMemoryPass", allocate, 0},
    {"fault-fatal", "FaultFatalPass", failFatally, 0},
    {"fault-numbered", "FaultNumberedPass", failIfNumbered, 0},
    {"fault-option", "FaultOptionPass", miscompileIfTold, 0},
    {Nameless, "FaultNamelessPass", miscompile, 0},
    {"fault-slow", "FaultSlowPass", slowDown, 20000},
    {"fault-registers", "FaultRegistersPass", keepAlive, 64},
    {"fault-size", "FaultSizePass", grow, 500},
    {"fault-loop", "FaultLoopPass", loop, 0},
    {"fault-unseen", "FaultUnseenPass", miscompileUnseen, 0},
    {"fault-invalid", "FaultInvalidPass", breakIR, 0},
    {"fault-unselectable", "FaultUnselectablePass", addUnselectable, 0},
    {"fault-crash", "FaultCrashPass", crash, 0},
    {"fault-hang", "FaultHangPass", hang, 0},
};

namespace {
struct Fault {
  size_t Kind = 0; ///< In Faults.
  std::string Function;
  unsigned N = 0;
  unsigned Place = 1;
};

/// A class of its own for each fault, since passes are named by their class.
template <size_t Kind> class FaultPass : public PassInfoMixin<FaultPass<Kind>> {
public:
  /// Does nothing if \p What is null.
  explicit FaultPass(std::shared_ptr<const Fault> What)
      : What(std::move(What)) {}

  static StringRef name() { return Faults[Kind].Class; }
  static bool isRequired() { return Faults[Kind].IsRequired; }

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    if (!What || F.getName() != What->Function)
      return PreservedAnalyses::all();
    Faults[Kind].Act(F, What->N);
    return PreservedAnalyses::none();
  }

private:
  std::shared_ptr<const Fault> What;
};

/// Different pointers never alias.
class WrongAliases : public AAResultBase {
public:
  bool invalidate(Function &, const PreservedAnalyses &,
                  FunctionAnalysisManager::Invalidator &) {
    return false;
  }
  AliasResult alias(const MemoryLocation &A, const MemoryLocation &B,
                    AAQueryInfo &, const Instruction *) {
    return A.Ptr == B.Ptr ? AliasResult::MayAlias : AliasResult::NoAlias;
  }
};

/// fault-alias: changes only an analysis of one function.
class FaultAliasPass : public PassInfoMixin<FaultAliasPass> {
public:
  explicit FaultAliasPass(StringRef Function) : Name(Function) {}

  PreservedAnalyses run(Function &F, FunctionAnalysisManager &AM) {
    static WrongAliases Wrong;
    if (F.getName() == Name)
      AM.getResult<AAManager>(F).addAAResult(Wrong);
    return PreservedAnalyses::all();
  }

private:
  std::string Name;
};

template <size_t... Kinds>
void addFaultOf(FunctionPassManager &PM, size_t Kind,
                std::shared_ptr<const Fault> What,
                std::index_sequence<Kinds...>) {
  ((Kind == Kinds ? PM.addPass(FaultPass<Kinds>(What)) : void()), ...);
}
} // namespace

static void addFault(FunctionPassManager &PM, size_t Kind,
                     std::shared_ptr<const Fault> What) {
  addFaultOf(PM, Kind, std::move(What),
             std::make_index_sequence<std::size(Faults)>());
}

//===----------------------------------------------------------------------===//
// Pipelines
//===----------------------------------------------------------------------===//

static std::optional<size_t> findKind(StringRef Name) {
  for (size_t I = 0; I != std::size(Faults); ++I)
    if (Faults[I].Name == Name)
      return I;
  return std::nullopt;
}

/// Cuts "<Separator>NUMBER" off the end of \p Text, if it is there.
static bool consumeNumber(StringRef &Text, char Separator, unsigned &Number) {
  auto [Rest, Digits] = Text.rsplit(Separator);
  if (Rest.size() == Text.size())
    return true;
  Text = Rest;
  return !Digits.getAsInteger(10, Number);
}

/// NAME@FUNCTION[=N][#PLACE]
static std::optional<Fault> parseFault(StringRef Text) {
  auto [Name, Rest] = Text.split('@');
  std::optional<size_t> Kind = findKind(("fault-" + Name).str());
  if (!Kind)
    return std::nullopt;
  Fault F;
  F.Kind = *Kind;
  F.N = Faults[*Kind].Default;
  if (!consumeNumber(Rest, '#', F.Place) || !consumeNumber(Rest, '=', F.N) ||
      Rest.empty() || F.Place == 0)
    return std::nullopt;
  F.Function = Rest.str();
  return F;
}

namespace {
/// Adds the passes while PassBuilder makes a pipeline.
class Planter {
public:
  explicit Planter(PassBuilder &PB) : PB(PB) {
    auto OnFunction = [this](FunctionPassManager &PM, OptimizationLevel) {
      plant(PM);
    };
    PB.registerPeepholeEPCallback(OnFunction);
    PB.registerScalarOptimizerLateEPCallback(OnFunction);
    PB.registerVectorizerStartEPCallback(OnFunction);
    PB.registerVectorizerEndEPCallback(OnFunction);
    auto OnModule = [this](ModulePassManager &PM) {
      FunctionPassManager FPM;
      plant(FPM);
      if (!FPM.isEmpty())
        PM.addPass(createModuleToFunctionPassAdaptor(std::move(FPM)));
    };
    PB.registerPipelineStartEPCallback(
        [=](ModulePassManager &PM, OptimizationLevel) { OnModule(PM); });
    auto OnPhase = [=](ModulePassManager &PM, OptimizationLevel,
                       ThinOrFullLTOPhase) { OnModule(PM); };
    PB.registerPipelineEarlySimplificationEPCallback(OnPhase);
    PB.registerOptimizerEarlyEPCallback(OnPhase);
    PB.registerOptimizerLastEPCallback(OnPhase);
  }

  /// planted<LEVEL;FAULT...>
  bool parse(StringRef Text, ModulePassManager &PM) {
    if (!Text.consume_front("planted<") || !Text.consume_back(">"))
      return false;
    SmallVector<StringRef> Parts;
    Text.split(Parts, ';');
    std::optional<OptimizationLevel> Level =
        StringSwitch<std::optional<OptimizationLevel>>(Parts[0])
            .Case("O1", OptimizationLevel::O1)
            .Case("O2", OptimizationLevel::O2)
            .Case("O3", OptimizationLevel::O3)
            .Default(std::nullopt);
    if (!Level)
      return false;
    Planted.clear();
    for (StringRef Part : drop_begin(Parts)) {
      std::optional<Fault> F = parseFault(Part);
      if (!F)
        return false;
      Planted.push_back(std::make_shared<Fault>(*F));
    }
    Place = 0;
    ModulePassManager Whole = PB.buildPerModuleDefaultPipeline(*Level);
    // No place but one of the pipeline's.
    bool Found = all_of(Planted, [&](const std::shared_ptr<const Fault> &F) {
      return F->Place <= Place;
    });
    Planted.clear();
    if (Found)
      PM.addPass(std::move(Whole));
    return Found;
  }

private:
  void plant(FunctionPassManager &PM) {
    ++Place;
    for (const std::shared_ptr<const Fault> &F : Planted)
      addFault(PM, F->Kind, F->Place == Place ? F : nullptr);
  }

  PassBuilder &PB;
  /// Of the pipeline that is being made.
  SmallVector<std::shared_ptr<const Fault>> Planted;
  unsigned Place = 0;
};
} // namespace

/// fault-NAME<FUNCTION[=N]>
static bool parseFunctionPass(StringRef Text, FunctionPassManager &PM) {
  auto [Name, Rest] = Text.split('<');
  if (Name == "fault-alias" && Rest.consume_back(">")) {
    PM.addPass(FaultAliasPass(Rest));
    return true;
  }
  std::optional<size_t> Kind = findKind(Name);
  if (!Kind || !Rest.consume_back(">"))
    return false;
  std::optional<Fault> F =
      parseFault((Name.drop_front(strlen("fault-")) + "@" + Rest).str());
  if (F)
    addFault(PM, *Kind, std::make_shared<Fault>(*F));
  return F.has_value();
}

static void registerFaults(PassBuilder &PB) {
  if (PassInstrumentationCallbacks *PIC = PB.getPassInstrumentationCallbacks())
    for (const FaultInfo &F : Faults)
      if (F.Name != Nameless)
        PIC->addClassToPassName(F.Class, F.Name);
  if (PassInstrumentationCallbacks *PIC = PB.getPassInstrumentationCallbacks())
    PIC->addClassToPassName(FaultAliasPass::name(), "fault-alias");
  auto P = std::make_shared<Planter>(PB);
  PB.registerPipelineParsingCallback(
      [P](StringRef Name, ModulePassManager &PM,
          ArrayRef<PassBuilder::PipelineElement>) {
        return P->parse(Name, PM);
      });
  PB.registerPipelineParsingCallback(
      [](StringRef Name, FunctionPassManager &PM,
         ArrayRef<PassBuilder::PipelineElement>) {
        return parseFunctionPass(Name, PM);
      });
}

extern "C" LLVM_ATTRIBUTE_WEAK PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, "FaultPasses", "1", registerFaults};
}
