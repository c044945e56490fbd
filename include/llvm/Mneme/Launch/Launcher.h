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
/// what that runtime asks (Runtime/Wire.h). No LLVM runs in the application's
/// process: what must be compiled while it runs is compiled here.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LAUNCH_LAUNCHER_H
#define LLVM_MNEME_LAUNCH_LAUNCHER_H

#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/Error.h"
#include <string>
#include <utility>
#include <vector>

namespace llvm {
namespace mneme {

enum class LaunchDevice { Auto, Host, Cuda };

/// Which launches are recorded, and what of them; in the words of the options
/// of llvm-mneme-record.
struct LaunchSelection {
  /// POSIX extended regular expression on the symbol or the demangled name;
  /// empty selects every kernel.
  std::string KernelRegex;
  uint64_t Skip = 0; ///< First launches of each kernel not to record.
  /// The only launches of each kernel to record, from 1 ("3,10-12,100-"); empty
  /// for all.
  std::string Launches;
  uint64_t MaxRecordings = 4;       ///< Of each kernel; 0 = no limit.
  std::string RecordId = "launch";  ///< What tells launches apart.
  std::string Pick = "first";       ///< Which of too many.
  std::string Epilogue = "diff";    ///< What is written of memory afterwards.
  uint64_t MaxBytes = 0;            ///< That the folder may hold; 0 = no limit.
  /// Of a distributed run: "all", or a list; empty for the first one.
  std::string Ranks;
  /// Only within regions (mneme/record.h) whose name matches this; empty where
  /// regions do not matter.
  std::string RegionRegex;
  /// Leave memory out that neither arguments nor globals lead to.
  bool Reachable = false;
  std::string Wait = "device"; ///< What a launch on a GPU waits for.
  /// Seconds that a launch on a GPU may have to wait to be recorded; 0 = any.
  double WaitLimit = 10;

  /// Error when something is not what it should be, by the option's name.
  Error check() const;
  /// What tells the runtime: names and values.
  std::vector<std::pair<std::string, std::string>> environment() const;
  /// What the dynamic hash covers besides the launch's configuration, as in
  /// DynamicHashInputs; empty for nothing.
  StringRef hashInput() const;
};

struct LaunchOptions {
  /// Program, looked up in PATH, and its arguments.
  std::vector<std::string> Command;
  /// Made when it is not there.
  std::string OutputDir = "mneme-recordings";
  /// Refuse OutputDir if other users can write to it, or it is a link.
  bool OwnOutputDir = false;
  std::string RuntimePath;     ///< libmneme_rt.so
  std::string CudaRuntimePath; ///< libmneme_rt_cuda.so
  LaunchDevice Device = LaunchDevice::Auto;
  /// Where this file exists, and LaunchDevice::Cuda is asked for, the
  /// application starts while the driver still tells which GPUs there are.
  std::string CudaNode = "/dev/nvidiactl";
  HostOptions Host;
  LaunchSelection Selection;
  uint64_t VASize = MNEME_ARENA_SIZE; ///< Bytes of address space for the arena.
  double TimeoutSeconds = 0;          ///< Of one launch; 0 = none.
  bool Record = true;                 ///< False: only run on the device.
  bool Quiet = false;                 ///< No summary, no warnings.
  /// Run an executable that holds no payload: it loads or starts the
  /// instrumented code itself.
  bool AnyExecutable = false;
};

/// Runs the application to its end. \returns its exit code, 128 + N when signal
/// N killed it, 1 when no GPU will do, which was told; an Error when it was not
/// started.
Expected<int> launchApplication(const LaunchOptions &Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LAUNCH_LAUNCHER_H
