//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a compiler, in a jail if its input is not trusted.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_RUNCOMPILER_H
#define LLVM_MNEME_SOURCE_RUNCOMPILER_H

#include "llvm/Mneme/Process/Child.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct CompilerSetup {
  std::string Directory = {}; ///< Empty: the current one.
  /// Restricts the compiler, which then has no environment; may be null.
  const Jail *Confined = nullptr;
  ChildLimits Limits = {};
  int In = NullStream; ///< Standard input.
};

/// A compiler that has ended.
struct CompilerRun {
  int Status = 0; ///< As of Child::wait().
  bool IsLate = false;
  std::string Messages; ///< Standard error, as far as the limit allows.
  double Seconds = 0;

  bool succeeded() const;
  /// Returns the reason of a failure: the first error, or how the process
  /// ended.
  std::string describeFailure() const;
};

/// Largest size of messages that are read.
inline constexpr uint64_t MaxMessages = 4 << 20;

/// Runs \p Program to its end. Fails if it cannot be started.
Expected<CompilerRun> runCompiler(const std::string &Program,
                                  ArrayRef<std::string> Words,
                                  const CompilerSetup &Setup);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_RUNCOMPILER_H
