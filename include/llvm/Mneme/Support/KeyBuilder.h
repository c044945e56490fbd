//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Builds cache keys.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_KEYBUILDER_H
#define LLVM_MNEME_SUPPORT_KEYBUILDER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/raw_ostream.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Encodes a list of fields as a string. Different lists have different
/// strings.
class KeyBuilder {
public:
  KeyBuilder &add(StringRef Text) {
    OS << Text.size() << ':' << Text;
    return *this;
  }
  KeyBuilder &add(uint64_t Number) {
    OS << Number << ';';
    return *this;
  }
  KeyBuilder &add(const Dim3 &D) { return add(D.X).add(D.Y).add(D.Z); }
  template <typename T> KeyBuilder &add(const std::optional<T> &V) {
    add(uint64_t(V.has_value()));
    return V ? add(*V) : *this;
  }
  template <typename T> KeyBuilder &add(const std::vector<T> &List) {
    add(List.size());
    for (const T &V : List)
      add(V);
    return *this;
  }
  std::string take() { return std::move(Text); }

private:
  std::string Text;
  raw_string_ostream OS{Text};
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_KEYBUILDER_H
