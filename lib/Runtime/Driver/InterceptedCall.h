//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The calls of a program that the recorder and deployment intercept: their
/// nesting and their streams.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_INTERCEPTEDCALL_H
#define MNEME_LIB_RUNTIME_DRIVER_INTERCEPTEDCALL_H

#include "CudaTypes.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <type_traits>

namespace mneme {

/// Refers to a function without arguments that makes a call as the application
/// would without Mneme, and returns its error. Does not own the function; a
/// temporary one lives until the call that it is passed to ends.
class OriginalCall {
public:
  template <typename Fn, typename = std::enable_if_t<
                             !std::is_same_v<std::decay_t<Fn>, OriginalCall>>>
  OriginalCall(Fn &&F)
      : Call([](void *P) {
          return (*static_cast<std::remove_reference_t<Fn> *>(P))();
        }),
        Function(&F) {}
  int operator()() const { return Call(Function); }

private:
  int (*Call)(void *);
  void *Function;
};

/// A call of an intercepted function that the thread is in. Driver calls that
/// it makes are part of it.
class InterceptedCall {
public:
  InterceptedCall() { ++Depth; }
  InterceptedCall(const InterceptedCall &) = delete;
  InterceptedCall &operator=(const InterceptedCall &) = delete;
  ~InterceptedCall() { --Depth; }
  static bool isInside() { return Depth; }

  /// While it lives, driver calls are intercepted all the same.
  class Opened {
  public:
    Opened() : Before(Depth) { Depth = 0; }
    Opened(const Opened &) = delete;
    Opened &operator=(const Opened &) = delete;
    ~Opened() { Depth = Before; }

  private:
    unsigned Before;
  };

private:
  static inline thread_local unsigned Depth
      __attribute__((tls_model("initial-exec"))) = 0;
};

/// Whether \p E says that a call is not allowed while a stream is captured.
inline bool isCaptureError(CUresult E) {
  return E >= CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED &&
         E <= CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD;
}

/// The legacy default stream, ordered with all streams except non-blocking
/// ones.
inline const CUstream LegacyStream = reinterpret_cast<CUstream>(1);
/// The default stream of the calling thread (CU_STREAM_PER_THREAD).
inline const CUstream ThreadStream = reinterpret_cast<CUstream>(2);

inline CUstream toDriver(CudaStream *S) {
  return reinterpret_cast<CUstream>(S);
}

/// toPtsz() and toDriverPtsz() are for functions whose stream 0 is the thread's
/// own.
inline CUstream toPtsz(CUstream S) { return S ? S : ThreadStream; }
inline CUstream toDriverPtsz(CudaStream *S) { return toPtsz(toDriver(S)); }

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_INTERCEPTEDCALL_H
