//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// HostIntrinsicsPass: special registers become placeholders, synchronization
/// becomes mneme.host.sync, and every other target intrinsic becomes a call of
/// its function in the intrinsic library. An intrinsic without a lowering
/// becomes an error that is raised only if it is executed.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "HostAsync.h"
#include "HostMatrix.h"
#include "IntrinsicLibrary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Intrinsics.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/PatternMatch.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

namespace {
/// Lowers intrinsics of one module. Each lower* function returns the value that
/// replaces the call, or null if there is no result or if the function has set
/// Unsupported.
class Lowering {
  Module &M;
  IntrinsicLibrary &Library;

public:
  Lowering(Module &M, IntrinsicLibrary &Library) : M(M), Library(Library) {}

  void run(CallInst &Call);
  void narrow(Instruction &I);

private:
  enum class LaneMask { eq, lt, le, gt, ge };

  bool Unsupported = false;

  Value *lower(IRBuilder<> &B, CallInst &Call);
  Value *lowerByName(IRBuilder<> &B, CallInst &Call);
  Value *lowerMatrix(IRBuilder<> &B, CallInst &Call, ArrayRef<StringRef> Name);
  Value *lowerBarrierObject(IRBuilder<> &B, CallInst &Call,
                            ArrayRef<StringRef> Name);

  Value *lowerLaneMask(IRBuilder<> &B, LaneMask Kind);
  Value *lowerBarrier(IRBuilder<> &B, CallInst &Call);
  Value *lowerBarrierRed(IRBuilder<> &B, CallInst &Call, unsigned Mode);
  Value *lowerShuffle(IRBuilder<> &B, CallInst &Call, unsigned Mode,
                      bool Masked);
  Value *lowerVote(IRBuilder<> &B, CallInst &Call, unsigned Mode, bool Masked);
  Value *lowerMatch(IRBuilder<> &B, CallInst &Call, unsigned Mode);
  Value *lowerRedux(IRBuilder<> &B, CallInst &Call, unsigned Mode);
  Value *lowerReduxFloat(IRBuilder<> &B, CallInst &Call, bool Maximum,
                         bool Absolute, bool NaNWins);
  Value *lowerCopy(IRBuilder<> &B, CallInst &Call, unsigned Size);

  Value *lowerAsyncCommit(IRBuilder<> &B, CallInst &Call);
  Value *lowerAsyncWait(IRBuilder<> &B, CallInst &Call);
  Value *lowerAsyncArrive(IRBuilder<> &B, CallInst &Call);
  Value *lowerBulkLoad(IRBuilder<> &B, CallInst &Call);
  Value *lowerBulkStore(IRBuilder<> &B, CallInst &Call);
  Value *lowerBarrierArrive(IRBuilder<> &B, CallInst &Call);
  Value *lowerSharedSize(IRBuilder<> &B, CallInst &Call);
  Value *lowerWarpSync(IRBuilder<> &B, CallInst &Call);
  Value *lowerActiveMask(IRBuilder<> &B, CallInst &Call);
  Value *lowerElect(IRBuilder<> &B, CallInst &Call);
  Value *lowerLoad(IRBuilder<> &B, CallInst &Call);
  Value *lowerAbsolute(IRBuilder<> &B, CallInst &Call);
  Value *lowerTrap(IRBuilder<> &B, CallInst &Call);

  Value *lowerDispatchPointer(IRBuilder<> &B, CallInst &Call);
  Value *lowerWaveSize(IRBuilder<> &B, CallInst &Call);
  Value *lowerBarrierSignal(IRBuilder<> &B, CallInst &Call);
  Value *lowerBarrierWait(IRBuilder<> &B, CallInst &Call);
  Value *lowerBallot(IRBuilder<> &B, CallInst &Call);
  Value *lowerCompareBallot(IRBuilder<> &B, CallInst &Call);
  Value *lowerInverseBallot(IRBuilder<> &B, CallInst &Call);
  Value *lowerReadRegister(IRBuilder<> &B, CallInst &Call);
  Value *lowerPermute(IRBuilder<> &B, CallInst &Call);
  Value *lowerFirstLane(IRBuilder<> &B, CallInst &Call);
  Value *lowerReadLane(IRBuilder<> &B, CallInst &Call);
};
} // namespace

//===----------------------------------------------------------------------===//
// NVPTX
//===----------------------------------------------------------------------===//

Value *Lowering::lowerLaneMask(IRBuilder<> &B, LaneMask Kind) {
  Value *Bit = B.CreateShl(B.getInt32(1), createPlaceholder(B, "laneid"));
  Value *Below = B.CreateSub(Bit, B.getInt32(1));
  switch (Kind) {
  case LaneMask::eq:
    return Bit;
  case LaneMask::lt:
    return Below;
  case LaneMask::le:
    return B.CreateOr(Below, Bit);
  case LaneMask::ge:
    return B.CreateNot(Below);
  case LaneMask::gt:
    return B.CreateNot(B.CreateOr(Below, Bit));
  }
  llvm_unreachable("covered switch");
}

/// Returns true if all threads of a warp must execute this very instruction.
static bool isAligned(const CallInst &Barrier) {
  return Barrier.getCalledFunction()->getName().contains(".aligned");
}

Value *Lowering::lowerBarrier(IRBuilder<> &B, CallInst &Call) {
  Value *Number = Call.arg_size() > 0 ? Call.getArgOperand(0) : B.getInt32(0);
  Value *Threads = Call.arg_size() > 1 ? Call.getArgOperand(1) : nullptr;
  createSync(B, MNEME_OP_BARRIER, 0, Number, nullptr, Threads,
             B.getInt32(isAligned(Call)));
  return nullptr;
}

Value *Lowering::lowerBarrierArrive(IRBuilder<> &B, CallInst &Call) {
  createSync(B, MNEME_OP_BARRIER_ARRIVE, 0, Call.getArgOperand(0), nullptr,
             Call.getArgOperand(1));
  return nullptr;
}

Value *Lowering::lowerBarrierRed(IRBuilder<> &B, CallInst &Call,
                                 unsigned Mode) {
  unsigned Last = Call.arg_size() - 1;
  Value *Threads = Last == 2 ? Call.getArgOperand(1) : nullptr;
  Value *R = createSync(B, MNEME_OP_BARRIER_RED, Mode, Call.getArgOperand(0),
                        toBits64(B, Call.getArgOperand(Last)), Threads,
                        B.getInt32(isAligned(Call)));
  return fromBits64(B, R, Call.getType());
}

/// Returns the structure {result of the sync, its second result as i1}.
static Value *createPair(IRBuilderBase &B, Value *First, Type *Ty) {
  Value *Second = createPlaceholder(B, "sync2");
  First = fromBits64(B, First, Ty->getStructElementType(0));
  Second = fromBits64(B, Second, Ty->getStructElementType(1));
  Value *R = B.CreateInsertValue(PoisonValue::get(Ty), First, 0);
  return B.CreateInsertValue(R, Second, 1);
}

Value *Lowering::lowerShuffle(IRBuilder<> &B, CallInst &Call, unsigned Mode,
                              bool Masked) {
  unsigned I = Masked ? 1 : 0;
  Value *Mask = Masked ? Call.getArgOperand(0) : nullptr;
  Value *R = createSync(B, MNEME_OP_SHUFFLE, Mode, Mask,
                        toBits64(B, Call.getArgOperand(I)),
                        Call.getArgOperand(I + 1), Call.getArgOperand(I + 2));
  Type *Ty = Call.getType();
  return Ty->isStructTy() ? createPair(B, R, Ty) : fromBits64(B, R, Ty);
}

Value *Lowering::lowerVote(IRBuilder<> &B, CallInst &Call, unsigned Mode,
                           bool Masked) {
  Value *Mask = Masked ? Call.getArgOperand(0) : nullptr;
  Value *R = createSync(B, MNEME_OP_VOTE, Mode, Mask,
                        toBits64(B, Call.getArgOperand(Masked ? 1 : 0)));
  return fromBits64(B, R, Call.getType());
}

Value *Lowering::lowerMatch(IRBuilder<> &B, CallInst &Call, unsigned Mode) {
  Value *R = createSync(B, MNEME_OP_MATCH, Mode, Call.getArgOperand(0),
                        toBits64(B, Call.getArgOperand(1)));
  Type *Ty = Call.getType();
  return Ty->isStructTy() ? createPair(B, R, Ty) : fromBits64(B, R, Ty);
}

Value *Lowering::lowerRedux(IRBuilder<> &B, CallInst &Call, unsigned Mode) {
  Value *R = createSync(B, MNEME_OP_REDUX, Mode, Call.getArgOperand(1),
                        toBits64(B, Call.getArgOperand(0)));
  return fromBits64(B, R, Call.getType());
}

Value *Lowering::lowerReduxFloat(IRBuilder<> &B, CallInst &Call, bool Maximum,
                                 bool Absolute, bool NaNWins) {
  Value *V = Call.getArgOperand(0);
  if (Absolute)
    V = B.CreateUnaryIntrinsic(Intrinsic::fabs, V);
  Value *NaN = B.getInt32(Maximum == NaNWins ? INT32_MAX : INT32_MIN);
  Value *Key = Library.call(B, Library.declare("mneme_redux_encode"), {V, NaN},
                            B.getInt32Ty());
  Value *R = createSync(B, MNEME_OP_REDUX, Maximum ? 2 : 1,
                        Call.getArgOperand(1), toBits64(B, Key));
  return Library.call(B, Library.declare("mneme_redux_decode"),
                      {fromBits64(B, R, B.getInt32Ty())}, Call.getType());
}

Value *Lowering::lowerCopy(IRBuilder<> &B, CallInst &Call, unsigned Size) {
  createAsyncCopy(B, Call.getArgOperand(0), Call.getArgOperand(1),
                  B.getInt32(Size),
                  Call.arg_size() > 2 ? Call.getArgOperand(2) : nullptr);
  return nullptr;
}

static bool isBulk(const CallInst &Call) {
  return Call.getCalledFunction()->getName().contains(".bulk.");
}

Value *Lowering::lowerAsyncCommit(IRBuilder<> &B, CallInst &Call) {
  createAsyncCommit(B, isBulk(Call));
  return nullptr;
}

Value *Lowering::lowerAsyncWait(IRBuilder<> &B, CallInst &Call) {
  // Waiting for all includes copies that belong to no group yet.
  if (Call.arg_size() == 0)
    createAsyncCommit(B, false);
  createAsyncWait(B, isBulk(Call),
                  Call.arg_size() ? Call.getArgOperand(0) : B.getInt32(0));
  return nullptr;
}

Value *Lowering::lowerAsyncArrive(IRBuilder<> &B, CallInst &Call) {
  createAsyncArrive(B, Call.getArgOperand(0),
                    Call.getCalledFunction()->getName().contains(".noinc"));
  return nullptr;
}

/// Arguments: to, barrier, from, size [, mask], [policy], flags.
Value *Lowering::lowerBulkLoad(IRBuilder<> &B, CallInst &Call) {
  bool IsMulticast = Call.arg_size() == 8 &&
                     !match(Call.getArgOperand(6), PatternMatch::m_Zero());
  createBulkLoad(B, Call.getArgOperand(0), Call.getArgOperand(2),
                 Call.getArgOperand(3), Call.getArgOperand(1),
                 IsMulticast ? Call.getArgOperand(4) : nullptr);
  return nullptr;
}

Value *Lowering::lowerBulkStore(IRBuilder<> &B, CallInst &Call) {
  createBulkStore(B, Call.getArgOperand(0), Call.getArgOperand(1),
                  Call.getArgOperand(2));
  return nullptr;
}

Value *Lowering::lowerSharedSize(IRBuilder<> &B, CallInst &) {
  return B.CreateAdd(createPlaceholder(B, "dynshared"),
                     createPlaceholder(B, "dynsize"));
}

Value *Lowering::lowerWarpSync(IRBuilder<> &B, CallInst &Call) {
  createSync(B, MNEME_OP_WARP_SYNC, 0, Call.getArgOperand(0));
  return nullptr;
}

Value *Lowering::lowerActiveMask(IRBuilder<> &B, CallInst &Call) {
  return fromBits64(B, createSync(B, MNEME_OP_CONVERGE), Call.getType());
}

/// The lowest lane of the mask is the leader.
Value *Lowering::lowerElect(IRBuilder<> &B, CallInst &Call) {
  Value *Mask = Call.getArgOperand(0);
  createSync(B, MNEME_OP_WARP_SYNC, 0, Mask);
  Value *Leader = B.CreateBinaryIntrinsic(Intrinsic::cttz, Mask, B.getFalse());
  Value *IsLeader = B.CreateICmpEQ(Leader, createPlaceholder(B, "laneid"));
  Value *R = B.CreateInsertValue(PoisonValue::get(Call.getType()), Leader, 0);
  return B.CreateInsertValue(R, IsLeader, 1);
}

Value *Lowering::lowerLoad(IRBuilder<> &B, CallInst &Call) {
  auto *Alignment = cast<ConstantInt>(Call.getArgOperand(1));
  return B.CreateAlignedLoad(Call.getType(), Call.getArgOperand(0),
                             Alignment->getMaybeAlignValue());
}

Value *Lowering::lowerAbsolute(IRBuilder<> &B, CallInst &Call) {
  return B.CreateUnaryIntrinsic(Intrinsic::fabs, Call.getArgOperand(0));
}

Value *Lowering::lowerTrap(IRBuilder<> &B, CallInst &) {
  B.CreateCall(M.getOrInsertFunction("__mneme_host_trap", B.getVoidTy()));
  return nullptr;
}

//===----------------------------------------------------------------------===//
// AMDGCN
//===----------------------------------------------------------------------===//

/// Builds an HSA kernel dispatch packet with the sizes, which code for older
/// code objects reads.
Value *Lowering::lowerDispatchPointer(IRBuilder<> &B, CallInst &Call) {
  constexpr unsigned PacketSize = 64, BlockSizes = 4, GridSizes = 12;
  BasicBlock &Entry = Call.getFunction()->getEntryBlock();
  IRBuilder<> AtEntry(&Entry, Entry.begin());
  AllocaInst *Packet = AtEntry.CreateAlloca(
      ArrayType::get(B.getInt8Ty(), PacketSize), nullptr, "dispatch");
  Packet->setAlignment(Align(8));
  B.CreateMemSet(Packet, B.getInt8(0), PacketSize, Align(8));
  static constexpr StringLiteral Axes[] = {"x", "y", "z"};
  for (unsigned I = 0; I != 3; ++I) {
    Value *Block = createPlaceholder(B, ("ntid." + Axes[I]).str());
    Value *Blocks = createPlaceholder(B, ("nctaid." + Axes[I]).str());
    B.CreateStore(
        B.CreateTrunc(Block, B.getInt16Ty()),
        B.CreateConstGEP1_32(B.getInt8Ty(), Packet, BlockSizes + 2 * I));
    B.CreateStore(
        B.CreateMul(Block, Blocks),
        B.CreateConstGEP1_32(B.getInt8Ty(), Packet, GridSizes + 4 * I));
  }
  return B.CreateAddrSpaceCast(Packet, Call.getType());
}

Value *Lowering::lowerWaveSize(IRBuilder<> &B, CallInst &Call) {
  return B.getInt32(getWaveSize(*Call.getFunction()));
}

/// A split barrier. All threads reach the second half, so the first half does
/// nothing.
Value *Lowering::lowerBarrierSignal(IRBuilder<> &, CallInst &Call) {
  Unsupported = !cast<ConstantInt>(Call.getArgOperand(0))->isMinusOne();
  return nullptr;
}

Value *Lowering::lowerBarrierWait(IRBuilder<> &B, CallInst &Call) {
  Unsupported = !cast<ConstantInt>(Call.getArgOperand(0))->isMinusOne();
  if (!Unsupported)
    createSync(B, MNEME_OP_BARRIER, 0, B.getInt32(0));
  return nullptr;
}

static Value *createBallot(IRBuilderBase &B, Value *Bit, Type *Ty) {
  Value *R = createSync(B, MNEME_OP_WAVE_BALLOT, 0, nullptr, toBits64(B, Bit));
  return fromBits64(B, R, Ty);
}

Value *Lowering::lowerBallot(IRBuilder<> &B, CallInst &Call) {
  return createBallot(B, Call.getArgOperand(0), Call.getType());
}

Value *Lowering::lowerCompareBallot(IRBuilder<> &B, CallInst &Call) {
  auto Predicate = static_cast<CmpInst::Predicate>(
      cast<ConstantInt>(Call.getArgOperand(2))->getZExtValue());
  Value *Bit =
      B.CreateCmp(Predicate, Call.getArgOperand(0), Call.getArgOperand(1));
  return createBallot(B, Bit, Call.getType());
}

Value *Lowering::lowerInverseBallot(IRBuilder<> &B, CallInst &Call) {
  Value *Mask = Call.getArgOperand(0);
  Value *Lane =
      B.CreateZExtOrTrunc(createPlaceholder(B, "laneid"), Mask->getType());
  return B.CreateTrunc(B.CreateLShr(Mask, Lane), Call.getType());
}

/// The mask of active lanes; no other register has a meaning here.
Value *Lowering::lowerReadRegister(IRBuilder<> &B, CallInst &Call) {
  auto *Name =
      cast<MDNode>(cast<MetadataAsValue>(Call.getArgOperand(0))->getMetadata());
  StringRef Register = cast<MDString>(Name->getOperand(0))->getString();
  bool IsHigh = Register == "exec_hi";
  Unsupported = !IsHigh && Register != "exec_lo" && Register != "exec";
  if (Unsupported)
    return nullptr;
  Value *Mask = createBallot(B, B.getTrue(), B.getInt64Ty());
  return B.CreateTrunc(IsHigh ? B.CreateLShr(Mask, 32) : Mask, Call.getType());
}

Value *Lowering::lowerPermute(IRBuilder<> &B, CallInst &Call) {
  Value *R =
      createSync(B, MNEME_OP_WAVE_PERMUTE, 0, nullptr,
                 toBits64(B, Call.getArgOperand(1)), Call.getArgOperand(0));
  return fromBits64(B, R, Call.getType());
}

/// \returns whether a value fits into the 64 bits of a sync operand.
static bool fitsSync(Value *V) {
  Type *Ty = V->getType();
  return Ty->isPointerTy() ||
         (Ty->isSingleValueType() && Ty->getPrimitiveSizeInBits() <= 64);
}

Value *Lowering::lowerFirstLane(IRBuilder<> &B, CallInst &Call) {
  Unsupported = !fitsSync(Call.getArgOperand(0));
  if (Unsupported)
    return nullptr;
  Value *R = createSync(B, MNEME_OP_WAVE_FIRST, 0, nullptr,
                        toBits64(B, Call.getArgOperand(0)));
  return fromBits64(B, R, Call.getType());
}

Value *Lowering::lowerReadLane(IRBuilder<> &B, CallInst &Call) {
  Unsupported = !fitsSync(Call.getArgOperand(0));
  if (Unsupported)
    return nullptr;
  Value *R =
      createSync(B, MNEME_OP_WAVE_READLANE, 0, nullptr,
                 toBits64(B, Call.getArgOperand(0)), Call.getArgOperand(1));
  return fromBits64(B, R, Call.getType());
}

//===----------------------------------------------------------------------===//
// Dispatch
//===----------------------------------------------------------------------===//

/// llvm.nvvm.add.rm.f -> mneme_nvvm_add_rm_f
static std::string getLibraryName(StringRef Intrinsic) {
  Intrinsic.consume_front("llvm.");
  std::string Name = ("mneme_" + Intrinsic).str();
  llvm::replace(Name, '.', '_');
  return Name;
}

/// \returns the name without the address spaces of pointers: ".p0", ".p1".
static std::string dropPointers(StringRef Name) {
  SmallVector<StringRef, 8> Parts, Kept;
  Name.split(Parts, '.');
  for (StringRef Part : Parts) {
    unsigned Space;
    StringRef Rest = Part;
    if (!Rest.consume_front("p") || Rest.getAsInteger(10, Space))
      Kept.push_back(Part);
  }
  return join(Kept, ".");
}

Value *Lowering::lowerByName(IRBuilder<> &B, CallInst &Call) {
  Function &F = *Call.getCalledFunction();
  SmallVector<Value *, 8> Args(Call.args());
  Type *Ty = Call.getType();

  // The overloaded name first, then the base name.
  for (const std::string &Name :
       {dropPointers(F.getName()),
        Intrinsic::getBaseName(F.getIntrinsicID()).str()}) {
    std::string Found = getLibraryName(Name);
    if (auto *ST = dyn_cast<StructType>(Ty)) {
      Value *R = PoisonValue::get(ST);
      for (auto [I, ElementTy] : enumerate(ST->elements())) {
        Function *Element = Library.declare(Found + "_" + utostr(I));
        Value *V =
            Element ? Library.call(B, Element, Args, ElementTy) : nullptr;
        R = V && R ? B.CreateInsertValue(R, V, I) : nullptr;
      }
      if (R)
        return R;
      continue;
    }
    if (Function *Body = Library.declare(Found))
      if (Value *R = Library.call(B, Body, Args, Ty))
        return R;
  }
  Unsupported = true;
  return nullptr;
}

/// \returns the parts of a name, without llvm.nvvm.
static SmallVector<StringRef, 8> splitName(StringRef Name) {
  SmallVector<StringRef, 8> Parts;
  if (Name.consume_front("llvm.nvvm."))
    Name.split(Parts, '.');
  return Parts;
}

Value *Lowering::lowerBarrierObject(IRBuilder<> &B, CallInst &Call,
                                    ArrayRef<StringRef> Name) {
  std::optional<BarrierOperation> O = parseBarrier(Name.drop_front());
  Unsupported = !O;
  if (!O)
    return nullptr;
  Value *R =
      createBarrier(B, *O, Call.getArgOperand(0),
                    Call.arg_size() > 1 ? Call.getArgOperand(1) : nullptr);
  return Call.getType()->isVoidTy() ? nullptr
                                    : convertBits(B, R, Call.getType());
}

Value *Lowering::lowerMatrix(IRBuilder<> &B, CallInst &Call,
                             ArrayRef<StringRef> Name) {
  std::optional<MatrixInstruction> I = parseMatrix(Name);
  Unsupported = !I;
  if (!I)
    return nullptr;
  // The address, the registers, the stride of wmma.
  SmallVector<Value *, 24> Args(Call.args()), Inputs;
  Value *Address = nullptr, *Stride = nullptr;
  if (I->Kind != MatrixInstruction::Multiply) {
    Address = Args.front();
    Args.erase(Args.begin());
    if (Args.size() > I->getNumInputs())
      Stride = Args.pop_back_val();
  }
  Type *Register = I->getRegisterTy(M.getContext());
  for (Value *Arg : Args)
    Inputs.push_back(convertBits(B, Arg, Register));
  auto *Struct = dyn_cast<StructType>(Call.getType());
  unsigned NumResults =
      Struct ? Struct->getNumElements() : !Call.getType()->isVoidTy();
  Unsupported =
      Inputs.size() != I->getNumInputs() || NumResults != I->getNumOutputs();
  if (Unsupported)
    return nullptr;
  SmallVector<Value *, 8> Results =
      createMatrix(B, Library, *I, Inputs, Address, Stride);
  if (!Struct)
    return NumResults ? convertBits(B, Results.front(), Call.getType())
                      : nullptr;
  Value *R = PoisonValue::get(Struct);
  for (auto [N, V] : enumerate(Results))
    R = B.CreateInsertValue(R, convertBits(B, V, Struct->getElementType(N)), N);
  return R;
}

Value *Lowering::lower(IRBuilder<> &B, CallInst &Call) {
  switch (Call.getIntrinsicID()) {
#define PLACEHOLDER(ID, NAME)                                                  \
  case Intrinsic::ID:                                                          \
    return convertBits(B, createPlaceholder(B, NAME), Call.getType());
#define CONSTANT(ID, VALUE)                                                    \
  case Intrinsic::ID:                                                          \
    return ConstantInt::get(Call.getType(), VALUE);
#define NOTHING(ID)                                                            \
  case Intrinsic::ID:                                                          \
    return nullptr;
#define IDENTITY(ID)                                                           \
  case Intrinsic::ID:                                                          \
    return convertBits(B, Call.getArgOperand(0), Call.getType());
#define LANE_MASK(ID, KIND)                                                    \
  case Intrinsic::ID:                                                          \
    return lowerLaneMask(B, LaneMask::KIND);
#define SYNC(ID, OP)                                                           \
  case Intrinsic::ID:                                                          \
    createSync(B, OP);                                                         \
    return nullptr;
#define BARRIER(ID)                                                            \
  case Intrinsic::ID:                                                          \
    return lowerBarrier(B, Call);
#define BARRIER_RED(ID, MODE)                                                  \
  case Intrinsic::ID:                                                          \
    return lowerBarrierRed(B, Call, MODE);
#define SHUFFLE(ID, MODE, MASKED)                                              \
  case Intrinsic::ID:                                                          \
    return lowerShuffle(B, Call, MODE, MASKED);
#define VOTE(ID, MODE, MASKED)                                                 \
  case Intrinsic::ID:                                                          \
    return lowerVote(B, Call, MODE, MASKED);
#define MATCH(ID, MODE)                                                        \
  case Intrinsic::ID:                                                          \
    return lowerMatch(B, Call, MODE);
#define REDUX(ID, MODE)                                                        \
  case Intrinsic::ID:                                                          \
    return lowerRedux(B, Call, MODE);
#define REDUX_FLOAT(ID, MAXIMUM, ABSOLUTE, NAN_WINS)                           \
  case Intrinsic::ID:                                                          \
    return lowerReduxFloat(B, Call, MAXIMUM, ABSOLUTE, NAN_WINS);
#define FENCE(ID)                                                              \
  case Intrinsic::ID:                                                          \
    B.CreateFence(AtomicOrdering::AcquireRelease);                             \
    return nullptr;
#define COPY(ID, SIZE)                                                         \
  case Intrinsic::ID:                                                          \
    return lowerCopy(B, Call, SIZE);
#define OTHER(ID, FUNCTION)                                                    \
  case Intrinsic::ID:                                                          \
    return FUNCTION(B, Call);
#include "HostIntrinsics.def"
  default:
    break;
  }
  SmallVector<StringRef, 8> Name =
      splitName(Call.getCalledFunction()->getName());
  StringRef First = Name.empty() ? StringRef() : Name.front();
  if (is_contained({"mma", "wmma", "ldmatrix", "stmatrix"}, First))
    return lowerMatrix(B, Call, Name);
  if (First == "mbarrier")
    return lowerBarrierObject(B, Call, Name);
  return lowerByName(B, Call);
}

void Lowering::run(CallInst &Call) {
  IRBuilder<> B(&Call);
  Unsupported = false;
  Value *Result = lower(B, Call);
  if (Unsupported) {
    createUnsupported(B, Call.getCalledFunction()->getName());
    Result = nullptr;
  }
  if (!Call.getType()->isVoidTy())
    Call.replaceAllUsesWith(Result ? Result
                                   : Constant::getNullValue(Call.getType()));
  Call.eraseFromParent();
}

//===----------------------------------------------------------------------===//
// Formats for which the host's code generator would call the compiler's
// run-time library
//===----------------------------------------------------------------------===//

/// Rewrites a truncation to bfloat, or from double to half.
void Lowering::narrow(Instruction &I) {
  auto *Trunc = dyn_cast<FPTruncInst>(&I);
  if (!Trunc || Trunc->getType()->isVectorTy())
    return;
  Type *From = Trunc->getSrcTy(), *To = Trunc->getDestTy();
  StringRef Name;
  if (To->isBFloatTy() && From->isFloatTy())
    Name = "mneme_nvvm_f2bf16_rn";
  else if (To->isBFloatTy() && From->isDoubleTy())
    Name = "mneme_ptx_bf16_f64_rn";
  else if (To->isHalfTy() && From->isDoubleTy())
    Name = "mneme_ptx_f16_f64_rn";
  else
    return;
  IRBuilder<> B(Trunc);
  Trunc->replaceAllUsesWith(
      Library.call(B, Library.declare(Name), {Trunc->getOperand(0)}, To));
  Trunc->eraseFromParent();
}

/// Computes bfloat arithmetic in float. The second rounding is harmless,
/// because float has more than twice the precision of bfloat.
static void widenBFloat(Instruction &I) {
  auto *Op = dyn_cast<BinaryOperator>(&I);
  if (!Op || !Op->getType()->isBFloatTy())
    return;
  IRBuilder<> B(Op);
  B.setFastMathFlags(Op->getFastMathFlags());
  Type *Float = B.getFloatTy();
  Value *R =
      B.CreateBinOp(Op->getOpcode(), B.CreateFPExt(Op->getOperand(0), Float),
                    B.CreateFPExt(Op->getOperand(1), Float));
  Op->replaceAllUsesWith(B.CreateFPTrunc(R, Op->getType()));
  Op->eraseFromParent();
}

static bool isForLowering(const CallInst &Call) {
  const Function *F = Call.getCalledFunction();
  if (!F || !F->isIntrinsic())
    return false;
  // Intrinsics of a newer or older LLVM have no ID. An error names them if they
  // are executed.
  if (F->isTargetIntrinsic() || F->getIntrinsicID() == Intrinsic::not_intrinsic)
    return true;
  switch (F->getIntrinsicID()) {
  case Intrinsic::trap:
  case Intrinsic::debugtrap:
  case Intrinsic::ubsantrap:
  case Intrinsic::readsteadycounter:
  case Intrinsic::read_register:
    return true;
  default:
    return false;
  }
}

PreservedAnalyses HostIntrinsicsPass::run(Module &M, ModuleAnalysisManager &) {
  IntrinsicLibrary Library(M);
  Lowering L(M, Library);
  for (Function &F : M) {
    for (Instruction &I : make_early_inc_range(instructions(F)))
      widenBFloat(I);
    for (Instruction &I : make_early_inc_range(instructions(F)))
      if (auto *Call = dyn_cast<CallInst>(&I); Call && isForLowering(*Call))
        L.run(*Call);
      else
        L.narrow(I);
  }
  createMatrixFrames(M);
  if (Error E = Library.link())
    setLoweringError(M, toString(std::move(E)));
  renumberSites(M);
  for (Function &F : make_early_inc_range(M))
    if (F.isIntrinsic() && F.use_empty())
      F.eraseFromParent();
  return PreservedAnalyses::none();
}
