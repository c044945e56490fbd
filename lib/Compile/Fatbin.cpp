//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// NVIDIA does not document the format of fat binaries; this description was
// derived from the output of CUDA's fatbinary. All numbers are little-endian.
//
//   container: u32 magic, u16 version, u16 size of this header, u64 size of
//              the entries, which follow the header
//   entry:     u16 kind, u16 version, u32 size of this header, u64 size of the
//              padded image, u32 size of the compressed image, u32, u32,
//              u32 architecture, u64, u64 flags, u64, u64 size of the
//              decompressed image; then the image
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Fatbin.h"
#include "GPUImage.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/CompareCode.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Object/OffloadBundle.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::support::endian;

namespace {
enum : uint32_t { ContainerMagic = 0xba55ed50 };
enum : uint64_t { ContainerHeaderSize = 16, EntryHeaderSize = 64 };
enum : uint16_t { EntryPTX = 1, EntryCubin = 2 };
enum : uint64_t {
  FlagLZ4 = 0x2000,
  FlagZstd = 0x8000,
  FlagOtherCompression = 0x1000 | 0x4000,
  FlagArchSpecific = 0x100000,   ///< sm_90a
  FlagFamilySpecific = 0x200000, ///< sm_100f
};

/// Larger than any image; a damaged size must not exhaust memory.
constexpr uint64_t MaxImageSize = uint64_t(1) << 30;
} // namespace

static Error damaged(StringRef Where, const Twine &What) {
  return createStringError("'" + Where + "': damaged fat binary: " + What);
}

//===----------------------------------------------------------------------===//
// Containers and entries
//===----------------------------------------------------------------------===//

static FatbinEntry::CompressionType getCompression(uint64_t Flags) {
  if (Flags & FlagZstd)
    return FatbinEntry::Zstd;
  if (Flags & FlagLZ4)
    return FatbinEntry::LZ4;
  return Flags & FlagOtherCompression ? FatbinEntry::Unknown
                                      : FatbinEntry::Plain;
}

static std::string getArchName(uint32_t Number, uint64_t Flags) {
  std::string Name = "sm_" + utostr(Number);
  if (Flags & FlagArchSpecific)
    Name += 'a';
  else if (Flags & FlagFamilySpecific)
    Name += 'f';
  return Name;
}

/// Removes one entry from the front of \p Bytes and returns it.
static Expected<FatbinEntry> takeEntry(StringRef &Bytes, StringRef Where) {
  if (Bytes.size() < EntryHeaderSize)
    return damaged(Where, "it ends within the header of an image");
  const char *Header = Bytes.data();
  uint64_t HeaderSize = read32le(Header + 4);
  uint64_t PaddedSize = read64le(Header + 8);
  uint64_t CompressedSize = read32le(Header + 16);
  uint64_t Flags = read64le(Header + 40);
  if (HeaderSize < EntryHeaderSize || HeaderSize > Bytes.size() ||
      PaddedSize > Bytes.size() - HeaderSize)
    return damaged(Where, "an image lies outside of it");

  FatbinEntry Entry;
  uint16_t Kind = read16le(Header);
  Entry.Kind = Kind == EntryPTX     ? FatbinEntry::PTX
               : Kind == EntryCubin ? FatbinEntry::Cubin
                                    : FatbinEntry::Other;
  Entry.Arch = getArchName(read32le(Header + 28), Flags);
  Entry.Compression = getCompression(Flags);
  Entry.Stored = Bytes.substr(HeaderSize, PaddedSize);
  Entry.Size = PaddedSize;
  if (Entry.Compression != FatbinEntry::Plain) {
    if (CompressedSize > PaddedSize)
      return damaged(Where, "a compressed image lies outside of it");
    Entry.Stored = Entry.Stored.take_front(CompressedSize);
    Entry.Size = read64le(Header + 56);
  }
  if (Entry.Size > MaxImageSize)
    return damaged(Where, "an image claims " + Twine(Entry.Size) + " bytes");
  Bytes = Bytes.drop_front(HeaderSize + PaddedSize);
  return Entry;
}

Expected<std::vector<FatbinEntry>> mneme::parseFatbins(StringRef Bytes,
                                                       StringRef Where) {
  std::vector<FatbinEntry> Entries;
  while (!Bytes.empty()) {
    // The linker pads between its inputs.
    if (Bytes.front() == '\0') {
      Bytes = Bytes.ltrim('\0');
      continue;
    }
    if (Bytes.size() < ContainerHeaderSize ||
        read32le(Bytes.data()) != ContainerMagic)
      return damaged(Where, "none begins where one must");
    uint64_t HeaderSize = read16le(Bytes.data() + 6);
    uint64_t Size = read64le(Bytes.data() + 8);
    if (HeaderSize < ContainerHeaderSize || HeaderSize > Bytes.size() ||
        Size > Bytes.size() - HeaderSize)
      return damaged(Where, "it claims " + Twine(Size) + " bytes");
    StringRef Contents = Bytes.substr(HeaderSize, Size);
    Bytes = Bytes.drop_front(HeaderSize + Size);
    while (!Contents.empty()) {
      Expected<FatbinEntry> Entry = takeEntry(Contents, Where);
      if (!Entry)
        return Entry.takeError();
      Entries.push_back(std::move(*Entry));
    }
  }
  return Entries;
}

//===----------------------------------------------------------------------===//
// Decompression
//===----------------------------------------------------------------------===//

/// Reads the rest of an LZ4 length whose four bits in the token are all set.
static bool readLZ4Length(StringRef &Block, uint64_t &Length) {
  if (Length != 15)
    return true;
  uint8_t Byte;
  do {
    if (Block.empty())
      return false;
    Byte = Block.front();
    Block = Block.drop_front();
    Length += Byte;
  } while (Byte == 255);
  return true;
}

Expected<SmallVector<char, 0>> mneme::decompressLZ4(StringRef Block,
                                                    uint64_t Size) {
  constexpr uint64_t MinMatch = 4;
  auto Damaged = [] { return createStringError("damaged LZ4 block"); };
  SmallVector<char, 0> Out;
  Out.reserve(Size);
  while (!Block.empty()) {
    uint8_t Token = Block.front();
    Block = Block.drop_front();
    uint64_t Literals = Token >> 4;
    if (!readLZ4Length(Block, Literals) || Literals > Block.size() ||
        Literals > Size - Out.size())
      return Damaged();
    Out.append(Block.begin(), Block.begin() + Literals);
    Block = Block.drop_front(Literals);
    if (Block.empty())
      break; // The last sequence has no match.
    if (Block.size() < 2)
      return Damaged();
    uint64_t Distance = read16le(Block.data());
    Block = Block.drop_front(2);
    uint64_t Length = Token & 15;
    if (!readLZ4Length(Block, Length))
      return Damaged();
    Length += MinMatch;
    if (Distance == 0 || Distance > Out.size() || Length > Size - Out.size())
      return Damaged();
    // The ranges may overlap: the copy then repeats its own output.
    for (uint64_t I = 0; I != Length; ++I)
      Out.push_back(Out[Out.size() - Distance]);
  }
  if (Out.size() != Size)
    return Damaged();
  return Out;
}

Expected<SmallVector<char, 0>> mneme::readFatbinEntry(const FatbinEntry &Entry,
                                                      StringRef Where) {
  switch (Entry.Compression) {
  case FatbinEntry::Plain:
    return SmallVector<char, 0>(Entry.Stored.begin(), Entry.Stored.end());
  case FatbinEntry::Unknown:
    return createStringError("'" + Where +
                             "': an image of the fat binary is compressed in "
                             "an unknown way");
  case FatbinEntry::LZ4: {
    Expected<SmallVector<char, 0>> Out =
        decompressLZ4(Entry.Stored, Entry.Size);
    if (!Out)
      return damaged(Where, toString(Out.takeError()));
    return Out;
  }
  case FatbinEntry::Zstd:
    break;
  }
  if (!compression::zstd::isAvailable())
    return createStringError("'" + Where +
                             "': the fat binary is compressed and this LLVM "
                             "was built without zstd");
  SmallVector<uint8_t, 0> Out;
  if (Error E = compression::zstd::decompress(
          arrayRefFromStringRef(Entry.Stored), Out, Entry.Size))
    return damaged(Where, toString(std::move(E)));
  if (Out.size() != Entry.Size)
    return damaged(Where, "an image has " + Twine(Out.size()) +
                              " bytes, not " + Twine(Entry.Size));
  return SmallVector<char, 0>(Out.begin(), Out.end());
}

//===----------------------------------------------------------------------===//
// Bundles for AMD GPUs
//===----------------------------------------------------------------------===//

/// Removes a bundle from the front of \p Bytes and adds its images. A bundle
/// has a table of images: u64 offset, u64 size, u64 length of the target,
/// target.
static Error takeBundle(StringRef &Bytes, StringRef Where,
                        std::vector<FatbinEntry> &Entries) {
  constexpr uint64_t MagicSize = 24, MinEntrySize = 24;
  uint64_t At = MagicSize + 8;
  if (Bytes.size() < At)
    return damaged(Where, "a bundle ends within its header");
  uint64_t Count = read64le(Bytes.data() + MagicSize), End = At;
  if (Count > Bytes.size() / MinEntrySize)
    return damaged(Where, "a bundle claims " + Twine(Count) + " images");
  for (uint64_t I = 0; I != Count; ++I) {
    if (Bytes.size() - At < MinEntrySize)
      return damaged(Where, "a bundle ends within its table");
    uint64_t Offset = read64le(Bytes.data() + At);
    uint64_t Size = read64le(Bytes.data() + At + 8);
    uint64_t Length = read64le(Bytes.data() + At + 16);
    At += MinEntrySize;
    if (Length > Bytes.size() - At || Offset > Bytes.size() ||
        Size > Bytes.size() - Offset)
      return damaged(Where, "an image lies outside of its bundle");
    StringRef Target = Bytes.substr(At, Length);
    At += Length;
    End = std::max({End, At, Offset + Size});
    size_t Processor = Target.find("-gfx");
    if (!Target.starts_with("hip") || Processor == StringRef::npos)
      continue;
    FatbinEntry Entry;
    Entry.Kind = FatbinEntry::CodeObject;
    Entry.Arch = Target.substr(Processor + 1).str();
    Entry.Stored = Bytes.substr(Offset, Size);
    Entry.Size = Size;
    Entries.push_back(std::move(Entry));
  }
  Bytes = Bytes.drop_front(End);
  return Error::success();
}

Expected<std::vector<FatbinEntry>>
mneme::parseBundles(StringRef Bytes, StringRef Where,
                    std::vector<std::unique_ptr<MemoryBuffer>> &Decompressed) {
  using object::CompressedOffloadBundle;
  std::vector<FatbinEntry> Entries;
  while (!Bytes.empty()) {
    // The linker pads between its inputs.
    if (Bytes.front() == '\0') {
      Bytes = Bytes.ltrim('\0');
      continue;
    }
    if (Bytes.starts_with("__CLANG_OFFLOAD_BUNDLE__")) {
      if (Error E = takeBundle(Bytes, Where, Entries))
        return std::move(E);
      continue;
    }
    if (!Bytes.starts_with("CCOB"))
      return damaged(Where, "no bundle begins where one must");
    Expected<CompressedOffloadBundle::CompressedBundleHeader> Header =
        CompressedOffloadBundle::CompressedBundleHeader::tryParse(Bytes);
    if (!Header)
      return damaged(Where, toString(Header.takeError()));
    if (Header->UncompressedFileSize > MaxImageSize)
      return damaged(Where, "a bundle claims " +
                                Twine(Header->UncompressedFileSize) + " bytes");
    // The first version of the format does not have its size.
    uint64_t Size = Header->FileSize.value_or(Bytes.size());
    if (Size > Bytes.size() || Size == 0)
      return damaged(Where, "a bundle claims " + Twine(Size) + " bytes");
    Expected<std::unique_ptr<MemoryBuffer>> Plain =
        CompressedOffloadBundle::decompress(*MemoryBuffer::getMemBuffer(
            Bytes.take_front(Size), "", /*RequiresNullTerminator=*/false));
    if (!Plain)
      return damaged(Where, toString(Plain.takeError()));
    Bytes = Bytes.drop_front(Size);
    StringRef Contents = (*Plain)->getBuffer();
    Decompressed.push_back(std::move(*Plain));
    if (!Contents.starts_with("__CLANG_OFFLOAD_BUNDLE__"))
      return damaged(Where, "a compressed bundle contains none");
    if (Error E = takeBundle(Contents, Where, Entries))
      return std::move(E);
  }
  return Entries;
}

//===----------------------------------------------------------------------===//
// Applications
//===----------------------------------------------------------------------===//

/// Sections with fat binaries: linked ones, and those of -fgpu-rdc objects.
static constexpr StringLiteral FatbinSections[] = {".nv_fatbin",
                                                   "__nv_relfatbin"};
static constexpr StringLiteral BundleSection = ".hip_fatbin";

static Expected<std::vector<FatbinEntry>>
listImages(const Elf &App, StringRef Where,
           std::vector<std::unique_ptr<MemoryBuffer>> &Decompressed) {
  std::vector<FatbinEntry> Entries;
  auto Sections = App.sections();
  if (!Sections)
    return createFileError(Where, Sections.takeError());
  for (StringRef Wanted : {FatbinSections[0], FatbinSections[1], BundleSection})
    for (const Elf::Elf_Shdr &S : *Sections) {
      Expected<StringRef> Name = App.getSectionName(S);
      if (!Name)
        return createFileError(Where, Name.takeError());
      if (*Name != Wanted)
        continue;
      Expected<StringRef> Bytes = getContents(App, S);
      if (!Bytes)
        return createFileError(Where, Bytes.takeError());
      Expected<std::vector<FatbinEntry>> Here =
          Wanted == BundleSection ? parseBundles(*Bytes, Where, Decompressed)
                                  : parseFatbins(*Bytes, Where);
      if (!Here)
        return Here.takeError();
      append_range(Entries, std::move(*Here));
    }
  return Entries;
}

/// Returns true if the cubin or code object has the kernel's code.
static Expected<bool> holdsKernel(StringRef Image, StringRef Kernel,
                                  StringRef Where) {
  Expected<Elf> File = openElf(Image);
  if (!File)
    return damaged(Where, toString(File.takeError()));
  if (File->getHeader().e_machine == ELF::EM_AMDGPU) {
    bool Found = false;
    std::string Descriptor = (Kernel + ".kd").str();
    if (Error E = forEachSymbol(
            *File, [&](uint32_t, StringRef Name, const Elf::Elf_Sym &) {
              Found |= Name == Descriptor;
            }))
      return damaged(Where, toString(std::move(E)));
    return Found;
  }
  Expected<const Elf::Elf_Shdr *> Text =
      findSection(*File, (".text." + Kernel).str());
  if (!Text)
    return damaged(Where, toString(Text.takeError()));
  return *Text != nullptr;
}

Expected<std::vector<SmallVector<char, 0>>>
mneme::findKernelImages(StringRef App, StringRef Kernel, StringRef Arch) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(App);
  if (!Buffer)
    return Buffer.takeError();
  Expected<Elf> File = openElf((*Buffer)->getBuffer());
  if (!File)
    return createFileError(App, File.takeError());
  std::vector<SmallVector<char, 0>> Found;
  if (File->getHeader().e_machine == ELF::EM_CUDA) {
    StringRef Cubin = (*Buffer)->getBuffer();
    Expected<bool> Holds = holdsKernel(Cubin, Kernel, App);
    if (!Holds)
      return Holds.takeError();
    if (!*Holds)
      return createStringError("'" + App + "': the cubin has no kernel '" +
                               Kernel + "'");
    Found.emplace_back(Cubin.begin(), Cubin.end());
    return Found;
  }
  std::vector<std::unique_ptr<MemoryBuffer>> Decompressed;
  Expected<std::vector<FatbinEntry>> Entries =
      listImages(*File, App, Decompressed);
  if (!Entries)
    return Entries.takeError();

  SmallVector<StringRef, 4> OtherArchs;
  bool HasPTX = false;
  for (const FatbinEntry &Entry : *Entries) {
    HasPTX |= Entry.Kind == FatbinEntry::PTX;
    if (Entry.Kind != FatbinEntry::Cubin &&
        Entry.Kind != FatbinEntry::CodeObject)
      continue;
    Expected<SmallVector<char, 0>> Image = readFatbinEntry(Entry, App);
    if (!Image)
      return Image.takeError();
    Expected<bool> Holds =
        holdsKernel(StringRef(Image->data(), Image->size()), Kernel, App);
    if (!Holds)
      return Holds.takeError();
    if (!*Holds)
      continue;
    // A kernel's architecture does not have the features of a code object.
    if (Entry.Arch == Arch || StringRef(Entry.Arch).split(':').first == Arch)
      Found.push_back(std::move(*Image));
    else if (!is_contained(OtherArchs, Entry.Arch))
      OtherArchs.push_back(Entry.Arch);
  }
  if (!Found.empty())
    return Found;
  std::string Message =
      formatv("'{0}': no machine code of kernel '{1}' for {2}", App, Kernel,
              Arch);
  if (!OtherArchs.empty())
    Message += ", only for " + join(OtherArchs, ", ");
  else if (Entries->empty())
    Message += ", nor of any other kernel for a GPU";
  else if (HasPTX)
    Message += "; what it has as PTX is compiled by the driver";
  return createStringError(Message);
}

Expected<SmallVector<char, 0>> mneme::extractKernelImage(StringRef App,
                                                         StringRef Kernel,
                                                         StringRef Arch) {
  Expected<std::vector<SmallVector<char, 0>>> Images =
      findKernelImages(App, Kernel, Arch);
  if (!Images)
    return Images.takeError();
  StringRef First(Images->front().data(), Images->front().size());
  for (const SmallVector<char, 0> &Image : drop_begin(*Images)) {
    Expected<CodeComparison> Code = compareKernelCode(
        First, StringRef(Image.data(), Image.size()), Kernel);
    if (!Code)
      return createFileError(App, Code.takeError());
    if (!Code->Identical)
      return createStringError(
          formatv("'{0}': has {1} different kernels named '{2}'", App,
                  Images->size(), Kernel)
              .str());
  }
  return std::move(Images->front());
}
