//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

using namespace mneme;

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// From this size on, an allocation asks for huge pages: faults on small ones
// cost more than the copies that cause them.
static constexpr uint64_t HugeThreshold = 4u << 20;

static constexpr int ReserveFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;

static void *toPointer(uint64_t Address) {
  return reinterpret_cast<void *>(Address);
}

static std::string hex(uint64_t V) {
  char Buf[24];
  snprintf(Buf, sizeof(Buf), "0x%llx", static_cast<unsigned long long>(V));
  return Buf;
}

Arena::~Arena() {
  if (Size)
    munmap(toPointer(Base), Size);
}

std::string Arena::reserve(uint64_t NewBase, uint64_t NewSize) {
  std::string Range = "[" + hex(NewBase) + ", " + hex(NewBase + NewSize) + ")";
  if (Size)
    return "the arena is already reserved";
  if (NewBase % PageSize || NewSize % PageSize || NewSize < 2 * PageSize ||
      NewBase + NewSize < NewBase)
    return "invalid address range " + Range;
  void *P = mmap(toPointer(NewBase), NewSize, PROT_NONE,
                 ReserveFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (P == MAP_FAILED)
    return "cannot reserve addresses " + Range + ": " + strerror(errno);
  // Kernels before 4.17 take the flag for a hint.
  if (P != toPointer(NewBase)) {
    munmap(P, NewSize);
    return "cannot reserve addresses " + Range + ": in use";
  }
  Base = NewBase;
  Size = NewSize;
  addFree(Base, Size);
  return "";
}

uint64_t Arena::span(uint64_t Bytes) {
  uint64_t Pages = Bytes / PageSize + (Bytes % PageSize != 0);
  return ((Pages ? Pages : 1) + 1) * PageSize;
}

void Arena::addFree(uint64_t Address, uint64_t Bytes) {
  FreeByAddress.emplace(Address, Bytes);
  FreeBySize.emplace(Bytes, Address);
}

void Arena::removeFree(FreeMap::iterator I) {
  FreeBySize.erase({I->second, I->first});
  FreeByAddress.erase(I);
}

Arena::Allocation *Arena::take(FreeMap::iterator Free, uint64_t Address,
                               uint64_t Bytes, uint32_t Kind) {
  uint64_t Span = span(Bytes);
  if (mprotect(toPointer(Address), Span - PageSize, PROT_READ | PROT_WRITE))
    return nullptr;
  if (Bytes >= HugeThreshold)
    madvise(toPointer(Address), Span - PageSize, MADV_HUGEPAGE);
  uint64_t FreeBegin = Free->first, FreeEnd = FreeBegin + Free->second;
  removeFree(Free);
  if (Address > FreeBegin)
    addFree(FreeBegin, Address - FreeBegin);
  if (Address + Span < FreeEnd)
    addFree(Address + Span, FreeEnd - Address - Span);
  InUse += Bytes;
  return &(Live[Address] = {Address, Bytes, Kind, 0, nullptr});
}

Arena::Allocation *Arena::allocate(uint64_t Bytes, uint32_t Kind) {
  if (Bytes > Size)
    return nullptr;
  auto I = FreeBySize.lower_bound({span(Bytes), 0});
  if (I == FreeBySize.end())
    return nullptr;
  return take(FreeByAddress.find(I->second), I->second, Bytes, Kind);
}

Arena::Allocation *Arena::allocateAt(uint64_t Address, uint64_t Bytes,
                                     uint32_t Kind) {
  if (Address % PageSize || Bytes > Size)
    return nullptr;
  auto I = FreeByAddress.upper_bound(Address);
  if (I == FreeByAddress.begin())
    return nullptr;
  --I;
  if (Address + span(Bytes) > I->first + I->second)
    return nullptr;
  return take(I, Address, Bytes, Kind);
}

bool Arena::release(uint64_t Address) {
  auto I = Live.find(Address);
  if (I == Live.end())
    return false;
  uint64_t Span = span(I->second.Size);
  InUse -= I->second.Size;
  Live.erase(I);
  // Mapping it anew frees the pages, so that the next user of the place finds
  // zeros, and makes it one with its neighbours for the kernel.
  if (mmap(toPointer(Address), Span - PageSize, PROT_NONE,
           ReserveFlags | MAP_FIXED, -1, 0) == MAP_FAILED) {
    madvise(toPointer(Address), Span - PageSize, MADV_DONTNEED);
    mprotect(toPointer(Address), Span - PageSize, PROT_NONE);
  }

  auto Next = FreeByAddress.lower_bound(Address);
  if (Next != FreeByAddress.end() && Next->first == Address + Span) {
    Span += Next->second;
    auto Merged = Next++;
    removeFree(Merged);
  }
  if (Next != FreeByAddress.begin()) {
    auto Prev = std::prev(Next);
    if (Prev->first + Prev->second == Address) {
      Address = Prev->first;
      Span += Prev->second;
      removeFree(Prev);
    }
  }
  addFree(Address, Span);
  return true;
}

Arena::Allocation *Arena::find(uint64_t Address) {
  auto I = Live.upper_bound(Address);
  if (I == Live.begin())
    return nullptr;
  --I;
  // An allocation of no bytes still owns its address.
  uint64_t Bytes = I->second.Size ? I->second.Size : 1;
  return Address - I->first < Bytes ? &I->second : nullptr;
}
