//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One run of `clang -cc1` in a jail, which sees only files that it is given.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_SOURCE_CLANGJOB_H
#define LLVM_MNEME_LIB_SOURCE_CLANGJOB_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Source/FrontEnd.h"
#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

class ClangJob {
public:
  /// \p Info, \p Clang and \p Limits must outlive the job.
  ClangJob(const SourceInfo &Info, const std::string &Clang,
           const FrontEndLimits &Limits)
      : Info(Info), Clang(Clang), Limits(Limits) {}

  /// Lets clang see a file under \p Name, an absolute path.
  void map(StringRef Name, StringRef Path) {
    Files.push_back({Name.str(), Path.str()});
  }
  /// Writes a file and maps it.
  Error add(StringRef Name, StringRef Contents);

  /// Compiles the file \p Main with the recorded options and \p Action.
  Expected<CompilerRun> run(ArrayRef<std::string> Action, StringRef Main);
  /// Returns the output of the last run().
  std::string outputPath() const { return Output.pathOf("output"); }

private:
  struct MappedFile {
    std::string Name, Path;
  };
  Error open();
  std::string makeOverlay() const;

  const SourceInfo &Info;
  const std::string &Clang;
  const FrontEndLimits &Limits;
  PrivateFolder Folder, Output;
  std::vector<MappedFile> Files;
  unsigned NextFile = 0;
};

/// The definition of a function in the module of a kernel.
struct FunctionPlace {
  std::string Name; ///< Without namespaces and arguments.
  std::string File; ///< As in the line markers.
  unsigned Line = 0;
};

/// A kernel in the module of a unit.
struct ExtractedKernel {
  SmallVector<char, 0> Bitcode; ///< FrontEndResult::Bitcode.
  std::string StaticHash;
  /// The kernel first. Only with debug information.
  std::vector<FunctionPlace> Functions;
};

/// Extracts the kernel from a unit's bitcode as a recording does, in a child
/// process. The kernel gets the name of the recorded one, even if the compiler
/// numbered a local symbol differently.
Expected<ExtractedKernel> extractFromUnit(StringRef Path,
                                          const SourceInfo &Info);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_SOURCE_CLANGJOB_H
