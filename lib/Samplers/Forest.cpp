//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Samplers/Forest.h"
#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/bit.h"
#include "llvm/Support/MathExtras.h"
#include <bitset>
#include <cmath>
#include <numeric>

using namespace llvm;
using namespace llvm::mneme;

/// Maximum number of bins of a feature. Features are sorted into bins once;
/// each node then takes time linear in the number of its examples.
static constexpr size_t MaxBins = 64;

struct Forest::Builder {
  Forest &F;
  ArrayRef<Example> Examples;
  RandomEngine &Random;
  size_t NumFeatures, NumTried;
  /// The least value in each bin, by feature.
  std::vector<std::vector<float>> BinValues;
  std::vector<uint8_t> Bins;      ///< By feature, by example.
  std::vector<unsigned> Features; ///< In random order.

  /// The weights of bad and of good examples.
  using Weight = std::array<double, 2>;
  /// An example in the sample of a tree.
  struct Member {
    Weight W = {}; ///< One of them is 0.
    uint32_t Example = 0;
  };

  struct Split {
    double Gain = 0;
    unsigned Feature = 0;
    float Threshold = 0;
    unsigned Bin = 0; ///< Last bin on the left, or the only one if categorical.
  };

  Builder(Forest &F, ArrayRef<Example> Examples, RandomEngine &Random)
      : F(F), Examples(Examples), Random(Random),
        NumFeatures(F.Categorical.size()),
        NumTried(std::max<size_t>(1, std::sqrt(NumFeatures))) {
    Features.resize(NumFeatures);
    std::iota(Features.begin(), Features.end(), 0);
    Bins.resize(NumFeatures * Examples.size());
    for (size_t D = 0; D != NumFeatures; ++D)
      sortIntoBins(D);
  }

  ArrayRef<uint8_t> binsOf(size_t D) const {
    return ArrayRef(Bins).slice(D * Examples.size(), Examples.size());
  }

  void sortIntoBins(size_t D) {
    std::vector<float> Column(Examples.size());
    for (auto [X, E] : zip_equal(Column, Examples))
      X = E.Features[D];
    // Most features are small integers, which need not be sorted.
    constexpr int MaxNumber = 255;
    bool AreNumbers = all_of(Column, [&](float X) {
      return X >= -1 && X <= MaxNumber && X == float(int(X));
    });
    std::vector<float> Values, Least;
    if (AreNumbers) {
      std::bitset<MaxNumber + 2> Seen; // From -1.
      for (float X : Column)
        Seen[int(X) + 1] = true;
      for (int N = -1; N <= MaxNumber; ++N)
        if (Seen[N + 1])
          Values.push_back(N);
    } else {
      Values = Column;
      llvm::sort(Values);
      Values.erase(llvm::unique(Values), Values.end());
    }
    size_t Count = std::min(MaxBins, Values.size());
    for (size_t B = 0; B != Count; ++B)
      Least.push_back(Values[B * Values.size() / Count]);

    auto FindBin = [&](float X) -> uint8_t {
      return llvm::upper_bound(Least, X) - Least.begin() - 1;
    };
    uint8_t *Of = &Bins[D * Examples.size()];
    if (AreNumbers) {
      std::array<uint8_t, MaxNumber + 2> BinOf;
      for (float X : Values)
        BinOf[int(X) + 1] = FindBin(X);
      for (float X : Column)
        *Of++ = BinOf[int(X) + 1];
    } else {
      for (float X : Column)
        *Of++ = FindBin(X);
    }
    BinValues.push_back(std::move(Least));
  }

  static void add(Weight &To, const Weight &W) {
    To[0] += W[0];
    To[1] += W[1];
  }

  /// Updates \p Best if a split of feature \p D has a higher gain. The purity
  /// of a split is the sum over both sides of (good^2 + bad^2) / (good + bad).
  void trySplits(unsigned D, ArrayRef<Member> Members, const Weight &Total,
                 Split &Best) {
    std::array<Weight, MaxBins> In;
    std::fill_n(In.begin(), BinValues[D].size(), Weight());
    uint64_t Used = 0;
    ArrayRef<uint8_t> BinOf = binsOf(D);
    for (const Member &M : Members) {
      unsigned Bin = BinOf[M.Example];
      Used |= uint64_t(1) << Bin;
      add(In[Bin], M.W);
    }
    if (isPowerOf2_64(Used))
      return;

    auto Purity = [](double B, double G) { return (G * G + B * B) / (G + B); };
    auto Try = [&](const Weight &W, float Threshold, unsigned Bin) {
      double Gain =
          Purity(W[0], W[1]) + Purity(Total[0] - W[0], Total[1] - W[1]);
      if (Gain > Best.Gain)
        Best = {Gain, D, Threshold, Bin};
    };
    if (F.Categorical[D]) {
      for (; Used; Used &= Used - 1) {
        unsigned Bin = countr_zero(Used);
        Try(In[Bin], BinValues[D][Bin], Bin);
      }
      return;
    }
    Weight Left = {};
    unsigned Last = countr_zero(Used);
    for (Used &= Used - 1; Used; Used &= Used - 1) {
      unsigned Bin = countr_zero(Used);
      add(Left, In[Last]);
      // The threshold is in the middle of the gap.
      Try(Left, (BinValues[D][Last] + BinValues[D][Bin]) / 2, Last);
      Last = Bin;
    }
  }

  void grow(uint32_t Index, MutableArrayRef<Member> Members) {
    Weight Total = {};
    for (const Member &M : Members)
      add(Total, M.W);
    F.Nodes[Index].Good = Total[1] / (Total[0] + Total[1]);
    if (Total[0] == 0 || Total[1] == 0)
      return;

    Split Best;
    // Try NumTried features, and more as long as none can be split.
    for (size_t K = 0; K != NumFeatures; ++K) {
      if (K >= NumTried && Best.Gain > 0)
        break;
      size_t Chosen = K + randomBelow(Random, NumFeatures - K);
      std::swap(Features[K], Features[Chosen]);
      trySplits(Features[K], Members, Total, Best);
    }
    if (Best.Gain == 0)
      return;
    bool Equal = F.Categorical[Best.Feature];
    ArrayRef<uint8_t> BinOf = binsOf(Best.Feature);
    Member *Middle =
        std::partition(Members.begin(), Members.end(), [&](const Member &M) {
          unsigned Bin = BinOf[M.Example];
          return Equal ? Bin == Best.Bin : Bin <= Best.Bin;
        });
    size_t NumLeft = Middle - Members.begin();
    uint32_t Left = F.Nodes.size();
    F.Nodes[Index].Left = Left;
    F.Nodes[Index].Feature = Best.Feature;
    F.Nodes[Index].Threshold = Best.Threshold;
    F.Nodes[Index].Equal = Equal;
    F.Nodes.resize(Left + 2);
    grow(Left, Members.take_front(NumLeft));
    grow(Left + 1, Members.drop_front(NumLeft));
  }

  void growTree() {
    std::vector<double> Weights(Examples.size());
    for (size_t K = 0; K != Examples.size(); ++K) {
      size_t I = randomBelow(Random, Examples.size());
      Weights[I] += Examples[I].Weight;
    }
    std::vector<Member> Members;
    for (auto [I, E] : enumerate(Examples)) {
      if (Weights[I] <= 0)
        continue;
      Member &M = Members.emplace_back();
      M.W[E.Good] = Weights[I];
      M.Example = I;
    }
    uint32_t Root = F.Nodes.size();
    F.Roots.push_back(Root);
    F.Nodes.emplace_back();
    grow(Root, Members);
  }
};

Forest::Forest(unsigned NumTrees, std::vector<bool> Categorical,
               ArrayRef<Example> Examples, std::mt19937_64 &Random)
    : Categorical(std::move(Categorical)) {
  Builder B(*this, Examples, Random);
  for (unsigned I = 0; I != NumTrees; ++I)
    B.growTree();
}

uint32_t Forest::findLeaf(uint32_t Root, ArrayRef<float> Features) const {
  uint32_t I = Root;
  while (Nodes[I].Left) {
    const Node &N = Nodes[I];
    float X = Features[N.Feature];
    bool Left = N.Equal ? X == N.Threshold : X <= N.Threshold;
    I = N.Left + !Left;
  }
  return I;
}

std::vector<uint32_t> Forest::findLeaves(ArrayRef<float> Features) const {
  std::vector<uint32_t> Leaves;
  for (uint32_t Root : Roots)
    Leaves.push_back(findLeaf(Root, Features));
  return Leaves;
}

std::vector<std::vector<uint32_t>>
Forest::findAllLeaves(ArrayRef<std::vector<float>> Points) const {
  std::vector<std::vector<uint32_t>> Leaves(
      Points.size(), std::vector<uint32_t>(Roots.size()));
  // Tree by tree, so that its nodes stay in the cache.
  for (auto [T, Root] : enumerate(Roots))
    for (auto [Features, Of] : zip_equal(Points, Leaves))
      Of[T] = findLeaf(Root, Features);
  return Leaves;
}

double Forest::predict(ArrayRef<uint32_t> Leaves) const {
  double Sum = 0;
  for (uint32_t Leaf : Leaves)
    Sum += Nodes[Leaf].Good;
  return Sum / Leaves.size();
}

double Forest::predict(ArrayRef<uint32_t> Leaves,
                       ArrayRef<unsigned> Trees) const {
  double Sum = 0;
  for (unsigned Tree : Trees)
    Sum += Nodes[Leaves[Tree]].Good;
  return Sum / Trees.size();
}

double Forest::similarity(ArrayRef<uint32_t> LeavesA,
                          ArrayRef<uint32_t> LeavesB) {
  size_t Same = 0;
  for (auto [A, B] : zip_equal(LeavesA, LeavesB))
    Same += A == B;
  return static_cast<double>(Same) / LeavesA.size();
}
