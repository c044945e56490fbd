//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A folder of recordings: one <static hash>.json per kernel with its recorded
/// launches, beside RecordedIR_<static hash>.bc and the snapshots.
/// docs/RecordFormat.rst.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_DATABASE_H
#define LLVM_MNEME_RECORD_DATABASE_H

#include "llvm/ADT/MapVector.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// The GPU that a launch ran on. All empty for the host device.
struct RecordedDevice {
  std::string Name;    ///< "NVIDIA H200"
  std::string Arch;    ///< "sm_90"
  std::string Driver;  ///< "13.0": the CUDA version that it supports.
  std::string Runtime; ///< "13.0"; empty when not known.
};

/// One recorded launch.
struct RecordedInstance {
  std::string DynamicHash; ///< 16 hexadecimal digits.
  Dim3 Grid, Block;
  uint64_t SharedMem = 0; ///< Dynamic shared memory, bytes.
  std::string Prologue;   ///< File name in the database's folder.
  std::string Epilogue;
  uint64_t Occurrences =
      1; ///< Launches with this dynamic hash, recorded or not.
  bool Cooperative = false; ///< All blocks at once, for grid.sync().
  RecordedDevice Device = {};
  /// Memory that is not in the snapshots, because nothing led to it.
  uint64_t OmittedRegions = 0, OmittedBytes = 0;
  /// XXH3-128 of the snapshots' bytes, 32 hexadecimal digits; empty where a
  /// file of version 1 says nothing.
  std::string PrologueDigest, EpilogueDigest;

  /// Sets the digests to those of these files.
  Error seal(StringRef ProloguePath, StringRef EpiloguePath);
};

/// What the dynamic hash of every launch covers (DynamicHashInputs).
inline constexpr StringLiteral LaunchInputs[] = {
    "StaticHash", "GridDims", "BlockDims", "SharedMem", "Cooperative"};

/// And with --record-id=scalars.
inline constexpr StringLiteral ScalarsInput = "Scalars";

/// One kernel: the contents of <static hash>.json.
struct RecordedKernel {
  std::string KernelName; ///< The symbol in the IR.
  std::string DemangledName;
  std::string StaticHash;   ///< 32 hexadecimal digits.
  std::string Triple, Arch; ///< What the application was compiled for.
  std::string OptLevel;     ///< The application's own: "0" … "3", "s", "z".
  std::string Device;       ///< What it ran on: "host", "cuda".
  std::string Toolchain;    ///< "clang 22.1.8".
  std::vector<std::string>
      Modules; ///< Bitcode files in the folder; one for now.
  /// XXH3-128 of each module's bytes, 32 hexadecimal digits; empty where a file
  /// of version 1 says nothing.
  std::vector<std::string> ModuleDigests;
  uint64_t VAddr = 0, VASize = 0; ///< What the instances' arenas lie in.
  std::vector<KernelArg> Args;
  std::vector<KernelGlobal> Globals;
  /// What of a launch the dynamic hash is made of.
  std::vector<std::string> DynamicHashInputs;
  /// By dynamic hash, in order of recording.
  std::vector<RecordedInstance> Instances;

  /// Of the kernel, demangled if it can be, for a line of text (printable()).
  std::string displayName() const;

  const RecordedInstance *findInstance(StringRef DynamicHash) const;
  /// Makes [VAddr, VAddr + VASize) hold another arena; VASize is 0 before the
  /// first.
  void addArena(uint64_t Base, uint64_t Size);
  /// Are the digests of all files known? If so, the kernel is written in
  /// version 2 of the format, which protects all of it, else in version 1.
  bool isSealed() const;
};

json::Value toJSON(const KernelArg &A);
bool fromJSON(const json::Value &V, KernelArg &A, json::Path P);
json::Value toJSON(const RecordedKernel &K);
bool fromJSON(const json::Value &V, RecordedKernel &K, json::Path P);

/// Parses the contents of <static hash>.json.
Expected<RecordedKernel> parseRecordedKernel(StringRef Text);

/// Reads <static hash>.json and checks it: format version, keys, digests, and
/// that the files it names lie in its own folder. Errors name the file and the
/// key.
Expected<RecordedKernel> readKernelFile(StringRef Path);
/// Writes to a temporary name and renames; see writeFileAtomically.
Error writeKernelFile(StringRef Path, const RecordedKernel &K,
                      bool Sync = true);

/// The <static hash>.json files of a folder, in order. Error when there is
/// none.
Expected<std::vector<std::string>> findKernelFiles(StringRef Dir);

/// All kernels of a folder, in order of file name. Error when there is none.
Expected<std::vector<RecordedKernel>> readDatabase(StringRef Dir);

/// Reads a module of \p K in folder \p Dir. Error when the file is not the one
/// that was recorded. The bytes stay as they are, whatever becomes of the file.
Expected<std::unique_ptr<MemoryBuffer>>
readModule(StringRef Dir, const RecordedKernel &K, size_t Index = 0);

/// A warning for the user where nothing protects what is replayed of \p K; else
/// an empty string.
std::string getFormatWarning(const RecordedKernel &K);

/// Makes a kernel file of version 1 one of version 2. Everything in \p K, which
/// is what the file says, must have been checked. Error when the file or what
/// it leads to has changed since.
Error sealKernelFile(StringRef Path, const RecordedKernel &K);

/// The dynamic hash of a launch as the runtime computes it: of its
/// configuration and its scalars, where these are covered.
uint64_t computeDynamicHash(const Digest128 &StaticHash,
                            const RecordedInstance &I, StringRef Scalars = "");
/// What the hash covers with --record-id=scalars of arguments with these
/// \p Bytes.
std::string collectScalars(ArrayRef<KernelArg> Args,
                           ArrayRef<std::string> Bytes);

struct KernelCheck {
  std::vector<std::string> Problems; ///< One message each.
  size_t Unchanged = 0; ///< Instances whose launch changed no memory.
};

/// Reads everything a kernel's recordings consist of, snapshots included. Page
/// files are read once for all that share \p Pages.
KernelCheck checkKernel(StringRef Dir, const RecordedKernel &K,
                        std::shared_ptr<PageStore> Pages = nullptr);

/// The same of a kernel's IR alone.
std::vector<std::string> checkModules(StringRef Dir, const RecordedKernel &K);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_DATABASE_H
