//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The application's writes to its __constant__ variables, of which images of
/// packages have copies. An image's copy is up to date if it was made after the
/// last write had ended.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_VARIABLEWRITES_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_VARIABLEWRITES_H

#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace mneme {

/// A variable of the application. Lives as long as the process. Thread-safe.
class WrittenVariable {
public:
  /// Changes before each write; 0: writes are not known.
  uint64_t generation() const {
    return IsUnknown.load(std::memory_order_acquire)
               ? 0
               : Generation.load(std::memory_order_acquire);
  }
  /// Returns true if all writes up to now have ended on the device.
  bool isQuiet(const CudaDriver &Driver);

  void begin();
  /// After begin(), when the write was enqueued in \p S. \p Driver may be null.
  void end(const CudaDriver *Driver, CUstream S);
  /// The variable may be written at any time: its address is known, or a graph
  /// writes it.
  void setUnknown() { IsUnknown.store(true, std::memory_order_release); }

private:
  void forgetEnded(const CudaDriver &Driver);
  bool noteEnd(const CudaDriver &Driver, CUstream S);

  std::atomic<bool> IsUnknown{false};
  std::atomic<uint64_t> Generation{1};
  std::atomic<unsigned> Beginning{0}; ///< Writes between begin() and end().
  std::mutex Lock;
  std::vector<CUevent> Pending; ///< Writes that may not have ended.
};

class VariableWrites {
public:
  static VariableWrites &get();

  /// Returns the variable with a shadow on the host. May throw.
  WrittenVariable &find(const void *Shadow);
  /// Makes a call that enqueues a write in \p S. Then asks for the driver,
  /// which the call may have initialized.
  template <typename Fn, typename DriverFn>
  int write(const void *Shadow, CUstream S, Fn Call, DriverFn Driver) {
    WrittenVariable *V = tryToFind(Shadow);
    if (!V)
      return Call();
    V->begin();
    int E = Call();
    V->end(Driver(), S);
    return E;
  }
  /// Before the application gets other means to write the variable.
  void setUnknown(const void *Shadow) {
    if (WrittenVariable *V = tryToFind(Shadow))
      V->setUnknown();
  }

private:
  VariableWrites() = default;
  WrittenVariable *tryToFind(const void *Shadow);

  std::mutex Lock;
  std::map<const void *, std::unique_ptr<WrittenVariable>> Variables;
  /// For lack of memory, writes were not noted.
  std::atomic<bool> AreLost{false};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_VARIABLEWRITES_H
