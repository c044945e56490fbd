//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Order statistics of repeated measurements.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_STATISTICS_H
#define LLVM_MNEME_SUPPORT_STATISTICS_H

#include "llvm/ADT/ArrayRef.h"

namespace llvm {
namespace mneme {

/// Summary of samples, in their unit. All zero for no samples.
struct SampleSummary {
  size_t Count = 0;
  double Min = 0, Median = 0, Max = 0;
  /// 95 % confidence interval of the median by order statistics; [Min, Max]
  /// while there are too few samples for one (under 6).
  double Low = 0, High = 0;
  /// Median absolute deviation times 1.4826.
  double Spread = 0;
};

SampleSummary summarize(ArrayRef<double> Samples);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_STATISTICS_H
