//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The settings of processors that code objects for AMD GPUs depend on.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_AMDSETTINGS_H
#define LLVM_MNEME_SUPPORT_AMDSETTINGS_H

#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Object/ELF.h"
#include <string>

namespace llvm {
namespace mneme {

/// Returns the settings that a code object needs by the flags of its ELF
/// header, as ":sramecc-:xnack+".
inline std::string getAMDSettings(uint32_t Flags) {
  std::string Settings;
  auto Add = [&](unsigned Mask, unsigned On, unsigned Off, const char *Name) {
    if ((Flags & Mask) == On || (Flags & Mask) == Off)
      Settings += std::string(Name) + ((Flags & Mask) == On ? "+" : "-");
  };
  Add(ELF::EF_AMDGPU_FEATURE_SRAMECC_V4, ELF::EF_AMDGPU_FEATURE_SRAMECC_ON_V4,
      ELF::EF_AMDGPU_FEATURE_SRAMECC_OFF_V4, ":sramecc");
  Add(ELF::EF_AMDGPU_FEATURE_XNACK_V4, ELF::EF_AMDGPU_FEATURE_XNACK_ON_V4,
      ELF::EF_AMDGPU_FEATURE_XNACK_OFF_V4, ":xnack");
  return Settings;
}

/// Returns the settings that a code object needs; empty if it is none.
inline std::string readAMDSettings(ArrayRef<char> Object) {
  using Elf = object::ELF64LEFile;
  Expected<Elf> File = Elf::create({Object.data(), Object.size()});
  if (!File) {
    consumeError(File.takeError());
    return "";
  }
  return getAMDSettings(File->getHeader().e_flags);
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_AMDSETTINGS_H
