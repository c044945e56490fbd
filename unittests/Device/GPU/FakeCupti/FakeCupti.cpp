//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FakeCupti.h"
#include <cstddef>
#include <cstring>

namespace {
/// CUpti_ActivityKernel9 of CUDA 12, but for what comes after the name.
struct __attribute__((packed, aligned(8))) ActivityKernel9 {
  uint32_t kind;
  uint8_t cacheConfig;
  uint8_t sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedGlobalCacheRequested;
  uint32_t partitionedGlobalCacheExecuted;
  uint64_t start;
  uint64_t end;
  uint64_t completed;
  uint32_t deviceId;
  uint32_t contextId;
  uint32_t streamId;
  int32_t gridX;
  int32_t gridY;
  int32_t gridZ;
  int32_t blockX;
  int32_t blockY;
  int32_t blockZ;
  int32_t staticSharedMemory;
  int32_t dynamicSharedMemory;
  uint32_t localMemoryPerThread;
  uint32_t localMemoryTotal;
  uint32_t correlationId;
  int64_t gridId;
  const char *name;
  char rest[96];
};

using Requested = void (*)(uint8_t **, size_t *, size_t *);
using Completed = void (*)(void *, uint32_t, uint8_t *, size_t, size_t);

Requested Request;
Completed Complete;
uint8_t *Buffer;
size_t Size, Valid;
} // namespace

extern "C" {
extern FakeCupti fake_cupti;

int cuptiActivityRegisterCallbacks(Requested R, Completed C) {
  Request = R;
  Complete = C;
  return 0;
}

int cuptiActivityEnable(int Kind) {
  int Result = Kind == 10 ? fake_cupti.EnableResult : 1;
  fake_cupti.Enabled = Result == 0;
  return Result;
}

int cuptiActivityDisable(int) {
  fake_cupti.Enabled = false;
  return 0;
}

int cuptiActivityFlushAll(uint32_t Flags) {
  if (fake_cupti.BeforeFlush)
    fake_cupti.BeforeFlush();
  if (!Buffer)
    return 0;
  bool Open = false;
  for (size_t At = 0; At != Valid; At += sizeof(ActivityKernel9))
    Open |= reinterpret_cast<ActivityKernel9 *>(Buffer + At)->end == 0;
  if (Open && !(Flags & 1))
    return 0;
  uint8_t *Full = Buffer;
  Buffer = nullptr;
  --fake_cupti.BuffersOut;
  Complete(nullptr, 0, Full, Size, Valid);
  return 0;
}

int cuptiActivityGetNextRecord(uint8_t *From, size_t Bytes, void **Record) {
  auto *Next = *Record ? static_cast<uint8_t *>(*Record) +
                             sizeof(ActivityKernel9)
                       : From;
  if (Next == From + Bytes)
    return 12; // CUPTI_ERROR_MAX_LIMIT_REACHED
  *Record = Next;
  return 0;
}

int cuptiActivityGetNumDroppedRecords(void *, uint32_t, size_t *Dropped) {
  *Dropped = 0;
  return 0;
}

int cuptiGetResultString(int, const char **Text) {
  *Text = "CUPTI_ERROR_FAKE";
  return 0;
}
}

static void addRecord(const FakeKernelRecord &R) {
  if (!Buffer) {
    size_t MaxRecords = 1;
    Request(&Buffer, &Size, &MaxRecords);
    std::memset(Buffer, 0xee, Size);
    Valid = 0;
    ++fake_cupti.BuffersOut;
  }
  ActivityKernel9 K;
  std::memset(&K, 0x11, sizeof(K));
  K.kind = R.Kind;
  K.start = R.Start;
  K.end = R.End;
  K.deviceId = R.Device;
  K.name = R.Name;
  std::memcpy(Buffer + Valid, &K, sizeof(K));
  Valid += sizeof(K);
}

FakeCupti fake_cupti = {addRecord, 0, false, nullptr, 0};
