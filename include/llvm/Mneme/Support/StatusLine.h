//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A status line on the terminal.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_STATUSLINE_H
#define LLVM_MNEME_SUPPORT_STATUSLINE_H

#include "llvm/ADT/Twine.h"
#include <cstddef>

namespace llvm {
namespace mneme {

/// One line on standard error; each text replaces the previous one. Prints
/// nothing without a terminal.
class StatusLine {
public:
  StatusLine();
  ~StatusLine() { clear(); }
  StatusLine(const StatusLine &) = delete;
  StatusLine &operator=(const StatusLine &) = delete;
  /// Shows \p Text, cut at the terminal's width.
  void set(const Twine &Text);
  /// Removes the line. Call it before other output.
  void clear();

private:
  size_t Columns = 0; ///< 0: no terminal.
  bool IsShown = false;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_STATUSLINE_H
