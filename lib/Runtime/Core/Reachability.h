//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The memory that a launch can reach, found by a conservative scan for
/// pointers.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_REACHABILITY_H
#define MNEME_LIB_RUNTIME_CORE_REACHABILITY_H

#include "Recorder.h"

#include <cstdint>
#include <vector>

namespace mneme {

/// A region is reachable if a root or an aligned word in a reachable region
/// points into it. Regions of variables are always reachable.
class Reachability {
public:
  /// \p Regions must not change before filter().
  explicit Reachability(const std::vector<Recording::Region> &Regions);

  void addRoot(uint64_t Address);
  /// \returns a reachable region that has not been scanned yet, or null.
  const Recording::Region *next();
  /// Searches \p Size bytes for pointers. \p Address is their address in the
  /// recording, which determines the alignment of words: the application's own
  /// memory may be unaligned.
  void scan(const char *Bytes, uint64_t Address, uint64_t Size);

  /// Removes unreachable regions from \p Regions. \returns the number and size
  /// of those among the first \p NumCounted.
  Omission filter(std::vector<Recording::Region> &Regions,
                  size_t NumCounted) const;

private:
  struct Place {
    uint64_t Address, Size;
    size_t Index;
  };
  const std::vector<Recording::Region> &Regions;
  std::vector<Place> Places; ///< By address.
  std::vector<bool> Reached; ///< By index.
  std::vector<size_t> Found; ///< Reachable, not scanned yet.
  uint64_t Low = 0, High = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_REACHABILITY_H
