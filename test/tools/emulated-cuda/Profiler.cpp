//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// CUPTI's activity API as far as a profile uses it: launches that have run,
// with their times by the host's clock.
//
//===----------------------------------------------------------------------===//

#include "Emulator.h"
#include "llvm/Mneme/Runtime/Cupti.h"
#include <cstring>
#include <dlfcn.h>
#include <mutex>

using namespace cupti;
using namespace emulated;

namespace {
struct Profiler {
  std::mutex Lock;
  BufferRequested Request = nullptr;
  BufferCompleted Complete = nullptr;
  bool IsEnabled = false;
  uint8_t *Buffer = nullptr;
  size_t Size = 0, Used = 0;

  void giveBack() {
    if (uint8_t *Full = std::exchange(Buffer, nullptr))
      Complete(nullptr, 0, Full, Size, std::exchange(Used, 0));
  }
  void add(const ActivityKernel &K) {
    if (Buffer && Size - Used < sizeof(K))
      giveBack();
    size_t Max = 0;
    if (!Buffer)
      Request(&Buffer, &Size, &Max);
    if (!Buffer)
      return;
    memcpy(Buffer + Used, &K, sizeof(K));
    Used += sizeof(K);
  }
};
} // namespace

static Profiler &profiler() {
  static Profiler &P = *new Profiler;
  return P;
}

void emulated::startProfiler() {
  static std::once_flag Once;
  std::call_once(Once, [] {
    const char *Path = getenv("CUDA_INJECTION64_PATH");
    void *Library = Path ? dlopen(Path, RTLD_NOW) : nullptr;
    if (!Library)
      return;
    if (void *Start = dlsym(Library, "InitializeInjection"))
      reinterpret_cast<int (*)()>(Start)();
  });
}

void emulated::noteLaunch(const Function &F,
                          const llvm::mneme::LaunchConfig &Config,
                          uint64_t Start, uint64_t End) {
  Profiler &P = profiler();
  std::lock_guard<std::mutex> Guard(P.Lock);
  if (!P.IsEnabled)
    return;
  ActivityKernel K = {};
  K.Kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  K.Registers = uint16_t(F.Registers);
  K.Start = Start;
  K.End = End;
  for (unsigned I = 0; I != 3; ++I) {
    K.Grid[I] = int32_t(Config.Grid[I]);
    K.Block[I] = int32_t(Config.Block[I]);
  }
  K.StaticShared = int32_t(F.StaticShared);
  K.DynamicShared = int32_t(Config.DynamicShared);
  K.LocalPerThread = uint32_t(F.Local);
  K.Name = F.Name.c_str();
  P.add(K);
}

extern "C" {
int cuptiActivityRegisterCallbacks(BufferRequested Request,
                                   BufferCompleted Complete) {
  if (getenv("MNEME_EMULATED_NO_CUPTI"))
    return 35; // CUPTI_ERROR_INSUFFICIENT_PRIVILEGES
  profiler().Request = Request;
  profiler().Complete = Complete;
  return 0;
}

int cuptiActivityEnable(int Kind) {
  profiler().IsEnabled |= Kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  return 0;
}

int cuptiActivityDisable(int) { return 0; }

int cuptiActivityFlushAll(uint32_t) {
  Profiler &P = profiler();
  std::lock_guard<std::mutex> Guard(P.Lock);
  P.giveBack();
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t *Buffer, size_t ValidSize,
                               void **Record) {
  uint8_t *Next = *Record
                      ? static_cast<uint8_t *>(*Record) + sizeof(ActivityKernel)
                      : Buffer;
  if (Next >= Buffer + ValidSize)
    return 12; // CUPTI_ERROR_MAX_LIMIT_REACHED
  *Record = Next;
  return 0;
}

int cuptiActivityGetNumDroppedRecords(void *, uint32_t, size_t *Dropped) {
  *Dropped = 0;
  return 0;
}

int cuptiGetResultString(int, const char **Text) {
  *Text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES";
  return 0;
}
}
