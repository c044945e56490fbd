//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The main function of llvm-mneme-tune, which searches for a configuration
/// under which a recorded kernel is faster.
///
//===----------------------------------------------------------------------===//

#include "Tune.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/CommandHelp.h"
#include "llvm/Mneme/Support/Printable.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/WithColor.h"
#include <csignal>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral ToolName = "llvm-mneme-tune";

void mneme::printWarning(const Twine &Text) {
  WithColor::warning(errs(), ToolName) << printableLines(Text.str()) << '\n';
}

void mneme::printNote(const Twine &Text) {
  WithColor::note(errs(), ToolName) << printableLines(Text.str()) << '\n';
}

static Error runWorker(const TuneOptions &O) {
  FarmWorkerOptions W;
  static_cast<FarmResources &>(W) = O.Resources;
  W.Own = O.Replay;
  return runFarmWorker(std::move(W));
}

static Expected<int> run(StringRef ToolPath) {
  Expected<TuneOptions> O = readOptions(ToolPath);
  if (!O)
    return O.takeError();
  switch (O->Mode) {
  case TuneMode::ListSamplers:
    listSamplers(outs());
    return 0;
  case TuneMode::ListExports:
    listExports(outs());
    return 0;
  case TuneMode::ListDevices:
    listDevices(outs());
    return 0;
  case TuneMode::ListPresets:
    if (Error E = printPresets(outs()))
      return std::move(E);
    return 0;
  case TuneMode::Worker:
    if (Error E = runWorker(*O))
      return std::move(E);
    return 0;
  default:
    if (O->AllKernels)
      return tuneAllKernels(std::move(*O));
    Expected<StudyResult> R = runStudy(std::move(*O));
    if (!R)
      return R.takeError();
    return R->ExitCode;
  }
}

int main(int argc, char **argv) {
  InitLLVM X(argc, argv);
  mneme::prepareSignals();
  mneme::reportLostOutput();
  // Files opened later must not get the descriptors of standard streams.
  if (sys::Process::FixupStandardFileDescriptors())
    return 1;
  // Make writes beyond `ulimit -f` fail with an ordinary error.
  std::signal(SIGXFSZ, SIG_IGN);
  registerOptions();
  addHelp(argc, argv);
  cl::AddExtraVersionPrinter(mneme::printVersion);
  SmallVector<const char *, 0> Arguments(argv, argv + argc);
  takeApplication(Arguments);
  parseCommandLine(
      Arguments.size(), Arguments.data(),
      "Mneme: tune a recorded kernel: pipelines, flags, launches\n");
  Expected<int> Status = run(sys::fs::getMainExecutable(
      argv[0], reinterpret_cast<void *>(&printWarning)));
  if (Status)
    return *Status;
  Error E = Status.takeError();
  int ExitCode = E.isA<BaselineError>() ? 2 : 1;
  WithColor::error(errs(), ToolName)
      << printableLines(toString(std::move(E))) << '\n';
  return ExitCode;
}
