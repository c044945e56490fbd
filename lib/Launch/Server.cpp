//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireReader;
using ::mneme::WireWriter;

/// More than any message needs: a foreign client cannot make us wait for, or
/// store, more.
static constexpr uint64_t MaxBody = uint64_t(1) << 30;

static constexpr StringLiteral CompilerName = "the compiler";

/// The application waits for its device code: what takes longer to read, or to
/// compile, or more memory, is damaged rather than large.
static constexpr double ReadSeconds = 600, CompileSeconds = 3600;
static constexpr uint64_t CompileBytes = uint64_t(16) << 30;

/// A launch in the staging folder, which may still be replaced.
struct Server::TentativeLaunch {
  RecordedLaunch Launch;
  std::string Prologue, Epilogue;
};

struct Server::Connection {
  explicit Connection(int FD) : FD(FD) {}
  ~Connection() { ::close(FD); }

  int FD;
  std::string In, Out;
  bool HasEnded = false;  ///< No more requests will come.
  bool IsRefused = false; ///< Close once Out is sent.

  // From Hello.
  bool HasGreeted = false;
  std::string Device; ///< "host", "cuda"
  uint64_t CodeBase = 0, CodeSize = 0;
  uint64_t CodeUsed = 0;
  StringMap<uint64_t> Symbols;
  /// Addresses of the variables of each initialized copy of a module.
  std::map<std::pair<Hash, uint32_t>, StringMap<uint64_t>> Variables;
  StringSet<> Recorded; ///< "<static hash>.<dynamic hash>"
  std::map<std::string, TentativeLaunch> Tentative; ///< Likewise.

  /// The request that is being worked on.
  std::optional<ChildTask> Job;
  uint32_t JobType = 0;
  Hash JobModule = {};
  KernelKey JobKernel;
  std::vector<std::string> JobPayloads;
};

Server::Server(Recorder &Records, const HostOptions &Options)
    : Records(Records), Options(Options) {}

Server::~Server() {
  if (Listener >= 0)
    ::close(Listener);
}

bool Server::hasConnections() const { return !Connections.empty(); }

Error Server::listen(StringRef Path) {
  sockaddr_un Address = {};
  Address.sun_family = AF_UNIX;
  if (Path.size() >= sizeof(Address.sun_path))
    return createFileError(Path, createStringError("too long for a socket"));
  llvm::copy(Path, Address.sun_path);
  Listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (Listener < 0 ||
      ::bind(Listener, reinterpret_cast<sockaddr *>(&Address),
             sizeof(Address)) != 0 ||
      ::listen(Listener, SOMAXCONN) != 0)
    return createFileError(Path, errnoAsErrorCode());
  return Error::success();
}

void Server::addTo(std::vector<pollfd> &Waits) const {
  Waits.push_back({Listener, POLLIN, 0});
  for (const auto &C : Connections) {
    // A client that has ended would be readable for ever.
    short Events = (C->HasEnded ? 0 : POLLIN) | (C->Out.empty() ? 0 : POLLOUT);
    if (Events)
      Waits.push_back({C->FD, Events, 0});
    if (C->Job)
      Waits.push_back({C->Job->fd(), POLLIN, 0});
  }
}

bool Server::serve() {
  size_t Before = Connections.size();
  accept();
  bool Busy = Connections.size() != Before;
  for (auto &C : Connections) {
    Busy |= receive(*C);
    if (C->Job && C->Job->poll()) {
      finishJob(*C);
      Busy = true;
    }
    takeMessages(*C);
    Busy |= send(*C);
  }
  llvm::erase_if(Connections, [&](const auto &C) {
    bool IsOver = C->Out.empty() && !C->Job && (C->HasEnded || C->IsRefused);
    // Without a summary: it was killed.
    ProcessSummary S;
    if (IsOver)
      store(*C, S);
    Records.addReasons(S.Reasons);
    return IsOver;
  });
  return Busy;
}

void Server::accept() {
  while (true) {
    int FD =
        ::accept4(Listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (FD < 0)
      return;
    Connections.push_back(std::make_unique<Connection>(FD));
  }
}

bool Server::receive(Connection &C) {
  bool Any = false;
  char Chunk[1 << 16];
  while (!C.HasEnded) {
    ssize_t N = ::recv(C.FD, Chunk, sizeof(Chunk), 0);
    if (N < 0 && errno == EINTR)
      continue;
    if (N < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    Any = true;
    if (N <= 0)
      C.HasEnded = true;
    else if (!C.IsRefused)
      C.In.append(Chunk, N);
  }
  return Any;
}

bool Server::send(Connection &C) {
  bool Any = false;
  while (!C.Out.empty()) {
    ssize_t N = ::send(C.FD, C.Out.data(), C.Out.size(), MSG_NOSIGNAL);
    if (N < 0 && errno == EINTR)
      continue;
    if (N < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
      break;
    Any = true;
    if (N <= 0) {
      // The process is gone; nobody waits for the answer.
      C.HasEnded = true;
      C.Out.clear();
    } else {
      C.Out.erase(0, N);
    }
  }
  return Any;
}

void Server::takeMessages(Connection &C) {
  while (!C.Job && !C.IsRefused && !IsHeld) {
    MnemeWireHeader Header;
    if (C.In.size() < sizeof(Header))
      return;
    memcpy(&Header, C.In.data(), sizeof(Header));
    if (Header.Magic != MNEME_WIRE_MAGIC || Header.Size > MaxBody) {
      C.JobType = Header.Type;
      return refuse(C, createStringError("not a message of Mneme's runtime"));
    }
    if (C.In.size() - sizeof(Header) < Header.Size)
      return;
    std::string Body = C.In.substr(sizeof(Header), Header.Size);
    C.In.erase(0, sizeof(Header) + Header.Size);
    C.JobType = Header.Type;
    WireReader R(Body.data(), Body.size());
    if (Error E = handle(C, Header.Type, R)) {
      WireWriter W;
      W.str(toString(std::move(E)));
      answer(C, W.body());
    }
  }
}

void Server::answer(Connection &C, StringRef Body) {
  MnemeWireHeader Header = {MNEME_WIRE_MAGIC, C.JobType, Body.size()};
  C.Out.append(reinterpret_cast<const char *>(&Header), sizeof(Header));
  C.Out += Body;
}

void Server::refuse(Connection &C, Error E) {
  WireWriter W;
  W.str(toString(std::move(E)));
  answer(C, W.body());
  C.In.clear();
  C.IsRefused = true;
}

/// The beginning of every answer that is no error.
static WireWriter success() {
  WireWriter W;
  W.str("");
  return W;
}

static std::string success(StringRef Rest) {
  return success().body() + Rest.str();
}

static Error malformed() { return createStringError("malformed request"); }

static bool readHash(WireReader &R, Digest128 &Hash) {
  size_t Size;
  const char *Bytes = R.bytes(Size);
  if (!R.ok() || Size != Hash.size())
    return false;
  memcpy(Hash.data(), Bytes, Size);
  return true;
}

Error Server::handle(Connection &C, uint32_t Type, Reader &R) {
  if (Type != MNEME_WIRE_HELLO && !C.HasGreeted)
    return createStringError("request before the greeting");
  switch (Type) {
  case MNEME_WIRE_HELLO:
    return handleHello(C, R);
  case MNEME_WIRE_LOAD_MODULE:
    return handleLoadModule(C, R);
  case MNEME_WIRE_INITIALIZE:
    return handleInitialize(C, R);
  case MNEME_WIRE_LOAD_KERNEL:
    return handleLoadKernel(C, R);
  case MNEME_WIRE_RECORDED:
    return handleRecorded(C, R);
  case MNEME_WIRE_SUMMARY:
    return handleSummary(C, R);
  case MNEME_WIRE_WITHDRAW:
    return handleWithdraw(C, R);
  }
  return createStringError(formatv("unknown request {0}", Type).str());
}

Error Server::handleHello(Connection &C, Reader &R) {
  uint32_t Version = R.u32();
  if (R.ok() && Version != MNEME_WIRE_VERSION)
    return createStringError(
        formatv("the runtime speaks version {0}, the launcher {1}: they are of "
                "different builds",
                Version, MNEME_WIRE_VERSION)
            .str());
  R.u32(); // The process.
  C.Device = R.str();
  std::string Variable = R.str();
  C.CodeBase = R.u64();
  C.CodeSize = R.u64();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    std::string Name = R.str();
    C.Symbols[Name] = R.u64();
  }
  if (!R.ok() || !R.atEnd() || C.CodeBase + C.CodeSize < C.CodeBase)
    return malformed();
  if (!C.HasGreeted)
    Records.addProcess();
  C.HasGreeted = true;
  if (RankVariable.empty())
    RankVariable = std::move(Variable);
  WireWriter W = success();
  W.str(IsRefusing ? "" : Records.staging());
  W.str(IsRefusing ? "" : Records.directory());
  answer(C, W.body());
  return Error::success();
}

Error Server::handleLoadModule(Connection &C, Reader &R) {
  if (!readHash(R, C.JobModule))
    return malformed();
  C.JobPayloads.clear();
  for (uint32_t N = R.u32(); N && R.ok(); --N)
    C.JobPayloads.push_back(R.str());
  if (!R.ok() || !R.atEnd())
    return malformed();
  auto It = Modules.find(C.JobModule);
  if (It != Modules.end()) {
    answer(C, success(It->second->Answer));
    return Error::success();
  }
  Expected<ChildTask> Job = ChildTask::start(
      CompilerName, [&] { return loadModule(C.JobPayloads, C.JobModule); },
      {ReadSeconds});
  if (!Job)
    return Job.takeError();
  C.Job = std::move(*Job);
  return Error::success();
}

Error Server::handleInitialize(Connection &C, Reader &R) {
  if (!readHash(R, C.JobModule))
    return malformed();
  uint32_t Copy = R.u32();
  std::vector<std::string> Names;
  StringMap<uint64_t> Addresses;
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    Names.push_back(R.str());
    Addresses[Names.back()] = R.u64();
  }
  if (!R.ok() || !R.atEnd())
    return malformed();
  auto It = Modules.find(C.JobModule);
  if (It == Modules.end())
    return createStringError("module " + toHexString(C.JobModule) +
                             " was never loaded");
  Expected<ChildTask> Job = ChildTask::start(
      CompilerName,
      [&] { return initializeModule(It->second->Payloads, Names, Addresses); },
      {ReadSeconds});
  if (!Job)
    return Job.takeError();
  C.Variables[{C.JobModule, Copy}] = std::move(Addresses);
  C.Job = std::move(*Job);
  return Error::success();
}

/// LoadKernel in the worker: the encoded kernel, and where its code goes.
static Expected<std::string>
loadKernel(StringRef Cached, ArrayRef<std::string> Payloads,
           const Digest128 &Unit, StringRef Kernel, const HostOptions *Options,
           uint64_t CodeBase, uint64_t CodeSize,
           function_ref<uint64_t(StringRef)> Lookup) {
  std::string Encoded = Cached.str();
  if (Cached.empty()) {
    Expected<CompiledKernel> K =
        compileKernel(Payloads, Unit, Kernel, Options);
    if (!K)
      return K.takeError();
    Encoded = K->encode();
  }
  WireWriter W;
  W.str(Encoded);
  if (!Options)
    return W.body();
  std::optional<CompiledKernel> K = CompiledKernel::decode(Encoded);
  Expected<LinkedImage> Image =
      linkHostObject(MemoryBufferRef(K->Object, Kernel), K->Entry, CodeBase,
                     CodeSize, Lookup);
  if (!Image)
    return Image.takeError();
  W.u64(Image->Entry);
  W.u32(Image->Segments.size());
  for (const LinkedSegment &S : Image->Segments) {
    W.u64(S.Address);
    W.u32(S.Protection);
    W.str(S.Contents);
  }
  return W.body();
}

Error Server::handleLoadKernel(Connection &C, Reader &R) {
  if (!readHash(R, C.JobModule))
    return malformed();
  uint32_t Copy = R.u32();
  Hash Unit;
  if (!readHash(R, Unit))
    return malformed();
  std::string Kernel = R.str();
  bool ForHost = R.u32();
  C.JobKernel = {C.JobModule, Unit, Kernel, ForHost};
  if (!R.ok() || !R.atEnd())
    return malformed();
  auto Module = Modules.find(C.JobModule);
  if (Module == Modules.end())
    return createStringError("module " + toHexString(C.JobModule) +
                             " was never loaded");
  const StringMap<uint64_t> &Variables = C.Variables[{C.JobModule, Copy}];
  auto Lookup = [&](StringRef Name) -> uint64_t {
    auto It = Variables.find(Name);
    return It != Variables.end() ? It->second : C.Symbols.lookup(Name);
  };
  auto Cached = Compiled.find(C.JobKernel);
  Expected<ChildTask> Job = ChildTask::start(
      CompilerName,
      [&] {
        return loadKernel(Cached == Compiled.end() ? "" : Cached->second,
                          Module->second->Payloads, Unit, Kernel,
                          ForHost ? &Options : nullptr, C.CodeBase + C.CodeUsed,
                          C.CodeSize - C.CodeUsed, Lookup);
      },
      {CompileSeconds, CompileBytes});
  if (!Job)
    return Job.takeError();
  C.Job = std::move(*Job);
  return Error::success();
}

/// The worker is this very program, but it has run a compiler on foreign IR.
Expected<std::string> Server::finishLoadKernel(Connection &C,
                                               StringRef Result) {
  WireReader R(Result.data(), Result.size());
  std::string Encoded = R.str();
  std::optional<CompiledKernel> K = CompiledKernel::decode(Encoded);
  if (!R.ok() || !K)
    return malformed();
  Records.addKernel(*K, C.Device);
  WireWriter W = success();
  W.bytes(K->StaticHash.data(), K->StaticHash.size());
  W.u32(K->Args.size());
  for (const KernelArg &A : K->Args) {
    W.u32(A.Size);
    W.u32(A.Offset);
    W.u32(A.Kind);
  }
  W.u32(K->Globals.size());
  for (const std::string &Name : K->Globals)
    W.str(Name);
  W.str(K->Obstacle);
  std::vector<std::string> Held =
      Records.heldLaunches(toHexString(K->StaticHash));
  W.u32(Held.size());
  for (const std::string &Hash : Held)
    W.u64(*parseDigest64(Hash));
  if (std::get<bool>(C.JobKernel)) {
    K->Host.Entry = reinterpret_cast<void *>(R.u64());
    ::mneme::writeHostKernel(W, K->Host);
    uint32_t Count = R.u32();
    W.u32(Count);
    for (; Count && R.ok(); --Count) {
      uint64_t Address = R.u64();
      W.u64(Address);
      W.u32(R.u32());
      std::string Contents = R.str();
      W.str(Contents);
      uint64_t End = Address + Contents.size() - C.CodeBase;
      C.CodeUsed = std::max(C.CodeUsed, alignTo(End, 4096));
    }
    C.CodeUsed = std::min(C.CodeUsed, C.CodeSize);
  }
  if (!R.ok() || !R.atEnd())
    return malformed();
  Compiled[C.JobKernel] = std::move(Encoded);
  return W.body();
}

void Server::finishJob(Connection &C) {
  Expected<std::string> Result = C.Job->finish();
  Records.addCompilation(C.Job->elapsedNanoseconds());
  C.Job.reset();
  if (Result && C.JobType == MNEME_WIRE_LOAD_MODULE) {
    auto M = std::make_shared<LoadedModule>();
    M->Payloads = std::move(C.JobPayloads);
    M->Answer = *Result;
    Modules[C.JobModule] = std::move(M);
  }
  if (Result && C.JobType == MNEME_WIRE_LOAD_KERNEL)
    Result = finishLoadKernel(C, *Result);
  else if (Result)
    Result = success(*Result);
  if (!Result) {
    WireWriter W;
    W.str(toString(Result.takeError()));
    return answer(C, W.body());
  }
  answer(C, *Result);
}

/// Grid or block; false for a dimension of 0.
static bool readDims(WireReader &R, Dim3 &D) {
  D.X = R.u32();
  D.Y = R.u32();
  D.Z = R.u32();
  return D.X && D.Y && D.Z;
}

/// Whether \p Name is \p Final, a period, digits and periods: no path to
/// elsewhere.
static bool isStagingName(StringRef Name, StringRef Final) {
  return Name.consume_front(Final) && Name.consume_front(".") &&
         !Name.empty() &&
         llvm::all_of(Name, [](char C) { return isDigit(C) || C == '.'; });
}

Error Server::handleRecorded(Connection &C, Reader &R) {
  RecordedLaunch L;
  Digest128 Static;
  if (!readHash(R, Static))
    return malformed();
  L.StaticHash = toHexString(Static);
  RecordedInstance &I = L.Instance;
  I.DynamicHash = toHexString(R.u64());
  bool HasDims = readDims(R, I.Grid);
  HasDims = readDims(R, I.Block) && HasDims;
  I.SharedMem = R.u64();
  I.Cooperative = R.u32();
  std::string Prologue = R.str(), Epilogue = R.str();
  bool IsTentative = R.u32();
  L.ArenaBase = R.u64();
  L.ArenaSize = R.u64();
  L.StoredBytes = R.u64();
  L.RawBytes = R.u64();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    KernelGlobal G;
    G.Name = R.str();
    G.Address = R.u64();
    G.Size = R.u64();
    L.Globals.push_back(std::move(G));
  }
  I.Device.Name = R.str();
  I.Device.Arch = R.str();
  I.Device.Driver = R.str();
  I.Device.Runtime = R.str();
  I.OmittedRegions = R.u64();
  I.OmittedBytes = R.u64();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    Digest128 Id;
    if (!readHash(R, Id))
      return malformed();
    L.PageFiles.push_back(PageFile::nameOf(Id));
  }
  if (!R.ok() || !R.atEnd() || !HasDims || L.ArenaSize == 0 ||
      L.ArenaBase + L.ArenaSize < L.ArenaBase)
    return malformed();
  if (Records.staging().empty())
    return createStringError("nothing is to be recorded");
  I.Prologue = snapshotName(/*Epilogue=*/false, L.StaticHash, I.DynamicHash);
  I.Epilogue = snapshotName(/*Epilogue=*/true, L.StaticHash, I.DynamicHash);
  if (!isStagingName(Prologue, I.Prologue) ||
      !isStagingName(Epilogue, I.Epilogue))
    return createStringError("unexpected names of snapshots: '" + Prologue +
                             "', '" + Epilogue + "'");
  std::string Key = L.StaticHash + "." + I.DynamicHash;
  bool Taken = true;
  if (IsTentative) {
    TentativeLaunch &T = C.Tentative[Key];
    drop(T);
    T = {std::move(L), Prologue, Epilogue};
  } else {
    Expected<bool> Added = Records.addLaunch(L, Prologue, Epilogue);
    if (!Added)
      return Added.takeError();
    Taken = *Added;
    if (Taken)
      C.Recorded.insert(Key);
  }
  WireWriter W = success();
  W.u32(Taken);
  answer(C, W.body());
  return Error::success();
}

void Server::drop(const TentativeLaunch &T) {
  for (const std::string &File : {T.Prologue, T.Epilogue})
    if (!File.empty())
      sys::fs::remove(Records.staging() + "/" + File);
}

Error Server::handleWithdraw(Connection &C, Reader &R) {
  Digest128 Static;
  if (!readHash(R, Static))
    return malformed();
  std::string Dynamic = toHexString(R.u64());
  if (!R.ok() || !R.atEnd())
    return malformed();
  auto It = C.Tentative.find(toHexString(Static) + "." + Dynamic);
  if (It == C.Tentative.end())
    return createStringError("there is no such launch to withdraw");
  drop(It->second);
  C.Tentative.erase(It);
  answer(C, success().body());
  return Error::success();
}

void Server::store(Connection &C, ProcessSummary &S) {
  for (const auto &[Key, T] : C.Tentative) {
    Expected<bool> Added = Records.addLaunch(T.Launch, T.Prologue, T.Epilogue);
    if (Added && *Added) {
      C.Recorded.insert(Key);
      continue;
    }
    --S.Recorded;
    ++S.Skipped;
    // Another process may have been faster.
    ++S.Reasons[Added ? MNEME_REASON_HELD : toString(Added.takeError())];
    drop(T);
  }
  C.Tentative.clear();
}

void Server::storeRest() {
  for (auto &C : Connections) {
    ProcessSummary S;
    store(*C, S);
    Records.addReasons(S.Reasons);
  }
}

Error Server::handleSummary(Connection &C, Reader &R) {
  ProcessSummary S;
  S.Seen = R.u64();
  S.Recorded = R.u64();
  S.Skipped = R.u64();
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    ProcessSummary::Kernel K;
    std::string Static = R.str();
    Digest128 Hash;
    if (Static.size() == Hash.size()) {
      llvm::copy(Static, Hash.begin());
      K.StaticHash = toHexString(Hash);
    } else if (!Static.empty()) {
      return malformed();
    }
    K.Name = R.str();
    K.DynamicHash = toHexString(R.u64());
    K.Occurrences = R.u64();
    S.Kernels.push_back(std::move(K));
  }
  for (uint32_t N = R.u32(); N && R.ok(); --N) {
    std::string Reason = R.str();
    S.Reasons[Reason] += R.u64();
  }
  S.Nanoseconds = R.u64();
  if (!R.ok() || !R.atEnd())
    return malformed();
  store(C, S);
  for (ProcessSummary::Kernel &K : S.Kernels)
    K.IsRecorded = C.Recorded.contains(K.StaticHash + "." + K.DynamicHash);
  if (Error E = Records.addSummary(S))
    return E;
  answer(C, success().body());
  return Error::success();
}
