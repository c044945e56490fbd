//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Facts of the recorded launch that expressions can use (Recorded.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_STUDY_RECORDED_H
#define LLVM_MNEME_STUDY_RECORDED_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Study/Expr.h"
#include "llvm/Mneme/Support/Launch.h"
#include <optional>

namespace llvm {
namespace mneme {

struct RecordedInstance;
struct RecordedKernel;

/// The values of Recorded.def by name.
using RecordedFacts = StringMap<Value>;

/// Returns the type of a fact such as "block.x"; unset if there is none.
std::optional<ValueType> getRecordedType(StringRef Name);
/// Returns the names in Recorded.def, in that order.
ArrayRef<StringLiteral> getRecordedNames();

/// Returns all facts of a launch. \p OptLevel is "0" to "3", "s" or "z";
/// \p SharedMem is in bytes.
RecordedFacts makeRecordedFacts(Dim3 Grid, Dim3 Block, uint64_t SharedMem,
                                bool Cooperative, StringRef OptLevel,
                                StringRef Arch, StringRef Kernel);
RecordedFacts makeRecordedFacts(const RecordedKernel &K,
                                const RecordedInstance &I);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_STUDY_RECORDED_H
