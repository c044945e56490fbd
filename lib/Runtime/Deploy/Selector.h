//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Decides whether a variant of a package is correct for a launch, and how it
/// is launched then. No locks, no allocation.
///
//===----------------------------------------------------------------------===//

#ifndef MNEME_LIB_RUNTIME_DEPLOY_SELECTOR_H
#define MNEME_LIB_RUNTIME_DEPLOY_SELECTOR_H

#include "llvm/Mneme/Runtime/Package.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace mneme {

/// Why a launch is not served.
enum class Fallback : uint8_t {
  None,
#define REASON(Id, Text) Id,
#include "Reasons.def"
};
constexpr size_t NumFallbacks = 0
#define REASON(Id, Text) +1
#include "Reasons.def"
    ;

/// Returns the reason's name in reports; empty for None.
const char *describeFallback(Fallback F);

/// An allocation: the addresses from \p Begin on, before \p End.
struct MemoryExtent {
  uint64_t Begin, End;
  bool HasOwnPages = false; ///< No other address leads to its memory.
  bool IsVariable = false;
};

/// A launch as the application makes it.
struct LaunchFacts {
  uint32_t Grid[3];
  uint32_t Block[3];
  uint64_t DynamicShared;
  bool Cooperative;
  void *const *Args; ///< One pointer per argument of the kernel.
  uint32_t Cluster[3] = {1, 1, 1}; ///< Size of a cluster, in blocks.

  bool hasClusters() const {
    return Cluster[0] > 1 || Cluster[1] > 1 || Cluster[2] > 1;
  }
};

/// The launch of a variant.
struct LaunchPlan {
  uint32_t Grid[3];
  uint32_t Block[3];
  uint32_t DynamicShared;
};

/// Finds the allocation that an address lies in. \returns false if there is
/// none.
using FindAllocationFn = bool (*)(uint64_t Address, MemoryExtent &E);

/// Limits of the device of a launch.
struct DeployDevice {
  uint32_t ImageKind; ///< MNEME_IMAGE_*.
  uint32_t Arch; ///< 90 for sm_90, 0x90a for gfx90a; 0 for the host device.
  const char *Name;
  uint32_t MaxThreads; ///< Threads per block.
  uint32_t MaxBlock[3];
  uint32_t MaxGrid[3];
  uint64_t MaxShared; ///< Static and dynamic bytes per block, opted in.
  /// Of an AMD GPU: its processor and settings, "gfx90a:sramecc+:xnack-".
  /// Others have none.
  const char *ArchName = nullptr;
  FindAllocationFn FindAllocation = nullptr;
};

/// The launches that may be served, as the user set them.
struct DeployPolicy {
  bool ServesAll = false;       ///< Also launches that were not measured.
  bool ServesOtherGPUs = false; ///< Also GPUs that were not measured.
  uint32_t MaxGrade = MNEME_GRADE_PROVEN;
  uint32_t MaxCode = MNEME_CODE_VERIFIED;
};

/// A variant with its tables.
struct VariantTables {
  const Package *From;
  const MnemePackageVariant *Fields;
  PackageRange<MnemePackageGuard> Guards;
  /// Whether the code runs on that very architecture only (sm_90a).
  bool IsExact;
  /// The guards in a GuardTable, if it has all of them.
  bool IsInTable = false;
  uint64_t Hard = 0, Soft = 0;
};

/// The guards of the variants of a kernel, each once: most variants have guards
/// of others, too.
class GuardTable {
public:
  static constexpr size_t MaxGuards = 64;
  /// Adds the guards that the policy does not ignore. May throw.
  void add(VariantTables &V, const DeployPolicy &Policy);

private:
  friend class GuardTests;
  struct Entry {
    const Package *From;
    const MnemePackageGuard *Guard;
  };
  std::vector<Entry> Entries;
};

/// Allocations that guards have looked up for a launch, as several guards look
/// at each pointer.
class KnownBuffers {
public:
  bool find(uint64_t Pointer, const DeployDevice &D, MemoryExtent &E);

private:
  struct {
    uint64_t Pointer;
    MemoryExtent Extent;
  } Known[8]; ///< The first Size ones.
  size_t Size = 0;
};

/// Tests each guard of a table at most once for a launch.
class GuardTests {
public:
  GuardTests(const GuardTable &T, const LaunchFacts &L, const DeployDevice &D)
      : T(T), L(L), D(D) {}
  /// As testGuards(). The variant is in the table.
  Fallback test(const VariantTables &V);
  KnownBuffers &buffers() { return Buffers; }

private:
  uint64_t getFailed(uint64_t Guards);

  const GuardTable &T;
  const LaunchFacts &L;
  const DeployDevice &D;
  KnownBuffers Buffers;
  uint64_t Known = 0, Failed = 0;
  Fallback Reasons[GuardTable::MaxGuards]; ///< Of the failed ones.
};

VariantTables describeVariant(const Package &P, const MnemePackageVariant &V);

/// Returns None and \p Plan if \p V serves \p L, else a reason why not. \p
/// Tests are those of the launch.
Fallback matchVariant(const VariantTables &V, const LaunchFacts &L,
                      const DeployDevice &D, const DeployPolicy &Policy,
                      GuardTests &Tests, LaunchPlan &Plan);

/// Returns true if a hard guard, or with this policy any, looks at arguments.
bool dependsOnArguments(const VariantTables &V, const DeployPolicy &Policy);

/// Returns true if the image uses variables of the application.
bool usesVariables(const VariantTables &V);
/// Returns true if the image has copies of variables.
bool copiesVariables(const VariantTables &V);

/// Returns true if the image runs on a device at all.
bool runsOn(const VariantTables &V, const DeployDevice &D);

} // namespace mneme

#endif // MNEME_LIB_RUNTIME_DEPLOY_SELECTOR_H
