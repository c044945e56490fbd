//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM options (cl::opt) for the duration of one compilation. They are global
/// variables: while a compilation that sets any of them runs, the process must
/// not run another one.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_LLVMOPTIONS_H
#define LLVM_MNEME_COMPILE_LLVMOPTIONS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace cl {
class Option;
} // namespace cl
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

/// Replaces all of \p Options that have the same name as one of \p New, and
/// appends \p New.
void overrideLLVMOptions(std::vector<LLVMOption> &Options,
                         ArrayRef<LLVMOption> New);

/// Sets options; the destructor restores them. Does not undo other effects of
/// an option's callback (-opt-bisect-limit, -debug-only) and does not affect
/// options that LLVM reads only once (-regalloc): see isLasting().
class LLVMOptionScope {
public:
  LLVMOptionScope() = default;
  LLVMOptionScope(const LLVMOptionScope &) = delete;
  LLVMOptionScope &operator=(const LLVMOptionScope &) = delete;
  ~LLVMOptionScope();

  /// Sets \p Options; call once. The last value of a scalar option counts, a
  /// list receives all values. On an error, sets nothing. Fails if LLVM has no
  /// such option, does not accept the value (LLVM prints details to standard
  /// error), or the option was set on the command line of the process.
  Error enter(ArrayRef<LLVMOption> Options);

private:
  SmallVector<cl::Option *, 4> Set;

  void leave();
};

/// Returns true if the option may have effects after its LLVMOptionScope or be
/// ineffective after previous compilations, and thus requires a separate
/// process. True for the options in LastingOptions.def and for all lists, which
/// are not classified.
bool isLasting(const LLVMOption &O);

/// Returns the error of enter(), determined in a child process: sets nothing
/// here.
Error checkLLVMOptions(ArrayRef<LLVMOption> Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_LLVMOPTIONS_H
