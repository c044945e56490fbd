//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Support/Statistics.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

static double medianOfSorted(ArrayRef<double> S) {
  size_t N = S.size();
  return N % 2 ? S[N / 2] : (S[N / 2 - 1] + S[N / 2]) / 2;
}

SampleSummary mneme::summarize(ArrayRef<double> Samples) {
  SampleSummary R;
  if (Samples.empty())
    return R;
  SmallVector<double> S(Samples);
  llvm::sort(S);
  size_t N = S.size();
  R.Count = N;
  R.Min = S.front();
  R.Max = S.back();
  R.Median = medianOfSorted(S);
  R.Low = R.Min;
  R.High = R.Max;
  if (N >= 6) {
    // Ranks N/2 -+ 1.96 sqrt(N)/2: the binomial interval of the median.
    double Half = 1.959964 * std::sqrt(double(N)) / 2;
    auto Lower = static_cast<ptrdiff_t>(std::floor(N / 2.0 - Half));
    auto Upper = static_cast<ptrdiff_t>(std::ceil(N / 2.0 + Half));
    R.Low = S[std::max<ptrdiff_t>(Lower, 0)];
    R.High = S[std::min<ptrdiff_t>(Upper, N - 1)];
  }
  SmallVector<double> Deviations;
  for (double V : S)
    Deviations.push_back(std::fabs(V - R.Median));
  llvm::sort(Deviations);
  R.Spread = 1.4826 * medianOfSorted(Deviations);
  return R;
}
