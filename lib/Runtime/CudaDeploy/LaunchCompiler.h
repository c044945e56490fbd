//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that serves a launch: of packages, and of a runtime that compiles
/// kernels while the program runs.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_LAUNCHCOMPILER_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_LAUNCHCOMPILER_H

#include "BoundImage.h"
#include "InterceptedCall.h"
#include "Selector.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

namespace mneme {

struct LaunchRequest;

/// Code that is ready for one launch, instead of the application's own kernel.
/// Throws nothing where nothing else is stated.
class LaunchCode {
public:
  CUfunction Function = nullptr;
  LaunchPlan Plan;
  int Device = -1;
  /// Its copies of variables must be refreshed in the launch's stream.
  BoundImage *ToRefresh = nullptr;
  bool IsTimed = false;
  bool IsOwnTurn = false; ///< The application's own kernel is timed instead.

  /// Before the code is launched.
  virtual void noteLaunch() {}
  /// After the code was launched.
  virtual void noteServed() {}
  virtual void addTime(uint64_t Nanoseconds) = 0;
  /// After a launch that was not executed. \p Why: the application's own kernel
  /// was, so that the code is of no use; empty otherwise. May throw, with
  /// nothing done.
  virtual void fail(Fallback Kind, const char *Why) = 0;

protected:
  ~LaunchCode() = default;
};

/// Compiles kernels again. Thread-safe; throws nothing.
class LaunchCompiler {
public:
  virtual ~LaunchCompiler() = default;
  /// Makes a launch that no package serves, with compiled code or with \p Own.
  /// \returns the runtime's error.
  virtual int launch(const LaunchRequest &L, OriginalCall Own) = 0;
  /// After the application set an attribute of a kernel on a device. \p
  /// Variation distinguishes architectures.
  virtual void mirrorAttribute(const void *Stub, unsigned Variation,
                               unsigned Arch, const FunctionAttribute &A) = 0;
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
