//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EmbeddedPackages.h"
#include "llvm/Mneme/Runtime/PackageFormat.h"
#include "gtest/gtest.h"

#include <cstring>
#include <elf.h>
#include <string>

using namespace mneme;

namespace {

std::string makePackage(uint64_t FileSize, size_t Size) {
  MnemePackageHeader H = {};
  memcpy(H.Magic, MNEME_PACKAGE_MAGIC, sizeof(H.Magic));
  H.FileSize = FileSize;
  std::string Bytes(reinterpret_cast<const char *>(&H), sizeof(H));
  Bytes.resize(Size, 'x');
  return Bytes;
}

/// A header, the section's contents, the names, and two section headers.
std::string makeFile(const std::string &Contents) {
  const char Names[] = "\0" MNEME_PACKAGE_SECTION;
  Elf64_Ehdr H = {};
  memcpy(H.e_ident, ELFMAG, SELFMAG);
  H.e_ident[EI_CLASS] = ELFCLASS64;
  H.e_shentsize = sizeof(Elf64_Shdr);
  H.e_shnum = 2;
  H.e_shstrndx = 1;
  H.e_shoff = sizeof(H) + Contents.size() + sizeof(Names);
  Elf64_Shdr S[2] = {};
  S[0].sh_name = 1;
  S[0].sh_type = SHT_PROGBITS;
  S[0].sh_offset = sizeof(H);
  S[0].sh_size = Contents.size();
  S[1].sh_type = SHT_STRTAB;
  S[1].sh_offset = sizeof(H) + Contents.size();
  S[1].sh_size = sizeof(Names);
  return std::string(reinterpret_cast<char *>(&H), sizeof(H)) + Contents +
         std::string(Names, sizeof(Names)) +
         std::string(reinterpret_cast<char *>(S), sizeof(S));
}

TEST(EmbeddedPackages, FindsTheSection) {
  std::string File = makeFile("contents");
  EXPECT_EQ("contents", findPackageSection(File.data(), File.size()));
}

TEST(EmbeddedPackages, DamagedFiles) {
  std::string File = makeFile("contents");
  for (size_t Size = 0; Size != File.size(); ++Size)
    EXPECT_EQ("", findPackageSection(std::string(File, 0, Size).data(), Size));
  // No byte of a header leads out of the file.
  for (size_t I = 0; I != File.size(); ++I)
    for (int Bit = 0; Bit != 8; ++Bit) {
      std::string Changed = File;
      Changed[I] ^= 1 << Bit;
      std::string_view Found =
          findPackageSection(Changed.data(), Changed.size());
      if (!Found.empty()) {
        EXPECT_GE(Found.data(), Changed.data());
        EXPECT_LE(Found.data() + Found.size(), Changed.data() + Changed.size());
      }
    }
}

TEST(EmbeddedPackages, DividesSections) {
  std::string A = makePackage(200, 200), B = makePackage(300, 300);
  std::string Section = std::string(8, '\0') + A + std::string(24, '\0') + B;
  std::vector<std::string_view> Found = dividePackages(Section);
  ASSERT_EQ(2u, Found.size());
  EXPECT_EQ(A, Found[0]);
  EXPECT_EQ(B, Found[1]);
  EXPECT_TRUE(dividePackages("").empty());
  EXPECT_TRUE(dividePackages(std::string(100, '\0')).empty());
}

TEST(EmbeddedPackages, DividesDamagedSections) {
  // Each ends, and no package exceeds the section.
  for (uint64_t FileSize :
       {uint64_t(0), uint64_t(1), uint64_t(1000), UINT64_MAX}) {
    std::string Section = makePackage(FileSize, 200);
    std::vector<std::string_view> Found = dividePackages(Section);
    ASSERT_EQ(1u, Found.size());
    EXPECT_EQ(Section, Found[0]);
  }
  ASSERT_EQ(1u, dividePackages("foreign").size());
}

} // namespace
