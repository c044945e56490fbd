//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Compiles kernels and functions with constants of a launch.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_JIT_COMPILEREQUEST_H
#define LLVM_MNEME_LIB_JIT_COMPILEREQUEST_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/Config/KernelConfig.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Runtime/JitExchange.h"
#include "llvm/Mneme/Transforms/Specialize.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A request as the server gets it.
struct JitJob {
  ::mneme::JitRequest Request;
  std::string CacheFolder; ///< Empty: none.
  uint64_t CacheLimit = 0;
  std::vector<std::string> Payloads;
  std::string CudaPath;
  std::string TunedFile;            ///< Empty: none.
  std::vector<std::string> Plugins; ///< As Request.Plugins.
  static Expected<JitJob> decode(StringRef Body);
};

/// The result of a job.
struct JitResult {
  ::mneme::JitFacts Facts;
  ::mneme::JitImage Image;
  std::string encode() const;
  static std::optional<JitResult> decode(StringRef Bytes);
};

/// Compiles. Call it in a ChildTask.
Expected<JitResult> compileJob(const JitJob &Job);

// The parts of compileJob().

/// Returns what the request says about a launch.
SpecializeOptions getSpecialization(const ::mneme::JitRequest &Q,
                                    StringRef Entry);
Expected<JitResult> compileFunction(const JitJob &Job, const Payload &Code,
                                    const KernelConfig &Config);
/// Replaces the markers of shared_array() whose size is a constant by arrays of
/// that size.
void resolveSharedArrays(Module &M);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_JIT_COMPILEREQUEST_H
