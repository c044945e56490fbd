//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Record/Payload.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/AsmParser/Parser.h"
#include "llvm/Bitcode/BitcodeWriter.h"
#include "llvm/Bitcode/LLVMBitCodes.h"
#include "llvm/Bitstream/BitstreamWriter.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Record/DeviceLink.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/ObjectYAML/yaml2obj.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FileUtilities.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Support/YAMLTraits.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::AllOf;
using testing::HasSubstr;

static std::string makeBitcode() {
  LLVMContext Context;
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M = parseAssemblyString(
      "target triple = \"nvptx64-nvidia-cuda\"\n"
      "define ptx_kernel void @k(ptr %p) {\n  ret void\n}\n",
      Diagnostic, Context);
  std::string Out;
  raw_string_ostream OS(Out);
  WriteBitcodeToFile(*M, OS);
  return Out;
}

namespace {
/// A payload of one kernel "k" with two arguments, to be damaged by tests.
struct TestPayload {
  MnemePayloadHeader Header = {};
  MnemePayloadKernel Kernel = {};
  MnemePayloadArg Args[2] = {{8, 0, MNEME_ARG_POINTER, 0},
                             {12, 8, MNEME_ARG_AGGREGATE, 0}};
  std::string Strings;
  std::string Bitcode = makeBitcode();

  explicit TestPayload(bool Compressed = true) {
    memcpy(Header.Magic, MNEME_PAYLOAD_MAGIC, 8);
    Header.HeaderSize = sizeof(Header);
    Header.OptLevel = '3';
    Header.NumKernels = 1;
    Header.KernelsOffset = sizeof(Header);
    Kernel.NumArgs = 2;
    Kernel.ArgsOffset = sizeof(Header) + sizeof(Kernel);
    Header.TripleOffset = addString("nvptx64-nvidia-cuda");
    Header.ArchOffset = addString("sm_90");
    Header.SourceOffset = addString("x.cu");
    Kernel.NameOffset = addString("k");
    Header.BitcodeSize = Bitcode.size();
    Digest128 Hash = digest128(Bitcode);
    memcpy(Header.Hash, Hash.data(), 16);
    if (Compressed && compression::zstd::isAvailable()) {
      SmallVector<uint8_t, 0> Stored;
      compression::zstd::compress(arrayRefFromStringRef(Bitcode), Stored);
      Bitcode = toStringRef(Stored).str();
      Header.Flags = MNEME_PAYLOAD_ZSTD;
    }
    Header.StoredSize = Bitcode.size();
    Header.BitcodeOffset = alignTo(
        sizeof(Header) + sizeof(Kernel) + sizeof(Args) + Strings.size(), 8);
    Header.TotalSize = alignTo(Header.BitcodeOffset + Bitcode.size(), 8);
  }

  uint32_t addString(StringRef S) {
    uint32_t Offset =
        sizeof(Header) + sizeof(Kernel) + sizeof(Args) + Strings.size();
    Strings += S;
    Strings.push_back('\0');
    return Offset;
  }

  std::string str() const {
    std::string Out(reinterpret_cast<const char *>(&Header), sizeof(Header));
    Out.append(reinterpret_cast<const char *>(&Kernel), sizeof(Kernel));
    Out.append(reinterpret_cast<const char *>(Args), sizeof(Args));
    Out += Strings;
    Out.resize(alignTo(Out.size(), 8));
    Out += Bitcode;
    Out.resize(alignTo(Out.size(), 8));
    return Out;
  }
};
} // namespace

static void expectFailure(const TestPayload &P, StringRef Message) {
  EXPECT_THAT_EXPECTED(parsePayload(P.str(), "file"),
                       FailedWithMessage(HasSubstr(
                           ("'file': damaged payload: " + Message).str())));
}

TEST(PayloadTest, ReadsWhatIsWritten) {
  for (bool Compressed : {false, true}) {
    TestPayload T(Compressed);
    T.Header.Flags |= MNEME_PAYLOAD_RDC;
    Expected<Payload> P = parsePayload(T.str(), "file");
    ASSERT_THAT_EXPECTED(P, Succeeded());
    EXPECT_EQ(P->Triple, "nvptx64-nvidia-cuda");
    EXPECT_EQ(P->Arch, "sm_90");
    EXPECT_EQ(P->Source, "x.cu");
    EXPECT_EQ(P->OptLevel, '3');
    EXPECT_TRUE(P->IsRDC);
    EXPECT_EQ(P->Bitcode, makeBitcode());
    EXPECT_EQ(P->Hash, toHexString(digest128(makeBitcode())));
    ASSERT_EQ(P->Kernels.size(), 1u);
    EXPECT_EQ(P->Kernels[0].Name, "k");
    EXPECT_EQ(P->Kernels[0].StaticHash, "");
    ASSERT_EQ(P->Kernels[0].Args.size(), 2u);
    EXPECT_EQ(P->Kernels[0].Args[1].Size, 12u);
    EXPECT_EQ(P->Kernels[0].Args[1].Offset, 8u);
    EXPECT_EQ(P->Kernels[0].Args[1].Kind, unsigned(MNEME_ARG_AGGREGATE));

    LLVMContext Context;
    Expected<std::unique_ptr<Module>> M = parsePayloadModule(*P, Context);
    ASSERT_THAT_EXPECTED(M, Succeeded());
    EXPECT_TRUE((*M)->getFunction("k"));
  }
}

TEST(PayloadTest, ReadsSlimPayloads) {
  TestPayload T(/*Compressed=*/false);
  T.Header.Flags = MNEME_PAYLOAD_SLIM;
  expectFailure(T, "it has bitcode although it is slim");
  T.Bitcode.clear();
  T.Header.BitcodeSize = T.Header.StoredSize = 0;
  T.Header.TotalSize = T.Header.BitcodeOffset;
  Expected<Payload> P = parsePayload(T.str(), "file");
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_TRUE(P->IsSlim);
  EXPECT_EQ(P->Hash, toHexString(digest128(makeBitcode())));
  ASSERT_EQ(P->Kernels.size(), 1u);
  EXPECT_EQ(P->Kernels[0].Name, "k");
  LLVMContext Context;
  EXPECT_THAT_EXPECTED(
      DeviceLink::create({*P}, Context),
      FailedWithMessage(HasSubstr("was compiled with -mneme-slim")));
}

TEST(PayloadTest, SkipsALongerHeader) {
  TestPayload T;
  std::string Bytes = T.str();
  // A later version's header field sits where strings are now: only HeaderSize
  // says so, and all offsets are explicit.
  uint32_t Longer = sizeof(MnemePayloadHeader) + 16;
  memcpy(&Bytes[offsetof(MnemePayloadHeader, HeaderSize)], &Longer, 4);
  EXPECT_THAT_EXPECTED(parsePayload(Bytes, "file"), Succeeded());
}

TEST(PayloadTest, ReadsStaticHashes) {
  TestPayload T;
  T.Kernel.StaticHashOffset = offsetof(MnemePayloadHeader, Hash);
  Expected<Payload> P = parsePayload(T.str(), "file");
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(P->Kernels[0].StaticHash, P->Hash);
  for (uint32_t Outside :
       {uint32_t(T.Header.TotalSize - 15), 0xfffffff8u, 1u << 31}) {
    T.Kernel.StaticHashOffset = Outside;
    expectFailure(T, "the static hash of 'k' lies outside of it");
  }
}

TEST(PayloadTest, RefusesDamage) {
  TestPayload T;
  T.Header.Magic[7] = '9';
  expectFailure(T, "it does not begin with 'MNEMEPL1'");

  T = TestPayload();
  T.Header.HeaderSize = 12;
  expectFailure(T, "its header claims 12 bytes");

  T = TestPayload();
  T.Header.TotalSize += 8;
  expectFailure(T, "it claims ");

  T = TestPayload();
  T.Header.Flags |= 64;
  expectFailure(T, "it has unknown flags, 0x4");

  T = TestPayload();
  T.Header.OptLevel = '4';
  expectFailure(T, "it has the unknown optimization level 52");

  T = TestPayload();
  T.Header.TripleOffset = 0xffffffff;
  expectFailure(T, "the triple lies outside of it");

  T = TestPayload();
  T.Header.ArchOffset = 8; // Inside the header.
  expectFailure(T, "the architecture lies outside of it");

  T = TestPayload();
  T.Header.NumKernels = 0x10000000; // Times 16 overflows 32 bits.
  expectFailure(T, "its table of kernels lies outside of it");

  T = TestPayload();
  T.Kernel.NumArgs = 0x10000000;
  expectFailure(T, "the arguments of 'k' lie outside of it");

  T = TestPayload();
  T.Kernel.NameOffset = 1u << 31;
  expectFailure(T, "the name of a kernel lies outside of it");

  T = TestPayload();
  T.Args[1].Kind = 3;
  expectFailure(T, "argument 1 of 'k' has the unknown kind 3");

  T = TestPayload();
  T.Header.BitcodeOffset = UINT64_MAX - 4;
  expectFailure(T, "the bitcode lies outside of it");

  T = TestPayload();
  T.Header.StoredSize = UINT64_MAX;
  expectFailure(T, "the bitcode lies outside of it");

  T = TestPayload();
  T.Header.Hash[3] ^= 1;
  expectFailure(T, "the digest of its bitcode does not match");

  T = TestPayload(/*Compressed=*/false);
  T.Header.BitcodeSize -= 1;
  expectFailure(T, "the bitcode has ");
}

TEST(PayloadTest, RefusesDamagedCompression) {
  if (!compression::zstd::isAvailable())
    GTEST_SKIP() << "LLVM was built without zstd";
  TestPayload T;
  T.Header.BitcodeSize = UINT64_MAX;
  expectFailure(T, "it claims 18446744073709551615 bytes of bitcode");
  T = TestPayload();
  T.Header.BitcodeSize += 1;
  expectFailure(T, "the bitcode has ");
  T = TestPayload();
  T.Bitcode[0] ^= 1;
  expectFailure(T, "");
}

// Any single wrong byte, and any truncation, is an error or harmless.
TEST(PayloadTest, RefusesOverlappingTables) {
  TestPayload T;
  // All kernels of a table behind it have the same arguments.
  constexpr uint32_t NumKernels = 1000;
  std::string Table;
  for (uint32_t I = 0; I != NumKernels; ++I)
    Table.append(reinterpret_cast<const char *>(&T.Kernel), sizeof(T.Kernel));
  T.Header.KernelsOffset = T.Header.TotalSize;
  T.Header.TotalSize += Table.size();
  T.Header.NumKernels = NumKernels;
  EXPECT_THAT_EXPECTED(
      parsePayload(T.str() + Table, "file"),
      FailedWithMessage("'file': damaged payload: the names and arguments of "
                        "its kernels overlap"));
}

TEST(PayloadTest, SurvivesAnyByte) {
  std::string Good = TestPayload().str();
  for (size_t I = 0; I != Good.size(); ++I)
    for (int Bit : {0, 3, 7}) {
      std::string Bad = Good;
      Bad[I] ^= 1 << Bit;
      consumeError(parsePayload(Bad, "file").takeError());
    }
  for (size_t Size = 0; Size != Good.size(); ++Size)
    EXPECT_THAT_EXPECTED(parsePayload(StringRef(Good).take_front(Size), "file"),
                         Failed());
}

TEST(PayloadTest, SkipsThePaddingOfTheLinker) {
  std::string Padding(16, '\0'), One = TestPayload().str();
  TestPayload Second;
  Second.Header.OptLevel = '1';
  std::string Section = Padding + One + Padding + Second.str() + Padding;
  std::string Description = (R"(--- !ELF
FileHeader:
  Class: ELFCLASS64
  Data: ELFDATA2LSB
  Type: ET_DYN
  Machine: EM_X86_64
Sections:
  - Name: mneme_payload
    Type: SHT_PROGBITS
    Content: ')" + toHex(Section) +
                             "'\n");
  SmallString<0> Bytes;
  raw_svector_ostream OS(Bytes);
  yaml::Input Document(Description);
  ASSERT_TRUE(yaml::convertYAML(Document, OS, [](const Twine &Message) {
    ADD_FAILURE() << Message.str();
  }));
  SmallString<128> Path;
  ASSERT_FALSE(sys::fs::createTemporaryFile("payload", "so", Path));
  FileRemover Remover(Path);
  ASSERT_THAT_ERROR(writeFileAtomically(Path, Bytes), Succeeded());
  auto Payloads = readPayloads(Path);
  ASSERT_THAT_EXPECTED(Payloads, Succeeded());
  ASSERT_EQ(Payloads->size(), 2u);
}

TEST(PayloadTest, RefusesWhatIsNoObject) {
  EXPECT_THAT_EXPECTED(readPayloads("/nonexistent/app"),
                       FailedWithMessage(HasSubstr("/nonexistent/app")));
  SmallString<128> Path;
  ASSERT_FALSE(sys::fs::createTemporaryFile("payload", "txt", Path));
  FileRemover Remover(Path);
  for (StringRef Contents :
       {StringRef(""), StringRef("hello"), StringRef("BC\xC0\xDE")}) {
    ASSERT_THAT_ERROR(writeFileAtomically(Path, Contents), Succeeded());
    EXPECT_THAT_EXPECTED(
        readPayloads(Path),
        FailedWithMessage(
            ("'" + Path + "': neither an ELF file nor an archive").str()));
  }
  for (StringRef Contents :
       {StringRef("\177ELF"), StringRef("!<arch>\nnonsense")}) {
    ASSERT_THAT_ERROR(writeFileAtomically(Path, Contents), Succeeded());
    EXPECT_THAT_EXPECTED(readPayloads(Path),
                         FailedWithMessage(HasSubstr(Path.str().str())));
  }
  ASSERT_THAT_ERROR(writeFileAtomically(Path, "!<arch>\n"), Succeeded());
  EXPECT_THAT_EXPECTED(
      readPayloads(Path),
      FailedWithMessage(("'" + Path +
                         "': holds no device code; compile with "
                         "-fpass-plugin=MnemePass.so")
                            .str()));
}

/// The begin of a module as a later LLVM may write it.
static std::string makeLaterBitcode() {
  SmallVector<char, 0> Bytes;
  {
    BitstreamWriter Writer(Bytes);
    for (unsigned char C : {'B', 'C', '\xC0', '\xDE'})
      Writer.Emit(C, 8);
    Writer.EnterSubblock(bitc::IDENTIFICATION_BLOCK_ID, 5);
    const StringRef Producer = "LLVM99.1.0";
    Writer.EmitRecord(bitc::IDENTIFICATION_CODE_STRING,
                      SmallVector<unsigned>(Producer.begin(), Producer.end()));
    Writer.EmitRecord(bitc::IDENTIFICATION_CODE_EPOCH,
                      SmallVector<unsigned>{bitc::BITCODE_CURRENT_EPOCH});
    Writer.ExitBlock();
    Writer.EnterSubblock(bitc::MODULE_BLOCK_ID, 3);
    Writer.EmitRecord(bitc::MODULE_CODE_VERSION, SmallVector<unsigned>{99});
    Writer.ExitBlock();
  }
  return std::string(Bytes.begin(), Bytes.end());
}

TEST(PayloadTest, NamesTheLLVMThatWroteWhatItCannotRead) {
  Payload P;
  P.Source = "x.cu";
  P.Bitcode = makeLaterBitcode();
  LLVMContext Context;
  EXPECT_THAT_EXPECTED(
      parsePayloadModule(P, Context),
      FailedWithMessage(AllOf(HasSubstr("x.cu"), HasSubstr("LLVM99.1.0"),
                              HasSubstr(LLVM_VERSION_STRING))));
}

TEST(PayloadTest, RefusesBadBitcode) {
  Payload P;
  P.Source = "x.cu";
  P.Bitcode = "nonsense";
  LLVMContext Context;
  EXPECT_THAT_EXPECTED(parsePayloadModule(P, Context),
                       FailedWithMessage(HasSubstr("x.cu")));
}
