//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Prove.h"
#include "Commands.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::ProveCommand(
    "prove", "Compare and time an application with and without packages");

static cl::list<std::string>
    Words(cl::Positional, cl::desc("<package>... -- application arguments..."),
          cl::sub(ProveCommand), cl::cat(CommandCategory));
static cl::opt<LaunchDevice> DeviceKind(
    "device", cl::desc("Device that the kernels run on"),
    cl::values(clEnumValN(LaunchDevice::Auto, "auto",
                          "a GPU when there is one, else the host (default)"),
               clEnumValN(LaunchDevice::Host, "host", "this machine's CPU"),
               clEnumValN(LaunchDevice::Cuda, "cuda", "an NVIDIA GPU")),
    cl::init(LaunchDevice::Auto), cl::sub(ProveCommand),
    cl::cat(CommandCategory));
static cl::list<std::string>
    OutputFiles("output-file",
                cl::desc("File that the application writes, to be compared, "
                         "too; may be repeated"),
                cl::value_desc("file"), cl::sub(ProveCommand),
                cl::cat(CommandCategory));
static cl::opt<std::string>
    Check("check",
          cl::desc("Command that judges two runs instead: exit code 0 if their "
                   "results are the same"),
          cl::value_desc("command"), cl::sub(ProveCommand),
          cl::cat(CommandCategory));
static cl::opt<unsigned>
    Runs("runs",
         cl::desc("Pairs of runs for the application's time (default 10)"),
         cl::value_desc("n"), cl::init(10), cl::sub(ProveCommand),
         cl::cat(CommandCategory));
static cl::opt<unsigned> KernelRuns(
    "kernel-runs",
    cl::desc("Further pairs of runs, for the times of kernels (default 3); 0: "
             "none"),
    cl::value_desc("n"), cl::init(3), cl::sub(ProveCommand),
    cl::cat(CommandCategory));
static cl::opt<double>
    Limit("limit",
          cl::desc("Begin no more pairs after this time (default 300); 0: no "
                   "limit"),
          cl::value_desc("seconds"), cl::init(300), cl::sub(ProveCommand),
          cl::cat(CommandCategory));
static cl::opt<double>
    Timeout("timeout",
            cl::desc("Limit of each run (default 600); 0: no limit. Runs with "
                     "packages may take ten times as long as those without"),
            cl::value_desc("seconds"), cl::init(600), cl::sub(ProveCommand),
            cl::cat(CommandCategory));
static cl::opt<std::string>
    Scope("scope",
          cl::desc("Launches to serve: recorded or kernel (default recorded)"),
          cl::value_desc("which"), cl::sub(ProveCommand),
          cl::cat(CommandCategory));
static cl::opt<std::string>
    LaunchShape("launch-shape",
                cl::desc("Changed launch shapes to admit: proven, verified or "
                         "unproven (default proven)"),
                cl::value_desc("grade"), cl::sub(ProveCommand),
                cl::cat(CommandCategory));
namespace {
enum class OutputFormat { Text, JSON };
} // namespace
static cl::opt<OutputFormat>
    Format("format", cl::desc("Output format"),
           cl::values(clEnumValN(OutputFormat::Text, "text", "for humans"),
                      clEnumValN(OutputFormat::JSON, "json", "for programs")),
           cl::init(OutputFormat::Text), cl::sub(ProveCommand),
           cl::cat(CommandCategory));

static Expected<ProveOptions> readProveOptions(int Argc, char **Argv) {
  ProveOptions O;
  // All words behind the separator are the application's.
  ArrayRef<char *> Arguments(Argv, Argc);
  auto Separator =
      find_if(Arguments, [](StringRef Word) { return Word == "--"; });
  size_t NumCommand =
      Separator == Arguments.end() ? 0 : Arguments.end() - Separator - 1;
  if (!NumCommand)
    return createStringError("no application: give it after '--'");
  ArrayRef<std::string> All = Words;
  O.App.Command = All.take_back(NumCommand).vec();
  for (const std::string &Package : All.drop_back(NumCommand)) {
    SmallString<128> Path(Package);
    sys::fs::make_absolute(Path);
    if (StringRef(Path).contains(':'))
      return createFileError(
          Package, createStringError("a package's path cannot contain ':'"));
    O.Packages.push_back(std::string(Path));
  }
  if (O.Packages.empty())
    return createStringError("no package: give it before '--'");
  PackOptions Values; // Checks the words.
  if (!Scope.empty())
    if (Error E = parseScope(Scope, Values))
      return std::move(E);
  if (!LaunchShape.empty())
    if (Error E = parseLaunchShape(LaunchShape, Values))
      return std::move(E);
  if (Runs == 0)
    return createStringError("impossible --runs=0");
  O.Scope = Scope;
  O.LaunchShape = LaunchShape;
  O.Pairs = Runs;
  O.KernelPairs = KernelRuns;
  O.Limit = Limit;
  O.App.OutputFiles = OutputFiles;
  O.App.Check = Check;
  O.App.Device = DeviceKind;
  O.App.Timeout = Timeout;
  O.App.LibraryPath = getLibraryFolder(Argv[0]);
  if (sys::Process::StandardErrIsDisplayed())
    O.Say = [](const Twine &Text) { printNote(Text); };
  return O;
}

Expected<int> mneme::runProve(int Argc, char **Argv) {
  Expected<ProveOptions> O = readProveOptions(Argc, Argv);
  if (!O)
    return O.takeError();
  Expected<Proof> P = prove(*O);
  if (!P)
    return P.takeError();
  if (Format == OutputFormat::JSON)
    jsonOuts() << formatv("{0:2}\n", toJSON(*P));
  else
    printProof(textOuts(), *P);
  return P->holds() ? 0 : 2;
}
