//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Runtime/JitFormat.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

/// The linker's bound of a section. Weak: the linked object may have no such
/// section. Hidden: never resolved to another object's section.
static GlobalVariable *getSectionBound(Module &M, const Twine &Name) {
  auto *Bound = new GlobalVariable(
      M, Type::getInt8Ty(M.getContext()), /*isConstant=*/false,
      GlobalValue::ExternalWeakLinkage, /*Initializer=*/nullptr, Name);
  Bound->setVisibility(GlobalValue::HiddenVisibility);
  return Bound;
}

/// Makes \p M call \p Callee, if that is defined, with the bounds of \p
/// Sections, once.
static void addConstructor(Module &M, StringRef Name, StringRef Callee,
                           ArrayRef<StringRef> Sections) {
  if (M.getFunction(Name))
    return;
  LLVMContext &Context = M.getContext();
  SmallVector<Value *, 4> Bounds;
  for (StringRef Section : Sections)
    for (StringRef Prefix : {"__start_", "__stop_"})
      Bounds.push_back(getSectionBound(M, Prefix + Section));
  SmallVector<Type *, 4> Types(Bounds.size(), PointerType::getUnqual(Context));
  FunctionCallee Attach = M.getOrInsertFunction(
      Callee, FunctionType::get(Type::getVoidTy(Context), Types,
                                /*isVarArg=*/false));
  if (auto *F = dyn_cast<Function>(Attach.getCallee());
      F && F->isDeclaration()) {
    F->setLinkage(GlobalValue::ExternalWeakLinkage);
    // NonLazyBind makes the reference go through the GOT instead of a PLT stub:
    // a linker may resolve any other kind of reference from an executable to a
    // weak symbol to null.
    F->addFnAttr(Attribute::NonLazyBind);
  }

  Function *Constructor = Function::createWithDefaultAttr(
      FunctionType::get(Type::getVoidTy(Context), /*isVarArg=*/false),
      GlobalValue::InternalLinkage, M.getDataLayout().getProgramAddressSpace(),
      Name, &M);
  Constructor->setDoesNotThrow();
  auto *Entry = BasicBlock::Create(Context, "entry", Constructor);
  auto *Call = BasicBlock::Create(Context, "attach", Constructor);
  auto *Exit = BasicBlock::Create(Context, "exit", Constructor);
  IRBuilder<> Builder(Entry);
  Builder.CreateCondBr(Builder.CreateIsNotNull(Attach.getCallee()), Call, Exit);
  Builder.SetInsertPoint(Call);
  Builder.CreateCall(Attach, Bounds);
  Builder.CreateBr(Exit);
  Builder.SetInsertPoint(Exit);
  Builder.CreateRetVoid();
  // Run before the constructor that registers kernels.
  appendToGlobalCtors(M, Constructor, /*Priority=*/0);
}

void mneme::addAttachCall(Module &M) {
  addConstructor(M, "mneme.attach", "__mneme_attach",
                 {MNEME_HOOKS_SECTION, MNEME_INDEX_SECTION});
}

void mneme::addJitAttachCall(Module &M) {
  addConstructor(M, "mneme.jit.attach", "__mneme_jit_attach",
                 {MNEME_JIT_SECTION});
}
