//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Host functions that the JIT compiles again: their IR, and the stubs that
/// take their place.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITFUNCTIONS_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITFUNCTIONS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class Constant;
class Function;
class GlobalVariable;
namespace mneme {

struct ExtractedFunction {
  std::string Payload; ///< PayloadFormat.h.
  /// The symbols that the IR refers to: names and addresses in the program. Of
  /// thread-local variables: functions that return the thread's address.
  std::vector<std::pair<std::string, Constant *>> Addresses;
};

/// Returns the IR of \p F, with copies of the functions that it calls. Adds
/// functions to the module of \p F for thread-local variables.
/// \param IsAnnotated  functions that are not copied, as their stubs decide.
ExtractedFunction
extractFunction(Function &F, char OptLevel,
                function_ref<bool(const Function &)> IsAnnotated);

/// Returns why \p F cannot have a stub, such as "it is variadic"; empty if it
/// can.
StringRef findStubObstacle(const Function &F);

/// Moves the body of \p F to a new function, and makes \p F call what the
/// runtime returns for a call, or the new function.
/// \param Entry   the MnemeJitEntry.
/// \param Places  the arguments whose addresses the runtime gets.
void makeStub(Function &F, GlobalVariable &Entry, ArrayRef<unsigned> Places);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_JITFUNCTIONS_H
