//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Maintains the folder of recordings while the application runs, and the
/// numbers for the summary. Several launchers may share a folder.
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

/// A launch that the runtime has written to the staging folder.
struct RecordedLaunch {
  std::string StaticHash;
  RecordedInstance Instance;
  uint64_t ArenaBase = 0, ArenaSize = 0;
  uint64_t StoredBytes = 0, RawBytes = 0;
  bool ChangesMemory = true;
  std::vector<KernelGlobal> Globals;
  std::vector<std::string> PageFiles; ///< Names.
};

/// The final report of one process of the application.
struct ProcessSummary {
  uint64_t Seen = 0, Recorded = 0, Skipped = 0; ///< Launches.
  struct Kernel {
    std::string StaticHash; ///< Empty if it was never compiled.
    std::string Name, DynamicHash;
    uint64_t Occurrences = 0;
    bool IsRecorded = false; ///< By this process.
    std::vector<unsigned> VaryingArgs; ///< As RecordedInstance::VaryingArgs.
    /// Returns the number of launches without the recorded one.
    uint64_t countRest() const {
      return Occurrences - (IsRecorded && Occurrences);
    }
  };
  std::vector<Kernel> Kernels;
  std::map<std::string, uint64_t> Reasons; ///< Why launches were skipped.
  uint64_t Nanoseconds = 0;                ///< Time spent on recording.
  uint64_t FinalWait = 0;                  ///< Wait at exit for pending writes.
};

/// Returns an error that lists the kernels \p Symbols. \p What begins its text,
/// such as "no kernel".
Error refuseSelection(StringRef What, StringRef KernelRegex,
                      ArrayRef<std::string> Symbols);

class RecordKeeper {
public:
  /// \param Dir The folder; empty if nothing is recorded.
  /// \param HashInput As in LaunchSelection.
  explicit RecordKeeper(std::string Dir, StringRef HashInput = "");

  /// Makes addLaunch() return an error if the folder would contain more than \p
  /// Bytes of recordings. 0 means no limit.
  void limit(uint64_t Bytes) { MaxBytes = Bytes; }

  /// Makes the folder and its staging folder, for files that are not complete
  /// yet. Removes staging folders of launchers that were killed. Error: also if
  /// the folder's launches have other inputs for the dynamic hash, or if the
  /// folder \p MustBeOwn and is not (makeOwnFolder()).
  Error prepare(bool MustBeOwn = false);
  /// \returns the staging folder. It is removed at the end with its contents.
  const std::string &staging() const { return Staging.path(); }
  const std::string &directory() const { return Dir; }

  /// Returns an error if the folder and its staging folder exceed limit().
  Error checkStagingRoom() const;

  /// Stores the contents of a kernel's file and its bitcode for later. \p
  /// Device is "host", "cuda" or "hip".
  void addKernel(const LaunchedKernel &K, StringRef Device);
  /// \returns the dynamic hashes of the launches that the folder contains of a
  /// kernel that was added.
  std::vector<std::string> heldLaunches(StringRef StaticHash);
  /// Moves the snapshots \p Prologue and \p Epilogue and new page files from
  /// the staging folder into the folder, and adds \p L to the kernel's file.
  /// \returns false, without any change, if the folder already contains the
  /// launch.
  Expected<bool> addLaunch(const RecordedLaunch &L, StringRef Prologue,
                           StringRef Epilogue);
  /// Adds launches that were not recorded to Occurrences.
  Error addSummary(const ProcessSummary &S);
  /// Adds the reasons for missing launches of a process without a summary.
  void addReasons(const std::map<std::string, uint64_t> &Why);
  /// Returns an error if there were launches, but none of a kernel that \p
  /// KernelRegex selects. The error lists the kernels.
  Error checkSelection(StringRef KernelRegex) const;
  /// \returns whether the folder contains \p Launches launches of a kernel that
  /// the application has used.
  bool hasRecorded(StringRef Symbol, uint64_t Launches) const;
  /// \returns the first launch of each kernel that was added: the kernel's
  /// file and the dynamic hash.
  std::vector<std::pair<std::string, std::string>> firstLaunches() const;
  void addProcess() { ++Processes; }
  /// Waits until all files that were added are on the disk. If called while the
  /// application runs, the application waits, too.
  Error sync();
  /// Starts syncing the files that were added, if they are large, to shorten
  /// sync() at the end. Call it when syncFD() is readable, and after launches.
  void syncInBackground();
  /// Descriptor of the process that syncs, or -1.
  int syncFD() const { return Syncing ? Syncing->fd() : -1; }
  void addCompilation(uint64_t Nanoseconds) { CompileTime += Nanoseconds; }

  /// "3 launches of 2 kernels recorded, 1.5 MiB".
  std::string describe() const;
  /// Prints the final table.
  void print(raw_ostream &OS) const;

private:
  struct Kernel {
    RecordedKernel File;          ///< Without instances.
    std::optional<uint64_t> Held; ///< Number of launches when first used.
    std::string Bitcode, Image;
  };
  struct Row {
    uint64_t Instances = 0, Launches = 0, Stored = 0, Raw = 0;
    uint64_t Unchanged = 0; ///< Instances that changed no memory.
    std::string First;      ///< Dynamic hash of the first instance.
  };

  struct Totals {
    uint64_t Instances = 0, Stored = 0, Kernels = 0;
  };

  Totals count() const;
  std::string pathOf(const Twine &File) const;
  bool holds(const RecordedInstance &I) const;
  /// Reads and edits a kernel's file while holding the folder's lock. Writes
  /// the file if \p Edit returns true. \returns the result of \p Edit.
  Expected<bool> update(Kernel &K,
                        function_ref<Expected<bool>(RecordedKernel &)> Edit);
  Error addLaunches(Kernel &K,
                    const StringMap<const ProcessSummary::Kernel *> &Launches);
  /// The caller holds the folder's lock.
  Error writeCode(Kernel &K);
  Error movePages(const std::string &File);
  Error checkRoom(const RecordedLaunch &L, StringRef Prologue,
                  StringRef Epilogue) const;

  Error checkHashInputs(const RecordedKernel &K) const;

  std::string Dir;
  PrivateFolder Staging;
  bool takeSynced(bool Wait);
  void noteNotSynced(const std::string &Path);

  std::set<std::string> NotSynced; ///< Paths.
  uint64_t NotSyncedBytes = 0;     ///< Of these paths.
  std::optional<ChildTask> Syncing;
  std::set<std::string> BeingSynced; ///< Paths that Syncing syncs.
  bool IsFolderSynced = true;
  /// Kernel files that no other launcher has changed, by path, with their
  /// contents.
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
  // Nanoseconds. The last two are measured at the end.
  uint64_t RecordTime = 0, CompileTime = 0, WriteTime = 0, SyncTime = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_RECORDKEEPER_H
