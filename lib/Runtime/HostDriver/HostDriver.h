//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Conventions for functions of the CUDA driver on the host device. Its handles
/// are those of the runtime: a module is a library, a function a kernel.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTDRIVER_HOSTDRIVER_H
#define MNEME_LIB_RUNTIME_HOSTDRIVER_HOSTDRIVER_H

#include "CudaTypes.h"

#define DRIVER_API extern "C" __attribute__((visibility("default"))) int
/// Defines a function's name in programs with a default stream per thread.
#define DRIVER_ALIAS(Name, Target)                                             \
  extern "C" __attribute__((visibility("default"), alias(#Target))) int Name()

extern "C" {
int cudaGetLastError();
int cudaPeekAtLastError();
}

namespace mneme {

/// Prevents failures of the driver from becoming the runtime's last error.
class KeepLastError {
  bool WasSuccess = cudaPeekAtLastError() == cudaSuccess;

public:
  ~KeepLastError() {
    if (WasSuccess)
      cudaGetLastError();
  }
};

/// Returns the driver's error for a result of the runtime. Most have the same
/// numbers.
inline int toDriver(int Code) {
  switch (Code) {
  case cudaErrorInvalidConfiguration:
    return cudaErrorInvalidValue;
  case cudaErrorInvalidDeviceFunction:
    return cudaErrorInvalidResourceHandle;
  default:
    return Code;
  }
}

/// The only context, which is always current.
void *hostContext();

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTDRIVER_HOSTDRIVER_H
