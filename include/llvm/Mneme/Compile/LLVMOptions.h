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

#include "llvm/ADT/SmallVector.h"
#include "llvm/Mneme/Config/LLVMOption.h"

namespace llvm {
namespace cl {
class Option;
} // namespace cl
namespace mneme {

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
  /// \p SkipUnknown: leaves options that LLVM does not have to others.
  Error enter(ArrayRef<LLVMOption> Options, bool SkipUnknown = false);

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
Error checkLLVMOptions(ArrayRef<LLVMOption> Options, bool SkipUnknown = false);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_LLVMOPTIONS_H
