//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Runs a compiler, in a jail if its input is not trusted.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_RUNCOMPILER_H
#define LLVM_MNEME_SOURCE_RUNCOMPILER_H

#include "llvm/Mneme/Process/Child.h"
#include "llvm/Mneme/Process/Stream.h"
#include "llvm/Support/Error.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

struct CompilerSetup {
  std::string Directory = {}; ///< Empty: the current one.
  /// Restricts the compiler, which then has no environment; may be null.
  const Jail *Confined = nullptr;
  ChildLimits Limits = {};
  int In = NullStream;  ///< Standard input.
  int Out = NullStream; ///< Standard output.
  /// Further environment variables.
  std::vector<std::pair<std::string, std::string>> Environment = {};
};

/// A compiler that has ended.
struct CompilerRun {
  int Status = 0; ///< As of Child::wait().
  bool IsLate = false;
  std::string Messages; ///< Standard error, as far as the limit allows.
  double Seconds = 0;
  std::string Lookups = {}; ///< Of runWarm(): see Runtime/WarmStart.h.

  bool succeeded() const;
  /// Returns the reason of a failure: the first error, or how the process
  /// ended.
  std::string describeFailure() const;
};

/// Largest size of messages that are read.
inline constexpr uint64_t MaxMessages = 4 << 20;

/// Runs \p Program to its end. Fails if it cannot be started.
Expected<CompilerRun> runCompiler(const std::string &Program,
                                  ArrayRef<std::string> Words,
                                  const CompilerSetup &Setup);

//===----------------------------------------------------------------------===//
// Warm programs
//===----------------------------------------------------------------------===//

/// A compiler or linker that waits before its first function and is forked for
/// each run (Runtime/WarmStart.h). It dies with this object.
class WarmProgram {
public:
  /// \param Library  libmneme_warm.so. If it cannot be loaded, the program
  /// ends.
  static Expected<WarmProgram> start(const std::string &Program,
                                     const std::string &Library,
                                     ChildLimits Limits);
  int socket() const { return Socket.get(); }
  bool hasEnded() const;

private:
  WarmProgram(Descriptor Socket, Child Process)
      : Socket(std::move(Socket)), Process(std::move(Process)) {}
  Descriptor Socket;
  Child Process;
};

/// Creates a socket for the copy that a run leaves behind: Read is the copy's.
/// The copy ends when all copies of Write are closed.
Expected<Pipe> createWarmSocket();

/// Returns true once the copy waits, or nothing if it does not yet. To be
/// called until then.
std::optional<bool> hasWarmStopped(int Socket);

/// Returns true if nothing takes requests from the other end.
bool hasWarmEnded(int Socket);

/// Where a run stops: at a file, whose contents differ from run to run.
struct WarmStop {
  std::string Path, Contents;
  int Copy = -1; ///< The socket of the copy that stays there; or -1.
};

/// Runs a program that waits, or a copy that a run left behind. For the latter,
/// \p Words are empty. There are no limits besides those of the program.
/// \returns nothing if it has ended or does not take the request.
std::optional<CompilerRun> runWarm(int Socket, ArrayRef<std::string> Words,
                                   const CompilerSetup &Setup,
                                   const WarmStop &Stop = {});

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_RUNCOMPILER_H
