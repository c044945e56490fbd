//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kernels that a payload describes. What it says is checked: a damaged
/// payload has none.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_PAYLOADKERNELS_H
#define MNEME_LIB_RUNTIME_DEPLOY_PAYLOADKERNELS_H

#include "llvm/Mneme/Runtime/Package.h"
#include "llvm/Mneme/Runtime/PayloadFormat.h"

#include <string>

namespace mneme {

/// Returns the 16 bytes of a kernel's static hash; null if the payload does not
/// have it: with -fgpu-rdc, it depends on other payloads.
const uint8_t *findStaticHash(const MnemePayloadHeader &P,
                              const std::string &Kernel);

/// Returns true if the kernel's arguments are \p Args.
bool haveSameArguments(const MnemePayloadHeader &P, const std::string &Kernel,
                       PackageRange<MnemePackageArg> Args);

/// Returns a kernel's arguments; null if the payload does not have the kernel
/// or if it has no arguments.
const MnemePayloadArg *findArguments(const MnemePayloadHeader &P,
                                     const std::string &Kernel,
                                     uint32_t &Count);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_PAYLOADKERNELS_H
