//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Settings from the application's environment.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_ENVIRONMENT_H
#define MNEME_LIB_RUNTIME_BASE_ENVIRONMENT_H

#include "Message.h"
#include "Variables.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <clocale>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

namespace mneme {

/// Reads an integer. \returns \p Default if \p Name is not set or empty, or,
/// with a warning, if it is not an integer.
inline uint64_t integerFromEnv(const char *Name, uint64_t Default) {
  const char *S = getVariable(Name);
  if (!S || !*S)
    return Default;
  char *End;
  uint64_t V = strtoull(S, &End, 0);
  if (!*End)
    return V;
  tell("mneme: warning: %s: '%s' is not an integer\n", Name, S);
  return Default;
}

/// The same as strtod(), whatever the locale of the application.
inline double parseDecimal(const char *Text, char **End) {
  static const locale_t Plain = newlocale(LC_ALL_MASK, "C", nullptr);
  return Plain ? strtod_l(Text, End, Plain) : strtod(Text, End);
}

/// Returns the address at which device memory begins.
inline uint64_t arenaBaseFromEnv() {
  return integerFromEnv(MNEME_ENV_VA_BASE, MNEME_ARENA_BASE);
}

/// Returns the size of the address range for device memory in bytes.
inline uint64_t arenaSizeFromEnv() {
  constexpr unsigned GiB = 30;
  uint64_t Most = MNEME_ARENA_SIZE >> GiB;
  uint64_t Size = integerFromEnv(MNEME_ENV_VA_SIZE, Most);
  return (Size && Size < Most ? Size : Most) << GiB;
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_ENVIRONMENT_H
