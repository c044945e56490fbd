//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// opt with Mneme's passes built in: the driver of the pass tests.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Device/Host/HostPasses.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Passes/PassBuilder.h"
#include <functional>

using namespace llvm;

extern "C" int optMain(int argc, char **argv,
                       ArrayRef<std::function<void(PassBuilder &)>> Callbacks);

int main(int argc, char **argv) {
  std::function<void(PassBuilder &)> Callbacks[] = {
      mneme::registerHostPasses, mneme::registerMnemePasses};
  return optMain(argc, argv, Callbacks);
}
