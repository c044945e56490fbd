//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Checks whether an ELF file is a program into which the recording runtime can
/// be loaded.
///
//===----------------------------------------------------------------------===//

#include "ApplicationCheck.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Object/ELF.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::object;

/// Checks the header, whose beginning is the same in all ELF files. \returns
/// the reason why the file is foreign, or an empty string for a 64-bit x86-64
/// program.
static std::string findForeign(StringRef Bytes) {
  const auto *Ident = reinterpret_cast<const unsigned char *>(Bytes.data());
  if (Bytes.size() < sizeof(ELF::Elf64_Ehdr))
    return "it ends within its header";
  if (Ident[ELF::EI_CLASS] != ELF::ELFCLASS64)
    return "a 32-bit program: the recording runtime has 64 bits";
  if (Ident[ELF::EI_DATA] != ELF::ELFDATA2LSB)
    return "for a machine with another byte order";
  auto Header = reinterpret_cast<const ELF64LE::Ehdr *>(Bytes.data());
  if (Header->e_machine != ELF::EM_X86_64)
    return ("for another machine: " +
            ELF::convertEMachineToArchName(Header->e_machine))
        .str();
  if (Header->e_type == ELF::ET_REL)
    return "an object file, which has to be linked";
  if (Header->e_type == ELF::ET_CORE)
    return "a core dump";
  return "";
}

/// \returns whether a file is a static PIE. Libraries have the same ELF type.
static Expected<bool> isPIE(const ELFFile<ELF64LE> &File) {
  Expected<ELF64LE::DynRange> Entries = File.dynamicEntries();
  if (!Entries)
    return Entries.takeError();
  return any_of(*Entries, [](const ELF64LE::Dyn &D) {
    return D.getTag() == ELF::DT_FLAGS_1 && (D.getVal() & ELF::DF_1_PIE);
  });
}

static Error checkContents(StringRef Bytes) {
  if (std::string Foreign = findForeign(Bytes); !Foreign.empty())
    return createStringError(Foreign);
  Expected<ELFFile<ELF64LE>> File = ELFFile<ELF64LE>::create(Bytes);
  if (!File)
    return File.takeError();
  auto Segments = File->program_headers();
  if (!Segments)
    return Segments.takeError();
  bool HasInterpreter = false;
  for (const ELF64LE::Phdr &P : *Segments) {
    HasInterpreter |= P.p_type == ELF::PT_INTERP;
    // Only segments matter to the system; a file may have been stripped of its
    // sections.
    if (P.p_offset > Bytes.size() || P.p_filesz > Bytes.size() - P.p_offset)
      return createStringError("truncated: it has " + Twine(Bytes.size()) +
                               " bytes");
  }
  if (HasInterpreter)
    return Error::success();
  if (File->getHeader().e_type == ELF::ET_DYN) {
    Expected<bool> Program = isPIE(*File);
    if (!Program)
      return Program.takeError();
    if (!*Program)
      return createStringError(
          "a library: name the program that loads it, with --any-executable");
  }
  return createStringError(
      "statically linked: the recording runtime cannot be loaded into it");
}

Error mneme::checkExecutable(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  if (Error E = checkContents((*Buffer)->getBuffer()))
    return createFileError(Path, std::move(E));
  return Error::success();
}
