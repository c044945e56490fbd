//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/Prove.h"
#include "Commands.h"
#include "RunFlags.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand mneme::ProveCommand(
    "prove", "Compare and time an application with and without packages");

static RunFlags Flags(ProveCommand);
static cl::list<std::string>
    OutputFiles("output-file",
                cl::desc("File that the application writes, to be compared, "
                         "too; may be repeated"),
                cl::value_desc("file"), cl::sub(ProveCommand),
                cl::cat(CommandCategory));
static cl::opt<std::string>
    Check("check",
          cl::desc("Command that compares two runs; exit code 0: same results"),
          cl::value_desc("command"), cl::sub(ProveCommand),
          cl::cat(CommandCategory));
static cl::opt<std::string> IgnoreLines(
    "ignore-lines",
    cl::desc("Lines of standard output and of output files that are not "
             "compared (POSIX extended regular expression)"),
    cl::value_desc("regex"), cl::sub(ProveCommand), cl::cat(CommandCategory));
static cl::opt<unsigned>
    Runs("runs",
         cl::desc("Pairs of runs for the application's time (default 10)"),
         cl::value_desc("n"), cl::init(10), cl::sub(ProveCommand),
         cl::cat(CommandCategory));
static cl::opt<unsigned> KernelRuns(
    "kernel-runs",
    cl::desc("Further pairs of runs, for the times of kernels (default 6); 0: "
             "none"),
    cl::value_desc("n"), cl::init(6), cl::sub(ProveCommand),
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
                     "packages may take ten times as long as those without, "
                     "and ten seconds more"),
            cl::value_desc("seconds"), cl::init(600), cl::sub(ProveCommand),
            cl::cat(CommandCategory));
static cl::opt<std::string> ProveFinish(
    "host-finish",
    cl::desc("--host-finish of the application's own kernels on the "
             "host device (default: that of the studies)"),
    cl::value_desc("O3|O1|min|none"), cl::sub(ProveCommand),
    cl::cat(CommandCategory));
static FormatOption Format(ProveCommand);

static Expected<ProveOptions> readProveOptions(ToolArgs Args) {
  Expected<RunFlags::Values> V = Flags.read(Args);
  if (!V)
    return V.takeError();
  if (Runs == 0)
    return createStringError("impossible --runs=0");
  if (Error E = checkSeconds("limit", Limit))
    return std::move(E);
  if (Error E = checkSeconds("timeout", Timeout))
    return std::move(E);
  for (auto I = V->Packages.begin(); I != V->Packages.end(); ++I)
    if (is_contained(make_range(V->Packages.begin(), I), *I))
      return createStringError("package '" + *I + "' is given twice");
  ProveOptions O;
  if (!ProveFinish.empty()) {
    Expected<HostFinish> Finish = parseHostFinish(ProveFinish);
    if (!Finish)
      return Finish.takeError();
    O.Finish = *Finish;
  }
  O.App.Command = std::move(V->Command);
  O.App.Device = V->Device;
  O.Packages = std::move(V->Packages);
  O.Serve = std::move(V->Serve);
  O.Pairs = Runs;
  O.KernelPairs = KernelRuns;
  O.Limit = Limit;
  O.App.OutputFiles = OutputFiles;
  O.App.Check = Check;
  O.App.IgnoreLines = IgnoreLines;
  O.App.Timeout = Timeout;
  O.App.LibraryPath = getLibraryFolder(Args.front());
  if (sys::Process::StandardErrIsDisplayed())
    O.Say = [](const Twine &Text) { printNote(Text); };
  return O;
}

Expected<int> mneme::runProve(ToolArgs Args) {
  Expected<ProveOptions> O = readProveOptions(Args);
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
