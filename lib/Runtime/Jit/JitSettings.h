//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The settings of the JIT in this process.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_JIT_JITSETTINGS_H
#define MNEME_LIB_RUNTIME_JIT_JITSETTINGS_H

#include <cstdint>
#include <string>
#include <vector>

namespace mneme {

enum class JitMode : uint32_t { Block, Async, Cached };

struct JitSettings {
  bool IsOn = true;
  JitMode Mode = JitMode::Block;
  uint32_t Specialize = 0; ///< JitArgs etc.
  uint32_t MaxVariants = 32;
  std::string Passes, Config;
  /// Of the kernels that need no annotation; empty: none.
  std::string Kernels;
  std::string Cache; ///< Empty: none.
  uint64_t CacheSize = 0;
  std::vector<std::string> SharedCaches;
  bool Times = false; ///< Every second launch is the own code, for its time.
  std::string Report;
  std::string Server;
  std::string CudaPath;
  std::string TunedFile, TunedDigest;
  double IdleSeconds = 60;
  double TimeoutSeconds = 600;

  /// Reads the environment. Warns of values that are not understood. May throw.
  void read();
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_JIT_JITSETTINGS_H
