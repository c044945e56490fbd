//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The launcher's end of the socket. It has one thread and one poll loop; all
/// long work runs in a ChildTask.
///
/// Peers are processes of the same user, but may be damaged or foreign
/// (Process/WireServer.h). Requests are therefore validated (LaunchMessages.h).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_LAUNCH_SERVER_H
#define LLVM_MNEME_LIB_LAUNCH_SERVER_H

#include "CompileWorker.h"
#include "RecordKeeper.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Mneme/Launch/Profile.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Process/WireServer.h"
#include "llvm/Mneme/Runtime/Wire.h"
#include <functional>
#include <map>
#include <memory>
#include <poll.h>

namespace llvm {
namespace mneme {

class Server {
public:
  using StartFn = decltype(&ChildTask::start);

  /// \param RunsPipeline  LaunchOptions::RunsPipeline.
  /// \param Compiled      LaunchOptions::Compiled.
  /// \param Start Starts long work.
  Server(RecordKeeper &Records, const HostOptions &Options,
         bool RunsPipeline = false, CompiledKernels *Compiled = nullptr,
         StartFn Start = ChildTask::start);
  ~Server();

  /// Listens on a Unix socket at \p Path.
  Error listen(StringRef Path);

  /// Adds a socket to a peer as if the peer had connected.
  void adopt(int FD);

  /// Adds the descriptors for poll().
  void addTo(std::vector<pollfd> &Waits) const;
  /// Does all work that is possible without waiting. \returns whether there was
  /// any.
  bool serve();
  /// \returns whether there are processes to serve, or new connections that may
  /// still greet.
  bool hasConnections() const;
  /// \returns whether serve() must be called regularly because of timeouts.
  bool hasStrangers() const { return Listener.isShort() || countStrangers(); }

  /// Delays requests until release().
  void hold() { IsHeld = true; }
  void release() { IsHeld = false; }
  /// Kernels that \p Wanted rejects are not compiled before they are launched.
  void setWanted(std::function<bool(StringRef Symbol)> Wanted) {
    IsWanted = std::move(Wanted);
  }
  /// See LaunchOptions::IR.
  void setIR(ArrayRef<std::shared_ptr<MemoryBuffer>> Files) { IR = Files; }
  /// From now on, tells processes that nothing is to be recorded.
  void refuseRecordings() { IsRefusing = true; }

  /// Stores tentative launches of processes that are still connected. Call when
  /// they are no longer served.
  void storeRest();

  /// The variable by which a process has recognized that it is a rank of a
  /// distributed run; empty if none has.
  StringRef rankVariable() const { return RankVariable; }

  /// Why a process did not get the device code that it asked for first; empty
  /// if each one did.
  StringRef missingCode() const { return MissingCode; }

  /// The profiles of all processes that have sent theirs, not yet finished.
  Profile &profile() { return Profiled; }

private:
  struct Connection;
  using Hash = Digest128;

  size_t countStrangers() const;
  void dropStrangers();
  void takeMessage(Connection &C);
  void answerError(Connection &C, Error E);
  void finishJob(Connection &C);
  Expected<std::string> finishLoadModule(Connection &C, StringRef Answer);
  Expected<std::string> finishLoadLibrary(Connection &C, StringRef Result);
  /// Answers if the module is known, else starts \p Load, which finds \p Code
  /// in the connection.
  Error startModule(Connection &C, StringRef Body, const Digest128 &Module,
                    ModuleCode Code, ChildTask::WorkFn Load);

  /// Answers immediately, or starts a job in \p C. Errors are answered, too.
  Error handle(Connection &C, uint32_t Type, StringRef Body);
  Error handleHello(Connection &C, StringRef Body);
  Error handleLoadModule(Connection &C, StringRef Body);
  Error handleInitialize(Connection &C, StringRef Body);
  Error handleLoadKernel(Connection &C, StringRef Body);
  Error handleLoadImage(Connection &C, StringRef Body);
  Error handleLoadLibrary(Connection &C, StringRef Body);
  Error handleLoadObject(Connection &C, StringRef Body);
  Error handleRecorded(Connection &C, StringRef Body);
  Error handleWithdraw(Connection &C, StringRef Body);
  Error handleSummary(Connection &C, StringRef Body);
  Error handleProfile(Connection &C, StringRef Body);
  Error startKernel(Connection &C);
  Expected<std::string> finishLoadKernel(Connection &C, StringRef Result);
  Expected<std::string> finishLoadImage(Connection &C, StringRef Result);
  Expected<std::string> finishLoadObject(Connection &C, StringRef Result);
  static void copySegments(Connection &C, ::mneme::WireReader &R,
                           ::mneme::WireWriter &W);
  uint64_t findSymbol(const Connection &C, const Hash &Module, uint32_t Copy,
                      StringRef Name) const;

  struct TentativeLaunch;
  void drop(const TentativeLaunch &T);
  /// Stores tentative launches and counts failures in \p S.
  void store(Connection &C, ProcessSummary &S);
  /// Does the same for a process without a summary, which was killed.
  void storeUncounted(Connection &C);

  RecordKeeper &Records;
  HostOptions Options;
  bool RunsPipeline;
  ArrayRef<std::shared_ptr<MemoryBuffer>> IR;
  StartFn Start;
  WireListener Listener;
  bool IsHeld = false, IsRefusing = false;
  std::string RankVariable;
  std::string MissingCode;
  Profile Profiled;
  std::vector<std::unique_ptr<Connection>> Connections;
  uint64_t ModuleBytes = 0; ///< Of all payloads and libraries.
  /// Code that LoadModule or LoadLibrary has accepted, with its answer.
  struct LoadedModule {
    ModuleCode Code;
    std::string Answer;
    /// Payload and name of each kernel, in the order of the source.
    std::vector<std::pair<Hash, std::string>> Kernels;
    size_t Asked = 0; ///< Kernels that processes have asked for.
    size_t Next = 0;  ///< Kernels before this one are not compiled ahead.
  };
  std::map<Hash, std::shared_ptr<LoadedModule>> Modules;
  using KernelKey = CompiledKernels::key_type;
  CompiledKernels OwnCompiled; ///< Unless there are the launcher's.
  CompiledKernels &Compiled;
  /// Kernels that are compiled although no process has asked for them yet.
  std::map<KernelKey, ChildTask> Ahead;
  void compileAhead(LoadedModule &M, const Hash &Module, bool ForHost);
  bool takeCompiledAhead();
  std::function<bool(StringRef Symbol)> IsWanted = [](StringRef) {
    return true;
  };
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_LAUNCH_SERVER_H
