//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// JSON from outside: files that somebody sends, programs that answer.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_JSON_H
#define LLVM_MNEME_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace llvm {
namespace mneme {

/// Are there more than 64 brackets inside each other? LLVM's parser recurses,
/// so a text of brackets would exhaust its stack.
bool isNestedTooDeep(StringRef Text);

/// json::parse() for texts that nobody has looked at. Error: what that says, or
/// "nested too deeply".
Expected<json::Value> parseJSON(StringRef Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_JSON_H
