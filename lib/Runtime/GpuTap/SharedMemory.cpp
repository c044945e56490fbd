//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SharedMemory.h"
#include "CudaRuntime.h"
#include "Descriptor.h"
#include "Message.h"
#include "Shortage.h"
#include "Threads.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

using namespace mneme;

//===----------------------------------------------------------------------===//
// Handles and messages
//===----------------------------------------------------------------------===//

static constexpr char Magic[16] = "mneme memory 1";

namespace {
/// The bytes of a handle, and the request of the process that opens it.
struct HandleBytes {
  char Magic[16];
  uint64_t Process; ///< That has the memory.
  uint64_t Id;      ///< Of the allocation there.
  char Zeros[32];
};
static_assert(sizeof(HandleBytes) == sizeof(IpcMemHandle));

/// The first message of the answer. One message for each chunk follows, with
/// its size and a descriptor.
struct AnswerHead {
  uint64_t Count; ///< 0: there is no such memory.
  uint64_t Offset;
};
} // namespace

/// A process that is stopped must not stop others.
static void limitTime(int Socket) {
  timeval Limit = {10, 0};
  setsockopt(Socket, SOL_SOCKET, SO_RCVTIMEO, &Limit, sizeof(Limit));
  setsockopt(Socket, SOL_SOCKET, SO_SNDTIMEO, &Limit, sizeof(Limit));
}

/// The abstract socket of a process, which disappears with it and with those
/// that it has forked.
static socklen_t addressOf(uint64_t Process, sockaddr_un &A) {
  A = {};
  A.sun_family = AF_UNIX;
  int N =
      snprintf(A.sun_path + 1, sizeof(A.sun_path) - 1, "mneme-memory-%016llx",
               static_cast<unsigned long long>(Process));
  return offsetof(sockaddr_un, sun_path) + 1 + N;
}

static bool isSameUser(int Socket) {
  ucred Peer;
  socklen_t Size = sizeof(Peer);
  return !getsockopt(Socket, SOL_SOCKET, SO_PEERCRED, &Peer, &Size) &&
         Peer.uid == geteuid();
}

/// \p File: sent, too, unless it is negative.
static bool sendMessage(int Socket, const void *Bytes, size_t Size,
                        int File = -1) {
  iovec Part = {const_cast<void *>(Bytes), Size};
  msghdr M = {};
  M.msg_iov = &Part;
  M.msg_iovlen = 1;
  alignas(cmsghdr) char Control[CMSG_SPACE(sizeof(int))] = {};
  if (File >= 0) {
    M.msg_control = Control;
    M.msg_controllen = sizeof(Control);
    cmsghdr *C = CMSG_FIRSTHDR(&M);
    C->cmsg_level = SOL_SOCKET;
    C->cmsg_type = SCM_RIGHTS;
    C->cmsg_len = CMSG_LEN(sizeof(int));
    memcpy(CMSG_DATA(C), &File, sizeof(File));
  }
  ssize_t N;
  do
    N = sendmsg(Socket, &M, MSG_NOSIGNAL);
  while (N < 0 && errno == EINTR);
  return N == ssize_t(Size);
}

/// \p File: gets the descriptor of the message, if not null.
static bool receiveMessage(int Socket, void *Bytes, size_t Size,
                           int *File = nullptr) {
  iovec Part = {Bytes, Size};
  msghdr M = {};
  M.msg_iov = &Part;
  M.msg_iovlen = 1;
  alignas(cmsghdr) char Control[CMSG_SPACE(sizeof(int))];
  M.msg_control = Control;
  M.msg_controllen = sizeof(Control);
  ssize_t N;
  do
    N = recvmsg(Socket, &M, MSG_CMSG_CLOEXEC);
  while (N < 0 && errno == EINTR);
  int Received = -1;
  const cmsghdr *C = N >= 0 ? CMSG_FIRSTHDR(&M) : nullptr;
  if (C && C->cmsg_level == SOL_SOCKET && C->cmsg_type == SCM_RIGHTS)
    memcpy(&Received, CMSG_DATA(C), sizeof(Received));
  if (File)
    *File = Received;
  else if (Received >= 0)
    close(Received);
  return N == ssize_t(Size) && (!File || Received >= 0);
}

namespace {
/// Descriptors that are closed in the end.
struct OwnedFiles {
  std::vector<int> Numbers;
  ~OwnedFiles() {
    for (int File : Numbers)
      close(File);
  }
};
} // namespace

//===----------------------------------------------------------------------===//
// The process that has the memory
//===----------------------------------------------------------------------===//

bool SharedMemory::tryGetHandle(IpcMemHandle &Handle, void *Ptr) {
  if (TapState::Forked)
    return false;
  std::lock_guard<std::mutex> Guard(State.Lock);
  bool IsDone = false;
  attempt(
      [&] { IsDone = makeHandle(Handle, reinterpret_cast<uint64_t>(Ptr)); });
  return IsDone;
}

/// \returns false when the driver is to answer. May throw.
bool SharedMemory::makeHandle(IpcMemHandle &Handle, uint64_t Address) {
  const AddressMap::Allocation *A = Devs.findAllocation(Address);
  // The application maps memory at reserved addresses itself.
  if (!A || A->Kind == ReservedAddresses)
    return false;
  std::lock_guard<std::mutex> Guard(ServerLock);
  auto Found = Gave.find(A->Address);
  if (Found == Gave.end()) {
    Given New;
    std::string Error =
        startServer() ? Devs.ownerOf(Address)->Mapping->exportRange(
                            A->Address, A->Size, New.Parts)
                      : "cannot open a socket: " + std::string(strerror(errno));
    if (!Error.empty()) {
      tell("mneme: error: device memory cannot be shared with other processes "
           "without --ipc: %s\n",
           Error.c_str());
      return false;
    }
    // Small numbers are the application's.
    for (CudaMapping::ExportedChunk &C : New.Parts)
      C.File = moveAway(C.File);
    New.Id = ++NextId;
    Found = Gave.emplace(A->Address, std::move(New)).first;
  }
  HandleBytes Bytes = {};
  memcpy(Bytes.Magic, Magic, sizeof(Magic));
  Bytes.Process = Process;
  Bytes.Id = Found->second.Id;
  memcpy(&Handle, &Bytes, sizeof(Bytes));
  if (!HasTold)
    tell("mneme: note: device memory is shared with other processes: without "
         "--ipc, only processes that are recorded can open it\n");
  HasTold = true;
  return true;
}

void SharedMemory::forget(uint64_t Address) {
  std::lock_guard<std::mutex> Guard(ServerLock);
  auto I = Gave.find(Address);
  if (I == Gave.end())
    return;
  for (const CudaMapping::ExportedChunk &C : I->second.Parts)
    close(C.File);
  Gave.erase(I);
}

void SharedMemory::forget(const Gpu &G) {
  for (auto I = Gave.lower_bound(G.begin());
       I != Gave.end() && I->first < G.end();) {
    uint64_t Address = I->first;
    ++I;
    forget(Address);
  }
}

/// Starts a thread that sends descriptors. With the server's lock.
bool SharedMemory::startServer() {
  if (Listener >= 0)
    return true;
  uint64_t Number;
  if (getrandom(&Number, sizeof(Number), 0) != sizeof(Number))
    return false;
  sockaddr_un A;
  socklen_t Size = addressOf(Number, A);
  int S = moveAway(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  if (S < 0)
    return false;
  if (bind(S, reinterpret_cast<sockaddr *>(&A), Size) || listen(S, SOMAXCONN)) {
    close(S);
    return false;
  }
  Listener = S;
  int E = startThread(
      [](void *This) -> void * {
        static_cast<SharedMemory *>(This)->serve();
        return nullptr;
      },
      this);
  if (E) {
    close(S);
    Listener = -1;
    errno = E;
    return false;
  }
  Process = Number;
  return true;
}

void SharedMemory::serve() {
  for (;;) {
    OwnedDescriptor Client(accept4(Listener, nullptr, nullptr, SOCK_CLOEXEC));
    if (Client < 0)
      usleep(1000); // Too many open files, for example.
    else if (isSameUser(Client))
      answer(Client);
  }
}

void SharedMemory::answer(int Client) {
  limitTime(Client);
  HandleBytes Request;
  if (!receiveMessage(Client, &Request, sizeof(Request)))
    return;
  // A client that does not read must not stop what needs the lock.
  AnswerHead Head = {};
  std::vector<uint64_t> Sizes;
  OwnedFiles Files;
  if (!attempt([&] {
        std::lock_guard<std::mutex> Guard(ServerLock);
        auto I = std::find_if(Gave.begin(), Gave.end(), [&](const auto &G) {
          return G.second.Id == Request.Id;
        });
        if (I == Gave.end())
          return;
        const auto &Parts = I->second.Parts;
        for (const CudaMapping::ExportedChunk &C : Parts) {
          Sizes.push_back(C.Size);
          makeRoom(Files.Numbers, Files.Numbers.size() + 1);
          Files.Numbers.push_back(fcntl(C.File, F_DUPFD_CLOEXEC, 0));
        }
        Head = {Parts.size(), I->first - Parts.front().Address};
      }))
    return;
  if (!sendMessage(Client, &Head, sizeof(Head)))
    return;
  for (size_t I = 0; I != Sizes.size(); ++I)
    if (Files.Numbers[I] < 0 ||
        !sendMessage(Client, &Sizes[I], sizeof(Sizes[I]), Files.Numbers[I]))
      return;
}

//===----------------------------------------------------------------------===//
// The process that opens it
//===----------------------------------------------------------------------===//

uint64_t SharedMemory::Opened::size() const {
  uint64_t Sum = 0;
  for (uint64_t Size : Sizes)
    Sum += Size;
  return Sum;
}

/// Gets the memory's size and descriptors. \returns an empty string, or what
/// went wrong. May throw.
static std::string request(uint64_t Process, uint64_t Id, uint64_t &Offset,
                           std::vector<uint64_t> &Sizes,
                           std::vector<int> &Files) {
  static constexpr char Gone[] =
      "the process has ended, has freed it, or has another user";
  OwnedDescriptor S(socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0));
  sockaddr_un A;
  socklen_t Size = addressOf(Process, A);
  if (S < 0)
    return strerror(errno);
  limitTime(S);
  HandleBytes Request = {};
  memcpy(Request.Magic, Magic, sizeof(Magic));
  Request.Process = Process;
  Request.Id = Id;
  AnswerHead Head;
  if (connect(S, reinterpret_cast<sockaddr *>(&A), Size) || !isSameUser(S) ||
      !sendMessage(S, &Request, sizeof(Request)) ||
      !receiveMessage(S, &Head, sizeof(Head)) || !Head.Count)
    return Gone;
  Offset = Head.Offset;
  for (uint64_t I = 0; I != Head.Count; ++I) {
    uint64_t Bytes;
    int File;
    makeRoom(Files, Files.size() + 1);
    Sizes.push_back(0);
    if (!receiveMessage(S, &Bytes, sizeof(Bytes), &File))
      return Gone;
    Files.push_back(File);
    Sizes.back() = Bytes;
  }
  return "";
}

bool SharedMemory::tryOpenHandle(const CudaRuntime &R, void *&Ptr,
                                 const IpcMemHandle &Handle) {
  HandleBytes Bytes;
  memcpy(&Bytes, &Handle, sizeof(Bytes));
  if (memcmp(Bytes.Magic, Magic, sizeof(Magic)) || TapState::Forked)
    return false;
  std::string Error = "out of memory";
  Opened New = {Bytes.Process, Bytes.Id, nullptr, 0, {}};
  attempt([&] {
    OwnedFiles Files;
    std::unique_lock<std::mutex> Guard(State.Lock);
    Error = prepare(R, New);
    if (Error.empty() && find(New) == Open.end()) {
      // The other process may be slow.
      Guard.unlock();
      Error =
          request(New.Process, New.Id, New.Offset, New.Sizes, Files.Numbers);
      Guard.lock();
    }
    if (Error.empty())
      Error = open(Ptr, New, Files.Numbers);
  });
  if (!Error.empty()) {
    tell("mneme: error: cannot open device memory of another process: %s\n",
         Error.c_str());
    return false;
  }
  return true;
}

/// Sets the context. \returns an empty string, or what went wrong.
std::string SharedMemory::prepare(const CudaRuntime &R, Opened &New) {
  if (!Driver.load())
    return Driver.problem();
  if (!Driver->MemImportFromShareableHandle)
    return "the driver is too old";
  if (New.Process == Process)
    return "it belongs to this process";
  // Without a context the driver fails, where the runtime makes one.
  if (!Driver.currentContext() && (!R.IpcOpenMemHandle || Devs.makeContext(R)))
    return "there is no context";
  New.Owner = Driver.currentContext();
  return "";
}

std::map<CUdeviceptr, SharedMemory::Opened>::iterator
SharedMemory::find(const Opened &Same) {
  return std::find_if(Open.begin(), Open.end(), [&](const auto &O) {
    return O.second.Process == Same.Process && O.second.Id == Same.Id &&
           O.second.Owner == Same.Owner;
  });
}

/// Maps what request() has found, or uses a mapping again. \returns an empty
/// string, or what went wrong. May throw, with nothing done.
std::string SharedMemory::open(void *&Ptr, Opened &New,
                               const std::vector<int> &Files) {
  auto Known = find(New);
  if (Known != Open.end()) {
    ++Known->second.Uses;
  } else if (Files.empty()) {
    return "another thread has closed it";
  } else {
    std::map<CUdeviceptr, Opened> Entry;
    Entry.emplace(0, std::move(New));
    auto Node = Entry.extract(Entry.begin());
    const Opened &O = Node.mapped();
    if (CUresult E = Driver->MemAddressReserve(&Node.key(), O.size(), 0, 0, 0))
      return "cannot reserve addresses: " + Driver->describe(E);
    std::string Error = map(Node.key(), O.Sizes, Files);
    if (!Error.empty())
      return Error;
    Known = Open.insert(std::move(Node)).position;
    Foreign.noteOfOthers(Known->first, Known->second.size());
  }
  // As the driver does, for a handle of any address in the allocation.
  Ptr = reinterpret_cast<void *>(Known->first + Known->second.Offset);
  return "";
}

/// Forgets what was opened in a context that is reset.
void SharedMemory::forget(CUcontext Gone) {
  for (auto I = Open.begin(); I != Open.end();) {
    auto O = I++;
    if (O->second.Owner != Gone)
      continue;
    unmap(O->first, O->second.Sizes, O->second.Sizes.size());
    Open.erase(O);
  }
}

/// Maps the memory behind \p Files into the addresses at \p Base, and frees the
/// addresses if that fails. \returns an empty string, or what went wrong.
std::string SharedMemory::map(CUdeviceptr Base,
                              const std::vector<uint64_t> &Sizes,
                              const std::vector<int> &Files) {
  constexpr int PosixFile = 1;
  CUdevice Device = 0;
  CUresult E = Driver->CtxGetDevice(&Device);
  uint64_t Size = 0;
  size_t NumMapped = 0;
  for (size_t I = 0; I != Files.size() && !E; ++I) {
    CUmemHandle Handle;
    E = Driver->MemImportFromShareableHandle(
        &Handle, reinterpret_cast<void *>(intptr_t(Files[I])), PosixFile);
    if (E)
      break;
    E = Driver->MemMap(Base + Size, Sizes[I], 0, Handle, 0);
    // The mapping keeps the memory.
    Driver->MemRelease(Handle);
    if (E)
      break;
    ++NumMapped;
    Size += Sizes[I];
  }
  auto Allow = [&](CUdevice Who) {
    CUmemAccessDesc Access = {{1, Who}, 3};
    return Driver->MemSetAccess(Base, Size, &Access, 1);
  };
  if (!E)
    E = Allow(Device);
  if (E) {
    unmap(Base, Sizes, NumMapped);
    return "cannot map it: " + Driver->describe(E);
  }
  for (const auto &G : Devs.all())
    if (G->Device != Device)
      Allow(G->Device); // Peers, if they can.
  return "";
}

void SharedMemory::unmap(CUdeviceptr Base, const std::vector<uint64_t> &Sizes,
                         size_t NumMapped) {
  CUdeviceptr At = Base;
  uint64_t Size = 0;
  for (size_t I = 0; I != Sizes.size(); ++I) {
    if (I < NumMapped)
      Driver->MemUnmap(At, Sizes[I]);
    At += Sizes[I];
    Size += Sizes[I];
  }
  Driver->MemAddressFree(Base, Size);
}

bool SharedMemory::tryCloseHandle(void *Ptr) {
  if (TapState::Forked)
    return false;
  std::unique_lock<std::mutex> Guard(State.Lock);
  auto Address = reinterpret_cast<uint64_t>(Ptr);
  auto I = Open.upper_bound(Address);
  if (I == Open.begin())
    return false;
  --I;
  if (Address - I->first >= I->second.size())
    return false;
  if (--I->second.Uses)
    return true;
  auto Closed = Open.extract(I);
  Foreign.forgetOfOthers(Closed.key(), Closed.mapped().size());
  // The device may wait for another thread that launches or allocates.
  Guard.unlock();
  Waiter::Failures Failed;
  Driver.waiter().wait({Closed.mapped().Owner}, UINT64_MAX, Failed);
  // A device that has failed, or that is captured, may still use it.
  if (Failed.empty())
    unmap(Closed.key(), Closed.mapped().Sizes, Closed.mapped().Sizes.size());
  return true;
}

void SharedMemory::noteOpened(void *Ptr) {
  CUdeviceptr Base = 0;
  size_t Size = 0;
  const CudaRuntime &Functions = driverRuntime();
  if (TapState::Forked || !Functions.DriverMemGetAddressRange ||
      Functions.DriverMemGetAddressRange(&Base, &Size,
                                         reinterpret_cast<CUdeviceptr>(Ptr)))
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  Foreign.noteOfOthers(Base, Size);
}

void SharedMemory::noteImported(unsigned long long Handle) {
  if (TapState::Forked)
    return;
  std::lock_guard<std::mutex> Guard(State.Lock);
  attempt([&] { Imported.insert(Handle); });
}

bool SharedMemory::isImported(unsigned long long Handle) {
  if (TapState::Forked)
    return false;
  std::lock_guard<std::mutex> Guard(State.Lock);
  return Imported.count(Handle);
}
