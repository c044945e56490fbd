//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "OptunaLog.h"
#include "OptunaTrial.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>
#include <ctime>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// JSON and times as written by Python
//===----------------------------------------------------------------------===//

/// Replaces NaN, Infinity and -Infinity outside of strings by null.
static std::string replaceNonFinite(StringRef Text) {
  std::string Result;
  bool InString = false;
  while (!Text.empty()) {
    if (InString && Text.front() == '\\' && Text.size() > 1) {
      Result += Text.take_front(2);
      Text = Text.drop_front(2);
      continue;
    }
    if (Text.front() == '"')
      InString = !InString;
    bool Replaced = false;
    for (StringRef Word : {"NaN", "Infinity", "-Infinity"})
      if (!InString && Text.consume_front(Word)) {
        Result += "null";
        Replaced = true;
        break;
      }
    if (Replaced)
      continue;
    Result += Text.front();
    Text = Text.drop_front();
  }
  return Result;
}

Expected<json::Value> mneme::parsePythonJSON(StringRef Line) {
  if (Line.contains("NaN") || Line.contains("Infinity"))
    return parseJSON(replaceNonFinite(Line));
  return parseJSON(Line);
}

std::string mneme::formatOptunaTime(double SecondsSinceEpoch, char Separator) {
  int64_t Microseconds = std::llround(SecondsSinceEpoch * 1e6);
  time_t Seconds = Microseconds / 1000000;
  struct tm Local;
  localtime_r(&Seconds, &Local);
  char Text[64];
  size_t Length = strftime(Text, sizeof(Text), "%Y-%m-%d?%H:%M:%S", &Local);
  snprintf(Text + Length, sizeof(Text) - Length, ".%06d",
           static_cast<int>(Microseconds % 1000000));
  Text[10] = Separator;
  return Text;
}

/// Removes a number of exactly \p Digits digits from the start of \p Text.
static bool consumeDigits(StringRef &Text, size_t Digits, int &Value) {
  if (Text.size() < Digits || Text.take_front(Digits).getAsInteger(10, Value))
    return false;
  Text = Text.drop_front(Digits);
  return true;
}

std::optional<double> mneme::parseOptunaTime(StringRef Text) {
  struct tm T = {};
  T.tm_isdst = -1;
  if (!consumeDigits(Text, 4, T.tm_year) || !Text.consume_front("-") ||
      !consumeDigits(Text, 2, T.tm_mon) || !Text.consume_front("-") ||
      !consumeDigits(Text, 2, T.tm_mday) || Text.empty())
    return std::nullopt;
  Text = Text.drop_front();
  if (!consumeDigits(Text, 2, T.tm_hour) || !Text.consume_front(":") ||
      !consumeDigits(Text, 2, T.tm_min) || !Text.consume_front(":") ||
      !consumeDigits(Text, 2, T.tm_sec))
    return std::nullopt;
  T.tm_year -= 1900;
  T.tm_mon -= 1;
  double Fraction = 0;
  if (Text.consume_front(".")) {
    double Digit = 1;
    for (; !Text.empty() && isDigit(Text.front()); Text = Text.drop_front())
      Fraction += (Text.front() - '0') * (Digit /= 10);
  }
  if (Text.empty())
    return mktime(&T) + Fraction;
  bool West = Text.front() == '-';
  int Hours = 0, Minutes = 0;
  if (Text != "Z") {
    Text = Text.drop_front();
    if (!consumeDigits(Text, 2, Hours) || !Text.consume_front(":") ||
        !consumeDigits(Text, 2, Minutes))
      return std::nullopt;
  }
  double Offset = (Hours * 60 + Minutes) * 60;
  return timegm(&T) + Fraction - (West ? -Offset : Offset);
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

static Error malformed(const Twine &Message) {
  return createStringError(Message);
}

static Error missing(StringRef Key) {
  return malformed("missing or malformed '" + Key + "'");
}

static Expected<uint64_t> getNumber(const json::Object &O, StringRef Key) {
  std::optional<int64_t> N = O.getInteger(Key);
  if (!N || *N < 0)
    return missing(Key);
  return *N;
}

static std::string getText(const json::Object &O, StringRef Key) {
  return O.getString(Key).value_or("").str();
}

static void merge(json::Object &Into, const json::Object *From) {
  if (From)
    for (const auto &[Key, Value] : *From)
      Into[Key] = Value;
}

static Expected<OptunaState> getState(const json::Object &O) {
  Expected<uint64_t> N = getNumber(O, "state");
  if (!N)
    return N.takeError();
  if (*N > static_cast<uint64_t>(OptunaState::Waiting))
    return missing("state");
  return static_cast<OptunaState>(*N);
}

static json::Array getValues(const json::Object &O) {
  if (const json::Array *Values = O.getArray("values"))
    return *Values;
  const json::Value *V = O.get("value");
  return V && V->getAsNumber() ? json::Array{*V} : json::Array();
}

bool mneme::isMeasuredTime(const json::Value &Nanoseconds) {
  std::optional<double> N = Nanoseconds.getAsNumber();
  return N && *N > 0 && std::isfinite(*N);
}

static Error notMeasured(StringRef Key, const json::Value &V) {
  std::string Text;
  raw_string_ostream(Text) << V;
  return malformed("'" + Key + "': expected a time above 0, got " + Text);
}

Error OptunaLog::apply(StringRef Line, bool IsOwnLine) {
  IsOwn = IsOwnLine;
  Expected<json::Value> V = parsePythonJSON(Line);
  if (!V)
    return V.takeError();
  const json::Object *O = V->getAsObject();
  if (!O)
    return malformed("not an object");
  Expected<uint64_t> Code = getNumber(*O, "op_code");
  if (!Code)
    return Code.takeError();

  auto Op = static_cast<OptunaOp>(*Code);
  switch (Op) {
  case OptunaOp::CreateStudy:
    return createStudy(*O);
  case OptunaOp::CreateTrial:
    return createTrial(*O);
  case OptunaOp::DeleteStudy:
  case OptunaOp::SetStudyUserAttr:
  case OptunaOp::SetStudySystemAttr: {
    Expected<OptunaStudy *> S = getStudy(*O);
    if (!S || !*S)
      return S.takeError();
    if (Op == OptunaOp::DeleteStudy)
      (*S)->Deleted = true;
    if (const json::Object *Attributes = O->getObject("user_attr"))
      for (const auto &[Key, V] : *Attributes)
        if (const json::Object *B = V.getAsObject();
            B && StringRef(Key).starts_with(BaselinePrefix))
          if (const json::Value *N = B->get("ns"); N && !isMeasuredTime(*N))
            return notMeasured(Key, *N);
    merge((*S)->UserAttrs, O->getObject("user_attr"));
    merge((*S)->SystemAttrs, O->getObject("system_attr"));
    return Error::success();
  }
  case OptunaOp::SetTrialParam:
  case OptunaOp::SetTrialStateValues:
  case OptunaOp::SetTrialUserAttr:
  case OptunaOp::SetTrialSystemAttr: {
    Expected<OptunaTrial *> T = getTrial(*O);
    if (!T || !*T)
      return T.takeError();
    if (Op == OptunaOp::SetTrialParam)
      return setParam(**T, *O);
    if (Op == OptunaOp::SetTrialStateValues)
      return setState(**T, *O);
    if (const json::Object *Attributes = O->getObject("user_attr");
        Attributes && isOwnTrial((*T)->UserAttrs))
      if (Error E = checkValues(Studies[(*T)->Study], *Attributes, {}))
        return E;
    merge((*T)->UserAttrs, O->getObject("user_attr"));
    merge((*T)->SystemAttrs, O->getObject("system_attr"));
    return Error::success();
  }
  case OptunaOp::SetTrialIntermediateValue:
    return Error::success();
  }
  return Error::success();
}

Expected<OptunaStudy *> OptunaLog::getStudy(const json::Object &Line) {
  Expected<uint64_t> Id = getNumber(Line, "study_id");
  if (!Id)
    return Id.takeError();
  if (*Id >= Studies.size())
    return malformed("no line creates study " + Twine(*Id));
  if (Studies[*Id].Deleted)
    return nullptr;
  return &Studies[*Id];
}

Expected<OptunaTrial *> OptunaLog::getTrial(const json::Object &Line) {
  Expected<uint64_t> Id = getNumber(Line, "trial_id");
  if (!Id)
    return Id.takeError();
  if (*Id >= Trials.size()) {
    LacksTrials = true;
    return malformed("no line creates trial " + Twine(*Id));
  }
  OptunaTrial &T = Trials[*Id];
  if (Error E = checkNumber(T, Line))
    return std::move(E);
  return isFinished(T.State) ? nullptr : &T;
}

Error OptunaLog::checkNumber(const OptunaTrial &T, const json::Object &Line) {
  std::optional<int64_t> Named = Line.getInteger(EndNumberKey);
  std::optional<int64_t> Number = T.UserAttrs.getInteger("number");
  // A repair leaves finished trials without a number.
  if (IsOwn || !Named || Named == Number || (!Number && isFinished(T.State)))
    return Error::success();
  return malformed("it ends trial " + Twine(*Named) +
                   ", but its 'trial_id' is " +
                   (Number ? "that of trial " + Twine(*Number)
                           : Twine("that of another program's trial")));
}

/// Checks times in attributes of a trial of Mneme, and in its values.
Error OptunaLog::checkValues(const OptunaStudy &S,
                             const json::Object &Attributes,
                             const json::Array &Values) const {
  if (const json::Array *Samples = Attributes.getArray("samples_ns"))
    for (const json::Value &V : *Samples)
      if (!isMeasuredTime(V))
        return notMeasured("samples_ns", V);
  if (const json::Value *V = Attributes.get("baseline_ns");
      V && V->kind() != json::Value::Null && !isMeasuredTime(*V))
    return notMeasured("baseline_ns", *V);
  if (const json::Object *Measured = Attributes.getObject("metrics"))
    for (const auto &[Key, V] : *Measured)
      if (StringRef Name = Key;
          (Name == "time" || Name.starts_with("time.")) && !isMeasuredTime(V))
        return notMeasured(Name, V);
  const json::Array *Metrics = S.SystemAttrs.getArray(MetricsKey);
  const json::Array *Hidden = Attributes.getArray("values");
  for (const json::Array *Each : {&Values, Hidden})
    if (Each && Metrics)
      for (const auto &[Metric, V] : zip(*Metrics, *Each))
        if (Metric.getAsString() == StringRef("time") &&
            V.kind() != json::Value::Null && !isMeasuredTime(V))
          return notMeasured("values", V);
  return Error::success();
}

Error OptunaLog::createStudy(const json::Object &Line) {
  std::optional<StringRef> Name = Line.getString("study_name");
  const json::Array *Directions = Line.getArray("directions");
  if (!Name)
    return missing("study_name");
  if (!Directions)
    return missing("directions");
  for (const OptunaStudy &S : Studies)
    if (!S.Deleted && S.Name == *Name)
      return Error::success();
  OptunaStudy S;
  S.Name = Name->str();
  for (const json::Value &D : *Directions)
    S.Maximize.push_back(D.getAsInteger() == 2);
  Studies.push_back(std::move(S));
  return Error::success();
}

void OptunaLog::end(OptunaTrial &T, const json::Object &Line) {
  if (!isFinished(T.State))
    return;
  T.EndOrder = ++Ended;
  T.EndedByMneme =
      Line.getString("worker_id").value_or("").starts_with("llvm-mneme-tune");
}

Error OptunaLog::createTrial(const json::Object &Line) {
  Expected<OptunaStudy *> S = getStudy(Line);
  if (!S || !*S)
    return S.takeError();
  OptunaTrial T;
  T.Study = *S - Studies.data();
  T.Number = (*S)->Trials.size();
  if (Line.get("state")) {
    Expected<OptunaState> State = getState(Line);
    if (!State)
      return State.takeError();
    T.State = *State;
  }
  const json::Object *Distributions = Line.getObject("distributions");
  if (const json::Object *Params = Line.getObject("params"))
    for (const auto &[Name, Internal] : *Params) {
      std::optional<StringRef> D;
      if (Distributions)
        D = Distributions->getString(Name);
      if (!D)
        return malformed("no distribution of '" + StringRef(Name) + "'");
      Expected<json::Value> V = decodeParam(*D, Internal);
      if (!V)
        return V.takeError();
      T.Params.emplace(StringRef(Name).str(), std::move(*V));
    }
  merge(T.UserAttrs, Line.getObject("user_attrs"));
  merge(T.SystemAttrs, Line.getObject("system_attrs"));
  T.Values = getValues(Line);
  T.Started = getText(Line, "datetime_start");
  T.Ended = getText(Line, "datetime_complete");
  end(T, Line);
  if (isOwnTrial(T.UserAttrs)) {
    if (Error E = checkValues(**S, T.UserAttrs, T.Values))
      return E;
    int64_t Number = *T.UserAttrs.getInteger("number");
    auto [Last, IsNew] = (*S)->ByNumber.try_emplace(Number, Trials.size());
    // Another program may have ended it.
    const OptunaTrial *Before = IsNew ? nullptr : &Trials[Last->second];
    if (Before &&
        (!isFinished(Before->State) ||
         (Before->EndedByMneme && Before->State != OptunaState::Fail)))
      return createStringError(std::make_error_code(std::errc::file_exists),
                               "it repeats trial " + Twine(Number));
    Last->second = Trials.size();
  }
  (*S)->Trials.push_back(Trials.size());
  Trials.push_back(std::move(T));
  return Error::success();
}

Error OptunaLog::setParam(OptunaTrial &T, const json::Object &Line) {
  std::optional<StringRef> Name = Line.getString("param_name");
  std::optional<StringRef> Distribution = Line.getString("distribution");
  const json::Value *Internal = Line.get("param_value_internal");
  if (!Name)
    return missing("param_name");
  if (!Distribution || !Internal)
    return malformed("no value of '" + *Name + "'");
  Expected<json::Value> V = decodeParam(*Distribution, *Internal);
  if (!V)
    return V.takeError();
  T.Params.insert_or_assign(Name->str(), std::move(*V));
  return Error::success();
}

Error OptunaLog::setState(OptunaTrial &T, const json::Object &Line) {
  Expected<OptunaState> State = getState(Line);
  if (!State)
    return State.takeError();
  bool IsOfMneme = isOwnTrial(T.UserAttrs);
  if (IsOfMneme)
    if (Error E = checkValues(Studies[T.Study], {}, getValues(Line)))
      return E;
  LacksNumbers |=
      IsOfMneme && isFinished(*State) && !Line.getInteger(EndNumberKey);
  T.State = *State;
  if (Line.getArray("values"))
    T.Values = getValues(Line);
  if (Line.get("datetime_start"))
    T.Started = getText(Line, "datetime_start");
  if (Line.get("datetime_complete"))
    T.Ended = getText(Line, "datetime_complete");
  end(T, Line);
  return Error::success();
}

/// Returns a distribution's choices; null if it has none.
static Expected<json::Value> parseChoices(StringRef Distribution) {
  Expected<json::Value> V = parsePythonJSON(Distribution);
  if (!V)
    return V.takeError();
  const json::Object *O = V->getAsObject();
  const json::Object *Attributes = O ? O->getObject("attributes") : nullptr;
  if (!Attributes)
    return malformed("a distribution without attributes");
  const json::Value *Choices = Attributes->get("choices");
  return Choices ? *Choices : json::Value(nullptr);
}

Expected<json::Value> OptunaLog::decodeParam(StringRef Distribution,
                                             const json::Value &Internal) {
  auto It = Choices.find(Distribution);
  if (It == Choices.end()) {
    Expected<json::Value> C = parseChoices(Distribution);
    if (!C)
      return C.takeError();
    It = Choices.try_emplace(Distribution, std::move(*C)).first;
  }
  std::optional<double> N = Internal.getAsNumber();
  if (!N)
    return malformed("a parameter's value is not a number");
  const json::Array *C = It->second.getAsArray();
  if (!C)
    return Internal;
  if (!(*N >= 0 && *N < C->size()) || *N != std::floor(*N))
    return malformed("a parameter's value is not one of its choices");
  return (*C)[static_cast<size_t>(*N)];
}
