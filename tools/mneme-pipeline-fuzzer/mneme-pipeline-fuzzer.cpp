//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Feeds arbitrary text to the parser of pipeline spaces. A valid space can be
/// printed and parsed again, and its points have indices and are canonical.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Pipeline/PipelineSpace.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/ErrorHandling.h"

using namespace llvm;
using namespace llvm::mneme;

/// Limits of the tested spaces: larger ones take too long.
static constexpr size_t MaxDecisions = 500;
static constexpr unsigned MaxBits = 2000;

static void require(bool Holds, const char *What) {
  if (!Holds)
    report_fatal_error(What);
}

static void checkPoint(const PipelineSpace &S, const PipelinePoint &P) {
  PipelinePoint Q = P;
  S.canonicalize(Q);
  require(P == Q, "a point is not canonical");
  require(S.at(S.indexOf(P)) == P, "a point has another number");
  std::string Text = S.print(P);
  if (std::optional<PipelinePoint> Found = S.find(Text))
    require(S.print(*Found) == Text, "another point was found");
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t *Data, size_t Size) {
  StringRef Text(reinterpret_cast<const char *>(Data), Size);
  Expected<PipelineSpace> S = PipelineSpace::parse(Text);
  if (!S) {
    require(S.errorIsA<TextError>(), "an error has no place");
    consumeError(S.takeError());
    return 0;
  }
  std::string Normal = S->print();
  PipelineSpace Again = cantFail(PipelineSpace::parse(Normal));
  require(Again.print() == Normal, "the normal form changes");
  require(Again.count() == S->count(), "the number of points changes");

  S->probes();
  if (S->decisions().size() > MaxDecisions ||
      S->count().getActiveBits() > MaxBits)
    return 0;
  checkPoint(*S, S->at(S->count() - 1));
  RandomEngine Random(Size);
  PipelinePoint P = S->sample(Random);
  checkPoint(*S, P);
  PipelinePoint Q = S->mutate(P, Random);
  require((P == Q) == (S->count() == 1), "a mutation changes nothing");
  checkPoint(*S, Q);
  checkPoint(*S, S->crossover(P, Q, Random));
  if (S->decisions().size() < 50)
    for (const PipelinePoint &Next : S->neighbours(P))
      checkPoint(*S, Next);
  return 0;
}
