//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Deploy/TunedPackage.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Testing/Support/Error.h"
#include "llvm/Testing/Support/SupportHelpers.h"
#include "gtest/gtest.h"
#include <thread>

using namespace llvm;
using namespace llvm::mneme;

namespace {

PackagedVariant makeVariant(StringRef Code, uint64_t Value, StringRef Origin) {
  PackagedVariant V;
  V.Fields.ImageKind = MNEME_IMAGE_CUBIN;
  V.Fields.Arch = 90;
  V.Fields.DynamicShared = MNEME_SHARED_SAME;
  V.Fields.MaxThreads = 256;
  V.Entry = "k";
  V.ArchName = "sm_90";
  V.Image = Code.str();
  V.Origin = Origin.str();
  PackagedGuard &G = V.Guards.emplace_back();
  G.Fields.What = MNEME_GUARD_GRID;
  G.Fields.Test = MNEME_TEST_RANGE;
  G.Fields.Low = G.Fields.High = Value;
  return V;
}

TunedPackage makePackage(PackagedVariant V, uint8_t Hash = 1) {
  TunedPackage P;
  PackagedKernel &K = P.Kernels.emplace_back();
  K.StaticHash.fill(Hash);
  K.Name = "k";
  K.Args = {{8, 0}};
  K.Variants.push_back(std::move(V));
  return P;
}

TEST(MergeTest, OtherLaunchesAreOtherVariants) {
  TunedPackage P = makePackage(makeVariant("a", 1, "a"));
  ASSERT_THAT_ERROR(mergePackage(P, makePackage(makeVariant("b", 2, "b"))),
                    Succeeded());
  ASSERT_EQ(1u, P.Kernels.size());
  EXPECT_EQ(2u, P.Kernels[0].Variants.size());
  ASSERT_THAT_ERROR(mergePackage(P, makePackage(makeVariant("b", 2, "c"), 2)),
                    Succeeded());
  EXPECT_EQ(2u, P.Kernels.size());
}

TEST(MergeTest, TheSameVariantIsAddedOnce) {
  TunedPackage P = makePackage(makeVariant("a", 1, "a"));
  ASSERT_THAT_ERROR(mergePackage(P, makePackage(makeVariant("a", 1, "b"))),
                    Succeeded());
  EXPECT_EQ(1u, P.Kernels[0].Variants.size());
}

TEST(MergeTest, ConflictsNameBoth) {
  TunedPackage P = makePackage(makeVariant("a", 1, "a"));
  EXPECT_THAT_ERROR(
      mergePackage(P, makePackage(makeVariant("b", 1, "b"))),
      FailedWithMessage(
          "'a' and 'b' serve the same launches of kernel 'k' (static hash "
          "01010101010101010101010101010101) with different code: merge one of "
          "them only, or pack the one you want again"));
  PackagedVariant Other = makeVariant("a", 1, "b");
  Other.Fields.Launch = MNEME_LAUNCH_COVER;
  EXPECT_THAT_ERROR(mergePackage(P, makePackage(Other)), Failed());
  TunedPackage Arguments = makePackage(makeVariant("a", 2, "b"));
  Arguments.Kernels[0].Args[0].Size = 4;
  EXPECT_THAT_ERROR(
      mergePackage(P, Arguments),
      FailedWithMessage("kernel 'k' (static hash "
                        "01010101010101010101010101010101) has other arguments "
                        "in 'a' than in 'b'"));
}

TEST(MergeTest, LinksThatContradict) {
  TunedPackage P = makePackage(makeVariant("a", 1, "a"));
  LinkedKernel L;
  L.Name = "k";
  P.Links.push_back(L);
  TunedPackage Same = P;
  ASSERT_THAT_ERROR(mergePackage(P, Same), Succeeded());
  EXPECT_EQ(1u, P.Links.size());
  Same.Links[0].StaticHash.fill(9);
  EXPECT_THAT_ERROR(mergePackage(P, Same), Failed());
}

TEST(MergeTest, AnUpdateReplacesTheSameLaunches) {
  TunedPackage P = makePackage(makeVariant("a", 1, "a"));
  updatePackage(P, makePackage(makeVariant("b", 2, "b")).Kernels[0]);
  updatePackage(P, makePackage(makeVariant("c", 1, "c")).Kernels[0]);
  ASSERT_EQ(2u, P.Kernels[0].Variants.size());
  EXPECT_EQ("c", P.Kernels[0].Variants[0].Image);
  EXPECT_EQ("b", P.Kernels[0].Variants[1].Image);
}

TEST(MergeTest, LinksOfKernelsInThePackage) {
  TunedPackage P = makePackage(makeVariant("a", 1, "a"));
  std::string Link(32, '5');
  ApplicationKernel Known{"k", std::string(32, '0'), "", Link};
  for (char &C : Known.StaticHash)
    C = (&C - Known.StaticHash.data()) % 2 ? '1' : '0';
  ApplicationKernel Foreign{"f", std::string(32, '7'), "", Link};
  ApplicationKernel Incomplete{"i", "", "a function is missing", Link};
  ApplicationKernel Plain{"p", Known.StaticHash, "", ""};
  EXPECT_EQ(1u, addLinks(P, {Known, Foreign, Incomplete, Plain}));
  EXPECT_EQ(1u, addLinks(P, {Known}));
  ASSERT_EQ(1u, P.Links.size());
  EXPECT_EQ("k", P.Links[0].Name);
  EXPECT_EQ(P.Kernels[0].StaticHash, P.Links[0].StaticHash);
}

TEST(MergeTest, WritersOfOnePackageWaitForEachOther) {
  unittest::TempDir Dir("package", /*Unique=*/true);
  std::string Path(Dir.path("app.mneme"));
  constexpr unsigned Writers = 8;
  std::vector<std::thread> Threads;
  for (unsigned I = 0; I != Writers; ++I)
    Threads.emplace_back([&, I] {
      EXPECT_THAT_EXPECTED(
          addToPackage(Path, makePackage(makeVariant("a", 1, "a"), I).Kernels,
                       /*App=*/""),
          Succeeded());
    });
  for (std::thread &T : Threads)
    T.join();
  Expected<TunedPackage> P = readPackage(Path);
  ASSERT_THAT_EXPECTED(P, Succeeded());
  EXPECT_EQ(Writers, P->Kernels.size());
  // No file for the lock is left.
  std::error_code EC;
  sys::fs::directory_iterator Files(Dir.path(), EC);
  ASSERT_FALSE(EC);
  EXPECT_EQ(Path, Files->path());
  Files.increment(EC);
  EXPECT_EQ(sys::fs::directory_iterator(), Files);
}

} // namespace
