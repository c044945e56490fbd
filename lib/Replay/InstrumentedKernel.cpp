//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "InstrumentedKernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Transforms/Trace.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

/// Marks are read in pieces of this size.
static constexpr uint64_t PieceBytes = uint64_t(4) << 20;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

ScratchMemory::~ScratchMemory() {
  if (!Address)
    return;
  if (GPUDevice *GPU = D.asGPU())
    consumeError(GPU->release(Address)); // Fails if the device is lost.
  else
    munmap(reinterpret_cast<void *>(Address), Size);
}

Error ScratchMemory::allocate() {
  if (GPUDevice *GPU = D.asGPU()) {
    if (Error E = GPU->allocate(Size).moveInto(Address))
      return E;
    return GPU->fill(Address, 0, Size);
  }
  void *P = mmap(nullptr, Size, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (P == MAP_FAILED)
    return createStringError(errnoAsErrorCode(),
                             "cannot map memory for the marks");
  Address = reinterpret_cast<uint64_t>(P);
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Code
//===----------------------------------------------------------------------===//

Error InstrumentedKernel::compile(ReplayOptions O, StringRef Pass) {
  O.LaunchTimeout = O.launchTimeout() > 0
                        ? std::min(O.launchTimeout(), 10 * LaunchSeconds)
                        : 10 * LaunchSeconds;
  // Instrumentation multiplies the code, and optimizing it takes longer than
  // running it once.
  O.Host.Finish = HostFinish::Min;
  // What is written and compared is the code without instrumentation.
  O.OutputIR = O.OutputAsm = O.OutputObject = O.OutputHostAsm = "";
  O.CompareWithApp = "";
  O.Instruments = {};
  Expected<std::unique_ptr<ReplayPlan>> Base =
      Plan.vary(O, /*WillCompile=*/false);
  if (!Base)
    return Base.takeError();
  StringRef Own = (*Base)->compiler().pipeline();
  O.Passes = (Own + (Own.empty() ? "" : ",") + Pass).str();
  if (Error E = Plan.vary(std::move(O)).moveInto(Instrumented))
    return E;
  Expected<CompiledKernel> Code = compileVariant(
      *Instrumented, D.asGPU() ? CodeTarget::GPU : CodeTarget::Host,
      [&](ReplayStage) { Report(); });
  if (!Code)
    return Code.takeError();
  if (Code->failed())
    return createStringError(Code->Error);
  Image = Code->Image.Object;
  return D.load(Code->Image, Instrumented->globals()).moveInto(Kernel);
}

Expected<LaunchOutcome> InstrumentedKernel::sample(double Nanoseconds,
                                                   PCReading &Reading) {
  auto Prepare = [&]() -> Error {
    Report();
    return Memory.restore();
  };
  return Memory.sample(*Kernel, Instrumented->launch(), Image, Nanoseconds,
                       Prepare, Reading);
}

Error InstrumentedKernel::launch(function_ref<Error()> Prepare) {
  Report();
  if (Error E = Memory.restore())
    return E;
  if (Prepare)
    if (Error E = Prepare())
      return E;
  LaunchConfig Config = Instrumented->launch();
  Config.Schedule = {}; // What is read does not depend on it.
  Expected<LaunchOutcome> Outcome = Memory.launch(*Kernel, Config);
  if (!Outcome)
    return Outcome.takeError();
  Nanoseconds = Outcome->Nanoseconds;
  if (Outcome->Status == LaunchStatus::Ok)
    return Error::success();
  Memory.markAllDirty();
  return createStringError(Outcome->describe());
}

//===----------------------------------------------------------------------===//
// Marks
//===----------------------------------------------------------------------===//

/// Size of the control data, which precedes the marks.
static constexpr uint64_t ControlBytes = 16;

static uint64_t countBytes(const ReplayPlan &Plan) {
  uint64_t Bytes = 0;
  for (const RecordedRegion &R : Plan.state().regions())
    Bytes += R.Info.Size;
  return Bytes;
}

AccessMarks::AccessMarks(const ReplayPlan &Plan, Device &D)
    : Plan(Plan), D(D), Memory(D, ControlBytes + 2 * countBytes(Plan)) {}

std::string AccessMarks::pass() const {
  TraceOptions O;
  O.Control = Memory.address();
  O.ReadFirst = countBytes(Plan);
  if (D.asGPU())
    O.Limit = InstrumentedKernel::LaunchSeconds * 1e9;
  uint64_t Mark = Memory.address() + ControlBytes;
  for (const RecordedRegion &R : Plan.state().regions()) {
    if (R.Info.Size)
      O.Ranges.push_back({R.Info.Address, R.Info.Address + R.Info.Size, Mark});
    Mark += R.Info.Size;
  }
  return toString(O);
}

Error AccessMarks::turnOff() {
  char Off = 1;
  return D.write(Memory.address(), {&Off, 1});
}

namespace {
/// Counts the sectors of memory with a mark in some bits. Pieces come in the
/// order of their addresses, and may begin and end within a sector.
class SectorCounter {
public:
  explicit SectorCounter(char Bits) : Bits(Bits) {}

  void add(uint64_t Address, ArrayRef<char> Marks) {
    while (!Marks.empty()) {
      uint64_t Sector = Address / SectorBytes,
               Bytes = std::min<uint64_t>(SectorBytes - Address % SectorBytes,
                                          Marks.size());
      char All = 0;
      for (char Mark : Marks.take_front(Bytes))
        All |= Mark;
      if (All & Bits) {
        Count += Sector != Last;
        Last = Sector;
      }
      Address += Bytes;
      Marks = Marks.drop_front(Bytes);
    }
  }
  uint64_t bytes() const { return Count * SectorBytes; }

private:
  char Bits;
  uint64_t Count = 0, Last = ~uint64_t(0);
};
} // namespace

Expected<LaunchWork> AccessMarks::read(ReadFn Read) {
  char Late = 0;
  if (Error E = D.read(Memory.address(), {&Late, 1}))
    return std::move(E);
  if (Late)
    return createStringError(formatv("a traced launch takes longer than {0} s",
                                     InstrumentedKernel::LaunchSeconds)
                                 .str());
  std::vector<char> Written, ReadFirst;
  uint64_t Mark = Memory.address() + ControlBytes, Distance = countBytes(Plan);
  // What another block wrote before it is read (bit 1) may come from a cache.
  SectorCounter Reads(1), Writes('\xff');
  for (auto [I, R] : enumerate(Plan.state().regions())) {
    for (uint64_t Begin = 0; Begin < R.Info.Size; Begin += PieceBytes) {
      uint64_t Bytes = std::min(PieceBytes, R.Info.Size - Begin);
      Written.resize(Bytes);
      ReadFirst.resize(Bytes);
      if (Error E = D.read(Mark + Begin, Written))
        return std::move(E);
      if (Error E = D.read(Mark + Begin + Distance, ReadFirst))
        return std::move(E);
      Reads.add(R.Info.Address + Begin, ReadFirst);
      Writes.add(R.Info.Address + Begin, Written);
      if (Read)
        Read(I, Begin, Written, ReadFirst);
    }
    Mark += R.Info.Size;
  }
  LaunchWork W;
  W.ReadBytes = Reads.bytes();
  W.WrittenBytes = Writes.bytes();
  return W;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

Expected<WorkCounts> mneme::countRecordedWork(const ReplayPlan &Plan, Device &D,
                                              Replayer &Memory,
                                              function_ref<void()> Report) {
  ScratchMemory Counters(D, WorkStripes * WorkStripeBytes);
  if (Error E = Counters.allocate())
    return std::move(E);
  InstrumentedKernel Kernel(Plan, D, Memory, Report);
  if (Error E = Kernel.compile(getBaselineOptions(Plan.options()),
                               printCountPass(Counters.address())))
    return std::move(E);
  if (Error E = Kernel.launch())
    return std::move(E);
  constexpr uint64_t Words = WorkStripeBytes / sizeof(uint64_t);
  std::vector<uint64_t> Values(WorkStripes * Words);
  if (Error E =
          D.read(Counters.address(), {reinterpret_cast<char *>(Values.data()),
                                      WorkStripes * WorkStripeBytes}))
    return std::move(E);
  WorkCounts Sum = {};
  for (uint64_t S = 0; S != WorkStripes; ++S)
    for (size_t K = 0; K != NumWorkKinds; ++K)
      Sum[K] += Values[S * Words + K];
  return Sum;
}

//===----------------------------------------------------------------------===//
// Variants
//===----------------------------------------------------------------------===//

static RegionBits makeBits(const ReplayPlan &Plan) {
  RegionBits Bits;
  for (const RecordedRegion &R : Plan.state().regions())
    Bits.emplace_back(R.Info.Size);
  return Bits;
}

static void setBits(BitVector &Bits, uint64_t Begin, ArrayRef<char> Marks) {
  for (auto [I, Mark] : enumerate(Marks))
    if (Mark)
      Bits.set(Begin + I);
}

Expected<LaunchWork> mneme::traceVariant(const ReplayPlan &Plan,
                                         const ReplayPlan &Variant, Device &D,
                                         Replayer &Memory,
                                         function_ref<void()> Report,
                                         RegionBits &Read) {
  AccessMarks Marks(Plan, D);
  if (Error E = Marks.allocate())
    return std::move(E);
  InstrumentedKernel Kernel(Plan, D, Memory, Report);
  if (Error E = Kernel.compile(Variant.options(), Marks.pass()))
    return std::move(E);
  if (Error E = Kernel.launch())
    return std::move(E);
  Memory.markAllDirty();
  Read = makeBits(Plan);
  return Marks.read([&](size_t Region, uint64_t Begin, ArrayRef<char>,
                        ArrayRef<char> ReadFirst) {
    setBits(Read[Region], Begin, ReadFirst);
  });
}

Expected<RecordedAccesses> mneme::traceRecorded(const ReplayPlan &Plan,
                                                AccessMarks &Marks,
                                                InstrumentedKernel &Kernel) {
  if (Error E = Marks.allocate())
    return std::move(E);
  if (Error E =
          Kernel.compile(getBaselineOptions(Plan.options()), Marks.pass()))
    return std::move(E);
  if (Error E = Kernel.launch())
    return std::move(E);
  RecordedAccesses A{makeBits(Plan), makeBits(Plan)};
  if (Error E = Marks
                    .read([&](size_t Region, uint64_t Begin,
                              ArrayRef<char> Writes, ArrayRef<char> ReadFirst) {
                      setBits(A.Read[Region], Begin, ReadFirst);
                      setBits(A.Written[Region], Begin, Writes);
                    })
                    .takeError())
    return std::move(E);
  if (Error E = Marks.turnOff())
    return std::move(E);
  return std::move(A);
}

namespace {
/// How to change an element of a type: a zero becomes One; otherwise the bits
/// of Flip in byte At change, by a part of a floating-point number's value.
struct ElementChange {
  uint32_t DType;
  unsigned Size;
  uint64_t One;
  unsigned At;
  char Flip;
};
} // namespace

static constexpr ElementChange ElementChanges[] = {
    {MNEME_DTYPE_F16, 2, 0x3c00, 1, 1},
    {MNEME_DTYPE_BF16, 2, 0x3f80, 0, 0x20},
    {MNEME_DTYPE_F32, 4, 0x3f800000, 2, 0x20},
    {MNEME_DTYPE_F64, 8, 0x3ff0000000000000, 6, 4},
    {MNEME_DTYPE_I8, 1, 1, 0, 1},
    {MNEME_DTYPE_U8, 1, 1, 0, 1},
    {MNEME_DTYPE_I16, 2, 1, 0, 1},
    {MNEME_DTYPE_U16, 2, 1, 0, 1},
    {MNEME_DTYPE_I64, 8, 1, 0, 1},
    {MNEME_DTYPE_U64, 8, 1, 0, 1},
};

static ElementChange getChange(uint32_t DType) {
  for (const ElementChange &C : ElementChanges)
    if (C.DType == DType)
      return C;
  return {DType, 4, 1, 0, 1};
}

static void change(MutableArrayRef<char> Element, const ElementChange &C) {
  if (all_of(Element, [](char Byte) { return Byte == 0; }))
    std::memcpy(Element.data(), &C.One, C.Size);
  else
    Element[C.At] ^= C.Flip;
}

Expected<bool> mneme::dependsOnUnread(const ReplayPlan &Plan,
                                      const RegionBits &Read,
                                      ArrayRef<uint32_t> Types,
                                      const ComparePlan &Rules, Device &D,
                                      Replayer &Memory,
                                      function_ref<void()> Report) {
  AccessMarks Marks(Plan, D);
  InstrumentedKernel Kernel(Plan, D, Memory, Report);
  Expected<RecordedAccesses> Own = traceRecorded(Plan, Marks, Kernel);
  if (!Own)
    return Own.takeError();
  Memory.markAllDirty();
  // The contents of the regions with changes, before them.
  std::vector<std::vector<char>> Before(Own->Read.size());
  auto Perturb = [&]() -> Error {
    for (auto [I, R] : enumerate(Plan.state().regions())) {
      ElementChange C = getChange(Types[I]);
      std::vector<char> Now;
      for (uint64_t At = 0; At + C.Size <= R.Info.Size; At += C.Size) {
        auto HasAny = [&](const BitVector &Bits) {
          return Bits.find_first_in(At, At + C.Size) >= 0;
        };
        if (!HasAny(Own->Read[I]) || HasAny(Read[I]))
          continue;
        if (Now.empty()) {
          Before[I].resize(R.Info.Size);
          if (Error E = D.read(R.Info.Address, Before[I]))
            return E;
          Now = Before[I];
        }
        change(MutableArrayRef(Now).slice(At, C.Size), C);
      }
      if (!Now.empty())
        if (Error E = D.write(R.Info.Address, Now))
          return E;
    }
    return Error::success();
  };
  if (Error E = Kernel.launch(Perturb)) {
    // An index out of range, for example.
    consumeError(std::move(E));
    return true;
  }
  // What the launch only read is as it was.
  for (auto [I, R] : enumerate(Plan.state().regions())) {
    if (Before[I].empty())
      continue;
    std::vector<char> Now(R.Info.Size);
    if (Error E = D.read(R.Info.Address, Now))
      return std::move(E);
    for (auto [At, Byte] : enumerate(Now))
      if (!Own->Written[I].test(At))
        Byte = Before[I][At];
    if (Error E = D.write(R.Info.Address, Now))
      return std::move(E);
  }
  Expected<MemoryComparison> C = Memory.compare(Rules);
  Memory.markAllDirty();
  if (!C)
    return C.takeError();
  return C->Stray || any_of(C->Buffers, [](const BufferReport &B) {
           return !B.Stats.Pass;
         });
}
