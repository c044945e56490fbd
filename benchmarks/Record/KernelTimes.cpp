//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A library that measures the times of an application's kernels within the
/// application. The CUDA driver loads it:
///
///   CUDA_INJECTION64_PATH=.../libmneme_kernel_times.so
///   MNEME_KERNEL_TIMES=FILE    receives one line per kernel when the
///                              application ends: launches, median nanoseconds,
///                              symbol
///
/// Requires CUPTI; prints an error if it cannot be used. Does nothing without
/// MNEME_KERNEL_TIMES.
///
//===----------------------------------------------------------------------===//

#include "CuptiTypes.h"
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <map>
#include <mutex>
#include <string>
#include <vector>

using namespace cupti;

namespace {
struct Times {
  CuptiFunctions F = {};
  std::mutex Lock;
  std::map<std::string, std::vector<uint64_t>> ByKernel; ///< Nanoseconds.
};
} // namespace

/// Never freed, because CUPTI keeps threads.
static Times *TheTimes = nullptr;

static void requestBuffer(uint8_t **Buffer, size_t *Size, size_t *MaxRecords) {
  constexpr size_t Bytes = 4 << 20;
  *Buffer = static_cast<uint8_t *>(std::aligned_alloc(64, Bytes));
  *Size = *Buffer ? Bytes : 0;
  *MaxRecords = 0; // No limit.
}

static void completeBuffer(void *, uint32_t, uint8_t *Buffer, size_t,
                           size_t Valid) {
  if (!Buffer)
    return;
  std::lock_guard<std::mutex> Guard(TheTimes->Lock);
  void *Record = nullptr;
  while (Valid && TheTimes->F.ActivityGetNextRecord(Buffer, Valid, &Record) ==
                      CUPTI_SUCCESS) {
    auto *K = static_cast<const ActivityKernel *>(Record);
    // Times are 0 if they could not be measured.
    if (K->Kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL && K->Name &&
        K->End > K->Start)
      TheTimes->ByKernel[K->Name].push_back(K->End - K->Start);
  }
  std::free(Buffer);
}

static int complain(const char *What, const char *Why) {
  std::fprintf(stderr, "mneme-kernel-times: error: %s: %s\n", What, Why);
  return 1; // The application continues.
}

static void writeTimes() {
  TheTimes->F.ActivityFlushAll(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  FILE *File = std::fopen(std::getenv("MNEME_KERNEL_TIMES"), "w");
  if (!File) {
    complain(std::getenv("MNEME_KERNEL_TIMES"), std::strerror(errno));
    return;
  }
  std::lock_guard<std::mutex> Guard(TheTimes->Lock);
  for (auto &[Name, Values] : TheTimes->ByKernel) {
    auto Middle = Values.begin() + Values.size() / 2;
    std::nth_element(Values.begin(), Middle, Values.end());
    std::fprintf(File, "%zu %llu %s\n", Values.size(),
                 static_cast<unsigned long long>(*Middle), Name.c_str());
  }
  std::fclose(File);
}

/// Called by the driver when it is initialized. \returns 1 on success.
extern "C" __attribute__((visibility("default"))) int InitializeInjection() {
  const char *Path = std::getenv("MNEME_KERNEL_TIMES");
  if (!Path || !*Path)
    return 1;
  void *Library = nullptr;
  for (const char *Name :
       {"libcupti.so.13", "libcupti.so", "/usr/local/cuda/lib64/libcupti.so"})
    if (!Library)
      Library = dlopen(Name, RTLD_NOW);
  if (!Library)
    return complain("cannot load CUPTI", dlerror());
  auto *T = new Times;
  bool Complete = true;
  auto Find = [&](auto &Function, const char *Symbol) {
    Function = reinterpret_cast<std::decay_t<decltype(Function)>>(
        dlsym(Library, Symbol));
    Complete = Complete && Function;
  };
  Find(T->F.ActivityEnable, "cuptiActivityEnable");
  Find(T->F.ActivityRegisterCallbacks, "cuptiActivityRegisterCallbacks");
  Find(T->F.ActivityFlushAll, "cuptiActivityFlushAll");
  Find(T->F.ActivityGetNextRecord, "cuptiActivityGetNextRecord");
  Find(T->F.GetResultString, "cuptiGetResultString");
  if (!Complete)
    return complain("cannot use CUPTI", "it lacks a function");
  TheTimes = T;
  CUptiResult Result =
      T->F.ActivityRegisterCallbacks(requestBuffer, completeBuffer);
  if (Result == CUPTI_SUCCESS)
    Result = T->F.ActivityEnable(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL);
  if (Result != CUPTI_SUCCESS) {
    const char *Text = nullptr;
    T->F.GetResultString(Result, &Text);
    return complain("cannot use CUPTI", Text ? Text : "unknown error");
  }
  std::atexit(writeTimes);
  return 1;
}
