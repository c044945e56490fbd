//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What recording knows of one device: the memory that it gives out there, and
/// what works on it.
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
#include <vector>

namespace mneme {

/// So that \p V can have \p Count elements without taking memory. May throw.
template <typename T> void makeRoom(std::vector<T> &V, size_t Count) {
  if (V.capacity() < Count)
    V.reserve(std::max(Count, 2 * V.capacity()));
}

/// Device memory of ours.
struct Buffer {
  CUdeviceptr Address = 0;
  uint64_t Size = 0;
};

/// Memory of an arena that was freed in the order of a stream.
struct PendingFree {
  uint64_t Address;
  CUstream Stream;
  CUevent Reached; ///< Null: when the devices have been waited for.
  uint64_t Number; ///< In the order of frees.
};

/// A device, or rather its primary context; for the first that the application
/// uses, whichever context that has.
struct Gpu {
  CUcontext Context = nullptr;
  CUdevice Device = 0;
  std::string Unusable; ///< Why nothing is recorded there.
  unsigned Multiprocessors = 0;
  DeviceFacts Facts;
  int Arch = 0; ///< 90 for sm_90.
  /// It reads managed memory whatever the host does.
  bool ManagedIsShared = false;
  bool ReadsHost = false; ///< Kernels may read all memory of the host.

  /// The arena: what recordings have at the same addresses. Null when there is
  /// none.
  std::unique_ptr<CudaMapping> Mapping;
  AddressMap Heap{{512, 0, 1u << 20, 2u << 20}};
  uint64_t Homes = 0; ///< Where recordings have variables, up to the end.
  /// So much memory may be mapped for nothing, in bytes: what other functions
  /// than cudaMalloc allocate must find room.
  uint64_t MaxUnused = 0;
  /// Has room for all allocations of the heap: to free memory takes none.
  std::vector<PendingFree> Pending;
  std::vector<CUevent> Events; ///< That nobody needs now. Has room for all.
  size_t NumEvents = 0;        ///< All that there are.
  /// Streams that were waited for in vain, up to here.
  std::map<CUstream, CUevent> Blocked;
  std::map<size_t, size_t> Pitches; ///< By width.

  std::unique_ptr<DeviceKernels> Kernels;
  std::unique_ptr<DeviceWork> Work;       ///< For the application's threads.
  std::unique_ptr<DeviceWork> WriterWork; ///< The writer's while it is busy.
  // With the writer's lock.
  std::vector<Buffer> Spare; ///< Has room for all buffers.
  size_t NumBuffers = 0;     ///< All that there are.

  bool isUsable() const { return Mapping && Unusable.empty(); }
  uint64_t begin() const { return Mapping ? Mapping->base() : 0; }
  uint64_t end() const { return begin() + (Mapping ? Mapping->size() : 0); }
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_GPU_H
