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

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <optional>

namespace llvm {
namespace mneme {

/// Returns true if brackets are nested more than 64 deep. LLVM's parser is
/// recursive, so deep nesting would exhaust the stack.
bool isNestedTooDeep(StringRef Text);

/// Calls json::parse() on untrusted text. Errors are TextErrors.
Expected<json::Value> parseJSON(StringRef Text);
/// The same for a file of at most MaxTextFile bytes. Errors name the file.
Expected<json::Value> readJSONFile(StringRef Path);

/// Returns null for an empty text. Bytes that are not UTF-8 are replaced.
json::Value orNull(StringRef Text);
template <typename T> json::Value orNull(const std::optional<T> &V) {
  return V ? json::Value(*V) : json::Value(nullptr);
}
inline json::Value orNull(const std::optional<json::Object> &V) {
  return V ? json::Value(json::Object(*V)) : json::Value(nullptr);
}

/// An error about the value of a key of a JSON object.
class KeyError : public ErrorInfo<KeyError> {
public:
  static char ID;
  KeyError(StringRef Key, const Twine &Message)
      : Key(Key.str()), Message(Message.str()) {}
  std::string Key, Message;
  void log(raw_ostream &OS) const override { OS << Message; }
  std::error_code convertToErrorCode() const override;
};

/// Converts a KeyError to a TextError at the key. \p Text is valid JSON, and
/// \p Path the keys that lead to the object from the outermost one. Returns
/// other errors unchanged.
Error locateKey(StringRef Text, ArrayRef<StringRef> Path, Error E);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_JSON_H
