//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Basic types shared by all layers: launch dimensions, kernel arguments.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_LAUNCH_H
#define LLVM_MNEME_SUPPORT_LAUNCH_H

#include "llvm/Mneme/Runtime/PayloadFormat.h"
#include <cassert>
#include <cstdint>
#include <string>

namespace llvm {
namespace mneme {

/// Number of blocks in a grid, or threads in a block.
struct Dim3 {
  uint32_t X = 1, Y = 1, Z = 1;
  uint64_t count() const { return uint64_t(X) * Y * Z; }
  /// Returns X, Y or Z.
  uint32_t operator[](unsigned I) const {
    assert(I < 3 && "no such dimension");
    return I == 0 ? X : I == 1 ? Y : Z;
  }
  bool operator==(const Dim3 &O) const {
    return X == O.X && Y == O.Y && Z == O.Z;
  }
  bool operator!=(const Dim3 &O) const { return !(*this == O); }
};

/// One kernel parameter as the device sees it.
struct KernelArg {
  uint32_t Size = 0;               ///< Size in bytes.
  uint32_t Offset = 0;             ///< Offset in the kernel's parameter space.
  uint32_t Kind = MNEME_ARG_VALUE; ///< MNEME_ARG_*.
  std::string Name;                ///< May be empty.
  std::string Type;                ///< Text of the IR type.
};

/// A device variable.
struct KernelGlobal {
  std::string Name;
  uint64_t Size = 0;    ///< Bytes.
  uint64_t Address = 0; ///< In the recorded process; 0 if unknown.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_LAUNCH_H
