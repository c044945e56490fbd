//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The worker's side of the messages ToWorker and FromWorker.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_FARMWORKER_H
#define LLVM_MNEME_LIB_FARM_FARMWORKER_H

#include "Coordinator.h"
#include "llvm/Mneme/Farm/ReplayFarm.h"
#include "llvm/Mneme/Support/Clock.h"
#include <set>

namespace llvm {
namespace mneme {

class WorkerSession {
public:
  /// Makes a farm for a study whose files are on this machine.
  using OpenFn = std::function<Expected<Coordinator *>(const RemoteStudy &)>;
  /// \p Link must outlive the session; its descriptors are blocking.
  WorkerSession(FarmWorkerOptions Options, Channel &Link, OpenFn Open);

  /// Returns when the study has ended.
  Error run();

private:
  using Clock = std::chrono::steady_clock;

  FarmWorkerOptions Options;
  Channel &Link;
  OpenFn OpenFarm;
  double SilenceSeconds;
  json::Object Own; ///< Settings of Options.Own with side effects.
  RemoteStudy Study;
  Coordinator *Farm = nullptr;
  std::set<uint64_t> UnderWay; ///< Tickets.
  bool Ended = false;
  bool Closed = false; ///< By the study; received messages may be left.
  std::deque<ToWorker> Later; ///< Messages received during a comparison.
  unsigned Offered = 0;       ///< In the last state.
  Clock::time_point LastState, Heard;

  void note(const Twine &Text) const;
  Expected<ToWorker> waitForMessage();
  Error greet();
  Error checkPrograms(const json::Object &Config, StringRef What) const;
  Error checkStudy() const;
  Error fetch(unsigned File, function_ref<Error(StringRef)> Write);
  Error open();
  Error fail(Error E);
  Error evaluate();
  Error take(message::Start &M) { return makeUnexpected(M); }
  Error take(message::Refused &M) { return makeUnexpected(M); }
  Error take(message::Data &M) { return makeUnexpected(M); }
  Error take(message::Heard &) { return Error::success(); }
  Error take(message::Stop &) { return Error::success(); } // it had ended
  Error take(message::Evaluate &M);
  Error take(message::Cancel &M);
  Error take(message::CompareThere &M);
  Error take(message::End &M);
  Expected<bool> goesOn(uint64_t Ticket);
  Error readLink();
  Expected<std::optional<ToWorker>> nextToTake();
  Error receive();
  Error sendState();
  Error sendStateIfDue();
  Error sendResult(Evaluation E);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_FARMWORKER_H
