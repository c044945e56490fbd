//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Stubs of the dialect's functions for a build without MLIR.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Import.h"

using namespace llvm;
using namespace llvm::mneme;

static Error makeError() {
  return createStringError(
      "no presets and no studies as text: this tool was built without MLIR; "
      "define the space with --block-x, --passes and similar options");
}

Expected<Study> mneme::parseStudy(StringRef, StringRef) { return makeError(); }

Expected<std::string> mneme::printStudy(const Study &) { return makeError(); }

StringRef Preset::summary() const { return ""; }

ArrayRef<Preset> mneme::getPresets() { return {}; }

Expected<Study> mneme::getPreset(StringRef) { return makeError(); }
