//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What must hold for any space, checked on many that are made at random.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

namespace {

/// Writes a random space of about \p Size elements.
class SpaceWriter {
public:
  explicit SpaceWriter(RandomEngine &Random) : Random(Random) {}
  std::string write(unsigned Size) {
    Budget = Size;
    std::string Text;
    for (unsigned I = 0, E = below(3); I != E; ++I)
      Text += name(/*Anywhere=*/true, below(2) ? range() : words(4)) + "; ";
    std::string Pipeline = list(',', 0);
    // They must be used.
    for (const std::string &Name : Words)
      Pipeline += ",z" + Name;
    return Text + Pipeline;
  }

private:
  RandomEngine &Random;
  int Budget = 0;
  std::vector<std::string> Words; ///< Named choices that can stand anywhere.
  unsigned NumNames = 0;

  unsigned below(unsigned N) { return Random() % N; }
  std::string letter() { return std::string(1, 'a' + below(4)); }

  std::string list(char Separator, unsigned Depth) {
    std::string Text;
    for (unsigned I = 0, E = 1 + below(3); I != E; ++I) {
      if (I)
        Text += below(5) ? std::string(1, Separator)
                         : " " + std::string(1, Separator) + " # x\n ";
      Text += Separator == ',' ? item(Depth + 1) : word(Depth + 1, Separator);
      Text += below(6) ? "" : "?";
    }
    return Text;
  }

  std::string lists(unsigned N, char Separator, unsigned Depth,
                    bool Empty = false) {
    std::string Text;
    for (unsigned I = 0; I != N; ++I) {
      Text += I ? "|" : "";
      if (!Empty || below(4))
        Text += list(Separator, Depth);
    }
    return Text;
  }

  std::string range() {
    int Low = int(below(20)) - 10;
    std::string Text =
        "[" + std::to_string(Low) + ".." +
        std::to_string(Low + int(below(4)));
    return Text + (below(3) ? "]" : ":" + std::to_string(1 + below(3)) + "]");
  }

  std::string name(bool Anywhere, const std::string &Definition) {
    std::string Name = "$n" + std::to_string(NumNames++);
    if (Anywhere)
      Words.push_back(Name);
    return Name + "=" + Definition;
  }

  std::string words(unsigned Depth) {
    return "{" + letter() + "|" + letter() +
           (below(3) ? "" : "|" + word(Depth + 1, ',')) +
           (below(3) ? "}" : "|}");
  }

  std::string word(unsigned Depth, char Separator) {
    --Budget;
    std::string Text = letter();
    if (Depth > 6 || Budget < 0)
      return Text;
    switch (below(9)) {
    case 0:
      return Text + words(Depth);
    case 1:
      return Text + range();
    case 2:
      return Text + "<" + list(';', Depth + 1) + ">";
    case 3: {
      std::string Definition = below(2) ? range() : words(Depth + 1);
      return Text + name(/*Anywhere=*/true, Definition);
    }
    case 4:
      return Words.empty() ? Text : Text + Words[below(Words.size())];
    default:
      return Text;
    }
  }

  std::string item(unsigned Depth) {
    --Budget;
    if (Depth > 6 || Budget < 0)
      return letter();
    std::string Length = std::to_string(1 + below(2));
    switch (below(12)) {
    case 0:
    case 1:
      return "{" + lists(1 + below(3), ',', Depth, /*Empty=*/true) + "}";
    case 2:
    case 3:
      return "f" + word(Depth, ',') + "(" + list(',', Depth) + ")";
    case 4:
      return "perm(" + list(',', Depth) + ")";
    case 5:
      return "seq<" + Length + ">(" + lists(1 + below(2), ',', Depth) + ")";
    case 6:
      return "seq<" + std::to_string(below(2)) + ".." + Length + ">(" +
             lists(1 + below(2), ',', Depth) + ")";
    case 7:
      return name(/*Anywhere=*/false, "{" + lists(2, ',', Depth) + "}");
    default:
      return word(Depth, ',');
    }
  }
};

/// Calls \p Fn for random spaces and their texts.
template <typename Fn> void forRandomSpaces(unsigned N, unsigned Size, Fn F) {
  RandomEngine Random(N * 1000 + Size);
  for (unsigned I = 0; I != N; ++I) {
    std::string Text = SpaceWriter(Random).write(Size);
    SCOPED_TRACE(Text);
    Expected<PipelineSpace> S = PipelineSpace::parse(Text);
    if (!S) {
      // Nothing but the limits can be against it.
      std::string Message = toString(S.takeError());
      EXPECT_TRUE(StringRef(Message).contains("more than") ||
                  StringRef(Message).contains("too many"))
          << Message;
      continue;
    }
    F(*S, Random);
    if (testing::Test::HasFailure())
      return;
  }
}

TEST(RandomSpacesTest, PrintedSpacesParseToTheSame) {
  forRandomSpaces(500, 60, [](const PipelineSpace &S, RandomEngine &) {
    std::string Text = S.print();
    Expected<PipelineSpace> Again = PipelineSpace::parse(Text);
    ASSERT_THAT_EXPECTED(Again, Succeeded());
    EXPECT_EQ(Again->print(), Text);
    EXPECT_EQ(Again->count(), S.count());
    ASSERT_EQ(Again->decisions().size(), S.decisions().size());
    for (auto [A, B] : zip_equal(Again->decisions(), S.decisions())) {
      EXPECT_EQ(A.Name, B.Name);
      EXPECT_EQ(A.Kind, B.Kind);
      EXPECT_EQ(A.Count, B.Count);
      EXPECT_EQ(A.Labels, B.Labels);
      EXPECT_EQ(A.ActiveIf.size(), B.ActiveIf.size());
    }
  });
}

TEST(RandomSpacesTest, DecisionsAreOrderedAndNamedOnce) {
  forRandomSpaces(300, 60, [](const PipelineSpace &S, RandomEngine &) {
    std::set<std::string> Names;
    for (auto [I, D] : enumerate(S.decisions())) {
      EXPECT_GT(D.Count, 1u);
      EXPECT_TRUE(Names.insert(D.Name).second) << D.Name;
      for (const PipelineDecision::Condition &C : D.ActiveIf) {
        EXPECT_LT(C.Decision, I);
        EXPECT_LT(C.From, C.To);
        EXPECT_LE(C.To, S.decisions()[C.Decision].Count);
      }
    }
  });
}

/// All values of all decisions, one after the other; false: that was all.
bool advance(const PipelineSpace &S, PipelinePoint &P) {
  for (auto [D, Value] : zip_equal(S.decisions(), P)) {
    if (++Value != D.Count)
      return true;
    Value = 0;
  }
  return false;
}

TEST(RandomSpacesTest, CountAndNumbersAreRight) {
  unsigned Tested = 0;
  forRandomSpaces(1500, 12, [&](const PipelineSpace &S, RandomEngine &) {
    double Product = 1;
    for (const PipelineDecision &D : S.decisions())
      Product *= D.Count;
    if (Product > 5000)
      return;
    ++Tested;
    // The definition of canonical points, which counting knows nothing of.
    std::set<PipelinePoint> Canonical;
    PipelinePoint P(S.decisions().size());
    do {
      PipelinePoint Q = P;
      S.canonicalize(Q);
      EXPECT_EQ(S.print(P), S.print(Q));
      Canonical.insert(Q);
    } while (advance(S, P));
    EXPECT_EQ(S.count(), Canonical.size());

    uint64_t Index = 0;
    S.enumerate([&](const PipelinePoint &Q) {
      EXPECT_EQ(Canonical.erase(Q), 1u);
      EXPECT_EQ(S.indexOf(Q), Index);
      EXPECT_EQ(S.at(APInt(64, Index)), Q);
      ++Index;
      return !testing::Test::HasFailure();
    });
    EXPECT_TRUE(Canonical.empty());
  });
  EXPECT_GT(Tested, 500u);
}

TEST(RandomSpacesTest, SampledPointsHaveNumbersAndAreFound) {
  unsigned Found = 0, Tried = 0;
  forRandomSpaces(150, 80, [&](const PipelineSpace &S, RandomEngine &Random) {
    for (unsigned I = 0; I != 3; ++I) {
      PipelinePoint P = S.sample(Random), Q = P;
      S.canonicalize(Q);
      EXPECT_EQ(P, Q);
      APInt Index = S.indexOf(P);
      EXPECT_TRUE(Index.ult(S.count()));
      EXPECT_EQ(S.at(Index), P);
      ++Tried;
      if (std::optional<PipelinePoint> F = S.find(S.print(P))) {
        EXPECT_EQ(S.print(*F), S.print(P));
        ++Found;
      }
    }
  });
  // It may give up where a great many ways print alike.
  EXPECT_GT(Found, Tried * 9 / 10);
}

TEST(RandomSpacesTest, StepsLeadToOtherPointsOfTheSpace) {
  forRandomSpaces(200, 30, [](const PipelineSpace &S, RandomEngine &Random) {
    PipelinePoint P = S.sample(Random);
    auto IsCanonical = [&](PipelinePoint Q) {
      PipelinePoint C = Q;
      S.canonicalize(C);
      return C == Q && S.at(S.indexOf(Q)) == Q;
    };
    std::set<PipelinePoint> Seen{P};
    for (const PipelinePoint &Q : S.neighbours(P)) {
      EXPECT_TRUE(Seen.insert(Q).second);
      EXPECT_TRUE(IsCanonical(Q));
    }
    EXPECT_EQ(Seen.size() == 1, S.count() == 1);
    for (unsigned I = 0; I != 10; ++I) {
      PipelinePoint Q = S.mutate(P, Random);
      EXPECT_EQ(Q == P, S.count() == 1);
      EXPECT_TRUE(IsCanonical(Q));
      EXPECT_TRUE(IsCanonical(S.crossover(P, Q, Random)));
      P = Q;
    }
    EXPECT_EQ(S.crossover(P, P, Random).size(), P.size());
  });
}

/// The passes and adaptors of a pipeline.
std::vector<std::string> passes(StringRef Pipeline) {
  std::vector<std::string> All;
  for (StringRef Word : split(Pipeline, ','))
    for (StringRef Part : split(Word, '('))
      if (!Part.empty())
        All.push_back(Part.rtrim(')').str());
  return All;
}

TEST(RandomSpacesTest, EachPointIsMadeOfProbes) {
  // Whatever a point has as a pass stands in a probe; integers aside.
  unsigned Tested = 0;
  forRandomSpaces(200, 20, [&](const PipelineSpace &S, RandomEngine &Random) {
    if (any_of(S.decisions(), [](const PipelineDecision &D) {
          return D.Kind == PipelineDecision::Integer;
        }))
      return;
    ++Tested;
    std::set<std::string> Probed;
    for (const PipelineProbe &P : S.probes())
      for (std::string &Pass : passes(P.Pipeline))
        Probed.insert(std::move(Pass));
    for (unsigned I = 0; I != 5; ++I)
      for (const std::string &Pass : passes(S.print(S.sample(Random))))
        EXPECT_TRUE(Probed.count(Pass)) << Pass;
  });
  EXPECT_GT(Tested, 30u);
}

} // namespace
