//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Settings from the environment, which privileged programs ignore.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_SETTINGS_H
#define MNEME_LIB_RUNTIME_BASE_SETTINGS_H

#include "Environment.h"
#include "Message.h"

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

namespace mneme {

/// Sets \p Choice to the index of a variable's value in \p Words. \returns
/// false, with a message, if \p Words does not contain it.
template <size_t N>
bool choose(const char *Name, const char *const (&Words)[N], uint32_t &Choice,
            bool Strict) {
  const char *Text = getSecureVariable(Name);
  if (!Text || !*Text)
    return true;
  std::string List;
  for (uint32_t I = 0; I != N; ++I) {
    if (!strcmp(Text, Words[I])) {
      Choice = I;
      return true;
    }
    List += (I ? ", '" : "'") + std::string(Words[I]) + "'";
  }
  tell("mneme: %s: %s: expected one of %s, got '%s'\n",
       Strict ? "error" : "warning", Name, List.c_str(), Text);
  return false;
}

/// Sets \p Number to a variable's value. \returns false, with a message, if it
/// is not a number from 0 to \p Max.
inline bool readNumber(const char *Name, double &Number, double Max,
                       bool Strict) {
  const char *Text = getSecureVariable(Name);
  if (!Text || !*Text)
    return true;
  char *End;
  double Value = parseDecimal(Text, &End);
  if (!*End && Value >= 0 && Value <= Max) {
    Number = Value;
    return true;
  }
  tell("mneme: %s: %s: expected a number from 0 to %g, got '%s'\n",
       Strict ? "error" : "warning", Name, Max, Text);
  return false;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_SETTINGS_H
