//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What every device must do alike: the host, NVIDIA GPUs through the driver
/// and through liboffload, and AMD GPUs through HIP and through liboffload.
/// Where this machine has no GPU, and unless MNEME_TEST_GPU says "real", the
/// four run over the emulated driver or HIP (test/tools/emulated-cuda,
/// emulated-hip): the same code of ours, and liboffload itself.
///
//===----------------------------------------------------------------------===//

#include "GPU/FakeCupti/FakeCupti.h"
#include "Kernels/ConformanceKernels.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Compile/Compiler.h"
#include "llvm/Mneme/Compile/Targets.h"
#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Runtime/RecordFormat.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include <cstring>
#include <dlfcn.h>
#include <random>
#include <sys/mman.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using testing::AllOf;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::HasSubstr;
using testing::Lt;
using testing::Not;
using testing::SizeIs;

namespace {

/// The kernels' bitcode.
extern "C" const char mneme_conformance_kernels_nvptx[];
extern "C" const uint64_t mneme_conformance_kernels_nvptx_size;
extern "C" const char mneme_conformance_kernels_amdgcn[];
extern "C" const uint64_t mneme_conformance_kernels_amdgcn_size;

StringRef getKernels(bool ForAMD) {
  return ForAMD ? StringRef(mneme_conformance_kernels_amdgcn,
                            mneme_conformance_kernels_amdgcn_size)
                : StringRef(mneme_conformance_kernels_nvptx,
                            mneme_conformance_kernels_nvptx_size);
}

constexpr uint64_t GranuleSize = 2 << 20;
constexpr uint64_t ArenaSize = 64 * GranuleSize;

bool wantsRealGPU(bool IsAMD) {
  StringRef Asked = getenv("MNEME_TEST_GPU") ? getenv("MNEME_TEST_GPU") : "";
  return Asked == "real" ||
         (Asked != "emulated" &&
          sys::fs::exists(IsAMD ? "/dev/kfd" : "/dev/nvidiactl"));
}

/// Whether there is a GPU of a vendor, real or emulated. Packed tests run on a
/// machine with one vendor's GPU, without emulated ones.
bool hasGPU(bool IsAMD) {
  return wantsRealGPU(IsAMD) ||
         sys::fs::exists(IsAMD ? MNEME_TEST_EMULATED_HIP
                               : MNEME_TEST_EMULATED_CUDA);
}

/// Before the first look for a driver, of which a process has one of a kind.
void chooseDrivers() {
  static bool Done = false;
  if (Done)
    return;
  Done = true;
  // Where the tests were built; elsewhere it is beside them.
  for (auto [Variable, Tap] : {std::pair("MNEME_CUDA_TAP", MNEME_TEST_CUDA_TAP),
                               std::pair("MNEME_HSA_TAP", MNEME_TEST_HSA_TAP)})
    if (sys::fs::exists(Tap))
      setenv(Variable, Tap, /*overwrite=*/0);
  // The emulated drivers run kernels from files.
  std::string Files;
  for (bool IsAMD : {false, true}) {
    int File = memfd_create("conformance-kernels", 0);
    StringRef Kernels = getKernels(IsAMD);
    ASSERT_EQ(::write(File, Kernels.data(), Kernels.size()),
              ssize_t(Kernels.size()));
    Files += (Twine(Files.empty() ? "" : ":") + "/proc/self/fd/" + Twine(File))
                 .str();
  }
  setenv("MNEME_EMULATED_KERNELS", Files.c_str(), /*overwrite=*/1);
  for (auto [IsAMD, Library] : {std::pair(false, MNEME_TEST_EMULATED_CUDA),
                                std::pair(true, MNEME_TEST_EMULATED_HIP),
                                std::pair(true, MNEME_TEST_EMULATED_HSA)})
    if (!wantsRealGPU(IsAMD) && sys::fs::exists(Library))
      ASSERT_TRUE(dlopen(Library, RTLD_NOW | RTLD_LOCAL)) << dlerror();
}

/// "offload_amd" is the first AMD GPU of liboffload, which numbers them after
/// the NVIDIA GPUs.
std::string getDeviceName(StringRef Param) {
  if (Param != "offload_amd")
    return Param.str();
  chooseDrivers();
  Expected<std::vector<GPUDescription>> Cuda = findGPUs("cuda");
  size_t Count = Cuda ? Cuda->size() : 0;
  consumeError(Cuda.takeError());
  return "offload:" + std::to_string(Count);
}

/// A device of the process with its arena. They live as long as it, as a GPU's
/// context takes long to open.
struct OpenDevice {
  std::unique_ptr<Device> D;
  uint64_t Base = 0; ///< Of the arena.
  uint64_t Next = 0; ///< What of it no test has used.
  std::string Failure;
};

OpenDevice &openDevice(StringRef Param) {
  static StringMap<OpenDevice> &Opened = *new StringMap<OpenDevice>;
  auto [I, New] = Opened.try_emplace(Param);
  OpenDevice &O = I->second;
  if (!New)
    return O;
  // Apart, as the host and an emulated GPU share addresses.
  O.Base = 0x510000000000 + Opened.size() * 0x10000000000;
  O.Next = O.Base;
  if (Param == "host") {
    O.D = createHostDevice();
  } else {
    chooseDrivers();
    Expected<std::unique_ptr<GPUDevice>> D =
        createGPUDevice(getDeviceName(Param));
    if (!D) {
      O.Failure = toString(D.takeError());
      return O;
    }
    O.D = std::move(*D);
  }
  if (Error E = O.D->reserveArena(O.Base, ArenaSize))
    O.Failure = toString(std::move(E));
  return O;
}

class Conformance : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    initializeTargets();
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    StringRef Param = GetParam();
    if (Param != "host" &&
        !hasGPU(Param.starts_with("hip") || Param == "offload_amd"))
      GTEST_SKIP() << "no GPU, and no emulated one";
    OpenDevice &O = openDevice(Param);
    if (StringRef(O.Failure).contains("this build has no liboffload"))
      GTEST_SKIP() << O.Failure;
    ASSERT_EQ(O.Failure, "");
    Open = &O;
    D = O.D.get();
    GPU = D->asGPU();
  }

  /// Maps memory that no test has used.
  uint64_t map(uint64_t Size) {
    uint64_t Address = Open->Next;
    Open->Next = alignTo(Open->Next + Size, GranuleSize);
    EXPECT_THAT_ERROR(D->mapMemory(Address, Size), Succeeded());
    return Address;
  }

  template <typename T> void write(uint64_t Address, ArrayRef<T> Data) {
    ASSERT_THAT_ERROR(
        D->write(Address, {reinterpret_cast<const char *>(Data.data()),
                           Data.size() * sizeof(T)}),
        Succeeded());
  }
  template <typename T> void write(uint64_t Address, const std::vector<T> &V) {
    write(Address, ArrayRef<T>(V));
  }
  template <typename T> std::vector<T> read(uint64_t Address, size_t Count) {
    std::vector<T> Data(Count);
    EXPECT_THAT_ERROR(
        D->read(Address,
                {reinterpret_cast<char *>(Data.data()), Count * sizeof(T)}),
        Succeeded());
    return Data;
  }

  bool isAMD() const { return GPU && GPU->info().IsAMD; }

  /// The image of \p Kernel for this device, or for \p Arch. On a GPU it takes
  /// ptxas or ld.lld: see SKIP_WITHOUT_ASSEMBLER().
  std::optional<DeviceImage> compile(StringRef Kernel, StringRef Arch = "");
  std::unique_ptr<DeviceKernel> load(StringRef Kernel,
                                     ArrayRef<KernelGlobal> Globals = {});
  LaunchOutcome launch(DeviceKernel &Kernel, const LaunchConfig &Config,
                       ArrayRef<void *> Args);
  /// Launches and expects that to go well.
  void run(DeviceKernel &Kernel, Dim3 Grid, Dim3 Block, ArrayRef<void *> Args,
           uint64_t DynamicShared = 0);

  /// What a launch of \p Kernel with one argument comes to. In a process of its
  /// own, as it is the end of a GPU's context.
  void expectStatus(StringRef Kernel, uint64_t Argument, LaunchStatus Status,
                    ArrayRef<KernelGlobal> Globals = {});

  OpenDevice *Open = nullptr;
  Device *D = nullptr;
  GPUDevice *GPU = nullptr; ///< Null on the host.
};

/// The parameters' space is laid out as a structure is.
std::vector<KernelArg> layOutArgs(const Function &F) {
  std::vector<KernelArg> Args;
  const DataLayout &DL = F.getDataLayout();
  uint64_t Offset = 0;
  for (const Argument &A : F.args()) {
    Type *InMemory = A.getPointeeInMemoryValueType();
    Type *T = InMemory ? InMemory : A.getType();
    Offset = alignTo(Offset, DL.getABITypeAlign(T));
    KernelArg Arg;
    Arg.Offset = Offset;
    Arg.Size = DL.getTypeAllocSize(T);
    Args.push_back(Arg);
    Offset += Arg.Size;
  }
  return Args;
}

std::optional<DeviceImage> Conformance::compile(StringRef Kernel,
                                                StringRef Arch) {
  LLVMContext Context;
  auto M =
      parseBitcodeFile({getKernels(isAMD()), "conformance kernels"}, Context);
  EXPECT_THAT_EXPECTED(M, Succeeded());
  if (!M)
    return std::nullopt;
  if (!GPU) {
    auto Image = compileKernelForHost(**M, Kernel, HostOptions());
    EXPECT_THAT_EXPECTED(Image, Succeeded());
    if (!Image)
      return std::nullopt;
    return std::move(*Image);
  }
  DeviceImage Image;
  Image.Triple = (*M)->getTargetTriple().str();
  // Without the settings of gfx90a:xnack-.
  Image.Arch = Arch.empty() ? StringRef(D->getArch()).split(':').first.str()
                            : Arch.str();
  Image.KernelName = Kernel.str();
  Image.Args = layOutArgs(*(*M)->getFunction(Kernel));
  CompileOptions Options;
  Options.Kernel = Kernel.str();
  Options.Arch = Image.Arch;
  auto Compiler = KernelCompiler::create(**M, Options);
  EXPECT_THAT_EXPECTED(Compiler, Succeeded());
  if (!Compiler)
    return std::nullopt;
  CompileResult Result;
  EXPECT_THAT_ERROR(Compiler->optimize(**M, Result), Succeeded());
  EXPECT_THAT_ERROR(Compiler->emitImage(**M, Result), Succeeded());
  Image.Object = std::move(Result.Image);
  return Image;
}

std::unique_ptr<DeviceKernel>
Conformance::load(StringRef Kernel, ArrayRef<KernelGlobal> Globals) {
  std::optional<DeviceImage> Image = compile(Kernel);
  if (!Image)
    return nullptr;
  for (const KernelGlobal &G : Globals)
    if (!is_contained(Image->Globals, G.Name))
      Image->Globals.push_back(G.Name);
  auto K = D->load(*Image, Globals);
  EXPECT_THAT_EXPECTED(K, Succeeded());
  return K ? std::move(*K) : nullptr;
}

LaunchOutcome Conformance::launch(DeviceKernel &Kernel,
                                  const LaunchConfig &Config,
                                  ArrayRef<void *> Args) {
  auto Outcome = D->launch(Kernel, Config, Args);
  EXPECT_THAT_EXPECTED(Outcome, Succeeded());
  if (!Outcome)
    return {LaunchStatus::Unsupported, 0, "the device is lost"};
  return *Outcome;
}

void Conformance::run(DeviceKernel &Kernel, Dim3 Grid, Dim3 Block,
                      ArrayRef<void *> Args, uint64_t DynamicShared) {
  LaunchConfig Config;
  Config.Grid = Grid;
  Config.Block = Block;
  Config.DynamicShared = DynamicShared;
  LaunchOutcome Outcome = launch(Kernel, Config, Args);
  ASSERT_EQ(Outcome.Status, LaunchStatus::Ok) << Outcome.Message;
  EXPECT_GT(Outcome.Nanoseconds, 0);
}

void Conformance::expectStatus(StringRef Kernel, uint64_t Argument,
                               LaunchStatus Status,
                               ArrayRef<KernelGlobal> Globals) {
  auto K = load(Kernel, Globals);
  ASSERT_TRUE(K);
  EXPECT_EXIT(
      {
        LaunchConfig Config;
        Config.TimeoutSeconds = 0.5;
        void *Args[] = {&Argument};
        LaunchOutcome Outcome = launch(*K, Config, Args);
        errs() << getLaunchStatusName(Outcome.Status) << ": "
               << Outcome.Message << '\n';
        // Without destructors: a kernel may still run.
        _exit(Outcome.Status == Status && !Outcome.Message.empty() ? 0 : 1);
      },
      testing::ExitedWithCode(0), "");
}

/// What only devices with memory of their own can do.
class GPUConformance : public Conformance {};

// Where a GPU's kernels cannot be compiled there is nothing to test.
#define SKIP_WITHOUT_ASSEMBLER()                                               \
  do {                                                                         \
    if (isAMD() && !findLld())                                                 \
      GTEST_SKIP() << "no ld.lld";                                             \
    if (GPU && !isAMD())                                                       \
      if (Error E = findPtxas("").takeError())                                 \
        GTEST_SKIP() << toString(std::move(E));                                \
  } while (false)

std::string nameDevice(const testing::TestParamInfo<const char *> &Info) {
  return StringRef(Info.param).split(':').first.str();
}

} // namespace

INSTANTIATE_TEST_SUITE_P(Devices, Conformance,
                         testing::Values("host", "cuda:0", "hip:0", "offload:0",
                                         "offload_amd"),
                         nameDevice);
INSTANTIATE_TEST_SUITE_P(GPUs, GPUConformance,
                         testing::Values("cuda:0", "hip:0", "offload:0",
                                         "offload_amd"),
                         nameDevice);

//===----------------------------------------------------------------------===//
// The arena
//===----------------------------------------------------------------------===//

TEST_P(Conformance, NamesItself) {
  EXPECT_EQ(D->getName(), getDeviceName(GetParam()));
  if (!GPU)
    return;
  EXPECT_EQ(GPU->getBackendName(),
            StringRef(GetParam()).starts_with("offload") ? "liboffload"
                                                         : "driver");
  const GPUInfo &Info = GPU->info();
  EXPECT_EQ(Info.Arch, D->getArch());
  EXPECT_THAT(Info.Arch, HasSubstr(isAMD() ? "gfx" : "sm_"));
  EXPECT_EQ(isAMD(),
            is_contained({StringRef("hip:0"), StringRef("offload_amd")},
                         StringRef(GetParam())));
  EXPECT_NE(Info.Name, "");
  EXPECT_NE(Info.Driver, "");
  EXPECT_EQ(Info.UUID.size(), strlen("GPU-") + 36);
  EXPECT_GT(Info.MemoryBytes, ArenaSize);
  EXPECT_GT(Info.Multiprocessors, 0u);
  EXPECT_GE(Info.SharedPerBlock, 48u << 10);
}

TEST_P(Conformance, MemoryComesZeroed) {
  uint64_t Address = map(3 * 4096);
  EXPECT_THAT(read<char>(Address, 3 * 4096), testing::Each(0));
}

TEST_P(Conformance, RangesMayShareAPage) {
  uint64_t Base = map(100);
  write<char>(Base, std::vector<char>(100, 1));
  ASSERT_THAT_ERROR(D->mapMemory(Base + 100, 50), Succeeded());
  ASSERT_THAT_ERROR(D->mapMemory(Base + 200, GranuleSize), Succeeded());
  EXPECT_THAT(read<char>(Base, 100), testing::Each(1));
  EXPECT_THAT(read<char>(Base + 100, 50), testing::Each(0));
  EXPECT_THAT(read<char>(Base + 200, GranuleSize), testing::Each(0));
  Open->Next += GranuleSize;
}

TEST_P(Conformance, RefusesMemoryOutsideTheArena) {
  EXPECT_THAT_ERROR(D->mapMemory(Open->Base - 1, 2), Failed());
  EXPECT_THAT_ERROR(D->mapMemory(Open->Base + ArenaSize - 1, 2), Failed());
  EXPECT_THAT_ERROR(D->mapMemory(Open->Base, ~uint64_t(0)), Failed());
  EXPECT_THAT_ERROR(D->mapMemory(Open->Base, 0), Succeeded());
}

TEST_P(Conformance, HasOneArena) {
  EXPECT_THAT_ERROR(D->reserveArena(Open->Base + 2 * ArenaSize, ArenaSize),
                    Failed());
}

TEST_P(Conformance, MapsMemoryOutsideTheArena) {
  uint64_t Base = Open->Base + 16 * ArenaSize;
  ASSERT_THAT_ERROR(D->mapOutside(Base + 1000, 100), Succeeded());
  write<char>(Base + 1000, std::vector<char>(100, 1));
  // In the same page; in a page before it and beyond it; between two.
  ASSERT_THAT_ERROR(D->mapOutside(Base + 1100, 50), Succeeded());
  ASSERT_THAT_ERROR(D->mapOutside(Base + 3 * GranuleSize, 50), Succeeded());
  ASSERT_THAT_ERROR(D->mapOutside(Base + 1200, 3 * GranuleSize - 1200),
                    Succeeded());
  ASSERT_THAT_ERROR(D->mapOutside(Base - 100, 200), Succeeded());
  ASSERT_THAT_ERROR(D->mapOutside(Base, 0), Succeeded());
  EXPECT_THAT(read<char>(Base - 100, 200), testing::Each(0));
  EXPECT_THAT(read<char>(Base + 1000, 100), testing::Each(1));
  EXPECT_THAT(read<char>(Base + 1100, 50), testing::Each(0));
  EXPECT_TRUE(all_of(read<char>(Base + 1200, 3 * GranuleSize - 1200),
                     [](char C) { return C == 0; }));
}

TEST_P(Conformance, RefusesMemoryOutsideTheArenaWhereSomethingIs) {
  static char Taken[3 * GranuleSize];
  uint64_t Address = alignTo(reinterpret_cast<uint64_t>(Taken), GranuleSize);
  EXPECT_THAT(toString(D->mapOutside(Address, 8)), HasSubstr("cannot reserve"));
  EXPECT_THAT_ERROR(D->mapOutside(Open->Base, 8), Failed());
}

TEST_P(Conformance, RefusesAnArenaWhereSomethingIs) {
  std::unique_ptr<Device> Second;
  if (GPU) {
    auto Created = createGPUDevice(getDeviceName(GetParam()));
    ASSERT_THAT_EXPECTED(Created, Succeeded());
    Second = std::move(*Created);
  } else {
    Second = createHostDevice();
  }
  std::string Text =
      toString(Second->reserveArena(Open->Base + GranuleSize, GranuleSize));
  EXPECT_THAT(Text, HasSubstr("cannot reserve"));
  // Far away: a driver may put its own things behind an arena.
  EXPECT_THAT_ERROR(
      Second->reserveArena(Open->Base + (uint64_t(1) << 39), ArenaSize),
      Succeeded());
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

static std::vector<char> makeBytes(size_t Size) {
  std::minstd_rand Random(Size);
  std::vector<char> Bytes(Size);
  for (char &B : Bytes)
    B = Random() >> 8;
  return Bytes;
}

TEST_P(Conformance, ReadsAndWritesAnySize) {
  constexpr uint64_t Large = 9 << 20;
  uint64_t Base = map(Large + 64);
  // The largest goes through all of a GPU's staging memory more than once.
  for (uint64_t Size : {uint64_t(0), uint64_t(1), uint64_t(3), uint64_t(4097),
                        uint64_t(1 << 20) + 7, Large + 1})
    for (uint64_t Shift : {0, 1, 13}) {
      std::vector<char> Bytes = makeBytes(Size);
      write<char>(Base + Shift, Bytes);
      ASSERT_EQ(read<char>(Base + Shift, Size), Bytes) << Size << '+' << Shift;
    }
}

TEST_P(Conformance, WritesManyPieces) {
  // Of odd sizes, and more than a GPU's staging memory holds, so that pieces
  // lie across the ends of its parts. Reading in between takes it from them.
  constexpr uint64_t Size = 12 << 20, Piece = 70001;
  uint64_t Base = map(Size);
  std::vector<char> Bytes = makeBytes(Size);
  for (uint64_t At = 0; At < Size; At += Piece) {
    ArrayRef<char> Rest = ArrayRef<char>(Bytes).drop_front(At);
    std::vector<char> Copy(Rest.take_front(Piece));
    write<char>(Base + At, Copy);
    // Not what is on its way.
    std::fill(Copy.begin(), Copy.end(), 0);
    if (At / Piece == 100) {
      ASSERT_EQ(ArrayRef(read<char>(Base, At)),
                ArrayRef<char>(Bytes).take_front(At));
    }
  }
  ASSERT_EQ(read<char>(Base, Size), Bytes);
}

TEST_P(Conformance, DoesNotTouchUnmappedMemory) {
  // In a process of its own, in case the driver does.
  EXPECT_EXIT(
      {
        uint64_t Hole = Open->Base + ArenaSize - GranuleSize;
        char Byte = 0;
        EXPECT_THAT_ERROR(D->write(Hole, Byte), Failed());
        EXPECT_THAT_ERROR(D->read(Hole, Byte), Failed());
        // It goes on.
        uint64_t Address = map(1);
        EXPECT_THAT(read<char>(Address, 1), ElementsAre(0));
        _exit(HasFailure());
      },
      testing::ExitedWithCode(0), "");
}

TEST_P(GPUConformance, AllocatesFillsAndCopies) {
  constexpr uint64_t Size = 100000;
  Expected<uint64_t> Before = GPU->availableMemory();
  ASSERT_THAT_EXPECTED(Before, Succeeded());
  Expected<uint64_t> Memory = GPU->allocate(Size);
  ASSERT_THAT_EXPECTED(Memory, Succeeded());
  ASSERT_THAT_ERROR(GPU->fill(*Memory, 0, Size), Succeeded());
  ASSERT_THAT_ERROR(GPU->fill(*Memory + 10, 7, 1000), Succeeded());
  std::vector<char> Expected(Size);
  std::fill_n(Expected.begin() + 10, 1000, 7);
  EXPECT_EQ(read<char>(*Memory, Size), Expected);

  uint64_t Arena = map(Size);
  ASSERT_THAT_ERROR(GPU->copy(Arena + 1, *Memory, Size - 1), Succeeded());
  ASSERT_THAT_ERROR(GPU->synchronize(), Succeeded());
  Expected.pop_back();
  EXPECT_EQ(read<char>(Arena + 1, Size - 1), Expected);
  ASSERT_THAT_ERROR(GPU->release(*Memory), Succeeded());
}

TEST_P(GPUConformance, RunsOutOfMemory) {
  EXPECT_THAT_EXPECTED(GPU->allocate(GPU->info().MemoryBytes * 2), Failed());
  Expected<uint64_t> Memory = GPU->allocate(16);
  ASSERT_THAT_EXPECTED(Memory, Succeeded());
  ASSERT_THAT_ERROR(GPU->release(*Memory), Succeeded());
}

TEST_P(GPUConformance, CopiesByPlan) {
  constexpr uint64_t Size = 300000;
  uint64_t From = map(Size), To = map(Size);
  std::vector<char> Bytes = makeBytes(Size), Result(Size);
  write<char>(From, Bytes);
  std::vector<MnemeCopyPart> Parts;
  uint64_t At = 0;
  for (uint64_t Bytes : {1, 15, 16, 4096, 65536, 65537, 100001}) {
    Parts.push_back({To + At, From + At, Bytes});
    At += Bytes + 3;
  }
  // Addresses that differ modulo 16.
  Parts.push_back({To + At, From + At + 1, 5000});
  for (const MnemeCopyPart &P : Parts)
    std::memcpy(&Result[P.To - To], &Bytes[P.From - From], P.Size);
  auto Plan = GPU->planCopies(Parts);
  ASSERT_THAT_EXPECTED(Plan, Succeeded());
  for (int I = 0; I != 2; ++I) {
    ASSERT_THAT_ERROR(GPU->fill(To, 0, Size), Succeeded());
    ASSERT_THAT_ERROR(GPU->copy(**Plan), Succeeded());
    ASSERT_THAT_ERROR(GPU->synchronize(), Succeeded());
    ASSERT_EQ(read<char>(To, Size), Result);
  }
  auto Nothing = GPU->planCopies({});
  ASSERT_THAT_EXPECTED(Nothing, Succeeded());
  EXPECT_THAT_ERROR(GPU->copy(**Nothing), Succeeded());
}

TEST_P(GPUConformance, FindsPagesThatDiffer) {
  constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
  constexpr uint64_t Size = 40 * Page + 100;
  uint64_t A = map(Size), B = map(Size);
  std::vector<char> Bytes = makeBytes(Size);
  write<char>(A, Bytes);
  for (uint64_t Changed : {uint64_t(0), 3 * Page - 1, 17 * Page, Size - 1})
    Bytes[Changed] ^= 1;
  write<char>(B, Bytes);
  uint64_t Zeros = map(2 * Page);
  MnemeDiffPart Parts[] = {{A, B, Size, 0}, {Zeros, 0, 2 * Page, 41}};
  write<char>(Zeros + Page, std::vector<char>(1, 1));
  auto Flags = GPU->diffPages(Parts);
  ASSERT_THAT_EXPECTED(Flags, Succeeded());
  std::vector<uint8_t> Expected(43);
  for (unsigned I : {0, 2, 17, 40, 42})
    Expected[I] = 1;
  EXPECT_EQ(*Flags, Expected);
}

TEST_P(GPUConformance, ComparesOnTheDevice) {
  constexpr size_t Count = 50000;
  uint64_t A = map(Count * 4), B = map(Count * 4);
  std::vector<float> Values(Count);
  for (size_t I = 0; I != Count; ++I)
    Values[I] = I;
  write<float>(A, Values);
  Values[100] += 0.25f;
  Values[40000] += 2;
  write<float>(B, Values);
  MnemeComparePart Exact = {};
  Exact.Expected = A;
  Exact.Actual = B;
  Exact.Size = Count * 4;
  MnemeComparePart Near = Exact;
  Near.DType = MNEME_DTYPE_F32;
  Near.Tolerance = MNEME_TOLERANCE_ABS;
  Near.Value = 1;
  MnemeComparePart Same = Exact;
  Same.Actual = A;
  auto Results = GPU->compare({Exact, Near, Same});
  ASSERT_THAT_EXPECTED(Results, Succeeded());
  ASSERT_EQ(Results->size(), 3u);
  EXPECT_GT((*Results)[0].Mismatches, 0u);
  EXPECT_EQ((*Results)[0].First / 4, 100u);
  EXPECT_EQ((*Results)[1].Differences, 2u);
  EXPECT_EQ((*Results)[1].Mismatches, 1u);
  EXPECT_EQ((*Results)[1].First, 40000u);
  double MaxAbs;
  std::memcpy(&MaxAbs, &(*Results)[1].MaxAbs, sizeof(MaxAbs));
  EXPECT_EQ(MaxAbs, 2);
  EXPECT_EQ((*Results)[2].Differences, 0u);
  EXPECT_EQ((*Results)[2].Mismatches, 0u);
}

TEST_P(GPUConformance, FlushesAndMeasuresTheClock) {
  EXPECT_THAT_ERROR(GPU->flushCache(), Succeeded());
  EXPECT_THAT_ERROR(GPU->synchronize(), Succeeded());
  Expected<double> MHz = GPU->measureClock();
  ASSERT_THAT_EXPECTED(MHz, Succeeded());
  EXPECT_GE(*MHz, 0);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

TEST_P(Conformance, RefusesWhatIsNoImage) {
  DeviceImage Image;
  Image.Triple = isAMD() ? "amdgcn-amd-amdhsa"
                 : GPU   ? "nvptx64-nvidia-cuda"
                         : "x86_64-unknown-linux-gnu";
  Image.Arch = D->getArch();
  Image.KernelName = "count";
  StringRef Text = "this is no image, but it is longer than an ELF header is";
  Image.Object.assign(Text.begin(), Text.end());
  Image.Object.append(100, 0);
  EXPECT_THAT_EXPECTED(D->load(Image, {}), Failed());
}

TEST_P(GPUConformance, CountsWhatUnloadedKernelsLeave) {
  SKIP_WITHOUT_ASSEMBLER();
  std::optional<DeviceImage> Image = compile("count");
  ASSERT_TRUE(Image);
  uint64_t Before = GPU->leakedBytes();
  for (int I = 0; I != 3; ++I)
    EXPECT_THAT_EXPECTED(D->load(*Image, {}), Succeeded());
  bool Leaks = GPU->getBackendName() == "liboffload";
  EXPECT_EQ(GPU->leakedBytes() - Before, Leaks ? 3 * Image->Object.size() : 0);
}

TEST_P(GPUConformance, RefusesDamagedImages) {
  SKIP_WITHOUT_ASSEMBLER();
  std::optional<DeviceImage> Image = compile("count");
  ASSERT_TRUE(Image);
  Image->Object.truncate(Image->Object.size() / 2);
  EXPECT_THAT_EXPECTED(D->load(*Image, {}), Failed());
}

TEST_P(GPUConformance, RefusesOtherArchitectures) {
  SKIP_WITHOUT_ASSEMBLER();
  StringRef Other = D->getArch() == "sm_80" ? "sm_90" : "sm_80";
  if (isAMD())
    Other = StringRef(D->getArch()).starts_with("gfx90a") ? "gfx942" : "gfx90a";
  std::optional<DeviceImage> Image = compile("count", Other);
  ASSERT_TRUE(Image);
  auto K = D->load(*Image, {});
  ASSERT_FALSE(bool(K));
  EXPECT_THAT(toString(K.takeError()), HasSubstr(Other.str()));
  // Also when one says that it fits.
  Image->Arch = D->getArch();
  EXPECT_THAT_EXPECTED(D->load(*Image, {}), Failed());
}

TEST_P(GPUConformance, RefusesAMissingKernel) {
  SKIP_WITHOUT_ASSEMBLER();
  std::optional<DeviceImage> Image = compile("count");
  ASSERT_TRUE(Image);
  Image->KernelName = "nobody";
  auto K = D->load(*Image, {});
  ASSERT_FALSE(bool(K));
  EXPECT_THAT(toString(K.takeError()), HasSubstr("'nobody'"));
}

//===----------------------------------------------------------------------===//
// Arguments
//===----------------------------------------------------------------------===//

namespace {
/// Bytes of values, side by side.
class Packed {
  std::vector<char> Bytes;

public:
  template <typename T> Packed &operator<<(const T &V) {
    auto *P = reinterpret_cast<const char *>(&V);
    Bytes.insert(Bytes.end(), P, P + sizeof(T));
    return *this;
  }
  const std::vector<char> &bytes() const { return Bytes; }
};
} // namespace

TEST_P(Conformance, PassesScalars) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("scalars");
  ASSERT_TRUE(K);
  uint64_t Out = map(64), Word = map(4);
  uint32_t Value = 0x12345678;
  write<uint32_t>(Word, std::vector<uint32_t>{Value});
  int8_t A = -3;
  int16_t B = -300;
  int32_t C = -70000;
  int64_t E = -5000000000;
  float F = 1.5f;
  double G = -2.25;
  void *Args[] = {&Out, &A, &B, &C, &E, &F, &G, &Word};
  run(*K, {1, 1, 1}, {1, 1, 1}, Args);
  Packed Expected;
  Expected << A << B << C << E << F << G << Value;
  EXPECT_EQ(read<char>(Out, Expected.bytes().size()), Expected.bytes());
}

TEST_P(Conformance, PassesStructsByValue) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("structs");
  ASSERT_TRUE(K);
  uint64_t Out = map(256);
  ThreeBytes A = {{1, 2, 3}};
  Padded B = {-4, 5.5, 6};
  Large C;
  for (int I = 0; I != 20; ++I)
    C.Values[I] = I * 1000 - 7;
  int8_t E = 99;
  void *Args[] = {&Out, &A, &B, &C, &E};
  run(*K, {1, 1, 1}, {1, 1, 1}, Args);
  Packed Expected;
  Expected << A << B.A << B.B << B.C << C << E;
  EXPECT_EQ(read<char>(Out, Expected.bytes().size()), Expected.bytes());
}

TEST_P(Conformance, PassesManyArguments) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("many");
  ASSERT_TRUE(K);
  uint64_t Out = map(256);
  std::vector<int64_t> Values(20), Expected(20);
  std::vector<void *> Args = {&Out};
  for (int I = 0; I != 20; ++I) {
    // Its low bytes are what the narrower parameters take.
    Values[I] = int64_t(0x123456780000) + (I - 10) * 5;
    switch (I % 4) {
    case 0:
      Expected[I] = int32_t(Values[I]);
      break;
    case 1:
      Expected[I] = int8_t(Values[I]);
      break;
    case 2:
      Expected[I] = Values[I];
      break;
    case 3:
      Expected[I] = int16_t(Values[I]);
      break;
    }
    Args.push_back(&Values[I]);
  }
  run(*K, {1, 1, 1}, {1, 1, 1}, Args);
  EXPECT_EQ(read<int64_t>(Out, 20), Expected);
}

TEST_P(Conformance, LaunchesWithoutArguments) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("nothing");
  ASSERT_TRUE(K);
  run(*K, {3, 1, 1}, {32, 1, 1}, {});
}

TEST_P(Conformance, KeepsKernelsApart) {
  SKIP_WITHOUT_ASSEMBLER();
  auto Count = load("count"), Store = load("store");
  ASSERT_TRUE(Count && Store);
  uint64_t Out = map(4), Other = map(4);
  void *Args[] = {&Out}, *OtherArgs[] = {&Other};
  run(*Count, {4, 1, 1}, {32, 1, 1}, Args);
  run(*Store, {1, 1, 1}, {1, 1, 1}, OtherArgs);
  run(*Count, {1, 1, 1}, {32, 1, 1}, Args);
  Store.reset();
  run(*Count, {1, 1, 1}, {1, 1, 1}, Args);
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(161));
  EXPECT_THAT(read<uint32_t>(Other, 1), ElementsAre(1));
}

//===----------------------------------------------------------------------===//
// Threads, shared memory, variables
//===----------------------------------------------------------------------===//

TEST_P(Conformance, NumbersThreadsInThreeDimensions) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("indices");
  ASSERT_TRUE(K);
  Dim3 Grid = {3, 4, 5}, Block = {6, 7, 2};
  uint64_t Count = Grid.count() * Block.count();
  uint64_t Out = map(Count * sizeof(ThreadPlace));
  void *Args[] = {&Out};
  run(*K, Grid, Block, Args);
  std::vector<ThreadPlace> Places = read<ThreadPlace>(Out, Count);
  for (uint64_t I = 0; I != Count; ++I) {
    uint64_t B = I / Block.count(), T = I % Block.count();
    const ThreadPlace &P = Places[I];
    ASSERT_THAT(P.Block, ElementsAre(B % 3, B / 3 % 4, B / 12)) << I;
    ASSERT_THAT(P.Thread, ElementsAre(T % 6, T / 6 % 7, T / 42)) << I;
  }
}

TEST_P(Conformance, HasStaticSharedMemory) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("static_shared");
  ASSERT_TRUE(K);
  std::vector<int32_t> Data(4 * 256), Expected;
  for (size_t I = 0; I != Data.size(); ++I) {
    Data[I] = I;
    Expected.push_back(I / 256 * 256 + 255 - I % 256);
  }
  uint64_t Memory = map(Data.size() * 4);
  write<int32_t>(Memory, Data);
  void *Args[] = {&Memory};
  run(*K, {4, 1, 1}, {256, 1, 1}, Args);
  EXPECT_EQ(read<int32_t>(Memory, Data.size()), Expected);
}

TEST_P(Conformance, HasDynamicSharedMemory) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("dynamic_shared");
  ASSERT_TRUE(K);
  // More than 48 KiB must be asked for on a GPU; then less again. AMD's have
  // 64 KiB.
  for (uint32_t Words : {256u, (isAMD() ? 14u : 25u) << 10, 16u}) {
    std::vector<int32_t> Data(2 * Words), Expected;
    for (size_t I = 0; I != Data.size(); ++I) {
      Data[I] = I * 3;
      Expected.push_back((I / Words * Words + Words - 1 - I % Words) * 3);
    }
    uint64_t Memory = map(Data.size() * 4);
    write<int32_t>(Memory, Data);
    void *Args[] = {&Memory, &Words};
    run(*K, {2, 1, 1}, {128, 1, 1}, Args, Words * 4);
    ASSERT_EQ(read<int32_t>(Memory, Data.size()), Expected) << Words;
  }
}

TEST_P(Conformance, ExchangesValuesInAWarp) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("warp_sum");
  ASSERT_TRUE(K);
  std::vector<uint32_t> Data(64), Expected(64);
  for (unsigned I = 0; I != 64; ++I) {
    Data[I] = I;
    Expected[I] = I < 32 ? 496 : 1520;
  }
  uint64_t Memory = map(256);
  write<uint32_t>(Memory, Data);
  void *Args[] = {&Memory};
  run(*K, {1, 1, 1}, {64, 1, 1}, Args);
  EXPECT_EQ(read<uint32_t>(Memory, 64), Expected);
}

TEST_P(Conformance, CarriesVariablesInAndOut) {
  SKIP_WITHOUT_ASSEMBLER();
  uint64_t Memory = map(4096), Out = map(64);
  std::vector<KernelGlobal> Globals = {
      {"conformance_counter", 4, Memory},
      {"conformance_table", 32, Memory + 64},
      {"conformance_constants", 32, Memory + 128}};
  write<int32_t>(Memory, std::vector<int32_t>{5});
  write<int64_t>(Memory + 64, std::vector<int64_t>{100, 200, 300, 400});
  write<int32_t>(Memory + 128, std::vector<int32_t>{1, 2, 3, 4, 5, 6, 7, 8});
  auto K = load("globals", Globals);
  ASSERT_TRUE(K);
  void *Args[] = {&Out};
  run(*K, {1, 1, 1}, {4, 1, 1}, Args);
  EXPECT_THAT(read<int64_t>(Out, 4), ElementsAre(101, 202, 303, 404));
  EXPECT_THAT(read<int32_t>(Memory, 1), ElementsAre(15));
  EXPECT_THAT(read<int64_t>(Memory + 64, 4), ElementsAre(0, -1, -2, -3));
  EXPECT_THAT(read<int32_t>(Memory + 128, 8),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  // What the next launch finds is what lies in the arena then.
  write<int32_t>(Memory, std::vector<int32_t>{-1});
  run(*K, {1, 1, 1}, {4, 1, 1}, Args);
  EXPECT_THAT(read<int32_t>(Memory, 1), ElementsAre(9));
  EXPECT_THAT(read<int64_t>(Out, 4), ElementsAre(1, 1, 1, 1));
}

TEST_P(Conformance, ClearsSharedMemoryBeforeEachLaunch) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("leave_notes");
  ASSERT_TRUE(K);
  EXPECT_TRUE(K->keepsState());
  uint64_t Found = map(8);
  void *Args[] = {&Found};
  for (unsigned I = 0; I != 3; ++I)
    run(*K, {1, 1, 1}, {1, 1, 1}, Args, /*DynamicShared=*/64);
  EXPECT_THAT(read<uint32_t>(Found, 2), ElementsAre(0, 0));
  if (!GPU)
    return;
  LaunchConfig Config;
  Config.DynamicShared = 64;
  std::vector<double> Nanoseconds;
  Expected<LaunchOutcome> Outcome = GPU->launchMany(
      *K, Config, Args, 3, [] { return Error::success(); }, Nanoseconds);
  ASSERT_THAT_EXPECTED(Outcome, Succeeded());
  EXPECT_EQ(Outcome->Status, LaunchStatus::Ok) << Outcome->Message;
  EXPECT_THAT(read<uint32_t>(Found, 2), ElementsAre(0, 0));
}

TEST_P(GPUConformance, ResetsTheImagesOwnVariablesBeforeEachLaunch) {
  SKIP_WITHOUT_ASSEMBLER();
  std::optional<DeviceImage> Image = compile("leave_note_in_variable");
  ASSERT_TRUE(Image);
  Image->OwnVariables = {"conformance_note"};
  auto K = D->load(*Image, {});
  ASSERT_THAT_EXPECTED(K, Succeeded());
  EXPECT_TRUE((*K)->keepsState());
  uint64_t Found = map(4);
  void *Args[] = {&Found};
  for (unsigned I = 0; I != 3; ++I)
    run(**K, {1, 1, 1}, {1, 1, 1}, Args);
  EXPECT_THAT(read<uint32_t>(Found, 1), ElementsAre(0));
}

/// Here the image is loaded anew, and what the recording has of it stays.
TEST_P(GPUConformance, ResetsVariablesThatTheDriverDoesNotFind) {
  SKIP_WITHOUT_ASSEMBLER();
  std::optional<DeviceImage> Image = compile("globals");
  ASSERT_TRUE(Image);
  uint64_t Counter = map(64), Out = map(64);
  Image->Globals = {"conformance_counter"};
  Image->OwnVariables = {"conformance_table", "hidden"};
  auto K = D->load(*Image, {{"conformance_counter", 4, Counter}});
  ASSERT_THAT_EXPECTED(K, Succeeded());
  EXPECT_TRUE((*K)->keepsState());
  write<int32_t>(Counter, std::vector<int32_t>{5});
  void *Args[] = {&Out};
  for (unsigned I = 0; I != 2; ++I) {
    run(**K, {1, 1, 1}, {4, 1, 1}, Args);
    // A table of zeros, constants that are all 1.
    EXPECT_THAT(read<int64_t>(Out, 4), ElementsAre(1, 1, 1, 1));
  }
  EXPECT_THAT(read<int32_t>(Counter, 1), ElementsAre(25));
}

TEST_P(Conformance, LaunchesCooperatively) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("count");
  ASSERT_TRUE(K);
  uint64_t Out = map(4);
  void *Args[] = {&Out};
  LaunchConfig Config;
  Config.Grid = {2, 1, 1};
  Config.Block = {64, 1, 1};
  Config.Cooperative = true;
  LaunchOutcome Outcome = launch(*K, Config, Args);
  if (isAMD() && GPU->getBackendName() == "liboffload") {
    EXPECT_EQ(Outcome.Status, LaunchStatus::Unsupported);
    EXPECT_THAT(Outcome.Message, HasSubstr("no cooperative launches"));
    return;
  }
  EXPECT_EQ(Outcome.Status, LaunchStatus::Ok) << Outcome.Message;
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(128));
  if (!GPU)
    return;
  // More blocks than can run at once.
  Config.Grid = {1 << 20, 1, 1};
  Config.Block = {1024, 1, 1};
  EXPECT_EQ(launch(*K, Config, Args).Status,
            LaunchStatus::InvalidConfiguration);
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(128));
}

TEST_P(Conformance, LaunchesClusters) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("count");
  ASSERT_TRUE(K);
  uint64_t Out = map(4);
  void *Args[] = {&Out};
  LaunchConfig Config;
  Config.Grid = {4, 1, 1};
  Config.Block = {64, 1, 1};
  Config.Cluster = {2, 1, 1};
  LaunchOutcome Outcome = launch(*K, Config, Args);
  if (GPU && isAMD()) {
    EXPECT_EQ(Outcome.Status, LaunchStatus::Unsupported);
    EXPECT_THAT(Outcome.Message, HasSubstr("clusters"));
    return;
  }
  EXPECT_EQ(Outcome.Status, LaunchStatus::Ok) << Outcome.Message;
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(256));
  Config.Cooperative = true;
  EXPECT_EQ(launch(*K, Config, Args).Status, LaunchStatus::Ok);
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(512));
  // A grid is a whole number of clusters.
  Config.Grid = {3, 1, 1};
  EXPECT_EQ(launch(*K, Config, Args).Status,
            LaunchStatus::InvalidConfiguration);
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(512));
}

//===----------------------------------------------------------------------===//
// Measurement
//===----------------------------------------------------------------------===//

TEST_P(GPUConformance, RepeatsLaunches) {
  SKIP_WITHOUT_ASSEMBLER();
  for (GPUTimer Timer : {GPUTimer::Events, GPUTimer::Auto}) {
    ASSERT_THAT_ERROR(GPU->setTimer(Timer), Succeeded());
    auto K = load("count");
    ASSERT_TRUE(K);
    uint64_t Out = map(4);
    void *Args[] = {&Out};
    LaunchConfig Config;
    Config.Block = {32, 1, 1};
    Config.Repeat = 7;
    LaunchOutcome Outcome = launch(*K, Config, Args);
    ASSERT_EQ(Outcome.Status, LaunchStatus::Ok) << Outcome.Message;
    EXPECT_GT(Outcome.Nanoseconds, 0);
    EXPECT_LT(Outcome.Nanoseconds, 1e9);
    EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(7 * 32));
  }
}

TEST_P(GPUConformance, LaunchesSeveralAtOnce) {
  SKIP_WITHOUT_ASSEMBLER();
  for (GPUTimer Timer : {GPUTimer::Events, GPUTimer::Auto}) {
    ASSERT_THAT_ERROR(GPU->setTimer(Timer), Succeeded());
    auto K = load("count");
    ASSERT_TRUE(K);
    uint64_t Out = map(4), Copies = map(5 * 4);
    void *Args[] = {&Out};
    LaunchConfig Config;
    Config.Block = {32, 1, 1};
    std::vector<double> Nanoseconds;
    unsigned Prepared = 0;
    // What the launch before left; the fourth begins anew, behind a flush.
    auto Prepare = [&]() -> Error {
      if (Error E = GPU->copy(Copies + 4 * Prepared, Out, 4))
        return E;
      if (++Prepared != 4)
        return Error::success();
      if (Error E = GPU->fill(Out, 0, 4))
        return E;
      return GPU->flushCache();
    };
    Expected<LaunchOutcome> Outcome =
        GPU->launchMany(*K, Config, Args, 5, Prepare, Nanoseconds);
    ASSERT_THAT_EXPECTED(Outcome, Succeeded());
    ASSERT_EQ(Outcome->Status, LaunchStatus::Ok) << Outcome->Message;
    EXPECT_THAT(Nanoseconds, SizeIs(5));
    EXPECT_THAT(Nanoseconds, Each(AllOf(Gt(0), Lt(1e9))));
    EXPECT_THAT(read<uint32_t>(Copies, 5), ElementsAre(0, 32, 64, 96, 32));
    EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(64));
  }
}

TEST_P(GPUConformance, OneOfSeveralLaunchesCanFail) {
  SKIP_WITHOUT_ASSEMBLER();
  auto Expect = [&](StringRef Name, uint64_t Argument, unsigned Block,
                    StringRef Status, bool Wait = false) {
    auto K = load(Name);
    ASSERT_TRUE(K);
    auto Launch = [&] {
      LaunchConfig Config;
      Config.TimeoutSeconds = 0.5;
      Config.Block = {Block, 1, 1};
      void *Args[] = {&Argument};
      std::vector<double> Nanoseconds;
      auto Prepare = [&] {
        return Wait ? GPU->synchronize() : Error::success();
      };
      LaunchOutcome Outcome = cantFail(
          GPU->launchMany(*K, Config, Args, 3, Prepare, Nanoseconds));
      errs() << getLaunchStatusName(Outcome.Status) << '\n';
      // Without destructors: a kernel may still run.
      _exit(!Nanoseconds.empty());
    };
    EXPECT_EXIT(Launch(), testing::ExitedWithCode(0), Status.str());
  };
  Expect("store", 64, 1, getLaunchStatusName(LaunchStatus::IllegalAddress));
  // The first launch has failed when the second one is prepared.
  Expect("store", 64, 1, getLaunchStatusName(LaunchStatus::IllegalAddress),
         /*Wait=*/true);
  Expect("spin", map(4), 1, getLaunchStatusName(LaunchStatus::Timeout));
  Expect("count", map(4), 4096,
         getLaunchStatusName(LaunchStatus::InvalidConfiguration));
}

FakeCupti *Fake = nullptr;

/// A CUPTI that reports one launch of mneme_clock, then seven of count, then
/// nothing more.
Error useFakeCupti(GPUDevice &GPU, DeviceKernel &Count, void **Args) {
  Fake = static_cast<FakeCupti *>(
      dlsym(dlopen(MNEME_TEST_FAKE_CUPTI, RTLD_NOW), "fake_cupti"));
  auto Expect = [](bool Condition, const char *Text) {
    return Condition ? Error::success() : createStringError(Text);
  };
  if (Error E = GPU.setTimer(GPUTimer::Auto))
    return E;
  if (Error E = Expect(GPU.getTimerName() == "events" && !Fake->Enabled,
                       "uses what reports nothing"))
    return E;

  Fake->BeforeFlush = [] { Fake->Add({10, 0, "mneme_clock", 100, 1100}); };
  if (Error E = GPU.setTimer(GPUTimer::CUPTI))
    return E;
  if (Error E = Expect(GPU.getTimerName() == "cupti", "does not use CUPTI"))
    return E;

  Fake->BeforeFlush = [] {
    Fake->Add({10, 0, "mneme_clock", 100, 10100});
    for (uint64_t I = 0; I != 7; ++I)
      Fake->Add({10, 0, "count", 20000 + 100 * I, 20010 + 101 * I});
  };
  LaunchConfig Config;
  Config.Repeat = 7;
  Expected<LaunchOutcome> First = GPU.launch(Count, Config, {Args, 1});
  if (!First)
    return First.takeError();
  if (Error E = Expect(First->Nanoseconds == 13, "has not CUPTI's time"))
    return E;

  Fake->BeforeFlush = nullptr;
  Expected<LaunchOutcome> Second = GPU.launch(Count, Config, {Args, 1});
  if (!Second)
    return Second.takeError();
  return Expect(Second->Nanoseconds > 13 && GPU.getTimerName() == "events",
                "does not fall back to events");
}

TEST_P(GPUConformance, TakesTimesFromCUPTI) {
  SKIP_WITHOUT_ASSEMBLER();
  if (isAMD() || wantsRealGPU(/*IsAMD=*/false))
    GTEST_SKIP() << "it has no CUPTI, or one of its own";
  auto K = load("count");
  ASSERT_TRUE(K);
  uint64_t Out = map(4);
  void *Args[] = {&Out};
  // Where no other CUPTI was loaded before.
  EXPECT_EXIT(
      {
        Error E = useFakeCupti(*GPU, *K, Args);
        bool Failed = bool(E);
        errs() << toString(std::move(E)) << '\n';
        _exit(Failed);
      },
      testing::ExitedWithCode(0), "");
}

TEST_P(GPUConformance, DescribesKernels) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("static_shared");
  ASSERT_TRUE(K);
  Expected<GPUKernelInfo> Info = GPU->describe(*K);
  ASSERT_THAT_EXPECTED(Info, Succeeded());
  EXPECT_GT(Info->Registers, 0u);
  EXPECT_EQ(Info->SharedBytes, 32768u);
  EXPECT_EQ(Info->LocalBytes, 0u);
  EXPECT_GE(Info->MaxThreads, 256u);
  Expected<unsigned> Blocks = GPU->getOccupancy(*K, 256, 0);
  ASSERT_THAT_EXPECTED(Blocks, Succeeded());
  EXPECT_GT(*Blocks, 0u);
  Expected<unsigned> Fewer = GPU->getOccupancy(*K, 256, 100 << 10);
  ASSERT_THAT_EXPECTED(Fewer, Succeeded());
  EXPECT_LT(*Fewer, *Blocks);
}

//===----------------------------------------------------------------------===//
// What goes wrong
//===----------------------------------------------------------------------===//

TEST_P(Conformance, RefusesImpossibleLaunches) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("count");
  ASSERT_TRUE(K);
  uint64_t Out = map(4);
  void *Args[] = {&Out};
  auto Expect = [&](Dim3 Grid, Dim3 Block, uint64_t DynamicShared) {
    LaunchConfig Config;
    Config.Grid = Grid;
    Config.Block = Block;
    Config.DynamicShared = DynamicShared;
    LaunchOutcome Outcome = launch(*K, Config, Args);
    EXPECT_EQ(Outcome.Status, LaunchStatus::InvalidConfiguration);
    EXPECT_NE(Outcome.Message, "");
  };
  Expect({1, 1, 1}, {1025, 1, 1}, 0);
  Expect({1, 1, 1}, {32, 32, 2}, 0);
  Expect({1, 1, 1}, {0, 1, 1}, 0);
  Expect({1, 0, 1}, {32, 1, 1}, 0);
  Expect({1, 1, 1}, {32, 1, 1}, 300 << 10);
  Expect({1, 1, 1}, {32, 1, 1}, uint64_t(1) << 40);
  // The device goes on.
  run(*K, {1, 1, 1}, {32, 1, 1}, Args);
  EXPECT_THAT(read<uint32_t>(Out, 1), ElementsAre(32));
}

TEST_P(Conformance, ReportsIllegalAddresses) {
  SKIP_WITHOUT_ASSEMBLER();
  expectStatus("store", Open->Base + ArenaSize - GranuleSize,
               LaunchStatus::IllegalAddress);
  // It may have failed before its variables are asked for.
  std::vector<KernelGlobal> Globals = {
      {"conformance_counter", 4, map(4)},
      {"conformance_table", 32, map(32)},
      {"conformance_constants", 32, map(32)}};
  expectStatus("globals", Open->Base + ArenaSize - GranuleSize,
               LaunchStatus::IllegalAddress, Globals);
}

TEST_P(Conformance, ReportsTraps) {
  SKIP_WITHOUT_ASSEMBLER();
  expectStatus("trap", map(4), LaunchStatus::Trap);
}

TEST_P(Conformance, EndsEndlessKernels) {
  SKIP_WITHOUT_ASSEMBLER();
  expectStatus("spin", map(4), LaunchStatus::Timeout);
}

TEST_P(GPUConformance, IsLostAfterAFailure) {
  SKIP_WITHOUT_ASSEMBLER();
  auto K = load("store");
  ASSERT_TRUE(K);
  EXPECT_EXIT(
      {
        uint64_t Address = 64;
        void *Args[] = {&Address};
        launch(*K, LaunchConfig(), Args);
        std::string First = toString(GPU->fill(Open->Base, 0, 1));
        std::string Second =
            toString(D->launch(*K, LaunchConfig(), Args).takeError());
        errs() << First << '\n' << Second << '\n';
        _exit(First.empty() || Second.empty());
      },
      testing::ExitedWithCode(0), "lost");
}
