//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Report/Importance.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Samplers/Forest.h"
#include "llvm/Mneme/Support/Statistics.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned MinTrials = 20;
/// More trials, evenly sampled, add no information.
static constexpr size_t MaxTrials = 2000;
static constexpr unsigned Folds = 5, Trees = 40, Permutations = 5;

/// Returns the measured trials, classified at the median.
static std::vector<Forest::Example> makeExamples(const SearchSpace &Space,
                                                 ArrayRef<Trial> Trials,
                                                 size_t Objective) {
  std::vector<const Trial *> Measured;
  std::vector<double> Sorted;
  for (const Trial &T : Trials)
    if (T.State != TrialState::Running && Objective < T.Values.size() &&
        T.P.size() == Space.dimensions().size()) {
      Measured.push_back(&T);
      Sorted.push_back(T.Values[Objective]);
    }
  if (Measured.size() < MinTrials)
    return {};
  if (size_t Count = Measured.size(); Count > MaxTrials) {
    for (size_t I = 0; I != MaxTrials; ++I)
      Measured[I] = Measured[I * Count / MaxTrials];
    Measured.resize(MaxTrials);
  }
  llvm::sort(Sorted);
  double Median = getQuantile(Sorted, 0.5);
  bool Minimize =
      Space.study().Objectives[Objective].Dir == Direction::Minimize;
  std::vector<Forest::Example> Examples;
  for (const Trial *T : Measured) {
    double V = T->Values[Objective];
    Forest::Example E;
    E.Features.assign(T->P.begin(), T->P.end());
    E.Good = Minimize ? V < Median : V > Median;
    E.Weight = 1;
    Examples.push_back(std::move(E));
  }
  return Examples;
}

/// Returns the squared error of the forest's prediction.
static double getLoss(const Forest &F, const Forest::Example &E,
                      ArrayRef<float> Features) {
  double Miss = F.predict(F.findLeaves(Features)) - E.Good;
  return Miss * Miss;
}

std::vector<ParameterImportance>
mneme::computeImportance(const SearchSpace &Space, ArrayRef<Trial> Trials,
                         size_t Objective) {
  std::vector<Forest::Example> Examples =
      makeExamples(Space, Trials, Objective);
  if (Examples.empty())
    return {};
  // The dimensions of a pipeline are permuted together.
  std::vector<SmallVector<unsigned, 1>> Dimensions(
      Space.study().Parameters.size());
  std::vector<bool> Categorical;
  for (auto [I, D] : enumerate(Space.dimensions())) {
    Dimensions[D.Parameter].push_back(I);
    Categorical.push_back(D.Kind == Dimension::Categorical);
  }

  std::vector<double> Harm(Dimensions.size());
  double TotalLoss = 0;
  std::mt19937_64 Random(1);
  for (unsigned Fold = 0; Fold < Folds; ++Fold) {
    std::vector<Forest::Example> Known;
    std::vector<const Forest::Example *> Asked;
    for (auto [I, E] : enumerate(Examples))
      if (I % Folds == Fold)
        Asked.push_back(&E);
      else
        Known.push_back(E);
    Forest F(Trees, Categorical, Known, Random);
    double Loss = 0;
    for (const Forest::Example *E : Asked)
      Loss += getLoss(F, *E, E->Features);
    for (auto [P, Dims] : enumerate(Dimensions))
      for (unsigned Time = 0; Time < Permutations; ++Time)
        for (const Forest::Example *E : Asked) {
          const Forest::Example &Other = *Asked[Random() % Asked.size()];
          std::vector<float> Features = E->Features;
          for (unsigned D : Dims)
            Features[D] = Other.Features[D];
          Harm[P] += getLoss(F, *E, Features) / Permutations;
        }
    for (double &H : Harm)
      H -= Loss;
    TotalLoss += Loss;
  }

  double Sum = 0;
  for (double &H : Harm)
    Sum += H = std::max(H, 0.0);
  // Must be better than guessing with the known fraction of good examples.
  double Good = count_if(Examples, [](const auto &E) { return E.Good; });
  double Guessed = Good * (1 - Good / Examples.size());
  if (Sum == 0 || TotalLoss > 0.95 * Guessed)
    return {};
  std::vector<ParameterImportance> Result;
  for (auto [P, H] : zip(Space.study().Parameters, Harm))
    Result.push_back({P.Name, H / Sum});
  llvm::sort(Result, [](const auto &A, const auto &B) {
    return std::pair(-A.Share, A.Name) < std::pair(-B.Share, B.Name);
  });
  return Result;
}
