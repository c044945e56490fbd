//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM options (cl::opt) as text.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_CONFIG_LLVMOPTION_H
#define LLVM_MNEME_CONFIG_LLVMOPTION_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// An option: "-unroll-threshold=500" or, without a value, "-enable-gvn-hoist".
struct LLVMOption {
  std::string Name;  ///< Without dashes.
  std::string Value; ///< As on a command line; may be empty.

  bool operator==(const LLVMOption &O) const {
    return Name == O.Name && Value == O.Value;
  }
};

/// Parses "-name=value", "name=value" or "-name".
Expected<LLVMOption> parseLLVMOption(StringRef Text);
/// Returns "-name=value".
std::string toString(const LLVMOption &O);

/// Returns true for an identifier.
bool isMacroName(StringRef Name);

/// Parses a macro, NAME=VALUE or NAME, whose value is 1. Fails on other names
/// than identifiers and on values of several lines.
Expected<LLVMOption> parseDefine(StringRef Text);

/// Replaces all of \p Options that have the same name as one of \p New, and
/// appends \p New.
void overrideLLVMOptions(std::vector<LLVMOption> &Options,
                         ArrayRef<LLVMOption> New);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_CONFIG_LLVMOPTION_H
