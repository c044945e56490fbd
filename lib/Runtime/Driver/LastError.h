//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The error that hipGetLastError() returns to the program. Calls of CUDA's
/// driver do not change the runtime's last error, but Mneme's calls of HIP do.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DRIVER_LASTERROR_H
#define MNEME_LIB_RUNTIME_DRIVER_LASTERROR_H

#include "Vendor.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

#include <cstring>

namespace mneme {

class LastError {
public:
  /// What the program gets from hipGetLastError() and hipPeekAtLastError().
  static int get();
  static int peek();
  static bool isAbout(const char *Symbol) {
    return !strcmp(Symbol, "hipGetLastError") ||
           !strcmp(Symbol, "hipPeekAtLastError");
  }

  /// Makes a call of the program. Afterwards the last error is that of the
  /// call, or the one before. \p IsInside: the call is part of another one.
  template <typename Fn> static int keep(bool IsInside, Fn Call) {
    if constexpr (!ForHip)
      return Call();
    if (IsInside || !isKnown())
      return Call();
    int Before = peek();
    int E = Call();
    // HIP does not count this one as an error.
    set(E && E != CUDA_ERROR_NOT_READY ? E : Before);
    return E;
  }

private:
  static bool isKnown();
  static void set(int E);
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DRIVER_LASTERROR_H
