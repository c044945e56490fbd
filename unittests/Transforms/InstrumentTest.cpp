//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/Constants.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Verifier.h"
#include "llvm/Mneme/Record/Payload.h"
#include "llvm/Mneme/Transforms/Passes.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cstdlib>
#include <optional>

using namespace llvm;
using namespace llvm::mneme;

static std::unique_ptr<Module> parse(LLVMContext &Context, StringRef IR) {
  SMDiagnostic Diagnostic;
  std::unique_ptr<Module> M = parseAssemblyString(IR, Diagnostic, Context);
  if (!M)
    Diagnostic.print("InstrumentTest", errs());
  return M;
}

namespace {
/// Keeps side files in a folder of the test's own.
class InstrumentTest : public testing::Test {
protected:
  void SetUp() override {
    if (const char *Old = std::getenv("TMPDIR"))
      OldTmpDir = Old;
    ASSERT_FALSE(sys::fs::createUniqueDirectory("mneme-instrument", Dir));
    setenv("TMPDIR", Dir.c_str(), /*overwrite=*/1);
  }
  void TearDown() override {
    if (OldTmpDir)
      setenv("TMPDIR", OldTmpDir->c_str(), /*overwrite=*/1);
    else
      unsetenv("TMPDIR");
    sys::fs::remove_directories(Dir);
  }

  /// Puts a device module and a host module through the instrumentation.
  /// \returns the payloads that the host module then holds.
  std::vector<std::string> instrument(Module &Device, Module &Host,
                                      CaptureOptions Options) {
    ModuleAnalysisManager MAM;
    InstrumentPass(Options).run(Device, MAM);
    InstrumentPass(Options).run(Host, MAM);
    EXPECT_FALSE(verifyModule(Host, &errs()));
    std::vector<std::string> Payloads;
    for (const GlobalVariable &G : Host.globals())
      if (G.getSection() == MNEME_PAYLOAD_SECTION)
        Payloads.push_back(
            cast<ConstantDataArray>(G.getInitializer())->getAsString().str());
    return Payloads;
  }

private:
  SmallString<128> Dir;
  std::optional<std::string> OldTmpDir;
};
} // namespace

static const char *const Device = R"(
source_filename = "folder/x.cu"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"
@v = addrspace(1) externally_initialized global i32 0
define ptx_kernel void @a(ptr %p, i8 %c, double %d) #0 {
  ret void
}
define ptx_kernel void @b() #0 {
  store i32 1, ptr addrspace(1) @v
  ret void
}
attributes #0 = { "target-cpu"="sm_80" }
)";
static const char *const Host = R"(
source_filename = "folder/x.cu"
target triple = "x86_64-pc-linux-gnu"
)";

TEST_F(InstrumentTest, WriterAndReaderAgree) {
  for (char Level : StringRef("0123sz")) {
    LLVMContext Context;
    std::unique_ptr<Module> D = parse(Context, Device);
    std::unique_ptr<Module> H = parse(Context, Host);
    CaptureOptions Options;
    Options.OptLevel = Level;
    Options.IsRDC = Level == '3';
    std::vector<std::string> Payloads = instrument(*D, *H, Options);
    ASSERT_EQ(Payloads.size(), 1u);
    Expected<Payload> P = parsePayload(Payloads[0], "test");
    ASSERT_THAT_EXPECTED(P, Succeeded());
    EXPECT_EQ(P->Triple, "nvptx64-nvidia-cuda");
    EXPECT_EQ(P->Arch, "sm_80");
    EXPECT_EQ(P->Source, "x.cu");
    EXPECT_EQ(P->OptLevel, Level);
    EXPECT_EQ(P->IsRDC, Options.IsRDC);
    ASSERT_EQ(P->Kernels.size(), 2u);
    EXPECT_EQ(P->Kernels[0].Name, "a");
    EXPECT_EQ(P->Kernels[1].Name, "b");
    ASSERT_EQ(P->Kernels[0].Args.size(), 3u);
    EXPECT_EQ(P->Kernels[0].Args[2].Size, 8u);
    EXPECT_EQ(P->Kernels[0].Args[2].Offset, 16u);
    EXPECT_TRUE(P->Kernels[1].Args.empty());
    Expected<std::unique_ptr<Module>> M = parsePayloadModule(*P, Context);
    ASSERT_THAT_EXPECTED(M, Succeeded());
    EXPECT_TRUE((*M)->getNamedGlobal("v"));
  }
}

TEST_F(InstrumentTest, EqualModulesMakeEqualPayloads) {
  std::string First;
  for (StringRef Folder : {"folder", "elsewhere"}) {
    std::string D = Device, H = Host;
    for (std::string *IR : {&D, &H})
      IR->replace(IR->find("folder"), 6, Folder.str());
    LLVMContext Context;
    std::unique_ptr<Module> DM = parse(Context, D), HM = parse(Context, H);
    std::vector<std::string> Payloads = instrument(*DM, *HM, {});
    ASSERT_EQ(Payloads.size(), 1u);
    if (First.empty())
      First = Payloads[0];
    EXPECT_EQ(First, Payloads[0]);
  }
}

TEST_F(InstrumentTest, OneSideAloneLeavesNothing) {
  LLVMContext Context;
  std::unique_ptr<Module> D = parse(Context, Device), H = parse(Context, Host);
  CaptureOptions Options;
  Options.IsAlone = true;
  EXPECT_TRUE(instrument(*D, *H, Options).empty());
  EXPECT_TRUE(H->global_empty());
  EXPECT_TRUE(H->empty());
}
