//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Calls of the CUDA driver: finds its functions for the program, and handles
/// those that load code and launch it.
///
/// A program reaches the driver by linking it, by dlsym() or by
/// cuGetProcAddress(). CUDA runtimes use the last. Where a program asks for a
/// function that is intercepted, it gets the one that is exported here.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H
#define MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H

#include "CudaRuntime.h"
#include "DriverSymbols.h"
#include "InterceptedCall.h"

#include <cstddef>
#include <cstdint>

namespace mneme {

/// Counts a successful launch of a graph that was made through the driver.
void countForeignGraph();
/// The number of launches counted.
uint64_t foreignGraphs();

/// Whether calls of \p Symbol within another intercepted call are part of that.
/// HIP is one library, whose functions may call each other.
constexpr bool isPartOfOthers(const char *Symbol) {
  return ForHip || isDriverSymbol(Symbol);
}

/// The number of launches of the calling thread that were intercepted in the
/// driver, for comparison.
unsigned &driverLaunchesOfThread();

/// A function that is exported in place of the driver's.
struct ExportedFunction {
  const char *Symbol;
  void *Function;
};

/// The functions in place of the driver's, and their number.
const ExportedFunction *exportedFunctions(size_t &Count);

/// The driver's functions; null where there is no driver, or where it lacks
/// them.
const CudaRuntime &driverRuntime();

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_DRIVERTAP_H
