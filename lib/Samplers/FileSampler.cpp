//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The sampler "file": proposes the points of a file. Each line is a JSON
/// object of parameters and values.
///
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Samplers/PointJSON.h"
#include "SamplerSupport.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/LineIterator.h"

using namespace llvm;
using namespace llvm::mneme;

namespace {
class FileSampler : public Sampler {
public:
  FileSampler(const SamplerContext &Context, std::vector<Point> Points)
      : Sampler(Context), Points(std::move(Points)) {}

  Expected<std::vector<Point>> ask(unsigned N) override {
    Batch B(Context, N);
    for (const Point &P : Points)
      B.add(P);
    return B.take();
  }

private:
  std::vector<Point> Points;
};
} // namespace

namespace llvm {
namespace mneme {
Expected<std::unique_ptr<Sampler>>
createFileSampler(const SamplerContext &Context, StringRef Path) {
  if (Path.empty())
    return createStringError("file: no file: expected file=PATH");
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  std::vector<Point> Points;
  for (line_iterator Line(**Buffer, /*SkipBlanks=*/true, '#');
       !Line.is_at_eof(); ++Line) {
    auto Refuse = [&](Error E) {
      return quoteText(Path, *Line, locateKey(*Line, {}, std::move(E)),
                       Line.line_number());
    };
    Expected<json::Value> V = parseJSON(*Line);
    if (!V)
      return Refuse(V.takeError());
    Expected<Point> P = parsePoint(Context.Space, *V);
    if (!P)
      return Refuse(P.takeError());
    Points.push_back(std::move(*P));
  }
  if (Points.empty())
    return createStringError(Path + ": no points in it");
  return std::make_unique<FileSampler>(Context, std::move(Points));
}
} // namespace mneme
} // namespace llvm
