//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A process of the farm, its time limit and its end.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_WORKERPROCESS_H
#define LLVM_MNEME_LIB_FARM_WORKERPROCESS_H

#include "Messages.h"
#include "Process.h"
#include "llvm/Mneme/Process/Deadline.h"
#include <chrono>
#include <poll.h>

namespace llvm {
namespace mneme {

struct WorkerProcess {
  using Clock = std::chrono::steady_clock;
  using Time = Clock::time_point;

  std::unique_ptr<Process> P;
  std::string Stage, Fatal;
  std::string
      Shortage; ///< The shortage that ended it: not its job's fault.
  std::string Complaint; ///< Error in its messages.
  double Limit = 0;      ///< Seconds of the stage; 0: none.
  std::optional<Time> Deadline;
  StarvationClock Starved; ///< Started with the deadline.
  bool TimedOut = false;
  std::optional<Time> Ending; ///< Deadline of its exit, once it ends.

  bool isAlive() const { return P && !Ending; }
  void setStage(StringRef Stage, double Limit);
  /// Call when the process has ended, or is about to end.
  void expectEnd();
  void kill();
  /// Kills it if its stage takes too long.
  void checkDeadline(Time Now);
  /// Returns true once it is gone, after expectEnd().
  bool isGone(Time Now);
  /// Returns the seconds until checkDeadline() or isGone() is due; at most
  /// \p Seconds.
  double untilNextTime(double Seconds, Time Now) const;

  void addTo(std::vector<pollfd> &Waits);
  /// Reads standard error. \returns the events of its connection.
  short takeEvents(ArrayRef<pollfd> Waits);
  void flush();
  /// Passes received messages of \p SetT to \p Take. Kills the process on an
  /// error.
  template <typename SetT, typename FnT> void serve(short Events, FnT Take);

  /// Describes how it ended. \p Nothing is what it did if no stage is known.
  std::string describeEnd(StringRef Nothing) const;

private:
  std::optional<size_t> PollIndex; ///< In addTo()'s result.
};

template <typename SetT, typename FnT>
void WorkerProcess::serve(short Events, FnT Take) {
  if (Ending || !(Events & (POLLIN | POLLHUP | POLLERR)))
    return;
  Channel &Link = P->channel();
  Expected<bool> Open = Link.receive();
  while (!Ending) {
    Expected<std::optional<SetT>> M = nextMessage<SetT>(Link.Parser);
    if (M && !*M)
      break;
    Error E = M ? std::visit(Take, std::move(**M)) : M.takeError();
    if (E) {
      Complaint = toString(std::move(E));
      kill();
    }
  }
  if (!Open)
    consumeError(Open.takeError());
  if (!Open || !*Open)
    expectEnd();
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_WORKERPROCESS_H
