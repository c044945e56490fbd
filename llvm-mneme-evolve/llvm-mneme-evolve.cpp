//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-evolve: searches over the source of a recorded kernel, and judges
/// versions of it.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Dialect/Import.h"
#include "llvm/Mneme/Evolve/Evolve.h"
#include "llvm/Mneme/Evolve/Operators.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Mneme/Process/ToolMain.h"
#include "llvm/Mneme/Record/Folder.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory Cat("Evolution options");
static cl::OptionCategory TrustCat("Trust options");
static cl::SubCommand EvaluateCommand("evaluate",
                                      "Judge versions of the source");

static cl::list<std::string> Positional(cl::Positional,
                                        cl::desc("<database> <version.cu>..."),
                                        cl::sub(cl::SubCommand::getAll()),
                                        cl::cat(Cat));

//===--- The search. ------------------------------------------------------===//

static cl::opt<std::string> Output("o", cl::desc("Output folder"),
                                   cl::value_desc("folder"), cl::cat(Cat));
static cl::opt<uint64_t>
    Candidates("candidates",
               cl::desc("Limit of candidates (default 200); 0: none"),
               cl::value_desc("n"), cl::init(200), cl::cat(Cat));
static cl::opt<double> Budget("budget",
                              cl::desc("Time limit of the search; 0: none"),
                              cl::value_desc("seconds"), cl::init(0),
                              cl::cat(Cat));
static cl::opt<uint64_t>
    InnerTrials("inner-trials",
                cl::desc("Limit of trials of all inner searches; 0: none"),
                cl::value_desc("n"), cl::init(0), cl::cat(Cat));
static cl::opt<double> Cost("max-cost",
                            cl::desc("Limit of the proposer's cost; 0: none"),
                            cl::value_desc("cost"), cl::init(0), cl::cat(Cat));
static cl::list<unsigned>
    Inner("inner", cl::CommaSeparated,
          cl::desc("Trials of the inner search for a candidate that is nearly "
                   "as fast as its parent, in the best third, and a finalist "
                   "(default 8,32,128); 0: no inner search"),
          cl::value_desc("a,b,c"), cl::cat(Cat));
static cl::list<std::string> InnerOptions(
    "inner-space",
    cl::desc("Option of llvm-mneme-tune that defines the space of the inner "
             "search, besides the knobs of the source; repeatable (default: "
             "--preset=standard)"),
    cl::value_desc("option=space"), cl::cat(Cat));
static cl::opt<uint64_t> Seed("seed", cl::desc("Seed of random numbers"),
                              cl::value_desc("n"), cl::init(0), cl::cat(Cat));
static cl::opt<unsigned> Islands("islands",
                                 cl::desc("Separate populations (default 2)"),
                                 cl::value_desc("n"), cl::init(2),
                                 cl::cat(Cat));
static cl::opt<unsigned>
    Finalists("final-candidates",
              cl::desc("Candidates of the re-test (default 5)"),
              cl::value_desc("n"), cl::init(5), cl::cat(Cat));
static cl::opt<double>
    MinEffect("min-effect",
              cl::desc("Smallest relevant speed-up (default 0.005)"),
              cl::value_desc("fraction"), cl::init(0.005), cl::cat(Cat));
static cl::list<std::string>
    Operators("operators", cl::CommaSeparated,
              cl::desc("Operators over the source (default: all)"),
              cl::value_desc("names"), cl::cat(Cat));
static cl::opt<bool> ListOperators("list-operators",
                                   cl::desc("List operators and exit"),
                                   cl::cat(Cat));
static cl::opt<std::string>
    ProposerText("proposer",
                 cl::desc("Program that proposes versions, instead of the "
                          "operators: external=command"),
                 cl::value_desc("external=command"), cl::cat(Cat));
static EnumOption<OnOff>
    Explain("explain",
            cl::desc("Find the smallest change that is as fast as the winner"),
            cl::init(OnOff::On), makeOnOffValues(), cl::cat(Cat));
static cl::opt<bool> Resume("resume", cl::desc("Continue the search in -o"),
                            cl::cat(Cat));
static cl::opt<bool> Quiet("quiet", cl::desc("Print no progress"),
                           cl::cat(Cat));

//===--- Trust. -----------------------------------------------------------===//

static cl::list<std::string> HeldOut(
    "held-out", cl::CommaSeparated,
    cl::desc("Recorded launches that no candidate is trained on, and that the "
             "winner must verify on (default: a quarter)"),
    cl::value_desc("ids"), cl::sub(cl::SubCommand::getAll()),
    cl::cat(TrustCat));
static cl::opt<unsigned> Perturb(
    "perturb",
    cl::desc("Launches with drawn inputs that the winner must verify on "
             "(default 4)"),
    cl::value_desc("n"), cl::init(4), cl::sub(cl::SubCommand::getAll()),
    cl::cat(TrustCat));
static cl::opt<bool> FixedScalars(
    "fixed-scalars",
    cl::desc("Accept versions that are right only for the recorded values of "
             "scalar arguments: these are not drawn"),
    cl::sub(cl::SubCommand::getAll()), cl::cat(TrustCat));
static cl::opt<unsigned> Schedules(
    "schedules",
    cl::desc("Random orders of threads and blocks, on the host device, that "
             "the winner must verify under (default 32, fewer for launches of "
             "many threads)"),
    cl::value_desc("n"), cl::init(32), cl::sub(cl::SubCommand::getAll()),
    cl::cat(TrustCat));
static cl::opt<uint64_t> JudgeSeed(
    "judge-seed",
    cl::desc("Seed of the drawn inputs and of the schedules (default: random, "
             "so that no author knows them)"),
    cl::value_desc("n"), cl::sub(cl::SubCommand::getAll()), cl::cat(TrustCat));
static cl::opt<bool> AcceptSuspect(
    "accept-suspect",
    cl::desc("Accept candidates with suspicions: clocks, inline assembly, "
             "incredible speed"),
    cl::sub(cl::SubCommand::getAll()), cl::cat(TrustCat));
static cl::opt<bool> Trusted(
    "trusted",
    cl::desc("Require only that candidates verify on the recorded launches"),
    cl::sub(cl::SubCommand::getAll()), cl::cat(TrustCat));
static cl::opt<unsigned> Rounds("rounds",
                                cl::desc("Pairs of a comparison with the "
                                         "recorded code (default 30)"),
                                cl::value_desc("n"), cl::init(30),
                                cl::sub(cl::SubCommand::getAll()),
                                cl::cat(TrustCat));
static EnumOption<JudgeStage>
    Last("until", cl::desc("Last stage"),
         cl::values(clEnumValN(JudgeStage::Verify, "verify",
                               "a launch of the smallest training launch"),
                    clEnumValN(JudgeStage::Measure, "measure",
                               "all training launches"),
                    clEnumValN(JudgeStage::Compare, "compare",
                               "pairs with the recorded code"),
                    clEnumValN(JudgeStage::HeldOut, "held-out",
                               "launches that were held out (default)")),
         cl::init(JudgeStage::HeldOut), cl::sub(EvaluateCommand), cl::cat(Cat));

static cl::opt<bool> Serve(
    "serve",
    cl::desc("Judge versions that another program sends: lines of JSON on "
             "standard input"),
    cl::sub(EvaluateCommand), cl::cat(Cat));

static ReplayFlags &getFlags() {
  static ReplayFlags Flags(/*OfStudy=*/true);
  return Flags;
}

//===----------------------------------------------------------------------===//
// Inputs
//===----------------------------------------------------------------------===//

/// The kernel's file, of a folder with one kernel.
static Expected<std::string> findKernelFile(StringRef Path) {
  if (!sys::fs::is_directory(Path))
    return Path.str();
  Expected<std::vector<std::string>> Files = findKernelFiles(Path);
  if (!Files)
    return Files.takeError();
  if (Files->size() == 1)
    return Files->front();
  return createFileError(
      Path, createStringError(formatv("has {0} kernels: name the JSON file of "
                                      "one",
                                      Files->size())
                                  .str()));
}

/// Reads the version at \p Path; that of a folder is its kernel.cu.
static Expected<std::string> readVersion(std::string Path) {
  if (sys::fs::is_directory(Path))
    Path = pathIn(Path, KernelSourceName);
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Path);
  if (!File)
    return File.takeError();
  return (*File)->getBuffer().str();
}

static Expected<JudgeOptions> readJudgeOptions() {
  if (Positional.size() < 2 || (Positional.size() > 2 && !EvaluateCommand))
    return createStringError("expected a recording and a version of its "
                             "source, such as src/kernel.cu");
  JudgeOptions O;
  if (Error E = findKernelFile(Positional[0]).moveInto(O.Farm.Database))
    return std::move(E);
  Expected<RecordedKernel> K = readKernelFile(O.Farm.Database);
  if (!K)
    return K.takeError();
  O.Instances = K->Instances;
  ReplayOptions &Base = O.Farm.Base;
  if (Error E = getFlags().apply(Base))
    return std::move(E);
  for (StringRef Name : split(Base.Device, ','))
    O.Farm.Devices.push_back(Name.str());
  if (Base.SourceDir.empty() && sys::fs::is_directory(Positional[1]))
    Base.SourceDir = Positional[1];
  if (Base.SourceDir.empty())
    if (Error E = findSourceFolder(Positional[1]).moveInto(Base.SourceDir))
      return std::move(E);
  // Registers and occupancy, also of kernels that the host runs.
  Error NoAssembler =
      checkPTXCompiler(Base.Assembler, Base.CudaPath, Base.Ptxas);
  Base.Resources = !NoAssembler;
  consumeError(std::move(NoAssembler));
  O.Farm.Message = [](StringRef Text) { printWarning(Text); };
  O.HeldOut.assign(HeldOut.begin(), HeldOut.end());
  O.Perturbed = Perturb;
  O.FixedScalars = FixedScalars;
  O.Schedules = Schedules;
  O.Rounds = Rounds;
  if (JudgeSeed.getNumOccurrences())
    O.Seed = JudgeSeed;
  O.AcceptSuspect = AcceptSuspect;
  O.Untrusted = !Trusted;
  return std::move(O);
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

/// Judges versions. Invalid knobs are a judgement, too, of one version.
static Expected<std::vector<Judgement>>
judgeTexts(Judge &J, ArrayRef<std::string> Versions) {
  std::vector<Judgement> All(Versions.size());
  std::vector<CandidateConfig> Configs;
  std::vector<size_t> Valid;
  for (auto [I, Version] : enumerate(Versions)) {
    Expected<CandidateConfig> Config = bindKnobs(Version, J.farm());
    if (Config) {
      Configs.push_back(std::move(*Config));
      Valid.push_back(I);
      continue;
    }
    All[I].Failure = FailureKind::Invalid;
    All[I].Error = toString(Config.takeError());
  }
  Expected<std::vector<Judgement>> Results = J.judge(Configs, Last);
  if (!Results)
    return Results.takeError();
  for (auto [I, R] : zip_equal(Valid, *Results))
    All[I] = std::move(R);
  return All;
}

/// Judges the version in a line {"text": ...}.
static Expected<json::Value> answer(Judge &J, StringRef Line) {
  auto Refuse = [](const Twine &Why) {
    return json::Value(json::Object{{"error", json::fixUTF8(Why.str())}});
  };
  Expected<json::Value> V = parseJSON(Line);
  if (!V)
    return Refuse(toString(V.takeError()));
  std::optional<StringRef> Text;
  if (const json::Object *O = V->getAsObject())
    Text = O->getString("text");
  if (!Text)
    return Refuse("expected a line {\"text\": ...}");
  Expected<std::vector<Judgement>> R = judgeTexts(J, Text->str());
  if (!R)
    return R.takeError();
  return toJSON(R->front());
}

/// Answers lines {"text": ...} until the end of the input. A line that is none
/// is answered by {"error": ...}.
static Expected<int> serve(Judge &J, const Pipe &Streams) {
  constexpr size_t MaxLine = 4 << 20;
  LineReader Lines(Streams.Read.get(), MaxLine);
  raw_fd_ostream OS(Streams.Write.get(), /*shouldClose=*/false);
  OS << json::Value(json::Object{{"mneme_judge", 1},
                                 {"trust", J.describe(/*IsOver=*/false)}})
     << '\n';
  OS.flush();
  while (true) {
    Expected<std::string> Line = Lines.next(Deadline());
    if (!Line) {
      bool IsOver = false;
      Error Other =
          handleErrors(Line.takeError(), [&](std::unique_ptr<StreamError> E) {
            IsOver = E->kind() == StreamError::Closed;
            return IsOver ? Error::success() : Error(std::move(E));
          });
      if (Other)
        return std::move(Other);
      return 0;
    }
    Expected<json::Value> Answer = answer(J, *Line);
    if (!Answer)
      return Answer.takeError();
    OS << *Answer << '\n';
    OS.flush();
  }
}

static Expected<int> runEvaluate(ToolArgs) {
  Expected<JudgeOptions> O = readJudgeOptions();
  if (!O)
    return O.takeError();
  if (Serve) {
    // What kernels print is no answer.
    Expected<Pipe> Streams = takeStandardStreams();
    if (!Streams)
      return Streams.takeError();
    Expected<std::unique_ptr<Judge>> J = Judge::create(std::move(*O));
    if (!J)
      return J.takeError();
    return serve(**J, *Streams);
  }
  std::vector<std::string> Versions;
  for (const std::string &Path : drop_begin(Positional))
    if (Error E = readVersion(Path).moveInto(Versions.emplace_back()))
      return std::move(E);
  Expected<std::unique_ptr<Judge>> J = Judge::create(std::move(*O));
  if (!J)
    return J.takeError();
  Expected<std::vector<Judgement>> Results = judgeTexts(**J, Versions);
  if (!Results)
    return Results.takeError();
  bool AllPassed = true;
  json::Array List;
  for (auto [Path, R] : zip(drop_begin(Positional), *Results)) {
    AllPassed &= R.Failure.empty();
    json::Object Report = std::move(*toJSON(R).getAsObject());
    Report["file"] = json::fixUTF8(Path);
    List.push_back(std::move(Report));
  }
  jsonOuts() << formatv(
      "{0:2}\n", json::Value(json::Object{{"trust", (*J)->describe()},
                                          {"versions", std::move(List)}}));
  return AllPassed ? 0 : 2;
}

static Error readSpace(EvolveOptions &O) {
  for (StringRef Text : InnerOptions) {
    auto [Name, Space] = Text.split('=');
    if (Space.empty())
      return createStringError("--inner-space: expected option=space, got '" +
                               Text + "'");
    O.Space.Options.push_back({Name.str(), Space.str()});
  }
  if (InnerOptions.empty()) {
    // A build without MLIR has no presets.
    if (getPresets().empty())
      O.Space.Options = {{"specialize", "both"}, {"specialize-dims", "both"}};
    else if (Error E = getPreset("standard").moveInto(O.Space.Base))
      return E;
  }
  if (!Inner.getNumOccurrences())
    return Error::success();
  if (Inner.size() != 3 && !(Inner.size() == 1 && Inner[0] == 0))
    return createStringError("--inner: expected three numbers or 0");
  for (unsigned I = 0; I != 3; ++I)
    O.Inner[I] = Inner.size() == 1 ? 0 : Inner[I];
  return Error::success();
}

static Error readOperators(EvolveOptions &O) {
  for (const std::string &Name : Operators) {
    if (none_of(getOperators(),
                [&](const OperatorInfo &I) { return I.Name == Name; }))
      return createStringError("--operators: no operator '" + Name +
                               "' (see --list-operators)");
    O.Operators.push_back(Name);
  }
  return Error::success();
}

static int listOperators() {
  for (const OperatorInfo &I : getOperators())
    textOuts() << left_justify(I.Name, 10)
               << left_justify(getEffectName(I.Effect), 10) << I.Help << '\n';
  return 0;
}

static Expected<int> runEvolve(ToolArgs) {
  if (ListOperators)
    return listOperators();
  EvolveOptions O;
  if (Output.empty())
    return createStringError("give an output folder with -o");
  Expected<JudgeOptions> Judging = readJudgeOptions();
  if (!Judging)
    return Judging.takeError();
  if (Rounds < MinIntervalSamples)
    return createStringError(
        formatv("impossible --rounds={0}: a confidence interval needs {1}",
                Rounds.getValue(), MinIntervalSamples)
            .str());
  if (Error E = readVersion(Positional[1]).moveInto(O.Start))
    return std::move(E);
  O.Judge = std::move(*Judging);
  O.Output = Output;
  O.Candidates = Candidates;
  O.Seconds = Budget;
  O.InnerTrials = InnerTrials;
  O.Cost = Cost;
  O.Seed = Seed;
  if (!Islands)
    return createStringError("--islands: expected at least 1");
  O.Islands = Islands;
  O.FinalCandidates = Finalists;
  O.MinEffect = MinEffect;
  O.Explain = Explain == OnOff::On;
  O.Resume = Resume;
  if (Error E = readSpace(O))
    return std::move(E);
  if (Error E = readOperators(O))
    return std::move(E);
  if (StringRef Text = ProposerText; !Text.empty()) {
    if (!Text.consume_front("external=") || Text.empty())
      return createStringError("--proposer: expected external=command, got '" +
                               ProposerText + "'");
    O.Proposer = Text.str();
  }
  if (!Quiet)
    O.Note = [](StringRef Text) { errs() << printableLines(Text) << '\n'; };
  // The first interrupt ends the search, the second the re-test.
  O.Interrupts = &countInterrupts();
  Expected<EvolveOutcome> R = evolve(std::move(O));
  if (!R)
    return R.takeError();
  textOuts() << formatv("{0} candidates, {1} verified, {2} distinct; {3} inner "
                        "trials; {4:f1} s\n",
                        R->Candidates, R->Verified, R->Distinct, R->InnerTrials,
                        R->Seconds);
  for (const auto &[Number, Why] : R->Rejected)
    textOuts() << formatv("candidate {0} was rejected: ", Number)
               << printable(Why) << '\n';
  if (!R->Winner) {
    textOuts() << "no candidate is significantly faster than the recorded "
                  "code, so there is no winner to pack: go on with --resume "
                  "and more --candidates, or another --proposer\n";
    return 0;
  }
  textOuts() << formatv("candidate {0} is {1:f2} times as fast as the recorded "
                        "code (95 % CI {2:f2} to {3:f2}): {4}\n",
                        *R->Winner, R->Speedup.Value, R->Speedup.Low,
                        R->Speedup.High, pathIn(Output, "winner.cu"));
  if (R->UnseenSpeedup)
    textOuts() << formatv("on inputs that it was not tuned for: at least "
                          "{0:f2} times as fast\n",
                          R->UnseenSpeedup->Value);
  if (!R->Untimed.empty())
    textOuts() << "not timed on other inputs: " << printable(R->Untimed)
               << '\n';
  if (const std::optional<SmallestChange> &S = R->Smallest)
    textOuts() << formatv(
        "{0} of {1} changed places and {2} settings are {3:f2} "
        "times as fast: {4}\n",
        S->KeptHunks, S->Hunks, S->Config.size(), S->Speedup.Value,
        pathIn(Output, "smallest.cu"));
  return 0;
}

static constexpr CommandHelp Help[] = {
    {"",
     "llvm-mneme-evolve rec src/kernel.cu -o evolved --candidates=100\n"
     "llvm-mneme-evolve rec src/kernel.cu -o evolved --resume\n"
     "llvm-mneme-evolve rec src/kernel.cu -o evolved "
     "--proposer='external=./propose.py'\n",
     "0    the search finished, with or without a winner\n1    error\n"},
    {"evaluate",
     "llvm-mneme-evolve evaluate rec src/versions/tiled.cu\n"
     "llvm-mneme-evolve evaluate rec src/versions/*.cu --until=measure\n",
     "0    all versions passed\n1    error\n2    a version failed\n"},
};

int main(int argc, char **argv) {
  getFlags();
  const Tool::Command Commands[] = {{&EvaluateCommand, runEvaluate}};
  Tool T = {"llvm-mneme-evolve",
            "Mneme: search over the source of a recorded kernel, its "
            "compilation and its launch\n",
            Help};
  T.Categories = getCategories();
  T.Categories.insert(T.Categories.end(), {&Cat, &TrustCat});
  T.CommandCategories = T.Categories;
  T.Commands = Commands;
  T.Run = runEvolve;
  return runTool(argc, argv, T);
}
