//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// This file describes kernels that a program has loaded as images, without
// Mneme's payload: with the IR that the program has registered, or without.
//
//===----------------------------------------------------------------------===//

#include "CompileWorker.h"
#include "LaunchMessages.h"
#include "Obstacles.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Mneme/Compile/KernelImage.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/IRUtils/ImageVariables.h"
#include "llvm/Mneme/IRUtils/ReadIR.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

/// \returns the triple of a device's code.
static StringRef tripleOf(StringRef Arch) {
  return Arch.starts_with("gfx") ? "amdgcn-amd-amdhsa" : "nvptx64-nvidia-cuda";
}

/// Whether two layouts are the same. Trailing parameters without a size are no
/// parameters.
static bool isSame(ArrayRef<ImageParam> A, ArrayRef<ImageParam> B) {
  return A.size() == B.size() &&
         llvm::all_of(llvm::zip(A, B), [](const auto &Pair) {
           const auto &[X, Y] = Pair;
           return X.Offset == Y.Offset && X.Size == Y.Size;
         });
}

/// \returns the parameters of the kernel, from its image and the driver.
static Expected<std::vector<ImageParam>>
findParameters(const LoadImageRequest &Q, const KernelImage &Image) {
  Expected<std::optional<std::vector<ImageParam>>> Own =
      readParameters(Image, Q.Kernel);
  if (!Own)
    return Own.takeError();
  if (!*Own && !Q.HasLayout)
    return createStringError("the image has no parameter information of "
                             "kernel '" +
                             Q.Kernel +
                             "', and the driver gives none (before CUDA 12.4)");
  if (!*Own)
    return Q.Layout;
  if (Q.HasLayout && !isSame(**Own, Q.Layout))
    return createStringError("the image of kernel '" + Q.Kernel +
                             "' has other parameters than the driver has");
  return **Own;
}

//===----------------------------------------------------------------------===//
// Without IR
//===----------------------------------------------------------------------===//

/// Whether a parameter can be a pointer or an integer: structs of such a size
/// may be aligned less.
static bool isScalar(const ImageParam &P) {
  return is_contained({1, 2, 4, 8}, P.Size) && P.Offset % P.Size == 0;
}

/// Makes a module with the interface of a kernel, whose code an image has.
static std::unique_ptr<Module> makeInterface(LLVMContext &Context,
                                             StringRef Kernel, StringRef Arch,
                                             ArrayRef<ImageParam> Params,
                                             ArrayRef<ImageSymbol> Variables,
                                             StringRef Digest) {
  auto M = std::make_unique<Module>("image", Context);
  M->setTargetTriple(Triple(tripleOf(Arch)));
  bool IsAMD = M->getTargetTriple().isAMDGPU();
  M->setDataLayout(M->getTargetTriple().computeDataLayout());
  SmallVector<Type *, 8> Types;
  for (const ImageParam &P : Params) {
    bool IsInteger = isScalar(P) && !(P.IsPointer && P.Size == 8);
    Types.push_back(
        IsInteger ? static_cast<Type *>(IntegerType::get(Context, 8 * P.Size))
                  : PointerType::get(Context, 0));
  }
  auto *F = Function::Create(
      FunctionType::get(Type::getVoidTy(Context), Types, /*isVarArg=*/false),
      GlobalValue::ExternalLinkage, Kernel, *M);
  F->setCallingConv(IsAMD ? CallingConv::AMDGPU_KERNEL
                          : CallingConv::PTX_Kernel);
  F->addFnAttr("target-cpu", Arch.split(':').first);
  for (auto [I, P] : enumerate(Params)) {
    if (isScalar(P))
      continue;
    // The alignment that leads to the offset.
    uint64_t Alignment = P.Offset ? P.Offset & -P.Offset : 16;
    Type *Bytes = ArrayType::get(Type::getInt8Ty(Context), P.Size);
    F->addParamAttr(I, IsAMD ? Attribute::getWithByRefType(Context, Bytes)
                             : Attribute::getWithByValType(Context, Bytes));
    F->addParamAttr(I, Attribute::getWithAlignment(
                           Context, Align(std::min<uint64_t>(Alignment, 128))));
  }
  // Nothing compiles this.
  IRBuilder<> B(BasicBlock::Create(Context, "", F));
  B.CreateIntrinsic(Intrinsic::trap, {});
  B.CreateUnreachable();
  for (const ImageSymbol &V : Variables)
    new GlobalVariable(*M, ArrayType::get(Type::getInt8Ty(Context), V.Size),
                       /*isConstant=*/false, GlobalValue::ExternalLinkage,
                       /*Initializer=*/nullptr, V.Name,
                       /*InsertBefore=*/nullptr, GlobalValue::NotThreadLocal,
                       V.IsConstant ? 4 : 1);
  setImageOnly(*M, Digest);
  return M;
}

static Expected<LaunchedKernel> describeWithoutIR(const LoadImageRequest &Q,
                                                  const KernelImage &Image,
                                                  ArrayRef<ImageParam> Params,
                                                  LaunchedKernel K) {
  Expected<std::vector<ImageSymbol>> Variables = readVariables(Image);
  if (!Variables)
    return Variables.takeError();
  LLVMContext Context;
  std::unique_ptr<Module> M =
      makeInterface(Context, Q.Kernel, Image.Arch, Params, *Variables,
                    toHexString(digest128(Image.Bytes)));
  K.StaticHash = *parseDigest128(computeStaticHash(*M));
  K.Toolchain = getImageKind(Image.IsPTX, Image.Arch).str();
  K.OptLevel = "3";
  K.Arch = StringRef(Image.Arch).split(':').first.str();
  K.IsImageOnly = true;
  for (const ImageParam &P : Params) {
    KernelArg A;
    A.Size = P.Size;
    A.Offset = P.Offset;
    A.Kind = P.IsPointer   ? MNEME_ARG_POINTER
             : P.Size <= 8 ? MNEME_ARG_VALUE
                           : MNEME_ARG_AGGREGATE;
    A.Type = P.IsPointer ? "ptr" : formatv("b{0}", 8 * P.Size).str();
    K.Args.push_back(std::move(A));
  }
  for (const ImageSymbol &V : *Variables) {
    K.Globals.push_back(V.Name);
    K.GlobalSizes.push_back(V.Size);
  }
  SmallVector<char, 0> Bitcode = writeExactBitcode(*M);
  K.Bitcode.assign(Bitcode.begin(), Bitcode.end());
  return K;
}

//===----------------------------------------------------------------------===//
// With registered IR
//===----------------------------------------------------------------------===//

static Error doesNotBelong(StringRef Kernel, const Twine &Why) {
  return createStringError("the IR registered for kernel '" + Kernel +
                           "' does not belong to its image: " + Why);
}

/// Splits registered IR into its modules (mneme/record.h).
static Expected<SmallVector<StringRef, 1>> splitModules(StringRef IR) {
  SmallVector<StringRef, 1> Parts;
  if (!IR.consume_front("MNEMEIR1")) {
    Parts.push_back(IR);
    return Parts;
  }
  while (!IR.empty()) {
    uint64_t Size =
        IR.size() < 8 ? UINT64_MAX : support::endian::read64le(IR.data());
    if (Size > IR.size() - std::min<size_t>(IR.size(), 8))
      return createStringError("a module of it lies outside of it");
    Parts.push_back(IR.substr(8, Size));
    IR = IR.drop_front(8 + Size);
  }
  return Parts;
}

/// Reads and links registered IR: bitcode or text of any version.
static Expected<std::unique_ptr<Module>>
readRegistered(StringRef IR, StringRef Arch, LLVMContext &Context) {
  Expected<SmallVector<StringRef, 1>> Parts = splitModules(IR);
  if (!Parts)
    return Parts.takeError();
  std::unique_ptr<Module> All;
  for (StringRef Part : *Parts) {
    SmallVector<char, 0> Sane;
    Expected<std::unique_ptr<Module>> M =
        readIR(MemoryBufferRef(Part, "registered IR"), DefaultIRSeconds,
               Context, Sane);
    if (!M)
      return M.takeError();
    // Earlier versions, and NVVM, have other layouts with the same meaning.
    // Short pointers are another one, which Triton has.
    Module &Here = **M;
    // Triton gives the triple to its code generator only.
    if (Here.getTargetTriple().str().empty())
      Here.setTargetTriple(Triple(tripleOf(Arch)));
    bool IsShort = Here.getDataLayout().getPointerSize(3) == 4;
    if (Here.getTargetTriple().isNVPTX() && !IsShort)
      Here.setDataLayout(Here.getTargetTriple().computeDataLayout());
    if (!All)
      All = std::move(*M);
    else if (Linker::linkModules(*All, std::move(*M), Linker::LinkOnlyNeeded))
      return createStringError("its modules cannot be linked");
  }
  // A whole program: libraries must not keep their functions from being
  // inlined.
  if (All && Parts->size() > 1)
    for (Function &F : *All)
      if (!F.isDeclaration() && !isKernel(F))
        F.setLinkage(GlobalValue::InternalLinkage);
  if (!All)
    return createStringError("it is empty");
  return All;
}

static Error checkParameters(StringRef Kernel, ArrayRef<KernelArg> Args,
                             ArrayRef<ImageParam> Params) {
  if (Args.size() != Params.size())
    return doesNotBelong(Kernel, formatv("it has {0} parameters, the image {1}",
                                         Args.size(), Params.size()));
  for (const auto &[I, Pair] : enumerate(zip(Args, Params))) {
    const auto &[A, P] = Pair;
    if (A.Size != P.Size || A.Offset != P.Offset)
      return doesNotBelong(
          Kernel,
          formatv("parameter {0} has {1} bytes at offset {2}, and {3} at "
                  "{4} in the image",
                  I, A.Size, A.Offset, P.Size, P.Offset));
  }
  return Error::success();
}

/// Settings that a program may register: those of a compilation that neither
/// run programs nor read files.
static Error checkRegisteredConfig(StringRef Text) {
  Expected<json::Value> V = json::parse(Text);
  if (!V)
    return V.takeError();
  const json::Object *Config = V->getAsObject();
  if (!Config)
    return createStringError("expected a JSON object of settings");
  if (Error E = checkConfig(*Config))
    return E;
  for (const auto &[Key, Value] : *Config) {
    const SettingInfo *S = findSetting(Key);
    bool IsCompilation = getSettingStage(Key) != SettingStage::Input &&
                         getSettingStage(Key) != SettingStage::Specialize &&
                         !isLaunchField(Key);
    if (!IsCompilation || (S && (S->Reach == SettingReach::RunsPrograms ||
                                 S->Reach == SettingReach::ReadsFiles)))
      return createStringError("setting '" + StringRef(Key) +
                               "' is not one of the compilation alone");
  }
  return Error::success();
}

static Expected<LaunchedKernel> describeWithIR(const LoadImageRequest &Q,
                                               ArrayRef<ImageParam> Params,
                                               StringRef ImageArch,
                                               LaunchedKernel K) {
  std::string Configuration = Q.Options;
  if (!Configuration.empty())
    if (Error E = checkRegisteredConfig(Configuration))
      return createStringError("the options registered for kernel '" +
                               Q.Kernel + "': " + toString(std::move(E)));
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> Read =
      readRegistered(Q.IR, ImageArch, Context);
  if (!Read)
    return createStringError("the IR registered for kernel '" + Q.Kernel +
                             "' cannot be read: " + toString(Read.takeError()));
  std::unique_ptr<Module> M = std::move(*Read);
  if (M->getTargetTriple().isAMDGPU() !=
          Triple(tripleOf(ImageArch)).isAMDGPU() ||
      !M->getTargetTriple().isGPU())
    return doesNotBelong(Q.Kernel,
                         "it is for '" + M->getTargetTriple().str() + "'");
  Function *F = M->getFunction(Q.Kernel);
  if (!F || F->isDeclaration())
    return doesNotBelong(Q.Kernel, "it does not define the kernel");
  if (!isKernel(*F))
    return doesNotBelong(Q.Kernel, "what it defines is not a kernel");
  K.Args = describeArgs(*M, Q.Kernel);
  if (Error E = checkParameters(Q.Kernel, K.Args, Params))
    return std::move(E);
  K.Toolchain = findToolchain(*M);
  // Many compilers give the target to their code generator only.
  if (!F->hasFnAttribute("target-cpu"))
    F->addFnAttr("target-cpu", ImageArch.split(':').first);
  K.Arch = F->getFnAttribute("target-cpu").getValueAsString().str();
  Expected<std::unique_ptr<Module>> Extracted =
      extractKernel(std::move(M), Q.Kernel);
  if (!Extracted)
    return Extracted.takeError();
  if (Error E = checkComplete(**Extracted))
    return std::move(E);
  K.StaticHash = *parseDigest128(computeStaticHash(**Extracted));
  K.OptLevel = "3";
  K.Configuration = std::move(Configuration);
  K.Globals = findReachedVariables(**Extracted, Q.Kernel);
  const DataLayout &DL = (*Extracted)->getDataLayout();
  for (const std::string &Name : K.Globals) {
    const GlobalVariable *V = (*Extracted)->getNamedGlobal(Name);
    K.GlobalSizes.push_back(
        V ? DL.getTypeAllocSize(V->getValueType()).getFixedValue() : 0);
  }
  K.Obstacle =
      findObstacle(**Extracted, Q.Kernel, /*ForHost=*/false, K.Handles);
  SmallVector<char, 0> Bitcode = writeExactBitcode(**Extracted);
  K.Bitcode.assign(Bitcode.begin(), Bitcode.end());
  return K;
}

Expected<LaunchedKernel>
llvm::mneme::describeImageKernel(const LoadImageRequest &Q) {
  Expected<KernelImage> Image =
      selectKernelImage(Q.Image, Q.Kernel, Q.Arch, [&](StringRef CodeArch) {
        return isArchCompatible(CodeArch, Q.Arch);
      });
  if (!Image)
    return Image.takeError();
  Expected<std::vector<ImageParam>> Params = findParameters(Q, *Image);
  if (!Params)
    return Params.takeError();
  LaunchedKernel K;
  K.Name = Q.Kernel;
  K.Triple = tripleOf(Image->Arch).str();
  K.ImageArch = Image->Arch;
  K.IsPTX = Image->IsPTX;
  K.Image = Image->Bytes;
  return Q.IR.empty() ? describeWithoutIR(Q, *Image, *Params, std::move(K))
                      : describeWithIR(Q, *Params, Image->Arch, std::move(K));
}

//===----------------------------------------------------------------------===//
// Libraries of the host device
//===----------------------------------------------------------------------===//

/// Select the code of a kernel for the newest architecture.
static constexpr StringLiteral AnyArch = "sm_999";
static bool runsAll(StringRef) { return true; }

static bool isIR(StringRef Image) {
  auto *Bytes = reinterpret_cast<const unsigned char *>(Image.data());
  return isBitcode(Bytes, Bytes + Image.size());
}

static StringRef kindOf(StringRef Image) {
  return Image.starts_with("\x7f"
                           "ELF")
             ? "a cubin"
         : Image.starts_with(StringRef("\x50\xed\x55\xba", 4)) ? "a fat binary"
                                                               : "PTX";
}

static Expected<std::unique_ptr<Module>> readLibraryIR(StringRef IR,
                                                       LLVMContext &Context) {
  Expected<std::unique_ptr<Module>> M = readRegistered(IR, "", Context);
  if (!M)
    return createStringError("its IR cannot be read: " +
                             toString(M.takeError()));
  if (!(*M)->getTargetTriple().isGPU())
    return createStringError("its IR is for '" + (*M)->getTargetTriple().str() +
                             "'");
  return M;
}

/// \returns whether \p Image has code of a kernel of \p M.
static bool hasKernelOf(StringRef Image, const Module &M) {
  return any_of(M, [&](const Function &F) {
    if (!isKernel(F))
      return false;
    Expected<KernelImage> Found =
        selectKernelImage(Image, F.getName(), AnyArch, runsAll);
    if (!Found)
      consumeError(Found.takeError());
    return bool(Found);
  });
}

/// Finds the IR of a library that has none itself.
static Expected<std::unique_ptr<Module>>
findIR(StringRef Image, ArrayRef<std::shared_ptr<MemoryBuffer>> Files,
       LLVMContext &Context) {
  for (const std::shared_ptr<MemoryBuffer> &File : Files) {
    Expected<std::unique_ptr<Module>> M =
        readLibraryIR(File->getBuffer(), Context);
    if (!M)
      return createFileError(File->getBufferIdentifier(), M.takeError());
    if (hasKernelOf(Image, **M))
      return M;
  }
  if (!Files.empty())
    return createStringError("it is " + kindOf(Image) +
                             ", and no file of --ir has one of its kernels");
  return createStringError(
      "it is " + kindOf(Image) +
      " without IR, and the host device runs LLVM IR: register the IR of its "
      "kernels before it is loaded (mneme/record.h), or give it with --ir");
}

Expected<LoadedLibrary>
llvm::mneme::loadLibrary(const LibraryImage &Library, const Digest128 &Hash,
                         ArrayRef<std::shared_ptr<MemoryBuffer>> Files) {
  SmallString<48> Digests;
  for (StringRef Part : {Library.Image, Library.IR, Library.Options}) {
    Digest128 D = digest128(Part);
    Digests.append(D.begin(), D.end());
  }
  if (digest128(Digests) != Hash)
    return createStringError("library " + toHexString(Hash) +
                             " has another hash");
  if (!Library.Options.empty())
    if (Error E = checkRegisteredConfig(Library.Options))
      return createStringError("the options registered for it: " +
                               toString(std::move(E)));
  LLVMContext Context;
  Expected<std::unique_ptr<Module>> Read =
      !Library.IR.empty()   ? readLibraryIR(Library.IR, Context)
      : isIR(Library.Image) ? readLibraryIR(Library.Image, Context)
                            : findIR(Library.Image, Files, Context);
  if (!Read)
    return Read.takeError();
  Module &M = **Read;
  LoadedLibrary L;
  SmallVector<char, 0> Bitcode = writeExactBitcode(M);
  L.Bitcode.assign(Bitcode.begin(), Bitcode.end());
  std::vector<std::string> Kernels;
  for (const Function &F : M)
    if (isKernel(F))
      Kernels.push_back(F.getName().str());
  ::mneme::WireWriter W;
  Digest128 Unit = digest128(L.Bitcode);
  W.bytes(Unit.data(), Unit.size());
  W.u32(Kernels.size());
  for (const std::string &Kernel : Kernels)
    W.str(Kernel);
  writeVariables(M, W);
  L.Answer = W.body();
  return L;
}

Error llvm::mneme::addLibraryCode(LaunchedKernel &K,
                                  const LibraryImage &Library) {
  K.Configuration = Library.Options;
  if (isIR(Library.Image))
    return Error::success();
  Expected<KernelImage> Image =
      selectKernelImage(Library.Image, K.Name, AnyArch, runsAll);
  if (!Image)
    return Image.takeError();
  Expected<std::optional<std::vector<ImageParam>>> Params =
      readParameters(*Image, K.Name);
  if (!Params)
    return Params.takeError();
  if (*Params)
    if (Error E = checkParameters(K.Name, K.Args, **Params))
      return E;
  K.ImageArch = Image->Arch;
  K.IsPTX = Image->IsPTX;
  K.Image = std::move(Image->Bytes);
  return Error::success();
}
