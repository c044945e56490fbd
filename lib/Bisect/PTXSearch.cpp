//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/PTXSearch.h"
#include "PTXText.h"
#include "Questions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/ReplayBisect.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Mneme/Support/MinimizeSet.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/TargetParser/Triple.h"

using namespace llvm;
using namespace llvm::mneme;

/// Options that disable a part of ptxas's optimizations; the later -O wins.
static constexpr StringLiteral WeakerOptions[] = {
    "-O2",
    "-O1",
    "-O0",
    "--allow-expensive-optimizations=false",
    "--disable-optimizer-constants",
    "--dont-merge-basicblocks",
    "--fmad=false",
    "--register-usage-level=0"};

/// Limits of a reduction. On a GPU, a test takes about a second.
static constexpr unsigned MaxReduceTests = 400;
static constexpr double MaxReduceSeconds = 120;

/// Without an instruction, a loop may be endless: a test is stopped if it takes
/// ReduceTestFactor times as long as the first one, but not before
/// MinReduceTestSeconds.
static constexpr double ReduceTestFactor = 4, MinReduceTestSeconds = 5;

/// BisectProbe::Blames of the probe in ReplayBisect.cpp.
static constexpr StringLiteral PtxasProbe = "the optimizations of ptxas";

bool mneme::blamesPtxas(const ReplayPlan &Plan, const BisectOutcome &Out) {
  if (!Triple(Plan.kernel().Triple).isNVPTX())
    return false;
  if (Out.End == BisectOutcome::FoundSettings)
    return !Out.Settings.empty() &&
           all_of(Out.Settings, [](const BisectSetting &S) {
             return S.Key != "ptx" &&
                    getSettingStage(S.Key) == SettingStage::Assembler;
           });
  return is_contained(Out.Blamed, PtxasProbe) ||
         (Out.End == BisectOutcome::FoundPasses &&
          Out.Half == FaultyHalf::BackEnd);
}

//===----------------------------------------------------------------------===//
// Configurations
//===----------------------------------------------------------------------===//

/// Returns \p Config with one more ptxas option.
static Expected<json::Object> addPtxasOption(const ReplayPlan &Plan,
                                             const json::Object &Config,
                                             StringRef Option) {
  ReplayOptions Options = Plan.options();
  if (Error E = applyConfig(Config, Options))
    return std::move(E);
  ReplayOptions Only;
  Only.PtxasOptions = Options.PtxasOptions;
  Only.PtxasOptions.push_back(Option.str());
  json::Object New = Config;
  for (const auto &KV : makeConfig(Only))
    New[KV.first] = KV.second;
  return std::move(New);
}

static Expected<json::Object> makeGoodConfig(const ReplayPlan &Plan,
                                             const BisectOutcome &Out) {
  if (Out.End == BisectOutcome::FoundSettings)
    return Out.Sides.Good;
  return addPtxasOption(Plan, Out.BadConfig, "-O0");
}

/// Returns the command line of \p Options without words that only a replay
/// takes.
static std::vector<std::string> makeWords(const ReplayBisectOptions &O,
                                          const ReplayOptions &Options) {
  std::vector<std::string> Words;
  for (const std::string &Word : O.CommonWords)
    if (Word != "--no-execute")
      Words.push_back(Word);
  append_range(Words, makeOptions(makeConfig(Options)));
  return Words;
}

static Expected<std::optional<int>> runTool(const ReplayBisectOptions &O,
                                            StringRef Command,
                                            ArrayRef<std::string> Words,
                                            double Limit = 0) {
  std::vector<StringRef> Args{O.Program};
  if (!Command.empty())
    Args.push_back(Command);
  append_range(Args, Words);
  Args.push_back("--format=json");
  std::string Output;
  return askProgram(Args, Output, Limit);
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
class PTXSearch {
public:
  PTXSearch(const ReplayPlan &Plan, const ReplayBisectOptions &O, Evaluator &E,
            const BisectOutcome &Out)
      : Plan(Plan), O(O), Out(Out), J(E, O.Bisect.Judge),
        Q(J, O.Bisect.MaxSteps, O.Say) {}

  Expected<std::optional<PTXAnswer>> run();

private:
  const ReplayPlan &Plan;
  const ReplayBisectOptions &O;
  const BisectOutcome &Out;
  Judge J;
  Questions Q;
  PTXAnswer A;
  PrivateFolder Scratch;
  std::string Folder;

  Error findOptions();
  Expected<std::string> emit();
  Expected<json::Object> withIsolated(const PTXText &P, const BitVector &Set);
  Expected<std::vector<Answer>> ask(const PTXText &P, ArrayRef<BitVector> Sets);
  Expected<BitVector> minimizeBlocks(const PTXText &P, const BitVector &All);
  Error findInstructions(const PTXText &P);
};
} // namespace

Error PTXSearch::findOptions() {
  std::vector<json::Object> Configs;
  for (StringRef Option : WeakerOptions) {
    Expected<json::Object> Config = addPtxasOption(Plan, Out.BadConfig, Option);
    if (!Config)
      return Config.takeError();
    Configs.push_back(std::move(*Config));
  }
  Expected<std::vector<Answer>> Answers = Q.ask(Configs);
  if (!Answers)
    return Answers.takeError();
  for (auto [Option, Is] : zip_equal(WeakerOptions, *Answers))
    if (Is == Answer::Good)
      A.GoodOptions.push_back(Option.str());
  return Error::success();
}

/// Returns the PTX of the bad side.
Expected<std::string> PTXSearch::emit() {
  ReplayOptions Options = Plan.options();
  if (Error E = applyConfig(Out.BadConfig, Options))
    return std::move(E);
  std::vector<std::string> Words = makeWords(O, Options);
  std::string Path = pathIn(Folder, "kernel.ptx");
  Words.push_back("--no-execute");
  Words.push_back("--output-asm=" + Path);
  if (Error E = runTool(O, "", Words).takeError())
    return std::move(E);
  Expected<std::unique_ptr<MemoryBuffer>> Text = readTextFile(Path);
  if (!Text)
    return Text.takeError();
  if (!O.Output.empty())
    A.File = Path;
  return (*Text)->getBuffer().str();
}

Expected<json::Object> PTXSearch::withIsolated(const PTXText &P,
                                               const BitVector &Set) {
  std::string Text = P.isolate(Set);
  std::string Path =
      pathIn(Scratch.path(), toHexString(digest128(Text)) + ".ptx");
  if (Error E = writeFileAtomically(Path, Text))
    return std::move(E);
  json::Object Config = Out.BadConfig;
  Config["ptx"] = Path;
  return std::move(Config);
}

Expected<std::vector<Answer>> PTXSearch::ask(const PTXText &P,
                                             ArrayRef<BitVector> Sets) {
  std::vector<json::Object> Configs;
  for (const BitVector &Set : Sets) {
    Expected<json::Object> Config = withIsolated(P, Set);
    if (!Config)
      return Config.takeError();
    Configs.push_back(std::move(*Config));
  }
  return Q.ask(Configs);
}

/// Returns the instructions of a minimal set of blocks to isolate.
Expected<BitVector> PTXSearch::minimizeBlocks(const PTXText &P,
                                              const BitVector &All) {
  std::vector<BitVector> Blocks;
  std::pair<unsigned, unsigned> Last(~0u, ~0u);
  for (unsigned I : All.set_bits()) {
    const PTXStatement &S = P.statements()[I];
    if (std::exchange(Last, std::pair(S.Function, S.Block)) !=
        std::pair(S.Function, S.Block))
      Blocks.emplace_back(All.size());
    Blocks.back().set(I);
  }
  auto Unite = [&](const BitVector &Set) {
    BitVector Instructions(All.size());
    for (unsigned I : Set.set_bits())
      Instructions |= Blocks[I];
    return Instructions;
  };
  Expected<BitVector> Least =
      minimize(BitVector(Blocks.size(), true), BitVector(Blocks.size()),
               Answer::Good, J.width(), [&](ArrayRef<BitVector> Sets) {
                 std::vector<BitVector> United;
                 for (const BitVector &Set : Sets)
                   United.push_back(Unite(Set));
                 return ask(P, United);
               });
  if (!Least)
    return Least.takeError();
  Q.say(formatv("PTX: {0} of {1} blocks", Least->count(), Blocks.size()));
  return Unite(*Least);
}

Error PTXSearch::findInstructions(const PTXText &P) {
  size_t Size = P.statements().size();
  BitVector All(Size), None(Size);
  for (size_t I = 0; I != Size; ++I) {
    A.NumInstructions += P.statements()[I].What == PTXStatement::Instruction;
    if (P.canIsolate(I))
      All.set(I);
  }
  for (const PTXFunction &F : P.functions())
    A.NumBlocks += F.NumBlocks;
  if (!J.what().isVerify()) {
    A.Reason = "instructions are not searched for " + J.what().Metric +
               ", as isolating them takes registers and code";
    return Error::success();
  }
  Expected<std::vector<Answer>> Ends = ask(P, {None, All});
  if (!Ends)
    return Ends.takeError();
  if (Ends->front() != Answer::Bad) {
    A.Reason = "it is not bad if its own PTX is read from a file";
    return Error::success();
  }
  if (Ends->back() != Answer::Good) {
    A.Reason = "it is bad even if ptxas cannot combine any instructions: what "
               "remains are control flow, scheduling and register allocation";
    return Error::success();
  }
  Expected<BitVector> Blocks = minimizeBlocks(P, All);
  if (!Blocks)
    return Blocks.takeError();
  Expected<BitVector> Least =
      minimize(*Blocks, None, Answer::Good, J.width(),
               [&](ArrayRef<BitVector> Sets) { return ask(P, Sets); });
  if (!Least)
    return Least.takeError();
  for (unsigned I : Least->set_bits()) {
    const PTXStatement &S = P.statements()[I];
    std::string Text =
        join(map_range(split(P.textOf(S), '\t'),
                       [](StringRef Word) { return Word.trim(); }),
             " ");
    Q.say(formatv("PTX line {0}: {1}", S.Line, Text));
    A.Instructions.push_back(
        {P.functions()[S.Function].Name, S.Block, S.Line, std::move(Text)});
  }
  if (!Q.complete())
    A.Reason =
        (Q.stopReason() + ": not all of these need be responsible").str();
  if (O.Output.empty())
    return Error::success();
  A.IsolatedFile = pathIn(Folder, "isolated.ptx");
  return writeFileAtomically(A.IsolatedFile, P.isolate(*Least));
}

Expected<std::optional<PTXAnswer>> PTXSearch::run() {
  if (Error E = PrivateFolder::createTemporary().moveInto(Scratch))
    return std::move(E);
  Folder = O.Output.empty() ? Scratch.path() : O.Output;
  if (Error E = makeGoodConfig(Plan, Out).moveInto(A.GoodConfig))
    return std::move(E);
  Q.say("searching the PTX");
  Expected<Judge::Sides> Begin = J.begin(A.GoodConfig, Out.BadConfig);
  if (!Begin)
    return Begin.takeError();
  // The back end's fault may be the code generator's, not ptxas's.
  if (*Begin != Judge::Sides::Ready)
    return std::nullopt;
  if (Error E = findOptions())
    return std::move(E);
  Expected<std::string> Text = emit();
  if (!Text) {
    A.Reason = "the PTX cannot be searched: " + toString(Text.takeError());
    return std::move(A);
  }
  Expected<PTXText> P = PTXText::parse(std::move(*Text));
  if (!P)
    A.Reason = "the PTX cannot be searched: " + toString(P.takeError());
  else if (Error E = findInstructions(*P))
    return std::move(E);
  consumeError(removeTree(Scratch.path()));
  return std::move(A);
}

Expected<std::optional<PTXAnswer>>
mneme::searchPTX(const ReplayPlan &Plan, const ReplayBisectOptions &O,
                 Evaluator &E, const BisectOutcome &Out) {
  return PTXSearch(Plan, O, E, Out).run();
}

//===----------------------------------------------------------------------===//
// Reduction
//===----------------------------------------------------------------------===//

namespace {
class PTXReducer {
public:
  PTXReducer(const ReplayPlan &Plan, const ReplayBisectOptions &O,
             const BisectOutcome &Out, PTXAnswer &A, const PTXText &P)
      : Plan(Plan), O(O), Out(Out), A(A), P(P),
        Kept(P.statements().size(), true) {}

  Error run();

private:
  const ReplayPlan &Plan;
  const ReplayBisectOptions &O;
  const BisectOutcome &Out;
  PTXAnswer &A;
  const PTXText &P;
  BitVector Kept;
  std::string Candidate;
  const std::chrono::steady_clock::time_point Begin =
      std::chrono::steady_clock::now();
  double TestLimit = 0; ///< Seconds; 0: none.

  Expected<bool> isInteresting(const BitVector &Set);
  Error reduceBy(function_ref<unsigned(const PTXStatement &)> GetGroup);
};
} // namespace

/// Returns true if the two sides still differ on the statements of \p Set.
Expected<bool> PTXReducer::isInteresting(const BitVector &Set) {
  if (A.ReduceTests == MaxReduceTests || secondsSince(Begin) > MaxReduceSeconds)
    return false;
  ++A.ReduceTests;
  if (Error E = writeFileAtomically(Candidate, P.keep(Set)))
    return std::move(E);
  std::vector<std::string> Words = makeWords(O, Plan.options());
  const std::pair<StringRef, const json::Object *> Sides[] = {
      {"--good=", &A.GoodConfig}, {"--bad=", &Out.BadConfig}};
  for (auto [Option, Side] : Sides) {
    json::Object Config = *Side;
    Config["ptx"] = Candidate;
    Words.push_back((Option + quoteCommand(makeOptions(Config))).str());
  }
  const Criterion &What = O.Bisect.Judge.What;
  Words.push_back("--cross-checks=none");
  if (!What.isVerify()) {
    Words.push_back("--criterion=" + What.Metric);
    Words.push_back(formatv("--threshold={0}", What.Threshold).str());
  }
  Expected<std::optional<int>> Code = runTool(O, "compare", Words, TestLimit);
  if (!Code && Code.errorIsA<ToolTimeout>()) {
    consumeError(Code.takeError());
    return false;
  }
  if (!Code)
    return Code.takeError();
  return *Code == 2;
}

/// Minimizes the kept statements. Adjacent statements with the same \p GetGroup
/// are removed together.
Error PTXReducer::reduceBy(
    function_ref<unsigned(const PTXStatement &)> GetGroup) {
  std::vector<BitVector> Groups;
  std::optional<unsigned> Last;
  BitVector Fixed(Kept.size());
  for (auto [I, S] : enumerate(P.statements())) {
    if (!Kept.test(I))
      continue;
    if (!P.canRemove(I)) {
      Fixed.set(I);
      continue;
    }
    unsigned Group = GetGroup(S);
    if (std::exchange(Last, Group) != Group)
      Groups.emplace_back(Kept.size());
    Groups.back().set(I);
  }
  auto Unite = [&](const BitVector &Set) {
    BitVector Statements = Fixed;
    for (unsigned I : Set.set_bits())
      Statements |= Groups[I];
    return Statements;
  };
  Expected<BitVector> Least = minimizeSet(
      Groups.size(),
      [&](ArrayRef<BitVector> Sets) -> Expected<std::optional<size_t>> {
        for (auto [I, Set] : enumerate(Sets)) {
          Expected<bool> Is = isInteresting(Unite(Set));
          if (!Is)
            return Is.takeError();
          if (*Is)
            return I;
        }
        return std::nullopt;
      });
  if (!Least)
    return Least.takeError();
  Kept = Unite(*Least);
  return Error::success();
}

Error PTXReducer::run() {
  Candidate = pathIn(O.Output, "reduced.ptx");
  Expected<bool> Begins = isInteresting(Kept);
  if (!Begins)
    return Begins.takeError();
  if (!*Begins) {
    consumeError(errorCodeToError(sys::fs::remove(Candidate)));
    return Error::success();
  }
  TestLimit =
      std::max(MinReduceTestSeconds, ReduceTestFactor * secondsSince(Begin));
  if (O.Say)
    O.Say("reducing the PTX");
  unsigned Index = 0;
  if (Error E = reduceBy([](const PTXStatement &S) { return S.Function; }))
    return E;
  if (Error E = reduceBy(
          [](const PTXStatement &S) { return S.Function << 16 | S.Block; }))
    return E;
  if (Error E = reduceBy([&](const PTXStatement &) { return Index++; }))
    return E;
  for (auto [I, S] : enumerate(P.statements()))
    A.ReducedInstructions += S.What == PTXStatement::Instruction &&
                             (Kept.test(I) || !P.canRemove(I));
  A.ReducedFile = Candidate;
  return writeFileAtomically(Candidate, P.keep(Kept));
}

Error mneme::reducePTX(const ReplayPlan &Plan, const ReplayBisectOptions &O,
                       const BisectOutcome &Out, PTXAnswer &A) {
  // A test replays each side once, too few for a random fault.
  if (A.File.empty() || O.Program.empty() || O.Output.empty() || Out.Random)
    return Error::success();
  Expected<std::unique_ptr<MemoryBuffer>> Text = readTextFile(A.File);
  if (!Text)
    return Text.takeError();
  Expected<PTXText> P = PTXText::parse((*Text)->getBuffer().str());
  if (!P)
    return P.takeError();
  return PTXReducer(Plan, O, Out, A, *P).run();
}

//===----------------------------------------------------------------------===//
// The report
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const PTXAnswer &A) {
  json::Array Instructions;
  for (const PTXInstruction &I : A.Instructions)
    Instructions.push_back(json::Object{{"function", I.Function},
                                        {"block", I.Block},
                                        {"line", I.Line},
                                        {"text", json::fixUTF8(I.Text)}});
  return json::Object{{"good_options", json::Array(A.GoodOptions)},
                      {"instructions", std::move(Instructions)},
                      {"all_blocks", A.NumBlocks},
                      {"all_instructions", A.NumInstructions},
                      {"reason", json::fixUTF8(A.Reason)},
                      {"file", json::fixUTF8(A.File)},
                      {"isolated_file", json::fixUTF8(A.IsolatedFile)},
                      {"reduced_file", json::fixUTF8(A.ReducedFile)},
                      {"reduced_instructions", A.ReducedInstructions},
                      {"reduce_tests", A.ReduceTests}};
}

void mneme::printAnswer(raw_ostream &OS, const PTXAnswer &A) {
  auto Name = [&](StringRef Text) -> raw_ostream & {
    return OS << left_justify(Text, 15) << ' ';
  };
  if (!A.GoodOptions.empty())
    Name("good with ptxas") << join(A.GoodOptions, ", or ") << '\n';
  if (!A.Instructions.empty())
    Name("PTX") << formatv("{0} of {1} instructions: good if ptxas cannot "
                           "combine them with others\n",
                           A.Instructions.size(), A.NumInstructions);
  for (const PTXInstruction &I : A.Instructions)
    OS << formatv("  line {0}, {1}, block {2}: {3}\n", I.Line, I.Function,
                  I.Block, I.Text);
  if (!A.Reason.empty())
    Name("PTX") << A.Reason << '\n';
  if (!A.File.empty())
    Name("PTX file") << A.File << '\n';
  if (!A.IsolatedFile.empty())
    Name("isolated") << A.IsolatedFile << '\n';
  if (!A.ReducedFile.empty())
    Name("reduced") << formatv("{0}: {1} of {2} instructions, in {3} tests\n",
                               A.ReducedFile, A.ReducedInstructions,
                               A.NumInstructions, A.ReduceTests);
}
