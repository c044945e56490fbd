//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Versions of kernels' sources as settings give them: as a file or a text.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_SOURCECOMPILER_H
#define LLVM_MNEME_SOURCE_SOURCECOMPILER_H

#include "llvm/Mneme/Source/FrontEnd.h"
#include "llvm/Mneme/Source/Guards.h"

namespace llvm {
namespace mneme {

/// A version of a kernel's source.
struct SourceVersion {
  std::string Folder; ///< Of the unit.
  std::string Path;   ///< For messages.
  std::string Text;
  SourceDefines Defines;
  SourceEdit Edit = SourceEdit::Blocks;

  /// \param Source  a file, or a text of several lines.
  /// \param Folder  the source folder; empty: that of the file. A text needs
  /// one.
  static Expected<SourceVersion> read(StringRef Source, StringRef Folder);

  /// Returns a hexadecimal digest of everything but the folder.
  std::string digest() const;
};

/// Compiles versions. Keeps what was read and compiled ahead of each source
/// folder.
class SourceCompiler {
public:
  /// Compiles a folder's inclusions ahead, for this process and those that it
  /// forks later.
  Error prepare(StringRef Folder);

  /// Compiles a version of the kernel with this name and static hash. Fails
  /// with a SourceError if clang or the guards reject the version. The second
  /// compilation in a folder compiles its inclusions ahead. Remembers the last
  /// result.
  Expected<FrontEndResult> compile(const SourceVersion &V, StringRef Kernel,
                                   StringRef StaticHash);

private:
  struct Folder {
    std::shared_ptr<const SourceUnit> Unit;
    std::unique_ptr<FrontEnd> Clang;
    unsigned Compilations = 0;
  };
  Expected<Folder *> open(StringRef Path);

  std::map<std::string, Folder> Folders;
  std::string LastKey;
  FrontEndResult Last;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_SOURCECOMPILER_H
