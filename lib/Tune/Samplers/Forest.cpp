//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Forest.h"
#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

/// Features are sorted into at most this many bins, once; a node then needs
/// time linear in its examples.
static constexpr size_t MaxBins = 64;

struct Forest::Builder {
  Forest &F;
  ArrayRef<Example> Examples;
  RandomEngine &Random;
  size_t NumFeatures, NumTried;
  /// Of each feature the least value in each bin.
  std::vector<std::vector<float>> BinValues;
  std::vector<std::vector<uint8_t>> Bins; ///< By feature, by example.
  std::vector<double> Weights;            ///< In the sample of this tree.
  std::vector<unsigned> Features;         ///< In some order.

  struct Split {
    double Gain = 0;
    unsigned Feature = 0;
    float Threshold = 0;
    unsigned Bin = 0; ///< The last one that goes left, or the only one.
  };

  Builder(Forest &F, ArrayRef<Example> Examples, RandomEngine &Random)
      : F(F), Examples(Examples), Random(Random),
        NumFeatures(F.Categorical.size()),
        NumTried(std::max<size_t>(1, std::sqrt(NumFeatures))) {
    Features.resize(NumFeatures);
    std::iota(Features.begin(), Features.end(), 0);
    for (size_t D = 0; D != NumFeatures; ++D)
      sortIntoBins(D);
  }

  void sortIntoBins(size_t D) {
    std::vector<float> Values;
    for (const Example &E : Examples)
      Values.push_back(E.Features[D]);
    llvm::sort(Values);
    Values.erase(std::unique(Values.begin(), Values.end()), Values.end());
    std::vector<float> Least;
    size_t Count = std::min(MaxBins, Values.size());
    for (size_t B = 0; B != Count; ++B)
      Least.push_back(Values[B * Values.size() / Count]);
    std::vector<uint8_t> Of;
    for (const Example &E : Examples)
      Of.push_back(llvm::upper_bound(Least, E.Features[D]) - Least.begin() - 1);
    BinValues.push_back(std::move(Least));
    Bins.push_back(std::move(Of));
  }

  /// Improves \p Best with splits of one feature. More is purer: the sum over
  /// both sides of (good^2 + bad^2) / (good + bad).
  void trySplits(unsigned D, ArrayRef<uint32_t> Members, double Good,
                 double Bad, Split &Best) {
    std::array<double, MaxBins> GoodIn, BadIn;
    size_t Count = BinValues[D].size();
    std::fill_n(GoodIn.begin(), Count, 0);
    std::fill_n(BadIn.begin(), Count, 0);
    for (uint32_t I : Members)
      (Examples[I].Good ? GoodIn : BadIn)[Bins[D][I]] += Weights[I];

    auto Purity = [](double G, double B) { return (G * G + B * B) / (G + B); };
    double G = 0, B = 0;
    std::optional<size_t> Last;
    for (size_t Bin = 0; Bin != Count; ++Bin) {
      if (GoodIn[Bin] + BadIn[Bin] <= 0)
        continue;
      if (F.Categorical[D])
        G = B = 0;
      // The split lies in the middle of a gap: seen from the bin behind it.
      if (!F.Categorical[D] && Last) {
        double Gain = Purity(G, B) + Purity(Good - G, Bad - B);
        if (Gain > Best.Gain)
          Best = {Gain, D, (BinValues[D][*Last] + BinValues[D][Bin]) / 2,
                  unsigned(*Last)};
      }
      G += GoodIn[Bin];
      B += BadIn[Bin];
      Last = Bin;
      if (F.Categorical[D] && Good + Bad - G - B > 1e-12 * (Good + Bad)) {
        double Gain = Purity(G, B) + Purity(Good - G, Bad - B);
        if (Gain > Best.Gain)
          Best = {Gain, D, BinValues[D][Bin], unsigned(Bin)};
      }
    }
  }

  void grow(uint32_t Index, MutableArrayRef<uint32_t> Members) {
    double Good = 0, Bad = 0;
    for (uint32_t I : Members)
      (Examples[I].Good ? Good : Bad) += Weights[I];
    F.Nodes[Index].Good = Good / (Good + Bad);
    if (Good == 0 || Bad == 0)
      return;

    Split Best;
    // As many features as have to be tried, and more while none splits.
    for (size_t K = 0; K != NumFeatures; ++K) {
      if (K >= NumTried && Best.Gain > 0)
        break;
      size_t Chosen = K + randomBelow(Random, NumFeatures - K);
      std::swap(Features[K], Features[Chosen]);
      trySplits(Features[K], Members, Good, Bad, Best);
    }
    if (Best.Gain == 0)
      return;
    bool Equal = F.Categorical[Best.Feature];
    uint32_t *Middle =
        std::partition(Members.begin(), Members.end(), [&](uint32_t I) {
          unsigned Bin = Bins[Best.Feature][I];
          return Equal ? Bin == Best.Bin : Bin <= Best.Bin;
        });
    size_t NumLeft = Middle - Members.begin();
    uint32_t Left = F.Nodes.size();
    F.Nodes[Index].Left = Left;
    F.Nodes[Index].Feature = Best.Feature;
    F.Nodes[Index].Threshold = Best.Threshold;
    F.Nodes.resize(Left + 2);
    grow(Left, Members.take_front(NumLeft));
    grow(Left + 1, Members.drop_front(NumLeft));
  }

  void growTree() {
    Weights.assign(Examples.size(), 0);
    for (size_t K = 0; K != Examples.size(); ++K) {
      size_t I = randomBelow(Random, Examples.size());
      Weights[I] += Examples[I].Weight;
    }
    std::vector<uint32_t> Members;
    for (size_t I = 0; I != Examples.size(); ++I)
      if (Weights[I] > 0)
        Members.push_back(I);
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

std::vector<uint32_t> Forest::findLeaves(ArrayRef<float> Features) const {
  std::vector<uint32_t> Leaves;
  Leaves.reserve(Roots.size());
  for (uint32_t Root : Roots) {
    uint32_t I = Root;
    while (Nodes[I].Left) {
      const Node &N = Nodes[I];
      float X = Features[N.Feature];
      bool Left = Categorical[N.Feature] ? X == N.Threshold : X <= N.Threshold;
      I = N.Left + !Left;
    }
    Leaves.push_back(I);
  }
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
