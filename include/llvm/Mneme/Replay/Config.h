//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Configurations of replays: their side effects, their digest, their files.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_CONFIG_H
#define LLVM_MNEME_REPLAY_CONFIG_H

#include "llvm/Mneme/Compile/SideEffects.h"
#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// A setting with effects outside the compilation (the column Reach of
/// Config.def and the tables of Compile/SideEffects.def).
struct ConfigSideEffect {
  std::string Key;  ///< Key in the configuration.
  std::string Name; ///< The pass or ptxas option; empty: the key itself.
  SideEffect Effect;
};

/// Returns text like "'opt_tool' runs programs" or "'dot-cfg' in 'passes'
/// writes files".
std::string toString(const ConfigSideEffect &E);

/// Returns the settings of \p Config that run programs, load plugins, or read
/// or write files, sorted by key. Ignores those with the same value in \p Own,
/// the user's settings. Callers must ask the user before applying an untrusted
/// configuration (from a file or another machine). \p Config need not be valid
/// for applyConfig().
std::vector<ConfigSideEffect> findSideEffects(const json::Object &Config,
                                              const json::Object &Own = {});

/// Returns a hexadecimal digest of all inputs of a plan's compilation. Plans of
/// one recording with equal digests have equal code and differ at most in the
/// launch. The digest covers the launch if specialization or launch bounds make
/// the code depend on it.
std::string getCompileDigest(const ReplayPlan &Plan);

/// The key of --host-finish in the configuration of a side.
inline constexpr StringLiteral HostFinishKey = "host_finish";

/// Sets the settings of one side of a comparison: those of applyConfig() and
/// HostFinishKey. Fails like applyConfig().
Error applySide(const json::Object &Side, ReplayOptions &O);

/// Returns the configuration for applySide(): all settings that are not as
/// recorded, and HostFinishKey unless it is the default.
json::Object makeSideConfig(const ReplayOptions &O);

/// A file with a configuration: {"config": {...}}, optionally with
/// "static_hash" and "record_id" of the launch it was made for. A best.json
/// also has the options of the study and, of a study of several launches, the
/// configuration of each. Other keys are ignored. A replay report is also
/// a valid file, and so are a configuration, a replay's output and best.json of
/// LLNL's Mneme.
struct ConfigFile {
  std::string Path;
  json::Object Config;
  json::Object Options; ///< For applyResultOptions().
  /// By record id: some settings follow from the launch. May be empty.
  std::map<std::string, json::Object> OfLaunches;
  std::string StaticHash, RecordId; ///< May be empty.

  /// Returns the configuration for the launch whose record id begins with
  /// \p Beginning.
  const json::Object &configOf(StringRef Beginning) const;
};

/// Reads a configuration file. Errors quote it, with a caret.
Expected<ConfigFile> readConfigFile(StringRef Path);

/// Returns an Error for settings that findSideEffects() found in the file
/// \p Path and the user has not allowed; success if there are none.
Error refuseSideEffects(StringRef Path, ArrayRef<ConfigSideEffect> Found);

/// Fails if the file is for a kernel other than \p K.
Error checkConfigFile(const ConfigFile &File, const RecordedKernel &K);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_CONFIG_H
