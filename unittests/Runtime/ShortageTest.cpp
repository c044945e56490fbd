//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What becomes of the runtime's data when allocations fail, one by one.
///
//===----------------------------------------------------------------------===//

#include "AddressMap.h"
#include "Arena.h"
#include "FailingNew.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Mneme/Record/PageStore.h"
#include "llvm/Mneme/Runtime/SnapshotFile.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <map>
#include <memory>
#include <string>
#include <utility>

using namespace llvm;
using namespace ::mneme;

namespace {

// Free under AddressSanitizer, too.
constexpr uint64_t Base = 0x200000000000ull;
constexpr uint64_t MiB = 1u << 20;

TEST(ShortageTest, AddressMapsStayWhole) {
  forEachFailure([](uint64_t Index, bool AllFollowing) {
    AddressMap Map{{512, 0, MiB, 2 * MiB}};
    Map.assign(Base, 64 * MiB);
    uint64_t Places[12] = {};
    uint64_t InUse = 0;
    bool HasFailed;
    {
      FailingNew Failing(Index, AllFollowing);
      for (unsigned I = 0; I != 12; ++I)
        if (AddressMap::Allocation *A = Map.allocate(1000 + I * 300000))
          Places[I] = A->Address;
      // Holes with and without neighbours.
      for (unsigned I : {1, 4, 5, 9, 8, 10})
        if (Places[I])
          EXPECT_TRUE(Map.release(std::exchange(Places[I], 0)));
      for (unsigned I : {4, 9})
        if (AddressMap::Allocation *A = Map.allocate(2000))
          Places[I] = A->Address;
      HasFailed = Failing.hasFailed();
    }
    // No two overlap, and what has failed has left nothing.
    uint64_t End = Base, Count = 0;
    for (const auto &[Address, A] : Map.allocations()) {
      EXPECT_GE(Address, End);
      End = Address + A.Size;
      InUse += A.Size;
    }
    EXPECT_EQ(InUse, Map.bytesInUse());
    for (uint64_t Place : Places)
      Count += Place != 0;
    EXPECT_EQ(Count, Map.allocations().size());
    for (uint64_t Place : Places)
      if (Place)
        EXPECT_TRUE(Map.release(Place));
    EXPECT_EQ(0u, Map.bytesInUse());
    // Little of the addresses is lost.
    EXPECT_NE(nullptr, Map.allocate(32 * MiB));
    return HasFailed;
  });
}

TEST(ShortageTest, ArenasAreReservedOrNot) {
  forEachFailure([](uint64_t Index, bool AllFollowing) {
    Arena A;
    bool HasFailed, IsReserved = false;
    {
      FailingNew Failing(Index, AllFollowing);
      try {
        IsReserved = A.reserve(Base, 64 * MiB).empty();
      } catch (const std::bad_alloc &) {
      }
      HasFailed = Failing.hasFailed();
    }
    EXPECT_EQ(IsReserved, A.size() != 0);
    if (!IsReserved)
      EXPECT_EQ("", A.reserve(Base, 64 * MiB));
    return HasFailed;
  });
}

class ShortFilesTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("shortage", Folder));
    uint32_t Random = 1;
    for (size_t I = 0; I != Memory.size(); ++I)
      // A little noise, and what compresses. No page comes twice: without
      // memory for its digest, it would be stored again.
      Memory[I] =
          I < 1 << 16 ? Random = Random * 1664525 + 1013904223 : I / 1024;
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  /// By name.
  std::map<std::string, std::string> files() {
    std::map<std::string, std::string> Found;
    std::error_code EC;
    for (sys::fs::directory_iterator I(Folder, EC), E; I != E; I.increment(EC))
      Found[I->path()] = (*MemoryBuffer::getFile(I->path()))->getBuffer().str();
    return Found;
  }

  /// Writes a recording, and finds out what the files hold. \returns what went
  /// wrong.
  std::string write(PageIndex &Known, bool CopyFirst,
                    std::map<std::string, std::string> &Files) {
    // Enough for more than one thread.
    constexpr uint64_t Size = 1200 * MNEME_SNAPSHOT_PAGE;
    auto *Bytes = reinterpret_cast<const char *>(Memory.data());
    std::string Path = (Folder + "/prologue").str(),
                After = (Folder + "/epilogue").str(), In = Folder.str().str();
    MnemeSnapshotHeader Header = {};
    Header.Kind = MNEME_SNAPSHOT_PROLOGUE;
    MnemeRegionRecord R = {Base, Size, MNEME_REGION_HEAP, 0, 0, 0};
    PageFile Pages;
    SnapshotFile Prologue, Epilogue;
    Pages.open(In, Known, In);
    if (CopyFirst)
      Pages.copyFirst();
    Prologue.open(Path, Header, Pages);
    Prologue.region(R, "a variable with a long name");
    Prologue.data(Bytes, Base, Size);
    Prologue.close();
    Epilogue.open(After, Header, Pages);
    Epilogue.region(R, "");
    if (Prologue.error().empty())
      Epilogue.data(Bytes + Size, Base + Size / 2, Size / 4);
    Epilogue.close();
    Epilogue.complete(Prologue);
    for (SnapshotFile *F : {&Prologue, &Epilogue})
      if (!F->error().empty())
        return F->error();
    Pages.close();
    for (SnapshotFile *F : {&Prologue, &Epilogue}) {
      F->write();
      if (!F->error().empty())
        return F->error();
    }
    Files = files();
    return Pages.error();
  }

  /// Without memory for a compressor, pages are stored as they are.
  void expectSamePages(const std::string &Name) {
    llvm::mneme::PageStore Store(Folder);
    std::optional<llvm::mneme::Digest128> Id =
        llvm::mneme::PageFile::idOf(sys::path::filename(Name));
    ASSERT_TRUE(Id) << Name;
    llvm::Expected<const llvm::mneme::PageFile *> File = Store.get(*Id);
    ASSERT_TRUE(bool(File)) << llvm::toString(File.takeError());
    // The name is the digest of what all pages hold.
    EXPECT_TRUE(Store.check(**File).first.empty()) << Name;
  }

  SmallString<128> Folder;
  std::vector<uint32_t> Memory = std::vector<uint32_t>(2 << 20);
};

TEST_F(ShortFilesTest, FilesAreWholeOrAbsent) {
  for (bool CopyFirst : {false, true}) {
    std::map<std::string, std::string> Whole;
    PageIndex Nothing;
    ASSERT_EQ("", write(Nothing, CopyFirst, Whole));
    ASSERT_EQ(3u, Whole.size());
    for (const auto &[Name, Bytes] : Whole)
      sys::fs::remove(Name);
    forEachFailure([&](uint64_t Index, bool AllFollowing) {
      PageIndex Known;
      std::map<std::string, std::string> Files;
      std::string Error;
      bool HasFailed;
      auto Failing = std::make_unique<FailingNew>(Index, AllFollowing);
      try {
        Error = write(Known, CopyFirst, Files);
      } catch (const std::bad_alloc &) {
        // Of the test itself.
        Error = "out of memory";
      }
      HasFailed = Failing->hasFailed();
      Failing.reset();
      EXPECT_EQ(Error.empty() ? "" : "out of memory", Error);
      EXPECT_EQ(Error.empty() ? Whole.size() : 0, Files.size());
      // A page file that has its name stays: others may count on it.
      for (const auto &[Name, Bytes] : files()) {
        EXPECT_TRUE(Whole.count(Name)) << Name;
        if (Whole[Name] != Bytes)
          expectSamePages(Name);
        EXPECT_FALSE(sys::fs::remove(Name));
      }
      return HasFailed;
    });
  }
}

TEST_F(ShortFilesTest, IndexesKnowWhatTheyCanRemember) {
  std::map<std::string, std::string> Files;
  {
    PageIndex Nothing;
    ASSERT_EQ("", write(Nothing, false, Files));
  }
  auto *Bytes = reinterpret_cast<const char *>(Memory.data());
  PageDigest Digest = digestOfPage(Bytes, MNEME_SNAPSHOT_PAGE);
  std::string In = Folder.str().str();
  forEachFailure([&](uint64_t Index, bool AllFollowing) {
    PageIndex Known;
    bool HasFailed;
    {
      FailingNew Failing(Index, AllFollowing);
      Known.readFolder(In);
      HasFailed = Failing.hasFailed();
    }
    PageRef Ref = {};
    char Found = 2;
    Known.find(&Digest, 1, &Ref, &Found);
    if (Found) {
      EXPECT_EQ(1, Found);
      EXPECT_EQ(0u, Ref.Page);
      EXPECT_TRUE(Files.count(
          (Folder + "/" + pageFileName(Known.idOf(Ref.File))).str()));
    }
    return HasFailed;
  });
}

} // namespace
