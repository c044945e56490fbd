//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The constructors that attach an instrumented object to a runtime.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_ATTACH_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_ATTACH_H

namespace llvm {
class Module;
namespace mneme {

/// Makes \p M call __mneme_attach (PayloadFormat.h), if that is defined, before
/// its other constructors. A second call for the same module has no effect.
void addAttachCall(Module &M);
/// The same for __mneme_jit_attach (JitFormat.h).
void addJitAttachCall(Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_ATTACH_H
