//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The state of one device: its arena, the memory freed in stream order, and
/// the streams and kernels that Mneme itself uses there.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_GPU_H
#define MNEME_LIB_RUNTIME_GPUTAP_GPU_H

#include "AddressMap.h"
#include "DeviceWork.h"
#include "Recorder.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace mneme {

/// Reserves memory for \p Count elements, so that push_back() takes none. May
/// throw.
template <typename T> void makeRoom(std::vector<T> &V, size_t Count) {
  if (V.capacity() < Count)
    V.reserve(std::max(Count, 2 * V.capacity()));
}

/// Device memory that recording needs for itself.
struct Buffer {
  CUdeviceptr Address = 0;
  uint64_t Size = 0;
};

/// Memory of an arena that was freed in the order of a stream.
struct PendingFree {
  uint64_t Address;
  CUstream Stream;
  /// Recorded into the stream behind the free. Null: the memory is free once
  /// the devices have been waited for.
  CUevent Reached;
  uint64_t Number; ///< Counts the frees of all devices.
};

/// Kind of an allocation of an arena's addresses for memory that the
/// application maps there itself. Others are MNEME_REGION_HEAP.
inline constexpr uint32_t ReservedAddresses = 0;

/// What a pitch depends on: the width of a row and, for the driver, the size of
/// an element, in bytes.
using PitchedRow = std::pair<size_t, unsigned>;

/// The primary context of a device, or the first context that the application
/// uses, which may be any.
struct Gpu {
  CUcontext Context = nullptr;
  CUdevice Device = 0;
  std::string Unusable; ///< Why nothing is recorded on this device.
  unsigned Multiprocessors = 0;
  DeviceFacts Facts;
  int Arch = 0; ///< 90 for sm_90, 0x90a for gfx90a.
  /// The device and the host can access managed memory at the same time.
  bool ManagedIsShared = false;
  bool ReadsHost = false; ///< Kernels can read pageable host memory.

  /// The arena, whose memory has the same addresses in recordings. Null when it
  /// could not be reserved.
  std::unique_ptr<CudaMapping> Mapping;
  AddressMap Heap{{512, 0, 1u << 20, 2u << 20}};
  /// The addresses of variables in recordings: from here to the arena's end.
  uint64_t Homes = 0;
  /// Limit of mapped but unused memory, in bytes: functions other than
  /// cudaMalloc need free memory, too.
  uint64_t MaxUnused = 0;
  /// Has room for all allocations of the heap, so that a free takes no memory.
  std::vector<PendingFree> Pending;
  std::vector<CUevent> Events; ///< The unused ones. Has room for all.
  size_t NumEvents = 0;        ///< Used and unused.
  /// Streams that did not reach these events before a deadline.
  std::map<CUstream, CUevent> Blocked;
  std::map<PitchedRow, size_t> Pitches; ///< In bytes.

  std::unique_ptr<DeviceKernels> Kernels;
  std::unique_ptr<DeviceWork> Work;       ///< For the application's threads.
  std::unique_ptr<DeviceWork> WriterWork; ///< For the writer's thread.
  // Under the lock of CopyBuffers.
  std::vector<Buffer> Spare; ///< Has room for all buffers.
  size_t NumBuffers = 0;     ///< Spare and used.

  /// Records an event into \p S. \p E gets the event, unless there is an error.
  /// The context must be current. May throw.
  CUresult recordEvent(const CudaDriver &Driver, CUstream S, CUevent &E);

  bool isUsable() const { return Mapping && Unusable.empty(); }
  uint64_t begin() const { return Mapping ? Mapping->base() : 0; }
  uint64_t end() const { return begin() + (Mapping ? Mapping->size() : 0); }
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_GPU_H
