//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The host as a device: the arena and the code of kernels are in this process.
///
//===----------------------------------------------------------------------===//

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include <cstring>
#include <map>
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr uint64_t PageSize = 4096;

static Error errnoError(const Twine &What) {
  std::error_code EC = errnoAsErrorCode();
  return createStringError(EC, What + ": " + EC.message());
}

StringRef mneme::getLaunchStatusName(LaunchStatus S) {
  switch (S) {
  case LaunchStatus::Ok:
    return "ok";
  case LaunchStatus::InvalidConfiguration:
    return "invalid-configuration";
  case LaunchStatus::IllegalAddress:
    return "illegal-address";
  case LaunchStatus::Timeout:
    return "timeout";
  case LaunchStatus::Trap:
    return "trap";
  case LaunchStatus::Assert:
    return "assert";
  case LaunchStatus::IllegalInstruction:
    return "illegal-instruction";
  case LaunchStatus::Unsupported:
    return "unsupported";
  case LaunchStatus::Deadlock:
    return "deadlock";
  case LaunchStatus::OutOfMemory:
    return "out-of-memory";
  }
  llvm_unreachable("unknown launch status");
}

std::string LaunchOutcome::describe() const {
  return Message.empty() ? getLaunchStatusName(Status).str() : Message;
}

static constexpr StringLiteral ParallelName = "parallel",
                               SequentialName = "sequential",
                               ShuffledName = "shuffled", RandomName = "random";

Expected<HostSchedule> HostSchedule::parse(StringRef Text) {
  if (Text.empty() || Text == ParallelName)
    return HostSchedule{Parallel};
  if (Text == SequentialName)
    return HostSchedule{Sequential};
  auto [Name, Digits] = Text.split(':');
  HostSchedule S{Name == RandomName ? Random : Shuffled};
  if ((Name == RandomName || Name == ShuffledName) &&
      to_integer(Digits, S.Seed, 10))
    return S;
  return createStringError("unknown host schedule '" + Text +
                           "': expected parallel, sequential, shuffled:SEED "
                           "or random:SEED, where SEED is a number");
}

std::string HostSchedule::toString() const {
  switch (Order) {
  case Parallel:
    return ParallelName.str();
  case Sequential:
    return SequentialName.str();
  case Shuffled:
    return (ShuffledName + ":" + Twine(Seed)).str();
  case Random:
    return (RandomName + ":" + Twine(Seed)).str();
  }
  llvm_unreachable("unknown order");
}

static LaunchStatus toLaunchStatus(int Status) {
  switch (Status) {
  case MNEME_HOST_OK:
    return LaunchStatus::Ok;
  case MNEME_HOST_INVALID_CONFIG:
    return LaunchStatus::InvalidConfiguration;
  case MNEME_HOST_ILLEGAL_ADDRESS:
    return LaunchStatus::IllegalAddress;
  case MNEME_HOST_TIMEOUT:
    return LaunchStatus::Timeout;
  case MNEME_HOST_TRAP:
    return LaunchStatus::Trap;
  case MNEME_HOST_ASSERT:
    return LaunchStatus::Assert;
  case MNEME_HOST_ILLEGAL_INSTRUCTION:
    return LaunchStatus::IllegalInstruction;
  case MNEME_HOST_UNSUPPORTED:
    return LaunchStatus::Unsupported;
  case MNEME_HOST_DEADLOCK:
    return LaunchStatus::Deadlock;
  default:
    return LaunchStatus::OutOfMemory;
  }
}

namespace {
class HostDeviceKernel final : public DeviceKernel {
public:
  HostKernelInfo Info;
  MnemeHostKernel Kernel = {};
  void *Code = nullptr;
  size_t CodeSize = 0;
  /// The writable parts of the code, as they were linked.
  std::vector<LinkedSegment> Writable;

  bool keepsState() const override {
    return Kernel.StaticShared || !Writable.empty();
  }

  ~HostDeviceKernel() override {
    if (Code)
      munmap(Code, CodeSize);
  }
};

class HostDevice final : public Device {
  uint64_t ArenaBase = 0, ArenaSize = 0;
  std::map<uint64_t, uint64_t> Outside; ///< Pages of mapOutside(): to the end.

public:
  ~HostDevice() override {
    if (ArenaSize)
      munmap(reinterpret_cast<void *>(ArenaBase), ArenaSize);
    for (auto [Begin, End] : Outside)
      munmap(reinterpret_cast<void *>(Begin), End - Begin);
  }

  std::string getName() const override { return "host"; }
  std::string getArch() const override { return {}; }
  Error reserveArena(uint64_t Base, uint64_t Size) override;
  Error mapMemory(uint64_t Address, uint64_t Size) override;
  Error mapOutside(uint64_t Address, uint64_t Size) override;
  uint64_t mappingGranule() const override { return PageSize; }
  Error write(uint64_t Address, ArrayRef<char> Data) override;
  Error read(uint64_t Address, MutableArrayRef<char> Data) override;
  Expected<std::unique_ptr<DeviceKernel>>
  load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) override;
  Expected<LaunchOutcome> launch(DeviceKernel &Kernel,
                                 const LaunchConfig &Config,
                                 ArrayRef<void *> Args) override;
};
} // namespace

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// Reserves whole pages; fails if the range is in use.
static Error reservePages(uint64_t Base, uint64_t Size) {
  void *Wanted = reinterpret_cast<void *>(Base);
  void *Got = mmap(
      Wanted, Size, PROT_NONE,
      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (Got == MAP_FAILED)
    return errnoError("cannot reserve " + Twine(Size) + " bytes at 0x" +
                      utohexstr(Base));
  if (Got != Wanted) { // a kernel that does not know the flag
    munmap(Got, Size);
    return createStringError("cannot reserve " + Twine(Size) + " bytes at 0x" +
                             utohexstr(Base) + ": taken");
  }
  return Error::success();
}

/// Makes reserved pages accessible and zeroes the range.
static Error commitPages(uint64_t Address, uint64_t Size) {
  uint64_t Begin = alignDown(Address, PageSize);
  uint64_t End = alignTo(Address + Size, PageSize);
  if (mprotect(reinterpret_cast<void *>(Begin), End - Begin,
               PROT_READ | PROT_WRITE) != 0)
    return errnoError("cannot map " + Twine(Size) + " bytes at 0x" +
                      utohexstr(Address));
  // New pages are zero; only those at the ends can belong to another range,
  // too.
  uint64_t Head = std::min(alignTo(Address, PageSize), Address + Size);
  uint64_t Tail = std::max(alignDown(Address + Size, PageSize), Head);
  std::memset(reinterpret_cast<void *>(Address), 0, Head - Address);
  std::memset(reinterpret_cast<void *>(Tail), 0, Address + Size - Tail);
  return Error::success();
}

Error HostDevice::reserveArena(uint64_t Base, uint64_t Size) {
  if (ArenaSize)
    return createStringError("the host device has an arena already");
  if (Base % PageSize != 0 || Size % PageSize != 0 || Size == 0)
    return createStringError("arena 0x" + utohexstr(Base) + " of " +
                             Twine(Size) +
                             " bytes is not a multiple of the page size");
  if (Error E = reservePages(Base, Size))
    return E;
  ArenaBase = Base;
  ArenaSize = Size;
  return Error::success();
}

Error HostDevice::mapMemory(uint64_t Address, uint64_t Size) {
  if (Size == 0)
    return Error::success();
  if (Address < ArenaBase || Address - ArenaBase > ArenaSize ||
      Size > ArenaSize - (Address - ArenaBase))
    return createStringError("0x" + utohexstr(Address) + " of " + Twine(Size) +
                             " bytes is outside the arena");
  return commitPages(Address, Size);
}

Error HostDevice::mapOutside(uint64_t Address, uint64_t Size) {
  if (Size == 0)
    return Error::success();
  uint64_t End = alignTo(Address + Size, PageSize);
  for (uint64_t At = alignDown(Address, PageSize); At < End;) {
    auto Next = Outside.upper_bound(At);
    if (Next != Outside.begin())
      if (uint64_t Known = std::prev(Next)->second; Known > At) {
        At = Known;
        continue;
      }
    uint64_t Stop =
        Next == Outside.end() ? End : std::min(End, Next->first);
    if (Error E = reservePages(At, Stop - At))
      return E;
    Outside[At] = Stop;
    At = Stop;
  }
  return commitPages(Address, Size);
}

Error HostDevice::write(uint64_t Address, ArrayRef<char> Data) {
  if (mneme_host_copy(reinterpret_cast<void *>(Address), Data.data(),
                      Data.size(), /*AsksHandlers=*/false) == 0)
    return Error::success();
  return createStringError("cannot write " + Twine(Data.size()) +
                           " bytes at 0x" + utohexstr(Address) +
                           ": not mapped");
}

Error HostDevice::read(uint64_t Address, MutableArrayRef<char> Data) {
  if (mneme_host_copy(Data.data(), reinterpret_cast<const void *>(Address),
                      Data.size(), /*AsksHandlers=*/false) == 0)
    return Error::success();
  return createStringError("cannot read " + Twine(Data.size()) +
                           " bytes at 0x" + utohexstr(Address) +
                           ": not mapped");
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static const StringMap<uint64_t> &getExecutorSymbols() {
  static const StringMap<uint64_t> *Symbols = [] {
    auto *Map = new StringMap<uint64_t>;
    size_t Count = 0;
    const MnemeHostSymbol *Table = mneme_host_symbols(&Count);
    for (const MnemeHostSymbol &S : ArrayRef(Table, Count))
      (*Map)[S.Name] = reinterpret_cast<uint64_t>(S.Address);
    return Map;
  }();
  return *Symbols;
}

Expected<std::unique_ptr<DeviceKernel>>
HostDevice::load(const DeviceImage &Image, ArrayRef<KernelGlobal> Globals) {
  if (!Image.HostInfo)
    return createStringError("image of kernel '" + Image.KernelName +
                             "' for '" + Image.Triple +
                             "' is not for the host device");
  auto Kernel = std::make_unique<HostDeviceKernel>();
  Kernel->Info = getHostKernelInfo(Image);

  StringMap<uint64_t> Addresses;
  for (const KernelGlobal &G : Globals)
    Addresses[G.Name] = G.Address;
  auto Lookup = [&](StringRef Name) -> uint64_t {
    if (uint64_t Address = Addresses.lookup(Name))
      return Address;
    return getExecutorSymbols().lookup(Name);
  };

  // The linker adds pages for alignment, a GOT and stubs.
  Kernel->CodeSize = alignTo(2 * Image.Object.size(), PageSize) + 64 * PageSize;
  void *Code = mmap(nullptr, Kernel->CodeSize, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Code == MAP_FAILED)
    return errnoError("cannot map " + Twine(Kernel->CodeSize) +
                      " bytes for code");
  Kernel->Code = Code;
  Expected<LinkedImage> Linked = linkHostObject(
      MemoryBufferRef(StringRef(Image.Object.data(), Image.Object.size()),
                      Kernel->Info.Name),
      Kernel->Info.Entry, reinterpret_cast<uint64_t>(Code), Kernel->CodeSize,
      Lookup);
  if (!Linked)
    return Linked.takeError();
  for (LinkedSegment &S : Linked->Segments) {
    void *Address = reinterpret_cast<void *>(S.Address);
    std::memcpy(Address, S.Contents.data(), S.Contents.size());
    if (mprotect(Address, alignTo(S.Contents.size(), PageSize), S.Protection))
      return errnoError("cannot protect code");
    if (S.Protection & PROT_WRITE)
      Kernel->Writable.push_back(std::move(S));
  }

  Kernel->Kernel = toExecutorKernel(Kernel->Info, Linked->Entry);
  Kernel->Kernel.Name = Kernel->Info.Name.c_str();
  return std::move(Kernel);
}

Expected<LaunchOutcome> HostDevice::launch(DeviceKernel &Kernel,
                                           const LaunchConfig &Config,
                                           ArrayRef<void *> Args) {
  auto &K = static_cast<HostDeviceKernel &>(Kernel);
  if (Args.size() != K.Info.NumArgs)
    return createStringError("kernel '" + K.Info.Name + "' takes " +
                             Twine(K.Info.NumArgs) + " arguments, not " +
                             Twine(Args.size()));
  LaunchOutcome Outcome;
  if (Config.DynamicShared > MNEME_HOST_SHARED_SIZE) {
    Outcome.Status = LaunchStatus::InvalidConfiguration;
    Outcome.Message = (Twine(Config.DynamicShared) +
                       " bytes of dynamic shared memory; there are " +
                       Twine(MNEME_HOST_SHARED_SIZE))
                          .str();
    return Outcome;
  }
  for (const LinkedSegment &S : K.Writable)
    std::memcpy(reinterpret_cast<void *>(S.Address), S.Contents.data(),
                S.Contents.size());
  MnemeHostLaunch Launch = {};
  Launch.Grid[0] = Config.Grid.X;
  Launch.Grid[1] = Config.Grid.Y;
  Launch.Grid[2] = Config.Grid.Z;
  Launch.Block[0] = Config.Block.X;
  Launch.Block[1] = Config.Block.Y;
  Launch.Block[2] = Config.Block.Z;
  Launch.DynamicShared = Config.DynamicShared;
  Launch.Cooperative = Config.Cooperative;
  if (Config.Cluster != Dim3())
    for (unsigned I = 0; I != 3; ++I)
      Launch.Cluster[I] = Config.Cluster[I];
  Launch.TimeoutSeconds = Config.TimeoutSeconds;
  bool IsParallel = Config.Schedule.Order == HostSchedule::Parallel ||
                    Config.Schedule.Order == HostSchedule::Shuffled;
  Launch.Workers = IsParallel ? 0 : 1;
  Launch.Random = Config.Schedule.Order == HostSchedule::Random;
  Launch.Shuffled = Config.Schedule.Order == HostSchedule::Shuffled;
  Launch.Seed = Config.Schedule.Seed;
  Launch.Fill = Config.Fill;
  Launch.Strict = Config.Schedule.Strict;
  Launch.Splits = Config.Schedule.Splits;
  Launch.Args = const_cast<void **>(Args.data());
  MnemeHostResult Result = {};
  Outcome.Status =
      toLaunchStatus(mneme_host_launch(&K.Kernel, &Launch, &Result));
  Outcome.Nanoseconds = Result.Nanoseconds;
  Outcome.Message = Result.Message;
  return Outcome;
}

std::unique_ptr<Device> mneme::createHostDevice() {
  return std::make_unique<HostDevice>();
}
