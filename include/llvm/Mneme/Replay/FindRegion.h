//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tells addresses of recorded memory from other numbers.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_FINDREGION_H
#define LLVM_MNEME_REPLAY_FINDREGION_H

#include <cstddef>
#include <cstdint>
#include <optional>

namespace llvm {
namespace mneme {
class RecordedState;

/// Returns the number of the region that contains a byte at \p Address; unset
/// if none does. A number in the arena's range need not be an address.
std::optional<size_t> findRegionOf(const RecordedState &State,
                                   uint64_t Address);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_FINDREGION_H
