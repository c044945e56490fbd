//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Patterns for the names of kernels and regions.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_NAMEPATTERN_H
#define MNEME_LIB_RUNTIME_CORE_NAMEPATTERN_H

#include <regex.h>
#include <string>

namespace mneme {

/// An extended regular expression; if empty, everything matches.
class Pattern {
public:
  Pattern() = default;
  Pattern(const Pattern &) = delete;
  Pattern &operator=(const Pattern &) = delete;
  ~Pattern();
  /// Compiles the pattern. \p What describes it in the error message; an
  /// invalid pattern matches nothing. Throws std::bad_alloc, as does matches().
  void compile(const char *Text, const char *What);
  bool matches(const char *Text) const;

private:
  bool Compiled = false, Bad = false;
  regex_t Regex;
};

/// Returns true if \p P matches \p Symbol or its demangled form. Throws
/// std::bad_alloc.
bool matchesSymbol(const Pattern &P, const std::string &Symbol);

/// Returns the demangled form, or the symbol itself. Throws std::bad_alloc.
std::string demangled(const std::string &Symbol);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_NAMEPATTERN_H
