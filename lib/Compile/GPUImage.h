//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Access to ELF files for GPUs. Every step is checked, because the files may
/// be damaged.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_COMPILE_GPUIMAGE_H
#define LLVM_MNEME_LIB_COMPILE_GPUIMAGE_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/BinaryFormat/MsgPackDocument.h"
#include "llvm/Object/ELF.h"

namespace llvm {
namespace mneme {

using Elf = object::ELF64LEFile;

/// Checks only the header. Errors do not name the file.
Expected<Elf> openElf(StringRef Bytes);
/// Like openElf(), but the error says that the image is damaged.
Expected<Elf> openGPUImage(StringRef Image);

/// Returns the architecture of a cubin: 90 for sm_90.
unsigned getSMNumber(const Elf &Cubin);

/// Returns a section's bytes; none for SHT_NOBITS.
Expected<StringRef> getContents(const Elf &File, const Elf::Elf_Shdr &Section);

/// Returns the first section of that name; null if there is none.
Expected<const Elf::Elf_Shdr *> findSection(const Elf &File, StringRef Name);

/// Calls \p Fn for each symbol of .symtab with its index.
Error forEachSymbol(
    const Elf &File,
    function_ref<void(uint32_t, StringRef, const Elf::Elf_Sym &)> Fn);

/// Returns whether the code object \p File has metadata of \p Kernel, with
/// which it calls \p Fn once.
Expected<bool> readKernelMetadata(const Elf &File, StringRef Kernel,
                                  function_ref<void(msgpack::MapDocNode &)> Fn);

/// Returns the value of \p Key; unset if it is not an integer.
std::optional<uint64_t> getInteger(msgpack::MapDocNode &Map, StringRef Key);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_COMPILE_GPUIMAGE_H
