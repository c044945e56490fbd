//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Instruments that observe a compilation and write files about it.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_REPLAY_INSTRUMENTS_H
#define LLVM_MNEME_LIB_REPLAY_INSTRUMENTS_H

#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace llvm {
namespace mneme {

class Instruments {
public:
  explicit Instruments(const ReplayPlan &Plan)
      : Plan(Plan), O(Plan.options().Instruments) {}
  ~Instruments();

  // Call each once, in this order, as far as the compilation gets. Errors mean
  // that a file cannot be written.
  Error begin();
  /// Stream for the compiler's remarks; null if none are wanted.
  raw_ostream *remarks() { return RemarksFile.get(); }
  Error seeRecorded(const Module &M);
  Error seeOptimized(const Module &M);
  Error seeGPUCode(const CompileResult &Compiled);
  Error seeHostCode(StringRef Object);
  Error end();

  /// Returns the features for Dataset; null if none are wanted.
  json::Value takeFeatures();

private:
  const ReplayPlan &Plan;
  const InstrumentOptions &O;
  std::unique_ptr<raw_fd_ostream> RemarksFile;
  bool Traces = false;
  json::Object Features;

  Error describe(StringRef Stage, const Module &M);
  Error embed(const Module &M, json::Object &Out);
  Error save(StringRef Name, StringRef Contents);
  Error saveIR(StringRef Name, const Module &M);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_REPLAY_INSTRUMENTS_H
