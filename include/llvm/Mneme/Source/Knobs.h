//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The search space that the comments of a source define:
///   // mneme-knob TILE = 8..64:*2
///   // mneme-launch block.x = TILE, grid.x = ceildiv(recorded.threads.x, TILE)
///   // mneme-require TILE * 4 <= 256
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_SOURCE_KNOBS_H
#define LLVM_MNEME_SOURCE_KNOBS_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// A comment, as the option of llvm-mneme-tune that means the same.
struct SourceKnob {
  std::string Option; ///< Without dashes: "define", "block-x", "require".
  std::string Text;
};

/// Returns the knobs in the comments of a source. Fails with a TextError on a
/// comment that starts like a knob but is none.
Expected<std::vector<SourceKnob>> findKnobs(StringRef Source);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_SOURCE_KNOBS_H
