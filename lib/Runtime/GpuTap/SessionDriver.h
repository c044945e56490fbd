//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The CUDA driver as the parts of a recording session use it.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_SESSIONDRIVER_H
#define MNEME_LIB_RUNTIME_GPUTAP_SESSIONDRIVER_H

#include "Waiter.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <memory>
#include <string>

namespace mneme {

/// The driver, loaded by the first call of the application that needs it.
/// Functions other than load() and problem() need a loaded driver. load() needs
/// the session's lock; once loaded, the driver is constant.
class SessionDriver {
public:
  /// \returns whether there is a driver. May throw; repeats.
  bool load();
  explicit operator bool() const { return Functions; }
  const CudaDriver *operator->() const { return Functions; }
  const CudaDriver &operator*() const { return *Functions; }
  /// Why load() found no driver; empty otherwise.
  const std::string &problem() const { return Problem; }

  /// The calling thread's context, or null.
  CUcontext currentContext() const;
  /// Whether \p C is the primary context of a device, which the runtime uses.
  /// Other contexts are destroyed unnoticed. \p C must be current.
  bool isPrimary(CUcontext C) const;
  /// Whether \p S is captured. True for the legacy stream while any capture
  /// forbids its use.
  bool isCapturing(CUstream S) const;
  /// Whether \p S belongs to another context than \p C.
  bool isElsewhere(CUcontext C, CUstream S) const;
  /// Whether the work of a context ends without errors within 100 ms. If not,
  /// other waits do not give up because of it.
  bool isIdle(CUcontext C);
  Waiter &waiter() { return *Waiting; }

private:
  const CudaDriver *Functions = nullptr;
  std::string Problem;
  std::unique_ptr<Waiter> Waiting;
};

/// Makes the context of a stream current where none is, for the recording of a
/// launch that needs none (CUDA 13).
class StreamContext {
public:
  StreamContext(const SessionDriver &Driver, CUstream S);
  StreamContext(const StreamContext &) = delete;
  StreamContext &operator=(const StreamContext &) = delete;
  ~StreamContext() { set(nullptr); }

  /// Calls \p F without this context.
  template <typename Fn> int without(Fn F) {
    set(nullptr);
    int Result = F();
    set(Lent);
    return Result;
  }

private:
  void set(CUcontext C) {
    if (Lent)
      Driver->CtxSetCurrent(C);
  }

  const SessionDriver &Driver;
  CUcontext Lent = nullptr;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_SESSIONDRIVER_H
