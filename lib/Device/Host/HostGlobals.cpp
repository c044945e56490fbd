//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device variables. Variables that a program can change or its host code can
/// see are in device memory (the arena), with one copy for all images of a
/// program. An image refers to them by name. Other constants stay in the image.
///
//===----------------------------------------------------------------------===//

#include "HostABI.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Analysis/ConstantFolding.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/Mneme/Device/Host/HostPasses.h"

using namespace llvm;
using namespace llvm::mneme;

/// Device memory, and not shared (3) or local (5) memory or a parameter (101).
static bool isDeviceSpace(unsigned AS) { return AS == 0 || AS == 1 || AS == 4; }

static bool isDeviceVariable(const GlobalVariable &G) {
  return isDeviceSpace(G.getAddressSpace()) &&
         !G.getName().starts_with("llvm.") && G.getSection() != "llvm.metadata";
}

/// Calls \p Visit for every global value that \p C mentions.
static void visitGlobals(const Constant &C,
                         function_ref<void(const GlobalValue &)> Visit) {
  SmallVector<const Constant *, 8> Work{&C};
  SmallPtrSet<const Constant *, 8> Seen;
  while (!Work.empty()) {
    const Constant *Next = Work.pop_back_val();
    if (!Seen.insert(Next).second)
      continue;
    if (auto *GV = dyn_cast<GlobalValue>(Next)) {
      Visit(*GV);
      continue;
    }
    for (const Use &Op : Next->operands())
      if (auto *OpC = dyn_cast<Constant>(Op))
        Work.push_back(OpC);
  }
}

/// \returns whether \p G contains function pointers. Such a table is not a
/// constant of the image, because an object that one kernel makes keeps its
/// virtual table for the next kernel.
static bool holdsFunction(const GlobalVariable &G) {
  bool Holds = false;
  visitGlobals(*G.getInitializer(), [&](const GlobalValue &GV) {
    Holds |= isa_and_nonnull<Function>(GV.getAliaseeObject());
  });
  return Holds;
}

/// \returns the defined variables that are in the arena, in the module's order,
/// followed by constants that are there only because of their initializers.
static SetVector<const GlobalVariable *> findArenaVariables(const Module &M) {
  SetVector<const GlobalVariable *> Found;
  for (const GlobalVariable &G : M.globals())
    if (!G.isDeclaration() && isDeviceVariable(G) &&
        (!G.isConstant() || G.isExternallyInitialized() || holdsFunction(G)))
      Found.insert(&G);
  for (unsigned I = 0; I != Found.size(); ++I)
    visitGlobals(*Found[I]->getInitializer(), [&](const GlobalValue &GV) {
      auto *G = dyn_cast<GlobalVariable>(GV.getAliaseeObject());
      if (G && !G->isDeclaration() && isDeviceVariable(*G))
        Found.insert(G);
    });
  return Found;
}

/// clang declares special registers as objects whose members are read from
/// registers. Nothing defines these objects. Their address is needed only for a
/// 'this' that is never used.
static bool isSpecialRegister(const GlobalVariable &G) {
  return G.isDeclaration() && is_contained({"threadIdx", "blockIdx", "blockDim",
                                            "gridDim"},
                                           G.getName());
}

std::vector<HostVariable> mneme::findHostVariables(const Module &M) {
  const DataLayout &DL = M.getDataLayout();
  std::vector<HostVariable> Variables;
  for (const GlobalVariable *G : findArenaVariables(M)) {
    HostVariable V;
    V.Name = G->getName().str();
    V.Size = DL.getTypeAllocSize(G->getValueType());
    V.Alignment = DL.getPreferredAlign(G).value();
    V.Constant = G->isConstant() || G->getAddressSpace() == 4;
    Variables.push_back(std::move(V));
  }
  return Variables;
}

std::vector<std::string> mneme::findReachedVariables(const Module &M,
                                                     StringRef Kernel) {
  const Function *Root = M.getFunction(Kernel);
  if (!Root)
    return {};
  // All globals that are mentioned count as reached. That is sufficient, and
  // independent of a pipeline's optimizations.
  SetVector<const GlobalValue *> Reached;
  auto Visit = [&](const GlobalValue &GV) { Reached.insert(&GV); };
  Reached.insert(Root);
  bool Indirect = false;
  for (unsigned I = 0; I != Reached.size(); ++I) {
    const GlobalValue *GV = Reached[I];
    if (auto *F = dyn_cast<Function>(GV)) {
      if (!Indirect && host::hasIndirectCall(*F)) {
        Indirect = true;
        for (const Function &Target : M)
          if (host::isPointerTarget(Target))
            Reached.insert(&Target);
      }
      for (const Instruction &Inst : instructions(F))
        for (const Use &Op : Inst.operands())
          if (auto *C = dyn_cast<Constant>(Op))
            visitGlobals(*C, Visit);
    } else if (auto *G = dyn_cast<GlobalVariable>(GV)) {
      if (G->hasInitializer())
        visitGlobals(*G->getInitializer(), Visit);
    } else if (const GlobalObject *Aliasee = GV->getAliaseeObject()) {
      Visit(*Aliasee);
    }
  }
  SetVector<const GlobalVariable *> Arena = findArenaVariables(M);
  std::vector<std::string> Names;
  for (const GlobalVariable &G : M.globals())
    if (Reached.contains(&G) && !isSpecialRegister(G) &&
        (Arena.contains(&G) || (G.isDeclaration() && isDeviceVariable(G))))
      Names.push_back(G.getName().str());
  return Names;
}

//===----------------------------------------------------------------------===//
// Initializers
//===----------------------------------------------------------------------===//

namespace {
class InitializerWriter {
  const GlobalVariable &Variable;
  const DataLayout &DL;
  function_ref<uint64_t(StringRef)> AddressOf;
  std::string Bytes;

public:
  InitializerWriter(const GlobalVariable &Variable,
                    function_ref<uint64_t(StringRef)> AddressOf)
      : Variable(Variable), DL(Variable.getDataLayout()), AddressOf(AddressOf),
        Bytes(DL.getTypeAllocSize(Variable.getValueType()), '\0') {}

  Expected<std::string> write() {
    if (Error E = writeAt(*Variable.getInitializer(), 0))
      return std::move(E);
    return std::move(Bytes);
  }

private:
  Error writeAt(const Constant &C, uint64_t Offset);
  void writeInt(const APInt &V, uint64_t Offset);
  Expected<uint64_t> evaluate(const Constant &C);

  Error error(const Twine &What) {
    return createStringError("initializer of '" + Variable.getName() + "' " +
                             What);
  }
};
} // namespace

void InitializerWriter::writeInt(const APInt &V, uint64_t Offset) {
  uint64_t Size = divideCeil(V.getBitWidth(), 8);
  APInt Wide = V.zext(alignTo(V.getBitWidth(), 8));
  for (uint64_t I = 0; I != Size; ++I)
    Bytes[Offset + I] = char(Wide.extractBitsAsZExtValue(8, 8 * I));
}

/// Evaluates a constant that depends on addresses as an integer.
Expected<uint64_t> InitializerWriter::evaluate(const Constant &C) {
  if (auto *Int = dyn_cast<ConstantInt>(&C))
    return Int->getZExtValue();
  if (C.isNullValue() || isa<UndefValue>(C))
    return 0;
  if (auto *F = dyn_cast<Function>(&C))
    return host::getFunctionHandle(*F);
  if (auto *GV = dyn_cast<GlobalValue>(&C)) {
    const GlobalObject *Object = GV->getAliaseeObject();
    if (Object && Object != GV)
      return evaluate(*Object);
    if (uint64_t Address = AddressOf(GV->getName()))
      return Address;
    return error("refers to '" + GV->getName() + "', which has no address");
  }
  auto *Expr = dyn_cast<ConstantExpr>(&C);
  if (!Expr)
    return error("holds a constant of an unknown kind");
  if (auto *GEP = dyn_cast<GEPOperator>(Expr)) {
    APInt Offset(DL.getIndexTypeSizeInBits(GEP->getType()), 0);
    if (!GEP->accumulateConstantOffset(DL, Offset))
      return error("holds an address that is not a constant offset");
    Expected<uint64_t> Base =
        evaluate(*cast<Constant>(GEP->getPointerOperand()));
    if (!Base)
      return Base;
    return *Base + uint64_t(Offset.getSExtValue());
  }
  Expected<uint64_t> L = evaluate(*Expr->getOperand(0));
  if (!L || Expr->isCast())
    return L;
  Expected<uint64_t> R = evaluate(*Expr->getOperand(1));
  if (!R)
    return R;
  switch (Expr->getOpcode()) {
  case Instruction::Add:
    return *L + *R;
  case Instruction::Sub:
    return *L - *R;
  case Instruction::Xor:
    return *L ^ *R;
  default:
    return error("computes with '" + Twine(Expr->getOpcodeName()) + "'");
  }
}

Error InitializerWriter::writeAt(const Constant &C, uint64_t Offset) {
  if (C.isNullValue() || isa<UndefValue>(C))
    return Error::success();
  if (auto *Int = dyn_cast<ConstantInt>(&C);
      Int && !C.getType()->isVectorTy()) {
    writeInt(Int->getValue(), Offset);
    return Error::success();
  }
  if (auto *FP = dyn_cast<ConstantFP>(&C); FP && !C.getType()->isVectorTy()) {
    writeInt(FP->getValueAPF().bitcastToAPInt(), Offset);
    return Error::success();
  }
  if (auto *Struct = dyn_cast<StructType>(C.getType())) {
    const StructLayout *Layout = DL.getStructLayout(Struct);
    for (unsigned I = 0; I != Struct->getNumElements(); ++I)
      if (Error E = writeAt(*C.getAggregateElement(I),
                            Offset + Layout->getElementOffset(I)))
        return E;
    return Error::success();
  }
  Type *Element = nullptr;
  uint64_t Count = 0, Stride = 0;
  if (auto *Array = dyn_cast<ArrayType>(C.getType())) {
    Element = Array->getElementType();
    Count = Array->getNumElements();
    Stride = DL.getTypeAllocSize(Element);
  } else if (auto *Vector = dyn_cast<FixedVectorType>(C.getType())) {
    Element = Vector->getElementType();
    Count = Vector->getNumElements();
    if (DL.getTypeSizeInBits(Element) % 8 != 0)
      return error("holds a vector of elements that are not whole bytes");
    Stride = DL.getTypeSizeInBits(Element) / 8;
  }
  if (Element) {
    for (uint64_t I = 0; I != Count; ++I)
      if (Error E = writeAt(*C.getAggregateElement(I), Offset + I * Stride))
        return E;
    return Error::success();
  }
  Expected<uint64_t> Address = evaluate(C);
  if (!Address)
    return Address.takeError();
  writeInt(APInt(DL.getTypeSizeInBits(C.getType()), *Address,
                 /*isSigned=*/false, /*implicitTrunc=*/true),
           Offset);
  return Error::success();
}

Expected<std::vector<std::string>>
mneme::evaluateInitializers(const Module &M,
                            function_ref<uint64_t(StringRef)> AddressOf) {
  std::vector<std::string> Contents;
  for (const GlobalVariable *G : findArenaVariables(M)) {
    Expected<std::string> Bytes = InitializerWriter(*G, AddressOf).write();
    if (!Bytes)
      return Bytes.takeError();
    Contents.push_back(std::move(*Bytes));
  }
  return Contents;
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

PreservedAnalyses HostGlobalsPass::run(Module &M, ModuleAnalysisManager &) {
  for (const GlobalVariable *Found : findArenaVariables(M)) {
    // The search has a const module, but this pass may change it.
    GlobalVariable &G = *M.getNamedGlobal(Found->getName());
    G.setInitializer(nullptr);
    G.setLinkage(GlobalValue::ExternalLinkage);
    G.setConstant(false);
    G.setExternallyInitialized(false);
  }
  for (GlobalVariable &G : M.globals()) {
    if (!isDeviceVariable(G))
      continue;
    G.setVisibility(GlobalValue::DefaultVisibility);
    // The arena is more than 2 GiB from the code, and only symbols that are not
    // dso_local are accessed through the GOT.
    G.setDSOLocal(!G.isDeclaration());
    if (!G.isDeclaration())
      G.setLinkage(GlobalValue::InternalLinkage);
  }
  return PreservedAnalyses::none();
}
