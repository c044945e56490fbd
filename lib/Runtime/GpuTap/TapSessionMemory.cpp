//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory: what the arena gives out and takes back, and what is known of that
/// which the runtime gives.
///
//===----------------------------------------------------------------------===//

#include "Shortage.h"
#include "TapSession.h"

#include <algorithm>

using namespace mneme;

static constexpr unsigned DisableTiming = 2; // CU_EVENT_DISABLE_TIMING

/// Flag of an allocation that the application has freed.
static constexpr uint32_t Freed = 1;

//===----------------------------------------------------------------------===//
// Giving
//===----------------------------------------------------------------------===//

bool TapSession::hasContext() {
  if (Off)
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  bool Has = false;
  attempt([&] { Has = loadDriver() && currentContext(); });
  return Has;
}

/// Whether the stream is another device's.
bool TapSession::isElsewhere(const Gpu &G, CUstream S) const {
  CUcontext C = nullptr;
  return Driver->StreamGetCtx && !Driver->StreamGetCtx(S, &C) &&
         C != G.Context;
}

/// Gives everything back that is not the application's any more. \returns false
/// when there is nothing, or when the device keeps it for longer than
/// --wait-limit.
bool TapSession::regainMemory(Gpu *&G, std::unique_lock<std::mutex> &Guard) {
  // To free memory is to wait for the device. Nobody may wait now.
  if (Captures || (G->Pending.empty() && !hasBuffers(*G)))
    return false;
  CUcontext Owner = G->Context;
  uint64_t WaitedFor = NumFrees;
  Waiter::Contexts Contexts = activeContexts();
  // What this waits for may need another thread that launches or allocates.
  Guard.unlock();
  Waiter::Failures Failed;
  auto Wait = [&] {
    return Waiting->wait(Contexts, deadline(), Failed, /*GiveUp=*/false);
  };
  // Others may have launched something while the writer worked.
  bool InTime = Wait() && drain() && Wait();
  Guard.lock();
  G = gpuOf(Owner); // Somebody may have reset it.
  // A device that has failed writes nothing any more.
  if (!InTime || !G || !G->isUsable() ||
      std::any_of(Failed.begin(), Failed.end(),
                  [&](const auto &F) { return F.first == Owner; }))
    return false;
  finishFrees(*G, WaitedFor);
  releaseBuffers(*G);
  G->Mapping->trim();
  return true;
}

/// \returns false when the runtime is to give it; it has an error for every
/// case, too, so that its last error is what the application expects.
bool TapSession::allocate(const CudaRuntime &R, void *&Ptr, size_t Size,
                          const CUstream *Stream, int &Result) {
  bool IsOurs = false;
  attempt([&] { IsOurs = allocateOurs(R, Ptr, Size, Stream, Result); });
  return IsOurs;
}

/// May throw, with nothing given.
bool TapSession::allocateOurs(const CudaRuntime &R, void *&Ptr, size_t Size,
                              const CUstream *Stream, int &Result) {
  std::unique_lock<std::mutex> Guard(Lock);
  if (!loadDriver())
    return false;
  if (!currentContext())
    if ((Result = makeContext(R)))
      return true;
  Gpu *G = bind(R);
  if (!G)
    return false;
  if (Stream) {
    // While something is captured, memory may be the graph's.
    if (isElsewhere(*G, *Stream) || isCapturing(*Stream))
      return false;
    if (reusePlace(*G, Size, *Stream, Ptr))
      return true;
  }
  if (!G->Pending.empty() && !Captures)
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

/// Memory that was freed in the same stream is free for what comes later in it.
bool TapSession::reusePlace(Gpu &G, size_t Size, CUstream S, void *&Ptr) {
  // That is another one in each thread.
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

bool TapSession::findPitch(size_t Width, size_t &Pitch) {
  std::lock_guard<std::mutex> Guard(Lock);
  const Gpu *G = Driver ? gpuOf(currentContext()) : nullptr;
  if (!G)
    return false;
  auto I = G->Pitches.find(Width);
  if (I == G->Pitches.end())
    return false;
  Pitch = I->second;
  return true;
}

void TapSession::keepPitch(size_t Width, size_t Pitch, void *Row) {
  std::lock_guard<std::mutex> Guard(Lock);
  bool HasDriver = false;
  attempt([&] { HasDriver = loadDriver(); });
  if (!HasDriver)
    return;
  freeLater(reinterpret_cast<CUdeviceptr>(Row));
  if (Gpu *G = gpuOf(currentContext()))
    attempt([&] { G->Pitches[Width] = Pitch; });
}

//===----------------------------------------------------------------------===//
// Taking back
//===----------------------------------------------------------------------===//

/// The allocation that begins at \p Ptr, unless it was freed, and its device.
AddressMap::Allocation *TapSession::findLive(void *Ptr, Gpu *&G) {
  auto Address = reinterpret_cast<uint64_t>(Ptr);
  G = ownerOf(Address);
  AddressMap::Allocation *A = G ? G->Heap.find(Ptr) : nullptr;
  return A && A->Address == Address && !(A->Flags & Freed) ? A : nullptr;
}

void TapSession::releasePlace(Gpu &G, uint64_t Address) {
  uint64_t Size = G.Heap.find(Address)->Size;
  Notes.erase(Notes.lower_bound(Address), Notes.lower_bound(Address + Size));
  G.Heap.release(Address);
  G.Mapping->unmap(Address, Size);
  if (G.Mapping->unusedBytes() > G.MaxUnused)
    G.Mapping->trim();
}

bool TapSession::release(void *Ptr, int &Result) {
  if (Forked)
    return false;
  std::unique_lock<std::mutex> Guard(Lock);
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
  // Nobody may wait now.
  if (Captures || isCapturing(LegacyStream))
    return Postpone();
  // What this waits for may need another thread that launches or allocates.
  CUcontext Owner = G->Context;
  Guard.unlock();
  // As long as it takes: so would the runtime.
  Waiter::Failures Failed;
  Waiting->wait({Owner}, UINT64_MAX, Failed);
  Guard.lock();
  A = findLive(Ptr, G);
  if (!A || G->Context != Owner)
    return false;
  if (!Failed.empty() && isCaptureError(Failed.front().second))
    return Postpone();
  if (!Failed.empty()) // The runtime knows how it calls that.
    return false;
  releasePlace(*G, A->Address);
  return true;
}

/// \p E gets an event, unless there is an error. May throw.
CUresult TapSession::recordEvent(Gpu &G, CUstream S, CUevent &E) {
  if (G.Events.empty()) {
    makeRoom(G.Events, G.NumEvents + 1);
    CUevent New;
    if (CUresult R = Driver->EventCreate(&New, DisableTiming))
      return R;
    ++G.NumEvents;
    G.Events.push_back(New);
  }
  if (CUresult R = Driver->EventRecord(G.Events.back(), S))
    return R;
  E = G.Events.back();
  G.Events.pop_back();
  return CUDA_SUCCESS;
}

/// \returns false when the runtime is to answer: with an error, as a rule.
bool TapSession::releaseInOrder(void *Ptr, CUstream S, int &Result) {
  if (Forked)
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  Gpu *G;
  AddressMap::Allocation *A = findLive(Ptr, G);
  if (!A || isCapturing(S))
    return false;
  CUevent Reached = nullptr;
  CUresult E = CUDA_SUCCESS;
  // Events are of the context that is current.
  if (!Captures && currentContext() == G->Context && !isElsewhere(*G, S))
    attempt([&] { E = recordEvent(*G, S, Reached); });
  if (E)
    return false;
  Result = cudaSuccess;
  A->Flags |= Freed;
  G->Pending.push_back({A->Address, S, Reached, NumFrees++});
  return true;
}

/// Takes back what streams have come to free, and the first \p WaitedFor of all
/// that was freed: all devices have been waited for since.
void TapSession::finishFrees(Gpu &G, uint64_t WaitedFor) {
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

void TapSession::trim() {
  if (Off || Captures)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  Gpu *G = Driver ? gpuOf(currentContext()) : nullptr;
  if (!G || !G->isUsable())
    return;
  finishFrees(*G);
  // To free memory is to wait. Others may have launched something meanwhile.
  if (hasBuffers(*G) && isIdle(*G) && drain() && isIdle(*G))
    releaseBuffers(*G);
  G->Mapping->trim();
}

void TapSession::reset() {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Driver)
    return;
  CUcontext Gone = currentContext();
  forgetGraphs(Gone);
  for (auto I = Textures.begin(); I != Textures.end();)
    I = std::get<CUcontext>(I->first) == Gone ? Textures.erase(I)
                                              : std::next(I);
  Gpu *G = gpuOf(Gone);
  if (!G)
    return;
  // The writer works with what goes now.
  while (!drain())
    ;
  releaseBuffers(*G);
  Notes.erase(Notes.lower_bound(G->begin()), Notes.lower_bound(G->end()));
  for (auto I = Foreign.begin(); I != Foreign.end();)
    I = I->second.Owner == Gone ? Foreign.erase(I) : std::next(I);
  {
    std::lock_guard<std::mutex> CaptureGuard(CaptureLock);
    Capturing.erase(std::remove_if(
                        Capturing.begin(), Capturing.end(),
                        [&](const auto &C) { return C.second == Gone; }),
                    Capturing.end());
    Captures = Capturing.size();
  }
  Gpus.erase(std::find_if(Gpus.begin(), Gpus.end(),
                          [&](const auto &Other) { return Other.get() == G; }));
  Off = Finished;
}

void TapSession::annotate(Annotation A) {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  AddressMap Nothing{{512, 0}};
  Gpu *G = ownerOf(A.Address);
  mneme::annotate(Notes, G ? G->Heap : Nothing, std::move(A));
}

//===----------------------------------------------------------------------===//
// The runtime's memory
//===----------------------------------------------------------------------===//

void TapSession::note(void *Host, size_t Size, uint32_t Kind, bool IsPortable) {
  if (Off || !Host || !Size)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!attempt([&] { noteForeign(Host, Size, Kind, IsPortable); }))
    IsForeignIncomplete = true;
}

/// May throw.
void TapSession::noteForeign(void *Host, size_t Size, uint32_t Kind,
                             bool IsPortable) {
  if (!loadDriver())
    return;
  auto Address = reinterpret_cast<uint64_t>(Host);
  CUdeviceptr OnDevice = Address;
  // The same as a rule, but not for all flags that there are.
  if (Kind == MNEME_REGION_PINNED && Driver->MemHostGetDevicePointer &&
      Driver->MemHostGetDevicePointer(&OnDevice, Host, 0))
    return;
  // What was there is gone, and nobody has said so.
  eraseForeign(OnDevice, Size);
  Foreign[OnDevice] = {Size, Address, Kind, currentContext(), IsPortable};
}

void TapSession::forget(const void *Host) {
  if (Forked || !Host)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  auto Address = reinterpret_cast<uint64_t>(Host);
  auto I = Foreign.find(Address);
  if (I == Foreign.end() || I->second.Host != Address)
    I = std::find_if(Foreign.begin(), Foreign.end(),
                     [&](const auto &M) { return M.second.Host == Address; });
  if (I != Foreign.end())
    Foreign.erase(I);
}

void TapSession::forgetAll(const void *Ptr, size_t Size) {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  eraseForeign(reinterpret_cast<uint64_t>(Ptr), Size);
}

/// Forgets all that intersects a range.
void TapSession::eraseForeign(uint64_t Address, uint64_t Size) {
  auto I = Foreign.upper_bound(Address);
  if (findForeign(Address))
    --I;
  while (I != Foreign.end() && I->first < Address + Size)
    I = Foreign.erase(I);
}

const std::pair<const uint64_t, ForeignMemory> *
TapSession::findForeign(uint64_t Address) const {
  auto I = Foreign.upper_bound(Address);
  if (I == Foreign.begin())
    return nullptr;
  --I;
  return Address - I->first < I->second.Size ? &*I : nullptr;
}
