//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Journals of Optuna: what their lines mean, and the file that several
/// programs append to. Lines are operations; the number of a study or a trial
/// is that of the line that made it, among those.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_LIB_STUDYLOG_OPTUNALOG_H
#define LLVM_MNEME_LIB_STUDYLOG_OPTUNALOG_H

#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringRef.h"
#include "llvm/Mneme/StudyLog/Journal.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/JSON.h"
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

enum class OptunaOp {
  CreateStudy,
  DeleteStudy,
  SetStudyUserAttr,
  SetStudySystemAttr,
  CreateTrial,
  SetTrialParam,
  SetTrialStateValues,
  SetTrialIntermediateValue,
  SetTrialUserAttr,
  SetTrialSystemAttr,
};

enum class OptunaState { Running, Complete, Pruned, Fail, Waiting };
inline bool isFinished(OptunaState S) {
  return S != OptunaState::Running && S != OptunaState::Waiting;
}

struct OptunaTrial {
  size_t Study = 0;
  uint64_t Number = 0; ///< In its study.
  OptunaState State = OptunaState::Running;
  /// As a user of Optuna sees them: of a categorical one the choice.
  std::map<std::string, json::Value> Params;
  json::Object UserAttrs, SystemAttrs;
  /// Null where a value is not finite.
  json::Array Values;
  std::string Started, Ended; ///< ISO 8601, local time if it says no other.
  /// How many trials had ended when this one had, itself included.
  uint64_t EndOrder = 0;
};

struct OptunaStudy {
  std::string Name;
  std::vector<bool> Maximize;
  json::Object UserAttrs, SystemAttrs;
  std::vector<size_t> Trials;
  bool Deleted = false;
};

/// The state that the lines lead to.
class OptunaLog {
public:
  /// Error: the line means nothing. What only some versions of Optuna know is
  /// passed over.
  Error apply(StringRef Line);

  std::vector<OptunaStudy> Studies;
  std::deque<OptunaTrial> Trials; ///< They are large, and never moved.

private:
  /// Null: \p Line is of a study, or trial, that is not (or no more) there, or
  /// must not change any more; such lines have no effect.
  Expected<OptunaStudy *> getStudy(const json::Object &Line);
  Expected<OptunaTrial *> getTrial(const json::Object &Line);

  Error createStudy(const json::Object &Line);
  Error createTrial(const json::Object &Line);
  Error setParam(OptunaTrial &T, const json::Object &Line);
  Error setState(OptunaTrial &T, const json::Object &Line);
  void end(OptunaTrial &T);
  Expected<json::Value> decodeParam(StringRef Distribution,
                                    const json::Value &Internal);

  uint64_t Ended = 0;
  /// Choices by distribution; null if it is not a categorical one.
  StringMap<json::Value> Choices;
};

/// Parses a line as Python writes it: NaN and Infinity become null.
Expected<json::Value> parsePythonJSON(StringRef Line);

/// Unset: it is none.
std::optional<double> parseOptunaTime(StringRef Text);

/// Bytes of a journal: a thousand of each of four million trials.
constexpr uint64_t MaxJournalFile = uint64_t(4) << 30;

/// A journal's file. Reads without a lock, as Optuna does; appends under
/// Optuna's.
class OptunaFile {
public:
  /// Opens the file, or makes it, and takes it for this process; Error: another
  /// one of Mneme has it.
  static Expected<std::unique_ptr<OptunaFile>> open(StringRef Path, bool Create,
                                                    JournalOptions O);
  ~OptunaFile();

  using LineFn = function_ref<Error(StringRef Line)>;
  /// Hands the lines to \p Apply that are new since the last time, but the last
  /// one while it has no end. Errors name file and line.
  Error read(LineFn Apply);
  /// Under the lock: drops a torn last line, reads what is new, appends what
  /// \p Make makes of the state then, if anything, and hands that to
  /// \p ApplyOwn.
  Error append(LineFn Apply, LineFn ApplyOwn,
               function_ref<Expected<std::string>()> Make);
  Error sync();

  /// Bytes of a torn line that were dropped since the last time.
  uint64_t takeDropped() { return std::exchange(Dropped, 0); }
  bool isEmpty() const { return Offset == 0; }

private:
  OptunaFile(StringRef Path, int FD, JournalOptions O);
  Error lock();
  void unlock();
  Error fail(std::error_code EC) const;
  Error fail(const Twine &Message) const;
  Error dropTail();
  Error write(StringRef Text);
  Error apply(StringRef Lines, LineFn Apply);

  std::string Path, LockPath;
  /// Optuna looks at the age of what the lock leads to: it must lead somewhere.
  SmallString<128> LockTarget;
  int FD;
  JournalOptions O;
  uint64_t Offset = 0; ///< Up to which the file was read.
  uint64_t Line = 0;
  uint64_t Dropped = 0;
  double LastSync;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_STUDYLOG_OPTUNALOG_H
