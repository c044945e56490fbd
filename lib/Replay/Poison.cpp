//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Poison.h"
#include "InstrumentedKernel.h"
#include "llvm/ADT/bit.h"
#include "llvm/Mneme/Replay/CompiledKernel.h"
#include "llvm/Mneme/Runtime/Scramble.h"
#include "llvm/Support/MathExtras.h"
#include <cstring>
#include <functional>
#include <sys/mman.h>

using namespace llvm;
using namespace llvm::mneme;

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
/// Determines a mask by launching the recorded kernel.
class PoisonFinder {
public:
  PoisonFinder(const ReplayPlan &Plan, const ComparePlan &Rules, Device &D,
               Replayer &Memory, std::shared_ptr<PoisonMask> Mask,
               function_ref<void(ReplayStage)> Report)
      : Plan(Plan), Rules(Rules), D(D), Memory(Memory), Mask(std::move(Mask)),
        Tell([Report] { Report(ReplayStage::Poison); }), Marks(Plan, D),
        Kernel(Plan, D, Memory, Tell) {}

  Expected<PoisonSearch> run();

private:
  const ReplayPlan &Plan;
  const ComparePlan &Rules;
  Device &D;
  Replayer &Memory;
  std::shared_ptr<PoisonMask> Mask;
  std::function<void()> Tell;
  AccessMarks Marks;
  InstrumentedKernel Kernel;

  Expected<LaunchWork> readMarks();
  Error verify(StringRef What);
};
} // namespace

Error PoisonFinder::verify(StringRef What) {
  Tell();
  Expected<MemoryComparison> C = Memory.compare(Rules);
  if (!C)
    return C.takeError();
  if (C->Stray ||
      any_of(C->Buffers, [](const BufferReport &B) { return !B.Stats.Pass; }))
    return createStringError(What);
  return Error::success();
}

/// Adds the bytes that were written before they were read to the mask.
Expected<LaunchWork> PoisonFinder::readMarks() {
  return Marks.read([&](size_t Region, uint64_t Begin, ArrayRef<char> Written,
                        ArrayRef<char> ReadFirst) {
    for (uint64_t J = 0; J != Written.size(); ++J)
      if (Written[J] && !ReadFirst[J])
        Mask->set(Region, Begin + J);
  });
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
  // As the application compiled it.
  if (Error E =
          Kernel.compile(getBaselineOptions(Plan.options()), Marks.pass()))
    return Failed(std::move(E));
  if (Error E = Kernel.launch())
    return Failed(std::move(E));
  Search.TracedNanoseconds = Kernel.nanoseconds();
  if (Error E = readMarks().moveInto(Search.Work))
    return Failed(std::move(E));
  if (Error E = verify("the recorded kernel is nondeterministic"))
    return Failed(std::move(E));
  if (Mask->count() == 0) {
    Search.IsVerified = true;
    Search.NoPoison = "no traced store writes a byte before it is read";
    return Search;
  }
  // Launch again, from poisoned memory, without tracing.
  if (Error E = Marks.turnOff())
    return Failed(std::move(E));
  if (Error E = Memory.poison(Mask))
    return std::move(E);
  Error E = Kernel.launch();
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
    return PoisonSearch{"it was recorded without IR", false, std::nullopt, 0};
  return PoisonFinder(Plan, Rules, D, Memory, std::move(Mask), Report).run();
}
