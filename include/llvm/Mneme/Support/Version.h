//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_VERSION_H
#define LLVM_MNEME_SUPPORT_VERSION_H

#include "llvm/ADT/StringRef.h"

namespace llvm {
class raw_ostream;
namespace mneme {

/// Returns the version, like "0.1.0".
StringRef getVersion();

/// Prints the versions of Mneme and the record format, for
/// cl::AddExtraVersionPrinter.
void printVersion(raw_ostream &OS);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_VERSION_H
