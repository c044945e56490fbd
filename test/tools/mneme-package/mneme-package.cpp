//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Writes a package with any variants and guards, for tests of the deployment
// runtime: nothing is recorded or verified.
//
//   mneme-package OUT APP [kernel=SYMBOL [variant=IMAGE key=value...
//                         [guard=WHAT key=value...]...]...]...
//
// An image that ends with .bc is compiled for the host device. Keys of a
// variant: entry, arch, launch, grade, block, grid, shared, threads, static,
// cooperative, strategy. Keys of a guard: index, offset, size, low, high,
// multiple, device, signed, soft; of a variable: name, bytes, slot (none: a
// copy). In place of a kernel's arguments in the
// application, args=SIZE@OFFSET,... of a kernel.
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/AMDSettings.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static ExitOnError ExitOnErr("mneme-package: ");

[[noreturn]] static void fail(const Twine &Message) {
  WithColor::error(errs(), "mneme-package") << Message << '\n';
  exit(1);
}

static uint64_t number(StringRef Text) {
  int64_t Signed;
  uint64_t Value;
  if (!Text.getAsInteger(0, Value))
    return Value;
  if (Text.getAsInteger(0, Signed))
    fail("'" + Text + "' is not a number");
  return uint64_t(Signed);
}

static uint32_t choose(StringRef Word, ArrayRef<StringRef> Words) {
  const StringRef *I = llvm::find(Words, Word);
  if (I == Words.end())
    fail("unknown word '" + Word + "'");
  return I - Words.begin();
}

static void readAxes(StringRef Text, uint32_t (&Axes)[3]) {
  for (uint32_t &N : Axes) {
    auto [First, Rest] = Text.split(',');
    N = First.empty() ? 1 : number(First);
    Text = Rest;
  }
}

/// Adds the kernel \p Name of an application, for each of its architectures.
static size_t addKernel(TunedPackage &P, StringRef App, StringRef Name) {
  std::vector<Payload> Payloads = ExitOnErr(readPayloads(App));
  for (size_t I = 0; I != Payloads.size(); ++I) {
    auto K = find_if(Payloads[I].Kernels,
                     [&](const PayloadKernel &K) { return K.Name == Name; });
    if (K == Payloads[I].Kernels.end())
      continue;
    size_t Unit;
    std::vector<Payload> Units = selectUnits(Payloads, I, Unit);
    LinkedKernel Link;
    Link.Name = Name.str();
    bool IsLinked = Units[Unit].IsRDC;
    Link.LinkHash = *parseDigest128(computeLinkHash(Units));
    LLVMContext Context;
    DeviceLink Code = ExitOnErr(DeviceLink::create(std::move(Units), Context));
    std::unique_ptr<Module> M = ExitOnErr(Code.extract(Unit, Name));
    PackagedKernel Packaged;
    Packaged.StaticHash = *parseDigest128(computeStaticHash(*M));
    Packaged.Name = Name.str();
    for (const KernelArg &A : K->Args)
      Packaged.Args.push_back({A.Size, A.Offset});
    Link.StaticHash = Packaged.StaticHash;
    P.Kernels.push_back(std::move(Packaged));
    if (IsLinked)
      P.Links.push_back(std::move(Link));
    return P.Kernels.size() - 1;
  }
  fail("'" + App + "' has no kernel '" + Name + "'");
}

static void setVariant(PackagedVariant &V, StringRef Key, StringRef Value) {
  MnemePackageVariant &F = V.Fields;
  if (Key == "entry")
    V.Entry = Value.str();
  else if (Key == "arch")
    V.ArchName = Value.str();
  else if (Key == "launch")
    F.Launch = choose(Value, {"same", "cover", "fixed"});
  else if (Key == "grade")
    F.Grade = choose(Value, {"same", "proven", "verified", "unproven"});
  else if (Key == "block")
    readAxes(Value, F.Block);
  else if (Key == "grid")
    readAxes(Value, F.Grid);
  else if (Key == "shared")
    F.DynamicShared = number(Value);
  else if (Key == "threads")
    F.MaxThreads = number(Value);
  else if (Key == "static")
    F.StaticShared = number(Value);
  else if (Key == "cooperative")
    F.Cooperative = number(Value);
  else if (Key == "code")
    F.Code = choose(Value, {"proven", "tested", "verified", "unproven"});
  else if (Key == "strategy")
    F.HostStrategy = number(Value);
  else
    fail("unknown key '" + Key + "' of a variant");
  // "sm_90a" is 90.
  StringRef Arch = V.ArchName;
  if (Arch.consume_front("sm_")) {
    F.Arch = number(Arch.take_while(llvm::isDigit));
    F.ImageKind = MNEME_IMAGE_CUBIN;
  } else if (Arch.consume_front("gfx")) {
    if (Arch.consumeInteger(16, F.Arch))
      fail("invalid architecture '" + V.ArchName + "'");
    F.ImageKind = MNEME_IMAGE_CODE_OBJECT;
  } else {
    F.Arch = 0;
    F.ImageKind = MNEME_IMAGE_OBJECT;
  }
}

/// The architecture of a code object; of other images, sm_90.
static std::string findArch(StringRef Image) {
  Expected<std::unique_ptr<object::ObjectFile>> File =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(Image, ""));
  if (!File) {
    consumeError(File.takeError());
    return "sm_90";
  }
  auto *Elf = dyn_cast<object::ELFObjectFileBase>(File->get());
  if (!Elf || Elf->getEMachine() != ELF::EM_AMDGPU)
    return "sm_90";
  return Elf->tryGetCPUName()->str() + getAMDSettings(Elf->getPlatformFlags());
}

static void setGuard(PackagedGuard &G, StringRef Key, StringRef Value) {
  MnemePackageGuard &F = G.Fields;
  if (Key == "index") {
    F.Index = number(Value);
  } else if (Key == "offset") {
    F.Offset = number(Value);
  } else if (Key == "other") {
    F.Other = number(Value);
  } else if (Key == "size") {
    F.Size = number(Value);
  } else if (Key == "low") {
    F.Low = F.High = number(Value);
  } else if (Key == "high") {
    F.High = number(Value);
  } else if (Key == "multiple") {
    F.Low = number(Value);
    F.High = 0;
    F.Test = MNEME_TEST_MULTIPLE;
  } else if (Key == "signed") {
    F.Test = MNEME_TEST_SIGNED;
  } else if (Key == "soft") {
    F.Flags = MNEME_GUARD_SOFT;
  } else if (Key == "device") {
    G.Name = Value.str();
    F.Test = MNEME_TEST_EQUAL;
  } else if (Key == "name") {
    G.Name = Value.str();
    F.Test = MNEME_TEST_EQUAL;
    F.High = MNEME_VARIABLE_COPY;
  } else if (Key == "bytes") {
    F.Low = number(Value);
  } else if (Key == "slot") {
    F.High = number(Value);
  } else {
    fail("unknown key '" + Key + "' of a guard");
  }
}

/// Compiles a variant of which the image is IR for the host device.
static void compileForHost(PackagedVariant &V) {
  LLVMContext Context;
  std::unique_ptr<Module> M =
      ExitOnErr(parseBitcodeFile({V.Image, "IR"}, Context));
  DeviceImage Image = ExitOnErr(compileKernelForHost(*M, V.Entry, {}));
  const HostKernelInfo &Info = getHostKernelInfo(Image);
  MnemeHostKernel K = toExecutorKernel(Info, /*Entry=*/0);
  V.Entry = Info.Entry;
  V.Fields.HostStrategy = K.Strategy;
  V.Fields.HostWaveSize = K.WaveSize;
  V.Fields.HostOrdered = K.Ordered;
  V.Fields.HostContextSize = K.ContextSize;
  V.Fields.StaticShared = K.StaticShared;
  V.Image.assign(Image.Object.begin(), Image.Object.end());
  if (V.ArchName == "sm_90")
    setVariant(V, "arch", Image.Arch);
}

int main(int Argc, char **Argv) {
  InitializeNativeTarget();
  InitializeNativeTargetAsmPrinter();
  if (Argc < 3)
    fail("expected the package to write and an application");
  TunedPackage P;
  PackagedKernel *K = nullptr;
  PackagedVariant *V = nullptr;
  PackagedGuard *G = nullptr;
  for (StringRef Word : ArrayRef(Argv + 3, Argv + Argc)) {
    auto [Key, Value] = Word.split('=');
    if (Key == "kernel") {
      K = &P.Kernels[addKernel(P, Argv[2], Value)];
      V = nullptr;
    } else if (Key == "args" && K && !V) {
      K->Args.clear();
      SmallVector<StringRef> Args;
      Value.split(Args, ',', -1, /*KeepEmpty=*/false);
      for (StringRef Arg : Args) {
        auto [Size, Offset] = Arg.split('@');
        K->Args.push_back({uint32_t(number(Size)), uint32_t(number(Offset))});
      }
    } else if (Key == "variant" && K) {
      V = &K->Variants.emplace_back();
      G = nullptr;
      V->Fields.MaxThreads = 1024;
      V->Fields.DynamicShared = MNEME_SHARED_SAME;
      V->Fields.HostWaveSize = 32;
      V->Entry = K->Name;
      V->Provenance = "{}";
      V->Image =
          ExitOnErr(errorOrToExpected(MemoryBuffer::getFile(Value)))
              ->getBuffer()
              .str();
      setVariant(*V, "arch", findArch(V->Image));
    } else if (Key == "guard" && V) {
      G = &V->Guards.emplace_back();
      G->Fields.What = choose(Value, {"", "arg", "grid", "block", "shared",
                                      "cooperative", "device", "variable",
                                      "before", "behind", "same-buffer",
                                      "alignment", "own-pages", "in-variable"});
      G->Fields.Test = MNEME_TEST_RANGE;
    } else if (G) {
      setGuard(*G, Key, Value);
    } else if (V) {
      setVariant(*V, Key, Value);
    } else {
      fail("unexpected '" + Word + "'");
    }
  }
  for (PackagedKernel &Kernel : P.Kernels)
    for (PackagedVariant &Variant : Kernel.Variants)
      if (StringRef(Variant.Image).starts_with("BC\xc0\xde"))
        compileForHost(Variant);
  ExitOnErr(writePackage(Argv[1], P));
}
