//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launcher's facts about device code: variables of a payload, arguments of
/// a kernel.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_KERNEL_H
#define MNEME_LIB_RUNTIME_CORE_KERNEL_H

#include "Program.h"
#include "llvm/Mneme/Runtime/Wire.h"

#include <string>
#include <vector>

namespace mneme {

struct KernelRecords;

/// A __device__ or __constant__ variable of a loaded module.
struct Variable {
  std::string Name;
  uint64_t Address; ///< In the arena, as in recordings.
  uint64_t Size;
};

struct KernelArg {
  uint32_t Size;
  uint32_t Offset;
  uint32_t Kind; ///< MNEME_ARG_*.
};

/// A kernel of a payload.
struct Kernel {
  std::string Name;
  std::string StaticHash; ///< 16 bytes.
  std::vector<KernelArg> Args;
  std::vector<const Variable *> Reached;
  std::string Obstacle; ///< Reason why launches cannot be replayed, or empty.
  /// Parameters that hold handles instead of addresses.
  std::vector<HandleParameter> Handles;
  KernelRecords *Records = nullptr; ///< Null until the launcher has answered.
};

/// The beginning of LoadKernel's answer.
struct KernelFacts {
  std::string StaticHash;
  std::vector<KernelArg> Args;
  std::vector<std::string> Reached;   ///< Names of variables.
  std::string Obstacle;               ///< Why launches cannot be replayed.
  std::vector<HandleParameter> Handles; ///< See Kernel.
  std::vector<uint64_t> HeldLaunches; ///< Dynamic hashes.
};

/// A variable in LoadModule's answer.
struct ModuleVariable {
  std::string Name;
  uint64_t Size;
  bool Constant;
};

/// Sends a module to the launcher. \returns an error message; empty on success.
std::string bringModule(const DeviceModule &Module,
                        std::vector<ModuleVariable> &Variables);

/// An image that the program has loaded on the host device.
struct LibraryRequest {
  std::string Hash; ///< As for LoadLibrary, 16 bytes.
  const std::string *Image;
  const std::string *IR, *Options; ///< If registered; else null.
};

/// The launcher's facts about such an image.
struct LibraryFacts {
  std::string Payload; ///< The hash of what contains the kernels, 16 bytes.
  std::vector<std::string> Kernels;
  std::vector<ModuleVariable> Variables;
};

/// Sends a library to the launcher. \returns an error message; empty on
/// success.
std::string bringLibrary(const LibraryRequest &Q, LibraryFacts &Facts);

/// A kernel of a module that was sent with bringModule() or bringLibrary().
struct KernelRequest {
  DeviceModule::Key Module;
  std::string Payload; ///< The hash of the payload that has it, 16 bytes.
  std::string Name;
};

/// Requests a kernel. \p Answer holds the answer, of which \p Rest reads the
/// part after the facts. \returns an error message; empty on success.
std::string requestKernel(const KernelRequest &Q, bool ForHost,
                          KernelFacts &Facts, std::string &Answer,
                          WireReader &Rest);

/// A parameter of a kernel in an image, in bytes.
struct ImageParameter {
  uint32_t Offset, Size;
};

/// Asks the launcher about a kernel of an image that the driver has loaded.
struct ImageRequest {
  const void *Data;
  size_t Size;
  std::string Kernel, Arch; ///< Of the device.
  bool HasLayout = false;
  std::vector<ImageParameter> Layout; ///< As the driver gives it.
  const std::string *IR = nullptr, *Options = nullptr; ///< If registered.
};

/// \returns an error message, or an empty string. \p Variables receives those
/// that the kernel may use. May throw.
std::string requestImageKernel(const ImageRequest &Q, KernelFacts &Facts,
                               std::vector<ModuleVariable> &Variables);

/// Parse the answers to these requests. \return true if they are well-formed.
bool readModuleVariables(WireReader &R, std::vector<ModuleVariable> &Variables);
bool readKernelFacts(WireReader &R, KernelFacts &Facts);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_KERNEL_H
