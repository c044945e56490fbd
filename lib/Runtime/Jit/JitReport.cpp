//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "JitReport.h"
#include "Hex.h"
#include "JSONWriter.h"
#include "Jit.h"
#include "NamePattern.h"
#include "ReportFile.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>

using namespace mneme;

static const char *nameOf(JitTarget T) {
  switch (T) {
  case JitTarget::Function:
    return "function";
  case JitTarget::Host:
    return "host kernel";
  case JitTarget::Cuda:
    return "kernel";
  case JitTarget::Library:
    return "library";
  case JitTarget::CudaLibrary:
    return "library with kernels";
  case JitTarget::HipLibrary:
    return "library with HIP kernels";
  }
  return "";
}

struct JitReport::Totals {
  uint64_t Served = 0, FellBack = 0, Compiled = 0, FromCache = 0, Shared = 0,
           CompileNanoseconds = 0;
};

static void addVariant(const JitVariant &V, uint64_t &Compiled,
                       uint64_t &FromCache, uint64_t &Shared) {
  if (V.TheState != JitVariant::Ready)
    return;
  ++(V.IsFromDisk ? FromCache : V.IsShared ? Shared : Compiled);
}

JitReport::Totals JitReport::addAll() {
  Totals T;
  for (const auto &S : Of.Sites) {
    std::lock_guard<std::mutex> Guard(S->Lock);
    for (const auto &N : S->FellBack)
      T.FellBack += N;
    for (const auto &V : S->Owned) {
      T.Served += V->Served;
      addVariant(*V, T.Compiled, T.FromCache, T.Shared);
      if (!V->IsFromDisk && !V->IsShared)
        T.CompileNanoseconds += V->CompileNanoseconds;
    }
  }
  return T;
}

template <typename T> static std::string numberOf(const char *Bytes) {
  T Value;
  memcpy(&Value, Bytes, sizeof(Value));
  // Not of the program's locale.
  char Text[32];
  auto End = std::to_chars(Text, Text + sizeof(Text), Value);
  return std::string(Text, End.ptr);
}

/// \returns the number, or the bytes in the order of memory.
static std::string show(const std::string &Bytes, JitShown How) {
  const char *At = Bytes.data();
  switch (How == JitShownBytes ? 0 : Bytes.size()) {
  case 1:
    return How == JitShownSigned ? std::to_string(int8_t(*At))
                                 : std::to_string(uint8_t(*At));
  case 2:
    return How == JitShownSigned ? numberOf<int16_t>(At)
                                 : numberOf<uint16_t>(At);
  case 4:
    return How == JitShownFloat    ? numberOf<float>(At)
           : How == JitShownSigned ? numberOf<int32_t>(At)
                                   : numberOf<uint32_t>(At);
  case 8:
    return How == JitShownFloat    ? numberOf<double>(At)
           : How == JitShownSigned ? numberOf<int64_t>(At)
                                   : numberOf<uint64_t>(At);
  }
  constexpr size_t MaxShown = 16;
  return "bytes " + hexDigits(At, std::min(Bytes.size(), MaxShown)) +
         (Bytes.size() > MaxShown ? "..." : "");
}

/// \returns the elements of an array: "{1, 2}".
static std::string showArray(const std::string &Bytes, size_t Size,
                             JitShown How) {
  if (How == JitShownBytes || !Size)
    return show(Bytes, JitShownBytes);
  constexpr size_t MaxShown = 8;
  std::string Out;
  for (size_t At = 0; At + Size <= Bytes.size(); At += Size) {
    Out += At ? ", " : "";
    if (At == MaxShown * Size) {
      Out += "...";
      break;
    }
    Out += show(Bytes.substr(At, Size), How);
  }
  return "{" + Out + "}";
}

/// Arguments are counted from 1, as in annotations.
static uint32_t numberOfArg(const JitFacts &Facts, const MnemeJitField &F) {
  return F.Arg + 1 - std::min(Facts.FirstArg, F.Arg);
}

/// Returns the values of a variant for users: "arg 1 = 42, block.x = 256".
std::string JitReport::describe(const JitSite &S, const JitVariant &V) {
  if (&V == S.Generic)
    return "without constants";
  if (V.IsPartial)
    return "without contents that cannot be read";
  if (!S.Plan.load())
    return "";
  std::string Out;
  auto Add = [&](const std::string &Text) {
    Out += (Out.empty() ? "" : ", ") + Text;
  };
  size_t At = 0;
  auto Take = [&](size_t Size) {
    size_t N = std::min(Size, V.Values.size() - At);
    At += N;
    return V.Values.substr(At - N, N);
  };
  for (uint32_t I : S.Needed.Fields) {
    const MnemeJitField &F = S.Request.Fields[I];
    std::string Name = "arg " + std::to_string(numberOfArg(S.Facts, F));
    auto How =
        I < S.Facts.Shown.size() ? JitShown(S.Facts.Shown[I]) : JitShownBytes;
    if (F.Kind != MNEME_JIT_ARRAY) {
      if (F.Offset)
        Name += " + " + std::to_string(F.Offset);
      Add(Name + " = " + show(Take(F.Size), How));
      continue;
    }
    uint64_t Bytes = 0;
    std::string Count = Take(sizeof(Bytes));
    memcpy(&Bytes, Count.data(), Count.size());
    Add("contents of " + Name +
        (F.Flags & MNEME_JIT_IMMUTABLE
             ? " at " + show(Take(sizeof(void *)), JitShownUnsigned)
             : " = " + showArray(Take(Bytes), F.Size, How)));
  }
  static const char Axes[] = "xyz";
  for (unsigned Axis = 0; Axis != 3; ++Axis)
    for (auto [Name, Mask] : {std::pair("block.", S.Needed.Block),
                              std::pair("grid.", S.Needed.Grid)})
      if (Mask >> Axis & 1) {
        uint32_t Value = 0;
        std::string Bytes = Take(sizeof(Value));
        memcpy(&Value, Bytes.data(), Bytes.size());
        Add(std::string(Name) + Axes[Axis] + " = " + std::to_string(Value));
      }
  if (S.Needed.Threads) {
    uint32_t Value = 0;
    std::string Bytes = Take(sizeof(Value));
    memcpy(&Value, Bytes.data(), Bytes.size());
    Add("threads <= " + std::to_string(Value));
  }
  return Out;
}

static const char *originOf(JitOrigin O) {
  return O == JitOrigin::Disk     ? "cache"
         : O == JitOrigin::Memory ? "shared"
                                  : "compiled";
}

static const char *nameOf(JitLanguage L) {
  switch (L) {
  case JitLanguage::Cpp:
    return "C++";
  case JitLanguage::IR:
    return "LLVM IR";
  case JitLanguage::MLIR:
    break;
  }
  return "MLIR";
}

static const char *originOf(const JitVariant &V) {
  return V.IsFromDisk ? "cache" : V.IsShared ? "shared" : "compiled";
}

static double seconds(uint64_t Nanoseconds) { return Nanoseconds * 1e-9; }

namespace {
/// How much faster the code of a variant is than that as compiled: the median
/// of the ratios of neighbouring launches, which read the same data or nearly
/// so.
struct Gain {
  size_t Pairs = 0;
  uint64_t Served = 0, Own = 0; ///< Median nanoseconds.
  double Ratio = 0, Low = 0, High = 0;
  /// Fewer ratios contain their median in less than 95 % of all cases.
  bool hasInterval() const { return Pairs >= 6; }

  explicit Gain(const JitVariant &V);
};
} // namespace

template <typename T> static T takeMedian(std::vector<T> Values) {
  std::sort(Values.begin(), Values.end());
  return Values[Values.size() / 2];
}

/// With the site's lock. May throw.
Gain::Gain(const JitVariant &V) {
  std::vector<uint64_t> Code, OwnCode;
  std::vector<double> Ratios;
  for (const JitVariant::TimePair &P : V.Times) {
    Code.push_back(P.Served);
    OwnCode.push_back(P.AsCompiled);
    Ratios.push_back(double(P.AsCompiled) / double(P.Served));
  }
  Pairs = Ratios.size();
  if (!Pairs)
    return;
  Served = takeMedian(Code);
  Own = takeMedian(OwnCode);
  std::sort(Ratios.begin(), Ratios.end());
  Ratio = (Ratios[(Pairs - 1) / 2] + Ratios[Pairs / 2]) / 2;
  // The sign test's 95 % interval of a median.
  auto Rank = size_t(std::max(0.0, (Pairs - 1.96 * std::sqrt(Pairs)) / 2));
  Low = Ratios[Rank];
  High = Ratios[Pairs - 1 - Rank];
}

static void writeTimes(JSONWriter &J, const JitVariant &V) {
  Gain G(V);
  if (!G.Pairs)
    return;
  J.key("times").object(JSONWriter::OneLine, [&] {
    J.member("pairs", G.Pairs);
    J.member("served_ns", G.Served);
    J.member("as_compiled_ns", G.Own);
    J.key("gain").object(JSONWriter::OneLine, [&] {
      J.member("value", G.Ratio);
      if (!G.hasInterval())
        return;
      J.member("low", G.Low);
      J.member("high", G.High);
    });
  });
}

static std::string timesToText(const JitVariant &V) {
  Gain G(V);
  if (!G.Pairs)
    return "";
  char Text[160], Interval[48] = "";
  if (G.hasInterval())
    snprintf(Interval, sizeof(Interval), " (%.3f to %.3f)", G.Low, G.High);
  snprintf(
      Text, sizeof(Text),
      "mneme:     speed-up %.3f%s: %.1f us, as compiled %.1f us, %zu pair%s "
      "of launches\n",
      G.Ratio, Interval, G.Served * 1e-3, G.Own * 1e-3, G.Pairs,
      G.Pairs == 1 ? "" : "s");
  return Text;
}

/// With the site's lock.
void JitReport::writeVariant(JSONWriter &J, const JitSite &S,
                             const JitVariant &V) {
  J.member("constants", describe(S, V));
  J.member("served", V.Served);
  J.member("wait_seconds", seconds(V.WaitNanoseconds));
  if (V.TheState == JitVariant::Ready) {
    J.member("origin", originOf(V));
    J.member("compile_seconds", seconds(V.CompileNanoseconds));
  }
  writeTimes(J, V);
  if (V.Problem != JitReason::None) {
    J.member("problem", describeReason(V.Problem));
    J.member("message", V.Text);
  }
}

void JitReport::writeSite(JSONWriter &J, JitSite &S) {
  std::lock_guard<std::mutex> Guard(S.Lock);
  J.member("kind", nameOf(S.Request.Target));
  J.member("symbol", S.Request.Symbol);
  J.member("name", demangled(S.Request.Symbol));
  J.key("reasons").object(JSONWriter::OneLine, [&] {
    for (size_t I = 0; I != NumJitReasons; ++I)
      if (uint64_t N = S.FellBack[I])
        J.member(describeReason(JitReason(I + 1)), N);
  });
  J.key("not_constant").array(JSONWriter::OneLine, [&] {
    for (const auto &[Field, Why] : S.Facts.Refused)
      if (Field < S.Request.Fields.size())
        J.object(JSONWriter::OneLine, [&, &Field = Field, &Why = Why] {
          J.member("arg", numberOfArg(S.Facts, S.Request.Fields[Field]));
          J.member("reason", Why);
        });
  });
  J.key("variants").array(JSONWriter::OneLine, [&] {
    for (const auto &V : S.Owned)
      J.object(JSONWriter::OneLine, [&] { writeVariant(J, S, *V); });
  });
}

std::string JitReport::makeJSON() {
  Totals T = addAll();
  JSONWriter J;
  J.object(JSONWriter::OneLine, [&] {
    J.member("served", T.Served);
    J.member("fell_back", T.FellBack);
    J.member("compiled", T.Compiled);
    J.member("from_cache", T.FromCache);
    J.member("shared", T.Shared);
    J.member("compile_seconds", seconds(T.CompileNanoseconds));
    if (!Of.Note.empty())
      J.member("cache_problem", Of.Note);
    J.key("code").array(JSONWriter::Lines, [&] {
      for (const auto &S : Of.Sites)
        J.object(JSONWriter::OneLine, [&] { writeSite(J, *S); });
    });
    J.key("sources").array(JSONWriter::Lines, [&] {
      for (const Jit::BuiltSource &S : Of.Sources)
        J.object(JSONWriter::OneLine, [&] {
          J.member("kind", nameOf(S.Source.Target));
          J.member("language", nameOf(S.Source.Language));
          J.member("digest", hexDigits(S.Digest.data(), S.Digest.size()));
          J.member("origin", originOf(S.Origin));
          J.member("wait_seconds", seconds(S.WaitNanoseconds));
          J.member("compile_seconds", seconds(S.CompileNanoseconds));
        });
    });
  });
  return J.text() + "\n";
}

static std::string milliseconds(uint64_t Nanoseconds) {
  char Text[32];
  snprintf(Text, sizeof(Text), "%.1f ms", Nanoseconds * 1e-6);
  return Text;
}

std::string JitReport::makeText() {
  Totals T = addAll();
  std::string Out = "mneme: JIT: " + std::to_string(T.Served) +
                    " launches and calls served, " +
                    std::to_string(T.FellBack) + " ran as compiled; " +
                    std::to_string(T.Compiled) + " variants compiled (" +
                    milliseconds(T.CompileNanoseconds) + "), " +
                    std::to_string(T.FromCache) + " from the cache, " +
                    std::to_string(T.Shared) + " shared\n";
  if (!Of.Note.empty())
    Out += "mneme: the cache is not written: " + Of.Note + "\n";
  for (const auto &S : Of.Sites) {
    std::lock_guard<std::mutex> Guard(S->Lock);
    uint64_t Served = 0;
    for (const auto &V : S->Owned)
      Served += V->Served;
    Out += "mneme: " + std::string(nameOf(S->Request.Target)) + " '" +
           demangled(S->Request.Symbol) + "': " + std::to_string(Served) +
           " served\n";
    for (size_t I = 0; I != NumJitReasons; ++I)
      if (uint64_t N = S->FellBack[I])
        Out += "mneme:   " + std::to_string(N) +
               " ran as compiled: " + describeReason(JitReason(I + 1)) + "\n";
    for (const auto &[Field, Why] : S->Facts.Refused)
      if (Field < S->Request.Fields.size())
        Out += "mneme:   argument " +
               std::to_string(numberOfArg(S->Facts, S->Request.Fields[Field])) +
               " is not a constant: " + Why + "\n";
    for (const auto &V : S->Owned) {
      std::string Constants = describe(*S, *V);
      Out += "mneme:   " + (Constants.empty() ? "variant" : Constants) + ": " +
             std::to_string(V->Served) + " served";
      if (V->TheState == JitVariant::Ready) {
        std::string Time = milliseconds(V->CompileNanoseconds);
        Out += V->IsFromDisk ? ", from the cache (compiled in " + Time + ")"
               : V->IsShared ? ", shared (compiled in " + Time + ")"
                             : ", compiled in " + Time;
      }
      if (V->Problem != JitReason::None)
        Out += std::string(", ") + describeReason(V->Problem) +
               (V->Text.empty() ? "" : ": " + V->Text);
      Out += "\n" + timesToText(*V);
    }
  }
  for (const Jit::BuiltSource &S : Of.Sources)
    Out += std::string("mneme: ") + nameOf(S.Source.Language) + ", a " +
           nameOf(S.Source.Target) + ": " + originOf(S.Origin) + ", " +
           milliseconds(S.WaitNanoseconds) + "\n";
  return Out;
}

void JitReport::write() {
  std::lock_guard<std::mutex> Guard(Of.Lock);
  if (Of.Sites.empty() && Of.Sources.empty())
    return;
  const std::string &To = Of.Settings.Report;
  if (To == "-")
    return tell("%s", makeText().c_str());
  std::string Path = expand(To), Text = makeJSON();
  if (!writeFile(Path, Text))
    tell("mneme: warning: cannot write '%s': %s\n", Path.c_str(),
         strerror(errno));
}
