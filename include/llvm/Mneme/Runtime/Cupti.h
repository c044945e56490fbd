//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The part of CUPTI, NVIDIA's profiling library, that is used, as in
/// cupti_activity.h. It is loaded on demand, so that a build needs no CUDA.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_CUPTI_H
#define LLVM_MNEME_RUNTIME_CUPTI_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace cupti {

using CUptiResult = int;
enum : CUptiResult { CUPTI_SUCCESS = 0 };
enum : int {
  CUPTI_ACTIVITY_KIND_MEMCPY = 1,
  CUPTI_ACTIVITY_KIND_MEMSET = 2,
  CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL = 10,
};
enum : uint32_t { CUPTI_ACTIVITY_FLAG_FLUSH_FORCED = 1 };

/// The beginning of a kernel's record, which is the same in all versions since
/// CUDA 10 (CUpti_ActivityKernel4). Later versions have more fields at the end.
struct ActivityKernel {
  int Kind;
  uint8_t CacheConfig, SharedMemoryConfig;
  uint16_t Registers;
  int PartitionedCacheRequested, PartitionedCacheExecuted;
  uint64_t Start, End, Completed; ///< Nanoseconds.
  uint32_t DeviceId, ContextId, StreamId;
  int32_t Grid[3], Block[3];
  int32_t StaticShared, DynamicShared;
  uint32_t LocalPerThread, LocalTotal;
  uint32_t CorrelationId;
  int64_t GridId;
  const char *Name;
};
static_assert(offsetof(ActivityKernel, Start) == 16 &&
              offsetof(ActivityKernel, DeviceId) == 40 &&
              offsetof(ActivityKernel, Name) == 104);

/// The beginning of the record of a copy or of a memset.
struct ActivityCopy {
  int Kind;
  uint32_t Details;
  uint64_t Bytes, Start, End; ///< Nanoseconds.
};

using BufferRequested = void (*)(uint8_t **Buffer, size_t *Size,
                                 size_t *MaxRecords);
using BufferCompleted = void (*)(void *Context, uint32_t Stream,
                                 uint8_t *Buffer, size_t Size, size_t Valid);

struct CuptiFunctions {
  CUptiResult (*ActivityEnable)(int Kind);
  CUptiResult (*ActivityDisable)(int Kind);
  CUptiResult (*ActivityRegisterCallbacks)(BufferRequested, BufferCompleted);
  CUptiResult (*ActivityFlushAll)(uint32_t Flags);
  CUptiResult (*ActivityGetNextRecord)(uint8_t *Buffer, size_t Valid,
                                       void **Record);
  CUptiResult (*ActivityGetNumDroppedRecords)(void *Context, uint32_t Stream,
                                              size_t *Dropped);
  CUptiResult (*GetResultString)(CUptiResult, const char **);

  /// Loads CUPTI, which is never unloaded, because it keeps threads. \returns
  /// false if it cannot be used, and sets \p Error.
  bool load(std::string &Error);
  std::string describe(CUptiResult R) const;
};

/// Opens CUPTI, which may be in a folder of the CUDA toolkit. Returns null if
/// there is none.
void *openCupti();
/// Returns the error if openCupti() fails.
const char *describeMissingCupti();

} // namespace cupti

#endif // LLVM_MNEME_RUNTIME_CUPTI_H
