//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Record/Database.h"
#include "llvm/Mneme/Runtime/LaunchHash.h"
#include "llvm/Mneme/Support/Digest.h"

using namespace llvm;

uint64_t llvm::mneme::computeDynamicHash(const Digest128 &StaticHash,
                                         const RecordedInstance &I,
                                         StringRef Scalars) {
  ::mneme::LaunchKey Key = {{},
                            {I.Grid.X, I.Grid.Y, I.Grid.Z},
                            {I.Block.X, I.Block.Y, I.Block.Z},
                            I.SharedMem,
                            I.Cooperative};
  llvm::copy(StaticHash, Key.StaticHash);
  std::string Bytes(reinterpret_cast<const char *>(&Key), sizeof(Key));
  ::mneme::appendCluster(Bytes, {I.Cluster.X, I.Cluster.Y, I.Cluster.Z});
  return digest64(Bytes + Scalars.str());
}

std::string llvm::mneme::collectScalars(ArrayRef<KernelArg> Args,
                                        ArrayRef<std::string> Bytes) {
  std::string Scalars;
  for (auto [Arg, Value] : llvm::zip_equal(Args, Bytes))
    if (Arg.Kind != MNEME_ARG_POINTER)
      ::mneme::appendScalar(Scalars, Value.data(), Value.size());
  return Scalars;
}
