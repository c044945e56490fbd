//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElfSections.h"
#include "llvm/BinaryFormat/Magic.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Object/Archive.h"
#include "llvm/Object/ELFObjectFile.h"

using namespace llvm;
using namespace llvm::mneme;

static Error readObject(MemoryBufferRef Buffer, StringRef Where,
                        StringRef Wanted, SectionFn Fn) {
  auto Object =
      object::ObjectFile::createELFObjectFile(Buffer, /*InitContent=*/false);
  if (!Object)
    return createFileError(Where, Object.takeError());
  for (const object::SectionRef &Section : (*Object)->sections()) {
    Expected<StringRef> Name = Section.getName();
    if (!Name)
      return createFileError(Where, Name.takeError());
    if (*Name != Wanted)
      continue;
    Expected<StringRef> Contents = Section.getContents();
    if (!Contents)
      return createFileError(Where, Contents.takeError());
    if (Error E = Fn(*Contents, Where))
      return E;
  }
  return Error::success();
}

static bool isELF(StringRef Bytes) { return Bytes.starts_with("\177ELF"); }

static Error readArchive(MemoryBufferRef Buffer, StringRef Where,
                         StringRef Wanted, SectionFn Fn) {
  Expected<std::unique_ptr<object::Archive>> Archive =
      object::Archive::create(Buffer);
  if (!Archive)
    return createFileError(Where, Archive.takeError());
  Error Iteration = Error::success();
  for (const object::Archive::Child &Child : (*Archive)->children(Iteration)) {
    Expected<MemoryBufferRef> Member = Child.getMemoryBufferRef();
    Error E = Member ? Error::success() : Member.takeError();
    if (!E && isELF(Member->getBuffer()))
      E = readObject(*Member,
                     (Where + "(" + Member->getBufferIdentifier() + ")").str(),
                     Wanted, Fn);
    else if (E)
      E = createFileError(Where, std::move(E));
    if (E)
      return joinErrors(std::move(E), std::move(Iteration));
  }
  if (Iteration)
    return createFileError(Where, std::move(Iteration));
  return Error::success();
}

Error mneme::forEachSection(StringRef Path, StringRef Name, SectionFn Fn) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  MemoryBufferRef Ref = (*Buffer)->getMemBufferRef();
  switch (identify_magic(Ref.getBuffer())) {
  case file_magic::archive:
    return readArchive(Ref, Path, Name, Fn);
  case file_magic::elf:
  case file_magic::elf_relocatable:
  case file_magic::elf_executable:
  case file_magic::elf_shared_object:
  case file_magic::elf_core:
    return readObject(Ref, Path, Name, Fn);
  default:
    return createStringError("'" + Path +
                             "': neither an ELF file nor an archive");
  }
}
