//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Perturb.h"
#include "SmallRecording.h"
#include "llvm/Support/Endian.h"
#include "gmock/gmock.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

namespace {
/// A kernel with one thread that copies parts of one buffer, 0, to another, 1.
class PerturbTest : public SmallRecording {
protected:
  PerturbTest() {
    K.KernelName = "copy";
    K.Instances[0].Block = {1, 1, 1};
    K.Args = {{8, 0, MNEME_ARG_POINTER, "in", "ptr"},
              {8, 8, MNEME_ARG_POINTER, "out", "ptr"},
              {4, 16, MNEME_ARG_VALUE, "n", "i32"}};
  }

  static constexpr uint64_t Managed = Base - 16 * Page;

  /// \param In  the contents of buffer 0 begin with it.
  /// \param HasManaged  a page of managed memory is beside the arena.
  void setUp(StringRef Body, StringRef In, bool HasManaged = false) {
    IR = ("target triple = \"nvptx64-nvidia-cuda\"\n"
          "define ptx_kernel void @copy(ptr %in, ptr %out, i32 %n) "
          "\"target-cpu\"=\"sm_90\" {\n" +
          Body)
             .str();
    Before = addRegions(Builder(MNEME_SNAPSHOT_PROLOGUE)
                            .args({SnapshotBuilder::bytes(Base),
                                   SnapshotBuilder::bytes(Base + 4 * Page),
                                   SnapshotBuilder::bytes(uint32_t(4096))}),
                        HasManaged)
                 .data(0, In)
                 .close();
    After = addRegions(Builder(MNEME_SNAPSHOT_EPILOGUE), HasManaged)
                .data(4 * Page, In)
                .close();
  }
  static SnapshotBuilder addRegions(SnapshotBuilder B, bool HasManaged) {
    B.region(0, Page, 0).region(4 * Page, Page, 1);
    return HasManaged ? B.regionAt(Managed, Page, 2, MNEME_REGION_MANAGED) : B;
  }

  PerturbedLaunch perturb(PerturbOptions O) {
    auto P = plan();
    EXPECT_THAT_EXPECTED(P, Succeeded());
    Expected<PerturbedLaunch> L =
        writePerturbed(**P, path("drawn" + std::to_string(O.Seed)), O);
    EXPECT_THAT_EXPECTED(L, Succeeded());
    return L ? std::move(*L) : PerturbedLaunch();
  }
  static std::unique_ptr<ReplayPlan> open(const PerturbedLaunch &L) {
    ReplayOptions O;
    O.Device = "host";
    return cantFail(ReplayPlan::create(L.File, std::move(O)));
  }
};
} // namespace

TEST_F(PerturbTest, LoadsOfAssemblyAreReads) {
  setUp(R"(
  %v = call i32 asm "ld.global.cs.s32 $0, [$1];", "=r,l"(ptr %in)
  store i32 %v, ptr %out
  ret void
})",
        "one two");
  PerturbedLaunch L = perturb({});
  EXPECT_THAT(L.Changed, ElementsAre("buffer 0"));
  EXPECT_THAT(L.Unchanged, IsEmpty());
}

TEST_F(PerturbTest, CalledFunctionsRead) {
  setUp(R"(
  %v = call i32 @get(ptr %in)
  store i32 %v, ptr %out
  ret void
}
define internal i32 @get(ptr %p) noinline {
  %v = load i32, ptr %p
  ret i32 %v
})",
        "one two");
  PerturbedLaunch L = perturb({});
  EXPECT_THAT(L.Changed, ElementsAre("buffer 0"));
  EXPECT_THAT(L.Unchanged, IsEmpty());
}

/// Members that are not read get other values, too.
TEST_F(PerturbTest, AllMembersChange) {
  setUp(R"(
  %second = getelementptr i8, ptr %in, i64 4
  %v = load i32, ptr %in
  %w = load float, ptr %second
  %b = bitcast float %w to i32
  %s = xor i32 %v, %b
  store i32 %s, ptr %out
  ret void
})",
        "one two three");
  PerturbedLaunch L = perturb({});
  EXPECT_THAT(L.Changed, ElementsAre("buffer 0"));
  std::vector<char> Bytes(Page);
  ASSERT_THAT_ERROR(open(L)->state().readRegion(0, /*After=*/false, Bytes),
                    Succeeded());
  auto Word = [&](size_t At) { return support::endian::read32le(&Bytes[At]); };
  EXPECT_NE(Word(0), support::endian::read32le("one "));
  unsigned Changed = 0;
  for (size_t At = 8; At != Page; At += 4)
    Changed += Word(At) != (At == 8    ? support::endian::read32le("thre")
                            : At == 12 ? uint32_t('e')
                                       : 0);
  EXPECT_GT(Changed, Page / 16);
}

TEST_F(PerturbTest, UnreadMemoryWithAddressesIsListed) {
  setUp(R"(
  store i32 %n, ptr %out
  ret void
})",
        SnapshotBuilder::bytes(Base));
  PerturbOptions O;
  O.Scalars = DrawnScalars::Each;
  PerturbedLaunch L = perturb(O);
  EXPECT_THAT(L.Unread, ElementsAre("buffer 1"));
  EXPECT_THAT(L.Unchanged,
              ElementsAre("buffer 0: it contains addresses or handles"));
}

/// Only addresses of recorded memory are pointers, not all numbers of the
/// arena's size.
TEST_F(PerturbTest, AddressesAreThoseOfRegions) {
  constexpr uint64_t Last = Base + 5 * Page;
  for (auto [Word, IsPlace] : {std::pair(Base + 2 * Page, false),
                               {Last + 1, false},
                               {Base + MNEME_ARENA_SIZE - 8, false},
                               {Base, true},
                               {Base + Page - 1, true},
                               {Base + 4 * Page, true},
                               // The ends of both buffers.
                               {Base + Page, true},
                               {Last, true}}) {
    setUp(R"(
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  ret void
})",
          SnapshotBuilder::bytes(Word));
    PerturbOptions O;
    O.Scalars = DrawnScalars::Each;
    O.Seed = Word;
    PerturbedLaunch L = perturb(O);
    if (IsPlace)
      EXPECT_THAT(L.Unchanged,
                  Contains("buffer 0: it contains addresses or handles"))
          << Word;
    else
      EXPECT_THAT(L.Changed, Contains("buffer 0")) << Word;
  }
}

TEST_F(PerturbTest, ManagedMemoryHasAddressesToo) {
  setUp(R"(
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  ret void
})",
        SnapshotBuilder::bytes(Managed + 8), /*HasManaged=*/true);
  PerturbOptions O;
  O.Scalars = DrawnScalars::Each;
  EXPECT_THAT(perturb(O).Unchanged,
              Contains("buffer 0: it contains addresses or handles"));
}

/// Zeros are copied over zeros.
TEST_F(PerturbTest, OutputsMayBeAsBefore) {
  setUp(R"(
  %third = getelementptr float, ptr %in, i64 2
  %v = load float, ptr %third
  store float %v, ptr %out
  ret void
})",
        StringRef("\0\0\0\0\0\0\0\0", 8));
  PerturbedLaunch L = perturb({});
  EXPECT_THAT(L.Changed, ElementsAre("buffer 0"));
  EXPECT_THAT(L.Unchanged, IsEmpty());
}

TEST_F(PerturbTest, ScalarsAreRoundNumbers) {
  K.Instances[0].Block = {48, 1, 1};
  K.Instances[0].Grid = {10, 1, 1};
  setUp(R"(
  store i32 %n, ptr %out
  ret void
})",
        "one");
  PerturbOptions O;
  O.Scalars = DrawnScalars::Each;
  O.RoundScalars = true;
  unsigned OfBlock = 0;
  for (O.Seed = 0; O.Seed != 4; ++O.Seed) {
    std::unique_ptr<ReplayPlan> P = open(perturb(O));
    uint32_t N = support::endian::read32le(P->state().args()[2].data());
    EXPECT_LT(N, 4096u);
    OfBlock += N % 48 == 0;
  }
  EXPECT_GE(OfBlock, 2u);
}

namespace {
/// A kernel with other scalars.
class ScalarsTest : public PerturbTest {
protected:
  /// \param Values  of the scalars, which are i32.
  /// \param Body  writes to %out what it computes of %a, %b and %c.
  void setUpScalars(ArrayRef<uint32_t> Values, StringRef Body) {
    K.Args = {{8, 0, MNEME_ARG_POINTER, "in", "ptr"},
              {8, 8, MNEME_ARG_POINTER, "out", "ptr"}};
    std::string Parameters;
    std::vector<std::string> Bytes = {SnapshotBuilder::bytes(Base),
                                      SnapshotBuilder::bytes(Base + 4 * Page)};
    for (auto [I, V] : enumerate(Values)) {
      std::string Name(1, 'a' + I);
      K.Args.push_back({4, unsigned(16 + 4 * I), MNEME_ARG_VALUE, Name, "i32"});
      Parameters += ", i32 %" + Name;
      Bytes.push_back(SnapshotBuilder::bytes(V));
    }
    setUp(Body, "one");
    StringRef Old = ", i32 %n)";
    IR.replace(IR.find(Old), Old.size(), Parameters + ")");
    Before = addRegions(Builder(MNEME_SNAPSHOT_PROLOGUE).args(Bytes), false)
                 .data(0, "one")
                 .close();
  }
  static std::vector<uint32_t> readScalars(const PerturbedLaunch &L) {
    std::unique_ptr<ReplayPlan> P = open(L);
    std::vector<uint32_t> Values;
    for (StringRef Bytes : P->state().args().drop_front(2))
      Values.push_back(support::endian::read32le(Bytes.data()));
    return Values;
  }
};
} // namespace

static constexpr StringLiteral StoreSum = R"(
  %v = load i32, ptr %in
  %s = add i32 %a, %b
  %t = add i32 %s, %v
  store i32 %t, ptr %out
  ret void
})";

/// What is a product, a multiple or a neighbour stays one.
TEST_F(ScalarsTest, RelatedScalars) {
  setUpScalars({24, 60, 24 * 60, 24, 120, 61}, StoreSum);
  PerturbOptions O;
  O.Scalars = DrawnScalars::Related;
  for (O.Seed = 0; O.Seed != 8; ++O.Seed) {
    std::vector<uint32_t> V = readScalars(perturb(O));
    EXPECT_TRUE(V[0] != 24 || V[1] != 60);
    EXPECT_EQ(V[2], V[0] * V[1]);
    EXPECT_EQ(V[3], V[0]);
    EXPECT_EQ(V[4], 2 * V[1]);
    EXPECT_EQ(V[5], V[1] + 1);
  }
}

/// In each launch, one has its recorded value and another one has not.
TEST_F(ScalarsTest, SomeScalars) {
  setUpScalars({1000, 2000}, StoreSum);
  PerturbOptions O;
  O.Scalars = DrawnScalars::Some;
  bool Seen[2] = {};
  for (O.Seed = 0; O.Seed != 16; ++O.Seed) {
    PerturbedLaunch L = perturb(O);
    std::vector<uint32_t> V = readScalars(L);
    EXPECT_NE(V[0] == 1000, V[1] == 2000);
    Seen[V[0] == 1000] = true;
    // What stays by choice could have other values.
    EXPECT_THAT(L.Unchanged, IsEmpty());
  }
  EXPECT_TRUE(Seen[0] && Seen[1]);
}

/// The recorded code fails if one changes alone.
TEST_F(ScalarsTest, PairsThatOnlyChangeTogether) {
  setUpScalars({1000, 1000}, R"(
  %same = icmp eq i32 %a, %b
  br i1 %same, label %good, label %bad
bad:
  call void @llvm.trap()
  unreachable
good:
  store i32 %a, ptr %out
  ret void
}
declare void @llvm.trap())");
  PerturbOptions O;
  O.Scalars = DrawnScalars::Each;
  PerturbedLaunch L = perturb(O);
  std::vector<uint32_t> V = readScalars(L);
  EXPECT_EQ(V[0], V[1]);
  EXPECT_NE(V[0], 1000u);
  EXPECT_THAT(L.Changed, ElementsAre("argument 2 (a)", "argument 3 (b)"));
  EXPECT_THAT(L.Unchanged, IsEmpty());
}
