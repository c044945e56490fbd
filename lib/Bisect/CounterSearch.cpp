//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CounterSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// A longer prefix of counts is not minimized but is the answer.
static constexpr unsigned MaxMinimized = 256;

static const PassExecution *findExecution(const PassListing &L,
                                          unsigned Number) {
  auto It = find_if(L.Executions, [&](const PassExecution &E) {
    return E.Number == Number && E.Ran;
  });
  return It == L.Executions.end() ? nullptr : &*It;
}

void CounterSearch::setRange(const CounterRange &R) {
  Range = R;
  IsLast = true;
  for (const PassExecution &Other : Listing.Executions)
    for (const CounterRange &O : Other.Counters)
      IsLast &= O.Counter != R.Counter || O.Begin < R.End;
}

/// Prints the chunks of -debug-counter that allow \p Counts, which are relative
/// to Range.Begin, and all queries of other executions. Skipped rewrites may
/// lead to fewer queries and shift the counts of later executions, so the last
/// chunk starts at Range.End only if a later execution queries the counter.
std::string CounterSearch::printChunks(const BitVector &Counts) const {
  SmallVector<std::pair<int64_t, int64_t>, 8> Chunks;
  auto Add = [&](int64_t First, int64_t Last) {
    if (!Chunks.empty() && Chunks.back().second + 1 == First)
      Chunks.back().second = Last;
    else
      Chunks.push_back({First, Last});
  };
  if (Range.Begin > 0)
    Add(0, Range.Begin - 1);
  for (unsigned I : Counts.set_bits())
    Add(Range.Begin + I, Range.Begin + I);
  if (!IsLast)
    Add(Range.End, INT64_MAX);
  // No chunk would mean all counts.
  if (Chunks.empty())
    Add(INT64_MAX, INT64_MAX);
  return join(
      map_range(Chunks,
                [](auto C) {
                  return C.first == C.second
                             ? itostr(C.first)
                             : formatv("{0}-{1}", C.first, C.second).str();
                }),
      ":");
}

json::Object CounterSearch::withCounts(const BitVector &Counts) const {
  static const std::string Key = (LLVMKeyPrefix + "debug-counter").str();
  json::Object Config = BadConfig;
  Config[Key] = Range.Counter + "=" + printChunks(Counts);
  return Config;
}

/// Returns the counter with the fewest queries among those whose rewrites are
/// necessary for the fault. Unset: none is.
Expected<std::optional<CounterRange>>
CounterSearch::chooseCounter(ArrayRef<CounterRange> Ranges) {
  std::vector<json::Object> Configs;
  for (const CounterRange &R : Ranges) {
    setRange(R);
    Configs.push_back(withCounts(BitVector(R.End - R.Begin)));
  }
  Expected<std::vector<Answer>> Answers = Q.ask(Configs);
  if (!Answers)
    return Answers.takeError();
  std::optional<CounterRange> Best;
  for (auto [R, A] : zip_equal(Ranges, *Answers))
    if (A == Answer::Good &&
        (!Best || R.End - R.Begin < Best->End - Best->Begin))
      Best = R;
  return Best;
}

/// Returns a minimal bad set of counts up to \p Last that is good without
/// \p Last. Unset: there is none.
Expected<std::optional<BitVector>>
CounterSearch::minimizeCounts(unsigned Last) {
  unsigned Size = Range.End - Range.Begin;
  auto Ask = [&](ArrayRef<BitVector> Sets) {
    std::vector<json::Object> Configs;
    for (const BitVector &Set : Sets)
      Configs.push_back(withCounts(Set));
    return Q.ask(Configs);
  };
  BitVector Start(Size), Always(Size);
  Start.set(0, Last + 1);
  Always.set(Last);
  Expected<std::vector<Answer>> Alone = Ask(Always);
  if (!Alone)
    return Alone.takeError();
  BitVector Least = Always;
  if (Alone->front() != Answer::Bad) {
    if (Last >= MaxMinimized)
      return std::nullopt;
    if (Error E = minimize(Start, Always, Answer::Bad, Q.judge().width(), Ask)
                      .moveInto(Least))
      return std::move(E);
  }
  // Without the other rewrites, this rewrite may have another count.
  Expected<std::vector<Answer>> Without = Ask(BitVector(Least).reset(Last));
  if (!Without)
    return Without.takeError();
  if (Without->front() != Answer::Good || !Q.complete())
    return std::nullopt;
  return Least;
}

Error CounterSearch::search(BlamedRewrite &Out) {
  unsigned Size = Range.End - Range.Begin;
  auto Prefix = [&](size_t Length) {
    BitVector Counts(Size);
    Counts.set(0, Length);
    return Counts;
  };
  auto Ask = [&](ArrayRef<size_t> Lengths) {
    std::vector<json::Object> Configs;
    for (size_t Length : Lengths)
      Configs.push_back(withCounts(Prefix(Length)));
    return Q.ask(Configs);
  };
  Expected<Boundary> B = findBoundary(Size, (Q.judge().width() + 1) / 2, Ask);
  if (!B)
    return B.takeError();
  if (B->FirstBad - B->LastGood != 1 || !Q.complete()) {
    Out.Missing = formatv("debug counter {0}: good up to count {1}, bad up to "
                          "count {2}, and undecided in between",
                          Range.Counter, Range.Begin + B->LastGood,
                          Range.Begin + B->FirstBad)
                      .str();
    return Error::success();
  }
  unsigned Last = B->FirstBad - 1;
  Out.Count = Range.Begin + Last;
  Expected<std::optional<BitVector>> Least = minimizeCounts(Last);
  if (!Least)
    return Least.takeError();
  BitVector Bad = *Least ? **Least : Prefix(B->FirstBad);
  Out.NumCounts = Bad.count();
  BitVector Good = BitVector(Bad).reset(Last);
  Out.BadChunks = printChunks(Bad);
  Out.GoodChunks = printChunks(Good);
  Out.BadConfig = withCounts(Bad);
  Out.GoodConfig = withCounts(Good);
  Q.say(formatv("execution {0}: count {1} of debug counter {2}", Out.Number,
                Out.Count, Range.Counter));
  return Error::success();
}

Expected<BlamedRewrite> CounterSearch::run(const PassExecution &E) {
  BlamedRewrite Out;
  Out.Number = E.Number;
  const PassExecution *Run = findExecution(Listing, E.Number);
  if (!Run || Run->Counters.empty()) {
    Out.Missing = "pass " + E.Pass + " has no debug counter here";
    return Out;
  }
  Expected<std::optional<CounterRange>> R = chooseCounter(Run->Counters);
  if (!R)
    return R.takeError();
  if (!*R) {
    std::string Names =
        join(map_range(Run->Counters,
                       [](const CounterRange &C) { return C.Counter; }),
             ", ");
    Out.Missing = "no debug counter of pass " + E.Pass + " (" + Names +
                  ") controls the fault";
    return Out;
  }
  setRange(**R);
  Out.Counter = Range.Counter;
  Out.Begin = Range.Begin;
  Out.End = Range.End;
  if (Error Failed = search(Out))
    return std::move(Failed);
  return Out;
}
