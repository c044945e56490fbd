//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Selects which pass executions of a compilation run. An execution is one pass
/// on one function, loop, SCC or module. Executions that LLVM allows to skip
/// are numbered from 1, in the order of a compilation that skips none: first
/// those of the pipeline, then those of the code generator. Skipping an
/// execution can add and remove others. Executions are therefore identified by
/// pass, unit, and number of previous occurrences of that pair.
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
/// Returns "ir" or "codegen".
StringRef getPassStageName(PassStage S);

/// The queries of a debug counter (llvm/Support/DebugCounter.h) by one
/// execution: its counts from Begin to End - 1.
struct CounterRange {
  std::string Counter;
  int64_t Begin = 0, End = 0;
};

/// One execution of a pass.
struct PassExecution {
  /// Number for --run-passes. 0: required, or absent from the full compilation.
  unsigned Number = 0;
  PassStage Stage = PassStage::IR;
  /// The name in a pipeline ("gvn") or in opt and llc ("codegenprepare"); if
  /// LLVM has none, the class.
  std::string Pass;
  /// "[module]", a function, "(f, g)", "loop 1 of f". May be empty in code
  /// generation if the pass did not report it.
  std::string Unit;
  std::string Function; ///< Empty unless there is exactly one.
  /// Occurrence of this pass and unit, from 1.
  unsigned Occurrence = 1;
  bool Required = false; ///< Cannot be skipped.
  bool Ran = true;
  /// Whether the module was changed. Unset: not checked.
  std::optional<bool> Changed;
  /// For the whole module; for a machine pass, only for the function.
  int64_t InstructionDelta = 0;
  double Seconds = 0;           ///< Wall clock.
  /// Counted on request (PassListOptions::Counters). Not part of the JSON.
  std::vector<CounterRange> Counters;

  /// Returns the text for --run-passes that selects only this execution:
  /// "gvn@f#2".
  std::string spec() const;
};

json::Value toJSON(const PassExecution &E);
bool fromJSON(const json::Value &V, PassExecution &E, json::Path P);

/// An execution in which the compiler died.
struct PassDeath {
  unsigned Number = 0;
  std::string Failure; ///< How it died.
};

/// All executions of a compilation, in order.
struct PassListing {
  std::vector<PassExecution> Executions;
  /// The last number in the pipeline; those of the code generator follow.
  unsigned NumIR = 0;
  /// The last number of all: NumIR unless code generation was listed.
  unsigned NumAll = 0;
  /// Why compilation failed in the last element of Executions: the compiler's
  /// message, or how it died. Empty on success.
  std::string Failure;
  /// Executions that were skipped to list those behind them.
  std::vector<PassDeath> Deaths;
  /// Why a program's executions are missing; empty if none are.
  std::string Unnumbered;
};

json::Value toJSON(const PassListing &L);
/// Prints a table of skippable executions, then a separate one of required
/// executions.
void printPasses(raw_ostream &OS, const PassListing &L);

/// The value of --run-passes or --skip-passes: comma-separated items, or only
/// "all" or "none". An item is a number, a range "3-7" or "40-", a pass
/// ("gvn"), a pass on a named unit ("licm@kernel", includes the loops of the
/// function), or one occurrence ("gvn@kernel#2").
class PassSet {
public:
  /// Parses \p Text. Errors quote the invalid item.
  static Expected<PassSet> parse(StringRef Text);

  bool hasNumbers() const { return !Ranges.empty(); }
  /// Returns true if \p Number is in one of the ranges.
  bool contains(unsigned Number) const;
  /// Returns true if an item names \p E.
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

/// The executions to run: those in Run, if set, except those in Skip.
struct PassSelection {
  std::optional<PassSet> Run, Skip;

  /// Parses both texts. Errors quote option and item.
  static Expected<PassSelection> parse(const std::optional<std::string> &Run,
                                       const std::optional<std::string> &Skip);

  bool empty() const { return !Run && !Skip; }
  bool needsNumbers() const {
    return (Run && Run->hasNumbers()) || (Skip && Skip->hasNumbers());
  }
  /// Returns true if an execution with this number runs, considering only
  /// numbers.
  bool runs(unsigned Number) const;
  /// Returns true if the selection names executions that \p Listing, which
  /// covers only the pipeline, lacks.
  bool needsCodeGen(const PassListing &Listing) const;
  /// Returns a PassSetError if the selection names an execution that \p Listing
  /// lacks.
  Error check(const PassListing &Listing) const;
  /// Returns a key of the code generator's selected executions; equal keys
  /// select the same. Empty if all of them run.
  std::string codeGenKey(const PassListing &Listing) const;
};

/// A set of executions names an execution that does not exist.
class PassSetError : public ErrorInfo<PassSetError, StringError> {
public:
  static char ID;
  explicit PassSetError(const Twine &Message)
      : ErrorInfo(Message, inconvertibleErrorCode()) {}
};

/// Selects and records the executions of one compilation.
class PassGate {
public:
  struct Options {
    PassSelection Selection;
    /// Defines the numbers; null: all executions run and are numbered.
    std::shared_ptr<const PassListing> Numbers;
    /// Determine changes and times, and list passes that the code generator
    /// runs without asking the gate. Much slower than the compilation.
    bool Details = false;
    /// Called when an execution begins or is skipped, and again when it has
    /// ended. Indices of executions are stable.
    std::function<void(size_t Index, const PassExecution &E)> Observe;
    /// Called when an execution of the pipeline has changed the module.
    /// Requires Details.
    std::function<void(size_t Index, const Module &M)> SeeChange;
  };
  explicit PassGate(Options O);
  PassGate(PassSelection Selection, std::shared_ptr<const PassListing> Numbers);
  ~PassGate();

  /// Instruments a pipeline that runs on \p M.
  void instrument(PassInstrumentationCallbacks &PIC, const Module &M);
  /// Returns a pass manager for the code generation of \p M, the only module in
  /// its context. The gate must outlive it.
  std::unique_ptr<legacy::PassManager> createPassManager(Module &M);
  /// Call after the code generator has run.
  void finishCodeGen();

  /// Adds the executions of a pipeline that another program has run.
  void addPipeline(PassListing L);
  /// The following are for code generators that are other programs. Call
  /// beginCodeGen() first. addCodeGen() adds an execution and returns true if
  /// it is selected; runsRest() returns true if later ones are.
  void beginCodeGen();
  bool addCodeGen(PassExecution E);
  bool runsRest() const;
  /// Sets PassListing::Unnumbered.
  void setUnnumbered(std::string Why);

  const Options &options() const;

  const PassListing &listing() const;

private:
  struct Impl;
  std::unique_ptr<Impl> I;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_COMPILE_PASSGATE_H
