//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The JIT's compile server. Applications start it; there is seldom a reason to
/// do so by hand.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Jit/JitServer.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/WithColor.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

static cl::OptionCategory Category("Options");
static cl::opt<std::string> Socket("socket", cl::Required,
                                   cl::desc("Path of the Unix socket"),
                                   cl::value_desc("path"), cl::cat(Category));
static cl::opt<std::string>
    Program("program", cl::desc("Path by which clients know this program"),
            cl::value_desc("path"), cl::cat(Category));
static cl::opt<unsigned>
    Jobs("jobs", cl::desc("Compilations at a time (default: one per core)"),
         cl::value_desc("number"), cl::cat(Category));
static cl::opt<double>
    Idle("idle", cl::init(60),
         cl::desc("Seconds without work after which the server ends"),
         cl::value_desc("seconds"), cl::cat(Category));
static cl::opt<double> TimeLimit("time-limit", cl::init(600),
                                 cl::desc("Time limit of a compilation"),
                                 cl::value_desc("seconds"), cl::cat(Category));
static cl::opt<int>
    ReadyFD("ready-fd", cl::init(-1),
            cl::desc("Descriptor that gets a byte once a server listens"),
            cl::value_desc("number"), cl::cat(Category));

static constexpr CommandHelp Help[] = {
    {"", "llvm-mneme-jitd --socket=/tmp/jit.sock --idle=600\n",
     "0    idle for --idle seconds, SIGTERM, or another server has the socket\n"
     "1    error\n"}};

int main(int Argc, char **Argv) {
  InitLLVM X(Argc, Argv);
  mneme::reportLostOutput();
  addCommandHelp(Help, Argc, Argv);
  cl::SetVersionPrinter(printVersion);
  cl::HideUnrelatedOptions(Category);
  parseCommandLine(Argc, Argv,
                   "compiles kernels and functions of running applications\n");
  prepareSignals();
  initializeTargets();
  JitServerOptions Options;
  Options.Socket = Socket;
  Options.Program = Program.empty() ? "/proc/self/exe" : std::string(Program);
  Options.Jobs = Jobs;
  Options.IdleSeconds = Idle;
  Options.CompileSeconds = TimeLimit;
  Options.ReadyFD = ReadyFD;
  if (Error E = runJitServer(Options)) {
    WithColor::error(errs(), "llvm-mneme-jitd")
        << toString(std::move(E)) << '\n';
    return 1;
  }
  return 0;
}
