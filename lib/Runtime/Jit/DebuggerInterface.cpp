//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface of GDB and LLDB for code that is generated at run time: a list
/// of object files in memory. The files here have symbols and frames; the code
/// itself is in the process.
///
//===----------------------------------------------------------------------===//

#include "CodeImage.h"

#include <cstring>
#include <elf.h>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

using namespace mneme;

// The names and layouts are those that debuggers look for.
extern "C" {
enum { JIT_NOACTION = 0, JIT_REGISTER_FN, JIT_UNREGISTER_FN };

struct jit_code_entry {
  jit_code_entry *next_entry;
  jit_code_entry *prev_entry;
  const char *symfile_addr;
  uint64_t symfile_size;
};

struct jit_descriptor {
  uint32_t version;
  uint32_t action_flag;
  jit_code_entry *relevant_entry;
  jit_code_entry *first_entry;
};

// An application may have a JIT of its own, with its own list.
__attribute__((visibility("protected"))) jit_descriptor
    __jit_debug_descriptor = {1, 0, nullptr, nullptr};

/// Debuggers stop here.
__attribute__((noinline, visibility("protected"))) void
__jit_debug_register_code() {
  asm volatile("" ::: "memory");
}
}

namespace {
class ObjectFile {
public:
  ObjectFile(const JitImage &Image, char *Base);
  std::string take() { return std::move(Bytes); }

private:
  uint32_t add(std::string &Table, const char *Text) {
    uint32_t At = Table.size();
    Table.append(Text, strlen(Text) + 1);
    return At;
  }
  void addSection(const char *Name, uint32_t Type, uint64_t Flags,
                  uint64_t Address, uint64_t Size, const void *Contents,
                  uint32_t Link = 0, uint32_t Info = 0, uint64_t Entry = 0);

  std::string Bytes, Names = std::string(1, '\0');
  std::vector<Elf64_Shdr> Sections;
};
} // namespace

void ObjectFile::addSection(const char *Name, uint32_t Type, uint64_t Flags,
                            uint64_t Address, uint64_t Size,
                            const void *Contents, uint32_t Link, uint32_t Info,
                            uint64_t Entry) {
  Elf64_Shdr S = {};
  S.sh_name = add(Names, Name);
  S.sh_type = Type;
  S.sh_flags = Flags;
  S.sh_addr = Address;
  S.sh_size = Size;
  S.sh_link = Link;
  S.sh_info = Info;
  S.sh_addralign = 8;
  S.sh_entsize = Entry;
  Bytes.resize((Bytes.size() + 7) / 8 * 8);
  S.sh_offset = Bytes.size();
  if (Contents)
    Bytes.append(static_cast<const char *>(Contents), Size);
  Sections.push_back(S);
}

ObjectFile::ObjectFile(const JitImage &Image, char *Base) {
  uint64_t Address = reinterpret_cast<uint64_t>(Base);
  enum Index : uint32_t { Null, Text, Frames, Symbols, Strings, SectionNames };
  Bytes.resize(sizeof(Elf64_Ehdr));
  Sections.push_back({});
  addSection(".text", SHT_NOBITS, SHF_ALLOC | SHF_EXECINSTR, Address,
             Image.Size, nullptr);
  addSection(".eh_frame", SHT_PROGBITS, SHF_ALLOC, Address + Image.FrameOffset,
             Image.FrameSize, Base + Image.FrameOffset);
  std::vector<Elf64_Sym> Table(1);
  std::string StringTable(1, '\0');
  for (const JitImage::Function &F : Image.Functions) {
    Elf64_Sym S = {};
    S.st_name = add(StringTable, F.Name.c_str());
    S.st_info = ELF64_ST_INFO(STB_GLOBAL, STT_FUNC);
    S.st_shndx = Text;
    S.st_value = Address + F.Offset;
    S.st_size = F.Size;
    Table.push_back(S);
  }
  addSection(".symtab", SHT_SYMTAB, 0, 0, Table.size() * sizeof(Elf64_Sym),
             Table.data(), Strings, /*Info: first global=*/1,
             sizeof(Elf64_Sym));
  addSection(".strtab", SHT_STRTAB, 0, 0, StringTable.size(),
             StringTable.data());
  // Its own name is in it.
  std::string Own = ".shstrtab";
  uint64_t NamesSize = Names.size() + Own.size() + 1;
  std::string Padded = Names;
  Padded.append(Own.c_str(), Own.size() + 1);
  addSection(Own.c_str(), SHT_STRTAB, 0, 0, NamesSize, Padded.data());
  Bytes.resize((Bytes.size() + 7) / 8 * 8);

  Elf64_Ehdr Header = {};
  memcpy(Header.e_ident, ELFMAG, SELFMAG);
  Header.e_ident[EI_CLASS] = ELFCLASS64;
  Header.e_ident[EI_DATA] = ELFDATA2LSB;
  Header.e_ident[EI_VERSION] = EV_CURRENT;
  Header.e_type = ET_DYN;
  Header.e_machine = EM_X86_64;
  Header.e_version = EV_CURRENT;
  Header.e_shoff = Bytes.size();
  Header.e_ehsize = sizeof(Header);
  Header.e_shentsize = sizeof(Elf64_Shdr);
  Header.e_shnum = Sections.size();
  Header.e_shstrndx = SectionNames;
  memcpy(&Bytes[0], &Header, sizeof(Header));
  Bytes.append(reinterpret_cast<const char *>(Sections.data()),
               Sections.size() * sizeof(Elf64_Shdr));
}

void mneme::announceFunctions(const JitImage &Image, char *Base) {
  struct Announced {
    jit_code_entry Entry;
    std::string File;
  };
  auto New = std::make_unique<Announced>();
  New->File = ObjectFile(Image, Base).take();
  New->Entry = {nullptr, nullptr, New->File.data(), New->File.size()};
  static std::mutex Lock;
  std::lock_guard<std::mutex> Guard(Lock);
  jit_code_entry *Entry = &New.release()->Entry;
  jit_descriptor &D = __jit_debug_descriptor;
  Entry->next_entry = D.first_entry;
  if (D.first_entry)
    D.first_entry->prev_entry = Entry;
  D.first_entry = Entry;
  D.relevant_entry = Entry;
  D.action_flag = JIT_REGISTER_FN;
  __jit_debug_register_code();
}
