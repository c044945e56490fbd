//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SnapshotBuilder.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {
class CheckKernel : public testing::Test {
protected:
  CheckKernel() : Dir("mneme-check", /*Unique=*/true) {
    K.KernelName = "k";
    K.Modules = {"ir.bc"};
    K.VAddr = SnapshotBuilder::Base;
    K.VASize = MNEME_ARENA_SIZE;
    K.Args = {{4, 0, MNEME_ARG_VALUE, "", "i32"}};
    K.Globals = {{"g", 4, SnapshotBuilder::Base}};
    RecordedInstance I;
    I.DynamicHash = "0000000000000022";
    I.Prologue = "p.mneme";
    I.Epilogue = "e.mneme";
    K.Instances = {I};
    K.StaticHash =
        writeModule("define ptx_kernel void @k(i32 %x) { ret void }");
    write("p.mneme", prologue().close());
    write("e.mneme", epilogue().close());
  }

  SnapshotBuilder builder(uint32_t Kind) {
    SnapshotBuilder B(Kind, &PageFiles);
    llvm::copy(*parseDigest128(K.StaticHash), B.Header.StaticHash);
    return B;
  }
  SnapshotBuilder prologue() {
    return builder(MNEME_SNAPSHOT_PROLOGUE)
        .args({"1234"})
        .region(0, 4, 0, "g")
        .region(64, 16, 1);
  }
  SnapshotBuilder epilogue() {
    return builder(MNEME_SNAPSHOT_EPILOGUE)
        .region(0, 4, 0, "g")
        .region(64, 16, 1)
        .data(64, "changed");
  }

  void write(StringRef Name, StringRef Contents) {
    ASSERT_THAT_ERROR(writeFileAtomically(Dir.path(Name), Contents),
                      Succeeded());
  }
  /// Returns its static hash.
  std::string writeModule(StringRef IR) {
    LLVMContext Context;
    SMDiagnostic Diagnostic;
    std::unique_ptr<Module> M = parseAssemblyString(IR, Diagnostic, Context);
    EXPECT_TRUE(M);
    SmallString<0> Bitcode;
    raw_svector_ostream OS(Bitcode);
    WriteBitcodeToFile(*M, OS);
    write("ir.bc", Bitcode);
    return computeStaticHash(*M);
  }
  std::vector<std::string> check() {
    for (const auto &[Name, Contents] : PageFiles)
      write(Name, Contents);
    return checkKernel(Dir.path(), K).Problems;
  }

  SnapshotBuilder::FileMap PageFiles;
  unittest::TempDir Dir;
  RecordedKernel K;
};
} // namespace

TEST_F(CheckKernel, Good) { EXPECT_THAT(check(), IsEmpty()); }

TEST_F(CheckKernel, Module) {
  auto IsDamaged = HasSubstr("ir.bc': damaged: static hash ");
  writeModule("define ptx_kernel void @k() { ret void }");
  EXPECT_THAT(check(),
              ElementsAre(HasSubstr("ir.bc': kernel 'k' takes 0 arguments, the "
                                    "recording has 1"),
                          IsDamaged));
  writeModule("declare void @k(i32)");
  EXPECT_THAT(
      check(),
      ElementsAre(HasSubstr("ir.bc': does not define kernel 'k'"), IsDamaged));
  writeModule("define ptx_kernel void @k(i32 %x) {\n"
              "  fence seq_cst\n"
              "  ret void\n"
              "}");
  EXPECT_THAT(check(), ElementsAre(IsDamaged));
  write("ir.bc", "no bitcode");
  EXPECT_THAT(check(), ElementsAre(HasSubstr("ir.bc': ")));
  K.Modules = {"missing.bc"};
  EXPECT_THAT(check(), ElementsAre(HasSubstr("missing.bc': ")));
}

TEST_F(CheckKernel, ChangedFiles) {
  check();
  auto Digest = [&](StringRef Name) {
    return toHexString(
        digest128((*cantFail(readFile(Dir.path(Name)))).getBuffer()));
  };
  K.ModuleDigests = {Digest("ir.bc")};
  K.Instances[0].PrologueDigest = Digest("p.mneme");
  K.Instances[0].EpilogueDigest = Digest("e.mneme");
  EXPECT_THAT(check(), IsEmpty());
  // Valid, and of this launch, but other ones.
  write("p.mneme", prologue().data(64, "other").close());
  write("e.mneme", builder(MNEME_SNAPSHOT_EPILOGUE)
                       .region(0, 4, 0, "g")
                       .region(64, 16, 1)
                       .data(64, "other")
                       .close());
  EXPECT_THAT(
      check(),
      ElementsAre(HasSubstr("p.mneme': has changed since it was recorded: "
                            "digest "),
                  HasSubstr("e.mneme': has changed since it was recorded: "
                            "digest ")));
  K.ModuleDigests = {std::string(32, '0')};
  EXPECT_THAT(check(),
              testing::Contains(HasSubstr("ir.bc': has changed since")));
}

TEST_F(CheckKernel, ConfigurationOfTheLaunch) {
  K.DynamicHashInputs.assign(std::begin(LaunchInputs), std::end(LaunchInputs));
  auto IsOther = HasSubstr("has another launch configuration than '" +
                           K.StaticHash + ".json' has for ");
  EXPECT_THAT(check(), ElementsAre(IsOther, IsOther));
  auto Rename = [&](uint64_t Hash) {
    K.Instances[0].DynamicHash = toHexString(Hash);
    SnapshotBuilder P = prologue(), E = epilogue();
    P.Header.DynamicHash = E.Header.DynamicHash = Hash;
    write("p.mneme", P.close());
    write("e.mneme", E.close());
  };
  Digest128 Static = *parseDigest128(K.StaticHash);
  Rename(computeDynamicHash(Static, K.Instances[0]));
  EXPECT_THAT(check(), IsEmpty());
  K.Instances[0].Grid.Y = 2;
  EXPECT_THAT(check(), ElementsAre(IsOther, IsOther));
  // Only a prologue has the scalars.
  K.DynamicHashInputs.push_back(ScalarsInput.str());
  EXPECT_THAT(check(), ElementsAre(IsOther));
  Rename(computeDynamicHash(Static, K.Instances[0], "1234"));
  EXPECT_THAT(check(), IsEmpty());
  // The number of a launch is not known.
  K.DynamicHashInputs.back() = "Ordinal";
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(CheckKernel, CrashingModule) {
  // Bitcode whose reader is killed or refuses it, but does not end this
  // process.
  std::string Bytes =
      (*cantFail(readFile(Dir.path("ir.bc")))).getBuffer().str();
  for (size_t At = 8; At < Bytes.size(); At += 7) {
    std::string Bad = Bytes;
    Bad[At] ^= 0x10;
    write("ir.bc", Bad);
    check();
  }
}

TEST_F(CheckKernel, ReportsAllProblems) {
  write("p.mneme", "");
  write("e.mneme", "foreign");
  write("ir.bc", "");
  EXPECT_EQ(check().size(), 3u);
}

TEST_F(CheckKernel, Swapped) {
  std::swap(K.Instances[0].Prologue, K.Instances[0].Epilogue);
  EXPECT_THAT(check(),
              ElementsAre(HasSubstr("epilogue in the place of a prologue"),
                          HasSubstr("prologue in the place of an epilogue")));
}

TEST_F(CheckKernel, OfAnotherKernel) {
  K.StaticHash = std::string(32, '3');
  K.Instances[0].DynamicHash = "0000000000000033";
  EXPECT_THAT(check(), testing::Contains(HasSubstr(
                           ", not 33333333333333333333333333333333")));
  EXPECT_THAT(check(), testing::Contains(HasSubstr(
                           "belongs to instance 0000000000000022, not "
                           "0000000000000033")));
}

TEST_F(CheckKernel, Arena) {
  K.VASize = 4096;
  EXPECT_THAT(check(), testing::Each(HasSubstr("is not the recording's")));
  EXPECT_EQ(check().size(), 2u);
}

TEST_F(CheckKernel, Arguments) {
  K.Args[0].Size = 8;
  EXPECT_THAT(check(), ElementsAre(HasSubstr(
                           "argument 0 of 4 bytes, the kernel's has 8")));
}

TEST_F(CheckKernel, Variables) {
  K.Globals.push_back({"h", 4, SnapshotBuilder::Base + 8});
  EXPECT_THAT(check(), ElementsAre(HasSubstr("no contents of variable 'h'")));
}

TEST_F(CheckKernel, OtherRegions) {
  write("e.mneme", builder(MNEME_SNAPSHOT_EPILOGUE)
                       .region(0, 4, 0, "g")
                       .region(64, 24, 1)
                       .close());
  EXPECT_THAT(check(),
              ElementsAre(HasSubstr("e.mneme': other regions than in")));
}

TEST_F(CheckKernel, DamagedPages) {
  SnapshotBuilder B = builder(MNEME_SNAPSHOT_EPILOGUE);
  B.region(0, 4, 0, "g").region(64, 16, 1);
  std::string Raw(MNEME_SNAPSHOT_PAGE, 'r');
  uint32_t First = B.Pages.frame(Raw, MNEME_ENCODING_ZSTD, "no frame");
  std::string Name = B.Pages.name();
  write("e.mneme", B.run(64, 1, First).close());
  EXPECT_THAT(check(), ElementsAre(HasSubstr(Name + "': pages 0 to 0: "),
                                   HasSubstr("e.mneme': data at "
                                             "0x200000000040 is lost")));
}

TEST_F(CheckKernel, DamagedPagesElsewhere) {
  SnapshotBuilder B = epilogue();
  std::string Raw(MNEME_SNAPSHOT_PAGE, 'r'), Other(MNEME_SNAPSHOT_PAGE, 's');
  B.Pages.frame(Raw, MNEME_ENCODING_RAW, Other);
  write("e.mneme", B.close());
  EXPECT_THAT(check(), ElementsAre(HasSubstr("wrong digest of page 1")));
}

TEST_F(CheckKernel, MissingPages) {
  std::string Name = epilogue().Pages.name();
  check();
  PageFiles.clear();
  ASSERT_FALSE(sys::fs::remove(Dir.path(Name)));
  EXPECT_THAT(check(), ElementsAre(HasSubstr(Name + "': ")));
}

TEST_F(CheckKernel, NoInstances) {
  K.Instances.clear();
  EXPECT_THAT(check(), ElementsAre(HasSubstr(".json': no instances")));
}
