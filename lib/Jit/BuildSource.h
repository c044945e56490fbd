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
#include "llvm/Mneme/Runtime/WarmStart.h"
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
  std::string Tools; ///< The identity of the toolchain.
  static Expected<BuildJob> decode(StringRef Body);
  /// Whether other sources have most of the text in common.
  bool isInstance() const;
  /// Returns a key of what these have in common.
  std::string commonKey() const;
  /// Returns how many front ends compile it, one for each device.
  size_t countFrontEnds() const {
    return Source.Target == ::mneme::JitTarget::Library ? 1 : 2;
  }
};

/// The result of a job.
struct BuildResult {
  ::mneme::JitInputs Inputs;
  bool UsesLinker = false; ///< SourceTools::Linker
  ::mneme::JitBuilt Built; ///< Without the library if there are errors.
  std::string encode() const;
  static std::optional<BuildResult> decode(StringRef Bytes);
};

/// The programs that compile sources.
struct SourceTools {
  std::string Clang;
  std::string Plugin;  ///< MnemePass.so
  std::string Include; ///< The folder with mneme/jit.h.
  std::string Linker;  ///< ld.lld beside clang, which takes less time than ld.
  /// Of the system, for code that refers to nothing outside: to load LLVM takes
  /// longer than such a link.
  std::string SmallLinker;
  std::string Warm; ///< libmneme_warm.so
  /// Libraries of these programs that make code.
  std::vector<std::string> Libraries;
  /// \param Program  the server.
  /// \param Clang  empty: it is looked for.
  static Expected<SourceTools> find(StringRef Program, std::string Clang);
};

/// What a build need not do again, as processes wait for the rest
/// (WarmStart.h).
struct WarmTools {
  int Clang = -1, Linker = -1; ///< Sockets of programs; -1: none.
  /// For what instances have in common; empty: none.
  std::string Folder;
  /// The common text, and the file at whose inclusion front ends stop.
  std::string commonPath() const { return Folder + "/common.cpp"; }
  std::string restPath() const { return Folder + "/rest"; }
  /// What the driver had looked up.
  std::string driverInputsPath() const { return Folder + "/inputs"; }
  /// What front ends had looked up when they stopped.
  std::string lookupsPath() const { return restPath() + MNEME_WARM_STOPPED; }
  /// Sockets of front ends that have compiled that.
  std::vector<int> FrontEnds;
  /// The other ends of these sockets, in the first build, which starts them.
  std::vector<int> Copies;
  /// What they have looked up.
  ::mneme::JitInputs Inputs;
  /// Of files of earlier builds.
  ::mneme::JitInputs::Digests *Known = nullptr;
  /// Where a server leaves notes for the next one.
  std::string Notes;
};

/// Builds. Call it in a ChildTask.
/// \param Kept  a folder for what builds have in common.
Expected<BuildResult> buildSource(const BuildJob &Job, const SourceTools &Tools,
                                  StringRef Kept, const WarmTools &Warm);

/// Returns what the front ends have looked up that have stopped.
::mneme::JitInputs findCommonInputs(const BuildJob &Job,
                                    const SourceTools &Tools, StringRef Kept,
                                    const WarmTools &Warm,
                                    const timespec &Start);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_BUILDSOURCE_H
