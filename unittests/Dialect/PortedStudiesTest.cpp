//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The spaces of LLNL Mneme's examples (test/Dialect/mneme-*.mlir) stand for
/// the configurations that they stand for there.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Dialect/Import.h"
#include "llvm/Mneme/Study/SearchSpace.h"
#include "llvm/Testing/Support/Error.h"
#include "gtest/gtest.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

#include "PortedStudies.inc"

namespace {

SearchSpace makeSpace(StringRef Text) {
  return cantFail(SearchSpace::create(
      cantFail(parseStudy(Text, "ported.mlir")),
      makeRecordedFacts({100, 1, 1}, {256, 1, 1}, 0, false, "3", "sm_90",
                        "kernel")));
}

json::Object configure(const SearchSpace &S, const StringMap<Value> &Values) {
  Expected<Point> P = S.makePoint(Values);
  EXPECT_THAT_EXPECTED(P, Succeeded());
  return cantFail(S.configure(*P));
}

TEST(PortedStudiesTest, VecAdd) {
  SearchSpace S = makeSpace(vecadd);
  for (int64_t Block = 64; Block <= 1024; Block += 64)
    for (double Fraction : {0.0, 0.1, 0.33, 0.5, 0.77, 1.0}) {
      json::Object C = configure(S, {{"block_dim_x", Block},
                                     {"set_launch_bounds", true},
                                     {"max_threads_fraction", Fraction},
                                     {"min_blocks_per_sm", int64_t(4)}});
      EXPECT_EQ(C.getInteger("block.x"), Block);
      EXPECT_EQ(C.getInteger("min_blocks_per_sm"), 4);
      EXPECT_EQ(C.getInteger("max_threads"),
                Block + 64 * std::lround((1024 - Block) * Fraction / 64));
    }
  // It begins as recorded; without launch bounds there is nothing to choose.
  json::Object C = cantFail(S.configure(S.defaultPoint()));
  EXPECT_EQ(C.getInteger("block.x"), 256);
  EXPECT_EQ(C.getString("passes"), "default<O3>");
  EXPECT_EQ(C.get("max_threads"), nullptr);
  EXPECT_EQ(C.get("min_blocks_per_sm"), nullptr);
}

TEST(PortedStudiesTest, Wsm5) {
  SearchSpace S = makeSpace(wsm5);
  EXPECT_EQ(S.count(), APInt(64, 8));
  json::Object C = configure(S, {{"specialize", true}});
  EXPECT_EQ(json::Value(std::move(C)),
            json::Value(json::Object{{"specialize", true},
                                     {"specialize_dims", false},
                                     {"set_launch_bounds", false}}));
}

TEST(PortedStudiesTest, MiniFE) {
  SearchSpace S = makeSpace(minife);
  for (double Warps : {0.01, 0.0625, 0.3, 0.5, 1.0})
    for (double Grid : {0.001, 0.25, 0.6, 1.0})
      for (double Max : {0.0001, 0.5, 1.0}) {
        json::Object C = configure(S, {{"warp_fraction", Warps},
                                       {"grid_fraction", Grid},
                                       {"max_threads", Max}});
        int64_t Block = 64 * int64_t(std::ceil(Warps * 16));
        int64_t Blocks = (25600 + Block - 1) / Block;
        EXPECT_EQ(C.getInteger("block.x"), Block);
        EXPECT_EQ(C.getInteger("grid.x"), int64_t(std::ceil(Blocks * Grid)));
        EXPECT_EQ(C.getInteger("max_threads"),
                  Block + int64_t(std::ceil((1024 - Block) * Max)));
      }
}

} // namespace
