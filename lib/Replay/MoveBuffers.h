//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Moves the buffers of a launch, so that their order and their distances are
/// others. Code that reaches a buffer through the pointer to another one then
/// fails.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_MOVEBUFFERS_H
#define LLVM_MNEME_LIB_REPLAY_MOVEBUFFERS_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Record/NewRecording.h"
#include <string>

namespace llvm {
namespace mneme {

/// Moves the buffers of \p R behind all others of the arena, each by a multiple
/// of MNEME_SNAPSHOT_PAGE, with the arguments that point to them. Variables and
/// buffers outside of the arena stay. \returns why some distances are as they
/// were; empty if all are others.
std::string moveBuffers(NewRecording &R, function_ref<uint64_t()> Random);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_MOVEBUFFERS_H
