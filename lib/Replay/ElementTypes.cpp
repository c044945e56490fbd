//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/GetElementPtrTypeIterator.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/IRUtils/AsmAccess.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <map>
#include <numeric>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

/// Returns MNEME_DTYPE_BYTES for other types. The IR does not distinguish
/// signed from unsigned integers.
static uint32_t getDType(Type *Ty) {
  Ty = Ty->getScalarType();
  if (Ty->isHalfTy())
    return MNEME_DTYPE_F16;
  if (Ty->isBFloatTy())
    return MNEME_DTYPE_BF16;
  if (Ty->isFloatTy())
    return MNEME_DTYPE_F32;
  if (Ty->isDoubleTy())
    return MNEME_DTYPE_F64;
  if (Ty->isIntegerTy(8))
    return MNEME_DTYPE_I8;
  if (Ty->isIntegerTy(16))
    return MNEME_DTYPE_I16;
  if (Ty->isIntegerTy(32))
    return MNEME_DTYPE_I32;
  if (Ty->isIntegerTy(64))
    return MNEME_DTYPE_I64;
  return MNEME_DTYPE_BYTES;
}

void LoadedValues::merge(const LoadedValues &Other) {
  FindsWrites |= Other.FindsWrites;
  FindsReads |= Other.FindsReads;
  EndsLoops |= Other.EndsLoops;
  if (!Range)
    Range = Other.Range;
  else if (Other.Range && Range->getBitWidth() == Other.Range->getBitWidth())
    Range = Range->unionWith(*Other.Range);
  else if (Other.Range)
    Range = ConstantRange::getFull(Range->getBitWidth());
}

/// Returns the values that the IR permits a load of an integer to have; unset
/// for other types.
static std::optional<ConstantRange> getRange(const Instruction &I) {
  auto *Ty = dyn_cast<IntegerType>(I.getType()->getScalarType());
  if (!Ty)
    return std::nullopt;
  auto Range = ConstantRange::getFull(Ty->getBitWidth());
  const auto *Load = dyn_cast<LoadInst>(&I);
  if (!Load || Load->getType()->isVectorTy())
    return Range;
  if (const MDNode *Facts = Load->getMetadata(LLVMContext::MD_range))
    Range = getConstantRangeFromMetadata(*Facts);
  // A bool in memory.
  unsigned Bits = 0;
  for (const User *U : Load->users()) {
    const auto *Trunc = dyn_cast<TruncInst>(U);
    if (!Trunc || !Trunc->hasNoUnsignedWrap())
      return Range;
    Bits = std::max(Bits, Trunc->getType()->getScalarSizeInBits());
  }
  if (Bits)
    Range = Range.intersectWith(
        ConstantRange(APInt(Ty->getBitWidth(), 0),
                      APInt::getOneBitSet(Ty->getBitWidth(), Bits)));
  return Range;
}

namespace {
/// Maps pointers of a kernel to regions.
class RegionFinder {
public:
  RegionFinder(const ReplayPlan &Plan, const DataLayout &DL)
      : State(Plan.state()), DL(DL) {}

  /// A place in a region.
  struct Place {
    size_t Region;
    uint64_t Offset;
  };

  std::optional<size_t> find(const Value *Pointer) const {
    std::optional<Place> P = findObject(getUnderlyingObject(Pointer));
    return P ? std::optional(P->Region) : std::nullopt;
  }

  /// Returns where the object of a pointer begins.
  std::optional<Place> findObject(const Value *Object) const {
    if (auto *A = dyn_cast<Argument>(Object))
      return isStructure(*A) ? std::nullopt : findInArgument(*A, 0);
    if (auto *G = dyn_cast<GlobalVariable>(Object))
      return findVariable(G->getName());
    // A pointer in a structure that is passed by value.
    auto *Load = dyn_cast<LoadInst>(Object);
    if (!Load)
      return std::nullopt;
    APInt Offset(DL.getIndexTypeSizeInBits(Load->getPointerOperandType()), 0);
    auto *A = dyn_cast<Argument>(
        Load->getPointerOperand()->stripAndAccumulateConstantOffsets(
            DL, Offset, /*AllowNonInbounds=*/true));
    if (!A || !isStructure(*A))
      return std::nullopt;
    return findInArgument(*A, Offset.getSExtValue());
  }

private:
  const RecordedState &State;
  const DataLayout &DL;

  /// CUDA's kernels have byval parameters, HIP's byref.
  static bool isStructure(const Argument &A) {
    return A.hasByValAttr() || A.hasByRefAttr();
  }

  std::optional<Place> findInArgument(const Argument &A,
                                      uint64_t Offset) const {
    StringRef Bytes = State.args()[A.getArgNo()];
    if (Offset > Bytes.size() || Bytes.size() - Offset < 8)
      return std::nullopt;
    uint64_t Address = support::endian::read64le(Bytes.data() + Offset);
    std::optional<size_t> Region = State.findRegionOf(Address);
    if (!Region)
      return std::nullopt;
    return Place{*Region, Address - State.regions()[*Region].Info.Address};
  }

  std::optional<Place> findVariable(StringRef Name) const {
    for (auto [I, R] : enumerate(State.regions()))
      if (R.Info.IsGlobal && R.Info.Name == Name)
        return Place{I, 0};
    return std::nullopt;
  }
};
} // namespace

/// Returns the stride of the outermost variable index of \p Pointer, which
/// selects a record; further indices select its members. 0 if there is none.
static uint32_t findStride(const Value *Pointer, const DataLayout &DL) {
  uint64_t Stride = 0;
  while (auto *GEP = dyn_cast<GEPOperator>(Pointer)) {
    for (auto It = gep_type_begin(GEP), End = gep_type_end(GEP); It != End;
         ++It)
      if (It.isSequential() && !isa<Constant>(It.getOperand()))
        Stride = std::max<uint64_t>(Stride, It.getSequentialElementStride(DL));
    Pointer = GEP->getPointerOperand();
  }
  return isUInt<31>(Stride) ? Stride : 0;
}

namespace {
/// An access to a region.
struct RegionAccess {
  uint64_t Offset = 0; ///< In the region, with variable indices of 0.
  uint64_t Stride = 0; ///< Common divisor of the variable indices' strides.
  uint32_t DType;
  uint32_t Size, Count; ///< Of the elements; vectors have several.
  bool IsLoad;
  LoadedValues Values;
  SmallVector<size_t, 2> To; ///< Regions that the loaded value gets to.
};
} // namespace

/// Sets the offset and the stride of an access by \p Pointer, and returns the
/// object that these begin with.
static const Value *findPlace(const Value *Pointer, const DataLayout &DL,
                              RegionAccess &A) {
  while (true) {
    if (Operator::getOpcode(Pointer) == Instruction::AddrSpaceCast) {
      Pointer = cast<Operator>(Pointer)->getOperand(0);
      continue;
    }
    auto *GEP = dyn_cast<GEPOperator>(Pointer);
    if (!GEP)
      return Pointer;
    unsigned Bits = DL.getIndexTypeSizeInBits(GEP->getType());
    SmallMapVector<Value *, APInt, 4> Variable;
    APInt Constant(Bits, 0);
    if (!GEP->collectOffset(DL, Bits, Variable, Constant))
      return nullptr;
    A.Offset += Constant.getSExtValue();
    for (const auto &[Index, Stride] : Variable)
      A.Stride = std::gcd(A.Stride, Stride.abs().getZExtValue());
    Pointer = GEP->getPointerOperand();
  }
}

/// Determines the records of a region, if all accesses have the same stride.
static RecordLayout findRecords(ArrayRef<RegionAccess> All, uint64_t Size) {
  uint64_t Stride = 0;
  for (const RegionAccess &A : All) {
    if (A.Stride && Stride && A.Stride != Stride)
      return {};
    Stride = std::max(Stride, A.Stride);
  }
  if (!Stride)
    Stride = Size; // It is one record.
  if (!Stride || !isUInt<31>(Stride))
    return {};
  RecordLayout L;
  L.Size = Stride;
  std::map<uint32_t, RecordMember> Members;
  for (const RegionAccess &A : All)
    for (uint32_t I = 0; I != A.Count; ++I) {
      uint32_t At = (A.Offset + uint64_t(I) * A.Size) % Stride;
      auto [It, IsNew] =
          Members.insert({At, {At, A.Size, A.DType, A.IsLoad, A.Values}});
      if (IsNew)
        continue;
      RecordMember &M = It->second;
      M.IsRead |= A.IsLoad;
      M.Values.merge(A.Values);
      M.Size = std::max(M.Size, A.Size);
      if (M.DType != A.DType)
        M.DType = MNEME_DTYPE_BYTES;
    }
  for (auto &[Offset, M] : Members) {
    // Members that overlap have several types.
    if (!L.Members.empty()) {
      RecordMember &Last = L.Members.back();
      if (Last.Offset + Last.Size > Offset)
        Last.DType = M.DType = MNEME_DTYPE_BYTES;
    }
    if (Offset + M.Size > Stride)
      M.DType = MNEME_DTYPE_BYTES;
    L.Members.push_back(M);
  }
  return L;
}

static bool isShared(const Value &Object) {
  constexpr unsigned Shared = 3;
  const auto *G = dyn_cast<GlobalVariable>(&Object);
  return G && G->getAddressSpace() == Shared;
}

namespace {
/// Follows loaded values through registers and the launch's own memory.
class ValueFlow {
public:
  explicit ValueFlow(Function &F) : DT(F), Loops(DT) {
    for (const Instruction &I : instructions(F))
      if (const auto *Load = dyn_cast<LoadInst>(&I))
        LoadsOf[getUnderlyingObject(Load->getPointerOperand(), 0)].push_back(
            Load);
  }

  /// \param NoteStore  is told of each other place that the value gets to; it
  /// returns false if that is not known.
  LoadedValues follow(const Instruction &Load,
                      function_ref<bool(const Value &)> NoteStore) const;

private:
  DominatorTree DT;
  LoopInfo Loops;
  DenseMap<const Value *, SmallVector<const LoadInst *, 4>> LoadsOf;
};
} // namespace

LoadedValues
ValueFlow::follow(const Instruction &Load,
                  function_ref<bool(const Value &)> NoteStore) const {
  const LoadedValues Anything = {true, true, true, getRange(Load)};
  LoadedValues D;
  D.Range = Anything.Range;
  SmallVector<const Value *, 16> Values = {&Load};
  SmallPtrSet<const Value *, 16> Seen;
  while (!Values.empty() && !D.decideAll()) {
    const Value *V = Values.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    bool IsPointer = V->getType()->isPtrOrPtrVectorTy();
    for (const User *U : V->users()) {
      const auto *I = dyn_cast<Instruction>(U);
      if (!I || (isa<CallBase>(I) && !isa<IntrinsicInst>(I)))
        return Anything;
      if (isa<StoreInst, AtomicRMWInst, AtomicCmpXchgInst>(I)) {
        const Value *Pointer = getLoadStorePointerOperand(I);
        if (!Pointer)
          Pointer = I->getOperand(0);
        const Value *Object = getUnderlyingObject(Pointer, 0);
        if (Pointer == V)
          D.FindsWrites = true;
        else if (isa<AllocaInst>(Object) || isShared(*Object))
          append_range(Values, LoadsOf.lookup(Object));
        else if (!NoteStore(*Pointer))
          return Anything;
      } else if (isa<LoadInst>(I)) {
        D.FindsReads = true;
      } else if (I->isTerminator()) {
        const Loop *L = Loops.getLoopFor(I->getParent());
        D.EndsLoops |= L && L->isLoopExiting(I->getParent());
      } else {
        // Intrinsics may access memory at an address.
        if (IsPointer && isa<IntrinsicInst>(I))
          D.FindsReads = D.FindsWrites = true;
        Values.push_back(I);
      }
    }
  }
  return D;
}

/// Describes which fast-math flags of \p M permit different rounding.
static std::string describeRounding(const Module &M) {
  bool Reassociates = false, Contracts = false, Approximates = false;
  for (const Function &F : M)
    for (const Instruction &I : instructions(F))
      if (auto *FP = dyn_cast<FPMathOperator>(&I)) {
        Reassociates |= FP->hasAllowReassoc();
        Contracts |= FP->hasAllowContract();
        Approximates |= FP->hasApproxFunc() || FP->hasAllowReciprocal();
      }
  SmallVector<StringRef, 3> Allowed;
  if (Reassociates)
    Allowed.push_back("reassociation");
  if (Contracts)
    Allowed.push_back("contraction");
  if (Approximates)
    Allowed.push_back("approximation");
  return join(Allowed, " and ");
}

/// Returns true for memory of the launch itself, constants and functions.
static bool isOwn(const Value &Pointer) {
  if (!Pointer.getType()->isPtrOrPtrVectorTy())
    return false;
  const Value *Object = getUnderlyingObject(&Pointer, /*MaxLookup=*/0);
  if (const auto *A = dyn_cast<Argument>(Object))
    return A->getPointeeInMemoryValueType();
  if (const auto *G = dyn_cast<GlobalVariable>(Object)) {
    constexpr unsigned Shared = 3, Local = 5;
    return (G->isConstant() && !G->isExternallyInitialized()) ||
           is_contained({Shared, Local}, G->getAddressSpace());
  }
  return isa<AllocaInst, Constant>(Object);
}

/// Returns true for a call of a function that was not inlined: it may read
/// variables and what its arguments point to.
static bool isOtherCode(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
  return Call && (!Callee || !Callee->isDeclaration());
}

/// Returns true for a store through a handle.
static bool isSurfaceStore(const Instruction &I) {
  const auto *Call = dyn_cast<CallBase>(&I);
  if (!Call)
    return false;
  if (const auto *Asm = dyn_cast<InlineAsm>(Call->getCalledOperand()))
    return Asm->getAsmString().contains("sust.");
  const Function *Callee = Call->getCalledFunction();
  return Callee && Callee->getName().starts_with("llvm.nvvm.sust.");
}

/// Returns the type of the elements that an intrinsic loads or stores; null if
/// it is not known, as for asynchronous copies.
static Type *findAccessedType(const IntrinsicInst &I, bool IsStore) {
  StringRef Name = I.getCalledFunction()->getName();
  if (isa<AnyMemIntrinsic>(I) || Name.contains(".cp.async."))
    return nullptr;
  Type *Ty = I.getType();
  if (auto *Parts = dyn_cast<StructType>(Ty))
    Ty = Parts->getNumElements() ? Parts->getElementType(0) : nullptr;
  if (IsStore)
    for (const Use &A : I.args())
      if (!A->getType()->isPointerTy())
        return A->getType();
  return !Ty || Ty->isVoidTy() ? nullptr : Ty;
}

/// Makes one function of a kernel and what it calls, for analyses only.
static void inlineAll(Module &M, StringRef Kernel) {
  for (Function &F : M) {
    if (F.isDeclaration())
      continue;
    F.removeFnAttr(Attribute::OptimizeNone);
    F.removeFnAttr(Attribute::NoInline);
    if (F.getName() != Kernel)
      F.addFnAttr(Attribute::AlwaysInline);
  }
  runPasses(M, "always-inline");
}

ElementTypes mneme::inferElementTypes(const ReplayPlan &Plan,
                                      bool FollowsValues) {
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  ElementTypes Types;
  Types.Rounding = describeRounding(*M);
  inlineAll(*M, Plan.kernel().KernelName);
  runPasses(*M, "function(sroa,early-cse)");
  castPointersDirectly(*M);
  Types.OfRegion.resize(Plan.state().regions().size(), MNEME_DTYPE_BYTES);
  Types.StrideOfRegion.resize(Types.OfRegion.size());
  Types.OfAccess = Types.OfRegion;
  Types.IsRead.resize(Types.OfRegion.size());
  Types.IsWritten = Types.IsRead;
  Types.OfLoads.resize(Types.OfRegion.size());
  Types.Records.resize(Types.OfRegion.size());
  std::vector<std::vector<RegionAccess>> Accesses(Types.OfRegion.size());
  std::vector<bool> NoRecords(Types.OfRegion.size());
  std::vector<bool> Seen(Types.OfRegion.size()), Accessed = Seen;
  auto Merge = [](uint32_t &Known, std::vector<bool>::reference Seen,
                  uint32_t DType) {
    Known = !Seen || Known == DType ? DType : uint32_t(MNEME_DTYPE_BYTES);
    Seen = true;
  };
  RegionFinder Regions(Plan, M->getDataLayout());
  Function &Kernel = *M->getFunction(Plan.kernel().KernelName);
  ValueFlow Flow(Kernel);
  auto Note = [&](const Instruction &I, const Value *Pointer, Type *Ty,
                  bool IsLoad, bool IsStore) {
    if (const auto *Cast = dyn_cast<PtrToIntOperator>(Pointer))
      Pointer = Cast->getPointerOperand();
    std::optional<size_t> Region = Regions.find(Pointer);
    if (!Region) {
      Types.ReadsUnknown |= IsLoad && !isOwn(*Pointer);
      return;
    }
    uint32_t DType = Ty ? getDType(Ty) : uint32_t(MNEME_DTYPE_BYTES);
    Merge(Types.OfAccess[*Region], Accessed[*Region], DType);
    if (IsLoad)
      Types.IsRead[*Region] = true;
    if (!Ty) {
      NoRecords[*Region] = true;
    } else if (FollowsValues) {
      const DataLayout &DL = M->getDataLayout();
      RegionAccess A;
      const Value *Object = findPlace(Pointer, DL, A);
      std::optional<RegionFinder::Place> P;
      if (Object)
        P = Regions.findObject(Object);
      auto *Vector = dyn_cast<FixedVectorType>(Ty);
      if (P && !isa<ScalableVectorType>(Ty))
        A.Offset += P->Offset;
      else
        NoRecords[*Region] = true;
      A.DType = DType;
      A.Size = DL.getTypeStoreSize(Ty->getScalarType());
      A.Count = Vector ? Vector->getNumElements() : 1;
      A.IsLoad = IsLoad;
      if (IsLoad)
        A.Values = Flow.follow(I, [&](const Value &To) {
          std::optional<size_t> Other = Regions.find(&To);
          if (Other)
            A.To.push_back(*Other);
          return Other.has_value();
        });
      Types.OfLoads[*Region].merge(A.Values);
      Accesses[*Region].push_back(std::move(A));
    }
    if (!IsStore)
      return;
    Types.IsWritten[*Region] = true;
    uint32_t &Stride = Types.StrideOfRegion[*Region];
    Stride = std::max(Stride, findStride(Pointer, M->getDataLayout()));
    Merge(Types.OfRegion[*Region], Seen[*Region], DType);
  };
  auto NoteOther = [&](const IntrinsicInst &I, const Use &Pointer) {
    unsigned Index = I.getArgOperandNo(&Pointer);
    bool IsLoad =
        I.mayReadFromMemory() && !I.paramHasAttr(Index, Attribute::WriteOnly);
    bool IsStore = I.mayWriteToMemory() && !I.onlyReadsMemory(Index);
    std::optional<size_t> Region = Regions.find(Pointer.get());
    if (!Region) {
      Types.ReadsUnknown |= IsLoad && !isOwn(*Pointer);
      Types.WritesUnknown |= IsStore && !isOwn(*Pointer);
      return;
    }
    if (Type *Ty = findAccessedType(I, IsStore)) {
      Merge(Types.OfAccess[*Region], Accessed[*Region], getDType(Ty));
      NoRecords[*Region] = true;
    }
    if (IsLoad)
      Types.IsRead[*Region] = true;
    if (IsStore)
      Types.IsWritten[*Region] = true;
  };
  for (Instruction &I : instructions(Kernel)) {
    Types.WritesUnknown |= isSurfaceStore(I);
    if (auto *FP = dyn_cast<FPMathOperator>(&I))
      Types.PromisesFinite |= FP->hasNoNaNs() || FP->hasNoInfs();
    if (auto *Store = dyn_cast<StoreInst>(&I))
      Note(I, Store->getPointerOperand(), Store->getValueOperand()->getType(),
           /*IsLoad=*/false, /*IsStore=*/true);
    else if (auto *RMW = dyn_cast<AtomicRMWInst>(&I))
      Note(I, RMW->getPointerOperand(), RMW->getType(), /*IsLoad=*/true,
           /*IsStore=*/true);
    else if (auto *Load = dyn_cast<LoadInst>(&I))
      Note(I, Load->getPointerOperand(), Load->getType(), /*IsLoad=*/true,
           /*IsStore=*/false);
    else if (auto *Call = dyn_cast<CallBase>(&I); Call && Call->isInlineAsm())
      for (const AsmAccess &A : findAsmAccesses(*Call)) {
        if (!A.IsOwn && (A.IsLoad || A.IsStore))
          Note(I, A.Address, A.Ty, A.IsLoad, A.IsStore);
      }
    else if (auto *II = dyn_cast<IntrinsicInst>(&I)) {
      for (const Use &A : II->args())
        if (II->mayReadOrWriteMemory() && A->getType()->isPointerTy()) {
          NoteOther(*II, A);
        } else if (A->getType()->isPtrOrPtrVectorTy() && !isOwn(*A)) {
          Types.ReadsUnknown |= II->mayReadFromMemory();
          Types.WritesUnknown |= II->mayWriteToMemory();
        }
    } else if (I.mayReadFromMemory())
      Types.ReadsUnknown |=
          isOtherCode(I) || any_of(I.operands(), [](const Use &Operand) {
            return Operand->getType()->isPtrOrPtrVectorTy() && !isOwn(*Operand);
          });
  }
  // What gets to a region decides what its values decide.
  for (size_t Round = 0; Round != Types.IsRead.size(); ++Round)
    for (auto [From, All] : enumerate(Accesses))
      for (RegionAccess &A : All)
        for (size_t To : A.To) {
          LoadedValues Decided = Types.OfLoads[To];
          Decided.Range = std::nullopt;
          A.Values.merge(Decided);
          Types.OfLoads[From].merge(Decided);
        }
  for (auto [I, Region] : enumerate(Plan.state().regions()))
    if (!NoRecords[I])
      Types.Records[I] = findRecords(Accesses[I], Region.Info.Size);
  return Types;
}

//===----------------------------------------------------------------------===//
// Tolerances
//===----------------------------------------------------------------------===//

double mneme::getRoundingShare(uint32_t DType) {
  switch (DType) {
  case MNEME_DTYPE_F64:
    return 1e-7;
  case MNEME_DTYPE_F32:
    return 1e-3;
  case MNEME_DTYPE_F16:
  case MNEME_DTYPE_BF16:
    return 5e-2;
  default:
    return 0;
  }
}

/// Returns twice \p Error, rounded up to one digit.
static std::string printLimit(double Error) {
  double Unit = std::pow(10, std::floor(std::log10(2 * Error)));
  return formatv("{0}", format("%g", std::ceil(2 * Error / Unit) * Unit)).str();
}

std::string mneme::suggestTolerances(ArrayRef<BufferReport> Failing,
                                     ArrayRef<double> Scales) {
  std::string Options;
  for (auto [B, Scale] : zip_equal(Failing, Scales)) {
    const CompareStats &S = B.Stats;
    double Share = getRoundingShare(B.Rule.DType);
    std::string Limit;
    if (S.MaxRel > 0 && S.MaxRel <= Share)
      Limit = "rel:" + printLimit(S.MaxRel);
    else if (S.MaxAbs > 0 && S.MaxAbs <= Share * Scale)
      Limit = "abs:" + printLimit(S.MaxAbs);
    else
      return "";
    Options += formatv(" --dtype={0}@{1} --tolerance={2}@{1}",
                       getDTypeName(B.Rule.DType), B.Id, Limit)
                   .str();
  }
  return StringRef(Options).ltrim().str();
}
