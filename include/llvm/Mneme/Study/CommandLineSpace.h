//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Defines studies by command-line options: --block-x=64..1024:64
/// --require='...'.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_COMMANDLINESPACE_H
#define LLVM_MNEME_STUDY_COMMANDLINESPACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Study/Study.h"

namespace llvm {
namespace mneme {

/// An option that defines a study: of a setting (Config.def) or of
/// CommandLineSpace.def.
struct SpaceOptionInfo {
  StringRef Name; ///< Without dashes.
  StringRef Help;
};
std::vector<SpaceOptionInfo> getSpaceOptions();

/// An option of getSpaceOptions(), without dashes, and its value.
struct SpaceOption {
  std::string Name, Text;
};

/// The options of a command line. Only the relative order of list options
/// matters.
using CommandLineSpace = std::vector<SpaceOption>;

/// Adds the options to \p S, replacing existing definitions of the same fields.
/// If blocks are given but no grid, the grid covers the recorded threads, and
/// blocks have at most 1024 threads. The default objective is time. The result
/// passes checkStudy(). Errors quote the option, with a caret.
Error applyToStudy(const CommandLineSpace &Space, Study &S);

/// Removes the fields of grid, block and shared memory. Parameters that set them
/// get the recorded value, or else their default.
void keepLaunch(Study &S);

/// If \p Space has one version of a source, puts the knobs of its comments
/// (Source/Knobs.h) in front, except those that \p Space sets itself. Errors
/// name the file.
Error addKnobs(CommandLineSpace &Space);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_COMMANDLINESPACE_H
