//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/LaunchShape.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/IRUtils/AsmAccess.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Support/NVPTXAddrSpace.h"
#include <optional>

using namespace llvm;
using namespace llvm::mneme;

namespace {
/// A value that depends on the position of a thread.
struct Position {
  enum Kind { Register, BlockStart } K; ///< BlockStart: blockIdx * blockDim.
  LaunchRegister R;
  unsigned Axis;
};
} // namespace

static std::optional<std::pair<LaunchRegister, unsigned>>
getLaunchRegister(const Value &V) {
  auto *Call = dyn_cast<CallBase>(&V);
  if (!Call)
    return std::nullopt;
  switch (Call->getIntrinsicID()) {
#define AXES(NAME, REGISTER)                                                   \
  case Intrinsic::nvvm_read_ptx_sreg_##NAME##_x:                               \
    return std::pair(LaunchRegister::REGISTER, 0u);                            \
  case Intrinsic::nvvm_read_ptx_sreg_##NAME##_y:                               \
    return std::pair(LaunchRegister::REGISTER, 1u);                            \
  case Intrinsic::nvvm_read_ptx_sreg_##NAME##_z:                               \
    return std::pair(LaunchRegister::REGISTER, 2u);
    AXES(tid, ThreadIndex)
    AXES(ctaid, BlockIndex)
    AXES(ntid, BlockSize)
    AXES(nctaid, GridSize)
#undef AXES
#define AXES(NAME, REGISTER)                                                   \
  case Intrinsic::amdgcn_##NAME##_x:                                           \
    return std::pair(LaunchRegister::REGISTER, 0u);                            \
  case Intrinsic::amdgcn_##NAME##_y:                                           \
    return std::pair(LaunchRegister::REGISTER, 1u);                            \
  case Intrinsic::amdgcn_##NAME##_z:                                           \
    return std::pair(LaunchRegister::REGISTER, 2u);
    AXES(workitem_id, ThreadIndex)
    AXES(workgroup_id, BlockIndex)
#undef AXES
  default:
    return std::nullopt;
  }
}

/// AMDGPU: the dispatch packet and the implicit arguments have the sizes of
/// blocks and grids. What is read from them is not followed.
static bool readsSizesFromMemory(const Instruction &I) {
  auto *Call = dyn_cast<CallBase>(&I);
  return Call && (Call->getIntrinsicID() == Intrinsic::amdgcn_dispatch_ptr ||
                  Call->getIntrinsicID() == Intrinsic::amdgcn_implicitarg_ptr);
}

std::set<std::pair<LaunchRegister, unsigned>>
mneme::findLaunchRegisters(const Module &M) {
  std::set<std::pair<LaunchRegister, unsigned>> Found;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F)) {
      if (auto R = getLaunchRegister(I))
        Found.insert(*R);
      if (readsSizesFromMemory(I))
        for (unsigned Axis = 0; Axis != 3; ++Axis)
          Found.insert({{LaunchRegister::BlockSize, Axis},
                        {LaunchRegister::GridSize, Axis}});
    }
  return Found;
}

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

static std::string getName(const Position &P) {
  static constexpr StringLiteral Names[] = {"threadIdx", "blockIdx", "blockDim",
                                            "gridDim"};
  return Names[static_cast<unsigned>(P.R)].str() + "." + "xyz"[P.Axis];
}

/// With fewer than 2^31 threads along an axis, extensions change nothing.
static const Value *skipExtensions(const Value *V) {
  while (isa<ZExtInst, SExtInst>(V))
    V = cast<CastInst>(V)->getOperand(0);
  return V;
}

static std::optional<Position> getPosition(const Value *V) {
  V = skipExtensions(V);
  if (auto R = getLaunchRegister(*V))
    return Position{Position::Register, R->first, R->second};
  auto *Mul = dyn_cast<BinaryOperator>(V);
  if (!Mul || Mul->getOpcode() != Instruction::Mul)
    return std::nullopt;
  auto A = getLaunchRegister(*skipExtensions(Mul->getOperand(0)));
  auto B = getLaunchRegister(*skipExtensions(Mul->getOperand(1)));
  if (!A || !B)
    return std::nullopt;
  if (A->first == LaunchRegister::BlockSize)
    std::swap(A, B);
  if (A->first == LaunchRegister::BlockIndex &&
      B->first == LaunchRegister::BlockSize && A->second == B->second)
    return Position{Position::BlockStart, A->first, A->second};
  return std::nullopt;
}

/// Returns true if the product is blockIdx * blockDim or gridDim * blockDim.
/// The latter is the number of threads.
static bool isKnownProduct(const Position &A, const Position &B,
                           bool &IsBlockStart) {
  auto Is = [](const Position &P, LaunchRegister R) {
    return P.K == Position::Register && P.R == R;
  };
  if (A.Axis != B.Axis)
    return false;
  for (auto [X, Y] : {std::pair(&A, &B), std::pair(&B, &A)}) {
    if (!Is(*Y, LaunchRegister::BlockSize))
      continue;
    IsBlockStart = Is(*X, LaunchRegister::BlockIndex);
    if (IsBlockStart || Is(*X, LaunchRegister::GridSize))
      return true;
  }
  return false;
}

static bool isGlobalIndex(const Position &A, const Position &B) {
  auto IsThread = [](const Position &P) {
    return P.K == Position::Register && P.R == LaunchRegister::ThreadIndex;
  };
  return A.Axis == B.Axis && ((A.K == Position::BlockStart && IsThread(B)) ||
                              (B.K == Position::BlockStart && IsThread(A)));
}

/// Returns true if all uses of \p V end in the global index or the number of
/// threads.
static bool hasOnlyKnownUses(const Value &V, const Position &P) {
  for (const User *U : V.users()) {
    if (isa<ZExtInst, SExtInst>(U)) {
      if (!hasOnlyKnownUses(*U, P))
        return false;
      continue;
    }
    auto *Op = dyn_cast<BinaryOperator>(U);
    if (!Op)
      return false;
    const Value *Other = Op->getOperand(Op->getOperand(0) == &V ? 1 : 0);
    std::optional<Position> Q = getPosition(Other);
    if (!Q)
      return false;
    bool IsBlockStart = false;
    if (Op->getOpcode() == Instruction::Add && isGlobalIndex(P, *Q))
      continue;
    if (Op->getOpcode() != Instruction::Mul ||
        !isKnownProduct(P, *Q, IsBlockStart))
      return false;
    if (IsBlockStart &&
        !hasOnlyKnownUses(
            *Op, {Position::BlockStart, LaunchRegister::BlockIndex, P.Axis}))
      return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Communication
//===----------------------------------------------------------------------===//

static bool isHarmless(const IntrinsicInst &I) {
  switch (I.getIntrinsicID()) {
  case Intrinsic::assume:
  case Intrinsic::lifetime_start:
  case Intrinsic::lifetime_end:
  case Intrinsic::experimental_noalias_scope_decl:
  case Intrinsic::trap:
  case Intrinsic::debugtrap:
  case Intrinsic::sideeffect:
  case Intrinsic::nvvm_read_ptx_sreg_warpsize:
    return true;
  default:
    break;
  }
  if (I.isConvergent() || I.isVolatile())
    return false;
  StringRef Name = I.getCalledFunction()->getName();
  // Most of them depend on the position in a grid or a wave.
  if (Name.starts_with("llvm.amdgcn.") || Name.starts_with("llvm.r600."))
    return false;
  bool IsOfTarget = Name.starts_with("llvm.nvvm.");
  if (IsOfTarget && (Name.starts_with("llvm.nvvm.read.ptx.") ||
                     Name.contains("isspacep") || Name.contains("mapa")))
    return false;
  return IsOfTarget ? I.doesNotAccessMemory()
                    : I.doesNotAccessMemory() || I.onlyAccessesArgMemory();
}

static std::string checkCall(const CallBase &Call) {
  if (auto *Asm = dyn_cast<InlineAsm>(Call.getCalledOperand()))
    return isArithmeticPTX(*Asm) ? "" : "inline assembly";
  const Function *F = Call.getCalledFunction();
  if (!F)
    return "calls through a pointer";
  if (!F->isDeclaration())
    return "";
  if (!F->isIntrinsic())
    return "calls '" + F->getName().str() + "', of which the code is unknown";
  if (std::optional<std::pair<LaunchRegister, unsigned>> R =
          getLaunchRegister(Call)) {
    Position P{Position::Register, R->first, R->second};
    return hasOnlyKnownUses(Call, P)
               ? ""
               : getName(P) + " is used other than in the global index";
  }
  return isHarmless(cast<IntrinsicInst>(Call)) ? ""
                                               : "uses " + F->getName().str();
}

/// An operation, and the type of its operand.
using AtomicKind = std::pair<AtomicRMWInst::BinOp, const Type *>;

/// Returns true for an atomic that would race with those of other blocks, which
/// another shape may add.
static bool isOfOneBlock(const AtomicRMWInst &A) {
  std::optional<StringRef> Scope =
      A.getContext().getSyncScopeName(A.getSyncScopeID());
  return !Scope || !is_contained({"", "device", "agent"}, *Scope);
}

/// Atomics of one kind commute if they are on integers and no code reads the
/// value that they return. Those of several types may overlap.
static std::string checkAtomic(const AtomicRMWInst &A,
                               std::optional<AtomicKind> &Only) {
  AtomicRMWInst::BinOp Op = A.getOperation();
  if (Op == AtomicRMWInst::Sub)
    Op = AtomicRMWInst::Add;
  static constexpr AtomicRMWInst::BinOp Commute[] = {
      AtomicRMWInst::Add,  AtomicRMWInst::And, AtomicRMWInst::Or,
      AtomicRMWInst::Xor,  AtomicRMWInst::Max, AtomicRMWInst::Min,
      AtomicRMWInst::UMax, AtomicRMWInst::UMin};
  if (!A.getType()->isIntegerTy() || !is_contained(Commute, Op) ||
      !A.use_empty() || A.isVolatile() || isOfOneBlock(A) ||
      (Only && *Only != AtomicKind(Op, A.getType())))
    return "the results of its atomics depend on their order";
  Only = {Op, A.getType()};
  return "";
}

/// Returns true for pointers to shared memory of a block or a cluster.
static bool isShared(const Type *T) {
  auto *P = dyn_cast<PointerType>(T->getScalarType());
  return P && (P->getAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED ||
               P->getAddressSpace() == NVPTXAS::ADDRESS_SPACE_SHARED_CLUSTER);
}

/// Code can use shared memory without a variable, by a number as address.
static bool usesShared(const Value &V) {
  if (isShared(V.getType()))
    return true;
  auto *E = dyn_cast<ConstantExpr>(&V);
  return E &&
         any_of(E->operands(), [](const Use &U) { return usesShared(*U); });
}

static std::string checkInstruction(const Instruction &I,
                                    std::optional<AtomicKind> &Only) {
  if (usesShared(I) ||
      any_of(I.operands(), [](const Use &U) { return usesShared(*U); }))
    return "uses shared memory";
  if (auto *Call = dyn_cast<CallBase>(&I))
    return checkCall(*Call);
  if (auto *A = dyn_cast<AtomicRMWInst>(&I))
    return checkAtomic(*A, Only);
  if (I.isAtomic())
    return "the results of its atomics depend on their order";
  if (I.isVolatile())
    return "accesses volatile memory";
  if (auto *P = dyn_cast<PtrToIntInst>(&I))
    if (isa<AllocaInst>(getUnderlyingObject(P->getPointerOperand())))
      return "uses addresses of local memory as numbers";
  return "";
}

std::string mneme::findShapeDependence(Module &M, StringRef Kernel) {
  for (Function &F : M)
    if (!F.isDeclaration() && F.getName() != Kernel)
      F.setLinkage(GlobalValue::InternalLinkage);
  // What the source says in several functions and variables is then in one
  // expression. Transformations are correct for all launches.
  runPasses(M, "cgscc(inline),function(sroa,early-cse,"
               "instcombine<no-verify-fixpoint>,simplifycfg),globaldce");
  for (const GlobalVariable &G : M.globals())
    if (isShared(G.getType()))
      return "uses shared memory";
  std::optional<AtomicKind> Only;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (std::string Why = checkInstruction(I, Only); !Why.empty())
        return Why;
  return "";
}
