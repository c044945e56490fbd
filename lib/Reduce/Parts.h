//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Parts of the reducer: command lines, reduced recordings, the report.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REDUCE_PARTS_H
#define LLVM_MNEME_LIB_REDUCE_PARTS_H

#include "llvm/Mneme/Reduce/Reducer.h"

namespace llvm {
namespace mneme {

/// Folder of the reproducer in a report.
inline constexpr StringLiteral ReproducerFolder = "reproducer";

/// Returns a replay's options for the command line of llvm-mneme-replay,
/// without those of the launch and of files.
std::vector<std::string> makeArguments(const ReplayOptions &O);
/// Returns the value of --good that turns \p Base into \p Side. Fails if
/// \p Base has a setting that \p Side lacks.
Expected<std::string> makeSideText(const ReplayOptions &Side,
                                   const ReplayOptions &Base);
/// Writes the plan's launch as a recording of its own, with \p Expectation as
/// its outcome. If set, \p Touched has the addresses of the pages (of 4096
/// bytes) to keep: other pages become zero, and regions are cut to their kept
/// pages.
Expected<RecordedKernel>
writeReduced(const ReplayPlan &Plan, StringRef Dir,
             ArrayRef<MemoryRange> Expectation,
             std::optional<ArrayRef<uint64_t>> Touched);

/// Adapts the numbers of \p Old's buffers in \p O to those left in \p New.
void renumberBuffers(ReplayOptions &O, const ReplayPlan &Old,
                     const ReplayPlan &New);

/// Drops declarations without a use, debug information, and metadata about the
/// producer. \returns true if there were any.
bool dropUnused(Module &M);
/// Drops attributes with a name in quotes that no GPU's code generator reads.
/// \returns true if there were any.
bool dropStringAttributes(Module &M);

ReducedSize measureSize(const ReplayPlan &Plan);

/// Writes README.md, reduced.ll, the scripts, and the results of both sides.
/// The recording must exist.
Error writeReport(const ReplayPlan &Bad, const ReduceOptions &O,
                  const ReduceOutcome &Outcome);

/// Prints the IR \p Input in \p Folder, if it is short, and the difference of
/// good.ll and bad.ll, as Markdown.
void printCode(raw_ostream &OS, StringRef Folder, StringRef Input);
/// Prints the versions of Mneme, of the kernel's compiler and of the device
/// that
/// \p R is of.
void printVersions(raw_ostream &OS, const ReplayPlan &Plan,
                   const ReplayResult &R);
/// Returns the verdict with its reason.
std::string describeResult(const ReplayResult &R);

/// Returns the command that tests IR, without --ir. \p Tool and \p Recording
/// are the names to use in it.
Expected<std::vector<std::string>> makeTestCommand(const ReplayPlan &Bad,
                                                   const ReduceOptions &O,
                                                   StringRef Tool,
                                                   StringRef Recording);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REDUCE_PARTS_H
