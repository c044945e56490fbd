//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Which of a compilation's pass executions run. An execution is one pass on
/// one function, loop, SCC or module. Those that LLVM lets others skip have
/// numbers, from 1, in the order of a compilation in which all of them run:
/// first those of the pipeline, then the code generator's. As soon as something
/// is skipped, others appear and disappear, so an execution is known again by
/// its pass, its unit and how many of that pair there were before.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_COMPILE_PASSGATE_H
#define LLVM_MNEME_COMPILE_PASSGATE_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
class Module;
class PassInstrumentationCallbacks;
class raw_ostream;
namespace legacy {
class PassManager;
} // namespace legacy
namespace mneme {

enum class PassStage {
  IR,      ///< The pipeline.
  CodeGen, ///< The GPU's code generator.
};
/// "ir", "codegen".
StringRef getPassStageName(PassStage S);

struct PassExecution {
  /// Of --run-passes. 0: required, or, where something was skipped, one that is
  /// not there when all run.
  unsigned Number = 0;
  PassStage Stage = PassStage::IR;
  /// As in a pipeline ("gvn"), or as opt and llc call it ("codegenprepare");
  /// where LLVM has no such name, the class.
  std::string Pass;
  /// "[module]", a function, "(f, g)", "loop 1 of f". Of code generation it may
  /// be empty: the pass did not say.
  std::string Unit;
  std::string Function; ///< Empty where there is not exactly one.
  /// Which one with this pass and unit, from 1.
  unsigned Occurrence = 1;
  bool Required = false; ///< Nobody can skip it.
  bool Ran = true;
  /// Is the module another one now? Unset: not looked at.
  std::optional<bool> Changed;
  /// Of the whole module; of a function where it is in machine code.
  int64_t InstructionDelta = 0;
  double Seconds = 0;           ///< Wall clock.

  /// "gvn@f#2": a text for --run-passes that means this execution alone.
  std::string spec() const;
};

json::Value toJSON(const PassExecution &E);
bool fromJSON(const json::Value &V, PassExecution &E, json::Path P);

/// All executions of a compilation, in order.
struct PassListing {
  std::vector<PassExecution> Executions;
  /// Numbers of the pipeline; those of the code generator come after them.
  unsigned NumIR = 0;
  /// All numbers that there are: NumIR, unless code generation was listed.
  unsigned NumAll = 0;
  /// Why the compilation did not come to its end: what the compiler said, or
  /// how it died, in the last one of Executions. Empty when it did.
  std::string Failure;
};

json::Value toJSON(const PassListing &L);
/// A table: what can be skipped, then, apart, what cannot.
void printPasses(raw_ostream &OS, const PassListing &L);

/// What a text for --run-passes or --skip-passes means. Items with ',' between
/// them: a number, "3-7", "40-" (to the last one), a pass ("gvn"), a pass on
/// what has this name ("licm@kernel", the function's loops included), one
/// occurrence of these ("gvn@kernel#2"); "all" or "none" alone.
class PassSet {
public:
  /// Error: quotes the item that makes no sense.
  static Expected<PassSet> parse(StringRef Text);

  bool hasNumbers() const { return !Ranges.empty(); }
  /// Is it of those numbers?
  bool contains(unsigned Number) const;
  /// Is \p E named?
  bool names(const PassExecution &E) const;

private:
  struct Range {
    unsigned First, Last;
  };
  struct Name {
    std::string Text; ///< The item.
    std::string Pass, Unit;
    unsigned Occurrence = 0; ///< 0: all.
  };
  std::vector<Range> Ranges;
  std::vector<Name> Names;

  Error parseItem(StringRef Item);
  Error parseRange(StringRef Item);
  Error parseName(StringRef Item);
  static bool matches(const Name &N, const PassExecution &E);
  friend struct PassSelection;
};

/// What of a compilation is to run: of Run, if it is set, all but Skip.
struct PassSelection {
  std::optional<PassSet> Run, Skip;

  /// Error: quotes option and item.
  static Expected<PassSelection> parse(const std::optional<std::string> &Run,
                                       const std::optional<std::string> &Skip);

  bool empty() const { return !Run && !Skip; }
  bool needsNumbers() const {
    return (Run && Run->hasNumbers()) || (Skip && Skip->hasNumbers());
  }
  /// Does an execution with this number run, as far as numbers decide?
  bool runs(unsigned Number) const;
  /// Does it mean something that \p Listing, of the pipeline alone, does not
  /// have?
  bool needsCodeGen(const PassListing &Listing) const;
  /// A PassSetError when it means something that is not in \p Listing.
  Error check(const PassListing &Listing) const;
  /// A text that is equal where the same of the code generator runs; empty when
  /// all of it does.
  std::string codeGenKey(const PassListing &Listing) const;
};

/// A set of executions that means something that is not there.
class PassSetError : public ErrorInfo<PassSetError, StringError> {
public:
  static char ID;
  explicit PassSetError(const Twine &Message)
      : ErrorInfo(Message, inconvertibleErrorCode()) {}
};

/// Decides which executions of one compilation run, and writes them down.
class PassGate {
public:
  struct Options {
    PassSelection Selection;
    /// What numbers mean; null: all run, and are numbered.
    std::shared_ptr<const PassListing> Numbers;
    /// Find out what changed and how long it took, and list what the code
    /// generator does not ask for. Takes much longer than the compilation.
    bool Details = false;
    /// Is told of each execution when it begins, or is skipped, and again when
    /// it has ended. Executions keep their index.
    std::function<void(size_t Index, const PassExecution &E)> Observe;
  };
  explicit PassGate(Options O);
  PassGate(PassSelection Selection, std::shared_ptr<const PassListing> Numbers);
  ~PassGate();

  /// Watches a pipeline on \p M.
  void instrument(PassInstrumentationCallbacks &PIC, const Module &M);
  /// A pass manager for the code generation of \p M, which is alone in its
  /// context. The gate outlives that.
  std::unique_ptr<legacy::PassManager> createPassManager(Module &M);
  /// Call when the code generator has run.
  void finishCodeGen();

  const PassListing &listing() const;

private:
  struct Impl;
  std::unique_ptr<Impl> I;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PASSGATE_H
