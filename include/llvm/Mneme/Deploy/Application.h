//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs an application with and without packages, and judges whether its
/// results are the same.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_DEPLOY_APPLICATION_H
#define LLVM_MNEME_DEPLOY_APPLICATION_H

#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Regex.h"
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct ApplicationOptions {
  std::vector<std::string> Command; ///< Program, looked up in PATH; arguments.
  /// Files that each run writes anew, and that are compared.
  std::vector<std::string> OutputFiles;
  /// Command for /bin/sh that judges two runs; empty: the exit code, standard
  /// output and OutputFiles must be equal.
  std::string Check;
  /// POSIX extended regular expression: lines of standard output and
  /// OutputFiles that are not compared. Empty: none.
  std::string IgnoreLines;
  LaunchDevice Device = LaunchDevice::Auto;
  /// How the application's own kernels are compiled for the host device.
  HostFinish Finish = HostOptions().Finish;
  /// Run clang's pipeline on them before, like the baseline of a study.
  bool RunsPipeline = false;
  double Timeout = 600;    ///< Seconds per run; 0: none.
  std::string LibraryPath; ///< Folder of libmneme_rt.so, libmneme_deploy.so.
};

/// Returns the folder of the libraries that belong to the tool \p Argv0.
std::string getLibraryFolder(const char *Argv0);

/// Fails if \p Seconds, the value of --\p Option, is no time limit.
Error checkSeconds(StringRef Option, double Seconds);

/// Returns the device that kernels run on: for Auto, that of this machine.
LaunchDevice findServedDevice(LaunchDevice Device);

/// Returns the absolute paths of packages. Fails for a package that cannot be
/// read, and for a path with a colon, which separates packages in MNEME_TUNED.
Expected<std::vector<std::string>> resolvePackages(ArrayRef<std::string> Paths);

/// Returns the value of LD_PRELOAD that adds libmneme_deploy.so, or for AMD
/// GPUs libmneme_deploy_hip.so.
Expected<std::string> getPreloadValue(StringRef LibraryPath,
                                      LaunchDevice Device);

/// Returns the options for an application on the host device that is not
/// recorded. ReportError is the caller's.
LaunchOptions makeHostLaunch(std::vector<std::string> Command,
                             StringRef LibraryPath);

/// The launches that a variant served.
struct VariantUse {
  std::string StaticHash, ImageDigest; ///< Hexadecimal digits.
  uint64_t Number = 0; ///< From 1, within the kernel of the package.
  uint64_t Served = 0;
  std::vector<double> Times; ///< Nanoseconds.
  /// On the host device, nanoseconds for which CPUs ran the process in these
  /// launches.
  double CPUTime = 0;
};

/// The launches that packages served, in all processes of a run.
struct PackageUse {
  unsigned NumReports = 0; ///< Processes that reported.
  uint64_t Served = 0, FellBack = 0, TooEarly = 0, Unmatched = 0;
  std::map<std::string, uint64_t> Reasons; ///< Launches that fell back.
  std::vector<VariantUse> Variants;

  /// Returns why nothing was served, or not everything.
  std::string explain() const;
  /// Returns how many launches were served, and why others were not.
  std::string summarize() const;
};

/// Adds up the reports (MNEME_TUNED_REPORT) report.*.json in a folder.
Expected<PackageUse> readPackageUse(StringRef Folder);

/// Returns how the lines of two texts differ that the regular expression
/// \p IgnoreLines does not match, and which ones to ignore in addition; empty
/// if they do not differ.
std::string explainOutputs(StringRef A, StringRef B,
                           const std::string &IgnoreLines);

/// The launches to serve, in the words of the environment. Empty: the default.
struct ServeSettings {
  std::string Scope, LaunchShape, Code, DeviceMatch;
};

/// How an application runs.
struct RunSettings {
  std::vector<std::string> Packages; ///< Absolute paths; empty: plain.
  ServeSettings Serve;
  /// "plain", "tuned" (MNEME_TUNED_TIMES), or empty: launches are not timed.
  std::string Times;

  /// Returns true if packages serve launches.
  bool isTuned() const { return !Packages.empty() && Times != "plain"; }
};

/// A run of the application. The folder has its standard output, "stdout", its
/// standard error, "stderr", and the output files in "files".
struct ApplicationRun {
  PrivateFolder Folder;
  int ExitCode = 0; ///< 128 + N if signal N ended it.
  bool TimedOut = false;
  double Limit = 0;   ///< Seconds that it was given.
  double Seconds = 0; ///< Wall clock.
  PackageUse Use;

  bool hasFailed() const { return TimedOut || ExitCode != 0; }
  /// Describes a failure, with the last line of standard error.
  std::string describeFailure() const;
};

/// An application whose results without packages are the reference. Call it in
/// a process with one thread.
class Application {
public:
  /// Runs the application twice without packages. Fails if a run fails, or if
  /// their results are not the same.
  static Expected<std::unique_ptr<Application>> create(ApplicationOptions O);

  /// Runs the application, for at most ten times as long as without packages,
  /// plus ten seconds. Fails if it cannot be started.
  Expected<ApplicationRun> run(const RunSettings &S);
  /// Returns an empty string if the results are those of the reference, else
  /// the difference. Fails if --check cannot judge them.
  Expected<std::string> compare(const ApplicationRun &R);
  /// Like compare(), for a plain run; a difference is an error.
  Error comparePlain(const ApplicationRun &R);

  /// Returns true if kernels run on a GPU.
  bool usesGPU() const {
    return findServedDevice(O.Device) != LaunchDevice::Host;
  }
  /// Returns a path in a private folder that lives as long as this object.
  std::string pathOf(StringRef Name) const { return Folder.pathOf(Name); }

private:
  explicit Application(ApplicationOptions O) : O(std::move(O)) {}
  Error prepare();
  Error runReference();
  Error checkResults() const;
  Error execute(const RunSettings &S, ApplicationRun &R);
  Error collectFiles(ApplicationRun &R);
  Expected<std::string> check(const ApplicationRun &R) const;

  ApplicationOptions O;
  PrivateFolder Folder;
  ApplicationRun Reference;
  std::optional<Regex> Ignored; ///< IgnoreLines.
  double Longest = 0; ///< Seconds of the longest plain run; 0: none yet.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_DEPLOY_APPLICATION_H
