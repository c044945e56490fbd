//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Peaks of a device in a file.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_PEAKS_H
#define LLVM_MNEME_LIB_REPLAY_PEAKS_H

#include "llvm/Mneme/Replay/Bound.h"

namespace llvm {
namespace mneme {

/// Errors name the file.
Expected<DevicePeaks> readPeaks(StringRef Path);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_PEAKS_H
