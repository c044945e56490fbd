//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Samples of the program counters of a GPU's warps, from CUPTI.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_PCSAMPLER_H
#define LLVM_MNEME_LIB_DEVICE_GPU_PCSAMPLER_H

#include "LaunchProfiler.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include <map>
#include <memory>

namespace llvm {
namespace mneme {

/// Samples launches in one context.
class PCSampler final : public LaunchProfiler {
public:
  /// The cycles between two samples of a multiprocessor are a power of two.
  static constexpr unsigned MinLogPeriod = 5, MaxLogPeriod = 31;

  /// Samples the functions of \p Image, which must outlive this object, while
  /// \p Context is current. Fails if that is impossible, with the reason and a
  /// fix.
  static Expected<std::unique_ptr<PCSampler>>
  create(void *Context, ArrayRef<char> Image, unsigned LogPeriod);
  ~PCSampler() override;

  Error beginPass() override;
  Error endPass() override;
  /// Returns the samples of the image so far.
  uint64_t numSamples() const { return NumSamples; }
  /// Ends the sampling, and adds its samples with their lines to \p Reading.
  Error finish(PCReading &Reading);

private:
  PCSampler(void *Context, ArrayRef<char> Image)
      : Context(Context), Image(Image) {}

  /// Memory for what CUPTI reports.
  struct Buffer {
    cupti::SampledPCs Data;
    std::vector<cupti::SampledPC> PCs;
    std::vector<cupti::StallSamples> Stalls;

    void allocate(size_t Count, size_t NumReasons);
  };

  Error check(cupti::CUptiResult R, const Twine &What) const {
    return checkProfiler(R, What, F.GetResultString);
  }
  Error readReasons();
  Error configure(unsigned LogPeriod);
  Error disable();
  void take(const Buffer &B);

  void *Context;
  ArrayRef<char> Image;
  cupti::SamplingFunctions F = {};
  bool IsEnabled = false;
  uint64_t CRC = 0;
  /// By index; empty: not counted.
  std::vector<std::string> Reasons;
  /// What is read behind each launch, and what remains at the end.
  Buffer Current, Rest;
  uint64_t NumSamples = 0, Dropped = 0;
  /// By function and offset.
  std::map<std::pair<std::string, uint64_t>, StringMap<uint64_t>> Samples;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_PCSAMPLER_H
