//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs an application with the recording runtime loaded into it, and answers
/// the requests of that runtime (Runtime/Wire.h). No LLVM code runs in the
/// application's process: the launcher performs any compilation.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LAUNCH_LAUNCHER_H
#define LLVM_MNEME_LAUNCH_LAUNCHER_H

#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Launch/Profile.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace llvm {
namespace mneme {

enum class LaunchDevice { Auto, Host, Cuda, Hip };

/// Encoded kernels by module, payload, symbol, and whether for the host device.
using CompiledKernels =
    std::map<std::tuple<Digest128, Digest128, std::string, bool>, std::string>;

/// The launches and the data to record; values are as in the options of
/// llvm-mneme-record.
struct LaunchSelection {
  /// POSIX extended regular expression on the symbol or the demangled name;
  /// empty selects every kernel.
  std::string KernelRegex;
  uint64_t Skip = 0; ///< Launches to skip at the start of each kernel.
  /// The only launches of each kernel to record, from 1 ("3,10-12,100-"); empty
  /// for all.
  std::string Launches;
  uint64_t MaxRecordings = 4;      ///< Per kernel; 0: no limit.
  bool RequireIR = false; ///< Skip kernels of which there is an image only.
  std::string RecordId = "launch"; ///< The inputs of the dynamic hash.
  std::string Pick = "first";      ///< The launches to keep if there are too
                                   ///< many.
  std::string Epilogue = "diff";   ///< The memory to write after a launch.
  uint64_t MaxBytes = 0;           ///< Size limit of the folder; 0: no limit.
  /// Ranks of a distributed run: "all", or a list; empty for the first rank.
  std::string Ranks;
  /// Record only within regions (mneme/record.h) whose name matches; empty to
  /// ignore regions.
  std::string RegionRegex;
  /// Omit memory that no argument or global leads to.
  bool Reachable = false;
  /// Leave device memory of a GPU where the program's runtime allocates it.
  bool Ipc = false;
  std::string Wait = "device"; ///< The condition that a launch on a GPU waits
                               ///< for.
  /// Seconds that a launch on a GPU may wait to be recorded; 0: no limit.
  double WaitLimit = 10;

  /// The shapes of launches to record (Profile::cover); empty for all.
  std::string Shapes;

  /// Returns true if KernelRegex selects the kernel with this symbol.
  bool selects(StringRef Symbol) const;
  /// Fails if a value is invalid; the error names the option.
  Error check() const;
  /// Returns the environment variables for the runtime: names and values.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// Returns the entry of DynamicHashInputs that the dynamic hash covers
  /// besides the launch's configuration; may be empty.
  StringRef hashInput() const;
};

struct LaunchOptions {
  /// Program, looked up in PATH, and its arguments.
  std::vector<std::string> Command;
  /// Created if it does not exist.
  std::string OutputDir = "mneme-recordings";
  /// Reject OutputDir if other users can write to it, or it is a symbolic link.
  bool OwnOutputDir = false;
  std::string RuntimePath;     ///< libmneme_rt.so
  std::string CudaRuntimePath; ///< libmneme_rt_cuda.so
  std::string HipRuntimePath;  ///< libmneme_rt_hip.so
  std::string DriverPath;      ///< MnemeHostDriver.so
  std::string ProfilerPath;    ///< libmneme_profile_cuda.so
  LaunchDevice Device = LaunchDevice::Auto;
  /// If this file exists and Device is LaunchDevice::Cuda, the application
  /// starts while the driver is still listing its GPUs.
  std::string CudaNode = "/dev/nvidiactl";
  HostOptions Host;
  /// Files with IR for images that the application loads on the host device
  /// without registering their IR.
  std::vector<std::shared_ptr<MemoryBuffer>> IR;
  /// Run clang's pipeline at the application's -O level on kernels for the host
  /// device, like the baseline of a study. Otherwise, no GPU pass runs.
  bool RunsPipeline = false;
  LaunchSelection Selection;
  uint64_t VASize = MNEME_ARENA_SIZE; ///< Bytes of address space for the arena.
  double TimeoutSeconds = 0;          ///< Per launch; 0: none.
  bool Record = true;                 ///< False: only run the application on
                                      ///< the device.
  bool Quiet = false;                 ///< No summary.
  /// What runs with the same Host and RunsPipeline have compiled; a run adds
  /// to it. May be null.
  CompiledKernels *Compiled = nullptr;
  /// Receives the profile of the application; if set, launches are timed, and
  /// nothing is recorded.
  std::function<void(Profile)> TakeProfile;
  /// End the application once this many launches of every selected kernel of
  /// the executable are recorded; the exit code is then 0. 0: never.
  uint64_t StopAfter = 0;
  /// Allow an executable without payload, which loads or starts the
  /// instrumented code itself.
  bool AnyExecutable = false;

  /// Receives warnings.
  std::function<void(const Twine &)> Warn = [](const Twine &) {};
  /// Receives errors after which the application still runs to its end.
  std::function<void(Error)> ReportError = [](Error E) {
    consumeError(std::move(E));
  };
  /// Receives the current counts every few seconds; may be null.
  std::function<void(const Twine &)> ShowProgress;
  /// Receives the summary at the end, several lines in one call.
  std::function<void(StringRef)> PrintSummary = [](StringRef) {};
  /// Receives, after the summary, the first launch of each kernel that was
  /// recorded on the host device: the kernel's file and the dynamic hash.
  std::function<void(ArrayRef<std::pair<std::string, std::string>> Launches)>
      CheckRecorded;
};

/// Runs the application to its end. \returns its exit code; 128 + N if signal N
/// killed it; 1, after ReportError, if no GPU is suitable or no launched kernel
/// is selected. Fails if the application was not started.
Expected<int> launchApplication(const LaunchOptions &Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LAUNCH_LAUNCHER_H
