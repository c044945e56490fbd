//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What in a kernel's code a recording of memory cannot bring back.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_OBSTACLES_H
#define LLVM_MNEME_LIB_LAUNCH_OBSTACLES_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include <string>
#include <vector>

namespace llvm {
class Module;
namespace mneme {

/// Why launches of \p Kernel, of an extracted module, cannot be replayed; empty
/// as a rule. Takes as long as a small pipeline where there are calls through
/// pointers. \p ForHost: of launches on the host device. Else \p Handles gets
/// the handles of textures and surfaces among the parameters.
std::string findObstacle(const Module &M, StringRef Kernel, bool ForHost,
                         std::vector<::mneme::HandleParameter> &Handles);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_OBSTACLES_H
