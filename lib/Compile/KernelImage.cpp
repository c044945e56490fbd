//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/KernelImage.h"
#include "GPUImage.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Mneme/Compile/Fatbin.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Support/AMDSettings.h"
#include "llvm/Object/ELFObjectFile.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/Regex.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::support::endian;

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

static bool isPTX(StringRef Text) {
  return Text.contains(".version") && Text.contains(".target");
}

static std::string archOfPTX(StringRef Text) {
  SmallVector<StringRef, 2> Match;
  return Regex("\\.target[ \t]+(sm_[0-9]+[a-z]?)").match(Text, &Match)
             ? Match[1].str()
             : std::string();
}

/// \returns the number of "sm_90a".
static unsigned numberOf(StringRef Arch) {
  unsigned N = 0;
  Arch.consume_front("sm_");
  Arch.consumeInteger(10, N);
  return N;
}

/// \returns the declaration of a kernel from its name on, or an empty text.
static StringRef findEntry(StringRef Text, StringRef Kernel) {
  for (size_t At = 0; (At = Text.find(".entry", At)) != StringRef::npos;) {
    At += 6;
    StringRef Rest = Text.substr(At).ltrim();
    if (!Rest.consume_front(Kernel))
      continue;
    if (Rest.empty() ||
        (!isAlnum(Rest.front()) && Rest.front() != '_' && Rest.front() != '$'))
      return Rest;
  }
  return "";
}

static Expected<bool> hasKernel(StringRef Cubin, StringRef Kernel) {
  Expected<Elf> File = openGPUImage(Cubin);
  if (!File)
    return File.takeError();
  Expected<const Elf::Elf_Shdr *> Text =
      findSection(*File, (".text." + Kernel).str());
  if (!Text)
    return Text.takeError();
  return *Text != nullptr;
}

static std::string archOfCubin(StringRef Cubin) {
  Expected<Elf> File = openGPUImage(Cubin);
  if (!File) {
    consumeError(File.takeError());
    return "";
  }
  const Elf::Elf_Ehdr &Header = File->getHeader();
  uint32_t Accelerated = Header.e_ident[ELF::EI_ABIVERSION] >= 8
                             ? ELF::EF_CUDA_ACCELERATORS
                             : ELF::EF_CUDA_ACCELERATORS_V1;
  return "sm_" + utostr(getSMNumber(*File)) +
         (Header.e_flags & Accelerated ? "a" : "");
}

/// \returns "gfx90a:sramecc+:xnack-" of a code object, without the settings
/// that it does not depend on; empty if it is none.
static std::string archOfCodeObject(StringRef Image) {
  Expected<std::unique_ptr<object::ObjectFile>> File =
      object::ObjectFile::createELFObjectFile(MemoryBufferRef(Image, ""));
  auto *Object =
      File ? dyn_cast<object::ELF64LEObjectFile>(File->get()) : nullptr;
  consumeError(File.takeError());
  Triple Target;
  if (Object)
    Target.setArch(Object->getArch());
  if (!Target.isAMDGPU())
    return "";
  return Object->tryGetCPUName().value_or("").str() +
         getAMDSettings(Object->getPlatformFlags());
}

/// \returns the error for an image that has no code of a kernel for the device.
static Error hasNoCode(StringRef Kernel, StringRef Arch,
                       ArrayRef<StringRef> Others) {
  std::string Text =
      formatv("the image has no code of kernel '{0}' for {1}", Kernel, Arch);
  if (!Others.empty())
    Text += "; it has code for " + join(Others, ", ");
  return createStringError(Text);
}

/// Selects from a code object or a bundle.
static Expected<KernelImage>
selectCodeObject(StringRef Image, StringRef Kernel, StringRef Arch,
                 function_ref<bool(StringRef)> Runs) {
  std::vector<std::unique_ptr<MemoryBuffer>> Decompressed;
  std::vector<FatbinEntry> Entries;
  // The runtime has found no more of it (Runtime/Driver/ImageBytes.cpp).
  if (Image.starts_with("CCOB") && Image.size() == MNEME_BUNDLE_HEADER_SIZE)
    return createStringError(
        "the code object is in a compressed bundle of version 1, which does "
        "not have its size: compress it with a newer clang");
  if (Image.starts_with("\x7f")) {
    Entries.emplace_back();
    Entries.back().Arch = archOfCodeObject(Image);
    Entries.back().Stored = Image;
  } else if (Error E =
                 parseBundles(Image, "image", Decompressed).moveInto(Entries)) {
    return std::move(E);
  }
  SmallVector<StringRef, 4> Others;
  for (const FatbinEntry &E : Entries) {
    if (!Runs(E.Arch)) {
      Others.push_back(E.Arch);
      continue;
    }
    Expected<Elf> File = openGPUImage(E.Stored);
    if (!File)
      return File.takeError();
    Expected<bool> Has =
        readKernelMetadata(*File, Kernel, [](msgpack::MapDocNode &) {});
    if (!Has)
      return Has.takeError();
    if (*Has)
      return KernelImage{false, E.Arch, E.Stored.str()};
  }
  return hasNoCode(Kernel, Arch, Others);
}

static Expected<KernelImage>
selectFromFatbin(StringRef Image, StringRef Kernel, StringRef Arch,
                 function_ref<bool(StringRef)> RunsCode) {
  Expected<std::vector<FatbinEntry>> Entries = parseFatbins(Image, "image");
  if (!Entries)
    return Entries.takeError();
  // The driver prefers machine code, and among equals the newest architecture.
  auto Order = [](const FatbinEntry &E) {
    return std::make_tuple(E.Kind == FatbinEntry::Cubin, numberOf(E.Arch),
                           E.Arch);
  };
  llvm::stable_sort(*Entries, [&](const FatbinEntry &A, const FatbinEntry &B) {
    return Order(A) > Order(B);
  });
  SmallVector<StringRef, 4> Others;
  for (const FatbinEntry &E : *Entries) {
    bool Runs = E.Kind == FatbinEntry::Cubin
                    ? RunsCode(E.Arch)
                    : numberOf(E.Arch) <= numberOf(Arch);
    if (E.Kind == FatbinEntry::Other)
      continue;
    if (!Runs) {
      Others.push_back(E.Arch);
      continue;
    }
    Expected<SmallVector<char, 0>> Bytes = readFatbinEntry(E, "image");
    if (!Bytes)
      return Bytes.takeError();
    StringRef Contents(Bytes->data(), Bytes->size());
    if (E.Kind == FatbinEntry::PTX) {
      Contents = Contents.rtrim('\0');
      if (!findEntry(Contents, Kernel).empty())
        return KernelImage{true, E.Arch, Contents.str()};
      continue;
    }
    Expected<bool> Has = hasKernel(Contents, Kernel);
    if (!Has)
      return Has.takeError();
    if (*Has)
      return KernelImage{false, E.Arch, Contents.str()};
  }
  return hasNoCode(Kernel, Arch, Others);
}

Expected<KernelImage>
mneme::selectKernelImage(StringRef Image, StringRef Kernel, StringRef Arch,
                         function_ref<bool(StringRef)> Runs) {
  constexpr uint32_t FatbinMagic = 0xba55ed50;
  if (Image.size() >= 4 && read32le(Image.data()) == FatbinMagic)
    return selectFromFatbin(Image, Kernel, Arch, Runs);
  if (Arch.starts_with("gfx"))
    return selectCodeObject(Image, Kernel, Arch, Runs);
  if (Image.starts_with("\x7f"
                        "ELF")) {
    Expected<bool> Has = hasKernel(Image, Kernel);
    if (!Has)
      return Has.takeError();
    if (!*Has)
      return createStringError(
          formatv("the image has no code of kernel '{0}': it is stripped, or "
                  "is the image of another kernel",
                  Kernel)
              .str());
    KernelImage K{false, archOfCubin(Image), Image.str()};
    if (!Runs(K.Arch))
      return createStringError(
          formatv("the image of kernel '{0}' is for {1}, and the device is {2}",
                  Kernel, K.Arch, Arch)
              .str());
    return K;
  }
  StringRef Text = Image.rtrim('\0');
  if (!isPTX(Text))
    return createStringError(formatv("the image of kernel '{0}' is neither a "
                                     "cubin nor PTX nor a fat binary",
                                     Kernel)
                                 .str());
  if (findEntry(Text, Kernel).empty())
    return createStringError(
        formatv("the PTX has no kernel '{0}'", Kernel).str());
  return KernelImage{true, archOfPTX(Text), Text.str()};
}

//===----------------------------------------------------------------------===//
// Parameters
//===----------------------------------------------------------------------===//

/// .nv.info.<kernel> has entries of a format, an attribute, and a size or a
/// value. A parameter is index, ordinal, offset, and flags with the size.
static Expected<std::optional<std::vector<ImageParam>>>
readCubinParameters(StringRef Cubin, StringRef Kernel) {
  constexpr uint8_t Sized = 4, ParamInfo = 0x17, ParamSize = 0x19;
  Expected<Elf> File = openGPUImage(Cubin);
  if (!File)
    return File.takeError();
  Expected<const Elf::Elf_Shdr *> Section =
      findSection(*File, (".nv.info." + Kernel).str());
  if (!Section)
    return Section.takeError();
  if (!*Section)
    return std::nullopt;
  Expected<StringRef> Found = getContents(*File, **Section);
  if (!Found)
    return Found.takeError();
  std::vector<ImageParam> Params;
  uint64_t Total = 0;
  for (StringRef Info = *Found; Info.size() >= 4;) {
    bool IsSized = Info[0] == Sized;
    uint8_t Attribute = Info[1];
    uint16_t Value = read16le(Info.data() + 2);
    Info = Info.drop_front(4);
    if (!IsSized) {
      if (Attribute == ParamSize)
        Total = Value;
      continue;
    }
    if (Value > Info.size())
      return createStringError("damaged GPU image: truncated .nv.info");
    if (Attribute == ParamInfo && Value >= 12) {
      uint16_t Ordinal = read16le(Info.data() + 4);
      if (Params.size() <= Ordinal)
        Params.resize(Ordinal + 1);
      Params[Ordinal].Offset = read16le(Info.data() + 6);
      Params[Ordinal].Size = read32le(Info.data() + 8) >> 18;
    }
    Info = Info.drop_front(Value);
  }
  // Another form of the table, or none.
  if (Total &&
      (Params.empty() || Params.back().Offset + Params.back().Size != Total))
    return std::nullopt;
  return Params;
}

/// The arguments in the metadata, up to the hidden ones.
static Expected<std::optional<std::vector<ImageParam>>>
readCodeObjectParameters(StringRef Image, StringRef Kernel) {
  Expected<Elf> File = openGPUImage(Image);
  if (!File)
    return File.takeError();
  std::vector<ImageParam> Params;
  bool IsComplete = true;
  auto AddAll = [&](msgpack::MapDocNode &Map) {
    msgpack::DocNode &Args = Map[".args"];
    if (!Args.isArray())
      return;
    for (msgpack::DocNode &Node : Args.getArray()) {
      if (!Node.isMap()) {
        IsComplete = false;
        continue;
      }
      msgpack::MapDocNode &Arg = Node.getMap();
      StringRef Kind = Arg[".value_kind"].isString()
                           ? Arg[".value_kind"].getString()
                           : StringRef();
      if (Kind.starts_with("hidden_"))
        continue;
      std::optional<uint64_t> Offset = getInteger(Arg, ".offset");
      std::optional<uint64_t> Size = getInteger(Arg, ".size");
      IsComplete &= Offset && Size;
      Params.push_back({uint32_t(Offset.value_or(0)),
                        uint32_t(Size.value_or(0)), Kind == "global_buffer"});
    }
  };
  Expected<bool> Found = readKernelMetadata(*File, Kernel, AddAll);
  if (!Found)
    return Found.takeError();
  if (!*Found || !IsComplete)
    return std::nullopt;
  return Params;
}

/// \returns the bytes of a PTX type such as "u32" or "b8".
static uint64_t sizeOfType(StringRef Type) {
  unsigned Bits = 0;
  Type = Type.ltrim("bsuf");
  return Type.getAsInteger(10, Bits) ? 0 : Bits / 8;
}

namespace {
/// ".param .align 4 .b8 name[20]" and similar declarations.
struct PTXDeclaration {
  uint64_t Alignment = 0, Size = 0;
  bool IsPointer = false;
  std::string Name;

  static PTXDeclaration parse(StringRef Text);
};
} // namespace

PTXDeclaration PTXDeclaration::parse(StringRef Text) {
  PTXDeclaration D;
  uint64_t Element = 0, Count = 1;
  SmallVector<StringRef, 8> Words;
  size_t Init = Text.find('=');
  Text.take_front(Init).split(Words, ' ', -1, /*KeepEmpty=*/false);
  for (size_t I = 0; I != Words.size(); ++I) {
    StringRef W = Words[I].trim();
    if (W == ".align" && I + 1 != Words.size()) {
      Words[I + 1].trim().getAsInteger(10, D.Alignment);
      ++I;
    } else if (W == ".ptr") {
      // What it points to follows, and may have an alignment of its own.
      D.IsPointer = true;
      if (I + 1 != Words.size() && Words[I + 1].starts_with("."))
        ++I;
      if (I + 2 < Words.size() && Words[I + 1] == ".align")
        I += 2;
    } else if (W.consume_front(".")) {
      if (uint64_t Bytes = sizeOfType(W))
        Element = Bytes;
    } else if (!W.empty()) {
      auto [Name, Rest] = W.split('[');
      D.Name = Name.str();
      while (!Rest.empty()) {
        auto [Number, More] = Rest.split(']');
        uint64_t N = 0;
        if (Number.trim().getAsInteger(10, N))
          break;
        Count *= N;
        Rest = More.ltrim("[ ");
      }
    }
  }
  D.Size = Element * Count;
  D.Alignment = std::max(D.Alignment, Element);
  return D;
}

/// Text without comments, and with spaces for other white space.
static std::string plainPTX(StringRef Text) {
  std::string Out;
  while (!Text.empty()) {
    if (Text.starts_with("//")) {
      Text = Text.drop_until([](char C) { return C == '\n'; });
    } else if (Text.starts_with("/*")) {
      size_t End = Text.find("*/");
      Text = End == StringRef::npos ? "" : Text.drop_front(End + 2);
    } else {
      Out += isSpace(Text.front()) ? ' ' : Text.front();
      Text = Text.drop_front();
    }
  }
  return Out;
}

static std::optional<std::vector<ImageParam>>
readPTXParameters(StringRef Text, StringRef Kernel) {
  StringRef Entry = findEntry(Text, Kernel);
  if (Entry.empty())
    return std::nullopt;
  // The list ends before the body and the directives before it.
  std::string Plain =
      plainPTX(Entry.take_until([](char C) { return C == '{'; }));
  StringRef List = StringRef(Plain).ltrim();
  std::vector<ImageParam> Params;
  if (!List.consume_front("("))
    return Params;
  List = List.take_until([](char C) { return C == ')'; });
  SmallVector<StringRef, 16> Parts;
  List.split(Parts, ',', -1, /*KeepEmpty=*/false);
  uint64_t Offset = 0;
  for (StringRef Part : Parts) {
    if (Part.trim().empty())
      continue;
    PTXDeclaration D = PTXDeclaration::parse(Part);
    if (!D.Size || !isPowerOf2_64(D.Alignment))
      return std::nullopt;
    Offset = alignTo(Offset, D.Alignment);
    Params.push_back({uint32_t(Offset), uint32_t(D.Size), D.IsPointer});
    Offset += D.Size;
  }
  return Params;
}

Expected<std::optional<std::vector<ImageParam>>>
mneme::readParameters(const KernelImage &Image, StringRef Kernel) {
  if (Image.IsPTX)
    return readPTXParameters(Image.Bytes, Kernel);
  if (StringRef(Image.Arch).starts_with("gfx"))
    return readCodeObjectParameters(Image.Bytes, Kernel);
  return readCubinParameters(Image.Bytes, Kernel);
}

//===----------------------------------------------------------------------===//
// Variables
//===----------------------------------------------------------------------===//

static Expected<std::vector<ImageSymbol>> readCubinVariables(StringRef Cubin) {
  Expected<Elf> File = openGPUImage(Cubin);
  if (!File)
    return File.takeError();
  auto Sections = File->sections();
  if (!Sections)
    return Sections.takeError();
  std::vector<ImageSymbol> Found;
  Error E = forEachSymbol(*File, [&](uint32_t, StringRef Name,
                                     const Elf::Elf_Sym &S) {
    if (S.getType() != ELF::STT_OBJECT || S.getBinding() == ELF::STB_LOCAL ||
        S.st_shndx >= Sections->size() || !S.st_size)
      return;
    Expected<StringRef> Section = File->getSectionName((*Sections)[S.st_shndx]);
    if (!Section)
      return consumeError(Section.takeError());
    bool IsConstant = *Section == ".nv.constant3";
    if (IsConstant || Section->starts_with(".nv.global"))
      Found.push_back({Name.str(), S.st_size, IsConstant});
  });
  if (E)
    return std::move(E);
  return Found;
}

static Expected<std::vector<ImageSymbol>>
readCodeObjectVariables(StringRef Image) {
  Expected<Elf> File = openGPUImage(Image);
  if (!File)
    return File.takeError();
  std::vector<ImageSymbol> Found;
  Error E = forEachSymbol(
      *File, [&](uint32_t, StringRef Name, const Elf::Elf_Sym &S) {
        // Descriptors of kernels, and clang's marks of translation units, are
        // objects, too.
        if (S.getType() == ELF::STT_OBJECT &&
            S.getBinding() != ELF::STB_LOCAL && S.st_size && S.st_shndx &&
            !Name.ends_with(".kd") && !Name.starts_with("__hip_cuid_"))
          Found.push_back({Name.str(), S.st_size, /*IsConstant=*/false});
      });
  if (E)
    return std::move(E);
  return Found;
}

static std::vector<ImageSymbol> readPTXVariables(StringRef Text) {
  std::vector<ImageSymbol> Found;
  std::string Plain = plainPTX(Text);
  unsigned Depth = 0;
  size_t Start = 0;
  // Declarations outside of functions end with a semicolon; initializers have
  // braces.
  for (size_t I = 0; I != Plain.size(); ++I) {
    char C = Plain[I];
    if (C == '{')
      ++Depth;
    else if (C == '}' && Depth && !--Depth &&
             !StringRef(Plain).substr(I + 1).ltrim().starts_with(";"))
      Start = I + 1;
    if (C != ';' || Depth)
      continue;
    StringRef Declaration = StringRef(Plain).slice(Start, I).trim();
    Start = I + 1;
    // Directives such as .version stand before it, without an end.
    size_t Linkage = StringRef::npos;
    for (StringRef Word : {".visible ", ".weak ", ".common "})
      if (size_t Found = Declaration.rfind(Word); Found != StringRef::npos)
        Linkage = Found;
    if (Linkage == StringRef::npos)
      continue;
    Declaration = Declaration.substr(Linkage);
    bool IsConstant = Declaration.contains(" .const ");
    if (!IsConstant && !Declaration.contains(" .global "))
      continue;
    PTXDeclaration D = PTXDeclaration::parse(Declaration);
    if (D.Size)
      Found.push_back({D.Name, D.Size, IsConstant});
  }
  return Found;
}

Expected<std::vector<ImageSymbol>>
mneme::readVariables(const KernelImage &Image) {
  if (Image.IsPTX)
    return readPTXVariables(Image.Bytes);
  if (StringRef(Image.Arch).starts_with("gfx"))
    return readCodeObjectVariables(Image.Bytes);
  return readCubinVariables(Image.Bytes);
}
