//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Captures.h"
#include "Shortage.h"

#include <algorithm>

using namespace mneme;

void Captures::note(CUstream S) {
  CUcontext C = Driver ? Driver.currentContext() : nullptr;
  std::lock_guard<std::mutex> Guard(Lock);
  // Without memory the capture stays unknown; then the driver refuses to wait.
  attempt([&] { Streams.push_back({S, C}); });
  Count = Streams.size();
}

void Captures::erase(CUstream S) {
  std::lock_guard<std::mutex> Guard(Lock);
  auto I = std::find_if(Streams.begin(), Streams.end(),
                        [S](const auto &C) { return C.first == S; });
  if (I != Streams.end())
    Streams.erase(I);
  Count = Streams.size();
}

void Captures::forget(CUcontext Gone) {
  std::lock_guard<std::mutex> Guard(Lock);
  Streams.erase(std::remove_if(Streams.begin(), Streams.end(),
                               [&](const auto &C) { return C.second == Gone; }),
                Streams.end());
  Count = Streams.size();
}
