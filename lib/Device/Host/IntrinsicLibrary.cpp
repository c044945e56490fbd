//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "IntrinsicLibrary.h"
#include "HostABI.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/MemoryBufferRef.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::host;

// The bitcode that CMake built from Intrinsics/Library.c.
asm(".pushsection .rodata.mneme_intrinsics, \"a\", @progbits\n"
    ".balign 16\n"
    ".globl mneme_intrinsics_begin\n"
    ".hidden mneme_intrinsics_begin\n"
    "mneme_intrinsics_begin:\n"
    ".incbin \"" MNEME_INTRINSICS_BITCODE "\"\n"
    ".globl mneme_intrinsics_end\n"
    ".hidden mneme_intrinsics_end\n"
    "mneme_intrinsics_end:\n"
    ".popsection\n");
extern "C" {
extern const char mneme_intrinsics_begin[];
extern const char mneme_intrinsics_end[];
}

static constexpr StringLiteral PlaceholderPrefix = "mneme.host.";

IntrinsicLibrary::IntrinsicLibrary(Module &M) : M(M) {
  StringRef Bytes(mneme_intrinsics_begin,
                  mneme_intrinsics_end - mneme_intrinsics_begin);
  // The bitcode can be damaged only together with this program.
  Lib = cantFail(getLazyBitcodeModule(
      MemoryBufferRef(Bytes, "mneme intrinsics"), M.getContext()));
}

IntrinsicLibrary::~IntrinsicLibrary() = default;

Function *IntrinsicLibrary::declare(StringRef Name) {
  Function *Known = Lib->getFunction(Name);
  // A lazily loaded function counts as a declaration only if it has no body.
  if (!Known || Known->isDeclaration())
    return nullptr;
  auto *F = dyn_cast<Function>(
      M.getOrInsertFunction(
           Name, Known->getFunctionType(),
           Known->getAttributes().removeFnAttributes(M.getContext()))
          .getCallee());
  return F && F->getFunctionType() == Known->getFunctionType() ? F : nullptr;
}

bool host::canConvertBits(const DataLayout &DL, Type *From, Type *To) {
  if (From == To)
    return true;
  if (!From->isSingleValueType() || !To->isSingleValueType())
    return false;
  if (From->isPointerTy() && To->isPointerTy())
    return true;
  TypeSize FromBits = DL.getTypeSizeInBits(From),
           ToBits = DL.getTypeSizeInBits(To);
  if (FromBits.isScalable() || ToBits.isScalable())
    return false;
  return FromBits == ToBits || (FromBits <= 64 && ToBits <= 64);
}

Value *host::convertBits(IRBuilderBase &B, Value *V, Type *To) {
  Type *From = V->getType();
  if (From == To)
    return V;
  if (From->isPointerTy() && To->isPointerTy())
    return B.CreateAddrSpaceCast(V, To);
  const DataLayout &DL = B.GetInsertBlock()->getDataLayout();
  unsigned FromBits = DL.getTypeSizeInBits(From),
           ToBits = DL.getTypeSizeInBits(To);
  Type *FromInt = B.getIntNTy(FromBits), *ToInt = B.getIntNTy(ToBits);
  V = From->isPointerTy() ? B.CreatePtrToInt(V, FromInt)
                          : B.CreateBitCast(V, FromInt);
  V = B.CreateZExtOrTrunc(V, ToInt);
  return To->isPointerTy() ? B.CreateIntToPtr(V, To) : B.CreateBitCast(V, To);
}

Value *IntrinsicLibrary::call(IRBuilderBase &B, Function *Callee,
                              ArrayRef<Value *> Args, Type *ResultTy) {
  const DataLayout &DL = M.getDataLayout();
  FunctionType *Ty = Callee->getFunctionType();
  if (Ty->getNumParams() != Args.size())
    return nullptr;
  bool Returns = !ResultTy->isVoidTy();
  if (Returns && !canConvertBits(DL, Ty->getReturnType(), ResultTy))
    return nullptr;
  for (auto [Arg, Param] : zip(Args, Ty->params()))
    if (!canConvertBits(DL, Arg->getType(), Param))
      return nullptr;

  SmallVector<Value *, 4> Converted;
  for (auto [Arg, Param] : zip(Args, Ty->params()))
    Converted.push_back(convertBits(B, Arg, Param));
  CallInst *Call = B.CreateCall(Callee, Converted);
  Call->setAttributes(Callee->getAttributes());
  return Returns ? convertBits(B, Call, ResultTy) : Call;
}

/// Replaces every call of \p F with its body.
static void inlineEverywhere(Function &F) {
  for (User *U : make_early_inc_range(F.users())) {
    auto *Call = dyn_cast<CallBase>(U);
    if (!Call || Call->getCalledFunction() != &F)
      continue;
    InlineFunctionInfo Info;
    [[maybe_unused]] InlineResult R = InlineFunction(*Call, Info);
    assert(R.isSuccess() && "library functions are made to be inlined");
  }
}

Error IntrinsicLibrary::link() {
  SmallVector<std::string, 0> Names, Placeholders;
  for (Function &F : *Lib) {
    if (F.getName().starts_with(PlaceholderPrefix)) {
      // The declaration has attributes that the library's declaration lacks.
      StringRef Name = F.getName().drop_front(PlaceholderPrefix.size());
      if (!M.getFunction(F.getName()))
        Placeholders.push_back(F.getName().str());
      getPlaceholder(M, Name);
    } else if (!F.isDeclaration()) {
      Names.push_back(F.getName().str());
    }
  }

  Lib->setTargetTriple(M.getTargetTriple());
  Lib->setDataLayout(M.getDataLayout());
  for (StringRef Name : {"llvm.module.flags", "llvm.ident"})
    if (NamedMDNode *Node = Lib->getNamedMetadata(Name))
      Node->eraseFromParent();
  if (Linker::linkModules(M, std::move(Lib), Linker::LinkOnlyNeeded))
    return createStringError("cannot link the intrinsic library");

  SmallVector<Function *> Synchronizing;
  for (StringRef Name : Names) {
    Function *F = M.getFunction(Name);
    if (!F || F->isDeclaration())
      continue;
    F->setLinkage(GlobalValue::InternalLinkage);
    for (StringRef Attr :
         {"target-cpu", "target-features", "tune-cpu", "min-legal-vector-width",
          "stack-protector-buffer-size", "no-trapping-math", "frame-pointer"})
      F->removeFnAttr(Attr);
    setHostTarget(*F);
    if (!F->hasFnAttribute(Attribute::NoInline))
      F->addFnAttr(Attribute::AlwaysInline);
    if (!findSyncs(*F).empty())
      Synchronizing.push_back(F);
  }
  for (Function *F : Synchronizing) {
    inlineEverywhere(*F);
    if (F->use_empty())
      F->eraseFromParent();
  }
  for (StringRef Name : Placeholders)
    if (Function *F = M.getFunction(Name); F->use_empty())
      F->eraseFromParent();
  return Error::success();
}

void host::createUnsupported(IRBuilderBase &B, StringRef What) {
  Module &M = *B.GetInsertBlock()->getModule();
  FunctionCallee Report = M.getOrInsertFunction("__mneme_host_unsupported",
                                                B.getVoidTy(), B.getPtrTy());
  B.CreateCall(Report, B.CreateGlobalString(What, "mneme.unsupported"));
}
