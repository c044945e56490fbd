//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What recording itself does on the device: copies, comparisons, and bringing
/// memory to the host.
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

/// Bytes of device memory that a table of \p NumParts parts takes.
uint64_t tableSize(size_t NumParts);
/// The size of a copy, rounded up for the wide loads of the next one.
constexpr uint64_t alignCopy(uint64_t Size) {
  return (Size + 255) & ~uint64_t(255);
}
/// Flags that comparing \p Size bytes takes, one each page.
uint64_t flagsOf(uint64_t Size);

/// The kernels of a context (lib/Runtime/Kernels).
class DeviceKernels {
public:
  explicit DeviceKernels(const CudaDriver &Driver) : Driver(Driver) {}
  DeviceKernels(const DeviceKernels &) = delete;
  DeviceKernels &operator=(const DeviceKernels &) = delete;
  /// The context must be there still.
  ~DeviceKernels();

  /// \returns an empty string, or what went wrong. Repeats.
  std::string load();

  CUfunction Copy = nullptr, Diff = nullptr;

private:
  const CudaDriver &Driver;
  CUmodule Module = nullptr;
};

/// Works in a stream of its own, and waits for it: when a function returns, the
/// work is done. Of one context, which must be current. One thread at a time.
/// Functions return an empty string, or what went wrong; where nothing is under
/// way yet, they may throw std::bad_alloc.
class DeviceWork {
public:
  DeviceWork(const CudaDriver &Driver, DeviceKernels &Kernels,
             unsigned Multiprocessors);
  DeviceWork(const DeviceWork &) = delete;
  DeviceWork &operator=(const DeviceWork &) = delete;
  /// The context must be there still.
  ~DeviceWork();

  /// Call before anything else, once the kernels are loaded; repeats.
  std::string prepare();

  /// \p Table: tableSize() bytes of device memory.
  std::string copy(const std::vector<MnemeCopyPart> &Parts, CUdeviceptr Table);

  /// Sets one byte of \p Flags for every page that differs. FirstFlag of the
  /// parts is filled in. \p DeviceFlags: as many bytes of device memory.
  std::string diff(std::vector<MnemeDiffPart> Parts, CUdeviceptr Table,
                   CUdeviceptr DeviceFlags, std::vector<uint8_t> &Flags);

  /// Memory that goes to the host.
  struct Piece {
    uint64_t Address; ///< For a recording.
    CUdeviceptr From; ///< Where it is.
    uint64_t Size;
  };

  /// Brings the pieces, in order, through pinned memory. Calls \p Take(bytes,
  /// address, size) for each, perhaps in parts, and \p Flush() before the bytes
  /// of earlier calls go away. The next bytes travel meanwhile.
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
  char *Stage = nullptr; ///< Pinned, for what is small.
  char *Pinned[2] = {};
  std::vector<char *> Outgrown; ///< Freeing would wait for all kernels.
  uint64_t PinnedSize = 0;      ///< Of each.
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DEVICEWORK_H
