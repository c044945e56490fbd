//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef LLVM_MNEME_LIB_BISECT_CHANGESEARCH_H
#define LLVM_MNEME_LIB_BISECT_CHANGESEARCH_H

#include "Questions.h"
#include "llvm/Mneme/Bisect/Bisect.h"

namespace llvm {
namespace mneme {

/// Searches a pass execution's change of the textual IR for the smallest bad
/// part. Works for any pass of the pipeline, including module passes. Parts
/// that are not valid IR are unresolved.
/// \param Bad  a bad configuration that runs only \p E.
/// \returns the change; BlamedChange::Missing is the reason if none was found.
/// Fails if the judge does.
Expected<BlamedChange> searchChange(Questions &Q, const BisectSubject &Subject,
                                    const json::Object &Bad,
                                    const PassExecution &E);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_CHANGESEARCH_H
