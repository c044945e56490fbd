//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What drives a GPU beneath GPUDevice: the CUDA driver itself, or LLVM's
/// liboffload. A backend has one queue, a CUDA stream, in the primary context
/// of its device, which the device made current; work is done in the order in
/// which it was enqueued. What liboffload cannot do (memory at fixed addresses,
/// events, attributes) the device does through the driver, on that stream.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_DEVICE_GPU_GPUBACKEND_H
#define LLVM_MNEME_LIB_DEVICE_GPU_GPUBACKEND_H

#include "llvm/ADT/ArrayRef.h"
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

/// How work went: the driver's code, and a text for the user, which is empty
/// when the driver's own text for the code says it all. Where a backend is told
/// less than the code, it asks the driver (a kernel's failure sticks to the
/// context), and gives CUDA_ERROR_UNKNOWN when the driver knows of nothing.
struct GPUResult {
  CUresult Code = ::mneme::CUDA_SUCCESS;
  std::string Message;

  GPUResult() = default;
  GPUResult(CUresult Code, std::string Message = {})
      : Code(Code), Message(std::move(Message)) {}
  /// True when it went wrong.
  explicit operator bool() const { return Code != ::mneme::CUDA_SUCCESS; }
};

/// One or more launches of a kernel, enqueued back to back.
struct GPULaunch {
  Dim3 Grid, Block;
  unsigned DynamicShared = 0; ///< Bytes. The function allows as much already.
  bool Cooperative = false;
  unsigned Repeat = 1;
  /// One pointer per argument, to host memory that may change after launch().
  ArrayRef<void *> Args;
  /// One per argument: where it lies in the kernel's parameters, whose size is
  /// the end of the last one.
  ArrayRef<KernelArg> Layout;
  /// Recorded right before the first and right after the last launch, with
  /// nothing between them and the kernels; null: not wanted.
  CUevent Start = nullptr, Stop = nullptr;
};

class GPUBackend {
public:
  /// A loaded image and a kernel of it, as the backend knows them.
  using Program = void *;
  using Kernel = void *;

  virtual ~GPUBackend() = default;

  /// "driver" or "liboffload".
  virtual StringRef getName() const = 0;
  /// The queue.
  virtual CUstream getStream() = 0;

  /// Loads an executable image: a cubin. \p Object may go afterwards.
  virtual Expected<Program> load(ArrayRef<char> Object) = 0;
  virtual Error unload(Program P) = 0;
  /// Lives as long as \p P.
  virtual Expected<Kernel> getKernel(Program P, StringRef Name) = 0;
  /// The driver's handle of \p K.
  virtual CUfunction getFunction(Kernel K) = 0;
  /// The place that \p P brings for the variable \p Name. False: it has none.
  virtual bool getGlobal(Program P, StringRef Name, uint64_t &Address,
                         uint64_t &Size) = 0;

  /// Enqueued. Memory of the host that is not pinned may be reused when
  /// upload() returns, and is written when synchronize() returns; pinned memory
  /// must wait for synchronize(), or for an event on the stream, in both.
  virtual GPUResult upload(uint64_t To, const void *From, uint64_t Size) = 0;
  virtual GPUResult download(void *To, uint64_t From, uint64_t Size) = 0;
  /// Enqueued; from device memory to device memory.
  virtual GPUResult copy(uint64_t To, uint64_t From, uint64_t Size) = 0;
  virtual GPUResult fill(uint64_t To, uint8_t Byte, uint64_t Size) = 0;

  /// Enqueued. CUDA_ERROR_INVALID_VALUE and the like when it is refused.
  virtual GPUResult launch(Kernel K, const GPULaunch &L) = 0;

  /// Waits until all is done, CUDA_ERROR_NOT_READY when that takes longer than
  /// \p TimeoutSeconds (0: however long).
  virtual GPUResult synchronize(double TimeoutSeconds) = 0;

  /// Host memory that unloaded programs left behind for good: liboffload keeps
  /// a copy of every image.
  virtual uint64_t leakedBytes() const { return 0; }
};

/// Waits until \p Stream is empty: spins for a moment, then sleeps in short
/// naps. \p TimeoutSeconds and result as GPUBackend::synchronize(). For
/// backends whose own way of waiting knows no limit.
CUresult waitForStream(const CudaDriver &Driver, CUstream Stream,
                       double TimeoutSeconds);

/// The backend that calls the driver directly.
Expected<std::unique_ptr<GPUBackend>>
createDriverBackend(const CudaDriver &Driver);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_DEVICE_GPU_GPUBACKEND_H
