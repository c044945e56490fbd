//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecordingJob.h"

#include <algorithm>
#include <iterator>

using namespace mneme;

/// \p Diffs: one for each part. Appends the pages that differ, with their first
/// side as the source.
std::string RecordingJob::diff(const std::vector<MnemeDiffPart> &Diffs,
                               std::vector<DeviceWork::Piece> &Pages,
                               DeviceWork &W) const {
  std::vector<uint8_t> PageFlags;
  std::string Error = W.diff(Diffs, Table, Flags, PageFlags);
  if (!Error.empty())
    return Error;
  const uint8_t *Flag = PageFlags.data();
  for (size_t I = 0; I != Diffs.size(); ++I) {
    const Part &P = Parts[I];
    forEachRun(
        P.Size, [&](uint64_t, uint64_t) { return *Flag++ != 0; },
        [&](uint64_t At, uint64_t Size) {
          Pages.push_back({P.Address + At, Diffs[I].A + At, Size});
        });
  }
  return "";
}

std::string RecordingJob::findPages(std::vector<DeviceWork::Piece> &Pages,
                                    DeviceWork &W) const {
  std::vector<MnemeDiffPart> Diffs;
  for (const Part &P : Parts)
    Diffs.push_back({P.Copy ? P.Copy : P.Live, 0, P.Size, 0});
  return diff(Diffs, Pages, W);
}

std::string RecordingJob::findChanges(DeviceWork &W) {
  std::vector<MnemeDiffPart> Diffs;
  for (const Part &P : Parts)
    Diffs.push_back({P.Live, P.Copy, P.Size, 0});
  return diff(Diffs, Changed, W);
}

bool RecordingJob::isTentative(uint64_t Address) const {
  auto I = std::upper_bound(
      Unrecorded.begin(), Unrecorded.end(), Address,
      [](uint64_t A, const ForeignRange &R) { return A < R.Begin; });
  return I != Unrecorded.begin() && Address < std::prev(I)->End &&
         std::prev(I)->IsTentative;
}
