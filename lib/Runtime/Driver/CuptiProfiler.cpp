//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/CuptiProfiler.h"

#include <dlfcn.h>
#include <type_traits>

using namespace cupti;

bool RangeProfilerFunctions::load(std::string &Error) {
  void *Library = openCupti();
  if (!Library) {
    Error = describeMissingCupti();
    return false;
  }
  const char *Missing = nullptr;
  auto Find = [&](auto &Function, const char *Symbol) {
    Function = reinterpret_cast<std::decay_t<decltype(Function)>>(
        dlsym(Library, Symbol));
    if (!Function && !Missing)
      Missing = Symbol;
  };
  Find(Initialize, "cuptiProfilerInitialize");
  Find(GetChipName, "cuptiDeviceGetChipName");
  Find(GetAvailability, "cuptiProfilerGetCounterAvailability");
  Find(HostInitialize, "cuptiProfilerHostInitialize");
  Find(HostDeinitialize, "cuptiProfilerHostDeinitialize");
  Find(HostAddMetrics, "cuptiProfilerHostConfigAddMetrics");
  Find(HostGetConfigSize, "cuptiProfilerHostGetConfigImageSize");
  Find(HostGetConfig, "cuptiProfilerHostGetConfigImage");
  Find(HostGetNumPasses, "cuptiProfilerHostGetNumOfPasses");
  Find(HostEvaluate, "cuptiProfilerHostEvaluateToGpuValues");
  Find(Enable, "cuptiRangeProfilerEnable");
  Find(Disable, "cuptiRangeProfilerDisable");
  Find(GetDataSize, "cuptiRangeProfilerGetCounterDataSize");
  Find(InitializeData, "cuptiRangeProfilerCounterDataImageInitialize");
  Find(SetConfig, "cuptiRangeProfilerSetConfig");
  Find(Start, "cuptiRangeProfilerStart");
  Find(Stop, "cuptiRangeProfilerStop");
  Find(PushRange, "cuptiRangeProfilerPushRange");
  Find(PopRange, "cuptiRangeProfilerPopRange");
  Find(Decode, "cuptiRangeProfilerDecodeData");
  Find(GetResultString, "cuptiGetResultString");
  if (Missing)
    Error = std::string("CUPTI has no ") + Missing +
            ": counters need CUPTI of CUDA 12.6 or later";
  return !Missing;
}

std::string RangeProfilerFunctions::describe(CUptiResult R) const {
  const char *Text = nullptr;
  if (GetResultString(R, &Text) || !Text)
    return "CUPTI error " + std::to_string(R);
  return Text;
}
