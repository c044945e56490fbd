//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/OlderIR.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/AttributeMask.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// What is new, and since which version
//===----------------------------------------------------------------------===//

namespace {
template <typename T> struct NewIn {
  T What;
  unsigned Major;
};
struct NewName {
  StringLiteral Name, OldName;
  unsigned Major;
};
} // namespace

/// All of them can be left out.
static constexpr NewIn<Attribute::AttrKind> NewAttributes[] = {
    {Attribute::NoFPClass, 17},
    {Attribute::CoroDestroyOnlyWhenComplete, 18},
    {Attribute::DeadOnUnwind, 18},
    {Attribute::Writable, 18},
    {Attribute::OptimizeForDebugging, 19},
    {Attribute::Range, 19},
    {Attribute::CoroElideSafe, 20},
    {Attribute::HybridPatchable, 20},
    {Attribute::Initializes, 20},
    {Attribute::NoExt, 20},
    {Attribute::SanitizeNumericalStability, 20},
    {Attribute::SanitizeRealtime, 20},
    {Attribute::SanitizeRealtimeBlocking, 20},
    {Attribute::Captures, 21},
    {Attribute::NoDivergenceSource, 21},
    {Attribute::SanitizeType, 21},
    {Attribute::DeadOnReturn, 22},
    {Attribute::NoCreateUndefOrPoison, 22},
    {Attribute::SanitizeAllocToken, 22},
};

static constexpr NewIn<IRMemLocation> NewLocations[] = {
    {IRMemLocation::ErrnoMem, 21},
    {IRMemLocation::TargetMem0, 22},
    {IRMemLocation::TargetMem1, 22},
};

static constexpr NewIn<AtomicRMWInst::BinOp> NewAtomics[] = {
    {AtomicRMWInst::USubCond, 20},
    {AtomicRMWInst::USubSat, 20},
    {AtomicRMWInst::FMaximum, 21},
    {AtomicRMWInst::FMinimum, 21},
};

/// Intrinsics with the same operands.
static constexpr NewName NewIntrinsics[] = {
    {"llvm.nvvm.barrier.cta.sync.aligned.all", "llvm.nvvm.barrier.n", 21},
    {"llvm.nvvm.barrier.cta.sync.aligned.count", "llvm.nvvm.barrier", 21},
    {"llvm.nvvm.barrier.cta.sync.all", "llvm.nvvm.barrier.sync", 21},
    {"llvm.nvvm.barrier.cta.sync.count", "llvm.nvvm.barrier.sync.cnt", 21},
    {"llvm.nvvm.fabs.f32", "llvm.nvvm.fabs.f", 21},
    {"llvm.nvvm.fabs.ftz.f32", "llvm.nvvm.fabs.ftz.f", 21},
    {"llvm.nvvm.fabs.f64", "llvm.nvvm.fabs.d", 21},
    {"llvm.nvvm.ex2.approx.f32", "llvm.nvvm.ex2.approx.f", 22},
    {"llvm.nvvm.ex2.approx.ftz.f32", "llvm.nvvm.ex2.approx.ftz.f", 22},
};

/// Attributes of kernels that were in !nvvm.annotations, with the suffixes of
/// their numbers.
static constexpr unsigned FirstWithKernelAttributes = 21;
static constexpr struct {
  StringLiteral Attribute, Annotation;
  bool IsVector;
} KernelAttributes[] = {
    {"nvvm.maxntid", "maxntid", true},
    {"nvvm.reqntid", "reqntid", true},
    {"nvvm.cluster_dim", "cluster_dim_", true},
    {"nvvm.minctasm", "minctasm", false},
    {"nvvm.maxnreg", "maxnreg", false},
    {"nvvm.maxclusterrank", "maxclusterrank", false},
};

static constexpr unsigned FirstWithDisjointAndNNeg = 18;
static constexpr unsigned FirstWithUIToFPNNeg = 19;
static constexpr unsigned FirstWithTruncFlags = 19;
static constexpr unsigned FirstWithGEPFlags = 19;
static constexpr unsigned FirstWithSplat = 19;
static constexpr unsigned FirstWithSameSign = 20;
static constexpr unsigned FirstWithCastFMF = 21;
static constexpr unsigned FirstWithBarrierNumbers = 21;
static constexpr unsigned FirstWithPtrToAddr = 22;
static constexpr unsigned FirstWithSizelessLifetime = 22;

//===----------------------------------------------------------------------===//
// Changes of the module
//===----------------------------------------------------------------------===//

static Attribute lowerMemory(LLVMContext &C, MemoryEffects ME, unsigned Major) {
  // Older versions count these locations as other memory.
  for (auto [Location, First] : NewLocations)
    if (Major < First)
      ME = ME.getWithModRef(IRMemLocation::Other,
                            ME.getModRef(IRMemLocation::Other) |
                                ME.getModRef(Location));
  for (auto [Location, First] : NewLocations)
    if (Major < First)
      ME = ME.getWithModRef(Location, ME.getModRef(IRMemLocation::Other));
  return Attribute::getWithMemoryEffects(C, ME);
}

static AttributeList lowerAttributes(LLVMContext &C, AttributeList List,
                                     unsigned Major) {
  AttributeMask New;
  for (auto [Kind, First] : NewAttributes)
    if (Major < First)
      New.addAttribute(Kind);
  for (unsigned Index : List.indexes())
    List = List.removeAttributesAtIndex(C, Index, New);
  Attribute Memory = List.getFnAttr(Attribute::Memory);
  if (Memory.isValid())
    List = List.removeFnAttribute(C, Attribute::Memory)
               .addFnAttribute(
                   C, lowerMemory(C, Memory.getMemoryEffects(), Major));
  return List;
}

static Error lowerFlags(Instruction &I, unsigned Major) {
  if (Major < FirstWithDisjointAndNNeg) {
    if (auto *Or = dyn_cast<PossiblyDisjointInst>(&I))
      Or->setIsDisjoint(false);
    if (isa<ZExtInst>(I))
      I.setNonNeg(false);
  }
  if (Major < FirstWithUIToFPNNeg && isa<UIToFPInst>(I))
    I.setNonNeg(false);
  if (Major < FirstWithTruncFlags && isa<TruncInst>(I)) {
    I.setHasNoUnsignedWrap(false);
    I.setHasNoSignedWrap(false);
  }
  if (auto *Compare = dyn_cast<ICmpInst>(&I);
      Compare && Major < FirstWithSameSign)
    Compare->setSameSign(false);
  if (auto *GEP = dyn_cast<GetElementPtrInst>(&I);
      GEP && Major < FirstWithGEPFlags)
    GEP->setNoWrapFlags(GEP->isInBounds() ? GEPNoWrapFlags::inBounds()
                                          : GEPNoWrapFlags::none());
  if (Major < FirstWithCastFMF && isa<FPTruncInst, FPExtInst>(I))
    I.copyFastMathFlags(FastMathFlags());
  if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
    for (auto [Operation, First] : NewAtomics)
      if (RMW->getOperation() == Operation && Major < First)
        return createStringError(
            formatv("LLVM {0} has no 'atomicrmw {1}'", Major,
                    AtomicRMWInst::getOperationName(Operation))
                .str());
  return Error::success();
}

/// Lifetime markers had a size in bytes; -1 is the size of the object.
static void addLifetimeSizes(Function &F) {
  LLVMContext &C = F.getContext();
  std::string Name = F.getName().str();
  F.setName("");
  auto *Int64 = Type::getInt64Ty(C);
  Function *Old = Function::Create(
      FunctionType::get(Type::getVoidTy(C), {Int64, F.getArg(0)->getType()},
                        /*isVarArg=*/false),
      GlobalValue::ExternalLinkage, Name, F.getParent());
  for (User *U : make_early_inc_range(F.users())) {
    auto *Call = cast<CallInst>(U);
    CallInst::Create(
        Old, {ConstantInt::getAllOnesValue(Int64), Call->getArgOperand(0)}, "",
        Call->getIterator());
    Call->eraseFromParent();
  }
  F.eraseFromParent();
}

/// Barrier 0 had an intrinsic of its own: others take a register.
static void lowerFirstBarrier(Function &F) {
  for (User *U : make_early_inc_range(F.users())) {
    auto *Call = cast<CallInst>(U);
    auto *Number = dyn_cast<ConstantInt>(Call->getArgOperand(0));
    if (!Number || !Number->isZero())
      continue;
    auto *First = CallInst::Create(F.getParent()->getOrInsertFunction(
                                       "llvm.nvvm.barrier0", F.getReturnType()),
                                   "", Call->getIterator());
    First->setDebugLoc(Call->getDebugLoc());
    Call->eraseFromParent();
  }
}

static void lowerIntrinsics(Module &M, unsigned Major) {
  SmallVector<Function *> Intrinsics;
  for (Function &F : M)
    if (F.isIntrinsic())
      Intrinsics.push_back(&F);
  for (Function *F : Intrinsics) {
    // Every reader adds those of its version.
    F->setAttributes({});
    Intrinsic::ID ID = F->getIntrinsicID();
    if (ID == Intrinsic::nvvm_barrier_cta_sync_aligned_all &&
        Major < FirstWithBarrierNumbers)
      lowerFirstBarrier(*F);
    if (F->use_empty()) {
      F->eraseFromParent();
      continue;
    }
    for (const NewName &N : NewIntrinsics)
      if (F->getName() == N.Name && Major < N.Major)
        F->setName(N.OldName);
    if (Major < FirstWithSizelessLifetime &&
        (ID == Intrinsic::lifetime_start || ID == Intrinsic::lifetime_end))
      addLifetimeSizes(*F);
  }
}

/// Kernel attributes as metadata, !{ptr @kernel, !"maxntidx", i32 256}.
static void addKernelAnnotations(Module &M) {
  LLVMContext &C = M.getContext();
  for (Function &F : M)
    for (const auto &[Name, Annotation, IsVector] : KernelAttributes) {
      if (!F.hasFnAttribute(Name))
        continue;
      SmallVector<StringRef, 3> Numbers;
      F.getFnAttribute(Name).getValueAsString().split(Numbers, ',');
      for (auto [Dimension, Number] : zip(StringRef("xyz"), Numbers)) {
        unsigned N;
        if (Number.getAsInteger(10, N))
          continue;
        std::string Key = Annotation.str();
        if (IsVector)
          Key += Dimension;
        M.getOrInsertNamedMetadata("nvvm.annotations")
            ->addOperand(
                MDNode::get(C, {ValueAsMetadata::get(&F), MDString::get(C, Key),
                                ConstantAsMetadata::get(ConstantInt::get(
                                    Type::getInt32Ty(C), N))}));
      }
      F.removeFnAttr(Name);
    }
}

std::string mneme::removePTXVersion(StringRef Features) {
  SmallVector<StringRef, 4> Parts;
  Features.split(Parts, ',', /*MaxSplit=*/-1, /*KeepEmpty=*/false);
  erase_if(Parts, [](StringRef Part) { return Part.starts_with("+ptx"); });
  return join(Parts, ",");
}

static void lowerFeatures(Function &F) {
  static constexpr StringLiteral Name = "target-features";
  if (!F.hasFnAttribute(Name))
    return;
  std::string Features =
      removePTXVersion(F.getFnAttribute(Name).getValueAsString());
  F.removeFnAttr(Name);
  if (!Features.empty())
    F.addFnAttr(Name, Features);
}

static Error lower(Module &M, unsigned Major) {
  // Only line tables have the same form in all versions. Stripping makes ptxas
  // refuse units with only line directives, where it changes nothing.
  if (any_of(M.debug_compile_units(), [](const DICompileUnit *CU) {
        return CU->getEmissionKind() == DICompileUnit::FullDebug;
      }))
    stripNonLineTableDebugInfo(M);
  lowerIntrinsics(M, Major);
  if (Major < FirstWithKernelAttributes)
    addKernelAnnotations(M);
  for (Function &F : M) {
    if (M.getTargetTriple().isNVPTX())
      lowerFeatures(F);
    F.setAttributes(lowerAttributes(M.getContext(), F.getAttributes(), Major));
    for (Instruction &I : instructions(F)) {
      if (auto *Call = dyn_cast<CallBase>(&I))
        Call->setAttributes(
            lowerAttributes(M.getContext(), Call->getAttributes(), Major));
      if (Error E = lowerFlags(I, Major))
        return E;
    }
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Changes of the text: constants
//===----------------------------------------------------------------------===//

/// "<2 x i32> splat (i32 1)": returns "<i32 1, i32 1>" and removes the text
/// from \p Rest, which begins behind "splat ". \p Before ends with the type.
static std::string expandSplat(StringRef Before, StringRef &Rest) {
  StringRef Type = Before.substr(Before.rfind('<') + 1);
  unsigned Count = 0;
  size_t End = Rest.find(')');
  if (Type.consumeInteger(10, Count) || End == StringRef::npos)
    return "splat ";
  StringRef Element = Rest.slice(1, End);
  Rest = Rest.substr(End + 1);
  SmallVector<StringRef, 8> Elements(Count, Element);
  return "<" + join(Elements, ", ") + ">";
}

/// Removes flags and inrange(...) between "getelementptr" and the operands.
static std::string lowerGEPFlags(StringRef &Rest) {
  std::string Flags;
  while (true) {
    Rest = Rest.ltrim(' ');
    if (Rest.consume_front("nuw ") || Rest.consume_front("nusw "))
      continue;
    if (Rest.consume_front("inbounds "))
      Flags = "inbounds ";
    else if (Rest.starts_with("inrange("))
      Rest = Rest.substr(Rest.find(')') + 1);
    else
      return Flags;
  }
}

/// \p Code contains no string.
static void printCode(StringRef Code, unsigned Major, raw_ostream &OS) {
  static constexpr StringLiteral GEP = " getelementptr ", Splat = " splat ",
                                 PtrToAddr = " ptrtoaddr ";
  struct {
    StringRef Keyword;
    unsigned Major;
  } Keywords[] = {{GEP, FirstWithGEPFlags},
                  {Splat, FirstWithSplat},
                  {PtrToAddr, FirstWithPtrToAddr}};
  while (true) {
    size_t Begin = StringRef::npos;
    StringRef Found;
    for (auto [Keyword, First] : Keywords) {
      size_t Pos = Major < First ? Code.find(Keyword) : StringRef::npos;
      if (Pos < Begin) {
        Begin = Pos;
        Found = Keyword;
      }
    }
    if (Found.empty())
      break;
    StringRef Before = Code.take_front(Begin);
    Code = Code.substr(Begin + Found.size());
    OS << Before << ' ';
    if (Found == GEP)
      OS << "getelementptr " << lowerGEPFlags(Code);
    else if (Found == Splat)
      OS << expandSplat(Before, Code);
    else
      OS << "ptrtoint ";
  }
  OS << Code;
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

Expected<std::string> mneme::printForOlderLLVM(const Module &M,
                                               unsigned Major) {
  if (Major < OldestIRReader)
    return createStringError(
        formatv("no IR can be written for LLVM {0}: LLVM {1} is the oldest "
                "one that reads IR of LLVM {2}",
                Major, OldestIRReader, LLVM_VERSION_STRING)
            .str());
  LLVMContext Context;
  std::unique_ptr<Module> Copy = copyModule(M, Context);
  if (Error E = lower(*Copy, Major))
    return std::move(E);
  std::string Text, Lowered;
  raw_string_ostream OS(Text), LoweredOS(Lowered);
  Copy->print(OS, nullptr);
  // Strings contain no quotes: those are printed as \22.
  bool InString = false;
  for (StringRef Part : split(Text, '"')) {
    if (InString)
      LoweredOS << '"' << Part << '"';
    else
      printCode(Part, Major, LoweredOS);
    InString = !InString;
  }
  return Lowered;
}
