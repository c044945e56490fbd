//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Makes shared libraries of sources, with clang or nvcc as programs. Kernels
/// are compiled with Mneme's pass, as those of an application: they run on all
/// devices, and can be recorded.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_JIT_BUILDSOURCE_H
#define LLVM_MNEME_LIB_JIT_BUILDSOURCE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/JitCache.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
namespace mneme {

/// A source as the server gets it.
struct BuildJob {
  ::mneme::JitSource Source;
  std::string Folder; ///< For relative inclusions.
  std::string CacheFolder;
  uint64_t CacheLimit = 0;
  std::string CudaPath;
  static Expected<BuildJob> decode(StringRef Body);
};

/// The result of a job.
struct BuildResult {
  ::mneme::JitInclusions Inclusions;
  ::mneme::JitBuilt Built; ///< Without the library if there are errors.
  std::string encode() const;
  static std::optional<BuildResult> decode(StringRef Bytes);
};

/// The programs that compile sources.
struct SourceTools {
  std::string Clang;
  std::string Plugin; ///< MnemePass.so
  /// \param Program  the server.
  static Expected<SourceTools> find(StringRef Program);
};

/// Builds. Call it in a ChildTask. \p Prefixes is a folder for text that is
/// compiled ahead.
Expected<BuildResult> buildSource(const BuildJob &Job, const SourceTools &Tools,
                                  StringRef Prefixes);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_BUILDSOURCE_H
