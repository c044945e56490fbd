//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassSearch.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

using namespace llvm;
using namespace llvm::mneme;

/// Limit of independent culprits to add one by one; then the search instead
/// minimizes the set of all executions.
static constexpr unsigned MaxCulprits = 16;

/// The least gain for which climb() keeps skipping a set, as a share of the
/// remaining distance to the good side.
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

/// Returns the executions of the scope that changed something.
BitVector PassSearch::chooseCandidates(const PassListing &L) const {
  BitVector Changed(All.size());
  for (const PassExecution &E : L.Executions)
    if (E.Number && E.Number < All.size() && E.Changed.value_or(true))
      Changed.set(E.Number);
  for (const PassDeath &D : Listing.Deaths)
    Changed.set(D.Number);
  // If the compiler died, it is unknown whether the last execution changed
  // something.
  if (!L.Failure.empty() && !L.Executions.empty() &&
      L.Executions.back().Number < All.size())
    Changed.set(L.Executions.back().Number);
  Changed.reset(0);
  return Changed &= Scope;
}

/// Returns the executions with a number of the pass of execution \p Number.
static BitVector chooseOfPass(ArrayRef<PassExecution> Executions,
                              unsigned Number) {
  BitVector Of;
  auto It = find_if(Executions,
                    [&](const PassExecution &E) { return E.Number == Number; });
  for (const PassExecution &E : Executions) {
    Of.resize(std::max(Of.size(), E.Number + 1));
    if (E.Number && It != Executions.end() && E.Pass == It->Pass)
      Of.set(E.Number);
  }
  return Of;
}

void PassSearch::setScope(BitVector NewScope) {
  Scope = std::move(NewScope);
  // If the fault is random, the changes of an execution may be, too.
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
  if (!Listing.Unnumbered.empty())
    Out.Notes.push_back(Listing.Unnumbered);
  Out.NumExecutions = All.count();
  Out.NumCandidates = chooseCandidates(Listing).count();
  Q.say(formatv("{0} skippable pass executions, {1} of them changed something",
                Out.NumExecutions, Out.NumCandidates));
  return Error::success();
}

bool PassSearch::isOfOtherHalf() const {
  return !makeSet(Out.SkipSet).anyCommon(InHalf) &&
         !makeSet(Out.RunSet).anyCommon(InHalf);
}

//===----------------------------------------------------------------------===//
// Good without the scope
//===----------------------------------------------------------------------===//

/// Returns where it turns bad if the scope's executions run up to one of \p
/// Ends, except \p Skipped. It must be good up to none and bad up to the last.
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
  // The width counts two jobs per process, of which one waits. More questions
  // than processes would take as long as two rounds.
  return findBoundary(Ends.size(), (J.width() + 1) / 2, Ask);
}

/// The search ended before a set was minimal.
void PassSearch::noteRunSet(const BitVector &Set) {
  Out.Notes.push_back(
      formatv("executions {0} alone make it bad ({1} of {2}), but {3} before "
              "this set was minimal",
              printNumbers(Set), Set.count(), Out.NumExecutions, Q.stopReason())
          .str());
}

/// Finds the smallest bad set, given that \p First, the last executions of the
/// first bad prefix, belong to it.
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
    // The always included execution may be unnecessary in a smaller set.
    if (BitVector Rest = without(*Least, Always); Always.any() && Rest.any()) {
      Expected<std::vector<Answer>> OfRest = askRun(Rest);
      if (!OfRest)
        return OfRest.takeError();
      if (OfRest->front() == Answer::Bad)
        Least = minimize(Rest, None, Answer::Bad, J.width(), Ask);
      if (!Least)
        return Least.takeError();
    }
    if (!Q.complete()) {
      if (Least->count() < Start.count())
        noteRunSet(*Least);
      return Error::success();
    }
    Out.RunSet = toList(*Least);
    Out.SmallestConfig = withRun(*Least);
    return Error::success();
  }
  if (Q.complete())
    Out.Notes.push_back("no set of executions alone makes it bad: it also "
                        "takes executions that seemed to change nothing");
  return Error::success();
}

/// Notes that the compiler fails again after the execution at which it died
/// before. Executions there have no numbers, as numbering died earlier.
void PassSearch::noteBehind(FailureKind Failure, StringRef Spec) {
  Out.Notes.push_back(
      formatv("without it, the compiler gets further and fails later ({0}{1}), "
              "where executions have no numbers: these are not searched",
              Failure, Spec.empty() ? "" : (" in " + Spec).str())
          .str());
}

/// Adds further culprits to \p Skip until it is good without the whole set,
/// then minimizes the set. Unset: none was found.
Expected<std::optional<BitVector>> PassSearch::findSkipSet(BitVector Skip) {
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  BitVector StillBad;
  for (unsigned Round = 0; Round != MaxCulprits; ++Round) {
    Expected<Answer> A = Q.ask(withSkip(Skip));
    if (!A)
      return A.takeError();
    if (*A == Answer::Good)
      return minimize(Skip, BitVector(All.size()), Answer::Good, J.width(),
                      Ask);
    // A tool may know only prefixes, although its version suggests more.
    if (Q.complete() && J.get(withSkip(Skip)).Failure == FailureKind::Invalid)
      return std::nullopt;
    if (*A == Answer::Unresolved && Q.complete() && !Listing.Failure.empty()) {
      noteBehind(J.get(withSkip(Skip)).Failure, "");
      return std::nullopt;
    }
    if (*A == Answer::Unresolved)
      break;
    StillBad = Skip;
    // Executions that had nothing to do may now do the work of skipped ones.
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
  if (!Q.complete()) {
    if (StillBad.any())
      Out.Notes.push_back(
          formatv("it is bad even without executions {0}, and {1} before "
                  "further ones were found",
                  printNumbers(StillBad), Q.stopReason())
              .str());
    return std::nullopt;
  }
  // Too many culprits: start with all executions skipped instead.
  Expected<BitVector> Least =
      minimize(Scope, BitVector(All.size()), Answer::Good, J.width(), Ask);
  if (!Least)
    return Least.takeError();
  return *Least;
}

/// Reports the end of the first bad prefix as the answer.
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

/// Searches the scope, given that it is good if none of the scope runs.
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

/// Returns what an execution of the bad side changes; Code if that is unknown.
Expected<ChangeKind> PassSearch::classify(unsigned Number) {
  auto It = find_if(Listing.Executions,
                    [&](const PassExecution &E) { return E.Number == Number; });
  if (!Subject.ClassifyChange || It == Listing.Executions.end())
    return ChangeKind::Code;
  return Subject.ClassifyChange(BadConfig, *It);
}

/// Returns whether an execution changes something if another one is skipped.
Expected<bool> PassSearch::changesWithout(unsigned Number, unsigned Skipped) {
  Expected<PassListing> L = Subject.ListPasses(withSkip(makeSet(Skipped)));
  if (!L)
    return L.takeError();
  return any_of(L->Executions, [&](const PassExecution &E) {
    return E.Number == Number && E.Changed.value_or(true);
  });
}

/// Returns the executions of the smallest bad set that are the cause: one
/// without which it is good, or a minimal set of one pass's executions. Unset:
/// there is neither.
/// \param Last  the end of the first bad prefix. Its pass does the wrong step;
/// if several of its executions must be skipped, another execution that heals
/// alone need only make their input, unless it adds a fact.
Expected<std::optional<BitVector>> PassSearch::findCause(unsigned Last) {
  std::vector<BitVector> Singles;
  for (unsigned Number : Out.RunSet)
    Singles.push_back(makeSet(Number));
  Expected<std::vector<Answer>> Alone = askSkip(Singles);
  if (!Alone)
    return Alone.takeError();
  // The last one is the nearest to the failure.
  std::optional<unsigned> Fact, Code;
  BitVector NoCause(All.size());
  for (auto [Number, A] : zip_equal(Out.RunSet, *Alone)) {
    if (A != Answer::Good)
      continue;
    Expected<ChangeKind> Kind = classify(Number);
    if (!Kind)
      return Kind.takeError();
    if (*Kind == ChangeKind::Nothing)
      NoCause.set(Number);
    else
      (*Kind == ChangeKind::Facts ? Fact : Code) = Number;
  }
  // Executions that had nothing to do may do the work of skipped ones.
  std::vector<BitVector> OfPasses;
  for (unsigned Number : Out.RunSet) {
    BitVector Set = chooseOfPass(Listing.Executions, Number) &= Scope;
    if (!Set.anyCommon(NoCause) && !is_contained(OfPasses, Set))
      OfPasses.insert(Set[Last] ? OfPasses.begin() : OfPasses.end(), Set);
  }
  auto Ask = [&](ArrayRef<BitVector> Sets) { return askSkip(Sets); };
  auto FindPass =
      [&](ArrayRef<BitVector> Sets) -> Expected<std::optional<BitVector>> {
    Expected<std::optional<size_t>> Found =
        findFirst(Sets, Answer::Good, J.width(), Ask);
    if (!Found)
      return Found.takeError();
    if (!*Found)
      return std::nullopt;
    return minimize(Sets[**Found], BitVector(All.size()), Answer::Good,
                    J.width(), Ask);
  };
  bool IsVerify = J.what().isVerify();
  if (IsVerify && Fact)
    return makeSet(*Fact);
  if (IsVerify && !OfPasses.empty() && OfPasses.front()[Last]) {
    Expected<std::optional<BitVector>> Set = FindPass(OfPasses.front());
    if (!Set || *Set)
      return Set;
  }
  if (std::optional<unsigned> Single = std::max(Fact, Code))
    return makeSet(*Single);
  return FindPass(OfPasses);
}

/// Blames the execution that adds a wrong fact (a flag, an attribute) instead
/// of the later one that exploits it, or that derives another fact from it. It
/// is good without either of the two.
Error PassSearch::preferFacts() {
  if (!Subject.ClassifyChange || Out.SkipSet.size() != 1 ||
      Out.RunSet.size() < 2)
    return Error::success();
  unsigned Cause = Out.SkipSet.front();
  ChangeKind Kind;
  if (Error E = classify(Cause).moveInto(Kind))
    return E;
  for (unsigned Number : llvm::reverse(Out.RunSet)) {
    if (Number >= Cause)
      continue;
    Expected<Answer> Alone = Q.ask(withSkip(makeSet(Number)));
    if (!Alone)
      return Alone.takeError();
    if (*Alone != Answer::Good)
      continue;
    ChangeKind Earlier;
    if (Error E = classify(Number).moveInto(Earlier))
      return E;
    bool IsOwn = false;
    if (Earlier == ChangeKind::Facts && Kind == ChangeKind::Facts)
      if (Error E = changesWithout(Cause, Number).moveInto(IsOwn))
        return E;
    if (Earlier != ChangeKind::Facts || IsOwn)
      continue;
    Cause = Number;
    Kind = Earlier;
  }
  useSkipSet(makeSet(Cause));
  return Error::success();
}

/// Finds both sets, given the end of the first bad prefix. If it stays bad
/// without the last execution of that prefix, that execution may only exploit
/// an earlier one's mistake, as later ones do. The smallest bad set then
/// contains the cause.
Error PassSearch::searchSets(const BitVector &First, unsigned Last) {
  Expected<Answer> Alone = Q.ask(withSkip(First));
  if (!Alone)
    return Alone.takeError();
  bool IsVerify = J.what().isVerify();
  bool HasRunSet = *Alone == Answer::Bad;
  if (HasRunSet) {
    if (Error E = findRunSet(First, Last))
      return E;
    Expected<std::optional<BitVector>> Cause = findCause(Last);
    if (!Cause)
      return Cause.takeError();
    if (*Cause && (*Cause)->any()) {
      useSkipSet(**Cause);
      return IsVerify ? preferFacts() : Error::success();
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
  // For a metric, the first bad prefix may be unrelated to the final value.
  bool IsRelated = IsVerify || First.anyCommon(**Skip);
  if (!IsRelated) {
    Out.RunSet.clear();
    Out.SmallestConfig.reset();
  }
  if (HasRunSet || !IsRelated || Depth == BisectDepth::Heal)
    return Error::success();
  if (Error E = findRunSet(First, Last))
    return E;
  return IsVerify ? preferFacts() : Error::success();
}

//===----------------------------------------------------------------------===//
// Not good without the scope
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

/// Returns each of \p Groups together with the executions that change something
/// only if it and \p Skip are skipped: a loop that is not fully unrolled may be
/// runtime unrolled instead.
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

/// Searches the scope, given that it is not good if none of the scope runs.
/// Skips all executions of one pass, or consecutive executions. If none of that
/// suffices, continues from the most helpful set.
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
                "would accept that",
                printNumbers(Skip), Now, Start, printThreshold(Now - 1))
            .str());
  if (Skip.any() && Now < BestBadness) {
    Best = std::move(Skip);
    BestBadness = Now;
  }
  return Error::success();
}

/// Reports the most helpful set if no set makes it good. Not for times, since
/// each candidate would have to be measured again against the new limit.
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

/// Returns a name for each execution with a number, and those numbers.
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

/// Aligns the executions of both sides and searches those that only one side
/// has: first the bad side's, then, if it is not good without them, the good
/// side's.
Error PassSearch::searchDifference() {
  Expected<PassListing> L = Subject.ListPasses(GoodConfig);
  if (!L) {
    consumeError(L.takeError()); // search all executions instead
    return Error::success();
  }
  GoodListing = std::move(*L);
  std::vector<unsigned> GoodNumbers, BadNumbers;
  std::vector<std::string> Good = nameExecutions(GoodListing, GoodNumbers);
  std::vector<std::string> Bad = nameExecutions(Listing, BadNumbers);
  std::vector<StringRef> A(Good.begin(), Good.end()), B(Bad.begin(), Bad.end());
  std::optional<std::vector<DiffLine>> Lines = compareLines(A, B);
  if (!Lines)
    return Error::success(); // too different to align
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

/// Finds the smallest set of the good side's executions without which the good
/// side is bad, too.
Error PassSearch::findMissing(const BitVector &OnlyGood) {
  if (GoodConfig.get("run_passes") || GoodConfig.get("skip_passes"))
    return Error::success(); // the good side already selects its passes
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
// Main
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
  // An execution that changed nothing may change something if others are
  // skipped.
  if (!found() && Candidates != Scope && Q.complete() &&
      Half == FaultyHalf::Unknown) {
    Candidates = Scope;
    if (Error E = searchScope())
      return E;
  }
  if (found() || Scope == All || !Q.complete())
    return Error::success();
  Q.say("no pass of this half is responsible: searching all passes");
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
