//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The coordinator's interface to other machines.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_OUTSIDE_H
#define LLVM_MNEME_LIB_FARM_OUTSIDE_H

#include "llvm/Mneme/Farm/Farm.h"
#include <poll.h>

namespace llvm {
namespace mneme {

/// A worker's answer to a job, or the loss of the worker.
struct OutsideResult {
  enum KindTy {
    Done,
    Lost,     ///< The job must be done again.
    Declined, ///< No worker accepts it; see Result.Error.
  };
  uint64_t Ticket = 0;
  KindTy Kind = Lost;
  Evaluation Result;
};

/// The workers of a study.
class Outside {
public:
  virtual ~Outside() = default;
  virtual void addTo(std::vector<pollfd> &Waits) const = 0;
  /// Receives, sends, starts workers; never waits.
  virtual void serve() = 0;
  /// \returns the seconds until serve() must be called even if nothing is
  /// received; at most \p Seconds.
  virtual double untilNextTime(double Seconds) const = 0;
  /// Error: no worker is left, and none will be started.
  virtual Error checkAlive() const = 0;
  /// \returns the number of requests that can be under way there.
  virtual unsigned capacity() const = 0;
  /// \returns false if no machine has room, or none has the requested device.
  virtual bool submit(uint64_t Ticket, const EvaluationRequest &R) = 0;
  /// Cancels requests that have not begun there. Their results are Cancelled.
  virtual void cancel() = 0;
  virtual std::vector<OutsideResult> take() = 0;
  /// Starts a comparison. \returns false if no machine has a device.
  virtual bool compare(ArrayRef<EvaluationRequest> Requests,
                       unsigned Rounds) = 0;
  /// \returns std::nullopt while the comparison runs. Error: its worker was
  /// lost.
  virtual Expected<std::optional<PairedEvaluation>> takeComparison() = 0;
  /// Cancels the comparison.
  virtual void stopComparison() = 0;
  virtual void addTo(FarmStatistics &S) const = 0;
  virtual json::Array describe() const = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_OUTSIDE_H
