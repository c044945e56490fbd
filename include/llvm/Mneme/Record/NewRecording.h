//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Recordings that no application made: of memory that somebody has.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_NEWRECORDING_H
#define LLVM_MNEME_RECORD_NEWRECORDING_H

#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

/// Bytes of memory.
struct MemoryRange {
  uint64_t Address = 0;
  std::vector<char> Bytes;
};

/// One launch of one kernel.
struct NewRecording {
  /// With one instance. Static hash, dynamic hash and the names of files are
  /// those that it gets.
  RecordedKernel Kernel;
  /// The arena of the instance, in that of the kernel.
  uint64_t ArenaBase = 0, ArenaSize = 0;
  std::vector<SnapshotRegion> Regions; ///< Numbered from 0.
  std::vector<SnapshotAnnotation> Annotations;
  std::vector<std::string> Args;
  /// What is not zero before the launch, and what the launch changed. A range
  /// begins where a region does, plus a multiple of MNEME_SNAPSHOT_PAGE, and
  /// ends so, or where the region does.
  std::vector<MemoryRange> Before, After;
};

/// Writes to folder \p Dir, which is made when it is missing. What is there
/// already stays. \returns the kernel as written.
Expected<RecordedKernel> writeRecording(StringRef Dir, const Module &M,
                                        NewRecording R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_NEWRECORDING_H
