//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitFunctions.h"
#include "PayloadBuilder.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Runtime/JitFormat.h"
#include "llvm/Transforms/Utils/Cloning.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class Extraction {
public:
  Extraction(Function &F, char OptLevel,
             function_ref<bool(const Function &)> IsAnnotated)
      : F(F), M(*F.getParent()), OptLevel(OptLevel), IsAnnotated(IsAnnotated) {}
  ExtractedFunction run();

private:
  bool isCopied(const GlobalValue &G) const;
  void findCopied();
  void nameGlobals();
  void separateEntry();
  void setLinkage(GlobalValue &G);
  void replaceThreadLocals();
  void prune();

  Function &F;
  Module &M;
  char OptLevel;
  function_ref<bool(const Function &)> IsAnnotated;
  SmallSetVector<const GlobalValue *, 32> Copied;
  std::unique_ptr<Module> New;
  Function *Entry = nullptr;
};
} // namespace

/// A copy of a variable would be another variable. Of constants, it is the same
/// unless they contain addresses: copies of vtables would bring in all virtual
/// functions.
static bool isPlainConstant(const GlobalVariable &G) {
  constexpr uint64_t MaxSize = 1 << 20;
  return G.isConstant() && G.hasDefinitiveInitializer() && !G.isThreadLocal() &&
         !G.isExternallyInitialized() &&
         !G.getInitializer()->needsRelocation() &&
         G.getDataLayout().getTypeAllocSize(G.getValueType()) <= MaxSize;
}

bool Extraction::isCopied(const GlobalValue &G) const {
  if (auto *V = dyn_cast<GlobalVariable>(&G))
    return isPlainConstant(*V);
  auto *Callee = dyn_cast<Function>(&G);
  return Callee && !Callee->isDeclaration() && !Callee->isInterposable() &&
         (Callee == &F || !IsAnnotated(*Callee));
}

void Extraction::findCopied() {
  SmallVector<const Constant *, 32> Worklist = {&F};
  SmallPtrSet<const Constant *, 32> Seen;
  while (!Worklist.empty()) {
    const Constant *C = Worklist.pop_back_val();
    if (!Seen.insert(C).second)
      continue;
    if (auto *G = dyn_cast<GlobalValue>(C)) {
      if (!isCopied(*G))
        continue;
      Copied.insert(G);
    }
    auto Visit = [&](const User &U) {
      for (const Use &Op : U.operands())
        if (auto *Operand = dyn_cast<Constant>(Op))
          Worklist.push_back(Operand);
    };
    Visit(*C);
    if (auto *Body = dyn_cast<Function>(C))
      for (const Instruction &I : instructions(Body))
        Visit(I);
  }
}

/// Symbols are found by name.
void Extraction::nameGlobals() {
  for (GlobalVariable &G : M.globals())
    if (!G.hasName())
      G.setName("mneme.unnamed");
}

/// The function itself, if the code refers to it, is that of the program: a
/// recursive call may have other values.
void Extraction::separateEntry() {
  std::string Name = Entry->getName().str();
  Entry->setName(MNEME_JIT_FUNCTION_ENTRY);
  Entry->setLinkage(GlobalValue::ExternalLinkage);
  if (!Entry->use_empty()) {
    auto *Own =
        Function::Create(Entry->getFunctionType(), GlobalValue::ExternalLinkage,
                         Entry->getAddressSpace(), Name, New.get());
    Own->setCallingConv(Entry->getCallingConv());
    Own->setAttributes(Entry->getAttributes());
    Entry->replaceAllUsesWith(Own);
  }
}

static bool isOnlyCalled(const Function &F) {
  return all_of(F.uses(), [](const Use &U) {
    auto *Call = dyn_cast<CallBase>(U.getUser());
    return Call && Call->isCallee(&U);
  });
}

void Extraction::setLinkage(GlobalValue &G) {
  if (auto *Object = dyn_cast<GlobalObject>(&G)) {
    Object->setComdat(nullptr);
    Object->setSection("");
  }
  G.setVisibility(GlobalValue::DefaultVisibility);
  G.setDLLStorageClass(GlobalValue::DefaultStorageClass);
  // Everything else may be far away.
  G.setDSOLocal(&G == Entry);
  if (&G == Entry)
    return;
  if (G.isDeclaration()) {
    if (!G.hasExternalWeakLinkage())
      G.setLinkage(GlobalValue::ExternalLinkage);
    return;
  }
  // A function that is always inlined need not exist anywhere. Others that only
  // other objects have are called there unless they are inlined.
  auto *Callee = dyn_cast<Function>(&G);
  bool IsOwn =
      Callee
          ? (Callee->hasFnAttribute(Attribute::AlwaysInline) ||
             (!G.hasExternalLinkage() && !G.hasAvailableExternallyLinkage())) &&
                isOnlyCalled(*Callee)
          : G.hasLocalLinkage() && G.hasGlobalUnnamedAddr();
  G.setLinkage(IsOwn ? GlobalValue::InternalLinkage
                     : GlobalValue::AvailableExternallyLinkage);
}

/// Code of the JIT has no thread-local variables of the program: it calls
/// functions for their addresses.
void Extraction::replaceThreadLocals() {
  for (GlobalVariable &G : make_early_inc_range(New->globals())) {
    if (!G.isThreadLocal())
      continue;
    Type *Ptr = G.getType();
    std::string Name = ("mneme.tls." + G.getName()).str();
    FunctionCallee Address = New->getOrInsertFunction(Name, Ptr);
    for (User *U : make_early_inc_range(G.users())) {
      auto *Call = dyn_cast<IntrinsicInst>(U);
      if (!Call || Call->getIntrinsicID() != Intrinsic::threadlocal_address)
        continue;
      IRBuilder<> B(Call);
      Call->replaceAllUsesWith(B.CreateCall(Address));
      Call->eraseFromParent();
    }
    GlobalVariable *Original = M.getNamedGlobal(G.getName());
    if (M.getFunction(Name))
      continue;
    auto *Accessor = Function::createWithDefaultAttr(
        FunctionType::get(Ptr, /*isVarArg=*/false),
        GlobalValue::InternalLinkage,
        M.getDataLayout().getProgramAddressSpace(), Name, &M);
    IRBuilder<> B(BasicBlock::Create(M.getContext(), "", Accessor));
    B.CreateRet(B.CreateThreadLocalAddress(Original));
  }
}

/// Erases what nothing refers to. The code that was copied needs all of it but
/// what the program's lists of constructors and the like referred to.
void Extraction::prune() {
  bool Changed;
  auto Erase = [&](auto &&Range) {
    for (auto &G : make_early_inc_range(Range)) {
      G.removeDeadConstantUsers();
      if (static_cast<GlobalValue *>(&G) == Entry || !G.use_empty())
        continue;
      G.eraseFromParent();
      Changed = true;
    }
  };
  do {
    Changed = false;
    Erase(New->functions());
    Erase(New->globals());
    Erase(New->aliases());
    Erase(New->ifuncs());
  } while (Changed);
}

ExtractedFunction Extraction::run() {
  nameGlobals();
  findCopied();
  ValueToValueMapTy Map;
  New = CloneModule(M, Map,
                    [&](const GlobalValue *G) { return Copied.contains(G); });
  Entry = cast<Function>(Map[&F]);
  New->setModuleIdentifier("");
  // The same function of several files is the same code.
  New->setSourceFileName("");
  New->setModuleInlineAsm("");
  StripDebugInfo(*New);
  separateEntry();
  prune();
  for (GlobalValue &G : New->global_values())
    setLinkage(G);
  replaceThreadLocals();
  prune();
  if (OptLevel == '0')
    for (Function &Each : *New)
      if (Each.hasFnAttribute(Attribute::OptimizeNone)) {
        Each.removeFnAttr(Attribute::OptimizeNone);
        Each.removeFnAttr(Attribute::NoInline);
      }
  // The image is not at the addresses that the program was linked for.
  New->setModuleFlag(Module::Min, "PIC Level", uint32_t(PICLevel::BigPIC));
  New->setModuleFlag(Module::Max, "PIE Level", uint32_t(PIELevel::Default));

  ExtractedFunction Result;
  for (const GlobalValue &G : New->global_values()) {
    bool IsIntrinsic = isa<Function>(G) && cast<Function>(G).isIntrinsic();
    if (&G == Entry || G.hasLocalLinkage() || IsIntrinsic)
      continue;
    if (GlobalValue *Original = M.getNamedValue(G.getName()))
      Result.Addresses.push_back({G.getName().str(), Original});
  }
  SmallVector<char, 0> Bitcode;
  BitcodeWriter Writer(Bitcode);
  Writer.writeModule(*New);
  Writer.writeStrtab();
  PayloadBuilder Payload(*New, std::move(Bitcode), OptLevel);
  Payload.addKernel(F.getName(), {}, std::nullopt);
  Result.Payload = Payload.build();
  return Result;
}

ExtractedFunction
mneme::extractFunction(Function &F, char OptLevel,
                       function_ref<bool(const Function &)> IsAnnotated) {
  return Extraction(F, OptLevel, IsAnnotated).run();
}
