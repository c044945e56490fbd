//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Bound.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

/// Peaks are uncertain by this factor: clocks vary, and no probe is perfect.
static constexpr double PeakError = 1.05;

/// A resource limits a launch if it is busy for this share of its time.
static constexpr double LimitShare = 0.6;

/// Indexed by WorkKind.
static constexpr StringLiteral WorkNames[] = {
#define WORK(Name, Key, Unit, Description) #Name,
#include "llvm/Mneme/Transforms/Work.def"
};
static constexpr StringLiteral WorkKeys[] = {
#define WORK(Name, Key, Unit, Description) Key,
#include "llvm/Mneme/Transforms/Work.def"
};

//===----------------------------------------------------------------------===//
// Times
//===----------------------------------------------------------------------===//

static uint64_t exceeding(uint64_t Bytes, uint64_t Limit) {
  return Bytes > Limit ? Bytes - Limit : 0;
}

/// Returns the nanoseconds at a rate; 0 if the rate is unknown.
static double timeAt(double Amount, double Rate) {
  return Rate > 0 ? Amount / Rate : 0;
}

std::vector<BoundTerm> LaunchBound::terms(CacheMode Cache) const {
  // A launch may leave as much of what it writes in the caches as they hold,
  // and a warm cache may hold as much of what it reads.
  uint64_t FromMemory = exceeding(Work.WrittenBytes, Peaks.CacheBytes);
  FromMemory += Cache == CacheMode::Warm
                    ? exceeding(Work.ReadBytes, Peaks.CacheBytes)
                    : Work.ReadBytes;
  // Memory reads and writes in turns; a cache, at the same time.
  std::vector<BoundTerm> Terms = {
      {"DRAM", timeAt(FromMemory, Peaks.DRAM)},
      {"L2", timeAt(std::max(Work.ReadBytes, Work.WrittenBytes), Peaks.Cache)}};
  if (Work.Computed)
    for (auto [Name, Count, Peak] :
         zip_equal(WorkNames, *Work.Computed, Peaks.Work))
      Terms.push_back({Name, timeAt(Count, Peak)});
  return Terms;
}

double LaunchBound::nanoseconds(CacheMode Cache) const {
  std::vector<BoundTerm> Terms = terms(Cache);
  return std::max(Terms[0].Nanoseconds, Terms[1].Nanoseconds);
}

StringRef LaunchBound::limiter(CacheMode Cache, double Nanoseconds) const {
  std::vector<BoundTerm> Terms = terms(Cache);
  auto Most = max_element(Terms, [](const BoundTerm &A, const BoundTerm &B) {
    return A.Nanoseconds < B.Nanoseconds;
  });
  if (Most->Nanoseconds >= LimitShare * Nanoseconds)
    return Most->Name;
  return LimitShare * Nanoseconds <= Peaks.LaunchNanoseconds ? "launch"
                                                             : "latency";
}

bool LaunchBound::isUndercut(CacheMode Cache, double Nanoseconds) const {
  return Nanoseconds * PeakError < nanoseconds(Cache);
}

/// Returns "4.19 TB/s" for bytes per nanosecond.
static std::string formatRate(double Rate) {
  static constexpr std::pair<double, StringLiteral> Units[] = {
      {1e3, "TB/s"}, {1, "GB/s"}, {1e-3, "MB/s"}};
  for (auto [Unit, Name] : Units)
    if (Rate >= Unit)
      return formatv("{0:f2} {1}", Rate / Unit, Name).str();
  return formatv("{0:f2} KB/s", Rate * 1e6).str();
}

std::string mneme::describeBound(const LaunchBound &B, CacheMode Cache) {
  std::vector<BoundTerm> Terms = B.terms(Cache);
  bool OfMemory = Terms[0].Nanoseconds >= Terms[1].Nanoseconds;
  std::string Text =
      formatv("{0} B read and {1} B written, {2} at {3}", B.Work.ReadBytes,
              B.Work.WrittenBytes, OfMemory ? "DRAM" : "L2",
              formatRate(OfMemory ? B.Peaks.DRAM : B.Peaks.Cache))
          .str();
  if (B.Peaks.IsHost)
    Text += ", a CPU's peaks";
  return Text;
}

std::string mneme::describeUndercut(const LaunchBound &B, CacheMode Cache,
                                    double Nanoseconds) {
  std::string Text = formatv("{0} is faster than the bound of {1}: {2}",
                             formatSeconds(Nanoseconds * 1e-9),
                             formatSeconds(B.nanoseconds(Cache) * 1e-9),
                             describeBound(B, Cache))
                         .str();
  if (!B.Peaks.File.empty())
    Text +=
        formatv("; if the recorded code is as fast, the peaks in '{0}' are "
                "wrong: {1}",
                B.Peaks.File, B.Peaks.IsMeasured ? "remove it" : "correct them")
            .str();
  return Text;
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

json::Value mneme::toJSON(const LaunchWork &W) {
  json::Value Computed = nullptr;
  if (W.Computed) {
    json::Object Counts;
    for (auto [Key, Count] : zip_equal(WorkKeys, *W.Computed))
      Counts[Key] = Count;
    Computed = std::move(Counts);
  }
  return json::Object{{"read_bytes", W.ReadBytes},
                      {"written_bytes", W.WrittenBytes},
                      {"computed", std::move(Computed)}};
}

bool mneme::fromJSON(const json::Value &V, LaunchWork &W, json::Path P) {
  json::ObjectMapper O(V, P);
  if (!O || !O.map("read_bytes", W.ReadBytes) ||
      !O.map("written_bytes", W.WrittenBytes))
    return false;
  const json::Value *Computed = V.getAsObject()->get("computed");
  if (!Computed || Computed->kind() == json::Value::Null)
    return true;
  json::ObjectMapper Counts(*Computed, P.field("computed"));
  if (!Counts)
    return false;
  W.Computed.emplace();
  for (auto [Key, Count] : zip_equal(WorkKeys, *W.Computed))
    if (!Counts.map(Key, Count))
      return false;
  return true;
}

namespace {
/// A rate in files, per second.
struct RateKey {
  StringLiteral Key;
  double DevicePeaks::*Member;
};
} // namespace

static constexpr double NanosecondsPerSecond = 1e9;
static constexpr RateKey RateKeys[] = {{"dram", &DevicePeaks::DRAM},
                                       {"l2", &DevicePeaks::Cache}};

json::Value mneme::toJSON(const DevicePeaks &P) {
  json::Object O{{"device", json::fixUTF8(P.Device)},
                 {"driver", json::fixUTF8(P.Driver)},
                 {"clock", P.ClockMHz},
                 {"host", P.IsHost},
                 {"measured", P.IsMeasured},
                 {"cache_bytes", P.CacheBytes},
                 {"launch_ns", P.LaunchNanoseconds},
                 {"file", json::fixUTF8(P.File)}};
  for (const RateKey &K : RateKeys)
    O[K.Key] = P.*K.Member * NanosecondsPerSecond;
  for (auto [Key, Rate] : zip_equal(WorkKeys, P.Work))
    O[Key] = Rate * NanosecondsPerSecond;
  return O;
}

/// Reads a rate, which may be missing.
static bool mapRate(json::ObjectMapper &O, StringLiteral Key, double &Rate,
                    json::Path P) {
  std::optional<double> PerSecond;
  if (!O.mapOptional(Key, PerSecond))
    return false;
  if (PerSecond.value_or(0) < 0) {
    P.field(Key).report("expected a number of at least 0");
    return false;
  }
  Rate = PerSecond.value_or(0) / NanosecondsPerSecond;
  return true;
}

bool mneme::fromJSON(const json::Value &V, DevicePeaks &P, json::Path Path) {
  json::ObjectMapper O(V, Path);
  if (!O || !O.map("device", P.Device) || !O.mapOptional("driver", P.Driver) ||
      !O.mapOptional("clock", P.ClockMHz) || !O.mapOptional("host", P.IsHost) ||
      !O.mapOptional("measured", P.IsMeasured) ||
      !O.map("cache_bytes", P.CacheBytes) ||
      !O.mapOptional("launch_ns", P.LaunchNanoseconds) ||
      !O.mapOptional("file", P.File))
    return false;
  for (const RateKey &K : RateKeys)
    if (!mapRate(O, K.Key, P.*K.Member, Path))
      return false;
  for (auto [Key, Rate] : zip_equal(WorkKeys, P.Work))
    if (!mapRate(O, Key, Rate, Path))
      return false;
  return true;
}

json::Value mneme::toJSON(const LaunchBound &B) {
  return json::Object{{"work", toJSON(B.Work)}, {"peaks", toJSON(B.Peaks)}};
}

bool mneme::fromJSON(const json::Value &V, LaunchBound &B, json::Path P) {
  json::ObjectMapper O(V, P);
  return O && O.map("work", B.Work) && O.map("peaks", B.Peaks);
}
