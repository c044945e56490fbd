//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What another machine needs to evaluate for a study: options, and files,
/// which are kept there by content.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_STAGING_H
#define LLVM_MNEME_LIB_FARM_STAGING_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"

namespace llvm {
namespace mneme {

/// Bytes of a file that are sent at once, at most.
constexpr uint64_t PieceBytes = uint64_t(1) << 20;

struct StagedFile {
  std::string Name; ///< Without a folder.
  uint64_t Size = 0;
  std::string Digest; ///< XXH3-128, in hexadecimal.
};
/// A study as it is sent. Plugins are not: they must be there, by their paths.
struct RemoteStudy {
  /// Without what Config, HasIR and HasApp say, until locate().
  ReplayOptions Base;
  json::Object Config; ///< makeConfig() of the options.
  bool HasIR = false, HasApp = false;
  std::vector<std::string> RecordIds;
  double CompileTimeout = 0, LaunchTimeout = 0; ///< As FarmResources.
  std::string Database; ///< The kernel's file; a name in \p Files.
  std::vector<StagedFile> Files;

  /// What names the folder of the files.
  std::string digest() const;
  /// Makes the options whole, with the files in \p Dir. Errors: a file that is
  /// not among those of the study, a configuration that is none.
  Error locate(StringRef Dir);
};

/// The files of a study, mapped. In the order of RemoteStudy::Files.
using MappedFiles = std::vector<std::unique_ptr<MemoryBuffer>>;

/// Makes the study of \p Plans, which lie beside \p Database.
Expected<RemoteStudy>
makeRemoteStudy(StringRef Database, const ReplayOptions &Base,
                ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                MappedFiles &Files);

/// The default cache folder: below XDG_CACHE_HOME, or where
/// temporary files are.
std::string getDefaultCacheDir();

/// Hands what it gets from elsewhere, in order, to the function.
using FetchFn = function_ref<Error(
    unsigned File, function_ref<Error(StringRef Bytes)> Write)>;
/// Makes sure that a folder below \p CacheDir has the files, whole; fetches
/// those that are not there. One process at a time does, the others wait for
/// it. \returns the folder. Errors: two files of a name, too little space.
Expected<std::string> stage(const RemoteStudy &S, StringRef CacheDir,
                            FetchFn Fetch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_STAGING_H
