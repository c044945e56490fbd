//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launcher's end of the socket. One thread, one poll loop: whatever takes
/// long runs in a ChildTask.
///
/// Peers are processes of the same user, but may be damaged, or none of ours:
/// requests are validated (Messages.h), a connection has one request at a time
/// in memory, of a size that its type allows, and those that have not greeted
/// are few, and for seconds only.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_SERVER_H
#define LLVM_MNEME_LIB_LAUNCH_SERVER_H

#include "CompileWorker.h"
#include "RecordKeeper.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include <map>
#include <memory>
#include <poll.h>

namespace llvm {
namespace mneme {

class Server {
public:
  using StartFn = decltype(&ChildTask::start);

  /// \p Start starts what takes long.
  Server(RecordKeeper &Records, const HostOptions &Options,
         StartFn Start = ChildTask::start);
  ~Server();

  /// Listens on a Unix socket at \p Path.
  Error listen(StringRef Path);

  /// Takes a socket to a peer as if it had connected.
  void adopt(int FD);

  /// Adds what poll() must wait for.
  void addTo(std::vector<pollfd> &Waits) const;
  /// Does what there is to do. \returns whether something was done.
  bool serve();
  /// Whether there are processes to serve, or some that may be about to greet.
  bool hasConnections() const;
  /// Whether serve() has to look at the time now and then.
  bool hasStrangers() const { return IsShort || countStrangers(); }

  /// Lets requests wait until release().
  void hold() { IsHeld = true; }
  void release() { IsHeld = false; }
  /// From now on, processes are told that nothing is to be recorded.
  void refuseRecordings() { IsRefusing = true; }

  /// Stores what processes that are still connected might have replaced: call
  /// when they are no longer served.
  void storeRest();

  /// Where a process has found that it is a rank of a distributed run; empty
  /// when none has.
  StringRef rankVariable() const { return RankVariable; }

private:
  struct Connection;
  using Hash = Digest128;

  size_t countStrangers() const;
  bool canAccept() const;
  bool accept();
  void dropStrangers();
  bool receive(Connection &C);
  bool send(Connection &C);
  void takeMessage(Connection &C);
  void finishJob(Connection &C);

  /// Answers at once, or leaves a job in \p C. Error: answered, too.
  Error handle(Connection &C, uint32_t Type, StringRef Body);
  Error handleHello(Connection &C, StringRef Body);
  Error handleLoadModule(Connection &C, StringRef Body);
  Error handleInitialize(Connection &C, StringRef Body);
  Error handleLoadKernel(Connection &C, StringRef Body);
  Error handleRecorded(Connection &C, StringRef Body);
  Error handleWithdraw(Connection &C, StringRef Body);
  Error handleSummary(Connection &C, StringRef Body);
  Expected<std::string> finishLoadKernel(Connection &C, StringRef Result);

  struct TentativeLaunch;
  void drop(const TentativeLaunch &T);
  /// Stores what is tentative; where that fails, \p S says so.
  void store(Connection &C, ProcessSummary &S);
  /// The same of a process without a summary: it was killed.
  void storeUncounted(Connection &C);

  bool checkHeader(Connection &C);
  void answer(Connection &C, StringRef Body);
  void answerError(Connection &C, Error E);
  void refuse(Connection &C, Error E);

  RecordKeeper &Records;
  HostOptions Options;
  StartFn Start;
  int Listener = -1;
  size_t MaxConnections; ///< That there are descriptors for.
  bool IsShort = false;  ///< Of descriptors or memory for another one.
  bool IsHeld = false, IsRefusing = false;
  std::string RankVariable;
  std::vector<std::unique_ptr<Connection>> Connections;
  uint64_t ModuleBytes = 0; ///< Of all payloads.
  /// Payloads that LoadModule has accepted, with its answer.
  struct LoadedModule {
    std::vector<std::string> Payloads;
    std::string Answer;
  };
  std::map<Hash, std::shared_ptr<LoadedModule>> Modules;
  /// Module, payload, kernel, and whether for the host.
  using KernelKey = std::tuple<Hash, Hash, std::string, bool>;
  std::map<KernelKey, std::string> Compiled; ///< Encoded CompiledKernels.
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_SERVER_H
