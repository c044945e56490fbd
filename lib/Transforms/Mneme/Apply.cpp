//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Transforms/Apply.h"
#include "Diagnose.h"
#include "LaunchRules.h"
#include "SideFiles.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/Program.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/IPO/GlobalDCE.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Optimization
//===----------------------------------------------------------------------===//

namespace {
/// Runs llvm-mneme-deploy in a folder of its own.
class BakeTool {
public:
  BakeTool(const ApplyOptions &O, const CaptureOptions &Unit)
      : O(O), Unit(Unit) {}

  Error run(ArrayRef<char> Module);
  Expected<json::Value> readList() const;
  Expected<std::string> read(StringRef Name) const;

private:
  std::vector<std::string> makeCommand() const;

  const ApplyOptions &O;
  const CaptureOptions &Unit;
  PrivateFolder Folder;
};
} // namespace

static constexpr StringLiteral ModuleName = "module.bc",
                               MessagesName = "messages";

Expected<std::string> BakeTool::read(StringRef Name) const {
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Folder.pathOf(Name));
  if (!File)
    return File.takeError();
  return (*File)->getBuffer().str();
}

std::vector<std::string> BakeTool::makeCommand() const {
  std::vector<std::string> Words = {O.Tool, "bake",
                                    std::string("--opt-level=") + Unit.OptLevel,
                                    "-o", Folder.path()};
  if (Unit.IsRDC)
    Words.push_back("--rdc");
  for (const std::string &Option : O.PtxasOptions)
    Words.push_back("--ptxas-option=" + Option);
  for (const std::string &Option : O.LLVMOptions)
    Words.push_back("--mllvm=" + Option);
  Words.push_back("--");
  Words.push_back(Folder.pathOf(ModuleName));
  llvm::append_range(Words, O.Files);
  return Words;
}

Error BakeTool::run(ArrayRef<char> Module) {
  if (!IsLLVMOfTools)
    return createStringError(
        "-mneme-apply needs the clang of Mneme's own LLVM, which writes the "
        "tuned kernels: use a package at run time (llvm-mneme-deploy)");
  if (!sys::fs::can_execute(O.Tool))
    return createStringError("'" + O.Tool +
                             "' is missing: -mneme-apply needs it where Mneme "
                             "installs it");
  if (Error E = PrivateFolder::createTemporary().moveInto(Folder))
    return E;
  if (Error E = writeFileAtomically(Folder.pathOf(ModuleName),
                                    toStringRef(Module), /*Sync=*/false))
    return E;
  std::vector<std::string> Words = makeCommand();
  SmallVector<StringRef, 16> Args(Words.begin(), Words.end());
  std::string Messages = Folder.pathOf(MessagesName), Problem;
  std::optional<StringRef> Streams[] = {StringRef(), StringRef(),
                                        StringRef(Messages)};
  int Code =
      sys::ExecuteAndWait(O.Tool, Args, std::nullopt, Streams,
                          /*SecondsToWait=*/0, /*MemoryLimit=*/0, &Problem);
  if (Code == 0)
    return Error::success();
  Expected<std::string> Text = read(MessagesName);
  if (!Text)
    return Text.takeError();
  StringRef Reason = StringRef(*Text).trim();
  Reason.consume_front("llvm-mneme-deploy: error: ");
  return createStringError(Reason.empty() ? "'" + O.Tool + "': " + Problem
                                          : Reason.str());
}

Expected<json::Value> BakeTool::readList() const {
  Expected<std::string> Text = read("bake.json");
  if (!Text)
    return Text.takeError();
  return json::parse(*Text);
}

static bool readRule(const json::Object &Kernel, LaunchRule &Rule) {
  const json::Object *Block = Kernel.getObject("block");
  if (!Block)
    return false;
  for (auto [Key, Sizes] : {std::pair("from", Rule.From), {"to", Rule.To}}) {
    const json::Array *Dims = Block->getArray(Key);
    for (unsigned Axis = 0; Axis != 3; ++Axis)
      Sizes[Axis] = (*Dims)[Axis].getAsInteger().value();
  }
  return true;
}

static Error bake(Module &M, const ApplyOptions &O, const CaptureOptions &Unit,
                  AppliedKernels &Applied, std::vector<LaunchRule> &Rules) {
  BakeTool Tool(O, Unit);
  if (Error E = Tool.run(captureBitcode(M, Unit)))
    return E;
  Expected<json::Value> List = Tool.readList();
  if (!List)
    return List.takeError();
  const json::Object &Lists = *List->getAsObject();
  for (const json::Value &Text : *Lists.getArray("warnings"))
    reportWarning(M, *Text.getAsString());
  for (const json::Value &V : *Lists.getArray("kernels")) {
    const json::Object &K = *V.getAsObject();
    std::string Name = K.getString("kernel")->str();
    Expected<std::string> Bitcode = Tool.read(*K.getString("module"));
    if (!Bitcode)
      return Bitcode.takeError();
    Applied.Kernels.push_back({Name, std::move(*Bitcode)});
    LaunchRule Rule;
    Rule.Kernel = Name;
    if (readRule(K, Rule))
      Rules.push_back(std::move(Rule));
  }
  if (O.IsDeviceOnly && !Rules.empty())
    return createStringError(
        "the launch of '" + Rules.front().Kernel +
        "' must be changed, too: compile both sides in one command");
  return Error::success();
}

PreservedAnalyses ApplyPass::run(Module &M, ModuleAnalysisManager &) {
  if (!isGPU(M) || none_of(M, isKernel))
    return PreservedAnalyses::all();
  std::vector<LaunchRule> Rules;
  Error E = bake(M, Options, Unit, *Applied, Rules);
  if (!E && !Options.IsDeviceOnly)
    E = writeLaunchRules(M, Rules);
  if (E)
    reportError(M, toString(std::move(E)));
  return PreservedAnalyses::all();
}

//===----------------------------------------------------------------------===//
// Replacement
//===----------------------------------------------------------------------===//

/// The linkage stays, as ptxas takes another calling convention for local
/// functions.
static void makeOwn(Function &F, StringRef Kernel) {
  F.setName(getTunedCopyName(F.getName(), Kernel));
  // Other translation units may have the same tuned kernel. Those of AMD GPUs
  // are linked alone, and code depends on whether a callee may be replaced.
  if (F.hasExternalLinkage() && !getTriple(*F.getParent()).isAMDGPU())
    F.setLinkage(GlobalValue::WeakODRLinkage);
}

/// Returns the variable of the module that \p G is a copy of; null if there is
/// none. Local variables of one name and value are the same: shared memory, and
/// constants, because llvm-mneme-deploy refuses others.
static GlobalVariable *findOwn(Module &M, const GlobalVariable &G) {
  GlobalVariable *Own = M.getNamedGlobal(G.getName());
  if (!Own || Own->getValueType() != G.getValueType() ||
      Own->getAddressSpace() != G.getAddressSpace() ||
      Own->hasLocalLinkage() != G.hasLocalLinkage())
    return nullptr;
  bool HasValue =
      Own->hasInitializer() && Own->getInitializer() == G.getInitializer();
  return HasValue || !G.hasLocalLinkage() ? Own : nullptr;
}

/// Variables and their former linkage.
using LocalList =
    SmallVector<std::pair<GlobalVariable *, GlobalValue::LinkageTypes>, 4>;

/// Turns the definitions in \p Tuned that \p M has into declarations, except
/// for the kernel. The linker matches names of external symbols only: local
/// variables of \p M become external, and are added to \p Locals.
static void prepareTuned(Module &Tuned, Module &M, StringRef Kernel,
                         LocalList &Locals) {
  for (StringRef Name : {"llvm.used", "llvm.compiler.used"})
    if (GlobalVariable *G = Tuned.getNamedGlobal(Name))
      G->eraseFromParent();
  Tuned.setModuleInlineAsm("");
  for (NamedMDNode &Named : make_early_inc_range(Tuned.named_metadata()))
    if (Named.getName() != "llvm.module.flags" &&
        Named.getName() != "llvm.dbg.cu")
      Named.eraseFromParent();
  for (Function &F : Tuned) {
    if (F.isDeclaration())
      continue;
    F.setComdat(nullptr);
    if (F.getName() != Kernel && !F.hasLocalLinkage())
      makeOwn(F, Kernel);
  }
  for (GlobalVariable &G : Tuned.globals()) {
    GlobalVariable *Own = G.isDeclaration() ? nullptr : findOwn(M, G);
    if (!Own)
      continue;
    if (Own->hasLocalLinkage()) {
      if (Own->getAlign().valueOrOne() < G.getAlign().valueOrOne())
        Own->setAlignment(G.getAlign());
      Locals.push_back({Own, Own->getLinkage()});
      Own->setLinkage(GlobalValue::ExternalLinkage);
    }
    G.setComdat(nullptr);
    G.setInitializer(nullptr);
    G.setLinkage(GlobalValue::ExternalLinkage);
  }
}

/// Leaves a kernel that uses nothing.
static void empty(Function &Kernel) {
  GlobalValue::LinkageTypes Linkage = Kernel.getLinkage();
  Kernel.deleteBody();
  Kernel.setLinkage(Linkage);
  Kernel.setComdat(nullptr);
  LLVMContext &Context = Kernel.getContext();
  new UnreachableInst(Context, BasicBlock::Create(Context, "", &Kernel));
}

static Error replaceKernel(Module &M, const AppliedKernels::Kernel &K) {
  Expected<std::unique_ptr<Module>> Tuned =
      parseBitcodeFile(MemoryBufferRef(K.Bitcode, K.Name), M.getContext());
  // The pipeline may have left functions that nothing calls.
  if (Tuned)
    Tuned = extractKernel(std::move(*Tuned), K.Name);
  if (!Tuned)
    return Tuned.takeError();
  LocalList Locals;
  prepareTuned(**Tuned, M, K.Name, Locals);
  if (Linker::linkModules(M, std::move(*Tuned), Linker::OverrideFromSrc))
    return createStringError("cannot replace kernel '" + K.Name + "'");
  for (auto [G, Linkage] : Locals)
    G->setLinkage(Linkage);
  return Error::success();
}

PreservedAnalyses ReplacePass::run(Module &M, ModuleAnalysisManager &MAM) {
  if (Applied->Kernels.empty())
    return PreservedAnalyses::all();
  if (!LaterOptimizer.empty()) {
    reportError(M, "-mneme-apply and " + LaterOptimizer +
                       " are mutually exclusive: the linker would optimize the "
                       "kernels again; use a package at run time "
                       "(llvm-mneme-deploy)");
    return PreservedAnalyses::all();
  }
  for (const AppliedKernels::Kernel &K : Applied->Kernels)
    if (Function *F = M.getFunction(K.Name))
      empty(*F);
  GlobalDCEPass().run(M, MAM);
  for (const AppliedKernels::Kernel &K : Applied->Kernels)
    if (Error E = replaceKernel(M, K))
      reportError(M, toString(std::move(E)));
  return PreservedAnalyses::none();
}
