//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The application's allocations in arenas.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_TAPPEDMEMORY_H
#define MNEME_LIB_RUNTIME_GPUTAP_TAPPEDMEMORY_H

#include "AddressMap.h"
#include "Captures.h"
#include "CopyBuffers.h"
#include "CudaTypes.h"
#include "Devices.h"
#include "ForeignMemory.h"
#include "Gpu.h"
#include "Recorder.h"
#include "RecordingWriter.h"
#include "SessionDriver.h"
#include "SharedMemory.h"
#include "TapState.h"

#include <atomic>
#include <mutex>

namespace mneme {

/// Allocates and frees device memory in place of the runtime. When it cannot,
/// the original function does, so that errors are the runtime's own.
class TappedMemory {
public:
  TappedMemory(TapState &State, SessionDriver &Driver, Devices &Devs,
               Captures &Captured, CopyBuffers &Buffers,
               RecordingWriter &Writer, ForeignMemory &Foreign,
               SharedMemory &Shared)
      : State(State), Driver(Driver), Devs(Devs), Captured(Captured),
        Buffers(Buffers), Writer(Writer), Foreign(Foreign), Shared(Shared) {}

  // Called by the application's threads: these take the session's lock.

  /// Allocates \p Size bytes in the arena, or calls \p Original. With
  /// \p Stream, in that stream's order.
  template <typename Fn>
  int allocate(const CudaRuntime &R, void **Ptr, size_t Size, Fn Original,
               const CUstream *Stream = nullptr) {
    int Result = cudaSuccess;
    if (Ptr && Size && !State.Off && Selection::get().includesRank() &&
        !Selection::get().memoryStays() &&
        tryAllocate(R, *Ptr, Size, Stream, Result))
      return Result;
    Result = Original();
    if (!Result && Ptr)
      Foreign.note(*Ptr, Size, MNEME_REGION_DEVICE, /*IsPortable=*/false);
    return Result;
  }
  /// Frees memory that allocate() returned, or calls \p Original.
  template <typename Fn> int release(void *Ptr, Fn Original) {
    int Result;
    if (Devs.mayOwn(Ptr) && tryRelease(Ptr, Result))
      return Result;
    Foreign.forget(Ptr);
    return Original();
  }
  /// The same in the order of \p Stream.
  template <typename Fn> int release(void *Ptr, CUstream Stream, Fn Original) {
    int Result;
    if (Devs.mayOwn(Ptr) && tryReleaseInOrder(Ptr, Stream, Result))
      return Result;
    Foreign.forget(Ptr);
    return Original();
  }
  /// The bytes from one row to the next, as the runtime or the driver chooses
  /// them. It is asked once: \p Ask(pointer, pitch) allocates a row and returns
  /// an error. \returns 0 when that fails.
  template <typename Fn> size_t pitchOf(PitchedRow Of, Fn Ask) {
    size_t Pitch = 0;
    void *Row = nullptr;
    if (State.Off || findPitch(Of, Pitch))
      return Pitch;
    if (Ask(&Row, &Pitch))
      return 0;
    keepPitch(Of, Pitch, Row);
    return Pitch;
  }
  /// Reserves addresses of the arena for memory that the application maps there
  /// itself. \returns false when the driver is to reserve others.
  bool reserveAddresses(const CudaRuntime &R, CUdeviceptr &Ptr, size_t Size,
                        size_t Alignment);
  /// \returns false when reserveAddresses() has not reserved the range.
  bool freeAddresses(CUdeviceptr Ptr, size_t Size);
  /// Finds the arena's allocation that \p Ptr lies in: the driver knows only
  /// what is mapped there. \returns false when the driver is to answer.
  bool findAllocation(CUdeviceptr Ptr, CUdeviceptr &Address, size_t &Size);
  /// Whether a context is current.
  bool hasContext();
  /// Before the application asks how much memory is free: frees what it does
  /// not know of.
  void trim();
  void annotate(Annotation A);

  /// Other processes may get memory of pools, so that pools stay the runtime's.
  /// Needs no lock.
  void sharePools() { PoolsAreShared = true; }
  bool arePoolsShared() const { return PoolsAreShared; }

  // With the session's lock held.

  /// Frees memory whose streams have reached the free, and the first
  /// \p WaitedFor frees in stream order: all devices have been waited for
  /// since.
  void finishFrees(Gpu &G, uint64_t WaitedFor = 0);
  /// The number of frees so far whose memory had to wait.
  uint64_t numFrees() const { return NumFrees; }
  /// The annotations of live memory.
  const Annotations &notes() const { return Notes; }
  /// Before the context of \p G is destroyed.
  void forgetNotes(const Gpu &G);

private:
  bool tryAllocate(const CudaRuntime &R, void *&Ptr, size_t Size,
                   const CUstream *Stream, int &Result);
  bool allocateInArena(const CudaRuntime &R, void *&Ptr, size_t Size,
                       const CUstream *Stream, int &Result);
  bool reusePlace(Gpu &G, size_t Size, CUstream S, void *&Ptr);
  bool regainMemory(Gpu *&G, std::unique_lock<std::mutex> &Guard);
  bool tryRelease(void *Ptr, int &Result);
  bool tryReleaseInOrder(void *Ptr, CUstream Stream, int &Result);
  AddressMap::Allocation *findLive(void *Ptr, Gpu *&G);
  void releasePlace(Gpu &G, uint64_t Address);
  bool findPitch(PitchedRow Of, size_t &Pitch);
  void keepPitch(PitchedRow Of, size_t Pitch, void *Row);

  TapState &State;
  SessionDriver &Driver;
  Devices &Devs;
  Captures &Captured;
  CopyBuffers &Buffers;
  RecordingWriter &Writer;
  ForeignMemory &Foreign;
  SharedMemory &Shared;
  uint64_t NumFrees = 0;
  Annotations Notes;
  std::atomic<bool> PoolsAreShared{false};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_TAPPEDMEMORY_H
