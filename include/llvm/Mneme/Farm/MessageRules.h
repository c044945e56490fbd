//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
///
/// \file
/// The kinds of values in tables of messages (DeclareMessages.inc). A kind has
/// the type of its values, reads and writes them, and describes itself. Values
/// that read() accepts need no further checks. read() accepts everything that
/// write() makes.
///
//===----------------------------------------------------------------------===//

#ifndef LLVM_MNEME_FARM_MESSAGERULES_H
#define LLVM_MNEME_FARM_MESSAGERULES_H

#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Mneme/Replay/Plan.h"
#include "llvm/Mneme/Source/Diagnostics.h"
#include "llvm/Mneme/Study/Trial.h"
#include "llvm/Support/JSON.h"
#include <optional>
#include <string>
#include <vector>

namespace llvm {
namespace mneme {

/// Maximum number of samples of one launch or comparison.
constexpr size_t MaxSamples = size_t(1) << 19;
/// Maximum number of configurations in one comparison.
constexpr size_t MaxCompared = 1024;

/// Largest numbers of messages about a candidate.
inline constexpr size_t MaxDiagnostics = 64, MaxSuspicions = 64;

namespace rules {

/// Reports \p Why and \returns false.
inline bool refuse(json::Path P, StringLiteral Why) {
  P.report(Why);
  return false;
}

struct Flag {
  using Type = bool;
  static bool read(const json::Value &V, bool &Out, json::Path P);
  static json::Value write(bool V) { return V; }
  static std::string describe() { return "true or false"; }
};

/// Integers from 0 to \p Max.
template <uint64_t Max> struct Integer {
  using Type = uint64_t;
  template <typename T>
  static bool read(const json::Value &V, T &Out, json::Path P) {
    std::optional<uint64_t> N = V.getAsUINT64();
    if (!N || *N > Max || *N > std::numeric_limits<T>::max())
      return refuse(P, "expected an integer in range");
    Out = static_cast<T>(*N);
    return true;
  }
  static json::Value write(uint64_t V) { return V; }
  static std::string describe() { return "integer, 0 to " + utostr(Max); }
};
/// Integers that JSON's numbers represent exactly.
using Number = Integer<(uint64_t(1) << 53)>;
using Count = Integer<std::numeric_limits<uint32_t>::max()>;
/// Number of evaluations under way at a worker.
using Capacity = Integer<16384>;
using Rounds = Integer<MaxSamples>;
using PieceSize = Integer<(uint64_t(1) << 20)>;

/// The values of an enumeration.
template <typename T, T Last> struct Choice {
  using Type = T;
  static bool read(const json::Value &V, T &Out, json::Path P) {
    int N = 0;
    if (!Integer<static_cast<uint64_t>(Last)>::read(V, N, P))
      return false;
    Out = static_cast<T>(N);
    return true;
  }
  static json::Value write(T V) { return static_cast<int64_t>(V); }
  static std::string describe() {
    return "integer, 0 to " + utostr(static_cast<uint64_t>(Last));
  }
};

/// Finite numbers in a range.
template <typename Limits> struct Real {
  using Type = double;
  static bool read(const json::Value &V, double &Out, json::Path P);
  static json::Value write(double V) { return V; }
  static std::string describe() { return Limits::describe().str(); }
  static bool accepts(double V) { return V >= Limits::Min && V <= Limits::Max; }
};
struct SecondsLimits {
  static constexpr double Min = 0, Max = 1e9;
  static StringRef describe() { return "number, 0 to 1e9"; }
};
struct InstantLimits {
  static constexpr double Min = 0, Max = 1e11;
  static StringRef describe() { return "number, 0 to 1e11"; }
};
struct MeasureLimits {
  static constexpr double Min = 0, Max = 1e18;
  static StringRef describe() { return "number, 0 to 1e18"; }
};
struct SampleLimits {
  static constexpr double Min = 1e-6, Max = 1e18;
  static StringRef describe() { return "number, 1e-6 to 1e18"; }
};
struct ToleranceLimits {
  static constexpr double Min = 0, Max = std::numeric_limits<double>::max();
  static StringRef describe() { return "number, not negative"; }
};
using Seconds = Real<SecondsLimits>;
using Instant = Real<InstantLimits>; ///< Seconds since the epoch.
using Measure = Real<MeasureLimits>; ///< A metric, or a limit for one.
using Sample = Real<SampleLimits>;   ///< Nanoseconds.
using Tolerance = Real<ToleranceLimits>;

/// A text without control characters.
bool readText(const json::Value &V, std::string &Out, size_t MaxBytes,
              bool IsOneLine, json::Path P);
/// Changes \p Text such that readText() accepts it.
json::Value writeText(StringRef Text, size_t MaxBytes, bool IsOneLine);

template <size_t MaxBytes, bool IsOneLine> struct BasicText {
  using Type = std::string;
  static bool read(const json::Value &V, std::string &Out, json::Path P) {
    return readText(V, Out, MaxBytes, IsOneLine, P);
  }
  static json::Value write(StringRef V) {
    return writeText(V, MaxBytes, IsOneLine);
  }
  static std::string describe() {
    return (IsOneLine ? "line of at most " : "text of at most ") +
           utostr(MaxBytes) + " bytes";
  }
};
using Text = BasicText<65536, false>; ///< For users.
using Name = BasicText<512, true>;
using Path = BasicText<4096, true>;

/// A hash of letters, digits and "#_-.:", or "" for none.
struct Hash {
  using Type = std::string;
  static bool read(const json::Value &V, std::string &Out, json::Path P);
  static json::Value write(StringRef V) { return V.str(); }
  static std::string describe() {
    return "hash: at most 128 letters, digits and #_-.:";
  }
};

/// A file name without a folder, which becomes part of a path.
struct FileName {
  using Type = std::string;
  static bool read(const json::Value &V, std::string &Out, json::Path P);
  static json::Value write(StringRef V) { return V.str(); }
  static std::string describe() {
    return "file name: at most 200 bytes, no slash, no period in front";
  }
};

struct Digest {
  using Type = std::string;
  static bool read(const json::Value &V, std::string &Out, json::Path P);
  static json::Value write(StringRef V) { return V.str(); }
  static std::string describe() { return "32 hexadecimal digits"; }
};

/// Evaluation::Failure.
struct FailureName {
  using Type = FailureKind;
  static bool read(const json::Value &V, FailureKind &Out, json::Path P);
  static json::Value write(FailureKind V) { return V.name(); }
  static std::string describe() {
    return "empty, Invalid, WorkerLost, or the name of a verdict that is a "
           "failure";
  }
};

struct DuplicateKind {
  using Type = Duplicate;
  static bool read(const json::Value &V, Duplicate &Out, json::Path P);
  static json::Value write(Duplicate V);
  static std::string describe() {
    return "null, or config, ir, assembly or code";
  }
};

/// A level at which a compile process asks.
struct AskLevel : DuplicateKind {
  static bool read(const json::Value &V, Duplicate &Out, json::Path P);
  static std::string describe() { return "ir or assembly"; }
};

struct Cache {
  using Type = CacheMode;
  static bool read(const json::Value &V, CacheMode &Out, json::Path P);
  static json::Value write(CacheMode V);
  static std::string describe() { return "cold or warm"; }
};

/// The keys of Config/Config.def and their values, which applyConfig() checks.
struct Configuration {
  using Type = json::Object;
  static bool read(const json::Value &V, json::Object &Out, json::Path P);
  static json::Value write(const json::Object &V) { return json::Object(V); }
  static std::string describe() { return "object, a configuration"; }
};

/// Values of metrics, by name.
struct Metrics {
  using Type = StringMap<double>;
  static bool read(const json::Value &V, StringMap<double> &Out, json::Path P);
  static json::Value write(const StringMap<double> &V);
  static std::string describe() {
    return "object of numbers, 0 to 1e18, by the name of a metric; time is "
           "more than 0";
  }
};

/// A value of --counters.
struct CounterNames {
  using Type = CounterSet;
  static bool read(const json::Value &V, CounterSet &Out, json::Path P);
  static json::Value write(const CounterSet &V) { return V.print(); }
  static std::string describe() { return "text, as for --counters"; }
};

/// Values of hardware counters in several launches, by name.
struct CounterValues {
  using Type = CounterSamples;
  static bool read(const json::Value &V, CounterSamples &Out, json::Path P);
  static json::Value write(const CounterSamples &V);
  static std::string describe() {
    return "object of lists of at most 64 numbers, 0 to 1e18, by the name of a "
           "counter";
  }
};

/// Limits, by device.
struct Limits {
  using Type = StringMap<double>;
  static bool read(const json::Value &V, StringMap<double> &Out, json::Path P);
  static json::Value write(const StringMap<double> &V);
  static std::string describe() {
    return "object of at most 4096 numbers, 0 to 1e18, by device";
  }
};

/// Evaluation::Level.
struct Level {
  using Type = CompareLevel;
  static bool read(const json::Value &V, CompareLevel &Out, json::Path P);
  static json::Value write(CompareLevel V) { return getLevelName(V); }
  static std::string describe() {
    return "exact, tolerance, envelope or unordered";
  }
};

/// The value of --envelope.
struct Envelope {
  using Type = EnvelopeRule;
  static bool read(const json::Value &V, EnvelopeRule &Out, json::Path P);
  static json::Value write(const EnvelopeRule &V) {
    return printEnvelopeRule(V);
  }
  static std::string describe() { return "text, as for --envelope"; }
};

/// A value of --unordered.
struct Records {
  using Type = UnorderedSpec;
  static bool read(const json::Value &V, UnorderedSpec &Out, json::Path P);
  static json::Value write(const UnorderedSpec &V) { return printUnordered(V); }
  static std::string describe() { return "text, as for --unordered"; }
};

/// Messages of clang about a source, or of the guards.
struct Diagnostic {
  using Type = SourceDiagnostic;
  static bool read(const json::Value &V, SourceDiagnostic &Out, json::Path P) {
    return fromJSON(V, Out, P);
  }
  static json::Value write(const SourceDiagnostic &V) { return toJSON(V); }
  static std::string describe() {
    return "object, as in record-compile.schema.json";
  }
};

template <typename Rule, size_t Max> struct ListOf {
  using Type = std::vector<typename Rule::Type>;
  static bool read(const json::Value &V, Type &Out, json::Path P) {
    const json::Array *List = V.getAsArray();
    if (!List)
      return refuse(P, "expected an array");
    if (List->size() > Max)
      return refuse(P, "has too many elements");
    Out.clear();
    Out.resize(List->size());
    for (size_t I = 0; I != Out.size(); ++I)
      if (!Rule::read((*List)[I], Out[I], P.index(I)))
        return false;
    return true;
  }
  static json::Value write(ArrayRef<typename Rule::Type> V) {
    json::Array List;
    for (const auto &Item : V)
      List.push_back(Rule::write(Item));
    return std::move(List);
  }
  static std::string describe() {
    return "list of at most " + utostr(Max) + ": " + Rule::describe();
  }
};
using Names = ListOf<Name, 1024>;
using Diagnostics = ListOf<Diagnostic, MaxDiagnostics>;
using Texts = ListOf<Text, MaxSuspicions>;
using RecordOptions = ListOf<Records, 4096>;
using Paths = ListOf<Path, 256>;
using Numbers = ListOf<Number, 16384>;
using Hashes = ListOf<Hash, MaxCompared>;
using CounterLists = ListOf<CounterValues, MaxCompared>;
using Samples = ListOf<Sample, MaxSamples>;
/// Their total is limited by the size of a message.
using SampleLists = ListOf<Samples, MaxCompared>;

template <typename Rule> struct Maybe {
  using Type = std::optional<typename Rule::Type>;
  template <typename T>
  static bool read(const json::Value &V, std::optional<T> &Out, json::Path P) {
    Out.reset();
    return V.kind() == json::Value::Null || Rule::read(V, Out.emplace(), P);
  }
  template <typename T> static json::Value write(const std::optional<T> &V) {
    return V ? json::Value(Rule::write(*V)) : json::Value(nullptr);
  }
  static std::string describe() { return "null, or " + Rule::describe(); }
};
using MaybeNumber = Maybe<Number>;
using MaybeCount = Maybe<Count>;
using MaybeCache = Maybe<Cache>;

using MaybeNorm = Maybe<Integer<MNEME_NORM_LINF>>;
using ToleranceKind = Integer<MNEME_TOLERANCE_ULP>;
using ElementType = Integer<MNEME_DTYPE_U64>;

using Edit = Choice<SourceEdit, SourceEdit::Anywhere>;
using Assembler = Choice<PTXCompiler, PTXCompiler::Library>;
using Strategy = Choice<HostStrategy, HostStrategy::Fiber>;
using Finish = Choice<HostFinish, HostFinish::None>;
using Timer = Choice<GPUTimer, GPUTimer::Dispatch>;
using NaN = Choice<NaNRule, NaNRule::Error>;

} // namespace rules
} // namespace mneme
} // namespace llvm

#endif // LLVM_MNEME_FARM_MESSAGERULES_H
