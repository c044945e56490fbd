//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The constructor by which an instrumented object meets a runtime.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_TRANSFORMS_MNEME_ATTACH_H
#define LLVM_MNEME_LIB_TRANSFORMS_MNEME_ATTACH_H

namespace llvm {
class Module;
namespace mneme {

/// Makes \p M call __mneme_attach (PayloadFormat.h) before its other
/// constructors, if something defines it. Once per module.
void addAttachCall(Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_TRANSFORMS_MNEME_ATTACH_H
