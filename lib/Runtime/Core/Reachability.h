//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What memory a launch can find its way to: a conservative scan for pointers.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CORE_REACHABILITY_H
#define MNEME_LIB_RUNTIME_CORE_REACHABILITY_H

#include "Recorder.h"

#include <cstdint>
#include <vector>

namespace mneme {

/// A region is reached when a root points into it, or an aligned word in a region
/// that is reached; those of variables always are.
class Reachability {
public:
  /// \p Regions must stay as they are until filter().
  explicit Reachability(const std::vector<Recording::Region> &Regions);

  void addRoot(uint64_t Address);
  /// \returns a region that is reached and whose contents were not scanned yet,
  /// or null.
  const Recording::Region *next();
  /// Looks for pointers in \p Size bytes, which are at \p Address in the
  /// recording: the application's own memory may begin anywhere.
  void scan(const char *Bytes, uint64_t Address, uint64_t Size);

  /// Takes what is not reached out of \p Regions. \returns what that is of the
  /// first \p NumCounted.
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
  std::vector<size_t> Found; ///< Not scanned yet.
  uint64_t Low = 0, High = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CORE_REACHABILITY_H
