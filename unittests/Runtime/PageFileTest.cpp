//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/PageFile.h"
#include "FileSize.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"

#include <atomic>
#include <thread>

using namespace llvm;
using namespace mneme;

namespace {

constexpr size_t Page = MNEME_SNAPSHOT_PAGE;

class PageFileTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("pages", Folder));
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  std::string in(const char *Name) {
    return (Folder.str() + "/" + Name).str();
  }

  SmallString<128> Folder;
};

TEST_F(PageFileTest, NewFilesTakeNoName) {
  // As another process with the same number would have it.
  for (const char *Name : {"a.tmp", "a.1.tmp"}) {
    std::string Path = in("a");
    int Fd = createNew(Path, ".tmp");
    ASSERT_GE(Fd, 0);
    EXPECT_EQ(in(Name), Path);
    EXPECT_TRUE(writeAll(Fd, Name, strlen(Name)));
    close(Fd);
  }
  EXPECT_EQ("a.tmp", (*MemoryBuffer::getFile(in("a.tmp")))->getBuffer());
  EXPECT_EQ("a.1.tmp", (*MemoryBuffer::getFile(in("a.1.tmp")))->getBuffer());
  std::string Nowhere = in("b/c");
  EXPECT_EQ(-1, createNew(Nowhere));
  EXPECT_EQ(ENOENT, errno);
}

/// What does not compress is in the file as it is, frame behind frame.
TEST_F(PageFileTest, DigestsAreOfWhatIsStored) {
  const size_t NumPages = 4096;
  std::vector<uint32_t> Memory(NumPages * Page / 4);
  uint32_t Random = 1;
  for (uint32_t &Word : Memory)
    Word = Random = Random * 1664525 + 1013904223;
  std::atomic<bool> IsOver{false};
  std::thread Writer([&] {
    auto *Words = const_cast<volatile uint32_t *>(Memory.data());
    while (!IsOver)
      for (size_t I = 7; I < Memory.size(); I += Page / 4)
        Words[I] = Words[I] + 1;
  });

  PageIndex Known;
  PageFile File;
  File.open(Folder.str().str(), Known);
  File.copyFirst();
  std::vector<PageDigest> Digests;
  std::vector<PageRef> Refs;
  // The last page is not full.
  File.add({{reinterpret_cast<char *>(Memory.data()), NumPages * Page - 8}},
           Digests, Refs);
  IsOver = true;
  Writer.join();
  File.close();
  ASSERT_EQ("", File.error());
  ASSERT_EQ(NumPages, Refs.size());
  ASSERT_EQ(NumPages, File.digests().size());
  auto Buffer = MemoryBuffer::getFile(in(pageFileName(File.id()).c_str()));
  ASSERT_TRUE(bool(Buffer));
  const char *Stored =
      (*Buffer)->getBufferStart() + sizeof(MnemePageFileHeader);
  ASSERT_GE((*Buffer)->getBufferSize(), NumPages * Page);
  for (size_t I = 0; I != NumPages; ++I) {
    EXPECT_EQ(I, Refs[I].Page);
    ASSERT_TRUE(Digests[I] == digestOfPage(Stored + I * Page, Page)) << I;
  }
}

} // namespace
