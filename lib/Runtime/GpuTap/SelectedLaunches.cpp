//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SelectedLaunches.h"
#include "Program.h"
#include "Shortage.h"

using namespace mneme;

bool SelectedLaunches::launch(Target &First, const Launch &L,
                              OriginalCall Original, int &Result) {
  Choice C;
  return choose(First, L, C) &&
         Launches.record(*C.On, *C.Goal, L, C.Id, Original, Result);
}

void SelectedLaunches::count(Target &First, const Launch &L) {
  Choice Unused;
  choose(First, L, Unused);
}

bool SelectedLaunches::mayRecord(Target &First, const Launch &L) {
  Target &T = load(First, L);
  return T.Problem.empty() && Records.mayWant(T.K, L.Shape, L.Args);
}

/// Counts a launch. \returns whether it is to be recorded; \p C then says how.
bool SelectedLaunches::choose(Target &First, const Launch &L, Choice &C) {
  if (!attempt([&] { C.Goal = &load(First, L); })) {
    Records.countUnknown(First.Name, outOfMemory());
    return false;
  }
  Target &T = *C.Goal;
  if (!T.Problem.empty()) {
    Records.countUnknown(T.Name, T.Problem);
    return false;
  }
  if (!Records.wants(T.K, L.Shape, L.Args, C.Id))
    return false;
  // An unusable device is an obstacle, which has a reason.
  C.On = Driver ? Devs.find(Driver.currentContext()) : nullptr;
  std::string Obstacle;
  if (!attempt([&] { Obstacle = findObstacle(T, L, C.On); }))
    Obstacle = outOfMemory();
  if (!Obstacle.empty()) {
    Records.skip(T.K, Obstacle);
    return false;
  }
  return true;
}

Target &SelectedLaunches::load(Target &First, const Launch &L) {
  Gpu *G = Captured.any() ? nullptr : Devs.bind(L.Runtime);
  IndexEntry Entry;
  // The driver chooses the code of an image.
  bool IsOther =
      G && !First.Image &&
      unsigned(G->Arch) != Program::get().deviceArchitecture() &&
      Program::get().find(L.Kernel, MNEME_INDEX_KERNEL, Entry, G->Arch);
  Target &T = IsOther ? Targets.get(Entry, /*Selected=*/true) : First;
  Targets.load(T, L.Kernel);
  return T;
}

/// \returns an empty string, or why a launch cannot be recorded. May throw.
std::string SelectedLaunches::findObstacle(const Target &T, const Launch &L,
                                           const Gpu *G) const {
  if (L.Obstacle)
    return L.Obstacle;
  if (Foreign.isIncomplete())
    return outOfMemory();
  if (!G)
    return Driver.problem().empty() ? "there is no device" : Driver.problem();
  if (!G->isUsable())
    return G->Unusable;
  if (Captured.any() || Driver.isCapturing(LegacyStream))
    return "launched while another stream is captured into a graph";
  return Memory.findObstacle(T, L, *G);
}
