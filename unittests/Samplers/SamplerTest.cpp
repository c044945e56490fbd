//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What all samplers promise, and what each of them is for.
///
//===----------------------------------------------------------------------===//

#include "../../lib/Samplers/SamplerSupport.h"
#include "../Study/StudyBuilder.h"
#include "Landscapes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {

/// \p Cost of a point's numbers; a negative one is a failure.
Landscape makeLandscape(StudyBuilder B,
                        std::function<double(const StringMap<Value> &)> Cost) {
  return {"test",
          "",
          cantFail(SearchSpace::create(B.S, makeFacts())),
          {Direction::Minimize},
          [Cost](const StringMap<Value> &V) -> Outcome {
            double C = Cost(V);
            return C < 0 ? Outcome() : Outcome{{C}, ""};
          },
          std::nullopt};
}

int64_t get(const StringMap<Value> &V, StringRef Name) {
  return std::get<int64_t>(V.at(Name));
}

/// 36 points, 21 of them valid.
Landscape makeSmall() {
  StudyBuilder B;
  B.range("a", "0", "5").range("b", "0", "5").require("a + b <= 5");
  return makeLandscape(B, [](const StringMap<Value> &V) {
    return 10.0 + get(V, "a") - get(V, "b");
  });
}

/// The same with a real parameter: there are always more points.
Landscape makeReal() {
  StudyBuilder B;
  B.range("a", "0", "5").range("x", "0.001", "10.0").log();
  return makeLandscape(B, [](const StringMap<Value> &V) {
    double X = std::get<double>(V.at("x"));
    return 1 + std::fabs(std::log(X / 0.3)) + get(V, "a");
  });
}

class EachSampler : public testing::TestWithParam<const char *> {
protected:
  std::unique_ptr<Sampler> make(const SamplerContext &Context) {
    return cantFail(createSampler(GetParam(), Context));
  }
};

TEST_P(EachSampler, ProposesValidNewCanonicalPoints) {
  for (const Landscape &L : makeLandscapes()) {
    SimulatedStudy Study(L, 3);
    Study.start();
    auto S = make(Study.Context);
    for (unsigned Batch : {1, 7, 16}) {
      auto Points = S->ask(Batch);
      ASSERT_THAT_EXPECTED(Points, Succeeded());
      EXPECT_EQ(Points->size(), Batch) << L.Name;
      for (const Point &P : *Points) {
        Point Canonical = P;
        L.Space.canonicalize(Canonical);
        EXPECT_EQ(P, Canonical) << L.Name;
        EXPECT_TRUE(L.Space.isValid(P)) << L.Name;
        EXPECT_FALSE(Study.Proposed.contains(L.Space.digest(P))) << L.Name;
        Study.begin(P);
        Study.finish(Study.History.back().Number);
      }
    }
    EXPECT_EQ(Study.Proposed.size(), Study.History.size()) << L.Name;
  }
}

TEST_P(EachSampler, FindsEveryPointAndThenNoMore) {
  Landscape L = makeSmall();
  SimulatedStudy Study(L, 1);
  auto S = make(Study.Context);
  EXPECT_THAT_EXPECTED(Study.run(*S, 100, 4), HasValue(21u));
  EXPECT_EQ(Study.Proposed.size(), 21u);
  EXPECT_THAT_EXPECTED(S->ask(1), HasValue(testing::IsEmpty()));
}

TEST_P(EachSampler, GoesOnAsItWouldHave) {
  for (const Landscape &L : makeLandscapes()) {
    SimulatedStudy Study(L, 5), Again(L, 5);
    auto S = make(Study.Context);
    EXPECT_THAT_EXPECTED(Study.run(*S, 30), HasValue(30u));
    // One that runs when the study is interrupted.
    Study.begin(cantFail(S->ask(1)).front());

    for (const Trial &T : Study.History) {
      Again.begin(T.P);
      if (T.State != TrialState::Running)
        Again.finish(T.Number);
    }
    auto New = make(Again.Context);
    for (unsigned I = 0; I != 10; ++I) {
      auto A = cantFail(S->ask(2)), B = cantFail(New->ask(2));
      EXPECT_EQ(A, B) << L.Name << ", ask " << I;
      for (const Point &P : A) {
        for (SimulatedStudy *Of : {&Study, &Again}) {
          Of->begin(P);
          Of->finish(Of->History.back().Number);
        }
      }
    }
  }
}

TEST_P(EachSampler, LivesWithNothingButFailures) {
  StudyBuilder B;
  B.range("a", "0", "9").range("b", "0", "9");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &) { return -1; });
  SimulatedStudy Study(L, 0);
  auto S = make(Study.Context);
  EXPECT_THAT_EXPECTED(Study.run(*S, 40, 3), HasValue(40u));
}

TEST_P(EachSampler, ProposesWhileOthersRun) {
  Landscape L = makeSmall();
  SimulatedStudy Study(L, 9);
  auto S = make(Study.Context);
  unsigned Count = 0;
  while (true) {
    std::vector<Point> Points = cantFail(S->ask(2));
    if (Points.empty())
      break;
    Count += Points.size();
    for (const Point &P : Points)
      Study.begin(P);
  }
  EXPECT_EQ(Count, 21u);
}

TEST_P(EachSampler, WorksInASpaceOfOnePoint) {
  StudyBuilder B;
  B.range("a", "3", "3");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &) { return 1; });
  SimulatedStudy Study(L, 0);
  auto S = make(Study.Context);
  EXPECT_THAT_EXPECTED(Study.run(*S, 5), HasValue(1u));
}

INSTANTIATE_TEST_SUITE_P(
    Samplers, EachSampler,
    testing::Values("lfbo", "tpe", "nsga2", "ils", "evolution", "random",
                    "grid"),
    [](const testing::TestParamInfo<const char *> &I) {
      return std::string(I.param);
    });

//===----------------------------------------------------------------------===//
// Those that learn
//===----------------------------------------------------------------------===//

class LearningSampler : public EachSampler {};

TEST_P(LearningSampler, DiffersWithTheSeed) {
  Landscape L = std::move(makeLandscapes().front());
  SimulatedStudy A(L, 1), B(L, 2);
  EXPECT_NE(cantFail(make(A.Context)->ask(5)),
            cantFail(make(B.Context)->ask(5)));
}

TEST_P(LearningSampler, LearnsFromFailures) {
  // Half of the space fails, the better half by far.
  StudyBuilder B;
  B.range("a", "0", "19").range("b", "0", "19").range("c", "0", "9");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &V) {
    return get(V, "a") < 10 ? -1.0 : 50.0 + get(V, "a") + get(V, "b");
  });
  unsigned Failed = 0;
  for (unsigned Seed = 0; Seed != 5; ++Seed) {
    SimulatedStudy Study(L, Seed);
    auto S = make(Study.Context);
    EXPECT_THAT_EXPECTED(Study.run(*S, 120), HasValue(120u));
    Failed += count_if(ArrayRef(Study.History).take_back(60),
                       [](const Trial &T) {
                         return T.State == TrialState::Failed;
                       });
  }
  EXPECT_LT(Failed, 5 * 60 * 0.4);
}

TEST_P(LearningSampler, TunesRealNumbers) {
  Landscape L = makeReal();
  std::vector<double> Best;
  for (unsigned Seed = 0; Seed != 5; ++Seed) {
    SimulatedStudy Study(L, Seed);
    auto S = make(Study.Context);
    EXPECT_THAT_EXPECTED(Study.run(*S, 120), HasValue(120u));
    Best.push_back(Study.best());
  }
  llvm::sort(Best);
  EXPECT_LT(Best[2], 1.15);
}

TEST_P(LearningSampler, MaximizesToo) {
  StudyBuilder B;
  B.S.Objectives = {{"occupancy", Direction::Maximize}};
  B.range("a", "0", "30").range("b", "0", "30");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &V) {
    return 1 + get(V, "a") * get(V, "b");
  });
  L.Directions = {Direction::Maximize};
  SimulatedStudy Study(L, 0);
  auto S = make(Study.Context);
  EXPECT_THAT_EXPECTED(Study.run(*S, 120), HasValue(120u));
  double Best = 0;
  for (const Trial &T : Study.History)
    Best = std::max(Best, T.Values.front());
  EXPECT_GT(Best, 800);
}

INSTANTIATE_TEST_SUITE_P(
    Samplers, LearningSampler,
    testing::Values("lfbo", "tpe", "nsga2", "ils", "evolution"),
    [](const testing::TestParamInfo<const char *> &I) {
      return std::string(I.param);
    });

/// What the front dominates of a box, in shares of what the true one does.
double getCoverage(const Landscape &L, ArrayRef<Trial> Trials) {
  auto Area = [&](ArrayRef<std::vector<double>> Values) {
    // Sums up the steps under the corner (150, 120).
    std::vector<std::vector<double>> Sorted(Values);
    llvm::sort(Sorted);
    double Sum = 0, Y = 120;
    for (const std::vector<double> &V : Sorted) {
      if (V[0] > 150 || V[1] >= Y)
        continue;
      Sum += (150 - V[0]) * (Y - V[1]);
      Y = V[1];
    }
    return Sum;
  };
  std::vector<std::vector<double>> All, Found;
  for (const Point &P : L.points())
    if (Outcome O = L.evaluate(P); !O.Values.empty())
      All.push_back(O.Values);
  for (uint64_t N : getParetoFront(Trials, L.Directions))
    Found.push_back(Trials[N].Values);
  return Area(Found) / Area(All);
}

TEST(MultiObjective, FrontIsNearTheTrueOne) {
  Landscape L = makeTradeOff();
  ASSERT_EQ(L.Directions.size(), 2u);
  for (StringRef Name : {"nsga2", "lfbo", "tpe", "evolution"}) {
    std::vector<double> Coverage;
    for (unsigned Seed = 0; Seed != 5; ++Seed) {
      SimulatedStudy Study(L, Seed);
      auto S = cantFail(createSampler(Name, Study.Context));
      EXPECT_THAT_EXPECTED(Study.run(*S, 250, 4), HasValue(250u));
      Coverage.push_back(getCoverage(L, Study.History));
    }
    llvm::sort(Coverage);
    EXPECT_GT(Coverage[2], 0.97) << Name.str();
  }
}

TEST(MultiObjective, Dominates) {
  Direction Min = Direction::Minimize, Max = Direction::Maximize;
  EXPECT_TRUE(dominates({1, 2}, {1, 3}, {Min, Min}));
  EXPECT_FALSE(dominates({1, 2}, {1, 2}, {Min, Min}));
  EXPECT_FALSE(dominates({1, 4}, {2, 3}, {Min, Min}));
  EXPECT_TRUE(dominates({1, 4}, {2, 3}, {Min, Max}));
}

TEST(MultiObjective, ParetoFrontHasEachCodeOnce) {
  std::vector<Trial> Trials(6);
  for (auto [I, T] : enumerate(Trials)) {
    T.Number = I;
    T.State = TrialState::Complete;
    T.Values = {1, 1};
  }
  Trials[1].DuplicateOf = 0;
  Trials[2].State = TrialState::Failed;
  Trials[3].Values = {0.5, 2};
  Trials[4].Values = {2, 2};
  Trials[5].Kind = TrialKind::Canary;
  EXPECT_EQ(getParetoFront(Trials, {Direction::Minimize, Direction::Minimize}),
            (std::vector<uint64_t>{0, 3}));
}

//===----------------------------------------------------------------------===//
// One by one
//===----------------------------------------------------------------------===//

std::string createError(StringRef Name, const Landscape &L) {
  SimulatedStudy Study(L, 0);
  auto S = createSampler(Name, Study.Context);
  return S ? "" : toString(S.takeError());
}

TEST(CreateSampler, NamesTheSamplersThatThereAre) {
  Landscape L = makeSmall();
  EXPECT_EQ(createError("magic", L),
            "there is no sampler 'magic', but lfbo, tpe, nsga2, ils, "
            "evolution, random, grid, file, external");
  std::string Text;
  raw_string_ostream OS(Text);
  listSamplers(OS);
  EXPECT_THAT(Text, HasSubstr("\nils  iterated local search\n"));
}

TEST(GridSampler, GoesInOrder) {
  Landscape L = makeSmall();
  SimulatedStudy Study(L, 0);
  auto S = cantFail(createSampler("grid", Study.Context));
  EXPECT_THAT_EXPECTED(S->ask(100), HasValue(L.points()));
}

TEST(GridSampler, RefusesRealNumbers) {
  EXPECT_EQ(createError("grid", makeReal()),
            "grid: 'x' is real and has infinitely many values");
}

TEST(RandomSampler, IsEven) {
  // The first of 21 points: each about 1000 / 21 times.
  Landscape L = makeSmall();
  DenseMap<uint64_t, unsigned> Counts;
  for (unsigned Seed = 0; Seed != 1000; ++Seed) {
    SimulatedStudy Study(L, Seed);
    auto S = cantFail(createSampler("random", Study.Context));
    ++Counts[L.Space.digest(cantFail(S->ask(1)).front())];
  }
  EXPECT_EQ(Counts.size(), 21u);
  for (auto [Digest, Count] : Counts) {
    EXPECT_GT(Count, 20u);
    EXPECT_LT(Count, 90u);
  }
}

TEST(ILSSampler, ClimbsDownSlopes) {
  StudyBuilder B;
  for (char C = 'a'; C != 'g'; ++C)
    B.range(StringRef(&C, 1), "0", "9");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &V) {
    double Sum = 1;
    for (const auto &E : V)
      Sum += std::abs(std::get<int64_t>(E.second) - 6);
    return Sum;
  });
  SimulatedStudy Study(L, 0);
  auto S = cantFail(createSampler("ils", Study.Context));
  EXPECT_THAT_EXPECTED(Study.run(*S, 250), HasValue(250u));
  EXPECT_EQ(Study.best(), 1);
}

TEST(LFBOSampler, SearchesLargeSpaces) {
  // A longer history than it learns from, more neighbours than it looks at.
  StudyBuilder B;
  B.pipeline("passes", "function(seq<1..20>(sroa|gvn|licm|dse|x<[1..8]>))");
  for (char C = 'a'; C <= 'z'; ++C)
    B.range(std::string("n") + C, "0", "31");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &V) {
    double Sum = 100;
    for (const auto &[Name, Of] : V)
      if (const auto *N = std::get_if<int64_t>(&Of))
        Sum += std::abs(double(*N) - 20);
    return Sum;
  });
  double Sum = 0;
  constexpr unsigned NumSeeds = 5;
  for (unsigned Seed = 1; Seed <= NumSeeds; ++Seed) {
    SimulatedStudy Study(L, Seed);
    Study.start();
    auto S = cantFail(createSampler("lfbo", Study.Context));
    EXPECT_THAT_EXPECTED(Study.run(*S, 300, 10), HasValue(300u));
    Sum += Study.best();
  }
  EXPECT_LT(Sum / NumSeeds, 220) << "300 random points come to about 240";
  SimulatedStudy Study(L, 1);
  Study.start();
  auto S = cantFail(createSampler("lfbo", Study.Context));
  EXPECT_THAT_EXPECTED(Study.run(*S, 300, 10), HasValue(300u));
  std::set<uint64_t> Digests;
  for (const Trial &T : Study.History) {
    EXPECT_TRUE(L.Space.isValid(T.P));
    EXPECT_TRUE(Digests.insert(L.Space.digest(T.P)).second);
  }
  // A sampler that starts here proposes the same.
  auto Again = cantFail(createSampler("lfbo", Study.Context));
  EXPECT_EQ(cantFail(S->ask(3)), cantFail(Again->ask(3)));
}

TEST(LFBOSampler, SpreadsBatches) {
  // After the start points the best is at one end: not all of a batch may crowd
  // there.
  StudyBuilder B;
  B.range("a", "0", "99").range("b", "0", "99");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &V) {
    return 1 + std::min(get(V, "a") + get(V, "b") + 10,
                        198 - get(V, "a") - get(V, "b"));
  });
  SimulatedStudy Study(L, 0);
  auto S = cantFail(createSampler("lfbo", Study.Context));
  EXPECT_THAT_EXPECTED(Study.run(*S, 30), HasValue(30u));
  std::vector<Point> Points = cantFail(S->ask(16));
  double Low = 99, High = 0;
  for (const Point &P : Points) {
    Low = std::min(Low, P[0]);
    High = std::max(High, P[0]);
  }
  EXPECT_GT(High - Low, 15);
}

class FileSampler : public testing::Test {
protected:
  SmallString<128> Path;
  Landscape L = makeSmall();

  void write(StringRef Text) {
    int FD;
    ASSERT_FALSE(sys::fs::createTemporaryFile("points", "jsonl", FD, Path));
    raw_fd_ostream OS(FD, /*shouldClose=*/true);
    OS << Text;
  }
  /// Without the path.
  std::string error(StringRef Text) {
    write(Text);
    std::string Message = createError(("file=" + Path).str(), L);
    StringRef Rest = Message;
    EXPECT_TRUE(Rest.consume_front(Path.str())) << Message;
    return Rest.str();
  }
  ~FileSampler() override { sys::fs::remove(Path); }
};

TEST_F(FileSampler, ProposesWhatIsWritten) {
  write("{\"a\": 3, \"b\": 1}\n"
        "# a comment\n\n"
        "{\"b\": 2}\n"
        "{\"a\": 3, \"b\": 1}\n"
        "{\"a\": 0.0}\n");
  SimulatedStudy Study(L, 0);
  auto S = cantFail(createSampler(("file=" + Path).str(), Study.Context));
  EXPECT_THAT_EXPECTED(
      S->ask(10), HasValue(std::vector<Point>{{3, 1}, {0, 2}, {0, 0}}));
}

TEST_F(FileSampler, SaysWhereAndWhatIsWrong) {
  EXPECT_EQ(error("{\"a\": 3}\n{\"c\": 1}\n"),
            ":2:2: there is no parameter 'c'\n{\"c\": 1}\n ^");
  EXPECT_EQ(error("\n\n{\"a\": 9}\n"),
            ":3:1: parameter 'a' cannot be 9\n{\"a\": 9}\n^");
  EXPECT_EQ(error("{\"a\": \"x\"}\n"),
            ":1:2: 'a': expected int, not \"x\"\n{\"a\": \"x\"}\n ^");
  EXPECT_THAT(error("{\"a\": 5, \"b\": 5}\n"), HasSubstr("a + b <= 5"));
  EXPECT_EQ(error("[1]\n"),
            ":1:1: expected an object of parameters and values\n[1]\n^");
  EXPECT_THAT(error("{\"a\" 5}\n"), HasSubstr(":1:6: "));
  EXPECT_EQ(error("\n"), ": no points in it");
}

TEST_F(FileSampler, NeedsAFile) {
  EXPECT_EQ(createError("file", L), "file: no file: expected file=PATH");
  EXPECT_THAT(createError("file=/nowhere/points", L),
              HasSubstr("No such file or directory"));
}

TEST(Observations, AreWithoutSuspects) {
  StudyBuilder B;
  B.range("a", "0", "9");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &V) {
    return get(V, "a");
  });
  SimulatedStudy Study(L, 0);
  for (unsigned I = 0; I != 10; ++I) {
    Study.begin({double(I)});
    Study.finish(I);
    Study.History[I].Suspect = I < 4;
  }
  Observations O(Study.Context);
  ASSERT_EQ(O.Done.size(), 6u);
  EXPECT_EQ(O.Done[O.ranked().front()].T->Number, 4u);
  EXPECT_EQ(getParetoFront(Study.History, L.Directions),
            std::vector<uint64_t>({4}));
}

TEST(Observations, AreThinnedToTheBestAndSomeOfAllTimes) {
  Landscape L = makeReal();
  SimulatedStudy Study(L, 0);
  RandomEngine Random(1);
  for (unsigned I = 0; I != 3000; ++I) {
    Study.begin(*L.Space.sample(Random));
    Study.finish(I);
  }
  Observations Whole(Study.Context), Few(Study.Context);
  Few.thin(100);
  ASSERT_EQ(Few.Done.size(), 100u);
  std::vector<size_t> AllRanked = Whole.ranked(), Ranked = Few.ranked();
  for (size_t I = 0; I != 25; ++I)
    EXPECT_EQ(Few.Done[Ranked[I]].T, Whole.Done[AllRanked[I]].T) << I;
  for (size_t I = 1; I != 100; ++I) {
    EXPECT_LT(Few.Done[I - 1].T, Few.Done[I].T);
    EXPECT_LE(Few.Done[I].T - Few.Done[I - 1].T, 50) << I;
  }
}

TEST(EvolutionSampler, LeavesCodeThatIsAlwaysTheSame) {
  // Most of the space has the same code as the best of it; a slightly worse
  // region has other code everywhere, and the optimum beside it.
  StudyBuilder B;
  B.pipeline("passes", "function(seq<1..8>(a|b|c|d))");
  Landscape L = makeLandscape(B, [](const StringMap<Value> &) { return 1; });
  L.Evaluate = [](const StringMap<Value> &V) -> Outcome {
    StringRef Text = std::get<std::string>(V.at("passes"));
    unsigned D = Text.count("d");
    if (D < 2)
      return {{100}, "same"};
    return {{101.0 + 8 - 20.0 * (D > 6)}, Text.str()};
  };
  unsigned Other = 0;
  SimulatedStudy Study(L, 0);
  auto S = cantFail(createSampler("evolution", Study.Context));
  EXPECT_THAT_EXPECTED(Study.run(*S, 200), HasValue(200u));
  for (const Trial &T : ArrayRef(Study.History).take_back(100))
    Other += !T.DuplicateOf;
  EXPECT_GT(Other, 50u);
}

} // namespace
