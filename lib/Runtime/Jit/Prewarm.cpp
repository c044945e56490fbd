//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Prewarm.h"
#include "Jit.h"
#include "Shortage.h"

#include <algorithm>
#include <cstring>

using namespace mneme;

namespace {
/// A launch as far as guards describe it.
class GuardedLaunch {
public:
  explicit GuardedLaunch(const TunedKernel &K) {
    for (const MnemePackageArg &A : K.Args) {
      Bytes.emplace_back(A.Size, '\0');
      IsKnown.emplace_back(A.Size, false);
    }
  }

  void add(const MnemePackageGuard &G);
  /// Whether all that may become a constant is known.
  bool isComplete(const std::vector<MnemeJitField> &Fields,
                  uint32_t Specialize) const;
  JitLaunch launch() const {
    for (const std::string &B : Bytes)
      Places.push_back(B.data());
    JitLaunch L;
    L.Places = Places.data();
    std::copy(Grid, Grid + 3, L.Grid);
    std::copy(Block, Block + 3, L.Block);
    L.IsAhead = true;
    return L;
  }

private:
  std::vector<std::string> Bytes; ///< By argument.
  std::vector<std::vector<bool>> IsKnown;
  mutable std::vector<const void *> Places;
  uint32_t Grid[3] = {}, Block[3] = {};
};
} // namespace

void GuardedLaunch::add(const MnemePackageGuard &G) {
  bool IsExact = (G.Test == MNEME_TEST_RANGE || G.Test == MNEME_TEST_SIGNED) &&
                 G.Low == G.High;
  if (!IsExact)
    return;
  if (G.What == MNEME_GUARD_GRID || G.What == MNEME_GUARD_BLOCK)
    (G.What == MNEME_GUARD_GRID ? Grid : Block)[G.Index] = uint32_t(G.Low);
  if (G.What != MNEME_GUARD_ARG || G.Index >= Bytes.size() ||
      uint64_t(G.Offset) + G.Size > Bytes[G.Index].size())
    return;
  memcpy(&Bytes[G.Index][G.Offset], &G.Low, G.Size);
  std::fill_n(IsKnown[G.Index].begin() + G.Offset, G.Size, true);
}

bool GuardedLaunch::isComplete(const std::vector<MnemeJitField> &Fields,
                               uint32_t Specialize) const {
  for (const MnemeJitField &F : Fields) {
    if (F.Kind != MNEME_JIT_VALUE || F.Arg >= IsKnown.size())
      return false;
    auto First = IsKnown[F.Arg].begin() + F.Offset;
    if (!std::all_of(First, First + F.Size, [](bool Known) { return Known; }))
      return false;
  }
  auto IsSet = [](const uint32_t (&Dimensions)[3]) {
    return Dimensions[0] && Dimensions[1] && Dimensions[2];
  };
  return (!(Specialize & (JitBlock | JitRanges | JitBounds)) || IsSet(Block)) &&
         (!(Specialize & (JitGrid | JitRanges)) || IsSet(Grid));
}

void mneme::prewarm(JitSite &Site, const TunedKernel &K,
                    const DeployDevice &D) {
  const JitSettings &Settings = Jit::get().settings();
  if (Settings.Mode == JitMode::Cached)
    return;
  for (const std::unique_ptr<TunedVariant> &V : K.Variants) {
    if (runsOn(V->Tables, D))
      continue;
    // Without memory, code is compiled when it is launched.
    attempt([&] {
      GuardedLaunch L(K);
      for (const MnemePackageGuard &G : V->Tables.Guards)
        L.add(G);
      if (L.isComplete(Site.fields(), Settings.Specialize))
        Jit::get().runLater([&Site, L] { Site.find(L.launch()); });
    });
  }
}
