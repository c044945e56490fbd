//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A launch of a kernel as the application makes it.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_KERNELLAUNCH_H
#define MNEME_LIB_RUNTIME_DRIVER_KERNELLAUNCH_H

#include "CudaRuntime.h"

namespace mneme {

/// What a launch asks for that no shape expresses.
enum class LaunchForm {
  Plain,
  PreferredCluster, ///< Clusters of another size, if there is room for them.
  ShortBlock,       ///< HIP: the last block has fewer threads than the others.
  Extended,         ///< HIP: events or flags.
};

struct KernelLaunch {
  const CudaRuntime &Runtime;
  /// A launch stub; through the driver, the handle of a function or a kernel.
  const void *Kernel;
  LaunchShape Shape;
  CUstream Stream; ///< The driver's.
  void **Args;
  LaunchForm Form = LaunchForm::Plain;
  const CudaLaunchAttribute *Attributes = nullptr;
  unsigned NumAttributes = 0;

  /// Takes what attributes say.
  void addAttributes(const CudaLaunchAttribute *All, unsigned Count) {
    Attributes = All;
    NumAttributes = Count;
    for (const CudaLaunchAttribute *A = All; A != All + Count; ++A) {
      setShapeAttribute(Shape, A->Id, A->Words);
      if (A->Id == CudaLaunchAttributePreferredClusterDim)
        Form = LaunchForm::PreferredCluster;
    }
  }
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_KERNELLAUNCH_H
