//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JobTable.h"
#include "Messages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Debug.h"

using namespace llvm;
using namespace llvm::mneme;

#define DEBUG_TYPE "mneme-farm"

Job *JobTable::find(uint64_t Ticket) {
  auto It = Jobs.find(Ticket);
  return It == Jobs.end() ? nullptr : It->second.get();
}

static std::string makeResultKey(StringRef Code, StringRef Launch,
                                 unsigned Instance) {
  return (Code + "\n" + Launch + "\n" + Twine(Instance)).str();
}

static std::string makeResultKey(const FarmKeys &Keys, unsigned Instance) {
  return makeResultKey(Keys.Compile, Keys.Launch, Instance);
}

static std::string makeCodeKey(StringRef CodeHash, const Job &J) {
  return makeResultKey(CodeHash, J.Keys.Launch, J.Request.Instance);
}

Job &JobTable::add(EvaluationRequest R) {
  auto Owned = std::make_unique<Job>();
  Job &J = *Owned;
  J.Ticket = NextTicket++;
  J.Request = std::move(R);
  Jobs[J.Ticket] = std::move(Owned);
  return J;
}

void JobTable::submit(EvaluationRequest R) {
  ++F.Stats.Requests;
  Job &J = add(std::move(R));
  if (Expected<size_t> Bytes = checkRequest(J.Request); !Bytes)
    return fail(J, FailureKind::Invalid, toString(Bytes.takeError()));
  Expected<FarmKeys> Keys = F.Backend.keys(J.Request);
  if (!Keys)
    return fail(J, FailureKind::Invalid, toString(Keys.takeError()));
  J.Keys = std::move(*Keys);
  if (!J.Request.Device.empty() && !IsHere(J.Request.Device))
    sendThere(J);
  else
    admit(J);
}

void JobTable::sendThere(Job &J) {
  if (!Others || !Others->submit(J.Ticket, J.Request))
    return fail(J, FailureKind::WorkerLost,
                "'" + J.Request.Device + "' is gone");
  J.State = Job::Away;
  if (!J.Started)
    J.Started = epochSeconds();
}

void JobTable::moveTargeted() {
  std::vector<Job *> Moved;
  for (auto &[Ticket, J] : Jobs)
    if (!J->Request.Device.empty() && !J->ForPair &&
        (J->State == Job::Waiting || J->State == Job::Ready) &&
        !IsHere(J->Request.Device))
      Moved.push_back(J.get());
  for (Job *J : Moved) {
    if (J->State == Job::Waiting)
      llvm::erase(CodeTable::resolve(*J->Code).Waiting, J);
    else
      llvm::erase(ReadyQueue, J->Ticket);
    leaveCode(*J);
    J->State = Job::Waiting;
    sendThere(*J);
  }
}

void JobTable::admit(Job &J) {
  if (!J.Request.Fresh && !J.ForPair && J.Request.Device.empty()) {
    std::string Key = makeResultKey(J.Keys, J.Request.Instance);
    if (ResultEntry *R = Results.find(Key)) {
      if (R->answers(J.Request))
        return finishAs(J, *R, Duplicate::Config);
      if (R->Leader) {
        J.State = Job::Following;
        J.Level = Duplicate::Config;
        R->Followers.push_back(&J);
        return;
      }
    }
    J.Result = &Results.add(Key);
    J.Result->Leader = &J;
  }
  bool IsNew = false;
  J.Code = &Codes.get(J.Keys.Compile, IsNew);
  if (!IsNew) {
    J.Level = Duplicate::Config;
    ++F.Stats.SameConfig;
  }
  route(J);
}

void JobTable::waitForCode(Job &J, CodeEntry &C) {
  J.State = Job::Waiting;
  bool Urgent = J.Request.Fresh || J.ForPair;
  if (Urgent)
    C.Waiting.insert(C.Waiting.begin(), &J);
  else
    C.Waiting.push_back(&J);
  if (C.State != CodeEntry::Wanted || C.Queued)
    return;
  C.Queued = true;
  if (Urgent)
    CompileQueue.push_front(&C);
  else
    CompileQueue.push_back(&C);
}

void JobTable::route(Job &J) {
  CodeEntry &C = CodeTable::resolve(*J.Code);
  J.Code = &C;
  if (C.State != CodeEntry::Made)
    return waitForCode(J, C);
  if (!C.Code.Failure.empty()) {
    Evaluation E;
    E.Failure = C.Code.Failure;
    E.Error = C.Code.Error;
    E.Diagnostics = C.Code.Diagnostics;
    if (C.FirstId != J.Request.Id) {
      E.DuplicateKind =
          J.Level == Duplicate::None ? Duplicate::Config : J.Level;
      E.DuplicateOf = C.FirstId;
    }
    return finish(J, std::move(E));
  }
  if (J.Result) {
    ResultEntry *Other = Results.meet(
        *J.Result, makeCodeKey(C.Code.CodeHash, J), J.Request);
    if (Other) {
      Duplicate Level =
          J.Level == Duplicate::None ? Duplicate::Code : J.Level;
      // This job's followers now follow the other result.
      std::vector<Job *> Followers = std::move(J.Result->Followers);
      J.Result->Followers.clear();
      J.Result = nullptr;
      if (Other->Done) {
        finishAs(J, *Other, Level);
      } else {
        J.State = Job::Following;
        J.Level = Level;
        Other->Followers.push_back(&J);
      }
      for (Job *F : Followers) {
        F->Level = Level;
        if (Other->answers(F->Request))
          finishAs(*F, *Other, Level);
        else if (Other->Done)
          admit(*F);
        else
          Other->Followers.push_back(F);
      }
      return;
    }
  }
  if (!J.Request.Device.empty() && !J.ForPair && !IsHere(J.Request.Device))
    return sendThere(J);
  if (!C.Bytes) {
    C.State = CodeEntry::Wanted; // compile it again
    return waitForCode(J, C);
  }
  ++C.Users;
  Codes.touch(C);
  if (J.ForPair) {
    J.State = Job::Held;
    return;
  }
  J.State = Job::Ready;
  if (J.Request.Fresh)
    ReadyQueue.push_front(J.Ticket);
  else
    ReadyQueue.push_back(J.Ticket);
}

void JobTable::takeBack(Job &J) {
  J.State = Job::Waiting;
  if (!J.Request.Device.empty() && !IsHere(J.Request.Device))
    sendThere(J);
  else if (J.Code)
    route(J);
  else
    admit(J);
}

std::vector<Job *> JobTable::takeWaiting(CodeEntry &C) {
  std::vector<Job *> Taken = std::move(C.Waiting);
  C.Waiting.clear();
  return Taken;
}

void JobTable::leaveCode(Job &J) {
  if (J.State == Job::Ready || J.State == Job::Sent || J.State == Job::Held)
    --J.Code->Users;
}

void JobTable::fail(Job &J, FailureKind Failure, StringRef Error) {
  Evaluation E;
  E.Failure = Failure;
  E.Error = Error.str();
  finish(J, std::move(E));
}

void JobTable::finishAs(Job &J, const ResultEntry &R, Duplicate Level) {
  Evaluation E = R.Result;
  E.DuplicateKind = Level;
  if (!E.DuplicateOf)
    E.DuplicateOf = R.Result.Id;
  E.RunSeconds = E.CompileSeconds = 0;
  ++F.Stats.Reused;
  finish(J, std::move(E));
}

/// Ends a job with its result.
void JobTable::finish(Job &J, Evaluation E) {
  leaveCode(J);
  E.Id = J.Request.Id;
  if (!J.IRHash.empty())
    E.IRHash = J.IRHash;
  if (!J.AssemblyHash.empty())
    E.AssemblyHash = J.AssemblyHash;
  if (J.Code && J.State != Job::Away) {
    const FarmCode &C = CodeTable::resolve(*J.Code).Code;
    for (auto [To, From] : {std::pair(&E.IRHash, &C.IRHash),
                            std::pair(&E.AssemblyHash, &C.AssemblyHash),
                            std::pair(&E.CodeHash, &C.CodeHash)})
      if (To->empty())
        *To = *From;
    if (E.Suspicions.empty())
      E.Suspicions = C.Suspicions;
    E.CompileSeconds = J.CompileSeconds;
  }
  E.Ended = epochSeconds();
  E.Started = J.Started ? J.Started : E.Ended;
  if (J.ForPair) {
    J.State = Job::Failed;
    J.Failure = E.Failure;
    J.Error = E.Error;
    return;
  }
  ResultEntry *R = J.Result;
  if (R && J.State == Job::Away && !E.CodeHash.empty())
    Results.publish(*R, makeCodeKey(E.CodeHash, J));
  // A measurement of a given device, or of the application's code, is not a
  // configuration's result.
  if (J.Request.Fresh && J.Request.Device.empty() && !J.Request.AppCode &&
      !E.Samples.empty() && !E.CodeHash.empty())
    Results.replace(makeCodeKey(E.CodeHash, J), E,
                    J.Request.stopAbove(E.Device));
  EvaluationRequest Request = std::move(J.Request);
  Jobs.erase(J.Ticket);
  if (E.Failure == Evaluation::Cancelled)
    --F.Stats.Requests;
  else
    ++F.Stats.Results;
  LLVM_DEBUG(dbgs() << "evaluation " << E.Id << ": "
                    << (E.Error.empty() ? "measured" : E.Error)
                    << (E.DuplicateOf ? ", reused\n" : "\n"));
  Finished.push_back(E);
  if (R)
    settle(*R, Request, E);
}

/// Passes a result on to the jobs that follow it.
void JobTable::settle(ResultEntry &R, const EvaluationRequest &Leader,
                      const Evaluation &E) {
  std::vector<Job *> Followers = std::move(R.Followers);
  R.Followers.clear();
  R.Leader = nullptr;
  // These failures say nothing about the candidate.
  R.Done = E.Failure != FailureKind::WorkerLost &&
           E.Failure != Evaluation::Cancelled;
  R.StopAbove = Leader.stopAbove(E.Device);
  R.Result = E;
  for (Job *F : Followers) {
    if (R.answers(F->Request))
      finishAs(*F, R, F->Level);
    else
      admit(*F);
  }
}

void JobTable::remember(const EvaluationRequest &R, const Evaluation &Known) {
  if (Known.Failure == FailureKind::WorkerLost ||
      Known.Failure == FailureKind::Invalid)
    return;
  Expected<FarmKeys> Keys = F.Backend.keys(R);
  if (!Keys) {
    consumeError(Keys.takeError());
    return;
  }
  std::string Key = makeResultKey(*Keys, R.Instance);
  if (Results.find(Key))
    return;
  ResultEntry &E = Results.add(Key);
  E.Done = true;
  E.Result = Known;
  E.Result.Id = Known.DuplicateOf.value_or(Known.Id);
  E.Result.DuplicateOf.reset();
  E.StopAbove = R.stopAbove(Known.Device);
  bool IsNew = false;
  CodeEntry &C = Codes.get(Keys->Compile, IsNew);
  FarmCode Code;
  Code.IRHash = Known.IRHash;
  Code.AssemblyHash = Known.AssemblyHash;
  Code.CodeHash = Known.CodeHash;
  if (Known.CodeHash.empty()) {
    Code.Failure = Known.Failure;
    Code.Error = Known.Error;
    Code.Diagnostics = Known.Diagnostics;
    if (Known.Failure.empty())
      return;
  } else {
    Job Like;
    Like.Keys = *Keys;
    Like.Request.Instance = R.Instance;
    Results.meet(E, makeCodeKey(Known.CodeHash, Like), R);
  }
  if (C.State != CodeEntry::Wanted || !C.Waiting.empty())
    return;
  CodeEntry *Root = &C;
  for (auto [Level, Hash] :
       {std::pair(Duplicate::IR, &Known.IRHash),
        std::pair(Duplicate::Assembly, &Known.AssemblyHash)})
    if (!Hash->empty() && Root == &C)
      if (CodeEntry *Other = Codes.meet(C, Level, *Hash))
        Root = Other;
  if (Root == &C)
    Codes.finish(C, std::move(Code), E.Result.Id);
}

void JobTable::withdraw(const DenseSet<uint64_t> &Ids) {
  std::vector<Job *> Withdrawn;
  DenseSet<const Job *> Following;
  for (auto &[Ticket, J] : Jobs) {
    bool HasBegun = J->ForPair || J->State == Job::Compiling ||
                    J->State == Job::Sent || J->State == Job::Away;
    if (HasBegun || !Ids.contains(J->Request.Id))
      continue;
    Withdrawn.push_back(J.get());
    if (J->State == Job::Following)
      Following.insert(J.get());
  }
  for (auto &[Ticket, J] : Jobs)
    if (J->Result)
      llvm::erase_if(J->Result->Followers,
                     [&](const Job *F) { return Following.contains(F); });
  // Nothing may become ready or be admitted again before all have left.
  for (Job *J : Withdrawn) {
    if (J->State == Job::Waiting)
      llvm::erase(CodeTable::resolve(*J->Code).Waiting, J);
    else if (J->State == Job::Ready)
      llvm::erase(ReadyQueue, J->Ticket);
  }
  for (Job *J : Withdrawn)
    fail(*J, FailureKind::Cancelled, "the request was cancelled");
}

std::vector<uint64_t> JobTable::cancel() {
  std::vector<uint64_t> Forgotten;
  for (auto It = Jobs.begin(); It != Jobs.end();) {
    Job &J = *It->second;
    if (J.ForPair || J.State == Job::Compiling || J.State == Job::Sent ||
        J.State == Job::Away) {
      ++It;
      continue;
    }
    leaveCode(J);
    if (J.State == Job::Waiting)
      llvm::erase(CodeTable::resolve(*J.Code).Waiting, &J);
    if (J.Result)
      Results.forget(*J.Result);
    Forgotten.push_back(J.Request.Id);
    It = Jobs.erase(It);
  }
  // All followers were dropped, but some jobs that they followed remain.
  for (auto &[Ticket, J] : Jobs)
    if (J->Result)
      J->Result->Followers.clear();
  ReadyQueue.clear();
  if (Others)
    Others->cancel();
  F.Stats.Requests -= Forgotten.size();
  return Forgotten;
}
