//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GPUImage.h"

using namespace llvm;
using namespace llvm::mneme;

Expected<Elf> mneme::openElf(StringRef Bytes) {
  if (!Bytes.starts_with(ELF::ElfMagic))
    return createStringError("not an ELF file");
  Expected<Elf> File = Elf::create(Bytes);
  if (!File)
    return File.takeError();
  const unsigned char *Ident = File->getHeader().e_ident;
  if (Ident[ELF::EI_CLASS] != ELF::ELFCLASS64 ||
      Ident[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return createStringError("not a 64-bit little-endian ELF file");
  return File;
}

Expected<Elf> mneme::openGPUImage(StringRef Image) {
  Expected<Elf> File = openElf(Image);
  if (!File)
    return createStringError("damaged GPU image: " +
                             toString(File.takeError()));
  return File;
}

unsigned mneme::getSMNumber(const Elf &Cubin) {
  // The position in e_flags depends on the ABI version.
  const Elf::Elf_Ehdr &Header = Cubin.getHeader();
  uint32_t Flags = Header.e_flags;
  return Header.e_ident[ELF::EI_ABIVERSION] >= 8 ? (Flags >> 8) & 0xff
                                                 : Flags & 0xff;
}

Expected<StringRef> mneme::getContents(const Elf &File,
                                       const Elf::Elf_Shdr &Section) {
  if (Section.sh_type == ELF::SHT_NOBITS)
    return "";
  Expected<ArrayRef<uint8_t>> Bytes = File.getSectionContents(Section);
  if (!Bytes)
    return Bytes.takeError();
  return StringRef(reinterpret_cast<const char *>(Bytes->data()),
                   Bytes->size());
}

Expected<const Elf::Elf_Shdr *> mneme::findSection(const Elf &File,
                                                   StringRef Name) {
  auto Sections = File.sections();
  if (!Sections)
    return Sections.takeError();
  for (const Elf::Elf_Shdr &S : *Sections) {
    Expected<StringRef> SectionName = File.getSectionName(S);
    if (!SectionName)
      return SectionName.takeError();
    if (*SectionName == Name)
      return &S;
  }
  return nullptr;
}

Error mneme::forEachSymbol(
    const Elf &File,
    function_ref<void(uint32_t, StringRef, const Elf::Elf_Sym &)> Fn) {
  auto Sections = File.sections();
  if (!Sections)
    return Sections.takeError();
  for (const Elf::Elf_Shdr &S : *Sections) {
    if (S.sh_type != ELF::SHT_SYMTAB)
      continue;
    Expected<StringRef> Names = File.getStringTableForSymtab(S);
    if (!Names)
      return Names.takeError();
    auto Symbols = File.symbols(&S);
    if (!Symbols)
      return Symbols.takeError();
    for (auto [I, Symbol] : enumerate(*Symbols)) {
      Expected<StringRef> Name = Symbol.getName(*Names);
      if (!Name)
        return Name.takeError();
      Fn(I, *Name, Symbol);
    }
  }
  return Error::success();
}
