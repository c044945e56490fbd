//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"
#include "Shortage.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <sys/mman.h>

using namespace mneme;

#ifndef MAP_FIXED_NOREPLACE
#define MAP_FIXED_NOREPLACE 0x100000
#endif

// Minimum size for which huge pages are requested: page faults on small pages
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

static uint64_t wholePages(uint64_t Bytes) {
  uint64_t Pages = Bytes / Arena::PageSize + (Bytes % Arena::PageSize != 0);
  return (Pages ? Pages : 1) * Arena::PageSize;
}

Arena::~Arena() {
  if (size())
    munmap(toPointer(base()), size());
}

std::string Arena::reserve(uint64_t Base, uint64_t Size) {
  std::string Range = "[" + hex(Base) + ", " + hex(Base + Size) + ")";
  if (size())
    return "the arena is already reserved";
  if (Base % PageSize || Size % PageSize || Size < 2 * PageSize ||
      Base + Size < Base)
    return "invalid address range " + Range;
  void *P = mmap(toPointer(Base), Size, PROT_NONE,
                 ReserveFlags | MAP_FIXED_NOREPLACE, -1, 0);
  if (P == MAP_FAILED)
    return "cannot reserve addresses " + Range + ": " + strerror(errno);
  // Linux before 4.17 treats the flag as a hint.
  if (P != toPointer(Base)) {
    munmap(P, Size);
    return "cannot reserve addresses " + Range + ": in use";
  }
  if (!attempt([&] { Map.assign(Base, Size); })) {
    munmap(P, Size);
    return outOfMemory();
  }
  return "";
}

Arena::Allocation *Arena::commit(Allocation *A) {
  if (!A)
    return nullptr;
  uint64_t Bytes = wholePages(A->Size);
  if (mprotect(toPointer(A->Address), Bytes, PROT_READ | PROT_WRITE)) {
    Map.release(A->Address);
    return nullptr;
  }
  if (A->Size >= HugeThreshold)
    madvise(toPointer(A->Address), Bytes, MADV_HUGEPAGE);
  return A;
}

Arena::Allocation *Arena::allocate(uint64_t Bytes, uint32_t Kind) {
  return commit(Map.allocate(Bytes, Kind));
}

Arena::Allocation *Arena::allocateAt(uint64_t Address, uint64_t Bytes,
                                     uint32_t Kind) {
  return commit(Map.allocateAt(Address, Bytes, Kind));
}

bool Arena::release(uint64_t Address) {
  auto I = allocations().find(Address);
  if (I == allocations().end())
    return false;
  uint64_t Bytes = wholePages(I->second.Size);
  Map.release(Address);
  // A new mapping frees the pages, so that the next allocation is zeroed, and
  // lets Linux merge the mapping with its neighbors.
  if (mmap(toPointer(Address), Bytes, PROT_NONE, ReserveFlags | MAP_FIXED, -1,
           0) == MAP_FAILED) {
    madvise(toPointer(Address), Bytes, MADV_DONTNEED);
    mprotect(toPointer(Address), Bytes, PROT_NONE);
  }
  return true;
}
