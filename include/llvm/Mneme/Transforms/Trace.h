//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-trace: makes a kernel record which bytes of memory it writes,
/// and which of these it reads before writing them.
///
///   mneme-trace<range=0x1000:0x1100:0x9000;read-first=0x100;control=0xa000>
///
/// range=BEGIN:END:MARKS may be repeated, in ascending order. Each byte of
/// [BEGIN, END) has a mark of one byte, starting at MARKS. The mark is 0 until
/// the kernel writes the byte, and then identifies the writing block by 1 to
/// 255. The byte at offset read-first from the mark becomes nonzero if the
/// kernel reads the byte before writing it (bit 0), or after another block has
/// written it (bit 1).
/// control=ADDRESS: nothing is recorded while the byte at ADDRESS is nonzero.
///
/// limit=NANOSECONDS, NVPTX only: after this run time of the kernel, the byte
/// at control becomes 1, and the trace is incomplete. The eight bytes at
/// control + 8 receive the time of the first record; they must be initialized
/// to 0.
///
/// Not traced: local and shared memory, and accesses by inline assembly and by
/// intrinsics other than memcpy, memmove, memset and those for loads and
/// atomics.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_TRACE_H
#define LLVM_MNEME_TRANSFORMS_TRACE_H

#include "llvm/IR/PassManager.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
class PassBuilder;
namespace mneme {

/// Addresses are device addresses.
struct TraceRange {
  uint64_t Begin = 0, End = 0; ///< Traced bytes.
  uint64_t Marks = 0;          ///< Mark of the first byte.
};

struct TraceOptions {
  std::vector<TraceRange> Ranges; ///< Sorted by address, disjoint.
  uint64_t ReadFirst = 0;         ///< Offset from the first to the second mark
                                  ///< of a byte.
  uint64_t Control = 0;
  uint64_t Limit = 0; ///< Nanoseconds; 0: no limit.
};

/// Parses the text between the angle brackets.
Expected<TraceOptions> parseTraceOptions(StringRef Text);
/// Returns the pass as an element of a pipeline.
std::string toString(const TraceOptions &Options);

/// Traces the functions with a body in the module.
class TracePass : public PassInfoMixin<TracePass> {
public:
  explicit TracePass(TraceOptions Options) : Options(std::move(Options)) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  TraceOptions Options;
};

/// Registers "mneme-trace" in \p PB.
void registerTracePass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_TRACE_H
