//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Selector.h"
#include "llvm/Mneme/Runtime/AMDProcessors.h"

#include <algorithm>
#include <cstring>

using namespace mneme;

const char *mneme::describeFallback(Fallback F) {
  static const char *const Texts[] = {
      "",
#define REASON(Id, Text) Text,
#include "Reasons.def"
  };
  return Texts[size_t(F)];
}

VariantTables mneme::describeVariant(const Package &P,
                                     const MnemePackageVariant &V) {
  // "sm_90a" and "sm_100f" have a letter behind the number.
  const char *Arch = P.text(V.ArchNameOffset);
  size_t Length = strlen(Arch);
  char Last = Length ? Arch[Length - 1] : '0';
  return {&P, &V, P.guards(V), Last < '0' || Last > '9'};
}

/// A cubin runs on its own architecture and on later ones of the same major
/// number.
bool mneme::runsOn(const VariantTables &V, const DeployDevice &D) {
  if (V.Fields->ImageKind != D.ImageKind)
    return false;
  if (D.ImageKind == MNEME_IMAGE_CODE_OBJECT)
    return isForAMDDevice(V.From->text(V.Fields->ArchNameOffset), D.ArchName);
  uint32_t Arch = V.Fields->Arch;
  if (V.IsExact || Arch == D.Arch)
    return Arch == D.Arch;
  return Arch / 10 == D.Arch / 10 && Arch <= D.Arch;
}

//===----------------------------------------------------------------------===//
// Guards
//===----------------------------------------------------------------------===//

template <typename T> static uint64_t readAs(const void *From) {
  T Value;
  memcpy(&Value, From, sizeof(T));
  return Value;
}

/// Reads \p Size bytes, which may be misaligned, as an unsigned number.
static uint64_t readNumber(const void *From, uint32_t Size) {
  switch (Size) {
  case 1:
    return readAs<uint8_t>(From);
  case 2:
    return readAs<uint16_t>(From);
  case 4:
    return readAs<uint32_t>(From);
  default:
    return readAs<uint64_t>(From);
  }
}

static int64_t extendSign(uint64_t Value, uint32_t Size) {
  unsigned Unused = 64 - 8 * Size;
  return int64_t(Value << Unused) >> Unused;
}

static bool passesTest(const MnemePackageGuard &G, uint64_t Value,
                       uint32_t Size) {
  switch (G.Test) {
  case MNEME_TEST_RANGE:
    return G.Low <= Value && Value <= G.High;
  case MNEME_TEST_SIGNED: {
    int64_t Signed = extendSign(Value, Size);
    return int64_t(G.Low) <= Signed && Signed <= int64_t(G.High);
  }
  case MNEME_TEST_MULTIPLE:
    return (Value & (G.Low - 1)) == 0;
  }
  return false;
}

static bool passesArgument(const MnemePackageGuard &G, const LaunchFacts &L) {
  if (!L.Args || !L.Args[G.Index])
    return false;
  const char *Arg = static_cast<const char *>(L.Args[G.Index]);
  return passesTest(G, readNumber(Arg + G.Offset, G.Size), G.Size);
}

bool KnownBuffers::find(uint64_t Pointer, const DeployDevice &D,
                        MemoryExtent &E) {
  for (size_t I = 0; I != Size; ++I)
    if (Known[I].Pointer == Pointer) {
      E = Known[I].Extent;
      return true;
    }
  if (!D.FindAllocation || !D.FindAllocation(Pointer, E))
    return false;
  if (Size != sizeof(Known) / sizeof(*Known))
    Known[Size++] = {Pointer, E};
  return true;
}

/// Finds the allocation of the pointer at \p Offset of an argument.
static bool findBuffer(const LaunchFacts &L, const DeployDevice &D,
                       KnownBuffers &Buffers, uint32_t Index, uint32_t Offset,
                       uint64_t &Pointer, MemoryExtent &E) {
  if (!L.Args || !L.Args[Index])
    return false;
  Pointer = readAs<uint64_t>(static_cast<const char *>(L.Args[Index]) + Offset);
  return Buffers.find(Pointer, D, E);
}

static bool passesBuffer(const MnemePackageGuard &G, const LaunchFacts &L,
                         const DeployDevice &D, KnownBuffers &Buffers) {
  uint64_t Pointer = 0, Other = 0;
  MemoryExtent E, OtherE;
  if (!findBuffer(L, D, Buffers, G.Index, G.Offset, Pointer, E))
    return false;
  uint64_t Value = 0;
  switch (G.What) {
  case MNEME_GUARD_BEFORE:
    Value = Pointer - E.Begin;
    break;
  case MNEME_GUARD_BEHIND:
    Value = E.End - Pointer;
    break;
  case MNEME_GUARD_SAME_BUFFER:
    if (!findBuffer(L, D, Buffers, G.Other, G.Size, Other, OtherE))
      return false;
    Value = E.Begin == OtherE.Begin;
    break;
  case MNEME_GUARD_ALIGNMENT:
    Value = Pointer % MNEME_BUFFER_ALIGNMENT;
    break;
  case MNEME_GUARD_OWN_PAGES:
    Value = E.HasOwnPages;
    break;
  case MNEME_GUARD_IN_VARIABLE:
    Value = E.IsVariable;
    break;
  }
  return passesTest(G, Value, sizeof(Value));
}

static Fallback testGuard(const Package *From, const MnemePackageGuard &G,
                          const LaunchFacts &L, const DeployDevice &D,
                          KnownBuffers &Buffers) {
  auto Decide = [](bool Passes, Fallback F) {
    return Passes ? Fallback::None : F;
  };
  auto Number = [&](uint64_t Value, Fallback F) {
    return Decide(passesTest(G, Value, sizeof(Value)), F);
  };
  switch (G.What) {
  case MNEME_GUARD_ARG:
    return Decide(passesArgument(G, L), Fallback::Argument);
  case MNEME_GUARD_GRID:
    return Number(L.Grid[G.Index], Fallback::Grid);
  case MNEME_GUARD_BLOCK:
    return Number(L.Block[G.Index], Fallback::Block);
  case MNEME_GUARD_SHARED:
    return Number(L.DynamicShared, Fallback::Shared);
  case MNEME_GUARD_COOPERATIVE:
    return Number(L.Cooperative, Fallback::Cooperative);
  case MNEME_GUARD_CLUSTER:
    return Number(L.Cluster[G.Index], Fallback::ClusterSize);
  case MNEME_GUARD_DEVICE:
    return Decide(!strcmp(D.Name, From->text(G.Offset)),
                  Fallback::Architecture);
  case MNEME_GUARD_VARIABLE: // Found when the image is loaded.
    return Fallback::None;
  case MNEME_GUARD_BEFORE:
  case MNEME_GUARD_BEHIND:
  case MNEME_GUARD_SAME_BUFFER:
  case MNEME_GUARD_ALIGNMENT:
  case MNEME_GUARD_OWN_PAGES:
  case MNEME_GUARD_IN_VARIABLE:
    return Decide(passesBuffer(G, L, D, Buffers), Fallback::Buffer);
  }
  // The reader refuses other kinds.
  return Fallback::Argument;
}

static bool isSoft(const MnemePackageGuard &G) {
  return G.Flags & MNEME_GUARD_SOFT;
}

static bool isIgnored(const MnemePackageGuard &G, const DeployPolicy &Policy) {
  return isSoft(G) && (Policy.ServesAll || (Policy.ServesOtherGPUs &&
                                            G.What == MNEME_GUARD_DEVICE));
}

/// Hard guards come first: their reasons say more.
static Fallback testGuards(const VariantTables &V, const LaunchFacts &L,
                           const DeployDevice &D, const DeployPolicy &Policy,
                           KnownBuffers &Buffers) {
  Fallback Soft = Fallback::None;
  for (const MnemePackageGuard &G : V.Guards) {
    if (isIgnored(G, Policy) || (isSoft(G) && Soft != Fallback::None))
      continue;
    Fallback F = testGuard(V.From, G, L, D, Buffers);
    if (F == Fallback::None)
      continue;
    if (!isSoft(G))
      return F;
    Soft = Fallback::NotMeasured;
  }
  return Soft;
}

void GuardTable::add(VariantTables &V, const DeployPolicy &Policy) {
  V.IsInTable = true;
  for (const MnemePackageGuard &G : V.Guards) {
    if (isIgnored(G, Policy))
      continue;
    // Text is that of one package.
    size_t I = 0;
    while (I != Entries.size() &&
           (memcmp(Entries[I].Guard, &G, sizeof(G)) ||
            (G.What == MNEME_GUARD_DEVICE && Entries[I].From != V.From)))
      ++I;
    if (I == MaxGuards) {
      V.IsInTable = false;
      return;
    }
    if (I == Entries.size())
      Entries.push_back({V.From, &G});
    (isSoft(G) ? V.Soft : V.Hard) |= uint64_t(1) << I;
  }
}

uint64_t GuardTests::getFailed(uint64_t Guards) {
  for (uint64_t Left = Guards & ~Known; Left; Left &= Left - 1) {
    const GuardTable::Entry &E = T.Entries[__builtin_ctzll(Left)];
    Fallback F = testGuard(E.From, *E.Guard, L, D, Buffers);
    if (F == Fallback::None)
      continue;
    Failed |= Left & -Left;
    Reasons[__builtin_ctzll(Left)] = F;
  }
  Known |= Guards;
  return Guards & Failed;
}

Fallback GuardTests::test(const VariantTables &V) {
  if (uint64_t Hard = getFailed(V.Hard))
    return Reasons[__builtin_ctzll(Hard)];
  return getFailed(V.Soft) ? Fallback::NotMeasured : Fallback::None;
}

bool mneme::dependsOnArguments(const VariantTables &V,
                               const DeployPolicy &Policy) {
  for (const MnemePackageGuard &G : V.Guards)
    if (mneme_guard_reads_argument(G.What) && !isIgnored(G, Policy))
      return true;
  return false;
}

bool mneme::usesVariables(const VariantTables &V) {
  for (const MnemePackageGuard &G : V.Guards)
    if (G.What == MNEME_GUARD_VARIABLE)
      return true;
  return false;
}

bool mneme::copiesVariables(const VariantTables &V) {
  for (const MnemePackageGuard &G : V.Guards)
    if (G.What == MNEME_GUARD_VARIABLE && G.High == MNEME_VARIABLE_COPY)
      return true;
  return false;
}

//===----------------------------------------------------------------------===//
// The launch
//===----------------------------------------------------------------------===//

/// The kernel reads the global index only, so the threads have to be the same
/// along each axis: a kernel may lack the test that keeps more of them from
/// memory. Where the guards admit verified launches only, the last block may be
/// partial, as it was when the launch was verified.
static bool coverThreads(const MnemePackageVariant &V, const LaunchFacts &L,
                         LaunchPlan &Plan) {
  for (unsigned I = 0; I != 3; ++I) {
    uint64_t Threads = uint64_t(L.Grid[I]) * L.Block[I];
    uint64_t Block = V.Block[I];
    if (!Block || (Threads % Block && V.Grade <= MNEME_GRADE_PROVEN))
      return false;
    uint64_t Grid = Threads / Block + (Threads % Block != 0);
    if (Grid > UINT32_MAX)
      return false;
    Plan.Block[I] = V.Block[I];
    Plan.Grid[I] = uint32_t(Grid);
  }
  return true;
}

static bool hasShape(const DeployDevice &D, const uint32_t (&Grid)[3],
                     const uint32_t (&Block)[3], uint32_t MaxThreads) {
  uint64_t Threads = 1;
  for (unsigned I = 0; I != 3; ++I) {
    if (!Block[I] || Block[I] > D.MaxBlock[I] || !Grid[I] ||
        Grid[I] > D.MaxGrid[I])
      return false;
    // Each factor is at most 2^32: test before the next multiplication.
    Threads *= Block[I];
    if (Threads > MaxThreads)
      return false;
  }
  return true;
}

static bool fits(const MnemePackageVariant &V, const LaunchFacts &L,
                 const LaunchPlan &Plan, uint64_t DynamicShared,
                 const DeployDevice &D) {
  // A launch that would fail must fail.
  if (V.Launch != MNEME_LAUNCH_SAME &&
      !hasShape(D, L.Grid, L.Block, D.MaxThreads))
    return false;
  uint32_t MaxThreads =
      V.MaxThreads < D.MaxThreads ? V.MaxThreads : D.MaxThreads;
  return hasShape(D, Plan.Grid, Plan.Block, MaxThreads) &&
         V.StaticShared <= D.MaxShared &&
         DynamicShared <= D.MaxShared - V.StaticShared;
}

static Fallback planLaunch(const MnemePackageVariant &V, const LaunchFacts &L,
                           const DeployDevice &D, LaunchPlan &Plan) {
  uint64_t Shared =
      V.DynamicShared == MNEME_SHARED_SAME ? L.DynamicShared : V.DynamicShared;
  bool IsChanged = V.Launch != MNEME_LAUNCH_SAME || Shared != L.DynamicShared;
  if (IsChanged && L.hasClusters())
    return Fallback::Clusters;
  switch (V.Launch) {
  case MNEME_LAUNCH_SAME:
    memcpy(Plan.Grid, L.Grid, sizeof(Plan.Grid));
    memcpy(Plan.Block, L.Block, sizeof(Plan.Block));
    break;
  case MNEME_LAUNCH_FIXED:
    memcpy(Plan.Grid, V.Grid, sizeof(Plan.Grid));
    memcpy(Plan.Block, V.Block, sizeof(Plan.Block));
    break;
  default:
    if (!coverThreads(V, L, Plan))
      return Fallback::Cover;
  }
  if (!fits(V, L, Plan, Shared, D))
    return Fallback::Resources;
  Plan.DynamicShared = uint32_t(Shared);
  return Fallback::None;
}

/// Code that is not proven serves clusters of the sizes that a guard names.
static bool allowsClusters(const VariantTables &V) {
  return V.Fields->Code == MNEME_CODE_PROVEN ||
         std::any_of(V.Guards.begin(), V.Guards.end(),
                     [](const MnemePackageGuard &G) {
                       return G.What == MNEME_GUARD_CLUSTER;
                     });
}

Fallback mneme::matchVariant(const VariantTables &V, const LaunchFacts &L,
                             const DeployDevice &D, const DeployPolicy &Policy,
                             GuardTests &Tests, LaunchPlan &Plan) {
  for (unsigned I = 0; I != 3; ++I)
    if (!L.Grid[I] || !L.Block[I])
      return Fallback::EmptyLaunch;
  if (!runsOn(V, D))
    return Fallback::Architecture;
  if (V.Fields->Grade > Policy.MaxGrade)
    return Fallback::LaunchShape;
  if (V.Fields->Code > Policy.MaxCode)
    return Fallback::Code;
  if (Fallback F = V.IsInTable ? Tests.test(V)
                               : testGuards(V, L, D, Policy, Tests.buffers());
      F != Fallback::None)
    return F;
  if (L.Cooperative && !V.Fields->Cooperative)
    return Fallback::Cooperative;
  if (L.hasClusters() && !allowsClusters(V))
    return Fallback::ClusterSize;
  return planLaunch(*V.Fields, L, D, Plan);
}
