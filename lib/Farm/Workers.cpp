//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Workers.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Shortage.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <cmath>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// The shortest time between two messages of the same stage: each one wakes the
/// coordinator, which should not happen at each timed launch.
static constexpr std::chrono::milliseconds MessageInterval(100);

/// There is nobody to talk to, or nobody who makes sense.
static void check(Error E) {
  if (!E)
    return;
  consumeError(std::move(E));
  ::_exit(1);
}

/// What a shortage keeps from being evaluated is not judged: this process ends,
/// and another one tries.
static Error endOnShortage(Channel &Link, Error E) {
  E = recognizeShortage(std::move(E));
  if (!E.isA<ShortageError>())
    return E;
  check(Link.write(
      json::Object{{"shortage", json::fixUTF8(toString(std::move(E)))}}));
  ::_exit(1);
}

/// The next message; ends the process when there is none.
static Frame readFrame(Channel &Link) {
  Expected<std::optional<Frame>> F = Link.read();
  if (!F)
    consumeError(F.takeError());
  else if (*F)
    return std::move(**F);
  ::_exit(0);
}

template <typename T> static T read(const json::Object &O, StringRef Key) {
  Expected<T> Value = readMember<T>(O, Key);
  if (!Value)
    check(Value.takeError());
  return std::move(*Value);
}

//===----------------------------------------------------------------------===//
// Compile processes
//===----------------------------------------------------------------------===//

void mneme::runCompileProcess(FarmBackend &Backend, Channel &Link) {
  while (true) {
    Frame F = readFrame(Link);
    auto Request = read<EvaluationRequest>(F.Head, "request");
    auto Known = [&](Duplicate Level, StringRef Hash) {
      check(Link.write(
          json::Object{{"ask", getDuplicateName(Level)}, {"hash", Hash}}));
      return readFrame(Link).Head.getBoolean("stop").value_or(false);
    };
    auto Stage = [&](StringRef What) {
      check(Link.write(json::Object{{"stage", What}}));
    };
    Expected<FarmCode> Code = Backend.compile(Request, Known, Stage);
    if (Code)
      check(Link.write(json::Object{{"code", toJSON(*Code)}}, Code->Bytes));
    else
      check(Link.write(json::Object{
          {"invalid",
           json::fixUTF8(toString(endOnShortage(Link, Code.takeError())))}}));
  }
}

//===----------------------------------------------------------------------===//
// Run processes
//===----------------------------------------------------------------------===//

/// A timer can be broken, too; JSON has no such numbers, and nothing can be said
/// of them.
/// \returns the first sample that is none.
static const double *findBadTime(ArrayRef<double> Samples) {
  const double *Bad = find_if(
      Samples, [](double S) { return !(S > 0 && std::isfinite(S)); });
  return Bad == Samples.end() ? nullptr : Bad;
}

template <typename T> static void refuseTimes(T &Result, double Bad) {
  Result.Failure = "Unsupported";
  Result.Error =
      formatv("a measured time is no positive number: '{0}'", Bad).str();
  Result.Samples.clear();
}

namespace {
class RunProcess {
public:
  RunProcess(FarmBackend &Backend, Channel &Link)
      : Backend(Backend), Link(Link) {}

  void handle(Frame F);

private:
  FarmBackend &Backend;
  Channel &Link;
  StringMap<FarmCode> Codes;
  std::string LastStage;
  std::chrono::steady_clock::time_point Told;

  void open(const json::Object &Message);
  void run(const json::Object &Message);
  void compare(const json::Object &Message);
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
  check(Link.write(json::Object{{"stage", Stage}, {"limit", Limit}}));
}

const FarmCode &RunProcess::find(StringRef Hash) {
  auto It = Codes.find(Hash);
  if (It == Codes.end())
    check(createStringError("no such code"));
  return It->second;
}

void RunProcess::open(const json::Object &Message) {
  auto Tell = [&](StringRef Stage, double Limit) { tell(Stage, Limit); };
  Expected<FarmBackend::Opened> Opened =
      Backend.openDevice(read<std::string>(Message, "device"), Tell);
  if (Opened) {
    check(Link.write(json::Object{{"opened", std::move(Opened->Description)},
                                  {"exclusive", Opened->Exclusive}}));
    return;
  }
  check(Link.write(json::Object{
      {"failed",
       json::fixUTF8(toString(recognizeShortage(Opened.takeError())))}}));
}

void RunProcess::run(const json::Object &Message) {
  auto Begin = std::chrono::steady_clock::now();
  auto Number = read<int64_t>(Message, "number");
  auto Request = read<EvaluationRequest>(Message, "request");
  const FarmCode &Code = find(read<std::string>(Message, "hash"));
  check(Link.write(json::Object{{"begin", Number}}));
  LastStage.clear();
  auto Tell = [&](StringRef Stage, double Limit) { tell(Stage, Limit); };
  Expected<Evaluation> E = Backend.run(Request, Code, Tell);
  if (!E) {
    Evaluation Invalid;
    Invalid.Failure = "Invalid";
    Invalid.Error = toString(endOnShortage(Link, E.takeError()));
    E = std::move(Invalid);
  }
  if (const double *Bad = findBadTime(E->Samples)) {
    refuseTimes(*E, *Bad);
    E->Metrics.clear();
  }
  double Busy = std::chrono::duration<double>(
                    std::chrono::steady_clock::now() - Begin)
                    .count();
  E->RunSeconds = Busy;
  check(Link.write(json::Object{{"done", Number},
                                {"evaluation", toJSON(*E)},
                                {"busy", Busy},
                                {"spent", Backend.isSpent()}}));
}

void RunProcess::compare(const json::Object &Message) {
  auto Begin = std::chrono::steady_clock::now();
  auto Number = read<int64_t>(Message, "number");
  auto Requests = read<std::vector<EvaluationRequest>>(Message, "requests");
  std::vector<const FarmCode *> List;
  for (const std::string &Hash :
       read<std::vector<std::string>>(Message, "hashes"))
    List.push_back(&find(Hash));
  auto Rounds = read<int64_t>(Message, "rounds");
  check(Link.write(json::Object{{"begin", Number}}));
  LastStage.clear();
  auto Tell = [&](StringRef Stage, double Limit) { tell(Stage, Limit); };
  Expected<PairedEvaluation> P =
      Backend.compare(Requests, List, static_cast<unsigned>(Rounds), Tell);
  if (!P) {
    PairedEvaluation Invalid;
    Invalid.Failure = "Invalid";
    Invalid.Error = toString(endOnShortage(Link, P.takeError()));
    P = std::move(Invalid);
  }
  for (size_t I = 0; I != P->Samples.size(); ++I)
    if (const double *Bad = findBadTime(P->Samples[I])) {
      refuseTimes(*P, *Bad);
      break;
    }
  double Busy = std::chrono::duration<double>(
                    std::chrono::steady_clock::now() - Begin)
                    .count();
  check(Link.write(json::Object{{"done", Number},
                                {"paired", toJSON(*P)},
                                {"busy", Busy},
                                {"spent", Backend.isSpent()}}));
}

void RunProcess::handle(Frame F) {
  StringRef What = F.Head.getString("do").value_or("");
  if (What == "open")
    return open(F.Head);
  if (What == "run")
    return run(F.Head);
  if (What == "compare")
    return compare(F.Head);
  if (What == "drop") {
    Codes.erase(read<std::string>(F.Head, "hash"));
    return;
  }
  if (What != "code")
    check(createStringError("unknown message"));
  auto Code = read<FarmCode>(F.Head, "code");
  Code.Bytes = std::move(F.Bytes);
  std::string Hash = Code.CodeHash;
  Codes[Hash] = std::move(Code);
}

void mneme::runRunProcess(FarmBackend &Backend, Channel &Link) {
  RunProcess Process(Backend, Link);
  while (true) {
    Frame F = readFrame(Link);
    // What was sent ahead to a process that is spent is for the next one.
    if (!Backend.isSpent())
      Process.handle(std::move(F));
  }
}
