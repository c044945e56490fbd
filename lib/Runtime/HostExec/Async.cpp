//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Asynchronous copies and mbarrier objects. A copy is made when it is waited
/// for, as late as a GPU may make it: a program that reads its destination
/// before it waits gets the old contents.
///
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include <string.h>
#include <sys/mman.h>

using namespace mneme::host;

extern "C" void __mneme_host_preempt(uint32_t Weight);

//===----------------------------------------------------------------------===//
// Queues of copies
//===----------------------------------------------------------------------===//

namespace {
struct AsyncCopy {
  uint8_t *To;
  const uint8_t *From;
  uint64_t *Barrier; ///< Is told when the copy has been made; or null.
  uint32_t Size;
  uint32_t Read;  ///< Bytes of the source; the others are 0.
  uint32_t Group; ///< Number of the thread's group.
  uint32_t Next;  ///< Index; 0: the last of its queue.
};

struct Queue {
  uint32_t First, Last; ///< Indices; 0: empty.
  uint32_t Group;       ///< That the next commit ends.
};
} // namespace

/// The pending copies of a block.
struct mneme::host::AsyncState {
  size_t Size;       ///< Mapped bytes.
  uint32_t Capacity; ///< Of Copies.
  uint32_t Unused;   ///< The first one that was never used.
  uint32_t Free;     ///< A list.
  Queue Loads;       ///< Bulk copies, which a barrier tracks.
  /// Of each thread: cp.async, bulk copies to global memory.
  Queue Threads[2][MNEME_HOST_MAX_THREADS];
  AsyncCopy Copies[]; ///< The first one means none.
};

static void clear(AsyncState &A) {
  memset(&A.Loads, 0, sizeof(A.Loads));
  memset(A.Threads, 0, sizeof(A.Threads));
  A.Free = 0;
  A.Unused = 1;
}

[[noreturn]] static void leaveWithoutMemory(Worker &W) {
  leaveKernel(W, MNEME_HOST_OUT_OF_MEMORY,
              "no memory for the asynchronous copies of kernel '%s'",
              W.Launch->Kernel->Name);
}

static AsyncState &getState(Worker &W, BlockState &S) {
  if (S.Async)
    return *S.Async;
  constexpr uint32_t Capacity = 1024;
  size_t Size = sizeof(AsyncState) + Capacity * sizeof(AsyncCopy);
  void *P = mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (P == MAP_FAILED)
    leaveWithoutMemory(W);
  S.Async = static_cast<AsyncState *>(P);
  S.Async->Size = Size;
  S.Async->Capacity = Capacity;
  S.Async->Unused = 1;
  return *S.Async;
}

/// \returns the state of the running block.
static AsyncState &getState(Worker &W) { return getState(W, *W.Active); }

/// \returns the block that has the mbarrier object \p P, to which the copies
/// belong that the object tracks.
static BlockState &getTracker(Worker &W, const uint64_t *P) {
  BlockState *Owner = findOwner(W, P);
  return Owner ? *Owner : *W.Active;
}

/// \returns the index of a copy that is not in use.
static uint32_t take(Worker &W, BlockState &S) {
  AsyncState &A = getState(W, S);
  if (uint32_t I = A.Free) {
    A.Free = A.Copies[I].Next;
    return I;
  }
  if (A.Unused == A.Capacity) {
    size_t Size = A.Size + A.Capacity * sizeof(AsyncCopy);
    void *P = mremap(&A, A.Size, Size, MREMAP_MAYMOVE);
    if (P == MAP_FAILED)
      leaveWithoutMemory(W);
    AsyncState *Moved = S.Async = static_cast<AsyncState *>(P);
    Moved->Size = Size;
    Moved->Capacity *= 2;
    return Moved->Unused++;
  }
  return A.Unused++;
}

/// Appends a copy to the pending ones of \p S. \p Select returns the queue in
/// the state, which may move.
template <typename FnT>
static void enqueue(Worker &W, BlockState &S, FnT Select,
                    const AsyncCopy &New) {
  uint32_t I = take(W, S);
  AsyncState &A = *S.Async;
  Queue &Q = Select(A);
  A.Copies[I] = New;
  A.Copies[I].Group = Q.Group;
  A.Copies[I].Next = 0;
  (Q.Last ? A.Copies[Q.Last].Next : Q.First) = I;
  Q.Last = I;
}

static void copy(const AsyncCopy &C) {
  uint32_t Read = C.Read < C.Size ? C.Read : C.Size;
  memcpy(C.To, C.From, Read);
  memset(C.To + Read, 0, C.Size - Read);
}

/// Makes the copies of the groups before \p End.
static void complete(AsyncState &A, Queue &Q, uint32_t End) {
  // Groups are numbered modulo 2^32.
  while (Q.First && static_cast<int32_t>(A.Copies[Q.First].Group - End) < 0) {
    uint32_t I = Q.First;
    copy(A.Copies[I]);
    Q.First = A.Copies[I].Next;
    A.Copies[I].Next = A.Free;
    A.Free = I;
  }
  if (!Q.First)
    Q.Last = 0;
}

void mneme::host::finishCopies(BlockState &S) {
  AsyncState *A = S.Async;
  if (!A || A->Unused == 1)
    return;
  // Nothing but global memory outlives the block.
  for (Queue &Q : A->Threads[1])
    complete(*A, Q, Q.Group + 1);
  clear(*A);
}

void mneme::host::dropCopies(BlockState &S) {
  if (S.Async)
    clear(*S.Async);
}

extern "C" void __mneme_host_async_copy(uint32_t Thread, uint32_t IsBulk,
                                        uint8_t *To, const uint8_t *From,
                                        uint32_t Size, uint32_t Read) {
  Worker &W = *TheWorker;
  enqueue(W, *W.Active,
          [&](AsyncState &A) -> Queue & { return A.Threads[IsBulk][Thread]; },
          {To, From, nullptr, Size, Read, 0, 0});
}

extern "C" void __mneme_host_async_commit(uint32_t Thread, uint32_t IsBulk) {
  ++getState(*TheWorker).Threads[IsBulk][Thread].Group;
}

/// Waits until at most the \p Pending latest groups of the thread are pending.
extern "C" void __mneme_host_async_wait(uint32_t Thread, uint32_t IsBulk,
                                        uint32_t Pending) {
  __mneme_host_preempt(1);
  AsyncState &A = getState(*TheWorker);
  Queue &Q = A.Threads[IsBulk][Thread];
  complete(A, Q, Q.Group - Pending);
}

//===----------------------------------------------------------------------===//
// mbarrier objects
//===----------------------------------------------------------------------===//

namespace {
/// The 64 bits of an mbarrier object, which are not defined by PTX.
struct Barrier {
  uint64_t Expected : 20; ///< Arrivals of each phase.
  uint64_t Pending : 20;  ///< Arrivals that the current phase waits for.
  int64_t Bytes : 21;     ///< That the current phase waits for.
  uint64_t Phase : 1;     ///< Parity of the current phase.
  uint64_t Tag : 2;       ///< Distinguishes an object from other memory.
};
static_assert(sizeof(Barrier) == sizeof(uint64_t), "an mbarrier object");
constexpr uint64_t BarrierTag = 2;
} // namespace

static Barrier readBarrier(const uint64_t *P) {
  Barrier B;
  memcpy(&B, P, sizeof(B));
  if (B.Tag != BarrierTag)
    leaveKernel(*TheWorker, MNEME_HOST_TRAP,
                "kernel '%s' used an mbarrier object that is not initialized",
                TheWorker->Launch->Kernel->Name);
  return B;
}

static uint64_t toBits(const Barrier &B) {
  uint64_t Bits;
  memcpy(&Bits, &B, sizeof(Bits));
  return Bits;
}

/// Adds to the bytes that the current phase waits for. PTX ISA 9.0,
/// 9.7.13.15.3 "mbarrier tx-count range": from -(2^20 - 1) to 2^20 - 1.
static void addBytes(Barrier &B, int64_t Bytes) {
  constexpr int64_t Limit = (1 << 20) - 1;
  Bytes += B.Bytes;
  if (Bytes < -Limit || Bytes > Limit)
    leaveKernel(*TheWorker, MNEME_HOST_TRAP,
                "kernel '%s' made an mbarrier object wait for %lld bytes",
                TheWorker->Launch->Kernel->Name, static_cast<long long>(Bytes));
  B.Bytes = Bytes;
}

/// Stores \p B, and begins the next phase if all that it waits for has come.
static void update(uint64_t *P, Barrier B) {
  if (B.Pending == 0 && B.Bytes == 0) {
    B.Pending = B.Expected;
    B.Phase ^= 1;
  }
  memcpy(P, &B, sizeof(B));
}

extern "C" void __mneme_host_mbarrier_init(uint64_t *P, uint32_t Count) {
  Barrier B = {};
  B.Expected = B.Pending = Count;
  B.Tag = BarrierTag;
  memcpy(P, &B, sizeof(B));
}

extern "C" void __mneme_host_mbarrier_inval(uint64_t *P) {
  readBarrier(P);
  memset(P, 0, sizeof(*P));
}

/// \p Bytes: expected before the arrival. \p Drops: also in later phases.
extern "C" uint64_t __mneme_host_mbarrier_arrive(uint64_t *P, uint32_t Count,
                                                 uint32_t Bytes,
                                                 uint32_t Drops) {
  Barrier B = readBarrier(P);
  const uint64_t State = toBits(B);
  if (Count > B.Pending)
    leaveKernel(*TheWorker, MNEME_HOST_TRAP,
                "kernel '%s' arrived more often at an mbarrier object than it "
                "expects",
                TheWorker->Launch->Kernel->Name);
  addBytes(B, Bytes);
  B.Pending -= Count;
  if (Drops)
    B.Expected -= Count;
  update(P, B);
  return State;
}

/// Adds to the bytes that the current phase waits for, or subtracts from them.
extern "C" void __mneme_host_mbarrier_expect(uint64_t *P, int32_t Bytes) {
  Barrier B = readBarrier(P);
  addBytes(B, Bytes);
  if (Bytes < 0)
    update(P, B);
  else
    memcpy(P, &B, sizeof(B));
}

extern "C" uint32_t __mneme_host_mbarrier_pending(uint64_t State) {
  Barrier B;
  memcpy(&B, &State, sizeof(B));
  return B.Pending;
}

/// Makes the bulk copies that the barrier tracks.
static void completeLoads(uint64_t *P) {
  AsyncState *A = getTracker(*TheWorker, P).Async;
  if (!A)
    return;
  Queue &Q = A->Loads;
  uint32_t Before = 0;
  for (uint32_t I = Q.First; I;) {
    AsyncCopy &C = A->Copies[I];
    uint32_t Next = C.Next;
    if (C.Barrier != P) {
      Before = I;
      I = Next;
      continue;
    }
    copy(C);
    __mneme_host_mbarrier_expect(P, -static_cast<int32_t>(C.Size));
    (Before ? A->Copies[Before].Next : Q.First) = Next;
    if (Q.Last == I)
      Q.Last = Before;
    C.Next = A->Free;
    A->Free = I;
    I = Next;
  }
}

/// \returns whether the phase of the token \p State has ended or, with
/// \p IsParity, the current or previous phase whose parity is \p State.
extern "C" uint32_t __mneme_host_mbarrier_test(uint64_t *P, uint64_t State,
                                               uint32_t IsParity) {
  readBarrier(P);
  completeLoads(P);
  Barrier Then;
  memcpy(&Then, &State, sizeof(Then));
  uint64_t Phase = IsParity ? State & 1 : Then.Phase;
  return readBarrier(P).Phase != Phase;
}

/// Arrives when the copies of the thread have been made. Without
/// \p IsExpected, the barrier does not wait for this arrival.
extern "C" void __mneme_host_async_arrive(uint32_t Thread, uint64_t *P,
                                          uint32_t IsExpected) {
  AsyncState &A = getState(*TheWorker);
  Queue &Q = A.Threads[0][Thread];
  complete(A, Q, Q.Group + 1);
  if (IsExpected)
    __mneme_host_mbarrier_arrive(P, 1, 0, 0);
  else
    readBarrier(P);
}

/// A bulk copy, whose bytes count as arrived at the barrier once it is made. It
/// is pending in the block that has the barrier, as that one will wait for it.
extern "C" void __mneme_host_async_load(uint8_t *To, const uint8_t *From,
                                        uint32_t Size, uint64_t *P) {
  readBarrier(P);
  Worker &W = *TheWorker;
  enqueue(W, getTracker(W, P), [](AsyncState &A) -> Queue & { return A.Loads; },
          {To, From, P, Size, Size, 0, 0});
}

/// Bulk copies to the same place of each block in the mask \p Blocks of ranks,
/// which its barrier at the place of \p P tracks.
extern "C" void __mneme_host_async_multicast(uint8_t *To, const uint8_t *From,
                                             uint32_t Size, uint64_t *P,
                                             uint32_t Blocks) {
  Worker &W = *TheWorker;
  for (uint32_t Rank = 0; Blocks >> Rank != 0; ++Rank)
    if (Blocks >> Rank & 1)
      __mneme_host_async_load(
          mapToBlock(W, To, Rank), From, Size,
          reinterpret_cast<uint64_t *>(mapToBlock(W, P, Rank)));
}
