//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The database in a folder of recordings: one <static hash>.json per kernel,
/// which lists its recorded launches, next to RecordedIR_<static hash>.bc and
/// the snapshots. See docs/RecordFormat.rst.
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

/// The GPU that ran a launch. All members are empty for the host device.
struct RecordedDevice {
  std::string Name;    ///< "NVIDIA H200"
  std::string Arch;    ///< "sm_90"
  std::string Driver;  ///< "13.0": the CUDA version it supports.
  std::string Runtime; ///< "13.0"; empty if unknown.
};

/// One recorded launch.
struct RecordedInstance {
  std::string DynamicHash; ///< 16 hexadecimal digits.
  Dim3 Grid, Block;
  uint64_t SharedMem = 0; ///< Bytes of dynamic shared memory.
  std::string Prologue;   ///< File name in the folder of the database.
  std::string Epilogue;
  /// The number of launches with this dynamic hash, recorded or not.
  uint64_t Occurrences = 1;
  bool Cooperative = false; ///< All blocks are resident, for grid.sync().
  Dim3 Cluster = {};        ///< Size of a cluster, in blocks.
  RecordedDevice Device = {};
  /// Memory left out of the snapshots because no pointer led to it.
  uint64_t OmittedRegions = 0, OmittedBytes = 0;
  /// XXH3-128 of the snapshot files, 32 hexadecimal digits; empty if unknown,
  /// as in a version 1 file.
  std::string PrologueDigest, EpilogueDigest;
  /// Positions of the scalar arguments that did not have the same value in all
  /// launches with this dynamic hash, ascending, as far as a process knows.
  std::vector<unsigned> VaryingArgs = {};

  /// Computes and sets the digests of these two files.
  Error seal(StringRef ProloguePath, StringRef EpiloguePath);
};

/// The DynamicHashInputs that the dynamic hash of every launch covers.
inline constexpr StringLiteral LaunchInputs[] = {
    "StaticHash", "GridDims", "BlockDims", "SharedMem", "Cooperative"};

/// The additional input with --record-id=scalars.
inline constexpr StringLiteral ScalarsInput = "Scalars";

/// The application's own code of a kernel that it loaded as an image, without
/// Mneme's payload. File is empty if there is none.
struct RecordedImage {
  std::string File;    ///< Name in the folder.
  std::string Digest;  ///< XXH3-128, 32 hexadecimal digits.
  std::string Arch;    ///< "sm_90a": that the code is for.
  bool IsPTX = false;  ///< Otherwise a cubin, or a code object for AMD GPUs.
  bool IsOnly = false; ///< The recorded IR is only the kernel's interface.
};

/// One kernel: the contents of <static hash>.json.
struct RecordedKernel {
  std::string KernelName; ///< The symbol in the IR.
  std::string DemangledName;
  std::string StaticHash;   ///< 32 hexadecimal digits.
  std::string Triple, Arch; ///< The target of the application's compilation.
  std::string OptLevel;     ///< The application's: "0" … "3", "s", "z".
  std::string Device;       ///< The device that ran it: "host", "cuda",
                            ///< "hip".
  std::string Toolchain;    ///< "clang 22.1.8".
  /// Bitcode files in the folder; currently one.
  std::vector<std::string> Modules;
  /// XXH3-128 of each module, 32 hexadecimal digits; empty if unknown, as in a
  /// version 1 file.
  std::vector<std::string> ModuleDigests;
  RecordedImage Image;
  /// Settings (Config.def) with which the application compiled the IR, as
  /// compact JSON; empty for clang's.
  std::string Configuration;
  uint64_t VAddr = 0, VASize = 0; ///< Covers the arenas of all instances.
  std::vector<KernelArg> Args;
  std::vector<KernelGlobal> Globals;
  /// The parts of a launch that the dynamic hash covers.
  std::vector<std::string> DynamicHashInputs;
  /// In order of recording; findInstance() looks up a dynamic hash.
  std::vector<RecordedInstance> Instances;

  /// Returns the printable() kernel name, demangled if possible.
  std::string displayName() const;

  /// Returns the instance with this dynamic hash, or null.
  const RecordedInstance *findInstance(StringRef DynamicHash) const;
  /// Extends [VAddr, VAddr + VASize) to cover another arena; VASize is 0 before
  /// the first one.
  void addArena(uint64_t Base, uint64_t Size);
  /// Returns the names of the files besides those of instances.
  std::vector<std::string> codeFiles() const;
  /// Returns true if the digests of all files are known. A sealed kernel is
  /// written in format version 2, which protects all of its data, otherwise in
  /// version 1.
  bool isSealed() const;
};

json::Value toJSON(const KernelArg &A);
bool fromJSON(const json::Value &V, KernelArg &A, json::Path P);
json::Value toJSON(const RecordedKernel &K);
bool fromJSON(const json::Value &V, RecordedKernel &K, json::Path P);

/// Parses the contents of <static hash>.json.
Expected<RecordedKernel> parseRecordedKernel(StringRef Text);

/// Reads <static hash>.json and checks the format version, the keys, the
/// digests, and that all files it names are in its folder. Errors name the file
/// and the key.
Expected<RecordedKernel> readKernelFile(StringRef Path);
/// Writes the file atomically; see writeFileAtomically().
Error writeKernelFile(StringRef Path, const RecordedKernel &K,
                      bool Sync = true);

/// Returns the dynamic hash that begins with \p Beginning. Returns \p Beginning
/// itself if there is none. Fails if there are several.
Expected<std::string> completeRecordId(StringRef Beginning,
                                       ArrayRef<RecordedKernel> Kernels);

/// Returns the sorted <static hash>.json files of a folder. Fails if there are
/// none.
Expected<std::vector<std::string>> findKernelFiles(StringRef Dir);

/// Reads all kernels of a folder, sorted by file name. Fails if there are none.
Expected<std::vector<RecordedKernel>> readDatabase(StringRef Dir);

/// Reads a module of \p K from folder \p Dir. Fails if the file differs from
/// the recorded one. The buffer is unaffected by later changes of the file.
Expected<std::unique_ptr<MemoryBuffer>>
readModule(StringRef Dir, const RecordedKernel &K, size_t Index = 0);

/// Reads the image of \p K, which has one, in the same way.
Expected<std::unique_ptr<MemoryBuffer>> readImage(StringRef Dir,
                                                  const RecordedKernel &K);

/// Returns a warning for the user if no digests protect the replayed files of
/// \p K, otherwise an empty string.
std::string getFormatWarning(const RecordedKernel &K);

/// Converts a kernel file from version 1 to version 2. \p K is the content of
/// the file, which the caller must have checked. Fails if the file or a file it
/// refers to has changed since.
Error sealKernelFile(StringRef Path, const RecordedKernel &K);

/// Computes the dynamic hash of a launch as the runtime does: from its
/// configuration and, if covered, its scalars.
uint64_t computeDynamicHash(const Digest128 &StaticHash,
                            const RecordedInstance &I, StringRef Scalars = "");
/// Returns the scalars that the hash covers with --record-id=scalars, for
/// arguments with these \p Bytes.
std::string collectScalars(ArrayRef<KernelArg> Args,
                           ArrayRef<std::string> Bytes);

/// The result of checkKernel().
struct KernelCheck {
  std::vector<std::string> Problems; ///< One message per problem.
  size_t Unchanged = 0; ///< Instances whose launch changed no memory.
};

/// Reads and checks all files of a kernel's recordings, including snapshots.
/// Callers that share \p Pages read each page file only once.
KernelCheck checkKernel(StringRef Dir, const RecordedKernel &K,
                        std::shared_ptr<PageStore> Pages = nullptr);

/// Like checkKernel(), but checks only the kernel's IR.
std::vector<std::string> checkModules(StringRef Dir, const RecordedKernel &K);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_DATABASE_H
