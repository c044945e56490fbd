//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Processes with a channel to them: forked from this one, which starts in
/// milliseconds with all that this one has; or another program, over its
/// standard streams.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_PROCESS_H
#define LLVM_MNEME_LIB_FARM_PROCESS_H

#include "Frame.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <memory>
#include <string>
#include <sys/types.h>
#include <vector>

namespace llvm {
namespace mneme {

struct ProcessLimits {
  int Nice = 0;
  /// Bytes of memory that it may have beside what it inherits; 0: no limit.
  uint64_t Bytes = 0;
  std::vector<unsigned> Cores; ///< Empty: all.
};

class Process {
public:
  /// Forks; this process must have one thread. \p Main runs in the child, which
  /// ends when it returns, when this process ends, or when it is killed, and
  /// what it started with it. LLVM's fatal errors are sent as message::Fatal.
  /// \p FromChild, \p ToChild: the messages of both directions.
  static Expected<std::unique_ptr<Process>>
  start(function_ref<void(Channel &)> Main, const ProcessLimits &Limits,
        ArrayRef<MessageKind> FromChild, ArrayRef<MessageKind> ToChild);
  /// Runs a program, found in PATH, in a session of its own. The channel is its
  /// standard input and output.
  static Expected<std::unique_ptr<Process>>
  launch(ArrayRef<std::string> Words, ArrayRef<MessageKind> FromChild);
  /// There is no process; the caller has the other end of \p Socket. For tests.
  static std::unique_ptr<Process> play(int Socket,
                                       ArrayRef<MessageKind> FromChild);
  /// Kills it if it still runs.
  ~Process();

  pid_t pid() const { return Pid; }
  Channel &channel() { return *Link; }
  /// What it writes to standard error; readable when there is something for
  /// readMessages(). -1: nothing will come any more.
  int messages() const { return Silent ? -1 : Messages; }
  void readMessages();
  void forgetMessages() { Written.clear(); }
  /// The lines that a program wrote to standard error since the last time.
  std::vector<std::string> takeLines();

  void kill();
  /// Asks it, and what it started, to end.
  void terminate();
  /// Stops it, and what it started, until it is let go on.
  void pause(bool Stop);
  /// Is it gone? Never waits.
  bool reap();
  /// After reap(): how it ended, and what it said last, in words.
  std::string describeEnd() const;
  /// Did somebody else end it?
  bool wasKilled() const;

private:
  Process(pid_t Pid, std::unique_ptr<Channel> Link, int Messages)
      : Pid(Pid), Link(std::move(Link)), Messages(Messages) {}
  pid_t Pid; ///< 0: there is none.
  std::unique_ptr<Channel> Link;
  int Messages;
  std::string Written; ///< The end of it.
  std::string Untaken; ///< See takeLines().
  bool IsProgram = false;
  bool Silent = false; ///< It has closed its standard error.
  bool Gone = false, KilledIt = false;
  int Status = 0;
  uint64_t LimitBytes = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_PROCESS_H
