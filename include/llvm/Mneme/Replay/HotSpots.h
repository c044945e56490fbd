//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Where a launch spends its time: samples of program counters, by instruction
/// of the optimized IR. docs/Counters.rst describes the use.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPLAY_HOTSPOTS_H
#define LLVM_MNEME_REPLAY_HOTSPOTS_H

#include "llvm/Mneme/Device/GPUDevice.h"
#include "llvm/Support/JSON.h"
#include <map>

namespace llvm {
class Module;
namespace mneme {

/// An instruction of the optimized IR.
struct NumberedInstruction {
  std::string Text;
  std::string Function;
  /// "a.cu:12:7", or "b.h:3:5 @ a.cu:12:7" if it was inlined; empty: it has no
  /// debug location.
  std::string Source;
};

/// Returns the instructions by their numbers (Transforms/Number.h); the first,
/// number 0, is empty. Removes their metadata.
std::vector<NumberedInstruction> listInstructions(Module &M);

/// An instruction with samples.
struct HotInstruction : NumberedInstruction {
  uint64_t Samples = 0;
  std::map<std::string, uint64_t> Stalls; ///< Samples by reason.
  /// Machine instructions with samples: offsets in their function.
  std::vector<uint64_t> Offsets;
};

struct HotSpots {
  /// Those with most samples come first. Machine code that belongs to no
  /// instruction has an empty text.
  std::vector<HotInstruction> Instructions;
  uint64_t Samples = 0, Dropped = 0;
  unsigned Launches = 0;
  uint64_t PeriodCycles = 0;
  /// False if the line tables changed the code, which is then not that of the
  /// measured times.
  bool SameCode = true;
  std::string Problem; ///< Why there are no samples, with a fix.
};

/// Adds the samples of \p Reading to the instructions of their lines.
HotSpots findHotSpots(ArrayRef<NumberedInstruction> Instructions,
                      const PCReading &Reading);

/// Prints the first \p Max instructions.
void print(const HotSpots &H, unsigned Max, raw_ostream &OS);

json::Value toJSON(const HotSpots &H);
bool fromJSON(const json::Value &V, HotInstruction &I, json::Path P);
bool fromJSON(const json::Value &V, HotSpots &H, json::Path P);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPLAY_HOTSPOTS_H
