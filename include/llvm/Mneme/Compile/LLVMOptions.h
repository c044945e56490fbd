//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM's own options (cl::opt) for the time of one compilation. They are
/// global variables: a process has one compilation at a time that sets any, and
/// none beside it.
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

/// "-unroll-threshold=500". Without a value: "-enable-gvn-hoist".
struct LLVMOption {
  std::string Name;  ///< Without dashes.
  std::string Value; ///< As on a command line; may be empty.

  bool operator==(const LLVMOption &O) const {
    return Name == O.Name && Value == O.Value;
  }
};

/// Parses "-name=value", "name=value", "-name".
Expected<LLVMOption> parseLLVMOption(StringRef Text);
/// "-name=value".
std::string toString(const LLVMOption &O);

/// Replaces all of \p Options that have the name of one of \p New, and appends
/// these.
void overrideLLVMOptions(std::vector<LLVMOption> &Options,
                         ArrayRef<LLVMOption> New);

/// Sets options; its destructor makes them what they were. What an option's
/// callback has done besides stays (-opt-bisect-limit, -debug-only), and what
/// LLVM has looked at once (-regalloc) is not looked at again: isLasting().
class LLVMOptionScope {
public:
  LLVMOptionScope() = default;
  LLVMOptionScope(const LLVMOptionScope &) = delete;
  LLVMOptionScope &operator=(const LLVMOptionScope &) = delete;
  ~LLVMOptionScope();

  /// Call once. Of an option that can be given once, the last one counts; one
  /// that is a list gets all. Errors, after which nothing is set: LLVM has no
  /// such option, it takes no such value (LLVM says more about that on standard
  /// error), it was set on the command line of the process.
  Error enter(ArrayRef<LLVMOption> Options);

private:
  SmallVector<cl::Option *, 4> Set;

  void leave();
};

/// Can it have effects after LLVMOptionScope, or none because of what was
/// compiled before? Such a one wants a process of its own. It is in
/// LastingOptions.def, or a list, which may be anything.
bool isLasting(const LLVMOption &O);

/// Says what enter() would say, in a process of its own: here nothing is set.
Error checkLLVMOptions(ArrayRef<LLVMOption> Options);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_LLVMOPTIONS_H
