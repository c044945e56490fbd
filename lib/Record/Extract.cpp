//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Extract.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Demangle/Demangle.h"
#include "llvm/IR/DebugInfo.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"
#include "llvm/IR/TypeFinder.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

using GlobalSet = SmallPtrSet<const GlobalValue *, 32>;

/// Returns all globals that \p Roots need, directly or indirectly.
static GlobalSet findClosure(ArrayRef<const Constant *> Roots) {
  GlobalSet Closure;
  SmallPtrSet<const Constant *, 32> Seen;
  SmallVector<const Constant *, 32> Worklist(Roots);
  auto Visit = [&](const User &U) {
    for (const Use &Op : U.operands())
      if (auto *C = dyn_cast<Constant>(Op))
        Worklist.push_back(C);
  };
  while (!Worklist.empty()) {
    const Constant *C = Worklist.pop_back_val();
    if (!Seen.insert(C).second)
      continue;
    if (auto *G = dyn_cast<GlobalValue>(C))
      Closure.insert(G);
    Visit(*C);
    if (auto *F = dyn_cast<Function>(C))
      for (const Instruction &I : instructions(F))
        Visit(I);
  }
  return Closure;
}

/// Returns the members of llvm.used or llvm.compiler.used to keep: without them
/// the optimizer could do more than it did in the application.
static SmallVector<GlobalValue *>
collectKeptUsed(const Module &M, bool Compiler, const GlobalSet &Closure) {
  SmallVector<GlobalValue *, 8> Used;
  collectUsedGlobalVariables(M, Used, Compiler);
  SmallVector<GlobalValue *> Kept;
  for (GlobalValue *G : Used)
    if (Closure.contains(G))
      Kept.push_back(G);
  return Kept;
}

/// Removes nodes of named metadata that refer to removed globals, such as lists
/// of kernels and their properties.
static void dropDanglingMetadata(Module &M) {
  auto Dangles = [](const MDNode *N) {
    return any_of(N->operands(), [](const MDOperand &Op) {
      auto *V = dyn_cast_or_null<ValueAsMetadata>(Op.get());
      auto *G = V ? dyn_cast<GlobalValue>(V->getValue()->stripPointerCasts())
                  : nullptr;
      if (!G)
        return false;
      G->removeDeadConstantUsers();
      return G->isDeclaration() && G->use_empty();
    });
  };
  for (NamedMDNode &Named : make_early_inc_range(M.named_metadata())) {
    SmallVector<MDNode *> Kept;
    for (MDNode *N : Named.operands())
      if (!Dangles(N))
        Kept.push_back(N);
    if (Kept.size() == Named.getNumOperands())
      continue;
    if (Kept.empty()) {
      Named.eraseFromParent();
      continue;
    }
    Named.clearOperands();
    for (MDNode *N : Kept)
      Named.addOperand(N);
  }
}

/// Returns all variables in global and constant memory of the module's own
/// image, in the image's order. NVPTX only.
static std::vector<ImageVariable> listVariables(const Module &M) {
  enum AddressSpace : unsigned { Generic = 0, Global = 1, Const = 4 };
  std::vector<ImageVariable> Variables;
  if (!getTriple(M).isNVPTX())
    return Variables;
  SmallVector<const Constant *, 32> Roots;
  for (const GlobalValue &G : M.global_values())
    if (!G.isDeclaration() && !G.isDiscardableIfUnused())
      Roots.push_back(&G);
  GlobalSet Live = findClosure(Roots);
  const DataLayout &DL = M.getDataLayout();
  for (const GlobalVariable &G : M.globals())
    if (is_contained({Generic, Global, Const}, G.getAddressSpace()) &&
        !G.isDeclaration() && !G.hasAppendingLinkage() && Live.contains(&G))
      Variables.push_back(
          {G.getName().str(),
           DL.getTypeAllocSize(G.getValueType()).getFixedValue(),
           DL.getPreferredAlign(&G).value(), G.getAddressSpace(),
           G.hasLocalLinkage()});
  return Variables;
}

/// Removes declarations without references.
static void dropDeadDeclarations(Module &M) {
  auto IsDead = [](GlobalValue &G) {
    G.removeDeadConstantUsers();
    return G.isDeclaration() && G.use_empty();
  };
  for (Function &F : make_early_inc_range(M))
    if (IsDead(F))
      F.eraseFromParent();
  for (GlobalVariable &G : make_early_inc_range(M.globals()))
    if (IsDead(G))
      G.eraseFromParent();
}

void mneme::nameGlobals(Module &M) {
  unsigned Number = 0;
  for (GlobalVariable &G : M.globals())
    if (!G.hasName())
      G.setName("mneme.unnamed." + Twine(Number++));
}

void mneme::dropDefinition(GlobalValue &G) {
  if (auto *F = dyn_cast<Function>(&G))
    F->deleteBody();
  else if (auto *V = dyn_cast<GlobalVariable>(&G))
    V->setInitializer(nullptr);
  else
    return;
  G.setLinkage(GlobalValue::ExternalLinkage);
  cast<GlobalObject>(G).setComdat(nullptr);
}

static void eraseDeadAliases(Module &M, const GlobalSet &Closure) {
  auto Erase = [&](auto &&Range) {
    for (auto &G : make_early_inc_range(Range)) {
      G.removeDeadConstantUsers();
      if (!Closure.contains(&G) && G.use_empty())
        G.eraseFromParent();
    }
  };
  Erase(M.aliases());
  Erase(M.ifuncs());
}

ImageNotes mneme::describeImage(const Module &M, StringRef Kernel) {
  ImageNotes Notes;
  Notes.Variables = listVariables(M);
  Notes.HasOtherKernels = any_of(M, [&](const Function &F) {
    return F.getName() != Kernel && isKernel(F);
  });
  return Notes;
}

void mneme::writeNotes(Module &M, const ImageNotes &Notes) {
  if (any_of(Notes.Variables,
             [&](const ImageVariable &V) { return !M.getNamedGlobal(V.Name); }))
    setImageVariables(M, Notes.Variables);
  if (Notes.HasOtherKernels && getTriple(M).isNVPTX())
    setHasOtherKernels(M);
}

const GlobalVariable &mneme::addTargetTable(Module &M) {
  auto *Ptr = PointerType::get(M.getContext(), 0);
  SmallVector<Constant *> Targets;
  for (Function &F : M)
    if (!F.isDeclaration() && !isKernel(F) &&
        F.hasAddressTaken(/*PutOffender=*/nullptr, /*IgnoreCallbackUses=*/false,
                          /*IgnoreAssumeLikeCalls=*/true,
                          /*IgnoreLLVMUsed=*/true))
      Targets.push_back(
          ConstantExpr::getPointerBitCastOrAddrSpaceCast(&F, Ptr));
  auto *Type = ArrayType::get(Ptr, Targets.size());
  return *new GlobalVariable(
      M, Type, /*isConstant=*/true, GlobalValue::PrivateLinkage,
      ConstantArray::get(Type, Targets), "mneme.targets");
}

namespace {
/// How functions use a variable.
struct VariableUse {
  bool Reads = false, Writes = false;
};
} // namespace

/// Adds the uses of the pointer \p V to \p Inside for functions in \p Closure,
/// to \p Outside for others. A pointer that escapes may be read and written.
static void findUses(const Value &V, const GlobalSet &Closure,
                     VariableUse &Inside, VariableUse &Outside) {
  for (const Use &U : V.uses()) {
    if (isa<GEPOperator, AddrSpaceCastOperator, BitCastOperator>(U.getUser())) {
      findUses(*U.getUser(), Closure, Inside, Outside);
      continue;
    }
    const auto *I = dyn_cast<Instruction>(U.getUser());
    const auto *G = dyn_cast<GlobalValue>(U.getUser());
    if (!I && !G) {
      findUses(*U.getUser(), Closure, Inside, Outside);
      continue;
    }
    VariableUse &Of =
        Closure.contains(I ? I->getFunction() : G) ? Inside : Outside;
    bool IsStore = I && isa<StoreInst>(I) &&
                   U.getOperandNo() == StoreInst::getPointerOperandIndex();
    Of.Reads |= !IsStore;
    Of.Writes |= !I || !isa<LoadInst>(I);
  }
}

/// Keeps the optimizer from taking the kernels of \p Closure for all there are:
/// a variable that only other kernels write has not its initial value in each
/// launch, and one that only others read is not dead. \returns the latter.
static SmallVector<GlobalValue *>
keepSharedVariables(Module &M, const GlobalSet &Closure) {
  SmallVector<GlobalValue *> Read;
  for (GlobalVariable &G : M.globals()) {
    if (!Closure.contains(&G) || !G.hasLocalLinkage() || !G.hasInitializer() ||
        G.isConstant() || isa<UndefValue>(G.getInitializer()))
      continue;
    VariableUse Inside, Outside;
    findUses(G, Closure, Inside, Outside);
    if (Outside.Writes)
      G.setExternallyInitialized(true);
    if (Outside.Reads && Inside.Writes)
      Read.push_back(&G);
  }
  return Read;
}

/// Orders globals as in the module: the hash of a kernel must not depend on the
/// steps in which it was extracted.
static void sortGlobals(const Module &M, SmallVectorImpl<GlobalValue *> &List) {
  SmallPtrSet<const GlobalValue *, 8> Members(List.begin(), List.end());
  List.clear();
  for (const GlobalValue &G : M.global_values())
    if (Members.contains(&G))
      List.push_back(const_cast<GlobalValue *>(&G));
}

void mneme::pruneTo(Module &M, ArrayRef<const Constant *> Roots) {
  // Prune in place, keeping the order: a clone would sometimes be compiled to
  // different code.
  GlobalSet Closure = findClosure(Roots);
  SmallVector<GlobalValue *> Used = collectKeptUsed(M, false, Closure);
  SmallVector<GlobalValue *> CompilerUsed = collectKeptUsed(M, true, Closure);
  append_range(CompilerUsed, keepSharedVariables(M, Closure));
  sortGlobals(M, CompilerUsed);
  for (StringRef Name : {"llvm.used", "llvm.compiler.used", "llvm.global_ctors",
                         "llvm.global_dtors"})
    if (GlobalVariable *G = M.getNamedGlobal(Name))
      G->eraseFromParent();
  for (GlobalValue &G : M.global_values())
    if (!Closure.contains(&G) && !G.isDeclaration())
      dropDefinition(G);
  eraseDeadAliases(M, Closure);
  appendToUsed(M, Used);
  appendToCompilerUsed(M, CompilerUsed);
  dropDanglingMetadata(M);
  dropDeadDeclarations(M);
}

Expected<const Function *> mneme::findKernel(const Module &M,
                                             StringRef Kernel) {
  const Function *Root = M.getFunction(Kernel);
  if (Root && isKernel(*Root))
    return Root;
  return createStringError("no kernel named '" + Kernel + "'");
}

Expected<std::unique_ptr<Module>>
mneme::extractKernel(std::unique_ptr<Module> M, StringRef Kernel) {
  Expected<const Function *> Root = findKernel(*M, Kernel);
  if (!Root)
    return Root.takeError();
  ImageNotes Notes = describeImage(*M, Kernel);
  pruneTo(*M, *Root);
  writeNotes(*M, Notes);
  return std::move(M);
}

Error mneme::checkComplete(const Module &Extracted) {
  // Functions that ptxas provides, which rejects all others, and those that
  // LLVM's NVVMReflect pass folds.
  constexpr StringLiteral System[] = {"vprintf",        "malloc",
                                      "free",           "__assertfail",
                                      "__nvvm_reflect", "__nvvm_reflect_ocl"};
  for (const Function &F : Extracted)
    if (F.isDeclaration() && !F.isIntrinsic() &&
        !is_contained(System, F.getName()))
      return createStringError("function '" + F.getName() +
                               "' belongs to another translation unit");
  return Error::success();
}

StringRef mneme::withoutCompileId(StringRef Name, bool KeepInfix) {
  if (size_t At = Name.rfind(UnitInfix); At != StringRef::npos)
    return Name.take_front(At);
  for (StringRef Infix : {"__intern__", ".intern.", "__static__", ".static."}) {
    size_t At = Name.rfind(Infix);
    if (At == StringRef::npos)
      continue;
    size_t End = At + Infix.size();
    if (End != Name.size() && all_of(Name.drop_front(End), isHexDigit))
      return Name.take_front(KeepInfix ? End : At);
  }
  return Name;
}

std::string mneme::demangleSymbol(StringRef Symbol) {
  return demangle(withoutCompileId(Symbol, /*KeepInfix=*/false));
}

/// Removes everything from \p M that does not affect the code.
static void canonicalize(Module &M) {
  StripDebugInfo(M);
  M.setModuleIdentifier("");
  M.setSourceFileName("");
  SmallVector<Module::ModuleFlagEntry, 8> Flags;
  M.getModuleFlagsMetadata(Flags);
  if (NamedMDNode *Named = M.getModuleFlagsMetadata()) {
    Named->clearOperands();
    for (const Module::ModuleFlagEntry &F : Flags)
      if (F.Key->getString() != "Debug Info Version" &&
          F.Key->getString() != "Dwarf Version")
        M.addModuleFlag(F.Behavior, F.Key->getString(), F.Val);
  }
  for (StringRef Name :
       {StringRef("llvm.ident"), StringRef("llvm.commandline"),
        StringRef(ImageVariablesMetadata), StringRef(OtherKernelsMetadata)})
    if (NamedMDNode *Named = M.getNamedMetadata(Name))
      Named->eraseFromParent();
  // Types are renamed if their context has a type of that name already.
  TypeFinder Types;
  Types.run(M, /*onlyNamed=*/true);
  for (StructType *T : Types)
    T->setName("");
  for (Function &F : M) {
    for (Argument &A : F.args())
      A.setName("");
    for (BasicBlock &BB : F) {
      BB.setName("");
      for (Instruction &I : BB) {
        I.setName("");
        // A position in the compiler's source buffers.
        I.setMetadata("srcloc", nullptr);
      }
    }
  }
  for (GlobalValue &G : M.global_values())
    if (StringRef Short = withoutCompileId(G.getName());
        Short.size() != G.getName().size())
      G.setName(Short.str());
}

static SmallVector<char, 0> writeBitcode(const Module &M) {
  SmallVector<char, 0> Buffer;
  BitcodeWriter Writer(Buffer);
  Writer.writeModule(M);
  Writer.writeStrtab();
  return Buffer;
}

static std::unique_ptr<Module> readBitcode(ArrayRef<char> Bitcode,
                                           LLVMContext &Context) {
  return cantFail(parseBitcodeFile(
      MemoryBufferRef(StringRef(Bitcode.data(), Bitcode.size()), ""), Context));
}

std::string mneme::computeStaticHash(const Module &Extracted) {
  // Reread the module from bitcode in a fresh context, because printed IR
  // depends on the context's history and on the order of use-lists. Hash the
  // printed IR, because bitcode lists all metadata kinds and sync scopes of its
  // context.
  LLVMContext Context;
  std::unique_ptr<Module> Copy = readBitcode(writeBitcode(Extracted), Context);
  canonicalize(*Copy);
  std::string Text;
  raw_string_ostream OS(Text);
  Copy->print(OS, /*AAW=*/nullptr);
  return toHexString(digest128(Text));
}

/// Extracts one half of the kernels, then the other: the sum of the modules
/// that are read is the size of \p M times the logarithm of the number of
/// kernels, instead of times this number.
static Error addHashes(std::unique_ptr<Module> M, ArrayRef<std::string> Kernels,
                       std::vector<std::string> &Hashes) {
  if (Kernels.size() == 1) {
    Expected<std::unique_ptr<Module>> One =
        extractKernel(std::move(M), Kernels.front());
    if (!One)
      return One.takeError();
    Hashes.push_back(computeStaticHash(**One));
    return Error::success();
  }
  SmallVector<const Constant *> Roots;
  for (StringRef Name : Kernels) {
    Expected<const Function *> Root = findKernel(*M, Name);
    if (!Root)
      return Root.takeError();
    Roots.push_back(*Root);
  }
  pruneTo(*M, Roots);
  SmallVector<char, 0> Bitcode = writeBitcode(*M);
  M.reset();
  size_t Half = Kernels.size() / 2;
  for (ArrayRef<std::string> Some :
       {Kernels.take_front(Half), Kernels.drop_front(Half)}) {
    LLVMContext Context;
    if (Error E = addHashes(readBitcode(Bitcode, Context), Some, Hashes))
      return E;
  }
  return Error::success();
}

Expected<std::vector<std::string>>
mneme::computeStaticHashes(std::unique_ptr<Module> M,
                           ArrayRef<std::string> Kernels) {
  std::vector<std::string> Hashes;
  if (Kernels.empty())
    return Hashes;
  nameGlobals(*M);
  // Not part of a hash, and kept for the whole module.
  StripDebugInfo(*M);
  if (Error E = addHashes(std::move(M), Kernels, Hashes))
    return std::move(E);
  return Hashes;
}
