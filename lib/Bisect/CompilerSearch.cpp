//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/CompilerSearch.h"
#include "BisectFarm.h"
#include "LLVMCheckout.h"
#include "Questions.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Replay/Metrics.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <glob.h>
#include <set>

using namespace llvm;
using namespace llvm::mneme;

/// Number of new searches if the final check refutes the answer.
static constexpr unsigned MaxRetries = 3;

StringRef mneme::getCompilerKindName(CompilerKind K) {
  return K == CompilerKind::LLVM ? "llvm" : "ptxas";
}

const CompilerTest *CompilerReport::find(StringRef Name) const {
  auto It = find_if(Tests, [&](const auto &T) { return T.Name == Name; });
  return It == Tests.end() ? nullptr : &*It;
}

//===----------------------------------------------------------------------===//
// Installed builds
//===----------------------------------------------------------------------===//

/// Returns the compiler of \p Kind at \p Path.
static Expected<CompilerTest> openBuild(StringRef Path, CompilerKind Kind) {
  Expected<json::Object> Tools = parseTool(Path);
  if (!Tools)
    return Tools.takeError();
  CompilerTest T;
  T.Name = Path.str();
  for (const auto &KV : *Tools)
    if ((KV.first == "ptxas") == (Kind == CompilerKind::Ptxas))
      T.Config[KV.first] = KV.second;
  if (T.Config.empty())
    return createStringError(
        formatv("'{0}' is neither {1} nor a folder with one", Path,
                Kind == CompilerKind::LLVM ? "opt, clang or llc" : "ptxas")
            .str());
  Expected<ToolInfo> Tool =
      identifyTool(*T.Config.begin()->second.getAsString());
  if (!Tool)
    return Tool.takeError();
  T.Version = Tool->Version;
  return std::move(T);
}

/// Returns the real paths of a build's tools: two names of one build have the
/// same.
static std::string getIdentity(const CompilerTest &T) {
  std::string Text;
  for (const auto &KV : json::Object(T.Config)) {
    SmallString<128> Real;
    StringRef Path = *KV.second.getAsString();
    Text += sys::fs::real_path(Path, Real) ? Path.str() : Real.str().str();
    Text += '\n';
  }
  return Text;
}

/// Orders by version ("18.1.3" before "18.1.10"), then by name.
static bool isOlder(const CompilerTest &A, const CompilerTest &B) {
  int Order = StringRef(A.Version).compare_numeric(B.Version);
  return Order ? Order < 0 : StringRef(A.Name).compare_numeric(B.Name) < 0;
}

static std::vector<std::string> listFolder(StringRef Folder) {
  std::vector<std::string> Paths;
  std::error_code EC;
  for (sys::fs::directory_iterator I(Folder, EC), E; I != E && !EC;
       I.increment(EC))
    Paths.push_back(I->path());
  return Paths;
}

/// Returns "ptxas" for "ptxas-12.4". A file with another stem is not run to
/// identify it.
static StringRef getStem(StringRef Path) {
  return sys::path::filename(Path).take_while(isAlpha);
}

/// Returns true if a tool is a link to a program of another name, such as
/// /usr/lib/ccache/clang: that is no other build.
static bool isWrapper(const CompilerTest &T) {
  for (const auto &KV : json::Object(T.Config)) {
    SmallString<128> Real;
    StringRef Path = *KV.second.getAsString();
    if (!sys::fs::real_path(Path, Real) && getStem(Real) != getStem(Path))
      return true;
  }
  return false;
}

/// Returns the entries of the same folder that may also be builds.
static std::vector<std::string> listSiblings(StringRef Path) {
  StringRef Parent = sys::path::parent_path(Path);
  bool IsFolder = sys::fs::is_directory(Path);
  std::vector<std::string> Paths;
  for (std::string &Other : listFolder(Parent.empty() ? "." : Parent))
    if (sys::fs::is_directory(Other) == IsFolder &&
        (IsFolder || getStem(Other) == getStem(Path)))
      Paths.push_back(std::move(Other));
  return Paths;
}

static std::vector<std::string> expandGlob(const std::string &Pattern) {
  glob_t Found;
  std::vector<std::string> Paths;
  if (::glob(Pattern.c_str(), GLOB_BRACE | GLOB_TILDE, nullptr, &Found) == 0)
    Paths.assign(Found.gl_pathv, Found.gl_pathv + Found.gl_pathc);
  ::globfree(&Found);
  return Paths;
}

/// Returns the builds that match \p Pattern, and those in matching folders.
static Expected<std::vector<CompilerTest>>
findBuilds(const std::string &Pattern, CompilerKind Kind) {
  std::vector<CompilerTest> Builds;
  auto Add = [&](StringRef Path) {
    Expected<CompilerTest> T = openBuild(Path, Kind);
    if (T)
      Builds.push_back(std::move(*T));
    else
      consumeError(T.takeError());
    return !Builds.empty() && Builds.back().Name == Path;
  };
  for (const std::string &Path : expandGlob(Pattern))
    if (!Add(Path) && sys::fs::is_directory(Path))
      for (const std::string &Below : listFolder(Path))
        Add(Below);
  if (Builds.empty())
    return createStringError("--over-list: no " + getCompilerKindName(Kind) +
                             " in '" + Pattern + "'");
  return std::move(Builds);
}

/// Prefers a file of the working directory to a program in PATH.
static std::string normalizePath(StringRef Path) {
  StringRef Trimmed = Path.rtrim('/');
  if (!Path.contains('/') && sys::fs::exists(Path))
    return "./" + Path.str();
  return (Trimmed.empty() ? Path : Trimmed).str();
}

/// Returns the builds from the good to the bad one, in the order of versions.
static Expected<std::vector<CompilerTest>>
listBuilds(const CompilerSearchOptions &S) {
  std::vector<CompilerTest> All;
  std::string Good = normalizePath(S.Good), Bad = normalizePath(S.Bad);
  for (auto [Option, End] :
       {std::pair("--good: ", StringRef(Good)), {"--bad: ", StringRef(Bad)}}) {
    Expected<CompilerTest> T = openBuild(End, S.Kind);
    if (!T)
      return createStringError(Option + toString(T.takeError()));
    All.push_back(std::move(*T));
  }
  for (const std::string &Pattern : S.Builds) {
    Expected<std::vector<CompilerTest>> Some = findBuilds(Pattern, S.Kind);
    if (!Some)
      return Some.takeError();
    append_range(All, std::move(*Some));
  }
  if (S.Builds.empty())
    for (StringRef End : {Good, Bad})
      for (const std::string &Path : listSiblings(End)) {
        Expected<CompilerTest> T = openBuild(Path, S.Kind);
        if (!T)
          consumeError(T.takeError());
        else if (!isWrapper(*T))
          All.push_back(std::move(*T));
      }
  std::set<std::string> Seen;
  erase_if(All, [&](const CompilerTest &T) {
    return !Seen.insert(getIdentity(T)).second;
  });
  if (All.size() < 2 || All[1].Name != Bad)
    return createStringError("--good and --bad are the same compiler");
  llvm::sort(All, isOlder);
  auto Find = [&](StringRef Name) {
    return find_if(All, [&](const auto &T) { return T.Name == Name; });
  };
  // The newer compiler may be the good one.
  if (Find(Bad) < Find(Good))
    std::reverse(All.begin(), All.end());
  return std::vector<CompilerTest>(std::make_move_iterator(Find(Good)),
                                   std::make_move_iterator(Find(Bad) + 1));
}

//===----------------------------------------------------------------------===//
// The search
//===----------------------------------------------------------------------===//

namespace {
/// An evaluator that stops waiting when a signal arrives.
class InterruptibleEvaluator : public Evaluator {
public:
  explicit InterruptibleEvaluator(Evaluator &E) : E(E) {}
  unsigned capacity() const override { return E.capacity(); }
  Error submit(EvaluationRequest Request) override {
    return E.submit(std::move(Request));
  }
  Expected<std::vector<Evaluation>> wait(double Seconds) override {
    if (Error Interrupted = SignalWatch::check())
      return std::move(Interrupted);
    return E.wait(Seconds);
  }
  Expected<PairedEvaluation> comparePaired(ArrayRef<EvaluationRequest> Requests,
                                           unsigned Rounds,
                                           function_ref<bool()> Stop) override {
    if (Error Interrupted = SignalWatch::check())
      return std::move(Interrupted);
    return E.comparePaired(Requests, Rounds, Stop);
  }
  std::vector<uint64_t> cancel() override { return E.cancel(); }
  json::Object describe() const override { return E.describe(); }

private:
  Evaluator &E;
};

class CompilerSearch {
public:
  CompilerSearch(const ReplayPlan &Plan, const ReplayBisectOptions &O,
                 const CompilerSearchOptions &S, Evaluator &E)
      : Plan(Plan), O(O), S(S), E(E), J(E, O.Bisect.Judge),
        Q(J, O.Bisect.MaxSteps, O.Say) {}

  Error searchBuilds(std::vector<CompilerTest> Builds);
  Error searchCommits(LLVMCheckout &Checkout);
  CompilerReport finish();

private:
  const ReplayPlan &Plan;
  const ReplayBisectOptions &O;
  const CompilerSearchOptions &S;
  Evaluator &E;
  Judge J;
  Questions Q;
  CompilerReport R;

  std::string findObstacle(const json::Object &Config) const;
  Error begin(CompilerTest &Good, CompilerTest &Bad, bool &IsReady);
  void note(CompilerTest &T, const Judgement &V) const;
  Expected<Boundary> findBuild();
  Expected<bool> holds(ArrayRef<const CompilerTest *> Ends);

  Expected<CompilerTest> buildCommit(LLVMCheckout &Checkout,
                                     const CheckoutCommit &C);
  Expected<CompilerTest> buildEnd(LLVMCheckout &Checkout, StringRef Option,
                                  const CheckoutCommit &C);
  Error bisectCommits(LLVMCheckout &Checkout);
  void tellHowByHand(const LLVMCheckout &Checkout, StringRef Good,
                     StringRef Bad);

  Error addCommand(StringRef Name, StringRef What, const CompilerTest &T,
                   Answer Wanted);
  Error addCommands();
};
} // namespace

/// Returns why the compiler cannot compile the kernel, if it cannot: an older
/// LLVM may not read this LLVM's IR. Such a compiler is neither good nor bad.
std::string CompilerSearch::findObstacle(const json::Object &Config) const {
  ReplayOptions Options = Plan.options();
  if (Error Failed = applyConfig(Config, Options))
    return toString(std::move(Failed));
  if (Error Failed = Plan.vary(std::move(Options)).takeError())
    return toString(std::move(Failed));
  return "";
}

void CompilerSearch::note(CompilerTest &T, const Judgement &V) const {
  T.Result = V.A;
  T.Reason = V.Failure.str();
  if (!V.Error.empty())
    T.Reason += (": " + StringRef(V.Error).split('\n').first).str();
  if (!J.what().isVerify() && V.Value)
    raw_string_ostream(T.Reason)
        << (T.Reason.empty() ? "" : ", ") << J.what().Metric << ' '
        << formatv("{0}", json::Value(*V.Value));
}

/// Judges both ends. \p IsReady is set to whether the search can begin.
Error CompilerSearch::begin(CompilerTest &Good, CompilerTest &Bad,
                            bool &IsReady) {
  for (auto [T, Option] : {std::pair(&Good, "--good"), {&Bad, "--bad"}})
    if (std::string Obstacle = findObstacle(T->Config); !Obstacle.empty())
      return createStringError(Option + (": " + Obstacle));
  Judge::Sides Begin = Judge::Sides::Ready;
  if (Error Lost = J.begin(Good.Config, Bad.Config).moveInto(Begin))
    return Lost;
  R.Good = J.good();
  R.Bad = J.bad();
  note(Good, R.Good);
  note(Bad, R.Bad);
  Q.say("good: " + Good.Name + ": " + describeJudgement(R.Good, J.what()));
  Q.say("bad: " + Bad.Name + ": " + describeJudgement(R.Bad, J.what()));
  if (Begin == Judge::Sides::NotGood)
    return createStringError("the good compiler '" + Good.Name +
                             "' is not good: " + J.text());
  IsReady = Begin == Judge::Sides::Ready;
  if (IsReady)
    return Error::success();
  R.End = CompilerReport::NothingToFind;
  R.Reason =
      ("nothing to bisect: the bad compiler is not bad: " + J.text()).str();
  if (S.Kind == CompilerKind::Ptxas && J.what().isVerify() && isOnHost(E))
    R.Reason += "; the host device does not run ptxas's code: choose a GPU "
                "with --device, or regs, size or spills with --criterion";
  return Error::success();
}

/// Replays both ends of the answer again. False: a result changed, so the fault
/// is random; the judge now takes that into account.
Expected<bool> CompilerSearch::holds(ArrayRef<const CompilerTest *> Ends) {
  unsigned Replays = std::max(J.repeats(), O.Bisect.Judge.GoodReplays);
  for (const CompilerTest *T : Ends) {
    Expected<Judgement> Again = J.askAgain(T->Config, Replays);
    if (!Again)
      return Again.takeError();
    if (Again->A == *T->Result)
      continue;
    if (Error Lost = J.becomeRandom(T->Config))
      return std::move(Lost);
    Q.say("the final check did not confirm the answer: searching again as for "
          "a nondeterministic fault");
    return false;
  }
  return true;
}

//===----------------------------------------------------------------------===//
// Over installed builds
//===----------------------------------------------------------------------===//

Expected<Boundary> CompilerSearch::findBuild() {
  return findBoundary(
      R.Tests.size() - 1, J.width(),
      [&](ArrayRef<size_t> Positions) -> Expected<std::vector<Answer>> {
        std::vector<json::Object> Configs;
        std::vector<size_t> Asked;
        for (size_t I : Positions) {
          CompilerTest &T = R.Tests[I];
          T.Result = Answer::Unresolved;
          T.Reason = findObstacle(T.Config);
          if (!T.Reason.empty()) {
            Q.say(T.Name + ": skipped: " + T.Reason);
            continue;
          }
          Asked.push_back(I);
          Configs.push_back(T.Config);
        }
        if (Error Lost = Q.ask(Configs).takeError())
          return std::move(Lost);
        if (Q.complete())
          for (size_t I : Asked)
            note(R.Tests[I], J.get(R.Tests[I].Config));
        std::vector<Answer> Answers;
        for (size_t I : Positions)
          Answers.push_back(*R.Tests[I].Result);
        return Answers;
      });
}

Error CompilerSearch::searchBuilds(std::vector<CompilerTest> Builds) {
  R.Tests = std::move(Builds);
  bool IsReady = false;
  if (Error Failed = begin(R.Tests.front(), R.Tests.back(), IsReady))
    return Failed;
  for (unsigned Try = 0; IsReady; ++Try) {
    Expected<Boundary> B = findBuild();
    if (!B)
      return B.takeError();
    const CompilerTest &Good = R.Tests[B->LastGood],
                       &Bad = R.Tests[B->FirstBad];
    Expected<bool> Holds = holds({&Good, &Bad});
    if (!Holds)
      return Holds.takeError();
    if (!*Holds && Try == MaxRetries) {
      R.Reason = "the final check did not confirm the answer";
      return Error::success();
    }
    if (!*Holds)
      continue;
    R.LastGood = Good.Name;
    for (size_t I = B->LastGood + 1; I <= B->FirstBad; ++I)
      R.Candidates.push_back(R.Tests[I].Name);
    R.End = R.Candidates.size() == 1 ? CompilerReport::FirstBad
                                     : CompilerReport::Range;
    if (!Q.complete())
      R.Notes.push_back(Q.stopReason().str());
    return addCommands();
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Over commits
//===----------------------------------------------------------------------===//

/// Builds the commit. If the build fails, or its tools cannot compile the
/// kernel, the result has a Reason and no Config.
Expected<CompilerTest> CompilerSearch::buildCommit(LLVMCheckout &Checkout,
                                                   const CheckoutCommit &C) {
  CompilerTest T;
  T.Name = C.Hash;
  T.Subject = C.Subject;
  Expected<std::string> Folder = Checkout.build(C);
  if (!Folder) {
    Error Failed = Folder.takeError();
    if (!Failed.isA<BuildError>())
      return std::move(Failed);
    T.Reason = toString(std::move(Failed));
    return std::move(T);
  }
  Expected<CompilerTest> Built = openBuild(*Folder, CompilerKind::LLVM);
  if (!Built) {
    T.Reason = toString(Built.takeError());
    return std::move(T);
  }
  T.Version = Built->Version;
  T.Reason = findObstacle(Built->Config);
  if (T.Reason.empty())
    T.Config = std::move(Built->Config);
  return std::move(T);
}

Expected<CompilerTest> CompilerSearch::buildEnd(LLVMCheckout &Checkout,
                                                StringRef Option,
                                                const CheckoutCommit &C) {
  if (Error Failed = Checkout.checkOut(C))
    return std::move(Failed);
  Expected<CompilerTest> T = buildCommit(Checkout, C);
  if (T && T->Config.empty())
    return createStringError(Option + "=" + C.shortHash() + ": " + T->Reason);
  return T;
}

/// Lets git choose the commits: it handles merges and skipped commits.
Error CompilerSearch::bisectCommits(LLVMCheckout &Checkout) {
  using Progress = LLVMCheckout::Progress;
  CheckoutCommit Good, Bad; // the ends found so far
  for (auto [End, T] : {std::pair(&Good, &R.Tests[0]), {&Bad, &R.Tests[1]}})
    if (Error Failed = Checkout.resolve(T->Name).moveInto(*End))
      return Failed;
  Progress P = Progress::Next;
  if (Error Failed = Checkout.mark(Bad, Answer::Bad).moveInto(P))
    return Failed;
  if (Error Failed = Checkout.mark(Good, Answer::Good).moveInto(P))
    return Failed;
  std::string GoodEnd = Good.Hash;
  while (P == Progress::Next && Q.complete()) {
    Expected<CheckoutCommit> C = Checkout.resolve("HEAD");
    if (!C)
      return C.takeError();
    Expected<CompilerTest> T = buildCommit(Checkout, *C);
    if (!T)
      return T.takeError();
    Answer A = Answer::Unresolved;
    if (T->Config.empty()) {
      Q.say(C->shortHash() + ": skipped: " + T->Reason);
      T->Result = A;
    } else {
      if (Error Lost = Q.ask(T->Config).moveInto(A))
        return Lost;
      if (!Q.complete())
        break;
      note(*T, J.get(T->Config));
    }
    R.Tests.push_back(std::move(*T));
    if (Error Failed = Checkout.mark(*C, A).moveInto(P))
      return Failed;
    // The first good build is kept: the metrics of later builds are compared
    // with its own.
    CheckoutCommit &Old = A == Answer::Good  ? Good
                          : A == Answer::Bad ? Bad
                                             : *C;
    if (Old.Hash != GoodEnd)
      Checkout.discard(Old);
    Old = *C;
  }
  Expected<std::vector<CheckoutCommit>> Left = Checkout.candidates();
  if (!Left)
    return Left.takeError();
  R.LastGood = Good.Hash;
  for (const CheckoutCommit &C : *Left) {
    R.Candidates.push_back(C.Hash);
    if (!R.find(C.Hash)) {
      CompilerTest Untested;
      Untested.Name = C.Hash;
      Untested.Subject = C.Subject;
      R.Tests.push_back(std::move(Untested));
    }
  }
  R.End =
      P == Progress::Found ? CompilerReport::FirstBad : CompilerReport::Range;
  if (P == Progress::Found)
    R.Candidates = {Bad.Hash};
  if (!Q.complete())
    R.Notes.push_back(Q.stopReason().str());
  Expected<bool> Holds = holds({R.find(Good.Hash), R.find(Bad.Hash)});
  if (!Holds)
    return Holds.takeError();
  if (!*Holds) {
    R.End = CompilerReport::NotFound;
    R.Reason = "the final check did not confirm the answer: the fault is "
               "nondeterministic";
    R.Candidates.clear();
  }
  return Error::success();
}

/// Adds a command that does the same with `git bisect run`.
void CompilerSearch::tellHowByHand(const LLVMCheckout &Checkout, StringRef Good,
                                   StringRef Bad) {
  if (!J.what().isVerify())
    return;
  std::vector<std::string> Words{"llvm-mneme-replay"};
  append_range(Words, O.CommonWords);
  append_range(Words, makeOptions(makeConfig(Plan.options())));
  std::string Tools = pathIn(Checkout.folder(), S.BuiltTools);
  Words.push_back("--opt-tool=" + pathIn(Tools, "opt"));
  Words.push_back("--llc-tool=" + pathIn(Tools, "llc"));
  Words.push_back("--exit-code=bisect");
  std::string Script =
      ("{ " + Checkout.buildCommand() + "; } || exit 125; ").str() +
      quoteCommand(Words);
  BisectCommand C;
  C.Name = "git";
  C.What = "the same with git alone, which replays each commit once";
  C.Text = ("cd " + quoteWord(Checkout.folder()) + " && git bisect start " +
            Bad + " " + Good + " && git bisect run sh -c " + quoteWord(Script))
               .str();
  R.Commands.push_back(std::move(C));
}

Error CompilerSearch::searchCommits(LLVMCheckout &Checkout) {
  R.Checkout = Checkout.folder().str();
  Expected<CheckoutCommit> Good = Checkout.resolve(S.Good);
  if (!Good)
    return Good.takeError();
  Expected<CheckoutCommit> Bad = Checkout.resolve(S.Bad);
  if (!Bad)
    return Bad.takeError();
  if (Good->Hash == Bad->Hash)
    return createStringError("--good and --bad are the same commit");
  if (Error Failed = Checkout.start())
    return Failed;
  for (auto [Option, C] : {std::pair("--good", &*Good), {"--bad", &*Bad}}) {
    Expected<CompilerTest> T = buildEnd(Checkout, Option, *C);
    if (!T)
      return T.takeError();
    R.Tests.push_back(std::move(*T));
  }
  bool IsReady = false;
  if (Error Failed = begin(R.Tests[0], R.Tests[1], IsReady))
    return Failed;
  if (!IsReady)
    return Error::success();
  if (Error Failed = bisectCommits(Checkout))
    return Failed;
  tellHowByHand(Checkout, Good->Hash, Bad->Hash);
  return Checkout.keepsCopies() ? addCommands() : Error::success();
}

//===----------------------------------------------------------------------===//
// Commands
//===----------------------------------------------------------------------===//

Error CompilerSearch::addCommand(StringRef Name, StringRef What,
                                 const CompilerTest &T, Answer Wanted) {
  ReplayOptions Options = Plan.options();
  if (Error Failed = applySide(T.Config, Options))
    return Failed;
  std::vector<std::string> Words = O.CommonWords;
  append_range(Words, makeOptions(makeSideConfig(Options)));
  BisectCommand C;
  C.Name = Name.str();
  C.What = What.str();
  C.Expected = Wanted;
  C.Text = "llvm-mneme-replay " + quoteCommand(Words);
  std::vector<StringRef> Args{O.Program};
  append_range(Args, Words);
  Args.push_back("--format=json");
  std::string Output;
  unsigned Runs = J.isRandom() && Wanted == Answer::Bad ? 3 * J.repeats() : 1;
  while (C.Runs != Runs && C.ExitCode.value_or(0) == 0) {
    ++C.Runs;
    Expected<std::optional<int>> Code = askProgram(Args, Output);
    if (!Code)
      return Code.takeError();
    C.ExitCode = *Code;
  }
  Expected<json::Value> Report = json::parse(Output);
  if (!Report)
    consumeError(Report.takeError()); // the exit code is enough
  else if (const json::Object *Whole = Report->getAsObject())
    if (const json::Object *Result = Whole->getObject("Result"))
      if (!J.what().isVerify())
        if (std::optional<double> V = Result->getNumber(J.what().Metric))
          C.Value = *V;
  R.Commands.push_back(std::move(C));
  return Error::success();
}

Error CompilerSearch::addCommands() {
  if (R.Candidates.empty() || O.Program.empty())
    return Error::success();
  const CompilerTest *Good = R.find(R.LastGood);
  // If commits were skipped, a candidate need not be bad.
  auto Bad = find_if(R.Tests, [&](const CompilerTest &T) {
    return T.Result == Answer::Bad && is_contained(R.Candidates, T.Name);
  });
  if (Bad == R.Tests.end())
    return Error::success();
  if (Error Failed = addCommand("bad", "bad: " + Bad->Name, *Bad, Answer::Bad))
    return Failed;
  return addCommand("good", "good: " + Good->Name, *Good, Answer::Good);
}

//===----------------------------------------------------------------------===//
// Main
//===----------------------------------------------------------------------===//

CompilerReport CompilerSearch::finish() {
  R.Kind = S.Kind;
  R.What = J.what();
  R.Kernel = Plan.kernel().displayName();
  R.StaticHash = Plan.kernel().StaticHash;
  R.RecordId = Plan.instance().DynamicHash;
  R.Device = describeDevice(E, J.what());
  R.Random = J.isRandom();
  R.Rate = J.rate();
  R.Repeats = J.repeats();
  R.Counts = J.counts();
  return std::move(R);
}

static Expected<std::unique_ptr<LLVMCheckout>>
openCheckout(const ReplayPlan &Plan, const ReplayBisectOptions &O,
             const CompilerSearchOptions &S) {
  LLVMCheckoutOptions C;
  C.Folder = S.Checkout;
  C.BuildCommand = S.BuildCommand;
  // Only clang knows clang's pipelines.
  if (C.BuildCommand.empty())
    C.BuildCommand = "ninja -C build opt llc";
  if (S.BuildCommand.empty() &&
      StringRef(Plan.compiler().pipeline()).starts_with("clang<"))
    C.BuildCommand += " clang";
  C.BuiltTools = S.BuiltTools;
  SmallString<128> Copies(O.Output);
  if (!Copies.empty())
    if (std::error_code EC = sys::fs::make_absolute(Copies))
      return createFileError(O.Output, EC);
  C.Copies = Copies.str().str();
  C.Say = O.Say;
  return LLVMCheckout::open(std::move(C));
}

Expected<CompilerReport>
mneme::searchCompilers(const ReplayPlan &Plan, const ReplayBisectOptions &O,
                       const CompilerSearchOptions &S) {
  auto Begin = std::chrono::steady_clock::now();
  auto Run = [&]() -> Expected<CompilerReport> {
    std::vector<CompilerTest> Builds;
    std::unique_ptr<LLVMCheckout> Checkout;
    if (!S.Checkout.empty()) {
      if (Error Failed = openCheckout(Plan, O, S).moveInto(Checkout))
        return std::move(Failed);
    } else if (Error Failed = listBuilds(S).moveInto(Builds)) {
      return std::move(Failed);
    }
    Expected<std::unique_ptr<ReplayFarm>> Farm = startFarm(Plan, O);
    if (!Farm)
      return Farm.takeError();
    InterruptibleEvaluator Interruptible(**Farm);
    CompilerSearch Search(Plan, O, S, Interruptible);
    if (Error Failed = Checkout ? Search.searchCommits(*Checkout)
                                : Search.searchBuilds(std::move(Builds)))
      return std::move(Failed);
    return Search.finish();
  };
  if (S.Checkout.empty()) {
    Expected<CompilerReport> R = Run();
    if (R)
      R->Seconds = secondsSince(Begin);
    return R;
  }
  // Outlives the checkout: the checkout is reset before the signal is raised
  // again.
  SignalWatch Watch;
  Expected<CompilerReport> R = Run();
  if (R)
    R->Seconds = secondsSince(Begin);
  return R;
}
