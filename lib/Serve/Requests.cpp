//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// How the server handles each request.
//
//===----------------------------------------------------------------------===//

#include "ReadKernel.h"
#include "Server.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Study/CommandLineSpace.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Version.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::serve;

//===----------------------------------------------------------------------===//
// The recording
//===----------------------------------------------------------------------===//

std::optional<unsigned> Server::findInstance(Client &C, uint64_t Request,
                                             StringRef RecordId) {
  if (RecordId.empty())
    return 0;
  std::optional<unsigned> Found;
  for (auto [I, Id] : enumerate(Ids)) {
    if (!StringRef(Id).starts_with(RecordId))
      continue;
    if (Found) {
      refuse(C, Request, Reason::Request,
             "several records begin with '" + RecordId + "'");
      return std::nullopt;
    }
    Found = I;
  }
  if (!Found)
    refuse(C, Request, Reason::Request,
           "this server has no record '" + RecordId + "'");
  return Found;
}

const ReplayPlan *Server::findPlan(Client &C, uint64_t Request,
                                   unsigned Instance) {
  if (Farm)
    return Farm->plans()[Instance].get();
  if (!Plans[Instance]) {
    ReplayOptions Options = O.Farm.Base;
    Options.RecordId = Ids[Instance];
    if (Error E = ReplayPlan::create(File, std::move(Options))
                      .moveInto(Plans[Instance])) {
      refuse(C, Request, Reason::Setup, std::move(E));
      return nullptr;
    }
  }
  return Plans[Instance].get();
}

void Server::handle(Client &C, message::Hello &M) {
  if (M.Protocol != ServeProtocolVersion) {
    refuse(C, M.Id, Reason::Request,
           formatv("Mneme {0} speaks version {1} of the protocol, the client "
                   "version {2}",
                   getVersion(), ServeProtocolVersion, M.Protocol)
               .str());
    return drop(C);
  }
  C.IsGreeted = true;
  C.Name = M.Client;
  answer(C, message::Welcome{M.Id, ServeProtocolVersion, getVersion().str(),
                             LLVM_VERSION_STRING, getProtocolVersion(),
                             C.TakesDescriptors});
}

void Server::handle(Client &C, message::List &M) {
  json::Value V = toJSON(Kernel);
  answer(C, message::Kernel{M.Id, std::move(*V.getAsObject()), Ids});
}

void Server::handle(Client &C, message::Show &M) {
  std::optional<unsigned> Instance = findInstance(C, M.Id, M.Instance);
  const ReplayPlan *Plan = Instance ? findPlan(C, M.Id, *Instance) : nullptr;
  if (!Plan)
    return;
  message::Launch L = describeLaunch(*Plan);
  L.Id = M.Id;
  answer(C, std::move(L));
}

//===----------------------------------------------------------------------===//
// Evaluations
//===----------------------------------------------------------------------===//

Error Server::openFarm() {
  if (!FarmLost.empty())
    return createStringError(FarmLost);
  if (Farm)
    return Error::success();
  if (Error E = ReplayFarm::create(O.Farm).moveInto(Farm))
    return E;
  // The farm has plans of its own.
  for (std::unique_ptr<ReplayPlan> &P : Plans)
    P.reset();
  return Error::success();
}

void Server::loseFarm(Error E) {
  FarmLost = toString(std::move(E));
  Farm.reset();
  for (auto &[Number, T] : Tickets) {
    releaseIR(T.IRFile);
    if (Client *C = find(T.Serial))
      refuse(*C, T.Id, Reason::Lost, FarmLost);
  }
  Tickets.clear();
}

void Server::handle(Client &C, message::Open &M) {
  if (Error E = openFarm())
    return refuse(C, M.Id, FarmLost.empty() ? Reason::Setup : Reason::Lost,
                  std::move(E));
  json::Array Powers;
  for (const VerificationPower &P : Farm->powers())
    Powers.push_back(toJSON(P));
  answer(C, message::Opened{M.Id, Farm->capacity(), Farm->describe(),
                            std::move(Powers)});
}

/// Writes IR that a request sent to a file. \returns its path, for
/// releaseIR().
Expected<std::string> Server::keepIR(std::string Bytes) {
  if (!IRFolder)
    if (Error E =
            PrivateFolder::createTemporary().moveInto(IRFolder.emplace())) {
      IRFolder.reset();
      return std::move(E);
    }
  std::string Path = IRFolder->pathOf(toHexString(digest128(Bytes)) + ".ir");
  if (IRUsers[Path]++)
    return Path;
  auto Write = [&](raw_ostream &OS) {
    OS << Bytes;
    return Error::success();
  };
  if (Error E = writeFileAtomically(Path, Write, /*Sync=*/false)) {
    IRUsers.erase(Path);
    return std::move(E);
  }
  return Path;
}

void Server::releaseIR(StringRef Path) {
  if (Path.empty() || --IRUsers[Path] != 0)
    return;
  IRUsers.erase(Path);
  ::unlink(Path.str().c_str());
}

void Server::handle(Client &C, message::Submit &M) {
  std::optional<unsigned> Instance = findInstance(C, M.Id, M.Instance);
  if (!Instance)
    return;
  if (Error E = openFarm())
    return refuse(C, M.Id, FarmLost.empty() ? Reason::Setup : Reason::Lost,
                  std::move(E));
  Ticket T{C.Serial, M.Id, {}};
  EvaluationRequest R;
  R.Id = Origins.size();
  R.Config = std::move(M.Config);
  if (!M.Bytes.empty()) {
    if (Error E = keepIR(std::move(M.Bytes)).moveInto(T.IRFile))
      return refuse(C, M.Id, Reason::Limit, std::move(E));
    R.Config["ir"] = T.IRFile;
  }
  R.Fresh = M.Fresh;
  R.Attempt = M.Attempt;
  R.OwnProcess = M.OwnProcess;
  R.StopAbove = M.StopAbove;
  R.StopAboveOn = std::move(M.StopAboveOn);
  R.LaunchTimeout = M.LaunchTimeout;
  R.Instance = *Instance;
  R.AppCode = M.AppCode;
  R.Measure = M.Measure;
  R.Device = std::move(M.Device);
  Origins.push_back({C.Serial, M.Id});
  uint64_t Number = R.Id;
  Tickets.emplace(Number, std::move(T));
  if (Error E = Farm->submit(std::move(R)))
    loseFarm(std::move(E));
}

void Server::sendResult(Evaluation E) {
  auto It = Tickets.find(E.Id);
  if (It == Tickets.end())
    return;
  Ticket T = std::move(It->second);
  Tickets.erase(It);
  releaseIR(T.IRFile);
  Client *C = find(T.Serial);
  if (!C)
    return;
  message::Result R;
  R.Id = T.Id;
  R.Failure = E.Failure;
  R.Error = std::move(E.Error);
  R.Level = E.Level;
  R.Diagnostics = std::move(E.Diagnostics);
  R.Suspicions = std::move(E.Suspicions);
  R.Stopped = E.Stopped;
  R.Metrics = std::move(E.Metrics);
  R.Samples = std::move(E.Samples);
  R.IRHash = std::move(E.IRHash);
  R.AssemblyHash = std::move(E.AssemblyHash);
  R.CodeHash = std::move(E.CodeHash);
  R.DuplicateKind = E.DuplicateKind;
  if (E.DuplicateOf && Origins[*E.DuplicateOf].first == T.Serial)
    R.DuplicateOf = Origins[*E.DuplicateOf].second;
  R.CompileSeconds = E.CompileSeconds;
  R.RunSeconds = E.RunSeconds;
  R.Started = E.Started;
  R.Ended = E.Ended;
  R.Worker = std::move(E.Worker);
  R.Device = std::move(E.Device);
  answer(*C, std::move(R));
}

void Server::handle(Client &C, message::Compare &M) {
  std::optional<unsigned> Instance = findInstance(C, M.Id, M.Instance);
  if (!Instance)
    return;
  if (M.Configs.empty())
    return refuse(C, M.Id, Reason::Request, "nothing to compare");
  if (!M.Rounds)
    return refuse(C, M.Id, Reason::Request, "rounds: expected at least 1");
  if (Error E = openFarm())
    return refuse(C, M.Id, FarmLost.empty() ? Reason::Setup : Reason::Lost,
                  std::move(E));
  std::vector<EvaluationRequest> Requests;
  for (json::Object &Config : M.Configs) {
    EvaluationRequest &R = Requests.emplace_back();
    R.Config = std::move(Config);
    R.Instance = *Instance;
    R.LaunchTimeout = M.LaunchTimeout;
    R.AppCode = M.AppCode && Requests.size() == 1;
  }
  // The client may leave meanwhile.
  uint64_t Serial = C.Serial;
  Comparing.emplace(Comparison{Serial, M.Id});
  Expected<PairedEvaluation> P = Farm->comparePaired(Requests, M.Rounds, [&] {
    serveClients();
    return Comparing->IsStopped;
  });
  Comparing.reset();
  if (!P)
    loseFarm(P.takeError());
  Client *To = find(Serial);
  if (!To)
    return;
  if (!FarmLost.empty())
    return refuse(*To, M.Id, Reason::Lost, FarmLost);
  message::Compared R;
  R.Id = M.Id;
  R.Failure = P->Failure;
  R.Error = std::move(P->Error);
  for (auto [I, S] : enumerate(P->Samples))
    R.Speedups.push_back(toArray(
        I ? estimatePairedRatio(P->Samples.front(), S) : RatioEstimate()));
  R.Samples = std::move(P->Samples);
  R.Worker = std::move(P->Worker);
  R.Device = std::move(P->Device);
  answer(*To, std::move(R));
}

void Server::handle(Client &C, message::Cancel &M) {
  auto IsWanted = [&](uint64_t Serial, uint64_t Id) {
    return Serial == C.Serial &&
           (M.Requests.empty() || is_contained(M.Requests, Id));
  };
  // Those that wait have not begun.
  std::vector<ToServer> Waiting;
  erase_if(Later, [&](auto &L) {
    auto *S = std::get_if<message::Submit>(&L.second);
    if (!S || !IsWanted(L.first, S->Id))
      return false;
    Waiting.push_back(std::move(L.second));
    return true;
  });
  for (ToServer &L : Waiting) {
    message::Result R;
    R.Id = std::get<message::Submit>(L).Id;
    R.Failure = FailureKind::Cancelled;
    R.Error = "the request was cancelled";
    answer(C, std::move(R));
  }
  DenseSet<uint64_t> Wanted;
  for (auto &[Number, T] : Tickets)
    if (IsWanted(T.Serial, T.Id))
      Wanted.insert(Number);
  if (Farm && !Wanted.empty())
    Farm->withdraw(Wanted);
  if (Comparing && IsWanted(Comparing->Serial, Comparing->Id))
    Comparing->IsStopped = true;
  // The results of the cancelled requests come before the answer. During a
  // comparison, the farm is not asked.
  if (Farm && !Comparing)
    takeResults(0);
  answer(C, message::Done{M.Id});
}

//===----------------------------------------------------------------------===//
// IR and memory
//===----------------------------------------------------------------------===//

/// Returns the plan of a configuration. \p IRFile: IR that the client sent, or
/// empty.
Expected<std::unique_ptr<ReplayPlan>> Server::varyPlan(const ReplayPlan &Plan,
                                                       json::Object Config,
                                                       StringRef IRFile,
                                                       bool WillCompile) {
  ReplayOptions Options = O.Farm.Base;
  if (!IRFile.empty())
    Config["ir"] = IRFile.str();
  if (Error E = applySide(Config, Options))
    return std::move(E);
  return Plan.vary(std::move(Options), WillCompile);
}

Error Server::startTask(Task T) {
  Tasks.push_back(std::make_unique<Task>(std::move(T)));
  uint32_t None = 0;
  return watch(Tasks.back()->Child.fd(), None, EPOLLIN);
}

void Server::handle(Client &C, message::IR &M) {
  bool IsTables = M.Form == "tables";
  if (!IsTables && M.Form != "text" && M.Form != "bitcode")
    return refuse(C, M.Id, Reason::Request,
                  "expected the form text, bitcode or tables, got '" + M.Form +
                      "'");
  std::optional<unsigned> Instance = findInstance(C, M.Id, M.Instance);
  const ReplayPlan *Plan = Instance ? findPlan(C, M.Id, *Instance) : nullptr;
  if (!Plan)
    return;
  std::string IRFile;
  if (!M.Bytes.empty())
    if (Error E = keepIR(std::move(M.Bytes)).moveInto(IRFile))
      return refuse(C, M.Id, Reason::Limit, std::move(E));
  // A source is compiled in the child.
  bool HasSource = M.Config.get("source");
  Expected<std::unique_ptr<ReplayPlan>> Variant =
      varyPlan(*Plan, std::move(M.Config), IRFile, M.Optimized && !HasSource);
  // The plan has read the file.
  releaseIR(IRFile);
  if (!Variant)
    return refuse(C, M.Id, Reason::Request, Variant.takeError());
  IRForm Form = IsTables              ? IRForm::Tables
                : M.Form == "bitcode" ? IRForm::Bitcode
                                      : IRForm::Text;
  ChildLimits Limits;
  Limits.Seconds = O.Farm.CompileTimeout;
  auto Read = [&]() -> Expected<std::string> {
    if ((*Variant)->hasOwnModule())
      return readIRForm(**Variant, M.Optimized, Form);
    Expected<std::unique_ptr<ReplayPlan>> Compiled =
        (*Variant)->vary((*Variant)->options());
    if (!Compiled)
      return Compiled.takeError();
    return readIRForm(**Compiled, M.Optimized, Form);
  };
  Expected<ChildTask> Child = ChildTask::start("the compiler", Read, Limits);
  if (!Child)
    return refuse(C, M.Id, Reason::Limit, Child.takeError());
  if (Error E = startTask(Task(std::move(*Child), C.Serial, M.Id)))
    refuse(C, M.Id, Reason::Limit, std::move(E));
}

void Server::handle(Client &C, message::Memory &M) {
  bool IsResult = M.When == "result", IsAfter = M.When == "after";
  if (!IsResult && !IsAfter && M.When != "before")
    return refuse(C, M.Id, Reason::Request,
                  "expected before, after or result, got '" + M.When + "'");
  std::optional<unsigned> Instance = findInstance(C, M.Id, M.Instance);
  const ReplayPlan *Plan = Instance ? findPlan(C, M.Id, *Instance) : nullptr;
  if (!Plan)
    return;
  std::unique_ptr<ReplayPlan> Variant;
  std::string Device;
  if (IsResult) {
    if (Error E = openFarm())
      return refuse(C, M.Id, FarmLost.empty() ? Reason::Setup : Reason::Lost,
                    std::move(E));
    // Opening the farm made new plans.
    Plan = findPlan(C, M.Id, *Instance);
    Device = getFirstDevice(*Farm);
    std::string IRFile;
    if (!M.Bytes.empty())
      if (Error E = keepIR(std::move(M.Bytes)).moveInto(IRFile))
        return refuse(C, M.Id, Reason::Limit, std::move(E));
    bool HasSource = M.Config.get("source");
    Error E = varyPlan(*Plan, std::move(M.Config), IRFile, !HasSource)
                  .moveInto(Variant);
    releaseIR(IRFile);
    if (E)
      return refuse(C, M.Id, Reason::Request, std::move(E));
  }
  ArrayRef<RecordedRegion> Regions = Plan->state().regions();
  auto Region = find_if(
      Regions, [&](const RecordedRegion &R) { return R.Info.Id == M.Buffer; });
  if (Region == Regions.end())
    return refuse(C, M.Id, Reason::Request,
                  formatv("the launch has no buffer {0}", M.Buffer).str());
  Descriptor Memory(
      ::memfd_create("mneme-memory", MFD_CLOEXEC | MFD_ALLOW_SEALING));
  uint64_t Size = Region->Info.Size;
  if (!Memory || ::ftruncate(Memory.get(), Size) != 0)
    return refuse(C, M.Id, Reason::Limit,
                  systemError("cannot make memory for a buffer"));
  unsigned Index = Region - Regions.begin();
  const ReplayPlan &Read = Variant ? *Variant : *Plan;
  Expected<ChildTask> Child = ChildTask::startWith(
      "the reader of the memory",
      [&]() -> Expected<std::string> {
        if (Error E = IsResult ? fillResult(Read, Device, Index, Memory.get())
                               : fillRecorded(Read.state(), Index, IsAfter,
                                              Memory.get()))
          return std::move(E);
        return "";
      },
      {}, {Memory.get()});
  if (!Child)
    return refuse(C, M.Id, Reason::Limit, Child.takeError());
  Task T(std::move(*Child), C.Serial, M.Id);
  T.NeedsDevice = IsResult;
  T.Memory = std::move(Memory);
  T.Size = Size;
  if (Error E = startTask(std::move(T)))
    refuse(C, M.Id, Reason::Limit, std::move(E));
}

/// Reads a memory file as a string, for a client that takes no descriptors.
static Expected<std::string> readMemory(int FD, uint64_t Size) {
  std::string Bytes(Size, '\0');
  uint64_t Done = 0;
  while (Done != Size) {
    ssize_t N = ::pread(FD, Bytes.data() + Done, Size - Done, Done);
    if (N <= 0)
      return systemError("cannot read the memory of a buffer");
    Done += N;
  }
  return Bytes;
}

void Server::serveTasks() {
  for (size_t I = 0; I != Tasks.size();) {
    if (!Tasks[I]->Child.poll()) {
      ++I;
      continue;
    }
    std::unique_ptr<Task> T = std::move(Tasks[I]);
    Tasks.erase(Tasks.begin() + I);
    ::epoll_ctl(Events.get(), EPOLL_CTL_DEL, T->Child.fd(), nullptr);
    Expected<std::string> Result = T->Child.finish();
    Client *C = find(T->Serial);
    if (!C) {
      if (!Result)
        consumeError(Result.takeError());
      continue;
    }
    if (!Result) {
      refuse(*C, T->Id, Reason::Request, Result.takeError());
      continue;
    }
    if (!T->Memory) {
      auto [Head, Bytes] = splitIRForm(std::move(*Result));
      answer(*C, message::Code{T->Id, std::move(Head)},
             std::make_shared<const std::string>(std::move(Bytes)));
      continue;
    }
    message::Bytes M{T->Id, T->Size, C->TakesDescriptors};
    if (C->TakesDescriptors) {
      // The client maps it; neither side can change it any more.
      ::fcntl(T->Memory.get(), F_ADD_SEALS,
              F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE);
      C->Outstanding.erase(M.Id);
      C->Link.queue(printFrameLine(M.Kind, makeHead(M), 0, FrameForm::Object),
                    std::move(T->Memory));
      continue;
    }
    Expected<std::string> Bytes = readMemory(T->Memory.get(), T->Size);
    if (!Bytes)
      refuse(*C, T->Id, Reason::Limit, Bytes.takeError());
    else
      answer(*C, std::move(M),
             std::make_shared<const std::string>(std::move(*Bytes)));
  }
}

//===----------------------------------------------------------------------===//
// Spaces
//===----------------------------------------------------------------------===//

static Error addObjectives(ArrayRef<ServedObjective> Objectives, Study &S) {
  for (const ServedObjective &Obj : Objectives) {
    if (Obj.Direction != "minimize" && Obj.Direction != "maximize")
      return createStringError("expected minimize or maximize, got '" +
                               Obj.Direction + "'");
    S.Objectives.push_back({Obj.Metric, Obj.Direction == "minimize"
                                            ? Direction::Minimize
                                            : Direction::Maximize});
  }
  if (S.Objectives.empty())
    S.Objectives.push_back({"time", Direction::Minimize});
  return checkStudy(S);
}

Expected<Study> Server::makeStudy(const message::Space &M) const {
  Study S;
  S.Name = "study";
  if (!M.Study.empty() + !M.Preset.empty() + !M.Parameters.empty() > 1)
    return createStringError(
        "study, preset and parameters are mutually exclusive");
  if (!M.Parameters.empty()) {
    if (!M.Options.empty())
      return createStringError("options do not modify parameters");
    if (Error E = parseParameters(M.Parameters).moveInto(S.Parameters))
      return std::move(E);
    if (Error E = addObjectives(M.Objectives, S))
      return std::move(E);
    return S;
  }
  if (!M.Study.empty() || !M.Preset.empty()) {
    const auto &Get = M.Study.empty() ? O.GetPreset : O.ParseStudy;
    if (!Get)
      return createStringError("this server was built without MLIR: define the "
                               "space by options");
    if (Error E = Get(M.Study.empty() ? M.Preset : M.Study).moveInto(S))
      return std::move(E);
  } else if (M.Options.empty()) {
    return createStringError("a space needs a study, a preset, options or "
                             "parameters");
  }
  CommandLineSpace Options;
  for (const ServedOption &Option : M.Options) {
    if (none_of(getSpaceOptions(), [&](const SpaceOptionInfo &I) {
          return I.Name == Option.Name;
        }))
      return createStringError("llvm-mneme-tune has no option --" +
                               Option.Name + " for a space");
    Options.push_back({Option.Name, Option.Text});
  }
  if (Error E = addKnobs(Options))
    return std::move(E);
  if (Error E = applyToStudy(Options, S))
    return std::move(E);
  return S;
}

void Server::handle(Client &C, message::Space &M) {
  std::optional<unsigned> Instance = findInstance(C, M.Id, M.Instance);
  if (!Instance)
    return;
  Expected<Study> S = makeStudy(M);
  if (!S)
    return refuse(C, M.Id, Reason::Request, S.takeError());
  RecordedFacts Facts =
      makeRecordedFacts(Kernel, *Kernel.findInstance(Ids[*Instance]));
  Expected<std::unique_ptr<ServedSpace>> Space =
      ServedSpace::create(std::move(*S), std::move(Facts), M.Sampler, M.Seed);
  if (!Space)
    return refuse(C, M.Id, Reason::Request, Space.takeError());
  message::SpaceMade Made = (*Space)->describe();
  Made.Id = M.Id;
  Made.Space = C.NextSpace++;
  C.Spaces[Made.Space] = std::move(*Space);
  answer(C, std::move(Made));
}

static Expected<ServedSpace *> findSpace(Client &C, uint64_t Number) {
  auto It = C.Spaces.find(Number);
  if (It == C.Spaces.end())
    return createStringError(formatv("there is no space {0}", Number).str());
  return It->second.get();
}

void Server::handle(Client &C, message::Ask &M) {
  Expected<ServedSpace *> Space = findSpace(C, M.Space);
  if (!Space)
    return refuse(C, M.Id, Reason::Request, Space.takeError());
  Expected<std::vector<ServedProposal>> Points = (*Space)->ask(M.Count);
  if (!Points)
    return refuse(C, M.Id, Reason::Request, Points.takeError());
  answer(C, message::Points{M.Id, std::move(*Points)});
}

void Server::handle(Client &C, message::Tell &M) {
  Expected<ServedSpace *> Space = findSpace(C, M.Space);
  if (!Space)
    return refuse(C, M.Id, Reason::Request, Space.takeError());
  if (Error E = (*Space)->tell(M))
    return refuse(C, M.Id, Reason::Request, std::move(E));
  answer(C, message::Done{M.Id});
}

void Server::handle(Client &C, message::Configure &M) {
  Expected<ServedSpace *> Space = findSpace(C, M.Space);
  if (!Space)
    return refuse(C, M.Id, Reason::Request, Space.takeError());
  Expected<ServedProposal> P = (*Space)->configure(M.Point);
  if (!P)
    return refuse(C, M.Id, Reason::Request, P.takeError());
  answer(C,
         message::Configured{M.Id, std::move(P->Point), std::move(P->Config)});
}

void Server::handle(Client &C, message::Drop &M) {
  if (!C.Spaces.erase(M.Space))
    return refuse(C, M.Id, Reason::Request,
                  formatv("there is no space {0}", M.Space).str());
  answer(C, message::Done{M.Id});
}

//===----------------------------------------------------------------------===//
// The server itself
//===----------------------------------------------------------------------===//

void Server::handle(Client &C, message::Stats &M) {
  message::Statistics R;
  R.Id = M.Id;
  R.Outstanding = C.Outstanding.size() - 1;
  if (Farm) {
    R.Capacity = Farm->capacity();
    json::Value Work = toJSON(Farm->statistics());
    R.Work = std::move(*Work.getAsObject());
    R.Farm = Farm->describe();
  }
  answer(C, std::move(R));
}

void Server::handle(Client &C, message::Quit &M) { C.Quits = M.Id; }
