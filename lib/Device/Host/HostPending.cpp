//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// Passes that are still being written. Whoever adds one removes its line here.

#include "llvm/Mneme/Device/Host/HostPasses.h"

using namespace llvm;
using namespace llvm::mneme;

#define PENDING(CLASS)                                                         \
  PreservedAnalyses CLASS::run(Module &, ModuleAnalysisManager &) {           \
    return PreservedAnalyses::none();                                          \
  }
PENDING(HostRegionPass)
