//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds accesses that leave the buffer of their pointer: what they reach
/// depends on the distance of two buffers, which no guard compares.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEPLOY_BUFFERBOUNDS_H
#define LLVM_MNEME_LIB_DEPLOY_BUFFERBOUNDS_H

#include "llvm/ADT/ArrayRef.h"
#include <cstdint>
#include <set>
#include <vector>

namespace llvm {
class Module;
namespace mneme {
class ReplayPlan;
struct SpecializeOptions;

/// A pointer at an offset of an argument, and its place in a buffer.
struct BufferPlace {
  unsigned Arg, Offset;
  uint64_t Before, Size;
};

/// Returns the pointers into buffers that the arguments of a launch contain.
std::vector<BufferPlace> findBufferPlaces(const ReplayPlan &Plan);

/// Returns the arguments with a pointer by which some instruction accesses
/// memory outside of the buffer in all threads that execute it. Finds an
/// address that is the pointer and an offset of known range in the launch \p S.
/// Transforms the module.
std::set<unsigned> findOutside(Module &M, const SpecializeOptions &S,
                               ArrayRef<BufferPlace> Places);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEPLOY_BUFFERBOUNDS_H
