//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Keeps the folder of recordings while the application runs, and what the
/// summary at the end says. Several launchers may share a folder.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_RECORDER_H
#define LLVM_MNEME_LIB_LAUNCH_RECORDER_H

#include "Worker.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Support/Error.h"
#include <map>
#include <string>

namespace llvm {
class raw_ostream;
namespace mneme {

/// A launch that the runtime has stored.
struct RecordedLaunch {
  std::string StaticHash;
  RecordedInstance Instance;
  uint64_t ArenaBase = 0, ArenaSize = 0;
  uint64_t StoredBytes = 0, RawBytes = 0;
  std::vector<KernelGlobal> Globals;
};

/// What one process of the application reports at its end.
struct ProcessSummary {
  uint64_t Seen = 0, Recorded = 0, Skipped = 0; ///< Launches.
  struct Kernel {
    std::string StaticHash; ///< Empty if it was never compiled.
    std::string Name, DynamicHash;
    uint64_t Occurrences = 0;
    bool IsRecorded = false; ///< By this process.
  };
  std::vector<Kernel> Kernels;
  std::map<std::string, uint64_t> Reasons; ///< Why launches were skipped.
  uint64_t Nanoseconds = 0;
};

class Recorder {
public:
  /// \p Dir is empty when nothing is to be recorded.
  explicit Recorder(std::string Dir) : Dir(std::move(Dir)) {}

  /// Makes the folder and tries to write to it.
  Error prepare();
  const std::string &directory() const { return Dir; }

  /// Remembers what a kernel file and its bitcode will hold.
  void addKernel(const CompiledKernel &K);
  /// Puts \p L into the kernel's file, replacing an older recording of it.
  Error addLaunch(const RecordedLaunch &L);
  /// Adds the launches that were not recorded to Occurrences.
  Error addSummary(const ProcessSummary &S);
  /// Does what addSummary could not do yet: the process that recorded a launch
  /// may tell its launcher later than another one that has only seen the files.
  Error finish();
  void addProcess() { ++Processes; }
  void addCompilation(uint64_t Nanoseconds) { CompileTime += Nanoseconds; }

  /// The table at the end.
  void print(raw_ostream &OS) const;

private:
  struct Kernel {
    RecordedKernel File; ///< Without instances.
    std::string Bitcode; ///< Empty once written.
  };
  struct Row {
    std::string Name;
    uint64_t Instances = 0, Launches = 0, Stored = 0, Raw = 0;
  };

  std::string pathOf(const Twine &File) const;
  /// Reads, edits and writes a kernel's file while holding the folder's lock.
  Error update(Kernel &K, function_ref<void(RecordedKernel &)> Edit);
  Error writeBitcode(Kernel &K);
  /// Adds \p Launches to an instance. \returns false when the folder has none.
  Expected<bool> addOccurrences(StringRef StaticHash, StringRef DynamicHash,
                                uint64_t Launches);

  std::string Dir;
  StringMap<Kernel> Kernels;       ///< By static hash.
  std::map<std::string, Row> Rows; ///< By symbol.
  std::map<std::string, uint64_t> Reasons;
  std::vector<ProcessSummary::Kernel> Pending; ///< For finish().
  uint64_t Seen = 0, Recorded = 0, Skipped = 0;
  uint64_t Processes = 0, Reports = 0;
  uint64_t RecordTime = 0, CompileTime = 0; ///< Nanoseconds.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_RECORDER_H
