//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Scrambled bits, for hashes and for random numbers that follow from a seed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_SCRAMBLE_H
#define LLVM_MNEME_RUNTIME_SCRAMBLE_H

#include <cstdint>

namespace llvm {
namespace mneme {

/// The finalizer of splitmix64. A bijection.
inline uint64_t scramble(uint64_t Z) {
  Z = (Z ^ Z >> 30) * 0xbf58476d1ce4e5b9;
  Z = (Z ^ Z >> 27) * 0x94d049bb133111eb;
  return Z ^ Z >> 31;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_RUNTIME_SCRAMBLE_H
