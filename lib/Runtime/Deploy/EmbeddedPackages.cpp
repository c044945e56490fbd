//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedPackages.h"
#include "Descriptor.h"
#include "llvm/Mneme/Runtime/PackageFormat.h"

#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

using namespace mneme;

std::string_view mneme::findPackageSection(const char *File, size_t Size) {
  Elf64_Ehdr Header;
  if (Size < sizeof(Header))
    return {};
  memcpy(&Header, File, sizeof(Header));
  auto IsInFile = [Size](uint64_t Offset, uint64_t Bytes) {
    return Offset <= Size && Bytes <= Size - Offset;
  };
  if (memcmp(Header.e_ident, ELFMAG, SELFMAG) ||
      Header.e_ident[EI_CLASS] != ELFCLASS64 ||
      Header.e_shentsize != sizeof(Elf64_Shdr) ||
      !IsInFile(Header.e_shoff, Header.e_shnum * sizeof(Elf64_Shdr)) ||
      Header.e_shstrndx >= Header.e_shnum)
    return {};
  auto Section = [&](unsigned I) {
    Elf64_Shdr S;
    memcpy(&S, File + Header.e_shoff + I * sizeof(S), sizeof(S));
    return S;
  };
  Elf64_Shdr Strings = Section(Header.e_shstrndx);
  if (!IsInFile(Strings.sh_offset, Strings.sh_size))
    return {};
  constexpr char Name[] = MNEME_PACKAGE_SECTION;
  for (unsigned I = 0; I != Header.e_shnum; ++I) {
    Elf64_Shdr S = Section(I);
    if (S.sh_name < Strings.sh_size &&
        Strings.sh_size - S.sh_name >= sizeof(Name) &&
        !memcmp(File + Strings.sh_offset + S.sh_name, Name, sizeof(Name)) &&
        S.sh_type != SHT_NOBITS && IsInFile(S.sh_offset, S.sh_size))
      return {File + S.sh_offset, S.sh_size};
  }
  return {};
}

std::vector<std::string_view> mneme::dividePackages(std::string_view Section) {
  std::vector<std::string_view> Packages;
  while (true) {
    // Linkers pad merged sections with zeros.
    size_t Begin = Section.find_first_not_of('\0');
    if (Begin == std::string_view::npos)
      return Packages;
    Section.remove_prefix(Begin);
    uint64_t Size = 0;
    if (Section.size() >= sizeof(MnemePackageHeader))
      memcpy(&Size, Section.data() + offsetof(MnemePackageHeader, FileSize),
             sizeof(Size));
    // A damaged package may claim any size.
    if (Section.substr(0, sizeof(MnemePackageHeader::Magic)) !=
            MNEME_PACKAGE_MAGIC ||
        Size < sizeof(MnemePackageHeader) || Size > Section.size())
      Size = Section.size();
    Packages.push_back(Section.substr(0, Size));
    Section.remove_prefix(Size);
  }
}

std::vector<std::string_view> mneme::findEmbeddedPackages() {
  OwnedDescriptor Fd(open("/proc/self/exe", O_RDONLY | O_CLOEXEC));
  struct stat Status;
  if (Fd < 0 || fstat(Fd, &Status) || Status.st_size <= 0)
    return {};
  void *Map =
      mmap(nullptr, Status.st_size, PROT_READ, MAP_PRIVATE, Fd, /*offset=*/0);
  if (Map == MAP_FAILED)
    return {};
  std::string_view Section =
      findPackageSection(static_cast<const char *>(Map), Status.st_size);
  if (Section.empty()) {
    munmap(Map, Status.st_size);
    return {};
  }
  return dividePackages(Section);
}
