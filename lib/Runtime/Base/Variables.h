//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Mneme's variables of the environment. An application may remove them
/// (clearenv()) before it uses the GPU, so those that it started with count.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_BASE_VARIABLES_H
#define MNEME_LIB_RUNTIME_BASE_VARIABLES_H

#include <cstdlib>
#include <cstring>
#include <sys/auxv.h>
#include <unistd.h>

namespace mneme {

/// Copies Mneme's variables, one after the other; the last one is empty.
inline char *copyVariables() {
  static constexpr char Prefix[] = "MNEME_";
  auto ForEach = [](auto Fn) {
    for (char **V = environ; V && *V; ++V)
      if (!strncmp(*V, Prefix, sizeof(Prefix) - 1))
        Fn(*V, strlen(*V) + 1);
  };
  size_t Size = 1;
  ForEach([&](const char *, size_t Length) { Size += Length; });
  char *Copy = static_cast<char *>(malloc(Size)), *End = Copy;
  if (!Copy)
    return nullptr;
  ForEach([&](const char *Text, size_t Length) {
    memcpy(End, Text, Length);
    End += Length;
  });
  *End = 0;
  return Copy;
}

/// As the process was when this library was loaded.
inline const char *const VariablesAtStart = copyVariables();

/// Returns the value of one of Mneme's variables. Null: it was never set.
inline const char *getVariable(const char *Name) {
  if (const char *Text = getenv(Name))
    return Text;
  const size_t Length = strlen(Name);
  for (const char *V = VariablesAtStart; V && *V; V += strlen(V) + 1)
    if (!strncmp(V, Name, Length) && V[Length] == '=')
      return V + Length + 1;
  return nullptr;
}

/// The same; null in privileged programs.
inline const char *getSecureVariable(const char *Name) {
  return getauxval(AT_SECURE) ? nullptr : getVariable(Name);
}

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_BASE_VARIABLES_H
