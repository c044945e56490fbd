//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The tunable settings of a replay (Config.def): as members of a structure, as
/// JSON objects ("configurations") and as words of a command line.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_CONFIG_KERNELCONFIG_H
#define LLVM_MNEME_CONFIG_KERNELCONFIG_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Config/LLVMOption.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

/// The first stage that a setting affects, in the order of a replay.
enum class SettingStage {
  Input,
  Specialize,
  Pipeline,
  CodeGen,
  BackEnd, ///< Code generation by another program.
  Assembler,
  Launch,
};

enum class SettingType { Bool, Int, Text };

/// Effects of a setting outside the compilation.
enum class SettingReach {
  Nothing,
  RunsPrograms,
  ReadsFiles,
  Pipeline,   ///< Those of its passes.
  PtxasWords, ///< Those of its ptxas options.
};

/// The values of llvm-mneme-tune's option.
enum class SettingTuning {
  None,  ///< No option.
  Fixed, ///< One value for the whole study.
  Numbers,
  Switch,
  Texts,
  Pipeline,
};

/// A row of Config.def.
struct SettingInfo {
  StringLiteral Key, Option;
  SettingType Type;
  SettingStage Stage;
  SettingReach Reach;
  SettingTuning Tuning;
  StringLiteral TuneOption, DependsOn, ValueDesc, Help;

  /// Returns true if llvm-mneme-tune's option is a space of values.
  bool isSearched() const {
    return Tuning != SettingTuning::None && Tuning != SettingTuning::Fixed;
  }
};

/// Returns the rows in the order of the table.
ArrayRef<SettingInfo> getSettings();
/// Returns the row of a key; null for "llvm.NAME", "define.NAME" and unknown
/// keys.
const SettingInfo *findSetting(StringRef Key);

/// The prefixes of the keys of LLVM options, and of macros of a source.
inline constexpr StringLiteral LLVMKeyPrefix = "llvm.",
                               DefineKeyPrefix = "define.";

/// Returns the prefix of a key with a name: "llvm." or "define."; else nothing.
StringRef getKeyPrefix(StringRef Key);

/// Returns the stage of a key; Input for "define.NAME", Pipeline for
/// "llvm.NAME" and unknown keys.
SettingStage getSettingStage(StringRef Key);
/// Returns true if the setting affects only the launch, not the code.
bool isLaunchField(StringRef Key);

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The settings that the compiler takes unchanged. A setting with its default
/// value is as recorded.
struct CompileConfig {
#define SETTING(...)
#define COMPILE_SETTING(Key, Option, Type, Member, ...) Type Member{};
#include "llvm/Mneme/Config/Config.def"

  /// "llvm.NAME". Set during the compilation only.
  std::vector<mneme::LLVMOption> LLVMOptions;
};

/// All settings.
struct KernelConfig : CompileConfig {
#define SETTING(Key, Option, Type, Member, ...) Type Member{};
#define COMPILE_SETTING(...)
#define SETTING_AXIS(...)
#include "llvm/Mneme/Config/Config.def"

  std::optional<uint32_t> Grid[3], Block[3];

  /// "define.NAME": macros for Source.
  std::vector<mneme::LLVMOption> Defines;
};

/// Sets the settings in \p Config and keeps the others in \p C. A value of
/// "llvm.NAME" is a string, a number, a boolean or, for repeatable options, an
/// array of these; it replaces all options of that name. Fails on unknown keys,
/// wrong types and numbers out of range; errors are KeyErrors (Support/JSON.h).
/// "define.NAME" takes one value.
/// Whether LLVM accepts an option and its value is checked elsewhere.
Error applyConfig(const json::Object &Config, KernelConfig &C);

/// Returns the error of applyConfig().
Error checkConfig(const json::Object &Config);

/// Returns the configuration in \p C: all settings that are not as recorded.
json::Object makeConfig(const KernelConfig &C);

/// Returns a string that represents a program in a key. Different programs must
/// have different strings.
using ProgramKeyFn = function_ref<std::string(StringRef Program)>;
/// Returns a key of the settings that affect stage \p From or later stages, up
/// to the assembler. Equal keys imply equal settings.
std::string getKey(const CompileConfig &C, SettingStage From,
                   ProgramKeyFn ProgramKey);

//===----------------------------------------------------------------------===//
// Command lines
//===----------------------------------------------------------------------===//

/// Returns llvm-mneme-replay's option of a key, without hyphens; empty if there
/// is none.
StringRef getOptionName(StringRef Key);
/// Returns the key of an option without hyphens, "llvm." for "mllvm" and
/// "define." for "define"; empty if there is none.
StringRef getOptionKey(StringRef Option);
/// Returns the options of all settings, without hyphens.
std::vector<StringRef> getOptionNames();
/// Returns true if the value of an option may not be omitted. \p Key is that of
/// getOptionKey().
bool needsValue(StringRef Key);

/// Sets one option of a command line in \p Config. Errors quote it.
Error addOption(json::Object &Config, StringRef Option, StringRef Value);

/// Converts \p Config to options in a fixed order.
std::vector<std::string> makeOptions(const json::Object &Config);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_CONFIG_KERNELCONFIG_H
