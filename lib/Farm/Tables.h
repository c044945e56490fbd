//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Tables of code and results, both complete and in progress.
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

/// Code that is compiled once. Two entries can turn out to be the same code.
struct CodeEntry {
  enum StateTy {
    Wanted, ///< But not being compiled.
    Compiling,
    Made, ///< Or failed. The code may have been dropped since.
  };
  StateTy State = Wanted;
  uint64_t FirstId = 0; ///< Of the request that made it.
  /// Valid if Made; without Bytes.
  FarmCode Code;
  /// Null if the compilation failed, or if the code was dropped.
  std::shared_ptr<const std::string> Bytes;
  /// Jobs that wait for it, in order.
  std::vector<Job *> Waiting;
  bool Queued = false; ///< The entry is in the compile queue.
  unsigned Users = 0;  ///< Jobs under way that need Bytes.

private:
  CodeEntry *Same = nullptr;
  std::list<CodeEntry *>::iterator Use;
  friend class CodeTable;
};

class CodeTable {
public:
  explicit CodeTable(uint64_t MaxBytes) : MaxBytes(MaxBytes) {}

  /// \returns the entry of a compile key, a new one if there is none.
  CodeEntry &get(StringRef Key, bool &IsNew);
  /// \returns the entry that \p E has turned out to be.
  static CodeEntry &resolve(CodeEntry &E);

  /// Adds a hash of \p E, which is being compiled. \returns the other entry
  /// with the hash, to which \p E resolves from now on, or null if the hash is
  /// new.
  CodeEntry *meet(CodeEntry &E, Duplicate Level, StringRef Hash);
  /// Stores the compiled code of \p E. \returns the entry of the code, which is
  /// another one if the code was known.
  CodeEntry &finish(CodeEntry &E, FarmCode Code, uint64_t Id);
  /// Marks the bytes of \p E as just used.
  void touch(CodeEntry &E);
  /// Drops the least recently used code beyond the limit.
  void shrink();
  uint64_t bytes() const { return Bytes; }

private:
  uint64_t MaxBytes, Bytes = 0;
  std::deque<CodeEntry> Entries;
  StringMap<CodeEntry *> ByKey;
  StringMap<CodeEntry *> ByHash[3]; ///< IR, assembly, code.
  std::list<CodeEntry *> Uses; ///< Entries with bytes, last used first.

  StringMap<CodeEntry *> &hashes(Duplicate Level) {
    return ByHash[static_cast<unsigned>(Level) -
                  static_cast<unsigned>(Duplicate::IR)];
  }
};

/// A launch of some code, which is measured once.
struct ResultEntry {
  Job *Leader = nullptr; ///< Measures it; null when it is done.
  std::vector<Job *> Followers;
  bool Done = false;
  Evaluation Result;
  double StopAbove = 0; ///< Of the leader, where it was measured.

  /// \returns whether the result is sufficient for a request.
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
  /// \returns the entry of a configuration, or null if there is none.
  ResultEntry *find(StringRef Key);
  ResultEntry &add(StringRef Key);
  /// Assigns code and launch to \p E, of request \p R. \returns the other entry
  /// that has them, to which \p E resolves from now on. Returns null if no
  /// other entry answers \p R or will be done.
  ResultEntry *meet(ResultEntry &E, StringRef CodeKey,
                    const EvaluationRequest &R);
  /// Makes \p E, which is done, the entry of that code and launch, unless there
  /// is one already.
  void publish(ResultEntry &E, StringRef CodeKey);
  /// Replaces the result of that code and launch by a new measurement, if there
  /// is a result.
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
