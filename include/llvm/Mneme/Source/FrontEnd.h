//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles versions of a kernel's source to IR with the recorded options: with
/// clang, in a jail, without any file but those of the source folder.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_FRONTEND_H
#define LLVM_MNEME_SOURCE_FRONTEND_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Source/Diagnostics.h"
#include "llvm/Mneme/Source/SourceUnit.h"
#include "llvm/Mneme/Support/Folders.h"
#include <map>
#include <memory>

namespace llvm {
namespace mneme {

/// Macros that are defined for a version, by name.
using SourceDefines = std::map<std::string, std::string>;

/// The parts of the file that a version may change.
enum class SourceEdit { Blocks, Anywhere };

/// Limits of one compilation.
struct FrontEndLimits {
  double Seconds = 20; ///< Of a processor.
  uint64_t Bytes = uint64_t(2) << 30;
  uint64_t OutputBytes = uint64_t(4) << 20; ///< Of bitcode.
  unsigned TemplateDepth = 256;
  unsigned ConstexprSteps = 1000000;
};

/// A compiled version.
struct FrontEndResult {
  /// The kernel and what it needs (extractKernel()), for readExactBitcode().
  SmallVector<char, 0> Bitcode;
  std::string StaticHash;
  std::vector<SourceDiagnostic> Warnings;
  double Seconds = 0;
};

class FrontEnd {
public:
  /// \param Beside  a folder to look for clang in first; may be empty. Fails if
  /// there is no clang of the recorded version, or if a bitcode file differs
  /// from the recorded one.
  static Expected<std::unique_ptr<FrontEnd>>
  create(std::shared_ptr<const SourceUnit> Unit, StringRef Beside);
  ~FrontEnd();

  /// Compiles the text before the first block ahead, for all later
  /// compilations. Worthwhile for two or more of them. Does nothing if the unit
  /// does not allow it.
  Error preparePrefix();

  /// Compiles \p Version. Fails with a SourceError if clang rejects it.
  /// The text outside of what \p Edit allows must be the original's
  /// (checkVersion()).
  Expected<FrontEndResult> compile(StringRef Version,
                                   const SourceDefines &Defines = {},
                                   SourceEdit Edit = SourceEdit::Blocks) const;

  FrontEndLimits Limits;

private:
  explicit FrontEnd(std::shared_ptr<const SourceUnit> Unit)
      : Unit(std::move(Unit)) {}

  std::shared_ptr<const SourceUnit> Unit;
  std::string Clang;
  PrivateFolder Folder; ///< With the compiled prefix.
  /// The text that was compiled ahead; null: none.
  std::unique_ptr<const ComposedText> Prefix;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_FRONTEND_H
