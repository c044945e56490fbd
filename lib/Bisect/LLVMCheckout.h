//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Drives `git bisect` in a checkout of LLVM and builds its commits.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_BISECT_LLVMCHECKOUT_H
#define LLVM_MNEME_LIB_BISECT_LLVMCHECKOUT_H

#include "llvm/Mneme/Bisect/SubsetSearch.h"
#include "llvm/Mneme/Support/Folders.h"
#include <functional>
#include <memory>

namespace llvm {
namespace mneme {

/// Notes SIGINT, SIGTERM and SIGHUP during its lifetime. Its destructor
/// restores the former handlers and raises the noted signal again.
class SignalWatch {
public:
  SignalWatch();
  ~SignalWatch();
  SignalWatch(const SignalWatch &) = delete;
  SignalWatch &operator=(const SignalWatch &) = delete;

  /// Fails if a signal has arrived.
  static Error check();

private:
  static constexpr int NumSignals = 3;
  struct State;
  std::unique_ptr<State> Old;
};

struct CheckoutCommit {
  std::string Hash, Subject, Author, Date;

  std::string shortHash() const { return Hash.substr(0, 12); }
};

struct LLVMCheckoutOptions {
  std::string Folder;
  std::string BuildCommand; ///< Shell command, run in the top folder.
  std::string BuiltTools;   ///< Folder relative to the top folder.
  /// Folder for copies of the built tools; empty: a temporary one.
  std::string Copies;
  std::function<void(StringRef)> Say;
};

/// A checkout during a bisection. The destructor restores its former HEAD.
class LLVMCheckout {
public:
  /// Fails if the folder is not a git checkout, has modified files, or a
  /// bisection is in progress.
  static Expected<std::unique_ptr<LLVMCheckout>> open(LLVMCheckoutOptions O);
  ~LLVMCheckout();

  StringRef folder() const { return O.Folder; }
  StringRef buildCommand() const { return O.BuildCommand; }
  bool keepsCopies() const { return !O.Copies.empty(); }
  Expected<CheckoutCommit> resolve(StringRef Revision) const;

  /// Starts `git bisect`. The destructor ends it.
  Error start();
  Error checkOut(const CheckoutCommit &C) const;
  /// Builds HEAD, which is \p C, and copies its tools. \returns the folder of
  /// the copies. Fails with a BuildError if the build fails.
  Expected<std::string> build(const CheckoutCommit &C);
  /// Deletes the copies of a commit.
  void discard(const CheckoutCommit &C) const;

  /// State of `git bisect`.
  enum class Progress {
    Next,    ///< HEAD must be tested next.
    Found,   ///< The commit marked bad last is the first bad one.
    Skipped, ///< Only skipped commits are left to test.
  };
  Expected<Progress> mark(const CheckoutCommit &C, Answer A);
  /// Returns the commits that may be the first bad one, newest first.
  Expected<std::vector<CheckoutCommit>> candidates() const;

private:
  LLVMCheckoutOptions O;
  PrivateFolder Temporary;
  bool HasStarted = false;

  Expected<std::string> git(ArrayRef<StringRef> Words) const;
  std::string copiesOf(const CheckoutCommit &C) const;
  Error runBuild(StringRef Log) const;
};

/// Error: a commit could not be built.
class BuildError : public ErrorInfo<BuildError> {
public:
  static char ID;
  BuildError(const Twine &Text) : Text(Text.str()) {}
  void log(raw_ostream &OS) const override { OS << Text; }
  std::error_code convertToErrorCode() const override {
    return inconvertibleErrorCode();
  }

private:
  std::string Text;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_BISECT_LLVMCHECKOUT_H
