//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Server.h"
#include "LaunchMessages.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/TargetParser/Host.h"
#include <thread>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::WireReader;
using ::mneme::WireWriter;

/// Maximum number of descriptors per connection: its socket, and two of a
/// worker.
static constexpr size_t DescriptorsOfConnection = 3;

/// Limits beyond the code and the launches of any real program.
static constexpr uint64_t MaxModuleBytes = uint64_t(8) << 30;
static constexpr size_t MaxTentative = 1 << 20;

static constexpr StringLiteral CompilerName = "the compiler";

/// The application waits for its device code. If reading or compiling exceeds
/// these limits, the code is assumed to be damaged.
static constexpr double ReadSeconds = 600, CompileSeconds = 3600;
static constexpr uint64_t CompileBytes = uint64_t(16) << 30;

/// Few kernels of a module may be all that the application launches.
static constexpr size_t AskedBeforeAhead = 3;
static constexpr size_t MaxAhead = 8;

/// A launch in the staging folder, which may still be replaced.
struct Server::TentativeLaunch {
  RecordedLaunch Launch;
  std::string Prologue, Epilogue;
};

struct Server::Connection final : WirePeer {
  explicit Connection(int FD)
      : WirePeer(FD, MNEME_WIRE_MAGIC, MNEME_WIRE_HELLO) {}
  bool isBusy() const override { return Job.has_value() || WaitsSince; }

  // From Hello.
  std::string Device; ///< "host", "cuda", "hip"
  uint64_t CodeBase = 0, CodeSize = 0;
  uint64_t CodeUsed = 0;
  StringMap<uint64_t> Symbols;
  /// Addresses of the variables of each initialized copy of a module.
  std::map<std::pair<Hash, uint32_t>, StringMap<uint64_t>> Variables;
  StringSet<> Recorded; ///< "<static hash>.<dynamic hash>"
  std::map<std::string, TentativeLaunch> Tentative; ///< Likewise.
  bool HasSummarized = false;

  /// The worker for the current request.
  std::optional<ChildTask> Job;
  Hash JobModule = {};
  KernelKey JobKernel;
  uint32_t JobCopy = 0;
  /// JobKernel is being compiled ahead.
  std::optional<WirePeer::Clock::time_point> WaitsSince;
  ModuleCode JobCode;
};

Server::Server(RecordKeeper &Records, const HostOptions &Options,
               bool RunsPipeline, CompiledKernels *Compiled, StartFn Start)
    : Records(Records), Options(Options), RunsPipeline(RunsPipeline),
      Start(Start), Listener(DescriptorsOfConnection),
      Compiled(Compiled ? *Compiled : OwnCompiled) {}

Server::~Server() = default;

Error Server::listen(StringRef Path) { return Listener.listen(Path); }

bool Server::hasConnections() const {
  return llvm::any_of(Connections, [](const auto &C) {
    return !C->isStranger() ||
           WirePeer::Clock::now() - C->since() < WireListener::ShortSilence;
  });
}

size_t Server::countStrangers() const {
  return llvm::count_if(Connections,
                        [](const auto &C) { return C->isStranger(); });
}

void Server::addTo(std::vector<pollfd> &Waits) const {
  Listener.addTo(Waits, Connections.size(), countStrangers());
  for (const auto &C : Connections) {
    C->addTo(Waits);
    if (C->Job)
      Waits.push_back({C->Job->fd(), POLLIN, 0});
  }
  for (const auto &[Key, Job] : Ahead)
    Waits.push_back({Job.fd(), POLLIN, 0});
}

bool Server::serve() {
  bool Busy = Listener.accept(
      [&] { return Listener.canAccept(Connections.size(), countStrangers()); },
      [&](int FD) { adopt(FD); });
  Busy |= takeCompiledAhead();
  for (auto &C : Connections) {
    Busy |= C->receive(::mneme::maxRequest);
    if (C->WaitsSince && !Ahead.count(C->JobKernel)) {
      auto Waited = WirePeer::Clock::now() - *C->WaitsSince;
      Records.addCompilation(Waited / std::chrono::nanoseconds(1));
      C->WaitsSince.reset();
      if (Error E = startKernel(*C))
        C->answerError(std::move(E));
      Busy = true;
    }
    if (C->Job && C->Job->poll()) {
      finishJob(*C);
      Busy = true;
    }
    takeMessage(*C);
    Busy |= C->send();
  }
  dropStrangers();
  llvm::erase_if(Connections, [&](const auto &C) {
    bool IsOver = C->isOver();
    if (IsOver)
      storeUncounted(*C);
    return IsOver;
  });
  return Busy;
}

void Server::adopt(int FD) {
  Connections.push_back(std::make_unique<Connection>(FD));
}

void Server::dropStrangers() {
  WirePeer::Clock::time_point Now = WirePeer::Clock::now();
  WirePeer::Clock::duration Max =
      Listener.patience(Connections.size(), countStrangers());
  for (auto &C : Connections)
    if (C->isStranger() && Now - C->since() > Max)
      C->end();
}

void Server::takeMessage(Connection &C) {
  if (IsHeld || !C.hasRequest())
    return;
  std::string Request = C.takeRequest();
  if (Error E = handle(C, C.type(), Request))
    answerError(C, std::move(E));
}

void Server::answerError(Connection &C, Error E) {
  bool IsCode =
      C.type() == MNEME_WIRE_HELLO || C.type() == MNEME_WIRE_LOAD_MODULE;
  std::string Text = toString(std::move(E));
  if (IsCode && MissingCode.empty())
    MissingCode = Text;
  C.answerError(createStringError(Text));
}

/// The beginning of every answer without an error.
static WireWriter success() {
  WireWriter W;
  W.str("");
  return W;
}

static std::string success(StringRef Rest) {
  return success().body() + Rest.str();
}

Error Server::handle(Connection &C, uint32_t Type, StringRef Body) {
  if (Type != MNEME_WIRE_HELLO && !C.hasGreeted())
    return createStringError("request before the greeting");
  switch (Type) {
  case MNEME_WIRE_HELLO:
    return handleHello(C, Body);
  case MNEME_WIRE_LOAD_MODULE:
    return handleLoadModule(C, Body);
  case MNEME_WIRE_INITIALIZE:
    return handleInitialize(C, Body);
  case MNEME_WIRE_LOAD_KERNEL:
    return handleLoadKernel(C, Body);
  case MNEME_WIRE_LOAD_OBJECT:
    return handleLoadObject(C, Body);
  case MNEME_WIRE_LOAD_IMAGE:
    return handleLoadImage(C, Body);
  case MNEME_WIRE_LOAD_LIBRARY:
    return handleLoadLibrary(C, Body);
  case MNEME_WIRE_RECORDED:
    return handleRecorded(C, Body);
  case MNEME_WIRE_SUMMARY:
    return handleSummary(C, Body);
  case MNEME_WIRE_PROFILE:
    return handleProfile(C, Body);
  case MNEME_WIRE_WITHDRAW:
    return handleWithdraw(C, Body);
  }
  return createStringError(formatv("unknown request {0}", Type).str());
}

Error Server::handleHello(Connection &C, StringRef Body) {
  if (C.hasGreeted())
    return createStringError("a second greeting");
  Expected<HelloRequest> Q = HelloRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  C.Device = std::move(Q->Device);
  C.CodeBase = Q->CodeBase;
  C.CodeSize = Q->CodeSize;
  C.Symbols = std::move(Q->Symbols);
  C.greet();
  Records.addProcess();
  if (RankVariable.empty())
    RankVariable = std::move(Q->RankVariable);
  WireWriter W = success();
  W.str(IsRefusing ? "" : Records.staging());
  W.str(IsRefusing ? "" : Records.directory());
  C.answer(W.body());
  return Error::success();
}

Error Server::startModule(Connection &C, StringRef Body,
                          const Digest128 &Module, ModuleCode Code,
                          ChildTask::WorkFn Load) {
  auto It = Modules.find(Module);
  if (It != Modules.end()) {
    C.answer(success(It->second->Answer));
    return Error::success();
  }
  if (Body.size() > MaxModuleBytes - ModuleBytes)
    return createStringError("the application has more device code than the "
                             "launcher can keep");
  C.JobModule = Module;
  C.JobCode = std::move(Code);
  Expected<ChildTask> Job = Start(CompilerName, Load, {ReadSeconds});
  if (!Job)
    return Job.takeError();
  C.Job = std::move(*Job);
  return Error::success();
}

Error Server::handleLoadModule(Connection &C, StringRef Body) {
  Expected<LoadModuleRequest> Q = LoadModuleRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  return startModule(C, Body, Q->Module, {std::move(Q->Payloads), {}, ""}, [&] {
    return loadModule(C.JobCode.Payloads, C.JobModule);
  });
}

Error Server::handleLoadLibrary(Connection &C, StringRef Body) {
  Expected<LoadLibraryRequest> Q = LoadLibraryRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  return startModule(C, Body, Q->Module, {{}, std::move(Q->Library), ""},
                     [&]() -> Expected<std::string> {
                       Expected<LoadedLibrary> L =
                           loadLibrary(C.JobCode.Library, C.JobModule, IR);
                       if (!L)
                         return L.takeError();
                       return L->encode();
                     });
}

static Error neverLoaded(const Digest128 &Module) {
  return createStringError("module " + toHexString(Module) +
                           " was never loaded");
}

Error Server::handleInitialize(Connection &C, StringRef Body) {
  Expected<InitializeRequest> Q = InitializeRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  auto It = Modules.find(Q->Module);
  if (It == Modules.end())
    return neverLoaded(Q->Module);
  Expected<ChildTask> Job =
      Start(CompilerName,
            [&] {
              return initializeModule(It->second->Code, Q->Names, Q->Addresses);
            },
            {ReadSeconds});
  if (!Job)
    return Job.takeError();
  C.Variables[{Q->Module, Q->Copy}] = std::move(Q->Addresses);
  C.Job = std::move(*Job);
  return Error::success();
}

/// \returns the entry address and the segments of an object that is linked for
/// the address.
static Expected<std::string>
linkObject(StringRef Object, StringRef Entry, uint64_t CodeBase,
           uint64_t CodeSize, function_ref<uint64_t(StringRef)> Lookup) {
  Expected<LinkedImage> Image = linkHostObject(
      MemoryBufferRef(Object, Entry), Entry, CodeBase, CodeSize, Lookup);
  if (!Image)
    return Image.takeError();
  WireWriter W;
  W.u64(Image->Entry);
  W.u32(Image->Segments.size());
  for (const LinkedSegment &S : Image->Segments) {
    W.u64(S.Address);
    W.u32(S.Protection);
    W.str(S.Contents);
  }
  return W.body();
}

/// Runs in the worker. \returns the encoded kernel.
static Expected<std::string> compile(const ModuleCode &Code,
                                     const Digest128 &Unit, StringRef Kernel,
                                     const HostOptions *Options,
                                     bool RunsPipeline) {
  Expected<LaunchedKernel> K =
      compileKernel(Code, Unit, Kernel, Options, RunsPipeline);
  if (!K)
    return K.takeError();
  return K->encode();
}

/// Runs LoadKernel in the worker. \returns the encoded kernel and its code for
/// the address.
static Expected<std::string>
loadKernel(StringRef Cached, const ModuleCode &Code, const Digest128 &Unit,
           StringRef Kernel, const HostOptions *Options, bool RunsPipeline,
           uint64_t CodeBase, uint64_t CodeSize,
           function_ref<uint64_t(StringRef)> Lookup) {
  std::string Encoded = Cached.str();
  if (Cached.empty())
    if (Error E = compile(Code, Unit, Kernel, Options, RunsPipeline)
                      .moveInto(Encoded))
      return std::move(E);
  WireWriter W;
  W.str(Encoded);
  if (!Options)
    return W.body();
  std::optional<LaunchedKernel> K = LaunchedKernel::decode(Encoded);
  Expected<std::string> Image =
      linkObject(K->Object, K->Entry, CodeBase, CodeSize, Lookup);
  if (!Image)
    return Image.takeError();
  return W.body() + *Image;
}

/// \returns the address of a symbol for code of a copy of a module; 0 if there
/// is none.
uint64_t Server::findSymbol(const Connection &C, const Hash &Module,
                            uint32_t Copy, StringRef Name) const {
  auto Variables = C.Variables.find({Module, Copy});
  if (Variables != C.Variables.end())
    if (auto It = Variables->second.find(Name); It != Variables->second.end())
      return It->second;
  return C.Symbols.lookup(Name);
}

Error Server::handleLoadObject(Connection &C, StringRef Body) {
  Expected<LoadObjectRequest> Q = LoadObjectRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  if (!Modules.count(Q->Module))
    return neverLoaded(Q->Module);
  if (Q->CPU != sys::getHostCPUName())
    return createStringError("the code is for the CPU '" + Q->CPU +
                             "', and this is a '" + sys::getHostCPUName() +
                             "'");
  Expected<ChildTask> Job = Start(
      CompilerName,
      [&] {
        return linkObject(Q->Object, Q->Entry, C.CodeBase + C.CodeUsed,
                          C.CodeSize - C.CodeUsed, [&](StringRef Name) {
                            return findSymbol(C, Q->Module, Q->Copy, Name);
                          });
      },
      {ReadSeconds, CompileBytes});
  if (!Job)
    return Job.takeError();
  C.Job = std::move(*Job);
  return Error::success();
}

Error Server::handleLoadKernel(Connection &C, StringRef Body) {
  Expected<LoadKernelRequest> Q = LoadKernelRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  if (!Modules.count(Q->Module))
    return neverLoaded(Q->Module);
  C.JobKernel = {Q->Module, Q->Unit, Q->Kernel, Q->ForHost};
  C.JobCopy = Q->Copy;
  if (Ahead.count(C.JobKernel)) {
    C.WaitsSince = WirePeer::Clock::now();
    return Error::success();
  }
  return startKernel(C);
}

/// Starts the worker for C.JobKernel.
Error Server::startKernel(Connection &C) {
  const auto &[Module, Unit, Kernel, ForHost] = C.JobKernel;
  LoadedModule &M = *Modules.find(Module)->second;
  auto Lookup = [&, &Module = Module](StringRef Name) {
    return findSymbol(C, Module, C.JobCopy, Name);
  };
  auto Cached = Compiled.find(C.JobKernel);
  Expected<ChildTask> Job =
      Start(CompilerName,
            [&, &Unit = Unit, &Kernel = Kernel, ForHost = ForHost] {
              return loadKernel(
                  Cached == Compiled.end() ? "" : Cached->second, M.Code, Unit,
                  Kernel, ForHost ? &Options : nullptr, RunsPipeline,
                  C.CodeBase + C.CodeUsed, C.CodeSize - C.CodeUsed, Lookup);
            },
            {CompileSeconds, CompileBytes});
  if (!Job)
    return Job.takeError();
  C.Job = std::move(*Job);
  ++M.Asked;
  compileAhead(M, Module, ForHost);
  return Error::success();
}

/// While the application waits for one kernel, other cores compile those that
/// follow it in the source: no more than processes have asked for so far.
void Server::compileAhead(LoadedModule &M, const Hash &Module, bool ForHost) {
  static const size_t Cores = std::thread::hardware_concurrency();
  auto IsUnderWay = [&](const KernelKey &Key) {
    return Compiled.count(Key) || any_of(Connections, [&](const auto &C) {
             return C->isBusy() && C->JobKernel == Key;
           });
  };
  if (M.Asked < AskedBeforeAhead)
    return;
  for (; Ahead.size() + 1 < std::min(Cores, std::min(MaxAhead, M.Asked)) &&
         M.Next != M.Kernels.size();
       ++M.Next) {
    const auto &[Unit, Kernel] = M.Kernels[M.Next];
    KernelKey Key = {Module, Unit, Kernel, ForHost};
    if (IsUnderWay(Key) || (!ForHost && !IsWanted(Kernel)))
      continue;
    Expected<ChildTask> Job =
        Start(CompilerName,
              [&, &Unit = Unit, &Kernel = Kernel] {
                return compile(M.Code, Unit, Kernel,
                               ForHost ? &Options : nullptr, RunsPipeline);
              },
              {CompileSeconds, CompileBytes});
    if (!Job)
      return consumeError(Job.takeError());
    Ahead.emplace(std::move(Key), std::move(*Job));
  }
}

/// \returns whether any kernel is compiled. Errors are reported to the process
/// that asks for the kernel, which is then compiled again.
bool Server::takeCompiledAhead() {
  bool HasTaken = false;
  for (auto It = Ahead.begin(); It != Ahead.end();) {
    if (!It->second.poll()) {
      ++It;
      continue;
    }
    if (Expected<std::string> Encoded = It->second.finish())
      Compiled.try_emplace(It->first, std::move(*Encoded));
    else
      consumeError(Encoded.takeError());
    It = Ahead.erase(It);
    HasTaken = true;
  }
  return HasTaken;
}

Error Server::handleLoadImage(Connection &C, StringRef Body) {
  Expected<LoadImageRequest> Q = LoadImageRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  Expected<ChildTask> Job = Start(CompilerName,
                                  [&]() -> Expected<std::string> {
                                    Expected<LaunchedKernel> K =
                                        describeImageKernel(*Q);
                                    if (!K)
                                      return K.takeError();
                                    return K->encode();
                                  },
                                  {CompileSeconds, CompileBytes});
  if (!Job)
    return Job.takeError();
  C.Job = std::move(*Job);
  return Error::success();
}

/// Copies segments to the answer, and keeps their addresses from others.
void Server::copySegments(Connection &C, WireReader &R, WireWriter &W) {
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

Expected<std::string> Server::finishLoadObject(Connection &C,
                                               StringRef Result) {
  WireReader R(Result.data(), Result.size());
  WireWriter W = success();
  W.u64(R.u64());
  copySegments(C, R, W);
  if (!R.ok() || !R.atEnd())
    return malformed();
  return W.body();
}

/// Writes the answer to LoadKernel, without code.
static void writeFacts(const LaunchedKernel &K, RecordKeeper &Records,
                       WireWriter &W) {
  W.bytes(K.StaticHash.data(), K.StaticHash.size());
  W.u32(K.Args.size());
  for (const KernelArg &A : K.Args) {
    W.u32(A.Size);
    W.u32(A.Offset);
    W.u32(A.Kind);
  }
  W.u32(K.Globals.size());
  for (const std::string &Name : K.Globals)
    W.str(Name);
  W.str(K.Obstacle);
  ::mneme::writeHandles(W, K.Handles);
  std::vector<std::string> Held =
      Records.heldLaunches(toHexString(K.StaticHash));
  std::vector<uint64_t> HeldHashes;
  for (const std::string &Hash : Held)
    if (std::optional<uint64_t> H = parseDigest64(Hash))
      HeldHashes.push_back(*H);
  W.u32(HeldHashes.size());
  for (uint64_t Hash : HeldHashes)
    W.u64(Hash);
}

Expected<std::string> Server::finishLoadImage(Connection &C, StringRef Result) {
  std::optional<LaunchedKernel> K = LaunchedKernel::decode(Result);
  if (!K || K->Globals.size() != K->GlobalSizes.size())
    return malformed();
  Records.addKernel(*K, C.Device);
  WireWriter W = success();
  writeFacts(*K, Records, W);
  W.u32(K->Globals.size());
  for (const auto &[Name, Size] : llvm::zip(K->Globals, K->GlobalSizes)) {
    W.str(Name);
    W.u64(Size);
    W.u64(1); // The alignment does not matter on a GPU.
    W.u32(0);
  }
  return W.body();
}

/// The worker is this program, but has compiled untrusted IR, so its answer is
/// checked.
Expected<std::string> Server::finishLoadKernel(Connection &C,
                                               StringRef Result) {
  WireReader R(Result.data(), Result.size());
  std::string Encoded = R.str();
  std::optional<LaunchedKernel> K = LaunchedKernel::decode(Encoded);
  if (!R.ok() || !K)
    return malformed();
  Records.addKernel(*K, C.Device);
  WireWriter W = success();
  writeFacts(*K, Records, W);
  if (std::get<bool>(C.JobKernel)) {
    K->Host.Entry = reinterpret_cast<void *>(R.u64());
    ::mneme::writeHostKernel(W, K->Host);
    copySegments(C, R, W);
  }
  if (!R.ok() || !R.atEnd())
    return malformed();
  Compiled[C.JobKernel] = std::move(Encoded);
  return W.body();
}

Expected<std::string> Server::finishLoadModule(Connection &C,
                                               StringRef Answer) {
  auto M = std::make_shared<LoadedModule>();
  M->Code = std::move(C.JobCode);
  M->Answer = Answer.str();
  for (const std::string &Bytes : M->Code.Payloads) {
    ModuleBytes += Bytes.size();
    if (Expected<Payload> P = parsePayload(Bytes, "payload"))
      for (PayloadKernel &K : P->Kernels)
        M->Kernels.emplace_back(*parseDigest128(P->Hash), std::move(K.Name));
    else
      consumeError(P.takeError());
  }
  Modules[C.JobModule] = std::move(M);
  return success(Answer);
}

Expected<std::string> Server::finishLoadLibrary(Connection &C,
                                                StringRef Result) {
  std::optional<LoadedLibrary> L = LoadedLibrary::decode(Result);
  if (!L)
    return malformed();
  auto M = std::make_shared<LoadedModule>();
  M->Code = std::move(C.JobCode);
  M->Code.Bitcode = std::move(L->Bitcode);
  M->Answer = std::move(L->Answer);
  ModuleBytes += M->Code.Bitcode.size() + M->Code.Library.Image.size() +
                 M->Code.Library.IR.size();
  std::string Answer = success(M->Answer);
  Modules[C.JobModule] = std::move(M);
  return Answer;
}

void Server::finishJob(Connection &C) {
  Expected<std::string> Result = C.Job->finish();
  Records.addCompilation(C.Job->elapsedNanoseconds());
  C.Job.reset();
  if (Result && C.type() == MNEME_WIRE_LOAD_MODULE)
    Result = finishLoadModule(C, *Result);
  else if (Result && C.type() == MNEME_WIRE_LOAD_LIBRARY)
    Result = finishLoadLibrary(C, *Result);
  else if (Result && C.type() == MNEME_WIRE_LOAD_KERNEL)
    Result = finishLoadKernel(C, *Result);
  else if (Result && C.type() == MNEME_WIRE_LOAD_OBJECT)
    Result = finishLoadObject(C, *Result);
  else if (Result && C.type() == MNEME_WIRE_LOAD_IMAGE)
    Result = finishLoadImage(C, *Result);
  else if (Result)
    Result = success(*Result);
  if (!Result)
    return answerError(C, Result.takeError());
  C.answer(*Result);
}

Error Server::handleRecorded(Connection &C, StringRef Body) {
  Expected<RecordedRequest> Q = RecordedRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  if (Records.staging().empty())
    return createStringError("nothing is to be recorded");
  RecordedLaunch &L = Q->Launch;
  std::string Key = L.StaticHash + "." + L.Instance.DynamicHash;
  bool Taken = true;
  if (Q->IsTentative) {
    if (C.Tentative.size() >= MaxTentative && !C.Tentative.count(Key))
      return createStringError("too many launches that may be replaced");
    // Of competing launches, a kernel keeps only a few.
    if (!L.ChangesMemory)
      if (Error E = Records.checkStagingRoom())
        return E;
    TentativeLaunch &T = C.Tentative[Key];
    if (T.Prologue == Q->Prologue || T.Epilogue == Q->Epilogue)
      return createStringError("two launches in one file");
    drop(T);
    T = {std::move(L), Q->Prologue, Q->Epilogue};
  } else {
    Expected<bool> Added = Records.addLaunch(L, Q->Prologue, Q->Epilogue);
    if (!Added)
      return Added.takeError();
    Taken = *Added;
    if (Taken)
      C.Recorded.insert(Key);
    // The replaced launch had changed no memory.
    if (auto Old = C.Tentative.find(Key); Taken && Old != C.Tentative.end()) {
      drop(Old->second);
      C.Tentative.erase(Old);
    }
  }
  WireWriter W = success();
  W.u32(Taken);
  C.answer(W.body());
  return Error::success();
}

void Server::drop(const TentativeLaunch &T) {
  for (const std::string &File : {T.Prologue, T.Epilogue})
    if (!File.empty())
      sys::fs::remove(Records.staging() + "/" + File);
}

Error Server::handleWithdraw(Connection &C, StringRef Body) {
  Expected<WithdrawRequest> Q = WithdrawRequest::decode(Body);
  if (!Q)
    return Q.takeError();
  auto It = C.Tentative.find(Q->StaticHash + "." + Q->DynamicHash);
  if (It == C.Tentative.end())
    return createStringError("there is no such launch to withdraw");
  drop(It->second);
  C.Tentative.erase(It);
  C.answer(success().body());
  return Error::success();
}

void Server::store(Connection &C, ProcessSummary &S) {
  for (const auto &[Key, T] : C.Tentative) {
    Expected<bool> Added = Records.addLaunch(T.Launch, T.Prologue, T.Epilogue);
    if (Added && *Added) {
      C.Recorded.insert(Key);
      continue;
    }
    // Another process may have recorded the launch first.
    std::string Reason =
        Added ? MNEME_REASON_HELD : toString(Added.takeError());
    // A process that received no answer has already counted the launch as
    // skipped.
    if (S.Recorded) {
      --S.Recorded;
      ++S.Skipped;
      ++S.Reasons[Reason];
    }
    drop(T);
  }
  C.Tentative.clear();
}

void Server::storeUncounted(Connection &C) {
  ProcessSummary S;
  S.Recorded = C.Tentative.size();
  store(C, S);
  // Launches that other processes have recorded are not counted, either.
  S.Reasons.erase(MNEME_REASON_HELD);
  Records.addReasons(S.Reasons);
}

void Server::storeRest() {
  for (auto &C : Connections)
    storeUncounted(*C);
}

Error Server::handleSummary(Connection &C, StringRef Body) {
  if (C.HasSummarized)
    return createStringError("a second summary");
  Expected<ProcessSummary> S = decodeSummary(Body);
  if (!S)
    return S.takeError();
  C.HasSummarized = true;
  store(C, *S);
  for (ProcessSummary::Kernel &K : S->Kernels)
    K.IsRecorded = C.Recorded.contains(K.StaticHash + "." + K.DynamicHash);
  if (Error E = Records.addSummary(*S))
    return E;
  C.answer(success().body());
  return Error::success();
}

Error Server::handleProfile(Connection &C, StringRef Body) {
  Expected<Profile> P = decodeProfile(Body);
  if (!P)
    return P.takeError();
  Profiled.add(*P);
  C.answer(success().body());
  return Error::success();
}
