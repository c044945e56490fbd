//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The options and files that another machine needs to evaluate for a study.
/// Files are kept there by content.
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

/// Maximum size of a piece of a file, in bytes.
constexpr uint64_t PieceBytes = uint64_t(1) << 20;

struct StagedFile {
  std::string Name; ///< Without a folder.
  uint64_t Size = 0;
  std::string Digest; ///< XXH3-128, in hexadecimal.
};
/// A study as it is sent. Plugins are not sent: the worker must have them at
/// the same paths.
struct RemoteStudy {
  /// Before locate(), without the settings in Config, HasIR and HasApp.
  ReplayOptions Base;
  json::Object Config; ///< makeConfig() of the options.
  bool HasSource = false; ///< A source folder.
  bool HasIR = false, HasApp = false;
  std::vector<std::string> RecordIds;
  double CompileTimeout = 0, LaunchTimeout = 0; ///< As FarmResources.
  std::string Database; ///< The kernel's file; a name in \p Files.
  std::vector<StagedFile> Files;

  /// \returns the digest of the files, which names their folder.
  std::string digest() const;
  /// Completes the options, with the files in \p Dir. Error: the study lacks a
  /// file, or its configuration is invalid.
  Error locate(StringRef Dir);
};

/// The files of a study, mapped, in the order of RemoteStudy::Files.
using MappedFiles = std::vector<std::unique_ptr<MemoryBuffer>>;

/// Makes the study of \p Plans, whose files are beside \p Database.
Expected<RemoteStudy>
makeRemoteStudy(StringRef Database, const ReplayOptions &Base,
                ArrayRef<std::unique_ptr<ReplayPlan>> Plans,
                MappedFiles &Files);

/// Fetches a file from elsewhere and passes its bytes to \p Write, in order.
using FetchFn = function_ref<Error(
    unsigned File, function_ref<Error(StringRef Bytes)> Write)>;
/// Ensures that a folder below \p CacheDir has complete copies of the files,
/// and fetches those that are missing. Other processes wait meanwhile. \returns
/// the folder. Errors: two files have the same name, or space is too small.
Expected<std::string> stage(const RemoteStudy &S, StringRef CacheDir,
                            FetchFn Fetch);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_STAGING_H
