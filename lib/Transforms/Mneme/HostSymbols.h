//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels and variables that a host module registers with the GPU runtime.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_HOSTSYMBOLS_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_HOSTSYMBOLS_H

#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include <cstdint>
#include <string>
#include <vector>

namespace llvm {
class Constant;
class Module;
namespace mneme {

/// A host pointer that identifies a device symbol.
struct HostSymbol {
  Constant *Pointer;
  std::string Name;
  uint64_t Size = 0;
  uint32_t Kind = MNEME_INDEX_KERNEL;
  uint32_t Flags = 0;
};

/// Call it before mneme-hooks redirects the calls.
std::vector<HostSymbol> readHostSymbols(const Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_HOSTSYMBOLS_H
