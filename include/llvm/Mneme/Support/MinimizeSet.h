//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Delta debugging: a minimal set that still passes a test.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SUPPORT_MINIMIZESET_H
#define LLVM_MNEME_SUPPORT_MINIMIZESET_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/Error.h"
#include <optional>

namespace llvm {
namespace mneme {

/// Returns the index of the first set that passes; unset if none does. A set
/// has one bit per element; set bits are kept.
using FirstPassingFn =
    function_ref<Expected<std::optional<size_t>>(ArrayRef<BitVector>)>;

/// Minimizes the set of all \p Size elements, which is assumed to pass. Every
/// element of the result is necessary to pass. Returns errors of \p Test.
Expected<BitVector> minimizeSet(size_t Size, FirstPassingFn Test);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SUPPORT_MINIMIZESET_H
