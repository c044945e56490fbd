//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What is said on command lines, and what of a recording is kept.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REDUCE_PARTS_H
#define LLVM_MNEME_LIB_REDUCE_PARTS_H

#include "llvm/Mneme/Reduce/Reducer.h"

namespace llvm {
namespace mneme {

/// A replay's options on the command line of llvm-mneme-replay, without those
/// of the launch and of files.
std::vector<std::string> makeArguments(const ReplayOptions &O);
/// Of \p Side, what --good needs to make it of \p Base. Error: \p Base
/// has a setting that it has not.
Expected<std::string> makeSideText(const ReplayOptions &Side,
                                   const ReplayOptions &Base);
/// Writes the plan's launch as a recording of one, with \p Expectation as what
/// it is to change. \p Touched, where it is known, says which pages (of 4096
/// bytes) are kept: the others become zero, and regions end with them.
Expected<RecordedKernel>
writeReduced(const ReplayPlan &Plan, StringRef Dir,
             ArrayRef<MemoryRange> Expectation,
             std::optional<ArrayRef<uint64_t>> Touched);

/// Makes what \p O says of buffers of \p Old fit those that are left in \p New.
void renumberBuffers(ReplayOptions &O, const ReplayPlan &Old,
                     const ReplayPlan &New);

ReducedSize measureSize(const ReplayPlan &Plan);

/// README.md, reduced.ll, the scripts, and what the two sides say. The
/// recording is there.
Error writeReport(const ReplayPlan &Bad, const ReduceOptions &O,
                  const ReduceOutcome &Outcome);

/// The command that tests IR: all but --ir. \p Recording as it is to be called
/// there.
Expected<std::vector<std::string>> makeTestCommand(const ReplayPlan &Bad,
                                                   const ReduceOptions &O,
                                                   StringRef Tool,
                                                   StringRef Recording);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REDUCE_PARTS_H
