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

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Frame.h"
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

class Process {
public:
  /// Forks; this process must have one thread. \p Main runs in the child.
  /// LLVM's fatal errors are sent as message::Fatal.
  /// \p FromChild, \p ToChild: the messages of both directions.
  static Expected<std::unique_ptr<Process>>
  start(function_ref<void(Channel &)> Main, const ChildLimits &Limits,
        ArrayRef<MessageKind> FromChild, ArrayRef<MessageKind> ToChild);
  /// Runs a program, found in PATH, in a session of its own. The channel is its
  /// standard input and output.
  static Expected<std::unique_ptr<Process>>
  launch(ArrayRef<std::string> Words, ArrayRef<MessageKind> FromChild);
  /// There is no process; the caller has the other end of \p Socket. For tests.
  static std::unique_ptr<Process> play(int Socket,
                                       ArrayRef<MessageKind> FromChild);

  pid_t pid() const { return Running ? Running->pid() : 0; }
  Channel &channel() { return *Link; }
  /// What it writes to standard error; readable when there is something for
  /// readMessages(). -1: nothing will come any more.
  int messages() const { return Silent ? -1 : Messages.get(); }
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
  /// Returns true if another process killed it.
  bool wasKilled() const;

private:
  Process(std::optional<Child> Running, std::unique_ptr<Channel> Link,
          Descriptor Messages)
      : Link(std::move(Link)), Messages(std::move(Messages)),
        Running(std::move(Running)) {}
  std::unique_ptr<Channel> Link;
  Descriptor Messages;
  std::optional<Child> Running; ///< None: a test plays it.
  std::string Written;          ///< The end of it.
  std::string Untaken;          ///< See takeLines().
  bool IsProgram = false;
  bool Silent = false; ///< It has closed its standard error.
  bool Gone = false, KilledIt = false;
  uint64_t LimitBytes = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_PROCESS_H
