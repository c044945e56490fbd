//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// Optuna journals: the meaning of their lines, and the file to which several
/// programs append. A line is an operation. Studies and trials are numbered in
/// the order of the lines that created them.
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
#include <sys/stat.h>
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

/// Optuna's own attribute of studies: the names of the objectives.
inline constexpr StringLiteral MetricsKey = "study:metric_names";
/// In the line that ends a trial of Mneme: its number, which shows whether the
/// file has all lines that create trials.
inline constexpr StringLiteral EndNumberKey = "mneme_number";

/// Attributes of studies: samples of the baseline.
inline constexpr StringLiteral BaselinePrefix = "baseline_";

struct OptunaTrial {
  size_t Study = 0;
  uint64_t Number = 0; ///< In its study.
  OptunaState State = OptunaState::Running;
  /// External values, as users of Optuna see them: the choice of a categorical
  /// parameter.
  std::map<std::string, json::Value> Params;
  json::Object UserAttrs, SystemAttrs;
  /// Null for values that are not finite.
  json::Array Values;
  std::string Started, Ended; ///< ISO 8601; local time unless it has an offset.
  /// The number of trials that had ended when this one ended, including itself.
  uint64_t EndOrder = 0;
  bool EndedByMneme = false;
};

struct OptunaStudy {
  std::string Name;
  std::vector<bool> Maximize;
  json::Object UserAttrs, SystemAttrs;
  std::vector<size_t> Trials;
  /// The last trial of Mneme with a number.
  std::map<int64_t, size_t> ByNumber;
  bool Deleted = false;
};

/// The state that results from the lines.
class OptunaLog {
public:
  /// Applies a line. Fails if the line is invalid; with
  /// std::errc::file_exists if it repeats a line that creates a trial. Ignores
  /// operations that only some versions of Optuna know.
  /// \param IsOwn  this process has just written the line, and has not applied
  /// all attributes of trials.
  Error apply(StringRef Line, bool IsOwn = false);

  /// A line named a trial that no line creates.
  bool LacksTrials = false;
  /// A trial of Mneme ended in a line without EndNumberKey.
  bool LacksNumbers = false;
  std::vector<OptunaStudy> Studies;
  std::deque<OptunaTrial> Trials; ///< A deque, as trials are large and must not
                                  ///< be moved.

private:
  /// Return null if the study or trial does not exist, was deleted, or must no
  /// longer change; such lines have no effect.
  Expected<OptunaStudy *> getStudy(const json::Object &Line);
  Expected<OptunaTrial *> getTrial(const json::Object &Line);
  Error checkNumber(const OptunaTrial &T, const json::Object &Line);
  Error checkValues(const OptunaStudy &S, const json::Object &Attributes,
                    const json::Array &Values) const;

  Error createStudy(const json::Object &Line);
  Error createTrial(const json::Object &Line);
  Error setParam(OptunaTrial &T, const json::Object &Line);
  Error setState(OptunaTrial &T, const json::Object &Line);
  void end(OptunaTrial &T, const json::Object &Line);
  Expected<json::Value> decodeParam(StringRef Distribution,
                                    const json::Value &Internal);

  uint64_t Ended = 0;
  bool IsOwn = false; ///< The current line.
  /// Choices by distribution; null if it is not categorical.
  StringMap<json::Value> Choices;
};

/// Returns false for a time that cannot have been measured.
bool isMeasuredTime(const json::Value &Nanoseconds);

/// Parses a line written by Python: NaN and Infinity become null.
Expected<json::Value> parsePythonJSON(StringRef Line);

/// Returns the seconds since the epoch; unset if \p Text is not a time.
std::optional<double> parseOptunaTime(StringRef Text);

/// Size limit of a journal in bytes: 1000 bytes for each of four million
/// trials.
constexpr uint64_t MaxJournalFile = uint64_t(4) << 30;

/// Returns the error for a line that cannot be applied.
Error damagedLine(StringRef Path, uint64_t Line, const Twine &Message);

/// The file of a journal. Reads without a lock, as Optuna does; appends under
/// Optuna's lock.
class OptunaFile {
public:
  /// Opens or creates the file and locks it for this process. Fails if another
  /// process of Mneme has locked it.
  static Expected<std::unique_ptr<OptunaFile>> open(StringRef Path, bool Create,
                                                    JournalOptions O);
  ~OptunaFile();

  using LineFn = function_ref<Error(StringRef Line)>;
  /// Calls \p Apply with each line since the last call, except an incomplete
  /// last line. Errors name file and line.
  Error read(LineFn Apply);
  /// Under the lock: drops a torn last line, reads new lines, appends the text
  /// that \p Make then returns, if any, and passes its lines to \p ApplyOwn.
  Error append(LineFn Apply, LineFn ApplyOwn,
               function_ref<Expected<std::string>()> Make);
  Error sync();

  /// Returns the bytes of torn lines dropped since the last call.
  uint64_t takeDropped() { return std::exchange(Dropped, 0); }
  bool isEmpty() const { return Offset == 0; }

private:
  OptunaFile(StringRef Path, int FD, JournalOptions O);
  Error lock();
  bool breakLock(const struct stat &Stale);
  void unlock();
  Error fail(std::error_code EC) const;
  Error fail(const Twine &Message) const;
  Error dropTail();
  Error write(StringRef Text);
  Error apply(StringRef Lines, LineFn Apply);

  std::string Path, LockPath;
  /// Optuna checks the age of the lock's target, which must therefore exist.
  SmallString<128> LockTarget;
  int FD;
  JournalOptions O;
  uint64_t Offset = 0; ///< End of the lines read so far.
  uint64_t Line = 0;
  uint64_t Dropped = 0;
  double LastSync;
};

} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_LIB_STUDYLOG_OPTUNALOG_H
