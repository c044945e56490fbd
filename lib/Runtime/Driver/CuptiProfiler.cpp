//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/CuptiProfiler.h"

#include <dlfcn.h>

using namespace cupti;

namespace {
/// Finds functions of CUPTI.
class Finder {
public:
  explicit Finder(std::string &Error) : Error(Error), Library(openCupti()) {
    if (!Library)
      Error = describeMissingCupti();
  }

  template <typename T> void find(T &Function, const char *Symbol) {
    Function = Library ? reinterpret_cast<T>(dlsym(Library, Symbol)) : nullptr;
    if (Library && !Function && Error.empty())
      Error = std::string("CUPTI has no ") + Symbol +
              ": this needs CUPTI of CUDA 12.6 or later";
  }

private:
  std::string &Error;
  void *Library;
};
} // namespace

bool RangeProfilerFunctions::load(std::string &Error) {
  Finder F(Error);
  F.find(Initialize, "cuptiProfilerInitialize");
  F.find(GetChipName, "cuptiDeviceGetChipName");
  F.find(GetAvailability, "cuptiProfilerGetCounterAvailability");
  F.find(HostInitialize, "cuptiProfilerHostInitialize");
  F.find(HostDeinitialize, "cuptiProfilerHostDeinitialize");
  F.find(HostAddMetrics, "cuptiProfilerHostConfigAddMetrics");
  F.find(HostGetConfigSize, "cuptiProfilerHostGetConfigImageSize");
  F.find(HostGetConfig, "cuptiProfilerHostGetConfigImage");
  F.find(HostGetNumPasses, "cuptiProfilerHostGetNumOfPasses");
  F.find(HostEvaluate, "cuptiProfilerHostEvaluateToGpuValues");
  F.find(Enable, "cuptiRangeProfilerEnable");
  F.find(Disable, "cuptiRangeProfilerDisable");
  F.find(GetDataSize, "cuptiRangeProfilerGetCounterDataSize");
  F.find(InitializeData, "cuptiRangeProfilerCounterDataImageInitialize");
  F.find(SetConfig, "cuptiRangeProfilerSetConfig");
  F.find(Start, "cuptiRangeProfilerStart");
  F.find(Stop, "cuptiRangeProfilerStop");
  F.find(PushRange, "cuptiRangeProfilerPushRange");
  F.find(PopRange, "cuptiRangeProfilerPopRange");
  F.find(Decode, "cuptiRangeProfilerDecodeData");
  F.find(GetResultString, "cuptiGetResultString");
  return Error.empty();
}

bool SamplingFunctions::load(std::string &Error) {
  Finder F(Error);
  F.find(Enable, "cuptiPCSamplingEnable");
  F.find(Disable, "cuptiPCSamplingDisable");
  F.find(GetNumStallReasons, "cuptiPCSamplingGetNumStallReasons");
  F.find(GetStallReasons, "cuptiPCSamplingGetStallReasons");
  F.find(Configure, "cuptiPCSamplingSetConfigurationAttribute");
  F.find(Start, "cuptiPCSamplingStart");
  F.find(Stop, "cuptiPCSamplingStop");
  F.find(GetData, "cuptiPCSamplingGetData");
  F.find(GetSourceLine, "cuptiGetSassToSourceCorrelation");
  F.find(GetImageCRC, "cuptiGetCubinCrc");
  F.find(GetResultString, "cuptiGetResultString");
  return Error.empty();
}

std::string cupti::describe(CUptiResult R,
                            CUptiResult (*GetResultString)(CUptiResult,
                                                           const char **)) {
  const char *Text = nullptr;
  if (GetResultString(R, &Text) || !Text)
    return "CUPTI error " + std::to_string(R);
  return Text;
}
