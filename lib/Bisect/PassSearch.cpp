//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Sets of executions that are independently at fault, until the search goes
/// the other way round.
static constexpr unsigned MaxCulprits = 16;

/// What must be gained for a set to be skipped on the way to another, as a
/// share of what there is to gain.
static constexpr double MinGain = 0.1;

std::string mneme::printNumbers(const BitVector &Numbers) {
  std::string Text;
  raw_string_ostream OS(Text);
  for (int First = Numbers.find_first(); First >= 0;) {
    int End = Numbers.find_next_unset(First);
    int Last = (End < 0 ? static_cast<int>(Numbers.size()) : End) - 1;
    OS << (Text.empty() ? "" : ",") << First;
    if (Last > First)
      OS << '-' << Last;
    First = Numbers.find_next(Last);
  }
  return Text.empty() ? "none" : Text;
}

std::string mneme::printThreshold(double Share) {
  constexpr double Rounding = 1e-6;
  return formatv("{0:f0}%", std::ceil(100 * Share - Rounding)).str();
}

static BitVector without(BitVector A, const BitVector &B) { return A.reset(B); }

static BitVector unite(BitVector A, const BitVector &B) { return A |= B; }

static std::vector<unsigned> toList(const BitVector &Numbers) {
  return {Numbers.set_bits_begin(), Numbers.set_bits_end()};
}

//===----------------------------------------------------------------------===//
// Questions
//===----------------------------------------------------------------------===//

json::Object PassSearch::withRun(const BitVector &Run) const {
  json::Object Config = BadConfig;
  Config["run_passes"] = printNumbers(unite(Run, without(All, Scope)));
  return Config;
}

json::Object PassSearch::withSkip(const BitVector &Skip) const {
  json::Object Config = BadConfig;
  if (Skip == All)
    Config["run_passes"] = "none";
  else if (Skip.any())
    Config["skip_passes"] = printNumbers(Skip);
  return Config;
}

Expected<std::vector<Answer>> PassSearch::askRun(ArrayRef<BitVector> Sets) {
  std::vector<json::Object> Configs;
  for (const BitVector &Set : Sets)
    Configs.push_back(withRun(Set));
  return Q.ask(Configs);
}

Expected<std::vector<Answer>> PassSearch::askSkip(ArrayRef<BitVector> Sets) {
  std::vector<json::Object> Configs;
  for (const BitVector &Set : Sets)
    Configs.push_back(withSkip(Set));
  return Q.ask(Configs);
}

BitVector PassSearch::makeSet(ArrayRef<unsigned> Numbers) const {
  BitVector Set(All.size());
  for (unsigned Number : Numbers)
    Set.set(Number);
  return Set;
}

//===----------------------------------------------------------------------===//
// Candidates
//===----------------------------------------------------------------------===//

/// Those that changed something, of what may be skipped.
BitVector PassSearch::chooseCandidates(const PassListing &L) const {
  BitVector Changed(All.size());
  for (const PassExecution &E : L.Executions)
    if (E.Number && E.Number < All.size() && E.Changed.value_or(true))
      Changed.set(E.Number);
  // What the last one did before the compiler died, nobody has seen.
  if (!L.Failure.empty() && !L.Executions.empty() &&
      L.Executions.back().Number < All.size())
    Changed.set(L.Executions.back().Number);
  Changed.reset(0);
  return Changed &= Scope;
}

void PassSearch::setScope(BitVector NewScope) {
  Scope = std::move(NewScope);
  // A random fault also makes it random what an execution changes.
  Candidates = J.isRandom() ? Scope : chooseCandidates(Listing);
}

Error PassSearch::listPasses() {
  Expected<PassListing> L = Subject.ListPasses(BadConfig);
  if (!L)
    return L.takeError();
  Listing = std::move(*L);
  unsigned Last = 0;
  for (const PassExecution &E : Listing.Executions)
    Last = std::max(Last, E.Number);
  All = BitVector(Last + 1);
  InHalf = BitVector(Last + 1);
  for (const PassExecution &E : Listing.Executions) {
    if (!E.Number)
      continue;
    All.set(E.Number);
    PassStage Wanted =
        Half == FaultyHalf::BackEnd ? PassStage::CodeGen : PassStage::IR;
    if (Half == FaultyHalf::Unknown || E.Stage == Wanted)
      InHalf.set(E.Number);
  }
  setScope(InHalf);
  Out.NumExecutions = All.count();
  Out.NumCandidates = chooseCandidates(Listing).count();
  Q.say(formatv("{0} pass executions that can be skipped, {1} of them changed "
                "something",
                Out.NumExecutions, Out.NumCandidates));
  return Error::success();
}

bool PassSearch::isOfOtherHalf() const {
  return !makeSet(Out.SkipSet).anyCommon(InHalf) &&
         !makeSet(Out.RunSet).anyCommon(InHalf);
}

//===----------------------------------------------------------------------===//
// Good if nothing runs
//===----------------------------------------------------------------------===//

/// Where it turns bad if the scope's executions run up to one of \p Ends only,
/// without \p Skipped. All of them run: bad; none: good.
Expected<Boundary> PassSearch::findFirstBad(ArrayRef<unsigned> Ends,
                                            const BitVector &Skipped) {
  auto Ask = [&](ArrayRef<size_t> Positions) {
    std::vector<BitVector> Sets;
    for (size_t Position : Positions) {
      BitVector Run(All.size());
      Run.set(1, Ends[Position - 1] + 1);
      Sets.push_back(without(Run &= Scope, Skipped));
    }
    return askRun(Sets);
  };
  // A question more than there are processors for is a question too many.
  return findBoundary(Ends.size(), (J.width() + 1) / 2, Ask);
}

/// Members of the smallest set that is enough, given that \p First, the last
/// ones of the first bad prefix, belong to it.
Error PassSearch::findRunSet(const BitVector &First, unsigned Last) {
  BitVector Prefix(All.size());
  Prefix.set(1, Last + 1);
  for (const BitVector &Among : {Candidates, Scope}) {
    BitVector Start = unite(BitVector(Prefix) &= Among, First);
    Expected<std::vector<Answer>> A = askRun(Start);
    if (!A)
      return A.takeError();
    if (A->front() != Answer::Bad)
      continue;
    const BitVector None(All.size());
    BitVector Always = First.count() == 1 ? First : None;
    auto Ask = [&](ArrayRef<BitVector> Sets) { return askRun(Sets); };
    Expected<BitVector> Least =
        minimize(Start, Always, Answer::Bad, J.width(), Ask);
    if (!Least)
      return Least.takeError();
    // What it took behind others may be of no use without them.
    if (BitVector Rest = without(*Least, Always); Always.any() && Rest.any()) {
      Expected<std::vector<Answer>> OfRest = askRun(Rest);
      if (!OfRest)
        return OfRest.takeError();
      if (OfRest->front() == Answer::Bad)
        Least = minimize(Rest, None, Answer::Bad, J.width(), Ask);
      if (!Least)
        return Least.takeError();
    }
    // It may be all there is.
    if (!Q.complete())
      return Error::success();
    Out.RunSet = toList(*Least);
    Out.SmallestConfig = withRun(*Least);
    return Error::success();
  }
  if (Q.complete())
    Out.Notes.push_back(
        "no set of executions alone makes it bad: it also takes "
        "some that seemed to change nothing");
  return Error::success();
}

/// What the compiler came to behind what it died of: nobody has numbered that.
void PassSearch::noteBehind(FailureKind Failure, StringRef Spec) {
  Out.Notes.push_back(
      formatv("without it the compiler gets further, and it fails behind it "
              "({0}{1}), where no execution has a number: that is not searched",
              Failure, Spec.empty() ? "" : (" in " + Spec).str())
          .str());
}

/// Adds to \p Skip what is at fault beside it, until it is good without all of
/// that, and takes away what need not be skipped. Unset: not found.
Expected<std::optional<BitVector>> PassSearch::findSkipSet(BitVector Skip) {
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  for (unsigned Round = 0; Round != MaxCulprits; ++Round) {
    Expected<Answer> A = Q.ask(withSkip(Skip));
    if (!A)
      return A.takeError();
    if (*A == Answer::Good)
      return minimize(Skip, BitVector(All.size()), Answer::Good, J.width(),
                      Ask);
    // Not any set can be chosen of what another program runs.
    if (Q.complete() && J.get(withSkip(Skip)).Failure == FailureKind::Invalid)
      return std::nullopt;
    if (*A == Answer::Unresolved && Q.complete() && !Listing.Failure.empty()) {
      noteBehind(J.get(withSkip(Skip)).Failure, "");
      return std::nullopt;
    }
    if (*A == Answer::Unresolved)
      break;
    // What others left undone may be done by those that had nothing to do.
    Expected<PassListing> L = Subject.ListPasses(withSkip(Skip));
    if (!L)
      return L.takeError();
    if (!Listing.Failure.empty() && !L->Failure.empty() &&
        !L->Executions.empty() && !L->Executions.back().Number) {
      noteBehind(FailureKind::CompileError, L->Executions.back().spec());
      return std::nullopt;
    }
    BitVector Rest = without(J.isRandom() ? Scope : chooseCandidates(*L), Skip);
    std::vector<unsigned> Ends = toList(Rest);
    if (Ends.empty())
      break;
    Expected<Boundary> B = findFirstBad(Ends, Skip);
    if (!B)
      return B.takeError();
    for (size_t I = B->LastGood; I != B->FirstBad; ++I)
      Skip.set(Ends[I]);
  }
  if (!Q.complete())
    return std::nullopt;
  // Good is only what nearly nothing is left of: from there.
  Expected<BitVector> Least =
      minimize(Scope, BitVector(All.size()), Answer::Good, J.width(), Ask);
  if (!Least)
    return Least.takeError();
  return *Least;
}

/// Only how many run can be chosen: the place is all that can be known.
void PassSearch::usePrefix(const BitVector &First, unsigned Last) {
  Out.PrefixOnly = true;
  Out.SkipSet = toList(First);
  BitVector Prefix(All.size());
  Prefix.set(1, Last + 1);
  Out.SmallestConfig = withRun(Prefix);
  Prefix.reset(First.find_first(), Last + 1);
  Out.HealedConfig = withRun(Prefix);
}

void PassSearch::useSkipSet(const BitVector &Skip) {
  Out.SkipSet = toList(Skip);
  Out.HealedConfig = withSkip(Skip);
}

/// It is good if nothing of the scope runs.
Error PassSearch::searchPrefix() {
  std::vector<unsigned> Ends = toList(Candidates);
  if (Ends.empty())
    return Error::success();
  Expected<Boundary> B = findFirstBad(Ends, BitVector(All.size()));
  if (!B)
    return B.takeError();
  unsigned Last = Ends[B->FirstBad - 1];
  Out.FirstBad = Last;
  Out.LastGood = B->LastGood ? Ends[B->LastGood - 1] : 0;
  BitVector First(All.size());
  for (size_t I = B->LastGood; I != B->FirstBad; ++I)
    First.set(Ends[I]);
  Q.say(formatv("bad from execution {0} on", Last));
  if (Depth == BisectDepth::First ||
      (Subject.OnlyPrefixes && Subject.OnlyPrefixes(BadConfig))) {
    usePrefix(First, Last);
    return Error::success();
  }
  return searchSets(First, Last);
}

/// The members of the smallest bad set that heal alone; unset if there are
/// none. Where none does, all executions of the same pass may.
Expected<std::optional<BitVector>> PassSearch::findCause() {
  std::vector<BitVector> Sets;
  for (unsigned Number : Out.RunSet)
    Sets.push_back(makeSet(Number));
  // The last one is the nearest to the failure.
  std::reverse(Sets.begin(), Sets.end());
  std::map<std::string, BitVector> ByPass;
  for (const PassExecution &E : Listing.Executions)
    if (E.Number && Candidates[E.Number])
      ByPass.try_emplace(E.Pass, All.size()).first->second.set(E.Number);
  for (const PassExecution &E : Listing.Executions)
    if (is_contained(Out.RunSet, E.Number))
      if (auto It = ByPass.find(E.Pass); It != ByPass.end()) {
        Sets.push_back(std::move(It->second));
        ByPass.erase(It);
      }
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  Expected<std::optional<size_t>> Found =
      findFirst(Sets, Answer::Good, J.width(), Ask);
  if (!Found)
    return Found.takeError();
  if (!*Found)
    return std::nullopt;
  return minimize(Sets[**Found], BitVector(All.size()), Answer::Good, J.width(),
                  Ask);
}

/// A wrong fact (a flag, an attribute) harms nobody until another pass exploits
/// it. Without either of them it is good, and the one that adds the fact is the
/// cause.
Error PassSearch::preferFacts() {
  if (!Subject.AddsOnlyFacts || Out.SkipSet.size() != 1 ||
      Out.RunSet.size() < 2)
    return Error::success();
  for (const PassExecution &E : llvm::reverse(Listing.Executions)) {
    if (!E.Number || E.Number >= Out.SkipSet.front() ||
        !is_contained(Out.RunSet, E.Number))
      continue;
    Expected<Answer> Alone = Q.ask(withSkip(makeSet(E.Number)));
    if (!Alone)
      return Alone.takeError();
    if (*Alone != Answer::Good)
      continue;
    Expected<bool> OnlyFacts = Subject.AddsOnlyFacts(BadConfig, E);
    if (!OnlyFacts)
      return OnlyFacts.takeError();
    if (*OnlyFacts) {
      useSkipSet(makeSet(E.Number));
      return Error::success();
    }
  }
  return Error::success();
}

/// Both sets, given the end of the first bad prefix. If the last execution of
/// that prefix does not heal alone, it may only exploit what an earlier one got
/// wrong, as others behind it do: then the smallest bad set has the cause.
Error PassSearch::searchSets(const BitVector &First, unsigned Last) {
  Expected<Answer> Alone = Q.ask(withSkip(First));
  if (!Alone)
    return Alone.takeError();
  bool HasRunSet = false;
  if (J.what().isVerify() && *Alone == Answer::Bad) {
    if (Error E = findRunSet(First, Last))
      return E;
    HasRunSet = true;
    Expected<std::optional<BitVector>> Cause = findCause();
    if (!Cause)
      return Cause.takeError();
    if (*Cause && (*Cause)->any()) {
      useSkipSet(**Cause);
      return preferFacts();
    }
  }
  Expected<std::optional<BitVector>> Skip = findSkipSet(First);
  if (!Skip)
    return Skip.takeError();
  if (!*Skip) {
    if (Q.complete())
      usePrefix(First, Last);
    return Error::success();
  }
  if ((*Skip)->any())
    useSkipSet(**Skip);
  // What made a number worse for a while need not be what it is in the end.
  if (HasRunSet || Depth == BisectDepth::Heal ||
      (!J.what().isVerify() && !First.anyCommon(**Skip)))
    return Error::success();
  if (Error E = findRunSet(First, Last))
    return E;
  return J.what().isVerify() ? preferFacts() : Error::success();
}

//===----------------------------------------------------------------------===//
// Not good if nothing runs
//===----------------------------------------------------------------------===//

double PassSearch::badness(const json::Object &Config) const {
  const Judgement &V = J.get(Config);
  if (V.A == Answer::Unresolved)
    return HUGE_VAL;
  if (J.what().isTime())
    return V.Ratio ? V.Ratio->Value : HUGE_VAL;
  double Value = V.Value.value_or(V.A == Answer::Bad);
  return J.what().Maximize ? -Value : Value;
}

/// Each of \p Groups with those that find something to do where it is skipped,
/// beside \p Skip: runtime unrolling where a loop is not unrolled as a whole.
Expected<std::vector<BitVector>>
PassSearch::addSubstitutes(ArrayRef<BitVector> Groups, const BitVector &Skip) {
  std::vector<BitVector> Larger;
  if (Candidates == Scope)
    return Larger;
  for (const BitVector &Group : Groups) {
    Expected<PassListing> L = Subject.ListPasses(withSkip(unite(Skip, Group)));
    if (!L)
      return L.takeError();
    BitVector New = without(chooseCandidates(*L), Candidates);
    if (New.any())
      Larger.push_back(unite(Group, New));
  }
  return Larger;
}

/// It is not good if nothing runs, but it may be if something does not: skips
/// all of one pass, or what follows each other; where none of that is enough,
/// goes on from what helped most.
Error PassSearch::climb() {
  std::map<std::string, BitVector> ByPass;
  for (const PassExecution &E : Listing.Executions)
    if (E.Number && Candidates[E.Number])
      ByPass.try_emplace(E.Pass, All.size()).first->second.set(E.Number);
  std::vector<BitVector> OfPasses;
  for (auto &[Pass, Group] : ByPass)
    OfPasses.push_back(std::move(Group));
  std::vector<BitVector> Groups = OfPasses;
  llvm::append_range(Groups, makeChunks(Candidates));
  BitVector Skip(All.size());
  double Now = badness(BadConfig);
  double Start = Now, Goal = J.what().isVerify() ? 0
                             : J.what().isTime() ? 1
                                                 : badness(GoodConfig);
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  bool HasSubstitutes = false;
  for (unsigned Round = 0; Round != MaxCulprits && Q.complete(); ++Round) {
    std::vector<BitVector> Sets;
    for (const BitVector &G : Groups)
      if (BitVector More = unite(Skip, G); More != Skip)
        Sets.push_back(std::move(More));
    Expected<std::optional<size_t>> First =
        findFirst(Sets, Answer::Good, J.width(), Ask);
    if (!First)
      return First.takeError();
    if (*First) {
      Expected<BitVector> Least = minimize(Sets[**First], BitVector(All.size()),
                                           Answer::Good, J.width(), Ask);
      if (!Least)
        return Least.takeError();
      useSkipSet(*Least);
      return Error::success();
    }
    if (!Q.complete() || Sets.empty())
      break;
    auto Best = llvm::min_element(Sets, [&](const auto &A, const auto &B) {
      return badness(withSkip(A)) < badness(withSkip(B));
    });
    double Better = badness(withSkip(*Best));
    if (Now - Better > MinGain * (Now - Goal)) {
      Skip = *Best;
      Now = Better;
      continue;
    }
    if (std::exchange(HasSubstitutes, true))
      break;
    Expected<std::vector<BitVector>> More = addSubstitutes(OfPasses, Skip);
    if (!More)
      return More.takeError();
    if (More->empty())
      break;
    llvm::append_range(Groups, *More);
  }
  if (Skip.any() && J.what().isTime())
    Out.Notes.push_back(
        formatv("without executions {0} it is better, but not good: {1:f3} "
                "times the good side's time instead of {2:f3}; --threshold={3} "
                "takes that for good",
                printNumbers(Skip), Now, Start, printThreshold(Now - 1))
            .str());
  if (Skip.any() && Now < BestBadness) {
    Best = std::move(Skip);
    BestBadness = Now;
  }
  return Error::success();
}

/// Nothing makes it good: the answer is what does most for it. Not of times,
/// where each candidate would have to be measured against that again.
Error PassSearch::useBest() {
  if (Best.none() || J.what().isVerify() || J.what().isTime())
    return Error::success();
  Out.Accepted = J.what().Maximize ? -BestBadness : BestBadness;
  J.accept(*Out.Accepted);
  Q.say(formatv("nothing makes it good; the best is {0} of {1}", *Out.Accepted,
                J.what().Metric));
  Expected<BitVector> Least =
      minimize(Best, BitVector(All.size()), Answer::Good, J.width(),
               [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); });
  if (!Least)
    return Least.takeError();
  useSkipSet(*Least);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Two pipelines
//===----------------------------------------------------------------------===//

/// One word for each execution that has a number.
static std::vector<std::string> nameExecutions(const PassListing &L,
                                               std::vector<unsigned> &Numbers) {
  std::vector<std::string> Names;
  for (const PassExecution &E : L.Executions)
    if (E.Number && E.Ran) {
      Names.push_back(E.Pass + "@" + E.Unit);
      Numbers.push_back(E.Number);
    }
  return Names;
}

/// The executions that only one side has, as the sequences of both are aligned.
/// Those of the bad side first; where it is not good without them, those of the
/// good side.
Error PassSearch::searchDifference() {
  Expected<PassListing> L = Subject.ListPasses(GoodConfig);
  if (!L) {
    consumeError(L.takeError()); // all executions are searched then
    return Error::success();
  }
  GoodListing = std::move(*L);
  std::vector<unsigned> GoodNumbers, BadNumbers;
  std::vector<std::string> Good = nameExecutions(GoodListing, GoodNumbers);
  std::vector<std::string> Bad = nameExecutions(Listing, BadNumbers);
  std::vector<StringRef> A(Good.begin(), Good.end()), B(Bad.begin(), Bad.end());
  std::optional<std::vector<DiffLine>> Lines = compareLines(A, B);
  if (!Lines)
    return Error::success(); // too different for an alignment
  BitVector OnlyGood(GoodNumbers.empty() ? 1 : GoodNumbers.back() + 1);
  BitVector OnlyBad(All.size());
  for (const DiffLine &L : *Lines) {
    if (L.Kind == '-')
      OnlyGood.set(GoodNumbers[L.A]);
    if (L.Kind == '+')
      OnlyBad.set(BadNumbers[L.B]);
  }
  Q.say(formatv("{0} executions of the bad side only, {1} of the good side "
                "only",
                OnlyBad.count(), OnlyGood.count()));
  const BitVector Whole = Scope;
  OnlyBad &= Whole;
  if (OnlyBad.any() && OnlyBad != Whole) {
    setScope(OnlyBad);
    Expected<Answer> None = Q.ask(withSkip(Scope));
    if (!None)
      return None.takeError();
    if (*None == Answer::Good)
      if (Error E = searchPrefix())
        return E;
  }
  if (found() || !Q.complete())
    return Error::success();
  setScope(Whole);
  return findMissing(OnlyGood);
}

/// Without them the good side is as bad as the bad side, which lacks them.
Error PassSearch::findMissing(const BitVector &OnlyGood) {
  if (GoodConfig.get("run_passes") || GoodConfig.get("skip_passes"))
    return Error::success(); // it chooses its passes already
  auto Spoil = [&](const BitVector &Skip) {
    json::Object Config = GoodConfig;
    if (Skip.any())
      Config["skip_passes"] = printNumbers(Skip);
    return Config;
  };
  auto Ask = [&](ArrayRef<BitVector> Sets) {
    std::vector<json::Object> Configs;
    for (const BitVector &Set : Sets)
      Configs.push_back(Spoil(Set));
    return Q.ask(Configs);
  };
  BitVector Changed(OnlyGood.size());
  for (const PassExecution &E : GoodListing.Executions)
    if (E.Number && E.Changed.value_or(true))
      Changed.set(E.Number);
  Changed &= OnlyGood;
  if (Changed.none())
    return Error::success();
  Expected<std::vector<Answer>> A = Ask(Changed);
  if (!A)
    return A.takeError();
  if (A->front() != Answer::Bad)
    return Error::success();
  Expected<BitVector> Least =
      minimize(Changed, BitVector(Changed.size()), Answer::Bad, J.width(), Ask);
  if (!Least)
    return Least.takeError();
  for (const PassExecution &E : GoodListing.Executions)
    if (E.Number && (*Least)[E.Number])
      Out.Missing.push_back(E);
  Out.SpoiledConfig = Spoil(*Least);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

Error PassSearch::searchScope() {
  Expected<Answer> None = Q.ask(withSkip(Scope));
  if (!None)
    return None.takeError();
  WithoutScope = *None;
  if (*None == Answer::Good)
    return searchPrefix();
  if (*None == Answer::Bad && J.what().isVerify())
    return Error::success();
  return climb();
}

Error PassSearch::searchAll() {
  if (GoodHasPipeline)
    if (Error E = searchDifference())
      return E;
  if (found() || !Q.complete())
    return Error::success();
  if (Error E = searchScope())
    return E;
  // What seemed to do nothing may do something when others do not run.
  if (!found() && Candidates != Scope && Q.complete() &&
      Half == FaultyHalf::Unknown) {
    Candidates = Scope;
    if (Error E = searchScope())
      return E;
  }
  if (found() || Scope == All || !Q.complete())
    return Error::success();
  Q.say("it is none of this half; all passes");
  setScope(All);
  return searchScope();
}

Error PassSearch::run() {
  if (Error E = listPasses())
    return E;
  if (Error E = searchAll())
    return E;
  return found() ? Error::success() : useBest();
}
