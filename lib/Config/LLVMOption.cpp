//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/LLVMOption.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

bool mneme::isMacroName(StringRef Name) {
  return !Name.empty() && !isDigit(Name[0]) &&
         all_of(Name, [](char C) { return isAlnum(C) || C == '_'; });
}

Expected<LLVMOption> mneme::parseLLVMOption(StringRef Text) {
  auto [Name, Value] = Text.ltrim('-').split('=');
  if (Name.empty())
    return createStringError(
        formatv("invalid LLVM option '{0}': must be -NAME or -NAME=VALUE", Text)
            .str());
  return LLVMOption{Name.str(), Value.str()};
}

Expected<LLVMOption> mneme::parseDefine(StringRef Text) {
  auto [Name, Value] = Text.split('=');
  if (!isMacroName(Name) || Value.contains('\n'))
    return createStringError("invalid macro '" + Text +
                             "': must be NAME or NAME=VALUE");
  return LLVMOption{Name.str(), Text.contains('=') ? Value.str() : "1"};
}

std::string mneme::toString(const LLVMOption &O) {
  return "-" + O.Name + (O.Value.empty() ? "" : "=" + O.Value);
}

void mneme::overrideLLVMOptions(std::vector<LLVMOption> &Options,
                                ArrayRef<LLVMOption> New) {
  erase_if(Options, [&](const LLVMOption &Old) {
    return any_of(New, [&](const LLVMOption &O) { return O.Name == Old.Name; });
  });
  append_range(Options, New);
}
