//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/StatusLine.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

StatusLine::StatusLine() {
  if (!sys::Process::StandardErrIsDisplayed())
    return;
  Columns = sys::Process::StandardErrColumns();
  if (!Columns)
    Columns = 80;
}

void StatusLine::set(const Twine &Text) {
  if (!Columns)
    return;
  errs() << "\r\x1b[K"
         << StringRef(printable(Text.str())).take_front(Columns - 1);
  IsShown = true;
}

void StatusLine::clear() {
  if (IsShown)
    errs() << "\r\x1b[K";
  IsShown = false;
}
