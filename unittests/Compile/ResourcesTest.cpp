//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/Resources.h"
#include "CompileTest.h"
#include "llvm/BinaryFormat/ELF.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

TEST(ResourcesTest, SpillsFromThePtxasLog) {
  StringRef Log =
      "ptxas info    : 0 bytes gmem\n"
      "ptxas info    : Compiling entry function 'other' for 'sm_90'\n"
      "ptxas info    : Function properties for other\n"
      "    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads\n"
      "ptxas info    : Function properties for k\n"
      "    320 bytes stack frame, 316 bytes spill stores, 640 bytes spill "
      "loads\n"
      "ptxas info    : Used 32 registers, used 0 barriers\n";
  KernelResources R;
  readPtxasLog(Log, "k", R);
  EXPECT_EQ(R.SpillStores, 316u);
  EXPECT_EQ(R.SpillLoads, 640u);
  KernelResources None;
  readPtxasLog(Log, "kk", None);
  EXPECT_FALSE(None.SpillStores);
  readPtxasLog("Function properties for k", "k", None); // cut off
  EXPECT_FALSE(None.SpillStores);
}

TEST(ResourcesTest, NotAnImage) {
  EXPECT_THAT_EXPECTED(readResources("", "k"), Failed());
  EXPECT_THAT_EXPECTED(readResources("\x7f"
                                     "ELF",
                                     "k"),
                       Failed());
  EXPECT_THAT_EXPECTED(readResources(std::string(4096, 'x'), "k"), Failed());
}

static void expectNoCrash(const CompileResult &R) {
  std::string Image(R.Image.begin(), R.Image.end());
  // Truncated anywhere, or with any one bit flipped: an answer or an Error.
  for (size_t Size = 0; Size < Image.size(); Size += 7)
    if (auto Read = readResources(StringRef(Image).take_front(Size), "k");
        !Read)
      consumeError(Read.takeError());
  for (size_t I = 0; I < Image.size(); ++I) {
    std::string Damaged = Image;
    Damaged[I] ^= 1 << (I % 8);
    if (auto Read = readResources(Damaged, "k"); !Read)
      consumeError(Read.takeError());
  }
}

static void compile(StringRef IR, CompileResult &R) {
  LLVMContext Context;
  std::unique_ptr<Module> M = parseModule(IR, Context);
  ASSERT_TRUE(M);
  auto C = KernelCompiler::create(*M, makeOptions());
  ASSERT_THAT_EXPECTED(C, Succeeded());
  ASSERT_THAT_ERROR(C->optimize(*M, R), Succeeded());
  ASSERT_THAT_ERROR(C->emitImage(*M, R), Succeeded());
}

static void testDamage(StringRef IR) {
  CompileResult R;
  ASSERT_NO_FATAL_FAILURE(compile(IR, R));
  expectNoCrash(R);
}

static const char *const AMDGPUKernel =
    "target triple = \"amdgcn-amd-amdhsa\"\n"
    "define amdgpu_kernel void @k() \"target-cpu\"=\"gfx90a\" {\n"
    "  ret void\n}\n";

// Some linkers write 0 or 1 where 4 is meant.
TEST(ResourcesTest, NoteOfAnyAlignment) {
  if (!LLVM_HAS_AMDGPU_TARGET)
    GTEST_SKIP() << "LLVM has no AMDGPU";
  CompileResult R;
  ASSERT_NO_FATAL_FAILURE(compile(AMDGPUKernel, R));
  ASSERT_TRUE(R.Resources.MaxThreads);
  auto *Header = reinterpret_cast<ELF::Elf64_Ehdr *>(R.Image.data());
  auto *Sections =
      reinterpret_cast<ELF::Elf64_Shdr *>(R.Image.data() + Header->e_shoff);
  for (uint64_t Alignment : {0, 1, 4}) {
    for (unsigned I = 0; I != Header->e_shnum; ++I)
      if (Sections[I].sh_type == ELF::SHT_NOTE)
        Sections[I].sh_addralign = Alignment;
    Expected<KernelResources> Read =
        readResources(StringRef(R.Image.data(), R.Image.size()), "k");
    ASSERT_THAT_EXPECTED(Read, Succeeded()) << Alignment;
    EXPECT_EQ(toJSON(*Read), toJSON(R.Resources)) << Alignment;
  }
}

TEST(ResourcesTest, DamagedCodeObject) {
  if (!LLVM_HAS_AMDGPU_TARGET)
    GTEST_SKIP() << "LLVM has no AMDGPU";
  testDamage(AMDGPUKernel);
}

TEST(ResourcesTest, DamagedCubin) {
  if (auto Ptxas = findPtxas(""); !Ptxas)
    GTEST_SKIP() << toString(Ptxas.takeError());
  testDamage("target triple = \"nvptx64-nvidia-cuda\"\n"
             "define ptx_kernel void @k() \"target-cpu\"=\"sm_90\" {\n"
             "  ret void\n}\n");
}

TEST(ResourcesTest, JSON) {
  KernelResources R;
  R.Registers = 40;
  R.Shared = 0;
  json::Value V = toJSON(R);
  EXPECT_EQ(*V.getAsObject()->getInteger("registers"), 40);
  EXPECT_TRUE(V.getAsObject()->getNull("spill_stores"));
  KernelResources Back;
  json::Path::Root Root;
  ASSERT_TRUE(fromJSON(V, Back, Root));
  EXPECT_EQ(toJSON(Back), V);
  EXPECT_FALSE(fromJSON(json::Object{{"registers", "many"}}, Back, Root));
}
