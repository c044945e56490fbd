//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Mneme's own work on a device: copies, comparisons, and transfers to the
/// host.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_DEVICEWORK_H
#define MNEME_LIB_RUNTIME_GPUTAP_DEVICEWORK_H

#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "llvm/Mneme/Runtime/MemoryKernels.h"

#include <functional>
#include <string>
#include <vector>

namespace mneme {

/// The size of a table of \p NumParts parts in device memory, in bytes.
uint64_t tableSize(size_t NumParts);
/// Rounds the size of a copy up, so that the next one is aligned for wide
/// loads.
constexpr uint64_t alignCopy(uint64_t Size) {
  return (Size + 255) & ~uint64_t(255);
}
/// The number of flags for a comparison of \p Size bytes: one a page.
uint64_t flagsOf(uint64_t Size);

/// The kernels of a context (lib/Runtime/Kernels).
class DeviceKernels {
public:
  explicit DeviceKernels(const CudaDriver &Driver) : Driver(Driver) {}
  DeviceKernels(const DeviceKernels &) = delete;
  DeviceKernels &operator=(const DeviceKernels &) = delete;
  /// The context must still exist.
  ~DeviceKernels();

  /// \returns an empty string, or what went wrong. May be called again.
  std::string load();

  CUfunction Copy = nullptr, Diff = nullptr;

private:
  const CudaDriver &Driver;
  CUmodule Module = nullptr;
};

/// Works in a stream of its own and waits for it: when a function returns, the
/// work is done. The context must be current. For one thread at a time.
/// Functions return an empty string, or what went wrong. They may throw
/// std::bad_alloc, but not while work is under way.
class DeviceWork {
public:
  DeviceWork(const CudaDriver &Driver, DeviceKernels &Kernels,
             unsigned Multiprocessors);
  DeviceWork(const DeviceWork &) = delete;
  DeviceWork &operator=(const DeviceWork &) = delete;
  /// The context must still exist.
  ~DeviceWork();

  /// To be called first, once the kernels are loaded. May be called again.
  std::string prepare();

  /// \p Table: tableSize() bytes of device memory.
  std::string copy(const std::vector<MnemeCopyPart> &Parts, CUdeviceptr Table);

  /// Sets one byte of \p Flags for each page that differs. Fills in the parts'
  /// FirstFlag. \p DeviceFlags: as many bytes of device memory.
  std::string diff(std::vector<MnemeDiffPart> Parts, CUdeviceptr Table,
                   CUdeviceptr DeviceFlags, std::vector<uint8_t> &Flags);

  /// Memory that goes to the host.
  struct Piece {
    uint64_t Address; ///< For a recording.
    CUdeviceptr From; ///< On the device.
    uint64_t Size;
  };

  /// Transfers the pieces, in order, through pinned memory. Calls \p
  /// Take(bytes, address, size) for each, perhaps in parts, while the next
  /// bytes are being transferred. After \p Flush(), the bytes of earlier calls
  /// are invalid.
  std::string
  bring(const std::vector<Piece> &Pieces,
        const std::function<void(const char *, uint64_t, uint64_t)> &Take,
        const std::function<void()> &Flush);

private:
  std::string launch(CUfunction F, const void *Parts, size_t PartSize,
                     const std::vector<uint64_t> &FirstTile, CUdeviceptr Table,
                     CUdeviceptr Flags);
  CUresult send(CUdeviceptr To, const void *From, uint64_t Size);
  CUresult receive(void *To, CUdeviceptr From, uint64_t Size);
  std::string reservePinned(uint64_t Bytes);
  std::string fail(const char *What, CUresult R) const;

  const CudaDriver &Driver;
  DeviceKernels &Kernels;
  CUstream Stream = nullptr;
  unsigned MaxBlocks;
  char *Stage = nullptr; ///< Pinned, for tables and flags.
  char *Pinned[2] = {};
  /// Freed at the end: freeing pinned memory waits for all kernels.
  std::vector<char *> Outgrown;
  uint64_t PinnedSize = 0; ///< Of each.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DEVICEWORK_H
