//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles code before its first launch, for the launches that packages were
/// tuned for.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_PREWARM_H
#define MNEME_LIB_RUNTIME_JIT_PREWARM_H

#include "JitSite.h"
#include "TunedKernels.h"

namespace mneme {

/// Has a thread of the JIT get code for the launches that guards of \p K
/// describe completely, except where an image of a package runs on \p D. Throws
/// nothing.
void prewarm(JitSite &Site, const TunedKernel &K, const DeployDevice &D);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_PREWARM_H
