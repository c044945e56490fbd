//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What a study came to, for people.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_TUNE_SUMMARY_H
#define LLVM_MNEME_TUNE_SUMMARY_H

#include "llvm/Mneme/Tune/Export.h"

namespace llvm {
namespace mneme {

/// For programs: the kernel, how it was searched, and the outcome.
json::Value makeSummary(const StudyRecord &R);
void printSummary(raw_ostream &OS, const StudyRecord &R);
/// "block.x=256 passes='default<O3>'", in order of the keys; "as recorded" if
/// there is none.
std::string formatConfig(const json::Object &Config);
/// That no point was left to try, and why; empty: some were left.
std::string describeExhaustion(const StudyRecord &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_TUNE_SUMMARY_H
