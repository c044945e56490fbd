//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TappedMemory.h"
#include "Shortage.h"

#include <algorithm>
#include <utility>

using namespace mneme;

/// Flag of an allocation that the application has freed.
static constexpr uint32_t Freed = 1;

//===----------------------------------------------------------------------===//
// Allocations
//===----------------------------------------------------------------------===//

bool TappedMemory::hasContext() {
  if (State.Off)
    return false;
  std::lock_guard<std::mutex> Guard(State.Lock);
  bool Has = false;
  attempt([&] { Has = Driver.load() && Driver.currentContext(); });
  return Has;
}

/// Frees all memory that the application does not use any more. \returns false
/// when there is none, or when the device uses it for longer than --wait-limit.
/// The lock is released meanwhile; \p G is null where the device was reset.
bool TappedMemory::regainMemory(Gpu *&G, std::unique_lock<std::mutex> &Guard) {
  // Freeing waits for the device, which captures forbid.
  if (Captured.any() || (G->Pending.empty() && !Buffers.hasAny(*G)))
    return false;
  CUcontext Owner = G->Context;
  uint64_t WaitedFor = NumFrees;
  Waiter::Contexts Contexts = Devs.activeContexts();
  // The device may wait for another thread that launches or allocates.
  Guard.unlock();
  Waiter::Failures Failed;
  auto Wait = [&] {
    return Driver.waiter().wait(Contexts, deadline(), Failed,
                                /*GiveUp=*/false);
  };
  // Other threads may have launched kernels while the writer worked.
  bool InTime = Wait() && Writer.drain() && Wait();
  Guard.lock();
  G = Devs.find(Owner);
  // A device that has failed will never be done.
  if (!InTime || !G || !G->isUsable() ||
      std::any_of(Failed.begin(), Failed.end(),
                  [&](const auto &F) { return F.first == Owner; }))
    return false;
  finishFrees(*G, WaitedFor);
  Buffers.release(*G);
  G->Mapping->trim();
  return true;
}

/// \returns false when the runtime is to allocate. It does so for errors, too,
/// so that its last error is the one that the application expects.
bool TappedMemory::tryAllocate(const CudaRuntime &R, void *&Ptr, size_t Size,
                               const CUstream *Stream, int &Result) {
  bool IsDone = false;
  attempt([&] { IsDone = allocateInArena(R, Ptr, Size, Stream, Result); });
  return IsDone;
}

/// May throw, with nothing allocated.
bool TappedMemory::allocateInArena(const CudaRuntime &R, void *&Ptr,
                                   size_t Size, const CUstream *Stream,
                                   int &Result) {
  std::unique_lock<std::mutex> Guard(State.Lock);
  if (!Driver.load())
    return false;
  if (!Driver.currentContext())
    if ((Result = Devs.makeContext(R)))
      return true;
  Gpu *G = Devs.bind(R);
  if (!G)
    return false;
  if (Stream) {
    // An allocation that is captured belongs to the graph.
    if (Driver.isElsewhere(G->Context, *Stream) || Driver.isCapturing(*Stream))
      return false;
    if (reusePlace(*G, Size, *Stream, Ptr))
      return true;
  }
  if (!G->Pending.empty() && !Captured.any())
    finishFrees(*G);

  auto Place = [&] {
    makeRoom(G->Pending, G->Heap.allocations().size() + 1);
    AddressMap::Allocation *A = G->Heap.allocate(Size, MNEME_REGION_HEAP);
    if (!A)
      return false;
    uint64_t Address = A->Address;
    bool IsMapped = false;
    attempt([&] { IsMapped = G->Mapping->map(Address, Size).empty(); });
    if (IsMapped)
      Ptr = reinterpret_cast<void *>(Address);
    else
      G->Heap.release(Address);
    return IsMapped;
  };
  return Place() || (regainMemory(G, Guard) && Place());
}

/// Reuses memory that was freed in the same stream: later work there comes
/// after the free.
bool TappedMemory::reusePlace(Gpu &G, size_t Size, CUstream S, void *&Ptr) {
  // The handle stands for another stream in each thread.
  if (S == ThreadStream)
    return false;
  for (auto I = G.Pending.begin(); I != G.Pending.end(); ++I) {
    AddressMap::Allocation *A = G.Heap.find(I->Address);
    if (I->Stream != S || !I->Reached || A->Size != Size)
      continue;
    Ptr = reinterpret_cast<void *>(I->Address);
    A->Flags &= ~Freed;
    G.Events.push_back(I->Reached);
    G.Pending.erase(I);
    return true;
  }
  return false;
}

bool TappedMemory::reserveAddresses(const CudaRuntime &R, CUdeviceptr &Ptr,
                                    size_t Size, size_t Alignment) {
  bool IsDone = false;
  attempt([&] {
    std::lock_guard<std::mutex> Guard(State.Lock);
    Gpu *G = Devs.bind(R);
    // The arena's own memory needs whole granules around it.
    if (!G || Size % G->Mapping->granularity() || Size > G->Heap.size() / 4 ||
        Alignment > G->Mapping->granularity())
      return;
    makeRoom(G->Pending, G->Heap.allocations().size() + 1);
    const AddressMap::Allocation *A = G->Heap.allocate(Size, ReservedAddresses);
    if (!A)
      return;
    if (A->Address % G->Mapping->granularity()) {
      G->Heap.release(A->Address);
      return;
    }
    Ptr = A->Address;
    IsDone = true;
  });
  return IsDone;
}

bool TappedMemory::freeAddresses(CUdeviceptr Ptr, size_t Size) {
  if (TapState::Forked || !Devs.mayOwn(reinterpret_cast<void *>(Ptr)))
    return false;
  std::lock_guard<std::mutex> Guard(State.Lock);
  const AddressMap::Allocation *A = Devs.findAllocation(Ptr);
  return A && A->Kind == ReservedAddresses && A->Address == Ptr &&
         A->Size == Size && Devs.ownerOf(Ptr)->Heap.release(Ptr);
}

bool TappedMemory::findAllocation(CUdeviceptr Ptr, CUdeviceptr &Address,
                                  size_t &Size) {
  if (TapState::Forked || !Devs.mayOwn(reinterpret_cast<void *>(Ptr)))
    return false;
  std::lock_guard<std::mutex> Guard(State.Lock);
  const AddressMap::Allocation *A = Devs.findAllocation(Ptr);
  if (!A || A->Kind == ReservedAddresses)
    return false;
  Address = A->Address;
  Size = A->Size;
  return true;
}

bool TappedMemory::findPitch(PitchedRow Of, size_t &Pitch) {
  std::lock_guard<std::mutex> Guard(State.Lock);
  const Gpu *G = Driver ? Devs.find(Driver.currentContext()) : nullptr;
  if (!G)
    return false;
  auto I = G->Pitches.find(Of);
  if (I == G->Pitches.end())
    return false;
  Pitch = I->second;
  return true;
}

/// Keeps the pitch for the calling thread's device, and frees the row.
void TappedMemory::keepPitch(PitchedRow Of, size_t Pitch, void *Row) {
  std::lock_guard<std::mutex> Guard(State.Lock);
  bool HasDriver = false;
  attempt([&] { HasDriver = Driver.load(); });
  if (!HasDriver)
    return;
  Gpu *G = Devs.find(Driver.currentContext());
  Buffers.freeLater(G, reinterpret_cast<CUdeviceptr>(Row));
  if (G)
    attempt([&] { G->Pitches[Of] = Pitch; });
}

//===----------------------------------------------------------------------===//
// Frees
//===----------------------------------------------------------------------===//

/// The allocation that begins at \p Ptr, unless it was freed, and its device.
AddressMap::Allocation *TappedMemory::findLive(void *Ptr, Gpu *&G) {
  auto Address = reinterpret_cast<uint64_t>(Ptr);
  G = Devs.ownerOf(Address);
  AddressMap::Allocation *A = G ? G->Heap.find(Ptr) : nullptr;
  return A && A->Address == Address && A->Kind != ReservedAddresses &&
                 !(A->Flags & Freed)
             ? A
             : nullptr;
}

void TappedMemory::releasePlace(Gpu &G, uint64_t Address) {
  uint64_t Size = G.Heap.find(Address)->Size;
  Notes.erase(Notes.lower_bound(Address), Notes.lower_bound(Address + Size));
  Shared.forget(Address);
  G.Heap.release(Address);
  G.Mapping->unmap(Address, Size);
  if (G.Mapping->unusedBytes() > G.MaxUnused)
    G.Mapping->trim();
}

/// \returns false when the runtime is to answer.
bool TappedMemory::tryRelease(void *Ptr, int &Result) {
  if (TapState::Forked)
    return false;
  std::unique_lock<std::mutex> Guard(State.Lock);
  Gpu *G;
  AddressMap::Allocation *A = findLive(Ptr, G);
  if (!A)
    return false;
  Result = cudaSuccess;
  auto Postpone = [&] {
    A->Flags |= Freed;
    G->Pending.push_back({A->Address, LegacyStream, nullptr, NumFrees++});
    return true;
  };
  // Captures forbid waiting.
  if (Captured.any() || Driver.isCapturing(LegacyStream))
    return Postpone();
  // The device may wait for another thread that launches or allocates.
  CUcontext Owner = G->Context;
  Guard.unlock();
  // Without a limit, as the runtime would wait.
  Waiter::Failures Failed;
  Driver.waiter().wait({Owner}, UINT64_MAX, Failed);
  Guard.lock();
  A = findLive(Ptr, G);
  if (!A || G->Context != Owner)
    return false;
  if (!Failed.empty() && isCaptureError(Failed.front().second))
    return Postpone();
  if (!Failed.empty()) // The runtime reports its own error for that.
    return false;
  releasePlace(*G, A->Address);
  return true;
}

/// \returns false when the runtime is to answer, usually with an error.
bool TappedMemory::tryReleaseInOrder(void *Ptr, CUstream S, int &Result) {
  if (TapState::Forked)
    return false;
  std::lock_guard<std::mutex> Guard(State.Lock);
  Gpu *G;
  AddressMap::Allocation *A = findLive(Ptr, G);
  if (!A || Driver.isCapturing(S))
    return false;
  CUevent Reached = nullptr;
  CUresult E = CUDA_SUCCESS;
  // Events belong to the current context.
  if (!Captured.any() && Driver.currentContext() == G->Context &&
      !Driver.isElsewhere(G->Context, S))
    attempt([&] { E = G->recordEvent(*Driver, S, Reached); });
  if (E)
    return false;
  Result = cudaSuccess;
  A->Flags |= Freed;
  G->Pending.push_back({A->Address, S, Reached, NumFrees++});
  return true;
}

void TappedMemory::finishFrees(Gpu &G, uint64_t WaitedFor) {
  auto IsDone = [&](const PendingFree &P) {
    if (P.Number >= WaitedFor && (!P.Reached || Driver->EventQuery(P.Reached)))
      return false;
    if (P.Reached)
      G.Events.push_back(P.Reached);
    releasePlace(G, P.Address);
    return true;
  };
  G.Pending.erase(std::remove_if(G.Pending.begin(), G.Pending.end(), IsDone),
                  G.Pending.end());
}

void TappedMemory::trim() {
  if (State.Off || Captured.any())
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  Gpu *G = Driver ? Devs.find(Driver.currentContext()) : nullptr;
  if (!G || !G->isUsable())
    return;
  finishFrees(*G);
  // Freeing waits for the device. Other threads may launch kernels while the
  // writer works.
  auto IsIdle = [&] { return Driver.isIdle(G->Context); };
  if (Buffers.hasAny(*G) && IsIdle() && Writer.drain() && IsIdle())
    Buffers.release(*G);
  G->Mapping->trim();
}

//===----------------------------------------------------------------------===//
// Annotations
//===----------------------------------------------------------------------===//

void TappedMemory::annotate(Annotation A) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  AddressMap Nothing{{512, 0}};
  Gpu *G = Devs.ownerOf(A.Address);
  mneme::annotate(Notes, G ? G->Heap : Nothing, std::move(A));
}

void TappedMemory::forgetNotes(const Gpu &G) {
  Notes.erase(Notes.lower_bound(G.begin()), Notes.lower_bound(G.end()));
}
