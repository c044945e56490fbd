//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Textual IR from before LLVM 17, whose pointers have pointee types. LLVM's
/// parser has no upgrade for it, unlike its reader of bitcode.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_IRUTILS_TYPEDPOINTERS_H
#define LLVM_MNEME_LIB_IRUTILS_TYPEDPOINTERS_H

#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>

namespace llvm {
namespace mneme {

/// Replaces each typed pointer by an opaque one ("float addrspace(1)*" by "ptr
/// addrspace(1)"), and moves the pointee type into attributes that need it
/// ("%S* byval" becomes "ptr byval(%S)"). Numbers of lines stay. \returns
/// nothing if the text has no typed pointer, or is not IR.
std::optional<std::string> upgradeTypedPointers(StringRef Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_IRUTILS_TYPEDPOINTERS_H
