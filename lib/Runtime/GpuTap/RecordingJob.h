//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// One launch that is being recorded, from the moment when its memory is
/// located until it is written.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_RECORDINGJOB_H
#define MNEME_LIB_RUNTIME_GPUTAP_RECORDINGJOB_H

#include "DeviceWork.h"
#include "Gpu.h"
#include "Recorder.h"

#include <memory>
#include <string>
#include <vector>

namespace mneme {

/// The elements of an array, which a recording contains as device memory.
struct TappedElements {
  std::vector<CUmemcpy3D> Copies; ///< One for each level.
  bool IsWritten = false;         ///< The launch may write them: a surface.
};

/// The data of one thread: that which launches, then the writer.
struct RecordingJob {
  /// Memory that the launch may use.
  struct Part {
    uint64_t Address; ///< In the recording.
    CUdeviceptr Live; ///< On the device.
    uint64_t Size;
    CUdeviceptr Copy; ///< From before the launch; 0 without room for copies.
  };
  /// Memory that the recording does not contain.
  struct ForeignRange {
    /// A kind besides those of regions: memory of another device's arena.
    static constexpr uint32_t OtherDevice = UINT32_MAX;

    uint64_t Begin, End;
    uint32_t Kind; ///< That of ForeignMemory::Block, or OtherDevice.
    /// Pinned memory that is in Parts. It is recorded if recorded memory points
    /// to it.
    bool IsTentative = false;
    bool IsRecorded = false; ///< Was tentative.
  };

  std::unique_ptr<Recording> R;
  Gpu *On = nullptr;
  CUstream Stream = nullptr;
  std::vector<uint64_t> Pointers; ///< In the arguments, with --reachable.
  /// The arguments as recorded, if some are handles of textures or surfaces:
  /// with the addresses of the recorded descriptions in place of the handles.
  std::vector<std::vector<char>> ArgBytes;
  std::vector<void *> Args;
  std::vector<TappedElements> Elements; ///< Of arrays.
  Buffer Textures;                      ///< Elements and descriptions.
  std::vector<Part> Parts;              ///< By address.
  /// The copies, if there is room, the flags and the table.
  Buffer Copies;
  CUdeviceptr Flags = 0, Table = 0; ///< For DeviceWork::diff().
  /// The pages that the launch changed: in Gathered, or in live memory.
  std::vector<DeviceWork::Piece> Changed;
  Buffer Gathered;
  /// Sorted by address. Recorded memory must not point there, unless the range
  /// is tentative.
  std::vector<ForeignRange> Unrecorded;
  bool Again = false; ///< A later launch may succeed where this one failed.

  /// Appends to \p Pages the pages from before the launch that are not zero.
  /// \returns an empty string, or what went wrong. May throw.
  std::string findPages(std::vector<DeviceWork::Piece> &Pages,
                        DeviceWork &W) const;
  /// Appends the live pages that differ from their copies to Changed. \returns
  /// an empty string, or what went wrong. May throw.
  std::string findChanges(DeviceWork &W);
  /// Whether \p Address lies in a range that is still tentative.
  bool isTentative(uint64_t Address) const;

private:
  std::string diff(const std::vector<MnemeDiffPart> &Diffs,
                   std::vector<DeviceWork::Piece> &Pages, DeviceWork &W) const;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_RECORDINGJOB_H
