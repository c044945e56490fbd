//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

namespace llvm {
namespace mneme {
#define SAMPLER(Name, Factory, Description)                                    \
  Expected<std::unique_ptr<Sampler>> Factory(const SamplerContext &,           \
                                             StringRef);
#include "llvm/Mneme/Samplers/Samplers.def"
} // namespace mneme
} // namespace llvm

namespace {
struct Entry {
  StringRef Name;
  Expected<std::unique_ptr<Sampler>> (*Create)(const SamplerContext &,
                                               StringRef Argument);
  StringRef Description;
};
} // namespace

static constexpr Entry Entries[] = {
#define SAMPLER(Name, Factory, Description) {Name, Factory, Description},
#include "llvm/Mneme/Samplers/Samplers.def"
};

Expected<std::unique_ptr<Sampler>>
mneme::createSampler(StringRef Name, const SamplerContext &Context) {
  auto [Kind, Argument] = Name.split('=');
  const Entry *E = find_if(Entries, [Kind = Kind](const Entry &E) {
    return E.Name == Kind;
  });
  if (E == std::end(Entries)) {
    auto Names = map_range(Entries, [](const Entry &E) { return E.Name; });
    return createStringError("there is no sampler '" + Kind + "', but " +
                             join(Names, ", "));
  }
  return E->Create(Context, Argument);
}

void mneme::listSamplers(raw_ostream &OS) {
  for (const Entry &E : Entries)
    OS << E.Name << "  " << E.Description << '\n';
}

RandomEngine Sampler::makeRandom() const {
  return RandomEngine(mixSeed(Context.Seed, 1 + Context.History.size()));
}

bool mneme::dominates(ArrayRef<double> A, ArrayRef<double> B,
                      ArrayRef<Direction> Directions) {
  bool Better = false;
  for (auto [X, Y, D] : zip_equal(A, B, Directions)) {
    if (D == Direction::Minimize ? X > Y : X < Y)
      return false;
    Better |= X != Y;
  }
  return Better;
}

std::vector<uint64_t> mneme::getParetoFront(ArrayRef<Trial> Trials,
                                            ArrayRef<Direction> Directions) {
  std::vector<const Trial *> Complete;
  for (const Trial &T : Trials)
    if (T.State == TrialState::Complete && T.Kind != TrialKind::Canary &&
        !T.DuplicateOf && !T.Suspect && T.Values.size() == Directions.size())
      Complete.push_back(&T);
  // In this order, a trial comes after all trials that dominate it.
  llvm::stable_sort(Complete, [&](const Trial *A, const Trial *B) {
    for (auto [X, Y, D] : zip_equal(A->Values, B->Values, Directions))
      if (X != Y)
        return D == Direction::Minimize ? X < Y : X > Y;
    return false;
  });
  std::vector<const Trial *> Front;
  for (const Trial *T : Complete)
    if (none_of(Front, [&](const Trial *Other) {
          return dominates(Other->Values, T->Values, Directions);
        }))
      Front.push_back(T);
  std::vector<uint64_t> Numbers;
  for (const Trial *T : Front)
    Numbers.push_back(T->Number);
  llvm::sort(Numbers);
  return Numbers;
}
