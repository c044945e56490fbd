//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FailingNew.h"
#include "llvm/Mneme/Runtime/CudaDriver.h"
#include "gtest/gtest.h"
#include <map>
#include <memory>
#include <new>
#include <set>

using namespace mneme;

namespace {

constexpr uint64_t MiB = 1u << 20;
constexpr uint64_t Granule = 2 * MiB;
constexpr uint64_t Base = 0x500000000000ull;

/// A device of 64 MiB, as the functions of a driver see it.
struct FakeDevice {
  uint64_t Free = 64 * MiB;
  uint64_t Taken = 0; ///< An address that nobody can reserve.
  std::map<CUdeviceptr, size_t> Reserved;
  std::map<CUmemHandle, size_t> Handles;
  std::map<CUdeviceptr, std::pair<size_t, CUmemHandle>> Mapped;
  /// By address, the devices.
  std::map<CUdeviceptr, std::set<CUdevice>> Accessible;
  CUmemHandle NextHandle = 1;
  bool RefuseAccess = false;

  uint64_t mappedBytes() const {
    uint64_t Bytes = 0;
    for (const auto &[Address, Chunk] : Mapped)
      Bytes += Chunk.first;
    return Bytes;
  }
};

FakeDevice Fake;

CUresult getGranularity(size_t *Bytes, const CUmemAllocationProp *P, int) {
  EXPECT_EQ(P->Type, 1);
  EXPECT_EQ(P->Location.Id, 3);
  *Bytes = Granule;
  return CUDA_SUCCESS;
}

CUresult reserve(CUdeviceptr *Got, size_t Size, size_t, CUdeviceptr Hint,
                 unsigned long long) {
  FailingNew::Pause Pause;
  *Got = Hint == Fake.Taken ? Hint + 1024 * MiB : Hint;
  Fake.Reserved[*Got] = Size;
  return CUDA_SUCCESS;
}

CUresult freeAddresses(CUdeviceptr Address, size_t Size) {
  auto I = Fake.Reserved.find(Address);
  EXPECT_TRUE(I != Fake.Reserved.end() && I->second == Size);
  Fake.Reserved.erase(I);
  return CUDA_SUCCESS;
}

CUresult create(CUmemHandle *Handle, size_t Size, const CUmemAllocationProp *,
                unsigned long long) {
  FailingNew::Pause Pause;
  EXPECT_EQ(Size % Granule, 0u);
  if (Size > Fake.Free)
    return CUDA_ERROR_OUT_OF_MEMORY;
  Fake.Free -= Size;
  *Handle = Fake.NextHandle++;
  Fake.Handles[*Handle] = Size;
  return CUDA_SUCCESS;
}

CUresult release(CUmemHandle Handle) {
  Fake.Free += Fake.Handles.at(Handle);
  Fake.Handles.erase(Handle);
  return CUDA_SUCCESS;
}

CUresult map(CUdeviceptr Address, size_t Size, size_t, CUmemHandle Handle,
             unsigned long long) {
  FailingNew::Pause Pause;
  EXPECT_EQ(Fake.Handles.at(Handle), Size);
  auto Next = Fake.Mapped.lower_bound(Address);
  EXPECT_TRUE(Next == Fake.Mapped.end() || Next->first >= Address + Size);
  EXPECT_TRUE(Next == Fake.Mapped.begin() ||
              std::prev(Next)->first + std::prev(Next)->second.first <=
                  Address);
  Fake.Mapped[Address] = {Size, Handle};
  return CUDA_SUCCESS;
}

CUresult unmap(CUdeviceptr Address, size_t Size) {
  EXPECT_EQ(Fake.Mapped.at(Address).first, Size);
  Fake.Mapped.erase(Address);
  Fake.Accessible.erase(Address);
  return CUDA_SUCCESS;
}

CUresult allowAccess(CUdeviceptr Address, size_t Size,
                     const CUmemAccessDesc *Access, size_t Count) {
  FailingNew::Pause Pause;
  EXPECT_EQ(Fake.Mapped.at(Address).first, Size);
  EXPECT_EQ(Count, 1u);
  EXPECT_EQ(Access->Flags, 3);
  // Device 5 has no way to this one.
  if (Fake.RefuseAccess || Access->Location.Id == 5)
    return CUDA_ERROR_INVALID_VALUE;
  Fake.Accessible[Address].insert(Access->Location.Id);
  return CUDA_SUCCESS;
}

CUresult getErrorName(CUresult R, const char **Name) {
  *Name = R == CUDA_ERROR_OUT_OF_MEMORY ? "CUDA_ERROR_OUT_OF_MEMORY" : nullptr;
  return *Name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult getErrorString(CUresult, const char **Text) {
  *Text = "out of memory";
  return CUDA_SUCCESS;
}

CudaDriver makeDriver() {
  CudaDriver D = {};
  D.MemGetAllocationGranularity = getGranularity;
  D.MemAddressReserve = reserve;
  D.MemAddressFree = freeAddresses;
  D.MemCreate = create;
  D.MemRelease = release;
  D.MemMap = map;
  D.MemUnmap = unmap;
  D.MemSetAccess = allowAccess;
  D.GetErrorName = getErrorName;
  D.GetErrorString = getErrorString;
  return D;
}

class CudaMappingTest : public testing::Test {
protected:
  void SetUp() override { Fake = FakeDevice(); }
  // Nothing may be left over, whatever a test did.
  void TearDown() override {
    Mapping.reset();
    EXPECT_EQ(Fake.Free, 64 * MiB);
    EXPECT_TRUE(Fake.Mapped.empty());
    EXPECT_TRUE(Fake.Handles.empty());
    EXPECT_TRUE(Fake.Reserved.empty());
  }

  CudaDriver Driver = makeDriver();
  std::unique_ptr<CudaMapping> Mapping =
      std::make_unique<CudaMapping>(Driver, /*Device=*/3);
};

TEST_F(CudaMappingTest, ReservesExactly) {
  EXPECT_EQ(Mapping->reserve(Base, 32 * MiB), "");
  EXPECT_EQ(Mapping->base(), Base);
  EXPECT_EQ(Mapping->size(), 32 * MiB);
  EXPECT_EQ(Mapping->granularity(), Granule);
  EXPECT_EQ(Mapping->reserve(Base + 64 * MiB, 2 * MiB),
            "addresses are already reserved");
}

TEST_F(CudaMappingTest, RefusesAnotherAddress) {
  Fake.Taken = Base;
  EXPECT_EQ(Mapping->reserve(Base, 2 * MiB),
            "cannot reserve device addresses [0x500000000000, 0x500000200000): "
            "in use");
  EXPECT_EQ(Mapping->size(), 0u);
}

TEST_F(CudaMappingTest, RefusesPartsOfGranules) {
  const CudaMapping::Ranges Bad = {{Base + 4096, Granule},
                                   {Base, Granule + 1},
                                   {Base, 0},
                                   {UINT64_MAX - Granule + 1, 2 * Granule}};
  for (auto [Address, Size] : Bad)
    EXPECT_NE(Mapping->reserve(Address, Size).find("invalid device address"),
              std::string::npos);
}

TEST_F(CudaMappingTest, SharesGranules) {
  ASSERT_EQ(Mapping->reserve(Base, 32 * MiB), "");
  CudaMapping::Ranges Fresh;
  EXPECT_EQ(Mapping->map(Base + MiB, 2 * MiB, &Fresh), "");
  EXPECT_EQ(Fresh, (CudaMapping::Ranges{{Base, 4 * MiB}}));
  EXPECT_EQ(Fake.Accessible.size(), 1u);
  // Within, and over the end.
  Fresh.clear();
  EXPECT_EQ(Mapping->map(Base, 4096, &Fresh), "");
  EXPECT_TRUE(Fresh.empty());
  EXPECT_EQ(Mapping->map(Base + 3 * MiB, 2 * MiB, &Fresh), "");
  EXPECT_EQ(Fresh, (CudaMapping::Ranges{{Base + 4 * MiB, 2 * MiB}}));
  EXPECT_EQ(Fake.mappedBytes(), 6 * MiB);

  // The first granules go away with the last of the three.
  Mapping->unmap(Base + MiB, 2 * MiB);
  EXPECT_EQ(Mapping->trim(), 0u);
  Mapping->unmap(Base + 3 * MiB, 2 * MiB);
  EXPECT_EQ(Mapping->trim(), 2 * MiB);
  Mapping->unmap(Base, 4096);
  EXPECT_EQ(Mapping->trim(), 4 * MiB);
  EXPECT_EQ(Fake.mappedBytes(), 0u);
}

TEST_F(CudaMappingTest, FillsHoles) {
  ASSERT_EQ(Mapping->reserve(Base, 32 * MiB), "");
  EXPECT_EQ(Mapping->map(Base + 4 * MiB, Granule), "");
  EXPECT_EQ(Mapping->map(Base + 10 * MiB, Granule), "");
  CudaMapping::Ranges Fresh;
  EXPECT_EQ(Mapping->map(Base, 16 * MiB, &Fresh), "");
  EXPECT_EQ(Fresh, (CudaMapping::Ranges{{Base, 4 * MiB},
                                        {Base + 6 * MiB, 4 * MiB},
                                        {Base + 12 * MiB, 4 * MiB}}));
  // What was there first is used twice.
  Mapping->unmap(Base, 16 * MiB);
  EXPECT_EQ(Mapping->trim(), 12 * MiB);
  EXPECT_EQ(Fake.mappedBytes(), 4 * MiB);
}

TEST_F(CudaMappingTest, ReusesWhatIsUnused) {
  ASSERT_EQ(Mapping->reserve(Base, 128 * MiB), "");
  EXPECT_EQ(Mapping->map(Base, 40 * MiB), "");
  EXPECT_EQ(Mapping->unusedBytes(), 0u);
  Mapping->unmap(Base, 40 * MiB);
  EXPECT_EQ(Mapping->unusedBytes(), 40 * MiB);
  CudaMapping::Ranges Fresh;
  EXPECT_EQ(Mapping->map(Base + 2 * MiB, 4 * MiB, &Fresh), "");
  EXPECT_TRUE(Fresh.empty());
  EXPECT_EQ(Mapping->unusedBytes(), 0u);
  EXPECT_EQ(Mapping->map(Base + 4 * MiB, 4 * MiB), "");
  Mapping->unmap(Base + 2 * MiB, 4 * MiB);
  EXPECT_EQ(Mapping->unusedBytes(), 0u);
  Mapping->unmap(Base + 4 * MiB, 4 * MiB);
  // Memory that nobody uses makes room.
  EXPECT_EQ(Mapping->map(Base + 64 * MiB, 60 * MiB), "");
  EXPECT_EQ(Fake.mappedBytes(), 60 * MiB);
  EXPECT_EQ(Mapping->unusedBytes(), 0u);
}

TEST_F(CudaMappingTest, FailsAsAWhole) {
  ASSERT_EQ(Mapping->reserve(Base, 128 * MiB), "");
  EXPECT_EQ(Mapping->map(Base + 8 * MiB, 4 * MiB), "");
  EXPECT_EQ(Mapping->map(Base, 100 * MiB),
            "cannot map device memory at [0x500000c00000, 0x500006400000): out "
            "of memory (CUDA_ERROR_OUT_OF_MEMORY)");
  // What it had taken by then can be given back, but not what was there.
  EXPECT_EQ(Mapping->trim(), 8 * MiB);
  EXPECT_EQ(Fake.mappedBytes(), 4 * MiB);
  Fake.RefuseAccess = true;
  EXPECT_EQ(Mapping->map(Base, Granule),
            "cannot map device memory at [0x500000000000, 0x500000200000): "
            "CUDA error 1");
  EXPECT_EQ(Fake.mappedBytes(), 4 * MiB);
}

TEST_F(CudaMappingTest, SharesWhatItHasAndWillHave) {
  ASSERT_EQ(Mapping->reserve(Base, 128 * MiB), "");
  EXPECT_EQ(Mapping->map(Base, Granule), "");
  Mapping->share(4);
  Mapping->share(5);
  EXPECT_EQ(Mapping->map(Base + 8 * MiB, Granule), "");
  std::map<CUdeviceptr, std::set<CUdevice>> Both = {{Base, {3, 4}},
                                                    {Base + 8 * MiB, {3, 4}}};
  EXPECT_EQ(Fake.Accessible, Both);
  Mapping->unmap(Base, Granule);
  Mapping->trim();
  EXPECT_EQ(Fake.Accessible.count(Base), 0u);
}

/// Without memory for the bookkeeping, it has what it had before.
TEST_F(CudaMappingTest, StaysWholeWithoutMemory) {
  forEachFailure([&](uint64_t Index, bool AllFollowing) {
    CudaMapping M(Driver, /*Device=*/3);
    bool HasFailed;
    {
      FailingNew Failing(Index, AllFollowing);
      try {
        if (M.reserve(Base, 128 * MiB).empty()) {
          M.share(4);
          M.map(Base + 8 * MiB, 4 * MiB);
          M.map(Base, 20 * MiB);
          M.map(Base, 100 * MiB); // More than there is.
        }
      } catch (const std::bad_alloc &) {
      }
      HasFailed = Failing.hasFailed();
    }
    EXPECT_EQ(64 * MiB - Fake.Free, Fake.mappedBytes());
    if (!M.size())
      EXPECT_EQ("", M.reserve(Base, 128 * MiB));
    // What was in use still is, and nothing else.
    M.trim();
    uint64_t Used = Fake.mappedBytes();
    EXPECT_TRUE(Used == 0 || Used == 4 * MiB || Used == 20 * MiB) << Used;
    EXPECT_EQ("", M.map(Base, 20 * MiB));
    return HasFailed;
  });
}

TEST_F(CudaMappingTest, StaysInside) {
  ASSERT_EQ(Mapping->reserve(Base, 4 * MiB), "");
  const CudaMapping::Ranges Outside = {{Base - 1, 1},
                                       {Base + 4 * MiB, 1},
                                       {Base, 4 * MiB + 1},
                                       {Base + MiB, UINT64_MAX - MiB}};
  for (auto [Address, Size] : Outside)
    EXPECT_NE(Mapping->map(Address, Size).find("outside the reserved range"),
              std::string::npos);
  EXPECT_EQ(Mapping->map(Base + 4 * MiB, 0), "");
  EXPECT_EQ(Mapping->map(Base, 4 * MiB), "");
}

} // namespace
