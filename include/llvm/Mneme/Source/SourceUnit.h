//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The source of a recorded kernel: a folder with kernel.cu (the file that
/// defines the kernel, with markers around it and the device functions that it
/// calls), unit.cu.zst (its translation unit as one text) and source.json
/// (everything else that its compilation needs). See docs/Source.rst.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_SOURCEUNIT_H
#define LLVM_MNEME_SOURCE_SOURCEUNIT_H

#include "llvm/Mneme/Source/UnitText.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Names of the files of a source folder.
inline constexpr StringLiteral KernelSourceName = "kernel.cu",
                               UnitSourceName = "unit.cu.zst",
                               SourceInfoName = "source.json";

/// A bitcode file that the compilation links.
struct LinkedBitcode {
  std::string Path, Digest; ///< XXH3-128 as 32 hexadecimal digits.
};

/// The contents of source.json.
struct SourceInfo {
  std::string Kernel, StaticHash; ///< Of the recording.
  std::string Arch, OptLevel;
  std::string Compiler; ///< Version of the clang: "22.1.8".
  std::string File;     ///< The kernel's file in the unit's line markers.
  std::vector<std::string> Options; ///< `clang -cc1`; see selectOptions().
  std::vector<LinkedBitcode> Bitcode;
  std::vector<SourceBlock> Blocks;
  /// The kernel depends on the text behind the last block, as template
  /// arguments do.
  bool NeedsTail = false;
  /// The text before the first block can be compiled ahead.
  bool HasPrefix = true;
  bool IsRDC = false;
};

class SourceUnit {
public:
  static Expected<SourceUnit> create(SourceInfo Info, std::string Rewritten);
  /// Reads a source folder.
  static Expected<SourceUnit> load(StringRef Folder);
  /// Writes a source folder. Fails if there is a kernel.cu with other contents:
  /// the user may have edited it.
  Error save(StringRef Folder) const;

  const SourceInfo &info() const { return Info; }
  const UnitText &text() const { return Text; }
  /// Returns the original text with markers: an unedited kernel.cu.
  const std::string &marked() const { return Marked; }

  /// Fails if \p Version differs from marked() outside of the blocks. The error
  /// is a TextError.
  Error checkVersion(StringRef Version) const;

private:
  SourceUnit(SourceInfo Info, UnitText Text);

  SourceInfo Info;
  UnitText Text;
  std::string Marked;
};

/// Returns the source folder that a version of a kernel belongs to: that of the
/// file or the one above it.
Expected<std::string> findSourceFolder(StringRef VersionPath);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_SOURCEUNIT_H
