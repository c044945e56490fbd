//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The machine code that an application carries for NVIDIA GPUs: fat binaries
/// in sections of its ELF file. Read from the file alone.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_FATBIN_H
#define LLVM_MNEME_COMPILE_FATBIN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// One image of a fat binary.
struct FatbinEntry {
  enum KindType { PTX, Cubin, Other } Kind = Other;
  std::string Arch; ///< "sm_90a".
  enum CompressionType { Plain, Zstd, LZ4, Unknown } Compression = Plain;
  StringRef Stored;  ///< As it lies in the file.
  uint64_t Size = 0; ///< Bytes when decompressed.
};

/// Lists the images of the fat binaries in \p Bytes, the contents of a section.
/// Errors are about damage only; \p Where names the file in them.
Expected<std::vector<FatbinEntry>> parseFatbins(StringRef Bytes,
                                                StringRef Where);

/// The bytes of \p Entry, decompressed.
Expected<SmallVector<char, 0>> readFatbinEntry(const FatbinEntry &Entry,
                                               StringRef Where);

/// Decompresses one LZ4 block to exactly \p Size bytes.
Expected<SmallVector<char, 0>> decompressLZ4(StringRef Block, uint64_t Size);

/// All cubins for \p Arch in the ELF file \p App that hold \p Kernel. There are
/// several when several translation units have a kernel of that name. An Error
/// names the file and says what it has instead; there is at least one cubin.
Expected<std::vector<SmallVector<char, 0>>>
findKernelImages(StringRef App, StringRef Kernel, StringRef Arch);

/// The cubin for \p Arch in the ELF file \p App that holds \p Kernel: the
/// application's own binary of it. An Error also when the file has kernels of
/// that name whose code differs.
Expected<SmallVector<char, 0>> extractKernelImage(StringRef App,
                                                  StringRef Kernel,
                                                  StringRef Arch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_FATBIN_H
