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

#include "Session.h"

#include <algorithm>

using namespace mneme;

static constexpr unsigned DisableTiming = 2; // CU_EVENT_DISABLE_TIMING

/// Flag of an allocation that the application has freed.
static constexpr uint32_t Freed = 1;

//===----------------------------------------------------------------------===//
// Giving
//===----------------------------------------------------------------------===//

bool Session::hasContext() {
  if (Off)
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  return loadDriver() && currentContext();
}

/// Whether the stream's memory is not the arena's device's.
bool Session::isElsewhere(CUstream S) const {
  CUcontext C = nullptr;
  return Driver->StreamGetCtx && !Driver->StreamGetCtx(S, &C) && C != Context;
}

bool Session::mapPlace(uint64_t Address, uint64_t Size) {
  if (Mapping->map(Address, Size).empty())
    return true;
  if (releaseBuffers() && Mapping->map(Address, Size).empty())
    return true;
  drain();
  return releaseBuffers() && Mapping->map(Address, Size).empty();
}

/// \returns false when the runtime is to give it; it has an error for every
/// case, too, so that its last error is what the application expects.
bool Session::allocate(const CudaRuntime &R, void *&Ptr, size_t Size,
                       const CUstream *Stream, int &Result) {
  std::unique_lock<std::mutex> Guard(Lock);
  if (!loadDriver())
    return false;
  if (!currentContext())
    if ((Result = makeContext(R)))
      return true;
  if (!bind(R) || currentContext() != Context)
    return false;
  if (Stream) {
    // While something is captured, memory may be the graph's.
    if (isElsewhere(*Stream) || isCapturing(*Stream))
      return false;
    if (reusePlace(Size, *Stream, Ptr))
      return true;
  }
  if (!Pending.empty() && !Captures)
    finishFrees(/*All=*/false);

  for (unsigned Attempt = 0;; ++Attempt) {
    if (AddressMap::Allocation *A = Heap.allocate(Size, MNEME_REGION_HEAP)) {
      uint64_t Address = A->Address;
      if (mapPlace(Address, Size)) {
        Ptr = reinterpret_cast<void *>(Address);
        return true;
      }
      Heap.release(Address);
    }
    if (Attempt || Pending.empty() || Captures)
      return false;
    // What this waits for may need another thread that launches or allocates.
    CUcontext Owner = Context;
    Guard.unlock();
    CUresult E = waitFor(Owner);
    Guard.lock();
    if (E || Context != Owner)
      return false;
    finishFrees(/*All=*/true);
    Mapping->trim();
  }
}

/// Memory that was freed in the same stream is free for what comes later in it.
bool Session::reusePlace(size_t Size, CUstream S, void *&Ptr) {
  for (auto I = Pending.begin(); I != Pending.end(); ++I) {
    AddressMap::Allocation *A = Heap.find(I->Address);
    if (I->Stream != S || !I->Reached || A->Size != Size)
      continue;
    Ptr = reinterpret_cast<void *>(I->Address);
    A->Flags &= ~Freed;
    Events.push_back(I->Reached);
    Pending.erase(I);
    return true;
  }
  return false;
}

bool Session::findPitch(size_t Width, size_t &Pitch) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = Pitches.find(Width);
  if (I == Pitches.end())
    return false;
  Pitch = I->second;
  return true;
}

void Session::keepPitch(size_t Width, size_t Pitch, void *Row) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (loadDriver())
    Driver->MemFree(reinterpret_cast<CUdeviceptr>(Row));
  Pitches[Width] = Pitch;
}

//===----------------------------------------------------------------------===//
// Taking back
//===----------------------------------------------------------------------===//

/// The allocation that begins at \p Ptr, unless it was freed.
AddressMap::Allocation *Session::findLive(void *Ptr) {
  AddressMap::Allocation *A = Heap.find(Ptr);
  return A && A->Address == reinterpret_cast<uint64_t>(Ptr) &&
                 !(A->Flags & Freed)
             ? A
             : nullptr;
}

void Session::releasePlace(uint64_t Address) {
  uint64_t Size = Heap.find(Address)->Size;
  Notes.erase(Notes.lower_bound(Address), Notes.lower_bound(Address + Size));
  Heap.release(Address);
  Mapping->unmap(Address, Size);
  if (Mapping->unusedBytes() > MaxUnused)
    Mapping->trim();
}

bool Session::release(void *Ptr, int &Result) {
  if (Forked)
    return false;
  std::unique_lock<std::mutex> Guard(Lock);
  AddressMap::Allocation *A = findLive(Ptr);
  if (!A)
    return false;
  Result = cudaSuccess;
  auto Postpone = [&] {
    A->Flags |= Freed;
    Pending.push_back({A->Address, LegacyStream, nullptr});
    return true;
  };
  // Nobody may wait now.
  if (Captures || isCapturing(LegacyStream))
    return Postpone();
  // What this waits for may need another thread that launches or allocates.
  CUcontext Owner = Context;
  Guard.unlock();
  CUresult E = waitFor(Owner);
  Guard.lock();
  A = findLive(Ptr);
  if (!A || Context != Owner)
    return false;
  if (isCaptureError(E))
    return Postpone();
  if (E) // The runtime knows how it calls that.
    return false;
  releasePlace(A->Address);
  return true;
}

CUevent Session::recordEvent(CUstream S) {
  CUevent E = nullptr;
  if (!Events.empty()) {
    E = Events.back();
    Events.pop_back();
  } else if (Driver->EventCreate(&E, DisableTiming)) {
    return nullptr;
  }
  if (!Driver->EventRecord(E, S))
    return E;
  Events.push_back(E);
  return nullptr;
}

/// \returns false when the runtime is to answer: with an error, as a rule.
bool Session::releaseInOrder(void *Ptr, CUstream S, int &Result) {
  if (Forked)
    return false;
  std::lock_guard<std::mutex> Guard(Lock);
  AddressMap::Allocation *A = findLive(Ptr);
  if (!A || isCapturing(S))
    return false;
  CUevent Reached = nullptr;
  // Events are of the context that is current.
  if (!Captures && currentContext() == Context && !isElsewhere(S)) {
    Reached = recordEvent(S);
    if (!Reached)
      return false;
  }
  Result = cudaSuccess;
  A->Flags |= Freed;
  Pending.push_back({A->Address, S, Reached});
  return true;
}

/// Takes back what streams have come to free. \p All: the device has been
/// waited for.
void Session::finishFrees(bool All) {
  auto IsDone = [&](const PendingFree &P) {
    if (!All && (!P.Reached || Driver->EventQuery(P.Reached)))
      return false;
    if (P.Reached)
      Events.push_back(P.Reached);
    releasePlace(P.Address);
    return true;
  };
  Pending.erase(std::remove_if(Pending.begin(), Pending.end(), IsDone),
                Pending.end());
}

void Session::trim() {
  if (Off || Captures)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Mapping || currentContext() != Context)
    return;
  finishFrees(/*All=*/false);
  drain();
  releaseBuffers();
  Mapping->trim();
}

void Session::reset() {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  if (!Context || currentContext() != Context)
    return;
  drain();
  releaseBuffers();
  Work.reset();
  WriterWork.reset();
  Kernels.reset();
  ArenaBase = ArenaSize = 0;
  Mapping.reset();
  Heap.clear();
  Pending.clear();
  Events.clear();
  Foreign.clear();
  Notes.clear();
  {
    std::lock_guard<std::mutex> CaptureGuard(CaptureLock);
    Capturing.clear();
    Captures = 0;
  }
  Context = nullptr;
  Tried = false;
  Unusable.clear();
  Off = Finished;
}

void Session::annotate(Annotation A) {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  mneme::annotate(Notes, Heap, std::move(A));
}

//===----------------------------------------------------------------------===//
// The runtime's memory
//===----------------------------------------------------------------------===//

void Session::note(void *Host, size_t Size, uint32_t Kind) {
  if (Off || !Host || !Size)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
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
  Foreign[OnDevice] = {Size, Address, Kind};
}

void Session::forget(const void *Host) {
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

void Session::forgetAll(const void *Ptr, size_t Size) {
  if (Forked)
    return;
  std::lock_guard<std::mutex> Guard(Lock);
  eraseForeign(reinterpret_cast<uint64_t>(Ptr), Size);
}

/// Forgets all that intersects a range.
void Session::eraseForeign(uint64_t Address, uint64_t Size) {
  auto I = Foreign.upper_bound(Address);
  if (findForeign(Address))
    --I;
  while (I != Foreign.end() && I->first < Address + Size)
    I = Foreign.erase(I);
}

const std::pair<const uint64_t, ForeignMemory> *
Session::findForeign(uint64_t Address) const {
  auto I = Foreign.upper_bound(Address);
  if (I == Foreign.begin())
    return nullptr;
  --I;
  return Address - I->first < I->second.Size ? &*I : nullptr;
}
