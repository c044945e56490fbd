//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Jit/JitServer.h"
#include "BuildSource.h"
#include "CodeStore.h"
#include "CompileRequest.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Process/ChildTask.h"
#include "llvm/Mneme/Process/WireServer.h"
#include "llvm/Mneme/Source/RunCompiler.h"
#include "llvm/Mneme/Support/Folders.h"
#include "llvm/Support/Path.h"
#include <csignal>
#include <fcntl.h>
#include <list>
#include <memory>
#include <sys/file.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::JitFile;
using ::mneme::JitOrigin;
using ::mneme::WireWriter;

static constexpr uint64_t CompileBytes = uint64_t(16) << 30;

/// Texts whose compilers wait. With kernels, each takes some 60 MB of memory.
static constexpr size_t MaxCommonTexts = 8;

/// Compilations that take longer may never end, so that others do not wait for
/// them, as long as there are not too many.
static constexpr uint64_t SlowNanoseconds = 5'000'000'000;
static constexpr size_t MaxSlow = 16;

/// Its socket, and two of a compilation.
static constexpr size_t DescriptorsOfPeer = 3;

static uint64_t maxJitRequest(uint32_t Type) {
  return Type == MNEME_JIT_COMPILE || Type == MNEME_JIT_BUILD
             ? ::mneme::MaxJitRequest
             : 64 << 10;
}

namespace {
class JitServer {
public:
  explicit JitServer(const JitServerOptions &O)
      : Options(O), Listener(DescriptorsOfPeer) {
    if (!Options.Jobs)
      Options.Jobs = std::max(1u, std::thread::hardware_concurrency());
  }
  Error listen() { return Listener.listen(Options.Socket); }
  /// Serves until idle.
  void run();

private:
  struct Peer final : WirePeer {
    explicit Peer(int FD)
        : WirePeer(FD, MNEME_JIT_WIRE_MAGIC, MNEME_JIT_HELLO) {}
    bool isBusy() const override { return Request || Source; }

    std::optional<JitJob> Request;
    std::optional<BuildJob> Source;
    std::string SourceKey; ///< Of the inputs.
    /// Keys of the facts and, as far as it is known, of the code.
    std::string FactsKey, CodeKey;
    bool IsCompiled = false; ///< A compilation is under way for it.
  };
  /// A compilation.
  struct Compilation {
    ChildTask Task;
    JitJob Job;
    std::string FactsKey, CodeKey, Attempt;
  };
  /// A source that is being compiled.
  struct Build {
    ChildTask Task;
    BuildJob Job;
    std::string Key;
    std::string Common; ///< The key of what it compiles for others, too.
    timespec Start = {};
  };
  /// Processes that have compiled what instances have in common, and compile
  /// the rest. They end with this object.
  struct CommonText {
    std::string Key; ///< BuildJob::commonKey()
    PrivateFolder Folder;
    std::vector<Pipe> FrontEnds; ///< Only Write, once they have been started.
    ::mneme::JitInputs Inputs;
    static constexpr size_t Never = SIZE_MAX;
    size_t Stopped = 0;   ///< How many of the first front ends wait.
    bool IsReady = false; ///< All wait, or the first build has ended.
    bool canStop() const {
      return !IsReady && Stopped < FrontEnds.size() &&
             FrontEnds[Stopped].Read.get() < 0;
    }
  };
  /// A compilation that failed, which others may want, too.
  struct Failure {
    WirePeer::Clock::time_point At;
    std::string Problem;
  };

  size_t countStrangers() const {
    return count_if(Peers, [](const auto &P) { return P->isStranger(); });
  }
  bool serve();
  Error handle(Peer &P, StringRef Body);
  Error handleHello(Peer &P, StringRef Body);
  Error prepare(Peer &P);
  bool progress(Peer &P);
  bool start(Peer &P, std::string Attempt);
  bool progressBuild(Peer &P);
  bool startBuild(Peer &P);
  std::list<CommonText>::iterator findText(StringRef Key) {
    return find_if(Texts, [&](const CommonText &T) { return T.Key == Key; });
  }
  Expected<CommonText *> findCommonText(const BuildJob &Job);
  Error addCommonText(std::string Key, size_t FrontEnds);
  bool watchTexts();
  bool canStart() const;
  static bool wants(const Peer &P, const Compilation &C);
  static bool wants(const Peer &P, const Build &B);
  bool isWaitedFor(const Compilation &C) const;
  bool isWaitedFor(const Build &B) const;
  void cancelAbandoned();
  bool makeRoom(const Peer &P) {
    if (P.isGone())
      return Running.size() + Builds.size() < Options.Jobs;
    cancelAbandoned();
    return canStart();
  }
  void startTools(const BuildJob &Job);
  /// The folder of what servers leave for the next ones.
  std::string notes() const {
    return sys::path::parent_path(Options.Socket).str();
  }
  void readKnown();
  void noteKnown();
  void finishBuild(Build &B);
  void answerBuild(Peer &P, const ::mneme::JitBuilt &Built);
  void forgetFailures();
  void finish(Compilation &C);
  void answer(Peer &P, StringRef Facts, StringRef Image, JitOrigin Origin,
              StringRef Note);
  std::optional<::mneme::JitFacts> findFacts(const Peer &P, std::string &Bytes);
  Expected<std::string> identify(::mneme::JitTarget Target,
                                 const std::string &CudaPath,
                                 const std::string &Folder, uint64_t Limit);

  JitServerOptions Options;
  WireListener Listener;
  std::vector<std::unique_ptr<Peer>> Peers;
  std::list<Compilation> Running;
  std::list<Build> Builds;
  std::list<CommonText> Texts;       ///< The one used last is the first.
  PrivateFolder Kept;                ///< For builds; created when needed.
  ::mneme::JitInputs::Digests Known; ///< WarmTools::Known
  size_t NumNoted = 0;               ///< Of these in the notes.
  SourceTools Tools;                 ///< Found with the toolchains.
  std::optional<WarmProgram> Clang, Linker;
  bool NeedsLinker = false;                ///< A source without kernels did.
  std::map<std::string, Failure> Failures; ///< By Compilation::Attempt.
  CodeStore Store;
  std::map<std::pair<::mneme::JitTarget, std::string>, ::mneme::JitToolchain>
      Toolchains;
};
} // namespace

//===----------------------------------------------------------------------===//
// Requests
//===----------------------------------------------------------------------===//

Expected<std::string> JitServer::identify(::mneme::JitTarget Target,
                                          const std::string &Path,
                                          const std::string &Folder,
                                          uint64_t Limit) {
  std::string CudaPath = usesCuda(Target) ? Path : "";
  ::mneme::JitToolchain &T = Toolchains[{Target, CudaPath}];
  bool IsNew = !T.isCurrent();
  if (IsNew && !T.Identity.empty()) {
    // They are of the old one.
    Texts.clear();
    Clang.reset();
    Linker.reset();
  }
  if (IsNew)
    if (Error E = findToolchain(Options.Program, CudaPath, Target, Tools,
                                notes(), Store)
                      .moveInto(T))
      return std::move(E);
  // Applications look there before they ask.
  std::string Key =
      ::mneme::makeToolchainKey(Options.Program, CudaPath, Target);
  std::string Known;
  if (!Folder.empty() &&
      (::mneme::readJitFile(Folder, Key, JitFile::Toolchain, Known) !=
           ::mneme::JitRead::Found ||
       Known != T.encode()))
    // Without it, they ask again.
    consumeError(Store.add(Folder, Limit, Key, JitFile::Toolchain, T.encode()));
  return T.Identity;
}

Error JitServer::handleHello(Peer &P, StringRef Body) {
  ::mneme::WireReader R(Body.data(), Body.size());
  uint32_t Version = R.u32();
  if (R.ok() && Version != MNEME_JIT_VERSION)
    return createStringError("the runtime and the compile server are of "
                             "different builds");
  auto Target = ::mneme::JitTarget(R.u32());
  std::string CudaPath = R.str(), Folder = R.str();
  if (!R.ok() || !R.atEnd())
    return createStringError("malformed request");
  Expected<std::string> Identity = identify(Target, CudaPath, Folder, 0);
  if (!Identity)
    return Identity.takeError();
  P.greet();
  WireWriter W;
  W.str("");
  W.str(*Identity);
  P.answer(W.body());
  return Error::success();
}

Error JitServer::handle(Peer &P, StringRef Body) {
  if (P.type() == MNEME_JIT_HELLO)
    return handleHello(P, Body);
  if (P.type() == MNEME_JIT_BUILD && P.hasGreeted()) {
    Expected<BuildJob> Job = BuildJob::decode(Body);
    if (!Job)
      return Job.takeError();
    Expected<std::string> Identity = identify(
        Job->Source.Target, Job->CudaPath, Job->CacheFolder, Job->CacheLimit);
    if (!Identity)
      return Identity.takeError();
    P.SourceKey = ::mneme::makeSourceKey(*Identity, Job->Source, Job->Folder);
    Job->Tools = std::move(*Identity);
    P.Source = std::move(*Job);
    return Error::success();
  }
  if (P.type() != MNEME_JIT_COMPILE || !P.hasGreeted())
    return createStringError("unexpected request");
  Expected<JitJob> Job = JitJob::decode(Body);
  if (!Job)
    return Job.takeError();
  P.Request = std::move(*Job);
  Error E = prepare(P);
  if (E)
    P.Request.reset();
  return E;
}

/// Finds the key of the facts.
Error JitServer::prepare(Peer &P) {
  const JitJob &Job = *P.Request;
  Expected<std::string> Identity = identify(Job.Request.Target, Job.CudaPath,
                                            Job.CacheFolder, Job.CacheLimit);
  if (!Identity)
    return Identity.takeError();
  P.FactsKey = makeJitKey(*Identity, Job.Request, /*WithLaunch=*/false);
  P.CodeKey.clear();
  P.IsCompiled = false;
  return Error::success();
}

std::optional<::mneme::JitFacts> JitServer::findFacts(const Peer &P,
                                                      std::string &Bytes) {
  ::mneme::JitFacts Facts;
  auto Decode = [&](const std::string &Contents) {
    Facts = {};
    ::mneme::WireReader R(Contents.data(), Contents.size());
    return readFields(R, Facts) && R.atEnd();
  };
  std::optional<CodeStore::Found> Known =
      Store.find(P.Request->CacheFolder, P.FactsKey, JitFile::Facts, Decode);
  if (!Known || !Decode(Known->Contents))
    return std::nullopt;
  Bytes = std::move(Known->Contents);
  return Facts;
}

void JitServer::answer(Peer &P, StringRef Facts, StringRef Image,
                       JitOrigin Origin, StringRef Note) {
  WireWriter W;
  W.str("");
  W.bytes(Facts.data(), Facts.size());
  W.bytes(Image.data(), Image.size());
  W.u32(uint32_t(Origin));
  W.bytes(Note.data(), Note.size());
  P.Request.reset();
  P.answer(W.body());
}

static bool isImage(const std::string &Contents) {
  ::mneme::WireReader R(Contents.data(), Contents.size());
  ::mneme::JitImage Image;
  return readImage(R, Image);
}

/// Does the next step for a request. \returns whether there was one.
bool JitServer::progress(Peer &P) {
  if (!P.Request || P.IsCompiled)
    return false;
  std::string FactsBytes;
  std::optional<::mneme::JitFacts> Facts = findFacts(P, FactsBytes);
  if (Facts) {
    JitJob &Job = *P.Request;
    applyFacts(Job.Request, *Facts);
    Expected<std::string> Identity =
        identify(Job.Request.Target, Job.CudaPath, Job.CacheFolder, 0);
    if (!Identity) {
      P.Request.reset();
      P.answerError(Identity.takeError());
      return true;
    }
    P.CodeKey = makeJitKey(*Identity, Job.Request, /*WithLaunch=*/true);
    if (std::optional<CodeStore::Found> Known =
            Store.find(Job.CacheFolder, P.CodeKey, JitFile::Code, isImage)) {
      // Applications ask again as long as the files are different.
      auto Update = [&](const std::string &Key, JitFile Kind,
                        const std::string &Contents) {
        return Store.update(Job.CacheFolder, Job.CacheLimit, Key, Kind,
                            Contents);
      };
      Error E = Update(P.FactsKey, JitFile::Facts, FactsBytes);
      if (!E)
        E = Update(P.CodeKey, JitFile::Code, Known->Contents);
      answer(P, FactsBytes, Known->Contents, Known->Origin,
             E ? toString(std::move(E)) : "");
      return true;
    }
  }
  // One compilation for each key. As long as the facts are unknown, requests
  // for the same code wait: what differs between them may make no difference.
  for (const Compilation &C : Running)
    if (C.FactsKey == P.FactsKey && (!Facts || C.CodeKey == P.CodeKey)) {
      P.IsCompiled = Facts.has_value();
      return P.IsCompiled;
    }
  WireWriter Launch;
  ::mneme::FieldWriter Fields(Launch);
  visitSecondLevel(Fields, P.Request->Request);
  std::string Attempt = P.FactsKey + Launch.body();
  if (auto Failed = Failures.find(Attempt); Failed != Failures.end()) {
    P.Request.reset();
    P.answerError(createStringError(Failed->second.Problem));
    return true;
  }
  return makeRoom(P) && start(P, std::move(Attempt));
}

bool JitServer::canStart() const {
  auto IsSlow = [](const auto &C) {
    return C.Task.elapsedNanoseconds() > SlowNanoseconds;
  };
  size_t Slow = count_if(Running, IsSlow) + count_if(Builds, IsSlow);
  return Running.size() + Builds.size() <
         Options.Jobs + std::min(Slow, MaxSlow);
}

bool JitServer::wants(const Peer &P, const Compilation &C) {
  return P.Request && P.FactsKey == C.FactsKey;
}

bool JitServer::wants(const Peer &P, const Build &B) {
  return P.Source && P.SourceKey == B.Key;
}

bool JitServer::isWaitedFor(const Compilation &C) const {
  return any_of(Peers,
                [&](const auto &P) { return wants(*P, C) && !P->isGone(); });
}

bool JitServer::isWaitedFor(const Build &B) const {
  return any_of(Peers, [&](const auto &P) {
    return P->Source && !P->isGone() &&
           (wants(*P, B) ||
            (!B.Common.empty() && P->Source->commonKey() == B.Common));
  });
}

/// Unless a processor is free, cancels what only processes wanted that have
/// ended. Otherwise, it goes on: a program may have been shorter than the
/// compilation of its code, and the next one finds it in the cache.
void JitServer::cancelAbandoned() {
  auto IsFull = [&] { return Running.size() + Builds.size() >= Options.Jobs; };
  size_t Before = Running.size() + Builds.size();
  auto CancelIn = [&](auto &List, auto Forget) {
    for (auto It = List.begin(); It != List.end() && IsFull();) {
      if (isWaitedFor(*It)) {
        ++It;
        continue;
      }
      for (auto &P : Peers)
        if (wants(*P, *It)) {
          P->Request.reset();
          P->Source.reset();
          P->end();
        }
      Forget(*It);
      It = List.erase(It);
    }
  };
  CancelIn(Builds, [&](const Build &B) {
    if (auto Text = findText(B.Common); Text != Texts.end() && !Text->IsReady)
      Texts.erase(Text);
  });
  CancelIn(Running, [](const Compilation &) {});
  if (Running.size() + Builds.size() < Before)
    PrivateFolder::removeAbandonedTemporary();
}

/// A failure may have had a cause that is gone.
void JitServer::forgetFailures() {
  constexpr std::chrono::seconds Lifetime(30);
  for (auto It = Failures.begin(); It != Failures.end();)
    It = WirePeer::Clock::now() - It->second.At > Lifetime ? Failures.erase(It)
                                                           : std::next(It);
}

bool JitServer::start(Peer &P, std::string Attempt) {
  JitJob Job = *P.Request;
  Expected<ChildTask> Task = ChildTask::start(
      "the compiler",
      [&]() -> Expected<std::string> {
        auto Start = std::chrono::steady_clock::now();
        Expected<JitResult> Result = compileJob(Job);
        if (!Result)
          return Result.takeError();
        Result->Image.CompileNanoseconds =
            std::chrono::nanoseconds(std::chrono::steady_clock::now() - Start)
                .count();
        return Result->encode();
      },
      {Options.CompileSeconds, CompileBytes});
  if (!Task) {
    P.Request.reset();
    P.answerError(Task.takeError());
    return true;
  }
  // Kept for the others that may wait, not the code.
  Job.Payloads.clear();
  P.IsCompiled = true;
  Running.push_back({std::move(*Task), std::move(Job), P.FactsKey, P.CodeKey,
                     std::move(Attempt)});
  return true;
}

/// Answers all requests that waited for a compilation.
void JitServer::finish(Compilation &C) {
  Expected<std::string> Bytes = C.Task.finish();
  std::optional<JitResult> Result;
  std::string Problem, Note;
  if (!Bytes)
    Problem = toString(Bytes.takeError());
  else if (!(Result = JitResult::decode(*Bytes)))
    Problem = "the compiler's result is malformed";
  std::string Facts, Image, CodeKey;
  if (!Result)
    Failures[C.Attempt] = {WirePeer::Clock::now(), Problem};
  if (Result) {
    WireWriter F, I;
    writeFields(F, Result->Facts);
    writeFields(I, Result->Image);
    Facts = F.body();
    Image = I.body();
    ::mneme::JitRequest Q = C.Job.Request;
    applyFacts(Q, Result->Facts);
    Expected<std::string> Identity =
        identify(Q.Target, C.Job.CudaPath, C.Job.CacheFolder, 0);
    // Should the toolchain have changed meanwhile, nothing is kept.
    if (Identity && makeJitKey(*Identity, Q, false) == C.FactsKey) {
      CodeKey = makeJitKey(*Identity, Q, true);
      Error E = Store.add(C.Job.CacheFolder, C.Job.CacheLimit, C.FactsKey,
                          JitFile::Facts, Facts);
      if (!E)
        E = Store.add(C.Job.CacheFolder, C.Job.CacheLimit, CodeKey,
                      JitFile::Code, Image);
      if (E)
        Note = toString(std::move(E));
    } else if (!Identity) {
      consumeError(Identity.takeError());
    }
  }
  JitOrigin Origin = JitOrigin::Compiled;
  for (const auto &P : Peers) {
    if (!P->Request || !P->IsCompiled || P->FactsKey != C.FactsKey ||
        P->CodeKey != C.CodeKey)
      continue;
    if (Result)
      answer(*P, Facts, Image, Origin, Note);
    else {
      P->Request.reset();
      P->answerError(createStringError(Problem));
    }
    // The others did not cause it.
    Origin = JitOrigin::Memory;
  }
}

//===----------------------------------------------------------------------===//
// Sources
//===----------------------------------------------------------------------===//

void JitServer::answerBuild(Peer &P, const ::mneme::JitBuilt &Built) {
  WireWriter W, B;
  writeFields(B, Built);
  W.str("");
  P.Source.reset();
  P.answer(W.body() + B.body());
}

/// Does the next step for a source. \returns whether there was one.
bool JitServer::progressBuild(Peer &P) {
  if (any_of(Builds, [&](const Build &B) { return B.Key == P.SourceKey; }))
    return false;
  ::mneme::JitInputs Inputs;
  auto Decode = [&](const std::string &Contents) {
    Inputs = {};
    return ::mneme::JitInputs::decode(Contents, Inputs);
  };
  std::optional<CodeStore::Found> Known =
      Store.find(P.Source->CacheFolder, P.SourceKey, JitFile::Facts, Decode);
  if (Known && Decode(Known->Contents) && Inputs.isCurrent(P.Source->Folder))
    if (std::optional<CodeStore::Found> Library =
            Store.find(P.Source->CacheFolder, P.SourceKey + Known->Contents,
                       JitFile::Code, ::mneme::isSharedLibrary)) {
      ::mneme::JitBuilt Built;
      Built.Library = std::move(Library->Contents);
      Built.Origin = Library->Origin;
      answerBuild(P, Built);
      return true;
    }
  return makeRoom(P) && startBuild(P);
}

/// Finds texts whose front ends wait by now. \returns whether there are any.
bool JitServer::watchTexts() {
  bool Busy = false;
  for (CommonText &T : Texts) {
    std::optional<bool> HasStopped;
    while (T.canStop() &&
           (HasStopped = hasWarmStopped(T.FrontEnds[T.Stopped].Write.get())))
      T.Stopped = *HasStopped ? T.Stopped + 1 : CommonText::Never;
    auto First =
        find_if(Builds, [&](const Build &B) { return B.Common == T.Key; });
    if (T.IsReady || T.Stopped != T.FrontEnds.size() || First == Builds.end())
      continue;
    WarmTools Warm;
    Warm.Folder = T.Folder.path();
    Warm.Known = &Known;
    T.Inputs =
        findCommonInputs(First->Job, Tools, Kept.path(), Warm, First->Start);
    T.IsReady = Busy = true;
  }
  return Busy;
}

static constexpr StringLiteral KeyOfKnown("digests of files");

void JitServer::readKnown() {
  auto Decode = [&](const std::string &Contents) {
    Known.clear();
    ::mneme::WireReader R(Contents.data(), Contents.size());
    while (R.ok() && !R.atEnd()) {
      std::string Stamp = R.str();
      Known[Stamp] = R.str();
    }
    return R.ok();
  };
  std::optional<CodeStore::Found> Note =
      Store.find(notes(), KeyOfKnown.str(), JitFile::Toolchain, Decode);
  if (!Note || !Decode(Note->Contents))
    Known.clear();
  NumNoted = Known.size();
}

/// To read a compiler takes longer than to compile a small function.
void JitServer::noteKnown() {
  constexpr size_t MaxKnown = 16384;
  if (Known.size() > MaxKnown)
    Known.clear();
  if (Known.size() == NumNoted)
    return;
  NumNoted = Known.size();
  WireWriter W;
  for (const auto &[Stamp, Digest] : Known) {
    W.str(Stamp);
    W.str(Digest);
  }
  // Without it, the next server reads the files.
  consumeError(Store.addNote(notes(), KeyOfKnown.str(), W.body()));
}

/// Starts the programs that builds run, unless they wait. Builds do without
/// those that fail.
void JitServer::startTools(const BuildJob &Job) {
  auto Start = [&](std::optional<WarmProgram> &Program,
                   const std::string &Path) {
    if (Path.empty() || (Program && !Program->hasEnded()))
      return;
    Program.reset();
    ChildLimits Limits;
    Limits.Bytes = CompileBytes;
    Expected<WarmProgram> New = WarmProgram::start(Path, Tools.Warm, Limits);
    if (New)
      Program = std::move(*New);
    else
      consumeError(New.takeError());
  };
  Start(Clang, Tools.Clang);
  NeedsLinker |= Job.countFrontEnds() > 1;
  if (NeedsLinker)
    Start(Linker, Tools.Linker);
}

Error JitServer::addCommonText(std::string Key, size_t FrontEnds) {
  CommonText New;
  New.Key = std::move(Key);
  if (Error E = PrivateFolder::createTemporary().moveInto(New.Folder))
    return E;
  for (size_t I = 0; I != FrontEnds; ++I) {
    Expected<Pipe> Ends = createWarmSocket();
    if (!Ends)
      return Ends.takeError();
    New.FrontEnds.push_back(std::move(*Ends));
  }
  Texts.push_front(std::move(New));
  // The builds of others are in their folders.
  for (auto It = Texts.end();
       Texts.size() > MaxCommonTexts && It-- != Texts.begin();)
    if (It->IsReady)
      It = Texts.erase(It);
  return Error::success();
}

/// Returns what the source has in common with others.
Expected<JitServer::CommonText *>
JitServer::findCommonText(const BuildJob &Job) {
  std::string Key = Job.commonKey();
  auto It = findText(Key);
  bool IsKnown = It != Texts.end();
  if (IsKnown && It->IsReady &&
      (any_of(It->FrontEnds,
              [](const Pipe &P) { return hasWarmEnded(P.Write.get()); }) ||
       !It->Inputs.isCurrent(Job.Folder))) {
    Texts.erase(It);
    IsKnown = false;
  }
  if (IsKnown)
    Texts.splice(Texts.begin(), Texts, It);
  else if (Error E = addCommonText(std::move(Key), Job.countFrontEnds()))
    return std::move(E);
  return &Texts.front();
}

bool JitServer::startBuild(Peer &P) {
  const BuildJob &Job = *P.Source;
  auto Refuse = [&](Error E) {
    P.Source.reset();
    P.answerError(std::move(E));
    return true;
  };
  if (Kept.path().empty()) {
    if (Error E = PrivateFolder::createTemporary().moveInto(Kept))
      return Refuse(std::move(E));
    readKnown();
  }
  startTools(Job);
  WarmTools Warm;
  Warm.Known = &Known;
  Warm.Notes = notes();
  SmallVector<int, 8> Sockets;
  auto Use = [&](int FD) {
    Sockets.push_back(FD);
    return FD;
  };
  if (Clang)
    Warm.Clang = Use(Clang->socket());
  if (Linker)
    Warm.Linker = Use(Linker->socket());
  CommonText *Common = nullptr;
  bool IsFirst = false;
  if (Clang && Job.isInstance()) {
    if (Error E = findCommonText(Job).moveInto(Common))
      return Refuse(std::move(E));
    IsFirst = Common->FrontEnds.front().Read.get() >= 0;
    // The others wait until the common text is compiled.
    if (!IsFirst && !Common->IsReady)
      return false;
    Warm.Folder = Common->Folder.path();
    Warm.Inputs = Common->Inputs;
    for (const Pipe &Ends : Common->FrontEnds) {
      Warm.FrontEnds.push_back(Use(Ends.Write.get()));
      if (IsFirst)
        Warm.Copies.push_back(Use(Ends.Read.get()));
    }
  }
  timespec AtStart;
  ::clock_gettime(CLOCK_REALTIME_COARSE, &AtStart);
  Expected<ChildTask> Task = ChildTask::startWith(
      "the compiler",
      [&]() -> Expected<std::string> {
        auto Start = std::chrono::steady_clock::now();
        Expected<BuildResult> Result =
            buildSource(Job, Tools, Kept.path(), Warm);
        if (!Result)
          return Result.takeError();
        Result->Built.Nanoseconds =
            std::chrono::nanoseconds(std::chrono::steady_clock::now() - Start)
                .count();
        return Result->encode();
      },
      {Options.CompileSeconds, CompileBytes}, Sockets);
  if (IsFirst)
    for (Pipe &Ends : Common->FrontEnds)
      Ends.Read.reset();
  if (!Task) {
    if (IsFirst)
      Texts.pop_front();
    return Refuse(Task.takeError());
  }
  Builds.push_back({std::move(*Task), Job, P.SourceKey,
                    IsFirst ? Common->Key : "", AtStart});
  return true;
}

/// Answers all requests that waited for a source.
void JitServer::finishBuild(Build &B) {
  Expected<std::string> Bytes = B.Task.finish();
  std::optional<BuildResult> Result;
  std::string Problem;
  if (!Bytes) {
    Problem = toString(Bytes.takeError());
    // It may have been killed.
    PrivateFolder::removeAbandonedTemporary();
  } else if (!(Result = BuildResult::decode(*Bytes))) {
    Problem = "the compiler's result is malformed";
  }
  bool Ok = Result && !Result->Built.Library.empty();
  NeedsLinker |= Result && Result->UsesLinker;
  if (Result)
    for (const ::mneme::JitInputs::File &F : Result->Inputs.Files)
      if (!F.Stamp.empty() && F.isRead())
        Known[F.Stamp] = F.Digest;
  noteKnown();
  if (auto It = findText(B.Common); It != Texts.end() && !Ok) {
    // The next build shows its errors, too.
    Texts.erase(It);
  } else if (It != Texts.end() && !It->IsReady) {
    It->IsReady = true;
    It->Inputs = Result->Inputs;
  }
  if (Ok) {
    std::string Inputs = Result->Inputs.encode();
    Error E = Store.add(B.Job.CacheFolder, B.Job.CacheLimit, B.Key + Inputs,
                        JitFile::Code, Result->Built.Library);
    if (!E)
      E = Store.add(B.Job.CacheFolder, B.Job.CacheLimit, B.Key, JitFile::Facts,
                    Inputs);
    if (E)
      Result->Built.Note = toString(std::move(E));
  }
  for (const auto &P : Peers) {
    if (!P->Source || P->SourceKey != B.Key)
      continue;
    if (Result) {
      answerBuild(*P, Result->Built);
      // The others did not cause it.
      Result->Built.Origin = JitOrigin::Memory;
    } else {
      P->Source.reset();
      P->answerError(createStringError(Problem));
    }
  }
}

//===----------------------------------------------------------------------===//
// The loop
//===----------------------------------------------------------------------===//

bool JitServer::serve() {
  bool Busy = Listener.accept(
      [&] { return Listener.canAccept(Peers.size(), countStrangers()); },
      [&](int FD) { Peers.push_back(std::make_unique<Peer>(FD)); });
  for (auto &P : Peers) {
    Busy |= P->receive(maxJitRequest);
    if (P->hasRequest()) {
      std::string Body = P->takeRequest();
      if (Error E = handle(*P, Body))
        P->refuse(std::move(E));
      Busy = true;
    }
  }
  Busy |= watchTexts();
  for (auto It = Running.begin(); It != Running.end();) {
    if (!It->Task.poll()) {
      ++It;
      continue;
    }
    finish(*It);
    It = Running.erase(It);
    Busy = true;
  }
  for (auto It = Builds.begin(); It != Builds.end();) {
    if (!It->Task.poll()) {
      ++It;
      continue;
    }
    Build Done = std::move(*It);
    It = Builds.erase(It);
    finishBuild(Done);
    Busy = true;
  }
  forgetFailures();
  for (auto &P : Peers) {
    Busy |= P->Source ? progressBuild(*P) : progress(*P);
    Busy |= P->send();
  }
  auto Max = Listener.patience(Peers.size(), countStrangers());
  for (auto &P : Peers)
    if (P->isStranger() && WirePeer::Clock::now() - P->since() > Max)
      P->end();
  erase_if(Peers, [](const auto &P) { return P->isOver(); });
  return Busy;
}

static volatile std::sig_atomic_t IsTerminated = 0;

void JitServer::run() {
  auto LastWork = WirePeer::Clock::now();
  while (!IsTerminated) {
    if (serve()) {
      LastWork = WirePeer::Clock::now();
      continue;
    }
    std::chrono::duration<double> Idle = WirePeer::Clock::now() - LastWork;
    bool HasWork = !Running.empty() || !Builds.empty() ||
                   any_of(Peers, [](const auto &P) { return P->isBusy(); });
    if (!HasWork && Idle.count() >= Options.IdleSeconds)
      return;
    std::vector<pollfd> Waits;
    Listener.addTo(Waits, Peers.size(), countStrangers());
    for (const auto &P : Peers)
      P->addTo(Waits);
    for (const Compilation &C : Running)
      Waits.push_back({C.Task.fd(), POLLIN, 0});
    for (const Build &B : Builds)
      Waits.push_back({B.Task.fd(), POLLIN, 0});
    for (const CommonText &T : Texts)
      if (T.canStop())
        Waits.push_back({T.FrontEnds[T.Stopped].Write.get(), POLLIN, 0});
    // Strangers have to greet within a time.
    double Left = HasWork ? 1 : Options.IdleSeconds - Idle.count();
    if (countStrangers() || Listener.isShort())
      Left = std::min(Left, 0.2);
    ::poll(Waits.data(), Waits.size(), int(std::max(Left, 0.001) * 1000) + 1);
  }
}

Error llvm::mneme::runJitServer(const JitServerOptions &Options) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  // The code of a request depends on nothing of another process. Requests have
  // the first three and the last three of their own.
  constexpr StringLiteral Names(
      "CPATH CPLUS_INCLUDE_PATH LIBRARY_PATH C_INCLUDE_PATH OBJC_INCLUDE_PATH "
      "OBJCPLUS_INCLUDE_PATH CCC_OVERRIDE_OPTIONS CC_LOG_DIAGNOSTICS "
      "CC_PRINT_HEADERS CC_PRINT_OPTIONS CC_PRINT_PROC_STAT "
      "CC_PRINT_INTERNAL_STAT CLANG_CONFIG_PATH CLANG_NO_DEFAULT_CONFIG "
      "RC_DEBUG_PREFIX_MAP COMPILER_PATH GCC_EXEC_PREFIX SOURCE_DATE_EPOCH "
      "DEPENDENCIES_OUTPUT SUNPRO_DEPENDENCIES LD_RUN_PATH "
      "NVCC_PREPEND_FLAGS NVCC_APPEND_FLAGS NVCC_CCBIN ROCM_PATH HIP_PATH "
      "HIP_DEVICE_LIB_PATH GNUTARGET LDEMULATION");
  for (StringRef Name : split(Names, ' '))
    ::unsetenv(Name.str().c_str());
  // A cache that others can write to is not trusted, whatever the program's
  // mask.
  ::umask(::umask(0) | S_IWGRP | S_IWOTH);
  auto TellReady = [&] {
    if (Options.ReadyFD < 0)
      return;
    char Byte = 1;
    ssize_t N = ::write(Options.ReadyFD, &Byte, 1);
    (void)N; // The client may have gone.
    ::close(Options.ReadyFD);
  };
  std::string LockPath = Options.Socket + ".lock";
  LockedFile Lock =
      LockedFile::open(LockPath, O_RDWR | O_CREAT, LOCK_EX | LOCK_NB);
  if (!Lock && errno != EWOULDBLOCK)
    return createFileError(LockPath, errnoAsErrorCode());
  if (!Lock) {
    TellReady();
    return Error::success();
  }
  std::signal(SIGTERM, [](int) { IsTerminated = 1; });
  // That of a server that was killed.
  ::unlink(Options.Socket.c_str());
  JitServer Server(Options);
  if (Error E = Server.listen())
    return E;
  TellReady();
  Server.run();
  ::unlink(Options.Socket.c_str());
  return Error::success();
}
