//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What shows how a compilation came to its result, without changing that.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_INSTRUMENTS_H
#define LLVM_MNEME_COMPILE_INSTRUMENTS_H

#include "llvm/Mneme/Compile/LLVMOptions.h"
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Files are empty where nothing is asked for.
struct InstrumentOptions {
  /// Of LLVM's own options those that print: -print-changed, -print-after,
  /// -time-passes. Set in the pipeline and in the GPU's code generator alone.
  std::vector<LLVMOption> Printing;
  bool VerifyEach = false; ///< Verify the IR after each pass.
  std::string TimeTrace;   ///< For chrome://tracing, of the whole compilation.
  std::string SaveTemps;   ///< A folder for what lies between the stages.
  std::string Remarks;     ///< Optimization remarks, YAML.
  std::string RemarksFilter; ///< A regular expression for names of passes.
  std::string Dataset;       ///< Gets one line of JSON a replay.
  std::string Vocabulary;    ///< Of IR2Vec, for Dataset.

  bool operator==(const InstrumentOptions &O) const;
  bool empty() const { return *this == InstrumentOptions(); }
  /// Does anybody read the IR, and so the names of its values?
  bool showsIR() const { return !Printing.empty() || !SaveTemps.empty(); }
};

inline bool InstrumentOptions::operator==(const InstrumentOptions &O) const {
  return Printing == O.Printing && VerifyEach == O.VerifyEach &&
         TimeTrace == O.TimeTrace && SaveTemps == O.SaveTemps &&
         Remarks == O.Remarks && RemarksFilter == O.RemarksFilter &&
         Dataset == O.Dataset && Vocabulary == O.Vocabulary;
}

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_INSTRUMENTS_H
