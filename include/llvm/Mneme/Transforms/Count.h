//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The pass mneme-count: makes a kernel count the work that it does, by the
/// kinds of Work.def.
///
///   mneme-count<counters=0x9000>
///
/// There are WorkStripes sets of counters from counters on, each of
/// WorkStripeBytes bytes; a counter has eight bytes. Each block adds to one of
/// the sets, so that blocks seldom wait for each other. The sums are the work.
///
/// Not counted: inline assembly, and functions without a body. The operations
/// are those of the IR: code generators may fuse or split them.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TRANSFORMS_COUNT_H
#define LLVM_MNEME_TRANSFORMS_COUNT_H

#include "llvm/IR/PassManager.h"
#include "llvm/Support/Error.h"
#include <array>
#include <string>

namespace llvm {
class Instruction;
class PassBuilder;
namespace mneme {

/// The rows of Work.def.
enum class WorkKind {
#define WORK(Name, Key, Unit, Description) Name,
#include "llvm/Mneme/Transforms/Work.def"
};
inline constexpr size_t NumWorkKinds =
#define WORK(Name, Key, Unit, Description) 1 +
#include "llvm/Mneme/Transforms/Work.def"
    0;
/// Indexed by WorkKind.
using WorkCounts = std::array<uint64_t, NumWorkKinds>;

inline constexpr uint64_t WorkStripes = 256, WorkStripeBytes = 64;
static_assert(NumWorkKinds * 8 <= WorkStripeBytes);

/// Returns the work of one execution of \p I, per thread.
WorkCounts countWork(const Instruction &I);

/// Counts the work of all functions with a body in the module.
class CountPass : public PassInfoMixin<CountPass> {
public:
  explicit CountPass(uint64_t Counters) : Counters(Counters) {}
  PreservedAnalyses run(Module &M, ModuleAnalysisManager &MAM);
  void printPipeline(raw_ostream &OS,
                     function_ref<StringRef(StringRef)> MapClassName2PassName);
  static bool isRequired() { return true; }

private:
  uint64_t Counters;
};

/// Returns the pass as an element of a pipeline.
std::string printCountPass(uint64_t Counters);

/// Registers "mneme-count" in \p PB.
void registerCountPass(PassBuilder &PB);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TRANSFORMS_COUNT_H
