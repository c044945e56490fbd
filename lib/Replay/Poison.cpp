//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Poison.h"
#include "llvm/ADT/bit.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Transforms/Trace.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

/// Limit in seconds for a traced launch, which takes several to several dozen
/// times as long as a plain one.
static constexpr double TraceSeconds = 2;

/// Marks are read in pieces of this size.
static constexpr uint64_t PieceBytes = uint64_t(4) << 20;

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

std::shared_ptr<PoisonMask>
PoisonMask::create(ArrayRef<RecordedRegion> Regions) {
  std::shared_ptr<PoisonMask> Mask(new PoisonMask());
  for (const RecordedRegion &R : Regions) {
    Mask->Regions.push_back({R.Info.Size, nullptr});
    Mask->MemorySize += divideCeil(R.Info.Size, 8);
  }
  if (Mask->MemorySize == 0)
    return Mask;
  void *Memory = mmap(nullptr, Mask->MemorySize, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (Memory == MAP_FAILED) {
    Mask->MemorySize = 0;
    return nullptr;
  }
  Mask->Memory = Memory;
  auto *Bits = static_cast<uint8_t *>(Memory);
  for (RegionBits &R : Mask->Regions) {
    R.Bits = Bits;
    Bits += divideCeil(R.Size, 8);
  }
  return Mask;
}

PoisonMask::~PoisonMask() {
  if (Memory)
    munmap(Memory, MemorySize);
}

void PoisonMask::clear() { std::memset(Memory, 0, MemorySize); }

void PoisonMask::assign(const PoisonMask &Other) {
  std::memcpy(Memory, Other.Memory, MemorySize);
}

uint64_t PoisonMask::count() const {
  uint64_t Count = 0;
  for (uint8_t Bits : ArrayRef(static_cast<uint8_t *>(Memory), MemorySize))
    Count += llvm::popcount(Bits);
  return Count;
}

bool PoisonMask::any(size_t Region, uint64_t Begin, uint64_t End) const {
  for (; Begin != End; ++Begin)
    if (Begin % 8 == 0 && End - Begin >= 8) {
      if (Regions[Region].Bits[Begin / 8])
        return true;
      Begin += 7;
    } else if (test(Region, Begin)) {
      return true;
    }
  return false;
}

/// The finalizer of splitmix64.
static uint64_t scramble(uint64_t Z) {
  Z = (Z ^ Z >> 30) * 0xbf58476d1ce4e5b9u;
  Z = (Z ^ Z >> 27) * 0x94d049bb133111ebu;
  return Z ^ Z >> 31;
}

static uint64_t drawWord(const PoisonDraw &D, uint64_t Stream, uint64_t Index) {
  return scramble(scramble(Index + D.Keys[0]) ^
                  (D.Keys[1] + Stream * 0x9e3779b97f4a7c15u));
}

static bool hasZeroByte(uint64_t Word) {
  constexpr uint64_t Ones = 0x0101010101010101;
  return (Word - Ones) & ~Word & Ones << 7;
}

namespace {
/// The poison of a part of a region.
enum class PartFill {
  Recorded, ///< None: the recorded values.
  Outcome,  ///< The results: code must not depend on their absence.
  Zeros,
  Ones,
  Random,
};
} // namespace

/// Chooses the poison of the part of a region that contains \p Offset. All
/// parts of a quarter of the regions are random, no part of another quarter is,
/// and half of the parts of the others are.
static PartFill chooseFill(const PoisonDraw &D, size_t Region,
                           uint64_t Offset) {
  constexpr uint64_t PartBytes = 256, Own = uint64_t(1) << 32;
  if (!D.LeavesParts)
    return PartFill::Random;
  uint64_t Word = drawWord(D, Own + Region, 0), Share = Word % 4;
  bool IsRandom = Share == 0;
  if (Share > 1)
    IsRandom = drawWord(D, Own + Region, 1 + Offset / PartBytes) % 2 == 0;
  return IsRandom ? PartFill::Random
                  : PartFill((Word >> 8) % uint64_t(PartFill::Random));
}

void mneme::drawPadding(uint64_t Address, MutableArrayRef<char> Bytes,
                        const PoisonDraw &D) {
  constexpr uint64_t Stream = uint64_t(1) << 33; // Of no region.
  for (char &Byte : Bytes) {
    Byte = drawWord(D, Stream, Address / 8) >> 8 * (Address % 8);
    ++Address;
  }
}

void PoisonMask::draw(size_t Region, uint64_t Begin, ArrayRef<char> Outcome,
                      MutableArrayRef<char> Bytes, const PoisonDraw &D) const {
  const uint8_t *Bits = Regions[Region].Bits;
  for (uint64_t At = Begin, End = Begin + Bytes.size(), Next; At != End;
       At = Next) {
    Next = std::min(alignDown(At, 8) + 8, End);
    if (!Bits[At / 8])
      continue;
    PartFill Fill = chooseFill(D, Region, At);
    if (Fill != PartFill::Random) {
      for (; At != Next && Fill != PartFill::Recorded; ++At)
        if (Bits[At / 8] >> At % 8 & 1)
          Bytes[At - Begin] = Fill == PartFill::Outcome ? Outcome[At - Begin]
                              : Fill == PartFill::Zeros ? 0
                                                        : '\xff';
      continue;
    }
    uint64_t Word = drawWord(D, 2 * Region, At / 8);
    if (Bits[At / 8] == 0xff && Next - At == 8) {
      uint64_t Expected;
      std::memcpy(&Expected, &Outcome[At - Begin], 8);
      if (!hasZeroByte(Word ^ Expected)) {
        std::memcpy(&Bytes[At - Begin], &Word, 8);
        continue;
      }
    }
    for (; At != Next; ++At) {
      if (!(Bits[At / 8] >> At % 8 & 1))
        continue;
      char &Byte = Bytes[At - Begin];
      Byte = Word >> 8 * (At % 8);
      // A missing store must show in elements of one byte, too.
      for (uint64_t N = 0; Byte == Outcome[At - Begin]; ++N)
        Byte = drawWord(D, 2 * Region + 1, At + (N << 48));
    }
  }
}

//===----------------------------------------------------------------------===//
// Tracing
//===----------------------------------------------------------------------===//

namespace {
/// Device memory outside of the recorded memory.
class Scratch {
public:
  Scratch(Device &D, uint64_t Size) : D(D), Size(Size) {}
  Scratch(const Scratch &) = delete;
  ~Scratch() {
    if (!Address)
      return;
    if (GPUDevice *GPU = D.asGPU())
      consumeError(GPU->release(Address)); // Fails if the device is lost.
    else
      munmap(reinterpret_cast<void *>(Address), Size);
  }

  /// Allocates zeroed memory.
  Error allocate() {
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

  uint64_t address() const { return Address; }

private:
  Device &D;
  uint64_t Size, Address = 0;
};

/// Determines a mask by launching the recorded kernel.
class PoisonFinder {
public:
  PoisonFinder(const ReplayPlan &Plan, const ComparePlan &Rules, Device &D,
               Replayer &Memory, std::shared_ptr<PoisonMask> Mask,
               function_ref<void(ReplayStage)> Report)
      : Plan(Plan), Rules(Rules), D(D), Memory(Memory), Mask(std::move(Mask)),
        Report(Report), Marks(D, ControlBytes + 2 * countBytes(Plan)) {}

  Expected<PoisonSearch> run();

private:
  /// Size of the control data, which precedes the marks.
  static constexpr uint64_t ControlBytes = 16;

  const ReplayPlan &Plan;
  const ComparePlan &Rules;
  Device &D;
  Replayer &Memory;
  std::shared_ptr<PoisonMask> Mask;
  function_ref<void(ReplayStage)> Report;
  Scratch Marks;
  std::unique_ptr<ReplayPlan> Traced;
  std::unique_ptr<DeviceKernel> Kernel;

  static uint64_t countBytes(const ReplayPlan &Plan) {
    uint64_t Bytes = 0;
    for (const RecordedRegion &R : Plan.state().regions())
      Bytes += R.Info.Size;
    return Bytes;
  }
  TraceOptions makeTrace() const;
  Error compile();
  Error launch();
  Error readMarks();
  Error verify(StringRef What);
};
} // namespace

TraceOptions PoisonFinder::makeTrace() const {
  TraceOptions O;
  O.Control = Marks.address();
  O.ReadFirst = countBytes(Plan);
  if (D.asGPU())
    O.Limit = TraceSeconds * 1e9;
  uint64_t Mark = Marks.address() + ControlBytes;
  for (const RecordedRegion &R : Plan.state().regions()) {
    if (R.Info.Size)
      O.Ranges.push_back({R.Info.Address, R.Info.Address + R.Info.Size, Mark});
    Mark += R.Info.Size;
  }
  return O;
}

/// Compiles the recorded kernel as the application did and adds tracing after
/// its pipeline. The floating-point code is then the application's, and only
/// the remaining accesses are traced.
Error PoisonFinder::compile() {
  ReplayOptions O = getBaselineOptions(Plan.options());
  O.LaunchTimeout = O.launchTimeout() > 0
                        ? std::min(O.launchTimeout(), 10 * TraceSeconds)
                        : 10 * TraceSeconds;
  // Tracing multiplies the code, and optimizing it takes longer than running it
  // once.
  O.Host.Finish = HostFinish::Min;
  Expected<std::unique_ptr<ReplayPlan>> Base =
      Plan.vary(O, /*WillCompile=*/false);
  if (!Base)
    return Base.takeError();
  StringRef Own = (*Base)->compiler().pipeline();
  O.Passes = (Own + (Own.empty() ? "" : ",") + toString(makeTrace())).str();
  if (Error E = Plan.vary(std::move(O)).moveInto(Traced))
    return E;
  Expected<CompiledKernel> Code =
      compileVariant(*Traced, D.asGPU() ? CodeTarget::GPU : CodeTarget::Host,
                     [&](ReplayStage) { Report(ReplayStage::Poison); });
  if (!Code)
    return Code.takeError();
  if (Code->failed())
    return createStringError(Code->Error);
  return D.load(Code->Image, Traced->globals()).moveInto(Kernel);
}

Error PoisonFinder::launch() {
  Report(ReplayStage::Poison);
  if (Error E = Memory.restore())
    return E;
  LaunchConfig Config = Traced->launch();
  Config.Schedule = {}; // What is read does not depend on it.
  Expected<LaunchOutcome> Outcome = Memory.launch(*Kernel, Config);
  if (!Outcome)
    return Outcome.takeError();
  if (Outcome->Status == LaunchStatus::Ok)
    return Error::success();
  Memory.markAllDirty();
  return createStringError(Outcome->Message.empty()
                               ? getLaunchStatusName(Outcome->Status).str()
                               : Outcome->Message);
}

Error PoisonFinder::verify(StringRef What) {
  Report(ReplayStage::Poison);
  Expected<MemoryComparison> C = Memory.compare(Rules);
  if (!C)
    return C.takeError();
  if (C->Stray ||
      any_of(C->Buffers, [](const BufferReport &B) { return !B.Stats.Pass; }))
    return createStringError(What);
  return Error::success();
}

/// Adds the bytes that were written before they were read to the mask.
Error PoisonFinder::readMarks() {
  char Late = 0;
  if (Error E = D.read(Marks.address(), {&Late, 1}))
    return E;
  if (Late)
    return createStringError(
        formatv("a traced launch takes longer than {0} s", TraceSeconds).str());
  std::vector<char> Written, ReadFirst;
  uint64_t Mark = Marks.address() + ControlBytes, Distance = countBytes(Plan);
  for (auto [I, R] : enumerate(Plan.state().regions())) {
    for (uint64_t Begin = 0; Begin < R.Info.Size; Begin += PieceBytes) {
      uint64_t Bytes = std::min(PieceBytes, R.Info.Size - Begin);
      Written.resize(Bytes);
      ReadFirst.resize(Bytes);
      if (Error E = D.read(Mark + Begin, Written))
        return E;
      if (Error E = D.read(Mark + Begin + Distance, ReadFirst))
        return E;
      for (uint64_t J = 0; J != Bytes; ++J)
        if (Written[J] && !ReadFirst[J])
          Mask->set(I, Begin + J);
    }
    Mark += R.Info.Size;
  }
  return Error::success();
}

Expected<PoisonSearch> PoisonFinder::run() {
  PoisonSearch Search;
  auto Failed = [&](Error E) -> Expected<PoisonSearch> {
    Mask->clear();
    Search.NoPoison = toString(std::move(E));
    if (GPUDevice *GPU = D.asGPU())
      if (Error Lost = GPU->synchronize())
        return std::move(Lost);
    return Search;
  };
  if (Error E = Marks.allocate())
    return Failed(std::move(E));
  if (Error E = compile())
    return Failed(std::move(E));
  if (Error E = launch())
    return Failed(std::move(E));
  if (Error E = readMarks())
    return Failed(std::move(E));
  if (Error E = verify("the recorded kernel is nondeterministic"))
    return Failed(std::move(E));
  if (Mask->count() == 0) {
    Search.IsVerified = true;
    Search.NoPoison = "no traced store writes a byte before it is read";
    return Search;
  }
  // Launch again, from poisoned memory, without tracing.
  char Off = 1;
  if (Error E = D.write(Marks.address(), {&Off, 1}))
    return Failed(std::move(E));
  if (Error E = Memory.poison(Mask))
    return std::move(E);
  Error E = launch();
  if (!E)
    E = verify("the kernel's results depend on the memory's previous contents, "
               "in a way that is not traced");
  if (!E) {
    Search.IsVerified = true;
    return Search;
  }
  if (Error Lost = Memory.poison(nullptr))
    return joinErrors(std::move(E), std::move(Lost));
  return Failed(std::move(E));
}

Expected<PoisonSearch>
mneme::findPoison(const ReplayPlan &Plan, const ComparePlan &Rules, Device &D,
                  Replayer &Memory, std::shared_ptr<PoisonMask> Mask,
                  function_ref<void(ReplayStage)> Report) {
  // The recorded kernel is traced, also where a replay has IR of its own.
  if (Plan.kernel().Image.IsOnly)
    return PoisonSearch{"it was recorded without IR", false};
  return PoisonFinder(Plan, Rules, D, Memory, std::move(Mask), Report).run();
}
