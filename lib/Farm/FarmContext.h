//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// State that the parts of a coordinator share.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_FARMCONTEXT_H
#define LLVM_MNEME_LIB_FARM_FARMCONTEXT_H

#include "Process.h"
#include "llvm/Mneme/Farm/Farm.h"
#include <functional>

namespace llvm {
namespace mneme {

/// Number of times that a job is started again because another process has
/// killed its process.
constexpr unsigned MaxLosses = 1;

/// Interval in seconds between attempts to take a lock.
constexpr double LockSeconds = 0.1;

/// Starts a process instead of forking: tests act as the processes.
using StartProcessFn =
    std::function<Expected<std::unique_ptr<Process>>(bool IsCompiler)>;

struct FarmContext {
  FarmBackend &Backend;
  const FarmConfig Config;
  std::string Host;
  StartProcessFn Starter;
  FarmStatistics Stats; ///< Without processes that still run.

  void tell(const Twine &Text) const {
    if (Config.Message)
      Config.Message(Text.str());
  }
  void addTraffic(Process &P) {
    Stats.BytesSent += P.channel().sent();
    Stats.BytesReceived += P.channel().received();
  }
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_FARMCONTEXT_H
