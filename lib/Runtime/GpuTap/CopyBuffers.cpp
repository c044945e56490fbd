//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CopyBuffers.h"
#include "Shortage.h"

using namespace mneme;

/// Whether memory can be freed now although that waits for all streams of the
/// device: a recorded launch has waited for them, or they have no work.
bool CopyBuffers::canFree(const Gpu &G) {
  return WaitsForAll || Driver.isIdle(G.Context);
}

std::string CopyBuffers::explain(Room R) {
  return R == Room::TooLate
             ? tooLong("the device's part in writing earlier recordings")
             : "no device memory is left to record with";
}

CopyBuffers::Room CopyBuffers::acquire(Gpu &G, uint64_t Size, Buffer &B,
                                       bool Scratch) {
  constexpr std::chrono::milliseconds Step(100);
  uint64_t Begin = 0, Limit = 0; // Of the wait for jobs, in nanoseconds.
  std::vector<Buffer> &Spare = G.Spare;
  std::unique_lock<std::mutex> Guard(Lock);
  makeRoom(Spare, G.NumBuffers + 1);
  while (true) {
    // The smallest that is large enough, but at most eight times too large.
    auto Best = Spare.end();
    for (auto I = Spare.begin(); I != Spare.end(); ++I)
      if (I->Size >= Size && I->Size / 8 <= Size &&
          (Best == Spare.end() || I->Size < Best->Size))
        Best = I;
    if (Best != Spare.end()) {
      B = *Best;
      Spare.erase(Best);
      return Room::Found;
    }
    // Some memory is left free for the application.
    size_t Free = 0, Total = 0;
    if (!Driver->MemGetInfo(&Free, &Total) &&
        (Scratch || (Free >= Size && Free - Size >= Total / 16)) &&
        !Driver->MemAlloc(&B.Address, Size)) {
      B.Size = Size;
      ++G.NumBuffers;
      return Room::Found;
    }
    if (!Spare.empty()) {
      Guard.unlock();
      bool IsFreed = canFree(G) && release(G);
      Guard.lock();
      if (IsFreed)
        continue;
    }
    if (!NumJobs)
      return Room::None;
    // The driver may keep the writer until the application goes on. The time
    // that the writer needs for the disk does not count.
    if (!Begin) {
      Begin = Recorder::now();
      Deadline Until = deadline();
      Limit = Until == UINT64_MAX ? 0 : Until - Begin;
      Clock.restart();
    } else if (Clock.isOverdue(Limit)) {
      noteVainWait();
      return Room::TooLate;
    }
    HasRoom.wait_for(Guard, Step);
  }
}

void CopyBuffers::giveBack(Gpu &G, Buffer &B, bool Keep) {
  if (!B.Size)
    return;
  size_t Free = 0, Total = 0;
  // The next recording needs a buffer, too; but free memory must not run low.
  bool IsKept = Keep || !WaitsForAll ||
                (!Driver->MemGetInfo(&Free, &Total) && Free >= Total / 4);
  if (!IsKept)
    Driver->MemFree(B.Address);
  std::lock_guard<std::mutex> Guard(Lock);
  if (IsKept)
    G.Spare.push_back(B);
  else
    --G.NumBuffers;
  B = {};
  HasRoom.notify_all();
}

void CopyBuffers::freeLater(Gpu *G, CUdeviceptr P) {
  if (!G) {
    Driver->MemFree(P);
    return;
  }
  std::lock_guard<std::mutex> Guard(Lock);
  // Without memory for the list, the few bytes leak: freeing them now could
  // wait for ever.
  if (!attempt([&] { makeRoom(G->Spare, G->NumBuffers + 1); }))
    return;
  ++G->NumBuffers;
  G->Spare.push_back({P, 1});
}

bool CopyBuffers::release(Gpu &G) {
  std::unique_lock<std::mutex> Guard(Lock);
  size_t Count = G.Spare.size();
  for (size_t I = 0; I != Count && !G.Spare.empty(); ++I) {
    Buffer Old = G.Spare.back();
    G.Spare.pop_back();
    --G.NumBuffers;
    Guard.unlock();
    Driver->MemFree(Old.Address);
    Guard.lock();
  }
  return Count;
}

bool CopyBuffers::hasAny(const Gpu &G) {
  std::lock_guard<std::mutex> Guard(Lock);
  return !G.Spare.empty() || NumJobs;
}

void CopyBuffers::addJob() {
  std::lock_guard<std::mutex> Guard(Lock);
  ++NumJobs;
}

void CopyBuffers::jobsDone(size_t Count) {
  std::lock_guard<std::mutex> Guard(Lock);
  NumJobs -= Count;
  HasRoom.notify_all();
}
