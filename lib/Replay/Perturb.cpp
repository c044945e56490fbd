//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Perturb.h"
#include "ElementTypes.h"
#include "llvm/IR/LLVMContext.h"
#include "llvm/IR/Module.h"
#include "llvm/Mneme/Replay/Capture.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/Folders.h"
#include <random>

using namespace llvm;
using namespace llvm::mneme;

/// Returns the size of a floating-point number; 0 for other types.
static size_t getFloatSize(uint32_t DType) {
  switch (DType) {
  case MNEME_DTYPE_F64:
    return 8;
  case MNEME_DTYPE_F32:
    return 4;
  case MNEME_DTYPE_F16:
  case MNEME_DTYPE_BF16:
    return 2;
  default:
    return 0;
  }
}

/// Shuffles the elements. The order depends only on \p Random.
static void permute(MutableArrayRef<char> Contents, size_t Size,
                    std::mt19937_64 &Random) {
  for (size_t I = Contents.size() / Size; I > 1; --I) {
    size_t J = Random() % I;
    std::swap_ranges(Contents.begin() + (I - 1) * Size,
                     Contents.begin() + I * Size, Contents.begin() + J * Size);
  }
}

/// Returns the recording with permuted inputs, without an outcome.
static Expected<NewRecording> makePermuted(const ReplayPlan &Plan,
                                           uint64_t Seed) {
  const RecordedState &State = Plan.state();
  NewRecording R;
  R.Kernel = Plan.kernel();
  R.ArenaBase = State.arenaBase();
  R.ArenaSize = State.arenaSize();
  R.Args = State.args();
  R.Annotations = State.annotations().vec();
  RecordedInstance I = Plan.instance();
  I.Occurrences = 1;
  bool OnHost = Plan.options().Device == "host";
  if (OnHost)
    I.Device = {};
  R.Kernel.Device = OnHost ? "host" : "cuda";
  R.Kernel.Instances = {std::move(I)};
  ElementTypes Types = inferElementTypes(Plan);
  std::mt19937_64 Random(Seed);
  bool IsAny = false;
  for (auto [Number, Region] : enumerate(State.regions())) {
    R.Regions.push_back(Region.Info);
    MemoryRange Range;
    Range.Address = Region.Info.Address;
    Range.Bytes.resize(Region.Info.Size);
    if (Error E = State.readRegion(Number, /*After=*/false, Range.Bytes))
      return std::move(E);
    if (all_of(Range.Bytes, [](char C) { return C == 0; }))
      continue;
    if (size_t Size = getFloatSize(Types.OfAccess[Number])) {
      std::vector<char> Old = Range.Bytes;
      permute(Range.Bytes, Size, Random);
      IsAny |= Old != Range.Bytes;
    }
    R.Before.push_back(std::move(Range));
  }
  if (!IsAny)
    return createStringError("launch " + Plan.instance().DynamicHash +
                             " reads no buffer of different floating-point "
                             "numbers, whose order could be changed");
  return std::move(R);
}

Expected<std::string> mneme::writePerturbed(const ReplayPlan &Plan,
                                            StringRef Dir, uint64_t Seed) {
  Expected<NewRecording> R = makePermuted(Plan, Seed);
  if (!R)
    return R.takeError();
  LLVMContext Context;
  std::unique_ptr<Module> M = Plan.cloneModule(Context);
  Expected<PrivateFolder> Draft = PrivateFolder::createTemporary();
  if (!Draft)
    return Draft.takeError();
  Expected<RecordedKernel> Written = writeRecording(Draft->path(), *M, *R);
  if (!Written)
    return Written.takeError();
  ReplayOptions O = Plan.options();
  O.RecordId.clear();
  O.Poison = false;
  O.Envelope.Replays = 0;
  O.Iterations = 0;
  O.Warmup = 0;
  O.Compared = Baseline::None;
  Expected<std::unique_ptr<ReplayPlan>> Once =
      ReplayPlan::create(Draft->path(), std::move(O));
  if (!Once)
    return Once.takeError();
  Expected<CapturedReplay> Run = captureReplay(**Once);
  if (!Run)
    return Run.takeError();
  if (Run->Result.failed())
    return createStringError("the recorded code fails on permuted inputs of " +
                             Plan.instance().DynamicHash + ": " +
                             Run->Result.Error);
  R->After = std::move(Run->Changed);
  Written = writeRecording(Dir, *M, std::move(*R));
  if (!Written)
    return Written.takeError();
  return pathIn(Dir, Written->StaticHash + ".json");
}
