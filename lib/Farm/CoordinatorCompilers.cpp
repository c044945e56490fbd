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
#include "ProcessLoops.h"
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
  ChildLimits Limits;
  Limits.Nice = Config.CompileNice;
  Limits.Bytes = Config.CompileMemory;
  auto Main = [&](Channel &Link) { runCompileProcess(Backend, Link); };
  Expected<std::unique_ptr<Process>> P =
      Starter ? Starter(/*IsCompiler=*/true)
              : Process::start(Main, Limits, MessageSet<FromCompiler>::Kinds,
                               MessageSet<ToCompiler>::Kinds);
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
  C.Asked = 0;
  C.Begin = Clock::now();
  C.P->forgetMessages();
  // Its time is for all stages together.
  C.Stage = "the compilation";
  C.Limit = Config.CompileTimeout;
  C.Deadline.reset();
  if (C.Limit > 0)
    C.Deadline = inSeconds(C.Limit);
  ++Stats.Compiles;
  queue(C.P->channel(), message::Compile{J.Request});
}

Error Coordinator::take(Compiler &C, message::CompileStage M) {
  C.Stage = std::move(M.Stage);
  return Error::success();
}

Error Coordinator::take(Compiler &C, message::Fatal M) {
  C.Fatal = std::move(M.Error);
  return Error::success();
}

Error Coordinator::take(Compiler &C, message::Shortage M) {
  C.Shortage = std::move(M.Error);
  return Error::success();
}

Error Coordinator::take(Compiler &C, message::Ask M) {
  // Code has one hash of a level.
  unsigned Bit = 1u << static_cast<unsigned>(M.Level);
  if (!C.Busy || (C.Asked & Bit) || M.Hash.empty())
    return makeUnexpected(M);
  C.Asked |= Bit;
  CodeEntry *Other = C.Code ? Codes.meet(*C.Code, M.Level, M.Hash) : nullptr;
  queue(C.P->channel(), message::Answer{Other != nullptr || C.Code == nullptr});
  if (!C.Code)
    return Error::success();
  for (Job *J : C.Code->Waiting)
    (M.Level == Duplicate::IR ? J->IRHash : J->AssemblyHash) = M.Hash;
  if (!Other)
    return Error::success();
  ++(M.Level == Duplicate::IR ? Stats.SameIR : Stats.SameAssembly);
  std::vector<Job *> Waiting = takeWaiting(*C.Code);
  C.Code = nullptr;
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = secondsSince(C.Begin);
    J->Level = M.Level;
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

Error Coordinator::take(Compiler &C, message::Invalid M) {
  if (!C.Busy)
    return makeUnexpected(M);
  FarmCode Code;
  Code.Failure = FailureKind::Invalid;
  Code.Error = std::move(M.Error);
  finishCompile(C, std::move(Code));
  return Error::success();
}

Error Coordinator::take(Compiler &C, message::Compiled M) {
  // It stops when it is told to, and only then.
  if (!C.Busy || (M.Code.Stopped && C.Code))
    return makeUnexpected(M);
  if (M.Code.Failure == FailureKind::WorkerLost)
    return createStringError("a compilation cannot fail as WorkerLost");
  if (M.Code.Failure.empty() && !M.Code.Stopped &&
      (M.Bytes.empty() || M.Code.CodeHash.empty()))
    return createStringError("the code is empty");
  M.Code.Bytes = std::move(M.Bytes);
  finishCompile(C, std::move(M.Code));
  return Error::success();
}

/// Nothing is known of the code but that it could not be made now.
void Coordinator::giveUp(CodeEntry &Code, StringRef Why) {
  tell(("compile process: " + Why).str());
  Code.State = CodeEntry::Wanted;
  for (Job *J : takeWaiting(Code))
    fail(*J, FailureKind::WorkerLost, Why);
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
  Code.Failure = C.TimedOut ? FailureKind::Timeout : FailureKind::CompileError;
  Code.Error = std::move(Why);
  finishCompile(C, std::move(Code));
}
