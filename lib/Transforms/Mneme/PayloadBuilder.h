//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Writes payloads (Runtime/PayloadFormat.h): header, kernels, hashes,
/// arguments, strings, bitcode.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_PAYLOADBUILDER_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_PAYLOADBUILDER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/Launch.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

class PayloadBuilder {
public:
  /// For the code \p Bitcode of \p M.
  PayloadBuilder(const Module &M, SmallVector<char, 0> Bitcode, char OptLevel);

  StringRef bitcode() const { return {Bitcode.data(), Bitcode.size()}; }
  void addFlags(uint32_t Flags) { Header.Flags |= Flags; }
  void addKernel(StringRef Name, ArrayRef<KernelArg> KernelArgs,
                 std::optional<Digest128> StaticHash);
  /// Call it once, last.
  std::string build();

private:
  uint32_t addString(StringRef S) {
    uint32_t Offset = Strings.size();
    Strings += S;
    Strings.push_back('\0');
    return Offset;
  }

  MnemePayloadHeader Header = {};
  std::vector<MnemePayloadKernel> Kernels;
  std::vector<Digest128> StaticHashes;
  std::vector<MnemePayloadArg> Args;
  std::string Strings;
  SmallVector<char, 0> Bitcode;
};

/// Returns the attribute \p Name of the first function that has it. A device
/// module is compiled for a single target.
StringRef getTargetAttr(const Module &M, StringRef Name);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_PAYLOADBUILDER_H
