//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launcher's work on IR. Each function runs in a ChildTask, so that IR
/// that crashes the compiler, or ends it with a fatal error, costs one kernel
/// and not the recording. Results are strings in the encoding of
/// Runtime/Wire.h.
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
#include "llvm/Support/MemoryBuffer.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

/// An image that the program has loaded on the host device.
struct LibraryImage {
  std::string Image;
  std::string IR, Options; ///< Registered; empty if not.
};

/// The code of a module.
struct ModuleCode {
  /// Payloads of the application, as in the executable; none of a library.
  std::vector<std::string> Payloads;
  LibraryImage Library;
  std::string Bitcode; ///< The IR of Library, linked.

  bool isLibrary() const { return Payloads.empty(); }
};

/// Properties and code of one kernel of one payload, for every device.
struct LaunchedKernel {
  std::string Name; ///< Symbol.
  Digest128 StaticHash = {};
  std::string Triple, Arch, OptLevel, Toolchain;
  std::vector<KernelArg> Args;
  std::vector<std::string> Globals; ///< Variables that the kernel can reach.
  std::string Obstacle; ///< Why launches cannot be replayed, or empty.
  std::vector<::mneme::HandleParameter> Handles;
  std::string Bitcode;  ///< Of the extracted kernel.
  /// The application's own code, if the program has loaded it through the
  /// driver: a cubin or PTX; its architecture. See RecordedImage.
  std::string Image, ImageArch;
  bool IsPTX = false, IsImageOnly = false;
  std::string Configuration; ///< See RecordedKernel.
  /// Sizes of Globals, of a kernel of an image.
  std::vector<uint64_t> GlobalSizes;
  /// Host object, the symbol of its entry function, and the executor's
  /// description of the kernel, without addresses. Empty if not compiled for
  /// the host device.
  std::string Object, Entry;
  MnemeHostKernel Host = {};

  std::string encode() const;
  static std::optional<LaunchedKernel> decode(StringRef Text);
};

/// Returns the answer to LoadModule, after checking that \p Payloads have the
/// hash \p Hash.
Expected<std::string> loadModule(ArrayRef<std::string> Payloads,
                                 const Digest128 &Hash);

/// A library and the answer to LoadLibrary.
struct LoadedLibrary {
  std::string Bitcode, Answer;

  std::string encode() const;
  static std::optional<LoadedLibrary> decode(StringRef Text);
};

/// Reads the IR of a library, after checking that the library has the hash
/// \p Hash: what is registered, the image itself, or the first of \p Files that
/// defines a kernel of the image. Fails if there is no IR.
Expected<LoadedLibrary>
loadLibrary(const LibraryImage &Library, const Digest128 &Hash,
            ArrayRef<std::shared_ptr<MemoryBuffer>> Files);

/// Adds the machine code of a library to its kernel \p K. Fails if the IR of
/// the kernel has other parameters.
Error addLibraryCode(LaunchedKernel &K, const LibraryImage &Library);

/// Writes the variables of a module for the answers to LoadModule and
/// LoadLibrary.
void writeVariables(const Module &M, ::mneme::WireWriter &W);

/// Returns the answer to Initialize, with variables in the order of \p Names.
Expected<std::string> initializeModule(const ModuleCode &Code,
                                       ArrayRef<std::string> Names,
                                       const StringMap<uint64_t> &Addresses);

struct LoadImageRequest;

/// Describes a kernel of an image, with the IR that the program has registered
/// for it, or without IR.
Expected<LaunchedKernel> describeImageKernel(const LoadImageRequest &Q);

/// \returns the compiler that made a module, such as "clang 22.1.8".
std::string findToolchain(const Module &M);

/// Extracts \p Kernel from the payload with hash \p Unit. With \p Host, also
/// compiles it for the host device; with \p RunsPipeline, after clang's
/// pipeline.
Expected<LaunchedKernel> compileKernel(const ModuleCode &Code,
                                       const Digest128 &Unit, StringRef Kernel,
                                       const HostOptions *Host,
                                       bool RunsPipeline = false);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_COMPILEWORKER_H
