//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What looks at one compilation while it goes on, and writes that down.
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

  // Call each once, in this order, as far as the compilation comes. Errors are
  // files that cannot be written.
  Error begin();
  /// Where the compiler's remarks go; null where nobody wants any.
  raw_ostream *remarks() { return RemarksFile.get(); }
  Error seeRecorded(const Module &M);
  Error seeOptimized(const Module &M);
  Error seeGPUCode(const CompileResult &Compiled);
  Error seeHostCode(StringRef Object);
  Error end();

  /// What Dataset wants to know; null where it wants nothing.
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
