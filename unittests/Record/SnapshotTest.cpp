//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Snapshot.h"
#include "SnapshotBuilder.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

/// The page files of what has been built.
static SnapshotBuilder::FileMap PageFiles;

static Expected<Snapshot> parse(StringRef Bytes) {
  auto Pages = std::make_shared<PageStore>("/nowhere");
  for (const auto &[Name, Contents] : PageFiles)
    Pages->add(cantFail(
        PageFile::parse(MemoryBuffer::getMemBufferCopy(Contents, Name))));
  return Snapshot::parse(MemoryBuffer::getMemBufferCopy(Bytes, "x.mneme"),
                         std::move(Pages));
}

/// What a range of data holds.
static std::string contents(const Snapshot &S, const SnapshotData &D) {
  std::string Out(D.RawSize, '.');
  EXPECT_THAT_ERROR(S.decode(D, {Out.data(), Out.size()}), Succeeded());
  return Out;
}

static std::string pageOf(char C) {
  return std::string(MNEME_SNAPSHOT_PAGE, C);
}

/// The error's text, or "no error".
static std::string errorOf(StringRef Bytes) {
  Expected<Snapshot> S = parse(Bytes);
  return S ? "no error" : toString(S.takeError());
}

static SnapshotBuilder prologue() {
  SnapshotBuilder B(MNEME_SNAPSHOT_PROLOGUE, &PageFiles);
  B.args({"abcd", "efghijkl"});
  return B;
}

static SnapshotBuilder epilogue() {
  return SnapshotBuilder(MNEME_SNAPSHOT_EPILOGUE, &PageFiles);
}

TEST(Snapshot, ReadsWhatWasWritten) {
  Expected<Snapshot> S =
      parse(prologue()
                .region(0x2000, 100, 1)
                .region(0x1000, 64, 0)
                .region(0x3000, 8, 2, "counter")
                .annotation(0x2008, 16, MNEME_DTYPE_F32, MNEME_TOLERANCE_REL,
                            MNEME_NORM_L2, 0.5, "y")
                .data(0x2010, "later")
                .data(0x1000, "first")
                .close());
  ASSERT_THAT_EXPECTED(S, Succeeded());
  EXPECT_FALSE(S->isEpilogue());
  EXPECT_EQ(S->header().DynamicHash, 0x22u);
  EXPECT_EQ(S->args(), ArrayRef<std::string>({"abcd", "efghijkl"}));
  ASSERT_EQ(S->regions().size(), 3u);
  EXPECT_EQ(S->regions()[0].Id, 0u);
  EXPECT_EQ(S->regions()[1].Size, 100u);
  EXPECT_TRUE(S->regions()[2].IsGlobal);
  EXPECT_EQ(S->regions()[2].Name, "counter");
  ASSERT_EQ(S->annotations().size(), 1u);
  EXPECT_EQ(S->annotations()[0].Tag, "y");
  EXPECT_EQ(S->annotations()[0].Value, 0.5);
  // The last page of a region is not whole.
  ASSERT_EQ(S->data().size(), 2u);
  EXPECT_EQ(contents(*S, S->data()[0]), "first" + std::string(59, '\0'));
  EXPECT_EQ(contents(*S, S->data()[1]),
            std::string(16, '\0') + "later" + std::string(79, '\0'));
}

TEST(Snapshot, HasMemoryOutsideTheArena) {
  constexpr uint64_t Base = SnapshotBuilder::Base;
  constexpr uint64_t End = Base + MNEME_ARENA_SIZE;
  Expected<Snapshot> S =
      parse(prologue()
                .region(0, 8, 0)
                .regionAt(End, 64, 2, MNEME_REGION_MANAGED)
                .regionAt(Base - 64, 64, 1, MNEME_REGION_PINNED)
                .data(-64, "first")
                .close());
  ASSERT_THAT_EXPECTED(S, Succeeded());
  ASSERT_EQ(S->regions().size(), 3u);
  EXPECT_TRUE(S->regions()[0].isOutsideArena());
  EXPECT_FALSE(S->regions()[1].isOutsideArena());
  EXPECT_EQ(S->regions()[2].Kind, unsigned(MNEME_REGION_MANAGED));

  auto Error = [](uint64_t Address, uint64_t Size) {
    return errorOf(
        prologue().regionAt(Address, Size, 0, MNEME_REGION_MANAGED).close());
  };
  EXPECT_THAT(Error(Base - 8, 9), HasSubstr("are in the arena"));
  EXPECT_THAT(Error(End - 1, 2), HasSubstr("are in the arena"));
  EXPECT_THAT(Error(Base - 8, 2 * MNEME_ARENA_SIZE),
              HasSubstr("are in the arena"));
  EXPECT_THAT(Error(End, 0), HasSubstr("are no address range"));
  EXPECT_THAT(Error(~0ull, 2), HasSubstr("are no address range"));
}

TEST(Snapshot, OverlaysOneRegion) {
  // The second region begins where the first one's last page has its filling.
  Expected<Snapshot> S = parse(epilogue()
                                   .region(0x1000, 0x1008, 0)
                                   .region(0x2008, 8, 1)
                                   .data(0x2000, "ABCDEFGH")
                                   .data(0x2008, "IJ")
                                   .close());
  ASSERT_THAT_EXPECTED(S, Succeeded());
  std::string First(0x1008, '.'), Second(8, '.');
  EXPECT_THAT_ERROR(S->overlay(0, {First.data(), First.size()}), Succeeded());
  EXPECT_THAT_ERROR(S->overlay(1, {Second.data(), 8}), Succeeded());
  EXPECT_EQ(First, pageOf('.') + "ABCDEFGH");
  EXPECT_EQ(Second, StringRef("IJ\0\0\0\0\0\0", 8).str());
}

TEST(Snapshot, PutsRunsTogether) {
  SnapshotBuilder B = prologue();
  B.region(0, 10 * MNEME_SNAPSHOT_PAGE, 0);
  uint32_t First = B.Pages.pages(pageOf('a') + pageOf('b') + pageOf('c'));
  uint32_t Other = B.Pages.pages(pageOf('d'));
  Expected<Snapshot> S = parse(B.run(4 * MNEME_SNAPSHOT_PAGE, 3, Other, 0)
                                   .run(0, 2, First + 1)
                                   .run(2 * MNEME_SNAPSHOT_PAGE, 1, First)
                                   .run(9 * MNEME_SNAPSHOT_PAGE, 1, First)
                                   .close());
  ASSERT_THAT_EXPECTED(S, Succeeded());
  ASSERT_EQ(S->data().size(), 3u);
  EXPECT_EQ(contents(*S, S->data()[0]),
            pageOf('b') + pageOf('c') + pageOf('a'));
  EXPECT_EQ(contents(*S, S->data()[1]),
            pageOf('d') + pageOf('d') + pageOf('d'));
  EXPECT_EQ(contents(*S, S->data()[2]), pageOf('a'));
}

TEST(Snapshot, RangesAreNotLongerThanAFrame) {
  SnapshotBuilder B = prologue();
  constexpr uint32_t NumPages = 2 * MNEME_FRAME_PAGES + 7;
  B.region(0, NumPages * MNEME_SNAPSHOT_PAGE - 5, 0);
  std::string All;
  for (uint32_t I = 0; I != NumPages; ++I)
    All += std::string(MNEME_SNAPSHOT_PAGE, 'a' + I % 26);
  Expected<Snapshot> S = parse(B.data(0, All).close());
  ASSERT_THAT_EXPECTED(S, Succeeded());
  ASSERT_EQ(S->data().size(), 3u);
  EXPECT_EQ(contents(*S, S->data()[0]) + contents(*S, S->data()[1]) +
                contents(*S, S->data()[2]),
            All.substr(0, All.size() - 5));

  // Not where the frames are.
  SnapshotBuilder C = prologue();
  C.region(0, 300 * MNEME_SNAPSHOT_PAGE, 0);
  C.Pages.pages(All);
  S = parse(C.run(0, 300, 100).close());
  ASSERT_THAT_EXPECTED(S, Succeeded());
  std::string Out;
  for (const SnapshotData &D : S->data())
    Out += contents(*S, D);
  EXPECT_EQ(Out,
            All.substr(100 * MNEME_SNAPSHOT_PAGE, 300 * MNEME_SNAPSHOT_PAGE));
}

TEST(Snapshot, DropsWhatIsUnchanged) {
  auto Build = [](SnapshotBuilder B, bool Epilogue) {
    B.region(0, 8 * MNEME_SNAPSHOT_PAGE, 0).region(1 << 20, 16, 1);
    B.Pages.pages(pageOf('a') + pageOf('b') + pageOf('c') + pageOf('d') +
                  pageOf('e'));
    if (Epilogue)
      // c has become e; what was repeated still is.
      B.run(0, 2, 0).run(2 * MNEME_SNAPSHOT_PAGE, 1, 4);
    else
      B.run(0, 3, 0);
    return B.run(3 * MNEME_SNAPSHOT_PAGE, 1, 3)
        .run(4 * MNEME_SNAPSHOT_PAGE, 3, 1, 0)
        .run(1 << 20, 1, 2)
        .close();
  };
  std::string OldBytes = Build(prologue(), false);
  std::string NewBytes = Build(epilogue(), true);
  auto Pages = std::make_shared<PageStore>("/nowhere");
  for (const auto &[Name, Contents] : PageFiles)
    Pages->add(cantFail(
        PageFile::parse(MemoryBuffer::getMemBufferCopy(Contents, Name))));
  auto Parse = [&](StringRef Text) {
    return cantFail(
        Snapshot::parse(MemoryBuffer::getMemBufferCopy(Text, "x"), Pages));
  };
  Snapshot Old = Parse(OldBytes), New = Parse(NewBytes);
  EXPECT_EQ(New.runs().size(), 5u);
  New.dropUnchanged(Old);
  ASSERT_EQ(New.runs().size(), 1u);
  ASSERT_EQ(New.data().size(), 1u);
  EXPECT_EQ(New.data()[0].Address,
            SnapshotBuilder::Base + 2 * MNEME_SNAPSHOT_PAGE);
  EXPECT_EQ(contents(New, New.data()[0]), pageOf('e'));
}

TEST(Snapshot, IgnoresUnknownOptionalRecord) {
  EXPECT_EQ(
      errorOf(prologue().record(77, "future", MNEME_RECORD_OPTIONAL).close()),
      "no error");
  EXPECT_THAT(errorOf(prologue().record(77, "future").close()),
              HasSubstr("type 77 is required and not known to this reader"));
  EXPECT_THAT(errorOf(prologue().record(77, "future", 6).close()),
              HasSubstr("unknown flags 0x6"));
}

TEST(Snapshot, AcceptsAnotherMinorVersion) {
  SnapshotBuilder B = prologue();
  B.Header.Minor = MNEME_SNAPSHOT_MINOR + 7;
  EXPECT_EQ(errorOf(B.close()), "no error");
}

TEST(Snapshot, RefusesForeignHeader) {
  EXPECT_EQ(errorOf(""), "'x.mneme': truncated: the file is empty");
  EXPECT_EQ(errorOf("MNEM"), "'x.mneme': truncated: 4 bytes, a header has 64");
  EXPECT_EQ(errorOf("ELF, or whatever"),
            "'x.mneme': not a snapshot: does not begin with 'MNEMESNP'");
  SnapshotBuilder Major = prologue();
  Major.Header.Major = 1;
  EXPECT_EQ(errorOf(Major.close()),
            "'x.mneme': format version 1.2, this reader knows 2.x");
  SnapshotBuilder Kind = prologue();
  Kind.Header.Kind = 9;
  EXPECT_EQ(errorOf(Kind.close()), "'x.mneme': unknown kind 9 of snapshot");
  SnapshotBuilder Arena = prologue();
  Arena.Header.ArenaSize = ~0ull;
  EXPECT_THAT(errorOf(Arena.close()), HasSubstr("is no address range"));
  std::string Damaged = prologue().close();
  Damaged[offsetof(MnemeSnapshotHeader, DynamicHash)] ^= 1;
  EXPECT_EQ(errorOf(Damaged), "'x.mneme': damaged: wrong digest of the header");
}

TEST(Snapshot, RefusesEveryTruncation) {
  std::string Whole = prologue().region(0, 64, 0).data(3, "bytes").close();
  for (size_t Size = 0; Size < Whole.size(); ++Size)
    EXPECT_THAT(errorOf(StringRef(Whole).take_front(Size)),
                HasSubstr("'x.mneme': truncated: "));
  EXPECT_EQ(errorOf(prologue().open()), "'x.mneme': truncated: no end record");
  EXPECT_EQ(errorOf(Whole + "more"), "'x.mneme': 4 bytes after the end record");
}

TEST(Snapshot, RefusesEveryFlippedBit) {
  std::string Whole = prologue().region(0, 64, 0).data(3, "bytes").close();
  for (size_t I = 0; I < Whole.size() * 8; ++I) {
    std::string Damaged = Whole;
    Damaged[I / 8] ^= 1 << I % 8;
    // An optional flag on a known record changes nothing.
    if (errorOf(Damaged) != "no error")
      continue;
    Expected<Snapshot> S = parse(Damaged);
    ASSERT_THAT_EXPECTED(S, Succeeded());
    EXPECT_EQ(S->regions().size(), 1u) << "bit " << I;
    EXPECT_EQ(contents(*S, S->data()[0]).substr(3, 5), "bytes") << "bit " << I;
  }
}

TEST(Snapshot, RefusesWrongArguments) {
  EXPECT_THAT(errorOf(prologue().args({}).close()),
              HasSubstr("expected only once, in a prologue"));
  EXPECT_THAT(errorOf(epilogue().args({}).close()),
              HasSubstr("expected only once, in a prologue"));
  EXPECT_EQ(errorOf(SnapshotBuilder(MNEME_SNAPSHOT_PROLOGUE).close()),
            "'x.mneme': prologue without arguments record");
  auto Error = [](ArrayRef<MnemeArgEntry> Entries, uint32_t Count,
                  StringRef Values) {
    std::string Payload = SnapshotBuilder::bytes(MnemeArgsRecord{Count, 0});
    for (const MnemeArgEntry &E : Entries)
      Payload += SnapshotBuilder::bytes(E);
    return errorOf(SnapshotBuilder(MNEME_SNAPSHOT_PROLOGUE)
                       .record(MNEME_RECORD_ARGS, Payload + Values.str())
                       .close());
  };
  EXPECT_THAT(Error({}, 0xffffffff, ""), HasSubstr("too short for its"));
  EXPECT_THAT(Error({{4, 0}}, 1, "abc"), HasSubstr("too short for argument 0"));
  EXPECT_THAT(Error({{4, 0}}, 1, "abcde"), HasSubstr("1 bytes after the last"));
  EXPECT_THAT(Error({{4, 8}, {4, 8}}, 2, "abcdefgh"),
              HasSubstr("argument 1 overlaps the one before"));
}

TEST(Snapshot, RefusesWrongRegions) {
  EXPECT_THAT(errorOf(prologue().region(0, 0, 0).close()),
              HasSubstr("region record at offset "));
  EXPECT_THAT(errorOf(prologue().region(MNEME_ARENA_SIZE - 8, 9, 0).close()),
              HasSubstr("0x9 bytes at 0x207ffffffff8 are not in the arena"));
  EXPECT_THAT(errorOf(prologue().region(0, ~0ull, 0).close()),
              HasSubstr("are not in the arena"));
  EXPECT_THAT(errorOf(prologue().region(-8, 8, 0).close()),
              HasSubstr("are not in the arena"));
  EXPECT_EQ(errorOf(prologue().region(0, 9, 0).region(8, 8, 1).close()),
            "'x.mneme': regions 0 and 1 overlap");
  EXPECT_THAT(errorOf(prologue().region(0, 8, 0).region(8, 8, 0).close()),
              HasSubstr("region number 0 is out of range or repeated"));
  EXPECT_THAT(errorOf(prologue().region(0, 8, 5).close()),
              HasSubstr("region number 5 is out of range or repeated"));
  MnemeRegionRecord R = {
      SnapshotBuilder::Base, 8, MNEME_REGION_GLOBAL, 0, 0, 0};
  auto Error = [&](StringRef Name) {
    return errorOf(
        prologue()
            .record(MNEME_RECORD_REGION, SnapshotBuilder::bytes(R) + Name.str())
            .close());
  };
  EXPECT_THAT(Error(""), HasSubstr("variable without a name"));
  EXPECT_THAT(Error("abc"), HasSubstr("name of 0 bytes in 3"));
  R.NameSize = 1;
  R.Kind = MNEME_REGION_HEAP;
  EXPECT_THAT(Error("a"), HasSubstr("buffer with a name"));
  R.Kind = MNEME_REGION_TEXTURE;
  EXPECT_THAT(Error("a"), HasSubstr("texture object of 8 bytes"));
  R.Kind = 7;
  EXPECT_THAT(Error("a"), HasSubstr("unknown kind 7 of region"));
}

TEST(Snapshot, RefusesWrongPages) {
  constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
  auto Error = [](uint64_t Offset, uint32_t NumPages, uint32_t First,
                  uint32_t Step = 1, uint32_t File = 0) {
    SnapshotBuilder B = prologue();
    B.region(0, 5 * Page + 8, 0).region(8 * Page, Page, 1);
    B.Pages.pages(std::string(4 * Page, 'x'));
    return errorOf(B.run(Offset, NumPages, First, Step, File).close());
  };
  EXPECT_EQ(Error(0, 4, 0), "no error");
  EXPECT_EQ(Error(5 * Page, 1, 0), "no error");
  EXPECT_EQ(Error(0, 6, 3, 0), "no error");
  EXPECT_THAT(Error(0, 0, 0),
              HasSubstr("run of 0 pages, the limit of all is "));
  EXPECT_THAT(Error(0, ~0u, 0), HasSubstr("run of 4294967295 pages"));
  EXPECT_THAT(Error(0, 1, 0, 2), HasSubstr("unknown step 2"));
  EXPECT_THAT(Error(0, 5, 0),
              HasSubstr("5 pages from 0 on are not in 'Pages."));
  EXPECT_THAT(Error(0, 1, 4), HasSubstr(", which has 4"));
  EXPECT_THAT(Error(0, 2, 4, 0), HasSubstr("2 pages from 4 on are not in "));
  EXPECT_THAT(Error(0, 1, 0, 1, 1), HasSubstr("are in page file 1 of 1"));
  EXPECT_THAT(
      Error(5 * Page, 2, 0),
      HasSubstr("2 pages at 0x200000005000 are not pages of one region"));
  EXPECT_THAT(Error(6 * Page, 1, 0), HasSubstr("are not pages of one region"));
  EXPECT_THAT(Error(8, 1, 0), HasSubstr("are not pages of one region"));
  EXPECT_THAT(Error(-Page, 1, 0), HasSubstr("are not pages of one region"));
  SnapshotBuilder Twice = prologue();
  Twice.region(0, 4 * Page, 0).data(0, pageOf('a') + pageOf('b'));
  EXPECT_EQ(errorOf(Twice.data(Page, "c").close()),
            "'x.mneme': pages overlap at 0x200000001000");
  EXPECT_THAT(errorOf(prologue().record(MNEME_RECORD_PAGES, "few").close()),
              HasSubstr("pages record at offset "));
  EXPECT_THAT(errorOf(prologue().record(MNEME_RECORD_PAGES, "").close()),
              HasSubstr("0 bytes are no multiple of 24"));
  EXPECT_THAT(
      errorOf(prologue().record(MNEME_RECORD_PAGE_FILES, "few").close()),
      HasSubstr("3 bytes are no multiple of 16"));
  std::string Id(16, 'i');
  EXPECT_THAT(errorOf(prologue()
                          .record(MNEME_RECORD_PAGE_FILES, Id)
                          .record(MNEME_RECORD_PAGE_FILES, Id)
                          .close()),
              HasSubstr("there is one already"));
}

TEST(Snapshot, RefusesAMissingPageFile) {
  SnapshotBuilder B(MNEME_SNAPSHOT_PROLOGUE);
  std::string Bytes = B.args({}).region(0, 8, 0).data(0, "only here").close();
  EXPECT_THAT(errorOf(Bytes),
              testing::StartsWith("'/nowhere/" + B.Pages.name() + "': "));
}

TEST(Snapshot, RefusesWrongAnnotations) {
  auto Error = [](uint64_t Offset, uint64_t Size, uint32_t DType,
                  uint32_t Tolerance, uint32_t Norm, double Value) {
    return errorOf(
        prologue()
            .region(0, 64, 0)
            .annotation(Offset, Size, DType, Tolerance, Norm, Value, "t")
            .close());
  };
  EXPECT_EQ(Error(0, 64, 1, 1, 1, 0), "no error");
  EXPECT_THAT(Error(60, 8, 1, 1, 1, 0), HasSubstr("is in no region"));
  EXPECT_THAT(Error(0, 0, 1, 1, 1, 0), HasSubstr("is in no region"));
  EXPECT_THAT(Error(0, 8, 13, 1, 1, 0), HasSubstr("unknown element type 13"));
  EXPECT_THAT(Error(0, 8, 1, 4, 1, 0),
              HasSubstr("unknown kind 4 of tolerance"));
  EXPECT_THAT(Error(0, 8, 1, 1, 4, 0), HasSubstr("unknown norm 4"));
  for (double V : {-1.0, double(NAN), double(INFINITY)})
    EXPECT_THAT(Error(0, 8, 1, 1, 1, V), HasSubstr("is not a finite number"));
}

TEST(Snapshot, RefusesWrongEnd) {
  auto Error = [](StringRef End) {
    return errorOf(prologue().record(MNEME_RECORD_END, End).open());
  };
  EXPECT_THAT(Error(SnapshotBuilder::bytes(MnemeEndRecord{2, 0})),
              HasSubstr("counts 2 records where there are 1"));
  EXPECT_THAT(Error(SnapshotBuilder::bytes(MnemeEndRecord{1, 5})),
              HasSubstr("counts 5 pages where there are 0"));
  EXPECT_THAT(Error("x"), HasSubstr("not of 16 bytes"));
}

TEST(Snapshot, RefusesHugeRecordSize) {
  MnemeRecordHeader R = {MNEME_RECORD_PAGES, 0, ~0ull - 3, 0};
  EXPECT_THAT(errorOf(prologue().open() + SnapshotBuilder::bytes(R)),
              HasSubstr("is cut off"));
}

TEST(Snapshot, NamesAMissingFile) {
  EXPECT_THAT(toString(Snapshot::open("/nowhere/at/all.mneme").takeError()),
              HasSubstr("'/nowhere/at/all.mneme': "));
}
