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
/// application's own CUDA runtime, and on AMD GPUs through HIP: with tuned
/// kernels of packages, and with code that is compiled while the program runs
/// (LaunchCompiler.h). Images are loaded as libraries of the driver, which
/// belong to no context.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_GPUDEPLOYMENT_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_GPUDEPLOYMENT_H

#include "BoundImage.h"
#include "CudaTypes.h"
#include "DeviceBuffers.h"
#include "EventTimer.h"
#include "InterceptedCall.h"
#include "KernelLaunch.h"
#include "LaunchCompiler.h"
#include "TunedKernels.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace mneme {

/// Returns why a launch of this form cannot be served, if so.
inline Fallback findObstacle(LaunchForm F) {
  switch (F) {
  case LaunchForm::ShortBlock:
    return Fallback::LastBlock;
  case LaunchForm::Extended:
    return Fallback::Extended;
  case LaunchForm::Plain:
  case LaunchForm::PreferredCluster: // An attribute that is not known.
    break;
  }
  return Fallback::None;
}

/// A launch that packages or compiled code may serve.
struct LaunchRequest {
  /// \p Found: what a launch through the driver leads to.
  explicit LaunchRequest(const KernelLaunch &L, TunedStub *Found = nullptr)
      : Stub(Found ? nullptr : L.Kernel),
        Facts{{L.Shape.Grid.X, L.Shape.Grid.Y, L.Shape.Grid.Z},
              {L.Shape.Block.X, L.Shape.Block.Y, L.Shape.Block.Z},
              L.Shape.DynamicShared,
              L.Shape.Cooperative,
              L.Args,
              {L.Shape.Cluster.X, L.Shape.Cluster.Y, L.Shape.Cluster.Z}},
        Stream(L.Stream), Attributes(L.Attributes),
        NumAttributes(L.NumAttributes), Found(Found),
        Obstacle(findObstacle(L.Form)) {}

  const void *Stub; ///< Null through the driver.
  LaunchFacts Facts;
  CUstream Stream; ///< The driver's.
  const CudaLaunchAttribute *Attributes;
  uint32_t NumAttributes;
  TunedStub *Found;
  Fallback Obstacle; ///< Why it cannot be served, if so.
};

/// Measures one launch with events in its stream, and waits for it to end. The
/// stream waits until all of them are enqueued, so that the time that the host
/// takes to launch does not count.
class LaunchTimer {
public:
  LaunchTimer() = default;
  LaunchTimer(const LaunchTimer &) = delete;
  LaunchTimer &operator=(const LaunchTimer &) = delete;
  ~LaunchTimer();
  /// Before the launch.
  void start(const CudaDriver &Driver, CUstream Stream);
  /// After the launch. \returns its nanoseconds; none without start(), or if
  /// they could not be measured.
  std::optional<uint64_t> stop();

private:
  class Gate;
  void open();

  bool IsRunning = false;
  Gate *Closed = nullptr; ///< Holds the stream back; null: nothing does.
  const CudaDriver *Driver = nullptr;
  CUstream Stream = nullptr;
  EventTimer Events;
};

/// Thread-safe. Throws nothing.
class GpuDeployment {
public:
  static GpuDeployment &get();

  /// Before slots are filled.
  void setCompiler(LaunchCompiler *C) {
    Compiler.store(C, std::memory_order_relaxed);
  }
  /// Whether any launches may be served.
  bool isActive() const { return TunedKernels::get().isActive() || compiler(); }

  /// Launches a variant or compiled code instead of the application's kernel,
  /// or calls \p Own, if nothing was executed and no state of the application
  /// has changed. Calls both to verify the launch. \returns the runtime's
  /// error.
  int launch(const LaunchRequest &L, OriginalCall Own);

  /// Launches \p C, or the application's own kernel if it is its turn or if \p
  /// C is refused. \returns the runtime's error.
  int serve(const LaunchRequest &L, LaunchCode &C, OriginalCall Own);
  int launchOwn(OriginalCall Own) { return change(Own); }
  /// Sets what is looked up for a launch on the current device. \returns false
  /// if that is unknown. \p Device is set if that was needed; otherwise it
  /// stays -1.
  bool findArch(const LaunchRequest &L, int &Device, unsigned &Variation,
                unsigned &Arch) {
    const GpuList *All = listFor(L);
    return All && findArch(*All, Device, Variation, Arch);
  }
  /// Sets the device of a launch if it is not known yet. \returns why the
  /// launch cannot be served now, if so.
  Fallback checkUncaptured(const LaunchRequest &L, int &Device) const;

  /// Makes a call that launches what is never served.
  template <typename Fn> int launchForeign(Fn Call) {
    int E = change(Call);
    if (!E)
      TunedKernels::get().countForeign();
    return E;
  }
  /// Makes a call of the application that may change device memory: not while a
  /// launch is verified. \returns its result.
  template <typename Fn> int change(Fn Call) {
    DeviceGate::Visit In(TunedKernels::get().verifies() ? &Gate : nullptr);
    return noteError(Call());
  }
  /// The same for a call that allocates \p Size() bytes at \p Ptr, or frees
  /// \p Ptr.
  template <typename Fn, typename SizeFn>
  int allocate(void **Ptr, Fn Call, SizeFn Size, bool IsManaged = false) {
    return change([&] {
      int E = Call();
      if (!E && TunedKernels::get().verifies())
        Buffers.note(*Ptr, Size(),
                     IsManaged ? DeviceBuffers::AllDevices : currentDevice());
      return E;
    });
  }
  template <typename Fn> int release(void *Ptr, Fn Call) {
    return change([&] {
      if (!TunedKernels::get().verifies())
        return Call();
      // Before, because another thread may get the address next.
      DeviceBuffers::Buffer Freed = Buffers.forget(Ptr);
      int E = Call();
      if (E)
        Buffers.note(Ptr, Freed.Size, Freed.Device);
      return E;
    });
  }
  /// Makes a call that writes a variable in \p S.
  template <typename Fn>
  int writeVariable(const void *Shadow, CUstream S, Fn Call) {
    if (!copiesVariables())
      return change(Call);
    return change([&] {
      return VariableWrites::get().write(Shadow, S, Call,
                                         [this] { return driver(); });
    });
  }
  /// Makes a call after which the application may write a variable by other
  /// means.
  template <typename Fn> int shareVariable(const void *Shadow, Fn Call) {
    if (copiesVariables())
      VariableWrites::get().setUnknown(Shadow);
    return change(Call);
  }
  /// Makes a call that begins or ends a capture.
  template <typename Fn> int beginCapture(Fn Call) {
    preload();
    return change([&] {
      int E = Call();
      Captures += !E;
      return E;
    });
  }
  template <typename Fn> int endCapture(Fn Call) {
    return change([&] {
      int E = Call();
      // Other errors leave the capture of another stream alone.
      if (!E || (E >= CUDA_ERROR_STREAM_CAPTURE_INVALIDATED &&
                 E < CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD))
        takeOne(Captures);
      return E;
    });
  }
  /// Makes a call that waits for all work of the device.
  template <typename Fn> int waitForAll(Fn Call) {
    const TunedVariant *Before = TunedKernels::get().lastLaunch();
    int E = Call();
    if (!E)
      TunedKernels::get().noteCompletion(Before);
    return noteError(E);
  }
  /// Reports a fault of the device, which lasts. \returns \p E, an error of the
  /// runtime or the driver.
  int noteError(int E) {
    if (isDeviceFault(E) && TunedKernels::get().isActive())
      noteFault(E);
    return E;
  }

  /// After the application set an attribute of a kernel: sets the variants'.
  void mirrorAttribute(const void *Stub, int Attribute, int Value);
  void mirrorAttribute(TunedStub &Stub, int Attribute, int Value);
  /// After the calling thread selected a device.
  void noteDevice(int Device);
  /// Returns the device of the current context; -1 if there is none.
  int currentDevice() const;
  /// Returns the driver once the application has initialized it; null before.
  const CudaDriver *driver() const {
    const GpuList *L = list();
    return L ? L->Driver : nullptr;
  }
  /// Returns the first device of an architecture; null if there is none.
  const DeployDevice *deviceOf(unsigned Arch) const {
    const GpuList *L = list();
    for (size_t I = 0; L && I != L->All.size(); ++I)
      if (L->All[I].Facts.Arch == Arch)
        return &L->All[I].Facts;
    return nullptr;
  }
  /// After a device was reset: kernels lose their attributes.
  void forget(int Device);

private:
  struct Gpu {
    DeployDevice Facts = {};
    char Name[256] = {};
    std::string Arch; ///< HIP only.
  };
  struct GpuList {
    const CudaDriver *Driver = nullptr;
    std::vector<Gpu> All;
    /// One architecture: a stub leads to the same on all devices.
    bool AreAlike = true;
  };

  GpuDeployment() = default;
  /// The allocation of the driver's that \p Address lies in.
  static bool findAllocation(uint64_t Address, MemoryExtent &E);
  const GpuList *list() const {
    const GpuList *Known = Gpus.load(std::memory_order_acquire);
    return Known ? Known : const_cast<GpuDeployment *>(this)->findGpus();
  }
  const GpuList *findGpus();
  const GpuList *makeContext();
  const GpuList *listFor(const LaunchRequest &L);
  bool findArch(const GpuList &L, int &Device, unsigned &Variation,
                unsigned &Arch) const;
  TunedStub *find(const GpuList &L, const void *Stub, int &Device) const;
  Fallback findDevice(const GpuList &All, const LaunchRequest &L,
                      int &Device) const;
  /// A variant of a package.
  struct TunedCode final : LaunchCode {
    void noteLaunch() override { TunedKernels::get().noteLaunch(*Variant); }
    void noteServed() override {
      Variant->Served.fetch_add(1, std::memory_order_relaxed);
      forgetFailures();
    }
    void addTime(uint64_t Nanoseconds) override {
      TunedKernels::get().addTime(*Variant, Nanoseconds);
    }
    void fail(Fallback Kind, const char *Why) override {
      if (*Why)
        TunedKernels::get().fail(*Variant, Why);
      countFallback(Variant->FellBack, Kind);
    }
    /// Earlier launches may have failed for a reason that is gone.
    void forgetFailures() {
      if (Variant->Failures.load(std::memory_order_relaxed))
        Variant->Failures = 0;
    }

    TunedStub *Stub = nullptr;
    TunedVariant *Variant = nullptr;
    BoundImage *Bound = nullptr; ///< Set by check(), if it uses variables.
  };
  bool select(const LaunchRequest &L, TunedCode &C);
  Fallback check(const LaunchRequest &L, TunedCode &C);
  Fallback checkBound(const LaunchRequest &L, TunedCode &C, bool IsCaptured);
  /// Enqueues \p C. Sets \p Why if that fails.
  CUresult fire(const LaunchRequest &L, LaunchCode &C, Fallback &Why);
  /// \returns true if \p Own was called, with its \p Error. Otherwise nothing
  /// was executed.
  bool verify(TunedCode &C, VerifyReason Why, const LaunchRequest &L,
              OriginalCall Own, int &Error);
  std::vector<MemoryRange> findMemory(const TunedCode &C, const LaunchFacts &L);
  void noteFault(int E);
  Fallback prepare(TunedVariant &V, int Device);
  Fallback prepareBound(TunedVariant &V, const TunedStub &Stub, int Device);
  void preload();
  void preload(TunedVariant &V, const TunedStub &Stub, int Device);
  LaunchCompiler *compiler() const {
    return Compiler.load(std::memory_order_relaxed);
  }
  /// Whether images may have copies of variables that the application writes.
  bool copiesVariables() const {
    return TunedKernels::get().copiesVariables() || compiler();
  }

  std::atomic<LaunchCompiler *> Compiler{nullptr};
  std::atomic<const GpuList *> Gpus{nullptr};
  // Used only if launches are verified.
  DeviceGate Gate;
  DeviceBuffers Buffers;
  std::atomic<uint64_t> Captures{0}; ///< Under way.
  /// By device: the generation of the program of which all images are loaded,
  /// plus 1.
  std::atomic<uint64_t> Preloaded[BoundImage::MaxDevices] = {};
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_GPUDEPLOYMENT_H
