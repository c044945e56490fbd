//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads an application's machine code for NVIDIA and AMD GPUs: fat binaries
/// and bundles in sections of its ELF file. Does not load or run the
/// application.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_FATBIN_H
#define LLVM_MNEME_COMPILE_FATBIN_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// One image of a fat binary.
struct FatbinEntry {
  enum KindType { PTX, Cubin, CodeObject, Other } Kind = Other;
  std::string Arch; ///< "sm_90a", "gfx90a:xnack-".
  enum CompressionType { Plain, Zstd, LZ4, Unknown } Compression = Plain;
  StringRef Stored;  ///< As stored in the file.
  uint64_t Size = 0; ///< Decompressed size in bytes.
};

/// Lists the images of the fat binaries in \p Bytes, the contents of a section.
/// Fails only on damaged data; \p Where names the file in errors.
Expected<std::vector<FatbinEntry>> parseFatbins(StringRef Bytes,
                                                StringRef Where);

/// Lists the images of clang's offload bundles in \p Bytes, the contents of a
/// section. Those of compressed bundles refer to \p Decompressed, to which this
/// adds.
Expected<std::vector<FatbinEntry>>
parseBundles(StringRef Bytes, StringRef Where,
             std::vector<std::unique_ptr<MemoryBuffer>> &Decompressed);

/// Returns the decompressed bytes of \p Entry.
Expected<SmallVector<char, 0>> readFatbinEntry(const FatbinEntry &Entry,
                                               StringRef Where);

/// Decompresses one LZ4 block to exactly \p Size bytes.
Expected<SmallVector<char, 0>> decompressLZ4(StringRef Block, uint64_t Size);

/// Returns all cubins or code objects for \p Arch in the ELF file \p App that
/// contain \p Kernel, at least one. There are several if several translation
/// units have a kernel of that name. Errors name the file and list its
/// available code.
Expected<std::vector<SmallVector<char, 0>>>
findKernelImages(StringRef App, StringRef Kernel, StringRef Arch);

/// Returns the application's image for \p Arch that contains \p Kernel from the
/// ELF file \p App. Also fails if kernels of that name have different code.
Expected<SmallVector<char, 0>> extractKernelImage(StringRef App,
                                                  StringRef Kernel,
                                                  StringRef Arch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_FATBIN_H
