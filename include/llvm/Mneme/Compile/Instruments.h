//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Options that show how a compilation works without changing its result.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_INSTRUMENTS_H
#define LLVM_MNEME_COMPILE_INSTRUMENTS_H

#include "llvm/Mneme/Compile/LLVMOptions.h"
#include <functional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Empty file names disable the output.
struct InstrumentOptions {
  /// LLVM options that print: -print-changed, -print-after, -time-passes. Set
  /// only for the pipeline and the GPU code generator.
  std::vector<LLVMOption> Printing;
  bool VerifyEach = false;   ///< Verify the IR after each pass.
  std::string TimeTrace;     ///< File for chrome://tracing, covers the whole
                             ///< compilation.
  std::string SaveTemps;     ///< Folder for the intermediate files.
  std::string Remarks;       ///< Optimization remarks, YAML.
  std::string RemarksFilter; ///< Regular expression for pass names.
  std::string Dataset;       ///< File that receives one line of JSON per
                             ///< replay.
  std::string Vocabulary;    ///< Vocabulary of IR2Vec, for Dataset.
  /// Called with a message for each file of SaveTemps that cannot be created.
  std::function<void(const Twine &)> Note = [](const Twine &) {};

  bool operator==(const InstrumentOptions &O) const;
  bool empty() const { return *this == InstrumentOptions(); }
  /// Returns true if the output shows the IR, and thus the names of values.
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
