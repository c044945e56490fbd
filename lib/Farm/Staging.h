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

struct StagedFile {
  std::string Name; ///< Without a folder.
  uint64_t Size = 0;
  std::string Digest; ///< XXH3-128, in hexadecimal.
};
json::Value toJSON(const StagedFile &F);
bool fromJSON(const json::Value &V, StagedFile &F, json::Path P);

/// A study as it is sent. Plugins are not: they must be there, by their paths.
struct RemoteStudy {
  /// Of a worker: its files are names in \p Files until locate().
  ReplayOptions Base;
  std::vector<std::string> RecordIds;
  double CompileTimeout = 0, LaunchTimeout = 0; ///< As FarmResources.
  std::string Database; ///< The kernel's file; a name in \p Files.
  std::vector<StagedFile> Files;

  /// What names the folder of the files.
  std::string digest() const;
  /// Lets the options find the files in \p Dir.
  void locate(StringRef Dir);
};
json::Value toJSON(const RemoteStudy &S);
/// Checks all that somebody else says.
bool fromJSON(const json::Value &V, RemoteStudy &S, json::Path P);

/// The files of a study, mapped. In the order of RemoteStudy::Files.
using MappedFiles = std::vector<std::unique_ptr<MemoryBuffer>>;

/// Makes the study of \p Plans, which lie beside \p Database.
Expected<RemoteStudy>
makeRemoteStudy(StringRef Database, const ReplayOptions &Base,
                ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                MappedFiles &Files);

/// Where files are kept when nobody says: below XDG_CACHE_HOME, or where
/// temporary files are.
std::string getDefaultCacheDir();

/// Hands what it gets from elsewhere, in order, to the function.
using FetchFn = function_ref<Error(
    unsigned File, function_ref<Error(StringRef Bytes)> Write)>;
/// Makes sure that a folder below \p CacheDir has the files, whole; fetches
/// those that are not there. One process at a time does, the others wait for
/// it. \returns the folder.
Expected<std::string> stage(const RemoteStudy &S, StringRef CacheDir,
                            FetchFn Fetch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_STAGING_H
