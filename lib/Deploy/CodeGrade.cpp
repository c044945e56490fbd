//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CodeGrade.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/IR/InlineAsm.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/IRUtils/AsmAccess.h"
#include "llvm/Mneme/IRUtils/RunPasses.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Transforms/Deployable.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <iterator>
#include <optional>

using namespace llvm;
using namespace llvm::mneme;

/// The pragmas for loops that promise nothing. Those for parallel accesses have
/// metadata of other names, and those for vectors also permit the order of
/// floating-point additions to change.
static constexpr StringRef LoopHints[] = {"llvm.loop.unroll"};

/// Launch bounds are guarded by the size of the block.
static constexpr StringLiteral FunctionHints[] = {
    "nvvm.maxntid", "nvvm.minctasm", "nvvm.maxnreg",
    "amdgpu-flat-work-group-size", "amdgpu-waves-per-eu"};

static void dropHints(Instruction &I) {
  MDNode *Loop = I.getMetadata(LLVMContext::MD_loop);
  if (!Loop)
    return;
  MDNode *Rest =
      makePostTransformationMetadata(I.getContext(), Loop, LoopHints, {});
  // The first operand is the node itself.
  I.setMetadata(LLVMContext::MD_loop,
                Rest->getNumOperands() > 1 ? Rest : nullptr);
}

static void dropHints(Module &M) {
  for (Function &F : M) {
    for (Attribute::AttrKind Kind :
         {Attribute::AlwaysInline, Attribute::NoInline, Attribute::InlineHint})
      F.removeFnAttr(Kind);
    for (StringRef Name : FunctionHints)
      F.removeFnAttr(Name);
    for (Instruction &I : instructions(F))
      dropHints(I);
  }
}

bool mneme::differInHintsOnly(Module &A, Module &B) {
  dropHints(A);
  dropHints(B);
  return computeStaticHash(A) == computeStaticHash(B);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static bool hasPointer(const Type *T) {
  return T->isPtrOrPtrVectorTy() || any_of(T->subtypes(), hasPointer);
}

static bool loads(const CallBase &Asm) {
  return any_of(findAsmAccesses(Asm),
                [](const AsmAccess &A) { return A.IsLoad; });
}

namespace {
/// Finds addresses that a kernel takes from memory.
class AddressFinder {
public:
  explicit AddressFinder(const Function &Kernel) : Kernel(Kernel) {}

  bool loadsAddress(const Instruction &I);

private:
  bool isPrivate(const Value &Pointer);
  bool isFilledHere(const AllocaInst &A);
  bool isLoaded(const Value &Number);
  bool isPutTogether(const Value &Number);

  const Function &Kernel;
  std::map<const AllocaInst *, bool> Known;
};
} // namespace

/// Returns true for memory of the launch itself, and for constants.
bool AddressFinder::isPrivate(const Value &Pointer) {
  const Value *Object = getUnderlyingObject(&Pointer, /*MaxLookup=*/0);
  if (const auto *A = dyn_cast<Argument>(Object))
    return A->getParent() == &Kernel && A->getPointeeInMemoryValueType();
  // The application can write to a __constant__ variable.
  if (const auto *G = dyn_cast<GlobalVariable>(Object))
    return G->isConstant() && !G->isExternallyInitialized();
  const auto *A = dyn_cast<AllocaInst>(Object);
  return A && isFilledHere(*A);
}

/// Returns true if no bytes of other memory get into a local variable.
bool AddressFinder::isFilledHere(const AllocaInst &A) {
  auto [It, IsNew] = Known.try_emplace(&A, true);
  if (!IsNew)
    return It->second;
  SmallVector<const Value *, 8> Places = {&A};
  SmallPtrSet<const Value *, 8> Seen;
  bool Filled = true;
  while (!Places.empty() && Filled) {
    const Value *Place = Places.pop_back_val();
    if (!Seen.insert(Place).second)
      continue;
    for (const User *U : Place->users()) {
      if (isa<GEPOperator, AddrSpaceCastOperator, PHINode, SelectInst>(U))
        Places.push_back(U);
      else if (const auto *Store = dyn_cast<StoreInst>(U))
        // A pointer that is loaded counts where it is loaded.
        Filled &= Store->getPointerOperand() == Place &&
                  (hasPointer(Store->getValueOperand()->getType()) ||
                   !isLoaded(*Store->getValueOperand()));
      else if (const auto *Copy = dyn_cast<MemTransferInst>(U))
        Filled &=
            Copy->getRawDest() != Place || isPrivate(*Copy->getRawSource());
      else if (const auto *Call = dyn_cast<CallBase>(U))
        Filled &= isa<IntrinsicInst>(Call) && !isa<AnyMemTransferInst>(Call);
      else
        Filled &= isa<LoadInst, ICmpInst>(U);
    }
  }
  return Known[&A] = Filled;
}

/// Returns true if a number may come from memory.
bool AddressFinder::isLoaded(const Value &Number) {
  SmallVector<const Value *, 8> Parts = {&Number};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Parts.empty()) {
    const Value *V = Parts.pop_back_val();
    if (!Seen.insert(V).second)
      continue;
    // What a function is called with may come from anywhere.
    if (const auto *A = dyn_cast<Argument>(V); A && A->getParent() != &Kernel)
      return true;
    const auto *I = dyn_cast<Instruction>(V);
    if (!I)
      continue;
    if (const auto *Load = dyn_cast<LoadInst>(I)) {
      if (!isPrivate(*Load->getPointerOperand()))
        return true;
    } else if (const auto *Call = dyn_cast<CallBase>(I)) {
      if ((Call->mayReadFromMemory() && !isa<DbgInfoIntrinsic>(Call)) ||
          loads(*Call))
        return true;
      append_range(Parts, Call->args());
    } else if (I->mayReadFromMemory()) {
      return true;
    } else if (!isa<PtrToIntInst>(I)) {
      // A pointer counts where it is loaded.
      append_range(Parts, I->operand_values());
    }
  }
  return false;
}

/// Returns true if a number has parts of arguments, but no argument as a whole
/// and no pointer.
bool AddressFinder::isPutTogether(const Value &Number) {
  unsigned Whole = Number.getType()->getScalarSizeInBits();
  bool HasPart = false;
  SmallVector<const Value *, 8> Parts = {&Number};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Parts.empty()) {
    const Value *V = Parts.pop_back_val();
    if (!Seen.insert(V).second || isa<ConstantInt>(V))
      continue;
    const auto *I = dyn_cast<Instruction>(V);
    if (isa<Argument, LoadInst, PtrToIntOperator>(V) || !I) {
      if (V->getType()->getScalarSizeInBits() >= Whole)
        return false;
      HasPart = true;
    } else {
      append_range(Parts, I->operand_values());
    }
  }
  return HasPart;
}

bool AddressFinder::loadsAddress(const Instruction &I) {
  if (const auto *Load = dyn_cast<LoadInst>(&I))
    return hasPointer(Load->getType()) &&
           !isPrivate(*Load->getPointerOperand());
  if (const auto *Cast = dyn_cast<IntToPtrInst>(&I))
    return isLoaded(*Cast->getOperand(0)) ||
           isPutTogether(*Cast->getOperand(0));
  const auto *Call = dyn_cast<CallBase>(&I);
  if (!Call || !Call->isInlineAsm())
    return false;
  return (hasPointer(Call->getType()) && loads(*Call)) ||
         any_of(findAsmAccesses(*Call), [&](const AsmAccess &A) {
           return A.Address->getType()->isIntegerTy(64) && isLoaded(*A.Address);
         });
}

namespace {
/// A pointer that the kernel is given: a whole argument, or the bytes from an
/// offset on of a structure.
using GivenPointer = std::pair<const Argument *, uint64_t>;

/// Finds out whether a given pointer is more than a place in memory: the kernel
/// computes with its address. Of an address, guards know whether it is null,
/// the low bits, and whether it is that of another given pointer.
class AddressUse {
public:
  explicit AddressUse(const Function &Kernel)
      : Kernel(Kernel), DL(Kernel.getDataLayout()) {}

  /// \p V is a given pointer, or a variable. Returns true also if that cannot
  /// be told.
  bool isNumber(const Value &V);
  /// The same for the pointers in a structure.
  bool hasNumber(const Argument &Structure, const std::set<unsigned> &Members);

private:
  std::optional<GivenPointer> findPlace(const LoadInst &Load) const;
  std::optional<GivenPointer> findGiven(const Value &V) const;
  std::optional<GivenPointer> findBase(const Value &V) const;
  bool isKnown(const ICmpInst &Compare) const;
  bool mayHavePointer(const Value &Part,
                      const std::set<unsigned> &Members) const;
  bool followCall(const CallBase &Call, const Value &V);
  bool follow(const Value &V, const User &U);

  const Function &Kernel;
  const DataLayout &DL;
  SmallVector<const Value *, 8> Values; ///< Addresses, whose uses are to do.
};
} // namespace

/// Returns which bytes of a structure are loaded, if they are known.
std::optional<GivenPointer> AddressUse::findPlace(const LoadInst &Load) const {
  const Value *Place = Load.getPointerOperand();
  APInt Offset(DL.getIndexTypeSizeInBits(Place->getType()), 0);
  Place = Place->stripAndAccumulateConstantOffsets(DL, Offset,
                                                   /*AllowNonInbounds=*/true);
  const auto *A = dyn_cast<Argument>(Place);
  if (!A || !A->getPointeeInMemoryValueType())
    return std::nullopt;
  return GivenPointer(A, Offset.getSExtValue());
}

std::optional<GivenPointer> AddressUse::findGiven(const Value &V) const {
  if (const auto *A = dyn_cast<Argument>(&V); A && A->getType()->isPointerTy())
    return GivenPointer(A, 0);
  const auto *Load = dyn_cast<LoadInst>(&V);
  if (!Load || DL.getTypeStoreSize(Load->getType()) != sizeof(uint64_t))
    return std::nullopt;
  return findPlace(*Load);
}

/// Returns the given pointer that \p V, a pointer or its address, is made of by
/// steps within a buffer.
std::optional<GivenPointer> AddressUse::findBase(const Value &V) const {
  const auto *Cast = dyn_cast<PtrToIntOperator>(&V);
  SmallVector<const Value *, 4> Parts = {Cast ? Cast->getPointerOperand() : &V};
  SmallPtrSet<const Value *, 4> Seen;
  std::optional<GivenPointer> Base;
  while (!Parts.empty()) {
    const Value *Part = Parts.pop_back_val();
    if (!Seen.insert(Part).second)
      continue;
    if (const auto *GEP = dyn_cast<GEPOperator>(Part)) {
      // A step that may wrap around leads anywhere.
      if (!GEP->isInBounds())
        return std::nullopt;
      Parts.push_back(GEP->getPointerOperand());
    } else if (const auto *Space = dyn_cast<AddrSpaceCastOperator>(Part)) {
      Parts.push_back(Space->getOperand(0));
    } else if (const auto *Phi = dyn_cast<PHINode>(Part)) {
      append_range(Parts, Phi->incoming_values());
    } else if (const auto *Select = dyn_cast<SelectInst>(Part)) {
      Parts.append({Select->getTrueValue(), Select->getFalseValue()});
    } else {
      std::optional<GivenPointer> Given = findGiven(*Part);
      if (!Given || (Base && Base != Given))
        return std::nullopt;
      Base = Given;
    }
  }
  return Base;
}

static bool isNull(const Value &V) {
  const auto *C = dyn_cast<Constant>(&V);
  return C && C->isNullValue();
}

/// Returns true if guards decide the comparison of addresses.
bool AddressUse::isKnown(const ICmpInst &Compare) const {
  const Value &L = *Compare.getOperand(0), &R = *Compare.getOperand(1);
  std::optional<GivenPointer> Left = findBase(L), Right = findBase(R);
  if (Left && (isNull(R) || Left == Right))
    return true;
  if (Right && isNull(L))
    return true;
  auto IsGiven = [&](const Value &V) {
    const auto *Cast = dyn_cast<PtrToIntOperator>(&V);
    std::optional<GivenPointer> Given = findGiven(
        *(Cast ? Cast->getPointerOperand() : &V)->stripPointerCasts());
    return Given && Given->first->getParent() == &Kernel;
  };
  return Compare.isEquality() && IsGiven(L) && IsGiven(R);
}

/// Returns true if assembly uses an operand only as the place of an access.
static bool isPlaceOf(const CallBase &Asm, const Use &Operand) {
  std::optional<unsigned> Number =
      findAsmOperand(Asm, Asm.getArgOperandNo(&Operand));
  if (!Number)
    return false;
  StringRef Text = cast<InlineAsm>(Asm.getCalledOperand())->getAsmString();
  std::string Name = "$" + std::to_string(*Number);
  for (size_t At = Text.find('$'); At != StringRef::npos;
       At = Text.find('$', At + 1)) {
    StringRef Rest = Text.drop_front(At);
    if (Rest.starts_with("${"))
      return false;
    if (Rest.consume_front(Name) && (Rest.empty() || !isDigit(Rest.front())) &&
        !Text.take_front(At).rtrim().ends_with('['))
      return false;
  }
  return true;
}

/// \returns true if the call may compute with the address.
bool AddressUse::followCall(const CallBase &Call, const Value &V) {
  if (isa<AssumeInst>(Call))
    return false;
  if (Call.isInlineAsm())
    return findAsmAccesses(Call).empty() ||
           any_of(Call.args(), [&](const Use &A) {
             return A.get() == &V && !isPlaceOf(Call, A);
           });
  const Function *Callee = Call.getCalledFunction();
  if (!Callee || !V.getType()->isPointerTy())
    return true;
  if (!Callee->isDeclaration()) {
    for (const Use &A : Call.args())
      if (A.get() == &V) {
        if (Call.getArgOperandNo(&A) >= Callee->arg_size())
          return true;
        Values.push_back(Callee->getArg(Call.getArgOperandNo(&A)));
      }
    return false;
  }
  if (Call.getType()->isPointerTy()) {
    Values.push_back(&Call);
    return !isa<IntrinsicInst>(Call) ||
           Call.getIntrinsicID() == Intrinsic::ptrmask;
  }
  return !isa<IntrinsicInst>(Call) ||
         (!Call.mayReadOrWriteMemory() &&
          !Callee->getName().starts_with("llvm.nvvm.isspacep"));
}

/// Returns true for what is only in lists of what the linker keeps.
static bool isKept(const User &U) {
  auto IsList = [](const User *List) {
    return isa<GlobalVariable>(List) && List->getName().starts_with("llvm.");
  };
  return isa<Constant>(U) && all_of(U.users(), IsList);
}

/// Returns true if an operation on an address gives another one that depends
/// on no more than guards know.
static bool keepsAddress(const Instruction &I, const Value &Address) {
  switch (I.getOpcode()) {
  case Instruction::Add:
    return true;
  case Instruction::Sub:
    return I.getOperand(0) == &Address;
  case Instruction::Or:
    if (cast<PossiblyDisjointInst>(I).isDisjoint())
      return true;
    break;
  case Instruction::And:
    break;
  default:
    return false;
  }
  const auto *Mask = dyn_cast<ConstantInt>(I.getOperand(1));
  return Mask && (Mask->getValue().ult(MNEME_BUFFER_ALIGNMENT) ||
                  (~Mask->getValue()).ult(MNEME_BUFFER_ALIGNMENT));
}

/// Looks at a use of the address \p V. \returns true if it makes it a number.
bool AddressUse::follow(const Value &V, const User &U) {
  bool IsPointer = V.getType()->isPtrOrPtrVectorTy();
  if (isa<GEPOperator, AddrSpaceCastOperator, PHINode, SelectInst, FreezeInst>(
          U)) {
    Values.push_back(&U);
    return U.getType()->isPtrOrPtrVectorTy() != IsPointer;
  }
  if (isa<PtrToIntOperator, IntToPtrInst>(U)) {
    Values.push_back(&U);
    return false;
  }
  if (const auto *Compare = dyn_cast<ICmpInst>(&U))
    return !isKnown(*Compare);
  if (const auto *Call = dyn_cast<CallBase>(&U))
    return followCall(*Call, V);
  if (const auto *Store = dyn_cast<StoreInst>(&U))
    return Store->getValueOperand() == &V;
  if (const auto *RMW = dyn_cast<AtomicRMWInst>(&U))
    return RMW->getValOperand() == &V;
  if (const auto *CAS = dyn_cast<AtomicCmpXchgInst>(&U))
    return CAS->getCompareOperand() == &V || CAS->getNewValOperand() == &V;
  if (isa<LoadInst>(U))
    return false;
  const auto *I = dyn_cast<Instruction>(&U);
  if (!I || IsPointer)
    return !isKept(U);
  const auto *Mask = I->getOpcode() == Instruction::And
                         ? dyn_cast<ConstantInt>(I->getOperand(1))
                         : nullptr;
  if (Mask && Mask->getValue().ult(MNEME_BUFFER_ALIGNMENT))
    return false;
  if (I->getOpcode() == Instruction::Trunc &&
      I->getType()->getScalarSizeInBits() <= 8)
    return false;
  // The difference of two addresses.
  if (I->getOpcode() == Instruction::Sub) {
    std::optional<GivenPointer> Left = findBase(*I->getOperand(0));
    if (Left && Left == findBase(*I->getOperand(1)))
      return false;
  }
  Values.push_back(I);
  return !keepsAddress(*I, V);
}

bool AddressUse::isNumber(const Value &V) {
  SmallPtrSet<const Value *, 8> Seen;
  Values = {&V};
  while (!Values.empty()) {
    const Value *Address = Values.pop_back_val();
    if (Seen.insert(Address).second &&
        any_of(Address->users(),
               [&](const User *U) { return follow(*Address, *U); }))
      return true;
  }
  return false;
}

/// Returns true if a part of a structure overlaps with one of the pointers in
/// it, or if that cannot be told.
bool AddressUse::mayHavePointer(const Value &Part,
                                const std::set<unsigned> &Members) const {
  bool IsPointer = Part.getType()->isPtrOrPtrVectorTy();
  const auto *Load = dyn_cast<LoadInst>(&Part);
  if (!Load || IsPointer)
    return IsPointer;
  std::optional<GivenPointer> Place = findPlace(*Load);
  if (!Place)
    return true;
  int64_t Begin = Place->second;
  int64_t End = Begin + DL.getTypeStoreSize(Load->getType());
  return any_of(Members, [&](int64_t Member) {
    return Begin < Member + 8 && Member < End;
  });
}

bool AddressUse::hasNumber(const Argument &Structure,
                           const std::set<unsigned> &Members) {
  if (Members.empty())
    return false;
  SmallVector<const Value *, 8> Places = {&Structure};
  while (!Places.empty()) {
    for (const User *U : Places.pop_back_val()->users()) {
      if (isa<GEPOperator, AddrSpaceCastOperator>(U) ||
          (isa<ExtractValueInst>(U) && U->getType()->isAggregateType())) {
        Places.push_back(U);
      } else if (isa<ExtractValueInst>(U) ||
                 (isa<LoadInst>(U) && !U->getType()->isAggregateType())) {
        if (mayHavePointer(*U, Members) && isNumber(*U))
          return true;
      } else {
        return true;
      }
    }
  }
  return false;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static void addMembers(const Type &T, uint64_t Offset, const DataLayout &DL,
                       std::set<unsigned> &Members) {
  if (T.isPointerTy()) {
    Members.insert(Offset);
  } else if (const auto *S = dyn_cast<StructType>(&T)) {
    const StructLayout *Layout =
        DL.getStructLayout(const_cast<StructType *>(S));
    for (auto [I, Member] : enumerate(S->elements()))
      addMembers(*Member, Offset + Layout->getElementOffset(I), DL, Members);
  } else if (const auto *A = dyn_cast<ArrayType>(&T)) {
    uint64_t Size = DL.getTypeAllocSize(A->getElementType());
    for (uint64_t I = 0; hasPointer(&T) && I != A->getNumElements(); ++I)
      addMembers(*A->getElementType(), Offset + I * Size, DL, Members);
  }
}

/// Returns the offsets of the bytes that are read of what \p A points to;
/// nothing if that cannot be told.
static std::optional<std::set<unsigned>> findRead(const Argument &A,
                                                  const DataLayout &DL) {
  std::set<unsigned> Read;
  SmallVector<std::pair<const Value *, int64_t>, 8> Places = {{&A, 0}};
  while (!Places.empty()) {
    auto [Place, Offset] = Places.pop_back_val();
    for (const User *U : Place->users()) {
      uint64_t Size = 0;
      APInt Step(DL.getIndexTypeSizeInBits(Place->getType()), 0);
      const auto *GEP = dyn_cast<GEPOperator>(U);
      if (isa<AddrSpaceCastOperator>(U))
        Places.push_back({U, Offset});
      else if (GEP && GEP->accumulateConstantOffset(DL, Step))
        Places.push_back({U, Offset + Step.getSExtValue()});
      else if (const auto *Load = dyn_cast<LoadInst>(U))
        Size = DL.getTypeStoreSize(Load->getType());
      else if (const auto *Copy = dyn_cast<MemTransferInst>(U);
               Copy && Copy->getRawDest() != Place &&
               isa<ConstantInt>(Copy->getLength()))
        Size = cast<ConstantInt>(Copy->getLength())->getZExtValue();
      else
        return std::nullopt;
      for (uint64_t I = 0; I != Size; ++I)
        Read.insert(Offset + I);
    }
  }
  return Read;
}

static void addArgument(const Argument &A, const DataLayout &DL,
                        AddressUse &Addresses, MemoryUse &U) {
  unsigned Index = A.getArgNo();
  if (!A.use_empty())
    U.Used.insert(Index);
  const Type *T = A.getPointeeInMemoryValueType();
  if (T || !A.getType()->isPointerTy()) {
    if (T || A.getType()->isAggregateType()) {
      addMembers(T ? *T : *A.getType(), 0, DL, U.Members[Index]);
      if (Addresses.hasNumber(A, U.Members[Index]))
        U.Numbers.insert(Index);
    }
    if (T)
      if (std::optional<std::set<unsigned>> Read = findRead(A, DL))
        U.Read[Index] = std::move(*Read);
    U.Written.insert(Index);
  } else {
    if (!A.use_empty() && !A.onlyReadsMemory())
      U.Written.insert(Index);
    if (Addresses.isNumber(A))
      U.Numbers.insert(Index);
  }
}

/// Shared and local memory is the launch's own.
static bool isApplications(const GlobalVariable &G) {
  constexpr unsigned Shared = 3, Local = 5;
  return !(G.isConstant() && !G.isExternallyInitialized()) &&
         !is_contained({Shared, Local}, G.getAddressSpace()) &&
         !isSpecialRegister(G) && G.getValueType()->isSized();
}

/// Returns true if instructions use a variable, not only lists of what the
/// linker keeps.
static bool isUsedByCode(const GlobalVariable &G) {
  SmallVector<const Value *, 8> Values = {&G};
  SmallPtrSet<const Value *, 8> Seen;
  while (!Values.empty())
    for (const User *U : Values.pop_back_val()->users()) {
      if (isa<Instruction>(U))
        return true;
      const auto *List = dyn_cast<GlobalVariable>(U);
      if (!(List && List->getName().starts_with("llvm.")) &&
          Seen.insert(U).second)
        Values.push_back(U);
    }
  return false;
}

void MemoryUse::add(const MemoryUse &Other) {
  LoadsPointers |= Other.LoadsPointers;
  ComputesWithVariables |= Other.ComputesWithVariables;
  for (auto [To, From] : {std::pair(&Used, &Other.Used),
                          {&Written, &Other.Written},
                          {&Numbers, &Other.Numbers}})
    To->insert(From->begin(), From->end());
  // A member is a pointer if it is one to both.
  for (auto &[Index, Offsets] : Members)
    if (auto It = Other.Members.find(Index); It != Other.Members.end()) {
      std::set<unsigned> Both;
      std::set_intersection(Offsets.begin(), Offsets.end(), It->second.begin(),
                            It->second.end(), std::inserter(Both, Both.end()));
      Offsets = std::move(Both);
    }
  std::map<unsigned, std::set<unsigned>> KnownToBoth;
  for (auto &[Index, Offsets] : Read)
    if (auto It = Other.Read.find(Index); It != Other.Read.end()) {
      Offsets.insert(It->second.begin(), It->second.end());
      KnownToBoth[Index] = std::move(Offsets);
    }
  Read = std::move(KnownToBoth);
  Variables.insert(Other.Variables.begin(), Other.Variables.end());
}

/// What the text promises need not hold. Guards know some of the alignment.
static void dropPromises(Module &M, Function &Kernel) {
  for (Argument &A : Kernel.args()) {
    for (Attribute::AttrKind Kind :
         {Attribute::ReadOnly, Attribute::ReadNone, Attribute::WriteOnly})
      A.removeAttr(Kind);
    if (A.getParamAlign().valueOrOne() > Align(MNEME_BUFFER_ALIGNMENT))
      A.removeAttr(Attribute::Alignment);
  }
  for (Function &F : M)
    for (Instruction &I : make_early_inc_range(instructions(F))) {
      I.setMetadata(LLVMContext::MD_align, nullptr);
      if (auto *Assume = dyn_cast<AssumeInst>(&I);
          Assume && Assume->hasOperandBundles())
        Assume->eraseFromParent();
    }
}

MemoryUse mneme::findMemoryUse(Module &M, StringRef Kernel) {
  for (Function &F : M)
    if (!F.isDeclaration() && F.getName() != Kernel)
      F.setLinkage(GlobalValue::InternalLinkage);
  dropPromises(M, *M.getFunction(Kernel));
  // Before, most pointers are loaded from local variables.
  runPasses(M, "cgscc(inline),function(sroa,early-cse,"
               "instcombine<no-verify-fixpoint>),globaldce,"
               "cgscc(function-attrs)");
  MemoryUse U;
  const Function &F = *M.getFunction(Kernel);
  AddressFinder Loaded(F);
  for (const Function &Any : M)
    for (const Instruction &I : instructions(Any))
      U.LoadsPointers |= Loaded.loadsAddress(I);
  AddressUse Addresses(F);
  for (const Argument &A : F.args())
    addArgument(A, M.getDataLayout(), Addresses, U);
  for (const GlobalVariable &G : M.globals()) {
    if (!isUsedByCode(G) || !isApplications(G))
      continue;
    U.ComputesWithVariables |= Addresses.isNumber(G);
    U.Variables[G.getName().str()] =
        G.hasLocalLinkage()
            ? 0
            : M.getDataLayout().getTypeAllocSize(G.getValueType());
  }
  return U;
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static json::Object
describeOffsets(const std::map<unsigned, std::set<unsigned>> &OfArguments) {
  json::Object O;
  for (const auto &[Index, Offsets] : OfArguments)
    O[std::to_string(Index)] = json::Array(Offsets);
  return O;
}

std::string mneme::toText(const MemoryUse &U) {
  json::Object Variables;
  for (const auto &[Name, Size] : U.Variables)
    Variables[toHex(Name)] = Size;
  json::Object O{{"loads_pointers", U.LoadsPointers},
                 {"computes_with_variables", U.ComputesWithVariables},
                 {"used", json::Array(U.Used)},
                 {"written", json::Array(U.Written)},
                 {"numbers", json::Array(U.Numbers)},
                 {"members", describeOffsets(U.Members)},
                 {"read", describeOffsets(U.Read)},
                 {"variables", std::move(Variables)},
                 {"unguarded", json::fixUTF8(U.Unguarded)}};
  return formatv("{0}", json::Value(std::move(O)));
}

static std::set<unsigned> readNumbers(const json::Array *A) {
  std::set<unsigned> Numbers;
  if (A)
    for (const json::Value &V : *A)
      Numbers.insert(V.getAsInteger().value_or(0));
  return Numbers;
}

Expected<MemoryUse> mneme::parseMemoryUse(StringRef Text) {
  Expected<json::Value> V = parseJSON(Text);
  if (!V)
    return V.takeError();
  const json::Object &O = *V->getAsObject();
  MemoryUse U;
  U.LoadsPointers = O.getBoolean("loads_pointers").value_or(true);
  U.ComputesWithVariables =
      O.getBoolean("computes_with_variables").value_or(true);
  U.Used = readNumbers(O.getArray("used"));
  U.Written = readNumbers(O.getArray("written"));
  U.Numbers = readNumbers(O.getArray("numbers"));
  U.Unguarded = O.getString("unguarded").value_or("").str();
  for (auto [To, Key] : {std::pair(&U.Members, "members"), {&U.Read, "read"}})
    for (const auto &[Index, Offsets] : *O.getObject(Key))
      (*To)[std::atoi(Index.str().c_str())] = readNumbers(Offsets.getAsArray());
  for (const auto &[Name, Size] : *O.getObject("variables"))
    U.Variables[fromHex(Name)] = Size.getAsInteger().value_or(0);
  return std::move(U);
}
