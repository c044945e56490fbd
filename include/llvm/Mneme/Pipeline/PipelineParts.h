//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The elements of one pipeline, for a search for the essential ones.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_PIPELINE_PIPELINEPARTS_H
#define LLVM_MNEME_PIPELINE_PIPELINEPARTS_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class BitVector;

namespace mneme {

/// A textual pass pipeline with removable parts: elements between commas at any
/// depth, and parameters between semicolons.
class PipelineParts {
public:
  /// Parses LLVM's syntax with the parser of pipeline spaces, without choices.
  /// Returns nothing if \p Text is not a pipeline.
  static std::optional<PipelineParts> parse(StringRef Text);

  /// Return the number of levels, and the parts of one level whose enclosing
  /// parts are kept. Passes come first, one level per depth from the outside
  /// in, then one level for all parameters.
  unsigned numLevels() const;
  std::vector<unsigned> partsOfLevel(unsigned Level) const;

  void setKept(unsigned Part, bool Kept) { Parts[Part].Kept = Kept; }
  /// Returns a copy that keeps those of \p Some that are in \p Kept.
  PipelineParts keep(ArrayRef<unsigned> Some, const BitVector &Kept) const;
  /// Prints the kept parts, without nests that became empty. The result may be
  /// empty.
  std::string print() const;

private:
  struct Part {
    std::string Text; ///< Name of a pass, or a parameter.
    bool IsParameter = false, IsNest = false;
    bool Kept = true;
    int Parent = -1;
    unsigned Depth = 0;
  };
  std::vector<Part> Parts; ///< Parents precede their children.
  class Collector;
  bool isReached(unsigned Part) const;
  std::string printChildren(int Parent) const;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_PIPELINE_PIPELINEPARTS_H
