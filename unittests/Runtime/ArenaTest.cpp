//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Arena.h"
#include "gtest/gtest.h"
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <random>
#include <string>
#include <sys/mman.h>
#include <vector>

using namespace mneme;

namespace {

// Free under AddressSanitizer, too.
constexpr uint64_t Base = 0x200000000000ull;
constexpr uint64_t Page = Arena::PageSize;

sigjmp_buf Jump;
void onFault(int) { siglongjmp(Jump, 1); }

/// Whether reading the byte at \p Address faults.
bool faults(uint64_t Address) {
  struct sigaction New = {}, Old;
  New.sa_handler = onFault;
  sigaction(SIGSEGV, &New, &Old);
  bool Faulted = sigsetjmp(Jump, 1);
  if (!Faulted)
    (void)*reinterpret_cast<volatile char *>(Address);
  sigaction(SIGSEGV, &Old, nullptr);
  return Faulted;
}

char *bytes(uint64_t Address) { return reinterpret_cast<char *>(Address); }

class ArenaTest : public testing::Test {
protected:
  void SetUp() override { ASSERT_EQ(A.reserve(Base, 64 * Page), ""); }
  Arena A;
};

TEST_F(ArenaTest, ReservesWhereItWasTold) {
  EXPECT_EQ(A.base(), Base);
  EXPECT_EQ(A.size(), 64 * Page);
  EXPECT_TRUE(A.contains(bytes(Base)));
  EXPECT_TRUE(A.contains(bytes(Base + 64 * Page - 1)));
  EXPECT_FALSE(A.contains(bytes(Base - 1)));
  EXPECT_FALSE(A.contains(bytes(Base + 64 * Page)));
  EXPECT_TRUE(faults(Base));
}

TEST_F(ArenaTest, RefusesWhatIsTaken) {
  Arena B;
  EXPECT_EQ(B.reserve(Base, 64 * Page),
            "cannot reserve addresses [0x200000000000, 0x200000040000): File "
            "exists");
  EXPECT_EQ(A.reserve(Base + 64 * Page, 64 * Page),
            "the arena is already reserved");
}

TEST(Arena, RefusesAnImpossibleRange) {
  Arena A;
  EXPECT_EQ(A.reserve(Base + 1, 64 * Page),
            "invalid address range [0x200000000001, 0x200000040001)");
  EXPECT_EQ(A.reserve(Base, Page),
            "invalid address range [0x200000000000, 0x200000001000)");
  EXPECT_NE(A.reserve(UINT64_MAX - Page + 1, 2 * Page), "");
  // Refusals leave it usable.
  EXPECT_EQ(A.reserve(Base, 64 * Page), "");
}

TEST(Arena, GivesItsAddressesBack) {
  {
    Arena A;
    ASSERT_EQ(A.reserve(Base, 64 * Page), "");
    A.allocate(5 * Page);
  }
  Arena B;
  EXPECT_EQ(B.reserve(Base, 64 * Page), "");
}

TEST(Arena, ReservingHalfATebibyteCommitsNothing) {
  Arena A;
  ASSERT_EQ(A.reserve(Base, 1ull << 39), "");
  Arena::Allocation *P = A.allocate(100);
  ASSERT_TRUE(P);
  bytes(P->Address)[0] = 1;
}

TEST_F(ArenaTest, AllocationsAreZeroAndHaveAGuardPage) {
  Arena::Allocation *P = A.allocate(Page + 1);
  ASSERT_TRUE(P);
  EXPECT_EQ(P->Address % Page, 0u);
  EXPECT_EQ(P->Size, Page + 1);
  for (uint64_t I = 0; I != 2 * Page; ++I)
    ASSERT_EQ(bytes(P->Address)[I], 0);
  EXPECT_TRUE(faults(P->Address + 2 * Page));
  Arena::Allocation *Q = A.allocate(1);
  EXPECT_EQ(Q->Address, P->Address + 3 * Page);
  EXPECT_EQ(A.bytesInUse(), Page + 2);
}

TEST_F(ArenaTest, FreedMemoryFaultsAndComesBackZero) {
  uint64_t P = A.allocate(Page)->Address;
  memset(bytes(P), 0xff, Page);
  EXPECT_TRUE(A.release(P));
  EXPECT_TRUE(faults(P));
  EXPECT_FALSE(A.release(P));
  EXPECT_EQ(A.bytesInUse(), 0u);
  uint64_t Q = A.allocate(Page)->Address;
  EXPECT_EQ(Q, P);
  EXPECT_EQ(bytes(Q)[0], 0);
  EXPECT_EQ(bytes(Q)[Page - 1], 0);
}

TEST_F(ArenaTest, ReleaseWantsTheBeginning) {
  uint64_t P = A.allocate(2 * Page)->Address;
  EXPECT_FALSE(A.release(P + Page));
  EXPECT_FALSE(A.release(P - Page));
  EXPECT_TRUE(A.release(P));
}

TEST_F(ArenaTest, FindsByAnyByteThatWasAskedFor) {
  Arena::Allocation *P = A.allocate(Page + 10, /*Kind=*/7);
  Arena::Allocation *Q = A.allocate(1);
  EXPECT_EQ(A.find(P->Address), P);
  EXPECT_EQ(A.find(P->Address + Page + 9), P);
  EXPECT_EQ(A.find(P->Address + Page + 10), nullptr);
  EXPECT_EQ(A.find(P->Address - 1), nullptr);
  EXPECT_EQ(A.find(Q->Address), Q);
  EXPECT_EQ(A.find(P->Address)->Kind, 7u);
}

TEST_F(ArenaTest, AllocationsOfNoBytesDiffer) {
  Arena::Allocation *P = A.allocate(0), *Q = A.allocate(0);
  ASSERT_TRUE(P && Q);
  EXPECT_NE(P->Address, Q->Address);
  EXPECT_EQ(A.find(P->Address), P);
  EXPECT_EQ(A.find(P->Address + 1), nullptr);
}

TEST_F(ArenaTest, TakesTheBestFit) {
  uint64_t Large = A.allocate(8 * Page)->Address;
  A.allocate(1);
  uint64_t Small = A.allocate(3 * Page)->Address;
  A.allocate(1);
  A.release(Large);
  A.release(Small);
  EXPECT_EQ(A.allocate(2 * Page)->Address, Small);
  EXPECT_EQ(A.allocate(8 * Page)->Address, Large);
}

TEST_F(ArenaTest, NeighboursMerge) {
  uint64_t P[4];
  for (uint64_t &Address : P)
    Address = A.allocate(15 * Page)->Address; // 16 with the guard: all of it.
  EXPECT_EQ(A.allocate(1), nullptr);
  for (int I : {0, 2, 1})
    EXPECT_TRUE(A.release(P[I]));
  EXPECT_EQ(A.allocate(48 * Page), nullptr);
  EXPECT_EQ(A.allocate(47 * Page)->Address, Base);
}

TEST_F(ArenaTest, TooMuchIsRefused) {
  EXPECT_EQ(A.allocate(64 * Page), nullptr);
  EXPECT_EQ(A.allocate(UINT64_MAX), nullptr);
  EXPECT_EQ(A.allocate(UINT64_MAX - Page), nullptr);
  EXPECT_NE(A.allocate(63 * Page), nullptr);
}

TEST_F(ArenaTest, AllocatesAtAGivenAddress) {
  Arena::Allocation *P = A.allocateAt(Base + 10 * Page, 2 * Page);
  ASSERT_TRUE(P);
  EXPECT_EQ(P->Address, Base + 10 * Page);
  bytes(P->Address)[2 * Page - 1] = 1;
  EXPECT_EQ(A.allocateAt(Base + 10 * Page, 1), nullptr);       // Taken.
  EXPECT_EQ(A.allocateAt(Base + 12 * Page, 1), nullptr);       // Its guard.
  EXPECT_EQ(A.allocateAt(Base + 8 * Page, 2 * Page), nullptr); // No guard left.
  EXPECT_EQ(A.allocateAt(Base + 20 * Page + 1, 1), nullptr);
  EXPECT_EQ(A.allocateAt(Base - Page, 1), nullptr);
  EXPECT_EQ(A.allocateAt(Base + 63 * Page, 1), nullptr);
  EXPECT_TRUE(A.allocateAt(Base + 13 * Page, 1));
  EXPECT_TRUE(A.allocateAt(Base + 8 * Page, Page));
  EXPECT_TRUE(A.allocateAt(Base, 7 * Page));
}

TEST_F(ArenaTest, IteratesByAddress) {
  A.allocateAt(Base + 20 * Page, 1);
  A.allocateAt(Base, 1);
  A.allocateAt(Base + 10 * Page, 1);
  std::vector<uint64_t> Order;
  for (const auto &Entry : A.allocations())
    Order.push_back((Entry.first - Base) / Page);
  EXPECT_EQ(Order, (std::vector<uint64_t>{0, 10, 20}));
}

TEST_F(ArenaTest, RandomUseNeverOverlaps) {
  std::mt19937 Random(1);
  std::vector<uint64_t> Live;
  for (int I = 0; I != 3000; ++I) {
    if (Live.empty() || Random() % 2) {
      Arena::Allocation *P = A.allocate(Random() % (6 * Page));
      if (!P)
        continue;
      // Fresh memory is zero; marking it would show an overlap.
      ASSERT_EQ(*bytes(P->Address), 0);
      *bytes(P->Address) = 1;
      Live.push_back(P->Address);
    } else {
      size_t N = Random() % Live.size();
      ASSERT_TRUE(A.release(Live[N]));
      Live.erase(Live.begin() + N);
    }
    ASSERT_EQ(A.allocations().size(), Live.size());
  }
  for (uint64_t P : Live)
    ASSERT_TRUE(A.release(P));
  EXPECT_TRUE(A.allocate(63 * Page)); // Everything merged again.
}

} // namespace
