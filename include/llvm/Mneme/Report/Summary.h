//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Prints the outcome of a study.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_REPORT_SUMMARY_H
#define LLVM_MNEME_REPORT_SUMMARY_H

#include "llvm/Mneme/Report/Export.h"

namespace llvm {
namespace mneme {

/// Returns a machine-readable summary: the kernel, the search and the outcome.
json::Value makeSummary(const StudyRecord &R);
void printSummary(raw_ostream &OS, const StudyRecord &R);
/// Explains why no point was left to try; empty if some were left.
std::string describeExhaustion(const StudyRecord &R);
/// Returns why no trial was tested again, as a clause.
std::string describeUntested(const StudyRecord &R);
/// Describes the winner's speed-up with the other state of the cache, as a
/// clause; empty if it was not measured.
std::string describeOtherCache(const FinalTestResult &F);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_REPORT_SUMMARY_H
