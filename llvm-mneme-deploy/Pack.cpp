//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::PackCommand("pack",
                                  "Add the winners of studies to a package");

static cl::opt<std::string> Recordings(cl::Positional, cl::Required,
                                       cl::desc("<folder of recordings>"),
                                       cl::sub(PackCommand),
                                       cl::cat(CommandCategory));
static cl::list<std::string> Studies(cl::Positional, cl::OneOrMore,
                                     cl::desc("<best.json>..."),
                                     cl::sub(PackCommand),
                                     cl::cat(CommandCategory));
static cl::opt<std::string>
    PackOutput("o", cl::desc("Package to write, or to add to if it exists"),
               cl::value_desc("file"), cl::Required, cl::sub(PackCommand),
               cl::cat(CommandCategory));
static cl::opt<std::string> PackApp(
    "app",
    cl::desc("The application, if it is linked with -fgpu-rdc: its kernels "
             "can only be recognized by their device link"),
    cl::value_desc("file"), cl::sub(PackCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    Scope("scope",
          cl::desc("Launches to serve: recorded (with the recorded grid and "
                   "block, default), or kernel (all for which the code is "
                   "correct)"),
          cl::value_desc("recorded|kernel"), cl::init("recorded"),
          cl::sub(PackCommand), cl::cat(CommandCategory));
static cl::opt<std::string> PackShape(
    "launch-shape",
    cl::desc("Changed launches to pack: proven correct for all data (default), "
             "verified for the recorded shape and scalars, or unproven"),
    cl::value_desc("proven|verified|unproven"), cl::init("proven"),
    cl::sub(PackCommand), cl::cat(CommandCategory));
static cl::opt<std::string> Code(
    "code",
    cl::desc("Other sources and IR than the recorded ones to pack: proven to "
             "mean the same, tested on launches that were made for it, "
             "verified for launches like the recorded one (default), or "
             "unproven"),
    cl::value_desc("proven|tested|verified|unproven"), cl::init("verified"),
    cl::sub(PackCommand), cl::cat(CommandCategory));
static cl::opt<std::string>
    Accept("accept",
           cl::desc("Most lenient comparison of the results to pack: exact "
                    "(default), tolerance, envelope or unordered"),
           cl::value_desc("exact|tolerance|envelope|unordered"),
           cl::sub(PackCommand), cl::cat(CommandCategory));
static cl::opt<std::string> DeviceMatch(
    "device-match",
    cl::desc("GPUs to serve: those with the name of the measured one "
             "(default), or all that its code runs on"),
    cl::value_desc("name|arch"), cl::init("name"), cl::sub(PackCommand),
    cl::cat(CommandCategory));
static cl::opt<std::string>
    FinishName("host-finish",
               cl::desc("--host-finish of the study (default: that in "
                        "best.json)"),
               cl::value_desc("O3|O1|min|none"), cl::sub(PackCommand),
               cl::cat(CommandCategory));
static cl::opt<std::string>
    PackCuda("cuda-path", cl::desc("CUDA toolkit to take ptxas from"),
             cl::value_desc("dir"), cl::sub(PackCommand),
             cl::cat(CommandCategory));
static cl::opt<bool>
    AllowPrograms("allow-programs",
                  cl::desc("Permit best.json to name programs and other files"),
                  cl::sub(PackCommand), cl::cat(CommandCategory));

static Expected<PackOptions> readPackOptions() {
  PackOptions O;
  if (Error E = parseScope(Scope, O))
    return std::move(E);
  if (Error E = parseLaunchShape(PackShape, O))
    return std::move(E);
  if (Error E = parseCode(Code, O))
    return std::move(E);
  if (Error E = parseDeviceMatch(DeviceMatch, O))
    return std::move(E);
  if (!Accept.empty())
    if (Error E = parseAccept(Accept, O))
      return std::move(E);
  return O;
}

static Expected<PackagedKernel> packStudy(StringRef Path,
                                          const PackOptions &O) {
  Expected<BestFile> Best = readBestFile(Path);
  if (!Best)
    return Best.takeError();
  for (const InstanceWinner &Own :
       concat<const InstanceWinner>(Best->Common, Best->InstanceWinners))
    if (!AllowPrograms)
      if (Error E = refuseSideEffects(Path, findSideEffects(Own.Config)))
        return std::move(E);
  ReplayOptions Replay;
  Replay.CudaPath = PackCuda;
  // The default of a study.
  Replay.Host.Finish = HostFinish::None;
  if (Error E = applyResultOptions(Best->Options, Replay))
    return createFileError(Path, std::move(E));
  if (!FinishName.empty())
    if (Error E = parseHostFinish(FinishName).moveInto(Replay.Host.Finish))
      return std::move(E);
  std::string File = pathIn(Recordings, Best->StaticHash + ".json");
  if (!sys::fs::exists(File))
    return createStringError("'" + Recordings +
                             "' has no recording of kernel "
                             "'" +
                             Best->Kernel + "' (static hash " +
                             Best->StaticHash + "), which '" + Path +
                             "' tuned");
  std::vector<std::unique_ptr<ReplayPlan>> Plans;
  for (const std::string &Id : Best->RecordIds) {
    Replay.RecordId = Id;
    if (Error E =
            ReplayPlan::create(File, Replay).moveInto(Plans.emplace_back()))
      return std::move(E);
  }
  return packWinner(Plans, *Best, O, printNote);
}

Expected<int> mneme::runPack(ToolArgs) {
  Expected<PackOptions> O = readPackOptions();
  if (!O)
    return O.takeError();
  std::vector<PackagedKernel> Kernels;
  for (const std::string &Path : Studies) {
    Expected<PackagedKernel> K = packStudy(Path, *O);
    if (K) {
      Kernels.push_back(std::move(*K));
      continue;
    }
    if (Error E = handleErrors(K.takeError(), [&](const PackRefusal &No) {
          printNote("'" + Path + "' is not packed: " + No.message());
        }))
      return std::move(E);
  }
  if (Kernels.empty())
    return 2;
  size_t NumPacked = Kernels.size();
  Expected<size_t> NumKernels =
      addToPackage(PackOutput, std::move(Kernels), PackApp);
  if (!NumKernels)
    return NumKernels.takeError();
  textOuts() << "packed " << formatCount(NumPacked, "kernel") << "; "
             << PackOutput << " has " << formatCount(*NumKernels, "kernel")
             << '\n';
  return NumPacked == Studies.size() ? 0 : 2;
}
