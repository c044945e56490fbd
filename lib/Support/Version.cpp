//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Version.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;

StringRef mneme::getVersion() { return MNEME_VERSION_STRING; }

void mneme::printVersion(raw_ostream &OS) {
  OS << "  Mneme version " << getVersion() << ", LLVM " << LLVM_VERSION_STRING
     << ", record format " << MNEME_SNAPSHOT_MAJOR << '.'
     << MNEME_SNAPSHOT_MINOR << '\n';
}
