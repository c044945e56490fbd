//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-trace: a kernel notes which bytes of memory it writes, and
/// which of them it reads before it has written them.
///
///   mneme-trace<range=0x1000:0x1100:0x9000;read-first=0x100;control=0xa000>
///
/// range=BEGIN:END:MARKS, any number of them, in order: each byte of [BEGIN,
/// END) has a mark, a byte of its own, from MARKS on. It is 0 as long as the
/// kernel has not written it, and then tells which block did, in 1 to 255. The
/// byte at read-first behind the mark becomes 1 when the kernel reads what it has
/// not written, or another block has. control=ADDRESS: nothing is noted while the
/// byte there is not 0.
///
/// limit=NANOSECONDS, NVPTX only: when the kernel has run for that long, the byte
/// at control becomes 1, and the notes are not complete. The eight bytes at
/// control + 8 are then the time of the first note; they start as 0.
///
/// Not traced: accesses by inline assembly and by intrinsics other than memcpy,
/// memmove, memset and those for loads and atomics; memory that is local or
/// shared by its type.
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

/// Addresses are the device's.
struct TraceRange {
  uint64_t Begin = 0, End = 0; ///< Of the bytes.
  uint64_t Marks = 0;          ///< Of the mark of the first.
};

struct TraceOptions {
  std::vector<TraceRange> Ranges; ///< By address; they do not overlap.
  uint64_t ReadFirst = 0;         ///< From one mark of a byte to the other.
  uint64_t Control = 0;
  uint64_t Limit = 0; ///< Nanoseconds; 0: none.
};

/// Parses the text between the angle brackets.
Expected<TraceOptions> parseTraceOptions(StringRef Text);
/// The pass as an element of a pipeline.
std::string toString(const TraceOptions &Options);

/// Traces the functions of the module that have a body.
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

/// Makes "mneme-trace" known to \p PB.
void registerTracePass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_TRACE_H
