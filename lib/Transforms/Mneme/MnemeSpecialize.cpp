//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ParsePass.h"
#include "llvm/ADT/Statistic.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/IntrinsicsAMDGPU.h"
#include "llvm/IR/IntrinsicsNVPTX.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

#define DEBUG_TYPE "mneme-specialize"
STATISTIC(NumArguments, "Number of arguments turned into constants");
STATISTIC(NumDimensions, "Number of dimension queries turned into constants");

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

static Error badParameter(StringRef Param) {
  return createStringError(
      formatv("invalid mneme-specialize pass parameter '{0}'", Param).str());
}

static std::optional<Dim3> parseDim3(StringRef Text) {
  SmallVector<StringRef, 3> Parts;
  Text.split(Parts, 'x');
  uint32_t Values[3] = {1, 1, 1};
  if (Parts.size() > 3)
    return std::nullopt;
  for (auto [I, Part] : enumerate(Parts))
    if (Part.getAsInteger(10, Values[I]) || Values[I] == 0)
      return std::nullopt;
  return Dim3{Values[0], Values[1], Values[2]};
}

static constexpr std::pair<StringLiteral, KnownBytes::Place> Places[] = {
    {"value", KnownBytes::Value}, {"pointee", KnownBytes::Pointee}};

/// Parses "value1@8" and "2a000000".
static std::optional<KnownBytes> parseKnown(StringRef Name, StringRef Value) {
  KnownBytes K;
  for (auto [Prefix, Where] : Places) {
    if (!Name.consume_front(Prefix))
      continue;
    K.Where = Where;
    auto [Arg, Offset] = Name.split('@');
    if (Arg.getAsInteger(10, K.Arg) ||
        (!Offset.empty() && Offset.getAsInteger(10, K.Offset)) ||
        !tryGetFromHex(Value, K.Bytes) || K.Bytes.empty())
      return std::nullopt;
    return K;
  }
  return std::nullopt;
}

Expected<SpecializeOptions> mneme::parseSpecializeOptions(StringRef Text) {
  SpecializeOptions Options;
  while (!Text.empty()) {
    StringRef Param;
    std::tie(Param, Text) = Text.split(';');
    auto [Name, Value] = Param.split('=');
    unsigned Index;
    bool Bad = false;
    if (Param == "range") {
      Options.Ranges = true;
    } else if (Param == "no-constants") {
      Options.Constants = false;
    } else if (Name == "kernel") {
      Options.Kernel = Value.str();
      Bad = Value.empty();
    } else if (Name == "block" || Name == "grid") {
      std::optional<Dim3> D = parseDim3(Value);
      (Name == "block" ? Options.Block : Options.Grid) = D;
      Bad = !D;
    } else if (Name == "max-threads") {
      Bad = Value.getAsInteger(10, Options.MaxThreads);
    } else if (Name == "min-blocks") {
      Bad = Value.getAsInteger(10, Options.MinBlocks);
    } else if (Name.consume_front("arg") && !Name.getAsInteger(10, Index)) {
      Bad = Value.getAsInteger(0, Options.Args[Index]);
    } else if (std::optional<KnownBytes> Known = parseKnown(Name, Value)) {
      Options.Known.push_back(std::move(*Known));
    } else {
      Bad = true;
    }
    if (Bad)
      return badParameter(Param);
  }
  return Options;
}

void SpecializePass::printPipeline(
    raw_ostream &OS, function_ref<StringRef(StringRef)> MapClassName2PassName) {
  // The name is spelled out: this pass's class name is not registered.
  OS << "mneme-specialize<";
  ListSeparator LS(";");
  if (!Options.Kernel.empty())
    OS << LS << "kernel=" << Options.Kernel;
  for (auto [Index, Bits] : Options.Args)
    OS << LS << "arg" << Index << '=' << format_hex(Bits, 1);
  for (const KnownBytes &K : Options.Known) {
    OS << LS << Places[K.Where].first << K.Arg;
    if (K.Offset)
      OS << '@' << K.Offset;
    OS << '=' << toHex(K.Bytes, /*LowerCase=*/true);
  }
  for (auto [Name, D] :
       {std::pair("block", Options.Block), {"grid", Options.Grid}})
    if (D)
      OS << LS << Name << '=' << D->X << 'x' << D->Y << 'x' << D->Z;
  if (Options.Ranges)
    OS << LS << "range";
  if (!Options.Constants)
    OS << LS << "no-constants";
  if (Options.MaxThreads)
    OS << LS << "max-threads=" << Options.MaxThreads;
  if (Options.MinBlocks)
    OS << LS << "min-blocks=" << Options.MinBlocks;
  OS << '>';
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

/// Returns the constant of type \p Ty with these bits, or null if \p Ty is not
/// a scalar.
static Constant *makeConstant(Type *Ty, uint64_t Bits, const DataLayout &DL) {
  if (auto *ITy = dyn_cast<IntegerType>(Ty)) {
    if (ITy->getBitWidth() > 64)
      return nullptr;
    return ConstantInt::get(Ty, APInt(64, Bits).trunc(ITy->getBitWidth()));
  }
  if (Ty->isFloatingPointTy()) {
    unsigned Width = Ty->getPrimitiveSizeInBits();
    if (Width > 64)
      return nullptr;
    return ConstantFP::get(
        Ty, APFloat(Ty->getFltSemantics(), APInt(64, Bits).trunc(Width)));
  }
  if (Ty->isPointerTy()) {
    Type *IntTy = DL.getIntPtrType(Ty);
    return ConstantExpr::getIntToPtr(ConstantInt::get(IntTy, Bits), Ty);
  }
  return nullptr;
}

static bool specializeArgs(Function &F,
                           const std::map<unsigned, uint64_t> &Args) {
  bool Changed = false;
  const DataLayout &DL = F.getDataLayout();
  for (auto [Index, Bits] : Args) {
    if (Index >= F.arg_size())
      continue;
    Argument *A = F.getArg(Index);
    // A byval pointer is the address of a copy that the launch makes.
    if (A->getPointeeInMemoryValueType())
      continue;
    Constant *C = makeConstant(A->getType(), Bits, DL);
    if (!C)
      continue;
    Changed |= !A->use_empty();
    ++NumArguments;
    A->replaceAllUsesWith(C);
  }
  return Changed;
}

//===----------------------------------------------------------------------===//
// Known bytes
//===----------------------------------------------------------------------===//

/// Returns the constant of a scalar or vector type with these bytes, which are
/// as many as the type stores; null for other types.
static Constant *makeConstant(Type *Ty, StringRef Bytes, const DataLayout &DL) {
  if (DL.getTypeStoreSize(Ty) != Bytes.size())
    return nullptr;
  APInt Bits(Bytes.size() * 8, 0);
  for (size_t I = Bytes.size(); I--;)
    Bits = Bits << 8 | APInt(Bits.getBitWidth(), uint8_t(Bytes[I]));
  if (Ty->isIntegerTy())
    return ConstantInt::get(Ty, Bits.trunc(Ty->getIntegerBitWidth()));
  if (Ty->isFloatingPointTy())
    return ConstantFP::get(Ty,
                           APFloat(Ty->getFltSemantics(),
                                   Bits.trunc(Ty->getPrimitiveSizeInBits())));
  if (Ty->isPointerTy())
    return makeConstant(Ty, Bits.getZExtValue(), DL);
  if (auto *VTy = dyn_cast<FixedVectorType>(Ty)) {
    Type *Element = VTy->getElementType();
    if (!DL.typeSizeEqualsStoreSize(Element))
      return nullptr;
    uint64_t Size = DL.getTypeStoreSize(Element);
    SmallVector<Constant *, 8> Elements;
    for (unsigned I = 0; I != VTy->getNumElements(); ++I) {
      Elements.push_back(
          makeConstant(Element, Bytes.substr(I * Size, Size), DL));
      if (!Elements.back())
        return nullptr;
    }
    return ConstantVector::get(Elements);
  }
  return nullptr;
}

/// Stores \p Bytes, as far as possible with the types of the members of \p T,
/// so that loads of members can be replaced.
static void storeBytes(IRBuilder<> &B, Value *Base, Type *T, uint64_t Offset,
                       StringRef Bytes, const DataLayout &DL) {
  auto Store = [&](Constant *C, uint64_t At) {
    B.CreateAlignedStore(C,
                         B.CreateConstInBoundsGEP1_64(B.getInt8Ty(), Base, At),
                         commonAlignment(DL.getABITypeAlign(T), At));
  };
  constexpr unsigned MaxMembers = 4096;
  // Each member with its offset; those that are not complete come as bytes.
  SmallVector<std::pair<Type *, uint64_t>, 16> Worklist = {{T, 0}};
  std::vector<bool> IsStored(Bytes.size());
  for (unsigned N = 0; !Worklist.empty() && N != MaxMembers; ++N) {
    auto [Member, At] = Worklist.pop_back_val();
    uint64_t Size = DL.getTypeStoreSize(Member);
    if (At + Size <= Offset || At >= Offset + Bytes.size())
      continue;
    if (auto *S = dyn_cast<StructType>(Member)) {
      const StructLayout *Layout = DL.getStructLayout(S);
      for (auto [I, Element] : enumerate(S->elements()))
        Worklist.push_back({Element, At + Layout->getElementOffset(I)});
    } else if (auto *A = dyn_cast<ArrayType>(Member)) {
      uint64_t Stride = DL.getTypeAllocSize(A->getElementType());
      for (uint64_t I = 0; I != A->getNumElements() && I != MaxMembers; ++I)
        Worklist.push_back({A->getElementType(), At + I * Stride});
    } else if (At >= Offset && At + Size <= Offset + Bytes.size()) {
      if (Constant *C =
              makeConstant(Member, Bytes.substr(At - Offset, Size), DL)) {
        Store(C, At);
        std::fill_n(IsStored.begin() + (At - Offset), Size, true);
      }
    }
  }
  for (size_t I = 0; I != Bytes.size(); ++I)
    if (!IsStored[I])
      Store(B.getInt8(Bytes[I]), Offset + I);
}

/// Replaces loads of known bytes behind \p Base, which is \p Offset bytes into
/// the memory. \returns whether there were any.
static bool replaceLoads(Value &Base, uint64_t Offset, const KnownBytes &K,
                         const DataLayout &DL) {
  bool Changed = false;
  for (User *U : make_early_inc_range(Base.users())) {
    if (auto *GEP = dyn_cast<GEPOperator>(U)) {
      APInt Delta(DL.getIndexTypeSizeInBits(GEP->getType()), 0);
      if (GEP->getPointerOperand() == &Base &&
          GEP->accumulateConstantOffset(DL, Delta))
        Changed |= replaceLoads(*GEP, Offset + Delta.getSExtValue(), K, DL);
    } else if (isa<AddrSpaceCastOperator>(U)) {
      Changed |= replaceLoads(*U, Offset, K, DL);
    } else if (auto *L = dyn_cast<LoadInst>(U)) {
      uint64_t Size = DL.getTypeStoreSize(L->getType());
      if (!L->isUnordered() || Offset < K.Offset ||
          Offset - K.Offset > K.Bytes.size() ||
          Size > K.Bytes.size() - (Offset - K.Offset))
        continue;
      StringRef Bytes = StringRef(K.Bytes).substr(Offset - K.Offset, Size);
      if (Constant *C = makeConstant(L->getType(), Bytes, DL)) {
        L->replaceAllUsesWith(C);
        L->eraseFromParent();
        Changed = true;
      }
    }
  }
  return Changed;
}

/// The kernel gets a copy of the parameter with the known bytes.
static void replaceByValue(Function &F, Argument &A,
                           ArrayRef<const KnownBytes *> Known) {
  const DataLayout &DL = F.getDataLayout();
  Type *T = A.getPointeeInMemoryValueType();
  IRBuilder<> B(&F.getEntryBlock(), F.getEntryBlock().begin());
  Align Alignment =
      std::max(A.getParamAlign().valueOrOne(), DL.getABITypeAlign(T));
  AllocaInst *Copy = B.CreateAlloca(T);
  Copy->setAlignment(Alignment);
  Value *Address = Copy->getType() == A.getType()
                       ? Copy
                       : B.CreateAddrSpaceCast(Copy, A.getType());
  A.replaceAllUsesWith(Address);
  B.CreateMemCpy(Copy, Alignment, &A, Alignment, DL.getTypeAllocSize(T));
  for (const KnownBytes *K : Known)
    storeBytes(B, Copy, T, K->Offset, K->Bytes, DL);
}

/// AMDGPU: the parameter is in constant memory, from which clang makes a copy.
static void replaceByReference(Function &F, Argument &A, const KnownBytes &K) {
  const DataLayout &DL = F.getDataLayout();
  replaceLoads(A, 0, K, DL);
  for (User *U : A.users()) {
    auto *Copy = dyn_cast<MemCpyInst>(U);
    auto *Length = Copy ? dyn_cast<ConstantInt>(Copy->getLength()) : nullptr;
    if (!Length || Copy->getRawSource() != &A ||
        Length->getZExtValue() < K.Offset + K.Bytes.size())
      continue;
    IRBuilder<> B(Copy->getNextNode());
    storeBytes(B, Copy->getRawDest(), A.getPointeeInMemoryValueType(), K.Offset,
               K.Bytes, DL);
  }
}

static bool replaceKnownLoads(Function &F, ArrayRef<KnownBytes> Known) {
  bool Changed = false;
  for (const KnownBytes &K : Known)
    if (K.Where == KnownBytes::Pointee && K.Arg < F.arg_size())
      Changed |= replaceLoads(*F.getArg(K.Arg), 0, K, F.getDataLayout());
  return Changed;
}

namespace {
/// Replaces loads whose address optimizations have found.
struct KnownLoadsPass : PassInfoMixin<KnownLoadsPass> {
  KnownLoadsPass(StringRef Name, ArrayRef<KnownBytes> Known)
      : Name(Name), Known(Known) {}
  PreservedAnalyses run(Function &F, FunctionAnalysisManager &) {
    if (F.getName() != Name || !replaceKnownLoads(F, Known))
      return PreservedAnalyses::all();
    PreservedAnalyses Kept;
    Kept.preserveSet<CFGAnalyses>();
    return Kept;
  }
  StringRef Name;
  ArrayRef<KnownBytes> Known;
};
} // namespace

void mneme::registerKnownLoads(PassBuilder &PB, const SpecializeOptions &O) {
  if (none_of(O.Known, [](const KnownBytes &K) {
        return K.Where == KnownBytes::Pointee;
      }))
    return;
  PB.registerPeepholeEPCallback(
      [&O](FunctionPassManager &FPM, OptimizationLevel) {
        FPM.addPass(KnownLoadsPass(O.Kernel, O.Known));
      });
}

static bool specializeKnown(Function &F, ArrayRef<KnownBytes> Known) {
  const DataLayout &DL = F.getDataLayout();
  std::map<unsigned, SmallVector<const KnownBytes *, 4>> ByValue;
  for (const KnownBytes &K : Known) {
    if (K.Arg >= F.arg_size() || K.Where == KnownBytes::Pointee)
      continue;
    Argument &A = *F.getArg(K.Arg);
    Type *InMemory = A.getPointeeInMemoryValueType();
    if (!InMemory) {
      Constant *C = K.Offset ? nullptr : makeConstant(A.getType(), K.Bytes, DL);
      if (C)
        A.replaceAllUsesWith(C);
    } else if (uint64_t Size = DL.getTypeAllocSize(InMemory);
               K.Offset <= Size && K.Bytes.size() <= Size - K.Offset) {
      if (A.hasByRefAttr())
        replaceByReference(F, A, K);
      else
        ByValue[K.Arg].push_back(&K);
    }
    ++NumArguments;
  }
  for (auto &[Arg, Bytes] : ByValue)
    replaceByValue(F, *F.getArg(Arg), Bytes);
  replaceKnownLoads(F, Known);
  return !Known.empty();
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

static bool replaceWith(Instruction &I, uint64_t Value) {
  ++NumDimensions;
  I.replaceAllUsesWith(ConstantInt::get(I.getType(), Value));
  return true;
}

/// Returns the value that a load of \p Size bytes at \p Offset of AMDGPU's
/// implicit arguments (code object 5) or dispatch packet yields, if the launch
/// determines it.
static std::optional<uint64_t> implicitValue(bool Dispatch, int64_t Offset,
                                             uint64_t Size,
                                             const SpecializeOptions &O) {
  auto InBlock = [&](int64_t First,
                     unsigned Stride) -> std::optional<unsigned> {
    int64_t Axis = (Offset - First) / Stride;
    if (Offset < First || Axis > 2 || (Offset - First) % Stride ||
        Size != Stride)
      return std::nullopt;
    return Axis;
  };
  if (Dispatch) {
    if (auto A = InBlock(4, 2); A && O.Block) // workgroup_size_{x,y,z}
      return (*O.Block)[*A];
    if (auto A = InBlock(12, 4); A && O.Block && O.Grid) // grid_size: threads
      return uint64_t((*O.Block)[*A]) * (*O.Grid)[*A];
    return std::nullopt;
  }
  if (auto A = InBlock(0, 4); A && O.Grid) // hidden_block_count
    return (*O.Grid)[*A];
  if (auto A = InBlock(12, 2); A && O.Block) // hidden_group_size
    return (*O.Block)[*A];
  // HIP grids consist of whole blocks.
  if (auto A = InBlock(18, 2); A && O.Block && O.Grid) // hidden_remainder
    return 0;
  return std::nullopt;
}

/// Replaces loads from constant offsets to \p Base by their values.
static bool specializeImplicitLoads(CallBase &Base, bool Dispatch,
                                    const SpecializeOptions &O,
                                    const DataLayout &DL) {
  bool Changed = false;
  SmallVector<std::pair<Value *, int64_t>, 8> Worklist = {{&Base, 0}};
  while (!Worklist.empty()) {
    auto [V, Offset] = Worklist.pop_back_val();
    for (User *U : V->users()) {
      if (auto *GEP = dyn_cast<GEPOperator>(U)) {
        APInt Delta(DL.getIndexTypeSizeInBits(GEP->getType()), 0);
        if (GEP->getPointerOperand() == V &&
            GEP->accumulateConstantOffset(DL, Delta))
          Worklist.push_back({GEP, Offset + Delta.getSExtValue()});
      } else if (isa<AddrSpaceCastOperator>(U) || isa<BitCastOperator>(U)) {
        Worklist.push_back({U, Offset});
      } else if (auto *L = dyn_cast<LoadInst>(U)) {
        if (!L->getType()->isIntegerTy() || L->isVolatile())
          continue;
        uint64_t Size = DL.getTypeStoreSize(L->getType());
        if (auto Value = implicitValue(Dispatch, Offset, Size, O))
          Changed |= replaceWith(*L, *Value);
      }
    }
  }
  return Changed;
}

/// Adds the range [0, \p Count) to a call that returns an index.
static bool addRange(CallBase &Call, uint32_t Count) {
  unsigned Width = Call.getType()->getIntegerBitWidth();
  if (Width < 32)
    return false;
  Call.addRangeRetAttr(ConstantRange(APInt(Width, 0), APInt(Width, Count)));
  return true;
}

static bool specializeCall(CallBase &Call, const SpecializeOptions &O) {
  std::optional<Dim3> Dim;
  bool IsIndex = false;
  unsigned Axis = 0;
  switch (Call.getIntrinsicID()) {
#define AXES(PREFIX, DIM, INDEX)                                               \
  case Intrinsic::PREFIX##_x:                                                  \
  case Intrinsic::PREFIX##_y:                                                  \
  case Intrinsic::PREFIX##_z:                                                  \
    Dim = DIM;                                                                 \
    IsIndex = INDEX;                                                           \
    Axis = Call.getIntrinsicID() == Intrinsic::PREFIX##_x   ? 0                \
           : Call.getIntrinsicID() == Intrinsic::PREFIX##_y ? 1                \
                                                            : 2;               \
    break;
    AXES(nvvm_read_ptx_sreg_ntid, O.Block, false)
    AXES(nvvm_read_ptx_sreg_nctaid, O.Grid, false)
    AXES(nvvm_read_ptx_sreg_tid, O.Block, true)
    AXES(nvvm_read_ptx_sreg_ctaid, O.Grid, true)
    AXES(amdgcn_workitem_id, O.Block, true)
    AXES(amdgcn_workgroup_id, O.Grid, true)
#undef AXES
  default:
    return false;
  }
  if (!Dim)
    return false;
  if (IsIndex)
    return O.Ranges && addRange(Call, (*Dim)[Axis]);
  if (!O.Constants)
    return false;
  replaceWith(Call, (*Dim)[Axis]);
  Call.eraseFromParent();
  return true;
}

/// implicitValue() knows the layout of implicit arguments of code object
/// version 5 and later.
static bool hasKnownImplicitArgs(const Module &M) {
  auto *Version = mdconst::extract_or_null<ConstantInt>(
      M.getModuleFlag("amdhsa_code_object_version"));
  return !Version || Version->getZExtValue() >= 500;
}

static bool specializeDims(Function &F, const SpecializeOptions &O) {
  bool Changed = false;
  for (Instruction &I : make_early_inc_range(instructions(F))) {
    auto *Call = dyn_cast<CallBase>(&I);
    if (!Call)
      continue;
    bool Dispatch = Call->getIntrinsicID() == Intrinsic::amdgcn_dispatch_ptr;
    bool Implicit = Call->getIntrinsicID() == Intrinsic::amdgcn_implicitarg_ptr;
    if ((Dispatch || Implicit) && !O.Constants)
      continue;
    if (Dispatch || (Implicit && hasKnownImplicitArgs(*F.getParent())))
      Changed |= specializeImplicitLoads(*Call, Dispatch, O, F.getDataLayout());
    else
      Changed |= specializeCall(*Call, O);
  }
  return Changed;
}

//===----------------------------------------------------------------------===//
// Launch bounds
//===----------------------------------------------------------------------===//

static bool setLaunchBounds(Function &F, const SpecializeOptions &O) {
  bool IsAMDGPU = F.getCallingConv() == CallingConv::AMDGPU_KERNEL;
  if (O.MaxThreads && IsAMDGPU) {
    F.addFnAttr("amdgpu-flat-work-group-size", "1," + utostr(O.MaxThreads));
  } else if (O.MaxThreads) {
    // An exact size in the source would contradict the new bound.
    F.removeFnAttr("nvvm.reqntid");
    F.addFnAttr("nvvm.maxntid", utostr(O.MaxThreads));
  }
  if (O.MinBlocks && IsAMDGPU)
    F.addFnAttr("amdgpu-waves-per-eu",
                utostr(O.MinBlocks) + "," + utostr(O.MinBlocks));
  else if (O.MinBlocks)
    F.addFnAttr("nvvm.minctasm", utostr(O.MinBlocks));
  return O.MaxThreads || O.MinBlocks;
}

PreservedAnalyses SpecializePass::run(Module &M, ModuleAnalysisManager &) {
  SmallVector<Function *, 4> Kernels, Chosen;
  for (Function &F : M)
    if (isKernel(F))
      Kernels.push_back(&F);
  copy_if(Kernels, std::back_inserter(Chosen), [&](Function *F) {
    return Options.Kernel.empty() || F->getName() == Options.Kernel;
  });
  if (Function *F = M.getFunction(Options.Kernel);
      F && !F->isDeclaration() && Chosen.empty())
    Chosen.push_back(F);
  bool Changed = false;
  for (Function *F : Chosen) {
    Changed |= specializeKnown(*F, Options.Known);
    Changed |= specializeArgs(*F, Options.Args);
    Changed |= setLaunchBounds(*F, Options);
  }
  if (!Options.Block && !Options.Grid)
    return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
  if (Chosen.size() == Kernels.size()) {
    for (Function &F : M)
      Changed |= specializeDims(F, Options);
  } else {
    for (Function *F : Chosen)
      Changed |= specializeDims(*F, Options);
  }
  return Changed ? PreservedAnalyses::none() : PreservedAnalyses::all();
}

void mneme::registerSpecializePass(PassBuilder &PB) {
  registerPass<SpecializePass>(PB, "mneme-specialize", parseSpecializeOptions);
}
