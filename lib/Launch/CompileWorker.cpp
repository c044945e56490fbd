//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileWorker.h"
#include "Obstacles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Runtime/WireFields.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireReader;
using ::mneme::WireWriter;

//===----------------------------------------------------------------------===//
// LaunchedKernel
//===----------------------------------------------------------------------===//

namespace llvm {
namespace mneme {
template <typename V> static void visitFields(V &Visit, KernelArg &A) {
  Visit(A.Size, A.Offset, A.Kind, A.Name, A.Type);
}

template <typename V> static void visitFields(V &Visit, LoadedLibrary &L) {
  Visit(L.Bitcode, L.Answer);
}

template <typename V> static void visitFields(V &Visit, LaunchedKernel &K) {
  Visit(K.Name, K.StaticHash, K.Triple, K.Arch, K.OptLevel, K.Toolchain, K.Args,
        K.Globals, K.Obstacle, K.Handles, K.Bitcode, K.Image, K.ImageArch,
        K.IsPTX, K.IsImageOnly, K.Configuration, K.GlobalSizes, K.Object,
        K.Entry, K.Host);
}
} // namespace mneme
} // namespace llvm

template <typename T> static std::string encodeFields(const T &Value) {
  WireWriter W;
  writeFields(W, Value);
  return W.body();
}

template <typename T> static std::optional<T> decodeFields(StringRef Text) {
  WireReader R(Text.data(), Text.size());
  T Value;
  if (!readFields(R, Value) || !R.atEnd())
    return std::nullopt;
  return Value;
}

std::string LaunchedKernel::encode() const { return encodeFields(*this); }

std::optional<LaunchedKernel> LaunchedKernel::decode(StringRef Text) {
  return decodeFields<LaunchedKernel>(Text);
}

std::string LoadedLibrary::encode() const { return encodeFields(*this); }

std::optional<LoadedLibrary> LoadedLibrary::decode(StringRef Text) {
  return decodeFields<LoadedLibrary>(Text);
}

//===----------------------------------------------------------------------===//
// The work
//===----------------------------------------------------------------------===//

static Expected<std::vector<Payload>>
readUnits(ArrayRef<std::string> Payloads) {
  std::vector<Payload> Units;
  for (const std::string &Bytes : Payloads) {
    Expected<Payload> P = parsePayload(Bytes, "payload");
    if (!P)
      return P.takeError();
    Units.push_back(std::move(*P));
  }
  return Units;
}

/// The registered IR of a library is what its compiler gave to LLVM.
static Payload makeUnit(const ModuleCode &Library) {
  Payload P;
  P.Source = "library";
  P.OptLevel = '3';
  P.Hash = toHexString(digest128(Library.Bitcode));
  P.Bitcode = Library.Bitcode;
  return P;
}

static Expected<DeviceLink> parseModule(const ModuleCode &Code,
                                        LLVMContext &Context) {
  if (Code.isLibrary())
    return DeviceLink::create({makeUnit(Code)}, Context);
  Expected<std::vector<Payload>> Units = readUnits(Code.Payloads);
  if (!Units)
    return Units.takeError();
  return DeviceLink::create(std::move(*Units), Context);
}

void llvm::mneme::writeVariables(const Module &M, WireWriter &W) {
  std::vector<HostVariable> Variables = findHostVariables(M);
  W.u32(Variables.size());
  for (const HostVariable &V : Variables) {
    W.str(V.Name);
    W.u64(V.Size);
    W.u64(V.Alignment);
    W.u32(V.Constant);
  }
}

Expected<std::string> llvm::mneme::loadModule(ArrayRef<std::string> Payloads,
                                              const Digest128 &Hash) {
  Expected<std::vector<Payload>> Units = readUnits(Payloads);
  if (!Units)
    return Units.takeError();
  std::string Found = computeLinkHash(*Units);
  if (Found != toHexString(Hash))
    return createStringError("payload " + toHexString(Hash) + " has hash " +
                             Found);
  uint64_t Bytes = 0;
  for (const Payload &P : *Units)
    Bytes += P.Bitcode.size();
  // The bitcode is parsed here for the first time. Damaged bitcode is rejected
  // before anything else uses it.
  limitMemory(getIRMemoryLimit(Bytes));
  LLVMContext Context;
  Expected<DeviceLink> Link = DeviceLink::create(std::move(*Units), Context);
  if (!Link)
    return Link.takeError();
  Expected<std::unique_ptr<Module>> M = Link->linkVariables();
  if (!M)
    return M.takeError();
  WireWriter W;
  writeVariables(**M, W);
  return W.body();
}

Expected<std::string>
llvm::mneme::initializeModule(const ModuleCode &Code,
                              ArrayRef<std::string> Names,
                              const StringMap<uint64_t> &Addresses) {
  LLVMContext Context;
  Expected<DeviceLink> Link = parseModule(Code, Context);
  if (!Link)
    return Link.takeError();
  Expected<std::unique_ptr<Module>> M = Link->linkVariables();
  if (!M)
    return M.takeError();
  Expected<std::vector<std::string>> Contents = evaluateInitializers(
      **M, [&](StringRef Name) { return Addresses.lookup(Name); });
  if (!Contents)
    return Contents.takeError();
  StringMap<std::string> ByName;
  for (const auto &[V, Bytes] :
       llvm::zip_equal(findHostVariables(**M), *Contents))
    ByName[V.Name] = std::move(Bytes);
  WireWriter W;
  for (const std::string &Name : Names) {
    auto It = ByName.find(Name);
    if (It == ByName.end())
      return createStringError("no variable '" + Name + "' in the module");
    W.str(It->second);
  }
  return W.body();
}

/// Returns "clang 22.1.8" for clang's "Debian clang version 22.1.8
/// (1~deb12u1)".
std::string llvm::mneme::findToolchain(const Module &M) {
  if (const NamedMDNode *Ident = M.getNamedMetadata("llvm.ident"))
    for (const MDNode *Node : Ident->operands())
      if (auto *Text = dyn_cast<MDString>(Node->getOperand(0))) {
        auto [Vendor, Version] = Text->getString().split(" version ");
        if (!Version.empty())
          return (Vendor.rsplit(' ').second.empty() ? Vendor
                                                    : Vendor.rsplit(' ').second)
                     .str() +
                 " " + Version.split(' ').first.str();
      }
  return "LLVM " LLVM_VERSION_STRING;
}

/// Runs clang's pipeline, as for a GPU.
static Error runPipeline(std::unique_ptr<Module> &M, const LaunchedKernel &K) {
  CompileOptions O;
  O.Kernel = O.Specialize.Kernel = K.Name;
  O.OptLevel = K.OptLevel;
  Expected<KernelCompiler> Compiler = KernelCompiler::create(*M, O);
  if (!Compiler)
    return Compiler.takeError();
  CompileResult Ignored;
  return Compiler->optimize(M, Ignored);
}

/// Many compilers give the target of a library to their code generator only.
static Error setTarget(Module &M, LaunchedKernel &K) {
  K.Triple = M.getTargetTriple().str();
  Function *F = M.getFunction(K.Name);
  if (!F->hasFnAttribute("target-cpu"))
    F->addFnAttr("target-cpu", StringRef(K.ImageArch).split(':').first);
  K.Arch = F->getFnAttribute("target-cpu").getValueAsString().str();
  return K.Arch.empty()
             ? createStringError("its IR does not say for which GPU it is "
                                 "(\"target-cpu\")")
             : Error::success();
}

Expected<LaunchedKernel> llvm::mneme::compileKernel(const ModuleCode &Code,
                                                    const Digest128 &Unit,
                                                    StringRef Kernel,
                                                    const HostOptions *Host,
                                                    bool RunsPipeline) {
  LLVMContext Context;
  Expected<DeviceLink> Link = parseModule(Code, Context);
  if (!Link)
    return Link.takeError();
  const Payload *P = llvm::find_if(Link->units(), [&](const Payload &P) {
    return P.Hash == toHexString(Unit);
  });
  if (P == Link->units().end())
    return createStringError("payload " + toHexString(Unit) +
                             " was never loaded");
  Expected<std::unique_ptr<Module>> M =
      Link->extract(P - Link->units().begin(), Kernel);
  if (!M)
    return M.takeError();
  // On the host device, missing functions matter only when they are called.
  if (P->IsRDC && !Host)
    if (Error E = checkComplete(**M))
      return std::move(E);

  LaunchedKernel K;
  K.Name = Kernel.str();
  K.Triple = P->Triple;
  K.Arch = P->Arch;
  K.OptLevel = std::string(1, P->OptLevel);
  K.Toolchain = findToolchain(**M);
  K.Args = describeArgs(**M, Kernel);
  if (Code.isLibrary()) {
    if (Error E = addLibraryCode(K, Code.Library))
      return std::move(E);
    if (Error E = setTarget(**M, K))
      return std::move(E);
  }
  K.StaticHash = *parseDigest128(computeStaticHash(**M));
  K.Globals = findReachedVariables(**M, Kernel);
  K.Obstacle = findObstacle(**M, Kernel, /*ForHost=*/Host, K.Handles);
  SmallVector<char, 0> Bitcode = writeExactBitcode(**M);
  K.Bitcode.assign(Bitcode.begin(), Bitcode.end());
  if (!Host)
    return K;
  // The pointers may be those of functions that the kernel never mentions, such
  // as members of an object that another kernel has made.
  if (K.Obstacle == CallsFromMemory) {
    M = Link->extractWithTargets(P - Link->units().begin(), Kernel);
    if (!M)
      return M.takeError();
  }
  // A library's IR may have passed the pipeline of its compiler.
  if (RunsPipeline && !Code.isLibrary())
    if (Error E = runPipeline(*M, K))
      return std::move(E);
  // Lowering consumes the module.
  Expected<DeviceImage> Image = compileKernelForHost(**M, Kernel, *Host);
  if (!Image)
    return Image.takeError();
  K.Object.assign(Image->Object.begin(), Image->Object.end());
  const HostKernelInfo &Info = getHostKernelInfo(*Image);
  K.Entry = Info.Entry;
  K.Host = toExecutorKernel(Info, /*Entry=*/0);
  return K;
}
