//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/JSON.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned MaxNesting = 64;

bool mneme::isNestedTooDeep(StringRef Text) {
  unsigned Depth = 0;
  bool InString = false;
  for (size_t I = 0; I < Text.size(); ++I) {
    char C = Text[I];
    if (InString) {
      I += C == '\\';
      InString = C != '"';
    } else if (C == '"') {
      InString = true;
    } else if (C == '[' || C == '{') {
      if (++Depth > MaxNesting)
        return true;
    } else if ((C == ']' || C == '}') && Depth) {
      --Depth;
    }
  }
  return false;
}

Expected<json::Value> mneme::parseJSON(StringRef Text) {
  if (isNestedTooDeep(Text))
    return createStringError("nested too deeply");
  return json::parse(Text);
}
