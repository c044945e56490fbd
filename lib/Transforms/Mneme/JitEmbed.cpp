//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitEmbed.h"
#include "Attach.h"
#include "Diagnose.h"
#include "HostSymbols.h"
#include "JitFunctions.h"
#include "SideFiles.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr size_t MaxFields = MNEME_JIT_MAX_FIELDS;

void mneme::writeJitAnnotations(Module &M, const CaptureOptions &Options) {
  JitAnnotations Found = takeJitAnnotations(M);
  KernelFields Kernels;
  for (auto &[F, Fields] : Found.Functions)
    if (isKernel(*F))
      Kernels[F->getName().str()] = Fields;
  if (Kernels.empty() || Options.IsAlone)
    return;
  if (Error E = writeSideFile(M.getSourceFileName(), getTriple(M).str(),
                              writeKernelFields(Kernels), SideFile::Jit))
    reportWarning(M, "the annotations of '" + M.getSourceFileName() +
                         "' are not kept: " + toString(std::move(E)));
}

//===----------------------------------------------------------------------===//
// Finding what there is
//===----------------------------------------------------------------------===//

/// Returns the launch stub of a kernel: with HIP, the host pointer is a
/// variable that has its address.
static Function *findStub(Constant *Pointer) {
  Value *P = Pointer->stripPointerCasts();
  if (auto *Handle = dyn_cast<GlobalVariable>(P);
      Handle && Handle->hasInitializer())
    P = Handle->getInitializer()->stripPointerCasts();
  return dyn_cast<Function>(P);
}

/// Returns the types of a kernel's parameters; null if a type is unknown. The
/// stub stores the address of each to an array of pointers.
static SmallVector<Type *, 8> findParameterTypes(const Function &Stub) {
  SmallVector<Type *, 8> Types;
  const AllocaInst *Array = nullptr;
  for (const Instruction &I : instructions(Stub))
    if (auto *Alloca = dyn_cast<AllocaInst>(&I);
        Alloca && Alloca->getAllocatedType()->isPointerTy() &&
        Alloca->isArrayAllocation())
      Array = Alloca;
  // One parameter: the array has one element.
  for (const Instruction &I : instructions(Stub)) {
    auto *Store = dyn_cast<StoreInst>(&I);
    if (!Store)
      continue;
    const Value *To = Store->getPointerOperand();
    uint64_t Index = 0;
    if (auto *GEP = dyn_cast<GEPOperator>(To)) {
      auto *C = GEP->getNumIndices() == 1
                    ? dyn_cast<ConstantInt>(GEP->getOperand(1))
                    : nullptr;
      if (!C || !GEP->getSourceElementType()->isPointerTy())
        continue;
      Index = C->getZExtValue();
      To = GEP->getPointerOperand();
    }
    if (Array ? To != Array : !isa<GEPOperator>(Store->getPointerOperand()))
      continue;
    const Value *Address = Store->getValueOperand();
    Type *T = nullptr;
    if (auto *Alloca = dyn_cast<AllocaInst>(Address))
      T = Alloca->getAllocatedType();
    else if (auto *A = dyn_cast<Argument>(Address))
      T = A->getPointeeInMemoryValueType();
    if (Types.size() <= Index)
      Types.resize(Index + 1);
    Types[Index] = T;
  }
  return Types;
}

/// Calls \p Visit for each number in \p T at \p Offset.
static void visitNumbers(Type *T, uint64_t Offset, const DataLayout &DL,
                         function_ref<void(uint64_t, uint64_t)> Visit) {
  if (T->isIntegerTy() || T->isFloatingPointTy())
    return Visit(Offset, DL.getTypeStoreSize(T));
  if (auto *S = dyn_cast<StructType>(T)) {
    const StructLayout *Layout = DL.getStructLayout(S);
    for (auto [I, Element] : enumerate(S->elements()))
      visitNumbers(Element, Offset + Layout->getElementOffset(I), DL, Visit);
  }
}

/// Calls \p Visit for each part of \p T that may be a constant because \p T is
/// or contains a closure.
static bool visitClosures(
    Type *T, uint64_t Offset, const DataLayout &DL,
    const MapVector<StructType *, JitClosure> &Closures,
    function_ref<void(uint64_t Offset, uint64_t Size, bool Automatic)> Visit) {
  auto *S = dyn_cast<StructType>(T);
  if (!S || !S->isSized())
    return false;
  if (auto It = Closures.find(S); It != Closures.end()) {
    const JitClosure &C = It->second;
    for (auto [At, Size] : C.Variables)
      Visit(Offset + At, Size, false);
    if (C.Variables.empty() && C.IsRegistered)
      visitNumbers(S, Offset, DL,
                   [&](uint64_t At, uint64_t Size) { Visit(At, Size, true); });
    if (C.IsRegistered || !C.Variables.empty()) {
      // A closure may have captured another one.
      const StructLayout *Layout = DL.getStructLayout(S);
      for (auto [I, Element] : enumerate(S->elements()))
        visitClosures(Element, Offset + Layout->getElementOffset(I), DL,
                      Closures, Visit);
      return true;
    }
  }
  bool Any = false;
  const StructLayout *Layout = DL.getStructLayout(S);
  for (auto [I, Element] : enumerate(S->elements()))
    Any |= visitClosures(Element, Offset + Layout->getElementOffset(I), DL,
                         Closures, Visit);
  return Any;
}

static MnemeJitField makeField(uint32_t Kind, uint32_t Arg, uint64_t Offset,
                               uint64_t Size, bool IsAutomatic) {
  MnemeJitField F = {};
  F.Kind = Kind;
  F.Flags = IsAutomatic ? MNEME_JIT_AUTOMATIC : 0;
  F.Arg = F.Place = Arg;
  F.Offset = Offset;
  F.Size = Size;
  F.CountArg = F.CountPlace = MNEME_JIT_NO_ARG;
  return F;
}

/// The attribute of a kernel is that of its launch stub, too.
static bool isLaunchStub(const Function &F) {
  return any_of(instructions(F), [](const Instruction &I) {
    auto *Call = dyn_cast<CallBase>(&I);
    const Function *Callee = Call ? Call->getCalledFunction() : nullptr;
    return Callee && (Callee->getName() == "__cudaPopCallConfiguration" ||
                      Callee->getName() == "__hipPopCallConfiguration");
  });
}

void JitEmbedding::addKernels(JitAnnotations &Found) {
  Found.Functions.remove_if(
      [](const auto &Entry) { return isLaunchStub(*Entry.first); });
  Expected<std::vector<std::string>> Texts =
      takeSideFiles(M.getSourceFileName(), SideFile::Jit);
  KernelFields Annotated;
  // Without the folder there are no payloads either, for which there is a
  // warning.
  if (!Texts)
    consumeError(Texts.takeError());
  else
    for (const std::string &Text : *Texts)
      readKernelFields(Text, Annotated);
  const DataLayout &DL = M.getDataLayout();
  for (const HostSymbol &S : readHostSymbols(M)) {
    if (S.Kind != MNEME_INDEX_KERNEL)
      continue;
    Kernel K = {S.Pointer, S.Name, {}};
    auto It = Annotated.find(S.Name);
    bool IsJitted = It != Annotated.end();
    if (IsJitted)
      K.Fields = It->second;
    Function *Stub = Found.Closures.empty() ? nullptr : findStub(S.Pointer);
    if (Stub)
      for (auto [I, T] : enumerate(findParameterTypes(*Stub)))
        if (T)
          IsJitted |= visitClosures(
              T, 0, DL, Found.Closures,
              [&, Arg = I](uint64_t Offset, uint64_t Size, bool Automatic) {
                addJitField(K.Fields, makeField(MNEME_JIT_VALUE, Arg, Offset,
                                                Size, Automatic));
              });
    if (IsJitted)
      Kernels.push_back(std::move(K));
  }
}

/// Whether \p V is the first parameter, or loaded from the variable that has
/// it.
static bool isFirstParameter(const Value *V, const Function &F) {
  if (auto *Load = dyn_cast<LoadInst>(V))
    for (const User *U : Load->getPointerOperand()->users())
      if (auto *Store = dyn_cast<StoreInst>(U);
          Store && Store->getValueOperand() == F.getArg(0))
        return true;
  return V == F.getArg(0);
}

/// Returns the type of closure that \p F accesses through its first parameter.
static StructType *
findOwnClosure(const Function &F,
               const MapVector<StructType *, JitClosure> &Closures) {
  for (const Instruction &I : instructions(F))
    if (auto *GEP = dyn_cast<GetElementPtrInst>(&I))
      if (auto *S = dyn_cast<StructType>(GEP->getSourceElementType());
          S && Closures.contains(S) &&
          isFirstParameter(GEP->getPointerOperand(), F))
        return S;
  return nullptr;
}

/// Host code of lambdas: the closure is the first parameter.
void JitEmbedding::addLambdas(const JitAnnotations &Found) {
  const DataLayout &DL = M.getDataLayout();
  auto AddFields = [&](Function &F, StructType *Closure) {
    visitClosures(
        Closure, 0, DL, Found.Closures,
        [&](uint64_t Offset, uint64_t Size, bool Automatic) {
          addJitField(Functions[&F],
                      makeField(MNEME_JIT_POINTEE, 0, Offset, Size, Automatic));
        });
  };
  for (const auto &[Type, C] : Found.Closures)
    if (C.IsRegistered && C.Operator && !C.Operator->hasStructRetAttr()) {
      Functions[C.Operator];
      AddFields(*C.Operator, Type);
    }
  for (auto &[F, Fields] : Found.Functions)
    if (F->arg_size() && F->getArg(0)->getType()->isPointerTy())
      if (StructType *Closure = findOwnClosure(*F, Found.Closures))
        AddFields(*F, Closure);
}

JitEmbedding::JitEmbedding(Module &M, const CaptureOptions &Options)
    : M(M), Options(Options) {
  JitAnnotations Found = takeJitAnnotations(M);
  addKernels(Found);
  for (auto &[F, Fields] : Found.Functions)
    if (!F->isDeclaration() && !F->hasAvailableExternallyLinkage())
      Functions[F] = Fields;
  addLambdas(Found);
  Functions.remove_if([&](const auto &Entry) {
    StringRef Obstacle = findStubObstacle(*Entry.first);
    if (!Obstacle.empty())
      reportWarning(M, "'" + demangle(Entry.first->getName().str()) +
                           "' is not compiled at run time: " + Obstacle);
    return !Obstacle.empty();
  });
}

//===----------------------------------------------------------------------===//
// Writing it
//===----------------------------------------------------------------------===//

Constant *JitEmbedding::emitText(StringRef Text) {
  Constant *Bytes = ConstantDataArray::getString(M.getContext(), Text);
  auto *G =
      new GlobalVariable(M, Bytes->getType(), /*isConstant=*/true,
                         GlobalValue::PrivateLinkage, Bytes, ".mneme.jit.text");
  G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return G;
}

Constant *JitEmbedding::emitFields(ArrayRef<MnemeJitField> Fields) {
  LLVMContext &C = M.getContext();
  if (Fields.empty())
    return ConstantPointerNull::get(PointerType::get(C, 0));
  SmallVector<uint32_t, 0> Words(Fields.size() * sizeof(MnemeJitField) /
                                 sizeof(uint32_t));
  memcpy(Words.data(), Fields.data(), Fields.size() * sizeof(MnemeJitField));
  Constant *Bytes = ConstantDataArray::get(C, ArrayRef<uint32_t>(Words));
  return new GlobalVariable(M, Bytes->getType(), /*isConstant=*/true,
                            GlobalValue::PrivateLinkage, Bytes,
                            ".mneme.jit.fields");
}

GlobalVariable *JitEmbedding::emitEntry(StringRef Name,
                                        ArrayRef<Constant *> Members) {
  Constant *Entry = ConstantStruct::getAnon(Members);
  assert(M.getDataLayout().getTypeAllocSize(Entry->getType()) ==
         sizeof(MnemeJitEntry));
  auto *G = new GlobalVariable(M, Entry->getType(), /*isConstant=*/false,
                               GlobalValue::InternalLinkage, Entry,
                               "mneme.jit." + Name);
  G->setSection(MNEME_JIT_SECTION);
  G->setAlignment(Align(8));
  // The runtime writes it; the optimizer cannot see that.
  G->setExternallyInitialized(true);
  return G;
}

void JitEmbedding::emitKernel(const Kernel &K) {
  LLVMContext &C = M.getContext();
  Type *I64 = Type::getInt64Ty(C);
  Constant *Null = ConstantPointerNull::get(PointerType::get(C, 0));
  Constant *Zero = ConstantInt::get(I64, 0);
  GlobalVariable *Entry = emitEntry(
      K.Name, {Null, Null, ConstantInt::get(I64, MNEME_JIT_KERNEL),
               emitText(K.Name), ConstantInt::get(I64, K.Fields.size()),
               emitFields(K.Fields), K.Stub, Null, Zero, Null, Null, Zero});
  // As the index.
  appendToUsed(M, {Entry});
}

void JitEmbedding::emitFunction(Function &F, JitFields Fields) {
  LLVMContext &C = M.getContext();
  Type *I64 = Type::getInt64Ty(C);
  Type *Ptr = PointerType::get(C, 0);
  Constant *Null = ConstantPointerNull::get(PointerType::get(C, 0));
  ExtractedFunction Code =
      extractFunction(F, Options.OptLevel, [&](const Function &Other) {
        return Functions.contains(const_cast<Function *>(&Other));
      });

  // The runtime gets the addresses of the arguments that matter.
  SmallVector<unsigned, 8> Places;
  auto PlaceOf = [&](uint32_t Arg) -> uint32_t {
    if (Arg == MNEME_JIT_NO_ARG)
      return Arg;
    auto *It = find(Places, Arg);
    if (It == Places.end()) {
      Places.push_back(Arg);
      return Places.size() - 1;
    }
    return It - Places.begin();
  };
  for (MnemeJitField &Field : Fields) {
    Field.Place = PlaceOf(Field.Arg);
    Field.CountPlace = PlaceOf(Field.CountArg);
  }

  Constant *Payload = ConstantDataArray::getRaw(
      Code.Payload, Code.Payload.size(), Type::getInt8Ty(C));
  auto *PayloadVar = new GlobalVariable(
      M, Payload->getType(), /*isConstant=*/true, GlobalValue::PrivateLinkage,
      Payload, ".mneme.jit.code");
  PayloadVar->setAlignment(Align(8));
  std::string Names;
  SmallVector<Constant *, 16> Addresses;
  for (auto &[Name, Address] : Code.Addresses) {
    Names += Name;
    Names.push_back('\0');
    Addresses.push_back(Address);
  }
  Constant *Table = Null;
  if (!Addresses.empty()) {
    auto *Type = ArrayType::get(Ptr, Addresses.size());
    Table = new GlobalVariable(
        M, Type, /*isConstant=*/true, GlobalValue::PrivateLinkage,
        ConstantArray::get(Type, Addresses), ".mneme.jit.addresses");
  }
  GlobalVariable *Entry = emitEntry(
      F.getName(), {Null, Null, ConstantInt::get(I64, MNEME_JIT_FUNCTION),
                    emitText(F.getName()), ConstantInt::get(I64, Fields.size()),
                    emitFields(Fields), &F, PayloadVar,
                    ConstantInt::get(I64, Addresses.size()), emitText(Names),
                    Table, ConstantInt::get(I64, 0)});
  // The linker keeps or removes the function with its entry.
  if (Comdat *Group = F.getComdat())
    Entry->setComdat(Group);
  appendToCompilerUsed(M, {Entry});
  makeStub(F, *Entry, Places);
}

bool JitEmbedding::emit() {
  if (Kernels.empty() && Functions.empty())
    return false;
  auto Limit = [&](StringRef Name, JitFields &Fields) {
    if (Fields.size() <= MaxFields)
      return;
    reportWarning(M, "only " + Twine(MaxFields) + " of the " +
                         Twine(Fields.size()) + " parts of the arguments of '" +
                         demangle(Name.str()) + "' become constants");
    Fields.resize(MaxFields);
  };
  for (Kernel &K : Kernels) {
    Limit(K.Name, K.Fields);
    emitKernel(K);
  }
  for (auto &[F, Fields] : Functions) {
    Limit(F->getName(), Fields);
    emitFunction(*F, Fields);
  }
  addJitAttachCall(M);
  return true;
}
