//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "gtest/gtest.h"

#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

using namespace mneme;

namespace {

/// Memory of this process, which can become inaccessible.
class TestMemory final : public DeviceMemory {
public:
  bool read(void *To, uint64_t From, uint64_t Size) const override {
    memcpy(To, reinterpret_cast<const void *>(From), Size);
    return !Fails;
  }
  bool write(uint64_t To, const void *From, uint64_t Size) const override {
    memcpy(reinterpret_cast<void *>(To), From, Size);
    return !Fails;
  }
  bool Fails = false;
};

/// Two buffers, the second of which spans several chunks of copies and ends
/// within a page.
class VerificationTest : public testing::Test {
protected:
  static constexpr size_t Large = (9 << 20) + 10;
  VerificationTest() : A(64, 1), B(Large, 2) {}

  std::vector<MemoryRange> ranges() {
    return {{reinterpret_cast<uint64_t>(A.data()), A.size(), "a"},
            {reinterpret_cast<uint64_t>(B.data()), B.size(), "b"}};
  }
  template <typename TunedFn, typename OwnFn>
  Verdict verify(TunedFn RunTuned, OwnFn RunOwn, uint64_t Limit = 64 << 20) {
    return LaunchComparison(Memory, ranges(), Limit)
        .verify(RunTuned, RunOwn, D);
  }

  TestMemory Memory;
  std::vector<unsigned char> A, B;
  Difference D;
};

TEST_F(VerificationTest, SameResults) {
  unsigned Runs = 0;
  auto Work = [&] {
    ++A[0];
    B[B[0]] += 3;
    B[Large - 1] += A[0];
    ++Runs;
  };
  EXPECT_EQ(Verdict::Same, verify(
                               [&] {
                                 Work();
                                 return Verdict::Same;
                               },
                               [&] {
                                 Work();
                                 return true;
                               }));
  EXPECT_EQ(2u, Runs);
  // As after one launch.
  EXPECT_EQ(2, A[0]);
  EXPECT_EQ(5, B[2]);
  EXPECT_EQ(4, B[Large - 1]);
}

TEST_F(VerificationTest, OtherResults) {
  auto RunTuned = [&] {
    B[Large - 1] = 7;
    B[Large - 5000] = 1;
    return Verdict::Same;
  };
  unsigned Runs = 0;
  auto RunOwn = [&] {
    EXPECT_EQ(2, B[Large - 1]);
    B[Large - 1] = 7;
    return bool(++Runs);
  };
  EXPECT_EQ(Verdict::Different, verify(RunTuned, RunOwn));
  EXPECT_EQ(2u, Runs);
  EXPECT_EQ(7, B[Large - 1]);
  EXPECT_EQ(2, B[Large - 5000]);
  EXPECT_EQ("b, offset 9432192 of 9437194 bytes: 0x02010202 instead of "
            "0x02020202",
            D.text());
}

TEST_F(VerificationTest, TailOfABuffer) {
  EXPECT_EQ(Verdict::Different, verify(
                                    [&] {
                                      B[Large - 1] = 7;
                                      return Verdict::Same;
                                    },
                                    [] { return true; }));
  EXPECT_EQ("b, offset 9437192 of 9437194 bytes: 0x0702 instead of 0x0202",
            D.text());
}

TEST_F(VerificationTest, VaryingResults) {
  unsigned char Count = 9;
  auto RunTuned = [&] {
    A[3] = 8;
    return Verdict::Same;
  };
  auto RunOwn = [&] {
    A[3] = Count++;
    return true;
  };
  EXPECT_EQ(Verdict::Varies, verify(RunTuned, RunOwn));
  // A difference in another buffer is one.
  auto IsWrong = [&] {
    B[100] = 0;
    return RunTuned();
  };
  EXPECT_EQ(Verdict::Different, verify(IsWrong, RunOwn));
  EXPECT_EQ("b", D.Buffer);
  EXPECT_EQ(100u, D.Offset);
}

TEST_F(VerificationTest, Failures) {
  auto Fine = [] { return true; };
  auto Never = [] {
    ADD_FAILURE();
    return true;
  };
  auto Change = [&] {
    A[0] = 50;
    return Verdict::Same;
  };
  EXPECT_EQ(Verdict::Refused, verify([] { return Verdict::Refused; }, Never));
  auto Fail = [] { return false; };
  for (Verdict End : {Verdict::Faulted, Verdict::Different}) {
    auto Fault = [&] {
      Change();
      return End;
    };
    EXPECT_EQ(Verdict::Different, verify(Fault, Fine));
    EXPECT_EQ("", D.Buffer);
    EXPECT_EQ(1, A[0]);
    // Only a device that still works tells that both kernels fail.
    EXPECT_EQ(End == Verdict::Faulted ? Verdict::OwnFailed : Verdict::Different,
              verify(Fault, Fail));
    EXPECT_EQ(1, A[0]);
  }
  EXPECT_EQ(Verdict::OwnFailed, verify(Change, Fail));
  EXPECT_EQ(1, A[0]);
  Memory.Fails = true;
  EXPECT_EQ(Verdict::Unreadable, verify(Change, Never));
  Memory.Fails = false;
  // What changes does not fit: everything is restored.
  auto ChangeAll = [&] {
    memset(B.data(), 9, B.size());
    return Verdict::Same;
  };
  EXPECT_EQ(Verdict::Memory, verify(ChangeAll, Fine, 14 << 20));
  EXPECT_EQ(std::vector<unsigned char>(Large, 2), B);
  EXPECT_EQ(Verdict::Memory, verify(Change, Never, Large));
}

TEST(MemoryRange, IsNamedAfterTheFirstArgumentThatPointsThere) {
  std::vector<MemoryRange> Ranges = {{0x1000, 0x100, ""},
                                     {0x2000, 0x100, "variable 'v'"},
                                     {0x3000, 0x100, ""},
                                     {0x4000, 0x100, ""}};
  EXPECT_EQ(&Ranges[0], findRange(Ranges, 0x10ff));
  EXPECT_EQ(nullptr, findRange(Ranges, 0x1100));
  EXPECT_EQ(nullptr, findRange(Ranges, 0xfff));

  // The four bytes behind the second word are no pointer.
  const MnemePackageArg Args[] = {{8, 0}, {20, 8}, {4, 28}};
  uint64_t First = 0x2010, Second[] = {0x1010, 0x30ff, 0x4000};
  uint32_t Third = 0x4000;
  const void *Values[] = {&First, Second, &Third};
  nameRanges(Ranges, wordsOf({Args, 3}, Values));
  EXPECT_EQ("argument 1", Ranges[0].Name);
  EXPECT_EQ("variable 'v'", Ranges[1].Name);
  EXPECT_EQ("argument 1", Ranges[2].Name);
  EXPECT_EQ("memory at 0x4000", Ranges[3].Name);
  EXPECT_TRUE(wordsOf({Args, 3}, nullptr).empty());
}

TEST(VerifyPolicy, PicksAShare) {
  VerifyPolicy P;
  EXPECT_FALSE(P.isOn());
  EXPECT_FALSE(P.picks());
  P.Rate = 0.1;
  unsigned Picked = 0;
  for (unsigned I = 0; I != 10000; ++I)
    Picked += P.picks();
  EXPECT_GT(Picked, 900u);
  EXPECT_LT(Picked, 1100u);
  P.Rate = 1;
  EXPECT_TRUE(P.picks());
  EXPECT_GT(P.limit(), uint64_t(1) << 20);
}

TEST(DeviceGate, IsClosedForOneThread) {
  DeviceGate Gate;
  int Value = 0; // Changed by threads that are alone.
  std::atomic<int> Inside{0};
  std::vector<std::thread> Threads;
  for (unsigned T = 0; T != 16; ++T)
    Threads.emplace_back([&, T] {
      for (unsigned I = 0; I != 200; ++I) {
        if (T % 4 == 0 && I % 10 == 0) {
          ASSERT_TRUE(Gate.close());
          EXPECT_EQ(0, Inside);
          ++Value;
          std::this_thread::yield();
          EXPECT_EQ(0, Inside);
          Gate.open();
          continue;
        }
        DeviceGate::Visit Here(&Gate);
        ++Inside;
        std::this_thread::yield();
        --Inside;
      }
    });
  for (std::thread &T : Threads)
    T.join();
  EXPECT_EQ(80, Value);
}

} // namespace
