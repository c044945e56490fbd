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
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Support/FileSystem.h"

using namespace llvm;
using namespace llvm::mneme;

static Error runWorker(const TuneOptions &O) {
  FarmWorkerOptions W;
  static_cast<FarmResources &>(W) = O.Resources;
  W.Own = O.Replay;
  return runFarmWorker(std::move(W));
}

static Expected<int> run(ToolArgs Args) {
  Expected<TuneOptions> O = readOptions(
      sys::fs::getMainExecutable(Args.front(), reinterpret_cast<void *>(&run)));
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
  Tool T = {"llvm-mneme-tune",
            "Mneme: tune a recorded kernel: pipelines, flags, launches\n",
            getHelp()};
  T.Categories = registerOptions();
  T.Prepare = [](SmallVectorImpl<const char *> &Args) -> Error {
    takeApplication(Args);
    return Error::success();
  };
  T.Run = run;
  T.GetExitCode = [](const Error &E) { return E.isA<BaselineError>() ? 2 : 1; };
  return runTool(argc, argv, T);
}
