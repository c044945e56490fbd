//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Finds the first bad compiler with one recording: among installed builds of
/// LLVM or ptxas, or among the commits of a git checkout of LLVM.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_BISECT_COMPILERSEARCH_H
#define LLVM_MNEME_BISECT_COMPILERSEARCH_H

#include "llvm/Mneme/Bisect/ReplayBisect.h"

namespace llvm {
namespace mneme {

enum class CompilerKind {
  LLVM, ///< opt (or clang) and llc.
  Ptxas,
};
StringRef getCompilerKindName(CompilerKind K); ///< "llvm", "ptxas"

struct CompilerSearchOptions {
  CompilerKind Kind = CompilerKind::LLVM;
  /// Folders or programs; revisions if there is a checkout.
  std::string Good, Bad;
  /// Globs of builds, or folders that hold builds. Empty: the folders next to
  /// the good and the bad one.
  std::vector<std::string> Builds;
  /// A git checkout of LLVM; empty: installed builds.
  std::string Checkout;
  /// Shell command that builds in the checkout. Empty: ninja.
  std::string BuildCommand;
  /// Folder of the built tools, relative to the checkout.
  std::string BuiltTools = "build/bin";
};

/// A compiler and its test.
struct CompilerTest {
  std::string Name;    ///< A path, or the hash of a commit.
  std::string Version; ///< "22.1.8"; empty if unknown.
  std::string Subject; ///< Of the commit.
  json::Object Config; ///< The settings that choose the tools.
  /// Unset: not tested. Unresolved: skipped.
  std::optional<Answer> Result;
  std::string Reason; ///< The failure, or why it was skipped.
};

/// The result of a search over compilers.
struct CompilerReport {
  enum EndKind {
    FirstBad,      ///< Candidates has one element.
    Range,         ///< Skipped compilers separate the good from the bad one.
    NothingToFind, ///< The bad compiler is not bad.
    NotFound,      ///< Reason has the details.
  };
  EndKind End = NotFound;
  std::string Reason;
  CompilerKind Kind = CompilerKind::LLVM;
  std::string Kernel, StaticHash, RecordId, Device;
  std::string Checkout; ///< Empty: installed builds.
  Criterion What;
  Judgement Good, Bad;
  /// Installed builds in the order of versions, from good to bad; commits in
  /// the order of their tests.
  std::vector<CompilerTest> Tests;
  /// Names. Any of Candidates may be the first bad compiler.
  std::string LastGood;
  std::vector<std::string> Candidates;
  bool Random = false;
  double Rate = 1;
  unsigned Repeats = 1;
  JudgeCounts Counts;
  std::vector<BisectCommand> Commands;
  std::vector<std::string> Notes;
  double Seconds = 0;

  const CompilerTest *find(StringRef Name) const;
  /// Returns true if all commands that ran showed the expected result.
  bool isConfirmed() const;
};

/// Runs the search. Call it in a process with one thread that has not used a
/// GPU. The checkout gets its former HEAD back, also after errors, SIGINT,
/// SIGTERM and SIGHUP; a signal then ends the process.
/// Fails if there is no such compiler, the good one is not good, or as
/// bisectReplay() does. ReplayBisectOptions::Sides is not used.
Expected<CompilerReport> searchCompilers(const ReplayPlan &Plan,
                                         const ReplayBisectOptions &O,
                                         const CompilerSearchOptions &S);

json::Value toJSON(const CompilerReport &R);
void printReport(raw_ostream &OS, const CompilerReport &R);

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_BISECT_COMPILERSEARCH_H
