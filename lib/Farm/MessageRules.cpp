//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Farm/MessageRules.h"
#include "llvm/Mneme/Config/Metrics.h"
#include "llvm/Mneme/Replay/Replayer.h"
#include "llvm/Mneme/Support/Digest.h"

using namespace llvm;
using namespace llvm::mneme;
using namespace llvm::mneme::rules;

/// Maximum number of devices in one message.
static constexpr size_t MaxDevices = 4096;

bool Flag::read(const json::Value &V, bool &Out, json::Path P) {
  std::optional<bool> B = V.getAsBoolean();
  if (!B)
    return refuse(P, "expected true or false");
  Out = *B;
  return true;
}

template <typename Limits>
bool Real<Limits>::read(const json::Value &V, double &Out, json::Path P) {
  // JSON's grammar allows 1e999, which is infinite.
  std::optional<double> N = V.getAsNumber();
  if (!N || !accepts(*N))
    return refuse(P, "expected a number in range");
  Out = *N;
  return true;
}

template struct rules::Real<SecondsLimits>;
template struct rules::Real<InstantLimits>;
template struct rules::Real<MeasureLimits>;
template struct rules::Real<SampleLimits>;
template struct rules::Real<ToleranceLimits>;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static bool isControl(char C, bool IsOneLine) {
  return (static_cast<unsigned char>(C) < ' ' &&
          (IsOneLine || (C != '\n' && C != '\t'))) ||
         C == '\x7f';
}

bool rules::readText(const json::Value &V, std::string &Out, size_t MaxBytes,
                     bool IsOneLine, json::Path P) {
  std::optional<StringRef> Text = V.getAsString();
  if (!Text)
    return refuse(P, "expected a string");
  if (Text->size() > MaxBytes)
    return refuse(P, "is too long");
  for (char C : *Text)
    if (isControl(C, IsOneLine))
      return refuse(P, "has control characters");
  Out = Text->str();
  return true;
}

json::Value rules::writeText(StringRef Text, size_t MaxBytes, bool IsOneLine) {
  std::string Fixed = json::fixUTF8(Text);
  if (Fixed.size() > MaxBytes) {
    size_t End = MaxBytes;
    while (End && (Fixed[End] & 0xC0) == 0x80) // inside a character
      --End;
    Fixed.resize(End);
  }
  for (char &C : Fixed)
    if (isControl(C, IsOneLine))
      C = ' ';
  return Fixed;
}

bool Hash::read(const json::Value &V, std::string &Out, json::Path P) {
  std::optional<StringRef> Text = V.getAsString();
  if (!Text || Text->size() > 128 || !all_of(*Text, [](char C) {
        return isAlnum(C) || StringRef("#_-.:").contains(C);
      }))
    return refuse(P, "expected a hash");
  Out = Text->str();
  return true;
}

bool FileName::read(const json::Value &V, std::string &Out, json::Path P) {
  if (!readText(V, Out, 200, /*IsOneLine=*/true, P))
    return false;
  if (Out.empty() || Out.front() == '.' ||
      StringRef(Out).find_first_of("/\\") != StringRef::npos)
    return refuse(P, "expected a file name");
  return true;
}

bool Digest::read(const json::Value &V, std::string &Out, json::Path P) {
  std::optional<StringRef> Text = V.getAsString();
  if (!Text || !parseDigest128(*Text))
    return refuse(P, "expected a digest");
  Out = Text->str();
  return true;
}

//===----------------------------------------------------------------------===//
// Names with a meaning
//===----------------------------------------------------------------------===//

bool FailureName::read(const json::Value &V, FailureKind &Out, json::Path P) {
  std::optional<StringRef> Name = V.getAsString();
  if (!Name)
    return refuse(P, "expected a string");
  std::optional<FailureKind> Known = FailureKind::parse(*Name);
  // Only the study's side cancels and interrupts.
  if (!Known || *Known == FailureKind::Cancelled ||
      *Known == FailureKind::Interrupted)
    return refuse(P, "expected the name of a failure");
  Out = *Known;
  return true;
}

bool DuplicateKind::read(const json::Value &V, Duplicate &Out, json::Path P) {
  Out = Duplicate::None;
  if (V.kind() == json::Value::Null)
    return true;
  std::optional<Duplicate> Known = parseDuplicate(V.getAsString().value_or(""));
  if (!Known || *Known == Duplicate::None)
    return refuse(P, "expected a kind of duplicate");
  Out = *Known;
  return true;
}

json::Value DuplicateKind::write(Duplicate V) {
  return V == Duplicate::None ? json::Value(nullptr)
                              : json::Value(getDuplicateName(V));
}

bool AskLevel::read(const json::Value &V, Duplicate &Out, json::Path P) {
  if (!DuplicateKind::read(V, Out, P))
    return false;
  if (Out != Duplicate::IR && Out != Duplicate::Assembly)
    return refuse(P, "expected ir or assembly");
  return true;
}

bool Cache::read(const json::Value &V, CacheMode &Out, json::Path P) {
  for (CacheMode Mode : {CacheMode::Cold, CacheMode::Warm})
    if (V.getAsString() == getCacheModeName(Mode)) {
      Out = Mode;
      return true;
    }
  return refuse(P, "expected cold or warm");
}

json::Value Cache::write(CacheMode V) { return getCacheModeName(V); }

bool Level::read(const json::Value &V, CompareLevel &Out, json::Path P) {
  std::optional<CompareLevel> Known = parseLevel(V.getAsString().value_or(""));
  if (!Known)
    return refuse(P, "expected a level");
  Out = *Known;
  return true;
}

bool rules::Envelope::read(const json::Value &V, EnvelopeRule &Out,
                           json::Path P) {
  Expected<EnvelopeRule> Rule = parseEnvelopeRule(V.getAsString().value_or(""));
  if (!Rule) {
    consumeError(Rule.takeError());
    return refuse(P, "expected an envelope");
  }
  Out = *Rule;
  return true;
}

bool Records::read(const json::Value &V, UnorderedSpec &Out, json::Path P) {
  std::string Text;
  if (!readText(V, Text, 4096, /*IsOneLine=*/true, P))
    return false;
  Expected<UnorderedSpec> Spec = parseUnordered(Text);
  if (!Spec) {
    consumeError(Spec.takeError());
    return refuse(P, "expected records");
  }
  Out = std::move(*Spec);
  return true;
}

//===----------------------------------------------------------------------===//
// Objects
//===----------------------------------------------------------------------===//

bool Configuration::read(const json::Value &V, json::Object &Out,
                         json::Path P) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return refuse(P, "expected an object");
  Out = *O;
  return true;
}

static bool readNumbers(const json::Value &V, StringMap<double> &Out,
                        json::Path P,
                        function_ref<bool(StringRef, double)> Accepts) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return refuse(P, "expected an object");
  Out.clear();
  for (const auto &[Key, Value] : *O) {
    double N = 0;
    if (!Measure::read(Value, N, P.field(Key)))
      return false;
    if (!Accepts(Key, N))
      return refuse(P.field(Key), "expected another name or number");
    Out[StringRef(Key)] = N;
  }
  return true;
}

static json::Value writeNumbers(const StringMap<double> &V) {
  json::Object O;
  for (const auto &[Key, Value] : V)
    if (Measure::accepts(Value)) // JSON has no infinite numbers
      O[Key.str()] = Value;      // a StringRef would refer to the map's key
  return std::move(O);
}

bool Metrics::read(const json::Value &V, StringMap<double> &Out, json::Path P) {
  return readNumbers(V, Out, P, [](StringRef Name, double N) {
    return findMetric(Name) && (Name != "time" || Sample::accepts(N));
  });
}

json::Value Metrics::write(const StringMap<double> &V) {
  return writeNumbers(V);
}

bool CounterNames::read(const json::Value &V, CounterSet &Out, json::Path P) {
  std::optional<StringRef> Text = V.getAsString();
  Expected<CounterSet> Set = CounterSet::parse(Text.value_or(""));
  if (Text && Set) {
    Out = std::move(*Set);
    return true;
  }
  consumeError(Set.takeError());
  return refuse(P, "expected names of counters");
}

bool CounterValues::read(const json::Value &V, CounterSamples &Out,
                         json::Path P) {
  const json::Object *O = V.getAsObject();
  if (!O)
    return refuse(P, "expected an object");
  Out.clear();
  for (const auto &[Key, List] : *O) {
    if (!findCounter(Key))
      return refuse(P.field(Key), "expected the name of a counter");
    if (!ListOf<Measure, 64>::read(List, Out[StringRef(Key)], P.field(Key)))
      return false;
  }
  return true;
}

json::Value CounterValues::write(const CounterSamples &V) {
  json::Object O;
  for (const auto &[Name, Values] : V)
    O[Name.str()] = json::Array(Values);
  return std::move(O);
}

bool Limits::read(const json::Value &V, StringMap<double> &Out, json::Path P) {
  size_t Count = 0;
  return readNumbers(V, Out, P, [&](StringRef Name, double) {
    return Name.size() <= 512 && ++Count <= MaxDevices;
  });
}

json::Value Limits::write(const StringMap<double> &V) {
  return writeNumbers(V);
}
