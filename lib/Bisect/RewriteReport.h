//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LLVM_MNEME_LIB_BISECT_REWRITEREPORT_H
#define LLVM_MNEME_LIB_BISECT_REWRITEREPORT_H

#include "llvm/Mneme/Bisect/Report.h"
#include "llvm/Mneme/Replay/Plan.h"

namespace llvm {
namespace mneme {

/// Returns the code after the execution of \p W, without and with the rewrite:
/// IR, or assembly for the code generator. PassEvidence::Missing is the reason
/// if there is none.
/// \param Plan    plan of the command line.
/// \param Folder  folder for the code; empty: the code is not kept.
PassEvidence makeRewriteEvidence(const ReplayPlan &Plan,
                                 const BisectOutcome &Out,
                                 const BlamedRewrite &W, StringRef Folder);

json::Array rewritesToJSON(const BisectReport &R);
void printRewrites(raw_ostream &OS, ArrayRef<BlamedRewrite> Rewrites);
json::Value changeToJSON(const std::optional<BlamedChange> &C);
void printRewriteEvidence(raw_ostream &OS, const BisectReport &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_REWRITEREPORT_H
