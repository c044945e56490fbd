//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Management of recording folders: copies, removes and archives launches.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_MANAGE_H
#define LLVM_MNEME_RECORD_MANAGE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Support/Error.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Selects launches by all given criteria; without criteria, selects all.
struct RecordingFilter {
  /// POSIX extended regular expression, searched in the symbol and the
  /// demangled name.
  std::string KernelRegex;
  /// Prefixes of static and dynamic hashes. If a list is not empty, at least
  /// one of its prefixes must match.
  std::vector<std::string> StaticHashes, DynamicHashes;

  bool isEmpty() const {
    return KernelRegex.empty() && StaticHashes.empty() && DynamicHashes.empty();
  }
  /// Fails if the regular expression or a hash prefix is invalid.
  Error check() const;
  /// Returns \p K with the selected launches; unset if there are none. check()
  /// must have succeeded.
  std::optional<RecordedKernel> select(const RecordedKernel &K) const;
  /// Returns the selected part of \p Kernels. Fails if nothing is selected; the
  /// error names \p Dir and its kernels.
  Expected<std::vector<RecordedKernel>> choose(ArrayRef<RecordedKernel> Kernels,
                                               StringRef Dir) const;
};

/// The effects of a command, or those it would have in a dry run.
struct ManageStats {
  uint64_t Kernels = 0, Instances = 0;
  uint64_t AlreadyThere = 0;      ///< Instances that the destination had.
  uint64_t Bytes = 0;             ///< Written or removed.
  std::vector<std::string> Files; ///< Removed.
};

/// Copies launches and the pages they need to folder \p To, creating the folder
/// if necessary. Does not change existing recordings in \p To.
Expected<ManageStats>
copyRecordings(StringRef From, const RecordingFilter &Which, StringRef To);

/// Removes the selected launches, then all files that no kernel file refers to.
/// Here, an empty filter selects no launches. Removes nothing if it cannot
/// determine which files are needed, or if a recording into the folder is in
/// progress.
Expected<ManageStats>
pruneRecordings(StringRef Dir, const RecordingFilter &Which, bool IsDryRun);

/// Copies launches and, if the copies are intact, removes the copied launches
/// from \p From. Launches that \p To already has stay in both folders.
Expected<ManageStats>
moveRecordings(StringRef From, const RecordingFilter &Which, StringRef To);

/// Writes launches and all files they need to one `ar` archive.
Expected<ManageStats>
exportRecordings(StringRef From, const RecordingFilter &Which, StringRef File);

/// Checks the launches of such an archive and copies them to folder \p To.
Expected<ManageStats> importRecordings(StringRef File, StringRef To);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_MANAGE_H
