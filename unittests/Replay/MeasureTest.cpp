//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of measurement on a machine whose time is a number.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Measure.h"
#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <functional>
#include <set>

using namespace llvm;
using namespace llvm::mneme;
using testing::Each;
using testing::ElementsAre;

namespace {

class FakeMachine : public SampleMachine {
public:
  double now() override { return Now; }
  void sleep(double Seconds) override {
    Now += Seconds;
    Sleeps.push_back(Seconds);
  }
  Expected<double> measureClock() override {
    ++ClockCalls;
    return Clock();
  }

  double Now = 100;
  std::vector<double> Sleeps;
  unsigned ClockCalls = 0;
  std::function<double()> Clock = [] { return 0.0; };
  std::string Log; ///< Names of the sources in the order of their samples.
};

class FakeSource : public SampleSource {
public:
  using Body = std::function<std::optional<double>(unsigned Call)>;
  FakeSource(FakeMachine &Machine, char Name, Body Run)
      : Machine(Machine), Name(Name), Run(std::move(Run)) {}
  FakeSource(FakeMachine &Machine, double Nanoseconds)
      : FakeSource(Machine, 'a', [=](unsigned) { return Nanoseconds; }) {}

  Expected<std::optional<double>> sample(unsigned Repeat) override {
    Machine.Log += Name;
    Repeats.push_back(Repeat);
    std::optional<double> Nanoseconds = Run(Repeats.size() - 1);
    if (Nanoseconds)
      Machine.Now += *Nanoseconds * Repeat * 1e-9;
    return Nanoseconds;
  }
  Expected<bool> sampleMany(unsigned Count, unsigned Repeat,
                            std::vector<double> &Nanoseconds) override {
    Batches.push_back(Count);
    return SampleSource::sampleMany(Count, Repeat, Nanoseconds);
  }

  FakeMachine &Machine;
  char Name;
  Body Run;
  std::vector<unsigned> Repeats; ///< Of each call.
  std::vector<unsigned> Batches; ///< Samples that were taken at once.
};

/// One source, whose measurement succeeds.
Measurement measureOne(FakeMachine &Machine, FakeSource &Source,
                       const MeasureRules &Rules = {}) {
  std::vector<Measurement> M =
      cantFail(Measurer(Machine).measure(&Source, Rules));
  EXPECT_EQ(M.size(), 1u);
  return M.front();
}

TEST(MeasureTest, StopsWhenPrecise) {
  FakeMachine Machine;
  FakeSource Source(Machine, 1e6);
  Measurement M = measureOne(Machine, Source);
  EXPECT_EQ(M.Nanoseconds.size(), 7u);
  EXPECT_EQ(M.Stop, StopReason::Precision);
  EXPECT_THAT(M.Nanoseconds, Each(1e6));
  EXPECT_THAT(Source.Repeats, Each(1u));
}

TEST(MeasureTest, TakesMoreSamplesOfWhatVaries) {
  FakeMachine Machine;
  // Within 1 % of each other: the interval gets narrower than 0.5 % when it no
  // longer spans them all.
  FakeSource Source(Machine, 'a', [](unsigned I) {
    return 1e5 + 250 * (I * 7 % 5) - 100;
  });
  Measurement M = measureOne(Machine, Source);
  EXPECT_GT(M.Nanoseconds.size(), 8u);
  EXPECT_LT(M.Nanoseconds.size(), 200u);
  EXPECT_EQ(M.Stop, StopReason::Precision);
  SampleSummary S = summarize(M.Nanoseconds);
  EXPECT_LT(S.High - S.Low, 0.005 * S.Median);
}

TEST(MeasureTest, StopsAtTheLargestNumber) {
  FakeMachine Machine;
  FakeSource Source(Machine, 'a',
                    [](unsigned I) { return I % 2 ? 1e5 : 2e5; });
  Measurement M = measureOne(Machine, Source);
  EXPECT_EQ(M.Nanoseconds.size(), 200u);
  EXPECT_EQ(M.Stop, StopReason::Samples);
}

TEST(MeasureTest, StopsInTimeButNotBeforeTheSmallestNumber) {
  FakeMachine Machine;
  FakeSource Slow(Machine, 'a', [](unsigned I) { return I % 2 ? 1e9 : 2e9; });
  Measurement M = measureOne(Machine, Slow);
  EXPECT_EQ(M.Nanoseconds.size(), 7u);
  EXPECT_EQ(M.Stop, StopReason::Time);
  // 0.5 s of launches of 20 and 40 ms.
  FakeSource Medium(Machine, 'a', [](unsigned I) { return I % 2 ? 2e7 : 4e7; });
  M = measureOne(Machine, Medium);
  EXPECT_EQ(M.Nanoseconds.size(), 17u);
  EXPECT_EQ(M.Stop, StopReason::Time);
}

TEST(MeasureTest, TakesExactlyAsManySamplesAsAskedFor) {
  FakeMachine Machine;
  FakeSource Source(Machine, 'a', [](unsigned I) { return 1000.0 * (I + 1); });
  MeasureRules Rules;
  Rules.Samples = 3;
  Rules.Warmup = 1;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_THAT(M.Nanoseconds, ElementsAre(2000, 3000, 4000));
  EXPECT_EQ(M.Warmup, 1u);
  EXPECT_EQ(M.Stop, StopReason::Fixed);
  Rules.Samples = 0;
  EXPECT_EQ(measureOne(Machine, Source, Rules).Nanoseconds.size(), 0u);
  EXPECT_EQ(Source.Repeats.size(), 4u);
}

//===----------------------------------------------------------------------===//
// Warming up
//===----------------------------------------------------------------------===//

TEST(MeasureTest, WarmsUpByLaunchesAndByTime) {
  FakeMachine Machine;
  FakeSource Long(Machine, 5e6);
  EXPECT_EQ(measureOne(Machine, Long).Warmup, 2u);
  FakeSource Medium(Machine, 1e5); // 2 ms are 20 launches
  EXPECT_NEAR(measureOne(Machine, Medium).Warmup, 20, 1);
}

TEST(MeasureTest, StaysWarmFromOneMeasurementToTheNext) {
  FakeMachine Machine;
  FakeSource Medium(Machine, 1e5), Short(Machine, 1e4);
  Measurer TheMeasurer(Machine);
  auto CountWarmup = [&](FakeSource &Source) {
    return cantFail(TheMeasurer.measure(&Source, {})).front().Warmup;
  };
  EXPECT_NEAR(CountWarmup(Medium), 20, 1);
  Machine.Now += 4e-3;
  EXPECT_EQ(CountWarmup(Medium), 2u);
  EXPECT_EQ(CountWarmup(Short), 10u);
  Machine.Now += 6e-3;
  EXPECT_NEAR(CountWarmup(Medium), 20, 1);
}

TEST(MeasureTest, WarmsUpAgainAfterAPause) {
  class Interrupted : public FakeMachine {
  public:
    Expected<double> measureClock() override {
      Now += 6e-3;
      return 1000.0;
    }
  } Away;
  FakeSource Source(Away, 5e6);
  MeasureRules Rules;
  Rules.Samples = 10;
  // Two at first, two after the clock's measurement; at the end none.
  Measurement M = measureOne(Away, Source, Rules);
  EXPECT_EQ(M.Warmup, 4u);
  EXPECT_EQ(M.Nanoseconds.size(), 10u);
}

//===----------------------------------------------------------------------===//
// Launches that are too short for the timer
//===----------------------------------------------------------------------===//

TEST(MeasureTest, RepeatsShortLaunchesOnlyIfAllowed) {
  FakeMachine Machine;
  MeasureRules Rules;
  Rules.CanRepeat = true;
  FakeSource Short(Machine, 3000), Longer(Machine, 6000);
  Measurement M = measureOne(Machine, Short, Rules);
  EXPECT_EQ(M.Repeat, 7u); // 21 us
  EXPECT_EQ(Short.Repeats.back(), 7u);
  EXPECT_THAT(M.Nanoseconds, Each(3000));
  EXPECT_EQ(measureOne(Machine, Longer, Rules).Repeat, 1u);
  Rules.CanRepeat = false;
  EXPECT_EQ(measureOne(Machine, Short, Rules).Repeat, 1u);
}

//===----------------------------------------------------------------------===//
// The clock
//===----------------------------------------------------------------------===//

TEST(MeasureTest, MeasuresTheClockBeforeBetweenAndAfter) {
  FakeMachine Machine;
  Machine.Clock = [] { return 1980.0; };
  FakeSource Source(Machine, 'a', [](unsigned I) { return I % 2 ? 1e5 : 2e5; });
  MeasureRules Rules;
  Rules.Samples = 25;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_EQ(M.Clocks.size(), 4u); // after 0, 10, 20, 25
  EXPECT_EQ(M.Dropped, 0u);
  EXPECT_FALSE(M.Throttled);
}

TEST(MeasureTest, MeasuresTheClockOnceBetweenMeasurementsInARow) {
  FakeMachine Machine;
  Machine.Clock = [] { return 1980.0; };
  FakeSource Source(Machine, 1e5);
  Measurer TheMeasurer(Machine);
  auto CountClocks = [&] {
    unsigned Before = Machine.ClockCalls;
    std::vector<Measurement> M = cantFail(TheMeasurer.measure(&Source, {}));
    EXPECT_EQ(M.front().Clocks.size(), 2u);
    return Machine.ClockCalls - Before;
  };
  EXPECT_EQ(CountClocks(), 2u);
  EXPECT_EQ(CountClocks(), 1u);
  Machine.Now += 0.1;
  EXPECT_EQ(CountClocks(), 2u);
}

TEST(MeasureTest, DropsWhatASlowClockMeasured) {
  FakeMachine Machine;
  // Slow from the eleventh sample until the machine has cooled down.
  FakeSource Source(Machine, 'a', [&](unsigned I) {
    return I >= 40 && Machine.Sleeps.empty() ? 1.5e5 : 1e5;
  });
  Machine.Clock = [&] {
    return Source.Repeats.size() > 40 && Machine.Sleeps.empty() ? 1800 : 1980;
  };
  MeasureRules Rules;
  Rules.Samples = 40;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_EQ(M.Nanoseconds.size(), 40u);
  EXPECT_THAT(M.Nanoseconds, Each(1e5));
  EXPECT_EQ(M.Dropped, 10u);
  EXPECT_THAT(Machine.Sleeps, ElementsAre(0.05));
  EXPECT_FALSE(M.Throttled);
}

TEST(MeasureTest, GivesUpOnAClockThatStaysSlow) {
  FakeMachine Machine;
  Machine.Clock = [&] { return Machine.ClockCalls == 1 ? 1980 : 1000; };
  FakeSource Source(Machine, 1e6);
  Measurement M = measureOne(Machine, Source);
  EXPECT_TRUE(M.Throttled);
  EXPECT_THAT(Machine.Sleeps, ElementsAre(0.05, 0.1, 0.2));
  EXPECT_EQ(M.Nanoseconds.size(), 7u);
  EXPECT_EQ(M.Dropped, 21u);
}

TEST(MeasureTest, AClockOfNoneIsNotAskedAgain) {
  FakeMachine Machine;
  FakeSource Source(Machine, 'a', [](unsigned I) { return I % 2 ? 1e5 : 2e5; });
  Measurement M = measureOne(Machine, Source);
  EXPECT_EQ(Machine.ClockCalls, 1u);
  EXPECT_TRUE(M.Clocks.empty());
}

//===----------------------------------------------------------------------===//
// Outliers
//===----------------------------------------------------------------------===//

TEST(MeasureTest, CountsOutliersAndKeepsThem) {
  FakeMachine Machine;
  FakeSource Source(Machine, 'a', [](unsigned I) {
    return I == 20 ? 2e6 : 1e6 + 1000 * (I % 3);
  });
  MeasureRules Rules;
  Rules.Samples = 40;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_EQ(M.Nanoseconds.size(), 40u);
  EXPECT_EQ(M.countOutliers(), 1u);
  EXPECT_FALSE(M.isBimodal());
}

TEST(MeasureTest, ManyOutliersAreASecondMode) {
  Measurement M;
  for (int I = 0; I < 40; ++I)
    M.Nanoseconds.push_back(I % 10 ? 1e6 : 2e6);
  EXPECT_EQ(M.countOutliers(), 4u);
  EXPECT_TRUE(M.isBimodal());
}

TEST(MeasureTest, ATickOfTheTimerIsNoOutlier) {
  Measurement M;
  for (int I = 0; I < 40; ++I)
    M.Nanoseconds.push_back(I % 10 ? 100000 : 100032);
  EXPECT_EQ(M.countOutliers(), 0u);
}

//===----------------------------------------------------------------------===//
// Pairs
//===----------------------------------------------------------------------===//

TEST(MeasureTest, InterleavesPairs) {
  FakeMachine Machine;
  FakeSource A(Machine, 'a', [](unsigned) { return 1e7; });
  FakeSource B(Machine, 'b', [](unsigned) { return 2e7; });
  MeasureRules Rules;
  Rules.Samples = 4;
  SampleSource *Both[] = {&A, &B};
  std::vector<Measurement> M = cantFail(Measurer(Machine).measure(Both, Rules));
  EXPECT_EQ(Machine.Log, "aabb" // warm-up
                         "abbaabba");
  ASSERT_EQ(M.size(), 2u);
  EXPECT_THAT(M[0].Nanoseconds, Each(1e7));
  EXPECT_THAT(M[1].Nanoseconds, Each(2e7));
  EXPECT_EQ(M[1].Nanoseconds.size(), 4u);
}

TEST(MeasureTest, TakesEnoughPairsForTheirRatio) {
  FakeMachine Machine;
  FakeSource A(Machine, 1e6), B(Machine, 1e6), Slow(Machine, 2e7);
  SampleSource *Both[] = {&A, &B};
  std::vector<Measurement> M = cantFail(Measurer(Machine).measure(Both, {}));
  EXPECT_EQ(M[0].Nanoseconds.size(), 30u);
  EXPECT_EQ(M[1].Nanoseconds.size(), 30u);
  SampleSource *OneSlow[] = {&A, &Slow};
  M = cantFail(Measurer(Machine).measure(OneSlow, {}));
  EXPECT_EQ(M[0].Nanoseconds.size(), 25u);
  EXPECT_EQ(M[0].Stop, StopReason::Time);
}

TEST(MeasureTest, PairsRepeatAlike) {
  FakeMachine Machine;
  FakeSource A(Machine, 4000), B(Machine, 6000);
  MeasureRules Rules;
  Rules.CanRepeat = true;
  SampleSource *Both[] = {&A, &B};
  std::vector<Measurement> M =
      cantFail(Measurer(Machine).measure(Both, Rules));
  EXPECT_EQ(M[0].Repeat, 5u);
  EXPECT_EQ(M[1].Repeat, 5u);
  EXPECT_EQ(B.Repeats.back(), 5u);
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

TEST(MeasureTest, ASeedShufflesRoundsAndMirrorsThem) {
  auto Order = [](std::optional<uint64_t> Seed) {
    FakeMachine Machine;
    FakeSource A(Machine, 'a', [](unsigned) { return 1e5; });
    FakeSource B(Machine, 'b', [](unsigned) { return 1e5; });
    FakeSource C(Machine, 'c', [](unsigned) { return 1e5; });
    MeasureRules Rules;
    Rules.Warmup = 0;
    Rules.Samples = 20;
    Rules.Seed = Seed;
    SampleSource *Sources[] = {&A, &B, &C};
    cantFail(Measurer(Machine).measure(Sources, Rules));
    return Machine.Log;
  };
  std::string Log = Order(7);
  EXPECT_EQ(Log, Order(7));
  EXPECT_NE(Log, Order(8));
  ASSERT_EQ(Log.size(), 60u);
  std::set<std::string> Rounds;
  for (size_t I = 0; I != Log.size(); I += 6) {
    std::string Round = Log.substr(I, 3), Next = Log.substr(I + 3, 3);
    EXPECT_EQ(std::string(Round.rbegin(), Round.rend()), Next);
    Rounds.insert(Round);
  }
  EXPECT_GT(Rounds.size(), 1u);
  EXPECT_EQ(Order(std::nullopt).substr(0, 12), "abccbaabccba");
}

//===----------------------------------------------------------------------===//
// Racing
//===----------------------------------------------------------------------===//

TEST(MeasureTest, StopsOnceItIsClearlySlower) {
  FakeMachine Machine;
  FakeSource Source(Machine, 'a',
                    [](unsigned I) { return I % 2 ? 2e5 : 3e5; });
  MeasureRules Rules;
  Rules.StopAbove = 1.5e5;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_EQ(M.Stop, StopReason::Slower);
  EXPECT_EQ(M.Nanoseconds.size(), 3u);
  EXPECT_EQ(getStopReasonName(M.Stop), "slower");
  EXPECT_EQ(parseStopReason("slower"), StopReason::Slower);
  // Also where a number was asked for.
  Rules.Samples = 100;
  EXPECT_EQ(measureOne(Machine, Source, Rules).Nanoseconds.size(), 3u);
}

TEST(MeasureTest, OneSampleBelowTheLimitIsEnoughForMore) {
  FakeMachine Machine;
  // As long as there are too few samples for an interval, the smallest counts;
  // then it is no longer in the way.
  FakeSource Source(Machine, 'a',
                    [](unsigned I) { return I == 0 ? 1e5 : 2e5; });
  MeasureRules Rules;
  Rules.Warmup = 0;
  Rules.StopAbove = 1.5e5;
  Rules.Precision = 0;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_EQ(M.Stop, StopReason::Slower);
  EXPECT_GE(M.Nanoseconds.size(), 6u);
  EXPECT_LT(M.Nanoseconds.size(), 20u);
}

TEST(MeasureTest, WhatIsFastOrComparedIsNotStopped) {
  FakeMachine Machine;
  FakeSource A(Machine, 1e5), B(Machine, 3e5);
  MeasureRules Rules;
  Rules.StopAbove = 1.5e5;
  EXPECT_EQ(measureOne(Machine, A, Rules).Stop, StopReason::Precision);
  SampleSource *Both[] = {&A, &B};
  for (const Measurement &M :
       cantFail(Measurer(Machine).measure(Both, Rules)))
    EXPECT_EQ(M.Stop, StopReason::Precision);
}

TEST(MeasureTest, ASearchLooksAtTheClockNowAndThen) {
  FakeMachine Machine;
  Machine.Clock = [] { return 1000.0; };
  FakeSource Source(Machine, 1e6);
  Measurer M(Machine);
  MeasureRules Rules = MeasureRules::quick();
  SampleSource *Sources[] = {&Source};
  for (unsigned I = 0; I != 4; ++I) {
    Measurement Measured = cantFail(M.measure(Sources, Rules)).front();
    EXPECT_EQ(Measured.Nanoseconds.size(), Rules.MinSamples);
    EXPECT_EQ(Measured.Stop, StopReason::Samples);
  }
  EXPECT_EQ(Machine.ClockCalls, 1u);
  Machine.Now += 2 * Rules.ClockSeconds;
  cantFail(M.measure(Sources, Rules));
  EXPECT_EQ(Machine.ClockCalls, 2u);
}

TEST(MeasureTest, ASearchTakesSamplesAtOnce) {
  FakeMachine Machine;
  MeasureRules Rules = MeasureRules::quick();
  FakeSource Steady(Machine, 1e5);
  Measurement M = measureOne(Machine, Steady, Rules);
  EXPECT_EQ(M.Nanoseconds.size(), 7u);
  EXPECT_THAT(Steady.Batches, ElementsAre(7u));
  EXPECT_EQ(Steady.Repeats.size(), M.Warmup + 7);

  FakeSource Varied(Machine, 'a', [](unsigned I) { return I % 2 ? 1e5 : 2e5; });
  EXPECT_EQ(measureOne(Machine, Varied, Rules).Nanoseconds.size(), 7u);
  EXPECT_THAT(Varied.Batches, ElementsAre(7u));

  // Of what takes long three are enough.
  FakeSource Slow(Machine, 3e8);
  Rules.LaunchedNanoseconds = 3e8;
  M = measureOne(Machine, Slow, Rules);
  Rules.LaunchedNanoseconds = 0;
  EXPECT_EQ(M.Stop, StopReason::Time);
  EXPECT_EQ(M.Nanoseconds.size(), 3u);

  Rules.StopAbove = 1.5e5;
  FakeSource Raced(Machine, 1e5), Loser(Machine, 2e5);
  measureOne(Machine, Raced, Rules);
  EXPECT_THAT(Raced.Batches, ElementsAre(3u, 4u));
  EXPECT_EQ(measureOne(Machine, Loser, Rules).Stop, StopReason::Slower);
  EXPECT_THAT(Loser.Batches, ElementsAre(3u));

  Rules.StopAbove = 0;
  Rules.Samples = 9;
  FakeSource Fixed(Machine, 1e5);
  EXPECT_EQ(measureOne(Machine, Fixed, Rules).Nanoseconds.size(), 9u);
  EXPECT_THAT(Fixed.Batches, ElementsAre(7u, 2u));
}

TEST(MeasureTest, ALaunchBeforeWarmsUp) {
  FakeMachine Machine;
  Machine.Clock = [] { return 1980.0; };
  Measurer TheMeasurer(Machine);
  MeasureRules Rules = MeasureRules::quick();
  auto Measure = [&](double Nanoseconds) {
    FakeSource Source(Machine, Nanoseconds);
    Rules.LaunchedNanoseconds = Nanoseconds;
    SampleSource *Sources[] = {&Source};
    Measurement M =
        cantFail(TheMeasurer.measure(Sources, Rules)).front();
    EXPECT_THAT(M.Nanoseconds, Each(Nanoseconds));
    EXPECT_EQ(M.Nanoseconds.size(), 7u);
    EXPECT_EQ(Source.Repeats.size(), 7 + M.Warmup);
    return std::make_pair(M.Warmup, Source.Batches.front());
  };
  // The machine is cold.
  EXPECT_GT(Measure(1e5).first, 10u);
  EXPECT_EQ(Measure(1e5), std::make_pair(0u, 7u));
  EXPECT_EQ(Measure(5e3), std::make_pair(0u, 7u));
  Machine.Now += 6e-3;
  EXPECT_GT(Measure(1e5).first, 10u);
  Rules.Warmup = 3;
  EXPECT_EQ(Measure(1e5), std::make_pair(3u, 7u));
}

TEST(MeasureTest, ALongLaunchBeforeIsASample) {
  auto Measure = [](double Before, double Now, unsigned &Launches,
                    double StopAbove = 0) {
    MeasureRules Rules = MeasureRules::quickOnGPU();
    Rules.LaunchedNanoseconds = Before;
    Rules.StopAbove = StopAbove;
    FakeMachine Machine;
    FakeSource Source(Machine, Now);
    Measurement M = measureOne(Machine, Source, Rules);
    Launches = Source.Repeats.size();
    return M;
  };
  unsigned Launches;
  // One is enough of the longest, ...
  Measurement M = Measure(1.5e8, 1, Launches);
  EXPECT_EQ(Launches, 0u);
  EXPECT_THAT(M.Nanoseconds, ElementsAre(1.5e8));
  EXPECT_EQ(M.Stop, StopReason::Time);
  EXPECT_EQ(M.Warmup, 0u);
  // ... three of those that take as long together as is measured at most, ...
  M = Measure(5e7, 4e7, Launches);
  EXPECT_EQ(Launches, 2u);
  EXPECT_THAT(M.Nanoseconds, ElementsAre(5e7, 4e7, 4e7));
  // ... and one of what is slower than the limit.
  M = Measure(5e7, 4e7, Launches, /*StopAbove=*/4.5e7);
  EXPECT_EQ(Launches, 0u);
  EXPECT_EQ(M.Stop, StopReason::Slower);
  // A short one only warms up.
  M = Measure(9e6, 9e6, Launches);
  EXPECT_GE(Launches, 3u);
  EXPECT_EQ(M.Nanoseconds.size() + M.Warmup, Launches);
}

TEST(MeasureTest, DropsBatchesThatASlowClockMeasured) {
  FakeMachine Machine;
  Machine.Clock = [&] {
    return Machine.Sleeps.empty() && Machine.ClockCalls > 1 ? 1800 : 1980;
  };
  FakeSource Source(Machine, 'a', [&](unsigned I) {
    return Machine.Sleeps.empty() ? 1.5e5 : 1e5;
  });
  MeasureRules Rules = MeasureRules::quick();
  Rules.Samples = 21;
  Measurement M = measureOne(Machine, Source, Rules);
  EXPECT_EQ(M.Nanoseconds.size(), 21u);
  EXPECT_THAT(M.Nanoseconds, Each(1e5));
  EXPECT_EQ(M.Dropped, 14u);
}

TEST(MeasureTest, EndsWithTheLaunchThatWentWrong) {
  for (unsigned Bad : {0u, 1u, 25u}) {
    FakeMachine Machine;
    FakeSource Source(Machine, 'a', [&](unsigned I) {
      return I == Bad ? std::nullopt : std::optional<double>(1e5);
    });
    EXPECT_TRUE(cantFail(Measurer(Machine).measure(&Source, {})).empty());
    EXPECT_EQ(Source.Repeats.size(), Bad + 1);
  }
}

TEST(MeasureTest, PassesErrorsOn) {
  class Broken : public SampleSource {
    Expected<std::optional<double>> sample(unsigned) override {
      return createStringError("the device is lost");
    }
  } Source;
  FakeMachine Machine;
  EXPECT_THAT_EXPECTED(Measurer(Machine).measure(&Source, {}),
                       FailedWithMessage("the device is lost"));
}

TEST(MeasureTest, JSONKeepsAllButTheSamples) {
  Measurement M;
  M.Nanoseconds = {1, 2, 3};
  M.Repeat = 4;
  M.Warmup = 5;
  M.Dropped = 6;
  M.Throttled = true;
  M.Stop = StopReason::Time;
  M.Clocks = {1980, 1975.5};
  M.Timer = "events";
  M.Cache = CacheMode::Cold;
  M.Restored = false;
  Measurement Copy;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(toJSON(M), Copy, Root));
  Copy.Nanoseconds = M.Nanoseconds;
  EXPECT_EQ(toJSON(Copy), toJSON(M));
  EXPECT_EQ(Copy.Repeat, 4u);
  EXPECT_TRUE(Copy.Throttled);
}

} // namespace
