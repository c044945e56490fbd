//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Replays of several launches under several pipelines, measured side by side
// and printed as a table.
//
//===----------------------------------------------------------------------===//

#include "Modes.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/Pipeline.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Study/Format.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/StatusLine.h"
#include "llvm/Mneme/Support/TextTable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::opt<bool>
    All("all",
        cl::desc("Replay every launch of the recording and print one table; "
                 "--passes can be repeated"),
        cl::cat(getReplayCategory()));

/// The values of --passes.
static std::vector<std::string> Pipelines;

void mneme::collectPipelines() {
  cl::Option *O = cl::getRegisteredOptions().lookup("passes");
  O->setNumOccurrencesFlag(cl::ZeroOrMore);
  static_cast<cl::opt<std::string> *>(O)->setCallback(
      [](const std::string &Text) { Pipelines.push_back(Text); });
}

bool mneme::isTableWanted() { return All || Pipelines.size() > 1; }

namespace {
/// A launch under a pipeline.
struct Row {
  std::string Kernel, StaticHash, RecordId;
  std::string Passes;
  /// False with --no-verify or --no-execute.
  bool IsVerified = true;
  Evaluation Result = {};
  /// Relative to the first row of the launch.
  std::optional<RatioEstimate> Speedup = {};
  /// True if the machine code equals that of the first row.
  bool IsSameCode = false;

  StringRef verdict() const {
    if (!Result.Failure.empty())
      return Result.Failure.name();
    return getVerdictName(success());
  }
  raw_ostream::Colors color() const {
    return Result.Failure.empty() ? getVerdictColor(success())
                                  : raw_ostream::RED;
  }

private:
  Verdict success() const {
    return IsVerified ? getVerdict(Result.Level) : Verdict::NotVerified;
  }
};

/// The launches of one kernel.
struct TableKernel {
  std::string File;
  RecordedKernel Kernel;
};

class TableMaker {
public:
  TableMaker(const ReplayOptions &Base, const std::optional<ConfigFile> &File)
      : Base(Base), File(File),
        HasRegisters(!errorToBool(
            checkPTXCompiler(Base.Assembler, Base.CudaPath, Base.Ptxas))) {}
  Error add(const TableKernel &K);
  ArrayRef<Row> rows() const { return Rows; }

private:
  const ReplayOptions &Base;
  const std::optional<ConfigFile> &File;
  const bool HasRegisters;
  std::vector<Row> Rows;

  static constexpr unsigned Rounds = 15;
  EvaluationRequest makeRequest(const Row &R, unsigned Id,
                                unsigned Instance) const;
  Error evaluate(ReplayFarm &Farm, MutableArrayRef<Row> New,
                 unsigned NumPipelines);
  Error compare(ReplayFarm &Farm, MutableArrayRef<Row> OfLaunch,
                unsigned Instance);
};
} // namespace

/// Rejects options that describe a single replay.
static Error checkOptions(const ReplayOptions &O) {
  for (StringRef Name :
       {"compare-with-app", "output-ll", "output-asm", "output-obj", "baseline",
        "app", "dataset", "exit-code", "no-isolation", "verify-each",
        "ftime-trace", "save-temps", "remarks", "print-changed", "print-before",
        "print-after", "print-before-all", "print-after-all", "time-passes"}) {
    const cl::Option *Option = cl::getRegisteredOptions().lookup(Name);
    if ((Option && Option->getNumOccurrences()) ||
        any_of(O.Instruments.Printing,
               [&](const LLVMOption &P) { return P.Name == Name; }))
      return createStringError("--" + Name +
                               " shows one replay: leave out --all, and give "
                               "--passes once");
  }
  return Error::success();
}

static Expected<std::vector<TableKernel>> chooseLaunches(StringRef Path,
                                                         ReplayOptions &O) {
  std::vector<TableKernel> Kernels;
  if (!All) {
    Expected<std::unique_ptr<ReplayPlan>> Plan = ReplayPlan::create(Path, O);
    if (!Plan)
      return Plan.takeError();
    O.RecordId = (*Plan)->instance().DynamicHash;
    RecordedKernel K = (*Plan)->kernel();
    K.Instances = {(*Plan)->instance()};
    std::string File = sys::fs::is_directory(Path)
                           ? pathIn(Path, K.StaticHash + ".json")
                           : Path.str();
    Kernels.push_back({std::move(File), std::move(K)});
    return std::move(Kernels);
  }
  if (cl::getRegisteredOptions().lookup("record-id")->getNumOccurrences())
    return createStringError("--all and --record-id are mutually exclusive");
  O.RecordId.clear(); // Drop a configuration's record id.
  std::vector<std::string> Files{Path.str()};
  if (sys::fs::is_directory(Path))
    if (Error E = findKernelFiles(Path).moveInto(Files))
      return std::move(E);
  for (const std::string &File : Files) {
    Expected<RecordedKernel> K = readKernelFile(File);
    if (!K)
      return K.takeError();
    if (!K->Instances.empty())
      Kernels.push_back({File, std::move(*K)});
  }
  if (Kernels.empty())
    return createFileError(Path, createStringError("holds no recorded launch"));
  return std::move(Kernels);
}

/// Checks all pipelines before the replays begin, which may take hours.
static Error checkPipelines(const TableKernel &K, ReplayOptions O) {
  O.RecordId = K.Kernel.Instances.front().DynamicHash;
  Expected<std::unique_ptr<ReplayPlan>> Plan = ReplayPlan::create(K.File, O);
  if (!Plan)
    return Plan.takeError();
  for (const std::string &Passes : Pipelines) {
    O.Passes = Passes;
    if (Error E = (*Plan)->vary(O).takeError())
      return E;
  }
  return Error::success();
}

EvaluationRequest TableMaker::makeRequest(const Row &R, unsigned Id,
                                          unsigned Instance) const {
  EvaluationRequest Request;
  Request.Id = Id;
  Request.Instance = Instance;
  // Some settings of a study of several launches follow from the launch.
  if (File && !File->OfLaunches.empty())
    Request.Config = File->configOf(R.RecordId);
  Request.Config["passes"] = R.Passes;
  return Request;
}

Error TableMaker::evaluate(ReplayFarm &Farm, MutableArrayRef<Row> New,
                           unsigned NumPipelines) {
  for (auto [I, R] : enumerate(New))
    if (Error E = Farm.submit(makeRequest(R, I, I / NumPipelines)))
      return E;
  for (size_t Left = New.size(); Left;) {
    Expected<std::vector<Evaluation>> Some = Farm.wait(/*Seconds=*/1);
    if (!Some)
      return Some.takeError();
    Left -= Some->size();
    for (Evaluation &E : *Some)
      New[E.Id].Result = std::move(E);
  }
  return Error::success();
}

/// Measures the rows of a launch again, side by side: the first times were
/// measured in succession.
Error TableMaker::compare(ReplayFarm &Farm, MutableArrayRef<Row> OfLaunch,
                          unsigned Instance) {
  std::vector<EvaluationRequest> Requests;
  std::vector<std::pair<Row *, size_t>> Compared; // With the index of its
                                                  // request.
  for (Row &R : OfLaunch) {
    if (!R.Result.Failure.empty() || R.Result.Samples.empty())
      continue;
    auto Same = find_if(Compared, [&](const auto &Other) {
      return !R.Result.CodeHash.empty() &&
             Other.first->Result.CodeHash == R.Result.CodeHash;
    });
    if (Same != Compared.end()) {
      R.IsSameCode = Same->first == OfLaunch.begin();
      Compared.push_back({&R, Same->second});
      continue;
    }
    Compared.push_back({&R, Requests.size()});
    Requests.push_back(makeRequest(R, Requests.size(), Instance));
  }
  if (Requests.size() < 2 || Compared.front().first != OfLaunch.begin())
    return Error::success();
  Expected<PairedEvaluation> P = Farm.comparePaired(Requests, Rounds);
  if (!P)
    return P.takeError();
  if (!P->Failure.empty()) {
    printWarning("no ratios for record '" + OfLaunch.front().RecordId +
                 "': " + P->Failure.name() + ": " + P->Error);
    return Error::success();
  }
  for (auto [R, I] : Compared) {
    if (I)
      R->Speedup = estimatePairedRatio(P->Samples[0], P->Samples[I]);
    R->Result.Samples = P->Samples[I];
  }
  return Error::success();
}

Error TableMaker::add(const TableKernel &K) {
  FarmOptions F;
  F.Devices = {Base.Device};
  F.Message = [](StringRef Text) { printWarning(Text); };
  F.Database = K.File;
  F.Base = Base;
  F.Base.Passes.reset();
  F.Base.RecordId.clear();
  F.Base.Resources |= HasRegisters;
  std::vector<std::string> Passes = Pipelines;
  std::string Own = getClangPipeline(K.Kernel.OptLevel);
  if (Passes.size() < 2 && !is_contained(Passes, Own))
    Passes.insert(Passes.begin(), Own);
  size_t Begin = Rows.size();
  for (const RecordedInstance &I : K.Kernel.Instances) {
    F.RecordIds.push_back(I.DynamicHash);
    for (const std::string &P : Passes)
      Rows.push_back({K.Kernel.displayName(), K.Kernel.StaticHash,
                      I.DynamicHash, P, Base.Execute && Base.Verify});
  }
  Expected<std::unique_ptr<ReplayFarm>> Farm = ReplayFarm::create(std::move(F));
  if (!Farm)
    return Farm.takeError();
  for (const VerificationPower &P : (*Farm)->powers())
    if (P.isVacuous())
      printWarning(K.Kernel.displayName() + ": " + describePower(P));
  auto New = MutableArrayRef(Rows).drop_front(Begin);
  if (Error E = evaluate(**Farm, New, Passes.size()))
    return E;
  for (unsigned I = 0; I != K.Kernel.Instances.size(); ++I)
    if (Error E =
            compare(**Farm, New.slice(I * Passes.size(), Passes.size()), I))
      return E;
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Printing
//===----------------------------------------------------------------------===//

static json::Value toJSON(const Row &R) {
  json::Object O{{"kernel", R.Kernel},
                 {"static_hash", R.StaticHash},
                 {"record_id", R.RecordId},
                 {"passes", R.Passes},
                 {"verdict", R.verdict()},
                 {"error", orNull(R.Result.Error)},
                 {"exec_time", json::Array(R.Result.Samples)},
                 {"code_hash", R.Result.CodeHash},
                 {"reg_usage", nullptr},
                 {"speedup", nullptr}};
  if (auto It = R.Result.Metrics.find("reg_usage");
      It != R.Result.Metrics.end())
    O["reg_usage"] = It->second;
  if (R.Speedup)
    O["speedup"] = json::Object{{"value", R.Speedup->Value},
                                {"interval", makeInterval(*R.Speedup)},
                                {"significant", R.Speedup->isSignificant()}};
  return O;
}

static TextTable::Row makeCells(const Row &R) {
  std::string Time, Registers, Ratio;
  if (!R.Result.Samples.empty()) {
    SampleSummary S = summarize(R.Result.Samples);
    Time = formatv("{0} [{1}, {2}]", formatNanoseconds(S.Median),
                   formatNanoseconds(S.Low), formatNanoseconds(S.High));
  }
  if (auto It = R.Result.Metrics.find("reg_usage");
      It != R.Result.Metrics.end())
    Registers = formatMetric(It->second);
  if (R.Speedup)
    Ratio = formatSpeedup(*R.Speedup);
  else if (R.IsSameCode)
    Ratio = "same code";
  return {R.Kernel, R.RecordId, R.Passes, R.verdict().str(),
          Time,     Registers,  Ratio};
}

static void printTable(raw_ostream &OS, ArrayRef<Row> Rows) {
  TextTable Table({"kernel", "record", "pipeline", "verdict", "time",
                   "registers", "ratio"});
  for (const Row &R : Rows) {
    Table.add(makeCells(R));
    Table.color(3, R.color());
  }
  // Scripts read whole names.
  if (outs().is_displayed())
    Table.fit(getLineWidth(/*OnStandardError=*/false));
  Table.print(OS, "lllllrl");
  for (const Row &R : Rows)
    if (!R.Result.Error.empty())
      OS << '\n'
         << R.Kernel << "  " << R.RecordId << "  " << R.Passes << ":\n  "
         << R.Result.Error << '\n';
}

static Error checkFormat(const RecordedKernel &K,
                         const std::optional<ConfigFile> &File) {
  if (std::string Text = getFormatWarning(K); !Text.empty())
    printWarning(Text);
  return File ? checkConfigFile(*File, K) : Error::success();
}

Expected<int> mneme::runTable(StringRef Path, ReplayOptions O,
                              const std::optional<ConfigFile> &File,
                              bool Text) {
  if (O.Passes && Pipelines.empty())
    Pipelines.push_back(*O.Passes);
  if (Error E = checkOptions(O))
    return std::move(E);
  O.Passes.reset();
  Expected<std::vector<TableKernel>> Kernels = chooseLaunches(Path, O);
  if (!Kernels)
    return Kernels.takeError();
  for (const TableKernel &K : *Kernels)
    if (Error E = checkFormat(K.Kernel, File))
      return std::move(E);
  if (Error E = checkPipelines(Kernels->front(), O))
    return std::move(E);
  TableMaker Maker(O, File);
  StatusLine Status;
  for (auto [I, K] : enumerate(*Kernels)) {
    Status.set(formatv("kernel {0} of {1}: {2}", I + 1, Kernels->size(),
                       K.Kernel.displayName()));
    if (Error E = Maker.add(K))
      return std::move(E);
  }
  Status.clear();
  if (Text) {
    printTable(textOuts(), Maker.rows());
  } else {
    json::Array Rows;
    for (const Row &R : Maker.rows())
      Rows.push_back(::toJSON(R));
    jsonOuts() << formatv(
        "{0:2}\n", json::Value(json::Object{{"table", std::move(Rows)}}));
  }
  return all_of(Maker.rows(),
                [](const Row &R) { return R.Result.Failure.empty(); })
             ? 0
             : 2;
}
