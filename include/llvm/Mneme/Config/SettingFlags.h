//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The settings of Config.def as options of a tool.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_CONFIG_SETTINGFLAGS_H
#define LLVM_MNEME_CONFIG_SETTINGFLAGS_H

#include "llvm/Mneme/Config/KernelConfig.h"
#include <memory>

namespace llvm {
namespace cl {
class OptionCategory;
} // namespace cl
namespace mneme {

/// Registers options. Create it before parsing the command line.
class SettingFlags {
public:
  /// Registers the options of those settings for which \p Categorize returns
  /// the option's category in --help. Null: no option.
  explicit SettingFlags(
      function_ref<cl::OptionCategory *(const SettingInfo &)> Categorize);
  ~SettingFlags();

  /// Returns true if the option of \p Key was given.
  bool isGiven(StringRef Key) const;
  /// Sets the options that were given.
  void apply(KernelConfig &C) const;

  struct Flag;

private:
  std::vector<std::unique_ptr<Flag>> Flags;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_CONFIG_SETTINGFLAGS_H
