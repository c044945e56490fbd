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
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static cl::list<std::string> Command(cl::Positional,
                                     cl::desc("application and its arguments"),
                                     cl::cat(RecordCategory));
static cl::opt<std::string>
    OutputDir("o", cl::desc("Folder of the recordings, made when missing"),
              cl::value_desc("dir"), cl::init("mneme-recordings"),
              cl::cat(RecordCategory));
static cl::alias OutputDirAlias("rdb", cl::desc("Alias for -o"),
                                cl::aliasopt(OutputDir),
                                cl::cat(RecordCategory));
static cl::opt<std::string> KernelRegex(
    "kernel",
    cl::desc("Record only kernels whose symbol or demangled name matches this "
             "POSIX extended regular expression"),
    cl::value_desc("regex"), cl::cat(RecordCategory));
static cl::opt<uint64_t>
    Skip("skip", cl::desc("Do not record the first n launches of each kernel"),
         cl::value_desc("n"), cl::init(0), cl::cat(RecordCategory));
static cl::opt<uint64_t> MaxRecordings(
    "max-recordings",
    cl::desc("Record at most n launches of each kernel, 0 for all (default 4); "
             "launches that differ in nothing but data count once"),
    cl::value_desc("n"), cl::init(4), cl::cat(RecordCategory));
static cl::alias MaxRecordingsAlias("mr",
                                    cl::desc("Alias for --max-recordings"),
                                    cl::aliasopt(MaxRecordings),
                                    cl::cat(RecordCategory));
static cl::opt<uint64_t>
    VASize("va-size",
           cl::desc("GiB of addresses to reserve for device memory, 1 to 512 "
                    "(default 512); nothing is allocated up front"),
           cl::value_desc("GiB"), cl::init(MNEME_ARENA_SIZE >> 30),
           cl::cat(RecordCategory));
static cl::alias VASizeAlias("vass", cl::desc("Alias for --va-size"),
                             cl::aliasopt(VASize), cl::cat(RecordCategory));
static cl::opt<LaunchDevice> DeviceKind(
    "device", cl::desc("Device that the kernels run on"),
    cl::values(clEnumValN(LaunchDevice::Auto, "auto",
                          "a GPU when there is one, else the host (default)"),
               clEnumValN(LaunchDevice::Host, "host", "this machine's CPU"),
               clEnumValN(LaunchDevice::Cuda, "cuda", "an NVIDIA GPU")),
    cl::init(LaunchDevice::Auto), cl::cat(RecordCategory));
static cl::opt<std::string>
    CudaNode("cuda-node",
             cl::desc("File that exists where there is an NVIDIA GPU"),
             cl::value_desc("file"), cl::init("/dev/nvidiactl"), cl::Hidden,
             cl::cat(RecordCategory));
static cl::opt<std::string> Strategy(
    "host-strategy",
    cl::desc("How the host device runs a block's threads: auto, loop, region, "
             "coroutine or fiber (default: $MNEME_HOST_STRATEGY, then auto)"),
    cl::value_desc("strategy"), cl::cat(RecordCategory));
static cl::opt<std::string> Finish(
    "host-finish",
    cl::desc("How much the CPU pipeline may still optimize on the host device: "
             "O3, O1, min or none (default: $MNEME_HOST_FINISH, then O3)"),
    cl::value_desc("finish"), cl::cat(RecordCategory));
static cl::opt<double>
    Timeout("timeout",
            cl::desc("End a launch that runs longer, 0 for never (default 0)"),
            cl::value_desc("seconds"), cl::init(0), cl::cat(RecordCategory));
static cl::opt<bool> NoRecord("no-record",
                              cl::desc("Only run on the device, store nothing"),
                              cl::cat(RecordCategory));
static cl::opt<bool> AnyExecutable(
    "any-executable",
    cl::desc("Run an executable in which no kernels are found: it loads or "
             "starts the instrumented code itself (mpirun, python)"),
    cl::cat(RecordCategory));
static cl::opt<bool> Quiet("quiet",
                           cl::desc("Print no warnings and no summary"),
                           cl::cat(RecordCategory));

/// \p Option, else the environment's \p Variable, else \p Default.
static std::string choose(const cl::opt<std::string> &Option,
                          const char *Variable, const char *Default) {
  if (Option.getNumOccurrences())
    return Option;
  return sys::Process::GetEnv(Variable).value_or(Default);
}

/// A library of the same build or install tree.
static std::string findLibrary(const char *Argv0, StringRef Name) {
  SmallString<128> Path(
      sys::path::parent_path(sys::path::parent_path(sys::fs::getMainExecutable(
          Argv0, reinterpret_cast<void *>(findLibrary)))));
  sys::path::append(Path, "lib", Name);
  return std::string(Path);
}

Expected<int> mneme::runRecord(const char *Argv0, bool HasSeparator) {
  if (!HasSeparator && !Command.empty())
    return createStringError("unknown subcommand '" + Command.front() +
                             "' (an application comes after '--')");
  if (Command.empty())
    return createStringError("no application: give it after '--'");
  if (VASize < 1 || VASize > MNEME_ARENA_SIZE >> 30)
    return createStringError("--va-size=" + Twine(VASize) + ": expected 1 to " +
                             Twine(MNEME_ARENA_SIZE >> 30) + " GiB");
  if (!(Timeout >= 0) || std::isinf(Timeout))
    return createStringError("--timeout: expected seconds from 0 up");
  if (OutputDir.empty())
    return createStringError("-o: expected the name of a folder");
  LaunchOptions Options;
  Expected<HostStrategy> S =
      parseHostStrategy(choose(Strategy, "MNEME_HOST_STRATEGY", "auto"));
  if (!S)
    return S.takeError();
  Expected<HostFinish> F =
      parseHostFinish(choose(Finish, "MNEME_HOST_FINISH", "O3"));
  if (!F)
    return F.takeError();
  Options.Host = {*S, *F};
  Options.Command.assign(Command.begin(), Command.end());
  Options.OutputDir = OutputDir;
  Options.RuntimePath = findLibrary(Argv0, "libmneme_rt.so");
  Options.CudaRuntimePath = findLibrary(Argv0, "libmneme_rt_cuda.so");
  Options.Device = DeviceKind;
  Options.CudaNode = CudaNode;
  Options.KernelRegex = KernelRegex;
  Options.Skip = Skip;
  Options.MaxRecordings = MaxRecordings;
  Options.VASize = VASize << 30;
  Options.TimeoutSeconds = Timeout;
  Options.Record = !NoRecord;
  Options.Quiet = Quiet;
  Options.AnyExecutable = AnyExecutable;
  return launchApplication(Options);
}
