//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles kernels of an application without a recording, for packages.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_COMPILEAHEAD_H
#define LLVM_MNEME_DEPLOY_COMPILEAHEAD_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Support/JSON.h"
#include <map>
#include <optional>

namespace llvm {
namespace mneme {

struct CompileOptions;

/// The launch that the code of a winner was compiled for.
struct WinnerLaunch {
  std::map<unsigned, uint64_t> Args; ///< As SpecializeOptions::Args.
  Dim3 Grid, Block;                  ///< Of the code.
  Dim3 RecordedGrid, RecordedBlock;
};

/// Return the launch as JSON for the provenance of a variant, and read it.
json::Object toJSON(const WinnerLaunch &L);
std::optional<WinnerLaunch> readWinnerLaunch(const json::Object &O);

/// Returns the options for a kernel without values of a launch: launch bounds
/// are those that the configuration has as numbers.
CompileOptions makeCompileOptions(StringRef Kernel, const KernelConfig &C);

struct AheadOptions {
  /// Settings that depend on a launch need one (Launch), except for launch
  /// bounds with a number of threads.
  KernelConfig Config;
  std::optional<WinnerLaunch> Launch;
  /// Fail unless the results are the same for all blocks (LaunchShape.h).
  bool NeedsProof = false;
  /// The launch of the variant, instead of the application's: both or neither.
  std::optional<Dim3> Grid, Block;
  /// Make the grid and the block constants. Without a launch, refused if the
  /// kernel reads them.
  bool SpecializeDims = false;
  bool OnHost = false; ///< For the host device instead of the GPU.
  HostFinish Finish = HostFinish::None;
  std::string CudaPath;
  double Seconds = 300; ///< Time limit of the compiler.
};

/// Compiles kernel \p Kernel of payload \p Index of an application, in a child
/// process. Returns the kernel with one variant, without soft guards and
/// provenance. Fails if the code needs values of a launch that \p O does not
/// have, if a GPU kernel uses variables that the host cannot find, or if it
/// does not compile.
Expected<PackagedKernel> compileAhead(ArrayRef<Payload> Payloads, size_t Index,
                                      StringRef Kernel, const AheadOptions &O);

/// The result of rebasePackage(), in kernels.
struct RebaseCounts {
  unsigned Unchanged = 0;  ///< The application has them with the same hash.
  unsigned Recompiled = 0; ///< Changed, but the recipe makes the same code.
  unsigned Dropped = 0;
};

/// Makes \p P a package for the files of a rebuilt application: drops kernels
/// that the application does not have, and replaces the device links. A kernel
/// whose static hash has changed is kept under its new hash if its variants are
/// the same bytes when the new IR is compiled like the winner. Variants with a
/// changed launch need a proof that it is correct for the new IR, too.
/// \param O     how to compile; the configuration is the package's.
/// \param Note  called with a message for each kernel that is dropped or
///              loses variants.
Expected<RebaseCounts> rebasePackage(TunedPackage &P,
                                     ArrayRef<std::string> Files,
                                     const AheadOptions &O,
                                     function_ref<void(const Twine &)> Note);

/// What an entry for Proteus says about each launch.
struct ProteusPolicy {
  bool Args = true, Dims = true, Ranges = false, Bounds = true;
  /// Launches with so many threads per block have MinBlocks; -1: none.
  int64_t TunedMaxThreads = -1;
  uint32_t MinBlocks = 0;
};

/// An entry of a file for Proteus (PROTEUS_TUNED_KERNELS).
struct ProteusEntry {
  std::string Kernel; ///< The mangled name.
  AheadOptions Options;
  ProteusPolicy Policy;
  /// Why the entry cannot be compiled ahead of time; empty if it can.
  std::string Problem;
  std::vector<std::string> Warnings;
  json::Object Source; ///< The entry itself.
  /// The static hash of the kernel, if Mneme wrote the entry; or empty.
  std::string StaticHash;
};

/// Reads a file for Proteus, with the defaults of Proteus for missing keys.
/// Fails if the file is not a JSON object.
Expected<std::vector<ProteusEntry>> readProteusFile(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_COMPILEAHEAD_H
