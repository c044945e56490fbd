//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Requests for kernels.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JITKERNEL_H
#define MNEME_LIB_RUNTIME_JIT_JITKERNEL_H

#include "Program.h"
#include "llvm/Mneme/Runtime/JitExchange.h"

namespace mneme {

/// Whether the JIT compiles a kernel. Sets the first level of \p Q if so. May
/// throw.
/// \param HostPtr  the launch stub or handle of \p Entry.
bool describeJitKernel(const void *HostPtr, const IndexEntry &Entry,
                       const DeviceModule &Module, JitTarget Target,
                       JitRequest &Q);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_JITKERNEL_H
