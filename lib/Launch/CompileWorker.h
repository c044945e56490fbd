//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the launcher does with IR, each in a ChildTask: an IR that crashes the
/// compiler, or ends it with a fatal error, costs one kernel, not the
/// recording. Results are strings in the encoding of Runtime/Wire.h.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_COMPILEWORKER_H
#define LLVM_MNEME_LIB_LAUNCH_COMPILEWORKER_H

#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// What there is to know about one kernel of one payload, wherever it will run.
struct CompiledKernel {
  std::string Name; ///< The symbol.
  Digest128 StaticHash = {};
  std::string Triple, Arch, OptLevel, Toolchain;
  std::vector<KernelArg> Args;
  std::vector<std::string> Globals; ///< Variables that it can reach.
  std::string Obstacle; ///< Why launches cannot be replayed, or empty.
  std::vector<::mneme::HandleParameter> Handles;
  std::string Bitcode;  ///< Of the extracted kernel.
  /// Host object, the symbol of its entry function and what the executor must
  /// know, without addresses; empty if not asked for.
  std::string Object, Entry;
  MnemeHostKernel Host = {};

  std::string encode() const;
  static std::optional<CompiledKernel> decode(StringRef Text);
};

/// LoadModule's answer, after checking that \p Payloads are those with \p Hash.
Expected<std::string> loadModule(ArrayRef<std::string> Payloads,
                                 const Digest128 &Hash);

/// Initialize's answer. \p Names in the order of the answer.
Expected<std::string> initializeModule(ArrayRef<std::string> Payloads,
                                       ArrayRef<std::string> Names,
                                       const StringMap<uint64_t> &Addresses);

/// Extracts \p Kernel of the payload with hash \p Unit and, with \p Host,
/// compiles it.
Expected<CompiledKernel> compileKernel(ArrayRef<std::string> Payloads,
                                       const Digest128 &Unit, StringRef Kernel,
                                       const HostOptions *Host);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_COMPILEWORKER_H
