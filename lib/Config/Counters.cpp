//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Config/Counters.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr CounterInfo Counters[] = {
#define COUNTER(Name, Group, Source, Unit, BetterWhen, Description)            \
  {Name, CounterGroup::Group, Source, Unit},
#include "llvm/Mneme/Config/Counters.def"
};

ArrayRef<CounterInfo> mneme::getCounterInfos() { return Counters; }

const CounterInfo *mneme::findCounter(StringRef Name) {
  const CounterInfo *It =
      find_if(Counters, [&](const CounterInfo &C) { return C.Name == Name; });
  return It == std::end(Counters) ? nullptr : It;
}

std::string mneme::formatCounter(const CounterInfo &C, double Value) {
  // Decimal, as vendors print them.
  static constexpr StringLiteral Prefixes[] = {"", "k", "M", "G", "T", "P"};
  unsigned Power = 0;
  bool IsScaled = C.Unit != "%";
  while (IsScaled && Value >= 999.5 && Power + 1 != std::size(Prefixes)) {
    Value /= 1000;
    ++Power;
  }
  std::string Text;
  raw_string_ostream OS(Text);
  OS << format("%.3g", Value) << ' ' << Prefixes[Power];
  if (C.Unit == "bytes")
    OS << 'B';
  else
    OS << (Power ? " " : "") << C.Unit;
  return Text;
}

/// Fewer values can be apart by chance.
static constexpr size_t MinSamples = 5;

std::vector<CounterChange>
mneme::findCounterChanges(const CounterSamples &Before,
                          const CounterSamples &After) {
  constexpr double MinShare = 0.02, MinPoints = 1;
  std::vector<CounterChange> Changes;
  for (const CounterInfo &C : Counters) {
    auto B = Before.find(C.Name), A = After.find(C.Name);
    if (B == Before.end() || A == After.end() ||
        std::min(B->second.size(), A->second.size()) < MinSamples)
      continue;
    std::vector<double> Old = B->second, New = A->second;
    llvm::sort(Old);
    llvm::sort(New);
    double From = Old[Old.size() / 2], To = New[New.size() / 2];
    double Distance = std::max(From, To) - std::min(From, To);
    bool IsApart = Old.back() < New.front() || New.back() < Old.front();
    if (IsApart && Distance >= MinShare * std::max(From, To) &&
        (C.Unit != "%" || Distance >= MinPoints))
      Changes.push_back({C.Name.str(), From, To});
  }
  return Changes;
}

std::string mneme::formatCounterChange(const CounterChange &C) {
  const CounterInfo &Info = *findCounter(C.Name);
  return C.Name + " " + formatCounter(Info, C.Before) + " -> " +
         formatCounter(Info, C.After);
}

void CounterSet::add(const CounterInfo &C) {
  auto It = lower_bound(Counters, &C);
  if (It == Counters.end() || *It != &C)
    Counters.insert(It, &C);
}

void CounterSet::add(const CounterSet &Others) {
  for (const CounterInfo *C : Others.Counters)
    add(*C);
}

Expected<CounterSet> CounterSet::parse(StringRef Text) {
  CounterSet S;
  if (Text.empty() || Text == "none")
    return S;
  for (StringRef Name : llvm::split(Text, ',')) {
    Name = Name.trim();
    if (Name == "default" || Name == "all") {
      for (const CounterInfo &C : ::Counters)
        if (Name == "all" || C.Group == CounterGroup::Default)
          S.add(C);
    } else if (const CounterInfo *C = findCounter(Name)) {
      S.add(*C);
    } else {
      SmallVector<StringRef> Names = {"default", "all", "none"};
      for (const CounterInfo &C : ::Counters)
        Names.push_back(C.Name);
      return createStringError("there is no counter '" + Name + "'" +
                               suggest(Name, Names) +
                               "; there are: " + join(Names, ", "));
    }
  }
  return S;
}

std::string CounterSet::print() const {
  return join(
      map_range(Counters, [](const CounterInfo *C) { return C->Name.str(); }),
      ",");
}
