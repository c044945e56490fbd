//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StubTable.h"
#include "gtest/gtest.h"

#include <thread>

using namespace mneme;

namespace mneme {
struct TunedStub {};
} // namespace mneme

namespace {

TEST(StubTable, FindsWhatWasAdded) {
  StubTable<TunedStub> T;
  EXPECT_EQ(nullptr, T.find(16));
  std::vector<TunedStub> Stubs(1000);
  // Keys that differ in their low or their high bits only.
  auto KeyOf = [](size_t I) {
    return I % 2 ? 0x400000 + 16 * I : 0x400000 | uint64_t(I + 1) << 47;
  };
  for (size_t I = 0; I != Stubs.size(); ++I) {
    T.add(KeyOf(I), Stubs[I]);
    EXPECT_EQ(nullptr, T.find(KeyOf(I + 1)));
  }
  for (size_t I = 0; I != Stubs.size(); ++I)
    EXPECT_EQ(&Stubs[I], T.find(KeyOf(I)));
  T.clear();
  EXPECT_EQ(nullptr, T.find(KeyOf(0)));
  T.add(KeyOf(0), Stubs[7]);
  EXPECT_EQ(&Stubs[7], T.find(KeyOf(0)));
}

TEST(StubTable, ReadersDoNotWait) {
  StubTable<TunedStub> T;
  constexpr size_t Count = 5000, NumThreads = 16;
  std::vector<TunedStub> Stubs(Count);
  std::atomic<size_t> Added{0};
  std::atomic<bool> Wrong{false};
  std::vector<std::thread> Readers;
  for (size_t I = 0; I != NumThreads; ++I)
    Readers.emplace_back([&, I] {
      for (size_t At = I; Added.load(std::memory_order_acquire) != Count;
           At = (At + 7) % Count) {
        bool IsThere = At < Added.load(std::memory_order_acquire);
        TunedStub *Found = T.find(16 * (At + 1));
        if (Found ? Found != &Stubs[At] : IsThere)
          Wrong = true;
      }
    });
  for (size_t I = 0; I != Count; ++I) {
    T.add(16 * (I + 1), Stubs[I]);
    Added.store(I + 1, std::memory_order_release);
  }
  for (std::thread &R : Readers)
    R.join();
  EXPECT_FALSE(Wrong);
}

} // namespace
