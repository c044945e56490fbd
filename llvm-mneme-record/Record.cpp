//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// llvm-mneme-record [options] -- application arguments...
///
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static cl::list<std::string> Command(cl::Positional,
                                     cl::desc("application and its arguments"),
                                     cl::cat(RecordCategory));
static cl::opt<std::string>
    OutputDir("o",
              cl::desc("Folder of the recordings, created if it does not exist "
                       "(default mneme-recordings)"),
              cl::value_desc("dir"), cl::cat(RecordCategory));
static cl::alias OutputDirAlias("rdb", cl::desc("Alias for -o"),
                                cl::aliasopt(OutputDir),
                                cl::cat(RecordCategory));
static cl::opt<std::string> KernelRegex(
    "kernel",
    cl::desc("Record only kernels whose symbol or demangled name matches this "
             "POSIX extended regular expression"),
    cl::value_desc("regex"), cl::cat(SelectionCategory));
static cl::opt<uint64_t>
    Skip("skip", cl::desc("Do not record the first n launches of each kernel"),
         cl::value_desc("n"), cl::init(0), cl::cat(SelectionCategory));
static cl::opt<std::string>
    Launches("launches",
             cl::desc("Record only these launches of each kernel, which count "
                      "from 1: 3,10-12,100-"),
             cl::value_desc("list"), cl::cat(SelectionCategory));
static cl::opt<uint64_t> MaxRecordings(
    "max-recordings",
    cl::desc("Record at most n launches of each kernel, 0 for all (default 4); "
             "launches that differ only in data count once"),
    cl::value_desc("n"), cl::init(4), cl::cat(SelectionCategory));
static cl::alias MaxRecordingsAlias("mr",
                                    cl::desc("Alias for --max-recordings"),
                                    cl::aliasopt(MaxRecordings),
                                    cl::cat(SelectionCategory));
static cl::opt<bool> RequireIR(
    "require-ir",
    cl::desc("Record only kernels with IR, whose compiler ran Mneme's plugin "
             "or whose IR the program registers"),
    cl::cat(SelectionCategory));
static cl::opt<std::string>
    RecordId("record-id",
             cl::desc("Properties that identify a launch of a kernel:"
#define RECORD_ID(Id, Name, Input, Help) "\n" Name ": " Help
#include "llvm/Mneme/Runtime/Selection.def"
                      ),
             cl::value_desc("id"), cl::init("launch"),
             cl::cat(SelectionCategory));
static cl::opt<std::string>
    Pick("pick",
         cl::desc("Launches to keep if several have the same id (--record-id), "
                  "or if there are more than --max-recordings:"
#define PICK(Id, Name, Help) "\n" Name ": " Help
#include "llvm/Mneme/Runtime/Selection.def"
                  ),
         cl::value_desc("which"), cl::init("first"),
         cl::cat(SelectionCategory));
static cl::opt<std::string> Epilogue("epilogue",
                                     cl::desc("Memory to write after a launch:"
#define EPILOGUE(Id, Name, Help) "\n" Name ": " Help
#include "llvm/Mneme/Runtime/Selection.def"
                                              ),
                                     cl::value_desc("mode"), cl::init("diff"),
                                     cl::cat(SnapshotCategory));
static cl::opt<uint64_t> MaxBytes(
    "max-bytes",
    cl::desc("Stop recording when the folder reaches this size, 0 for no "
             "limit (default 0)"),
    cl::value_desc("n"), cl::init(0), cl::cat(SnapshotCategory));
static cl::opt<std::string>
    Ranks("ranks",
          cl::desc("Ranks of a distributed run to record: all, or a list such "
                   "as 0,4-7 (default: the first)"),
          cl::value_desc("list"), cl::cat(SelectionCategory));
static cl::opt<std::string> Regions(
    "record-regions",
    cl::desc(
        "Record only launches between mneme_record_begin and _end of "
        "<mneme/record.h>, in ranges of NVTX or Kokkos Tools, or while the "
        "CUDA profiler is on (cudaProfiler), where the name matches this "
        "POSIX extended regular expression (default: any)"),
    cl::value_desc("regex"), cl::ValueOptional, cl::cat(SelectionCategory));
static cl::opt<bool> Reachable(
    "reachable",
    cl::desc("Omit memory that is not reachable from a kernel's arguments "
             "and variables"),
    cl::cat(SnapshotCategory));
static cl::opt<bool>
    Ipc("ipc",
        cl::desc("Leave device memory of a GPU where the program's runtime "
                 "allocates it, so that processes that are not recorded can "
                 "open it (cudaIpcOpenMemHandle)"),
        cl::cat(SnapshotCategory));
static cl::opt<std::string>
    Wait("wait",
         cl::desc("Work that must finish before a launch on a GPU is recorded:"
#define WAIT(Id, Name, Help) "\n" Name ": " Help
#include "llvm/Mneme/Runtime/Selection.def"
                  ),
         cl::value_desc("what"), cl::init("device"), cl::cat(SnapshotCategory));
static cl::opt<double> WaitLimit(
    "wait-limit",
    cl::desc("Skip a launch on a GPU if its recording would wait longer for "
             "other work or for the launch itself, 0 for never (default 10)"),
    cl::value_desc("seconds"), cl::init(10), cl::cat(SnapshotCategory));
static cl::opt<uint64_t>
    VASize("va-size",
           cl::desc("Size of the reserved device address range in GiB, 1 to "
                    "512 (default 512); no memory is allocated up front"),
           cl::value_desc("GiB"), cl::init(MNEME_ARENA_SIZE >> 30),
           cl::cat(SnapshotCategory));
static cl::alias VASizeAlias("vass", cl::desc("Alias for --va-size"),
                             cl::aliasopt(VASize), cl::cat(RecordCategory));
static EnumOption<LaunchDevice> DeviceKind(
    "device", cl::desc("Device that the kernels run on"),
    cl::values(clEnumValN(LaunchDevice::Auto, "auto",
                          "a GPU when there is one, else the host (default)"),
               clEnumValN(LaunchDevice::Host, "host", "this machine's CPU"),
               clEnumValN(LaunchDevice::Cuda, "cuda", "an NVIDIA GPU"),
               clEnumValN(LaunchDevice::Hip, "hip", "an AMD GPU")),
    cl::init(LaunchDevice::Auto), cl::cat(DeviceCategory));
static cl::opt<std::string>
    CudaNode("cuda-node",
             cl::desc("File whose existence indicates an NVIDIA GPU"),
             cl::value_desc("file"), cl::init("/dev/nvidiactl"), cl::Hidden,
             cl::cat(DeviceCategory));
static cl::opt<std::string> Strategy(
    "host-strategy",
    cl::desc("How the host device runs a block's threads: auto, loop, region, "
             "coroutine or fiber (default auto)"),
    cl::value_desc("auto|loop|region|coroutine|fiber"), cl::init("auto"),
    cl::cat(DeviceCategory));
static cl::opt<std::string> Finish(
    "host-finish",
    cl::desc("Optimization of the CPU code on the host device: O3, O1, min "
             "or none (default O3)"),
    cl::value_desc("O3|O1|min|none"), cl::init("O3"), cl::cat(DeviceCategory));
static cl::list<std::string> IRFiles(
    "ir",
    cl::desc("LLVM IR of kernels that the application loads as a cubin, "
             "PTX or fat binary on the host device (repeatable)"),
    cl::value_desc("file"), cl::cat(DeviceCategory));
static cl::opt<double>
    Timeout("timeout",
            cl::desc("End a launch that runs longer, 0 for never (default 0)"),
            cl::value_desc("seconds"), cl::init(0), cl::cat(DeviceCategory));
static cl::opt<double> CheckSeconds(
    "check-code",
    cl::desc("Time for replaying the first recorded launch of each kernel with "
             "unoptimized CPU code, to find code that was optimized wrongly, 0 "
             "for none (default 10)"),
    cl::value_desc("seconds"), cl::init(10), cl::cat(DeviceCategory));
static cl::opt<bool> NoRecord("no-record",
                              cl::desc("Run on the device without recording"),
                              cl::cat(RecordCategory));
static cl::opt<bool> AnyExecutable(
    "any-executable",
    cl::desc("Run an executable without kernels of its own, which loads or "
             "starts the instrumented code (mpirun, python)"),
    cl::cat(RecordCategory));
static cl::opt<bool> StopWhenRecorded(
    "stop-when-recorded",
    cl::desc("End the application once a launch of every selected kernel is "
             "recorded, or as many as --max-recordings gives"),
    cl::cat(SelectionCategory));
static cl::opt<std::string> ProfileFile(
    "profile",
    cl::desc("Time the launches instead of recording them, and print the "
             "kernels by their share of the time; the file receives JSON"),
    cl::value_desc("file"), cl::ValueOptional, cl::cat(RecordCategory));
static cl::opt<std::string>
    Cover("cover",
          cl::desc("Record only the kernels that together take this part of "
                   "the time, and of each its most expensive launches; the "
                   "application runs twice, first to time its launches"),
          cl::value_desc("percent"), cl::cat(SelectionCategory));
static cl::opt<std::string>
    FromProfile("from-profile",
                cl::desc("Take the times for --cover from a file of --profile; "
                         "the application runs once"),
                cl::value_desc("file"), cl::cat(SelectionCategory));
static cl::opt<bool> Quiet("quiet",
                           cl::desc("Print no summary, and no warnings but "
                                    "those of what is not recorded"),
                           cl::cat(RecordCategory));

//===----------------------------------------------------------------------===//
// Defaults from the environment
//===----------------------------------------------------------------------===//

// Values in environment variables are parsed here, because cl::opt's error
// messages refer to the command line.
static bool parse(StringRef, std::string &) { return true; }
static bool parse(StringRef Text, uint64_t &N) {
  return !Text.getAsInteger(10, N);
}
static bool parse(StringRef Text, double &N) { return to_float(Text, N); }
static bool parse(StringRef Text, bool &B) {
  B = Text == "1" || Text == "true";
  return B || Text == "0" || Text == "false";
}
static bool parse(StringRef Text, LaunchDevice &) {
  return DeviceKind.getParser().findOption(Text.str().c_str()) !=
         DeviceKind.getParser().getNumOptions();
}

/// Sets \p Option from \p Variable unless the command line sets it. An empty
/// variable is ignored.
template <typename T, typename ParserT>
static Error takeDefault(cl::opt<T, false, ParserT> &Option,
                         StringRef Variable) {
  std::optional<std::string> Text = sys::Process::GetEnv(Variable);
  if (Option.getNumOccurrences() || !Text || Text->empty())
    return Error::success();
  T Value;
  if (!parse(*Text, Value))
    return createStringError(Variable + "='" + *Text +
                             "' in the environment is not a value of --" +
                             Option.ArgStr);
  if constexpr (std::is_same_v<T, LaunchDevice>)
    Option.addOccurrence(0, Option.ArgStr, *Text);
  else if constexpr (std::is_same_v<T, std::string>)
    Option.setValue(*Text);
  else
    Option.setValue(Value);
  return Error::success();
}

static Error takeDefaults() {
#define DEFAULT(Option, Variable)                                              \
  if (Error E = takeDefault(Option, Variable))                                 \
    return E;
#include "RecordDefaults.def"
  return Error::success();
}

/// Rejects options that have no effect in combination with others.
static Error checkTogether() {
  const cl::Option *OfRecordings[] = {
      &KernelRegex, &Skip,  &Launches,   &MaxRecordings,    &RecordId,
      &Pick,        &Ranks, &Regions,    &Reachable,        &Epilogue,
      &MaxBytes,    &Wait,  &WaitLimit,  &StopWhenRecorded, &RequireIR,
      &Ipc,         &Cover, &FromProfile};
  const cl::Option *OfHost[] = {&Strategy, &Finish, std::addressof(IRFiles),
                                &Timeout, &CheckSeconds};
  auto Given = [](const cl::Option *O) { return O->getNumOccurrences() != 0; };
  if (auto It = find_if(OfRecordings, Given);
      Given(&NoRecord) && NoRecord && It != std::end(OfRecordings))
    return createStringError("--" + (*It)->ArgStr +
                             " and --no-record: nothing is recorded");
  if (Given(&ProfileFile)) {
    SmallVector<const cl::Option *> Moot(std::begin(OfRecordings),
                                         std::end(OfRecordings));
    Moot.append({&OutputDir, &NoRecord});
    if (auto It = find_if(Moot, Given); It != Moot.end())
      return createStringError(((*It)->ArgStr.size() == 1 ? "-" : "--") +
                               (*It)->ArgStr +
                               " and --profile: nothing is recorded");
  }
  if (Given(&FromProfile) && !Given(&Cover))
    return createStringError("--from-profile without --cover");
  if (auto It = find_if(OfHost, Given);
      (DeviceKind == LaunchDevice::Cuda || DeviceKind == LaunchDevice::Hip) &&
      It != std::end(OfHost))
    return createStringError(
        "--" + (*It)->ArgStr +
        " and --device=" + (DeviceKind == LaunchDevice::Hip ? "hip" : "cuda") +
        ": it is for the host device");
  if (StopWhenRecorded && !MaxRecordings)
    return createStringError("--stop-when-recorded and --max-recordings=0: "
                             "there is always more to record");
  if (StopWhenRecorded && Pick != "first")
    return createStringError(
        "--stop-when-recorded and --pick=" + Pick +
        ": the launches to keep are known only at the end");
  if (StopWhenRecorded && AnyExecutable)
    return createStringError(
        "--stop-when-recorded and --any-executable: the kernels are unknown");
  const cl::Option *OfGPUs[] = {&Wait, &WaitLimit, &Ipc};
  if (auto It = find_if(OfGPUs, Given);
      DeviceKind == LaunchDevice::Host && It != std::end(OfGPUs))
    return createStringError("--" + (*It)->ArgStr +
                             " and --device=host: it is for GPUs");
  return Error::success();
}

/// The runtime reads the address itself, and a wrong one would fail every
/// launch.
static Error checkArenaBase() {
  static constexpr StringLiteral Variable = MNEME_ENV_VA_BASE;
  static constexpr uint64_t Granule = 2 << 20, Lowest = 1ull << 32,
                            Highest = MNEME_ARENA_BASE;
  std::optional<std::string> Text = sys::Process::GetEnv(Variable);
  uint64_t Base;
  if (!Text || Text->empty() ||
      (to_integer(*Text, Base) && Base % Granule == 0 && Base >= Lowest &&
       Base <= Highest))
    return Error::success();
  return createStringError(
      formatv("{0}='{1}' in the environment: expected a multiple of {2:x} from "
              "{3:x} to {4:x}",
              Variable, *Text, Granule, Lowest, Highest)
          .str());
}

/// Returns the path of a library of the same build or install tree.
static std::string findLibrary(const char *Argv0, StringRef Name) {
  SmallString<128> Path(getInstallPrefix(Argv0));
  sys::path::append(Path, "lib", Name);
  return std::string(Path);
}

/// Parses the value of --cover.
static Expected<double> parsePart(StringRef Text) {
  double Percent = 0;
  StringRef Number = Text;
  Number.consume_back("%");
  if (to_float(Number, Percent) && Percent > 0 && Percent <= 100)
    return Percent / 100;
  return createStringError("--cover='" + Text +
                           "': expected a percentage above 0, up to 100");
}

/// Runs the application to time its launches. \returns its exit code.
static Expected<int> runProfile(LaunchOptions Options, Profile &P) {
  // Kernels on GPUs need not be compiled with MnemePass to be timed.
  Options.AnyExecutable |= Options.Device != LaunchDevice::Host;
  Options.TakeProfile = [&](Profile Taken) { P = std::move(Taken); };
  Options.CheckRecorded = nullptr;
  Expected<int> ExitCode = launchApplication(Options);
  if (ExitCode && !*ExitCode && P.Kernels.empty())
    return createStringError("no launch was timed");
  return ExitCode;
}

static std::string getText(const Profile &P) {
  return formatv("{0:2}\n", toJSON(P)).str();
}

/// Selects the launches that make up the part of the time that --cover gives.
/// \returns the profile's file.
static Expected<std::string> selectCovered(LaunchOptions &Options) {
  Expected<double> Part = parsePart(Cover);
  if (!Part)
    return Part.takeError();
  Profile P;
  std::string Text;
  if (!FromProfile.empty()) {
    if (Error E = readProfile(FromProfile, &Text).moveInto(P))
      return std::move(E);
  } else {
    int ExitCode = 0;
    if (Error E = runProfile(Options, P).moveInto(ExitCode))
      return std::move(E);
    Text = getText(P);
    if (ExitCode)
      return createStringError("the application ended with exit code " +
                               Twine(ExitCode) +
                               " while its launches were timed");
  }
  LaunchSelection &Which = Options.Selection;
  Which.Shapes = P.cover(*Part, Which.MaxRecordings, [&](StringRef Symbol) {
    return Which.selects(Symbol);
  });
  if (Which.Shapes.empty())
    return createStringError("--cover: no selected kernel is in the profile");
  return Text;
}

static Expected<int> profile(const LaunchOptions &Options) {
  Profile P;
  Expected<int> ExitCode = runProfile(Options, P);
  if (!ExitCode)
    return ExitCode;
  if (!ProfileFile.empty())
    if (Error E = writeFileAtomically(ProfileFile, getText(P)))
      return std::move(E);
  if (!Quiet)
    printProfile(P);
  return ExitCode;
}

Expected<int> llvm::mneme::runRecord(ToolArgs Args) {
  if (!is_contained(Args, StringRef("--")) && !Command.empty())
    return createStringError("unknown subcommand '" + Command.front() +
                             "' (an application comes after '--')");
  if (Command.empty())
    return createStringError("no application: give it after '--'");
  if (Error E = takeDefaults())
    return std::move(E);
  if (Error E = checkTogether())
    return std::move(E);
  if (Error E = checkArenaBase())
    return std::move(E);
  if (VASize < 1 || VASize > MNEME_ARENA_SIZE >> 30)
    return createStringError("--va-size=" + Twine(VASize) + ": expected 1 to " +
                             Twine(MNEME_ARENA_SIZE >> 30) + " GiB");
  if (!(Timeout >= 0) || std::isinf(Timeout))
    return createStringError(
        "--timeout: expected a number of seconds, 0 or more");
  if (!(WaitLimit >= 0) || std::isinf(WaitLimit))
    return createStringError(
        "--wait-limit: expected a number of seconds, 0 or more");
  if (!(CheckSeconds >= 0) || std::isinf(CheckSeconds))
    return createStringError(
        "--check-code: expected a number of seconds, 0 or more");
  if (OutputDir.getNumOccurrences() && OutputDir.empty())
    return createStringError("-o: expected the name of a folder");
  LaunchOptions Options;
  CompiledKernels Compiled;
  Options.Compiled = &Compiled; // --cover runs the application twice.
  Expected<HostStrategy> S = parseHostStrategy(Strategy);
  if (!S)
    return S.takeError();
  Expected<HostFinish> F = parseHostFinish(Finish);
  if (!F)
    return F.takeError();
  Options.Host = {*S, *F};
  for (const std::string &Path : IRFiles) {
    Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path);
    if (!File)
      return File.takeError();
    Options.IR.push_back(std::move(*File));
  }
  Options.Command.assign(Command.begin(), Command.end());
  // The default folder must belong to the user, because the user did not choose
  // it.
  Options.OwnOutputDir = OutputDir.empty();
  if (!OutputDir.empty())
    Options.OutputDir = OutputDir;
  Options.RuntimePath = findLibrary(Args.front(), "libmneme_rt.so");
  Options.CudaRuntimePath = findLibrary(Args.front(), "libmneme_rt_cuda.so");
  Options.HipRuntimePath = findLibrary(Args.front(), "libmneme_rt_hip.so");
  Options.DriverPath = findLibrary(Args.front(), "mneme/MnemeHostDriver.so");
  Options.ProfilerPath = findLibrary(Args.front(), "libmneme_profile_cuda.so");
  Options.Device = DeviceKind;
  Options.CudaNode = CudaNode;
  LaunchSelection &Which = Options.Selection;
  Which.KernelRegex = KernelRegex;
  Which.Skip = Skip;
  Which.Launches = Launches;
  Which.MaxRecordings = MaxRecordings;
  Which.RequireIR = RequireIR;
  Which.RecordId = RecordId;
  Which.Pick = Pick;
  Which.Epilogue = Epilogue;
  Which.MaxBytes = MaxBytes;
  Which.Ranks = Ranks;
  Which.RegionRegex = Regions.getNumOccurrences() && Regions.empty()
                          ? ".*"
                          : Regions.getValue();
  Which.Reachable = Reachable;
  Which.Ipc = Ipc;
  Which.Wait = Wait;
  Which.WaitLimit = WaitLimit;
  Options.VASize = VASize << 30;
  Options.TimeoutSeconds = Timeout;
  Options.Record = !NoRecord;
  Options.Quiet = Quiet;
  Options.AnyExecutable = AnyExecutable;
  if (StopWhenRecorded)
    Options.StopAfter =
        MaxRecordings.getNumOccurrences() ? MaxRecordings.getValue() : 1;
  if (sys::Process::StandardErrIsDisplayed())
    Options.ShowProgress = [](const Twine &Text) {
      errs() << "mneme: " << Text << '\n';
    };
  if (!Quiet)
    Options.Warn = printWarning;
  Options.ReportError = printError;
  if (ProfileFile.getNumOccurrences())
    return profile(Options);
  std::string Covered;
  if (Cover.getNumOccurrences())
    if (Error E = selectCovered(Options).moveInto(Covered))
      return std::move(E);
  if (!Quiet && CheckSeconds > 0 && *F != HostFinish::None)
    Options.CheckRecorded =
        [&](ArrayRef<std::pair<std::string, std::string>> Launches) {
          checkCode(Launches, Options.Host, CheckSeconds);
        };
  Options.PrintSummary = [](StringRef Text) { errs() << printableLines(Text); };
  Expected<int> ExitCode = launchApplication(Options);
  if (!Options.Record || !sys::fs::is_directory(Options.OutputDir))
    return ExitCode;
  // Tells readers of the recording what the launches weigh. That of an earlier
  // run does not describe what this one adds.
  std::string File = pathIn(Options.OutputDir, RecordedProfile);
  if (Covered.empty())
    sys::fs::remove(File);
  else if (Error E = writeFileAtomically(File, Covered))
    return joinErrors(ExitCode.takeError(), std::move(E));
  return ExitCode;
}
