//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Durations in a profile are counted in buckets, so that a profile of any
/// number of launches is small and profiles of processes can be added.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_RUNTIME_TIMEBUCKETS_H
#define LLVM_MNEME_RUNTIME_TIMEBUCKETS_H

#include <cstdint>

namespace mneme {

/// Each power of two is divided into 64 buckets: a duration in the middle of
/// its bucket is wrong by less than 1 %.
constexpr unsigned LogTimeBuckets = 6;
constexpr uint32_t NumTimeBuckets = (64 - LogTimeBuckets + 1) << LogTimeBuckets;

constexpr uint32_t timeBucketOf(uint64_t Nanoseconds) {
  constexpr uint64_t Linear = uint64_t(1) << LogTimeBuckets;
  if (Nanoseconds < Linear)
    return uint32_t(Nanoseconds);
  unsigned Shift = 63 - __builtin_clzll(Nanoseconds) - LogTimeBuckets;
  return uint32_t((Shift << LogTimeBuckets) + (Nanoseconds >> Shift));
}

/// Returns the nanoseconds in the middle of a bucket.
constexpr double middleOfTimeBucket(uint32_t Bucket) {
  constexpr uint32_t Linear = uint32_t(1) << LogTimeBuckets;
  if (Bucket < Linear)
    return Bucket;
  unsigned Shift = (Bucket >> LogTimeBuckets) - 1;
  double Width = double(uint64_t(1) << Shift);
  return (Bucket % Linear + Linear) * Width + (Width - 1) / 2;
}

} // namespace mneme

#endif // LLVM_MNEME_RUNTIME_TIMEBUCKETS_H
