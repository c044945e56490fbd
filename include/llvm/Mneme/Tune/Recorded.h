//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What an expression can say of the recorded launch (Recorded.def).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_RECORDED_H
#define LLVM_MNEME_TUNE_RECORDED_H

#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Support/Launch.h"
#include "llvm/Mneme/Tune/Expr.h"
#include <optional>

namespace llvm {
namespace mneme {

/// The values of Recorded.def by name.
using RecordedFacts = StringMap<Value>;

/// The type of a fact ("block.x"); unset: there is no such fact.
std::optional<ValueType> getRecordedType(StringRef Name);
/// The names of Recorded.def, in its order.
ArrayRef<StringLiteral> getRecordedNames();

/// All facts of a launch. \p OptLevel: "0" to "3", "s", "z". \p SharedMem:
/// bytes.
RecordedFacts makeRecordedFacts(Dim3 Grid, Dim3 Block, uint64_t SharedMem,
                                bool Cooperative, StringRef OptLevel,
                                StringRef Arch, StringRef Kernel);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_RECORDED_H
