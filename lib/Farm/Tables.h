//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// What was compiled and measured already, and what is on its way.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_FARM_TABLES_H
#define LLVM_MNEME_LIB_FARM_TABLES_H

#include "llvm/Mneme/Farm/Farm.h"
#include <deque>
#include <list>

namespace llvm {
namespace mneme {

struct Job;

/// Code that is compiled once. Two of them can turn out to be one.
struct CodeEntry {
  enum StateTy {
    Wanted, ///< But not being compiled.
    Compiling,
    Made, ///< Or failed. The code may have been dropped since.
  };
  StateTy State = Wanted;
  uint64_t FirstId = 0; ///< Of the request that made it.
  /// When it is made; without Bytes.
  FarmCode Code;
  /// Null when it failed, or was dropped.
  std::shared_ptr<const std::string> Bytes;
  /// Jobs that wait for it, in order.
  std::vector<Job *> Waiting;
  bool Queued = false; ///< One of them is in the compile queue.
  unsigned Users = 0;  ///< Jobs on their way that need Bytes.

private:
  CodeEntry *Same = nullptr;
  std::list<CodeEntry *>::iterator Use;
  friend class CodeTable;
};

class CodeTable {
public:
  explicit CodeTable(uint64_t MaxBytes) : MaxBytes(MaxBytes) {}

  /// That of a compile key; a new one if there is none.
  CodeEntry &get(StringRef Key, bool &IsNew);
  /// What an entry has turned out to be.
  static CodeEntry &resolve(CodeEntry &E);

  /// \p E is being compiled and has come to a hash. \returns the other entry
  /// that has it, which is what \p E is from now on; null if there is none, and
  /// the hash is E's.
  CodeEntry *meet(CodeEntry &E, Duplicate Level, StringRef Hash);
  /// \p E was compiled. \returns the entry that has the code: another one if
  /// that was known.
  CodeEntry &finish(CodeEntry &E, FarmCode Code, uint64_t Id);
  /// Its bytes are needed again.
  void touch(CodeEntry &E);
  /// Drops what was not used for the longest time, beyond the limit.
  void shrink();
  uint64_t bytes() const { return Bytes; }

private:
  uint64_t MaxBytes, Bytes = 0;
  std::deque<CodeEntry> Entries;
  StringMap<CodeEntry *> ByKey;
  StringMap<CodeEntry *> ByHash[3]; ///< IR, assembly, code.
  std::list<CodeEntry *> Uses; ///< Those with bytes, last used first.

  StringMap<CodeEntry *> &hashes(Duplicate Level) {
    return ByHash[static_cast<unsigned>(Level) -
                  static_cast<unsigned>(Duplicate::IR)];
  }
};

/// A launch of some code that is measured once.
struct ResultEntry {
  Job *Leader = nullptr; ///< That measures it; null when it is done.
  std::vector<Job *> Followers;
  bool Done = false;
  Evaluation Result;
  double StopAbove = 0; ///< Of the leader, where it was measured.

  /// Does it tell a request what it wants to know?
  bool answers(const EvaluationRequest &R) const {
    double Wanted = R.stopAbove(Result.Device);
    return Done && (!Result.Stopped || (Wanted > 0 && Wanted <= StopAbove));
  }

private:
  ResultEntry *Same = nullptr;
  friend class ResultTable;
};

class ResultTable {
public:
  /// That of a configuration; null if there is none.
  ResultEntry *find(StringRef Key);
  ResultEntry &add(StringRef Key);
  /// \p E, of request \p R, has that code and launch. \returns the other entry
  /// that has them, which is what \p E is from now on; null if there is none
  /// that answers \p R, or will be done.
  ResultEntry *meet(ResultEntry &E, StringRef CodeKey,
                    const EvaluationRequest &R);
  /// \p E, which is done, has that code and launch, unless another one has
  /// them already.
  void publish(ResultEntry &E, StringRef CodeKey);
  /// What was measured anew is what is known of that code and launch from now
  /// on, if anything was.
  void replace(StringRef CodeKey, const Evaluation &E, double StopAbove);
  /// Drops an entry that is not measured any more.
  void forget(ResultEntry &E);
  static ResultEntry &resolve(ResultEntry &E);

private:
  std::deque<ResultEntry> Entries;
  StringMap<ResultEntry *> ByKey, ByCode;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_FARM_TABLES_H
