//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The parameters of CUPTI's range profiler, as in cupti_range_profiler.h,
/// cupti_profiler_host.h and cupti_target.h of CUDA 12.6 and later, and of its
/// sampling of program counters, as in cupti_pcsampling.h.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_CUPTIPROFILER_H
#define LLVM_MNEME_RUNTIME_CUPTIPROFILER_H

#include "llvm/Mneme/Runtime/Cupti.h"

namespace cupti {

enum : CUptiResult {
  CUPTI_ERROR_INVALID_METRIC_NAME = 17,
  CUPTI_ERROR_HARDWARE_BUSY = 26,
  CUPTI_ERROR_INSUFFICIENT_PRIVILEGES = 35,
  CUPTI_ERROR_LEGACY_PROFILER_NOT_SUPPORTED = 38,
  CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED = 39,
  CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES = 40,
  CUPTI_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED = 41,
  CUPTI_ERROR_MIG_DEVICE_NOT_SUPPORTED = 43,
  CUPTI_ERROR_WSL_DEVICE_NOT_SUPPORTED = 45,
};
enum : int { CUPTI_PROFILER_TYPE_RANGE_PROFILER = 0 };
enum : int { CUPTI_UserRange = 2 };
enum : int { CUPTI_UserReplay = 3 };

struct HostObject;
struct RangeObject;

// CUPTI reads the size of a structure to know its version. Functions of one
// object have only the common members.
struct ProfilerParams {
  size_t Size = sizeof(ProfilerParams);
  void *Private = nullptr;
};
struct RangeParams {
  size_t Size = sizeof(RangeParams);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
};
struct HostParams {
  size_t Size = sizeof(HostParams);
  void *Private = nullptr;
  HostObject *Host = nullptr;
};
struct ChipNameParams {
  size_t Size = sizeof(ChipNameParams);
  void *Private = nullptr;
  size_t Device = 0;
  const char *Name = nullptr; ///< Out.
};
struct AvailabilityParams {
  size_t Size = sizeof(AvailabilityParams);
  void *Private = nullptr;
  void *Context = nullptr;
  size_t ImageSize = 0; ///< In and out.
  uint8_t *Image = nullptr;
};
struct HostInitializeParams {
  size_t Size = sizeof(HostInitializeParams);
  void *Private = nullptr;
  int Type = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
  const char *Chip = nullptr;
  const uint8_t *Availability = nullptr; ///< For chips newer than CUPTI.
  HostObject *Host = nullptr;            ///< Out.
};
struct AddMetricsParams {
  size_t Size = sizeof(AddMetricsParams);
  void *Private = nullptr;
  HostObject *Host = nullptr;
  const char **Names = nullptr;
  size_t Count = 0;
};
/// Of GetConfigImageSize, where ImageSize is an output, and GetConfigImage.
struct ConfigSizeParams {
  size_t Size = sizeof(ConfigSizeParams);
  void *Private = nullptr;
  HostObject *Host = nullptr;
  size_t ImageSize = 0;
};
struct ConfigImageParams {
  size_t Size = sizeof(ConfigImageParams);
  void *Private = nullptr;
  HostObject *Host = nullptr;
  size_t ImageSize = 0;
  uint8_t *Image = nullptr;
};
struct NumPassesParams {
  size_t Size = sizeof(NumPassesParams);
  void *Private = nullptr;
  size_t ImageSize = 0;
  uint8_t *Image = nullptr;
  size_t Passes = 0; ///< Out.
};
struct EvaluateParams {
  size_t Size = sizeof(EvaluateParams);
  void *Private = nullptr;
  HostObject *Host = nullptr;
  const uint8_t *Data = nullptr;
  size_t DataSize = 0;
  size_t Index = 0;
  const char **Names = nullptr;
  size_t Count = 0;
  double *Values = nullptr;
};
struct RangeEnableParams {
  size_t Size = sizeof(RangeEnableParams);
  void *Private = nullptr;
  void *Context = nullptr;
  RangeObject *Range = nullptr; ///< Out.
};
struct DataSizeParams {
  size_t Size = sizeof(DataSizeParams);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
  const char **Names = nullptr;
  size_t Count = 0;
  size_t MaxRanges = 1;
  uint32_t MaxNodes = 1;
  size_t DataSize = 0; ///< Out.
};
struct DataInitializeParams {
  size_t Size = sizeof(DataInitializeParams);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
  size_t DataSize = 0;
  uint8_t *Data = nullptr;
};
struct RangeConfigParams {
  size_t Size = offsetof(RangeConfigParams, TargetNesting) + sizeof(uint16_t);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
  size_t ConfigSize = 0;
  const uint8_t *Config = nullptr;
  size_t DataSize = 0;
  uint8_t *Data = nullptr;
  int RangeMode = CUPTI_UserRange;
  int ReplayMode = CUPTI_UserReplay;
  size_t MaxRangesPerPass = 1;
  uint16_t NestingLevels = 1, MinNesting = 1;
  size_t PassIndex = 0;
  uint16_t TargetNesting = 1;
};
struct PushRangeParams {
  size_t Size = sizeof(PushRangeParams);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
  const char *Name = nullptr;
};
struct StopParams {
  size_t Size = offsetof(StopParams, AllPassesSubmitted) + sizeof(uint8_t);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
  size_t PassIndex = 0, TargetNesting = 0; ///< Out.
  uint8_t AllPassesSubmitted = 0;          ///< Out.
};
struct DecodeParams {
  size_t Size = sizeof(DecodeParams);
  void *Private = nullptr;
  RangeObject *Range = nullptr;
  size_t DroppedRanges = 0; ///< Out.
};

//===----------------------------------------------------------------------===//
// Sampling of program counters
//===----------------------------------------------------------------------===//

enum : int {
  CUPTI_PC_SAMPLING_ATTR_PERIOD = 1,
  CUPTI_PC_SAMPLING_ATTR_STALL_REASON = 2,
  CUPTI_PC_SAMPLING_ATTR_SCRATCH_BUFFER_SIZE = 3,
  CUPTI_PC_SAMPLING_ATTR_HARDWARE_BUFFER_SIZE = 4,
  CUPTI_PC_SAMPLING_ATTR_COLLECTION_MODE = 5,
  CUPTI_PC_SAMPLING_ATTR_START_STOP_CONTROL = 6,
  CUPTI_PC_SAMPLING_ATTR_DATA_BUFFER = 8,
};
enum : uint32_t { CUPTI_PC_SAMPLING_CONTINUOUS = 1 };
inline constexpr size_t StallReasonLength = 128;

struct StallSamples {
  uint32_t Reason = 0, Samples = 0;
};
struct SampledPC {
  size_t Size = sizeof(SampledPC);
  uint64_t ImageCRC = 0;
  uint64_t Offset = 0; ///< In the function.
  uint32_t FunctionIndex = 0, Padding = 0;
  char *Function = nullptr; ///< Several may share one string.
  size_t NumStalls = 0;
  StallSamples *Stalls = nullptr; ///< Memory of the caller.
  uint32_t CorrelationId = 0;
};
struct SampledPCs {
  size_t Size = sizeof(SampledPCs);
  size_t Capacity = 0; ///< Of PCs.
  uint64_t Samples = 0, Dropped = 0;
  size_t Count = 0; ///< Of PCs.
  size_t Remaining = 0;
  uint64_t Range = 0;
  SampledPC *PCs = nullptr; ///< Memory of the caller.
  uint64_t ForeignSamples = 0;
  uint8_t IsHardwareBufferFull = 0;
};
struct SamplingAttribute {
  int Attribute = 0;
  CUptiResult Status = CUPTI_SUCCESS;
  union {
    uint64_t Words[3] = {};
    uint32_t Number;
    size_t Bytes;
    void *Buffer;
    struct {
      size_t Count;
      uint32_t *Indices;
    } Reasons;
  };
};
struct SamplingConfigParams {
  size_t Size = sizeof(SamplingConfigParams);
  void *Private = nullptr;
  void *Context = nullptr;
  size_t Count = 0;
  SamplingAttribute *Attributes = nullptr;
};
/// Of functions that need only the context.
struct SamplingParams {
  size_t Size = sizeof(SamplingParams);
  void *Private = nullptr;
  void *Context = nullptr;
};
struct SamplingDataParams {
  size_t Size = sizeof(SamplingDataParams);
  void *Private = nullptr;
  void *Context = nullptr;
  SampledPCs *Data = nullptr;
};
struct NumStallReasonsParams {
  size_t Size = sizeof(NumStallReasonsParams);
  void *Private = nullptr;
  void *Context = nullptr;
  size_t *Count = nullptr;
};
struct StallReasonsParams {
  size_t Size = sizeof(StallReasonsParams);
  void *Private = nullptr;
  void *Context = nullptr;
  size_t Count = 0;
  uint32_t *Indices = nullptr;
  char **Names = nullptr; ///< Each of StallReasonLength bytes.
};
struct SourceLineParams {
  size_t Size = sizeof(SourceLineParams);
  const void *Image = nullptr;
  const char *Function = nullptr;
  size_t ImageSize = 0;
  uint32_t Line = 0; ///< Out.
  uint64_t Offset = 0;
  char *File = nullptr, *Folder = nullptr; ///< Out; the caller frees them.
};
struct ImageCRCParams {
  size_t Size = sizeof(ImageCRCParams);
  size_t ImageSize = 0;
  const void *Image = nullptr;
  uint64_t CRC = 0; ///< Out.
};

struct SamplingFunctions {
  CUptiResult (*Enable)(SamplingParams *);
  CUptiResult (*Disable)(SamplingParams *);
  CUptiResult (*GetNumStallReasons)(NumStallReasonsParams *);
  CUptiResult (*GetStallReasons)(StallReasonsParams *);
  CUptiResult (*Configure)(SamplingConfigParams *);
  CUptiResult (*Start)(SamplingParams *);
  CUptiResult (*Stop)(SamplingParams *);
  CUptiResult (*GetData)(SamplingDataParams *);
  CUptiResult (*GetSourceLine)(SourceLineParams *);
  CUptiResult (*GetImageCRC)(ImageCRCParams *);
  CUptiResult (*GetResultString)(CUptiResult, const char **);

  /// Loads CUPTI. \returns false if it cannot be used, and sets \p Error.
  bool load(std::string &Error);
};

//===----------------------------------------------------------------------===//
// Functions of the range profiler
//===----------------------------------------------------------------------===//

/// Returns CUPTI's text for an error.
std::string describe(CUptiResult R,
                     CUptiResult (*GetResultString)(CUptiResult,
                                                    const char **));

struct RangeProfilerFunctions {
  CUptiResult (*Initialize)(ProfilerParams *);
  CUptiResult (*GetChipName)(ChipNameParams *);
  CUptiResult (*GetAvailability)(AvailabilityParams *);
  CUptiResult (*HostInitialize)(HostInitializeParams *);
  CUptiResult (*HostDeinitialize)(HostParams *);
  CUptiResult (*HostAddMetrics)(AddMetricsParams *);
  CUptiResult (*HostGetConfigSize)(ConfigSizeParams *);
  CUptiResult (*HostGetConfig)(ConfigImageParams *);
  CUptiResult (*HostGetNumPasses)(NumPassesParams *);
  CUptiResult (*HostEvaluate)(EvaluateParams *);
  CUptiResult (*Enable)(RangeEnableParams *);
  CUptiResult (*Disable)(RangeParams *);
  CUptiResult (*GetDataSize)(DataSizeParams *);
  CUptiResult (*InitializeData)(DataInitializeParams *);
  CUptiResult (*SetConfig)(RangeConfigParams *);
  CUptiResult (*Start)(RangeParams *);
  CUptiResult (*Stop)(StopParams *);
  CUptiResult (*PushRange)(PushRangeParams *);
  CUptiResult (*PopRange)(RangeParams *);
  CUptiResult (*Decode)(DecodeParams *);
  CUptiResult (*GetResultString)(CUptiResult, const char **);

  /// Loads CUPTI. \returns false if it cannot be used, and sets \p Error.
  bool load(std::string &Error);
};

} // namespace cupti

#endif // LLVM_MNEME_RUNTIME_CUPTIPROFILER_H
