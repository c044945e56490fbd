//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/DeviceLink.h"
#include "Extract.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/DiagnosticInfo.h"
#include "llvm/IR/DiagnosticPrinter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Symbols
//===----------------------------------------------------------------------===//

/// Returns true for globals that can be linked by name. Shared memory is
/// excluded: each kernel has its own.
static bool isSymbol(const GlobalValue &G) {
  constexpr unsigned Shared = 3;
  return !G.hasAppendingLinkage() && !G.hasAvailableExternallyLinkage() &&
         (isa<Function>(G) || G.getAddressSpace() != Shared);
}

static bool isDefinition(const GlobalValue &G) {
  return isSymbol(G) && !G.isDeclaration();
}

static bool areLinked(const Payload &A, const Payload &B) {
  return A.IsRDC && B.IsRDC && A.Triple == B.Triple && A.Arch == B.Arch;
}

std::vector<Payload> mneme::selectUnits(ArrayRef<Payload> Payloads,
                                        size_t Index, size_t &Unit) {
  std::vector<Payload> Units;
  for (size_t I = 0; I != Payloads.size(); ++I) {
    if (I == Index)
      Unit = Units.size();
    if (I == Index || areLinked(Payloads[I], Payloads[Index]))
      Units.push_back(Payloads[I]);
  }
  return Units;
}

Expected<DeviceLink> DeviceLink::create(std::vector<Payload> Units,
                                        LLVMContext &Context) {
  if (Units.empty())
    return createStringError("no device code to link");
  const Payload &First = Units.front();
  for (const Payload &P : Units)
    if (P.IsSlim)
      return createStringError("'" + P.Source + "' " + SlimProblem);
  for (const Payload &P : Units)
    if (Units.size() > 1 && !areLinked(P, First))
      return createStringError("device code of '" + P.Source +
                               "' cannot be linked with that of '" +
                               First.Source + "'");
  DeviceLink Link(std::move(Units), Context);
  if (Link.Units.size() > 1)
    for (size_t I = 0; I != Link.Units.size(); ++I)
      if (Error E = Link.addSymbols(I))
        return std::move(E);
  return std::move(Link);
}

/// Function bodies are loaded on demand.
static Expected<std::unique_ptr<Module>> parseLazily(const Payload &P,
                                                     LLVMContext &Context) {
  Expected<std::unique_ptr<Module>> M =
      getLazyBitcodeModule(MemoryBufferRef(P.Bitcode, P.Source), Context);
  if (!M)
    return createFileError(P.Source, M.takeError());
  nameGlobals(**M);
  return M;
}

Error DeviceLink::addSymbols(size_t Unit) {
  // Use a fresh context: in a context that has the type names already, types
  // would be renamed.
  LLVMContext Scratch;
  Expected<std::unique_ptr<Module>> M = parseLazily(Units[Unit], Scratch);
  if (!M)
    return M.takeError();
  for (const GlobalValue &G : (*M)->global_values()) {
    if (!isSymbol(G))
      continue;
    ++Names[G.getName()];
    if (G.isDeclaration() || G.hasLocalLinkage())
      continue;
    bool IsWeak = G.isWeakForLinker();
    auto [It, IsNew] =
        Definitions.try_emplace(G.getName(), Definition{Unit, IsWeak, Unit});
    if (IsNew)
      continue;
    if (It->second.IsWeak && !IsWeak)
      It->second = {Unit, IsWeak, Unit};
    else if (!It->second.IsWeak && !IsWeak)
      It->second.Other = Unit;
  }
  return Error::success();
}

/// Returns a name for a local that is unique among all units. A name that
/// occurs in only one unit is kept.
std::string DeviceLink::uniqueName(const GlobalValue &G, size_t Unit) const {
  if (Names.lookup(G.getName()) <= 1)
    return G.getName().str();
  const std::string &Hash = Units[Unit].Hash;
  std::string Name =
      (G.getName() + UnitInfix + StringRef(Hash).take_front(16)).str();
  // Files that include nothing but the same header have equal units.
  size_t Equal = count_if(ArrayRef(Units).take_front(Unit),
                          [&](const Payload &P) { return P.Hash == Hash; });
  return Equal ? Name + "_" + std::to_string(Equal) : Name;
}

/// Makes the unit's names and definitions those of the linked image.
void DeviceLink::prepare(Module &M, size_t Unit) const {
  for (GlobalValue &G : M.global_values()) {
    if (!isDefinition(G))
      continue;
    if (G.hasLocalLinkage()) {
      G.setName(uniqueName(G, Unit));
      continue;
    }
    auto It = Definitions.find(G.getName());
    // The strong definition replaces the weak ones. Copies of a template are
    // equal, so each unit keeps its own.
    if (It != Definitions.end() && It->second.Unit != Unit &&
        !It->second.IsWeak && G.isInterposable())
      dropDefinition(G);
  }
}

Error DeviceLink::checkUnique(const Definition &D, const GlobalValue &G) const {
  if (D.Other == D.Unit)
    return Error::success();
  return createStringError(Twine(isa<Function>(G) ? "function" : "variable") +
                           " '" + G.getName() + "' is defined in '" +
                           Units[D.Unit].Source + "' and in '" +
                           Units[D.Other].Source + "'");
}

//===----------------------------------------------------------------------===//
// Linking
//===----------------------------------------------------------------------===//

namespace {
/// Keeps the linker's messages while it exists.
class LinkerMessages : public DiagnosticHandler {
public:
  explicit LinkerMessages(std::string &Text) : Text(Text) {}
  bool handleDiagnostics(const DiagnosticInfo &Info) override {
    if (Info.getSeverity() != DS_Error || !Text.empty())
      return true;
    raw_string_ostream OS(Text);
    DiagnosticPrinterRawOStream Printer(OS);
    Info.print(Printer);
    return true;
  }

private:
  std::string &Text;
};
} // namespace

static Error link(Module &Into, std::unique_ptr<Module> M, StringRef Source,
                  unsigned Flags) {
  LLVMContext &Context = Into.getContext();
  std::string Text;
  std::unique_ptr<DiagnosticHandler> Old = Context.getDiagnosticHandler();
  Context.setDiagnosticHandler(std::make_unique<LinkerMessages>(Text));
  bool Failed = Linker::linkModules(Into, std::move(M), Flags);
  Context.setDiagnosticHandler(std::move(Old));
  if (!Failed)
    return Error::success();
  return createStringError("cannot link the device code of '" + Source +
                           "': " + Text);
}

Expected<std::unique_ptr<Module>> DeviceLink::parse(size_t Unit,
                                                    bool Whole) const {
  const Payload &P = Units[Unit];
  Expected<std::unique_ptr<Module>> M =
      Whole ? parsePayloadModule(P, Context) : parseLazily(P, Context);
  if (M && Units.size() > 1)
    prepare(**M, Unit);
  return M;
}

namespace {
/// Local symbols of modules that are linked piecewise, possibly several times:
/// until the link is complete they are global, under their unique names.
class Locals {
public:
  void publish(Module &M) {
    for (GlobalValue &G : M.global_values())
      if (isSymbol(G) && G.hasLocalLinkage() && G.hasName()) {
        Linkages.try_emplace(G.getName(), G.getLinkage());
        G.setLinkage(GlobalValue::ExternalLinkage);
      }
  }
  void restore(Module &M) const {
    for (GlobalValue &G : M.global_values())
      if (auto It = Linkages.find(G.getName());
          It != Linkages.end() && !G.isDeclaration())
        G.setLinkage(It->second);
  }

private:
  StringMap<GlobalValue::LinkageTypes> Linkages;
};
} // namespace

/// Removes lists that a module linked for single symbols must not add.
static void dropLists(Module &M) {
  for (StringRef Name : {"llvm.used", "llvm.compiler.used", "llvm.global_ctors",
                         "llvm.global_dtors"})
    if (GlobalVariable *G = M.getNamedGlobal(Name))
      G->eraseFromParent();
  for (NamedMDNode &Named : make_early_inc_range(M.named_metadata()))
    if (Named.getName() != "llvm.dbg.cu" &&
        Named.getName() != "llvm.module.flags")
      Named.eraseFromParent();
}

/// Links the definitions that \p M needs from other units.
Error DeviceLink::addNeeded(Module &M) const {
  Locals Hidden;
  Hidden.publish(M);
  auto FindNeeded = [&]() -> const GlobalValue * {
    for (const GlobalValue &G : M.global_values())
      if (isSymbol(G) && G.isDeclaration() && Definitions.contains(G.getName()))
        return &G;
    return nullptr;
  };
  while (const GlobalValue *G = FindNeeded()) {
    const Definition &D = Definitions.find(G->getName())->second;
    if (Error E = checkUnique(D, *G))
      return E;
    Expected<std::unique_ptr<Module>> Other = parse(D.Unit, /*Whole=*/false);
    if (!Other)
      return Other.takeError();
    dropLists(**Other);
    Hidden.publish(**Other);
    std::string Name = G->getName().str();
    if (Error E = link(M, std::move(*Other), Units[D.Unit].Source,
                       Linker::LinkOnlyNeeded))
      return E;
    const GlobalValue *Now = M.getNamedValue(Name);
    if (!Now || Now->isDeclaration())
      return createStringError("cannot link '" + Name + "' of '" +
                               Units[D.Unit].Source + "'");
  }
  Hidden.restore(M);
  return Error::success();
}

Expected<std::unique_ptr<Module>> DeviceLink::extract(size_t Unit,
                                                      StringRef Kernel) const {
  Expected<std::unique_ptr<Module>> M = parse(Unit, /*Whole=*/true);
  if (!M)
    return M;
  if (Units.size() == 1)
    return extractKernel(std::move(*M), Kernel);
  Expected<const Function *> Root = findKernel(**M, Kernel);
  if (!Root)
    return Root.takeError();
  ImageNotes Notes = describeImage(**M, Kernel);
  pruneTo(**M, *Root);
  if (Error E = addNeeded(**M))
    return std::move(E);
  // Linking a unit also adds its debug info and definitions that only weak
  // symbols referred to.
  pruneTo(**M, (*M)->getFunction(Kernel));
  writeNotes(**M, Notes);
  for (const GlobalVariable &G : (*M)->globals())
    if (auto It = Definitions.find(G.getName()); It != Definitions.end())
      if (Error E = checkUnique(It->second, G))
        return std::move(E);
  std::string Message;
  raw_string_ostream OS(Message);
  if (verifyModule(**M, &OS))
    return createStringError(
        "'" + Kernel + "': invalid device code: " + StringRef(Message).rtrim());
  return M;
}

Expected<std::unique_ptr<Module>>
DeviceLink::extractWithTargets(size_t Unit, StringRef Kernel) const {
  Expected<std::unique_ptr<Module>> M = parse(Unit, /*Whole=*/true);
  if (!M)
    return M;
  Locals Hidden;
  Hidden.publish(**M);
  for (size_t I = 0; I != Units.size(); ++I) {
    if (I == Unit)
      continue;
    Expected<std::unique_ptr<Module>> Other = parse(I, /*Whole=*/true);
    if (!Other)
      return Other;
    dropLists(**Other);
    Hidden.publish(**Other);
    if (Error E =
            link(**M, std::move(*Other), Units[I].Source, Linker::Flags::None))
      return std::move(E);
  }
  Hidden.restore(**M);
  Expected<const Function *> Root = findKernel(**M, Kernel);
  if (!Root)
    return Root.takeError();
  pruneTo(**M, {*Root, &addTargetTable(**M)});
  return M;
}

Expected<std::unique_ptr<Module>> DeviceLink::linkVariables() const {
  if (Units.size() == 1)
    return parse(0, /*Whole=*/true);
  std::unique_ptr<Module> All;
  for (size_t I = 0; I != Units.size(); ++I) {
    Expected<std::unique_ptr<Module>> M = parse(I, /*Whole=*/false);
    if (!M)
      return M;
    dropLists(**M);
    for (GlobalAlias &A : make_early_inc_range((*M)->aliases()))
      if (isa_and_nonnull<Function>(A.getAliaseeObject())) {
        A.replaceAllUsesWith(A.getAliasee());
        A.eraseFromParent();
      }
    for (GlobalValue &G : (*M)->global_values()) {
      // A kernel that needs a symbol with two strong definitions is rejected.
      auto It = Definitions.find(G.getName());
      if (isDefinition(G) && (isa<Function>(G) || (It != Definitions.end() &&
                                                   It->second.Unit != I)))
        dropDefinition(G);
      else if (isDefinition(G)) // The linker drops unused locals.
        G.setLinkage(GlobalValue::ExternalLinkage);
    }
    if (!All)
      All = std::move(*M);
    else if (Error E = link(*All, std::move(*M), Units[I].Source,
                            Linker::Flags::None))
      return std::move(E);
  }
  return std::move(All);
}
