//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parses untrusted JSON from files and other programs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_JSON_H
#define LLVM_MNEME_SUPPORT_JSON_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"

namespace llvm {
namespace mneme {

/// Returns true if brackets are nested more than 64 deep. LLVM's parser is
/// recursive, so deep nesting would exhaust the stack.
bool isNestedTooDeep(StringRef Text);

/// Calls json::parse() on untrusted text. Fails with its error or "nested too
/// deeply".
Expected<json::Value> parseJSON(StringRef Text);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_JSON_H
