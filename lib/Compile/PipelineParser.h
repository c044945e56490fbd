//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// A PassBuilder that only parses, so that users need not include its headers.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_COMPILE_PIPELINEPARSER_H
#define LLVM_MNEME_LIB_COMPILE_PIPELINEPARSER_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include <memory>
#include <string>
#include <vector>

namespace llvm {
class TargetMachine;
namespace mneme {

class PipelineParser {
public:
  /// Fails if a plugin cannot be loaded.
  static Expected<PipelineParser> create(TargetMachine &TM,
                                         ArrayRef<std::string> Plugins);
  PipelineParser(PipelineParser &&);
  ~PipelineParser();

  /// Errors are LLVM's own.
  Error parse(StringRef Passes);
  /// Prints a valid pipeline as LLVM does, with all adaptors.
  std::string print(StringRef Passes);
  /// Returns all passes that LLVM lists, without parameters, each once; no
  /// adaptors.
  std::vector<std::string> passNames();

private:
  struct Impl;
  std::unique_ptr<Impl> I;
  explicit PipelineParser(std::unique_ptr<Impl> I);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_COMPILE_PIPELINEPARSER_H
