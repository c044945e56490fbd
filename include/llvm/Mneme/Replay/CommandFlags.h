//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Command-line options shared by all replaying tools: devices, compilation,
/// measurement and verification.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_COMMANDFLAGS_H
#define LLVM_MNEME_REPLAY_COMMANDFLAGS_H

#include "llvm/Mneme/Replay/Plan.h"
#include <memory>

namespace llvm {
namespace cl {
class OptionCategory;
} // namespace cl
namespace mneme {

/// Groups of options in --help. The last three hold options of
/// llvm-mneme-replay only.
enum class OptionGroup {
  Compilation,
  Launch,
  Device,
  Measurement,
  Verification,
  Output,
  Inspection,
  Comparison,
};

/// Returns the category of a group.
cl::OptionCategory &getCategory(OptionGroup Group);
/// Returns the categories of all groups.
std::vector<const cl::OptionCategory *> getCategories();

/// Registers the options. Create it before parsing the command line.
class ReplayFlags {
public:
  /// \param OfStudy  registers only settings that a study does not search;
  /// --host-finish is none by default.
  explicit ReplayFlags(bool OfStudy = false);
  ~ReplayFlags();

  /// Sets the options that the user gave. LLVM options (-mllvm) replace those
  /// of the same name in \p O. Fails on an invalid value.
  Error apply(ReplayOptions &O) const;
  /// Then sets those of a file (applyResultOptions()) that the user did not
  /// give.
  Error applyFile(const json::Object &Options, ReplayOptions &O) const;
  /// Returns a line "--name=value" for each option that affects results or
  /// times. Excludes the device and the CUDA path. Some options appear only if
  /// set.
  std::string describe() const;
  /// Returns true if the option of this key of Config.def was given.
  bool isGiven(StringRef Key) const;
  /// Returns true if --host-finish was given.
  bool hasHostFinish() const;
  /// Returns true if --allow-programs permits files to name programs and other
  /// files.
  bool allowsPrograms() const;

  struct Flag;

private:
  struct Options;
  std::unique_ptr<Options> O;
};

/// Returns the options of Flags.def, except settings, that set the members of
/// \p R. File names are absolute.
std::vector<std::string> makeFlags(const ReplayOptions &R);

/// Returns those of these options that affect results or times and name no
/// file, {"host_finish": "none", ...}: all of the host device if \p OnHost, and
/// others that are not the default.
json::Object makeResultOptions(const ReplayOptions &R, bool OnHost);
/// Sets the members of \p R that makeResultOptions() describes. Fails with a
/// KeyError for an unknown key or an invalid value.
Error applyResultOptions(const json::Object &Options, ReplayOptions &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_COMMANDFLAGS_H
