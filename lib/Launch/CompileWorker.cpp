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
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Metadata.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireReader;
using ::mneme::WireWriter;

//===----------------------------------------------------------------------===//
// LaunchedKernel
//===----------------------------------------------------------------------===//

static void writeNames(WireWriter &W, ArrayRef<std::string> Names) {
  W.u32(Names.size());
  for (const std::string &Name : Names)
    W.str(Name);
}

static std::vector<std::string> readNames(WireReader &R) {
  std::vector<std::string> Names;
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    Names.push_back(R.str());
  return Names;
}

std::string LaunchedKernel::encode() const {
  WireWriter W;
  W.str(Name);
  W.bytes(StaticHash.data(), StaticHash.size());
  W.str(Triple);
  W.str(Arch);
  W.str(OptLevel);
  W.str(Toolchain);
  W.u32(Args.size());
  for (const KernelArg &A : Args) {
    W.u32(A.Size);
    W.u32(A.Offset);
    W.u32(A.Kind);
    W.str(A.Name);
    W.str(A.Type);
  }
  writeNames(W, Globals);
  W.str(Obstacle);
  ::mneme::writeHandles(W, Handles);
  W.str(Bitcode);
  W.str(Image);
  W.str(ImageArch);
  W.u32(IsPTX);
  W.u32(IsImageOnly);
  W.str(Configuration);
  W.u32(GlobalSizes.size());
  for (uint64_t Size : GlobalSizes)
    W.u64(Size);
  W.str(Object);
  W.str(Entry);
  ::mneme::writeHostKernel(W, Host);
  return W.body();
}

std::optional<LaunchedKernel> LaunchedKernel::decode(StringRef Text) {
  WireReader R(Text.data(), Text.size());
  LaunchedKernel K;
  K.Name = R.str();
  std::string Hash = R.str();
  if (Hash.size() != K.StaticHash.size())
    return std::nullopt;
  llvm::copy(Hash, K.StaticHash.begin());
  K.Triple = R.str();
  K.Arch = R.str();
  K.OptLevel = R.str();
  K.Toolchain = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    KernelArg A;
    A.Size = R.u32();
    A.Offset = R.u32();
    A.Kind = R.u32();
    A.Name = R.str();
    A.Type = R.str();
    K.Args.push_back(std::move(A));
  }
  K.Globals = readNames(R);
  K.Obstacle = R.str();
  K.Handles = ::mneme::readHandles(R);
  K.Bitcode = R.str();
  K.Image = R.str();
  K.ImageArch = R.str();
  K.IsPTX = R.u32();
  K.IsImageOnly = R.u32();
  K.Configuration = R.str();
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    K.GlobalSizes.push_back(R.u64());
  K.Object = R.str();
  K.Entry = R.str();
  K.Host = ::mneme::readHostKernel(R);
  if (!R.ok() || !R.atEnd())
    return std::nullopt;
  return K;
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

static Expected<DeviceLink> parseModule(ArrayRef<std::string> Payloads,
                                        LLVMContext &Context) {
  Expected<std::vector<Payload>> Units = readUnits(Payloads);
  if (!Units)
    return Units.takeError();
  return DeviceLink::create(std::move(*Units), Context);
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
  std::vector<HostVariable> Variables = findHostVariables(**M);
  WireWriter W;
  W.u32(Variables.size());
  for (const HostVariable &V : Variables) {
    W.str(V.Name);
    W.u64(V.Size);
    W.u64(V.Alignment);
    W.u32(V.Constant);
  }
  return W.body();
}

Expected<std::string>
llvm::mneme::initializeModule(ArrayRef<std::string> Payloads,
                              ArrayRef<std::string> Names,
                              const StringMap<uint64_t> &Addresses) {
  LLVMContext Context;
  Expected<DeviceLink> Link = parseModule(Payloads, Context);
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

Expected<LaunchedKernel>
llvm::mneme::compileKernel(ArrayRef<std::string> Payloads,
                           const Digest128 &Unit, StringRef Kernel,
                           const HostOptions *Host, bool RunsPipeline) {
  LLVMContext Context;
  Expected<DeviceLink> Link = parseModule(Payloads, Context);
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
  K.StaticHash = *parseDigest128(computeStaticHash(**M));
  K.Triple = P->Triple;
  K.Arch = P->Arch;
  K.OptLevel = std::string(1, P->OptLevel);
  K.Toolchain = findToolchain(**M);
  K.Args = describeArgs(**M, Kernel);
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
  if (RunsPipeline)
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
