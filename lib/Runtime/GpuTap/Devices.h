//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The devices that the application uses, and their arenas.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_DEVICES_H
#define MNEME_LIB_RUNTIME_GPUTAP_DEVICES_H

#include "CopyBuffers.h"
#include "CudaRuntime.h"
#include "Gpu.h"
#include "SessionDriver.h"
#include "TapState.h"

#include <atomic>
#include <memory>
#include <string>
#include <vector>

namespace mneme {

/// Binds each context that the application uses to a Gpu with an arena of its
/// own. Functions need the session's lock, unless they say otherwise.
class Devices {
public:
  using List = std::vector<std::unique_ptr<Gpu>>;

  /// \p OnFirst is called once, when the first device has an arena: the driver
  /// is initialized by then.
  Devices(TapState &State, SessionDriver &Driver, CopyBuffers &Buffers,
          void (*OnFirst)())
      : State(State), Driver(Driver), Buffers(Buffers), OnFirst(OnFirst) {}

  /// Binds the calling thread's context, the first time, and makes it if the
  /// thread has none. \returns null where nothing can be recorded. May throw,
  /// with nothing done.
  Gpu *bind(const CudaRuntime &R);
  /// Lets the runtime make its context, for the device that the thread has
  /// chosen. \returns an error of the runtime.
  int makeContext(const CudaRuntime &R);
  /// Some devices are going to access memory of others: binds all that are
  /// active, as devices that have allocated nothing are not bound yet. Takes
  /// the session's lock.
  void connect(const CudaRuntime &R);
  /// Loads what recording needs on a device. \returns an empty string, or what
  /// went wrong. Repeats. May throw.
  std::string prepare(Gpu &G);
  /// The device has failed: nothing more is recorded there.
  void giveUp(Gpu &G);
  /// Before the context is destroyed.
  void remove(const Gpu &G);

  /// In the order of their first use. The first arena begins at MNEME_VA_BASE.
  const List &all() const { return Gpus; }
  /// The device that \p C is bound to, or null.
  Gpu *find(CUcontext C) const;
  /// The device with the arena that \p Address lies in, or null.
  Gpu *ownerOf(uint64_t Address) const;
  /// Returns the allocation in an arena that has the address, or null. It may
  /// be one of ReservedAddresses.
  const AddressMap::Allocation *findAllocation(uint64_t Address) const;
  /// The contexts that may have work under way: the first bound one and all
  /// active primary ones, as other code uses these without calls to Mneme.
  Waiter::Contexts activeContexts() const;
  /// Whether \p Ptr may lie in an arena. Needs no lock.
  bool mayOwn(const void *Ptr) const {
    uint64_t Begin = ArenasBegin.load(std::memory_order_acquire);
    return reinterpret_cast<uint64_t>(Ptr) - Begin <
           ArenasSize.load(std::memory_order_relaxed);
  }
  /// Allocates the addresses that variables and textures have in recordings,
  /// as offsets from Gpu::Homes. No memory is behind them.
  AddressMap &homes() { return Homes; }

private:
  std::string bindTo(Gpu &G, const CudaRuntime &R);
  std::string reserve(Gpu &G);
  std::string reserveFirst(CudaMapping &M, uint64_t Total) const;
  std::string reserveBeside(CudaMapping &M) const;
  void shareMemory(Gpu &New);
  void noteRange(const Gpu &G);

  TapState &State;
  SessionDriver &Driver;
  CopyBuffers &Buffers;
  void (*OnFirst)(); ///< Null once called.
  List Gpus;
  AddressMap Homes{{512, 0}};
  /// The addresses from the beginning of the first arena to the end of the last
  /// one.
  std::atomic<uint64_t> ArenasBegin{0}, ArenasSize{0};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DEVICES_H
