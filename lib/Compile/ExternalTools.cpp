//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/ExternalTools.h"
#include "ToolBisection.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/Compile/OlderIR.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Compile/Programs.h"
#include "llvm/Mneme/IRUtils/CopyModule.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Regex.h"
#include "llvm/Support/raw_ostream.h"
#include <map>
#include <mutex>

using namespace llvm;
using namespace llvm::mneme;

/// Time limit in seconds for a program that prints its version or its help.
static constexpr double AnswerSeconds = 30;

char ToolTimeout::ID;

void ToolTimeout::log(raw_ostream &OS) const {
  OS << formatv("'{0}' did not end within {1} s", Program, Seconds);
}

//===----------------------------------------------------------------------===//
// Kinds of programs
//===----------------------------------------------------------------------===//

namespace {
struct KindInfo {
  ToolKind Kind;
  StringLiteral Name, WithArticle, ConfigKey;
};
} // namespace

static constexpr KindInfo Kinds[] = {
    {ToolKind::Opt, "opt", "an opt", "opt_tool"},
    {ToolKind::Clang, "clang", "a clang", "opt_tool"},
    {ToolKind::Llc, "llc", "an llc", "llc_tool"},
    {ToolKind::Ptxas, "ptxas", "a ptxas", "ptxas"},
};

static const KindInfo &getKindInfo(ToolKind K) {
  return *find_if(Kinds, [&](const KindInfo &I) { return I.Kind == K; });
}

StringRef mneme::getToolKindName(ToolKind K) { return getKindInfo(K).Name; }

StringRef mneme::getToolConfigKey(ToolKind K) {
  return getKindInfo(K).ConfigKey;
}

namespace {
/// Output that identifies a kind of program.
struct Signature {
  StringLiteral Option;  ///< Option that prints the output.
  StringLiteral Pattern; ///< Its first group, if any, matches the version.
  ToolKind Kind;
};
} // namespace

// opt and llc print the same version text.
static constexpr Signature VersionSignatures[] = {
    {"--version", "Ptx optimizing assembler", ToolKind::Ptxas},
    {"--version", "clang version ([0-9][^ \n]*)", ToolKind::Clang},
    {"--version", "LLVM version ([0-9][^ \n]*)", ToolKind::Opt},
};
static constexpr StringLiteral PtxasVersion = ", V([0-9.]+)";
static constexpr Signature HelpSignatures[] = {
    {"--help", "OVERVIEW: llvm system compiler", ToolKind::Llc},
    {"--help", "OVERVIEW: llvm [^\n]*optimizer", ToolKind::Opt},
};

static std::optional<Signature> match(ArrayRef<Signature> Signatures,
                                      StringRef Text,
                                      SmallVectorImpl<StringRef> &Groups) {
  for (const Signature &S : Signatures)
    if (Regex(S.Pattern).match(Text, &Groups))
      return S;
  return std::nullopt;
}

/// Returns an absolute path with symbolic links kept.
static Expected<std::string> findTool(StringRef Program) {
  Expected<std::string> Found = findProgram(Program);
  if (!Found)
    return Found.takeError();
  SmallString<128> Path(*Found);
  if (std::error_code EC = sys::fs::make_absolute(Path))
    return createFileError(Program, EC);
  sys::fs::file_status Status;
  if (std::error_code EC = sys::fs::status(Path, Status))
    return createFileError(Program, EC);
  if (!sys::fs::is_regular_file(Status) || !sys::fs::can_execute(Path))
    return createStringError("'" + Program + "' is not an executable file");
  return std::string(Path);
}

static Expected<std::string> ask(StringRef Path, StringRef Option) {
  std::string Log;
  StringRef Args[] = {Path, Option};
  if (Error E = runProgram(Args, Log, AnswerSeconds))
    return std::move(E);
  return std::move(Log);
}

static Expected<ToolInfo> askForInfo(StringRef Path) {
  auto Refuse = [&] {
    return createStringError(
        "'" + Path + "' is neither an opt, a clang, an llc nor a ptxas");
  };
  Expected<std::string> Text = ask(Path, "--version");
  if (!Text)
    return Text.takeError();
  SmallVector<StringRef, 2> Groups;
  std::optional<Signature> Found = match(VersionSignatures, *Text, Groups);
  if (!Found)
    return Refuse();
  ToolInfo Info;
  Info.Path = Path.str();
  Info.Kind = Found->Kind;
  if (Info.Kind == ToolKind::Ptxas)
    Regex(PtxasVersion).match(*Text, &Groups);
  Info.Version = Groups.size() > 1 ? Groups[1].str() : "unknown";
  StringRef(Info.Version).split('.').first.getAsInteger(10, Info.Major);
  if (Info.Kind != ToolKind::Opt)
    return std::move(Info);
  Expected<std::string> Help = ask(Path, "--help");
  if (!Help)
    return Help.takeError();
  Found = match(HelpSignatures, *Help, Groups);
  if (!Found)
    return Refuse();
  Info.Kind = Found->Kind;
  return std::move(Info);
}

/// The first LLVM version whose -opt-bisect accepts intervals.
static constexpr unsigned FirstWithIntervals = 22;

// Programs of unknown version are taken for current ones.
bool mneme::isOfOlderLLVM(const ToolInfo &Tool) {
  return Tool.Major && Tool.Major < LLVM_VERSION_MAJOR;
}

bool mneme::runsOnlyPrefixes(const ToolInfo &Tool) {
  return Tool.Major < FirstWithIntervals;
}

ToolTarget mneme::adaptTarget(const ToolInfo &Tool, ToolTarget Target) {
  if (isOfOlderLLVM(Tool))
    Target.Features = removePTXVersion(Target.Features);
  return Target;
}

namespace {
/// Programs that this process has identified. An entry is valid while the file
/// is unchanged.
class KnownTools {
public:
  struct Entry {
    ToolInfo Info;
    std::string Identity;
  };

  Expected<Entry> get(StringRef Path) {
    sys::fs::file_status S;
    if (std::error_code EC = sys::fs::status(Path, S))
      return createFileError(Path, EC);
    Stamp Now{S.getUniqueID(), S.getSize(),
              S.getLastModificationTime().time_since_epoch().count()};
    std::lock_guard<std::mutex> Lock(M);
    auto It = Known.find(Path.str());
    if (It != Known.end() && It->second.first == Now)
      return It->second.second;
    Expected<ToolInfo> Info = askForInfo(Path);
    if (!Info)
      return Info.takeError();
    Expected<std::unique_ptr<MemoryBuffer>> Bytes = readFile(Path);
    if (!Bytes)
      return Bytes.takeError();
    Entry E{*Info, formatv("{0}\n{1}\n{2}", Path, Info->Version,
                           toHexString(digest128((*Bytes)->getBuffer())))
                       .str()};
    Known.insert_or_assign(Path.str(), std::pair(Now, E));
    return E;
  }

private:
  struct Stamp {
    sys::fs::UniqueID ID;
    uint64_t Size;
    int64_t Modified;
    bool operator==(const Stamp &O) const {
      return ID == O.ID && Size == O.Size && Modified == O.Modified;
    }
  };
  std::mutex M;
  std::map<std::string, std::pair<Stamp, Entry>> Known;
};
} // namespace

static KnownTools &getKnownTools() {
  static KnownTools Tools;
  return Tools;
}

Expected<ToolInfo> mneme::identifyTool(StringRef Program) {
  Expected<std::string> Path = findTool(Program);
  if (!Path)
    return Path.takeError();
  Expected<KnownTools::Entry> Found = getKnownTools().get(*Path);
  if (!Found)
    return Found.takeError();
  return std::move(Found->Info);
}

Expected<ToolInfo> mneme::identifyTool(StringRef Program,
                                       ArrayRef<ToolKind> Kinds,
                                       StringRef Option) {
  Expected<ToolInfo> Tool = identifyTool(Program);
  if (!Tool)
    return createStringError(Option + ": " + toString(Tool.takeError()));
  if (is_contained(Kinds, Tool->Kind))
    return Tool;
  return createStringError(formatv("{0}: '{1}' is {2}, of version {3}", Option,
                                   Program, getKindInfo(Tool->Kind).WithArticle,
                                   Tool->Version)
                               .str());
}

/// Returns the clang next to \p Tool if it has the same version.
static std::optional<ToolInfo> findClangBeside(const ToolInfo &Tool) {
  SmallString<128> Real;
  if (sys::fs::real_path(Tool.Path, Real))
    return std::nullopt;
  for (StringRef Folder :
       {sys::path::parent_path(Real), sys::path::parent_path(Tool.Path)})
    for (const std::string &Name :
         {std::string("clang"), "clang-" + utostr(Tool.Major)}) {
      SmallString<128> Path(Folder);
      sys::path::append(Path, Name);
      if (!sys::fs::can_execute(Path))
        continue;
      Expected<ToolInfo> Clang = identifyTool(Path);
      if (Clang && Clang->Kind == ToolKind::Clang &&
          Clang->Version == Tool.Version)
        return *Clang;
      consumeError(Clang.takeError());
    }
  return std::nullopt;
}

std::string mneme::getToolIdentity(StringRef Program) {
  Expected<std::string> Path = findTool(Program);
  if (!Path) {
    consumeError(Path.takeError());
    return Program.str();
  }
  Expected<KnownTools::Entry> Found = getKnownTools().get(*Path);
  if (!Found) {
    consumeError(Found.takeError());
    return *Path;
  }
  if (Found->Info.Kind == ToolKind::Opt)
    if (std::optional<ToolInfo> Clang = findClangBeside(Found->Info))
      return Found->Identity + '\n' + getToolIdentity(Clang->Path);
  return std::move(Found->Identity);
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

Error mneme::explainVersions(const ToolInfo &Tool, Error E) {
  if (Tool.Major == LLVM_VERSION_MAJOR || E.isA<ToolTimeout>())
    return E;
  return createStringError(toString(std::move(E)) + " ('" + Tool.Path +
                           "' is of LLVM " + Tool.Version +
                           ", the IR of LLVM " LLVM_VERSION_STRING ")");
}

//===----------------------------------------------------------------------===//
// Remarks
//===----------------------------------------------------------------------===//

namespace {
/// Options for the remarks file and filter of a kind of program.
struct RemarkOptions {
  ToolKind Kind;
  StringLiteral File, Filter;
};
} // namespace

static constexpr RemarkOptions RemarkOptionsOfKinds[] = {
    {ToolKind::Opt, "-pass-remarks-output", "-pass-remarks-filter"},
    {ToolKind::Clang, "-opt-record-file", "-opt-record-passes"},
    {ToolKind::Llc, "-pass-remarks-output", "-pass-remarks-filter"},
};

namespace {
/// Remarks of one run of a program.
class ToolRemarks {
public:
  explicit ToolRemarks(raw_ostream *OS) : OS(OS) {}

  /// Does nothing if no remarks are wanted.
  Error request(ToolKind Kind, StringRef Filter,
                std::vector<std::string> &Args);
  Error deliver() const;

private:
  raw_ostream *OS;
  ScratchFile File;
};
} // namespace

Error ToolRemarks::request(ToolKind Kind, StringRef Filter,
                           std::vector<std::string> &Args) {
  if (!OS)
    return Error::success();
  if (Error E = ScratchFile::create("yaml", File))
    return E;
  const RemarkOptions &O = *find_if(
      RemarkOptionsOfKinds, [&](const auto &R) { return R.Kind == Kind; });
  Args.insert(Args.end(), {O.File.str(), File.Path.str().str()});
  if (!Filter.empty())
    Args.insert(Args.end(), {O.Filter.str(), Filter.str()});
  return Error::success();
}

Error ToolRemarks::deliver() const {
  if (!OS)
    return Error::success();
  Expected<SmallVector<char, 0>> Text = File.read();
  if (!Text)
    return Text.takeError();
  *OS << toStringRef(*Text);
  return Error::success();
}

Expected<SmallVector<char, 0>>
mneme::runTool(const ToolInfo &Tool, const ToolTarget &Target,
               std::vector<std::string> Args, const ScratchFile &In,
               const ScratchFile &Out, std::string &Log,
               raw_ostream *RemarksOut) {
  ToolRemarks Remarks(RemarksOut);
  if (Error E = Remarks.request(Tool.Kind, Target.RemarksFilter, Args))
    return std::move(E);
  Args.insert(Args.end(), {"-o", Out.Path.str().str(), In.Path.str().str()});
  if (Error E = runProgram(getRefs(Args), Log, Target.Seconds))
    return explainVersions(Tool, std::move(E));
  if (Error E = Remarks.deliver())
    return std::move(E);
  return Out.read();
}

//===----------------------------------------------------------------------===//
// opt, and clang as its replacement
//===----------------------------------------------------------------------===//

/// Returns the level's letter in "clang<O2>".
static std::optional<char> getClangLevel(StringRef Passes) {
  if (Passes.consume_front("clang<O") && Passes.consume_back(">") &&
      Passes.size() == 1)
    return Passes[0];
  return std::nullopt;
}

Expected<OptTool> OptTool::create(StringRef Program, const Module &M,
                                  StringRef Passes,
                                  std::vector<std::string> Plugins,
                                  ToolTarget Target) {
  Expected<ToolInfo> Tool =
      identifyTool(Program, {ToolKind::Opt, ToolKind::Clang}, "--opt-tool");
  if (!Tool)
    return Tool.takeError();
  bool IsClangs = getClangLevel(Passes).has_value();
  if (Tool->Kind == ToolKind::Clang && !IsClangs)
    return createStringError(
        formatv("--opt-tool: '{0}' is a clang, which runs clang<O0> to "
                "clang<O3>, clang<Os> and clang<Oz>, but not '{1}'",
                Program, Passes)
            .str());
  if (Tool->Kind == ToolKind::Opt && IsClangs) {
    std::optional<ToolInfo> Clang = findClangBeside(*Tool);
    if (!Clang)
      return createStringError(
          formatv("--opt-tool: '{0}' cannot run {1}, and no clang {2} lies "
                  "beside it; name a clang, or pipelines of opt with --passes",
                  Program, Passes, Tool->Version)
              .str());
    Tool = std::move(*Clang);
  }
  OptTool T;
  T.Tool = std::move(*Tool);
  T.Passes = Passes.str();
  T.Plugins = std::move(Plugins);
  T.Target = adaptTarget(T.Tool, std::move(Target));
  if (Error E = T.check(M))
    return std::move(E);
  return std::move(T);
}

/// Adds an LLVM option in the form that the program accepts.
void OptTool::addOption(std::vector<std::string> &Args,
                        const Twine &Option) const {
  if (Tool.Kind == ToolKind::Clang)
    Args.push_back("-mllvm");
  Args.push_back(Option.str());
}

std::vector<std::string>
mneme::makeOptOptions(StringRef Passes, const ToolTarget &Target,
                      ArrayRef<std::string> Plugins) {
  std::vector<std::string> Args = {("-passes=" + Passes).str(),
                                   "-mcpu=" + Target.CPU,
                                   "-codegen-opt-level=" + utostr(Target.Level),
                                   std::string("-fp-contract=") +
                                       (Target.FuseFP ? "fast" : "on")};
  if (!Target.Features.empty())
    Args.push_back("-mattr=" + Target.Features);
  if (Target.VerifyEach)
    Args.push_back("-verify-each");
  for (const std::string &Plugin : Plugins)
    Args.push_back("-load-pass-plugin=" + Plugin);
  return Args;
}

/// Returns the -cc1 arguments, as clang's driver would pass them.
std::vector<std::string> OptTool::getClangArguments(const Module &M) const {
  char Level = *getClangLevel(Passes);
  const Triple &TT = M.getTargetTriple();
  std::vector<std::string> Args = {"-cc1", "-triple", TT.str(), "-target-cpu",
                                   Target.CPU};
  for (StringRef Feature : split(Target.Features, ','))
    if (!Feature.empty())
      Args.insert(Args.end(), {"-target-feature", Feature.str()});
  Args.push_back(std::string("-O") + Level);
  bool Above1 = Level != '0' && Level != '1';
  if (Above1 && Level != 'z')
    Args.push_back("-vectorize-loops");
  if (Above1)
    Args.push_back("-vectorize-slp");
  Args.push_back(std::string("-ffp-contract=") +
                 (Target.FuseFP ? "fast" : "on"));
  if (Target.VerifyEach)
    Args.push_back("-llvm-verify-each");
  for (const std::string &Plugin : Plugins) {
    // -fpass-plugin loads it when its options have been parsed.
    if (!Target.LLVMOptions.empty())
      Args.insert(Args.end(), {"-load", Plugin});
    Args.push_back("-fpass-plugin=" + Plugin);
  }
  Args.insert(Args.end(), {"-emit-llvm-bc", "-emit-llvm-uselists"});
  addOption(Args, ("-" + getClangDriverOption(TT)).str());
  Args.insert(Args.end(), {"-x", "ir"});
  return Args;
}

std::vector<std::string> OptTool::getArguments(const Module &M) const {
  std::vector<std::string> Args = {Tool.Path};
  append_range(Args, Tool.Kind == ToolKind::Clang ? getClangArguments(M)
                                                  : makeOptOptions(Passes, Target, Plugins));
  for (const LLVMOption &O : Target.LLVMOptions)
    addOption(Args, toString(O));
  return Args;
}

SmallVector<StringRef, 32> mneme::getRefs(ArrayRef<std::string> Texts) {
  return SmallVector<StringRef, 32>(Texts.begin(), Texts.end());
}

Error mneme::writeModule(const Module &M, const ToolInfo &Tool,
                         ScratchFile &File) {
  if (!isOfOlderLLVM(Tool)) {
    SmallVector<char, 0> Bytes = writeExactBitcode(M);
    return ScratchFile::create("bc", File, toStringRef(Bytes));
  }
  Expected<std::string> Text = printForOlderLLVM(M, Tool.Major);
  if (!Text)
    return createStringError("'" + Tool.Path +
                             "': " + toString(Text.takeError()));
  return ScratchFile::create("ll", File, *Text);
}

Error mneme::makeUnknownIntrinsic(const ToolInfo &Tool, StringRef Name) {
  return createStringError("'" + Tool.Path + "' of LLVM " + Tool.Version +
                           " has no intrinsic '" + Name +
                           "', which the kernel uses");
}

/// An older LLVM takes intrinsics that it does not know for functions: \p Text,
/// its output, declares those without attributes. Without calls, they are left
/// over from an upgrade.
static Error checkIntrinsics(const ToolInfo &Tool, StringRef Text) {
  static const Regex Pattern("^declare .*@(llvm\\.[^( ]*)\\([^#]*$");
  SmallVector<StringRef, 2> Groups;
  for (StringRef Line : split(Text, '\n'))
    if (Pattern.match(Line, &Groups) &&
        Text.count(("@" + Groups[1] + "(").str()) > 1)
      return makeUnknownIntrinsic(Tool, Groups[1]);
  return Error::success();
}

/// Runs only the IR reader of an older LLVM.
Error OptTool::checkReader(const Module &M, StringRef In) const {
  ScratchFile Out;
  if (Error E = ScratchFile::create("ll", Out))
    return E;
  std::vector<std::string> Args = {Tool.Path};
  if (Tool.Kind == ToolKind::Clang)
    Args.insert(Args.end(), {"-cc1", "-triple", M.getTargetTriple().str(),
                             "-disable-llvm-passes", "-emit-llvm", "-x", "ir"});
  else
    Args.push_back("-S");
  Args.insert(Args.end(), {"-o", Out.Path.str().str(), In.str()});
  std::string Log;
  if (Error E = runProgram(getRefs(Args), Log, Target.Seconds))
    return explainVersions(Tool, std::move(E));
  Expected<SmallVector<char, 0>> Text = Out.read();
  if (!Text)
    return Text.takeError();
  return checkIntrinsics(Tool, toStringRef(*Text));
}

/// Runs only the IR reader and the parsers of options and pipelines.
Error OptTool::check(const Module &M) const {
  ScratchFile In;
  if (Error E = writeModule(M, Tool, In))
    return E;
  if (isOfOlderLLVM(Tool))
    if (Error E = checkReader(M, In.Path))
      return E;
  std::vector<std::string> Args = getArguments(M);
  if (Tool.Kind == ToolKind::Clang)
    Args.insert(Args.end(), {"-disable-llvm-passes", "-o", "/dev/null"});
  else if (isOfOlderLLVM(Tool)) // may not be able to parse what it prints
    Args.insert(Args.end(), {"-opt-bisect-limit=0", "-disable-output"});
  else
    Args.insert(Args.end(), {"-print-pipeline-passes", "-disable-output"});
  // opt cannot parse the printed pipeline again if it contains passes of
  // plugins. Old versions do not have the option.
  if (Tool.Kind != ToolKind::Clang && !Plugins.empty())
    Args.push_back("-disable-pipeline-verification");
  Args.push_back(In.Path.str().str());
  std::string Log;
  if (Error E = runProgram(getRefs(Args), Log, Target.Seconds))
    return explainVersions(Tool, std::move(E));
  return Error::success();
}

/// Restores what the text for an older LLVM lacks: features, and the name of
/// the source, which otherwise becomes that of the text's file.
static void restoreAfterOlder(Module &M, const Module &Before) {
  M.setSourceFileName(Before.getSourceFileName());
  for (Function &F : M)
    if (const Function *Old = Before.getFunction(F.getName()))
      if (Attribute A = Old->getFnAttribute("target-features"); A.isValid())
        F.addFnAttr(A);
}

/// Removes the attributes that opt adds to functions without their own, from
/// -mcpu and -mattr, before it runs a pass.
static void removeAttributesOfOpt(Module &M, const Module &Before,
                                  const ToolTarget &Target) {
  static constexpr StringLiteral CPU = "target-cpu",
                                 Features = "target-features";
  for (Function &F : M) {
    const Function *Old = Before.getFunction(F.getName());
    if (Old && !Old->hasFnAttribute(CPU))
      F.removeFnAttr(CPU);
    StringRef Value = F.getFnAttribute(Features).getValueAsString();
    if (Target.Features.empty() || !Value.consume_back(Target.Features))
      continue;
    std::string Rest = Value.str();
    F.removeFnAttr(Features);
    if (StringRef(Rest).ends_with(","))
      F.addFnAttr(Features, StringRef(Rest).drop_back());
  }
}

Expected<SmallVector<char, 0>> OptTool::runOn(const Module &M,
                                              StringRef Bisection,
                                              std::string &Log,
                                              raw_ostream *RemarksOut) const {
  ScratchFile In, Out;
  if (Error E = writeModule(M, Tool, In))
    return std::move(E);
  if (Error E = ScratchFile::create("bc", Out))
    return std::move(E);
  std::vector<std::string> Args = getArguments(M);
  if (!Bisection.empty())
    addOption(Args, Bisection);
  return runTool(Tool, Target, std::move(Args), In, Out, Log, RemarksOut);
}

/// Returns which of \p Executions run, in the order of the program's numbers.
/// Those that \p Numbers lacks are treated like their predecessors, or, if the
/// program died or hung at the end of \p Numbers, run.
/// \param Rest  set to whether executions behind these run.
static std::vector<bool> selectExecutions(ArrayRef<PassExecution> Executions,
                                          const PassSelection &Selection,
                                          const PassListing &Numbers,
                                          bool &Rest) {
  auto Means = [](const PassSet &S, const PassExecution &E) {
    return S.contains(E.Number) || S.names(E);
  };
  bool FollowsLast = Numbers.Failure.empty() || Selection.Run.has_value();
  bool RunsNew = Selection.runs(Numbers.NumIR + 1);
  std::vector<bool> Runs;
  bool LastRun = Selection.runs(1);
  size_t End = 0; // of those that are needed
  for (const PassExecution &E : Executions) {
    if (E.Number)
      LastRun = (!Selection.Run || Means(*Selection.Run, E)) &&
                !(Selection.Skip && Means(*Selection.Skip, E));
    else if (!E.Required && !FollowsLast)
      LastRun = RunsNew;
    Runs.push_back(E.Required || LastRun);
    if (!E.Required && LastRun)
      End = Runs.size();
  }
  Rest = RunsNew && (!FollowsLast || End == Runs.size());
  if (!Rest)
    std::fill(Runs.begin() + End, Runs.end(), false);
  return Runs;
}

/// Runs the selected executions. Skipping some may add and remove others, so
/// that the rest gets other numbers than in \p Numbers. The program's own lines
/// tell which executions ran; their numbers are corrected until these are the
/// selected ones.
/// \param Run  runs the program with an option for -opt-bisect, and sets Log.
static Expected<SmallVector<char, 0>> runSelected(
    const ToolInfo &Tool, const PassSelection &Selection,
    const PassListing &Numbers, const std::string &Log, raw_ostream *Remarks,
    function_ref<Expected<SmallVector<char, 0>>(StringRef, raw_ostream *)>
        Run) {
  static constexpr unsigned MaxRounds = 5;
  if (Selection.empty() || !Numbers.NumIR)
    return Run("", Remarks);
  std::map<std::string, unsigned> NumberOf;
  std::vector<PassExecution> Executions;
  for (const PassExecution &E : Numbers.Executions)
    if (E.Stage == PassStage::IR) {
      NumberOf[E.spec()] = E.Number;
      Executions.push_back(E);
    }
  for (unsigned Round = 0;; ++Round) {
    bool Rest = false;
    BisectionRanges Ranges;
    std::vector<bool> Runs =
        selectExecutions(Executions, Selection, Numbers, Rest);
    for (auto [I, IsSelected] : enumerate(Runs))
      if (IsSelected)
        Ranges.add(I + 1);
    if (Rest)
      Ranges.addRest(Executions.size() + 1);
    Expected<std::string> Option = Ranges.getOption(Tool, Numbers.NumIR);
    if (!Option)
      return Option.takeError();
    Expected<SmallVector<char, 0>> Bytes = Run(*Option, /*Remarks=*/nullptr);
    bool IsLast = runsOnlyPrefixes(Tool) || Round == MaxRounds ||
                  (!Bytes && Bytes.errorIsA<ToolTimeout>());
    bool IsDone = true;
    Executions = parseBisection(Log);
    for (PassExecution &E : Executions) {
      E.Required = isNumberedWrapper(E.Pass);
      auto It = NumberOf.find(E.spec());
      E.Number = It == NumberOf.end() ? 0 : It->second;
    }
    Runs = selectExecutions(Executions, Selection, Numbers, Rest);
    for (auto [E, IsSelected] : zip_equal(Executions, Runs))
      IsDone &= E.Ran == IsSelected;
    if (IsLast || IsDone)
      return Bytes && Remarks ? Run(*Option, Remarks) : std::move(Bytes);
    consumeError(Bytes.takeError());
  }
}

static Expected<std::unique_ptr<Module>>
readResult(const ToolInfo &Tool, ArrayRef<char> Bytes, const Module &M) {
  Expected<std::unique_ptr<Module>> Result =
      parseBitcodeFile(MemoryBufferRef(StringRef(Bytes.data(), Bytes.size()),
                                       M.getModuleIdentifier()),
                       M.getContext());
  if (!Result)
    return createStringError(
        formatv(
            "the output of '{0}' of LLVM {1} cannot be read by LLVM {2}: {3}",
            Tool.Path, Tool.Version, LLVM_VERSION_STRING,
            toString(Result.takeError()))
            .str());
  std::string Broken;
  raw_string_ostream OS(Broken);
  if (verifyModule(**Result, &OS))
    return createStringError(formatv("'{0}' of LLVM {1} left invalid IR: {2}",
                                     Tool.Path, Tool.Version,
                                     StringRef(Broken).rtrim())
                                 .str());
  if ((*Result)->getTargetTriple() != M.getTargetTriple())
    return createStringError(formatv("'{0}' of LLVM {1} left IR for '{2}'",
                                     Tool.Path, Tool.Version,
                                     (*Result)->getTargetTriple().str())
                                 .str());
  return Result;
}

Error OptTool::run(std::unique_ptr<Module> &M, const PassSelection &Selection,
                   const PassListing &Numbers, raw_ostream *Remarks) const {
  std::string Log;
  Expected<SmallVector<char, 0>> Bytes =
      runSelected(Tool, Selection, Numbers, Log, Remarks,
                  [&](StringRef Bisection, raw_ostream *RemarksOut) {
                    return runOn(*M, Bisection, Log, RemarksOut);
                  });
  if (!Bytes)
    return Bytes.takeError();
  for (StringRef Line : split(Log, '\n'))
    if (!Line.empty() && !isBisectionLine(Line))
      errs() << Line << '\n';
  Expected<std::unique_ptr<Module>> Result = readResult(Tool, *Bytes, *M);
  if (!Result)
    return Result.takeError();
  if (Tool.Kind == ToolKind::Opt)
    removeAttributesOfOpt(**Result, *M, Target);
  if (isOfOlderLLVM(Tool))
    restoreAfterOlder(**Result, *M);
  M = std::move(*Result);
  return Error::success();
}

Expected<PassListing> OptTool::list(std::unique_ptr<Module> &M,
                                    const PassSelection &Selection,
                                    const PassListing &Numbers) const {
  std::string Log;
  PassListing Listing;
  auto Run = [&](StringRef Bisection, raw_ostream *RemarksOut) {
    return runOn(*M, Bisection, Log, RemarksOut);
  };
  Expected<SmallVector<char, 0>> Bytes =
      Selection.empty() || !Numbers.NumIR
          ? Run(getWholeBisection(), nullptr)
          : runSelected(Tool, Selection, Numbers, Log, nullptr, Run);
  if (Error E = Bytes.takeError()) {
    // The program cannot run this selection.
    if (E.isA<PassSetError>())
      return std::move(E);
    Bytes = std::move(E);
  }
  Listing.Executions = parseBisection(Log);
  if (!Bytes && Listing.Executions.empty()) {
    consumeError(Bytes.takeError()); // The option may be unknown.
    Bytes = runOn(*M, "", Log, /*Remarks=*/nullptr);
    if (!Bytes)
      return Bytes.takeError();
    Listing.Unnumbered = describeUnnumbered(Tool);
  }
  for (PassExecution &E : Listing.Executions) {
    if (M->getFunction(E.Unit))
      E.Function = E.Unit;
    E.Required = isNumberedWrapper(E.Pass);
    if (E.Required)
      E.Number = 0;
  }
  Expected<std::unique_ptr<Module>> Result =
      Bytes ? readResult(Tool, *Bytes, *M) : Bytes.takeError();
  if (Result)
    M = std::move(*Result);
  else
    Listing.Failure = toString(Result.takeError());
  return std::move(Listing);
}
