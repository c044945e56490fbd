//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Processes with a channel to them. A process is either a fork of this one,
/// which starts in milliseconds with all of its state, or another program with
/// a channel over its standard streams.
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
  /// Forks this process, which must have one thread. \p Main runs in the child.
  /// LLVM's fatal errors are sent as message::Fatal. \p FromChild and \p
  /// ToChild are the messages of the two directions.
  static Expected<std::unique_ptr<Process>>
  start(function_ref<void(Channel &)> Main, const ChildLimits &Limits,
        ArrayRef<MessageKind> FromChild, ArrayRef<MessageKind> ToChild);
  /// Runs a program, found in PATH, in a session of its own. The channel is its
  /// standard input and output.
  static Expected<std::unique_ptr<Process>>
  launch(ArrayRef<std::string> Words, ArrayRef<MessageKind> FromChild);
  /// Makes an object without a process, for tests. The caller has the other end
  /// of \p Socket.
  static std::unique_ptr<Process> play(int Socket,
                                       ArrayRef<MessageKind> FromChild);

  pid_t pid() const { return Running ? Running->pid() : 0; }
  Channel &channel() { return *Link; }
  /// Descriptor of its standard error, readable when readMessages() has work to
  /// do; -1 at the end of the stream.
  int messages() const { return Silent ? -1 : Messages.get(); }
  void readMessages();
  void forgetMessages() { Written.clear(); }
  /// \returns the lines of a program's standard error since the last call.
  std::vector<std::string> takeLines();

  void kill();
  /// Sends SIGTERM to its process group.
  void terminate();
  /// Stops or continues its process group.
  void pause(bool Stop);
  /// \returns whether the process has ended. Never waits.
  bool reap();
  /// After reap(): describes how it ended, with its last message.
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
  std::optional<Child> Running; ///< Unset in tests.
  std::string Written;          ///< The end of standard error.
  std::string Untaken;          ///< See takeLines().
  bool IsProgram = false;
  bool Silent = false; ///< Standard error is closed.
  bool Gone = false, KilledIt = false;
  uint64_t LimitBytes = 0;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_PROCESS_H
