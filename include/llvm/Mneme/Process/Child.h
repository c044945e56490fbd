//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Starts and ends child processes: a function in a fork, or a program. No
/// other code calls fork() or waits for a process.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PROCESS_CHILD_H
#define LLVM_MNEME_PROCESS_CHILD_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <atomic>
#include <csignal>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <sys/types.h>
#include <utility>
#include <vector>

namespace llvm {
namespace mneme {
class Jail;

//===----------------------------------------------------------------------===//
// Signals and ends
//===----------------------------------------------------------------------===//

/// Prepares the signals of a tool, at the beginning of main(), after InitLLVM.
/// Signals that end it remove its private folders. It can wait for its children
/// even if it inherited an ignored SIGCHLD, for example from a daemon;
/// otherwise, their exit statuses would be lost.
void prepareSignals();

/// From now on, counts the signals that would end a search (SIGINT, SIGTERM,
/// and SIGHUP unless it was ignored). The third one removes the private folders
/// and ends the process. \returns the counter.
const std::atomic<int> &countInterrupts();

/// Ignores SIGCHLD again, in a process about to execute another program.
void restoreChildSignals();

/// The status of a process that is not a child, or no longer: how it ended is
/// unknown.
constexpr int UnknownStatus = -1;

/// Describes how a process with this waitpid() status ended, as text that
/// follows its name: "died of signal 11 (Segmentation fault)", "ended the
/// process with exit code 3".
std::string describeExit(int Status);

/// The reason for a process's death, taken from its standard error.
struct LastWords {
  std::string Text; ///< One line.
  bool IsOutOfMemory = false;
};

/// Finds the last words in \p Written, the tail of standard error: the message
/// of report_fatal_error(), of an assertion or of a sanitizer; otherwise the
/// last line.
LastWords findLastWords(StringRef Written);

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Returns the writable private memory of this process in bytes, as counted by
/// RLIMIT_DATA; 0 if unknown.
uint64_t getDataBytes();

/// Limits the private memory of this process to its current size plus \p Bytes.
/// Does nothing under AddressSanitizer, whose shadow memory exceeds any limit.
void limitMemory(uint64_t Bytes);

//===----------------------------------------------------------------------===//
// Children
//===----------------------------------------------------------------------===//

/// Limits of a child process. 0: no limit.
struct ChildLimits {
  /// Wall clock; SIGALRM ends the child. A forked function is given the time
  /// during which it had no processor.
  double Seconds = 0;
  /// Private memory; of a forked function, in addition to that at its start.
  uint64_t Bytes = 0;
  uint64_t ProcessorSeconds = 0;
  uint64_t FileBytes = 0; ///< Largest size of a file that it writes.
  int Nice = 0;
  std::vector<unsigned> Cores = {}; ///< Empty: all.
};

/// Values for standard streams that are not descriptors of the parent.
constexpr int InheritStream = -1, NullStream = -2;

/// The state in which a child starts. By default, a child leads a process
/// group, has default signals and no descriptors besides its standard streams,
/// and dies with the thread that started it.
struct ChildOptions {
  int In = NullStream;
  int Out = NullStream;
  int Err = InheritStream;
  /// Further descriptors of a forked function, under the same numbers.
  SmallVector<int, 2> Kept;
  ChildLimits Limits;
  /// A forked function keeps LLVM's crash handlers and may dump core. Otherwise
  /// the parent reports a crash in one line.
  bool ShowsCrash = false;
  /// The child has its own session, so it cannot ask for passwords at the
  /// terminal.
  bool OwnSession = false;
  /// Environment variables of a program besides those of this process.
  std::vector<std::pair<std::string, std::string>> Environment;
  /// A program has no environment variables besides those in Environment.
  bool OnlyEnvironment = false;
  /// The working directory of the child; empty: that of this process.
  std::string Directory;
  /// Restrictions of the child, which it enters last; may be null.
  const Jail *Confined = nullptr;
  /// Signal that a forked function gets at the death of this process.
  int DeathSignal = SIGKILL;
  /// Seconds that a program's process group may take to end after the death of
  /// this process, and again after SIGTERM. 0: it is killed at once.
  double Grace = 0;
  /// Runs after the death of this process, once a program's group is killed,
  /// in a copy of this process as it was at the start of the program. Must not
  /// allocate memory.
  function_ref<void()> CleanUp = nullptr;
  /// The program is the user's: it keeps all descriptors and the group of this
  /// process, has the signal mask \p Mask, and outlives this process.
  bool IsUsers = false;
  sigset_t Mask = {};
};

/// A child process. It is killed, with its process group, by the destructor and
/// at the death of this process; this holds for the children of a program, too.
class Child {
public:
  /// Forks a child that runs \p Main and ends with exit code 0. \p Main must
  /// not acquire locks that another thread of this process may hold.
  static Expected<Child> fork(function_ref<void()> Main,
                              const ChildOptions &Options);
  /// Runs \p Program, the path of a file. \p Words start with its name.
  static Expected<Child> spawn(const std::string &Program,
                               ArrayRef<std::string> Words,
                               const ChildOptions &Options);
  Child(Child &&Other);
  Child &operator=(Child &&Other);
  /// Kills the process, except the user's. Does not wait long for a process
  /// that hangs in the kernel, as a GPU's driver may.
  ~Child();

  pid_t pid() const { return Pid; }
  /// Sends a signal to the process group.
  void signal(int Number) const;
  void kill();

  /// Returns true if the process has ended. Its status may still be unknown.
  bool hasEnded() const;
  /// Returns true if the process has ended. Its group is then killed.
  bool reap();
  /// Waits for the end. \returns the status.
  int wait();
  /// Waits for at most \p Seconds. \returns true if the process has ended.
  bool wait(double Seconds);
  /// Returns the waitpid() status after the end, or UnknownStatus.
  int status() const { return Status; }

private:
  class Guard;

  Child();
  pid_t Pid = 0;
  int Status = UnknownStatus;
  bool HasEnded = true, IsUsers = false, IsKilled = false;
  std::unique_ptr<Guard> Watch; ///< For a program.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PROCESS_CHILD_H
