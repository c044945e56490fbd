//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The memory kernels against what they are to do: built for this machine, and
// as they are for GPUs, which the host device runs, with waves of 32 and 64
// lanes.
//
//===----------------------------------------------------------------------===//

#include "llvm/Bitcode/BitcodeReader.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Device/Host/HostCompiler.h"
#include "llvm/Mneme/Replay/Compare.h"
#include "llvm/Mneme/Runtime/KernelImages.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

#include "FakeGPU.h"
#include <random>

using namespace llvm;
using namespace llvm::mneme;

namespace {

constexpr uint64_t Page = MNEME_SNAPSHOT_PAGE;
constexpr uint64_t Many = 16 * Page;

/// Bytes at an address that is known modulo 64.
class Bytes {
public:
  Bytes(uint64_t Size, uint64_t Offset)
      : Storage(Size + 128), Begin(Offset % 64), Size(Size) {
    Begin += 64 - reinterpret_cast<uintptr_t>(Storage.data()) % 64;
  }
  char *data() { return Storage.data() + Begin; }
  uint64_t address() { return reinterpret_cast<uint64_t>(data()); }
  MutableArrayRef<char> ref() { return {data(), Size}; }

private:
  std::vector<char> Storage;
  uint64_t Begin, Size;
};

using Random = std::mt19937_64;

uint64_t below(Random &R, uint64_t N) { return R() % N; }

/// Bits in which a type has something special: zeros, infinities, NaN, the ends
/// of the subnormal numbers, and anything.
uint64_t pickBits(Random &R, uint32_t DType) {
  auto Of = [&](std::initializer_list<uint64_t> L) {
    return L.begin()[below(R, L.size())];
  };
  if (below(R, 3) == 0)
    return R();
  switch (DType) {
  case MNEME_DTYPE_F64:
    return Of({0, 1ull << 63, 1, 0x7ff0000000000000, 0xfff0000000000000,
               0x7ff8000000000000, 0xfff0000000000001, 0x000fffffffffffff,
               0x0010000000000000, 0x7fefffffffffffff, 0x3ff0000000000000,
               0x3ff0000000000001, 0xbff0000000000000});
  case MNEME_DTYPE_F32:
    return Of({0, 0x80000000, 1, 0x80000001, 0x7f800000, 0xff800000, 0x7fc00000,
               0xff800001, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f800000,
               0x3f800001, 0xbf800000});
  case MNEME_DTYPE_F16:
    return Of({0, 0x8000, 1, 0x8001, 0x7c00, 0xfc00, 0x7e00, 0xfc01, 0x03ff,
               0x0400, 0x7bff, 0x3c00, 0x3c01, 0xbc00});
  case MNEME_DTYPE_BF16:
    return Of({0, 0x8000, 1, 0x8001, 0x7f80, 0xff80, 0x7fc0, 0xff81, 0x007f,
               0x0080, 0x7f7f, 0x3f80, 0x3f81, 0xbf80});
  default:
    return Of({0, 1, ~0ull, 0x7f, 0x80, 0x7fff, 0x8000, 0x7fffffff, 0x80000000,
               0x7fffffffffffffff, 0x8000000000000000});
  }
}

struct Pair {
  Bytes Expected, Actual;
  MnemeComparePart Part;
  CompareRule Rule;
};

Pair makePair(Random &R, uint64_t Size, uint64_t Offset, uint64_t Offset2,
              uint32_t DType, uint64_t ElementsPerDifference) {
  Pair P{Bytes(Size, Offset), Bytes(Size, Offset2), {}, {}};
  P.Rule.DType = DType;
  P.Rule.Tolerance = below(R, 4);
  constexpr double Values[] = {0, 1, 4, 1e-6, 0.5, 1e30};
  P.Rule.Value = Values[below(R, std::size(Values))];
  P.Rule.NaN = below(R, 2) ? NaNRule::Error : NaNRule::Equal;
  unsigned Width = getDTypeSize(DType);
  for (char &C : P.Expected.ref())
    C = static_cast<char>(R());
  for (uint64_t I = 0; I + Width <= Size; I += Width) {
    uint64_t Bits = pickBits(R, DType);
    std::memcpy(P.Expected.data() + I, &Bits, Width);
  }
  std::memcpy(P.Actual.data(), P.Expected.data(), Size);
  if (ElementsPerDifference)
    for (uint64_t I = 0; I < Size; I += Width) {
      if (below(R, ElementsPerDifference))
        continue;
      uint64_t Bits = pickBits(R, DType);
      if (below(R, 2)) { // a neighbour
        std::memcpy(&Bits, P.Expected.data() + I,
                    std::min<uint64_t>(Width, Size - I));
        ++Bits;
      }
      std::memcpy(P.Actual.data() + I, &Bits,
                  std::min<uint64_t>(Width, Size - I));
    }
  P.Part = {P.Expected.address(),
            P.Actual.address(),
            Size,
            P.Rule.Value,
            DType,
            P.Rule.Tolerance,
            P.Rule.NaN == NaNRule::Error,
            0};
  return P;
}

void expectAsOnHost(Pair &P, const MnemeCompareResult &Result) {
  CompareStats S = compareMemory(P.Expected.ref(), P.Actual.ref(), P.Rule);
  SCOPED_TRACE(testing::Message()
               << getDTypeName(P.Rule.DType).str() << " "
               << getToleranceText(P.Rule) << " " << P.Part.Size << " bytes at "
               << P.Part.Expected % 64 << " and " << P.Part.Actual % 64);
  EXPECT_EQ(Result.Differences, S.Differences);
  EXPECT_EQ(Result.Mismatches, S.Mismatches);
  EXPECT_EQ(Result.First, S.First.value_or(~0ull));
  EXPECT_EQ(bit_cast<double>(Result.MaxAbs), S.MaxAbs);
  EXPECT_EQ(bit_cast<double>(Result.MaxRel), S.MaxRel);
  EXPECT_EQ(bit_cast<double>(Result.MaxUlp), S.MaxUlp);
}

/// A build of the kernels for GPUs, on the host device.
class GPUBuild {
public:
  explicit GPUBuild(StringRef Bitcode) : Bitcode(Bitcode) {}

  void run(StringRef Name, ArrayRef<void *> Args) {
    LaunchConfig Config;
    Config.Grid = {3, 1, 1};
    Config.Block = {MNEME_KERNEL_BLOCK, 1, 1};
    LaunchOutcome O = cantFail(D->launch(load(Name), Config, Args));
    ASSERT_EQ(O.Status, LaunchStatus::Ok) << O.Message;
  }

private:
  DeviceKernel &load(StringRef Name) {
    std::unique_ptr<DeviceKernel> &Kernel = Kernels[Name.str()];
    if (Kernel)
      return *Kernel;
    LLVMContext Context;
    auto M = cantFail(parseBitcodeFile({Bitcode, "memory kernels"}, Context));
    HostOptions Options;
    // The other ways take long to compile for kernels as large as these.
    Options.Strategy = HostStrategy::Fiber;
    Options.Finish = HostFinish::O1;
    DeviceImage Image = cantFail(compileKernelForHost(*M, Name, Options));
    Kernel = cantFail(D->load(Image, {}));
    return *Kernel;
  }

  StringRef Bitcode;
  std::unique_ptr<Device> D = createHostDevice();
  std::map<std::string, std::unique_ptr<DeviceKernel>> Kernels;
};

class MemoryKernelsTest : public testing::TestWithParam<const char *> {
protected:
  MemoryKernelsTest() {
    if (GetParam() == StringRef("nvptx64"))
      GPU.emplace(StringRef(mneme_memory_kernels_nvptx64_bc,
                            mneme_memory_kernels_nvptx64_bc_size));
    else if (GetParam() == StringRef("amdgcn"))
      GPU.emplace(StringRef(mneme_memory_kernels_amdgcn_bc,
                            mneme_memory_kernels_amdgcn_bc_size));
  }
  /// Sets up \p D to run this build.
  void prepare(FakeGPU &D, Random &R) {
    D.NumBlocks = 1 + below(R, 5);
    D.NumThreads = 1 + below(R, 9);
    if (GPU)
      D.RunMemoryKernel = [this](StringRef Name, ArrayRef<void *> Args) {
        GPU->run(Name, Args);
      };
  }
  /// What runs on the host device takes longer.
  unsigned rounds(unsigned N) const { return GPU ? N / 10 : N; }

  std::optional<GPUBuild> GPU;
};

INSTANTIATE_TEST_SUITE_P(Builds, MemoryKernelsTest,
                         testing::Values("host", "nvptx64", "amdgcn"),
                         [](const auto &Info) {
                           return std::string(Info.param);
                         });

} // namespace

TEST_P(MemoryKernelsTest, CompareAgreesWithTheHost) {
  Random R(1);
  for (unsigned Round = 0; Round != rounds(60); ++Round) {
    FakeGPU D;
    prepare(D, R);
    std::vector<Pair> Pairs;
    for (uint32_t DType = 0; DType <= MNEME_DTYPE_U64; ++DType) {
      const uint64_t Sizes[] = {
          0,    below(R, 64),        below(R, 3 * Page), Page,
          Many, Many - below(R, 20), Many + 1,           below(R, 4 * Many)};
      uint64_t Size = Sizes[below(R, std::size(Sizes))];
      uint64_t Offset = below(R, 64);
      // Most ranges lie as they do in an application.
      if (below(R, 2))
        Offset &= ~uint64_t(7);
      uint64_t Offset2 = below(R, 3) ? Offset + 16 * below(R, 4) : below(R, 64);
      const uint64_t PerDifference[] = {0, 1, 7, 1000};
      Pairs.push_back(makePair(R, Size, Offset, Offset2, DType,
                               PerDifference[below(R, 4)]));
    }
    std::vector<MnemeComparePart> Parts;
    for (Pair &P : Pairs)
      Parts.push_back(P.Part);
    auto Results = D.compare(Parts);
    ASSERT_THAT_EXPECTED(Results, Succeeded());
    for (auto [P, Result] : zip(Pairs, *Results))
      expectAsOnHost(P, Result);
    if (HasFailure())
      return;
  }
}

TEST_P(MemoryKernelsTest, ComparesEveryByte) {
  // At every alignment, with the difference at every place where a head, a
  // word, a page or the tail may begin or end.
  Random R(4);
  FakeGPU D;
  prepare(D, R);
  constexpr uint64_t Sizes[] = {1, 15, 33, Page, Many + 7, 2 * Many};
  for (uint64_t Offset = 0; Offset != 16; ++Offset) {
    for (uint64_t Size : Sizes) {
      Bytes A(Size, Offset), B(Size, Offset + 16);
      std::vector<uint64_t> Places;
      for (uint64_t Center : {uint64_t(0), Page, Many, Size})
        for (uint64_t I = Center < 20 ? 0 : Center - 20; I < Center + 20; ++I)
          if (I < Size)
            Places.push_back(I);
      for (uint64_t I : Places) {
        B.ref()[I] ^= 1;
        MnemeComparePart P = {A.address(), B.address(), Size, 0, 0, 0, 0, 0};
        auto Result = D.compare(P);
        ASSERT_THAT_EXPECTED(Result, Succeeded());
        ASSERT_EQ((*Result)[0].Differences, 1u) << Offset << " " << Size;
        ASSERT_EQ((*Result)[0].First, I);
        B.ref()[I] ^= 1;
      }
    }
  }
}

TEST_P(MemoryKernelsTest, DiffFindsThePages) {
  Random R(2);
  for (unsigned Round = 0; Round != rounds(200); ++Round) {
    FakeGPU D;
    prepare(D, R);
    std::vector<Bytes> Memory;
    std::vector<MnemeDiffPart> Parts;
    std::vector<uint8_t> Expected;
    for (unsigned I = 0, N = below(R, 6); I != N; ++I) {
      uint64_t Size = below(R, 2) ? below(R, 3 * Many) : Page * below(R, 20);
      uint64_t Offset = below(R, 64);
      bool WithZeros = below(R, 3) == 0;
      Bytes A(Size, Offset), B(Size, below(R, 3) ? Offset + 16 : below(R, 64));
      if (!WithZeros)
        for (uint64_t J = 0; J != Size; ++J)
          A.ref()[J] = B.ref()[J] = static_cast<char>(R());
      uint64_t First = Expected.size();
      Expected.resize(First + divideCeil(Size, Page));
      for (unsigned K = 0, Changes = Size ? below(R, 5) : 0; K != Changes;
           ++K) {
        uint64_t At = below(R, 4) ? below(R, Size) : Size - 1;
        if (Expected[First + At / Page]++)
          continue;
        A.ref()[At] ^= 1 << below(R, 8);
      }
      for (uint64_t J = First; J != Expected.size(); ++J)
        Expected[J] = Expected[J] != 0;
      Parts.push_back({A.address(), WithZeros ? 0 : B.address(), Size, First});
      Memory.push_back(std::move(A));
      Memory.push_back(std::move(B));
    }
    auto Flags = D.diffPages(Parts);
    ASSERT_THAT_EXPECTED(Flags, Succeeded());
    ASSERT_EQ(*Flags, Expected);
  }
}

TEST_P(MemoryKernelsTest, CopiesTheRangesAndNothingElse) {
  Random R(3);
  for (unsigned Round = 0; Round != rounds(100); ++Round) {
    FakeGPU D;
    prepare(D, R);
    constexpr uint64_t Size = 5 * Many;
    Bytes From(Size, below(R, 64)), To(Size, below(R, 64));
    for (char &C : From.ref())
      C = static_cast<char>(R());
    std::vector<char> Expected(Size);
    std::vector<MnemeCopyPart> Parts;
    for (uint64_t At = below(R, 100); At < Size;) {
      uint64_t Length = below(R, 2) ? below(R, 100) : below(R, 2 * Many);
      Length = std::min(Length, Size - At);
      // Ranges of equal alignment and of any.
      uint64_t Source = below(R, Size - Length + 1);
      uint64_t Skew = (To.address() + At - From.address() - Source) % 16;
      if (below(R, 2) && Source + Skew + Length <= Size)
        Source += Skew;
      Parts.push_back({To.address() + At, From.address() + Source, Length});
      std::memcpy(&Expected[At], From.data() + Source, Length);
      At += Length + below(R, 100);
    }
    auto Plan = D.planCopies(Parts);
    ASSERT_THAT_EXPECTED(Plan, Succeeded());
    ASSERT_THAT_ERROR(D.copy(**Plan), Succeeded());
    ASSERT_EQ(ArrayRef<char>(To.ref()), ArrayRef<char>(Expected));
  }
}

TEST_P(MemoryKernelsTest, FindsTheirWayInManyParts) {
  // More than the lanes of a wave look at in two steps, some of them empty.
  Random R(6);
  FakeGPU D;
  prepare(D, R);
  constexpr unsigned NumParts = 5000;
  constexpr uint64_t Step = 128;
  Bytes A(NumParts * Step + 3 * Page, 0), B(NumParts * Step + 3 * Page, 16);
  std::vector<MnemeCopyPart> Copies;
  std::vector<MnemeComparePart> Compares;
  std::vector<MnemeDiffPart> Diffs;
  std::vector<char> Expected(B.ref().begin(), B.ref().end());
  std::vector<uint64_t> Differences;
  std::vector<uint8_t> Flags;
  for (char &C : A.ref())
    C = static_cast<char>(1 + below(R, 255));
  for (unsigned I = 0; I != NumParts; ++I) {
    uint64_t At = I * Step, Size = below(R, 3) * below(R, Step + 1) / 2;
    if (I == NumParts - 1)
      Size = 3 * Page; // and a large one
    // What was not copied is zero.
    bool IsCopied = below(R, 4);
    Copies.push_back(
        {B.address() + At, A.address() + At, IsCopied ? Size : 0});
    if (IsCopied)
      std::memcpy(&Expected[At], A.data() + At, Size);
    Compares.push_back(
        {A.address() + At, B.address() + At, Size, 0, 0, 0, 0, 0});
    Differences.push_back(IsCopied ? 0 : Size);
    Diffs.push_back({A.address() + At, B.address() + At, Size, Flags.size()});
    Flags.resize(Flags.size() + divideCeil(Size, Page), !IsCopied);
  }
  auto Plan = D.planCopies(Copies);
  ASSERT_THAT_EXPECTED(Plan, Succeeded());
  ASSERT_THAT_ERROR(D.copy(**Plan), Succeeded());
  ASSERT_EQ(ArrayRef<char>(B.ref()), ArrayRef<char>(Expected));
  auto Results = D.compare(Compares);
  ASSERT_THAT_EXPECTED(Results, Succeeded());
  for (auto [Result, N] : zip_equal(*Results, Differences))
    ASSERT_EQ(Result.Differences, N);
  EXPECT_THAT_EXPECTED(D.diffPages(Diffs), HasValue(Flags));
}

TEST_P(MemoryKernelsTest, NoPartsAreNoWork) {
  Random R(5);
  FakeGPU D;
  prepare(D, R);
  EXPECT_THAT_EXPECTED(D.compare({}), HasValue(testing::IsEmpty()));
  EXPECT_THAT_EXPECTED(D.diffPages({}), HasValue(testing::IsEmpty()));
  auto Plan = D.planCopies({});
  ASSERT_THAT_EXPECTED(Plan, Succeeded());
  EXPECT_THAT_ERROR(D.copy(**Plan), Succeeded());
}

TEST_P(MemoryKernelsTest, ClockSpinsAsLongAsAsked) {
  MnemeClockSample S[2], *Samples = S;
  uint64_t Ticks = 50000;
  if (GPU) {
    GPU->run(MNEME_KERNEL_CLOCK, {&Samples, &Ticks});
  } else {
    mneme_kernel_thread = {0, 1, 0, 1};
    mneme_clock(Samples, Ticks);
  }
  EXPECT_GE(S[1].Time - S[0].Time, 50000u);
  EXPECT_GE(S[1].Cycles, S[0].Cycles);
}
