//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The interface to a GPU below GPUDevice: the CUDA driver or HIP itself, or
/// LLVM's liboffload. A backend has one queue, a CUDA stream, in the primary
/// context of its device, which the device has made current. Work is done in
/// the order in which it is enqueued. For memory at fixed addresses, events and
/// attributes, which liboffload does not support, the device uses the driver on
/// that stream.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_GPUBACKEND_H
#define LLVM_MNEME_LIB_DEVICE_GPU_GPUBACKEND_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>

namespace llvm {
namespace mneme {

using ::mneme::CUcontext;
using ::mneme::CudaDriver;
using ::mneme::CUdevice;
using ::mneme::CUdeviceptr;
using ::mneme::CUevent;
using ::mneme::CUfunction;
using ::mneme::CUresult;
using ::mneme::CUstream;

/// The result of an operation: the driver's code, and a message for the user,
/// which is empty if the driver's text for the code is sufficient. A backend
/// that does not receive the code asks the driver, because a kernel's failure
/// sticks to the context. It returns CUDA_ERROR_UNKNOWN if the driver knows of
/// no failure.
struct GPUResult {
  CUresult Code = ::mneme::CUDA_SUCCESS;
  std::string Message;

  GPUResult() = default;
  GPUResult(CUresult Code, std::string Message = {})
      : Code(Code), Message(std::move(Message)) {}
  /// \returns true on failure.
  explicit operator bool() const { return Code != ::mneme::CUDA_SUCCESS; }
};

/// Two events, whose time is measured.
struct EventPair {
  CUevent Start = nullptr, Stop = nullptr;
};

/// One or more launches of a kernel, enqueued back to back.
struct GPULaunch {
  Dim3 Grid, Block;
  unsigned DynamicShared = 0; ///< Bytes, which the function allows already.
  bool Cooperative = false;
  Dim3 Cluster;
  unsigned Repeat = 1;
  /// For a backend that waits in launch(), as for GPUBackend::synchronize().
  double TimeoutSeconds = 0;
  /// One pointer per argument, to host memory that may change after launch().
  ArrayRef<void *> Args;
  /// One per argument, with its offset in the kernel's parameters. The size of
  /// the parameters is the end of the last argument.
  ArrayRef<KernelArg> Layout;
  /// Recorded immediately before the first and after the last launch, with
  /// nothing between them and the kernels. May be null.
  CUevent Start = nullptr, Stop = nullptr;
  /// Instead of these, for a backend that times dispatches: a pair for each
  /// launch, with the time of its kernel alone.
  ArrayRef<EventPair> OfDispatches;
};

/// Launches \p F once, as \p L says, by the driver. No events.
GPUResult launchDirectly(const CudaDriver &Driver, CUfunction F,
                         const GPULaunch &L, CUstream Stream);

class GPUBackend {
public:
  /// The backend's handles of a loaded image and of a kernel in it.
  using Program = void *;
  using Kernel = void *;

  virtual ~GPUBackend() = default;

  /// "driver" or "liboffload".
  virtual StringRef getName() const = 0;
  /// The CUDA stream of the queue.
  virtual CUstream getStream() = 0;

  /// Loads an executable image: a cubin. \p Object need not outlive the call.
  virtual Expected<Program> load(ArrayRef<char> Object) = 0;
  virtual Error unload(Program P) = 0;
  /// The kernel lives as long as \p P.
  virtual Expected<Kernel> getKernel(Program P, StringRef Name) = 0;
  /// The driver's handle of \p K.
  virtual CUfunction getFunction(Kernel K) = 0;
  /// Finds the memory of the variable \p Name in \p P. \returns false if \p P
  /// does not have it.
  virtual bool getGlobal(Program P, StringRef Name, uint64_t &Address,
                         uint64_t &Size) = 0;

  /// Enqueue copies to and from the device. Pageable host memory may be reused
  /// when upload() returns, and is filled when synchronize() returns. Pinned
  /// memory must wait, in both directions, for synchronize() or for an event on
  /// the stream.
  virtual GPUResult upload(uint64_t To, const void *From, uint64_t Size) = 0;
  virtual GPUResult download(void *To, uint64_t From, uint64_t Size) = 0;
  /// Enqueue operations on device memory.
  virtual GPUResult copy(uint64_t To, uint64_t From, uint64_t Size) = 0;
  virtual GPUResult fill(uint64_t To, uint8_t Byte, uint64_t Size) = 0;

  /// Enqueues launches. Returns CUDA_ERROR_INVALID_VALUE or a similar code if
  /// they are refused, CUDA_ERROR_NOT_READY after their time limit.
  virtual GPUResult launch(Kernel K, const GPULaunch &L) = 0;

  /// Whether launches that are not cooperative can have
  /// GPULaunch::OfDispatches.
  virtual bool timesDispatches() const { return false; }

  /// Waits until all work is done. Returns CUDA_ERROR_NOT_READY after \p
  /// TimeoutSeconds; 0 means no limit.
  virtual GPUResult synchronize(double TimeoutSeconds) = 0;

  /// Host memory that unloaded programs have leaked: liboffload keeps a copy of
  /// every image.
  virtual uint64_t leakedBytes() const { return 0; }
};

/// Waits until \p Poll does not return CUDA_ERROR_NOT_READY: spins for a short
/// time, then sleeps in short intervals. \p TimeoutSeconds and the result are
/// as for GPUBackend::synchronize(). For backends whose own wait has no time
/// limit.
CUresult waitUntil(double TimeoutSeconds, function_ref<CUresult()> Poll);
/// Waits until \p Stream is empty.
CUresult waitForStream(const CudaDriver &Driver, CUstream Stream,
                       double TimeoutSeconds);

/// The backend that calls the driver directly.
Expected<std::unique_ptr<GPUBackend>>
createDriverBackend(const CudaDriver &Driver);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_GPUBACKEND_H
