//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "grid": proposes all valid points in the order of their numbers.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class GridSampler : public Sampler {
public:
  GridSampler(const SamplerContext &Context, APInt Count)
      : Sampler(Context), Count(std::move(Count)),
        Next(this->Count.getBitWidth(), 0) {}

  Expected<std::vector<Point>> ask(unsigned N) override {
    Batch B(Context, N);
    for (APInt I = Next; !B.isFull() && I.ult(Count); ++I) {
      bool New = B.add(Context.Space.validAt(I));
      // A proposed point stays proposed: do not look at it again.
      if (!New && I == Next)
        ++Next;
    }
    return B.take();
  }

private:
  APInt Count;
  APInt Next; ///< All points before it were proposed.
};
} // namespace

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createGridSampler(const SamplerContext &Context, StringRef) {
  std::optional<APInt> Count = Context.Space.countValid();
  if (Count) // One more bit, so that the number after the last point fits.
    return std::make_unique<GridSampler>(Context,
                                         Count->zext(Count->getBitWidth() + 1));
  for (const Dimension &D : Context.Space.dimensions())
    if (D.Kind == Dimension::Real)
      return createStringError("grid: '" + D.Name +
                               "' is real and has infinitely many values");
  return createStringError("grid: the constraints are on too many combinations "
                           "of parameters to number the valid points");
}
} // namespace mneme
} // namespace llvm
