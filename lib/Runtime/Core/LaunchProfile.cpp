//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LaunchProfile.h"
#include "LauncherLink.h"
#include "Shortage.h"
#include "llvm/Mneme/Runtime/TimeBuckets.h"

using namespace mneme;

void LaunchProfile::add(const char *Kernel, Dim3 Grid, Dim3 Block,
                        uint64_t DynamicShared, uint64_t Nanoseconds,
                        const LaunchResources &Resources) {
  std::lock_guard<std::mutex> Guard(Lock);
  bool Added = attempt([&] {
    auto K = Kernels.find(std::string_view(Kernel));
    if (K == Kernels.end())
      K = Kernels.emplace(Kernel, std::map<ShapeNumbers, Row>()).first;
    ShapeNumbers S = {Grid.X,  Grid.Y,  Grid.Z,       Block.X,
                      Block.Y, Block.Z, DynamicShared};
    auto &Shapes = K->second;
    auto R = Shapes.find(S);
    if (R == Shapes.end()) {
      if (NumShapes >= MaxShapes)
        S = {};
      auto [New, IsNew] = Shapes.try_emplace(S);
      NumShapes += IsNew;
      R = New;
    }
    ++R->second.Buckets[timeBucketOf(Nanoseconds)];
    R->second.Nanoseconds += Nanoseconds;
    R->second.Resources = Resources;
  });
  Lost += !Added;
}

void LaunchProfile::addCopy(uint64_t Nanoseconds) {
  std::lock_guard<std::mutex> Guard(Lock);
  ++Copies;
  CopyNanoseconds += Nanoseconds;
}

void LaunchProfile::addLost(uint64_t Launches) {
  std::lock_guard<std::mutex> Guard(Lock);
  Lost += Launches;
}

void LaunchProfile::send(const std::string &Arch) {
  std::lock_guard<std::mutex> Guard(Lock);
  if (Kernels.empty() && !Copies && !Lost)
    return;
  attempt([&] {
    WireWriter W;
    W.str(Arch);
    W.u32(uint32_t(NumShapes));
    for (const auto &[Name, Shapes] : Kernels)
      for (const auto &[Shape, Row] : Shapes) {
        W.str(Name);
        for (uint64_t Value : Shape)
          W.u64(Value);
        W.u32(Row.Resources.Registers);
        W.u32(Row.Resources.StaticShared);
        W.u32(Row.Resources.Local);
        W.u64(Row.Nanoseconds);
        W.u32(uint32_t(Row.Buckets.size()));
        for (auto [Bucket, Launches] : Row.Buckets) {
          W.u32(Bucket);
          W.u64(Launches);
        }
      }
    W.u64(Copies);
    W.u64(CopyNanoseconds);
    W.u64(Lost);
    std::string Answer;
    LauncherLink::get().request(MNEME_WIRE_PROFILE, W, Answer);
  });
}
