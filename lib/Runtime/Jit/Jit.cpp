//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Jit.h"
#include "JitReport.h"
#include "Message.h"
#include "NamePattern.h"
#include "Shortage.h"
#include "Threads.h"
#include "llvm/Mneme/Runtime/JitCache.h"
#include "llvm/Mneme/Runtime/JitEnvironment.h"

#include <cstdlib>
#include <fcntl.h>
#include <new>
#include <optional>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <thread>
#include <unistd.h>
#include <utility>

using namespace mneme;

Jit &Jit::get() {
  // Never destroyed, because applications may use it while they exit.
  alignas(Jit) static char Storage[sizeof(Jit)];
  static Jit &J = *new (Storage) Jit;
  return J;
}

/// Called before main, or under the loader's lock: no other thread uses the JIT
/// before On is set.
void Jit::start() {
  if (std::exchange(Started, true))
    return;
  if (!attempt([&] { Settings.read(); }))
    return tell("mneme: warning: no JIT: out of memory\n");
  IsAllowed = Settings.IsOn;
  if (!IsAllowed)
    return;
  atexit([] { get().finish(); });
  pthread_atfork(nullptr, nullptr, [] {
    get().IsForked = true;
    get().On = false;
    get().Finished = true;
  });
  On = true;
}

void Jit::enable(bool Value) { On = Value && IsAllowed && !IsForked; }

void Jit::complete(JitRequest &Q) {
  std::lock_guard<std::mutex> Guard(Lock);
  Q.Config = Settings.Config;
  Q.Passes = Settings.Passes;
  Q.Specialize = Settings.Specialize;
  Q.Tuned = Settings.TunedDigest;
  for (const Plugin &P : Plugins)
    Q.Plugins.push_back({P.Digest, P.Pipeline});
  if (Q.Target == JitTarget::Host)
    Q.Arch = cpuIdentity();
}

JitSite &Jit::add(std::unique_ptr<JitSite> S) {
  std::lock_guard<std::mutex> Guard(Lock);
  Sites.push_back(std::move(S));
  return *Sites.back();
}

bool Jit::selects(const std::string &Name) {
  if (Settings.Kernels.empty())
    return false;
  // Never destroyed, because applications may use it while they exit.
  static const Pattern *Selected = [this] {
    auto *P = new Pattern;
    P->compile(Settings.Kernels.c_str(), MNEME_ENV_JIT_KERNELS);
    return P;
  }();
  return matchesSymbol(*Selected, Name);
}

/// The contents of a plugin are part of all keys.
static bool digestFile(const char *Path, std::string &Digest) {
  OwnedDescriptor Fd(open(Path, O_RDONLY | O_CLOEXEC));
  struct stat Status;
  if (Fd < 0 || fstat(Fd, &Status) || Status.st_size <= 0)
    return false;
  void *Map = mmap(nullptr, Status.st_size, PROT_READ, MAP_PRIVATE, Fd, 0);
  if (Map == MAP_FAILED)
    return false;
  Digest = jitDigest(Map, Status.st_size);
  munmap(Map, Status.st_size);
  return true;
}

void Jit::addPlugin(const char *Path, const char *Pipeline) {
  if (!isOn())
    return;
  attempt([&] {
    Plugin P;
    char *Real = realpath(Path, nullptr);
    if (!Real || !digestFile(Real, P.Digest)) {
      free(Real);
      return tell("mneme: warning: cannot read the pass plugin '%s'\n", Path);
    }
    P.Path = Real;
    free(Real);
    P.Pipeline = Pipeline ? Pipeline : "";
    std::lock_guard<std::mutex> Guard(Lock);
    Plugins.push_back(std::move(P));
  });
}

//===----------------------------------------------------------------------===//
// Getting code
//===----------------------------------------------------------------------===//

void Jit::obtain(JitSite &S, JitVariant &V, JitRequest Q, bool IsAhead) {
  if (Settings.Mode != JitMode::Async || IsAhead) {
    Uncancelled Here;
    return work(S, V, Q);
  }
  bool IsQueued = false;
  attempt([&] {
    IsQueued =
        runLater([this, &S, &V, Q = std::move(Q)]() mutable { work(S, V, Q); });
  });
  if (!IsQueued)
    S.finish(V, JitReason::Memory, "");
}

bool Jit::runLater(std::function<void()> Work) {
  bool Ok = attempt([&] {
    std::lock_guard<std::mutex> Guard(Lock);
    Queue.push_back(std::move(Work));
    if (!HasWorker && !(HasWorker = startWorker())) {
      Queue.pop_back();
      throw std::bad_alloc();
    }
  });
  if (Ok)
    HasWork.notify_one();
  return Ok;
}

/// With Lock held. The thread sees none of the application's signals.
bool Jit::startWorker() {
  BlockedSignals Here;
  return attempt([&] { std::thread([this] { runWorker(); }).detach(); });
}

void Jit::runWorker() {
  while (true) {
    std::function<void()> Work;
    {
      std::unique_lock<std::mutex> Guard(Lock);
      HasWork.wait(Guard, [&] { return !Queue.empty(); });
      Work = std::move(Queue.front());
      Queue.pop_front();
    }
    Work();
  }
}

void Jit::work(JitSite &S, JitVariant &V, JitRequest &Q) {
  if (!attempt([&] { doWork(S, V, Q); }))
    S.finish(V, JitReason::Memory, "");
}

bool Jit::findInCache(const std::string &Key, JitFile Kind,
                      std::string &Contents,
                      const std::function<bool()> &IsValid) {
  auto Read = [&](const std::string &Folder) {
    return readJitFile(Folder, Key, Kind, Contents) == JitRead::Found &&
           IsValid();
  };
  if (!Settings.Cache.empty() && Read(Settings.Cache))
    return true;
  for (const std::string &Folder : Settings.SharedCaches)
    if (Read(Folder))
      return true;
  return false;
}

/// The server computes the identity, and leaves it in the cache.
LinkStatus Jit::identify(JitTarget Target, std::string &Identity) {
  {
    std::lock_guard<std::mutex> Guard(Lock);
    if (auto Known = Identities.find(Target); Known != Identities.end()) {
      Identity = Known->second;
      return {};
    }
  }
  std::string CudaPath = usesCuda(Target) ? Settings.CudaPath : "";
  std::string Bytes;
  JitToolchain T;
  if (!Settings.Cache.empty() &&
      readJitFile(Settings.Cache,
                  makeToolchainKey(Settings.Server, CudaPath, Target),
                  JitFile::Toolchain, Bytes) == JitRead::Found &&
      JitToolchain::decode(Bytes, T) && T.isCurrent()) {
    Identity = T.Identity;
  } else {
    LinkStatus S = Link.identify(Target, Identity);
    if (S.K != LinkStatus::Ok)
      return S;
  }
  std::lock_guard<std::mutex> Guard(Lock);
  Identities[Target] = Identity;
  return {};
}

static bool decodeFacts(const std::string &Bytes, JitFacts &Facts) {
  Facts = {};
  WireReader R(Bytes.data(), Bytes.size());
  return readFields(R, Facts) && R.atEnd();
}

static bool decodeImage(const std::string &Bytes, JitImage &Image) {
  Image = {};
  WireReader R(Bytes.data(), Bytes.size());
  return readImage(R, Image);
}

void Jit::load(JitSite &S, JitVariant &V, JitImage &Image) {
  std::string Error;
  void *Code = S.Loader->load(Image, Error);
  {
    std::lock_guard<std::mutex> Guard(S.Lock);
    V.CompileNanoseconds = Image.CompileNanoseconds;
    V.Code = Code;
  }
  S.finish(V, Code ? JitReason::None : JitReason::Load, Error.c_str());
}

void Jit::doWork(JitSite &S, JitVariant &V, JitRequest &Q) {
  std::optional<JitFacts> Cached;
  auto Fail = [&](JitReason Why, const std::string &Text) {
    if (Why != JitReason::NotCached)
      noteProblem("'" + Q.Symbol + "': " + describeReason(Why) +
                  (Text.empty() ? "" : ": ") + Text);
    if (Cached)
      S.setFacts(*Cached, V);
    S.finish(V, Why, Text.c_str());
  };
  std::string Identity, Bytes;
  LinkStatus Known = identify(Q.Target, Identity);
  if (Known.K == LinkStatus::NoServer)
    return Fail(Settings.Mode == JitMode::Cached ? JitReason::NotCached
                                                 : JitReason::NoServer,
                Known.Text);
  if (Known.K == LinkStatus::Refused)
    return Fail(JitReason::NoServer, Known.Text);

  JitFacts F;
  JitImage Image;
  if (findInCache(makeJitKey(Identity, Q, /*WithLaunch=*/false), JitFile::Facts,
                  Bytes, [&] { return decodeFacts(Bytes, F); })) {
    JitRequest Needed = Q;
    applyFacts(Needed, F);
    if (findInCache(makeJitKey(Identity, Needed, /*WithLaunch=*/true),
                    JitFile::Code, Bytes,
                    [&] { return decodeImage(Bytes, Image); })) {
      S.setFacts(F, V);
      {
        std::lock_guard<std::mutex> Guard(S.Lock);
        V.IsFromDisk = true;
      }
      return load(S, V, Image);
    }
    // The plan is that of the code: the server may have other facts.
    Cached = std::move(F);
  }
  if (Settings.Mode == JitMode::Cached)
    return Fail(JitReason::NotCached, "");

  WireWriter Body;
  writeFields(Body, Q);
  Body.str(Settings.Cache);
  Body.u64(Settings.CacheSize);
  std::vector<const MnemePayloadHeader *> Payloads = S.Loader->payloads();
  if (Payloads.empty())
    return Fail(JitReason::NoCode, "");
  Body.u32(uint32_t(Payloads.size()));
  for (const MnemePayloadHeader *P : Payloads)
    Body.bytes(P, P->TotalSize);
  Body.str(Settings.CudaPath);
  Body.str(Settings.TunedFile);
  {
    std::lock_guard<std::mutex> Guard(Lock);
    Body.u32(uint32_t(Q.Plugins.size()));
    for (size_t I = 0; I != Q.Plugins.size(); ++I)
      Body.str(Plugins[I].Path);
  }
  JitAnswer Answer;
  LinkStatus Status = Link.compile(Q.Target, Body.body(), Answer);
  if (Status.K != LinkStatus::Ok)
    return Fail(Status.K == LinkStatus::Refused ? JitReason::Compile
                                                : JitReason::NoServer,
                Status.Text);
  if (!decodeFacts(Answer.Facts, F) || !decodeImage(Answer.Image, Image))
    return Fail(JitReason::NoServer, "its answer is malformed");
  S.setFacts(F, V);
  {
    std::lock_guard<std::mutex> Guard(S.Lock);
    V.IsFromDisk = Answer.Origin == JitOrigin::Disk;
    V.IsShared = Answer.Origin == JitOrigin::Memory;
  }
  if (!Answer.Note.empty()) {
    std::lock_guard<std::mutex> Guard(Lock);
    Note = Answer.Note;
  }
  load(S, V, Image);
}

/// Tells of the first problem only: the report has all.
void Jit::noteProblem(const std::string &Text) {
  {
    std::lock_guard<std::mutex> Guard(Lock);
    if (std::exchange(HasTold, true))
      return;
  }
  tell("mneme: warning: %s; it runs as compiled\n", Text.c_str());
}

void Jit::finish() {
  if (std::exchange(Finished, true) || Settings.Report.empty())
    return;
  Uncancelled Here;
  if (!attempt([&] { JitReport(*this).write(); }))
    tell("mneme: warning: no report of the JIT: out of memory\n");
}
