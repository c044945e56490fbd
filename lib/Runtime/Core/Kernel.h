//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the launcher tells of device code: the variables of a payload, the
/// arguments of a kernel.
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
  uint64_t Address; ///< In the arena: where recordings have it.
  uint64_t Size;
};

struct KernelArg {
  uint32_t Size;
  uint32_t Offset;
  uint32_t Kind; ///< MNEME_ARG_*.
};

/// One kernel of one payload.
struct Kernel {
  std::string Name;
  std::string StaticHash; ///< 16 bytes.
  std::vector<KernelArg> Args;
  std::vector<const Variable *> Reached;
  std::string Obstacle; ///< Why launches cannot be replayed, or empty.
  /// Where a handle is no address.
  std::vector<HandleParameter> Handles;
  KernelRecords *Records = nullptr; ///< Null until the launcher has told.
};

/// What LoadKernel's answer begins with.
struct KernelFacts {
  std::string StaticHash;
  std::vector<KernelArg> Args;
  std::vector<std::string> Reached;   ///< Names of variables.
  std::string Obstacle;               ///< Why launches cannot be replayed.
  std::vector<HandleParameter> Handles; ///< As Kernel's.
  std::vector<uint64_t> HeldLaunches; ///< Dynamic hashes.
};

/// What LoadModule tells of one variable.
struct ModuleVariable {
  std::string Name;
  uint64_t Size;
  bool Constant;
};

/// Brings a module to the launcher. \returns an empty string, or what went
/// wrong.
std::string bringModule(const DeviceModule &Module,
                        std::vector<ModuleVariable> &Variables);

/// Asks for a kernel of a module that bringModule() has brought. \p Answer
/// holds, and \p Rest reads, what comes behind the facts. \returns an empty
/// string, or what went wrong.
std::string requestKernel(const DeviceModule &Module, const IndexEntry &Entry,
                          bool ForHost, KernelFacts &Facts, std::string &Answer,
                          WireReader &Rest);

/// Read the answers to these. \return whether they are well-formed.
bool readModuleVariables(WireReader &R, std::vector<ModuleVariable> &Variables);
bool readKernelFacts(WireReader &R, KernelFacts &Facts);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_KERNEL_H
