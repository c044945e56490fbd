//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CompileWorker.h"
#include "LaunchMessages.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Mneme/Compile/KernelImage.h"
#include "llvm/ObjectYAML/yaml2obj.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/YAMLTraits.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;

/// A request for the kernel "add" of a cubin that has only the code of a kernel
/// called \p Name.
static LoadImageRequest bareCubin(StringRef Name = "add", StringRef Info = "") {
  SmallString<0> Text;
  raw_svector_ostream OS(Text);
  std::string Description = formatv(R"(--- !ELF
FileHeader:
  Class: ELFCLASS64
  Data: ELFDATA2LSB
  Type: ET_EXEC
  Machine: EM_CUDA
  ABIVersion: 8
Sections:
  - Name: .text.{0}
    Type: SHT_PROGBITS
    Content: '00'
{1})",
                                    Name, Info);
  yaml::Input Document(Description);
  EXPECT_TRUE(yaml::convertYAML(Document, OS, [](const Twine &Message) {
    ADD_FAILURE() << Message.str();
  }));
  // yaml2obj does not know these flags.
  support::endian::write32le(Text.data() + offsetof(ELF::Elf64_Ehdr, e_flags),
                             ELF::EF_CUDA_SM90 << ELF::EF_CUDA_SM_OFFSET);
  LoadImageRequest Q;
  Q.Image = std::string(Text);
  Q.Kernel = "add";
  Q.Arch = "sm_90";
  return Q;
}

TEST(ImageKernel, NeedsParameterInformation) {
  EXPECT_THAT_EXPECTED(
      describeImageKernel(bareCubin()),
      FailedWithMessage("the image has no parameter information of kernel "
                        "'add', and the driver gives none (before CUDA "
                        "12.4)"));
}

TEST(ImageKernel, ReadsParametersOfCubins) {
  // An int at 0 and a pointer at 8, their size, and the number of registers,
  // which has the form of the size.
  const char Info[] = R"(
  - Name: .nv.info.add
    Type: SHT_PROGBITS
    Content: '{0}{1}03{2}031bff00'
)";
  const char Int[] = "04170c00000000000000000000001000";
  const char Pointer[] = "04170c00000000000100080000002000";
  auto Read = [&](StringRef Parameter, StringRef Size) {
    std::string Section = formatv(Info, Int, Parameter, Size);
    KernelImage Cubin = {false, "sm_90", bareCubin("add", Section).Image};
    return cantFail(readParameters(Cubin, "add"));
  };
  auto Params = Read(Pointer, "191000");
  ASSERT_TRUE(Params);
  ASSERT_EQ(Params->size(), 2u);
  EXPECT_EQ((*Params)[0].Offset, 0u);
  EXPECT_EQ((*Params)[0].Size, 4u);
  EXPECT_EQ((*Params)[1].Offset, 8u);
  EXPECT_EQ((*Params)[1].Size, 8u);
  // Parameters are missing.
  EXPECT_FALSE(Read("", "191000"));
}

TEST(ImageKernel, TakesTheDriversParameterInformation) {
  LoadImageRequest Q = bareCubin();
  Q.HasLayout = true;
  Q.Layout = {{0, 8, false}, {8, 4, false}};
  Expected<LaunchedKernel> K = describeImageKernel(Q);
  ASSERT_THAT_EXPECTED(K, Succeeded());
  ASSERT_EQ(K->Args.size(), 2u);
  EXPECT_EQ(K->Args[1].Offset, 8u);
  EXPECT_EQ(K->Args[1].Size, 4u);
  EXPECT_TRUE(K->IsImageOnly);
}

TEST(ImageKernel, ImageAndDriverMustAgree) {
  LoadImageRequest Q;
  Q.Image = ".version 8.7\n.target sm_90\n.address_size 64\n"
            ".visible .entry add(.param .u64 P, .param .u32 N) { ret; }\n";
  Q.Kernel = "add";
  Q.Arch = "sm_90";
  Q.HasLayout = true;
  Q.Layout = {{0, 8, false}, {8, 8, false}};
  EXPECT_THAT_EXPECTED(
      describeImageKernel(Q),
      FailedWithMessage("the image of kernel 'add' has other parameters than "
                        "the driver has"));
}

TEST(ImageKernel, ImagesWithoutTheKernelsCode) {
  EXPECT_THAT_EXPECTED(
      describeImageKernel(bareCubin("other")),
      FailedWithMessage("the image has no code of kernel 'add': it is "
                        "stripped, or is the image of another kernel"));
  LoadImageRequest Q = bareCubin();
  Q.Arch = "sm_80";
  EXPECT_THAT_EXPECTED(
      describeImageKernel(Q),
      FailedWithMessage("the image of kernel 'add' is for sm_90, and the "
                        "device is sm_80"));
}

/// The request of a runtime for a library.
static Digest128 hashLibrary(const LibraryImage &Library) {
  std::string Digests;
  for (StringRef Part : {Library.Image, Library.IR, Library.Options}) {
    Digest128 D = digest128(Part);
    Digests.append(D.begin(), D.end());
  }
  return digest128(Digests);
}

TEST(Library, MustHaveItsHash) {
  LibraryImage Library = {".version 8.0\n.target sm_90\n", "", ""};
  EXPECT_THAT_EXPECTED(
      loadLibrary(Library, digest128("other"), {}),
      FailedWithMessage(testing::HasSubstr("has another hash")));
  EXPECT_THAT_EXPECTED(
      loadLibrary(Library, hashLibrary(Library), {}),
      FailedWithMessage(testing::HasSubstr("it is PTX without IR")));
}

TEST(Library, HasTheKernelsOfItsIR) {
  LibraryImage Library = {".version 8.0\n.target sm_90\n",
                          "target triple = \"nvptx64-nvidia-cuda\"\n"
                          "define ptx_kernel void @add(ptr %P) { ret void }\n"
                          "define void @other() { ret void }\n",
                          ""};
  Expected<LoadedLibrary> L = loadLibrary(Library, hashLibrary(Library), {});
  ASSERT_THAT_EXPECTED(L, Succeeded());
  ::mneme::WireReader R(L->Answer.data(), L->Answer.size());
  Digest128 Unit = digest128(L->Bitcode);
  EXPECT_EQ(R.str(), std::string(Unit.begin(), Unit.end()));
  EXPECT_EQ(R.u32(), 1u);
  EXPECT_EQ(R.str(), "add");
  EXPECT_EQ(R.u32(), 0u); // Variables.
  EXPECT_TRUE(R.ok() && R.atEnd());
}
