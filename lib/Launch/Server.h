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
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_SERVER_H
#define LLVM_MNEME_LIB_LAUNCH_SERVER_H

#include "Recorder.h"
#include "Worker.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include "llvm/Mneme/Support/ChildTask.h"
#include <map>
#include <memory>
#include <poll.h>

namespace llvm {
namespace mneme {

class Server {
public:
  Server(Recorder &Records, const HostOptions &Options);
  ~Server();

  /// Listens on a Unix socket at \p Path.
  Error listen(StringRef Path);

  /// Adds what poll() must wait for.
  void addTo(std::vector<pollfd> &Waits) const;
  /// Does what there is to do. \returns whether something was done.
  bool serve();
  bool hasConnections() const;

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
  using Reader = ::mneme::WireReader;
  using Writer = ::mneme::WireWriter;
  using Hash = Digest128;

  void accept();
  bool receive(Connection &C);
  bool send(Connection &C);
  void takeMessages(Connection &C);
  void finishJob(Connection &C);

  /// Answers at once, or leaves a job in \p C. Error: answered, too.
  Error handle(Connection &C, uint32_t Type, Reader &R);
  Error handleHello(Connection &C, Reader &R);
  Error handleLoadModule(Connection &C, Reader &R);
  Error handleInitialize(Connection &C, Reader &R);
  Error handleLoadKernel(Connection &C, Reader &R);
  Error handleRecorded(Connection &C, Reader &R);
  Error handleWithdraw(Connection &C, Reader &R);
  Error handleSummary(Connection &C, Reader &R);
  Expected<std::string> finishLoadKernel(Connection &C, StringRef Result);

  struct TentativeLaunch;
  void drop(const TentativeLaunch &T);
  /// Stores what is tentative; where that fails, \p S says so.
  void store(Connection &C, ProcessSummary &S);

  void answer(Connection &C, StringRef Body);
  void refuse(Connection &C, Error E);

  Recorder &Records;
  HostOptions Options;
  int Listener = -1;
  bool IsHeld = false, IsRefusing = false;
  std::string RankVariable;
  std::vector<std::unique_ptr<Connection>> Connections;
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
