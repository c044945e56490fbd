//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "random": proposes each valid point once, all with the same
/// probability.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class RandomSampler : public Sampler {
public:
  explicit RandomSampler(const SamplerContext &Context)
      : Sampler(Context), Unseen(Context) {}

  Expected<std::vector<Point>> ask(unsigned N) override {
    RandomEngine Random = makeRandom();
    Batch B(Context, N);
    Unseen.fill(B, Random);
    return B.take();
  }

private:
  UnseenPoints Unseen;
};
} // namespace

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createRandomSampler(const SamplerContext &Context, StringRef) {
  return std::make_unique<RandomSampler>(Context);
}
} // namespace mneme
} // namespace llvm
