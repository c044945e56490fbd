//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Locks on resources that one farm at a time may use on a machine, such as a
/// GPU while it is timed.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_DEVICELOCK_H
#define LLVM_MNEME_LIB_FARM_DEVICELOCK_H

#include "llvm/Support/Error.h"
#include <optional>

namespace llvm {
namespace mneme {

/// A lock on a file with a given name in the folder for temporary files of all
/// users. The lock ends with the process.
class DeviceLock {
public:
  /// \returns std::nullopt if another process holds the lock.
  static Expected<std::optional<DeviceLock>> tryLock(StringRef Name);
  DeviceLock(DeviceLock &&O) : FD(O.FD) { O.FD = -1; }
  DeviceLock &operator=(DeviceLock &&O) {
    std::swap(FD, O.FD);
    return *this;
  }
  ~DeviceLock();

private:
  explicit DeviceLock(int FD) : FD(FD) {}
  int FD;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_DEVICELOCK_H
