//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Machines besides this one, as the coordinator uses them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_OUTSIDE_H
#define LLVM_MNEME_LIB_FARM_OUTSIDE_H

#include "llvm/Mneme/Farm/Farm.h"
#include <poll.h>

namespace llvm {
namespace mneme {

/// What a worker says about a job, or is said of it when it is lost.
struct OutsideResult {
  enum KindTy {
    Done,
    Lost,     ///< Must be done again.
    Declined, ///< No worker will do it: Result.Error.
  };
  uint64_t Ticket = 0;
  KindTy Kind = Lost;
  Evaluation Result;
};

/// Workers.
class Outside {
public:
  virtual ~Outside() = default;
  virtual void addTo(std::vector<pollfd> &Waits) const = 0;
  /// Receives, sends, starts workers; never waits.
  virtual void serve() = 0;
  /// How long serve() need not be called if nothing is received; at most
  /// \p Seconds.
  virtual double untilNextTime(double Seconds) const = 0;
  /// Error: no worker is left, and none will be started.
  virtual Error checkAlive() const = 0;
  /// Requests that could be under way there.
  virtual unsigned capacity() const = 0;
  /// \returns false when no machine has room, or none has the device that is
  /// asked for.
  virtual bool submit(uint64_t Ticket, const EvaluationRequest &R) = 0;
  /// The results of what is not begun there will be Cancelled.
  virtual void cancel() = 0;
  virtual std::vector<OutsideResult> take() = 0;
  /// \returns false when there is no machine that has a device.
  virtual bool compare(ArrayRef<EvaluationRequest> Requests,
                       unsigned Rounds) = 0;
  /// Unset: not there yet. An Error: lost.
  virtual Expected<std::optional<PairedEvaluation>> takeComparison() = 0;
  /// Cancels the comparison.
  virtual void stopComparison() = 0;
  virtual void addTo(FarmStatistics &S) const = 0;
  virtual json::Array describe() const = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_OUTSIDE_H
