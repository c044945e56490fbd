//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Page files and snapshots as the runtime writes them, read by the tools.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/PageStore.h"
#include "SnapshotBuilder.h"
#include "llvm/Mneme/Record/Snapshot.h"
#include "llvm/Mneme/Runtime/SnapshotFile.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::HasSubstr;

namespace {

constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
constexpr uint64_t Base = SnapshotBuilder::Base;

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<PageFile>> parse(StringRef Bytes) {
  return PageFile::parse(MemoryBuffer::getMemBufferCopy(Bytes, "x.mneme"));
}

/// The error's text, or "no error".
std::string errorOf(StringRef Bytes) {
  Expected<std::unique_ptr<PageFile>> F = parse(Bytes);
  if (!F)
    return toString(F.takeError());
  for (size_t I = 0; I != (*F)->frames().size(); ++I) {
    std::vector<char> Out((*F)->frames()[I].size());
    if (Error E = (*F)->readFrame(I, Out))
      return toString(std::move(E));
  }
  return "no error";
}

PageFileBuilder twoFrames() {
  PageFileBuilder B;
  B.pages(std::string(3 * Page, 'a'));
  B.pages("end");
  return B;
}

TEST(PageFile, ReadsWhatWasBuilt) {
  PageFileBuilder B = twoFrames();
  Expected<std::unique_ptr<PageFile>> F = parse(B.close());
  ASSERT_THAT_EXPECTED(F, Succeeded());
  EXPECT_EQ((*F)->numPages(), 4u);
  EXPECT_EQ((*F)->id(), B.id());
  EXPECT_EQ((*F)->findFrame(2), 0u);
  EXPECT_EQ((*F)->findFrame(3), 1u);
  std::string Out(Page, '.');
  EXPECT_THAT_ERROR((*F)->readFrame(1, {Out.data(), Out.size()}), Succeeded());
  EXPECT_EQ(Out, "end" + std::string(Page - 3, '\0'));
  EXPECT_EQ(PageFile::idOf(PageFile::nameOf(B.id())), B.id());
  EXPECT_EQ(PageFile::idOf("Pages.123.mneme"), std::nullopt);
}

TEST(PageFile, RefusesEveryTruncation) {
  std::string Whole = twoFrames().close();
  for (size_t Size = 0; Size < Whole.size(); Size += Size < 100 ? 1 : 37)
    EXPECT_NE(errorOf(StringRef(Whole).take_front(Size)), "no error") << Size;
  EXPECT_EQ(errorOf(""), "'x.mneme': truncated: the file is empty");
  EXPECT_EQ(errorOf("MNEM"), "'x.mneme': truncated: 4 bytes, a header has 16");
  EXPECT_EQ(errorOf(StringRef(Whole).drop_back()),
            "'x.mneme': truncated or appended to: does not end with "
            "'MNEMEPAG'");
}

TEST(PageFile, RefusesEveryFlippedByte) {
  std::string Whole = twoFrames().close();
  for (size_t I = 0; I < Whole.size(); I += I % Page < 200 ? 1 : 41) {
    std::string Damaged = Whole;
    Damaged[I] ^= 4;
    EXPECT_NE(errorOf(Damaged), "no error") << "byte " << I;
  }
}

TEST(PageFile, RefusesForeignFiles) {
  EXPECT_EQ(errorOf("ELF, or whatever"),
            "'x.mneme': not a page file: does not begin with 'MNEMEPAG'");
  PageFileBuilder Major = twoFrames();
  Major.Header.Major = 9;
  EXPECT_EQ(errorOf(Major.close()),
            "'x.mneme': format version 9.0, this reader knows 1.x");
  PageFileBuilder Size = twoFrames();
  Size.Header.PageSize = 1;
  EXPECT_THAT(errorOf(Size.close()), HasSubstr("pages of 1 bytes"));
  PageFileBuilder Minor = twoFrames();
  Minor.Header.Minor = 9;
  EXPECT_EQ(errorOf(Minor.close()), "no error");
}

TEST(PageFile, RefusesWrongCounts) {
  for (auto Counts : {std::pair(5, 2), std::pair(3, 2), std::pair(4, 1),
                      std::pair(4, 5), std::pair(1 << 30, 2)}) {
    PageFileBuilder B = twoFrames();
    B.Footer.NumPages = Counts.first;
    B.Footer.NumFrames = Counts.second;
    EXPECT_NE(errorOf(B.close()), "no error")
        << Counts.first << ", " << Counts.second;
  }
  auto Frame = [](uint32_t Stored, uint16_t NumPages, uint16_t Encoding) {
    PageFileBuilder B;
    B.pages("x");
    B.Table =
        SnapshotBuilder::bytes(MnemePageFrame{Stored, NumPages, Encoding});
    return errorOf(B.close());
  };
  EXPECT_EQ(Frame(Page, 1, MNEME_ENCODING_RAW), "no error");
  EXPECT_THAT(Frame(Page, 0, MNEME_ENCODING_RAW), HasSubstr("of 0 pages"));
  EXPECT_THAT(Frame(Page, 257, MNEME_ENCODING_RAW),
              HasSubstr("of 257 pages, the limit is 256"));
  EXPECT_THAT(Frame(Page, 1, 7), HasSubstr("unknown encoding 7"));
  EXPECT_THAT(Frame(1, 1, MNEME_ENCODING_RAW), HasSubstr("stores 1 bytes of"));
  EXPECT_THAT(Frame(Page + 1, 1, MNEME_ENCODING_ZSTD),
              HasSubstr("does not fit in"));
  EXPECT_THAT(Frame(2 * Page, 2, MNEME_ENCODING_RAW),
              HasSubstr("does not fit in"));
  EXPECT_THAT(Frame(Page, 2, MNEME_ENCODING_ZSTD),
              HasSubstr("more pages than are left"));
  EXPECT_THAT(Frame(1, 1, MNEME_ENCODING_ZSTD),
              HasSubstr("do not match the header"));
}

TEST(PageFile, RefusesWrongPages) {
  PageFileBuilder B;
  B.frame(std::string(Page, 'a'), MNEME_ENCODING_RAW, std::string(Page, 'b'));
  EXPECT_EQ(errorOf(B.close()),
            "'x.mneme': pages 0 to 0: damaged: wrong digest of page 0");
  PageFileBuilder C;
  C.frame(std::string(Page, 'a'), MNEME_ENCODING_ZSTD, "no frame");
  EXPECT_THAT(errorOf(C.close()), HasSubstr("'x.mneme': pages 0 to 0: "));
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

class PageStoreTest : public testing::Test {
protected:
  PageStoreTest() : Dir("mneme-pages", /*Unique=*/true) {}

  std::string path(StringRef Name = "") {
    SmallString<128> P(Dir.path());
    sys::path::append(P, Name);
    return std::string(P);
  }

  std::vector<std::string> pageFiles() {
    std::vector<std::string> Names;
    std::error_code EC;
    for (sys::fs::directory_iterator It(path(), EC), End; It != End;
         It.increment(EC))
      if (StringRef Name = sys::path::filename(It->path());
          Name.starts_with("Pages."))
        Names.push_back(Name.str());
    llvm::sort(Names);
    return Names;
  }

  /// Bytes that do not compress.
  std::string noise(size_t Size) {
    std::string S(Size, '\0');
    for (char &C : S)
      C = Random();
    return S;
  }

  struct Region {
    uint64_t Address;
    std::string Before, After;
  };

  static void open(::mneme::SnapshotFile &F, std::string Path, uint32_t Kind,
                   ArrayRef<Region> Regions, ::mneme::PageFile &Pages) {
    MnemeSnapshotHeader H = {};
    H.Kind = Kind;
    H.ArenaBase = Base;
    H.ArenaSize = MNEME_ARENA_SIZE;
    F.open(std::move(Path), H, Pages);
    if (Kind == MNEME_SNAPSHOT_PROLOGUE) {
      MnemeArgsRecord None = {};
      F.record(MNEME_RECORD_ARGS, &None, sizeof(None));
    }
    uint32_t Id = 0;
    for (const Region &R : Regions)
      F.region({R.Address, R.Before.size(), MNEME_REGION_HEAP, Id++, 0, 0}, "");
  }

  enum class Mode { Diff, Full };

  /// Records as the host device does, then reads what the files say.
  void roundTrip(ArrayRef<Region> Regions, Mode M = Mode::Diff) {
    ::mneme::PageFile Pages;
    ::mneme::SnapshotFile Before, After;
    Pages.open(path(), Index);
    open(Before, path("p"), MNEME_SNAPSHOT_PROLOGUE, Regions, Pages);
    auto Add = [](::mneme::SnapshotFile &F, const Region &R, StringRef Bytes,
                  function_ref<bool(uint64_t, uint64_t)> Wanted) {
      for (uint64_t At = 0; At < Bytes.size(); At += Page) {
        uint64_t Size = std::min(Page, Bytes.size() - At);
        if (Wanted(At, Size))
          F.data(Bytes.data() + At, R.Address + At, Size);
      }
    };
    for (const Region &R : Regions)
      Add(Before, R, R.Before, [&](uint64_t At, uint64_t Size) {
        return !::mneme::isZero(R.Before.data() + At, Size);
      });
    Before.close();
    open(After, path("e"), MNEME_SNAPSHOT_EPILOGUE, Regions, Pages);
    for (const Region &R : Regions)
      Add(After, R, R.After, [&](uint64_t At, uint64_t Size) {
        bool Differs = StringRef(R.Before).substr(At, Size) !=
                       StringRef(R.After).substr(At, Size);
        EXPECT_EQ(Before.differs(R.After.data() + At, R.Address + At, Size),
                  Differs);
        return Differs;
      });
    After.close();
    if (M == Mode::Full) {
      size_t Runs = After.numRunsCompleted(Before);
      After.complete(Before);
      EXPECT_EQ(After.numRuns(), Runs);
    }
    Pages.close();
    ASSERT_EQ(Pages.error(), "");
    if (!Pages.empty())
      Index.add(Pages.id(), Pages.digests());
    Before.write();
    After.write();
    ASSERT_EQ(Before.error(), "");
    ASSERT_EQ(After.error(), "");

    auto Store = std::make_shared<PageStore>(path());
    Expected<Snapshot> P = Snapshot::open(path("p"), Store);
    ASSERT_THAT_EXPECTED(P, Succeeded());
    Expected<Snapshot> E = Snapshot::open(path("e"), Store);
    ASSERT_THAT_EXPECTED(E, Succeeded());
    for (bool Dropped : {false, true}) {
      std::vector<Region> Sorted(Regions);
      llvm::sort(Sorted, [](const Region &A, const Region &B) {
        return A.Address < B.Address;
      });
      for (auto [I, R] : llvm::enumerate(Sorted)) {
        std::string Contents(R.Before.size(), '\0');
        MutableArrayRef<char> Out(Contents.data(), Contents.size());
        EXPECT_THAT_ERROR(P->overlay(I, Out), Succeeded());
        EXPECT_TRUE(Contents == R.Before) << "region " << I;
        if (M == Mode::Full && !Dropped)
          llvm::fill(Out, 0); // It needs no prologue.
        EXPECT_THAT_ERROR(E->overlay(I, Out), Succeeded());
        EXPECT_TRUE(Contents == R.After) << "region " << I;
      }
      NumRuns = P->runs().size();
      NumChanged = E->runs().size();
      E->dropUnchanged(*P);
    }
  }

  unittest::TempDir Dir;
  std::minstd_rand Random{1};
  ::mneme::PageIndex Index;
  size_t NumRuns = 0, NumChanged = 0;
};

TEST_F(PageStoreTest, RoundTrip) {
  for (Mode M : {Mode::Diff, Mode::Full}) {
    std::vector<Region> Regions;
    // Neighbours without a gap, some of which end within a page.
    uint64_t At = Base;
    for (uint64_t Size : {Page, Page, 2 * Page, Page - 8, uint64_t(16),
                          3 * Page, 300 * Page + 5, uint64_t(1)}) {
      std::string Bytes = noise(Size);
      Regions.push_back({At, Bytes, Bytes});
      At += Size;
    }
    Regions[1].After = noise(Page);
    Regions[2].Before = std::string(2 * Page, '\0');
    Regions[2].After[5] = 1;
    Regions[4].After = std::string(16, '\0');
    Regions[6].After.replace(3 * Page - 2, 4, "abcd");
    Regions[6].After.back() ^= 1;
    roundTrip(Regions, M);
    // Not in the order of addresses.
    std::swap(Regions[0], Regions[7]);
    std::swap(Regions[3], Regions[4]);
    roundTrip(Regions, M);
  }
}

TEST_F(PageStoreTest, EqualPagesAreStoredOnce) {
  std::string Bytes = noise(600 * Page);
  roundTrip({{Base, Bytes, Bytes}});
  EXPECT_EQ(pageFiles().size(), 1u);
  EXPECT_EQ(NumRuns, 1u);
  // At another place, and a part of it; nothing new.
  std::string Part = Bytes.substr(7 * Page, 400 * Page);
  roundTrip({{Base + 8 * Page, Part, Part}});
  EXPECT_EQ(pageFiles().size(), 1u);
  EXPECT_EQ(NumRuns, 1u);
  // One page is new.
  std::string Changed = Bytes;
  Changed[100 * Page] ^= 1;
  roundTrip({{Base, Bytes, Changed}});
  EXPECT_EQ(pageFiles().size(), 2u);
  EXPECT_EQ(NumRuns, 1u);
  EXPECT_EQ(NumChanged, 1u);
  roundTrip({{Base, Changed, Bytes}});
  EXPECT_EQ(pageFiles().size(), 2u);
  EXPECT_EQ(NumRuns, 3u);

  // Another process knows what is in the folder.
  ::mneme::PageIndex Other;
  Other.readFolder(path());
  ::mneme::PageDigest Digests[] = {
      ::mneme::digestOfPage(Changed.data() + 100 * Page, Page),
      ::mneme::digestOfPage(noise(Page).data(), Page)};
  ::mneme::PageRef Refs[2];
  char Found[2];
  Other.find(Digests, 2, Refs, Found);
  EXPECT_TRUE(Found[0]);
  EXPECT_FALSE(Found[1]);
}

TEST_F(PageStoreTest, PagesOfManyChunks) {
  // Known, repeated and new pages side by side, for several threads.
  std::string Known = noise(700 * Page);
  roundTrip({{Base, Known, Known}});
  std::string Before, After;
  for (size_t I = 0; I != 3000; ++I) {
    std::string Fresh = noise(Page);
    Before += Random() % 3 ? Fresh : Known.substr(Random() % 700 * Page, Page);
    After += Random() % 2 || I < 300
                 ? Before.substr(I * Page, Page)
                 : Before.substr(Random() % 300 * Page, Page);
  }
  // Memory that compresses well, with gaps.
  Before.append(1500 * Page, 'z');
  After.append(700 * Page, 'z').append(800 * Page, 'y');
  for (size_t I = 3000; I != 4500; ++I)
    if (I % 9)
      memcpy(&After[I * Page], &I, sizeof(I));
  std::vector<std::string> First = pageFiles();
  ASSERT_EQ(First.size(), 1u);
  // The second file does not depend on which thread was faster. Its name says
  // which pages it has, not how they are packed.
  std::string Expected;
  for (unsigned I = 0; I != 3; ++I) {
    Index.clear();
    Index.readFolder(path());
    roundTrip({{Base, Before, After}});
    std::vector<std::string> Both = pageFiles();
    ASSERT_EQ(Both.size(), 2u);
    std::string Second = path(Both[Both[0] == First[0]]);
    std::string Bytes = cantFail(readFile(Second))->getBuffer().str();
    if (!I)
      Expected = Bytes;
    EXPECT_TRUE(Bytes == Expected);
    ASSERT_FALSE(sys::fs::remove(Second));
  }
}

TEST_F(PageStoreTest, RepeatedPagesAreOneRun) {
  std::string Same(5000 * Page, 'x');
  roundTrip({{Base, Same, std::string(5000 * Page, '\0')}});
  EXPECT_EQ(NumRuns, 1u);
  EXPECT_EQ(NumChanged, 1u);
  ASSERT_EQ(pageFiles().size(), 1u);
  uint64_t Size = 0;
  ASSERT_FALSE(sys::fs::file_size(path(pageFiles()[0]), Size));
  EXPECT_LT(Size, 1000u);
}

TEST_F(PageStoreTest, WithoutRoomToRemember) {
  // What cannot be remembered is stored again.
  ::mneme::PageTable Table(2);
  std::vector<::mneme::PageDigest> Digests;
  for (char C = 'a'; C != 'e'; ++C) {
    Digests.push_back(::mneme::digestOfPage(std::string(Page, C).data(), Page));
    Table.insert(Digests.back(), Digests.size() - 1);
  }
  auto Find = [&](size_t I) {
    return Table.find(Digests[I], [&](uint32_t N) { return Digests[N]; });
  };
  EXPECT_EQ(Find(0), 0u);
  EXPECT_EQ(Find(1), 1u);
  EXPECT_EQ(Find(2), ::mneme::PageTable::None);
  EXPECT_EQ(Table.room(), 0u);
}

/// The process has \p Bytes more, then allocations fail.
[[maybe_unused]] void limitMemory(uint64_t Bytes) {
  std::ifstream Statm("/proc/self/statm");
  uint64_t NumPages = 0;
  Statm >> NumPages;
  rlim_t Most = NumPages * sys::Process::getPageSizeEstimate() + Bytes;
  rlimit Limit = {Most, Most};
  setrlimit(RLIMIT_AS, &Limit);
}

#if LLVM_ADDRESS_SANITIZER_BUILD || LLVM_THREAD_SANITIZER_BUILD
#define SKIP_WITHOUT_LIMIT_OF_MEMORY                                           \
  GTEST_SKIP() << "the sanitizer's allocator ends the process"
#else
#define SKIP_WITHOUT_LIMIT_OF_MEMORY
#endif

TEST_F(PageStoreTest, WithoutMemoryToRemember) {
  SKIP_WITHOUT_LIMIT_OF_MEMORY;
  // An application that is recorded goes on all the same.
  std::vector<::mneme::PageDigest> Many(2 << 20);
  PageFileBuilder B;
  B.Digests.assign(reinterpret_cast<const char *>(Many.data()),
                   Many.size() * sizeof(Many[0]));
  B.Footer.NumPages = Many.size();
  cantFail(writeFileAtomically(path(B.name()), B.close()));
  roundTrip({{Base, std::string(Page, 'a'), std::string(Page, 'b')}});
  EXPECT_EXIT(
      {
        limitMemory(48 << 20); // Of the digests, once.
        ::mneme::PageIndex Other;
        Other.readFolder(path());
        Other.add({{1}}, Many);
        ::mneme::PageDigest Known =
            ::mneme::digestOfPage(std::string(Page, 'b').data(), Page);
        ::mneme::PageRef Ref;
        char Found;
        Other.find(&Known, 1, &Ref, &Found);
        _exit(Found ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

/// Of a page that nobody has: only its digest is wanted.
::mneme::PageDigest digestOf(uint32_t I) { return {I * 0x9E3779B97F4A7C15, I}; }

std::vector<::mneme::PageDigest> digestsOf(uint32_t First, size_t Count) {
  std::vector<::mneme::PageDigest> Digests;
  for (size_t I = 0; I != Count; ++I)
    Digests.push_back(digestOf(First + I));
  return Digests;
}

/// "file:page", or "" where it is not known.
std::string find(const ::mneme::PageIndex &Index, uint32_t I) {
  ::mneme::PageDigest Digest = digestOf(I);
  ::mneme::PageRef Ref;
  char Found;
  Index.find(&Digest, 1, &Ref, &Found);
  return Found ? formatv("{0}:{1}", Index.idOf(Ref.File).Id[0], Ref.Page).str()
               : "";
}

TEST_F(PageStoreTest, RemembersAsManyAsFit) {
  std::vector<::mneme::PageDigest> Five = digestsOf(0, 5);
  ::mneme::PageIndex Small(3);
  Small.add({{1}}, Five);
  EXPECT_EQ(find(Small, 2), "1:2");
  EXPECT_EQ(find(Small, 3), "");
  // From a folder, too.
  PageFileBuilder B;
  for (const ::mneme::PageDigest &D : Five)
    B.Digests += PageFileBuilder::bytes(D);
  B.Footer.NumPages = Five.size();
  cantFail(writeFileAtomically(path(B.name()), B.close()));
  ::mneme::PageIndex Read(3);
  Read.readFolder(path());
  EXPECT_NE(find(Read, 2), "");
  EXPECT_EQ(find(Read, 3), "");
}

TEST_F(PageStoreTest, RemembersNoPageTwice) {
  ::mneme::PageIndex Small(20);
  Small.add({{1}}, digestsOf(0, 10));
  for (uint8_t I = 2; I != 12; ++I) {
    std::vector<::mneme::PageDigest> Digests = digestsOf(0, 10);
    Digests.insert(Digests.begin() + 4, digestOf(100 + I));
    Small.add({{I}}, Digests);
  }
  EXPECT_EQ(find(Small, 7), "1:7");
  for (unsigned I = 2; I != 12; ++I)
    EXPECT_EQ(find(Small, 100 + I), formatv("{0}:4", I).str());
  Small.add({{12}}, digestsOf(200, 1));
  EXPECT_EQ(find(Small, 200), "");
  Small.clear();
  EXPECT_EQ(find(Small, 7), "");
  // After one that is known, and before.
  Small.add({{13}}, digestsOf(0, 1));
  Small.add({{14}}, digestsOf(0, 3));
  EXPECT_EQ(find(Small, 0), "13:0");
  EXPECT_EQ(find(Small, 1), "14:1");
  EXPECT_EQ(find(Small, 2), "14:2");
}

TEST_F(PageStoreTest, ForgetsMemoryOfKnownPages) {
  SKIP_WITHOUT_LIMIT_OF_MEMORY;
  EXPECT_EXIT(
      {
        std::vector<::mneme::PageDigest> Digests = digestsOf(0, 1 << 20);
        limitMemory(128 << 20); // Of the digests, eight times.
        ::mneme::PageIndex Other;
        for (uint8_t I = 0; I != 40; ++I) {
          Digests.back() = digestOf((2 << 20) + I);
          Other.add({{I}}, Digests);
        }
        _exit(find(Other, (2 << 20) + 39) == "39:1048575" ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(PageStoreTest, RemembersMany) {
  ::mneme::PageTable Table(100000);
  for (uint32_t I = 0; I != 50000; ++I)
    Table.insert(digestOf(I), I);
  for (uint32_t I = 0; I != 50000; ++I)
    ASSERT_EQ(Table.find(digestOf(I), digestOf), I);
  EXPECT_EQ(Table.find(digestOf(50000), digestOf), ::mneme::PageTable::None);
}

TEST_F(PageStoreTest, PassesOverWhatIsNoPageFile) {
  std::string Bytes = noise(Page);
  roundTrip({{Base, Bytes, Bytes}});
  ASSERT_EQ(pageFiles().size(), 1u);
  std::string Name = pageFiles()[0];
  std::string Whole = cantFail(readFile(path(Name)))->getBuffer().str();
  auto Knows = [&] {
    ::mneme::PageIndex Other;
    Other.readFolder(path());
    ::mneme::PageDigest Digest = ::mneme::digestOfPage(Bytes.data(), Page);
    ::mneme::PageRef Ref;
    char Found;
    Other.find(&Digest, 1, &Ref, &Found);
    return bool(Found);
  };
  EXPECT_TRUE(Knows());
  std::string Damaged = Whole;
  Damaged[Whole.size() - 60] ^= 1; // In the index.
  for (StringRef Contents : {StringRef(Damaged), StringRef(Whole).drop_back(),
                             StringRef(), StringRef("foreign")}) {
    cantFail(writeFileAtomically(path(Name), Contents));
    EXPECT_FALSE(Knows());
  }
  // Under another name, snapshots could not refer to it.
  cantFail(writeFileAtomically(path("Pages." + std::string(32, '0') + ".mneme"),
                               Whole));
  EXPECT_FALSE(Knows());
  ASSERT_FALSE(sys::fs::create_directory(path("Pages.folder")));
  cantFail(writeFileAtomically(path(Name), Whole));
  EXPECT_TRUE(Knows());
}

TEST_F(PageStoreTest, HasTheIndexOfAnother) {
  std::string Bytes = noise(Page);
  roundTrip({{Base, Bytes, Bytes}});
  std::string Name = pageFiles()[0];
  std::string Other = PageFile::nameOf(Digest128{});
  ASSERT_FALSE(sys::fs::rename(path(Name), path(Other)));
  EXPECT_EQ(toString(PageStore(path()).get(Digest128{}).takeError()),
            "'" + path(Other) + "': has the index of '" + Name + "'");
}

TEST_F(PageStoreTest, FailsOnce) {
  std::string Bytes = noise(Page);
  ::mneme::PageFile Pages;
  Pages.open(path("missing"), Index);
  ::mneme::SnapshotFile F;
  open(F, path("p"), MNEME_SNAPSHOT_PROLOGUE, {}, Pages);
  F.data(Bytes.data(), Base, Page);
  F.close();
  Pages.close();
  F.write();
  EXPECT_THAT(F.error(), HasSubstr("'" + path("missing")));
  EXPECT_FALSE(sys::fs::exists(path("p")));
}

} // namespace
