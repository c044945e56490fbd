//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/AsmParser/Parser.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Support/SourceMgr.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cstring>
#include <fstream>
#include <numeric>

using namespace llvm;
using namespace llvm::mneme;

namespace {

constexpr uint64_t PageSize = 4096;

/// Every test has its own device, and so its own arena.
class HostDeviceTest : public ::testing::Test {
protected:
  static constexpr uint64_t Base = 0x210000000000;
  static constexpr uint64_t ArenaSize = 1 << 20;
  LLVMContext Context;
  std::unique_ptr<Device> Host = createHostDevice();

  void SetUp() override {
    ASSERT_THAT_ERROR(Host->reserveArena(Base, ArenaSize), Succeeded());
  }

  std::unique_ptr<Module> parse(StringRef Text) {
    SMDiagnostic Diagnostic;
    auto M = parseAssemblyString(Text, Diagnostic, Context);
    EXPECT_TRUE(M) << Diagnostic.getMessage().str();
    return M;
  }

  std::unique_ptr<DeviceKernel> load(StringRef Text, StringRef Kernel,
                                     const HostOptions &Options = {},
                                     ArrayRef<KernelGlobal> Globals = {}) {
    auto M = parse(Text);
    if (!M)
      return nullptr;
    Expected<DeviceImage> Image = compileKernelForHost(*M, Kernel, Options);
    EXPECT_THAT_EXPECTED(Image, Succeeded());
    if (!Image)
      return nullptr;
    Info = getHostKernelInfo(*Image);
    auto K = Host->load(*Image, Globals);
    EXPECT_THAT_EXPECTED(K, Succeeded());
    return K ? std::move(*K) : nullptr;
  }

  LaunchStatus launch(DeviceKernel &Kernel, Dim3 Grid, Dim3 Block,
                      ArrayRef<void *> Args, uint64_t DynamicShared = 0,
                      double Timeout = 0) {
    LaunchConfig Config;
    Config.Grid = Grid;
    Config.Block = Block;
    Config.DynamicShared = DynamicShared;
    Config.TimeoutSeconds = Timeout;
    auto Outcome = Host->launch(Kernel, Config, Args);
    EXPECT_THAT_EXPECTED(Outcome, Succeeded());
    if (!Outcome)
      return LaunchStatus::OutOfMemory;
    Message = Outcome->Message;
    return Outcome->Status;
  }

  template <typename T> std::vector<T> read(uint64_t Address, size_t Count) {
    std::vector<T> Data(Count);
    EXPECT_THAT_ERROR(
        Host->read(Address,
                   {reinterpret_cast<char *>(Data.data()), Count * sizeof(T)}),
        Succeeded());
    return Data;
  }

  template <typename T> void write(uint64_t Address, ArrayRef<T> Data) {
    ASSERT_THAT_ERROR(
        Host->write(Address, {reinterpret_cast<const char *>(Data.data()),
                              Data.size() * sizeof(T)}),
        Succeeded());
  }

  HostKernelInfo Info; ///< Of the kernel loaded last.
  std::string Message; ///< Of the last launch.
};

constexpr const char *NVPTXHead = R"(
target triple = "nvptx64-nvidia-cuda"
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
)";

/// p[global index] = global index.
std::string iota() {
  return std::string(NVPTXHead) + R"(
define ptx_kernel void @iota(ptr %p, i32 %n) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %b = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %o = mul i32 %b, %d
  %i = add i32 %o, %t
  %in = icmp slt i32 %i, %n
  br i1 %in, label %then, label %exit
then:
  %i64 = sext i32 %i to i64
  %a = getelementptr i32, ptr %p, i64 %i64
  store i32 %i, ptr %a
  br label %exit
exit:
  ret void
}
)";
}

TEST_F(HostDeviceTest, RunsEveryThread) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, 1000 * 4), Succeeded());
  auto Kernel = load(iota(), "iota");
  ASSERT_TRUE(Kernel);
  EXPECT_EQ(Info.Strategy, HostStrategy::Loop);
  uint64_t Ptr = Base;
  int N = 999;
  void *Args[] = {&Ptr, &N};
  ASSERT_EQ(launch(*Kernel, {8, 1, 1}, {128, 1, 1}, Args), LaunchStatus::Ok)
      << Message;
  auto Data = read<int>(Base, 1000);
  for (int I = 0; I != N; ++I)
    ASSERT_EQ(Data[I], I);
  EXPECT_EQ(Data[999], 0);
}

#ifdef __linux__
/// The pages of the address space of this process.
static size_t countPages() {
  std::ifstream File("/proc/self/statm");
  size_t Pages = 0;
  File >> Pages;
  return Pages;
}

TEST_F(HostDeviceTest, KernelsReturnTheirMemory) {
  auto M = parse(iota());
  Expected<DeviceImage> Image = compileKernelForHost(*M, "iota", {});
  ASSERT_THAT_EXPECTED(Image, Succeeded());
  constexpr size_t Kernels = 100, Least = 64; // pages of code
  ASSERT_THAT_EXPECTED(Host->load(*Image, {}), Succeeded());
  size_t Before = countPages();
  for (size_t I = 0; I != Kernels; ++I)
    ASSERT_THAT_EXPECTED(Host->load(*Image, {}), Succeeded());
  EXPECT_LT(countPages(), Before + Kernels * Least / 2);
}
#endif

TEST_F(HostDeviceTest, FinishesDoTheSame) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  uint64_t Ptr = Base;
  int N = 100;
  void *Args[] = {&Ptr, &N};
  for (HostFinish F :
       {HostFinish::O3, HostFinish::O1, HostFinish::Min, HostFinish::None}) {
    SCOPED_TRACE(getHostFinishName(F).str());
    HostOptions Options;
    Options.Finish = F;
    write<int>(Base, std::vector<int>(100, -1));
    auto Kernel = load(iota(), "iota", Options);
    ASSERT_TRUE(Kernel);
    ASSERT_EQ(launch(*Kernel, {4, 1, 1}, {32, 1, 1}, Args), LaunchStatus::Ok);
    auto Data = read<int>(Base, 100);
    for (int I = 0; I != N; ++I)
      ASSERT_EQ(Data[I], I);
  }
}

TEST_F(HostDeviceTest, OnePageBeyondAnAllocationFaults) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  ASSERT_THAT_ERROR(Host->mapMemory(Base + 2 * PageSize, PageSize),
                    Succeeded());
  auto Kernel = load(iota(), "iota");
  ASSERT_TRUE(Kernel);
  uint64_t Ptr = Base;
  int N = PageSize / 4 + 1;
  void *Args[] = {&Ptr, &N};
  EXPECT_EQ(launch(*Kernel, {2, 1, 1}, {1024, 1, 1}, Args),
            LaunchStatus::IllegalAddress);
  EXPECT_NE(Message, "");
  // The device goes on: it is the caller who calls an error sticky.
  N = 10;
  EXPECT_EQ(launch(*Kernel, {1, 1, 1}, {32, 1, 1}, Args), LaunchStatus::Ok);
}

TEST_F(HostDeviceTest, EndlessLoopTimesOut) {
  auto Kernel = load(std::string(NVPTXHead) + R"(
define ptx_kernel void @spin(ptr %p) {
  br label %loop
loop:
  %v = load volatile i32, ptr %p
  br label %loop
}
)",
                     "spin");
  ASSERT_TRUE(Kernel);
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  uint64_t Ptr = Base;
  void *Args[] = {&Ptr};
  EXPECT_EQ(launch(*Kernel, {1, 1, 1}, {1, 1, 1}, Args, 0, 0.2),
            LaunchStatus::Timeout);
}

TEST_F(HostDeviceTest, RefusesImpossibleBlocks) {
  auto Kernel = load(iota(), "iota");
  ASSERT_TRUE(Kernel);
  uint64_t Ptr = Base;
  int N = 0;
  void *Args[] = {&Ptr, &N};
  EXPECT_EQ(launch(*Kernel, {1, 1, 1}, {1025, 1, 1}, Args),
            LaunchStatus::InvalidConfiguration);
  EXPECT_EQ(launch(*Kernel, {1, 1, 1}, {32, 1, 1}, Args, 1ull << 40),
            LaunchStatus::InvalidConfiguration);
}

/// Reverses each block through shared memory.
std::string reverse() {
  return std::string(NVPTXHead) + R"(
@s = internal addrspace(3) global [64 x i32] undef, align 4
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define ptx_kernel void @reverse(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %d = call i32 @llvm.nvvm.read.ptx.sreg.ntid.x()
  %a = getelementptr i32, ptr %p, i32 %t
  %v = load i32, ptr %a
  %m = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 0, i32 %t
  store i32 %v, ptr %m
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %e = sub i32 %d, %t
  %r = sub i32 %e, 1
  %o = getelementptr [64 x i32], ptr addrspacecast (ptr addrspace(3) @s to ptr), i32 0, i32 %r
  %w = load i32, ptr %o
  store i32 %w, ptr %a
  ret void
}
)";
}

TEST_F(HostDeviceTest, StrategiesDoTheSame) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  for (HostStrategy S :
       {HostStrategy::Auto, HostStrategy::Coroutine, HostStrategy::Fiber}) {
    SCOPED_TRACE(getHostStrategyName(S).str());
    HostOptions Options;
    Options.Strategy = S;
    auto Kernel = load(reverse(), "reverse", Options);
    ASSERT_TRUE(Kernel);
    if (S != HostStrategy::Auto)
      EXPECT_EQ(Info.Strategy, S) << Info.Reason;
    EXPECT_EQ(Info.StaticShared, 256u);
    std::vector<int> Data(64);
    for (int I = 0; I != 64; ++I)
      Data[I] = I;
    write<int>(Base, Data);
    uint64_t Ptr = Base;
    void *Args[] = {&Ptr};
    ASSERT_EQ(launch(*Kernel, {1, 1, 1}, {64, 1, 1}, Args), LaunchStatus::Ok)
        << Message;
    Data = read<int>(Base, 64);
    for (int I = 0; I != 64; ++I)
      ASSERT_EQ(Data[I], 63 - I);
  }
}

TEST_F(HostDeviceTest, SchedulesOfInterleavedCodeDoTheSame) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  for (HostStrategy S : {HostStrategy::Auto, HostStrategy::Coroutine}) {
    HostOptions Options;
    Options.Strategy = S;
    Options.Interleave = true;
    auto Kernel = load(reverse(), "reverse", Options);
    ASSERT_TRUE(Kernel);
    EXPECT_EQ(Info.Strategy, S == HostStrategy::Auto ? HostStrategy::Fiber : S);
    for (StringRef Text :
         {"parallel", "sequential", "random:0", "random:1", "random:2"}) {
      SCOPED_TRACE(Text.str());
      std::vector<int> Data(64);
      std::iota(Data.begin(), Data.end(), 0);
      write<int>(Base, Data);
      uint64_t Ptr = Base;
      void *Args[] = {&Ptr};
      LaunchConfig Config;
      Config.Grid = {1, 1, 1};
      Config.Block = {64, 1, 1};
      Config.Schedule = cantFail(HostSchedule::parse(Text));
      EXPECT_EQ(Config.Schedule.toString(), Text);
      Expected<LaunchOutcome> Outcome = Host->launch(*Kernel, Config, Args);
      ASSERT_THAT_EXPECTED(Outcome, Succeeded());
      EXPECT_EQ(Outcome->Status, LaunchStatus::Ok) << Outcome->Message;
      Data = read<int>(Base, 64);
      for (int I = 0; I != 64; ++I)
        ASSERT_EQ(Data[I], 63 - I);
    }
  }
}

TEST_F(HostDeviceTest, SchedulesSplitWarps) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  std::string Text = std::string(NVPTXHead) + R"(
declare i32 @llvm.nvvm.activemask()
define ptx_kernel void @k(ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %a = getelementptr i32, ptr %p, i32 %t
  %m = call i32 @llvm.nvvm.activemask()
  store i32 %m, ptr %a
  ret void
}
)";
  for (HostStrategy S : {HostStrategy::Fiber, HostStrategy::Coroutine}) {
    HostOptions Options;
    Options.Strategy = S;
    Options.Interleave = true;
    auto Kernel = load(Text, "k", Options);
    ASSERT_TRUE(Kernel);
    for (bool Splits : {false, true}) {
      uint64_t Ptr = Base;
      void *Args[] = {&Ptr};
      LaunchConfig Config;
      Config.Grid = {1, 1, 1};
      Config.Block = {32, 1, 1};
      Config.Schedule = {HostSchedule::Random, 1};
      Config.Schedule.Splits = Splits;
      Expected<LaunchOutcome> Outcome = Host->launch(*Kernel, Config, Args);
      ASSERT_THAT_EXPECTED(Outcome, Succeeded());
      EXPECT_EQ(Outcome->Status, LaunchStatus::Ok) << Outcome->Message;
      std::vector<uint32_t> Masks = read<uint32_t>(Base, 32);
      EXPECT_EQ(Masks[0] != ~0u, Splits);
      // Threads are together with those that are together with them.
      for (unsigned Lane = 0; Lane != 32; ++Lane) {
        EXPECT_TRUE(Masks[Lane] >> Lane & 1);
        for (unsigned Other = 0; Other != 32; ++Other)
          EXPECT_EQ(Masks[Lane] >> Other & 1, Masks[Lane] == Masks[Other]);
      }
    }
  }
}

TEST_F(HostDeviceTest, LoopThatDoesNotApplyFallsBackWithReason) {
  HostOptions Options;
  Options.Strategy = HostStrategy::Loop;
  auto Kernel = load(reverse(), "reverse", Options);
  ASSERT_TRUE(Kernel);
  EXPECT_NE(Info.Strategy, HostStrategy::Loop);
  EXPECT_NE(Info.Reason, "");
}

TEST_F(HostDeviceTest, ReadsVariablesInTheArena) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  std::string Text = std::string(NVPTXHead) + R"(
@scale = dso_local addrspace(4) externally_initialized constant i32 3, align 4
@count = dso_local addrspace(1) externally_initialized global i32 0, align 4
define ptx_kernel void @k(ptr %p) {
  %s = load i32, ptr addrspacecast (ptr addrspace(4) @scale to ptr)
  %o = atomicrmw add ptr addrspacecast (ptr addrspace(1) @count to ptr), i32 %s seq_cst
  ret void
}
)";
  auto Kernel =
      load(Text, "k", {}, {{"scale", 4, Base + 64}, {"count", 4, Base + 128}});
  ASSERT_TRUE(Kernel);
  EXPECT_EQ(Info.Globals, (std::vector<std::string>{"scale", "count"}));
  write<int>(Base + 64, {5});
  uint64_t Ptr = Base;
  void *Args[] = {&Ptr};
  ASSERT_EQ(launch(*Kernel, {10, 1, 1}, {32, 1, 1}, Args), LaunchStatus::Ok);
  EXPECT_EQ(read<int>(Base + 128, 1)[0], 5 * 320);
}

/// @table holds two functions; the kernel calls what it is asked for.
std::string table() {
  return std::string(NVPTXHead) + R"(
@table = addrspace(1) externally_initialized global [2 x ptr] [ptr @three, ptr @barrier], align 8
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
define internal i32 @three(i32 %x) {
  ret i32 3
}
define internal i32 @barrier(i32 %x) {
  call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)
  %y = add i32 %x, 7
  ret i32 %y
}
define ptx_kernel void @call(ptr %p, ptr %which) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %v = call i32 %which(i32 %t)
  %a = getelementptr i32, ptr %p, i32 %t
  store i32 %v, ptr %a
  ret void
}
)";
}

TEST_F(HostDeviceTest, FunctionPointersOutliveAnImage) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  auto M = parse(table());
  ASSERT_TRUE(M);
  auto Contents =
      evaluateInitializers(*M, [](StringRef) -> uint64_t { return 0; });
  ASSERT_THAT_EXPECTED(Contents, Succeeded());
  uint64_t Functions[2];
  ASSERT_EQ((*Contents)[0].size(), sizeof(Functions));
  std::memcpy(Functions, (*Contents)[0].data(), sizeof(Functions));

  // Nothing that the kernel mentions leads to the two functions.
  auto Kernel = load(table(), "call");
  ASSERT_TRUE(Kernel);
  uint64_t Ptr = Base;
  for (unsigned Which : {0, 1}) {
    void *Args[] = {&Ptr, &Functions[Which]};
    ASSERT_EQ(launch(*Kernel, {1, 1, 1}, {64, 1, 1}, Args), LaunchStatus::Ok)
        << Message;
    auto Data = read<int>(Base, 64);
    for (int I = 0; I != 64; ++I)
      ASSERT_EQ(Data[I], Which ? I + 7 : 3);
  }
  uint64_t Nothing = 0x1234;
  void *Args[] = {&Ptr, &Nothing};
  EXPECT_EQ(launch(*Kernel, {1, 1, 1}, {64, 1, 1}, Args),
            LaunchStatus::Unsupported);
}

TEST_F(HostDeviceTest, NamesAnUnknownSymbol) {
  auto M = parse(std::string(NVPTXHead) + R"(
@nobody = external addrspace(1) global i32
define ptx_kernel void @k() {
  store i32 1, ptr addrspace(1) @nobody
  ret void
}
)");
  ASSERT_TRUE(M);
  auto Image = compileKernelForHost(*M, "k", {});
  ASSERT_THAT_EXPECTED(Image, Succeeded());
  auto Kernel = Host->load(*Image, {});
  ASSERT_FALSE(bool(Kernel));
  EXPECT_NE(toString(Kernel.takeError()).find("'nobody'"), std::string::npos);
}

TEST_F(HostDeviceTest, ByValueArgumentIsThreadsOwn) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  // Every thread adds to its copy; nobody sees another's.
  auto Kernel = load(std::string(NVPTXHead) + R"(
%pair = type { i32, i32 }
define ptx_kernel void @k(ptr byval(%pair) align 4 %v, ptr %p) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %x = load i32, ptr %v
  %y = add i32 %x, %t
  store i32 %y, ptr %v
  %z = load i32, ptr %v
  %a = getelementptr i32, ptr %p, i32 %t
  store i32 %z, ptr %a
  ret void
}
)",
                     "k");
  ASSERT_TRUE(Kernel);
  int Pair[2] = {100, 200};
  uint64_t Ptr = Base;
  void *Args[] = {Pair, &Ptr};
  ASSERT_EQ(launch(*Kernel, {1, 1, 1}, {64, 1, 1}, Args), LaunchStatus::Ok);
  auto Data = read<int>(Base, 64);
  for (int I = 0; I != 64; ++I)
    ASSERT_EQ(Data[I], 100 + I);
  EXPECT_EQ(Pair[0], 100);
}

TEST_F(HostDeviceTest, IntegersAsOnAGPU) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, PageSize), Succeeded());
  auto Kernel = load(std::string(NVPTXHead) + R"(
define ptx_kernel void @k(ptr %p, i32 %x, i32 %zero, i32 %big, float %f) {
  %q = sdiv i32 %x, %zero
  store i32 %q, ptr %p
  %m = sub i32 %zero, 1
  %min = shl i32 1, 31
  %o = sdiv i32 %min, %m
  %a1 = getelementptr i32, ptr %p, i32 1
  store i32 %o, ptr %a1
  %s = shl i32 %x, %big
  %a2 = getelementptr i32, ptr %p, i32 2
  store i32 %s, ptr %a2
  %c = fptosi float %f to i32
  %a3 = getelementptr i32, ptr %p, i32 3
  store i32 %c, ptr %a3
  ret void
}
)",
                     "k");
  ASSERT_TRUE(Kernel);
  uint64_t Ptr = Base;
  int X = 7, Zero = 0, Big = 33;
  float F = 1e20f;
  void *Args[] = {&Ptr, &X, &Zero, &Big, &F};
  ASSERT_EQ(launch(*Kernel, {1, 1, 1}, {1, 1, 1}, Args), LaunchStatus::Ok)
      << Message;
  EXPECT_EQ(read<int>(Base, 4),
            (std::vector<int>{-1, INT32_MIN, 0, INT32_MAX}));
}

TEST_F(HostDeviceTest, RunsAMDGPUCode) {
  ASSERT_THAT_ERROR(Host->mapMemory(Base, 2 * PageSize), Succeeded());
  auto Kernel = load(R"(
target triple = "amdgcn-amd-amdhsa"
target datalayout = "e-m:e-p:64:64-p1:64:64-p2:32:32-p3:32:32-p4:64:64-p5:32:32-p6:32:32-p7:160:256:256:32-p8:128:128:128:48-p9:192:256:256:32-i64:64-v16:16-v24:32-v32:32-v48:64-v96:128-v192:256-v256:256-v512:512-v1024:1024-v2048:2048-n32:64-S32-A5-G1-ni:7:8:9"
declare i32 @llvm.amdgcn.workitem.id.x()
declare i32 @llvm.amdgcn.workgroup.id.x()
declare void @llvm.amdgcn.s.barrier()
@lds = internal addrspace(3) global [64 x i32] undef, align 4
define amdgpu_kernel void @k(ptr addrspace(1) %p) #0 {
  %local = alloca i32, align 4, addrspace(5)
  %t = call i32 @llvm.amdgcn.workitem.id.x()
  %b = call i32 @llvm.amdgcn.workgroup.id.x()
  store i32 %t, ptr addrspace(5) %local
  %m = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %t
  store i32 %t, ptr addrspace(3) %m
  fence syncscope("workgroup") release
  call void @llvm.amdgcn.s.barrier()
  fence syncscope("workgroup") acquire
  %x = xor i32 %t, 63
  %n = getelementptr [64 x i32], ptr addrspace(3) @lds, i32 0, i32 %x
  %v = load i32, ptr addrspace(3) %n
  %l = load i32, ptr addrspace(5) %local
  %h = mul i32 %l, 100
  %w = add i32 %v, %h
  %o = mul i32 %b, 64
  %i = add i32 %o, %t
  %a = getelementptr i32, ptr addrspace(1) %p, i32 %i
  store i32 %w, ptr addrspace(1) %a
  ret void
}
attributes #0 = { "target-cpu"="gfx90a" "target-features"="+wavefrontsize64" }
)",
                     "k");
  ASSERT_TRUE(Kernel);
  EXPECT_EQ(Info.WaveSize, 64u);
  uint64_t Ptr = Base;
  void *Args[] = {&Ptr};
  ASSERT_EQ(launch(*Kernel, {4, 1, 1}, {64, 1, 1}, Args), LaunchStatus::Ok)
      << Message;
  auto Data = read<int>(Base, 256);
  for (int I = 0; I != 256; ++I)
    ASSERT_EQ(Data[I], (63 - I % 64) + 100 * (I % 64));
}

TEST_F(HostDeviceTest, MemoryIsCheckedAndZeroed) {
  EXPECT_THAT_ERROR(Host->mapMemory(Base - PageSize, 8), Failed());
  EXPECT_THAT_ERROR(Host->mapMemory(Base + ArenaSize - 8, 16), Failed());
  char Byte = 1;
  EXPECT_THAT_ERROR(Host->write(Base, Byte), Failed());
  ASSERT_THAT_ERROR(Host->mapMemory(Base, 16), Succeeded());
  write<int>(Base, {1, 2, 3, 4, 5, 6, 7, 8});
  // The second range shares the first one's page.
  ASSERT_THAT_ERROR(Host->mapMemory(Base + 16, 8), Succeeded());
  EXPECT_EQ(read<int>(Base, 8), (std::vector<int>{1, 2, 3, 4, 0, 0, 7, 8}));
  EXPECT_THAT_ERROR(createHostDevice()->reserveArena(Base, ArenaSize),
                    Failed());
}

TEST_F(HostDeviceTest, UnknownKernelIsAnError) {
  auto M = parse(iota());
  ASSERT_TRUE(M);
  auto Image = compileKernelForHost(*M, "nothing", {});
  ASSERT_FALSE(bool(Image));
  EXPECT_NE(toString(Image.takeError()).find("'nothing'"), std::string::npos);
}

TEST_F(HostDeviceTest, OtherTargetsAreAnError) {
  auto M = parse("target triple = \"riscv64-unknown-linux\"\n"
                 "define void @k() { ret void }");
  ASSERT_TRUE(M);
  auto Image = compileKernelForHost(*M, "k", {});
  ASSERT_FALSE(bool(Image));
  EXPECT_NE(toString(Image.takeError()).find("riscv64"), std::string::npos);
}

} // namespace
