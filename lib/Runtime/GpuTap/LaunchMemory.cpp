//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchMemory.h"

#include <algorithm>
#include <cstring>
#include <sys/mman.h>
#include <utility>

using namespace mneme;

/// Whether memory of this process is mapped at \p Address.
static bool isHostMemory(uint64_t Address) {
  unsigned char Resident;
  void *Page = reinterpret_cast<void *>(Address & ~uint64_t(4095));
  return !mincore(Page, 1, &Resident);
}

std::string LaunchMemory::findObstacle(const Target &T, const Launch &L,
                                       const Gpu &G) const {
  constexpr int PointerMemoryType = 2; // CU_POINTER_ATTRIBUTE_MEMORY_TYPE
  if (!L.Args)
    return T.K.Args.empty() ? "" : "launched without arguments";
  std::string Obstacle;
  forEachPointer(T.K, L.Args, [&](uint64_t V) {
    int Type = 0;
    const Gpu *Owner = Devs.ownerOf(V);
    const auto *Found = Foreign.find(V);
    // It may be mapped at addresses of the arena.
    if (Found && Found->second.Kind == ForeignMemory::OtherProcess) {
      Obstacle = "an argument points to memory of another process";
      return;
    }
    if (!V || Owner == &G)
      return;
    if (Owner) {
      // A number may be an address of the arena by chance.
      if (std::as_const(Owner->Heap).find(V))
        Obstacle = "an argument points to memory of another device";
      return;
    }
    if (Found && ForeignMemory::canRecord(G, Found->second))
      return;
    if (Driver->PointerGetAttribute &&
        !Driver->PointerGetAttribute(&Type, PointerMemoryType, V))
      Obstacle = "an argument points to memory that cannot be recorded";
  });
  if (!Obstacle.empty() || !G.ReadsHost)
    return Obstacle;
  for (size_t I = 0; I != T.K.Args.size(); ++I) {
    if (T.K.Args[I].Kind != MNEME_ARG_POINTER || T.K.Args[I].Size != 8)
      continue;
    uint64_t V;
    memcpy(&V, L.Args[I], sizeof(V));
    if (!Devs.ownerOf(V) && !Foreign.find(V) && isHostMemory(V))
      return std::string(
                 "an argument points to host memory that is unknown to ") +
             VendorName;
  }
  return "";
}

std::string
LaunchMemory::locateVariables(const Target &T, const Launch &L, RecordingJob &J,
                              std::vector<Recording::Region> &Regions) const {
  const Gpu &G = *J.On;
  DriverFunction F;
  if (T.Image && !T.Variables.empty() && !Images.find(L.Kernel, F))
    return "its image was unloaded";
  for (const ShadowedVariable *S : T.Variables) {
    if (!S->V.Size)
      continue;
    void *Live = nullptr;
    int E;
    if (T.Image) {
      CUdeviceptr Address = 0;
      size_t Size = 0;
      E = Images.findVariable(F, S->V.Name, Address, Size);
      // The assembler removes variables that no kernel uses.
      if (E == CUDA_ERROR_NOT_FOUND)
        continue;
      if (!E && Size != S->V.Size)
        return "variable '" + S->V.Name + "' has " + std::to_string(Size) +
               " bytes in the image, and " + std::to_string(S->V.Size) +
               " in the IR";
      Live = reinterpret_cast<void *>(Address);
    } else {
      E = S->Runtime->GetSymbolAddress
              ? S->Runtime->GetSymbolAddress(&Live, S->Shadow)
              : cudaErrorInvalidSymbol;
    }
    if (E)
      return std::string("the ") + VendorName + " " +
             (T.Image ? "driver" : "runtime") + " cannot find variable '" +
             S->V.Name + "' (error " + std::to_string(E) + ")";
    uint64_t Home = G.Homes + S->V.Address;
    if (Home + S->V.Size > G.end())
      return "variable '" + S->V.Name + "' has no address left for it";
    Regions.push_back({Home, S->V.Size, MNEME_REGION_GLOBAL, S->V.Name});
    J.Parts.push_back(
        {Home, reinterpret_cast<CUdeviceptr>(Live), S->V.Size, 0});
  }
  return "";
}

/// Pinned memory besides \p Named that is copied before a launch, in case that
/// recorded memory points to it, smallest blocks first. Much pinned memory is
/// for copies alone, so its size is limited.
std::set<uint64_t>
LaunchMemory::chooseTentative(const Gpu &G,
                              const std::set<uint64_t> &Named) const {
  constexpr uint64_t MaxBytes = 64u << 20;
  std::vector<std::pair<uint64_t, uint64_t>> BySize;
  for (const auto &[Address, M] : Foreign.blocks())
    if (M.Kind == MNEME_REGION_PINNED && ForeignMemory::canRecord(G, M) &&
        !Named.count(Address))
      BySize.push_back({M.Size, Address});
  std::sort(BySize.begin(), BySize.end());
  std::set<uint64_t> Chosen;
  uint64_t Left = MaxBytes;
  for (auto [Size, Address] : BySize) {
    if (Size > Left)
      break;
    Left -= Size;
    Chosen.insert(Address);
  }
  return Chosen;
}

std::string LaunchMemory::locate(const Target &T, const Launch &L,
                                 RecordingJob &J,
                                 std::vector<Recording::Region> &Regions) {
  using Range = RecordingJob::ForeignRange;
  using Part = RecordingJob::Part;
  const Gpu &G = *J.On;
  for (const auto &[Address, A] : G.Heap.allocations()) {
    if (A.Kind == ReservedAddresses)
      continue;
    Regions.push_back({Address, A.Size, MNEME_REGION_HEAP, ""});
    J.Parts.push_back({Address, Address, A.Size, 0});
  }
  for (const auto &Other : Devs.all())
    if (Other.get() != &G)
      for (const auto &[Address, A] : Other->Heap.allocations())
        J.Unrecorded.push_back({Address,
                                Address + std::max<uint64_t>(A.Size, 1),
                                Range::OtherDevice});
  // Pinned memory is recorded only where the launch points to it.
  std::set<uint64_t> Named;
  forEachPointer(T.K, L.Args, [&](uint64_t V) {
    if (const auto *Found = Foreign.find(V))
      Named.insert(Found->first);
  });
  std::string Error = Textures.locate(T, L, J, Regions, Named);
  if (!Error.empty())
    return Error;
  Files.addPointedTo(Named);
  std::set<uint64_t> Tentative = chooseTentative(G, Named);
  for (const auto &[Address, M] : Foreign.blocks()) {
    if (ForeignMemory::canRecord(G, M) &&
        (M.Kind != MNEME_REGION_PINNED || Named.count(Address))) {
      // Memory that the application maps may have addresses of the arena.
      bool IsInArena = Address >= G.begin() && Address < G.end();
      Regions.push_back({Address, M.Size,
                         IsInArena ? uint32_t(MNEME_REGION_HEAP) : M.Kind, ""});
      J.Parts.push_back({Address, Address, M.Size, 0});
    } else {
      bool IsTentative = Tentative.count(Address);
      J.Unrecorded.push_back({Address, Address + M.Size, M.Kind, IsTentative});
      if (IsTentative)
        J.Parts.push_back({Address, Address, M.Size, 0});
    }
  }
  Error = locateVariables(T, L, J, Regions);
  if (!Error.empty())
    return Error;
  std::sort(J.Parts.begin(), J.Parts.end(),
            [](const Part &A, const Part &B) { return A.Address < B.Address; });
  std::sort(J.Unrecorded.begin(), J.Unrecorded.end(),
            [](const Range &A, const Range &B) { return A.Begin < B.Begin; });
  return "";
}
