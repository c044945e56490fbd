//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitAnnotations.h"
#include "Diagnose.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Analysis/ValueTracking.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Support/JSON.h"
#include "llvm/Transforms/Utils/Local.h"

using namespace llvm;
using namespace llvm::mneme;

/// A constant must be copied at each launch.
static constexpr uint64_t MaxObjectSize = 1 << 20;

void mneme::addJitField(JitFields &Fields, const MnemeJitField &New) {
  for (MnemeJitField &F : Fields)
    if (F.Kind == New.Kind && F.Arg == New.Arg && F.Offset == New.Offset &&
        F.Size == New.Size) {
      // An explicit annotation wins.
      F.Flags &= New.Flags | ~uint32_t(MNEME_JIT_AUTOMATIC);
      return;
    }
  Fields.push_back(New);
}

//===----------------------------------------------------------------------===//
// Tracing values to parameters
//===----------------------------------------------------------------------===//
//
// The module is as clang generates it: parameters are stored to allocas, and a
// struct that is passed in registers is put together in one.

namespace {
/// Bytes [Offset, +Size) of an argument, or of the memory of one that is passed
/// by value.
struct ArgPart {
  Argument *Arg;
  uint64_t Offset, Size;
};

/// An address: Offset bytes behind a pointer.
struct Place {
  Value *Base;
  uint64_t Offset;
};
} // namespace

/// Returns the size of an argument of a launch or call in bytes.
static uint64_t getSize(const Argument &A) {
  Type *T = A.getPointeeInMemoryValueType();
  return A.getParent()->getDataLayout().getTypeStoreSize(T ? T : A.getType());
}

static Place stripOffsets(Value *P, const DataLayout &DL) {
  APInt Offset(DL.getIndexTypeSizeInBits(P->getType()), 0);
  Value *Base = P->stripAndAccumulateConstantOffsets(DL, Offset,
                                                     /*AllowNonInbounds=*/true);
  while (auto *Cast = dyn_cast<AddrSpaceCastOperator>(Base)) {
    Value *Source = Cast->getPointerOperand();
    APInt More(DL.getIndexTypeSizeInBits(Source->getType()), 0);
    Base = Source->stripAndAccumulateConstantOffsets(DL, More,
                                                     /*AllowNonInbounds=*/true);
    Offset += More.zextOrTrunc(Offset.getBitWidth());
  }
  return {Base, Offset.getZExtValue()};
}

/// Returns the arguments whose bytes are in [Offset, +Size) of \p Object.
static SmallVector<ArgPart, 2> traceMemory(Value *Object, uint64_t Offset,
                                           uint64_t Size, unsigned Depth = 0) {
  SmallVector<ArgPart, 2> Parts;
  const DataLayout *DL = nullptr;
  if (auto *A = dyn_cast<Argument>(Object)) {
    if (A->getPointeeInMemoryValueType() && Offset + Size <= getSize(*A))
      Parts.push_back({A, Offset, Size});
    return Parts;
  }
  auto *Alloca = dyn_cast<AllocaInst>(Object);
  constexpr unsigned MaxDepth = 4;
  if (!Alloca || Depth == MaxDepth)
    return Parts;
  DL = &Alloca->getDataLayout();
  SmallVector<Place, 8> Worklist = {{Alloca, 0}};
  while (!Worklist.empty()) {
    Place P = Worklist.pop_back_val();
    for (User *U : P.Base->users()) {
      if (isa<GEPOperator, AddrSpaceCastOperator>(U)) {
        Place To = stripOffsets(U, *DL);
        if (To.Base == Alloca)
          Worklist.push_back({U, To.Offset});
      } else if (auto *Store = dyn_cast<StoreInst>(U)) {
        Value *V = Store->getValueOperand();
        // A bool is stored as a byte.
        if (auto *Cast = dyn_cast<CastInst>(V))
          V = Cast->getOperand(0);
        auto *A = dyn_cast<Argument>(V);
        if (!A || Store->getPointerOperand() != P.Base)
          continue;
        uint64_t Bytes = getSize(*A);
        uint64_t From = std::max(Offset, P.Offset);
        uint64_t To = std::min(Offset + Size, P.Offset + Bytes);
        if (From < To)
          Parts.push_back({A, From - P.Offset, To - From});
      } else if (auto *Copy = dyn_cast<MemTransferInst>(U)) {
        auto *Length = dyn_cast<ConstantInt>(Copy->getLength());
        if (!Length || Copy->getRawDest() != P.Base)
          continue;
        uint64_t From = std::max(Offset, P.Offset);
        uint64_t To =
            std::min(Offset + Size, P.Offset + Length->getZExtValue());
        if (From >= To)
          continue;
        Place Source = stripOffsets(Copy->getRawSource(), *DL);
        append_range(Parts,
                     traceMemory(Source.Base, Source.Offset + From - P.Offset,
                                 To - From, Depth + 1));
      }
    }
  }
  return Parts;
}

/// Returns the arguments that \p V is made of: one for a scalar.
static SmallVector<ArgPart, 2> traceValue(Value *V) {
  while (auto *Cast = dyn_cast<CastInst>(V))
    V = Cast->getOperand(0);
  if (auto *A = dyn_cast<Argument>(V))
    if (!A->getPointeeInMemoryValueType())
      return {{A, 0, getSize(*A)}};
  if (auto *Load = dyn_cast<LoadInst>(V)) {
    const DataLayout &DL = Load->getDataLayout();
    Place P = stripOffsets(Load->getPointerOperand(), DL);
    return traceMemory(P.Base, P.Offset, DL.getTypeStoreSize(Load->getType()));
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

namespace {
/// An entry of llvm.global.annotations.
struct Annotation {
  Function *F;
  StringRef Name, File;
  uint64_t Line;
  SmallVector<Constant *, 4> Args;
};

class AnnotationReader {
public:
  explicit AnnotationReader(Module &M) : M(M), DL(M.getDataLayout()) {}
  JitAnnotations take();

private:
  std::vector<Annotation> takeEntries();
  void fail(StringRef File, uint64_t Line, const Twine &Text);
  void fail(const CallBase &Marker, const Twine &Text);
  void readAttribute(const Annotation &A);
  void readObject(const Annotation &A, const json::Object &O);
  Argument *findParameter(const Annotation &A, int64_t Number);
  void readMarkers(const Annotation &A);
  void readClusterDims(const Annotation &A);
  bool readArg(CallBase &Call);
  bool readArray(CallBase &Call);
  bool readObjectMarker(CallBase &Call);
  bool readVariable(CallBase &Call);
  void readClosure(Function &Marker);
  bool addValues(CallBase &Call, ArrayRef<ArgPart> Parts);

  Module &M;
  const DataLayout &DL;
  JitAnnotations Found;
};
} // namespace

static std::string nameOf(const Function &F) {
  return demangle(F.getName().str());
}

static StringRef getText(const Value *V) {
  StringRef Text;
  if (!getConstantStringInfo(V, Text))
    return "";
  return Text;
}

static uint64_t getInt(const Value *V, uint64_t Default = 0) {
  auto *C = dyn_cast<ConstantInt>(V);
  return C ? C->getZExtValue() : Default;
}

void AnnotationReader::fail(StringRef File, uint64_t Line, const Twine &Text) {
  reportError(M, (File.empty() ? "" : File + ":" + Twine(Line) + ": ") + Text);
}

/// Markers end with the file and the line of the call.
void AnnotationReader::fail(const CallBase &Marker, const Twine &Text) {
  unsigned N = Marker.arg_size();
  StringRef File = N > 2 ? getText(Marker.getArgOperand(N - 2)) : "";
  fail(File, N > 2 ? getInt(Marker.getArgOperand(N - 1)) : 0,
       Text + " in '" + nameOf(*Marker.getFunction()) + "'");
}

static constexpr StringLiteral ClusterDims = "mneme.cluster_dims";

/// Returns Mneme's entries, and keeps the others.
std::vector<Annotation> AnnotationReader::takeEntries() {
  std::vector<Annotation> Taken;
  GlobalVariable *Old = M.getNamedGlobal("llvm.global.annotations");
  auto *List =
      Old ? dyn_cast_or_null<ConstantArray>(Old->getInitializer()) : nullptr;
  if (!List)
    return Taken;
  enum Field { Subject, Name, File, Line, Args };
  SmallVector<Constant *, 16> Kept;
  for (const Use &U : List->operands()) {
    auto *Entry = dyn_cast<ConstantStruct>(U);
    auto *F = Entry ? dyn_cast<Function>(
                          Entry->getOperand(Subject)->stripPointerCasts())
                    : nullptr;
    StringRef Text = Entry ? getText(Entry->getOperand(Name)) : "";
    if (!F || (Text != "jit" && Text != ClusterDims &&
               !Text.starts_with("mneme.jit."))) {
      Kept.push_back(cast<Constant>(U));
      continue;
    }
    Annotation &A = Taken.emplace_back();
    A.F = F;
    A.Name = Text;
    A.File = getText(Entry->getOperand(File));
    A.Line = getInt(Entry->getOperand(Line));
    if (auto *G = dyn_cast<GlobalVariable>(
            Entry->getOperand(Args)->stripPointerCasts()))
      // {i32 0} is no ConstantStruct.
      if (Constant *Struct =
              G->hasInitializer() ? G->getInitializer() : nullptr)
        for (unsigned I = 0; Constant *C = Struct->getAggregateElement(I); ++I)
          A.Args.push_back(C);
  }
  if (Taken.empty())
    return Taken;
  StringRef Section = Old->getSection();
  auto *Type = ArrayType::get(List->getType()->getElementType(), Kept.size());
  if (!Kept.empty()) {
    auto *New = new GlobalVariable(M, Type, Old->isConstant(),
                                   GlobalValue::AppendingLinkage,
                                   ConstantArray::get(Type, Kept), "");
    New->setSection(Section);
    New->takeName(Old);
  }
  Old->eraseFromParent();
  return Taken;
}

//===----------------------------------------------------------------------===//
// The attribute
//===----------------------------------------------------------------------===//

static bool isScalar(const Argument &A) {
  Type *T = A.getType();
  return T->isIntegerTy() || T->isFloatingPointTy() || T->isVectorTy() ||
         (T->isPointerTy() && !A.getPointeeInMemoryValueType());
}

static MnemeJitField makeValue(const Argument &A, uint64_t Offset,
                               uint64_t Size) {
  MnemeJitField F = {};
  F.Kind = MNEME_JIT_VALUE;
  F.Arg = F.Place = A.getArgNo();
  F.Offset = Offset;
  F.Size = Size;
  F.CountArg = F.CountPlace = MNEME_JIT_NO_ARG;
  return F;
}

static MnemeJitField makeArray(const Argument &A, uint64_t Size,
                               uint64_t Count) {
  MnemeJitField F = makeValue(A, 0, Size);
  F.Kind = MNEME_JIT_ARRAY;
  F.Count = Count;
  if (A.getDereferenceableBytes() >= Size && Count == 1 &&
      !isKernel(*A.getParent()))
    F.Flags = MNEME_JIT_READABLE;
  return F;
}

static bool setCount(MnemeJitField &F, const Argument &A) {
  if (!A.getType()->isIntegerTy() ||
      !is_contained({1u, 2u, 4u, 8u}, getSize(A)))
    return false;
  F.CountArg = F.CountPlace = A.getArgNo();
  F.CountSize = getSize(A);
  return true;
}

/// \param Number  from 1, in the source; the result of the function does not
/// count.
Argument *AnnotationReader::findParameter(const Annotation &A, int64_t Number) {
  unsigned Skipped = A.F->hasStructRetAttr();
  unsigned Count = A.F->arg_size() - Skipped;
  if (Number >= 1 && Number <= Count)
    return A.F->getArg(Number - 1 + Skipped);
  fail(A.File, A.Line,
       "annotate(\"jit\"): no parameter " + Twine(Number) + " in '" +
           nameOf(*A.F) + "', which has " + Twine(Count));
  return nullptr;
}

/// {"arg": 1}, {"arg": 1, "arrinfo": {...}}, {"arg": 1, "objinfo": {...}}
void AnnotationReader::readObject(const Annotation &A, const json::Object &O) {
  auto Fail = [&](const Twine &Text) {
    fail(A.File, A.Line,
         "annotate(\"jit\") of '" + nameOf(*A.F) + "': " + Text);
  };
  std::optional<int64_t> Number = O.getInteger("arg");
  if (!Number)
    return Fail("expected the number of a parameter for key 'arg'");
  Argument *Arg = findParameter(A, *Number);
  if (!Arg)
    return;
  JitFields &Fields = Found.Functions[A.F];
  const json::Object *Array = O.getObject("arrinfo");
  const json::Object *Object = O.getObject("objinfo");
  if (!Array && !Object)
    return addJitField(Fields, makeValue(*Arg, 0, getSize(*Arg)));
  if (Object && Object->getBoolean("pass-by-value").value_or(false))
    return addJitField(Fields, makeValue(*Arg, 0, getSize(*Arg)));
  if (!Arg->getType()->isPointerTy())
    return Fail("parameter " + Twine(*Number) + " is not a pointer");
  if (Object) {
    std::optional<int64_t> Size = Object->getInteger("size");
    if (!Size || *Size < 1 || *Size > int64_t(MaxObjectSize))
      return Fail("expected a number of bytes for key 'size'");
    return addJitField(Fields, makeArray(*Arg, *Size, 1));
  }
  // The numbers of types in the headers of Proteus.
  constexpr uint8_t Sizes[] = {0, 1, 1, 4, 8, 4, 8, 16, 8};
  int64_t Type = Array->getInteger("elt-type").value_or(0);
  if (Type < 1 || Type >= int64_t(std::size(Sizes)))
    return Fail("expected the number of a type for key 'elt-type'");
  MnemeJitField F = makeArray(*Arg, Sizes[Type], 0);
  if (std::optional<int64_t> Count = Array->getInteger("num-elts")) {
    if (*Count < 1 || *Count > int64_t(MaxObjectSize / F.Size))
      return Fail("'num-elts' is out of range");
    F.Count = *Count;
  } else if (std::optional<int64_t> At = Array->getInteger("num-elts-pos")) {
    // Counts from 0.
    Argument *Counter = findParameter(A, *At + 1);
    if (!Counter)
      return;
    if (!setCount(F, *Counter))
      return Fail("parameter " + Twine(*At + 1) + " is not an integer");
  } else {
    return Fail("expected key 'num-elts' or 'num-elts-pos'");
  }
  addJitField(Fields, F);
}

void AnnotationReader::readAttribute(const Annotation &A) {
  JitFields &Fields = Found.Functions[A.F];
  for (Constant *C : A.Args) {
    if (auto *Number = dyn_cast<ConstantInt>(C)) {
      int64_t Position = Number->getValue().trySExtValue().value_or(0);
      Argument *Arg = findParameter(A, Position);
      if (!Arg)
        return;
      if (!isScalar(*Arg) && !Arg->getPointeeInMemoryValueType())
        return fail(A.File, A.Line,
                    "annotate(\"jit\"): parameter " + Twine(Position) +
                        " of '" + nameOf(*A.F) +
                        "' is neither a number nor a pointer");
      addJitField(Fields, makeValue(*Arg, 0, getSize(*Arg)));
      continue;
    }
    StringRef Text = getText(C);
    Expected<json::Value> V = json::parse(Text);
    const json::Object *O = V ? V->getAsObject() : nullptr;
    if (!O) {
      std::string Why = V ? "it is not an object" : toString(V.takeError());
      return fail(A.File, A.Line,
                  "annotate(\"jit\") of '" + nameOf(*A.F) +
                      "': expected the number of a parameter or JSON, got '" +
                      Text + "': " + Why);
    }
    readObject(A, *O);
  }
}

//===----------------------------------------------------------------------===//
// Markers
//===----------------------------------------------------------------------===//

bool AnnotationReader::addValues(CallBase &Call, ArrayRef<ArgPart> Parts) {
  JitFields &Fields = Found.Functions[Call.getFunction()];
  for (const ArgPart &P : Parts)
    addJitField(Fields, makeValue(*P.Arg, P.Offset, P.Size));
  return !Parts.empty();
}

bool AnnotationReader::readArg(CallBase &Call) {
  if (Call.arg_empty())
    return true;
  SmallVector<ArgPart, 2> Parts = traceValue(Call.getArgOperand(0));
  if (addValues(Call, Parts))
    return true;
  fail(Call, "jit_arg: the value is not a parameter");
  return false;
}

/// (pointer, count, contents, bytes of an element, file, line)
bool AnnotationReader::readArray(CallBase &Call) {
  if (Call.arg_size() < 4)
    return true;
  SmallVector<ArgPart, 2> Pointer = traceValue(Call.getArgOperand(0));
  if (Pointer.size() != 1 || !Pointer[0].Arg->getType()->isPointerTy() ||
      Pointer[0].Arg->getPointeeInMemoryValueType()) {
    fail(Call, "jit_array: the pointer is not a parameter");
    return false;
  }
  MnemeJitField F =
      makeArray(*Pointer[0].Arg, getInt(Call.getArgOperand(3)), 0);
  if (getInt(Call.getArgOperand(2)))
    F.Flags |= MNEME_JIT_IMMUTABLE;
  Value *Count = Call.getArgOperand(1);
  if (auto *C = dyn_cast<ConstantInt>(Count)) {
    if (C->getZExtValue() > MaxObjectSize / F.Size) {
      fail(Call, "jit_array: more than " + Twine(MaxObjectSize) + " bytes");
      return false;
    }
    F.Count = C->getZExtValue();
  } else {
    SmallVector<ArgPart, 2> Parts = traceValue(Count);
    if (Parts.size() != 1 || Parts[0].Offset || !setCount(F, *Parts[0].Arg)) {
      fail(Call, "jit_array: the number of elements is neither a constant nor "
                 "a parameter");
      return false;
    }
  }
  addJitField(Found.Functions[Call.getFunction()], F);
  return true;
}

/// (pointer, contents, bytes, file, line)
bool AnnotationReader::readObjectMarker(CallBase &Call) {
  if (Call.arg_size() < 3)
    return true;
  Value *Object = Call.getArgOperand(0);
  uint64_t Size = getInt(Call.getArgOperand(2));
  if (Size > MaxObjectSize) {
    fail(Call, "jit_object: more than " + Twine(MaxObjectSize) + " bytes");
    return false;
  }
  Place P = stripOffsets(Object, DL);
  SmallVector<ArgPart, 2> Parts = traceMemory(P.Base, P.Offset, Size);
  if (addValues(Call, Parts))
    return true;
  Parts = traceValue(Object);
  if (Parts.size() != 1 || !Parts[0].Arg->getType()->isPointerTy() ||
      Parts[0].Arg->getPointeeInMemoryValueType()) {
    fail(Call, "jit_object: the object is not a parameter");
    return false;
  }
  MnemeJitField F = makeArray(*Parts[0].Arg, Size, 1);
  if (getInt(Call.getArgOperand(1)))
    F.Flags |= MNEME_JIT_IMMUTABLE;
  addJitField(Found.Functions[Call.getFunction()], F);
  return true;
}

/// A captured value is stored to a member of the closure.
bool AnnotationReader::readVariable(CallBase &Call) {
  for (User *U : Call.users()) {
    Value *Stored = U;
    // A bool becomes a byte.
    while (isa<CastInst>(Stored) && Stored->hasOneUse())
      Stored = *Stored->user_begin();
    auto *Store = dyn_cast<StoreInst>(Stored);
    auto *GEP =
        Store ? dyn_cast<GEPOperator>(Store->getPointerOperand()) : nullptr;
    auto *Type =
        GEP ? dyn_cast<StructType>(GEP->getSourceElementType()) : nullptr;
    APInt Offset(64, 0);
    if (!Type || !GEP->accumulateConstantOffset(DL, Offset))
      continue;
    Found.Closures[Type].Variables.push_back(
        {Offset.getZExtValue(),
         DL.getTypeStoreSize(Store->getValueOperand()->getType())});
  }
  Call.replaceAllUsesWith(Call.getArgOperand(0));
  return true;
}

/// The marker has a variable of the closure's type, in a union, and of the
/// lambda's operator.
void AnnotationReader::readClosure(Function &Marker) {
  StructType *Type = nullptr;
  Function *Operator = nullptr;
  for (Instruction &I : instructions(Marker)) {
    if (auto *Alloca = dyn_cast<AllocaInst>(&I)) {
      auto *Union = dyn_cast<StructType>(Alloca->getAllocatedType());
      if (Union && !Union->isLiteral() && Union->getNumElements() == 1 && !Type)
        Type = dyn_cast<StructType>(Union->getElementType(0));
    } else if (auto *Store = dyn_cast<StoreInst>(&I)) {
      auto *Pointer = dyn_cast<ConstantStruct>(Store->getValueOperand());
      auto *Cast = Pointer && Pointer->getNumOperands() == 2
                       ? dyn_cast<PtrToIntOperator>(Pointer->getOperand(0))
                       : nullptr;
      if (Cast)
        Operator = dyn_cast<Function>(Cast->getPointerOperand());
    }
  }
  if (!Type)
    return;
  JitClosure &C = Found.Closures[Type];
  C.IsRegistered = true;
  if (!C.Operator && Operator && !Operator->isDeclaration())
    C.Operator = Operator;
}

/// Erases private strings that only markers have used.
static void eraseUnusedStrings(ArrayRef<WeakTrackingVH> Strings) {
  for (const WeakTrackingVH &V : Strings)
    if (auto *G = dyn_cast_or_null<GlobalVariable>(V);
        G && G->hasLocalLinkage() && G->use_empty())
      G->eraseFromParent();
}

void AnnotationReader::readMarkers(const Annotation &A) {
  StringRef Name = A.Name;
  if (!Name.consume_front("mneme.jit."))
    return;
  Function &Marker = *A.F;
  if (Name == "shared") {
    // The server replaces it.
    Marker.addFnAttr(SharedArrayAttr);
    return;
  }
  if (Name == "closure")
    readClosure(Marker);
  SmallVector<CallBase *, 8> Calls;
  for (User *U : Marker.users())
    if (auto *Call = dyn_cast<CallBase>(U); Call && Call->getCalledFunction())
      Calls.push_back(Call);
  SmallVector<WeakTrackingVH, 8> Strings;
  for (CallBase *Call : Calls) {
    bool Ok = Name == "arg"        ? readArg(*Call)
              : Name == "array"    ? readArray(*Call)
              : Name == "object"   ? readObjectMarker(*Call)
              : Name == "variable" ? readVariable(*Call)
                                   : true;
    (void)Ok; // Reported.
    SmallVector<WeakTrackingVH, 4> Operands;
    for (Value *V : Call->args()) {
      Operands.push_back(V);
      if (isa<GlobalVariable>(V))
        Strings.push_back(V);
    }
    if (auto *Invoke = dyn_cast<InvokeInst>(Call))
      Call = changeToCall(Invoke);
    if (!Call->use_empty())
      Call->replaceAllUsesWith(PoisonValue::get(Call->getType()));
    Call->eraseFromParent();
    for (WeakTrackingVH &V : Operands)
      if (auto *I = dyn_cast_or_null<Instruction>(V))
        RecursivelyDeleteTriviallyDeadInstructions(I);
  }
  if (Marker.use_empty())
    Marker.eraseFromParent();
  eraseUnusedStrings(Strings);
}

/// __cluster_dims__(X, Y, Z), of which Y and Z may be missing. Without sizes,
/// launches have to give them. The host's launch stub has the annotation, too.
void AnnotationReader::readClusterDims(const Annotation &A) {
  if (!getTriple(M).isNVPTX())
    return;
  constexpr unsigned NumAxes = 3;
  SmallVector<std::string, NumAxes> Sizes;
  for (const Constant *C : A.Args) {
    auto *Size = dyn_cast<ConstantInt>(C);
    if (!Size || !Size->getValue().isStrictlyPositive() ||
        Size->getValue().getActiveBits() > 31 || Sizes.size() == NumAxes)
      return fail(A.File, A.Line,
                  "__cluster_dims__ of '" + nameOf(*A.F) +
                      "': expected at most three positive integers");
    Sizes.push_back(utostr(Size->getZExtValue()));
  }
  Sizes.resize(NumAxes, A.Args.empty() ? "0" : "1");
  A.F->addFnAttr("nvvm.cluster_dim", join(Sizes, ","));
}

JitAnnotations AnnotationReader::take() {
  std::vector<Annotation> Entries = takeEntries();
  for (const Annotation &A : Entries)
    if (A.Name == "jit")
      readAttribute(A);
    else if (A.Name == ClusterDims)
      readClusterDims(A);
  // An instantiation has an entry for each declaration.
  SmallPtrSet<Function *, 8> Seen;
  for (const Annotation &A : Entries)
    if (A.Name.starts_with("mneme.jit.") && Seen.insert(A.F).second)
      readMarkers(A);
  return std::move(Found);
}

JitAnnotations mneme::takeJitAnnotations(Module &M) {
  return AnnotationReader(M).take();
}

void mneme::removeJitAnnotations(Module &M) { takeJitAnnotations(M); }

//===----------------------------------------------------------------------===//
// The side file
//===----------------------------------------------------------------------===//

std::string mneme::writeKernelFields(const KernelFields &Kernels) {
  std::string Text;
  raw_string_ostream OS(Text);
  for (const auto &[Kernel, Fields] : Kernels) {
    OS << "kernel " << Kernel << '\n';
    for (const MnemeJitField &F : Fields)
      OS << "field " << F.Kind << ' ' << F.Flags << ' ' << F.Arg << ' '
         << F.Offset << ' ' << F.Size << ' ' << F.Count << ' ' << F.CountArg
         << ' ' << F.CountSize << '\n';
  }
  return Text;
}

void mneme::readKernelFields(StringRef Text, KernelFields &Kernels) {
  JitFields *Fields = nullptr;
  for (StringRef Line : split(Text.rtrim(), '\n')) {
    if (Line.consume_front("kernel ")) {
      Fields = &Kernels[Line.str()];
      continue;
    }
    if (!Line.consume_front("field ") || !Fields)
      continue;
    SmallVector<StringRef, 8> Words;
    Line.split(Words, ' ');
    MnemeJitField F = {};
    uint32_t *Members[] = {&F.Kind, &F.Flags, &F.Arg,      &F.Offset,
                           &F.Size, &F.Count, &F.CountArg, &F.CountSize};
    bool Ok = Words.size() == std::size(Members);
    for (size_t I = 0; Ok && I != Words.size(); ++I)
      Ok = !Words[I].getAsInteger(10, *Members[I]);
    F.Place = F.Arg;
    F.CountPlace = F.CountArg;
    if (Ok)
      addJitField(*Fields, F);
  }
}
