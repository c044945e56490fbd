//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Reading what MnemePass left in an executable, library or object file
/// (Runtime/PayloadFormat.h), from the file alone.
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

struct PayloadKernel {
  std::string Name;
  std::vector<KernelArg> Args;
};

/// One translation unit for one architecture.
struct Payload {
  std::string Triple, Arch, Source;
  char OptLevel = '2';
  bool IsRDC = false;
  std::string Hash; ///< 32 hexadecimal digits of XXH3-128 of the bitcode.
  std::vector<PayloadKernel> Kernels;
  std::string Bitcode; ///< Decompressed.
};

/// Parses one payload: exactly \p Bytes. \p Where names it in errors.
Expected<Payload> parsePayload(StringRef Bytes, StringRef Where);

/// All payloads of an ELF file (or of the members of an archive). Error when
/// the file cannot be read, is no such file, or holds none.
Expected<std::vector<Payload>> readPayloads(StringRef Path);

/// Parses the payload's bitcode, which may crash or hang: in a ChildTask.
Expected<std::unique_ptr<Module>> parsePayloadModule(const Payload &P,
                                                     LLVMContext &Context);

/// The part of \p M that \p Kernel needs: the kernel and what it reaches,
/// everything else gone, the other kernels too. Functions keep their attributes
/// (capture at -O0 has dropped clang's own optnone already), variables their
/// linkage, use-lists their order; debug info stays. What other variables the
/// module has is noted (Support/ImageVariables.h).
Expected<std::unique_ptr<Module>> extractKernel(std::unique_ptr<Module> M,
                                                StringRef Kernel);

/// Refuses a kernel that calls functions that neither \p Extracted nor NVIDIA's
/// system has: with -fgpu-rdc, those of translation units that are not linked.
Error checkComplete(const Module &Extracted);

/// The static hash: XXH3-128 of the extracted module's text, 32 hexadecimal
/// digits, without what does not concern the code: debug info, names of values
/// and types, the compiler's version, and the numbers that -fgpu-rdc puts into
/// names. So it does not depend on the path of the source or the build folder,
/// nor on what else the module's context has seen.
std::string computeStaticHash(const Module &Extracted);

/// Behind the name of a local that several linked units have, and before digits
/// that tell the units apart.
inline constexpr StringLiteral UnitInfix = "__unit__";

/// \p Symbol as its programmer knows it, also where -fgpu-rdc has made a static
/// kernel's symbol unique.
std::string demangleSymbol(StringRef Symbol);

/// A definition that a host can launch.
bool isKernel(const Function &F);

/// The kernel's arguments with names and types.
std::vector<KernelArg> describeArgs(const Module &M, StringRef Kernel);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_PAYLOAD_H
