//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Between the launches of GpuDeployment and a runtime that compiles kernels
/// while the program runs.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_LAUNCHCOMPILER_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_LAUNCHCOMPILER_H

#include "BoundImage.h"
#include "Selector.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <atomic>
#include <memory>

namespace mneme {

struct LaunchRequest;

/// Code for launches of a kernel. Lives as long as the process.
struct CompiledCode {
  CUkernel Kernel = nullptr;
  /// If it uses variables of the application.
  std::unique_ptr<BoundImage> Bound;
  /// Bit N: prepared for device N.
  std::atomic<uint64_t> Prepared{0};
};

/// What a launch gets.
struct CompiledLaunch {
  CompiledCode *Code = nullptr; ///< Null: the application's own kernel.
  void *Variant = nullptr;      ///< The compiler's.
};

/// A kernel of the application that may be compiled again. Lives as long as the
/// process. Thread-safe; throws nothing.
class CompiledKernel {
public:
  virtual ~CompiledKernel() = default;
  /// Whether code is compiled now. Counts the launch otherwise.
  virtual bool isOn() = 0;
  /// Counts a launch of the application's own kernel.
  virtual void count(Fallback Why) = 0;
  /// Returns code for a launch on the current device. Counts the launch if
  /// there is none.
  virtual CompiledLaunch select(const LaunchRequest &L) = 0;
  /// Makes code ready for the current device \p Device. Counts the launch, and
  /// returns false, if that fails.
  virtual bool prepare(CompiledLaunch L, int Device) = 0;
  /// Whether launches are timed.
  virtual bool isTimed() = 0;
  /// Whether a launch that is timed runs as compiled. Counts it then.
  virtual bool isOwnTurn(CompiledLaunch L) = 0;
  virtual void addTime(CompiledLaunch L, bool IsOwn, uint64_t Nanoseconds) = 0;
  /// After a launch that was not executed. \p Why: the application's own kernel
  /// was, so that the code is of no use; empty otherwise.
  virtual void fail(CompiledLaunch L, Fallback Kind, const char *Why) = 0;
};

class LaunchCompiler {
public:
  virtual ~LaunchCompiler() = default;
  /// Returns null for kernels that are not compiled again. \p Variation
  /// distinguishes architectures.
  virtual CompiledKernel *find(const void *Stub, unsigned Variation,
                               unsigned Arch) = 0;
  /// After the application set an attribute of a kernel on a device.
  virtual void setAttribute(CompiledKernel &K, const FunctionAttribute &A) = 0;
  /// After a device was reset.
  virtual void forget(int Device) = 0;
};

/// Returns the runtime's compiler if it has one that is in use. Repeated calls
/// are cheap. Throws nothing.
LaunchCompiler *startCompiler();

/// Returns a function of mneme/jit.h by name; null for others, and in runtimes
/// without a compiler.
void *findCompilerFunction(const char *Name);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_LAUNCHCOMPILER_H
