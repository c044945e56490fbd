//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A recording's memory kept on the device against the same kept on the host.
//
//===----------------------------------------------------------------------===//

#include "../Record/SnapshotBuilder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "FakeGPU.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;

namespace {

constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
constexpr uint64_t Base = SnapshotBuilder::Base;

/// Offsets in the arena.
constexpr uint64_t Small = 0, Next = 256, Floats = 0x5100, Big = 0x100000;
constexpr uint64_t NumFloats = 5000, BigSize = 300000;

char *at(uint64_t Offset) { return reinterpret_cast<char *>(Base + Offset); }
float &floatAt(uint64_t I) { return reinterpret_cast<float *>(at(Floats))[I]; }

/// What replaying a kernel did in one mode.
struct Outcome {
  std::string Mode;
  std::vector<std::string> Reports;
  std::vector<CompareStats> Stats;
  std::optional<StrayWrite> Stray;
  std::vector<Replayer::Range> Dirty;
  bool Restored = false;
};

/// The recorded kernel writes 2 * I to the floats, and a byte in the middle of
/// the big buffer.
void runRight() {
  for (uint64_t I = 0; I != NumFloats; ++I)
    floatAt(I) = 2 * I;
  *at(Big + 100000) = 42;
}

class ResidentTest : public testing::Test {
protected:
  ResidentTest() : Dir("mneme-resident", /*Unique=*/true) {
    K.KernelName = "k";
    K.StaticHash = std::string(32, '1');
    K.VAddr = Base;
    K.VASize = MNEME_ARENA_SIZE;
    K.Args = {{4, 0, MNEME_ARG_VALUE, "n", "i32"}};
    K.Instances = {{"0000000000000022", {1, 1, 1}, {32, 1, 1}, 0, "p", "e", 1}};
    std::string Old(NumFloats * 4, 0), New(NumFloats * 4, 0);
    for (uint64_t I = 0; I != NumFloats; ++I) {
      float Before = I + 0.5f, After = 2 * I;
      std::memcpy(&Old[I * 4], &Before, 4);
      std::memcpy(&New[I * 4], &After, 4);
    }
    auto WithRegions = [&](uint32_t Kind) {
      return SnapshotBuilder(Kind, &PageFiles)
          .region(Small, 100, 0)
          .region(Next, 9, 1, "counter")
          .region(Floats, NumFloats * 4, 2)
          .region(Big, BigSize, 3);
    };
    Before = WithRegions(MNEME_SNAPSHOT_PROLOGUE)
                 .args({SnapshotBuilder::bytes(uint32_t(5))})
                 .data(Small, std::string(100, 7))
                 .data(Next, std::string(9, 1))
                 .data(Floats, Old)
                 .data(Big + 50000, std::string(100000, 'x'))
                 .close();
    std::string Changed(Page, 'x');
    // Pages of an epilogue count from the beginning of the region.
    uint64_t Begin = 100000 / Page * Page;
    Changed[100000 - Begin] = 42;
    After = WithRegions(MNEME_SNAPSHOT_EPILOGUE)
                .data(Floats, New)
                .data(Big + Begin, Changed)
                .close();
  }

  RecordedState state() {
    auto Write = [&](StringRef Name, StringRef Bytes) {
      SmallString<128> Path(Dir.path());
      sys::path::append(Path, Name);
      cantFail(writeFileAtomically(Path, Bytes));
    };
    for (const auto &[Name, Contents] : PageFiles)
      Write(Name, Contents);
    Write("p", Before);
    Write("e", After);
    return cantFail(RecordedState::load(Dir.path(), K, K.Instances[0]));
  }

  std::vector<ComparePart> parts(CompareRule ForFloats) {
    // A rule for all floats but the first and the last three.
    return {{0, 0, 100, "", {}},
            {1, 0, 9, "counter", {}},
            {2, 0, 4, "", {}},
            {2, 4, NumFloats * 4 - 16, "floats", ForFloats},
            {2, NumFloats * 4 - 12, 12, "", {}},
            {3, 0, BigSize, "", {}}};
  }

  /// Restores, runs \p Kernel and compares; then restores again.
  Outcome replay(Replayer &R, const RecordedState &S, FakeGPU &D,
                 const CompareRule &Rule, std::function<void()> Kernel) {
    D.Run = [&](ArrayRef<void *>) {
      Kernel();
      return LaunchStatus::Ok;
    };
    Outcome O;
    FakeGPU::Kernel Handle;
    O.Mode = R.mode().str();
    EXPECT_THAT_ERROR(R.restore(), Succeeded());
    EXPECT_THAT_EXPECTED(R.launch(Handle, {}), Succeeded());
    auto Reports = R.compare(parts(Rule));
    EXPECT_THAT_EXPECTED(Reports, Succeeded());
    O.Stray = Reports->Stray;
    for (const BufferReport &B : Reports->Buffers) {
      std::string Text;
      raw_string_ostream(Text) << toJSON(B);
      O.Reports.push_back(Text);
      O.Stats.push_back(B.Stats);
    }
    O.Dirty = R.dirty().vec();
    EXPECT_THAT_ERROR(R.restore(), Succeeded());
    O.Restored = isAsBefore(S);
    if (O.Stray)
      EXPECT_EQ(*reinterpret_cast<char *>(O.Stray->Address), 0);
    return O;
  }

  static bool isAsBefore(const RecordedState &S) {
    std::vector<std::vector<char>> Memory;
    for (const RecordedRegion &Region : S.regions())
      Memory.emplace_back(Region.Info.Size);
    cantFail(S.readStored([&](const SnapshotData &Data, ArrayRef<char> Bytes) {
      size_t I = S.findRegion(Data.Address);
      llvm::copy(Bytes, Memory[I].begin() +
                            (Data.Address - S.regions()[I].Info.Address));
      return Error::success();
    }));
    for (auto [Region, Bytes] : zip(S.regions(), Memory))
      if (std::memcmp(reinterpret_cast<char *>(Region.Info.Address),
                      Bytes.data(), Bytes.size()))
        return false;
    return true;
  }

  /// Replays in both modes, which must agree.
  Outcome replayInBothModes(const CompareRule &Rule,
                            std::function<void()> Kernel) {
    RecordedState S = state();
    Outcome O[2];
    for (bool OnHost : {false, true}) {
      FakeGPU D;
      D.Granule = Page;
      if (OnHost)
        D.Available = 1000;
      Expected<Replayer> R = Replayer::create(S, D);
      EXPECT_THAT_EXPECTED(R, Succeeded());
      O[OnHost] = replay(*R, S, D, Rule, Kernel);
      EXPECT_TRUE(O[OnHost].Restored);
    }
    EXPECT_EQ(O[0].Mode, "device");
    EXPECT_EQ(O[1].Mode, "host");
    EXPECT_EQ(O[0].Reports, O[1].Reports);
    EXPECT_EQ(O[0].Dirty, O[1].Dirty);
    EXPECT_EQ(O[0].Stray.has_value(), O[1].Stray.has_value());
    if (O[0].Stray && O[1].Stray) {
      EXPECT_EQ(toJSON(*O[0].Stray), toJSON(*O[1].Stray));
    }
    return O[0];
  }

  static bool passes(const Outcome &O) {
    return all_of(O.Stats, [](const CompareStats &S) { return S.Pass; });
  }

  unittest::TempDir Dir;
  RecordedKernel K;
  std::string Before, After;
  SnapshotBuilder::FileMap PageFiles;
};

CompareRule floatRule(uint32_t Tolerance, double Value,
                      uint32_t Norm = MNEME_NORM_NONE,
                      NaNRule NaN = NaNRule::Equal) {
  CompareRule R;
  R.DType = MNEME_DTYPE_F32;
  R.Tolerance = Tolerance;
  R.Value = Value;
  R.Norm = Norm;
  R.NaN = NaN;
  return R;
}

} // namespace

namespace llvm::mneme {
void PrintTo(const Replayer::Range &R, std::ostream *OS) {
  *OS << R.Region << ":[" << R.Begin << ", " << R.End << ")";
}
} // namespace llvm::mneme

TEST_F(ResidentTest, TheRightKernelMatches) {
  Outcome O = replayInBothModes({}, runRight);
  EXPECT_TRUE(passes(O));
  uint64_t Begin = 100000 / Page * Page;
  EXPECT_THAT(O.Dirty, ElementsAre(Replayer::Range{2, 0, NumFloats * 4},
                                   Replayer::Range{3, Begin, Begin + Page}));
}

TEST_F(ResidentTest, StrayWritesAreFoundAndUndone) {
  Outcome O = replayInBothModes({}, [] {
    runRight();
    *at(Next + 8) = 3;
    *at(Big) = 1;
    *at(Big + BigSize - 1) = 1;
    floatAt(700) = -1;
  });
  EXPECT_FALSE(passes(O));
  EXPECT_EQ(O.Stats[1].First, 8u);
  EXPECT_EQ(O.Stats[1].Expected, "0x01");
  EXPECT_EQ(O.Stats[1].Actual, "0x03");
  EXPECT_EQ(O.Stats[5].Mismatches, 2u);
  EXPECT_THAT(O.Dirty, testing::Contains(
                           Replayer::Range{3, BigSize / Page * Page, BigSize}));
}

TEST_F(ResidentTest, WritesOutsideOfBuffersAreFoundAndUndone) {
  Outcome O = replayInBothModes({}, [] {
    runRight();
    *at(Next + 9 + 3) = 1;
    *at(Floats - 1) = 1;
  });
  EXPECT_TRUE(passes(O));
  ASSERT_TRUE(O.Stray);
  EXPECT_EQ(O.Stray->Address, Base + Next + 12);
  EXPECT_EQ(O.Stray->Buffer, 1u);
  EXPECT_EQ(O.Stray->Distance, 3u);
  EXPECT_TRUE(O.Stray->IsBehind);

  O = replayInBothModes({}, [] {
    runRight();
    *at(Floats - 8) = 1;
  });
  ASSERT_TRUE(O.Stray);
  EXPECT_EQ(O.Stray->Buffer, 2u);
  EXPECT_EQ(O.Stray->Distance, 7u);
  EXPECT_FALSE(O.Stray->IsBehind);
}

TEST_F(ResidentTest, TheFirstMismatchHasItsTexts) {
  Outcome O = replayInBothModes(floatRule(MNEME_TOLERANCE_ABS, 0.25), [] {
    runRight();
    floatAt(100) += 0.125f; // allowed
    floatAt(701) = 0.1f;
    floatAt(4000) = NAN;
  });
  EXPECT_EQ(O.Stats[3].Differences, 3u);
  EXPECT_EQ(O.Stats[3].Mismatches, 2u);
  EXPECT_EQ(O.Stats[3].First, 700u); // of the part
  EXPECT_EQ(O.Stats[3].Expected, "1402");
  EXPECT_EQ(O.Stats[3].Actual, "0.100000001");
}

TEST_F(ResidentTest, WithinToleranceOthersPagesAreDirty) {
  Outcome O = replayInBothModes(floatRule(MNEME_TOLERANCE_ULP, 4), [] {
    runRight();
    floatAt(9) = std::nextafter(floatAt(9), 1e9f);
  });
  EXPECT_TRUE(passes(O));
  EXPECT_EQ(O.Stats[3].Differences, 1u);
  EXPECT_EQ(O.Stats[3].MaxUlp, 1);
}

TEST_F(ResidentTest, NaNIsForbiddenWhereNothingDiffers) {
  float NaN = std::nanf("");
  // The recorded kernel made a NaN; so does this one.
  std::string New(NumFloats * 4, 0);
  for (uint64_t I = 0; I != NumFloats; ++I) {
    float V = I == 4321 ? NaN : 2 * I;
    std::memcpy(&New[I * 4], &V, 4);
  }
  After = SnapshotBuilder(MNEME_SNAPSHOT_EPILOGUE, &PageFiles)
              .region(Small, 100, 0)
              .region(Next, 9, 1, "counter")
              .region(Floats, NumFloats * 4, 2)
              .region(Big, BigSize, 3)
              .data(Floats, New)
              .close();
  auto Kernel = [NaN] {
    runRight();
    *at(Big + 100000) = 'x';
    floatAt(4321) = NaN;
  };
  EXPECT_TRUE(
      passes(replayInBothModes(floatRule(MNEME_TOLERANCE_ABS, 1), Kernel)));
  Outcome O = replayInBothModes(
      floatRule(MNEME_TOLERANCE_ABS, 1, MNEME_NORM_NONE, NaNRule::Error),
      Kernel);
  EXPECT_EQ(O.Stats[3].Mismatches, 1u);
  EXPECT_EQ(O.Stats[3].Differences, 0u);
  EXPECT_EQ(O.Stats[3].Actual, "nan");
  EXPECT_FALSE(passes(replayInBothModes(
      floatRule(MNEME_TOLERANCE_ABS, 1, MNEME_NORM_L2, NaNRule::Error),
      Kernel)));
}

TEST_F(ResidentTest, NormsAreThoseOfTheHost) {
  auto Kernel = [] {
    runRight();
    floatAt(3) += 3;
    floatAt(4000) -= 4;
  };
  for (uint32_t Norm : {MNEME_NORM_L1, MNEME_NORM_L2, MNEME_NORM_LINF}) {
    EXPECT_TRUE(passes(
        replayInBothModes(floatRule(MNEME_TOLERANCE_ABS, 7, Norm), Kernel)));
    EXPECT_FALSE(passes(
        replayInBothModes(floatRule(MNEME_TOLERANCE_ABS, 3, Norm), Kernel)));
    EXPECT_TRUE(passes(
        replayInBothModes(floatRule(MNEME_TOLERANCE_REL, 0, Norm), runRight)));
  }
}

TEST_F(ResidentTest, DirtyIsWhatTheLastKernelMade) {
  RecordedState S = state();
  for (bool OnHost : {false, true}) {
    FakeGPU D;
    if (OnHost)
      D.Available = 1000;
    Expected<Replayer> R = Replayer::create(S, D);
    ASSERT_THAT_EXPECTED(R, Succeeded());
    std::vector<Replayer::Range> Changed = R->dirty().vec();
    Outcome O = replay(*R, S, D, {}, [] { *at(Small) = 0; });
    EXPECT_TRUE(O.Restored);
    EXPECT_EQ(O.Dirty.size(), Changed.size() + 1);
    // The next one is right, and its launches need not pay for that.
    O = replay(*R, S, D, {}, runRight);
    EXPECT_TRUE(O.Restored);
    EXPECT_EQ(O.Dirty, Changed);
    // Nobody compared this one.
    R->markAllDirty();
    *at(Next) = 77;
    FakeGPU::Kernel Handle;
    ASSERT_THAT_EXPECTED(R->launch(Handle, {}), Succeeded());
    ASSERT_THAT_ERROR(R->restore(), Succeeded());
    EXPECT_TRUE(isAsBefore(S));
  }
}

TEST_F(ResidentTest, RestoringAndComparingNeedNoHost) {
  RecordedState S = state();
  FakeGPU D;
  Expected<Replayer> R = Replayer::create(S, D);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  EXPECT_EQ(D.Read, 0u);
  // What the files store and nothing else.
  uint64_t Stored = 0;
  for (const SnapshotData &Data : S.stored())
    Stored += Data.RawSize;
  for (const SnapshotData &Data : S.changed())
    Stored += Data.RawSize;
  EXPECT_EQ(D.Written, Stored);
  D.Written = D.Copied = 0;
  for (int I = 0; I != 3; ++I)
    EXPECT_TRUE(replay(*R, S, D, {}, runRight).Restored);
  EXPECT_EQ(D.Read + D.Written, 0u);
  EXPECT_EQ(D.NumDiffs, 0u);
  EXPECT_EQ(D.Copied, 3 * (NumFloats * 4 + Page));
  EXPECT_EQ(D.NumPlans, 3u); // to copy the memory twice, and to restore it
}

TEST_F(ResidentTest, PartsThatLeaveSomethingOutDoNotHideWhatIsDirty) {
  RecordedState S = state();
  FakeGPU D;
  Expected<Replayer> R = Replayer::create(S, D);
  ASSERT_THAT_EXPECTED(R, Succeeded());
  D.Run = [](ArrayRef<void *>) {
    runRight();
    *at(Small) = 0;
    return LaunchStatus::Ok;
  };
  FakeGPU::Kernel Handle;
  ASSERT_THAT_EXPECTED(R->launch(Handle, {}), Succeeded());
  auto Reports = R->compare(ArrayRef(parts({})).drop_front().vec());
  ASSERT_THAT_EXPECTED(Reports, Succeeded());
  for (const BufferReport &B : Reports->Buffers)
    EXPECT_TRUE(B.Stats.Pass);
  ASSERT_THAT_ERROR(R->restore(), Succeeded());
  EXPECT_TRUE(isAsBefore(S));
}

static std::string pack(StringRef Raw) {
  SmallVector<uint8_t, 0> Packed;
  compression::zstd::compress(arrayRefFromStringRef(Raw), Packed);
  return toStringRef(Packed).str();
}

TEST_F(ResidentTest, PackedDataComesInOrder) {
  if (!compression::zstd::isAvailable())
    GTEST_SKIP();
  // More than is unpacked at once, and some that is not packed.
  constexpr unsigned NumRanges = 1000;
  constexpr uint64_t Distance = 2 * Page;
  auto Contents = [](unsigned I) { return std::string(Page, 'a' + I % 26); };
  auto Build = [&](unsigned Damaged) {
    SnapshotBuilder B(MNEME_SNAPSHOT_PROLOGUE, &PageFiles);
    B.args({SnapshotBuilder::bytes(uint32_t(5))})
        .region(0, NumRanges * Distance, 0);
    for (unsigned I = 0; I != NumRanges; ++I) {
      bool Raw = I % 7 == 0 && I != Damaged;
      std::string Stored = I == Damaged ? "no frame"
                           : Raw        ? Contents(I)
                                        : pack(Contents(I));
      uint32_t First = B.Pages.frame(
          Contents(I), Raw ? MNEME_ENCODING_RAW : MNEME_ENCODING_ZSTD, Stored);
      B.run(I * Distance, 1, First);
    }
    return B.close();
  };
  After = SnapshotBuilder(MNEME_SNAPSHOT_EPILOGUE)
              .region(0, NumRanges * Distance, 0)
              .close();
  Before = Build(NumRanges);
  RecordedState S = state();
  unsigned Next = 0;
  auto Read = [&](const SnapshotData &Data, ArrayRef<char> Bytes) {
    EXPECT_EQ(Data.Address, Base + Next * Distance);
    EXPECT_EQ(StringRef(Bytes.data(), Bytes.size()), Contents(Next));
    ++Next;
    return Error::success();
  };
  ASSERT_THAT_ERROR(S.readStored(Read), Succeeded());
  EXPECT_EQ(Next, NumRanges);
  // Whoever reads may stop.
  Next = 0;
  EXPECT_THAT_ERROR(S.readStored([&](const SnapshotData &, ArrayRef<char>) {
    return ++Next == 500 ? createStringError("enough") : Error::success();
  }),
                    FailedWithMessage("enough"));
  EXPECT_EQ(Next, 500u);

  Before = Build(/*Damaged=*/501);
  RecordedState Bad = state();
  Next = 0;
  EXPECT_THAT_ERROR(Bad.readStored(Read), Failed());
  EXPECT_EQ(Next, 501u);
}
