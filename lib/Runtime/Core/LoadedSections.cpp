//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LoadedSections.h"
#include "Descriptor.h"

#include <cerrno>
#include <cstring>
#include <elf.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace mneme;

bool mneme::findSections(const dl_phdr_info &Info, LoadedSection *Sections,
                         size_t Count) {
  const char *Path =
      Info.dlpi_name && *Info.dlpi_name ? Info.dlpi_name : "/proc/self/exe";
  OwnedDescriptor Fd(open(Path, O_RDONLY | O_CLOEXEC));
  struct stat St;
  if (Fd < 0 || fstat(Fd, &St))
    // Other errors: the vDSO, or a file that was deleted.
    return errno != ENOMEM && errno != EMFILE && errno != ENFILE;
  if (St.st_size < (off_t)sizeof(Elf64_Ehdr))
    return true;
  void *Map = mmap(nullptr, St.st_size, PROT_READ, MAP_PRIVATE, Fd, 0);
  if (Map == MAP_FAILED)
    return false;

  uint64_t FileSize = St.st_size;
  const char *File = static_cast<const char *>(Map);
  auto *Header = reinterpret_cast<const Elf64_Ehdr *>(File);
  auto InFile = [FileSize](uint64_t Offset, uint64_t Size) {
    return Offset <= FileSize && Size <= FileSize - Offset;
  };
  if (!memcmp(Header->e_ident, ELFMAG, SELFMAG) && Header->e_shoff &&
      Header->e_shentsize == sizeof(Elf64_Shdr) &&
      InFile(Header->e_shoff, Header->e_shnum * sizeof(Elf64_Shdr)) &&
      Header->e_shstrndx < Header->e_shnum) {
    auto *Headers =
        reinterpret_cast<const Elf64_Shdr *>(File + Header->e_shoff);
    const Elf64_Shdr &Strings = Headers[Header->e_shstrndx];
    for (unsigned I = 0; I != Header->e_shnum; ++I) {
      const Elf64_Shdr &S = Headers[I];
      for (LoadedSection *Wanted = Sections; Wanted != Sections + Count;
           ++Wanted) {
        uint64_t NameAt = Strings.sh_offset + S.sh_name;
        size_t NameSize = strlen(Wanted->Name) + 1;
        if (!InFile(NameAt, NameSize) ||
            memcmp(File + NameAt, Wanted->Name, NameSize))
          continue;
        Wanted->Begin = reinterpret_cast<char *>(Info.dlpi_addr + S.sh_addr);
        Wanted->End = Wanted->Begin + S.sh_size;
      }
    }
  }
  munmap(Map, FileSize);
  return true;
}
