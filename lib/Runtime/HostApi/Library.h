//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Code that the program has loaded: the CUDA runtime's libraries, and the
/// driver's libraries and modules.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_HOSTAPI_LIBRARY_H
#define MNEME_LIB_RUNTIME_HOSTAPI_LIBRARY_H

#include "Program.h"
#include "RegisteredIR.h"

#include <deque>
#include <string>

namespace mneme {

struct Module;

/// The code of a library from one IR: that of the image, or registered IR.
struct LibraryCode {
  const RegisteredIR *IR; ///< Null if the image is IR itself.
  DeviceModule::Key Key;
  std::string Payload; ///< See KernelRequest.
  Module *Loaded;
};

/// Its address is the kernel's handle.
struct LibraryKernel {
  const LibraryCode *Code;
  std::string Name;
};

struct Library {
  std::string Image, Digest;
  uint32_t Number;
  std::deque<LibraryCode> Codes;
  std::deque<LibraryKernel> Kernels;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_HOSTAPI_LIBRARY_H
