//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A CUPTI that reports what a test tells it. It hands buffers over as CUPTI
/// does: only those without an open record, unless it is forced.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_UNITTESTS_DEVICE_OFFLOAD_FAKECUPTI_H
#define MNEME_UNITTESTS_DEVICE_OFFLOAD_FAKECUPTI_H

#include <cstdint>

struct FakeKernelRecord {
  int Kind; ///< 10: a kernel
  uint32_t Device;
  const char *Name;
  uint64_t Start, End; ///< Both 0: still open.
};

struct FakeCupti {
  /// Adds a record to the open buffer, which is asked for when there is none.
  void (*Add)(const FakeKernelRecord &);
  /// What the next call of cuptiActivityEnable() returns.
  int EnableResult;
  bool Enabled;
  /// Called when a flush begins; may be null.
  void (*BeforeFlush)();
  unsigned BuffersOut; ///< Asked for and not handed over.
};

#endif // MNEME_UNITTESTS_DEVICE_OFFLOAD_FAKECUPTI_H
