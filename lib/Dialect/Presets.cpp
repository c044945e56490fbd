//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Dialect/Import.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr Preset Presets[] = {
#define PRESET(Name, Text) {StringLiteral(Name), StringLiteral(Text)},
#include "Presets.inc"
#undef PRESET
};

StringRef Preset::summary() const {
  StringRef Line = Text.take_until([](char C) { return C == '\n'; });
  return Line.ltrim("/ ");
}

ArrayRef<Preset> mneme::getPresets() { return Presets; }

Expected<Study> mneme::getPreset(StringRef Name) {
  for (const Preset &P : Presets)
    if (P.Name == Name)
      return parseStudy(P.Text, ("preset " + Name).str());
  auto Names = map_range(Presets, [](const Preset &P) { return P.Name; });
  return createStringError("there is no preset '" + Name +
                           "'; there are: " + join(Names, ", "));
}
