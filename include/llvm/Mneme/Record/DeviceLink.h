//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Links IR as the device linker does with -fgpu-rdc: adds to a kernel the
/// functions and variables that it needs from other translation units.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_DEVICELINK_H
#define LLVM_MNEME_RECORD_DEVICELINK_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Record/Payload.h"

namespace llvm {
class GlobalValue;
namespace mneme {

/// Returns the payloads that the device linker links with payload \p Index of
/// \p Payloads, all from one file. Sets \p Unit to the index of payload
/// \p Index in the result.
std::vector<Payload> selectUnits(ArrayRef<Payload> Payloads, size_t Index,
                                 size_t &Unit);

/// Returns the hash of a device link, as the runtime computes it: that of the
/// only unit, or the XXH3-128 of the hashes of all units.
std::string computeLinkHash(ArrayRef<Payload> Units);

/// The static hash of a kernel.
struct KernelHash {
  std::string StaticHash;
  std::string Problem; ///< Reason if there is no hash.
};

/// Links and extracts the kernels of payload \p Index as a recording does, in a
/// child process. Returns their hashes, in order.
Expected<std::vector<KernelHash>> computeHashes(ArrayRef<Payload> Payloads,
                                                size_t Index);

/// The units of one device link: a single translation unit, or those of one
/// executable or library that were compiled with -fgpu-rdc for one
/// architecture.
class DeviceLink {
public:
  /// Creates a link of \p Units, in link order. Fails if there are no units, if
  /// several units are not all relocatable and for one architecture, or if a
  /// unit has invalid bitcode.
  static Expected<DeviceLink> create(std::vector<Payload> Units,
                                     LLVMContext &Context);

  ArrayRef<Payload> units() const { return Units; }

  /// Returns the kernel of unit \p Unit with exactly the definitions it needs
  /// from all units, as extractKernel() leaves it. Also fails if a needed
  /// symbol has two definitions or the units are incompatible. Symbols that no
  /// unit defines stay undefined.
  Expected<std::unique_ptr<Module>> extract(size_t Unit,
                                            StringRef Kernel) const;

  /// Returns the kernel of unit \p Unit with all functions of all units whose
  /// addresses are used, for a kernel that calls through pointers that another
  /// kernel has made. Not the kernel's identity: use extract() for that.
  Expected<std::unique_ptr<Module>> extractWithTargets(size_t Unit,
                                                       StringRef Kernel) const;

  /// Returns a module with the variables of all units and their initializers,
  /// named as in extract(). With several units, functions have no bodies, and
  /// no variable has local linkage.
  Expected<std::unique_ptr<Module>> linkVariables() const;

private:
  DeviceLink(std::vector<Payload> Units, LLVMContext &Context)
      : Units(std::move(Units)), Context(Context) {}

  /// The unit whose definition of a symbol prevails.
  struct Definition {
    size_t Unit = 0;
    bool IsWeak = false;
    size_t Other = 0; ///< A unit with an equally strong definition, or Unit.
  };

  Error addSymbols(size_t Unit);
  Expected<std::unique_ptr<Module>> parse(size_t Unit, bool Whole) const;
  void prepare(Module &M, size_t Unit) const;
  std::string uniqueName(const GlobalValue &G, size_t Unit) const;
  Error addNeeded(Module &M) const;
  Error checkUnique(const Definition &D, const GlobalValue &G) const;

  std::vector<Payload> Units;
  LLVMContext &Context;
  StringMap<Definition> Definitions; ///< Symbols that other units can
                                     ///< reference.
  StringMap<unsigned> Names;         ///< The number of units with each name.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_DEVICELINK_H
