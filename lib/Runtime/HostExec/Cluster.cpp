//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What kernels ask about their cluster of thread blocks: its special
/// registers, and the shared memory of its blocks. A pointer to shared memory is
/// an address of the host, so any block can follow it.
///
//===----------------------------------------------------------------------===//

#include "Executor.h"

using namespace mneme::host;

uint32_t mneme::host::getRank(const LaunchState &L, const BlockState &S) {
  uint32_t Rank = 0;
  for (unsigned I = 3; I-- != 0;)
    Rank = Rank * L.Cluster[I] + S.Block.BlockIdx[I] % L.Cluster[I];
  return Rank;
}

static bool owns(const BlockState &S, const void *P) {
  uint64_t Offset =
      reinterpret_cast<uint64_t>(P) - reinterpret_cast<uint64_t>(S.Block.Shared);
  return Offset < uint64_t(S.Block.DynamicOffset) + S.Block.DynamicSize;
}

BlockState *mneme::host::findOwner(Worker &W, const void *P) {
  if (owns(*W.Active, P))
    return W.Active;
  for (BlockState *S : W.Active->Cluster->Blocks)
    if (S && owns(*S, P))
      return S;
  return nullptr;
}

static BlockState &getOwner(Worker &W, const void *P, const char *What) {
  BlockState *Owner = findOwner(W, P);
  if (!Owner)
    leaveKernel(W, MNEME_HOST_TRAP,
                "kernel '%s' executed %s on %p, which is not in the shared "
                "memory of the cluster",
                W.Launch->Kernel->Name, What, P);
  return *Owner;
}

uint8_t *mneme::host::mapToBlock(Worker &W, const void *P, uint32_t Rank) {
  const LaunchState &L = *W.Launch;
  if (Rank >= L.ClusterSize)
    leaveKernel(W, MNEME_HOST_TRAP,
                "kernel '%s' asked for thread block %u of a cluster of %u",
                L.Kernel->Name, Rank, L.ClusterSize);
  const BlockState &Owner = getOwner(W, P, "mapa");
  return W.Active->Cluster->Blocks[Rank]->Block.Shared +
         (static_cast<const uint8_t *>(P) - Owner.Block.Shared);
}

extern "C" uint8_t *__mneme_host_mapa(const void *P, uint32_t Rank) {
  return mapToBlock(*TheWorker, P, Rank);
}

extern "C" uint32_t __mneme_host_cta_rank(const void *P) {
  Worker &W = *TheWorker;
  return getRank(*W.Launch, getOwner(W, P, "getctarank"));
}

/// \returns whether \p P is in shared memory of the cluster.
extern "C" uint32_t __mneme_host_is_cluster_shared(const void *P) {
  return findOwner(*TheWorker, P) != nullptr;
}

/// Reads a special register (MnemeHostClusterRegister) of an axis.
extern "C" uint32_t __mneme_host_cluster(uint32_t Register, uint32_t Axis) {
  const Worker &W = *TheWorker;
  const LaunchState &L = *W.Launch;
  const uint32_t *Size = L.Cluster;
  const MnemeHostBlock &B = W.Active->Block;
  switch (Register) {
  case MNEME_CLUSTER_CTAID:
    return B.BlockIdx[Axis] % Size[Axis];
  case MNEME_CLUSTER_NCTAID:
    return Size[Axis];
  case MNEME_CLUSTER_ID:
    return B.BlockIdx[Axis] / Size[Axis];
  case MNEME_CLUSTER_COUNT:
    return B.GridDim[Axis] / Size[Axis];
  case MNEME_CLUSTER_CTARANK:
    return getRank(L, *W.Active);
  case MNEME_CLUSTER_NCTARANK:
    return L.ClusterSize;
  default:
    return L.Config->Cluster[0] || L.Kernel->ClusterDim[0];
  }
}
