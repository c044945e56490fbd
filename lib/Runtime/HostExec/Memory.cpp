//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Memory of a live block: threads, shared memory, context, coroutine frames,
/// fiber stacks. It is mapped on first use, sized for the launch, and kept for
/// later launches.
///
//===----------------------------------------------------------------------===//

#include "Executor.h"
#include <string.h>
#include <sys/mman.h>

using namespace mneme::host;

static constexpr size_t PageSize = 4096;
/// Returns the alignment of the shared memory of a block. No variable in it has
/// a larger one than it has bytes, but for those that are aligned for bulk
/// copies.
static size_t getSharedAlign(size_t Size) {
  size_t Align = 128;
  while (Align < 1024 && 2 * Align <= Size)
    Align *= 2;
  return Align;
}

static size_t roundUp(size_t Size, size_t To) {
  return (Size + To - 1) / To * To;
}

uint8_t *mneme::host::mapGuarded(size_t Size, bool Low32) {
  Size = roundUp(Size, PageSize);
  int Flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
#ifdef MAP_32BIT
  // Shared memory: kernels store its addresses in 32-bit integers.
  if (Low32)
    Flags |= MAP_32BIT;
#endif
  void *Base = mmap(nullptr, Size + 2 * PageSize, PROT_NONE, Flags, -1, 0);
  if (Base == MAP_FAILED)
    return nullptr;
  uint8_t *Usable = static_cast<uint8_t *>(Base) + PageSize;
  if (mprotect(Usable, Size, PROT_READ | PROT_WRITE) != 0) {
    munmap(Base, Size + 2 * PageSize);
    return nullptr;
  }
  return Usable;
}

void mneme::host::unmapGuarded(uint8_t *Base, size_t Size) {
  if (Base)
    munmap(Base - PageSize, roundUp(Size, PageSize) + 2 * PageSize);
}

/// Returns a random word, of which each half is zero in one of four: code that
/// recognizes zeros must see some in each launch.
static uint64_t drawWord(RandomSource &R) {
  uint64_t Word = R.next(), Choice = R.next();
  if (Choice % 4 == 0)
    Word &= ~uint64_t(0) << 32;
  if (Choice / 4 % 4 == 0)
    Word &= ~uint64_t(0) >> 32;
  return Word;
}

/// Not instrumented: frames that were left may be in the memory.
__attribute__((no_sanitize("address", "thread"))) void
mneme::host::fill(Worker &W, uint8_t *Base, size_t Size) {
  uint64_t How = W.Launch->Config->Fill;
  if (How <= MNEME_HOST_FILL_LEFT)
    return;
  for (size_t I = 0; I != Size; I += 8)
    *reinterpret_cast<volatile uint64_t *>(Base + I) =
        How == MNEME_HOST_FILL_ZEROS  ? 0
        : How == MNEME_HOST_FILL_ONES ? ~uint64_t(0)
                                      : drawWord(W.Filler);
}

/// Fills the part of the stacks of \p S that kernels use, and drops the rest.
static void fillStacks(Worker &W, BlockState &S) {
  constexpr size_t Filled = 2 * PageSize;
  for (size_t I = 0; I != S.StacksSize / FiberStride; ++I) {
    uint8_t *Low = S.Stacks + I * FiberStride + PageSize;
    uint8_t *Top = S.Stacks + (I + 1) * FiberStride;
    madvise(Low, Top - Filled - Low, MADV_DONTNEED);
    fill(W, Top - Filled, Filled);
  }
}

void mneme::host::fillBlock(Worker &W, BlockState &S) {
  MnemeHostBlock &B = S.Block;
  fill(W, S.SharedMemory, S.SharedSize);
  fill(W, B.Context, S.ContextSize);
  fill(W, B.Frames, S.FramesSize);
  if (W.Launch->Kernel->Strategy == MNEME_HOST_FIBER)
    fillStacks(W, S);
}

/// Grows \p Base to at least \p Need bytes; the old contents are lost.
/// \param W  the worker whose launch may fill them; may be null.
static bool grow(Worker *W, uint8_t *&Base, size_t &Size, size_t Need,
                 bool Low32) {
  if (Need <= Size)
    return true;
  unmapGuarded(Base, Size);
  Size = 0;
  Base = mapGuarded(Need, Low32);
  if (!Base)
    return false;
  Size = roundUp(Need, PageSize);
  if (W)
    fill(*W, Base, Size);
  return true;
}

BlockState *mneme::host::acquireBlock(Worker &W) {
  BlockState *S = W.Free;
  if (S) {
    W.Free = S->Next;
  } else {
    void *P = mmap(nullptr, roundUp(sizeof(BlockState), PageSize),
                   PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (P == MAP_FAILED)
      return nullptr;
    S = static_cast<BlockState *>(P);
  }
  S->Next = nullptr;

  const LaunchState &L = *W.Launch;
  MnemeHostBlock &B = S->Block;
  // Whole waves: a lane may ask for another lane that does not exist.
  uint8_t *Threads = reinterpret_cast<uint8_t *>(B.Threads);
  bool Ok = grow(nullptr, Threads, S->ThreadsSize,
                 roundUp(L.NumThreads, 64) * sizeof(MnemeHostThread), false);
  B.Threads = reinterpret_cast<MnemeHostThread *>(Threads);
  size_t Shared = size_t(L.Kernel->StaticShared) + L.Config->DynamicShared;
  Ok = Ok &&
       grow(&W, S->SharedMemory, S->SharedSize, Shared ? Shared : 1, true);
  // Code that is not trusted must not use more than the launch provides.
  bool IsTrusted = L.Config->Fill == MNEME_HOST_FILL_NONE;
  if (Ok)
    B.Shared =
        S->SharedMemory +
        (IsTrusted ? 0
                   : S->SharedSize - roundUp(Shared, getSharedAlign(Shared)));
  Ok = Ok && grow(&W, B.Context, S->ContextSize, L.Kernel->ContextSize, false);
  if (!Ok) {
    releaseBlock(W, S);
    return nullptr;
  }
  return S;
}

void mneme::host::releaseBlock(Worker &W, BlockState *S) {
  S->Next = W.Free;
  W.Free = S;
}

bool mneme::host::mapFiberStacks(Worker &W, BlockState &S) {
  size_t Need = size_t(S.Block.NumThreads) * FiberStride;
  if (Need <= S.StacksSize)
    return true;
  if (S.Stacks)
    munmap(S.Stacks, S.StacksSize);
  S.StacksSize = 0;
  S.Stacks = nullptr;
  void *P = mmap(nullptr, Need, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (P == MAP_FAILED)
    return false;
  S.Stacks = static_cast<uint8_t *>(P);
  S.StacksSize = Need;
  // The lowest page of each stack is a guard page. If there are too many
  // mappings, kernels run without guard pages.
  for (size_t I = 0; I != S.Block.NumThreads; ++I)
    if (mprotect(S.Stacks + I * FiberStride, PageSize, PROT_NONE) != 0)
      break;
  if (W.Launch->Config->Fill > MNEME_HOST_FILL_LEFT)
    fillStacks(W, S);
  return true;
}

bool mneme::host::isFiberGuard(const BlockState &S, uint64_t Address) {
  uint64_t Base = reinterpret_cast<uint64_t>(S.Stacks);
  if (!Base || Address < Base || Address >= Base + S.StacksSize)
    return false;
  return (Address - Base) % FiberStride < PageSize;
}

/// Allocates a coroutine's frame. All frames of a kernel have the same size, so
/// the first request determines the block's size.
extern "C" void *__mneme_host_frame(MnemeHostThread *T, uint64_t Size) {
  Worker &W = *TheWorker;
  BlockState &S = *W.Active;
  MnemeHostBlock &B = S.Block;
  Size = roundUp(Size, 64);
  if (B.FramesUsed == 0 &&
      !grow(&W, B.Frames, S.FramesSize, Size * B.NumThreads, false))
    leaveKernel(W, MNEME_HOST_OUT_OF_MEMORY,
                "no memory for %llu bytes of local state in each of %u threads",
                static_cast<unsigned long long>(Size), B.NumThreads);
  void *Frame = B.Frames + B.FramesUsed;
  B.FramesUsed += Size;
  (void)T;
  return Frame;
}
