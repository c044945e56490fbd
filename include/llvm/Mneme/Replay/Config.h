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

#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <string>

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

/// Is \p Plan a replay of the kernel that the file is for?
Error checkConfigFile(const ConfigFile &File, const ReplayPlan &Plan);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_CONFIG_H
