//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Hardware counters of a launch (Counters.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_CONFIG_COUNTERS_H
#define LLVM_MNEME_CONFIG_COUNTERS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <vector>

namespace llvm {
namespace mneme {

enum class CounterGroup { Default, Extra, Energy };

/// A row of Counters.def.
struct CounterInfo {
  StringLiteral Name;
  CounterGroup Group;
  /// Metrics of CUPTI with '|' between; the first that the GPU has applies.
  StringLiteral Source;
  StringLiteral Unit;
};

/// Returns the rows in the order of the table.
ArrayRef<CounterInfo> getCounterInfos();
/// Returns null if there is no such counter.
const CounterInfo *findCounter(StringRef Name);

/// Values of counters in several launches, by name.
using CounterSamples = StringMap<std::vector<double>>;

/// A counter that differs between two kernels.
struct CounterChange {
  std::string Name;
  double Before = 0, After = 0; ///< Medians.
};

/// Returns the counters that changed by more than the noise, in the order of
/// the table: all values of one kernel are beyond all values of the other, and
/// the medians differ by at least 2 % (and by one percentage point).
std::vector<CounterChange> findCounterChanges(const CounterSamples &Before,
                                              const CounterSamples &After);
/// Returns "dram_read_bytes 2.1 GB -> 1.05 GB".
std::string formatCounterChange(const CounterChange &C);

/// Returns "1.05 GB", "97.3 %", "14 conflicts".
std::string formatCounter(const CounterInfo &C, double Value);

/// A set of counters, in the order of the table.
class CounterSet {
public:
  /// Parses "default", "all", "none" or names with ',' between.
  static Expected<CounterSet> parse(StringRef Text);
  /// Returns text for parse(); empty for no counters.
  std::string print() const;

  void add(const CounterInfo &C);
  void add(const CounterSet &Others);
  bool empty() const { return Counters.empty(); }
  ArrayRef<const CounterInfo *> list() const { return Counters; }
  bool operator==(const CounterSet &O) const { return Counters == O.Counters; }

private:
  std::vector<const CounterInfo *> Counters; ///< Sorted by address.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_CONFIG_COUNTERS_H
