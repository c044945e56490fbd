//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A trial of this study is created as running when it begins. It gets its
// attributes, and then its state, when it ends, so that a torn end leaves it
// running. A trial that is added without having begun is one line. Other
// programs may add trials at any time; numbers in the file ("ids") are known
// only while the file is locked.
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/StudyLog/Journal.h"
#include "OptunaLog.h"
#include "OptunaTrial.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Clock.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

/// Version of the format of this file; stored in the study's attributes.
static constexpr int64_t FormatVersion = 1;
static constexpr StringLiteral VersionKey = "mneme_journal";
/// Numbers of trials of other programs: [[theirs, ours], ...].
static constexpr StringLiteral ImportedKey = "imported";
/// Marks an enqueued trial that was taken until it begins.
static constexpr StringLiteral TakenKey = "taken";
/// Optuna's own attribute of enqueued trials.
static constexpr StringLiteral FixedKey = "fixed_params";

//===----------------------------------------------------------------------===//
// Lines
//===----------------------------------------------------------------------===//

namespace {
/// Writes lines as one worker.
class LineWriter {
public:
  explicit LineWriter(StringRef Worker) : Worker(Worker), OS(Text) {}

  void line(OptunaOp Op, function_ref<void(json::OStream &)> Fields) {
    json::OStream J(OS);
    J.object([&] {
      J.attribute("op_code", static_cast<int>(Op));
      J.attribute("worker_id", Worker);
      Fields(J);
    });
    OS << '\n';
    Ops.push_back(Op);
  }
  void studyAttribute(OptunaOp Op, size_t Study, StringRef Key,
                      const json::Value &V) {
    line(Op, [&](json::OStream &J) {
      J.attribute("study_id", Study);
      J.attributeObject(Op == OptunaOp::SetStudyUserAttr ? "user_attr"
                                                         : "system_attr",
                        [&] { J.attribute(Key, V); });
    });
  }
  void trialAttribute(uint64_t Id, StringRef Key, const json::Value &V) {
    line(OptunaOp::SetTrialUserAttr, [&](json::OStream &J) {
      J.attribute("trial_id", Id);
      J.attributeObject("user_attr", [&] { J.attribute(Key, V); });
    });
  }
  void trialParam(uint64_t Id, StringRef Name, const json::Value &Internal,
                  StringRef Distribution) {
    line(OptunaOp::SetTrialParam, [&](json::OStream &J) {
      J.attribute("trial_id", Id);
      J.attribute("param_name", Name);
      J.attribute("param_value_internal", Internal);
      J.attribute("distribution", Distribution);
    });
  }
  void trialState(uint64_t Id, OptunaState State, StringRef TimeKey) {
    line(OptunaOp::SetTrialStateValues, [&](json::OStream &J) {
      J.attribute("trial_id", Id);
      J.attribute("state", static_cast<int>(State));
      J.attribute("values", nullptr);
      J.attribute(TimeKey, formatOptunaTime(epochSeconds()));
    });
  }

  std::string take() { return std::move(Text); }
  /// Returns the operations of the lines.
  ArrayRef<OptunaOp> ops() const { return Ops; }

private:
  StringRef Worker;
  SmallVector<OptunaOp> Ops;
  std::string Text;
  raw_string_ostream OS;
};
} // namespace

/// Replaces an unknown time.
static double orNow(double Time) { return Time != 0 ? Time : epochSeconds(); }

//===----------------------------------------------------------------------===//
// Journal
//===----------------------------------------------------------------------===//

namespace {
/// A trial that began: its number and its attributes in the file.
struct BegunTrial {
  uint64_t Id;
  std::map<std::string, json::Value> Attributes;
};
/// An enqueued trial that was taken but has not begun.
struct TakenTrial {
  uint64_t Id;
  Point P;
};
} // namespace

struct Journal::Impl {
  const SearchSpace &Space;
  OptunaSpace Params;
  std::unique_ptr<OptunaFile> File;
  OptunaLog Log;
  std::string Path, Name, Worker;
  size_t Study = 0;
  size_t Objectives = 0;

  std::map<uint64_t, BegunTrial> Unfinished; ///< By the trial's number.
  std::vector<Trial> Trials;
  /// By number, those that were closed when a study ended before them, as
  /// running trials.
  std::map<uint64_t, Trial> Closed;
  json::Array NewImported; ///< To be written, unless it is empty.
  std::vector<BaselineSample> Baselines;
  uint64_t BaselineCount = 0;

  std::vector<TakenTrial> Taken;
  std::vector<Point>
      Enqueued; ///< Elements of Taken that takeEnqueued() has not returned.
  std::vector<size_t> Waiting; ///< Ids.
  size_t Looked = 0;           ///< Smaller ids were searched for Waiting.
  std::vector<std::string> Warnings;

  Impl(StringRef Path, const JournalHeader &H, const SearchSpace &Space)
      : Space(Space), Params(Space), Path(Path), Name(H.Name),
        Objectives(H.Objectives.size()) {
    Worker = "llvm-mneme-tune-" + utostr(sys::Process::getProcessId()) + "-" +
             utohexstr(static_cast<uint64_t>(epochSeconds() * 1e6));
  }

  OptunaStudy &study() { return Log.Studies[Study]; }

  Error open(bool Create, const JournalOptions &Options) {
    if (Error E = OptunaFile::open(Path, Create, Options).moveInto(File))
      return E;
    return read();
  }
  Error read() {
    return File->read([&](StringRef Line) { return Log.apply(Line); });
  }
  /// Reads the lines of other programs, then appends those that \p Write
  /// writes.
  Error append(function_ref<void(LineWriter &)> Write);

  void writeHeader(LineWriter &W, const JournalHeader &H);
  Error checkHeader(const JournalHeader &H);
  Error accept(const JournalHeader &H);
  void updateInfo(LineWriter &W, const JournalHeader &H);
  bool findStudy();

  Error checkTrial(const Trial &T) const;
  void writeNew(LineWriter &W, const Trial &T);
  void writeChange(LineWriter &W, const BegunTrial &B, const Trial &T);
  void writeEnd(LineWriter &W, uint64_t Id, const Trial &T);
  std::vector<TakenTrial>::iterator findTaken(const Trial &T);

  Error readTrials();
  Error readOwn(size_t Id);
  void importTrials(ArrayRef<size_t> Ids);
  Expected<Trial> importTrial(const OptunaTrial &O);
  void readBaselines();
  void findWaiting();
  void take(LineWriter &W, size_t Id, std::vector<TakenTrial> &New);

  Error inFile(Error E) const {
    return E ? createFileError(Path, std::move(E)) : Error::success();
  }
};

Error Journal::Impl::append(function_ref<void(LineWriter &)> Write) {
  LineWriter W(Worker);
  size_t Next = 0;
  return File->append(
      [&](StringRef Line) { return Log.apply(Line); },
      [&](StringRef Text) {
        // Most lines set attributes of trials, which are not read again.
        bool IsNeeded = W.ops()[Next++] != OptunaOp::SetTrialUserAttr;
        return IsNeeded ? Log.apply(Text, /*IsOwn=*/true) : Error::success();
      },
      [&]() -> Expected<std::string> {
        if (Study < Log.Studies.size() && study().Deleted)
          return inFile(
              createStringError("the study was deleted by another process"));
        Write(W);
        return W.take();
      });
}

//===----------------------------------------------------------------------===//
// The study
//===----------------------------------------------------------------------===//

/// Sorts by key, for an order that does not depend on a hash.
static std::map<StringRef, const json::Value *> sorted(const json::Object &O) {
  std::map<StringRef, const json::Value *> Sorted;
  for (const auto &[Key, V] : O)
    Sorted.emplace(StringRef(Key), &V);
  return Sorted;
}

void Journal::Impl::writeHeader(LineWriter &W, const JournalHeader &H) {
  W.line(OptunaOp::CreateStudy, [&](json::OStream &J) {
    J.attribute("study_name", H.Name);
    J.attributeArray("directions", [&] {
      for (const Objective &O : H.Objectives)
        J.value(O.Dir == Direction::Minimize ? 1 : 2);
    });
  });
  json::Array Metrics;
  for (const Objective &O : H.Objectives)
    Metrics.push_back(O.Metric);
  W.studyAttribute(OptunaOp::SetStudySystemAttr, Study, MetricsKey,
                   std::move(Metrics));
  W.studyAttribute(OptunaOp::SetStudyUserAttr, Study, VersionKey,
                   FormatVersion);
  for (const json::Object *O : {&H.Identity, &H.Info})
    for (auto [Key, V] : sorted(*O))
      W.studyAttribute(OptunaOp::SetStudyUserAttr, Study, Key, *V);
}

bool Journal::Impl::findStudy() {
  for (; Study < Log.Studies.size(); ++Study)
    if (!study().Deleted && study().Name == Name)
      return true;
  return false;
}

/// Describes the difference of two values; for long texts, of the first lines
/// that differ.
static std::string describeDifference(const json::Value &There,
                                      const json::Value &Here) {
  std::string Text;
  raw_string_ostream OS(Text);
  std::optional<StringRef> A = There.getAsString(), B = Here.getAsString();
  if (!A || !B || (!A->contains('\n') && !B->contains('\n'))) {
    OS << There << " in the journal, " << Here << " now";
    return Text;
  }
  StringRef LineA, LineB;
  unsigned Line = 0;
  do {
    ++Line;
    std::tie(LineA, *A) = A->split('\n');
    std::tie(LineB, *B) = B->split('\n');
  } while (LineA == LineB && !(A->empty() && B->empty()));
  OS << "line " << Line << " is '" << LineA.trim() << "' in the journal, '"
     << LineB.trim() << "' now";
  return Text;
}

Error Journal::Impl::checkHeader(const JournalHeader &H) {
  const OptunaStudy &S = study();
  if (S.UserAttrs.getInteger(VersionKey) != FormatVersion)
    return createStringError("study '" + Name +
                             "' was not written by this version of Mneme");
  for (auto [Key, Here] : sorted(H.Identity)) {
    const json::Value *Found = S.UserAttrs.get(Key);
    if (!Found)
      return createStringError(
          "the journal belongs to another study: it has no '" + Key + "'");
    if (*Found != *Here)
      return createStringError("the journal belongs to another study: '" + Key +
                               "': " + describeDifference(*Found, *Here));
  }
  std::vector<bool> Maximize;
  for (const Objective &O : H.Objectives)
    Maximize.push_back(O.Dir == Direction::Maximize);
  if (S.Maximize != Maximize)
    return createStringError(
        "the journal belongs to another study: its objectives differ");
  return Error::success();
}

void Journal::Impl::updateInfo(LineWriter &W, const JournalHeader &H) {
  if (!NewImported.empty())
    W.studyAttribute(OptunaOp::SetStudyUserAttr, Study, ImportedKey,
                     std::move(NewImported));
  for (auto [Key, V] : sorted(H.Info)) {
    const json::Value *There = study().UserAttrs.get(Key);
    if (!There || *There != *V)
      W.studyAttribute(OptunaOp::SetStudyUserAttr, Study, Key, *V);
  }
}

//===----------------------------------------------------------------------===//
// Trials that are written
//===----------------------------------------------------------------------===//

Error Journal::Impl::checkTrial(const Trial &T) const {
  for (double V : T.Values)
    if (!std::isfinite(V))
      return createStringError("trial " + Twine(T.Number) +
                               ": the value of an objective is not finite");
  if (!T.Values.empty() && T.Values.size() != Objectives)
    return createStringError("trial " + Twine(T.Number) + " has " +
                             Twine(T.Values.size()) + " values, not " +
                             Twine(Objectives));
  if (T.P.size() != Space.dimensions().size())
    return createStringError("trial " + Twine(T.Number) +
                             " is not a point of the space");
  return Error::success();
}

/// Optuna's samplers judge a pruned trial by its intermediate value.
static std::optional<double> getIntermediate(const Trial &T) {
  if (T.State == TrialState::Pruned && T.Values.size() == 1)
    return T.Values.front();
  return std::nullopt;
}

/// Writes the whole trial in one line.
void Journal::Impl::writeNew(LineWriter &W, const Trial &T) {
  OptunaState State = getOptunaState(T);
  ArrayRef<double> Values = getOptunaValues(T);
  BitVector Active = Space.activity(T.P);
  W.line(OptunaOp::CreateTrial, [&](json::OStream &J) {
    J.attribute("study_id", Study);
    J.attribute("datetime_start", formatOptunaTime(orNow(T.Started)));
    if (isFinished(State))
      J.attribute("datetime_complete", formatOptunaTime(orNow(T.Ended)));
    J.attribute("state", static_cast<int>(State));
    bool Single = Values.size() == 1;
    J.attribute("value",
                Single ? json::Value(Values[0]) : json::Value(nullptr));
    J.attribute("values", Single || Values.empty() ? json::Value(nullptr)
                                                   : json::Array(Values));
    J.attributeObject("distributions", [&] {
      for (auto [Dim, D] : enumerate(Space.dimensions()))
        if (Active[Dim])
          J.attribute(D.Name, Params.getDistribution(Dim));
    });
    J.attributeObject("params", [&] {
      for (auto [Dim, D] : enumerate(Space.dimensions()))
        if (Active[Dim])
          J.attribute(D.Name, Params.toInternal(Dim, T.P[Dim]));
    });
    J.attributeObject("user_attrs", [&] {
      for (const auto &[Key, V] : makeAttributes(T))
        J.attribute(Key, V);
    });
    J.attributeObject("system_attrs", [] {});
    J.attributeObject("intermediate_values", [&] {
      if (std::optional<double> V = getIntermediate(T))
        J.attribute("0", *V);
    });
  });
}

void Journal::Impl::writeChange(LineWriter &W, const BegunTrial &B,
                                const Trial &T) {
  std::map<std::string, json::Value> New = makeAttributes(T);
  for (const auto &[Key, V] : New) {
    auto It = B.Attributes.find(Key);
    if (It == B.Attributes.end() || It->second != V)
      W.trialAttribute(B.Id, Key, V);
  }
  // Left by a torn end.
  for (const auto &[Key, V] : B.Attributes)
    if (!New.count(Key) && V != json::Value(nullptr))
      W.trialAttribute(B.Id, Key, nullptr);
}

/// Writes the end of a trial whose attributes are in the file.
void Journal::Impl::writeEnd(LineWriter &W, uint64_t Id, const Trial &T) {
  if (std::optional<double> V = getIntermediate(T))
    W.line(OptunaOp::SetTrialIntermediateValue, [&](json::OStream &J) {
      J.attribute("trial_id", Id);
      J.attribute("step", 0);
      J.attribute("intermediate_value", *V);
    });
  W.line(OptunaOp::SetTrialStateValues, [&](json::OStream &J) {
    J.attribute("trial_id", Id);
    J.attribute("state", static_cast<int>(getOptunaState(T)));
    ArrayRef<double> Values = getOptunaValues(T);
    J.attribute("values",
                Values.empty() ? json::Value(nullptr) : json::Array(Values));
    J.attribute("datetime_complete", formatOptunaTime(orNow(T.Ended)));
    J.attribute(EndNumberKey, T.Number);
  });
}

std::vector<TakenTrial>::iterator Journal::Impl::findTaken(const Trial &T) {
  return find_if(Taken, [&](const TakenTrial &E) { return E.P == T.P; });
}

Error Journal::beginTrials(ArrayRef<Trial> Trials) {
  for (const Trial &T : Trials)
    if (Error E = I->checkTrial(T))
      return I->inFile(std::move(E));
  std::vector<BegunTrial> Begun;
  Error E = I->append([&](LineWriter &W) {
    uint64_t NextId = I->Log.Trials.size();
    for (const Trial &T : Trials) {
      auto Enqueued = I->findTaken(T);
      if (Enqueued == I->Taken.end()) {
        Begun.push_back({NextId++, makeAttributes(T)});
        I->writeNew(W, T);
        continue;
      }
      Begun.push_back({Enqueued->Id, {}});
      BitVector Active = I->Space.activity(T.P);
      for (auto [Dim, D] : enumerate(I->Space.dimensions()))
        if (Active[Dim])
          W.trialParam(Enqueued->Id, D.Name,
                       I->Params.toInternal(Dim, T.P[Dim]),
                       I->Params.getDistribution(Dim));
      I->writeChange(W, Begun.back(), T);
      Begun.back().Attributes = makeAttributes(T);
    }
  });
  if (E)
    return E;
  for (auto [T, B] : zip(Trials, Begun)) {
    auto Enqueued = I->findTaken(T);
    if (Enqueued != I->Taken.end() && Enqueued->Id == B.Id)
      I->Taken.erase(Enqueued);
    I->Unfinished[T.Number] = std::move(B);
  }
  return Error::success();
}

Error Journal::addTrials(ArrayRef<const Trial *> Trials) {
  for (const Trial *T : Trials)
    if (Error E = I->checkTrial(*T))
      return I->inFile(std::move(E));
  for (const Trial *T : Trials)
    if (!I->Unfinished.count(T->Number) && I->findTaken(*T) != I->Taken.end())
      if (Error E = beginTrials(*T))
        return E;
  std::vector<uint64_t> Ids;
  Error E = I->append([&](LineWriter &W) {
    uint64_t NextId = I->Log.Trials.size();
    for (const Trial *T : Trials) {
      auto It = I->Unfinished.find(T->Number);
      // Another program may have failed a trial that took too long.
      if (It == I->Unfinished.end() ||
          isFinished(I->Log.Trials[It->second.Id].State)) {
        Ids.push_back(NextId++);
        I->writeNew(W, *T);
        continue;
      }
      Ids.push_back(It->second.Id);
      I->writeChange(W, It->second, *T);
      I->writeEnd(W, It->second.Id, *T);
    }
  });
  if (E)
    return E;
  for (auto [T, Id] : zip_equal(Trials, Ids)) {
    I->Unfinished.erase(T->Number);
    // They take much memory and are not read again. (Once cleared, LLVM's
    // objects cannot be copied.)
    I->Log.Trials[Id].UserAttrs = json::Object();
    I->Log.Trials[Id].Params.clear();
  }
  return Error::success();
}

Error Journal::addBaseline(const BaselineSample &S) {
  // The order of the names is the order of time.
  std::string Key =
      formatv("{0}{1,0+6}", BaselinePrefix, I->BaselineCount).str();
  if (Error E = setAttribute(Key, toJSON(S)))
    return E;
  ++I->BaselineCount;
  return Error::success();
}

Error Journal::setAttribute(StringRef Key, json::Value V) {
  return I->append([&](LineWriter &W) {
    W.studyAttribute(OptunaOp::SetStudyUserAttr, I->Study, Key, V);
  });
}

const json::Value *Journal::getAttribute(StringRef Key) const {
  return I->study().UserAttrs.get(Key);
}

Error Journal::sync() { return I->File->sync(); }

//===----------------------------------------------------------------------===//
// Trials that are read
//===----------------------------------------------------------------------===//

Error Journal::Impl::readOwn(size_t Id) {
  const OptunaTrial &O = Log.Trials[Id];
  auto Fail = [&](Error E) {
    return createStringError("trial " + Twine(O.Number) + " of study '" + Name +
                             "': " + toString(std::move(E)));
  };
  Expected<Trial> T = makeTrial(O.UserAttrs, O.State);
  if (!T)
    return Fail(T.takeError());
  Expected<Point> P = Params.makePoint(O.Params);
  if (!P)
    return Fail(P.takeError());
  bool IsClosed = T->Failure == FailureKind::Cancelled;
  if (IsClosed)
    T = cantFail(makeTrial(O.UserAttrs, OptunaState::Running));
  T->P = std::move(*P);
  // Ignore the configuration in the file, which could name programs.
  T->Config = json::Object();
  if (Expected<json::Object> Config = Space.configure(T->P))
    T->Config = std::move(*Config);
  else
    consumeError(Config.takeError());
  if (IsClosed) {
    Closed.insert_or_assign(T->Number, std::move(*T));
    return Error::success();
  }
  Closed.erase(T->Number);
  for (const json::Value &V : O.Values)
    if (std::optional<double> N = V.getAsNumber())
      T->Values.push_back(*N);
  bool Known = isFinished(O.State) && T->State != TrialState::Failed;
  // The application's code may lack the metric of an objective.
  bool MayLack = T->Kind == TrialKind::Canary && T->Values.empty();
  if (T->Values.size() != (Known ? Objectives : 0) && !MayLack)
    return Fail(createStringError("it has " + Twine(T->Values.size()) +
                                  " finite values"));
  if (T->State == TrialState::Running) {
    BegunTrial &B = Unfinished[T->Number];
    B.Id = Id;
    for (const auto &[Key, V] : O.UserAttrs)
      B.Attributes.emplace(StringRef(Key).str(), V);
  }
  Trials.push_back(std::move(*T));
  return Error::success();
}

Expected<Trial> Journal::Impl::importTrial(const OptunaTrial &O) {
  Trial T;
  T.Kind = TrialKind::Imported;
  T.State = TrialState::Complete;
  Expected<Point> P = Params.makePoint(O.Params);
  if (!P)
    return P.takeError();
  T.P = std::move(*P);
  Expected<json::Object> Config = Space.configure(T.P);
  if (!Config)
    return Config.takeError();
  T.Config = std::move(*Config);
  for (const json::Value &V : O.Values)
    if (std::optional<double> N = V.getAsNumber())
      T.Values.push_back(*N);
  if (T.Values.size() != Objectives)
    return createStringError("it has " + Twine(T.Values.size()) +
                             " finite values");
  for (auto [O, V] : zip(Space.study().Objectives, T.Values)) {
    if (O.Metric == "time" && V <= 0)
      return createStringError("its time is not above 0");
    T.Metrics[O.Metric] = V;
  }
  T.Started = parseOptunaTime(O.Started).value_or(0);
  T.Ended = parseOptunaTime(O.Ended).value_or(0);
  return T;
}

/// Gives numbers to trials of other programs, to be stored for later runs.
void Journal::Impl::importTrials(ArrayRef<size_t> Ids) {
  std::map<int64_t, int64_t> Numbers;
  if (const json::Array *A = study().UserAttrs.getArray(ImportedKey))
    for (const json::Value &Pair : *A)
      if (const json::Array *P = Pair.getAsArray(); P && P->size() == 2)
        Numbers[(*P)[0].getAsInteger().value_or(-1)] =
            (*P)[1].getAsInteger().value_or(-1);
  uint64_t Next = 0;
  for (const Trial &T : Trials)
    Next = std::max(Next, T.Number + 1);
  for (auto [Theirs, Ours] : Numbers)
    Next = std::max<uint64_t>(Next, Ours + 1);
  bool Changed = false;
  for (size_t Id : Ids) {
    const OptunaTrial &O = Log.Trials[Id];
    Expected<Trial> T = importTrial(O);
    if (!T) {
      Warnings.push_back(
          "trial " + utostr(O.Number) +
          " of another program is ignored: " + toString(T.takeError()));
      continue;
    }
    auto [It, New] = Numbers.try_emplace(O.Number, Next);
    Next += New;
    Changed |= New;
    T->Number = It->second;
    Trials.push_back(std::move(*T));
  }
  if (Changed)
    for (auto [Theirs, Ours] : Numbers)
      NewImported.push_back(json::Array{Theirs, Ours});
}

Error Journal::Impl::readTrials() {
  std::vector<size_t> Foreign, Running, Again;
  // In the order of their ends.
  std::map<uint64_t, size_t> Ended;
  for (size_t Id : study().Trials) {
    const OptunaTrial &O = Log.Trials[Id];
    if (isFinished(O.State))
      Ended[O.EndOrder] = Id;
    else if (isOwnTrial(O.UserAttrs))
      Running.push_back(Id);
    else if (O.State == OptunaState::Running && O.UserAttrs.get(TakenKey))
      Again.push_back(Id);
  }
  for (auto [Order, Id] : Ended) {
    const OptunaTrial &O = Log.Trials[Id];
    if (!isOwnTrial(O.UserAttrs)) {
      if (O.State == OptunaState::Complete)
        Foreign.push_back(Id);
    } else if (Error E = readOwn(Id))
      return E;
  }
  for (size_t Id : Running)
    if (Error E = readOwn(Id))
      return E;
  for (auto &[Number, T] : std::exchange(Closed, {}))
    Trials.push_back(std::move(T));
  for (size_t Id : Again)
    if (const json::Object *Fixed =
            Log.Trials[Id].SystemAttrs.getObject(FixedKey)) {
      Expected<Point> P = Params.makeEnqueued(*Fixed);
      if (!P)
        return P.takeError();
      Enqueued.push_back(*P);
      Taken.push_back({Id, std::move(*P)});
    }
  importTrials(Foreign);
  return Error::success();
}

void Journal::Impl::readBaselines() {
  for (auto [Key, V] : sorted(study().UserAttrs)) {
    const json::Object *O = V->getAsObject();
    if (!Key.starts_with(BaselinePrefix) || !O)
      continue;
    BaselineSample S;
    S.Instance = O->getInteger("instance").value_or(0);
    S.When = O->getNumber("when").value_or(0);
    S.Nanoseconds = O->getNumber("ns").value_or(0);
    S.Low = O->getNumber("low").value_or(0);
    S.High = O->getNumber("high").value_or(0);
    S.Device = O->getString("device").value_or("").str();
    Baselines.push_back(S);
  }
  BaselineCount = Baselines.size();
}

std::vector<Trial> Journal::takeTrials() { return std::move(I->Trials); }

std::vector<BaselineSample> Journal::takeBaselines() {
  return std::move(I->Baselines);
}

std::vector<std::string> Journal::takeWarnings() {
  if (uint64_t Bytes = I->File->takeDropped())
    I->Warnings.push_back("dropped a torn line of " + utostr(Bytes) + " bytes");
  return std::exchange(I->Warnings, {});
}

//===----------------------------------------------------------------------===//
// Trials that others enqueue
//===----------------------------------------------------------------------===//

void Journal::Impl::findWaiting() {
  for (; Looked < Log.Trials.size(); ++Looked)
    if (Log.Trials[Looked].State == OptunaState::Waiting &&
        Log.Trials[Looked].Study == Study)
      Waiting.push_back(Looked);
  erase_if(Waiting, [&](size_t Id) {
    return Log.Trials[Id].State != OptunaState::Waiting;
  });
}

void Journal::Impl::take(LineWriter &W, size_t Id,
                         std::vector<TakenTrial> &New) {
  const json::Object *Fixed = Log.Trials[Id].SystemAttrs.getObject(FixedKey);
  if (!Fixed)
    return; // A trial of another program, without a point.
  Expected<Point> P = Params.makeEnqueued(*Fixed);
  if (P) {
    W.trialAttribute(Id, TakenKey, true);
    W.trialState(Id, OptunaState::Running, "datetime_start");
    New.push_back({Id, std::move(*P)});
    return;
  }
  std::string Message = toString(P.takeError());
  W.trialAttribute(Id, "error", Message);
  W.trialState(Id, OptunaState::Fail, "datetime_complete");
  Warnings.push_back("enqueued trial " + utostr(Log.Trials[Id].Number) +
                     " cannot be run: " + Message);
}

Expected<std::vector<Point>> Journal::takeEnqueued() {
  if (Error E = I->read())
    return std::move(E);
  I->findWaiting();
  std::vector<TakenTrial> New;
  if (!I->Waiting.empty())
    if (Error E = I->append([&](LineWriter &W) {
          I->findWaiting();
          for (size_t Id : I->Waiting)
            I->take(W, Id, New);
        }))
      return std::move(E);
  for (TakenTrial &T : New) {
    I->Enqueued.push_back(T.P);
    I->Taken.push_back(std::move(T));
  }
  return std::exchange(I->Enqueued, {});
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

Journal::Journal(std::unique_ptr<Impl> I) : I(std::move(I)) {}
Journal::~Journal() = default;

Expected<std::unique_ptr<Journal>>
Journal::create(StringRef Path, const JournalHeader &Header,
                const SearchSpace &Space, const JournalOptions &Options) {
  auto I = std::make_unique<Impl>(Path, Header, Space);
  if (Error E = I->open(/*Create=*/true, Options))
    return std::move(E);
  if (!I->File->isEmpty())
    return I->inFile(createStringError("a study already exists"));
  if (Error E = I->append([&](LineWriter &W) { I->writeHeader(W, Header); }))
    return std::move(E);
  return std::unique_ptr<Journal>(new Journal(std::move(I)));
}

Expected<std::unique_ptr<Journal>>
Journal::resume(StringRef Path, const JournalHeader &Header,
                const SearchSpace &Space, const JournalOptions &Options) {
  auto I = std::make_unique<Impl>(Path, Header, Space);
  if (Error E = I->open(/*Create=*/false, Options))
    return std::move(E);
  if (Error E = I->accept(Header))
    return I->inFile(std::move(E));
  // Nothing is written before.
  if (Error E = I->append([&](LineWriter &W) { I->updateInfo(W, Header); }))
    return std::move(E);
  return std::unique_ptr<Journal>(new Journal(std::move(I)));
}

/// Reads the study from the lines.
Error Journal::Impl::accept(const JournalHeader &H) {
  if (!findStudy())
    return createStringError("there is no study '" + Name + "'");
  if (Error E = checkHeader(H))
    return E;
  if (Error E = readTrials())
    return E;
  readBaselines();
  return Error::success();
}

/// Returns the first study of Mneme in \p Log.
static const OptunaStudy *findOwnStudy(const OptunaLog &Log) {
  auto It = find_if(Log.Studies, [](const OptunaStudy &S) {
    return !S.Deleted && S.UserAttrs.get(VersionKey);
  });
  return It == Log.Studies.end() ? nullptr : &*It;
}

static JournalHeader makeJournalHeader(const OptunaStudy &S) {
  JournalHeader H;
  H.Name = S.Name;
  const json::Array *Metrics = S.SystemAttrs.getArray(MetricsKey);
  for (auto [I, Maximize] : enumerate(S.Maximize)) {
    Objective O;
    if (Metrics && I < Metrics->size())
      O.Metric = (*Metrics)[I].getAsString().value_or("").str();
    O.Dir = Maximize ? Direction::Maximize : Direction::Minimize;
    H.Objectives.push_back(std::move(O));
  }
  H.Info = S.UserAttrs;
  return H;
}

/// Reads the lines of a journal, or only those before the first trial. Fails on
/// a damaged line, unless \p FirstDamaged takes the number of the first one.
static Error readLines(StringRef Path, OptunaLog &Log, bool HeaderOnly,
                       unsigned *FirstDamaged = nullptr) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer =
      readFile(Path, MaxJournalFile);
  if (!Buffer)
    return Buffer.takeError();
  unsigned Line = 0;
  for (StringRef Text = (*Buffer)->getBuffer(); Text.contains('\n');) {
    StringRef First;
    std::tie(First, Text) = Text.split('\n');
    ++Line;
    Error E = Log.apply(First);
    if (E && !FirstDamaged)
      return damagedLine(Path, Line, toString(std::move(E)));
    if (E && !*FirstDamaged)
      *FirstDamaged = Line;
    consumeError(std::move(E));
    if (HeaderOnly && !Log.Trials.empty())
      break;
  }
  return Error::success();
}

Expected<JournalHeader> mneme::readJournalHeader(StringRef Path,
                                                 bool SkipsDamaged) {
  OptunaLog Log;
  unsigned FirstDamaged = 0;
  if (Error E = readLines(Path, Log, /*HeaderOnly=*/false,
                          SkipsDamaged ? &FirstDamaged : nullptr))
    return std::move(E);
  const OptunaStudy *S = findOwnStudy(Log);
  if (!S && FirstDamaged)
    return createStringError(Path + ":" + Twine(FirstDamaged) +
                             ": cannot be repaired: no study is left without "
                             "the damaged lines");
  if (!S)
    return createFileError(Path, createStringError("not a study of Mneme"));
  return makeJournalHeader(*S);
}

Expected<FinishedStudy> mneme::readFinishedStudy(StringRef Path,
                                                 bool HeaderOnly) {
  OptunaLog Log;
  if (Error E = readLines(Path, Log, HeaderOnly))
    return std::move(E);
  const OptunaStudy *S = findOwnStudy(Log);
  if (!S)
    return createFileError(Path, createStringError("not a study of Mneme"));
  if (S->UserAttrs.getInteger(VersionKey) != FormatVersion)
    return createFileError(
        Path, createStringError("not written by this version of Mneme"));
  FinishedStudy Study;
  Study.Header = makeJournalHeader(*S);
  for (size_t Id : S->Trials) {
    OptunaTrial &T = Log.Trials[Id];
    if (T.State != OptunaState::Complete || !isOwnTrial(T.UserAttrs) ||
        T.UserAttrs.getBoolean("suspect").value_or(false))
      continue;
    FinishedTrial F;
    F.Params = std::move(T.Params);
    F.Baseline = T.UserAttrs.getNumber("baseline_ns").value_or(0);
    for (const json::Value &V : T.Values)
      F.Values.push_back(V.getAsNumber().value_or(NAN));
    Study.Trials.push_back(std::move(F));
  }
  return Study;
}

//===----------------------------------------------------------------------===//
// Repair
//===----------------------------------------------------------------------===//

/// If \p Damaged created a trial, returns a line that creates a failed trial
/// instead, because the numbers of later trials would change otherwise.
/// Searches \p Damaged as text, since it may not be JSON.
static std::string makeSubstitute(StringRef Damaged) {
  Damaged = Damaged.ltrim();
  if (!Damaged.consume_front("{\"op_code\":") ||
      !Damaged.ltrim().starts_with("4,"))
    return "";
  uint64_t Study = 0;
  size_t At = Damaged.find("\"study_id\":");
  if (At != StringRef::npos)
    Damaged.drop_front(At + 11).ltrim().consumeInteger(10, Study);
  LineWriter W("llvm-mneme-tune-repair");
  W.line(OptunaOp::CreateTrial, [&](json::OStream &J) {
    J.attribute("study_id", Study);
    J.attribute("datetime_start", formatOptunaTime(epochSeconds()));
    J.attribute("datetime_complete", formatOptunaTime(epochSeconds()));
    J.attribute("state", static_cast<int>(OptunaState::Fail));
    J.attributeObject("user_attrs", [&] {
      J.attribute("error", "this trial's line in the journal was damaged");
    });
  });
  return W.take();
}

/// Returns the journal without its damaged lines, which \p Damaged counts.
static std::string dropDamaged(StringRef Text, OptunaLog &Log,
                               unsigned &Damaged) {
  std::string Kept;
  while (!Text.empty()) {
    auto [Line, Rest] = Text.split('\n');
    bool Torn = Line.size() == Text.size();
    Text = Rest;
    Error E = Torn ? createStringError("torn") : Log.apply(Line);
    if (!E) {
      Kept += (Line + "\n").str();
      continue;
    }
    bool Repeats = false;
    handleAllErrors(
        std::move(E),
        [&](const StringError &S) {
          Repeats = S.convertToErrorCode() == std::errc::file_exists;
        },
        [](const ErrorInfoBase &) {});
    ++Damaged;
    if (Torn)
      break;
    std::string Substitute = Repeats ? "" : makeSubstitute(Line);
    if (Substitute.empty())
      continue;
    if (Error Bad = Log.apply(StringRef(Substitute).rtrim()))
      consumeError(std::move(Bad));
    else
      Kept += Substitute;
  }
  return Kept;
}

/// Writes \p Text to a new file: \p Path.damaged, or .damaged.1, ...
static Expected<std::string> writeBackup(StringRef Path, StringRef Text) {
  for (unsigned N = 0;; ++N) {
    std::string Backup = (Path + ".damaged").str();
    if (N)
      Backup += "." + utostr(N);
    int FD;
    std::error_code EC = sys::fs::openFileForWrite(
        Backup, FD, sys::fs::CD_CreateNew, sys::fs::OF_None);
    if (EC == std::errc::file_exists)
      continue;
    if (EC)
      return createFileError(Backup, EC);
    raw_fd_ostream OS(FD, /*shouldClose=*/true);
    OS << Text;
    OS.flush();
    EC = OS.error();
    if (!EC && ::fsync(FD) != 0 && errno != EINVAL)
      EC = errnoAsErrorCode();
    OS.clear_error();
    if (!EC)
      return Backup;
    sys::fs::remove(Backup);
    return createFileError(Backup, EC);
  }
}

Expected<JournalRepair> mneme::repairJournal(StringRef Path,
                                             const JournalHeader &Header,
                                             const SearchSpace &Space) {
  Expected<std::unique_ptr<OptunaFile>> File =
      OptunaFile::open(Path, /*Create=*/false, JournalOptions());
  if (!File)
    return File.takeError();
  Expected<std::unique_ptr<MemoryBuffer>> Buffer =
      readFile(Path, MaxJournalFile);
  if (!Buffer)
    return Buffer.takeError();
  Journal::Impl I(Path, Header, Space);
  JournalRepair Result;
  std::string Kept =
      dropDamaged((*Buffer)->getBuffer(), I.Log, Result.NumDropped);
  if (!Result.NumDropped)
    return Result;
  if (I.Log.LacksTrials && I.Log.LacksNumbers)
    return I.inFile(createStringError(
        "a line that created a trial is missing, and the results do not name "
        "their trials: restore the file from a copy, or start another study"));
  if (Error E = I.accept(Header))
    return I.inFile(createStringError(
        "cannot be repaired: without " + Twine(Result.NumDropped) +
        " damaged line(s), " + toString(std::move(E))));
  if (Error E =
          writeBackup(Path, (*Buffer)->getBuffer()).moveInto(Result.Backup))
    return std::move(E);
  if (Error E = writeFileAtomically(Path, Kept))
    return std::move(E);
  return Result;
}
