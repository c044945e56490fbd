//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// "grid": every valid point, in the order of the space's numbers.
///
//===----------------------------------------------------------------------===//

#include "SamplerSupport.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace llvm::mneme;

/// So many points one after the other that no constraint lets pass: the search
/// might not come to an end.
static constexpr uint64_t MaxInvalid = 10'000'000;

namespace {
class GridSampler : public Sampler {
public:
  GridSampler(const SamplerContext &Context, APInt Count)
      : Sampler(Context), Count(std::move(Count)),
        Next(this->Count.getBitWidth(), 0) {}

  Expected<std::vector<Point>> ask(unsigned N) override {
    Batch B(Context, N);
    uint64_t Invalid = 0;
    for (APInt I = Next; !B.isFull() && I.ult(Count); ++I) {
      Point P = Context.Space.at(I);
      bool Valid = Context.Space.isValid(P);
      Invalid = Valid ? 0 : Invalid + 1;
      if (Invalid == MaxInvalid)
        return createStringError(
            "grid: no constraint lets any of the " + Twine(MaxInvalid) +
            " points up to number " + toString(I, 10, /*Signed=*/false) +
            " pass; random finds valid ones faster");
      bool Passed =
          !Valid || Context.Proposed.contains(Context.Space.digest(P));
      // What is passed now stays so: do not look there again.
      if (Passed && I == Next)
        ++Next;
      if (!Passed)
        B.add(std::move(P));
    }
    return B.take();
  }

private:
  APInt Count;
  APInt Next; ///< All points before it are invalid or proposed.
};
} // namespace

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createGridSampler(const SamplerContext &Context, StringRef) {
  std::optional<APInt> Count = Context.Space.count();
  if (Count) // One bit more, so that the number after the last one exists.
    return std::make_unique<GridSampler>(Context,
                                         Count->zext(Count->getBitWidth() + 1));
  for (const Dimension &D : Context.Space.dimensions())
    if (D.Kind == Dimension::Real)
      return createStringError("grid: '" + D.Name +
                               "' is real and has no end of values");
  llvm_unreachable("only real dimensions are not countable");
}
} // namespace mneme
} // namespace llvm
