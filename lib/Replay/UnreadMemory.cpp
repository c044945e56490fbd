//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Launches a version with other contents of the memory that the recorded code
// does not read, and of local and shared memory. A version that takes a certain
// value there for a sign has the value among its constants.
//
//===----------------------------------------------------------------------===//

#include "ElementTypes.h"
#include "InputSource.h"
#include "InstrumentedKernel.h"
#include "MeasuredKernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Replay/Session.h"
#include "llvm/Mneme/Runtime/HostExec.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <cmath>
#include <cstring>

using namespace llvm;
using namespace llvm::mneme;

/// Launches in which each element gets a value of its own choice, after those
/// in which all elements get the same one.
static constexpr unsigned MixedDraws = 24;
/// Constants of a version that are tried. More of them are chosen at random.
static constexpr size_t MaxConstants = 192;
/// No further launch begins after this time.
static constexpr double MaxDrawSeconds = 10;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

namespace {
/// The constants of a version.
class VersionConstants {
public:
  explicit VersionConstants(const Module &M);

  /// Returns their bit patterns as elements of a type.
  SmallSetVector<uint64_t, 32> patterns(uint32_t DType, unsigned Size) const;

private:
  SmallSetVector<const Constant *, 32> Seen;
  SmallVector<APInt> Integers;
  SmallVector<APFloat> Floats;

  void add(const Constant *C);
};
} // namespace

VersionConstants::VersionConstants(const Module &M) {
  for (const Function &F : M)
    for (const Instruction &I : instructions(F)) {
      if (isa<AllocaInst>(I) || I.isDebugOrPseudoInst())
        continue;
      if (auto *S = dyn_cast<SwitchInst>(&I))
        for (auto Case : S->cases())
          add(Case.getCaseValue());
      for (const Value *Op : I.operands())
        if (auto *C = dyn_cast<Constant>(Op))
          add(C);
    }
  for (const GlobalVariable &G : M.globals())
    if (G.hasInitializer())
      add(G.getInitializer());
}

void VersionConstants::add(const Constant *C) {
  if (isa<GlobalValue>(C) || !Seen.insert(C))
    return;
  if (auto *I = dyn_cast<ConstantInt>(C)) {
    if (I->getBitWidth() <= 64)
      Integers.push_back(I->getValue());
  } else if (auto *F = dyn_cast<ConstantFP>(C)) {
    Floats.push_back(F->getValueAPF());
  } else if (auto *D = dyn_cast<ConstantDataSequential>(C)) {
    for (uint64_t I = 0; I != std::min<uint64_t>(D->getNumElements(), 64); ++I)
      add(D->getElementAsConstant(I));
  } else {
    for (const Value *Op : C->operands())
      if (auto *Inner = dyn_cast<Constant>(Op))
        add(Inner);
  }
}

/// A constant may be compared with an element, with its bits, or with a part
/// of it that was converted.
SmallSetVector<uint64_t, 32> VersionConstants::patterns(uint32_t DType,
                                                        unsigned Size) const {
  SmallSetVector<uint64_t, 32> Bits;
  uint64_t Mask = maskTrailingOnes<uint64_t>(8 * Size);
  auto AddNumber = [&](double Value) {
    if (isFloatType(DType)) {
      char Bytes[8] = {};
      putFloatElement(Bytes, DType, Value);
      Bits.insert(getElementBits(Bytes, Size));
    } else if (std::abs(Value) < 0x1p63) {
      Bits.insert(uint64_t(int64_t(Value)) & Mask);
    }
  };
  for (const APFloat &F : Floats) {
    // The bits show where they are those of the type.
    APInt Raw = F.bitcastToAPInt();
    if (Raw.getBitWidth() == 8 * Size)
      Bits.insert(Raw.getZExtValue());
    if (Raw.getBitWidth() <= 64 && F.isFinite())
      AddNumber(F.convertToDouble());
  }
  for (const APInt &I : Integers) {
    int64_t Value = I.getSExtValue();
    for (int64_t Near : {Value, Value - 1, int64_t(uint64_t(Value) + 1)}) {
      Bits.insert(Near & Mask);
      if (isFloatType(DType))
        AddNumber(Near);
    }
  }
  return Bits;
}

/// Values that code can treat in its own way.
static SmallVector<uint64_t, 16> getSpecial(uint32_t DType, unsigned Size) {
  uint64_t Mask = maskTrailingOnes<uint64_t>(8 * Size), Sign = Mask ^ Mask >> 1;
  SmallVector<uint64_t, 16> Bits = {0, 1, Mask, Sign, Sign - 1, Sign + 1};
  if (!isFloatType(DType))
    return Bits;
  for (double Value :
       {1.0, -1.0, double(INFINITY), -double(INFINITY), double(NAN)}) {
    char Bytes[8] = {};
    putFloatElement(Bytes, DType, Value);
    Bits.push_back(getElementBits(Bytes, Size));
  }
  Bits.push_back(Bits.back() | 1); // A NaN with a payload.
  return Bits;
}

//===----------------------------------------------------------------------===//
// Launches
//===----------------------------------------------------------------------===//

namespace {
class UnreadTest {
public:
  UnreadTest(const ReplayPlan &Plan, ArrayRef<uint32_t> Types,
             const ComparePlan &Rules, Device &D, Replayer &Memory,
             uint64_t Seed, function_ref<void(ReplayStage)> Report)
      : Plan(Plan), Types(Types), Rules(Rules), D(D), Memory(Memory),
        Source(Seed, Plan.options().Device), Report(Report),
        Tell([Report] { Report(ReplayStage::Poison); }), Marks(Plan, D),
        Recorded(Plan, D, Memory, Tell) {}

  Error prepare(const Module &Version);
  Error run(DeviceKernel &Kernel, ReplayResult &R);

private:
  const ReplayPlan &Plan;
  ArrayRef<uint32_t> Types;
  const ComparePlan &Rules;
  Device &D;
  Replayer &Memory;
  InputSource Source;
  function_ref<void(ReplayStage)> Report;
  std::function<void()> Tell;
  AccessMarks Marks;
  InstrumentedKernel Recorded;
  RecordedAccesses Own;

  /// What elements of a region are made of.
  struct Values {
    uint32_t DType;
    unsigned Size;
    SmallVector<uint64_t, 0> Uniform; ///< In turns, in all elements.
  };
  std::vector<Values> OfRegions;
  size_t NumUniform = 0;
  std::vector<std::vector<char>> Before, Drawn;
  unsigned Number = 0; ///< Of the draw.

  uint64_t choose(const Values &V);
  Error draw();
  Expected<bool> isRight();
};
} // namespace

/// Traces the recorded code. \p Version shows the values to draw.
Error UnreadTest::prepare(const Module &Version) {
  if (Error E = traceRecorded(Plan, Marks, Recorded).moveInto(Own))
    return E;
  ArrayRef<RecordedRegion> Regions = Plan.state().regions();
  Before.resize(Regions.size());
  Drawn.resize(Regions.size());
  VersionConstants Constants(Version);
  for (auto [I, R] : enumerate(Regions)) {
    bool IsKnown = Types[I] != MNEME_DTYPE_BYTES;
    Values V;
    V.DType = IsKnown ? Types[I] : uint32_t(MNEME_DTYPE_U32);
    V.Size = getDTypeSize(V.DType);
    // Nothing traces the reads of what a handle names.
    bool IsHandle = R.Info.Kind == MNEME_REGION_TEXTURE;
    if (!Own.Read[I].all() && !IsHandle) {
      append_range(V.Uniform, Constants.patterns(V.DType, V.Size));
      append_range(V.Uniform, getSpecial(V.DType, V.Size));
      for (size_t N = V.Uniform.size(); N > 1; --N)
        std::swap(V.Uniform[N - 1], V.Uniform[Source.next() % N]);
      if (V.Uniform.size() > MaxConstants)
        V.Uniform.resize(MaxConstants);
    }
    NumUniform = std::max(NumUniform, V.Uniform.size());
    OfRegions.push_back(std::move(V));
  }
  return Error::success();
}

uint64_t UnreadTest::choose(const Values &V) {
  uint64_t Any = Source.next();
  if (Number < NumUniform)
    return V.Uniform[Number % V.Uniform.size()];
  return Any % 4 ? V.Uniform[(Any >> 8) % V.Uniform.size()] : Any;
}

/// Changes the elements of which the recorded code reads no byte.
Error UnreadTest::draw() {
  for (auto [I, R] : enumerate(Plan.state().regions())) {
    Drawn[I].clear();
    const Values &V = OfRegions[I];
    if (V.Uniform.empty())
      continue;
    Before[I].resize(R.Info.Size);
    if (Error E = D.read(R.Info.Address, Before[I]))
      return E;
    ArrayRef<char> Old = Before[I];
    Drawn[I] = Before[I];
    for (uint64_t At = 0; At + V.Size <= R.Info.Size; At += V.Size) {
      uint64_t Word = alignDown(At, sizeof(uint64_t));
      if (Own.Read[I].find_first_in(At, At + V.Size) >= 0 ||
          holdsPlaces(Plan.state(), Old.slice(Word).take_front(8)))
        continue;
      uint64_t Bits = choose(V);
      std::memcpy(&Drawn[I][At], &Bits, V.Size);
    }
    if (Error E = D.write(R.Info.Address, Drawn[I]))
      return E;
  }
  return Error::success();
}

/// Compares the memory after a launch. What the recorded code does not write
/// must be as it was drawn.
Expected<bool> UnreadTest::isRight() {
  for (auto [I, R] : enumerate(Plan.state().regions())) {
    if (Drawn[I].empty())
      continue;
    std::vector<char> Now(R.Info.Size);
    if (Error E = D.read(R.Info.Address, Now))
      return std::move(E);
    for (auto [At, Byte] : enumerate(Now)) {
      if (Own.Written[I].test(At) || Own.Read[I].test(At))
        continue;
      if (Byte != Drawn[I][At])
        return false;
      Byte = Before[I][At];
    }
    if (Error E = D.write(R.Info.Address, Now))
      return std::move(E);
  }
  Expected<MemoryComparison> C = Memory.compare(Rules);
  Memory.markAllDirty();
  if (!C)
    return C.takeError();
  return judge(*C) != Verdict::Mismatch;
}

Error UnreadTest::run(DeviceKernel &Kernel, ReplayResult &R) {
  R.V = Verdict::Match;
  auto Begin = std::chrono::steady_clock::now();
  for (; Number != NumUniform + MixedDraws &&
         secondsSince(Begin) < MaxDrawSeconds;
       ++Number) {
    // Memory whose accesses are not traced, for example by assembly.
    bool IsFirst = Number == 0 || Number == NumUniform;
    Memory.markAllDirty();
    if (IsFirst) {
      if (Error E = Recorded.launch([&] { return draw(); }))
        return E;
      Expected<bool> Right = isRight();
      if (!Right)
        return Right.takeError();
      if (!*Right)
        return createStringError("the recorded code reads it in a way that is "
                                 "not traced");
    }
    if (Error E = Memory.restore())
      return E;
    if (Error E = draw())
      return E;
    Report(ReplayStage::Launch);
    Expected<LaunchOutcome> Outcome = Memory.launch(Kernel, Plan.launch());
    if (!Outcome)
      return Outcome.takeError();
    if (Outcome->Status != LaunchStatus::Ok) {
      R.V = Verdict::Crash;
      R.Error = Outcome->describe();
      return Error::success();
    }
    Report(ReplayStage::Compare);
    Expected<bool> Right = isRight();
    if (!Right)
      return Right.takeError();
    if (!*Right) {
      R.V = Verdict::Mismatch;
      R.Error = "its results depend on memory that the recorded code does not "
                "read";
      return Error::success();
    }
  }
  return Error::success();
}

/// Local and shared memory can hold what a launch with other inputs left there,
/// which looks like what a version leaves itself. Only on the host device do
/// inputs that do not fit together end no more than a launch.
static Error testLeft(const ReplayPlan &Plan, ArrayRef<uint32_t> Types,
                      const ComparePlan &Rules, Device &D, Replayer &Memory,
                      DeviceKernel &Kernel, uint64_t Seed,
                      function_ref<void(ReplayStage)> Report, ReplayResult &R) {
  constexpr unsigned Count = 2;
  constexpr double OtherSeconds = 1; // Of the launch before.
  if (Plan.options().Device != "host")
    return Error::success();
  InputSource Source(Seed, Plan.options().Device);
  for (unsigned N = 0; N != Count; ++N) {
    if (Error E = Memory.restore())
      return E;
    std::vector<std::pair<uint64_t, std::vector<char>>> Own;
    for (auto [DType, Region] : zip_equal(Types, Plan.state().regions())) {
      uint64_t Address = Region.Info.Address;
      std::vector<char> Contents(Region.Info.Size);
      if (Error E = D.read(Address, Contents))
        return E;
      if (Region.Info.Kind == MNEME_REGION_TEXTURE ||
          holdsPlaces(Plan.state(), Contents))
        continue;
      Own.push_back({Address, Contents});
      Source.permute(Contents, std::max(1u, getDTypeSize(DType)));
      if (isFloatType(DType))
        Source.drawFloats(Contents, DType, DrawnValues::Near, /*Attempt=*/1);
      if (Error E = D.write(Address, Contents))
        return E;
    }
    Report(ReplayStage::Launch);
    LaunchConfig Config = Plan.launch();
    Config.TimeoutSeconds = OtherSeconds;
    Config.Fill = MNEME_HOST_FILL_RANDOM + Source.next() % UINT32_MAX;
    if (Error E = Memory.launch(Kernel, Config).takeError())
      return E;
    for (const auto &[Address, Contents] : Own)
      if (Error E = D.write(Address, Contents))
        return E;
    Memory.markAllDirty();
    if (Error E = Memory.restore())
      return E;
    Config = Plan.launch();
    Config.Fill = MNEME_HOST_FILL_LEFT;
    Expected<LaunchOutcome> Outcome = Memory.launch(Kernel, Config);
    if (!Outcome)
      return Outcome.takeError();
    if (Outcome->Status != LaunchStatus::Ok) {
      R.V = Verdict::Crash;
      R.Error = Outcome->describe();
      return Error::success();
    }
    Report(ReplayStage::Compare);
    Expected<MemoryComparison> C = Memory.compare(Rules);
    Memory.markAllDirty();
    if (!C)
      return C.takeError();
    if (judge(*C) == Verdict::Mismatch) {
      R.V = Verdict::Mismatch;
      R.Error = "its results depend on what a launch with other inputs left in "
                "local or shared memory";
      return Error::success();
    }
  }
  return Error::success();
}

Expected<ReplayResult> ReplaySession::testUnread(const ReplayPlan &Variant,
                                                 uint64_t Seed,
                                                 StageFn Report) {
  if (Error E = prepare(Report))
    return std::move(E);
  ReplayResult R;
  auto Skip = [&](Error E) -> Expected<ReplayResult> {
    R.V = Verdict::NotVerified;
    R.Error = toString(std::move(E));
    return R;
  };
  Expected<CompiledKernel> Code = compile(Variant, Report);
  if (!Code)
    return Code.takeError();
  if (Code->failed()) {
    R.V = Code->V;
    R.Error = Code->Error;
    return R;
  }
  Expected<std::unique_ptr<DeviceKernel>> Kernel =
      D->load(Code->Image, Variant.globals());
  if (!Kernel)
    return Kernel.takeError();
  if (Error E = testLeft(Variant, elementTypes().OfAccess, comparison(Variant),
                         *D, *Memory, **Kernel, Seed, Report, R))
    return Skip(std::move(E));
  if (!R.Error.empty())
    return R;
  LLVMContext Context;
  UnreadTest Test(Variant, elementTypes().OfAccess, comparison(Variant), *D,
                  *Memory, Seed, Report);
  Report(ReplayStage::Poison);
  if (Error E = Test.prepare(*Variant.cloneModule(Context)))
    return Skip(std::move(E));
  if (Error E = Test.run(**Kernel, R))
    return Skip(std::move(E));
  return R;
}

Expected<ReplayResult> mneme::replayUnread(const ReplayPlan &Plan,
                                           uint64_t Seed) {
  return ReplaySession::runIsolated(
      Plan, [&](ReplaySession &Session, ReplaySession::StageFn Report) {
        return Session.testUnread(Plan, Seed, Report);
      });
}
