//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Serve/Serve.h"
#include "Modes.h"
#include "llvm/Mneme/Dialect/Import.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Support/FormatVariadic.h"
#include <csignal>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

cl::SubCommand &mneme::getServeCommand() {
  static cl::SubCommand Command(
      "serve", "Evaluate configurations for another program, such as the "
               "Python package");
  return Command;
}

static cl::OptionCategory &Cat = getReplayCategory();

static cl::opt<std::string>
    Listen("listen",
           cl::desc("Serve clients of this Unix socket instead of standard "
                    "input and output"),
           cl::value_desc("unix:path"), cl::sub(getServeCommand()),
           cl::cat(Cat));
static cl::opt<bool>
    Describe("describe",
             cl::desc("Print settings, metrics and samplers as JSON and exit"),
             cl::sub(getServeCommand()), cl::cat(Cat));
static cl::opt<double>
    CompileTimeout("compile-timeout",
                   cl::desc("Time limit for compiling a candidate (default "
                            "60); 0: none"),
                   cl::value_desc("seconds"), cl::init(60),
                   cl::sub(getServeCommand()), cl::cat(Cat));
static cl::opt<uint64_t>
    CompileMemory("compile-memory",
                  cl::desc("Memory limit of a compile process; 0: none. "
                           "Default: an equal share of the machine's memory"),
                  cl::value_desc("MiB"), cl::sub(getServeCommand()),
                  cl::cat(Cat));
bool mneme::isServeDescribed() { return Describe; }

Expected<int> mneme::printServeTables() {
  jsonOuts() << formatv("{0:2}\n", json::Value(describeTables()));
  return 0;
}

static Error readSocket(std::string &Path) {
  if (Listen.empty())
    return Error::success();
  StringRef Text = Listen;
  if (!Text.consume_front("unix:") || Text.empty())
    return createStringError(
        formatv("invalid --listen={0}: expected unix:path", Listen.getValue())
            .str());
  Path = Text.str();
  return Error::success();
}

static Expected<Study> parseServedStudy(StringRef Text) {
  return parseStudy(Text, "study");
}

Expected<int> mneme::runServe(StringRef Database, ReplayOptions Replay) {
  ServeOptions O;
  if (Error E = readSocket(O.Listen))
    return std::move(E);
  if (O.Listen.empty() && ::isatty(STDIN_FILENO))
    return createStringError(
        "serve talks to a program over standard input and output, which are a "
        "terminal here; see --listen");
  O.Farm.Database = Database.str();
  if (!Replay.RecordId.empty())
    for (StringRef Id : split(Replay.RecordId, ','))
      O.Farm.RecordIds.push_back(Id.str());
  for (StringRef Name : split(Replay.Device, ','))
    O.Farm.Devices.push_back(Name.str());
  if (Error E = readProcessCounts(O.Farm))
    return std::move(E);
  O.Farm.CompileTimeout = CompileTimeout;
  O.Farm.LaunchTimeout = Replay.LaunchTimeout.value_or(0);
  if (CompileMemory.getNumOccurrences())
    O.Farm.CompileMemory = CompileMemory << 20;
  O.Farm.Base = std::move(Replay);
  O.ParseStudy = parseServedStudy;
  O.GetPreset = getPreset;
  O.Message = [](StringRef Text) { printWarning(Text); };
  // An interrupt from the terminal is the client's.
  std::signal(SIGINT, SIG_IGN);
  if (Error E = runServer(std::move(O)))
    return std::move(E);
  return 0;
}
