//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The coordinator's compile processes.
//
//===----------------------------------------------------------------------===//

#include "Coordinator.h"
#include "Messages.h"
#include "Workers.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// One that has nothing to do; null when all are at work. One that has served
/// others makes room for a new one.
Coordinator::Compiler *Coordinator::getCompiler(StringRef Serves) {
  unsigned Alive = 0;
  Compiler *New = nullptr, *Others = nullptr;
  for (auto &C : Compilers) {
    if (!C->P || C->Ending)
      continue;
    ++Alive;
    if (C->Busy)
      continue;
    if (C->Serves == Serves)
      return C.get();
    (C->Serves ? Others : New) = C.get();
  }
  if (New)
    return New;
  if (Alive >= Config.CompileJobs) {
    if (!Others)
      return nullptr;
    kill(*Others);
  }
  auto Slot = find_if(Compilers, [](const auto &C) { return !C->P; });
  if (Slot == Compilers.end()) {
    Compilers.push_back(std::make_unique<Compiler>());
    Slot = std::prev(Compilers.end());
  }
  **Slot = Compiler();
  ProcessLimits Limits;
  Limits.Nice = Config.CompileNice;
  Limits.Bytes = Config.CompileMemory;
  Expected<std::unique_ptr<Process>> P = Process::start(
      [&](Channel &Link) { runCompileProcess(Backend, Link); }, Limits);
  if (!P) {
    std::string Why = toString(P.takeError());
    if (CompileStartFailures++ == 0)
      tell("compile process: " + Why);
    return nullptr;
  }
  CompileStartFailures = 0;
  ++Stats.Starts;
  (*Slot)->P = std::move(*P);
  return Slot->get();
}

void Coordinator::startCompile(Compiler &C, CodeEntry &Code) {
  Job &J = *Code.Waiting.front();
  Code.State = CodeEntry::Compiling;
  J.State = Job::Compiling;
  J.Started = epochSeconds();
  C.Busy = true;
  C.Serves = J.Keys.Process;
  C.Owner = J.Ticket;
  C.RequestId = J.Request.Id;
  C.Code = &Code;
  C.Begin = Clock::now();
  C.P->forgetMessages();
  // Its time is for all stages together.
  C.Stage = "the compilation";
  C.Limit = Config.CompileTimeout;
  C.Deadline.reset();
  if (C.Limit > 0)
    C.Deadline = inSeconds(C.Limit);
  ++Stats.Compiles;
  C.P->channel().queue(
      json::Object{{"do", "compile"}, {"request", toJSON(J.Request)}});
}

Error Coordinator::ask(Compiler &C, const json::Object &Message) {
  std::optional<Duplicate> Level =
      parseDuplicate(Message.getString("ask").value_or(""));
  StringRef Hash = Message.getString("hash").value_or("");
  if (!Level || *Level < Duplicate::IR || *Level > Duplicate::Assembly)
    return createStringError("a question about nothing");
  CodeEntry *Other =
      C.Code ? Codes.meet(*C.Code, *Level, Hash) : nullptr;
  C.P->channel().queue(
      json::Object{{"stop", Other != nullptr || C.Code == nullptr}});
  if (!C.Code)
    return Error::success();
  for (Job *J : C.Code->Waiting)
    (*Level == Duplicate::IR ? J->IRHash : J->AssemblyHash) = Hash.str();
  if (!Other)
    return Error::success();
  ++(*Level == Duplicate::IR ? Stats.SameIR : Stats.SameAssembly);
  std::vector<Job *> Waiting = takeWaiting(*C.Code);
  C.Code = nullptr;
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = secondsSince(C.Begin);
    J->Level = *Level;
    route(*J);
  }
  return Error::success();
}

/// \p Code was made, or could not be.
void Coordinator::finishCompile(Compiler &C, FarmCode Code) {
  double Seconds = secondsSince(C.Begin);
  Stats.CompileSeconds += Seconds;
  C.Busy = false;
  C.Deadline.reset();
  CodeEntry *Entry = std::exchange(C.Code, nullptr);
  if (!Entry)
    return;
  std::vector<Job *> Waiting = takeWaiting(*Entry);
  CodeEntry &Root = Codes.finish(*Entry, std::move(Code), C.RequestId);
  bool IsOther = &Root != Entry;
  Stats.SameCode += IsOther;
  for (Job *J : takeWaiting(Root)) // of code that was wanted once more
    Waiting.push_back(J);
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = Seconds;
    if (IsOther && J->Code == Entry)
      J->Level = Duplicate::Code;
    route(*J);
  }
  Codes.shrink();
}

Error Coordinator::handle(Compiler &C, Frame F) {
  if (std::optional<StringRef> Text = F.Head.getString("stage")) {
    C.Stage = Text->str();
    return Error::success();
  }
  if (std::optional<StringRef> Text = F.Head.getString("fatal")) {
    C.Fatal = Text->str();
    return Error::success();
  }
  if (std::optional<StringRef> Text = F.Head.getString("shortage")) {
    C.Shortage = Text->str();
    return Error::success();
  }
  if (!C.Busy)
    return createStringError("a message that nobody asked for");
  if (F.Head.get("ask"))
    return ask(C, F.Head);
  if (std::optional<StringRef> Text = F.Head.getString("invalid")) {
    FarmCode Code;
    Code.Failure = "Invalid";
    Code.Error = Text->str();
    finishCompile(C, std::move(Code));
    return Error::success();
  }
  Expected<FarmCode> Code = readMember<FarmCode>(F.Head, "code");
  if (!Code)
    return Code.takeError();
  Code->Bytes = std::move(F.Bytes);
  if (Code->Failure.empty() && !Code->Stopped &&
      (Code->Bytes.empty() || Code->CodeHash.empty()))
    return createStringError("code that is empty");
  finishCompile(C, std::move(*Code));
  return Error::success();
}

/// Nothing is known of the code but that it could not be made now.
void Coordinator::giveUp(CodeEntry &Code, StringRef Why) {
  tell(("compile process: " + Why).str());
  Code.State = CodeEntry::Wanted;
  for (Job *J : takeWaiting(Code))
    fail(*J, "WorkerLost", Why);
}

/// Its process is gone.
void Coordinator::end(Compiler &C) {
  bool Short = !C.Shortage.empty(), Killed = C.P->wasKilled() || Short;
  std::string Why = describeEnd(C, "the compilation");
  BytesSent += C.P->channel().sent();
  BytesReceived += C.P->channel().received();
  C.P.reset();
  C.Ending.reset();
  if (!C.Busy)
    return;
  ++Stats.CompilerDeaths;
  Job *Owner = find(C.Owner);
  if (Killed && C.Code && (!Owner || Owner->Losses < MaxLosses)) {
    // Not the candidate's fault, or not surely.
    C.Busy = false;
    CodeEntry &Code = *std::exchange(C.Code, nullptr);
    Code.State = CodeEntry::Wanted;
    Code.Queued = true;
    CompileQueue.push_front(&Code);
    if (Owner) {
      ++Owner->Losses;
      ++Stats.Requeued;
      Owner->State = Job::Waiting;
    }
    return;
  }
  if (Short && C.Code) {
    C.Busy = false;
    return giveUp(*std::exchange(C.Code, nullptr), Why);
  }
  FarmCode Code;
  Code.Failure = C.TimedOut ? "Timeout" : "CompileError";
  Code.Error = std::move(Why);
  finishCompile(C, std::move(Code));
}
