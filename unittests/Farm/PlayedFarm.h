//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Coordinators whose processes and workers the test plays: it has the other
/// ends of their connections and says what it likes, in one thread. Shared with
/// mneme-farm-fuzzer.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_UNITTESTS_FARM_PLAYEDFARM_H
#define LLVM_MNEME_UNITTESTS_FARM_PLAYEDFARM_H

#include "RemoteWorkers.h"
#include "llvm/Support/ErrorHandling.h"
#include <sys/socket.h>
#include <unistd.h>

namespace llvm {
namespace mneme {

/// Of a configuration, "launch" is about the launch and all else about the
/// code. The work is played.
class PlayedBackend final : public FarmBackend {
public:
  Expected<FarmKeys> keys(const EvaluationRequest &R) const override {
    json::Object Code = R.Config;
    FarmKeys K;
    if (const json::Value *Launch = R.Config.get("launch"))
      raw_string_ostream(K.Launch) << *Launch;
    Code.erase("launch");
    raw_string_ostream(K.Compile) << json::Value(std::move(Code));
    return K;
  }
  Expected<FarmCode> compile(const EvaluationRequest &, KnownFn,
                             function_ref<void(StringRef)>) override {
    report_fatal_error("nothing is compiled here");
  }
  Expected<Opened> openDevice(StringRef, StageFn) override {
    report_fatal_error("no device is opened here");
  }
  Expected<Evaluation> run(const EvaluationRequest &, const FarmCode &,
                           StageFn) override {
    report_fatal_error("nothing is run here");
  }
  Expected<PairedEvaluation> compare(ArrayRef<EvaluationRequest>,
                                     ArrayRef<const FarmCode *>, unsigned,
                                     StageFn) override {
    report_fatal_error("nothing is compared here");
  }
  bool isSpent() const override { return false; }
};

/// The other end of a connection; \p SetT: what comes from the farm.
template <typename SetT> class Player {
public:
  explicit Player(int Socket)
      : Link(std::make_unique<Channel>(Socket, MessageSet<SetT>::Kinds)) {
    cantFail(Link->makeNonBlocking());
  }

  void sayText(StringRef Text) {
    if (!Link || Text.empty())
      return;
    Link->queue(Text.str(), nullptr);
    Link->flush();
  }
  template <typename M> void say(const M &Message, StringRef Bytes = {}) {
    sayText(printFrameLine(M::Kind, makeHead(Message), Bytes.size()));
    sayText(Bytes);
  }

  void close() { Link.reset(); }

  /// The next message, if it is an M.
  template <typename M> std::optional<M> hear() {
    if (!Heard && Link) {
      for (uint64_t Before = ~0ull; Before != Link->received();) {
        Before = Link->received();
        if (Expected<bool> Open = Link->receive(); !Open)
          consumeError(Open.takeError());
      }
      Expected<std::optional<SetT>> Next = nextMessage<SetT>(Link->Parser);
      if (!Next)
        report_fatal_error(Next.takeError());
      Heard = std::move(*Next);
    }
    M *Message = Heard ? std::get_if<M>(&*Heard) : nullptr;
    if (!Message)
      return std::nullopt;
    std::optional<M> Result(std::move(*Message));
    Heard.reset();
    return Result;
  }

private:
  std::unique_ptr<Channel> Link; ///< Null: closed.
  std::optional<SetT> Heard;
};

/// Makes processes of which the test has the other end.
template <typename SetT> class Players {
public:
  Expected<std::unique_ptr<Process>> start(ArrayRef<MessageKind> FromChild) {
    int Ends[2];
    if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, Ends) != 0)
      return createStringError("no socket");
    All.push_back(std::make_unique<Player<SetT>>(Ends[1]));
    return Process::play(Ends[0], FromChild);
  }
  size_t size() const { return All.size(); }
  /// In the order in which they were started.
  Player<SetT> &operator[](size_t I) { return *All[I]; }
  Player<SetT> &last() { return *All.back(); }
  void clear() { All.clear(); }

private:
  std::vector<std::unique_ptr<Player<SetT>>> All;
};

/// A coordinator with one device, whose processes the test plays.
struct PlayedFarm {
  explicit PlayedFarm(bool WithDevice = true) {
    FarmConfig Config;
    if (WithDevice)
      Config.Devices = {"fake"};
    Config.CompileJobs = WithDevice;
    Config.Spare = false;
    Config.TurnSeconds = 0;
    Farm.emplace(Backend, Config);
    Farm->setStarter([this](bool IsCompiler) {
      return IsCompiler ? Compilers.start(MessageSet<FromCompiler>::Kinds)
                        : Runners.start(MessageSet<FromRunner>::Kinds);
    });
    Farm->start();
  }
  ~PlayedFarm() { Farm.reset(); }

  static EvaluationRequest request(uint64_t Id, StringRef Code) {
    EvaluationRequest R;
    R.Id = Id;
    R.Config = json::Object{{"code", Code.str()}};
    return R;
  }

  void submit(uint64_t Id, StringRef Code) {
    cantFail(Farm->submit(request(Id, Code)));
  }
  /// Lets the coordinator take what was said to it.
  void turn() {
    for (unsigned I = 0; I != 3; ++I) {
      Expected<std::vector<Evaluation>> Some = Farm->wait(0);
      if (!Some) {
        Lost = toString(Some.takeError());
        return;
      }
      for (Evaluation &E : *Some)
        Done[E.Id] = std::move(E);
    }
  }

  static FarmCode code(StringRef Hash) {
    FarmCode C;
    C.CodeHash = Hash.str();
    return C;
  }

  /// Answers a run process's open.
  void open() {
    turn(); // sends it
    if (Runners.last().hear<message::Open>())
      Runners.last().say(
          message::Opened{DeviceInfo{"fake", "", "", "", ""}, ""});
    turn();
  }
  /// Compiles what is asked for, honestly.
  void compile() {
    while (Compilers.size()) {
      std::optional<message::Compile> M =
          Compilers.last().hear<message::Compile>();
      if (!M)
        return;
      StringRef Hash = M->Request.Config.getString("code").value_or("");
      Compilers.last().say(message::Compiled{code(Hash)}, "code");
      turn();
    }
  }
  /// The ticket of what the last run process is to run, which begins.
  std::optional<uint64_t> beginRun() {
    while (Runners.last().hear<message::Keep>()) {
    }
    std::optional<message::Run> M = Runners.last().hear<message::Run>();
    if (!M)
      return std::nullopt;
    Runners.last().say(message::Begin{M->Ticket});
    turn();
    return M->Ticket;
  }
  void finishRun(uint64_t Ticket, double Time) {
    Evaluation E;
    E.Samples = {Time};
    E.Metrics["time"] = Time;
    Runners.last().say(message::Done{Ticket, std::move(E), false});
    turn();
  }

  PlayedBackend Backend;
  std::optional<Coordinator> Farm;
  Players<ToCompiler> Compilers;
  Players<ToRunner> Runners;
  std::map<uint64_t, Evaluation> Done;
  std::string Lost;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_UNITTESTS_FARM_PLAYEDFARM_H
