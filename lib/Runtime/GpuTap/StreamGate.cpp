//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamGate.h"

using namespace mneme;

// The lines of calls with an unknown stream and of the legacy stream; streams
// are distributed over the other lines.
static constexpr unsigned AnyLine = 0, LegacyLine = 1, FirstLine = 2;

/// The line for a call that works in \p S.
unsigned StreamGate::lineOf(CUstream S) const {
  if (WaitsForAll)
    return Gate::ownLine();
  if (S == AnyStream)
    return AnyLine;
  if (!S || S == LegacyStream)
    return LegacyLine;
  uint64_t Key =
      S == ThreadStream ? Gate::ownLine() : reinterpret_cast<uint64_t>(S) >> 4;
  Key ^= Key >> 8;
  return FirstLine + Key % (Gate::NumLines - FirstLine);
}

/// The lines to close while a launch in \p S is recorded.
Gate::Lines StreamGate::linesOf(const CudaDriver &Driver, CUstream S) const {
  constexpr unsigned NonBlocking = 1; // CU_STREAM_NON_BLOCKING
  unsigned Flags = 0;
  if (WaitsForAll || !S || S == LegacyStream)
    return Gate::AllLines;
  Gate::Lines Which = 1u << AnyLine | 1u << lineOf(S);
  if (Driver.StreamGetFlags(S, &Flags) || !(Flags & NonBlocking))
    Which |= 1u << LegacyLine;
  return Which;
}
