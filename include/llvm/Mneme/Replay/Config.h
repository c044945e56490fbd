//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Configurations: the options of a replay that can be tuned, as JSON objects
/// with the keys of Config.def and "llvm.NAME".
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_CONFIG_H
#define LLVM_MNEME_REPLAY_CONFIG_H

#include "llvm/Mneme/Compile/SideEffects.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Sets what \p Config has; the rest of \p O stays. A value of "llvm.NAME" is a
/// text, a number, true or false, or for an option that can be repeated an
/// array of these; it takes the place of all of that name. Errors quote key and
/// value: an unknown key, a value of another type, a number out of range.
/// Whether LLVM knows an option and takes its value is for the plan to say.
Error applyConfig(const json::Object &Config, ReplayOptions &O);

/// The configuration in \p O: what is not as recorded.
json::Object makeConfig(const ReplayOptions &O);

/// A setting that reaches outside of the compilation (the columns Reach of
/// Config.def and the tables of Compile/SideEffects.def).
struct ConfigSideEffect {
  std::string Key;  ///< Of the configuration.
  std::string Name; ///< The pass or the option of ptxas; empty: the key itself.
  SideEffect Effect;
};

/// "'opt_tool' runs programs", "'dot-cfg' in 'passes' writes files".
std::string toString(const ConfigSideEffect &E);

/// The settings of \p Config that run programs, load plugins, or read or write
/// files, sorted by key. Those with the same value in \p Own, the user's own
/// settings, do not count. Whoever takes a configuration from elsewhere (a
/// file, another machine) must ask before applying it. It need not be one that
/// applyConfig() takes.
std::vector<ConfigSideEffect> findSideEffects(const json::Object &Config,
                                              const json::Object &Own = {});

/// A digest, in hexadecimal, of all that decides what code a plan is compiled
/// to: plans of one recording with equal digests have equal code, and differ in
/// the launch at most. The launch counts where specialization or launch bounds
/// put it into the code.
std::string getCompileDigest(const ReplayPlan &Plan);

/// A file with a configuration: {"config": {...}}, and with "static_hash" and
/// "record_id" where it says what it was made for. Other keys are skipped. A
/// report of a replay is one, too.
struct ConfigFile {
  std::string Path;
  json::Object Config;
  std::string StaticHash, RecordId; ///< May be empty.
};

/// Errors name the file.
Expected<ConfigFile> readConfigFile(StringRef Path);

/// An Error for settings that findSideEffects() has found in the file \p Path
/// and that the user has not allowed; success if there are none.
Error refuseSideEffects(StringRef Path, ArrayRef<ConfigSideEffect> Found);

/// Is \p Plan a replay of the kernel that the file is for?
Error checkConfigFile(const ConfigFile &File, const ReplayPlan &Plan);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_CONFIG_H
