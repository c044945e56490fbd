//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Studies from command lines: --block-x=64..1024:64 --require='...'.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_COMMANDLINESPACE_H
#define LLVM_MNEME_TUNE_COMMANDLINESPACE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/Mneme/Tune/Study.h"

namespace llvm {
namespace mneme {

/// An option of CommandLineSpace.def, without dashes, and its value.
struct SpaceOption {
  std::string Name, Text;
};

/// The options of a command line, in any order but that of the lists among
/// them.
using CommandLineSpace = std::vector<SpaceOption>;

/// Says in \p S what the options say: in an empty study, or instead of what it
/// has for the same fields. Where blocks are given and no grid, the grid covers
/// the recorded threads, and blocks have 1024 threads at most. Without
/// objectives it gets time. The result has passed checkStudy(). Errors quote
/// the option.
Error applyToStudy(const CommandLineSpace &Space, Study &S);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_COMMANDLINESPACE_H
