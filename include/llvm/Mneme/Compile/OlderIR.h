//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// IR for tools of an older LLVM. LLVM reads the IR of older versions, but not
/// of newer ones.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_OLDERIR_H
#define LLVM_MNEME_COMPILE_OLDERIR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>

namespace llvm {
class Module;
namespace mneme {

/// The oldest LLVM for which IR can be written: pointers are opaque, and
/// functions have memory(...) attributes.
inline constexpr unsigned OldestIRReader = 16;

/// Returns the text of \p M for LLVM \p Major, an older version. The text
/// means the same: attributes, flags and debug info that the version does not
/// know are left out, other IR is written in its older form. Errors name IR
/// without an older form, or the version if it is below OldestIRReader.
Expected<std::string> printForOlderLLVM(const Module &M, unsigned Major);

/// Returns target features ("+sm_90,+ptx88") without the version of PTX: an
/// older LLVM does not know it, and chooses one that has the processor.
std::string removePTXVersion(StringRef Features);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_OLDERIR_H
