//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Study/Recorded.h"
#include "llvm/Mneme/Record/Database.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral Names[] = {
#define RECORDED(Name, Type, Description) Name,
#include "llvm/Mneme/Study/Recorded.def"
};

static constexpr ValueType Types[] = {
#define RECORDED(Name, Type, Description) ValueType::Type,
#include "llvm/Mneme/Study/Recorded.def"
};

std::optional<ValueType> mneme::getRecordedType(StringRef Name) {
  for (size_t I = 0; I != std::size(Names); ++I)
    if (Names[I] == Name)
      return Types[I];
  return std::nullopt;
}

ArrayRef<StringLiteral> mneme::getRecordedNames() { return Names; }

RecordedFacts mneme::makeRecordedFacts(Dim3 Grid, Dim3 Block,
                                       uint64_t SharedMem, bool Cooperative,
                                       StringRef OptLevel, StringRef Arch,
                                       StringRef Kernel) {
  RecordedFacts F;
  auto Int = [&](StringRef Name, uint64_t V) { F[Name] = int64_t(V); };
  Int("block.x", Block.X);
  Int("block.y", Block.Y);
  Int("block.z", Block.Z);
  Int("grid.x", Grid.X);
  Int("grid.y", Grid.Y);
  Int("grid.z", Grid.Z);
  Int("threads.x", uint64_t(Grid.X) * Block.X);
  Int("threads.y", uint64_t(Grid.Y) * Block.Y);
  Int("threads.z", uint64_t(Grid.Z) * Block.Z);
  Int("block", Block.count());
  Int("grid", Grid.count());
  Int("threads", Grid.count() * Block.count());
  Int("shared_mem", SharedMem);
  F["cooperative"] = Cooperative;
  F["cluster"] = int64_t(1);
  F["opt_level"] = OptLevel.str();
  F["arch"] = Arch.str();
  F["kernel"] = Kernel.str();
  return F;
}

RecordedFacts mneme::makeRecordedFacts(const RecordedKernel &K,
                                       const RecordedInstance &I) {
  RecordedFacts F =
      makeRecordedFacts(I.Grid, I.Block, I.SharedMem, I.Cooperative, K.OptLevel,
                        K.Arch, K.KernelName);
  F["cluster"] = int64_t(I.Cluster.count());
  return F;
}
