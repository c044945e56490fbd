//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What the device linker does with -fgpu-rdc, done with IR: a kernel gets the
/// functions and variables of other translation units that it needs.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RECORD_DEVICELINK_H
#define LLVM_MNEME_RECORD_DEVICELINK_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Record/Payload.h"

namespace llvm {
class GlobalValue;
namespace mneme {

/// Those of \p Payloads, which are all of one file, that the device linker puts
/// together with number \p Index. \p Unit is its number among them.
std::vector<Payload> selectUnits(ArrayRef<Payload> Payloads, size_t Index,
                                 size_t &Unit);

/// The units of one device link: one translation unit alone, or those of one
/// executable or library that were compiled with -fgpu-rdc for one
/// architecture.
class DeviceLink {
public:
  /// Error when there is no unit, when several are not all relocatable and for
  /// one architecture, or when the bitcode of one is none. \p Units in the
  /// order of the link.
  static Expected<DeviceLink> create(std::vector<Payload> Units,
                                     LLVMContext &Context);

  ArrayRef<Payload> units() const { return Units; }

  /// The kernel of unit number \p Unit with what it needs of all units and
  /// nothing else, as extractKernel() leaves it. Error also when a symbol that
  /// it needs has two definitions, and when the units do not fit together. What
  /// no unit has stays undefined.
  Expected<std::unique_ptr<Module>> extract(size_t Unit,
                                            StringRef Kernel) const;

  /// A module with all variables of all units, named as extract() does, and
  /// their initializers. If there are several units, functions have no bodies,
  /// and no variable is local.
  Expected<std::unique_ptr<Module>> linkVariables() const;

private:
  DeviceLink(std::vector<Payload> Units, LLVMContext &Context)
      : Units(std::move(Units)), Context(Context) {}

  /// Which unit has the definition that counts.
  struct Definition {
    size_t Unit = 0;
    bool IsWeak = false;
    size_t Other = 0; ///< With as strong a definition of its own, or Unit.
  };

  Error addSymbols(size_t Unit);
  Expected<std::unique_ptr<Module>> parse(size_t Unit, bool Whole) const;
  void prepare(Module &M, size_t Unit) const;
  std::string uniqueName(const GlobalValue &G, size_t Unit) const;
  Error addNeeded(Module &M) const;
  Error checkUnique(const Definition &D, const GlobalValue &G) const;

  std::vector<Payload> Units;
  LLVMContext &Context;
  StringMap<Definition> Definitions; ///< What other units can refer to.
  StringMap<unsigned> Names;         ///< In how many units each occurs.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RECORD_DEVICELINK_H
