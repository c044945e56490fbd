//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Loads images of CPU code (JitImage) into this process. They stay until it
/// ends: threads may be in them.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_CODEIMAGE_H
#define MNEME_LIB_RUNTIME_JIT_CODEIMAGE_H

#include "llvm/Mneme/Runtime/JitExchange.h"

#include <string>

namespace mneme {

/// Finds the addresses of symbols.
class SymbolSource {
public:
  virtual ~SymbolSource() = default;
  /// Returns null for an unknown symbol. May throw.
  virtual void *find(const std::string &Name) const = 0;
};

/// Loads an image, registers its frames for exceptions and its functions for
/// debuggers. \returns its address, or null with an error message. Throws
/// std::bad_alloc, with nothing done.
void *loadCodeImage(const JitImage &Image, const SymbolSource &Symbols,
                    std::string &Error);

/// Tells debuggers of functions at \p Base (the GDB interface). May throw.
void announceFunctions(const JitImage &Image, char *Base);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_CODEIMAGE_H
