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

#ifndef LLVM_MNEME_LIB_LAUNCH_RECORDKEEPER_H
#define LLVM_MNEME_LIB_LAUNCH_RECORDKEEPER_H

#include "CompileWorker.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Support/Error.h"
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>

namespace llvm {
class raw_ostream;
namespace mneme {

/// A launch that the runtime has stored.
struct RecordedLaunch {
  std::string StaticHash;
  RecordedInstance Instance;
  uint64_t ArenaBase = 0, ArenaSize = 0;
  uint64_t StoredBytes = 0, RawBytes = 0;
  bool ChangesMemory = true;
  std::vector<KernelGlobal> Globals;
  std::vector<std::string> PageFiles; ///< Names.
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
  uint64_t Nanoseconds = 0; ///< That recording took.
  uint64_t FinalWait = 0;   ///< At exit, for what was not written yet.
};

/// Returns an error that lists the kernels \p Symbols; \p What is "no kernel".
Error refuseSelection(StringRef What, StringRef KernelRegex,
                      ArrayRef<std::string> Symbols);

class RecordKeeper {
public:
  /// \p Dir is empty when nothing is to be recorded. \p HashInput as in
  /// LaunchSelection.
  explicit RecordKeeper(std::string Dir, StringRef HashInput = "");

  /// From now on, addLaunch() fails, and says so, where the folder would hold
  /// more than \p Bytes of recordings; 0: no limit.
  void limit(uint64_t Bytes) { MaxBytes = Bytes; }

  /// Makes the folder and, in it, one for files that are not whole yet. Removes
  /// such that launchers left that were killed. Error: also where the folder
  /// holds launches that are told apart by other things, or where it
  /// \p MustBeOwn and is not (makeOwnFolder()).
  Error prepare(bool MustBeOwn = false);
  /// That second folder; it is removed at the end with all that is left there.
  const std::string &staging() const { return Staging.path(); }
  const std::string &directory() const { return Dir; }

  /// Error: the folder and what is held for it are larger than limit() allows.
  Error checkStagingRoom() const;

  /// Remembers what a kernel file and its bitcode will hold. \p Device: "host",
  /// "cuda".
  void addKernel(const CompiledKernel &K, StringRef Device);
  /// Dynamic hashes of the launches that the folder holds for a kernel that was
  /// added.
  std::vector<std::string> heldLaunches(StringRef StaticHash);
  /// Moves the snapshots \p Prologue and \p Epilogue, and the page files that
  /// are not in the folder yet, from the staging folder into place and puts \p
  /// L into the kernel's file. \returns false, with nothing done, when the
  /// folder holds that launch already.
  Expected<bool> addLaunch(const RecordedLaunch &L, StringRef Prologue,
                           StringRef Epilogue);
  /// Adds the launches that were not recorded to Occurrences.
  Error addSummary(const ProcessSummary &S);
  /// Adds why launches of a process that gave no summary are not there.
  void addReasons(const std::map<std::string, uint64_t> &Why);
  /// Fails if there were launches, but none of a kernel that \p KernelRegex
  /// selects; the error names the kernels.
  Error checkSelection(StringRef KernelRegex) const;
  /// Returns true if the folder holds \p Launches launches of a kernel that the
  /// application has used.
  bool hasRecorded(StringRef Symbol, uint64_t Launches) const;
  void addProcess() { ++Processes; }
  /// Waits until all that was added is on the disk. While the application runs,
  /// it would wait, too.
  Error sync();
  /// Has the disk begin with what was added, if that is much: at the end less is
  /// left to wait for. Call when syncFD() is readable, and after launches.
  void syncInBackground();
  /// Of the process that waits for the disk, or -1.
  int syncFD() const { return Syncing ? Syncing->fd() : -1; }
  void addCompilation(uint64_t Nanoseconds) { CompileTime += Nanoseconds; }

  /// "3 launches of 2 kernels recorded, 1.5 MiB".
  std::string describe() const;
  /// The table at the end.
  void print(raw_ostream &OS) const;

private:
  struct Kernel {
    RecordedKernel File; ///< Without instances.
    std::optional<uint64_t> Held; ///< Launches, when it was first used.
    std::string Bitcode;
  };
  struct Row {
    uint64_t Instances = 0, Launches = 0, Stored = 0, Raw = 0;
    uint64_t Unchanged = 0; ///< Instances that changed no memory.
  };

  struct Totals {
    uint64_t Instances = 0, Stored = 0, Kernels = 0;
  };

  Totals count() const;
  std::string pathOf(const Twine &File) const;
  bool holds(const RecordedInstance &I) const;
  /// Reads and edits a kernel's file while holding the folder's lock, and
  /// writes it if \p Edit says so. \returns what that said.
  Expected<bool> update(Kernel &K,
                        function_ref<Expected<bool>(RecordedKernel &)> Edit);
  Error addOccurrences(Kernel &K, const StringMap<uint64_t> &Times);
  /// Call with the folder's lock.
  Error writeBitcode(Kernel &K);
  Error movePages(const std::string &File);
  Error checkRoom(const RecordedLaunch &L, StringRef Prologue,
                  StringRef Epilogue) const;

  Error checkHashInputs(const RecordedKernel &K) const;

  std::string Dir;
  PrivateFolder Staging;
  bool takeSynced(bool Wait);
  void noteNotSynced(const std::string &Path);

  std::set<std::string> NotSynced; ///< Paths.
  uint64_t NotSyncedBytes = 0;     ///< Of these.
  std::optional<ChildTask> Syncing;
  std::set<std::string> BeingSynced; ///< What it waits for.
  bool IsFolderSynced = true;
  /// Kernels' files that no other launcher has a part in, by path, and what they
  /// hold.
  std::map<std::string, json::Value> Created;
  uint64_t MaxBytes = 0;
  std::vector<std::string> HashInputs;
  StringMap<Kernel> Kernels; ///< By static hash.
  /// By symbol and static hash.
  std::map<std::pair<std::string, std::string>, Row> Rows;
  std::map<std::string, uint64_t> Reasons;
  uint64_t Seen = 0, Recorded = 0, Skipped = 0;
  uint64_t OmittedRegions = 0, OmittedBytes = 0;
  uint64_t Processes = 0, Reports = 0;
  // Nanoseconds; the last two at the end.
  uint64_t RecordTime = 0, CompileTime = 0, WriteTime = 0, SyncTime = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_RECORDKEEPER_H
