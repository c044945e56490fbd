//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A profile of an application on NVIDIA GPUs. The CUDA driver loads this
// library because CUDA_INJECTION64_PATH names it; CUPTI measures the launches.
// Nothing of the application's is intercepted.
//
//===----------------------------------------------------------------------===//

#include "LaunchProfile.h"
#include "LauncherLink.h"
#include "Message.h"
#include "Shortage.h"
#include "Variables.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "llvm/Mneme/Runtime/Cupti.h"

#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <new>
#include <pthread.h>

using namespace cupti;
using namespace mneme;

RuntimeFacts mneme::runtimeFacts() { return {"cuda", nullptr, 0}; }

static CuptiFunctions Api;
/// The process may be a fork, whose parent has the profile.
static std::atomic<bool> IsOff{true};

static LaunchProfile &profile() {
  // Never destroyed: CUPTI's thread may still use it.
  alignas(LaunchProfile) static char Storage[sizeof(LaunchProfile)];
  static LaunchProfile &P = *new (Storage) LaunchProfile;
  return P;
}

//===----------------------------------------------------------------------===//
// Records
//===----------------------------------------------------------------------===//

static void provideBuffer(uint8_t **Buffer, size_t *Size, size_t *MaxRecords) {
  constexpr size_t Alignment = 8, Bytes = 4 << 20;
  *Buffer = static_cast<uint8_t *>(aligned_alloc(Alignment, Bytes));
  *Size = *Buffer ? Bytes : 0;
  *MaxRecords = 0; // As many as fit.
}

static void add(const void *Record) {
  if (*static_cast<const int *>(Record) !=
      CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) {
    auto *C = static_cast<const ActivityCopy *>(Record);
    return profile().addCopy(C->End - C->Start);
  }
  auto *K = static_cast<const ActivityKernel *>(Record);
  // Times that could not be measured are 0.
  if (!K->End)
    return profile().addLost(1);
  auto Dim = [](const int32_t (&D)[3]) {
    return Dim3{uint32_t(D[0]), uint32_t(D[1]), uint32_t(D[2])};
  };
  profile().add(K->Name ? K->Name : "", Dim(K->Grid), Dim(K->Block),
                uint64_t(K->DynamicShared), K->End - K->Start,
                {K->Registers, uint32_t(K->StaticShared), K->LocalPerThread});
}

static void takeBuffer(void *Context, uint32_t Stream, uint8_t *Buffer, size_t,
                       size_t ValidSize) {
  void *Record = nullptr;
  while (!Api.ActivityGetNextRecord(Buffer, ValidSize, &Record))
    add(Record);
  size_t Dropped = 0;
  if (!Api.ActivityGetNumDroppedRecords(Context, Stream, &Dropped))
    profile().addLost(Dropped);
  free(Buffer);
}

//===----------------------------------------------------------------------===//
// The beginning and the end
//===----------------------------------------------------------------------===//

/// \returns why nothing is measured; empty on success. May throw.
static std::string start() {
  std::string Error;
  if (!Api.load(Error))
    return Error;
  CUptiResult R = Api.ActivityRegisterCallbacks(provideBuffer, takeBuffer);
  for (int Kind : {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                   CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET})
    if (!R)
      R = Api.ActivityEnable(Kind);
  return R ? Api.describe(R) : "";
}

/// May throw.
static void finish() {
  if (IsOff.exchange(true))
    return;
  Api.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  std::string Error;
  const CudaDriver *Driver = CudaDriver::load(Error);
  profile().send(Driver ? Driver->archOf(/*Device=*/0) : "");
}

/// Called by the driver when the application initializes it.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  if (!getVariable(MNEME_ENV_PROFILE))
    return 1;
  std::string Problem = MNEME_REASON_MEMORY;
  attempt([&] { Problem = start(); });
  if (!Problem.empty()) {
    tell("mneme: warning: launches are not timed: %s\n", Problem.c_str());
    return 1;
  }
  IsOff = false;
  pthread_atfork(nullptr, nullptr, [] { IsOff = true; });
  // Handlers run in reverse order: before the driver ends.
  atexit([] { attempt(finish); });
  return 1;
}
