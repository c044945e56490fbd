//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reads the payloads that MnemePass embedded in an executable, library or
/// object file (Runtime/PayloadFormat.h), without running it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_PAYLOAD_H
#define LLVM_MNEME_RECORD_PAYLOAD_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class Function;
class LLVMContext;
class Module;
namespace mneme {

/// A kernel in a payload.
struct PayloadKernel {
  std::string Name;
  /// 32 hexadecimal digits; empty if unknown, as with -fgpu-rdc.
  std::string StaticHash;
  std::vector<KernelArg> Args;
};

/// One translation unit for one architecture.
struct Payload {
  std::string Triple, Arch, Source;
  char OptLevel = '2';
  bool IsRDC = false;
  bool IsSlim = false; ///< It has no bitcode.
  std::string Hash; ///< XXH3-128 of the bitcode, 32 hexadecimal digits.
  std::vector<PayloadKernel> Kernels;
  std::string Bitcode; ///< Decompressed.

  /// Returns null if there is no such kernel.
  const PayloadKernel *findKernel(StringRef Name) const;
};

/// Why a slim payload cannot be used, to follow the name of its source.
inline constexpr StringLiteral SlimProblem =
    "was compiled with -mneme-slim, without device IR: it can neither be "
    "recorded nor run on the host device; compile it without that option";

/// Parses one payload that spans all of \p Bytes. \p Where names it in errors.
Expected<Payload> parsePayload(StringRef Bytes, StringRef Where);

/// Returns all payloads of an ELF file or of the members of an archive. Fails
/// if the file cannot be read, is of another type, or holds no payload.
Expected<std::vector<Payload>> readPayloads(StringRef Path);

/// Parses the payload's bitcode. Call it in a ChildTask: the parser may crash
/// or hang.
Expected<std::unique_ptr<Module>> parsePayloadModule(const Payload &P,
                                                     LLVMContext &Context);

/// Reduces \p M to \p Kernel and everything it references, without the other
/// kernels. Keeps function attributes (capture at -O0 has already dropped
/// clang's own optnone), linkage of variables, use-list order and debug info.
/// Notes the module's other variables (IRUtils/ImageVariables.h).
Expected<std::unique_ptr<Module>> extractKernel(std::unique_ptr<Module> M,
                                                StringRef Kernel);

/// Rejects a kernel that calls functions which neither \p Extracted nor the
/// CUDA device runtime defines: with -fgpu-rdc, functions of units that were
/// not linked.
Error checkComplete(const Module &Extracted);

/// Returns the static hash: XXH3-128 of the text of the extracted module, as 32
/// hexadecimal digits. It excludes debug info, names of values and types, the
/// compiler version, and the numbers that -fgpu-rdc adds to names. The hash is
/// thus independent of source path, build folder and other contents of the
/// LLVMContext.
std::string computeStaticHash(const Module &Extracted);

/// Returns the static hashes of \p Kernels of a module, each as for the module
/// that extractKernel() makes, without examining the whole module for each.
Expected<std::vector<std::string>>
computeStaticHashes(std::unique_ptr<Module> M, ArrayRef<std::string> Kernels);

/// Follows the name of a local symbol that several linked units define, and
/// precedes the digits that distinguish the units.
inline constexpr StringLiteral UnitInfix = "__unit__";

/// Returns \p Symbol as written in the source, even if -fgpu-rdc has made the
/// symbol of a static kernel unique.
std::string demangleSymbol(StringRef Symbol);

/// Returns "_ZL4statPf__intern__30cfadfdce6e7060" without the number, which
/// clang derives from the source's path and the command line, and without the
/// suffix that DeviceLink adds.
StringRef withoutCompileId(StringRef Name, bool KeepInfix = true);

/// Returns true if \p F is a kernel definition that the host can launch.
bool isKernel(const Function &F);

/// Returns the kernel's arguments with names and types.
std::vector<KernelArg> describeArgs(const Module &M, StringRef Kernel);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_PAYLOAD_H
