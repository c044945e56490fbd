//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Serves launches on NVIDIA GPUs through the CUDA driver, beside the
/// application's own CUDA runtime. Images are loaded as libraries of the
/// driver, which belong to no context.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_GPUDEPLOYMENT_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_GPUDEPLOYMENT_H

#include "CudaTypes.h"
#include "TunedKernels.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <atomic>
#include <memory>
#include <vector>

namespace mneme {

/// A launch through the CUDA runtime.
struct GpuLaunch {
  const void *Stub;
  LaunchFacts Facts;
  CUstream Stream; ///< The driver's.
  const CudaLaunchAttribute *Attributes = nullptr;
  uint32_t NumAttributes = 0;
};

/// Measures one launch with events in its stream, and waits for it to end.
class LaunchTimer {
public:
  LaunchTimer() = default;
  LaunchTimer(const LaunchTimer &) = delete;
  LaunchTimer &operator=(const LaunchTimer &) = delete;
  ~LaunchTimer();
  /// Before a launch that \p V matched.
  void start(const CudaDriver &Driver, TunedVariant &V, CUstream Stream);
  /// After the launch. Does nothing without start().
  void stop();

private:
  const CudaDriver *Driver = nullptr; ///< Null: nothing is measured.
  TunedVariant *Variant = nullptr;
  CUstream Stream = nullptr;
  CUevent Events[2] = {};
};

/// Thread-safe. Throws nothing.
class GpuDeployment {
public:
  static GpuDeployment &get();

  /// Launches a variant instead of the application's kernel, or calls \p Own,
  /// which makes the application's launch: then nothing was executed before and
  /// no state of the application has changed. \returns its error.
  template <typename Fn> int launch(const GpuLaunch &L, Fn Own) {
    LaunchTimer Timer;
    if (serve(L, Timer))
      return cudaSuccess;
    int E = Own();
    if (!E)
      Timer.stop();
    return E;
  }

  /// After the application set an attribute of a kernel: sets the variants'.
  void mirrorAttribute(const void *Stub, int Attribute, int Value);
  /// After the calling thread selected a device.
  void noteDevice(int Device);
  /// Returns the device of the current context; -1 if there is none.
  int currentDevice() const;
  /// After a device was reset: kernels lose their attributes.
  void forget(int Device);

private:
  struct Gpu {
    DeployDevice Facts = {};
    char Name[256] = {};
  };
  struct GpuList {
    const CudaDriver *Driver = nullptr;
    std::vector<Gpu> All;
    /// One architecture: a stub leads to the same on all devices.
    bool AreAlike = true;
  };

  GpuDeployment() = default;
  const GpuList *list() const {
    const GpuList *Known = Gpus.load(std::memory_order_acquire);
    return Known ? Known : const_cast<GpuDeployment *>(this)->findGpus();
  }
  const GpuList *findGpus();
  TunedStub *find(const GpuList &L, const void *Stub, int &Device) const;
  bool serve(const GpuLaunch &L, LaunchTimer &Timer);
  Fallback run(TunedVariant &V, TunedKernel &K, const GpuLaunch &L,
               const LaunchPlan &Plan, int Device, LaunchTimer &Timer);
  Fallback prepare(TunedVariant &V, const TunedKernel &K, int Device);
  Fallback load(TunedVariant &V);
  void fail(TunedVariant &V, const TunedKernel &K, const std::string &Why);

  std::atomic<const GpuList *> Gpus{nullptr};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_GPUDEPLOYMENT_H
