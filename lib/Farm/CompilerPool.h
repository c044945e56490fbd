//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The compile processes of a coordinator.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_COMPILERPOOL_H
#define LLVM_MNEME_LIB_FARM_COMPILERPOOL_H

#include "JobTable.h"
#include "WorkerProcess.h"

namespace llvm {
namespace mneme {

class CompilerPool {
public:
  CompilerPool(FarmContext &F, JobTable &Jobs) : F(F), Jobs(Jobs) {}

  /// Starts compilations of the queue while processes are free.
  void dispatch();
  /// Takes messages.
  void serve(ArrayRef<pollfd> Waits);
  /// Kills processes past their limits and replaces lost ones.
  void checkTimes();
  double untilNextTime(double Seconds) const;
  /// Suspends all processes, and their time limits.
  void pause(bool Stop);
  void forEach(function_ref<void(WorkerProcess &)> Fn) const {
    for (auto &C : Compilers)
      Fn(*C);
  }

private:
  using Time = WorkerProcess::Time;
  struct Compiler : WorkerProcess {
    bool Busy = false;
    std::optional<std::string> Serves; ///< FarmKeys::Process; unset: nothing.
    uint64_t Owner = 0;        ///< The job whose configuration is compiled.
    uint64_t RequestId = 0;    ///< Of the owner.
    CodeEntry *Code = nullptr; ///< Null if found to be another entry's.
    unsigned Asked = 0;        ///< Levels, one bit each.
    Time Begin;
  };

  FarmContext &F;
  JobTable &Jobs;
  std::vector<std::unique_ptr<Compiler>> Compilers;
  std::optional<Time> Paused; ///< When they were suspended.
  unsigned StartFailures = 0;

  Compiler *getCompiler(StringRef Serves);
  void startCompile(Compiler &C, CodeEntry &Code);
  Error take(Compiler &C, message::CompileStage M);
  Error take(Compiler &C, message::Ask M);
  Error take(Compiler &C, message::Compiled M);
  Error take(Compiler &C, message::Invalid M);
  Error take(Compiler &C, message::Fatal M);
  Error take(Compiler &C, message::Shortage M);
  void finishCompile(Compiler &C, FarmCode Code);
  void giveUp(CodeEntry &Code, StringRef Why);
  void end(Compiler &C);
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_COMPILERPOOL_H
