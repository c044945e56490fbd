//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Dialect/Import.h"
#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Report/Summary.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

/// Number of points that --dry-run shows.
static constexpr unsigned DryRunPoints = 10;

//===----------------------------------------------------------------------===//
// Textual studies, which require MLIR
//===----------------------------------------------------------------------===//

static Expected<Study> readStudyFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  return parseStudy((*Buffer)->getBuffer(), Path);
}

/// Collects the texts that \p E can evaluate to, as far as they are literals in
/// the study, and the pipeline spaces that it uses.
static void collectTexts(const Study &S, const Expr &E, StringSet<> &Seen,
                         std::vector<std::string> &Texts) {
  if (!E)
    return;
  if (E.kind() == Expr::Constant)
    if (const auto *Text = std::get_if<std::string>(&E.value()))
      Texts.push_back(*Text);
  if (E.kind() == Expr::Op)
    // The condition of a selection is no result.
    for (const Expr &Operand :
         drop_begin(E.operands(), E.op() == ExprOp::Select ? 1 : 0))
      collectTexts(S, Operand, Seen, Texts);
  if (E.kind() != Expr::Parameter || !Seen.insert(E.name()).second)
    return;
  for (const DerivedValue &D : S.Derived)
    if (D.Name == E.name())
      collectTexts(S, D.Is, Seen, Texts);
  const Parameter *P = S.findParameter(E.name());
  if (!P)
    return;
  Texts.push_back(P->Space);
  for (const Expr &Choice : P->Choices)
    collectTexts(S, Choice, Seen, Texts);
  collectTexts(S, P->Default, Seen, Texts);
}

Expected<StringMap<std::string>> mneme::readControls(const Study &S) {
  StringMap<std::string> Controls;
  for (const ConfigField &F : S.Fields) {
    if (F.Key != ControlsKey)
      continue;
    std::vector<std::string> Names;
    StringSet<> Seen;
    collectTexts(S, F.Is, Seen, Names);
    for (const std::string &Name : Names)
      if (!Name.empty())
        if (Error E = loadControls(Name).moveInto(Controls[Name]))
          return std::move(E);
  }
  return Controls;
}

/// Returns the side effects of the study's configurations.
static std::vector<ConfigSideEffect> findSideEffects(const Study &S) {
  std::vector<ConfigSideEffect> Found;
  for (const ConfigField &F : S.Fields) {
    // For most keys the value does not matter; for pipelines and ptxas options
    // it does.
    std::vector<std::string> Texts = {"computed"};
    StringSet<> Seen;
    const SettingInfo *Setting = findSetting(F.Key);
    if (Setting && (Setting->Reach == SettingReach::Pipeline ||
                    Setting->Reach == SettingReach::PtxasWords)) {
      Texts.clear();
      collectTexts(S, F.Is, Seen, Texts);
    }
    for (const std::string &Text : Texts) {
      std::vector<ConfigSideEffect> OfField =
          findSideEffects(json::Object{{F.Key, json::fixUTF8(Text)}});
      Expected<PipelineSpace> Space = PipelineSpace::parse(Text);
      if (Setting && Setting->Reach == SettingReach::Pipeline && Space)
        if (NamedSideEffect E = findPassEffect(*Space))
          OfField = {{F.Key, E.Name, E.Effect}};
      if (!Space)
        consumeError(Space.takeError());
      if (!OfField.empty()) {
        append_range(Found, OfField);
        break;
      }
    }
  }
  return Found;
}

Error mneme::printPresets(raw_ostream &OS) {
  if (getPresets().empty())
    return createStringError("no presets: this tool was built without MLIR");
  for (const Preset &P : getPresets())
    OS << P.Name << "  " << P.summary() << '\n';
  return Error::success();
}

std::string mneme::getStudyText(const Study &S) {
  Expected<std::string> Text = printStudy(S);
  if (Text)
    return std::move(*Text);
  consumeError(Text.takeError());
  return "";
}

Error mneme::printStudyText(raw_ostream &OS, const Study &S) {
  Expected<std::string> Text = printStudy(S);
  if (!Text)
    return Text.takeError();
  OS << *Text;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Studies
//===----------------------------------------------------------------------===//

/// Returns true if the option defines the space rather than the objective.
static bool isOfSpace(const SpaceOption &O) { return O.Name != "objective"; }

static Expected<Study> makeBaseStudy(const TuneOptions &O) {
  if (!O.StudyFile.empty() && !O.Preset.empty())
    return createStringError("--study and --preset are mutually exclusive");
  if (!O.StudyFile.empty()) {
    Expected<Study> S = readStudyFile(O.StudyFile);
    // Printing a study executes nothing.
    if (S && !O.AllowPrograms && O.Mode != TuneMode::PrintStudy)
      if (Error E = refuseSideEffects(O.StudyFile, findSideEffects(*S)))
        return std::move(E);
    return S;
  }
  if (!O.Preset.empty())
    return getPreset(O.Preset);
  if (none_of(O.Space, isOfSpace))
    return getPreset("standard");
  Study S;
  S.Name = "study";
  return S;
}

Expected<Study> mneme::makeStudy(const TuneOptions &O) {
  Expected<Study> S = makeBaseStudy(O);
  if (!S)
    return S.takeError();
  CommandLineSpace Space = O.Space;
  if (Error E = addKnobs(Space))
    return std::move(E);
  if (Error E = applyToStudy(Space, *S))
    return std::move(E);
  if (O.NeedsLaunch.empty())
    return S;
  keepLaunch(*S);
  if (S->Parameters.empty())
    return createStringError(
        "only its grid and block would be searched, and others may give other "
        "results (" +
        O.NeedsLaunch +
        "): serve verified launches with --launch-shape=verified");
  return S;
}

Expected<std::vector<std::unique_ptr<SearchSpace>>>
mneme::bindStudy(const Study &S, const TunedKernel &K) {
  std::vector<std::unique_ptr<SearchSpace>> Spaces;
  for (const RecordedInstance &I : K.Instances) {
    Expected<SearchSpace> Space =
        SearchSpace::create(S, makeRecordedFacts(K.Kernel, I));
    if (!Space)
      return Space.takeError();
    Spaces.push_back(std::make_unique<SearchSpace>(std::move(*Space)));
  }
  return Spaces;
}

/// Returns "--passes" for a text from the command line; otherwise the name of
/// the parameter or key.
static std::string getSource(StringRef Name, const TuneOptions &O) {
  const SettingInfo *S = findSetting(Name);
  bool IsGiven = S && any_of(O.Space, [&](const SpaceOption &Given) {
                   return Given.Name == S->TuneOption;
                 });
  return (IsGiven ? "--" + S->TuneOption : Name).str();
}

static Error checkPipelines(StringRef Name, StringRef Text,
                            const KernelCompiler &Compiler,
                            const TuneOptions &O) {
  Expected<PipelineSpace> Space = PipelineSpace::parse(Text);
  return quoteText(getSource(Name, O), Text,
                   Space ? Compiler.checkSpace(*Space) : Space.takeError());
}

static Error checkOptions(const TuneOptions &Tune, const SearchSpace &Space,
                          const KernelCompiler &Compiler) {
  Expected<json::Object> Config = Space.configure(Space.defaultPoint());
  if (!Config)
    return Config.takeError();
  ReplayOptions O;
  if (Error E = applyConfig(*Config, O))
    return E;
  // A study uses one ptxas.
  const CompileOptions &C = Compiler.options();
  if (!Tune.Controls.empty() && StringRef(Compiler.arch()).starts_with("sm_"))
    if (Error E = checkPTXCompiler(C.Assembler, C.CudaPath,
                                   O.Ptxas.empty() ? C.Ptxas : O.Ptxas,
                                   /*NeedsControls=*/true))
      return E;
  return checkLLVMOptions(O.LLVMOptions,
                          /*SkipUnknown=*/Compiler.hasPluginsElsewhere());
}

Error mneme::checkSpaces(const TuneOptions &O, const SearchSpace &Space,
                         const KernelCompiler &Compiler) {
  const Study &S = Space.study();
  for (const Parameter &P : S.Parameters)
    if (P.Kind == Parameter::Pipeline)
      if (Error E = checkPipelines(P.Name, P.Space, Compiler, O))
        return E;
  // A fixed pipeline.
  for (const ConfigField &F : S.Fields)
    if (F.Key == "passes" && F.Is.kind() == Expr::Constant)
      if (const auto *Text = std::get_if<std::string>(&F.Is.value()))
        if (Error E = checkPipelines(F.Key, *Text, Compiler, O))
          return E;
  return checkOptions(O, Space, Compiler);
}

//===----------------------------------------------------------------------===//
// Output about the search space
//===----------------------------------------------------------------------===//

static std::string describeDimension(const Dimension &D) {
  if (D.Kind == Dimension::Real)
    return formatv("real from {0} to {1}{2}", D.Low, D.High,
                   D.Log ? ", logarithmic" : "")
        .str();
  return formatv("{0} {1} values", D.Count,
                 D.Kind == Dimension::Ordered ? "ordered" : "categorical")
      .str();
}

void mneme::printSpace(raw_ostream &OS, const SearchSpace &Space) {
  size_t Width = 0;
  for (const Dimension &D : Space.dimensions())
    Width = std::max(Width, D.Name.size());
  for (const Dimension &D : Space.dimensions())
    OS << left_justify(D.Name, Width) << "  " << describeDimension(D) << '\n';
  OS << formatCount(Space.dimensions().size(), "dimension") << ", ";
  std::optional<APInt> Count = Space.count();
  if (!Count) {
    OS << "infinitely many points\n";
    return;
  }
  SmallString<32> Number;
  Count->toStringUnsigned(Number);
  OS << Number << (*Count == 1 ? " point" : " points");
  if (!Space.study().Constraints.empty())
    OS << ", " << formatCount(Space.study().Constraints.size(), "constraint");
  OS << '\n';
}

Error mneme::printFirstPoints(raw_ostream &OS, const TuneOptions &O,
                              const SearchSpace &Space) {
  std::vector<Trial> History;
  DenseSet<uint64_t> Proposed;
  std::vector<Direction> Directions;
  for (const Objective &Obj : Space.study().Objectives)
    Directions.push_back(Obj.Dir);
  SamplerContext Context{Space, Directions, O.Tuner.Seed, History, Proposed};
  Expected<std::unique_ptr<Sampler>> S = createSampler(O.Sampler, Context);
  if (!S)
    return S.takeError();
  auto Print = [&](StringRef Label, const Point &P) {
    Expected<json::Object> Config = Space.configure(P);
    OS << Label
       << (Config ? formatConfig(*Config) : toString(Config.takeError()))
       << '\n';
  };
  Print("default: ", Space.defaultPoint());
  Proposed.insert(Space.digest(Space.defaultPoint()));
  Expected<std::vector<Point>> Points = (*S)->ask(DryRunPoints);
  if (!Points)
    return Points.takeError();
  for (const Point &P : *Points)
    Print("then:    ", P);
  return Error::success();
}
