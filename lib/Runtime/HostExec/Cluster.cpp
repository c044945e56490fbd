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

/// \returns the place of block \p Rank that \p P has in its own block, or null.
static uint8_t *findInBlock(Worker &W, const void *P, uint32_t Rank) {
  const BlockState *Owner = findOwner(W, P);
  const BlockState *There =
      Rank < W.Launch->ClusterSize ? W.Active->Cluster->Blocks[Rank] : nullptr;
  return Owner && There
             ? There->Block.Shared +
                   (static_cast<const uint8_t *>(P) - Owner->Block.Shared)
             : nullptr;
}

uint8_t *mneme::host::mapToBlock(Worker &W, const void *P, uint32_t Rank) {
  if (uint8_t *There = findInBlock(W, P, Rank))
    return There;
  leaveKernel(
      W, MNEME_HOST_TRAP,
      "kernel '%s' copies to %p of thread block %u, which is not in the "
      "shared memory of the cluster",
      W.Launch->Kernel->Name, P, Rank);
}

/// Null if there is no such place: LLVM may move a mapa before the condition
/// under which its result is used.
extern "C" uint8_t *__mneme_host_mapa(const void *P, uint32_t Rank) {
  return findInBlock(*TheWorker, P, Rank);
}

/// 0 if there is no such block, for the same reason.
extern "C" uint32_t __mneme_host_cta_rank(const void *P) {
  Worker &W = *TheWorker;
  const BlockState *Owner = findOwner(W, P);
  return Owner ? getRank(*W.Launch, *Owner) : 0;
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
