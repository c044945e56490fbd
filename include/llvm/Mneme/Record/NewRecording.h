//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes recordings from memory contents, without an application.
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

/// A range of memory and its bytes.
struct MemoryRange {
  uint64_t Address = 0;
  std::vector<char> Bytes;
};

/// One launch of one kernel, to be written.
struct NewRecording {
  /// Has one instance. writeRecording() sets the static hash, the dynamic hash
  /// and the file names.
  RecordedKernel Kernel;
  /// The arena of the instance, within that of the kernel.
  uint64_t ArenaBase = 0, ArenaSize = 0;
  std::vector<SnapshotRegion> Regions; ///< Numbered from 0.
  std::vector<SnapshotAnnotation> Annotations;
  std::vector<std::string> Args;
  /// The memory that is nonzero before the launch, and the memory that the
  /// launch changed. A range starts at a multiple of MNEME_SNAPSHOT_PAGE from
  /// the start of its region, and ends at such an offset or at the end of the
  /// region.
  std::vector<MemoryRange> Before, After;
};

/// Writes a recording to folder \p Dir, creating the folder if necessary. Keeps
/// existing recordings. \returns the kernel as written.
Expected<RecordedKernel> writeRecording(StringRef Dir, const Module &M,
                                        NewRecording R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_NEWRECORDING_H
