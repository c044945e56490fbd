//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/JitCache.h"
#include "llvm/Mneme/Runtime/WarmStart.h"
#include "gtest/gtest.h"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <functional>
#include <limits.h>
#include <set>
#include <sys/stat.h>
#include <unistd.h>

using namespace mneme;

namespace {

JitRequest makeRequest() {
  JitRequest Q;
  Q.Target = JitTarget::Host;
  Q.Arch = "arch";
  Q.Code = std::string(16, 'c');
  Q.Unit = std::string(16, 'u');
  Q.Symbol = "kernel";
  Q.Config = "{}";
  Q.Passes = "default<O3>";
  Q.Specialize = JitArgs | JitBlock;
  Q.Tuned = std::string(16, 't');
  Q.Plugins = {{std::string(16, 'p'), "globaldce"}};
  MnemeJitField F = {};
  F.Kind = MNEME_JIT_VALUE;
  F.Arg = F.Place = 1;
  F.Size = 4;
  F.CountArg = F.CountPlace = MNEME_JIT_NO_ARG;
  Q.Fields = {F, F};
  Q.Constants = {{0, "abcd"}, {1, "efgh"}};
  Q.Block[0] = 32;
  Q.Grid[0] = 4;
  Q.MaxThreads = 32;
  return Q;
}

/// Every input that code depends on, changed alone.
const std::vector<std::pair<const char *, std::function<void(JitRequest &)>>>
    FirstLevel = {
        {"target", [](JitRequest &Q) { Q.Target = JitTarget::Cuda; }},
        {"arch", [](JitRequest &Q) { Q.Arch = "other"; }},
        {"code", [](JitRequest &Q) { Q.Code[0] = 'x'; }},
        {"unit", [](JitRequest &Q) { Q.Unit[15] = 'x'; }},
        {"symbol", [](JitRequest &Q) { Q.Symbol = "kernel2"; }},
        {"config", [](JitRequest &Q) { Q.Config = "{ }"; }},
        {"passes", [](JitRequest &Q) { Q.Passes = "default<O2>"; }},
        {"specialize", [](JitRequest &Q) { Q.Specialize |= JitGrid; }},
        {"tuned", [](JitRequest &Q) { Q.Tuned[3] = 'x'; }},
        {"no tuned", [](JitRequest &Q) { Q.Tuned.clear(); }},
        {"plugin", [](JitRequest &Q) { Q.Plugins[0].Digest[0] = 'x'; }},
        {"pipeline", [](JitRequest &Q) { Q.Plugins[0].Pipeline = "dce"; }},
        {"no plugin", [](JitRequest &Q) { Q.Plugins.clear(); }},
        {"two plugins",
         [](JitRequest &Q) { Q.Plugins.push_back(Q.Plugins[0]); }},
        {"kind", [](JitRequest &Q) { Q.Fields[0].Kind = MNEME_JIT_ARRAY; }},
        {"arg", [](JitRequest &Q) { Q.Fields[1].Arg = 0; }},
        {"offset", [](JitRequest &Q) { Q.Fields[1].Offset = 4; }},
        {"size", [](JitRequest &Q) { Q.Fields[1].Size = 8; }},
        {"count", [](JitRequest &Q) { Q.Fields[1].Count = 8; }},
        {"count's arg", [](JitRequest &Q) { Q.Fields[1].CountArg = 0; }},
        {"fields", [](JitRequest &Q) { Q.Fields.pop_back(); }},
};
const std::vector<std::pair<const char *, std::function<void(JitRequest &)>>>
    SecondLevel = {
        {"value", [](JitRequest &Q) { Q.Constants[0].Bytes[3] = 'x'; }},
        {"length", [](JitRequest &Q) { Q.Constants[0].Bytes += 'x'; }},
        {"field", [](JitRequest &Q) { Q.Constants[0].Field = 1; }},
        {"fewer", [](JitRequest &Q) { Q.Constants.pop_back(); }},
        // The same bytes, divided in another way.
        {"boundary",
         [](JitRequest &Q) {
           Q.Constants[0].Bytes = "abcde";
           Q.Constants[1].Bytes = "fgh";
         }},
        {"block", [](JitRequest &Q) { Q.Block[0] = 64; }},
        {"block.y", [](JitRequest &Q) { Q.Block[1] = 1; }},
        {"grid", [](JitRequest &Q) { Q.Grid[0] = 5; }},
        {"grid.z", [](JitRequest &Q) { Q.Grid[2] = 1; }},
        {"threads", [](JitRequest &Q) { Q.MaxThreads = 64; }},
};

TEST(JitKey, HasAllInputs) {
  const std::string Identity(16, 'i');
  std::set<std::string> Facts = {makeJitKey(Identity, makeRequest(), false)};
  std::set<std::string> Code = {makeJitKey(Identity, makeRequest(), true)};
  EXPECT_TRUE(
      Code.insert(makeJitKey(std::string(16, 'j'), makeRequest(), true)).second)
      << "the toolchain";
  for (const auto &[Name, Change] : FirstLevel) {
    JitRequest Q = makeRequest();
    Change(Q);
    EXPECT_TRUE(Facts.insert(makeJitKey(Identity, Q, false)).second) << Name;
    EXPECT_TRUE(Code.insert(makeJitKey(Identity, Q, true)).second) << Name;
  }
  for (const auto &[Name, Change] : SecondLevel) {
    JitRequest Q = makeRequest();
    Change(Q);
    EXPECT_FALSE(Facts.insert(makeJitKey(Identity, Q, false)).second) << Name;
    EXPECT_TRUE(Code.insert(makeJitKey(Identity, Q, true)).second) << Name;
  }
}

TEST(JitKey, HasOnlyWhatMatters) {
  JitFacts Facts;
  Facts.Fields = 1;
  Facts.Block = 1;
  auto KeyOf = [&](JitRequest Q) {
    applyFacts(Q, Facts);
    return makeJitKey(std::string(16, 'i'), Q, true);
  };
  const std::string Key = KeyOf(makeRequest());
  JitRequest Q = makeRequest();
  Q.Constants[1].Bytes = "other";
  Q.Grid[0] = 100;
  Q.Block[1] = 8;
  Q.MaxThreads = 256;
  EXPECT_EQ(Key, KeyOf(Q));
  Q.Block[0] = 64;
  EXPECT_NE(Key, KeyOf(Q));
}

TEST(JitExchange, Requests) {
  WireWriter W;
  writeFields(W, makeRequest());
  JitRequest Read;
  WireReader R(W.body().data(), W.body().size());
  ASSERT_TRUE(readRequest(R, Read));
  EXPECT_TRUE(R.atEnd());
  EXPECT_EQ(makeJitKey("", makeRequest(), true), makeJitKey("", Read, true));
  for (size_t Size = 0; Size != W.body().size(); ++Size) {
    JitRequest Q;
    WireReader Cut(W.body().data(), Size);
    EXPECT_FALSE(readRequest(Cut, Q)) << Size;
  }
  // A constant of a field that does not exist.
  JitRequest Bad = makeRequest();
  Bad.Constants[0].Field = 2;
  WireWriter B;
  writeFields(B, Bad);
  WireReader BR(B.body().data(), B.body().size());
  EXPECT_FALSE(readRequest(BR, Read));
}

JitImage makeImage() {
  JitImage I;
  I.Size = 8192;
  I.Entry = 16;
  I.Segments = {{0, 64, 5, std::string(64, 'x')}, {4096, 32, 3, "ab"}};
  I.Externals = {{"printf", 0}};
  I.Fixups = {{4096, 0, 0}, {4104, JitImage::Fixup::Base, 16}};
  I.FrameOffset = 4112;
  I.FrameSize = 8;
  I.Functions = {{"f", 16, 8}};
  return I;
}

bool isAccepted(const JitImage &I) {
  WireWriter W;
  writeFields(W, I);
  WireReader R(W.body().data(), W.body().size());
  JitImage Read;
  return readImage(R, Read);
}

TEST(JitExchange, Images) {
  EXPECT_TRUE(isAccepted(makeImage()));
  const std::vector<std::pair<const char *, std::function<void(JitImage &)>>>
      Damages = {
          {"entry", [](JitImage &I) { I.Entry = 8192; }},
          {"entry in no segment", [](JitImage &I) { I.Entry = 64; }},
          {"entry in data", [](JitImage &I) { I.Entry = 4096; }},
          {"entry without code", [](JitImage &I) { I.Segments.clear(); }},
          {"size", [](JitImage &I) { I.Size = uint64_t(1) << 40; }},
          {"segment", [](JitImage &I) { I.Segments[1].Size = 8192; }},
          {"overlap", [](JitImage &I) { I.Segments[1].Offset = 0; }},
          {"alignment", [](JitImage &I) { I.Segments[1].Offset = 100; }},
          {"contents", [](JitImage &I) { I.Segments[1].Contents.resize(33); }},
          {"fixup", [](JitImage &I) { I.Fixups[0].Offset = 8185; }},
          {"symbol", [](JitImage &I) { I.Fixups[0].Symbol = 1; }},
          {"frames", [](JitImage &I) { I.FrameSize = 8192; }},
          {"frames in no segment", [](JitImage &I) { I.FrameSize = 32; }},
          {"unreadable frames",
           [](JitImage &I) { I.Segments[1].Protection = PROT_NONE; }},
          {"function", [](JitImage &I) { I.Functions[0].Offset = 9000; }},
      };
  for (const auto &[Name, Damage] : Damages) {
    JitImage I = makeImage();
    Damage(I);
    EXPECT_FALSE(isAccepted(I)) << Name;
  }
  WireWriter W;
  writeFields(W, makeImage());
  for (size_t Size = 0; Size != W.body().size(); ++Size) {
    JitImage Read;
    WireReader Cut(W.body().data(), Size);
    EXPECT_FALSE(readImage(Cut, Read)) << Size;
  }
}

class JitCacheTest : public testing::Test {
protected:
  JitCacheTest() {
    char Template[] = "/tmp/mneme-jit-test-XXXXXX";
    Folder = mkdtemp(Template);
    Path = Folder + "/" + jitFileName("key", JitFile::Code);
  }
  ~JitCacheTest() override {
    unlink(Path.c_str());
    rmdir(Folder.c_str());
  }
  void write(const std::string &Bytes) {
    unlink(Path.c_str());
    FILE *F = fopen(Path.c_str(), "w");
    fwrite(Bytes.data(), 1, Bytes.size(), F);
    fclose(F);
    chmod(Path.c_str(), 0644);
  }
  JitRead read() { return readJitFile(Folder, "key", JitFile::Code, Contents); }

  std::string Folder, Path, Contents;
};

TEST_F(JitCacheTest, ReadsWhatWasWritten) {
  EXPECT_EQ(JitRead::Missing, read());
  write(jitFileBytes("key", "contents"));
  EXPECT_EQ(JitRead::Found, read());
  EXPECT_EQ("contents", Contents);
  write(jitFileBytes("key", ""));
  EXPECT_EQ(JitRead::Found, read());
  EXPECT_EQ("", Contents);
}

TEST_F(JitCacheTest, RefusesWhatOthersCanWrite) {
  write(jitFileBytes("key", "contents"));
  for (mode_t Mode : {0600, 0644, 0755, 0444}) {
    chmod(Path.c_str(), Mode);
    EXPECT_EQ(JitRead::Found, read()) << Mode;
  }
  for (mode_t Mode : {0664, 0646, 0620, 0602, 01666}) {
    chmod(Path.c_str(), Mode);
    EXPECT_EQ(JitRead::Damaged, read()) << Mode;
  }
  chmod(Path.c_str(), 0644);
  // Nobody but the owner replaces files in a sticky folder.
  for (mode_t Mode : {0755, 01777, 01770}) {
    chmod(Folder.c_str(), Mode);
    EXPECT_EQ(JitRead::Found, read()) << Mode;
  }
  for (mode_t Mode : {0775, 0757, 0777}) {
    chmod(Folder.c_str(), Mode);
    EXPECT_EQ(JitRead::Damaged, read()) << Mode;
  }
  chmod(Folder.c_str(), 0700);
}

TEST_F(JitCacheTest, RefusesDamagedFiles) {
  const std::string Good = jitFileBytes("key", "contents");
  for (size_t I = 0; I != Good.size(); ++I)
    for (unsigned Bit : {0, 7}) {
      std::string Bad = Good;
      Bad[I] ^= 1 << Bit;
      write(Bad);
      EXPECT_EQ(JitRead::Damaged, read()) << I;
    }
  for (size_t Size = 0; Size != Good.size(); ++Size) {
    write(Good.substr(0, Size));
    EXPECT_EQ(JitRead::Damaged, read()) << Size;
  }
  write(Good + "x");
  EXPECT_EQ(JitRead::Damaged, read());
  // The file of another key, under this one's name.
  write(jitFileBytes("kex", "contents"));
  EXPECT_EQ(JitRead::Damaged, read());
}

TEST_F(JitCacheTest, RefusesOtherFiles) {
  std::string Target = Folder + "/target";
  write(jitFileBytes("key", "contents"));
  rename(Path.c_str(), Target.c_str());
  ASSERT_EQ(0, symlink(Target.c_str(), Path.c_str()));
  EXPECT_EQ(JitRead::Damaged, read());
  unlink(Target.c_str());
  unlink(Path.c_str());
  ASSERT_EQ(0, mkfifo(Path.c_str(), 0600));
  EXPECT_EQ(JitRead::Damaged, read());
  if (!geteuid()) {
    constexpr uid_t AnotherUser = 12345;
    write(jitFileBytes("key", "contents"));
    ASSERT_EQ(0, chown(Path.c_str(), AnotherUser, AnotherUser));
    EXPECT_EQ(JitRead::Damaged, read());
  }
}

TEST_F(JitCacheTest, RecognizesItsNames) {
  for (JitFile Kind : {JitFile::Facts, JitFile::Code, JitFile::Toolchain})
    EXPECT_TRUE(isJitFileName(jitFileName("key", Kind), Kind));
  EXPECT_FALSE(
      isJitFileName(jitFileName("key", JitFile::Code), JitFile::Facts));
  EXPECT_NE(jitFileName("key", JitFile::Code),
            jitFileName("kex", JitFile::Code));
  for (const char *Other : {"", "a.code", "0123456789abcdef.facts", "..",
                            "0123456789abcdef0123456789abcdef",
                            "0123456789abcdef0123456789abcdef.txt",
                            "0123456789abcdef0123456789abcdeg.code"})
    EXPECT_FALSE(isJitFileName(Other, JitFile::Code)) << Other;
}

TEST_F(JitCacheTest, NoticesChangedToolchains) {
  write("a");
  JitToolchain T;
  T.Identity = std::string(16, 'i');
  EXPECT_FALSE(T.isCurrent());
  ASSERT_TRUE(T.add(Path));
  EXPECT_FALSE(T.add(Path + ".missing"));
  EXPECT_TRUE(T.isCurrent());
  JitToolchain Read;
  ASSERT_TRUE(JitToolchain::decode(T.encode(), Read));
  EXPECT_EQ(T.Identity, Read.Identity);
  EXPECT_TRUE(Read.isCurrent());
  EXPECT_FALSE(JitToolchain::decode(T.encode() + "x", Read));
  write("ab");
  EXPECT_FALSE(T.isCurrent());
  unlink(Path.c_str());
  EXPECT_FALSE(T.isCurrent());
  EXPECT_NE(makeToolchainKey("a", "", JitTarget::Host),
            makeToolchainKey("b", "", JitTarget::Host));
  EXPECT_NE(makeToolchainKey("a", "", JitTarget::Cuda),
            makeToolchainKey("a", "c", JitTarget::Cuda));
}

TEST_F(JitCacheTest, DigestsOfUnchangedFilesAreKnown) {
  // A file whose time has nanoseconds: those of an image need not.
  char Program[PATH_MAX] = {};
  ASSERT_GT(readlink("/proc/self/exe", Program, sizeof(Program) - 1), 0);
  // It may have been linked a moment ago, and change once more.
  struct stat S;
  ASSERT_EQ(0, stat(Program, &S));
  while (time(nullptr) <= S.st_ctim.tv_sec + 2)
    usleep(100000);
  timespec Now;
  clock_gettime(CLOCK_REALTIME, &Now);
  JitInputs::Digests Known;
  auto Add = [&](const std::string &Path) {
    JitInputs Inputs;
    Inputs.add(Path, Folder, Now, /*Found=*/true, /*Identity=*/"", Known);
    return Inputs.Files.front();
  };
  JitInputs::File First = Add(Program);
  EXPECT_EQ(16u, First.Digest.size());
  ASSERT_FALSE(First.Stamp.empty());
  ASSERT_EQ(1u, Known.size());
  Known.begin()->second = std::string(16, 'k');
  EXPECT_EQ(std::string(16, 'k'), Add(Program).Digest);
}

TEST_F(JitCacheTest, InputsHavePaths) {
  JitInputs Inputs, Read;
  Inputs.Files = {{"path", "", ""}};
  EXPECT_TRUE(JitInputs::decode(Inputs.encode(), Read));
  EXPECT_FALSE(JitInputs::decode(Inputs.encode() + "x", Read));
  Inputs.Files.push_back({"", "folder", ""});
  EXPECT_FALSE(JitInputs::decode(Inputs.encode(), Read));
}

TEST_F(JitCacheTest, InputsAreThoseThatWereRead) {
  write("a");
  struct stat S;
  ASSERT_EQ(0, stat(Path.c_str(), &S));
  std::string Identity = mnemeFileIdentity(S);
  timespec Later = S.st_ctim;
  Later.tv_sec += 1000;
  auto IsCurrent = [&] {
    JitInputs Inputs;
    JitInputs::Digests Known;
    Inputs.add(Path, Folder, Later, /*Found=*/true, Identity, Known);
    return Inputs.isCurrent(Folder);
  };
  EXPECT_TRUE(IsCurrent());
  // Another file with the same contents.
  std::string Former = Path + ".former";
  rename(Path.c_str(), Former.c_str());
  write("a");
  EXPECT_FALSE(IsCurrent());
  unlink(Former.c_str());
  unlink(Path.c_str());
  ASSERT_EQ(0, mkdir(Path.c_str(), 0700));
  EXPECT_FALSE(IsCurrent());
  rmdir(Path.c_str());
}

TEST_F(JitCacheTest, FilesMayChangeInTheTickOfTheStart) {
  write("a");
  struct stat S;
  ASSERT_EQ(0, stat(Path.c_str(), &S));
  auto IsCurrent = [&](const timespec &Start, const std::string &Identity) {
    JitInputs Inputs;
    JitInputs::Digests Known;
    Inputs.add(Path, Folder, Start, /*Found=*/true, Identity, Known);
    return Inputs.isCurrent(Folder);
  };
  timespec Later = S.st_ctim;
  ++Later.tv_sec;
  EXPECT_TRUE(IsCurrent(Later, ""));
  EXPECT_FALSE(IsCurrent(S.st_ctim, ""));
  // It is the file that was read.
  EXPECT_TRUE(IsCurrent(S.st_ctim, mnemeFileIdentity(S)));
}

TEST_F(JitCacheTest, DigestsAreThoseOfTheContents) {
  for (size_t Size : {0, 1, 1000, (128 << 10) - 1, 128 << 10, 300000}) {
    std::string Text(Size, 'x');
    write(Text);
    struct stat S;
    ASSERT_EQ(0, stat(Path.c_str(), &S));
    ++S.st_ctim.tv_sec;
    JitInputs Inputs;
    JitInputs::Digests Known;
    Inputs.add(Path, Folder, S.st_ctim, /*Found=*/true, "", Known);
    EXPECT_EQ(jitDigest(Text), Inputs.Files.front().Digest) << Size;
  }
}

TEST(JitCache, IdentifiesTheCPU) {
  EXPECT_EQ(16u, cpuIdentity().size());
  EXPECT_EQ(cpuIdentity(), cpuIdentity());
}

} // namespace
