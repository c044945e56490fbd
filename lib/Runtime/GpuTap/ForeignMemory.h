//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory that kernels may access and that did not come from an arena: managed
/// and pinned memory, and device memory that the runtime or the driver
/// allocated.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_FOREIGNMEMORY_H
#define MNEME_LIB_RUNTIME_GPUTAP_FOREIGNMEMORY_H

#include "Gpu.h"
#include "SessionDriver.h"
#include "TapState.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"

#include <cstdint>
#include <map>
#include <utility>

namespace mneme {

/// Knows all such memory, as far as the application's calls tell.
class ForeignMemory {
public:
  /// A kind besides those of regions: memory of another process, which may
  /// change it at any time. It is not recorded.
  static constexpr uint32_t OtherProcess = UINT32_MAX - 1;

  struct Block {
    uint64_t Size;
    uint64_t Host; ///< Its address on the host.
    /// MNEME_REGION_MANAGED, _PINNED or _DEVICE, or OtherProcess.
    uint32_t Kind;
    /// The context in which the memory was allocated, and with which it is
    /// freed.
    CUcontext Owner = nullptr;
    bool IsPortable = false; ///< All devices can access it.
  };
  using Map = std::map<uint64_t, Block>; ///< By address on the device.

  ForeignMemory(TapState &State, SessionDriver &Driver)
      : State(State), Driver(Driver) {}

  // Called by the application's threads: these take the session's lock.

  /// The runtime or the driver has allocated \p Size bytes. \p Kind and
  /// \p IsPortable: those of Block.
  void note(void *Host, size_t Size, uint32_t Kind, bool IsPortable = true);
  /// The memory that begins at \p Host is going to be freed. Waits while a
  /// launch is recorded.
  void forget(const void *Host);
  /// All memory that intersects the range is freed.
  void forgetAll(const void *Ptr, size_t Size);

  // With the session's lock held.

  /// Memory of another process is mapped here.
  void noteOfOthers(uint64_t Address, uint64_t Size);
  void forgetOfOthers(uint64_t Address, uint64_t Size) { erase(Address, Size); }
  /// Before \p Gone is destroyed.
  void forget(CUcontext Gone);
  const Map &blocks() const { return Blocks; }
  /// The block that \p Address lies in, or null.
  const Map::value_type *find(uint64_t Address) const;
  /// Whether recordings of launches on \p G can contain \p M.
  static bool canRecord(const Gpu &G, const Block &M) {
    return (M.Kind == MNEME_REGION_PINNED &&
            (M.IsPortable || M.Owner == G.Context)) ||
           (M.Kind == MNEME_REGION_DEVICE && M.Owner == G.Context) ||
           (M.Kind == MNEME_REGION_MANAGED && G.ManagedIsShared);
  }
  /// A block is missing for lack of memory, so that the memory of no launch is
  /// completely known.
  bool isIncomplete() const { return IsIncomplete; }

private:
  void add(void *Host, size_t Size, uint32_t Kind, bool IsPortable);
  void erase(uint64_t Address, uint64_t Size);

  TapState &State;
  SessionDriver &Driver;
  Map Blocks;
  bool IsIncomplete = false;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_FOREIGNMEMORY_H
