//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProcessLoops.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/FormatVariadic.h"
#include <memory>
#include <random>
#include <unistd.h>
#include <vector>

using namespace llvm;
using namespace llvm::mneme;

/// Minimum interval between two messages of the same stage. Each message wakes
/// the coordinator, which should not happen for each timed launch.
static constexpr std::chrono::milliseconds MessageInterval(100);

/// Ends the process on an error: the coordinator has ended, or violates the
/// protocol.
static void check(Error E) {
  if (!E)
    return;
  consumeError(std::move(E));
  ::_exit(1);
}

/// A shortage is no verdict on the candidate: ends this process, so that
/// another one tries again.
static Error endOnShortage(Channel &Link, Error E) {
  E = recognizeShortage(std::move(E));
  if (!E.isA<ShortageError>())
    return E;
  check(send(Link, message::Shortage{toString(std::move(E))}));
  ::_exit(1);
}

/// Receives the next message. Ends the process if there is none.
template <typename SetT> static SetT receive(Channel &Link) {
  Expected<std::optional<Frame>> F = Link.read();
  if (!F)
    check(F.takeError());
  if (!*F)
    ::_exit(0);
  Expected<SetT> Message = MessageSet<SetT>::decode(std::move(**F));
  if (!Message)
    check(Message.takeError());
  return std::move(*Message);
}

/// Receives the next message, which must be an M.
template <typename M, typename SetT> static M receiveOne(Channel &Link) {
  SetT Message = receive<SetT>(Link);
  if (M *Expected = std::get_if<M>(&Message))
    return std::move(*Expected);
  check(createStringError("unexpected message"));
  llvm_unreachable("the process has ended");
}

//===----------------------------------------------------------------------===//
// Compile processes
//===----------------------------------------------------------------------===//

/// Allocates memory for the rest of the process, so that later allocations have
/// other addresses. A fork copies the parent's heap: without this, all compile
/// processes would order pointers in the same way, which no second replay does.
static void moveHeap(uint64_t Seed) {
  constexpr unsigned NumBlocks = 4096;
  constexpr size_t MaxBlock = 1024, MaxOffset = 1 << 20;
  static std::vector<std::unique_ptr<char[]>> Blocks;
  std::mt19937_64 Random(Seed);
  auto Add = [&](size_t Limit) {
    Blocks.emplace_back(new char[1 + Random() % Limit]);
  };
  // Many small blocks fill the holes of freed memory in another way.
  for (unsigned I = 0; I != NumBlocks; ++I)
    Add(MaxBlock);
  Add(MaxOffset);
}

void mneme::runCompileProcess(FarmBackend &Backend, Channel &Link) {
  while (true) {
    EvaluationRequest Request =
        receiveOne<message::Compile, ToCompiler>(Link).Request;
    if (Request.OwnProcess)
      moveHeap(Request.Attempt);
    auto Known = [&](Duplicate Level, StringRef Hash) {
      check(send(Link, message::Ask{Level, Hash.str()}));
      return receiveOne<message::Answer, ToCompiler>(Link).Stop;
    };
    auto Stage = [&](StringRef What) {
      check(send(Link, message::CompileStage{What.str()}));
    };
    Expected<FarmCode> Code = Backend.compile(Request, Known, Stage);
    if (Code) {
      std::string Bytes = std::move(Code->Bytes);
      Code->Bytes.clear();
      check(send(Link, message::Compiled{std::move(*Code)}, Bytes));
    } else {
      check(send(Link, message::Invalid{
                           toString(endOnShortage(Link, Code.takeError()))}));
    }
  }
}

//===----------------------------------------------------------------------===//
// Run processes
//===----------------------------------------------------------------------===//

/// \returns the first sample that is not a valid time, because timers can fail,
/// or null.
static const double *findBadTime(ArrayRef<double> Samples) {
  const double *Bad =
      find_if(Samples, [](double S) { return !rules::Sample::accepts(S); });
  return Bad == Samples.end() ? nullptr : Bad;
}

template <typename T> static void refuseTimes(T &Result, double Bad) {
  Result.Failure = FailureKind::Unsupported;
  Result.Error =
      formatv("a measured time is no positive number: '{0}'", Bad).str();
  Result.Samples.clear();
}

namespace {
class RunProcess {
public:
  RunProcess(FarmBackend &Backend, Channel &Link)
      : Backend(Backend), Link(Link) {}

  void take(message::Open M);
  void take(message::Keep M);
  void take(message::Drop M);
  void take(message::Run M);
  void take(message::Compare M);

private:
  FarmBackend &Backend;
  Channel &Link;
  StringMap<FarmCode> Codes;
  std::string LastStage;
  std::chrono::steady_clock::time_point Told;

  void begin(uint64_t Ticket);
  void tell(StringRef Stage, double Limit);
  const FarmCode &find(StringRef Hash);
};
} // namespace

void RunProcess::tell(StringRef Stage, double Limit) {
  auto Now = std::chrono::steady_clock::now();
  if (Stage == LastStage && Now - Told < MessageInterval)
    return;
  LastStage = Stage.str();
  Told = Now;
  check(send(Link, message::RunStage{Stage.str(), Limit}));
}

void RunProcess::begin(uint64_t Ticket) {
  check(send(Link, message::Begin{Ticket}));
  LastStage.clear();
}

const FarmCode &RunProcess::find(StringRef Hash) {
  auto It = Codes.find(Hash);
  if (It == Codes.end())
    check(createStringError("no such code"));
  return It->second;
}

void RunProcess::take(message::Open M) {
  auto Tell = [&](StringRef Stage, double Limit) { tell(Stage, Limit); };
  Expected<FarmBackend::Opened> Opened = Backend.openDevice(M.Device, Tell);
  if (Opened)
    check(send(Link, message::Opened{std::move(Opened->Info),
                                     std::move(Opened->Exclusive)}));
  else
    check(send(Link, message::OpenFailed{
                         toString(recognizeShortage(Opened.takeError()))}));
}

void RunProcess::take(message::Keep M) {
  M.Code.Bytes = std::move(M.Bytes);
  std::string Hash = M.Code.CodeHash;
  Codes[Hash] = std::move(M.Code);
}

void RunProcess::take(message::Drop M) { Codes.erase(M.Hash); }

void RunProcess::take(message::Run M) {
  auto Begin = std::chrono::steady_clock::now();
  const FarmCode &Code = find(M.Hash);
  begin(M.Ticket);
  auto Tell = [&](StringRef Stage, double Limit) { tell(Stage, Limit); };
  Expected<Evaluation> E = Backend.run(M.Request, Code, Tell);
  if (!E) {
    Evaluation Invalid;
    Invalid.Failure = FailureKind::Invalid;
    Invalid.Error = toString(endOnShortage(Link, E.takeError()));
    E = std::move(Invalid);
  }
  if (const double *Bad = findBadTime(E->Samples)) {
    refuseTimes(*E, *Bad);
    E->Metrics.clear();
  }
  E->RunSeconds = secondsSince(Begin);
  check(send(Link, message::Done{M.Ticket, std::move(*E), Backend.isSpent()}));
}

void RunProcess::take(message::Compare M) {
  std::vector<const FarmCode *> List;
  for (const std::string &Hash : M.Hashes)
    List.push_back(&find(Hash));
  if (List.size() != M.Requests.size())
    check(createStringError("a comparison without code"));
  begin(M.Ticket);
  auto Tell = [&](StringRef Stage, double Limit) { tell(Stage, Limit); };
  Expected<PairedEvaluation> P =
      Backend.compare(M.Requests, List, static_cast<unsigned>(M.Rounds), Tell);
  if (!P) {
    PairedEvaluation Invalid;
    Invalid.Failure = FailureKind::Invalid;
    Invalid.Error = toString(endOnShortage(Link, P.takeError()));
    P = std::move(Invalid);
  }
  for (size_t I = 0; I != P->Samples.size(); ++I)
    if (const double *Bad = findBadTime(P->Samples[I])) {
      refuseTimes(*P, *Bad);
      break;
    }
  check(send(Link,
             message::Compared{M.Ticket, std::move(*P), Backend.isSpent()}));
}

void mneme::runRunProcess(FarmBackend &Backend, Channel &Link) {
  RunProcess Process(Backend, Link);
  while (true) {
    ToRunner Message = receive<ToRunner>(Link);
    // Jobs that were prefetched by a spent process are for the next one.
    if (!Backend.isSpent())
      std::visit([&](auto &M) { Process.take(std::move(M)); }, Message);
  }
}
