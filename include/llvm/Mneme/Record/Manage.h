//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Managing folders of recordings: copying, removing what is not wanted, and
/// archives of chosen launches.
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

/// Which launches a command is about: all, or those that everything given
/// fits.
struct RecordingFilter {
  /// POSIX extended regular expression, searched in the symbol and in the
  /// demangled name.
  std::string KernelRegex;
  /// Beginnings of static and of dynamic hashes; one of each must fit.
  std::vector<std::string> StaticHashes, DynamicHashes;

  bool isEmpty() const {
    return KernelRegex.empty() && StaticHashes.empty() && DynamicHashes.empty();
  }
  /// Error when the expression or a hash is none.
  Error check() const;
  /// Of \p Kernels, what is chosen. Error when that is nothing, which names \p
  /// Dir.
  Expected<std::vector<RecordedKernel>> choose(ArrayRef<RecordedKernel> Kernels,
                                               StringRef Dir) const;
};

/// What a command has done, or would do.
struct ManageStats {
  uint64_t Kernels = 0, Instances = 0;
  uint64_t AlreadyThere = 0;      ///< Instances.
  uint64_t Bytes = 0;             ///< Written, or removed.
  std::vector<std::string> Files; ///< Removed.
};

/// Copies launches to folder \p To, which is made when it is missing, with the
/// pages that it does not have yet. What is there already stays as it is.
Expected<ManageStats>
copyRecordings(StringRef From, const RecordingFilter &Which, StringRef To);

/// Removes the chosen launches, and then all files that no kernel file leads
/// to. An empty filter chooses no launches here. Removes nothing when it cannot
/// tell what is needed, or while somebody records into the folder.
Expected<ManageStats>
pruneRecordings(StringRef Dir, const RecordingFilter &Which, bool IsDryRun);

/// Copies, and then, if the copies are whole, removes from \p From what was
/// copied. What is in \p To already stays in both.
Expected<ManageStats>
moveRecordings(StringRef From, const RecordingFilter &Which, StringRef To);

/// Writes launches with all they need to one file, an archive as of ar.
Expected<ManageStats>
exportRecordings(StringRef From, const RecordingFilter &Which, StringRef File);

/// Copies the launches of such a file to folder \p To, after they were checked.
Expected<ManageStats> importRecordings(StringRef File, StringRef To);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_MANAGE_H
