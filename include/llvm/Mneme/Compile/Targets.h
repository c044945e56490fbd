//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The targets supported by Mneme's tools: the host and the GPUs
/// (MNEME_TARGETS).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_TARGETS_H
#define LLVM_MNEME_COMPILE_TARGETS_H

namespace llvm {
namespace mneme {

/// Registers target infos, targets, MC layers, assembly printers and parsers of
/// MNEME_TARGETS. Idempotent; call it before anything that needs a
/// TargetMachine.
void initializeTargets();

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_TARGETS_H
