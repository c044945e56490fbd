//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Device memory that processes share through the handles of
/// cudaIpcGetMemHandle. The driver has none for memory that is mapped, as that
/// of arenas is. Mneme's own handles name the process and the allocation; a
/// recorded process that opens one gets descriptors of the physical memory over
/// a Unix socket, and maps it.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_SHAREDMEMORY_H
#define MNEME_LIB_RUNTIME_GPUTAP_SHAREDMEMORY_H

#include "CudaRuntime.h"
#include "Devices.h"
#include "ForeignMemory.h"
#include "SessionDriver.h"
#include "TapState.h"

#include <cstdint>
#include <map>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace mneme {

/// Called by the application's threads, unless a function says otherwise: takes
/// the session's lock. Works in a rank that is not recorded, too, since another
/// rank may give it a handle.
class SharedMemory {
public:
  SharedMemory(TapState &State, SessionDriver &Driver, Devices &Devs,
               ForeignMemory &Foreign)
      : State(State), Driver(Driver), Devs(Devs), Foreign(Foreign) {}

  /// Makes a handle for memory of an arena; \p Original does for other memory.
  template <typename Fn>
  int getHandle(IpcMemHandle *Handle, void *Ptr, Fn Original) {
    return Handle && Devs.mayOwn(Ptr) && tryGetHandle(*Handle, Ptr)
               ? int(cudaSuccess)
               : Original();
  }
  /// Opens a handle of Mneme's; \p Original opens others. It is also called
  /// when this fails, as it fails then, too, and sets the last error.
  template <typename Fn>
  int openHandle(const CudaRuntime &R, void **Ptr, const IpcMemHandle &Handle,
                 Fn Original) {
    if (Ptr && tryOpenHandle(R, *Ptr, Handle))
      return cudaSuccess;
    int E = Original();
    if (!E)
      noteOpened(*Ptr);
    return E;
  }
  template <typename Fn> int closeHandle(void *Ptr, Fn Original) {
    if (tryCloseHandle(Ptr))
      return cudaSuccess;
    Foreign.forgetAll(Ptr, 1);
    return Original();
  }
  /// The driver has given the application memory of another process at \p Ptr.
  void noteOpened(void *Ptr);
  /// The application has imported a handle of cuMemCreate().
  void noteImported(unsigned long long Handle);
  bool isImported(unsigned long long Handle);

  // With the session's lock held.

  /// The memory of an arena that begins at \p Address is freed.
  void forget(uint64_t Address);
  /// The arena of \p G is destroyed.
  void forget(const Gpu &G);
  void forget(CUcontext Gone);

private:
  using Chunks = std::vector<CudaMapping::ExportedChunk>;
  /// Memory of this process that has a handle.
  struct Given {
    uint64_t Id;
    Chunks Parts; ///< The first one contains the allocation's address.
  };
  /// Memory of another process that is mapped here.
  struct Opened {
    uint64_t Process, Id;
    CUcontext Owner;
    uint64_t Offset; ///< Of the allocation.
    std::vector<uint64_t> Sizes;
    unsigned Uses = 1;

    uint64_t size() const;
  };

  bool tryGetHandle(IpcMemHandle &Handle, void *Ptr);
  bool makeHandle(IpcMemHandle &Handle, uint64_t Address);
  bool startServer();
  void serve();
  void answer(int Client);
  bool tryOpenHandle(const CudaRuntime &R, void *&Ptr,
                     const IpcMemHandle &Handle);
  std::string prepare(const CudaRuntime &R, Opened &New);
  std::map<CUdeviceptr, Opened>::iterator find(const Opened &Same);
  std::string open(void *&Ptr, Opened &New, const std::vector<int> &Files);
  std::string map(CUdeviceptr Base, const std::vector<uint64_t> &Sizes,
                  const std::vector<int> &Files);
  bool tryCloseHandle(void *Ptr);
  void unmap(CUdeviceptr Base, const std::vector<uint64_t> &Sizes,
             size_t NumMapped);

  TapState &State;
  SessionDriver &Driver;
  Devices &Devs;
  ForeignMemory &Foreign;

  std::map<CUdeviceptr, Opened> Open; ///< By the address of the mapping.
  std::set<unsigned long long> Imported;
  bool HasTold = false;

  /// Guards what the server's thread reads. Taken under the session's lock.
  std::mutex ServerLock;
  std::map<uint64_t, Given> Gave; ///< By the allocation's address.
  uint64_t Process = 0;           ///< A number of this process alone.
  int Listener = -1;
  uint64_t NextId = 0;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_SHAREDMEMORY_H
