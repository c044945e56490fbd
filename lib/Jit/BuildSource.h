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
  /// Whether other sources have most of the text in common.
  bool isInstance() const;
  /// Returns a key of what these have in common.
  std::string commonKey() const;
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
  std::string Plugin;  ///< MnemePass.so
  std::string Include; ///< The folder with mneme/jit.h.
  bool HasLLD = false; ///< clang finds ld.lld, which takes less time than ld.
  /// \param Program  the server.
  static Expected<SourceTools> find(StringRef Program);
};

/// Builds. Call it in a ChildTask.
/// \param Kept  a folder for what builds have in common.
/// \param UsesCommon  whether the common text of an instance is compiled ahead.
Expected<BuildResult> buildSource(const BuildJob &Job, const SourceTools &Tools,
                                  StringRef Kept, bool UsesCommon);

/// Compiles the common text of instances ahead. Call it in a ChildTask.
Error compileAhead(const BuildJob &Job, const SourceTools &Tools,
                   StringRef Kept);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_BUILDSOURCE_H
