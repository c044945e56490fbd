//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/MDBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/SubtargetFeature.h"
#include "llvm/Transforms/Utils/LowerAtomic.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

Value *host::fieldAddress(IRBuilderBase &B, Value *Base, unsigned Offset,
                          const Twine &Name) {
  return B.CreateConstInBoundsGEP1_32(B.getInt8Ty(), Base, Offset, Name);
}

LoadInst *host::loadField(IRBuilderBase &B, Value *Base, unsigned Offset,
                          Type *Ty, const Twine &Name, bool Invariant) {
  LoadInst *L = B.CreateLoad(Ty, fieldAddress(B, Base, Offset), Name);
  if (Invariant)
    L->setMetadata(LLVMContext::MD_invariant_load,
                   MDNode::get(B.getContext(), {}));
  return L;
}

StoreInst *host::storeField(IRBuilderBase &B, Value *V, Value *Base,
                            unsigned Offset) {
  return B.CreateStore(V, fieldAddress(B, Base, Offset));
}

//===----------------------------------------------------------------------===//
// Attributes of kernels and entries
//===----------------------------------------------------------------------===//

SmallVector<Function *, 4> host::findKernels(Module &M) {
  SmallVector<Function *, 4> Kernels;
  for (Function &F : M)
    if (!F.isDeclaration() && F.hasFnAttribute(KernelAttr))
      Kernels.push_back(&F);
  return Kernels;
}

uint64_t host::getIntAttr(const Function &F, StringRef Name, uint64_t Default) {
  uint64_t V;
  Attribute A = F.getFnAttribute(Name);
  if (!A.isStringAttribute() || A.getValueAsString().getAsInteger(10, V))
    return Default;
  return V;
}

void host::setIntAttr(Function &F, StringRef Name, uint64_t Value) {
  F.addFnAttr(Name, utostr(Value));
}

void host::setReason(Function &Kernel, const Twine &Reason) {
  SmallString<128> Text = Kernel.getFnAttribute(ReasonAttr).getValueAsString();
  if (!Text.empty())
    Text += "; ";
  Kernel.addFnAttr(ReasonAttr, (Text + Reason).str());
}

unsigned host::getWaveSize(const Function &Kernel) {
  return getIntAttr(Kernel, WaveSizeAttr, 32);
}

Function *host::createEntry(Function &Kernel, FunctionType *Ty,
                            StringRef Strategy) {
  Function *Entry =
      Function::Create(Ty, GlobalValue::ExternalLinkage,
                       "mneme.entry." + Kernel.getName(), Kernel.getParent());
  for (StringRef Name : {StaticSharedAttr, WaveSizeAttr, ContextSizeAttr,
                         ReasonAttr, OrderedAttr})
    if (Kernel.hasFnAttribute(Name))
      Entry->addFnAttr(Kernel.getFnAttribute(Name));
  Entry->addFnAttr(EntryAttr, Strategy);
  setHostTarget(*Entry);
  return Entry;
}

void host::retireKernel(Function &Kernel) {
  Kernel.removeFnAttr(KernelAttr);
  if (Kernel.use_empty())
    Kernel.eraseFromParent();
  else
    Kernel.setLinkage(GlobalValue::InternalLinkage);
}

void host::setHostTarget(Function &F) {
  // Querying the CPU is expensive, and passes do so once per function.
  static const std::pair<std::string, std::string> *Host = [] {
    SubtargetFeatures Features;
    for (const auto &Feature : sys::getHostCPUFeatures())
      Features.AddFeature(Feature.first(), Feature.second);
    return new std::pair<std::string, std::string>(sys::getHostCPUName().str(),
                                                   Features.getString());
  }();
  F.addFnAttr("target-cpu", Host->first);
  F.addFnAttr("target-features", Host->second);
  F.addFnAttr("prefer-vector-width", "512");
}

uint64_t host::getFunctionHandle(const Function &F) {
  // Not canonical on x86-64, so that using a handle as an address faults.
  constexpr uint64_t Tag = 0x4d4e;
  return Tag << 48 | (digest64(F.getName()) & maskTrailingOnes<uint64_t>(48));
}

bool host::isPointerTarget(const Function &F) {
  return !F.isDeclaration() && !F.hasFnAttribute(KernelAttr) &&
         F.getCallingConv() != CallingConv::PTX_Kernel &&
         F.getCallingConv() != CallingConv::AMDGPU_KERNEL &&
         (F.hasFnAttribute(IndirectAttr) ||
          F.hasAddressTaken(nullptr, /*IgnoreCallbackUses=*/false,
                            /*IgnoreAssumeLikeCalls=*/true,
                            /*IgnoreLLVMUsed=*/true));
}

bool host::hasIndirectCall(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    return Call && !Call->isInlineAsm() &&
           !isa<Function>(Call->getCalledOperand()->stripPointerCasts());
  });
}

SmallVector<Value *, 8>
host::loadArguments(IRBuilderBase &B, const Function &Kernel, Value *Args) {
  SmallVector<Value *, 8> Values;
  for (const Argument &A : Kernel.args()) {
    Value *Slot =
        B.CreateConstInBoundsGEP1_32(B.getPtrTy(), Args, A.getArgNo());
    LoadInst *Address = B.CreateLoad(B.getPtrTy(), Slot);
    MDNode *Empty = MDNode::get(B.getContext(), {});
    Address->setMetadata(LLVMContext::MD_invariant_load, Empty);
    if (A.hasByValAttr() || A.hasByRefAttr()) {
      Values.push_back(B.CreateAddrSpaceCast(Address, A.getType()));
      continue;
    }
    LoadInst *V =
        B.CreateAlignedLoad(A.getType(), Address, Align(1), A.getName());
    V->setMetadata(LLVMContext::MD_invariant_load, Empty);
    Values.push_back(V);
  }
  return Values;
}

CallInst *host::callKernel(IRBuilderBase &B, Function &Kernel,
                           ArrayRef<Value *> Args) {
  CallInst *Call = B.CreateCall(&Kernel, Args);
  Call->setCallingConv(Kernel.getCallingConv());
  // Inlining copies a by-value argument only if the call has the attribute,
  // too.
  for (const Argument &A : Kernel.args()) {
    if (!A.hasByValAttr())
      continue;
    Call->addParamAttr(
        A.getArgNo(),
        Attribute::getWithByValType(B.getContext(), A.getParamByValType()));
    if (MaybeAlign Alignment = A.getParamAlign())
      Call->addParamAttr(A.getArgNo(), Attribute::getWithAlignment(
                                           B.getContext(), *Alignment));
  }
  return Call;
}

SetVector<Function *> host::findReachable(Function &Root) {
  SetVector<Function *> Reached;
  Reached.insert(&Root);
  bool Indirect = false;
  for (unsigned I = 0; I != Reached.size(); ++I) {
    for (Instruction &Inst : instructions(*Reached[I])) {
      auto *Call = dyn_cast<CallBase>(&Inst);
      if (!Call || Call->isInlineAsm())
        continue;
      auto *Callee =
          dyn_cast<Function>(Call->getCalledOperand()->stripPointerCasts());
      if (Callee) {
        if (!Callee->isDeclaration())
          Reached.insert(Callee);
        continue;
      }
      if (Indirect)
        continue;
      Indirect = true;
      for (Function &F : *Root.getParent())
        if (isPointerTarget(F))
          Reached.insert(&F);
    }
  }
  return Reached;
}

//===----------------------------------------------------------------------===//
// Placeholders
//===----------------------------------------------------------------------===//

static constexpr StringLiteral Prefix = "mneme.host.";

FunctionCallee host::getPlaceholder(Module &M, StringRef Name) {
  LLVMContext &C = M.getContext();
  Type *I32 = Type::getInt32Ty(C), *I64 = Type::getInt64Ty(C);
  bool IsSync = Name == "sync";
  FunctionType *Ty;
  if (IsSync)
    Ty = FunctionType::get(I64, {I32, I32, I64, I64, I32, I32, I32}, false);
  else if (Name == "sync2")
    Ty = FunctionType::get(I64, false);
  else if (Name == "shared" || Name == "implicitarg" || Name == "frame")
    Ty = FunctionType::get(PointerType::get(C, 0), false);
  else
    Ty = FunctionType::get(I32, false);

  FunctionCallee Callee = M.getOrInsertFunction((Prefix + Name).str(), Ty);
  auto *F = cast<Function>(Callee.getCallee());
  if (F->doesNotThrow())
    return Callee;
  F->setDoesNotThrow();
  if (IsSync) {
    // Each call is one point of the kernel: it must not be duplicated, or moved
    // under a branch.
    F->addFnAttr(Attribute::NoDuplicate);
    F->addFnAttr(Attribute::Convergent);
  } else if (Name == "sync2") {
    // Belongs to the preceding sync: must not be moved across another one.
    F->setOnlyReadsMemory();
  } else {
    F->setDoesNotAccessMemory();
    F->addFnAttr(Attribute::WillReturn);
  }
  return Callee;
}

StringRef host::getPlaceholderName(const Value &V) {
  auto *Call = dyn_cast<CallInst>(&V);
  Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  if (!Callee)
    return {};
  StringRef Name = Callee->getName();
  return Name.consume_front(Prefix) ? Name : StringRef();
}

CallInst *host::createPlaceholder(IRBuilderBase &B, StringRef Name,
                                  ArrayRef<Value *> Args) {
  return B.CreateCall(getPlaceholder(*B.GetInsertBlock()->getModule(), Name),
                      Args);
}

SmallVector<CallInst *, 16> host::findPlaceholders(Function &F) {
  SmallVector<CallInst *, 16> Calls;
  for (Instruction &I : instructions(F))
    if (!getPlaceholderName(I).empty())
      Calls.push_back(cast<CallInst>(&I));
  return Calls;
}

SmallVector<CallInst *, 8> host::findSyncs(Function &F) {
  SmallVector<CallInst *, 8> Calls;
  for (Instruction &I : instructions(F))
    if (SyncCall::classof(&I))
      Calls.push_back(cast<CallInst>(&I));
  return Calls;
}

CallInst *host::createSync(IRBuilderBase &B, unsigned Op, unsigned Mode,
                           Value *Mask, Value *V, Value *OperandB,
                           Value *OperandC) {
  Mask = Mask ? B.CreateZExt(Mask, B.getInt64Ty()) : B.getInt64(-1);
  return createPlaceholder(
      B, "sync",
      {B.getInt32(Op), B.getInt32(Mode), Mask, V ? V : B.getInt64(0),
       OperandB ? OperandB : B.getInt32(0), OperandC ? OperandC : B.getInt32(0),
       B.getInt32(0)});
}

void host::renumberSites(Module &M) {
  unsigned Site = 0;
  for (Function &F : M)
    for (CallInst *Call : findSyncs(F))
      Call->setArgOperand(
          6, ConstantInt::get(Type::getInt32Ty(M.getContext()), ++Site));
}

Value *host::toBits64(IRBuilderBase &B, Value *V) {
  Type *Ty = V->getType();
  if (Ty->isPointerTy())
    return B.CreatePtrToInt(V, B.getInt64Ty());
  if (!Ty->isIntegerTy())
    V = B.CreateBitCast(V, B.getIntNTy(Ty->getPrimitiveSizeInBits()));
  return B.CreateZExt(V, B.getInt64Ty());
}

Value *host::fromBits64(IRBuilderBase &B, Value *Bits, Type *Ty) {
  if (Ty->isPointerTy())
    return B.CreateIntToPtr(Bits, Ty);
  if (Ty->isIntegerTy())
    return B.CreateTrunc(Bits, Ty);
  return B.CreateBitCast(
      B.CreateTrunc(Bits, B.getIntNTy(Ty->getPrimitiveSizeInBits())), Ty);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// \returns the variable, allocation or call that a pointer is based on. Casts
/// between address spaces may hide which space it is in.
static const Value *findObject(const Value *Ptr) {
  return getUnderlyingObject(Ptr, /*MaxLookup=*/0);
}

bool host::isShared(const Value *Ptr) {
  if (Ptr->getType()->getPointerAddressSpace() == SharedAS)
    return true;
  const Value *Object = findObject(Ptr);
  return Object->getType()->getPointerAddressSpace() == SharedAS ||
         getPlaceholderName(*Object) == "shared";
}

bool host::mayBeShared(const Value *Ptr) {
  if (isShared(Ptr))
    return true;
  const Value *Object = findObject(Ptr);
  if (Object->getType()->getPointerAddressSpace() != 0 ||
      isa<AllocaInst, GlobalVariable>(Object))
    return false;
  // The host cannot pass a pointer to shared memory to a kernel.
  auto *A = dyn_cast<Argument>(Object);
  return !A || !A->getParent()->hasFnAttribute(KernelAttr);
}

void host::makeSharedAtomicsPlain(Function &F) {
  MDNode *Mark = MDNode::get(F.getContext(), {});
  auto SetMark = [&](Value *V) {
    if (auto *I = dyn_cast<Instruction>(V); I && I->mayReadOrWriteMemory())
      I->setMetadata(SharedAccessMD, Mark);
    return V;
  };
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    IRBuilder<> B(&I);
    if (auto *A = dyn_cast<AtomicRMWInst>(&I)) {
      Value *Ptr = A->getPointerOperand();
      if (!isShared(Ptr))
        continue;
      Value *Old =
          SetMark(B.CreateAlignedLoad(A->getType(), Ptr, A->getAlign()));
      Value *New =
          buildAtomicRMWValue(A->getOperation(), B, Old, A->getValOperand());
      SetMark(B.CreateAlignedStore(New, Ptr, A->getAlign()));
      A->replaceAllUsesWith(Old);
      A->eraseFromParent();
    } else if (auto *X = dyn_cast<AtomicCmpXchgInst>(&I)) {
      Value *Ptr = X->getPointerOperand();
      if (!isShared(Ptr))
        continue;
      Value *Expected = X->getCompareOperand();
      Value *Old =
          SetMark(B.CreateAlignedLoad(Expected->getType(), Ptr, X->getAlign()));
      Value *Equal = B.CreateICmpEQ(Old, Expected);
      Value *New = B.CreateSelect(Equal, X->getNewValOperand(), Old);
      SetMark(B.CreateAlignedStore(New, Ptr, X->getAlign()));
      Value *Pair = B.CreateInsertValue(PoisonValue::get(X->getType()), Old, 0);
      X->replaceAllUsesWith(B.CreateInsertValue(Pair, Equal, 1));
      X->eraseFromParent();
    } else if (auto *L = dyn_cast<LoadInst>(&I);
               L && L->isAtomic() && isShared(L->getPointerOperand())) {
      L->setAtomic(AtomicOrdering::NotAtomic);
      SetMark(L);
    } else if (auto *S = dyn_cast<StoreInst>(&I);
               S && S->isAtomic() && isShared(S->getPointerOperand())) {
      S->setAtomic(AtomicOrdering::NotAtomic);
      SetMark(S);
    }
  }
}

//===----------------------------------------------------------------------===//
// Code that strategies emit
//===----------------------------------------------------------------------===//

Value *ThreadValues::lookup(StringRef Name) const {
  if (Name == "laneid")
    return LaneId;
  if (Name == "warpid")
    return WarpId;
  if (Name == "shared")
    return Shared;
  if (Name == "dynshared")
    return DynShared;
  if (Name == "dynsize")
    return DynSize;
  if (Name == "implicitarg")
    return ImplicitArg;
  auto [Register, Axis] = Name.rsplit('.');
  if (Axis.size() != 1 || Axis[0] < 'x' || Axis[0] > 'z')
    return nullptr;
  unsigned I = Axis[0] - 'x';
  if (Register == "tid")
    return Tid[I];
  if (Register == "ntid")
    return NTid[I];
  if (Register == "ctaid")
    return CTAId[I];
  return Register == "nctaid" ? NCTAId[I] : nullptr;
}

ThreadValues host::loadBlockValues(IRBuilderBase &B, Value *Block,
                                   const Function *Kernel) {
  ThreadValues V;
  Type *I32 = B.getInt32Ty();
  MDBuilder MDB(B.getContext());
  MDNode *Threads =
      MDB.createRange(APInt(32, 1), APInt(32, MNEME_HOST_MAX_THREADS + 1));
  static constexpr StringLiteral Axes[3] = {"x", "y", "z"};
  for (unsigned I = 0; I != 3; ++I) {
    LoadInst *NTid =
        loadField(B, Block, BlockDim + 4 * I, I32, "ntid." + Axes[I]);
    NTid->setMetadata(LLVMContext::MD_range, Threads);
    V.NTid[I] = NTid;
    V.CTAId[I] = loadField(B, Block, BlockIdx + 4 * I, I32, "ctaid." + Axes[I]);
    V.NCTAId[I] =
        loadField(B, Block, BlockGridDim + 4 * I, I32, "nctaid." + Axes[I]);
  }
  V.Shared = loadField(B, Block, BlockShared, B.getPtrTy(), "shared");
  if (Kernel && Kernel->hasFnAttribute(StaticSharedAttr))
    V.DynShared = B.getInt32(getIntAttr(*Kernel, StaticSharedAttr));
  else
    V.DynShared = loadField(B, Block, BlockDynamicOffset, I32, "dynshared");
  V.DynSize = loadField(B, Block, BlockDynamicSize, I32, "dynsize");
  V.ImplicitArg = fieldAddress(B, Block, BlockImplicitArgs, "implicitarg");
  return V;
}

void host::setLane(IRBuilderBase &B, Value *Linear, unsigned WaveSize,
                   ThreadValues &V) {
  V.LaneId = B.CreateAnd(Linear, WaveSize - 1, "laneid");
  V.WarpId = B.CreateLShr(Linear, Log2_32(WaveSize), "warpid");
}

void host::loadThreadValues(IRBuilderBase &B, Value *Thread, unsigned WaveSize,
                            ThreadValues &V) {
  static constexpr StringLiteral Names[3] = {"tid.x", "tid.y", "tid.z"};
  // A loop strategy's functions see many threads through one MnemeHostThread.
  for (unsigned I = 0; I != 3; ++I)
    V.Tid[I] = loadField(B, Thread, ThreadIdx + 4 * I, B.getInt32Ty(), Names[I],
                         /*Invariant=*/false);
  Value *Linear = loadField(B, Thread, ThreadLinear, B.getInt32Ty(), "linear",
                            /*Invariant=*/false);
  setLane(B, Linear, WaveSize, V);
}

void host::replacePlaceholders(Function &F, const ThreadValues &V) {
  for (CallInst *Call : findPlaceholders(F)) {
    Value *New = V.lookup(getPlaceholderName(*Call));
    if (!New)
      continue;
    Call->replaceAllUsesWith(New);
    Call->eraseFromParent();
  }
}

ThreadLoops host::createThreadLoops(IRBuilderBase &B, const ThreadValues &V) {
  ThreadLoops Loops;
  LLVMContext &C = B.getContext();
  BasicBlock *Pre = B.GetInsertBlock();
  Function *F = Pre->getParent();
  static constexpr StringLiteral Axes[3] = {"x", "y", "z"};

  // Blocks in the order in which control passes them: z, y, x, body; latches.
  std::array<BasicBlock *, 3> Header, Latch;
  for (unsigned I = 3; I-- != 0;)
    Header[I] = BasicBlock::Create(C, "thread." + Axes[I], F);
  for (unsigned I = 0; I != 3; ++I)
    Latch[I] = BasicBlock::Create(C, "next." + Axes[I], F);
  Loops.Exit = BasicBlock::Create(C, "threads.done", F);

  B.CreateBr(Header[2]);
  for (unsigned I = 3; I-- != 0;) {
    B.SetInsertPoint(Header[I]);
    PHINode *Tid = B.CreatePHI(B.getInt32Ty(), 2, "tid." + Axes[I]);
    Tid->addIncoming(B.getInt32(0), I == 2 ? Pre : Header[I + 1]);
    Loops.Tid[I] = Tid;
    if (I)
      B.CreateBr(Header[I - 1]);
  }
  for (unsigned I = 0; I != 3; ++I) {
    B.SetInsertPoint(Latch[I]);
    Value *Next = B.CreateAdd(Loops.Tid[I], B.getInt32(1), "", /*HasNUW=*/true,
                              /*HasNSW=*/true);
    Loops.Tid[I]->addIncoming(Next, Latch[I]);
    Instruction *Br =
        B.CreateCondBr(B.CreateICmpULT(Next, V.NTid[I]), Header[I],
                       I == 2 ? Loops.Exit : Latch[I + 1]);
    if (I == 0)
      Loops.LatchBranch = Br;
  }
  Loops.Body = Header[0];
  Loops.Latch = Latch[0];
  B.SetInsertPoint(Loops.Body);
  // At most MNEME_HOST_MAX_THREADS: cannot wrap.
  auto Mul = [&](Value *L, Value *R) {
    return B.CreateMul(L, R, "", /*HasNUW=*/true, /*HasNSW=*/true);
  };
  auto Add = [&](Value *L, Value *R) {
    return B.CreateAdd(L, R, "", /*HasNUW=*/true, /*HasNSW=*/true);
  };
  Loops.Linear =
      Add(Loops.Tid[0],
          Mul(V.NTid[0], Add(Loops.Tid[1], Mul(V.NTid[1], Loops.Tid[2]))));
  return Loops;
}

void host::markParallel(Instruction *LatchBranch,
                        ArrayRef<BasicBlock *> Blocks) {
  LLVMContext &C = LatchBranch->getContext();
  MDNode *Group = MDNode::getDistinct(C, {});
  for (BasicBlock *BB : Blocks)
    for (Instruction &I : *BB) {
      if (!I.mayReadOrWriteMemory() || I.isAtomic() ||
          I.getMetadata(SharedAccessMD))
        continue;
      const Value *Ptr = getLoadStorePointerOperand(&I);
      if (Ptr && isa<AllocaInst>(Ptr->stripInBoundsOffsets()))
        continue;
      I.setMetadata(LLVMContext::MD_access_group, Group);
    }
  Metadata *Parallel[] = {MDString::get(C, "llvm.loop.parallel_accesses"),
                          Group};
  Metadata *Ops[] = {nullptr, MDNode::get(C, Parallel)};
  MDNode *Loop = MDNode::getDistinct(C, Ops);
  Loop->replaceOperandWith(0, Loop);
  LatchBranch->setMetadata(LLVMContext::MD_loop, Loop);
}
