//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Launch/Launcher.h"
#include "llvm/Testing/Support/Error.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

using namespace llvm;
using namespace llvm::mneme;
using testing::Contains;
using testing::HasSubstr;
using testing::Pair;

TEST(LaunchSelection, DefaultsAreFine) {
  LaunchSelection S;
  EXPECT_THAT_ERROR(S.check(), Succeeded());
  EXPECT_EQ(S.hashInput(), "");
  EXPECT_THAT(S.environment(), Contains(Pair("MNEME_MAX_RECORDINGS", "4")));
  EXPECT_THAT(S.environment(), Contains(Pair("MNEME_RANKS", "")));
}

TEST(LaunchSelection, HashInputs) {
  LaunchSelection S;
  S.RecordId = "scalars";
  EXPECT_EQ(S.hashInput(), "Scalars");
  S.RecordId = "ordinal";
  EXPECT_EQ(S.hashInput(), "Ordinal");
}

TEST(LaunchSelection, EachFieldIsChecked) {
  auto ErrorOf = [](std::string LaunchSelection::*Field, StringRef Value) {
    LaunchSelection S;
    S.*Field = Value.str();
    Error E = S.check();
    return E ? toString(std::move(E)) : "none";
  };
  EXPECT_THAT(ErrorOf(&LaunchSelection::KernelRegex, "("),
              HasSubstr("--kernel: invalid regular expression '('"));
  EXPECT_THAT(ErrorOf(&LaunchSelection::RegionRegex, "["),
              HasSubstr("--record-regions: invalid regular expression '['"));
  EXPECT_EQ(ErrorOf(&LaunchSelection::RecordId, ""),
            "--record-id='': expected one of launch, scalars, ordinal");
  EXPECT_EQ(ErrorOf(&LaunchSelection::Pick, "Slowest"),
            "--pick='Slowest': expected one of first, slowest, sample");
  EXPECT_EQ(ErrorOf(&LaunchSelection::Ranks, "All"),
            "--ranks='All': 'All' is not a number or range");
  EXPECT_EQ(ErrorOf(&LaunchSelection::Ranks, "all"), "none");
  EXPECT_EQ(ErrorOf(&LaunchSelection::Launches, "0"),
            "--launches='0': launches count from 1");
  EXPECT_EQ(ErrorOf(&LaunchSelection::Launches, "1-"), "none");
}
