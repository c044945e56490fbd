//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Runtime/Package.h"
#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"

#include <fstream>
#include <functional>
#include <sys/stat.h>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;
using ::mneme::Package;

namespace {

PackagedGuard guard(uint16_t What, uint16_t Test, uint64_t Low, uint64_t High) {
  PackagedGuard G;
  G.Fields.What = What;
  G.Fields.Test = Test;
  G.Fields.Low = Low;
  G.Fields.High = High;
  return G;
}

/// Two kernels; the second has two variants with the same image.
TunedPackage sample() {
  TunedPackage P;
  PackagedKernel &Scale = P.Kernels.emplace_back();
  Scale.StaticHash.fill(7);
  Scale.Name = "scale";
  Scale.Args = {{8, 0}, {4, 8}};
  PackagedVariant &V = Scale.Variants.emplace_back();
  V.Fields.ImageKind = MNEME_IMAGE_CUBIN;
  V.Fields.Arch = 90;
  V.Fields.DynamicShared = MNEME_SHARED_SAME;
  V.Fields.MaxThreads = 256;
  V.Entry = "_Z5scalePfi";
  V.ArchName = "sm_90";
  V.Provenance = "{}";
  V.Image = "the code of scale";
  V.Guards.push_back(guard(MNEME_GUARD_ARG, MNEME_TEST_RANGE, 5, 5));
  V.Guards[0].Fields.Index = 1;
  V.Guards[0].Fields.Size = 4;
  V.Guards.push_back(guard(MNEME_GUARD_DEVICE, MNEME_TEST_EQUAL, 0, 0));
  V.Guards[1].Fields.Flags = MNEME_GUARD_SOFT;
  V.Guards[1].Name = "NVIDIA H200";
  PackagedKernel Add = Scale;
  Add.StaticHash.fill(3);
  Add.Name = "add";
  Add.Variants.push_back(Add.Variants[0]);
  PackagedVariant &Wide = Add.Variants[0];
  Wide.Fields.Launch = MNEME_LAUNCH_FIXED;
  Wide.Fields.Grade = MNEME_GRADE_VERIFIED;
  for (unsigned I = 0; I != 3; ++I)
    Wide.Fields.Block[I] = Wide.Fields.Grid[I] = I + 1;
  P.Kernels.push_back(Add);
  LinkedKernel Linked;
  Linked.LinkHash.fill(9);
  Linked.Name = "add";
  Linked.StaticHash = Add.StaticHash;
  P.Links.push_back(Linked);
  return P;
}

std::string sampleBytes() { return cantFail(packageBytes(sample())); }

/// Sets the digests of the header and the tables.
void repair(std::string &Bytes) {
  MnemePackageHeader H;
  memcpy(&H, Bytes.data(), sizeof(H));
  llvm::copy(digest128(StringRef(Bytes).slice(H.HeaderSize, H.TablesSize)),
             H.Digest);
  memcpy(Bytes.data(), &H, sizeof(H));
  llvm::copy(digest128(StringRef(Bytes).take_front(
                 offsetof(MnemePackageHeader, HeaderDigest))),
             H.HeaderDigest);
  memcpy(Bytes.data(), &H, sizeof(H));
}

std::string errorOf(const std::string &Bytes) {
  Package P;
  return P.openMemory(Bytes.data(), Bytes.size());
}

/// Returns the error for a package of which the first entry of a table was
/// changed.
template <typename T>
std::string errorOfChange(uint64_t MnemePackageHeader::*Table,
                          std::function<void(T &)> Change) {
  std::string Bytes = sampleBytes();
  MnemePackageHeader H;
  memcpy(&H, Bytes.data(), sizeof(H));
  T Entry;
  memcpy(&Entry, &Bytes[H.*Table], sizeof(T));
  Change(Entry);
  memcpy(&Bytes[H.*Table], &Entry, sizeof(T));
  repair(Bytes);
  return errorOf(Bytes);
}

std::string errorOfHeader(std::function<void(MnemePackageHeader &)> Change) {
  std::string Bytes = sampleBytes();
  MnemePackageHeader H;
  memcpy(&H, Bytes.data(), sizeof(H));
  Change(H);
  llvm::copy(digest128(StringRef(reinterpret_cast<const char *>(&H),
                                 offsetof(MnemePackageHeader, HeaderDigest))),
             H.HeaderDigest);
  memcpy(Bytes.data(), &H, sizeof(H));
  return errorOf(Bytes);
}

std::string errorOfVariant(std::function<void(MnemePackageVariant &)> Change) {
  return errorOfChange<MnemePackageVariant>(&MnemePackageHeader::VariantsOffset,
                                            std::move(Change));
}

std::string errorOfGuard(std::function<void(MnemePackageGuard &)> Change) {
  return errorOfChange<MnemePackageGuard>(&MnemePackageHeader::GuardsOffset,
                                          std::move(Change));
}

std::string errorOfKernel(std::function<void(MnemePackageKernel &)> Change) {
  return errorOfChange<MnemePackageKernel>(&MnemePackageHeader::KernelsOffset,
                                           std::move(Change));
}

TEST(PackageTest, FindsKernels) {
  std::string Bytes = sampleBytes();
  Package P;
  ASSERT_EQ("", P.openMemory(Bytes.data(), Bytes.size()));
  ASSERT_EQ(2u, P.kernels().size());
  Digest128 Hash;
  Hash.fill(7);
  const MnemePackageKernel *K = P.findKernel(Hash.data());
  ASSERT_TRUE(K);
  EXPECT_STREQ("scale", P.text(K->NameOffset));
  EXPECT_EQ(2u, P.args(*K).size());
  ASSERT_EQ(1u, P.variants(*K).size());
  const MnemePackageVariant &V = P.variants(*K)[0];
  EXPECT_STREQ("_Z5scalePfi", P.text(V.EntryOffset));
  ASSERT_EQ(2u, P.guards(V).size());
  EXPECT_EQ(5u, P.guards(V)[0].Low);
  EXPECT_STREQ("NVIDIA H200", P.text(P.guards(V)[1].Offset));
  for (uint8_t Other : {0, 4, 8}) {
    Hash.fill(Other);
    EXPECT_EQ(nullptr, P.findKernel(Hash.data()));
  }
}

TEST(PackageTest, FindsKernelsOfDeviceLinks) {
  std::string Bytes = sampleBytes();
  Package P;
  ASSERT_EQ("", P.openMemory(Bytes.data(), Bytes.size()));
  Digest128 Hash;
  Hash.fill(9);
  const MnemePackageKernel *K = P.findKernel(Hash.data(), "add");
  ASSERT_TRUE(K);
  EXPECT_EQ(3, K->StaticHash[0]);
  EXPECT_EQ(nullptr, P.findKernel(Hash.data(), "scale"));
  Hash.fill(3);
  EXPECT_EQ(nullptr, P.findKernel(Hash.data(), "add"));
}

TEST(PackageTest, AnUnopenedPackageIsEmpty) {
  Package P;
  Digest128 Hash = {};
  EXPECT_EQ(0u, P.kernels().size());
  EXPECT_EQ(nullptr, P.findKernel(Hash.data()));
  EXPECT_EQ(nullptr, P.findKernel(Hash.data(), "add"));
}

TEST(PackageTest, UnalignedMemory) {
  std::string Bytes = " " + sampleBytes();
  Package P;
  ASSERT_EQ("", P.openMemory(Bytes.data() + 1, Bytes.size() - 1));
  std::unique_ptr<char[]> Image;
  EXPECT_EQ("", P.readImage(P.variants(P.kernels()[0])[0], Image));
}

class PackageFileTest : public testing::Test {
protected:
  void SetUp() override {
    ASSERT_FALSE(sys::fs::createUniqueDirectory("package", Folder));
    Path = (Folder + "/p").str();
  }
  void TearDown() override { sys::fs::remove_directories(Folder); }

  void write(const std::string &Bytes) {
    std::ofstream(Path, std::ios::binary) << Bytes;
  }

  SmallString<128> Folder;
  std::string Path;
};

TEST_F(PackageFileTest, WhatIsWrittenIsRead) {
  ASSERT_THAT_ERROR(writePackage(Path, sample()), Succeeded());
  Expected<TunedPackage> Read = readPackage(Path);
  ASSERT_THAT_EXPECTED(Read, Succeeded());
  EXPECT_EQ(sampleBytes(), cantFail(packageBytes(*Read)));
}

TEST_F(PackageFileTest, ImagesAreSharedAndChecked) {
  std::string Bytes = sampleBytes();
  size_t At = Bytes.find("the code of scale");
  ASSERT_NE(std::string::npos, At);
  EXPECT_EQ(std::string::npos, Bytes.find("the code of scale", At + 1));
  write(Bytes);
  Package P;
  ASSERT_EQ("", P.open(Path.c_str()));
  const MnemePackageVariant &V = P.variants(P.kernels()[0])[0];
  std::unique_ptr<char[]> Image;
  ASSERT_EQ("", P.readImage(V, Image));
  EXPECT_EQ("the code of scale", StringRef(Image.get(), V.ImageSize));
  Bytes[At] = 'T';
  write(Bytes);
  EXPECT_EQ("is damaged: an image has another digest", P.readImage(V, Image));
  EXPECT_EQ(nullptr, Image);
  ASSERT_EQ(0, truncate(Path.c_str(), At));
  EXPECT_EQ("is damaged: an image cannot be read", P.readImage(V, Image));
}

/// Returns the sample with variables of the application.
static TunedPackage withVariables(uint64_t Size, uint64_t Slot) {
  TunedPackage P = sample();
  for (uint64_t High : {Slot, MNEME_VARIABLE_COPY}) {
    P.Kernels[0].Variants[0].Guards.push_back(
        guard(MNEME_GUARD_VARIABLE, MNEME_TEST_EQUAL, Size, High));
    P.Kernels[0].Variants[0].Guards.back().Name = "counter";
  }
  return P;
}

TEST(PackageTest, Variables) {
  std::string Bytes = cantFail(packageBytes(withVariables(4, 0)));
  Package Plain, P;
  std::string Without = sampleBytes();
  ASSERT_EQ("", Plain.openMemory(Without.data(), Without.size()));
  EXPECT_FALSE(Plain.copiesVariables());
  ASSERT_EQ("", P.openMemory(Bytes.data(), Bytes.size()));
  EXPECT_TRUE(P.copiesVariables());
  Expected<TunedPackage> Read = parsePackage(Bytes, "package");
  ASSERT_THAT_EXPECTED(Read, Succeeded());
  EXPECT_EQ(Bytes, cantFail(packageBytes(*Read)));
  // Variables do not restrict launches.
  EXPECT_TRUE(servesSameLaunches(withVariables(4, 0).Kernels[0].Variants[0],
                                 sample().Kernels[0].Variants[0]));

  auto ErrorOf = [](uint64_t Size, uint64_t Slot) {
    return toString(packageBytes(withVariables(Size, Slot)).takeError());
  };
  EXPECT_EQ("the package is damaged: a guard has no variable", ErrorOf(0, 0));
  EXPECT_EQ("the package is damaged: a guard has no variable",
            ErrorOf(UINT64_MAX, 0));
  EXPECT_EQ("the package is damaged: a variable has no slot", ErrorOf(4, 8192));
  TunedPackage Nameless = withVariables(4, 0);
  Nameless.Kernels[0].Variants[0].Guards.back().Name.clear();
  EXPECT_EQ("the package is damaged: a guard has no variable",
            toString(packageBytes(Nameless).takeError()));
  TunedPackage Unknown = withVariables(4, 0);
  Unknown.Kernels[0].Variants[0].Guards.back().Fields.Test = MNEME_TEST_RANGE;
  EXPECT_EQ("the package is damaged: there is no test of a variable 1",
            toString(packageBytes(Unknown).takeError()));
}

TEST_F(PackageFileTest, OnlyRegularFiles) {
  Package Missing, Fifo, Directory, Device;
  EXPECT_EQ("cannot be opened: No such file or directory",
            Missing.open(Path.c_str()));
  ASSERT_EQ(0, mkfifo(Path.c_str(), 0600));
  EXPECT_EQ("is not a regular file", Fifo.open(Path.c_str()));
  EXPECT_EQ("is not a regular file", Directory.open(Folder.c_str()));
  EXPECT_EQ("is not a regular file", Device.open("/dev/zero"));
}

TEST_F(PackageFileTest, TruncatedFilesAreRefused) {
  std::string Bytes = sampleBytes();
  for (size_t Size :
       {size_t(0), size_t(8), Bytes.size() / 2, Bytes.size() - 1}) {
    write(Bytes.substr(0, Size));
    Package P;
    EXPECT_EQ(errorOf(Bytes.substr(0, Size)), P.open(Path.c_str()));
  }
}

TEST_F(PackageFileTest, ASparseFileTakesNoMemory) {
  std::string Bytes = sampleBytes();
  MnemePackageHeader H;
  memcpy(&H, Bytes.data(), sizeof(H));
  H.FileSize = uint64_t(1) << 40;
  H.TablesSize = H.FileSize;
  memcpy(Bytes.data(), &H, sizeof(H));
  llvm::copy(digest128(StringRef(Bytes).take_front(
                 offsetof(MnemePackageHeader, HeaderDigest))),
             H.HeaderDigest);
  memcpy(Bytes.data(), &H, sizeof(H));
  write(Bytes);
  ASSERT_EQ(0, truncate(Path.c_str(), H.FileSize));
  Package P;
  EXPECT_EQ("is damaged: its tables do not fit", P.open(Path.c_str()));
}

TEST(PackageTest, EveryTruncationIsNoticed) {
  const std::string Bytes = sampleBytes();
  for (size_t Size = 0; Size != Bytes.size(); ++Size) {
    Package P;
    EXPECT_NE("", P.openMemory(Bytes.data(), Size)) << Size;
    EXPECT_EQ(0u, P.kernels().size());
  }
}

TEST(PackageTest, EveryChangedByteIsNoticed) {
  const std::string Bytes = sampleBytes();
  MnemePackageHeader H;
  memcpy(&H, Bytes.data(), sizeof(H));
  for (size_t I = 0; I != H.TablesSize; ++I) {
    std::string Changed = Bytes;
    Changed[I] ^= 0x10;
    EXPECT_NE("", errorOf(Changed)) << I;
  }
}

TEST(PackageTest, ForeignAndFutureFiles) {
  EXPECT_EQ("is not a package of tuned kernels", errorOf(""));
  EXPECT_EQ("is not a package of tuned kernels", errorOf("MNEMEPK"));
  EXPECT_EQ("is not a package of tuned kernels", errorOf("{\"a\": \"json\"}"));
  EXPECT_EQ("is damaged: it ends within its header", errorOf("MNEMEPKG"));
  EXPECT_EQ("was written by a newer Mneme (format 2.5): update Mneme",
            errorOfHeader([](auto &H) { H.Major = 2; }));
  EXPECT_EQ("is damaged: there is no format 0",
            errorOfHeader([](auto &H) { H.Major = 0; }));
  EXPECT_EQ("", errorOfHeader([](auto &H) { H.Minor = 7; }));
}

TEST(PackageTest, ANewerMinorVersionMayHaveOtherGuards) {
  std::string Bytes = sampleBytes();
  MnemePackageHeader H;
  memcpy(&H, Bytes.data(), sizeof(H));
  MnemePackageGuard G;
  memcpy(&G, &Bytes[H.GuardsOffset], sizeof(G));
  G.What = 70;
  memcpy(&Bytes[H.GuardsOffset], &G, sizeof(G));
  repair(Bytes);
  EXPECT_EQ("is damaged: there is no kind of guard 70", errorOf(Bytes));
  memcpy(&H, Bytes.data(), sizeof(H));
  H.Minor = MNEME_PACKAGE_MINOR + 1;
  memcpy(Bytes.data(), &H, sizeof(H));
  repair(Bytes);
  EXPECT_EQ("was written by a newer Mneme (format 1.6): update Mneme",
            errorOf(Bytes));
}

TEST(PackageTest, TablesOutsideOfTheFile) {
  const std::string Error = "is damaged: a table does not fit";
  uint64_t MnemePackageHeader::*const Offsets[] = {
      &MnemePackageHeader::KernelsOffset, &MnemePackageHeader::VariantsOffset,
      &MnemePackageHeader::ArgsOffset, &MnemePackageHeader::GuardsOffset,
      &MnemePackageHeader::UnitsOffset};
  for (uint64_t MnemePackageHeader::*Offset : Offsets)
    for (uint64_t Wrong : {uint64_t(0), uint64_t(1) << 63, ~uint64_t(7)})
      EXPECT_EQ(Error, errorOfHeader([&](auto &H) { H.*Offset = Wrong; }));
  EXPECT_EQ(Error, errorOfHeader([](auto &H) { H.KernelsOffset += 4; }));
  uint32_t MnemePackageHeader::*const Counts[] = {
      &MnemePackageHeader::NumKernels, &MnemePackageHeader::NumVariants,
      &MnemePackageHeader::NumArgs, &MnemePackageHeader::NumGuards,
      &MnemePackageHeader::NumUnits};
  for (uint32_t MnemePackageHeader::*Count : Counts)
    EXPECT_EQ(Error, errorOfHeader([&](auto &H) { H.*Count = ~0u; }));
}

TEST(PackageTest, KernelsInAnotherOrder) {
  TunedPackage P = sample();
  P.Kernels[0].StaticHash = P.Kernels[1].StaticHash;
  EXPECT_THAT_EXPECTED(
      packageBytes(P),
      FailedWithMessage(
          "the package is damaged: its kernels are not in order"));
}

TEST(PackageTest, RangesOfKernels) {
  EXPECT_EQ("is damaged: a kernel has no variants",
            errorOfKernel([](auto &K) { K.NumVariants = 0; }));
  EXPECT_EQ("is damaged: the variants of a kernel are not in the table",
            errorOfKernel([](auto &K) { K.NumVariants = ~0u; }));
  EXPECT_EQ("is damaged: the variants of a kernel are not in the table",
            errorOfKernel([](auto &K) { K.FirstVariant = ~0u; }));
  EXPECT_EQ("is damaged: the arguments of a kernel are not in the table",
            errorOfKernel([](auto &K) { K.FirstArg = 1; }));
  EXPECT_EQ("is damaged: a kernel has no name",
            errorOfKernel([](auto &K) { K.NameOffset = ~0u; }));
  EXPECT_EQ("is damaged: the guards of a variant are not in the table",
            errorOfVariant([](auto &V) { V.NumGuards = 99; }));
  EXPECT_EQ("is damaged: a kernel of a device link is not in the table",
            errorOfChange<MnemePackageUnit>(&MnemePackageHeader::UnitsOffset,
                                            [](auto &U) { U.Kernel = 2; }));
  EXPECT_EQ("is damaged: the arguments of a kernel overlap",
            errorOfChange<MnemePackageArg>(&MnemePackageHeader::ArgsOffset,
                                           [](auto &A) { A.Size = 9; }));
}

TEST(PackageTest, Images) {
  const std::string Error = "is damaged: an image does not fit";
  EXPECT_EQ(Error, errorOfVariant([](auto &V) { V.ImageOffset = 0; }));
  EXPECT_EQ(Error, errorOfVariant([](auto &V) { V.ImageOffset = ~0ull; }));
  EXPECT_EQ(Error, errorOfVariant([](auto &V) { V.ImageSize = ~0ull; }));
  EXPECT_EQ(Error, errorOfVariant([](auto &V) { V.ImageSize = 0; }));
  EXPECT_EQ("is damaged: there is no kind of image 4",
            errorOfVariant([](auto &V) { V.ImageKind = 4; }));
  EXPECT_EQ("is damaged: there is no kind of CPU code 4",
            errorOfVariant([](auto &V) {
              V.ImageKind = MNEME_IMAGE_OBJECT;
              V.Arch = 0;
              V.HostStrategy = 4;
            }));
  EXPECT_EQ("is damaged: an image is of another architecture than its kind",
            errorOfVariant([](auto &V) { V.Arch = 0; }));
}

TEST(PackageTest, Launches) {
  const std::string Grade =
      "is damaged: the grade of a variant does not fit its launch";
  EXPECT_EQ(Grade, errorOfVariant([](auto &V) { V.Grade = MNEME_GRADE_SAME; }));
  EXPECT_EQ(Grade,
            errorOfVariant([](auto &V) { V.Launch = MNEME_LAUNCH_SAME; }));
  EXPECT_EQ("is damaged: there is no rule for launches 9",
            errorOfVariant([](auto &V) { V.Launch = 9; }));
  EXPECT_EQ("is damaged: there is no grade of launches 9",
            errorOfVariant([](auto &V) { V.Grade = 9; }));
  EXPECT_EQ("is damaged: there is no grade of code 4",
            errorOfVariant([](auto &V) { V.Code = 4; }));
  EXPECT_EQ("is damaged: a variant has more threads than it supports",
            errorOfVariant([](auto &V) { V.MaxThreads = 5; }));
  EXPECT_EQ("is damaged: a variant supports no thread blocks",
            errorOfVariant([](auto &V) { V.MaxThreads = 0; }));
  EXPECT_EQ("is damaged: a variant has a thread block that no device supports",
            errorOfVariant([](auto &V) { V.Block[2] = 0; }));
  EXPECT_EQ("is damaged: a variant has a grid that no device supports",
            errorOfVariant([](auto &V) { V.Grid[1] = 65536; }));
  EXPECT_EQ("is damaged: a variant needs too much shared memory",
            errorOfVariant([](auto &V) { V.DynamicShared = 1ull << 32; }));
}

TEST(PackageTest, Guards) {
  EXPECT_EQ("is damaged: a guard has an empty range",
            errorOfGuard([](auto &G) { G.Low = 6; }));
  EXPECT_EQ("is damaged: a guard has an empty range", errorOfGuard([](auto &G) {
              G.Test = MNEME_TEST_SIGNED;
              G.High = -1;
            }));
  EXPECT_EQ("is damaged: a guard tests multiples of 5",
            errorOfGuard([](auto &G) { G.Test = MNEME_TEST_MULTIPLE; }));
  EXPECT_EQ("is damaged: there is no test of a number 4",
            errorOfGuard([](auto &G) { G.Test = MNEME_TEST_EQUAL; }));
  EXPECT_EQ("is damaged: there is no flag of a guard 2",
            errorOfGuard([](auto &G) { G.Flags = 2; }));
  EXPECT_EQ("is damaged: a guard tests 3 bytes",
            errorOfGuard([](auto &G) { G.Size = 3; }));
  EXPECT_EQ("is damaged: a guard tests bytes outside of its argument",
            errorOfGuard([](auto &G) { G.Offset = ~0u; }));
  EXPECT_EQ("is damaged: a guard tests bytes outside of its argument",
            errorOfGuard([](auto &G) { G.Size = 8; }));
  EXPECT_EQ(
      "is damaged: a guard tests an argument that its kernel does not have",
      errorOfGuard([](auto &G) { G.Index = 2; }));
  EXPECT_EQ("is damaged: a guard tests a fourth dimension",
            errorOfGuard([](auto &G) {
              G.What = MNEME_GUARD_GRID;
              G.Index = 3;
            }));
  // Pointers are arguments, or parts of them, of 8 bytes.
  for (uint16_t What :
       {MNEME_GUARD_BEFORE, MNEME_GUARD_BEHIND, MNEME_GUARD_SAME_BUFFER,
        MNEME_GUARD_ALIGNMENT, MNEME_GUARD_OWN_PAGES, MNEME_GUARD_IN_VARIABLE})
    EXPECT_EQ("is damaged: a guard tests bytes outside of its argument",
              errorOfGuard([&](auto &G) {
                G.What = What;
                G.Offset = 4;
              }));
  EXPECT_EQ(
      "is damaged: a guard tests an argument that its kernel does not have",
      errorOfGuard([](auto &G) {
        G.What = MNEME_GUARD_SAME_BUFFER;
        G.Other = 2;
      }));
  EXPECT_EQ("is damaged: there is no kind of guard 15",
            errorOfGuard([](auto &G) { G.What = 15; }));
}

} // namespace
