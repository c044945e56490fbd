//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Keeps calls out that could disturb a recorded launch, and no others: with
/// --wait=device all calls, otherwise those whose work the launch's stream is
/// ordered with.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_GPUTAP_STREAMGATE_H
#define MNEME_LIB_RUNTIME_GPUTAP_STREAMGATE_H

#include "Waiter.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"

namespace mneme {

/// A stream that the call does not name.
inline const CUstream AnyStream = reinterpret_cast<CUstream>(~uintptr_t(0));

/// A Gate whose lines are chosen by stream. Thread-safe, except close() and
/// open(): one thread at a time records.
class StreamGate {
public:
  explicit StreamGate(bool WaitsForAll) : WaitsForAll(WaitsForAll) {}

  /// One call that works in a stream, under way for the object's lifetime.
  class Pass : public Gate::Pass {
  public:
    /// \p Closed: passes a closed gate, too.
    Pass(StreamGate &G, CUstream S, bool Closed = false)
        : Gate::Pass(G.Calls, G.lineOf(S), Closed) {}
  };

  /// Keeps calls out that could disturb a launch in \p S. \returns whether
  /// those under way have ended by \p Until; if not, the gate is open.
  bool close(const CudaDriver &Driver, CUstream S, Deadline Until) {
    return Calls.close(linesOf(Driver, S), Until);
  }
  void open() { Calls.open(); }

private:
  unsigned lineOf(CUstream S) const;
  Gate::Lines linesOf(const CudaDriver &Driver, CUstream S) const;

  const bool WaitsForAll;
  Gate Calls;
};

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_GPUTAP_STREAMGATE_H
