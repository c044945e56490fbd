//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompilerPool.h"
#include "ProcessLoops.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// Returns a free process, or null if all are busy. A process that serves
/// another FarmKeys::Process is replaced.
CompilerPool::Compiler *CompilerPool::getCompiler(StringRef Serves) {
  unsigned Alive = 0;
  Compiler *New = nullptr, *Others = nullptr;
  for (auto &C : Compilers) {
    if (!C->isAlive())
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
  if (Alive >= F.Config.CompileJobs) {
    if (!Others)
      return nullptr;
    Others->kill();
  }
  auto Slot = find_if(Compilers, [](const auto &C) { return !C->P; });
  if (Slot == Compilers.end()) {
    Compilers.push_back(std::make_unique<Compiler>());
    Slot = std::prev(Compilers.end());
  }
  **Slot = Compiler();
  ChildLimits Limits;
  Limits.Nice = F.Config.CompileNice;
  Limits.Bytes = F.Config.CompileMemory;
  auto Main = [&](Channel &Link) { runCompileProcess(F.Backend, Link); };
  Expected<std::unique_ptr<Process>> P =
      F.Starter ? F.Starter(/*IsCompiler=*/true)
                : Process::start(Main, Limits, MessageSet<FromCompiler>::Kinds,
                                 MessageSet<ToCompiler>::Kinds);
  if (!P) {
    std::string Why = toString(P.takeError());
    if (StartFailures++ == 0)
      F.tell("compile process: " + Why);
    return nullptr;
  }
  StartFailures = 0;
  ++F.Stats.Starts;
  (*Slot)->P = std::move(*P);
  return Slot->get();
}

void CompilerPool::startCompile(Compiler &C, CodeEntry &Code) {
  Job &J = *Code.Waiting.front();
  Code.State = CodeEntry::Compiling;
  J.State = Job::Compiling;
  J.Started = epochSeconds();
  C.Busy = true;
  C.Serves = J.getProcessKey();
  C.Owner = J.Ticket;
  C.RequestId = J.Request.Id;
  C.Code = &Code;
  C.Asked = 0;
  C.Begin = WorkerProcess::Clock::now();
  C.P->forgetMessages();
  // The limit applies to all stages together.
  C.Stage = "the compilation";
  C.Limit = F.Config.CompileTimeout;
  C.Deadline.reset();
  if (C.Limit > 0)
    C.Deadline = inSeconds(C.Limit);
  C.Starved = StarvationClock(C.P->pid(), C.Limit);
  ++F.Stats.Compiles;
  queue(C.P->channel(), message::Compile{J.Request});
}

Error CompilerPool::take(Compiler &C, message::CompileStage M) {
  C.Stage = std::move(M.Stage);
  return Error::success();
}

Error CompilerPool::take(Compiler &C, message::Fatal M) {
  C.Fatal = std::move(M.Error);
  return Error::success();
}

Error CompilerPool::take(Compiler &C, message::Shortage M) {
  C.Shortage = std::move(M.Error);
  return Error::success();
}

Error CompilerPool::take(Compiler &C, message::Ask M) {
  // Code has one hash per level, so a process asks once per level.
  unsigned Bit = 1u << static_cast<unsigned>(M.Level);
  if (!C.Busy || (C.Asked & Bit) || M.Hash.empty())
    return makeUnexpected(M);
  C.Asked |= Bit;
  CodeEntry *Other =
      C.Code ? Jobs.Codes.meet(*C.Code, M.Level, M.Hash) : nullptr;
  queue(C.P->channel(), message::Answer{Other != nullptr || C.Code == nullptr});
  if (!C.Code)
    return Error::success();
  for (Job *J : C.Code->Waiting)
    (M.Level == Duplicate::IR ? J->IRHash : J->AssemblyHash) = M.Hash;
  if (!Other)
    return Error::success();
  ++(M.Level == Duplicate::IR ? F.Stats.SameIR : F.Stats.SameAssembly);
  std::vector<Job *> Waiting = Jobs.takeWaiting(*C.Code);
  C.Code = nullptr;
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = secondsSince(C.Begin);
    J->Level = M.Level;
    Jobs.route(*J);
  }
  return Error::success();
}

/// Ends a compilation. \p Code may be a failure.
void CompilerPool::finishCompile(Compiler &C, FarmCode Code) {
  double Seconds = secondsSince(C.Begin);
  F.Stats.CompileSeconds += Seconds;
  C.Busy = false;
  C.Deadline.reset();
  CodeEntry *Entry = std::exchange(C.Code, nullptr);
  if (!Entry)
    return;
  std::vector<Job *> Waiting = Jobs.takeWaiting(*Entry);
  CodeEntry &Root = Jobs.Codes.finish(*Entry, std::move(Code), C.RequestId);
  bool IsOther = &Root != Entry;
  F.Stats.SameCode += IsOther;
  for (Job *J : Jobs.takeWaiting(Root)) // code that was requested again
    Waiting.push_back(J);
  for (Job *J : Waiting) {
    if (J->Ticket == C.Owner)
      J->CompileSeconds = Seconds;
    if (IsOther && J->Code == Entry)
      J->Level = Duplicate::Code;
    Jobs.route(*J);
  }
  Jobs.Codes.shrink();
}

Error CompilerPool::take(Compiler &C, message::Invalid M) {
  if (!C.Busy)
    return makeUnexpected(M);
  FarmCode Code;
  Code.Failure = FailureKind::Invalid;
  Code.Error = std::move(M.Error);
  finishCompile(C, std::move(Code));
  return Error::success();
}

Error CompilerPool::take(Compiler &C, message::Compiled M) {
  // A process stops only when told to, which resets C.Code.
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

/// Fails the jobs of code that could not be compiled, and keeps no result.
void CompilerPool::giveUp(CodeEntry &Code, StringRef Why) {
  F.tell(("compile process: " + Why).str());
  Code.State = CodeEntry::Wanted;
  for (Job *J : Jobs.takeWaiting(Code))
    Jobs.fail(*J, FailureKind::WorkerLost, Why);
}

/// Handles the end of a process.
void CompilerPool::end(Compiler &C) {
  bool Short = !C.Shortage.empty(), Killed = C.P->wasKilled() || Short;
  std::string Why = C.describeEnd("the compilation");
  F.addTraffic(*C.P);
  C.P.reset();
  C.Ending.reset();
  if (!C.Busy)
    return;
  ++F.Stats.CompilerDeaths;
  Job *Owner = Jobs.find(C.Owner);
  if (Killed && C.Code && (!Owner || Owner->Losses < MaxLosses)) {
    // The candidate may not be the cause, so its code is compiled again.
    C.Busy = false;
    CodeEntry &Code = *std::exchange(C.Code, nullptr);
    Code.State = CodeEntry::Wanted;
    Code.Queued = true;
    Jobs.CompileQueue.push_front(&Code);
    if (Owner) {
      ++Owner->Losses;
      ++F.Stats.Requeued;
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

void CompilerPool::dispatch() {
  if (Paused)
    return;
  while (!Jobs.CompileQueue.empty()) {
    CodeEntry &Code = *Jobs.CompileQueue.front();
    if (Code.Waiting.empty() || Code.State != CodeEntry::Wanted) {
      Code.Queued = false; // its jobs were cancelled
      Jobs.CompileQueue.pop_front();
      continue;
    }
    Compiler *C = getCompiler(Code.Waiting.front()->getProcessKey());
    if (!C)
      return;
    Code.Queued = false;
    Jobs.CompileQueue.pop_front();
    startCompile(*C, Code);
  }
}

void CompilerPool::serve(ArrayRef<pollfd> Waits) {
  for (auto &C : Compilers)
    C->serve<FromCompiler>(C->takeEvents(Waits),
                           [&](auto &&M) { return take(*C, std::move(M)); });
}

void CompilerPool::checkTimes() {
  Time Now = WorkerProcess::Clock::now();
  if (!Paused)
    for (auto &C : Compilers)
      C->checkDeadline(Now);
  for (auto &C : Compilers)
    if (C->isGone(Now))
      end(*C);
}

double CompilerPool::untilNextTime(double Seconds) const {
  Time Now = WorkerProcess::Clock::now();
  if (!Paused)
    for (const auto &C : Compilers)
      Seconds = C->untilNextTime(Seconds, Now);
  return StartFailures ? std::min(Seconds, LockSeconds) : Seconds;
}

void CompilerPool::pause(bool Stop) {
  if (Stop == Paused.has_value())
    return;
  for (auto &C : Compilers) {
    if (!C->isAlive())
      continue;
    C->P->pause(Stop);
    if (!Stop && C->Deadline)
      *C->Deadline += WorkerProcess::Clock::now() - *Paused;
  }
  Paused.reset();
  if (Stop)
    Paused = WorkerProcess::Clock::now();
}
