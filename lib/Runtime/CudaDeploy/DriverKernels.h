//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Kernels of packages that the program loads through the driver: of images
/// that a package names by digest.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_CUDADEPLOY_DRIVERKERNELS_H
#define MNEME_LIB_RUNTIME_CUDADEPLOY_DRIVERKERNELS_H

#include "StubTable.h"

#include <map>
#include <mutex>
#include <string>

namespace mneme {

struct TunedStub;

/// Whether a recorder is in the process, which takes precedence.
bool isRecording();

/// Thread-safe. Throws nothing: what cannot be noted is not served. An owner is
/// a module or a library of the driver.
class DriverKernels {
public:
  static DriverKernels &get();

  /// After \p Owner was loaded from \p Image. Opens the packages.
  void noteImage(const void *Owner, const void *Image, bool IsKept);
  void noteModuleOfLibrary(const void *Module, const void *Library);
  /// \p Handle: a function or a kernel.
  void noteFunction(const void *Handle, const void *Owner, const char *Name);
  void noteFunctionOfKernel(const void *Function, const void *Kernel);
  /// Before \p Owner is unloaded.
  void forget(const void *Owner);

  /// Returns null for functions that no package has.
  TunedStub *find(const void *Handle) const {
    return Handle ? Table.find(reinterpret_cast<uint64_t>(Handle)) : nullptr;
  }

private:
  struct Function {
    const void *Owner;
    TunedStub *Stub;
  };

  DriverKernels() = default;
  void add(const void *Handle, Function F);
  void fillTable();

  std::mutex Lock;
  std::map<const void *, std::string> Digests; ///< By owner.
  std::map<const void *, Function> Functions;
  StubTable<TunedStub> Table;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_CUDADEPLOY_DRIVERKERNELS_H
