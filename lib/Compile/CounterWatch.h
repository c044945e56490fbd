//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// LLVM's debug counters (llvm/Support/DebugCounter.h), which are global
/// variables and cannot be deactivated.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_COMPILE_COUNTERWATCH_H
#define LLVM_MNEME_LIB_COMPILE_COUNTERWATCH_H

#include "llvm/Mneme/Compile/PassGate.h"
#include "llvm/Support/DebugCounter.h"
#include "llvm/Support/FormatVariadic.h"
#include <map>

namespace llvm {
namespace mneme {

/// Lets the rewrites that -debug-counter excludes run, unless the process has
/// compiled with it: then, the counters cannot be reset.
inline void runAllRewrites() {
  DebugCounter &Counters = DebugCounter::instance();
  for (const auto &[Name, Info] : Counters)
    if (DebugCounter::isCounterSet(*Info) &&
        DebugCounter::getCounterState(*Info).ChunkIdx == 0)
      Counters.push_back(formatv("{0}=0-{1}", Name, INT64_MAX).str());
}

/// Counts the queries of debug counters by each pass execution. Use it only in a
/// process that compiles nothing else.
class CounterWatch {
public:
  CounterWatch() { DebugCounter::instance().activateAllCounters(); }

  /// Returns the queries between two calls with the same \p Index, in the
  /// second call. Both are made by PassGate::Options::Observe.
  std::vector<CounterRange> observe(size_t Index) {
    std::vector<CounterRange> Ranges;
    auto [It, IsFirst] = Begun.try_emplace(Index);
    for (const auto &[Name, Info] : DebugCounter::instance()) {
      int64_t Count = DebugCounter::getCounterState(*Info).Count;
      if (IsFirst)
        It->second[Name] = Count;
      else if (int64_t Begin = It->second.lookup(Name); Begin != Count)
        Ranges.push_back({Name.str(), Begin, Count});
    }
    return Ranges;
  }

private:
  /// The counts at the beginning of each execution, by counter.
  std::map<size_t, DenseMap<StringRef, int64_t>> Begun;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_COMPILE_COUNTERWATCH_H
