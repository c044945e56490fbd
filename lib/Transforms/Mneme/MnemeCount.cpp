//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DevicePlaces.h"
#include "ParsePass.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Count.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// The work of an instruction
//===----------------------------------------------------------------------===//

static unsigned countElements(const Type *T) {
  const auto *V = dyn_cast<FixedVectorType>(T);
  return V ? V->getNumElements() : 1;
}

static std::optional<WorkKind> getFloatKind(const Type *T) {
  const Type *Element = T->getScalarType();
  if (Element->isHalfTy() || Element->isBFloatTy())
    return WorkKind::FP16;
  if (Element->isFloatTy())
    return WorkKind::FP32;
  if (Element->isDoubleTy())
    return WorkKind::FP64;
  return std::nullopt;
}

static void add(WorkCounts &W, WorkKind K, uint64_t Count) {
  W[static_cast<size_t>(K)] += Count;
}

/// Adds \p Each operations for each element of a type.
static void addFloat(WorkCounts &W, const Type *T, unsigned Each) {
  if (std::optional<WorkKind> K = getFloatKind(T))
    add(W, *K, uint64_t(Each) * countElements(T));
}

/// GPUs have no unit for special functions of 64 bits.
static void addSpecial(WorkCounts &W, const Type *T) {
  std::optional<WorkKind> K = getFloatKind(T);
  if (K)
    add(W, *K == WorkKind::FP64 ? *K : WorkKind::Special, countElements(T));
}

static void addInteger(WorkCounts &W, const Type *T) {
  add(W, WorkKind::Integer,
      uint64_t(divideCeil(std::max(1u, T->getScalarSizeInBits()), 32)) *
          countElements(T));
}

/// Reads the sizes of a matrix instruction from its name: m16n8k16, or
/// 32x32x8f16 of AMD GPUs. \returns 0 if the name has none.
static uint64_t readMatrixSize(StringRef Name) {
  SmallVector<StringRef, 8> Parts;
  Name.split(Parts, '.');
  for (StringRef Part : Parts) {
    uint64_t M = 0, N = 0, K = 0;
    StringRef Rest = Part;
    bool IsNVIDIA = Rest.consume_front("m");
    if (!Rest.consumeInteger(10, M) &&
        Rest.consume_front(IsNVIDIA ? "n" : "x") &&
        !Rest.consumeInteger(10, N) &&
        Rest.consume_front(IsNVIDIA ? "k" : "x") && !Rest.consumeInteger(10, K))
      return M * N * K;
  }
  return 0;
}

static bool isMatrix(StringRef Name) {
  return (Name.contains("mma.") || Name.contains("mfma.")) &&
         !Name.contains(".load.") && !Name.contains(".store.");
}

static bool startsWithAny(StringRef Name, ArrayRef<StringLiteral> Starts) {
  return any_of(Starts, [&](StringRef S) { return Name.starts_with(S); });
}

static void addIntrinsic(WorkCounts &W, const IntrinsicInst &I) {
  static constexpr StringLiteral Special[] = {
      "llvm.sqrt",        "llvm.sin",        "llvm.cos",
      "llvm.tan",         "llvm.exp",        "llvm.log",
      "llvm.pow",         "llvm.nvvm.ex2",   "llvm.nvvm.lg2",
      "llvm.nvvm.sin",    "llvm.nvvm.cos",   "llvm.nvvm.rcp",
      "llvm.nvvm.rsqrt",  "llvm.nvvm.sqrt",  "llvm.nvvm.div",
      "llvm.nvvm.tanh",   "llvm.amdgcn.rcp", "llvm.amdgcn.rsq",
      "llvm.amdgcn.exp2", "llvm.amdgcn.log", "llvm.amdgcn.sin",
      "llvm.amdgcn.cos",  "llvm.amdgcn.sqrt"};
  static constexpr StringLiteral Fused[] = {"llvm.fma", "llvm.fmuladd",
                                            "llvm.nvvm.fma"};
  static constexpr StringLiteral Single[] = {
      "llvm.minnum",   "llvm.maxnum",     "llvm.minimum",   "llvm.maximum",
      "llvm.nvvm.add", "llvm.nvvm.mul.r", "llvm.nvvm.fmin", "llvm.nvvm.fmax"};
  StringRef Name = Intrinsic::getBaseName(I.getIntrinsicID());
  if (isMatrix(Name)) {
    unsigned Wave = Name.contains("mfma.") ? 64 : 32;
    add(W, WorkKind::Tensor, 2 * readMatrixSize(Name) / Wave);
  } else if (startsWithAny(Name, Special)) {
    addSpecial(W, I.getType());
  } else if (startsWithAny(Name, Fused)) {
    addFloat(W, I.getType(), 2);
  } else if (startsWithAny(Name, Single)) {
    addFloat(W, I.getType(), 1);
  }
}

WorkCounts mneme::countWork(const Instruction &I) {
  WorkCounts W = {};
  const DataLayout &DL = I.getDataLayout();
  const Type *T = I.getType();
  if (const auto *B = dyn_cast<BinaryOperator>(&I)) {
    if (T->isIntOrIntVectorTy())
      addInteger(W, T);
    else if (B->getOpcode() == Instruction::FDiv ||
             B->getOpcode() == Instruction::FRem)
      addSpecial(W, T);
    else
      addFloat(W, T, 1);
  } else if (const auto *C = dyn_cast<ICmpInst>(&I)) {
    addInteger(W, C->getOperand(0)->getType());
  } else if (const auto *Intrinsic = dyn_cast<IntrinsicInst>(&I)) {
    addIntrinsic(W, *Intrinsic);
  } else if (const Value *P = getLoadStorePointerOperand(&I);
             P &&
             P->getType()->getPointerAddressSpace() == SharedAddressSpace) {
    // LLVM 19's function takes no constant value.
    Type *T = getLoadStoreType(const_cast<Instruction *>(&I));
    add(W, WorkKind::Shared, DL.getTypeStoreSize(T));
  }
  return W;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

static Expected<uint64_t> parseCounters(StringRef Text) {
  uint64_t Address = 0;
  StringRef Rest = Text;
  if (!Rest.consume_front("counters=") || Rest.getAsInteger(0, Address))
    return createStringError(
        formatv("invalid mneme-count pass parameter '{0}'", Text).str());
  return Address;
}

std::string mneme::printCountPass(uint64_t Counters) {
  return formatv("mneme-count<counters={0:x}>", Counters).str();
}

void CountPass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  OS << printCountPass(Counters);
}

/// Returns the address of the block's set of counters.
static Value *createStripe(IRBuilderBase &B, uint64_t Counters) {
  bool IsAMD = getTriple(*B.GetInsertBlock()->getModule()).isAMDGPU();
  static constexpr struct {
    Intrinsic::ID NVIDIA, AMD;
    unsigned Factor;
  } Axes[] = {{Intrinsic::nvvm_read_ptx_sreg_ctaid_x,
               Intrinsic::amdgcn_workgroup_id_x, 1},
              {Intrinsic::nvvm_read_ptx_sreg_ctaid_y,
               Intrinsic::amdgcn_workgroup_id_y, 31},
              {Intrinsic::nvvm_read_ptx_sreg_ctaid_z,
               Intrinsic::amdgcn_workgroup_id_z, 17}};
  Value *Sum = B.getInt32(0);
  for (auto [NVIDIA, AMD, Factor] : Axes)
    Sum = B.CreateAdd(Sum, B.CreateMul(createCall(B, IsAMD ? AMD : NVIDIA),
                                       B.getInt32(Factor)));
  Value *Offset =
      B.CreateMul(B.CreateAnd(Sum, WorkStripes - 1),
                  B.getInt32(static_cast<uint32_t>(WorkStripeBytes)));
  return B.CreateAdd(B.CreateZExt(Offset, B.getInt64Ty()),
                     B.getInt64(Counters));
}

PreservedAnalyses CountPass::run(Module &M, ModuleAnalysisManager &) {
  PointerType *Global = PointerType::get(M.getContext(), GlobalAddressSpace);
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    SmallVector<std::pair<BasicBlock *, WorkCounts>> Blocks;
    for (BasicBlock &Block : F) {
      WorkCounts Sum = {};
      for (const Instruction &I : Block)
        for (auto [Total, One] : zip_equal(Sum, countWork(I)))
          Total += One;
      if (any_of(Sum, [](uint64_t N) { return N != 0; }))
        Blocks.push_back({&Block, Sum});
    }
    if (Blocks.empty())
      continue;
    BasicBlock::iterator First = moveLocalsToFront(F);
    IRBuilder<> Entry(&F.getEntryBlock(), First);
    Value *Stripe = createStripe(Entry, Counters);
    for (auto &[Block, Sum] : Blocks) {
      // Before the terminator, the counters' address is available in all
      // blocks.
      IRBuilder<> B(Block->getTerminator());
      for (auto [Kind, Count] : enumerate(Sum))
        if (Count)
          B.CreateAtomicRMW(
              AtomicRMWInst::Add,
              B.CreateIntToPtr(B.CreateAdd(Stripe, B.getInt64(8 * Kind)),
                               Global),
              B.getInt64(Count), Align(8), AtomicOrdering::Monotonic);
    }
  }
  return PreservedAnalyses::none();
}

void mneme::registerCountPass(PassBuilder &PB) {
  registerPass<CountPass>(PB, "mneme-count", parseCounters);
}
