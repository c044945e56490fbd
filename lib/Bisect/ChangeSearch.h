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

/// Searches for the smallest part of what a pass execution changes in the text
/// of the IR that is bad: works for passes without debug counters, and on
/// modules. Parts that are no valid IR decide nothing.
/// \param Bad  a configuration in which only \p E runs, and which is bad.
/// \returns a BlamedChange whose Missing may say why there is none. Error: the
/// judge's.
Expected<BlamedChange> searchChange(Questions &Q, const BisectSubject &Subject,
                                    const json::Object &Bad,
                                    const PassExecution &E);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_CHANGESEARCH_H
