//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The device memory that the application has allocated through the CUDA
/// runtime.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_DEVICEBUFFERS_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_DEVICEBUFFERS_H

#include "Verification.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace mneme {

/// Thread-safe.
class DeviceBuffers {
public:
  static constexpr int AllDevices = -1; ///< Of managed memory.
  struct Buffer {
    uint64_t Size = 0; ///< In bytes; 0 if it is unknown.
    int Device = AllDevices;
  };

  /// After an allocation on \p Device. Throws nothing.
  void note(const void *Ptr, uint64_t Size, int Device);
  /// Before memory is freed. \returns the arguments for note(), in case that it
  /// is not.
  Buffer forget(const void *Ptr);
  /// After a device was reset.
  void forgetAll(int Device);
  /// Returns the memory that \p Device uses, without names. May throw.
  std::vector<MemoryRange> find(int Device);

private:
  std::mutex Lock;
  std::map<uint64_t, Buffer> All; ///< By address.
  /// Memory is missing, for lack of memory to note it.
  bool IsIncomplete = false;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_DEVICEBUFFERS_H
