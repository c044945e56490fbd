//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "NamePattern.h"
#include "Message.h"

#include <cstdlib>
#include <cstring>
#include <cxxabi.h>
#include <memory>
#include <new>

using namespace mneme;

Pattern::~Pattern() {
  if (Compiled)
    regfree(&Regex);
}

void Pattern::compile(const char *Text, const char *What) {
  int E = regcomp(&Regex, Text, REG_EXTENDED | REG_NOSUB);
  if (E == REG_ESPACE)
    throw std::bad_alloc();
  Compiled = !E;
  Bad = E;
  if (!E)
    return;
  char Message[128];
  regerror(E, &Regex, Message, sizeof(Message));
  tell("mneme: error: invalid pattern '%s' of %s: %s\n", Text, What, Message);
}

bool Pattern::matches(const char *Text) const {
  if (!Compiled)
    return !Bad;
  int E = regexec(&Regex, Text, 0, nullptr, 0);
  if (E == REG_ESPACE)
    throw std::bad_alloc();
  return !E;
}

/// Removes the suffix that clang appends to the mangled name of a static kernel
/// that -fgpu-rdc makes global.
static std::string mangledName(const std::string &Symbol) {
  static const char Infix[] = "__intern__";
  size_t At = Symbol.rfind(Infix);
  if (At == std::string::npos ||
      Symbol.find_first_not_of("0123456789abcdef", At + strlen(Infix)) !=
          std::string::npos)
    return Symbol;
  return Symbol.substr(0, At);
}

std::string mneme::demangled(const std::string &Symbol) {
  constexpr int NoMemory = -1;
  int Status;
  std::unique_ptr<char, void (*)(void *)> Demangled(
      abi::__cxa_demangle(mangledName(Symbol).c_str(), nullptr, nullptr,
                          &Status),
      free);
  if (Status == NoMemory)
    throw std::bad_alloc();
  return Demangled ? Demangled.get() : Symbol;
}

bool mneme::matchesSymbol(const Pattern &P, const std::string &Symbol) {
  return P.matches(Symbol.c_str()) || P.matches(demangled(Symbol).c_str());
}
