//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Attach.h"
#include "Diagnose.h"
#include "HostSymbols.h"
#include "LaunchRules.h"
#include "SideFiles.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/EmbeddedSource.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/LLVMCompat.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Support/Compression.h"
#include "llvm/TargetParser/Triple.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns the kernel names of a payload, or std::nullopt if it is damaged.
/// This plugin has just written the file, but a damaged file must not crash the
/// compiler.
static std::optional<StringSet<>> readKernelNames(StringRef Payload) {
  MnemePayloadHeader Header;
  if (Payload.size() < sizeof(Header))
    return std::nullopt;
  memcpy(&Header, Payload.data(), sizeof(Header));
  if (StringRef(Header.Magic, sizeof(Header.Magic)) != MNEME_PAYLOAD_MAGIC ||
      Header.HeaderSize != sizeof(Header) ||
      Header.TotalSize != Payload.size() ||
      Header.KernelsOffset > Payload.size() ||
      Header.NumKernels >
          (Payload.size() - Header.KernelsOffset) / sizeof(MnemePayloadKernel))
    return std::nullopt;
  StringSet<> Names;
  for (uint32_t I = 0; I != Header.NumKernels; ++I) {
    MnemePayloadKernel Kernel;
    memcpy(&Kernel, Payload.data() + Header.KernelsOffset + I * sizeof(Kernel),
           sizeof(Kernel));
    size_t End = Payload.find('\0', Kernel.NameOffset);
    if (End == StringRef::npos)
      return std::nullopt;
    Names.insert(Payload.slice(Kernel.NameOffset, End));
  }
  return Names;
}

/// Returns true if the payload, which readKernelNames() has accepted, was
/// compiled with -fgpu-rdc.
static bool isRelocatable(StringRef Payload) {
  MnemePayloadHeader Header;
  memcpy(&Header, Payload.data(), sizeof(Header));
  return Header.Flags & MNEME_PAYLOAD_RDC;
}

/// Returns a payload, which readKernelNames() has accepted, without its
/// bitcode.
static std::string removeBitcode(StringRef Payload) {
  MnemePayloadHeader Header;
  memcpy(&Header, Payload.data(), sizeof(Header));
  Header.Flags = (Header.Flags & ~MNEME_PAYLOAD_ZSTD) | MNEME_PAYLOAD_SLIM;
  Header.BitcodeSize = Header.StoredSize = 0;
  Header.TotalSize = Header.BitcodeOffset; // Aligned like the payload's end.
  std::string Slim = Payload.take_front(Header.TotalSize).str();
  memcpy(Slim.data(), &Header, sizeof(Header));
  return Slim;
}

/// Emits the payload as a global that the linker merges with identical ones.
static GlobalVariable *emitPayload(Module &M, StringRef Payload) {
  std::string Name = "__mneme_payload_" + toHexString(digest128(Payload));
  if (GlobalVariable *Old = M.getGlobalVariable(Name, /*AllowInternal=*/true))
    return Old;
  Constant *Bytes = ConstantDataArray::getRaw(Payload, Payload.size(),
                                              Type::getInt8Ty(M.getContext()));
  auto *G = new GlobalVariable(M, Bytes->getType(), /*isConstant=*/true,
                               GlobalValue::LinkOnceODRLinkage, Bytes, Name);
  G->setVisibility(GlobalValue::HiddenVisibility);
  G->setComdat(M.getOrInsertComdat(Name));
  G->setSection(MNEME_PAYLOAD_SECTION);
  G->setAlignment(Align(8));
  return G;
}

/// Emits the units of the device compilations.
static Error emitSources(Module &M, SmallVectorImpl<GlobalValue *> &Used) {
  Expected<std::vector<std::string>> Units =
      takeSideFiles(M.getSourceFileName(), SideFile::Source);
  if (!Units)
    return Units.takeError();
  for (StringRef Bytes : *Units) {
    Constant *Contents = ConstantDataArray::getRaw(
        Bytes, Bytes.size(), Type::getInt8Ty(M.getContext()));
    auto *G = new GlobalVariable(M, Contents->getType(), /*isConstant=*/true,
                                 GlobalValue::PrivateLinkage, Contents,
                                 ".mneme.source");
    G->setSection(SourceSection);
    G->setAlignment(Align(8));
    Used.push_back(G);
  }
  return Error::success();
}

/// Returns a global with \p Name for index entries, shared between them.
static Constant *getNameString(Module &M, StringMap<Constant *> &Strings,
                               StringRef Name) {
  Constant *&String = Strings[Name];
  if (String)
    return String;
  Constant *Text = ConstantDataArray::getString(M.getContext(), Name);
  auto *G =
      new GlobalVariable(M, Text->getType(), /*isConstant=*/true,
                         GlobalValue::PrivateLinkage, Text, ".mneme.name");
  G->setUnnamedAddr(GlobalValue::UnnamedAddr::Global);
  return String = G;
}

static GlobalVariable *emitIndexEntry(Module &M, const HostSymbol &S,
                                      Constant *Payload, Constant *Name) {
  LLVMContext &Context = M.getContext();
  Type *I64 = Type::getInt64Ty(Context), *I32 = Type::getInt32Ty(Context);
  Constant *Entry = ConstantStruct::getAnon(
      Context, {S.Pointer, Payload, Name, ConstantInt::get(I64, S.Size),
                ConstantInt::get(I32, S.Kind), ConstantInt::get(I32, S.Flags)});
  // Not constant: position-independent code relocates the entry, and all
  // contributions to a section should have the same flags.
  auto *G =
      new GlobalVariable(M, Entry->getType(), /*isConstant=*/false,
                         GlobalValue::PrivateLinkage, Entry, ".mneme.index");
  G->setSection(MNEME_INDEX_SECTION);
  G->setAlignment(Align(8));
  return G;
}

//===----------------------------------------------------------------------===//
// Static libraries
//===----------------------------------------------------------------------===//
//
// The device linker extracts a static library's member for its device functions
// even if the host linker does not need the member. To make the host linker
// extract the member's payload, too, the object with a device symbol defines a
// host symbol for it, and objects that use the device symbol refer to the host
// symbol. A reference must not be an error if nothing defines the symbol.

static std::string makeSymbolName(const GlobalValue &Device) {
  return ("__mneme_device_" + Device.getName()).str();
}

static bool isDeviceSymbol(const GlobalValue &G) {
  constexpr unsigned Shared = 3;
  return !G.hasLocalLinkage() && !G.hasAppendingLinkage() &&
         !G.hasAvailableExternallyLinkage() &&
         !G.getName().starts_with("llvm.") &&
         (isa<Function>(G) || G.getAddressSpace() != Shared);
}

/// Returns true if linking the host part of \p M into a program has no effect
/// on the program: it defines nothing but the host shadows of device variables,
/// \p Symbols.
static bool isForDeviceOnly(const Module &M, ArrayRef<HostSymbol> Symbols) {
  SmallPtrSet<const Value *, 8> Shadows;
  for (const HostSymbol &S : Symbols)
    Shadows.insert(S.Pointer);
  // Mneme's and clang's own symbols.
  auto IsCompilers = [](StringRef Name) {
    return Name.starts_with("__mneme_") || Name.starts_with(".offloading.") ||
           Name.starts_with("__hip_cuid_");
  };
  return !M.getNamedGlobal("llvm.global_ctors") &&
         none_of(M.global_values(), [&](const GlobalValue &G) {
           return !G.isDeclaration() && !G.isDiscardableIfUnused() &&
                  !G.hasAppendingLinkage() && !Shadows.contains(&G) &&
                  !IsCompilers(G.getName());
         });
}

/// Returns the payload's bitcode, decompressed into \p Plain if necessary;
/// empty on failure.
static StringRef getBitcode(StringRef Payload,
                            SmallVectorImpl<uint8_t> &Plain) {
  MnemePayloadHeader Header;
  memcpy(&Header, Payload.data(), sizeof(Header));
  StringRef Stored = Payload.substr(Header.BitcodeOffset, Header.StoredSize);
  if (!(Header.Flags & MNEME_PAYLOAD_ZSTD))
    return Stored;
  if (Error E = compression::zstd::decompress(arrayRefFromStringRef(Stored),
                                              Plain, Header.BitcodeSize)) {
    consumeError(std::move(E));
    return "";
  }
  return toStringRef(Plain);
}

/// Makes linkers search archives for \p Name.
static void emitReference(Module &M, StringRef Name) {
  // An undefined symbol without relocations. Only for executables: linking with
  // a library that lists undefined symbols would fail.
  if (M.getPICLevel() == PICLevel::NotPIC ||
      M.getPIELevel() != PIELevel::Default) {
    M.appendModuleInlineAsm((".globl \"" + Name + "\"").str());
    return;
  }
  // A common symbol: many linkers, but not lld, search archives for a
  // definition.
  Type *I8 = Type::getInt8Ty(M.getContext());
  auto *Symbol = new GlobalVariable(M, I8, /*isConstant=*/false,
                                    GlobalValue::CommonLinkage,
                                    Constant::getNullValue(I8), Name);
  Symbol->setVisibility(GlobalValue::HiddenVisibility);
}

static void emitDeviceSymbols(Module &M, StringRef Bytes, bool MayDefine,
                              StringSet<> &Referred) {
  LLVMContext Scratch;
  SmallVector<uint8_t, 0> Plain;
  Expected<std::unique_ptr<Module>> Device = getLazyBitcodeModule(
      MemoryBufferRef(getBitcode(Bytes, Plain), ""), Scratch);
  if (!Device)
    return consumeError(Device.takeError());
  Type *I8 = Type::getInt8Ty(M.getContext());
  for (const GlobalValue &G : (*Device)->global_values()) {
    std::string Name = makeSymbolName(G);
    if (!isDeviceSymbol(G) || M.getNamedValue(Name))
      continue;
    if (G.isDeclaration()) {
      if (Referred.insert(Name).second)
        emitReference(M, Name);
      continue;
    }
    if (!MayDefine)
      continue;
    auto *Symbol =
        new GlobalVariable(M, I8, /*isConstant=*/false,
                           G.isWeakForLinker() ? GlobalValue::WeakODRLinkage
                                               : GlobalValue::ExternalLinkage,
                           Constant::getNullValue(I8), Name);
    Symbol->setVisibility(GlobalValue::HiddenVisibility);
  }
}

/// Makes the stubs of tuned kernels launch as the kernels were tuned.
static Error addLaunchRules(const Module &M, ArrayRef<HostSymbol> Symbols) {
  Expected<std::vector<LaunchRule>> Rules = takeLaunchRules(M);
  if (!Rules)
    return Rules.takeError();
  for (const LaunchRule &Rule : *Rules)
    for (const HostSymbol &S : Symbols)
      if (S.Kind == MNEME_INDEX_KERNEL && S.Name == Rule.Kernel)
        if (auto *Stub = dyn_cast<Function>(S.Pointer->stripPointerCasts()))
          if (Error E = addLaunchRule(*Stub, Rule))
            return E;
  return Error::success();
}

/// For HIP's -fgpu-rdc, clang's old driver compiles the host's side first.
static bool isHip(const Module &M) {
  return any_of(M.global_values(), [](const GlobalValue &G) {
    return G.getName().starts_with("__hip");
  });
}

PreservedAnalyses EmbedPass::run(Module &M, ModuleAnalysisManager &) {
  if (isGPU(M))
    return PreservedAnalyses::all();
  Expected<std::vector<std::string>> Payloads =
      takeSideFiles(M.getSourceFileName());
  std::vector<HostSymbol> Symbols = readHostSymbols(M);
  if (Error E = addLaunchRules(M, Symbols))
    reportError(M, toString(std::move(E)));
  size_t NumKernels = count_if(Symbols, [](const HostSymbol &S) {
    return S.Kind == MNEME_INDEX_KERNEL;
  });
  if (!Payloads || Payloads->empty()) {
    std::string Reason = Payloads ? "" : ": " + toString(Payloads.takeError());
    if (NumKernels)
      reportWarning(
          M,
          "found no device code for " + Twine(NumKernels) +
              (NumKernels == 1 ? " kernel" : " kernels") + " of '" +
              M.getSourceFileName() +
              "', which cannot be recorded; both sides must be compiled by "
              "one command, the device first" +
              (isHip(M) ? " (with -fgpu-rdc, add --offload-new-driver)" : "") +
              Reason);
    return PreservedAnalyses::all();
  }

  bool IsForDeviceOnly = isForDeviceOnly(M, Symbols);
  StringSet<> Referred;
  SmallVector<GlobalValue *> Used;
  SmallPtrSet<GlobalVariable *, 4> Seen;
  StringMap<Constant *> Strings;
  for (const std::string &Bytes : *Payloads) {
    std::optional<StringSet<>> Kernels = readKernelNames(Bytes);
    if (!Kernels) {
      reportWarning(M, "ignoring damaged device code of '" +
                           M.getSourceFileName() + "'");
      continue;
    }
    GlobalVariable *Payload =
        emitPayload(M, IsSlim ? removeBitcode(Bytes) : Bytes);
    if (!Seen.insert(Payload).second)
      continue;
    Used.push_back(Payload);
    if (isRelocatable(Bytes)) {
      Used.push_back(emitIndexEntry(M, {Payload, "", 0, MNEME_INDEX_UNIT, 0},
                                    Payload, getNameString(M, Strings, "")));
      emitDeviceSymbols(M, Bytes, IsForDeviceOnly, Referred);
    }
    for (const HostSymbol &S : Symbols)
      if (S.Kind == MNEME_INDEX_VARIABLE || Kernels->contains(S.Name))
        Used.push_back(
            emitIndexEntry(M, S, Payload, getNameString(M, Strings, S.Name)));
  }
  if (Error E = emitSources(M, Used))
    reportWarning(M, "the source of '" + M.getSourceFileName() +
                         "' is not kept: " + toString(std::move(E)));
  if (Used.empty())
    return PreservedAnalyses::all();
  // llvm.used also protects the section from --gc-sections.
  appendToUsed(M, Used);
  addAttachCall(M);
  return PreservedAnalyses::none();
}
