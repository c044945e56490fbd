//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Reachability.h"

#include <algorithm>
#include <cstring>

using namespace mneme;

Reachability::Reachability(const std::vector<Recording::Region> &Regions)
    : Regions(Regions), Reached(Regions.size()) {
  for (size_t I = 0; I != Regions.size(); ++I) {
    const Recording::Region &R = Regions[I];
    Places.push_back({R.Address, R.Size, I});
    if (R.Kind == MNEME_REGION_GLOBAL) {
      Reached[I] = true;
      Found.push_back(I);
    }
  }
  std::sort(Places.begin(), Places.end(), [](const Place &A, const Place &B) {
    return A.Address < B.Address;
  });
  if (Places.empty())
    return;
  Low = Places.front().Address;
  High = Places.back().Address + Places.back().Size;
}

void Reachability::addRoot(uint64_t Address) {
  if (Address < Low || Address >= High)
    return;
  auto I = std::upper_bound(
      Places.begin(), Places.end(), Address,
      [](uint64_t A, const Place &P) { return A < P.Address; });
  const Place &P = *std::prev(I);
  if (Address - P.Address >= P.Size || Reached[P.Index])
    return;
  Reached[P.Index] = true;
  Found.push_back(P.Index);
}

const Recording::Region *Reachability::next() {
  if (Found.empty())
    return nullptr;
  size_t I = Found.back();
  Found.pop_back();
  return &Regions[I];
}

void Reachability::scan(const char *Bytes, uint64_t Address, uint64_t Size) {
  for (uint64_t At = -Address & 7; At + 8 <= Size; At += 8) {
    uint64_t Word;
    memcpy(&Word, Bytes + At, 8);
    if (Word - Low < High - Low)
      addRoot(Word);
  }
}

Omission Reachability::filter(std::vector<Recording::Region> &Regions,
                              size_t NumCounted) const {
  Omission Omitted;
  size_t Kept = 0;
  for (size_t I = 0; I != Reached.size(); ++I) {
    if (Reached[I]) {
      if (Kept != I)
        Regions[Kept] = std::move(Regions[I]);
      ++Kept;
    } else if (I < NumCounted) {
      ++Omitted.Regions;
      Omitted.Bytes += Regions[I].Size;
    }
  }
  Regions.resize(Kept);
  return Omitted;
}
