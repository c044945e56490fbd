//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The module's first step towards the host: sets the host's triple and data
/// layout, removes attributes, conventions and annotations that hold only on a
/// GPU, and gives GPU semantics to operations whose result LLVM leaves open or
/// that trap on x86:
///
/// * Conversions to integers saturate; NaN gives 0.
/// * Integer division by zero gives all ones, INT_MIN / -1 gives INT_MIN. x86
///   would raise SIGFPE; no GPU faults on either.
/// * NVPTX shifts by the width or more give 0, or the sign. x86 would mask the
///   amount, as AMDGPU does.
/// * Fast-math flags that change results are removed: the GPU's pipeline has
///   made use of them. The CPU's optimizations would round in another way after
///   each pipeline, depending on which operations it leaves adjacent.
/// * Funnel shifts of a width that is no power of two are expanded: LLVM 22.1.8
///   miscompiles comparisons of such rotations (llvm-project #223262).
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/TargetParser/Host.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

namespace {
class Normalizer {
  Module &M;
  LLVMContext &C;
  bool IsNVPTX;

public:
  explicit Normalizer(Module &M)
      : M(M), C(M.getContext()), IsNVPTX(M.getTargetTriple().isNVPTX()) {}

  void run();

private:
  void markKernels();
  void foldReflect();
  void defineControlConstants();
  void useHostServices();
  void dropGlobalFacts();
  void dropFunctionFacts(Function &F);
  void dropCallFacts(CallBase &Call);
  void moveAllocas(Function &F);
  void fixAtomics(Function &F);
  void fixArithmetic(Function &F);
};
} // namespace

//===----------------------------------------------------------------------===//
// Properties from the GPU target
//===----------------------------------------------------------------------===//

static unsigned findWaveSize(const Function &F) {
  StringRef Features = F.getFnAttribute("target-features").getValueAsString();
  if (Features.contains("+wavefrontsize32"))
    return 32;
  if (Features.contains("+wavefrontsize64"))
    return 64;
  // gfx10 and later run wave32 unless told otherwise.
  StringRef CPU = F.getFnAttribute("target-cpu").getValueAsString();
  return CPU.starts_with("gfx1") && CPU.size() > 6 ? 32 : 64;
}

/// \returns the target-cpu of the first function that has one; all agree.
static StringRef findTargetCPU(const Module &M) {
  for (const Function &F : M)
    if (F.hasFnAttribute("target-cpu"))
      return F.getFnAttribute("target-cpu").getValueAsString();
  return {};
}

void Normalizer::markKernels() {
  SmallSetVector<Function *, 4> Kernels;
  for (Function &F : M)
    if (!F.isDeclaration() &&
        (F.getCallingConv() == CallingConv::PTX_Kernel ||
         F.getCallingConv() == CallingConv::AMDGPU_KERNEL))
      Kernels.insert(&F);
  // Bitcode of older compilers.
  if (NamedMDNode *Annotations = M.getNamedMetadata("nvvm.annotations"))
    for (MDNode *Node : Annotations->operands()) {
      if (Node->getNumOperands() < 2 || !Node->getOperand(0))
        continue;
      auto *F = mdconst::dyn_extract<Function>(Node->getOperand(0));
      if (!F || F->isDeclaration())
        continue;
      for (const MDOperand &Op : drop_begin(Node->operands()))
        if (auto *Name = dyn_cast_or_null<MDString>(Op.get()))
          if (Name->getString() == "kernel")
            Kernels.insert(F);
    }

  bool Chosen = !findKernels(M).empty();
  for (Function &F : M)
    if (!F.isDeclaration())
      setIntAttr(F, WaveSizeAttr, IsNVPTX ? 32 : findWaveSize(F));
  for (Function *F : Kernels) {
    F->setLinkage(GlobalValue::ExternalLinkage);
    if (!Chosen)
      F->addFnAttr(KernelAttr);
  }
}

/// Replaces \p I and folds all consequences, including branches.
static void replaceAndFold(Instruction &I, Constant *V) {
  const DataLayout &DL = I.getModule()->getDataLayout();
  SmallVector<std::pair<Instruction *, Constant *>, 8> Work{{&I, V}};
  SmallPtrSet<BasicBlock *, 8> Blocks;
  while (!Work.empty()) {
    auto [Inst, Value] = Work.pop_back_val();
    SmallVector<Instruction *, 8> Users;
    for (User *U : Inst->users())
      Users.push_back(cast<Instruction>(U));
    Inst->replaceAllUsesWith(Value);
    Inst->eraseFromParent();
    SmallPtrSet<Instruction *, 8> Seen;
    for (Instruction *User : Users) {
      if (!Seen.insert(User).second)
        continue;
      if (User->isTerminator()) {
        Blocks.insert(User->getParent());
        continue;
      }
      if (any_of(Work, [&](const auto &W) { return W.first == User; }))
        continue;
      if (Constant *Folded = ConstantFoldInstruction(User, DL))
        Work.push_back({User, Folded});
    }
  }
  for (BasicBlock *BB : Blocks)
    ConstantFoldTerminator(BB, /*DeleteDeadConditions=*/true);
}

void Normalizer::foldReflect() {
  unsigned Arch = 0;
  StringRef CPU = findTargetCPU(M);
  if (!CPU.consume_front("sm_") || CPU.consumeInteger(10, Arch))
    Arch = 90;
  unsigned FlushToZero = 0;
  if (auto *Flag = mdconst::extract_or_null<ConstantInt>(
          M.getModuleFlag("nvvm-reflect-ftz")))
    FlushToZero = Flag->getZExtValue();

  SmallVector<CallInst *, 8> Calls;
  for (Function &F : M)
    for (Instruction &I : instructions(F)) {
      auto *Call = dyn_cast<CallInst>(&I);
      Function *Callee = Call ? Call->getCalledFunction() : nullptr;
      if (Callee && (Callee->getName() == "__nvvm_reflect" ||
                     Callee->getName() == "__nvvm_reflect_ocl" ||
                     Callee->getIntrinsicID() == Intrinsic::nvvm_reflect))
        Calls.push_back(Call);
    }
  SmallPtrSet<Function *, 8> Changed;
  for (CallInst *Call : Calls) {
    StringRef Question;
    getConstantStringInfo(Call->getArgOperand(0)->stripPointerCasts(),
                          Question);
    // Like LLVM's NVVMReflect: 0 for anything it does not know.
    unsigned Answer = 0;
    if (Question == "__CUDA_ARCH")
      Answer = Arch * 10;
    else if (Question == "__CUDA_FTZ")
      Answer = FlushToZero;
    Changed.insert(Call->getFunction());
    replaceAndFold(*Call, ConstantInt::get(Call->getType(), Answer));
  }
  for (Function *F : Changed)
    removeUnreachableBlocks(*F);
}

/// Defines the variables through which the AMD device libraries query the
/// compiler. The compiler's driver usually links their definitions.
void Normalizer::defineControlConstants() {
  StringRef CPU = findTargetCPU(M);
  unsigned Version = 9000;
  // gfx90a: major 9, minor 0, stepping 0xa.
  if (CPU.consume_front("gfx") && CPU.size() >= 3) {
    unsigned Major, Minor, Step;
    if (!CPU.drop_back(2).getAsInteger(10, Major) &&
        !CPU.take_back(2).drop_back().getAsInteger(16, Minor) &&
        !CPU.take_back(1).getAsInteger(16, Step))
      Version = Major * 1000 + Minor * 100 + Step;
  }
  bool Wave64 = any_of(
      M, [](const Function &F) { return getIntAttr(F, WaveSizeAttr) == 64; });
  for (GlobalVariable &G : M.globals()) {
    StringRef Name = G.getName();
    if (!G.isDeclaration() || !Name.consume_front("__oclc_") ||
        !G.getValueType()->isIntegerTy())
      continue;
    unsigned Value = 0;
    if (Name == "wavefrontsize64")
      Value = Wave64;
    else if (Name == "ISA_version")
      Value = Version;
    else if (Name == "ABI_version")
      Value = 500;
    G.setInitializer(ConstantInt::get(G.getValueType(), Value));
    G.setLinkage(GlobalValue::InternalLinkage);
    G.setConstant(true);
  }
}

/// The AMD device libraries ask the host to print, and for memory, through a
/// buffer and signals. Here their functions are those of the host device.
void Normalizer::useHostServices() {
  static constexpr StringLiteral Services[] = {
      "__ockl_call_host_function",
      "__ockl_dm_alloc",
      "__ockl_dm_dealloc",
      "__ockl_fprintf_append_args",
      "__ockl_fprintf_append_string_n",
      "__ockl_fprintf_stderr_begin",
      "__ockl_fprintf_stdout_begin",
      "__ockl_hostcall_internal",
      "__ockl_hostcall_preview",
      "__ockl_printf_append_args",
      "__ockl_printf_append_string_n",
      "__ockl_printf_begin",
  };
  for (StringRef Name : Services) {
    Function *F = M.getFunction(Name);
    if (!F || F->isDeclaration())
      continue;
    F->deleteBody();
    F->setComdat(nullptr);
    F->setVisibility(GlobalValue::DefaultVisibility);
    F->setAttributes({});
  }
}

//===----------------------------------------------------------------------===//
// Attributes that hold only on the GPU
//===----------------------------------------------------------------------===//

void Normalizer::dropGlobalFacts() {
  for (const char *Name :
       {"llvm.used", "llvm.compiler.used", "llvm.global.annotations",
        "llvm.global_ctors", "llvm.global_dtors"})
    if (GlobalVariable *G = M.getNamedGlobal(Name))
      G->eraseFromParent();
  // flang's modules have further lists, such as llvm.compiler.used1.
  for (GlobalVariable &G : make_early_inc_range(M.globals()))
    if (G.getSection() == "llvm.metadata" && G.use_empty())
      G.eraseFromParent();
  for (NamedMDNode &Node : make_early_inc_range(M.named_metadata()))
    if (!Node.getName().starts_with("mneme."))
      Node.eraseFromParent();
  for (GlobalAlias &A : make_early_inc_range(M.aliases())) {
    A.replaceAllUsesWith(A.getAliasee());
    A.eraseFromParent();
  }
  for (GlobalObject &G : M.global_objects()) {
    G.setComdat(nullptr);
    G.setSection("");
    G.setVisibility(GlobalValue::DefaultVisibility);
    G.setUnnamedAddr(GlobalValue::UnnamedAddr::None);
  }
  M.setModuleInlineAsm("");
}

/// \returns whether an attribute holds wherever the code runs. All others were
/// inferred or set for the GPU: "reads no memory" may mean "reads the thread's
/// index".
static bool isPortable(Attribute A) {
  if (A.isStringAttribute())
    return A.getKindAsString().starts_with("mneme-");
  return A.hasAttribute(Attribute::NoReturn) || A.hasAttribute(Attribute::Cold);
}

static void keepPortableAttrs(LLVMContext &C, AttributeList &Attrs) {
  AttrBuilder Kept(C);
  for (Attribute A : Attrs.getFnAttrs())
    if (isPortable(A))
      Kept.addAttribute(A);
  Kept.addAttribute(Attribute::NoUnwind);
  Attrs = Attrs.removeFnAttributes(C).addFnAttributes(C, Kept);
}

void Normalizer::dropFunctionFacts(Function &F) {
  if (F.isIntrinsic())
    return;
  AttributeList Attrs = F.getAttributes();
  keepPortableAttrs(C, Attrs);
  F.setAttributes(Attrs);
  if (F.getCallingConv() != CallingConv::Fast)
    F.setCallingConv(CallingConv::C);
  for (Argument &A : F.args())
    A.removeAttr(Attribute::InReg);
  if (!F.isDeclaration())
    setHostTarget(F);
}

void Normalizer::dropCallFacts(CallBase &Call) {
  auto *Callee = Call.getCalledFunction();
  if ((Callee && Callee->isIntrinsic()) || Call.isInlineAsm())
    return;
  AttributeList Attrs = Call.getAttributes();
  keepPortableAttrs(C, Attrs);
  Call.setAttributes(Attrs);
  for (unsigned I = 0; I != Call.arg_size(); ++I)
    Call.removeParamAttr(I, Attribute::InReg);
  if (Call.getCallingConv() != CallingConv::Fast)
    Call.setCallingConv(CallingConv::C);
}

/// Local variables have their own address space on AMDGPU, and on NVPTX after
/// its codegen preparation.
void Normalizer::moveAllocas(Function &F) {
  SmallVector<AllocaInst *, 8> Allocas;
  for (Instruction &I : instructions(F))
    if (auto *A = dyn_cast<AllocaInst>(&I))
      if (A->getAddressSpace() != 0)
        Allocas.push_back(A);
  for (AllocaInst *A : Allocas) {
    IRBuilder<> B(A);
    AllocaInst *New =
        B.CreateAlloca(A->getAllocatedType(), 0,
                       A->isArrayAllocation() ? A->getArraySize() : nullptr);
    New->takeName(A);
    New->setAlignment(A->getAlign());
    // Markers must name the alloca itself; the inliner's markers are
    // sufficient.
    for (User *U : make_early_inc_range(A->users()))
      if (auto *Marker = cast<Instruction>(U); Marker->isLifetimeStartOrEnd())
        Marker->eraseFromParent();
    for (User *U : make_early_inc_range(A->users()))
      if (auto *Cast = dyn_cast<AddrSpaceCastInst>(U);
          Cast && Cast->getDestAddressSpace() == 0) {
        Cast->replaceAllUsesWith(New);
        Cast->eraseFromParent();
      }
    if (!A->use_empty())
      A->replaceAllUsesWith(B.CreateAddrSpaceCast(New, A->getType()));
    A->eraseFromParent();
  }
}

/// Fences within a block are not needed: its threads share one host thread.
static bool isBlockScope(StringRef Scope) {
  return Scope.starts_with("workgroup") || Scope.starts_with("wavefront") ||
         Scope.starts_with("singlethread") || Scope.starts_with("block");
}

void Normalizer::fixAtomics(Function &F) {
  SmallVector<StringRef, 16> Scopes;
  C.getSyncScopeNames(Scopes);
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    if (auto *Fence = dyn_cast<FenceInst>(&I)) {
      // Orderings that x86 provides without an instruction are sufficient,
      // because no second device can observe the difference.
      if (!isBlockScope(Scopes[Fence->getSyncScopeID()]))
        IRBuilder<>(Fence).CreateFence(AtomicOrdering::AcquireRelease);
      Fence->eraseFromParent();
      continue;
    }
    if (I.isAtomic())
      setAtomicSyncScopeID(&I, SyncScope::System);
  }
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

/// Conversions saturate as on the GPU, whose narrowest result has 16 bits. A
/// conversion to i8 saturates to 16 bits and drops the upper half.
static Value *convertSaturating(IRBuilderBase &B, CastInst &I) {
  Intrinsic::ID ID = I.getOpcode() == Instruction::FPToSI
                         ? Intrinsic::fptosi_sat
                         : Intrinsic::fptoui_sat;
  Value *From = I.getOperand(0);
  Type *To = I.getType();
  if (To->getScalarSizeInBits() < 16)
    To = To->getWithNewBitWidth(16);
  Value *V = B.CreateIntrinsic(ID, {To, From->getType()}, {From});
  return B.CreateTrunc(V, I.getType());
}

/// \returns null if the division cannot trap.
static Value *divideSafely(IRBuilderBase &B, BinaryOperator &I) {
  const DataLayout &DL = I.getDataLayout();
  Value *X = I.getOperand(0), *Y = I.getOperand(1);
  bool Signed =
      I.getOpcode() == Instruction::SDiv || I.getOpcode() == Instruction::SRem;
  SimplifyQuery Q(DL, &I);
  bool MayBeZero = !isKnownNonZero(Y, Q);
  bool MayOverflow = Signed && !computeKnownBits(Y, Q).isNonNegative() &&
                     !computeKnownBits(X, Q).isNonNegative();
  if (auto *Constant = dyn_cast<ConstantInt>(Y))
    MayOverflow &= Constant->isMinusOne();
  if (!MayBeZero && !MayOverflow)
    return nullptr;

  Type *Ty = I.getType();
  Value *Zero = Constant::getNullValue(Ty);
  Value *Ones = Constant::getAllOnesValue(Ty);
  Value *IsZero = MayBeZero ? B.CreateICmpEQ(Y, Zero) : nullptr;
  Value *Unsafe = IsZero;
  if (MayOverflow) {
    Value *Min = ConstantInt::get(
        Ty, APInt::getSignedMinValue(Ty->getScalarSizeInBits()));
    // x / 1 and x % 1 equal the wrapped INT_MIN / -1 and INT_MIN % -1.
    Value *Overflows =
        B.CreateAnd(B.CreateICmpEQ(X, Min), B.CreateICmpEQ(Y, Ones));
    Unsafe = Unsafe ? B.CreateOr(Unsafe, Overflows) : Overflows;
  }
  Value *Divisor = B.CreateSelect(Unsafe, ConstantInt::get(Ty, 1), Y);
  Value *Result = B.CreateBinOp(I.getOpcode(), X, Divisor);
  return IsZero ? B.CreateSelect(IsZero, Ones, Result) : Result;
}

/// \returns null if the amount is known to be in range.
static Value *shiftClamped(IRBuilderBase &B, BinaryOperator &I) {
  Type *Ty = I.getType();
  unsigned Width = Ty->getScalarSizeInBits();
  Value *Amount = I.getOperand(1);
  if (computeKnownBits(Amount, SimplifyQuery(I.getDataLayout(), &I))
          .getMaxValue()
          .ult(Width))
    return nullptr;
  Value *InRange = B.CreateICmpULT(Amount, ConstantInt::get(Ty, Width));
  if (I.getOpcode() == Instruction::AShr) {
    Value *Clamped =
        B.CreateSelect(InRange, Amount, ConstantInt::get(Ty, Width - 1));
    return B.CreateAShr(I.getOperand(0), Clamped);
  }
  Value *Shifted = B.CreateBinOp(I.getOpcode(), I.getOperand(0), Amount);
  return B.CreateSelect(InRange, Shifted, Constant::getNullValue(Ty));
}

/// \returns shifts for a funnel shift of a width that is no power of two, else
/// null.
static Value *expandFunnelShift(IRBuilderBase &B, CallInst &Call) {
  Intrinsic::ID ID = Call.getIntrinsicID();
  unsigned Width = Call.getType()->getScalarSizeInBits();
  if ((ID != Intrinsic::fshl && ID != Intrinsic::fshr) || isPowerOf2_32(Width))
    return nullptr;
  Type *Ty = Call.getType();
  Value *High = Call.getArgOperand(0), *Low = Call.getArgOperand(1);
  Value *Amount =
      B.CreateURem(Call.getArgOperand(2), ConstantInt::get(Ty, Width));
  Value *Rest = B.CreateSub(ConstantInt::get(Ty, Width), Amount);
  bool IsLeft = ID == Intrinsic::fshl;
  Value *Shifted = B.CreateOr(B.CreateShl(High, IsLeft ? Amount : Rest),
                              B.CreateLShr(Low, IsLeft ? Rest : Amount));
  return B.CreateSelect(B.CreateICmpEQ(Amount, Constant::getNullValue(Ty)),
                        IsLeft ? High : Low, Shifted);
}

void Normalizer::fixArithmetic(Function &F) {
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    if (isa<FPMathOperator>(I)) {
      FastMathFlags Kept;
      Kept.setNoNaNs(I.hasNoNaNs());
      Kept.setNoInfs(I.hasNoInfs());
      I.copyFastMathFlags(Kept);
    }
    IRBuilder<> B(&I);
    Value *New = nullptr;
    switch (I.getOpcode()) {
    case Instruction::FPToSI:
    case Instruction::FPToUI:
      New = convertSaturating(B, cast<CastInst>(I));
      break;
    case Instruction::SDiv:
    case Instruction::UDiv:
    case Instruction::SRem:
    case Instruction::URem:
      New = divideSafely(B, cast<BinaryOperator>(I));
      break;
    case Instruction::Shl:
    case Instruction::LShr:
    case Instruction::AShr:
      if (IsNVPTX)
        New = shiftClamped(B, cast<BinaryOperator>(I));
      break;
    case Instruction::Call:
      New = expandFunnelShift(B, cast<CallInst>(I));
      break;
    default:
      break;
    }
    if (!New)
      continue;
    New->takeName(&I);
    I.replaceAllUsesWith(New);
    I.eraseFromParent();
  }
}

void Normalizer::run() {
  StripDebugInfo(M);
  markKernels();
  foldReflect();
  defineControlConstants();
  useHostServices();
  dropGlobalFacts();
  for (Function &F : M) {
    dropFunctionFacts(F);
    for (Instruction &I : instructions(F))
      if (auto *Call = dyn_cast<CallBase>(&I))
        dropCallFacts(*Call);
  }

  Triple Host(sys::getDefaultTargetTriple());
  M.setTargetTriple(Host);
  M.setDataLayout(Host.computeDataLayout());
  for (Function &F : M) {
    moveAllocas(F);
    fixAtomics(F);
    fixArithmetic(F);
  }
}

PreservedAnalyses HostNormalizePass::run(Module &M, ModuleAnalysisManager &) {
  const Triple &T = M.getTargetTriple();
  if (!T.isNVPTX() && !T.isAMDGCN()) {
    setLoweringError(M, "cannot lower a module for '" + T.str() +
                            "': not NVPTX or AMDGPU code");
    return PreservedAnalyses::all();
  }
  Normalizer(M).run();
  return PreservedAnalyses::none();
}
