//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Programs that propose versions: lines of JSON (docs/Evolve.rst).
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_EVOLVE_PROPOSER_H
#define LLVM_MNEME_LIB_EVOLVE_PROPOSER_H

#include "Archive.h"
#include "llvm/Mneme/Process/LineProcess.h"

namespace llvm {
namespace mneme {

/// Replaces each search text, which must occur exactly once, in order.
Expected<std::string> applySearchReplace(StringRef Version,
                                         const json::Array &Edits);
/// Parses "<<<<<<< SEARCH", "=======" and ">>>>>>> REPLACE" lines to edits of
/// applySearchReplace().
Expected<json::Array> parseSearchReplace(StringRef Diff);

struct Proposal {
  std::string Text, Description;
  double Cost = 0;
};

class Proposer {
public:
  /// \param Stop  Returns true to stop waiting for the program.
  static Expected<std::unique_ptr<Proposer>>
  start(StringRef Command, double Seconds, json::Object Greeting,
        std::function<bool()> Stop);

  /// Asks for a version of \p Parent. Unset: the program has no more, or was
  /// stopped. An answer that is no version is told to the program, up to three
  /// times.
  Expected<std::optional<Proposal>>
  ask(uint64_t Number, const EvolvedCandidate &Parent,
      ArrayRef<const EvolvedCandidate *> Inspirations);

private:
  Proposer(StringRef Command, std::unique_ptr<LineProcess> Program,
           std::function<bool()> Stop)
      : Command(Command), Program(std::move(Program)), Stop(std::move(Stop)) {}
  Expected<Proposal> read(const json::Object &Answer, StringRef Parent) const;

  std::string Command;
  std::unique_ptr<LineProcess> Program;
  std::function<bool()> Stop;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_EVOLVE_PROPOSER_H
