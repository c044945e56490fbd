//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Replay/Compare.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Runtime/CompareElement.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <cstring>
#include <limits>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Option texts
//===----------------------------------------------------------------------===//

namespace {
struct DTypeInfo {
  const char *Name;
  unsigned Size;
};
} // namespace

/// By MNEME_DTYPE_*.
static const DTypeInfo DTypes[] = {
    {"bytes", 1}, {"f32", 4}, {"f64", 8}, {"f16", 2}, {"bf16", 2},
    {"i8", 1},    {"i16", 2}, {"i32", 4}, {"i64", 8}, {"u8", 1},
    {"u16", 2},   {"u32", 4}, {"u64", 8}};

static const char *const ToleranceNames[] = {"exact", "abs", "rel", "ulp"};
static const char *const NormNames[] = {"none", "l1", "l2", "linf"};

/// Returns the index of \p Name in \p Names, or std::nullopt.
static std::optional<uint32_t> findName(ArrayRef<const char *> Names,
                                        StringRef Name) {
  for (auto [I, N] : enumerate(Names))
    if (Name == N)
      return I;
  return std::nullopt;
}

StringRef mneme::getDTypeName(uint32_t DType) {
  return DType < std::size(DTypes) ? DTypes[DType].Name : "unknown";
}
unsigned mneme::getDTypeSize(uint32_t DType) {
  return DType < std::size(DTypes) ? DTypes[DType].Size : 1;
}
StringRef mneme::getNormName(uint32_t Norm) {
  return Norm < std::size(NormNames) ? NormNames[Norm] : "unknown";
}

std::string mneme::getToleranceText(const CompareRule &Rule) {
  if (Rule.Tolerance == MNEME_TOLERANCE_EXACT ||
      Rule.Tolerance >= std::size(ToleranceNames))
    return "exact";
  char Value[32];
  snprintf(Value, sizeof(Value), "%g", Rule.Value);
  return formatv("{0}:{1}", ToleranceNames[Rule.Tolerance], Value).str();
}

Expected<ToleranceSpec> mneme::parseTolerance(StringRef Text) {
  ToleranceSpec Spec;
  auto [Limit, Buffer] = Text.split('@');
  auto [Kind, Value] = Limit.split(':');
  std::optional<uint32_t> Index = findName(ToleranceNames, Kind);
  bool Exact = Index == uint32_t(MNEME_TOLERANCE_EXACT);
  if (!Index || Exact == Limit.contains(':') ||
      (!Exact && Value.getAsDouble(Spec.Value)) || !(Spec.Value >= 0) ||
      std::isinf(Spec.Value) || Text.ends_with("@"))
    return createStringError(formatv("invalid tolerance '{0}': expected "
                                     "abs|rel|ulp:VALUE[@buffer] or exact",
                                     Text)
                                 .str());
  Spec.Kind = *Index;
  Spec.Buffer = Buffer.str();
  return Spec;
}

Expected<ElementTypeSpec> mneme::parseElementType(StringRef Text) {
  auto [Name, Buffer] = Text.split('@');
  for (auto [I, Info] : enumerate(DTypes))
    if (Name == Info.Name && !Text.ends_with("@"))
      return ElementTypeSpec{static_cast<uint32_t>(I), Buffer.str()};
  std::string Known = join(
      map_range(DTypes, [](const DTypeInfo &I) { return StringRef(I.Name); }),
      ", ");
  return createStringError(
      formatv("invalid element type '{0}': expected one of {1}, with [@buffer]",
              Text, Known)
          .str());
}

Expected<uint32_t> mneme::parseNorm(StringRef Text) {
  if (std::optional<uint32_t> Norm = findName(NormNames, Text))
    return *Norm;
  return createStringError(
      formatv("invalid norm '{0}': expected none, l1, l2 or linf", Text).str());
}

Expected<NaNRule> mneme::parseNaNRule(StringRef Text) {
  if (Text == "equal")
    return NaNRule::Equal;
  if (Text == "error")
    return NaNRule::Error;
  return createStringError(
      formatv("invalid NaN rule '{0}': expected equal or error", Text).str());
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// Returns the bits of the element at \p P, zero-extended.
static uint64_t loadBits(const char *P, unsigned Size) {
  using namespace support::endian;
  switch (Size) {
  case 8:
    return read64le(P);
  case 4:
    return read32le(P);
  case 2:
    return read16le(P);
  default:
    return static_cast<uint8_t>(*P);
  }
}

std::string mneme::printElement(const char *P, uint32_t DType) {
  uint64_t Bits = loadBits(P, getDTypeSize(DType));
  if (DType == MNEME_DTYPE_BYTES)
    return formatv("0x{0:x-2}", Bits).str();
  CompareElement E = makeElement(Bits, DType);
  if (!E.IsFloat)
    return isSignedDType(DType)
               ? itostr(static_cast<int64_t>(E.Order - CompareOrderOfZero))
               : utostr(E.Order);
  char Text[40];
  // 9 digits distinguish all floats, 17 all doubles.
  snprintf(Text, sizeof(Text), "%.*g", DType == MNEME_DTYPE_F64 ? 17 : 9,
           E.Value);
  return Text;
}

uint64_t mneme::countElements(uint64_t Size, uint32_t DType) {
  unsigned ElementSize = getDTypeSize(DType);
  return Size / ElementSize + Size % ElementSize;
}

ElementPlace mneme::findElement(uint64_t Size, uint32_t DType, uint64_t Index) {
  unsigned ElementSize = getDTypeSize(DType);
  uint64_t Count = Size / ElementSize;
  if (Index < Count)
    return {Index * ElementSize, DType};
  return {Count * ElementSize + (Index - Count), MNEME_DTYPE_BYTES};
}

double mneme::findLargest(ArrayRef<char> Bytes, uint32_t DType) {
  double Largest = 0;
  unsigned Size = getDTypeSize(DType);
  if (DType == MNEME_DTYPE_BYTES)
    return 0;
  for (size_t I = 0; I + Size <= Bytes.size(); I += Size) {
    double Value = makeElement(loadBits(&Bytes[I], Size), DType).Value;
    if (std::isfinite(Value))
      Largest = std::max(Largest, std::fabs(Value));
  }
  return Largest;
}

//===----------------------------------------------------------------------===//
// Ranges
//===----------------------------------------------------------------------===//

namespace {
/// Accumulates a norm of the differences or of the recorded values.
class NormSum {
public:
  explicit NormSum(uint32_t Norm) : Norm(Norm) {}
  void add(double V) {
    V = std::fabs(V);
    if (Norm == MNEME_NORM_LINF)
      Sum = std::max<long double>(Sum, V);
    else
      Sum += Norm == MNEME_NORM_L2 ? static_cast<long double>(V) * V : V;
  }
  long double value() const {
    return Norm == MNEME_NORM_L2 ? std::sqrt(Sum) : Sum;
  }

private:
  uint32_t Norm;
  long double Sum = 0; ///< The square of a double may overflow double.
};
} // namespace

CompareStats mneme::compareMemory(ArrayRef<char> Expected,
                                  ArrayRef<char> Actual,
                                  const CompareRule &Rule) {
  assert(Expected.size() == Actual.size() && "ranges of different size");
  CompareStats Stats;
  unsigned Size = getDTypeSize(Rule.DType);
  uint64_t Count = Expected.size() / Size;
  uint64_t Tail = Expected.size() % Size;
  Stats.Elements = countElements(Expected.size(), Rule.DType);
  bool IsNumber = Rule.DType != MNEME_DTYPE_BYTES;
  bool ForbidNaN = IsNumber && Rule.NaN == NaNRule::Error;
  bool WithNorm = IsNumber && Rule.Norm != MNEME_NORM_NONE &&
                  Rule.Tolerance != MNEME_TOLERANCE_EXACT;
  bool Same = std::memcmp(Expected.data(), Actual.data(), Expected.size()) == 0;
  if (Same && !ForbidNaN) {
    if (WithNorm)
      Stats.NormError = 0;
    return Stats;
  }

  NormSum Difference(Rule.Norm), Recorded(Rule.Norm);
  auto Mismatch = [&](uint64_t Index, const char *E, const char *A,
                      uint32_t DType) {
    ++Stats.Mismatches;
    if (Stats.First)
      return;
    Stats.First = Index;
    Stats.Expected = printElement(E, DType);
    Stats.Actual = printElement(A, DType);
  };
  // Skip blocks that are equal as a whole, unless their elements contribute to
  // a norm.
  constexpr uint64_t Block = 256;
  for (uint64_t Begin = 0; Begin < Count; Begin += Block) {
    uint64_t End = std::min(Begin + Block, Count);
    const char *E = Expected.data() + Begin * Size;
    const char *A = Actual.data() + Begin * Size;
    if (!WithNorm && !ForbidNaN && std::memcmp(E, A, (End - Begin) * Size) == 0)
      continue;
    for (uint64_t I = Begin; I != End; ++I, E += Size, A += Size) {
      bool Differs = std::memcmp(E, A, Size) != 0;
      Stats.Differences += Differs;
      if (!IsNumber) {
        if (Differs)
          Mismatch(I, E, A, Rule.DType);
        continue;
      }
      CompareElement X = makeElement(loadBits(E, Size), Rule.DType);
      CompareElement Y = makeElement(loadBits(A, Size), Rule.DType);
      bool NaN = ForbidNaN && (X.IsNaN || Y.IsNaN);
      // An infinite recorded norm would make every error zero.
      if (WithNorm && std::isfinite(X.Value))
        Recorded.add(X.Value);
      if (!Differs && !NaN)
        continue;
      ElementError Err = getElementError(X, Y, ForbidNaN);
      Stats.MaxAbs = std::max(Stats.MaxAbs, Err.Abs);
      Stats.MaxRel = std::max(Stats.MaxRel, Err.Rel);
      Stats.MaxUlp = std::max(Stats.MaxUlp, Err.Ulp);
      if (WithNorm)
        Difference.add(Rule.Tolerance == MNEME_TOLERANCE_ULP ? Err.Ulp
                                                             : Err.Abs);
      bool Bad = NaN || !isWithinTolerance(Err, Rule.Tolerance, Rule.Value);
      if (WithNorm ? NaN || Differs : Bad)
        Mismatch(I, E, A, Rule.DType);
    }
  }

  Stats.Pass = Stats.Mismatches == 0;
  if (WithNorm) {
    long double Norm = Difference.value();
    if (Rule.Tolerance == MNEME_TOLERANCE_REL && Norm > 0)
      Norm = Recorded.value() > 0 ? Norm / Recorded.value()
                                  : std::numeric_limits<double>::infinity();
    Stats.NormError = Norm;
    Stats.Pass = Norm <= Rule.Value; // False for NaN.
    if (Stats.Pass) {
      Stats.Mismatches = 0;
      Stats.First.reset();
    }
  }
  for (uint64_t I = 0; I != Tail; ++I) {
    const char *E = Expected.data() + Count * Size + I;
    const char *A = Actual.data() + Count * Size + I;
    if (*E == *A)
      continue;
    ++Stats.Differences;
    Mismatch(Count + I, E, A, MNEME_DTYPE_BYTES);
    Stats.Pass = false;
  }
  applyMeasuredLimit(Stats, Rule);
  return Stats;
}

void mneme::applyMeasuredLimit(CompareStats &Stats, const CompareRule &Rule) {
  if (!Rule.Measured || !Stats.Pass || Stats.MaxAbs <= *Rule.Measured)
    return;
  Stats.Pass = false;
  Stats.Mismatches = std::max<uint64_t>(Stats.Mismatches, 1);
}

//===----------------------------------------------------------------------===//
// JSON
//===----------------------------------------------------------------------===//

/// JSON has no infinities and no NaN.
static json::Value numberToJSON(double V) {
  if (std::isnan(V))
    return "nan";
  if (std::isinf(V))
    return V < 0 ? "-inf" : "inf";
  return V;
}

static double numberFromJSON(const json::Value *V) {
  if (!V)
    return 0;
  if (std::optional<double> Number = V->getAsNumber())
    return *Number;
  return V->getAsString() == StringRef("nan")
             ? std::numeric_limits<double>::quiet_NaN()
             : std::numeric_limits<double>::infinity();
}

json::Value mneme::toJSON(const BufferReport &R) {
  const CompareStats &S = R.Stats;
  json::Object O{{"buffer", R.Id},
                 {"kind", R.IsGlobal ? "global" : "heap"},
                 {"name", orNull(R.Name)},
                 {"address", formatv("{0:x}", R.Address).str()},
                 {"size", R.Size},
                 {"dtype", getDTypeName(R.Rule.DType)},
                 {"tolerance", getToleranceText(R.Rule)},
                 {"norm", getNormName(R.Rule.Norm)},
                 {"pass", S.Pass},
                 {"elements", S.Elements},
                 {"differences", S.Differences},
                 {"mismatches", S.Mismatches},
                 {"first_mismatch", S.First},
                 {"max_abs_error", numberToJSON(S.MaxAbs)},
                 {"max_rel_error", numberToJSON(S.MaxRel)},
                 {"max_ulp_error", numberToJSON(S.MaxUlp)},
                 {"norm_error", S.NormError ? numberToJSON(*S.NormError)
                                            : json::Value(nullptr)},
                 {"reproducible", R.Reproducible},
                 {"digest", orNull(R.Digest)},
                 {"level", getLevelName(R.Level)},
                 {"measured_abs_limit", R.Rule.Measured
                                            ? numberToJSON(*R.Rule.Measured)
                                            : json::Value(nullptr)},
                 {"record_size", R.RecordSize ? json::Value(R.RecordSize)
                                              : json::Value(nullptr)},
                 {"records", orNull(R.Records)}};
  O["expected"] = S.First ? json::Value(S.Expected) : json::Value(nullptr);
  O["actual"] = S.First ? json::Value(S.Actual) : json::Value(nullptr);
  return O;
}

bool mneme::fromJSON(const json::Value &V, BufferReport &R, json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Kind, DType, Tolerance, Norm, Address, Level;
  std::optional<std::string> Name, Expected, Actual, Digest, Records;
  std::optional<uint32_t> RecordSize;
  CompareStats &S = R.Stats;
  if (!O || !O.map("buffer", R.Id) || !O.map("kind", Kind) ||
      !O.map("name", Name) || !O.map("address", Address) ||
      !O.map("size", R.Size) || !O.map("dtype", DType) ||
      !O.map("tolerance", Tolerance) || !O.map("norm", Norm) ||
      !O.map("pass", S.Pass) || !O.map("elements", S.Elements) ||
      !O.map("differences", S.Differences) ||
      !O.map("mismatches", S.Mismatches) || !O.map("first_mismatch", S.First) ||
      !O.map("expected", Expected) || !O.map("actual", Actual) ||
      !O.map("reproducible", R.Reproducible) || !O.map("digest", Digest) ||
      !O.map("level", Level) || !O.map("record_size", RecordSize) ||
      !O.map("records", Records))
    return false;
  auto Fail = [&](const char *Field, llvm::Error E) {
    P.field(Field).report("unknown value");
    consumeError(std::move(E));
    return false;
  };
  auto Type = parseElementType(DType);
  if (!Type)
    return Fail("dtype", Type.takeError());
  auto Limit = parseTolerance(Tolerance);
  if (!Limit)
    return Fail("tolerance", Limit.takeError());
  auto NormKind = parseNorm(Norm);
  if (!NormKind)
    return Fail("norm", NormKind.takeError());
  std::optional<CompareLevel> KnownLevel = parseLevel(Level);
  if (!KnownLevel) {
    P.field("level").report("unknown value");
    return false;
  }
  R.Level = *KnownLevel;
  R.RecordSize = RecordSize.value_or(0);
  R.Records = Records.value_or("");
  R.Rule.DType = Type->DType;
  R.Rule.Tolerance = Limit->Kind;
  R.Rule.Value = Limit->Value;
  R.Rule.Norm = *NormKind;
  R.IsGlobal = Kind == "global";
  R.Name = Name.value_or("");
  R.Digest = Digest.value_or("");
  if (StringRef(Address).getAsInteger(0, R.Address)) {
    P.field("address").report("expected an address");
    return false;
  }
  S.Expected = Expected.value_or("");
  S.Actual = Actual.value_or("");
  const json::Object *Object = V.getAsObject();
  S.MaxAbs = numberFromJSON(Object->get("max_abs_error"));
  S.MaxRel = numberFromJSON(Object->get("max_rel_error"));
  S.MaxUlp = numberFromJSON(Object->get("max_ulp_error"));
  if (const json::Value *N = Object->get("norm_error"); N && !N->getAsNull())
    S.NormError = numberFromJSON(N);
  if (const json::Value *N = Object->get("measured_abs_limit");
      N && !N->getAsNull())
    R.Rule.Measured = numberFromJSON(N);
  return true;
}

json::Value mneme::toJSON(const StrayWrite &W) {
  return json::Object{{"address", formatv("{0:x}", W.Address).str()},
                      {"buffer", W.Buffer},
                      {"distance", W.Distance},
                      {"behind", W.IsBehind}};
}

bool mneme::fromJSON(const json::Value &V, StrayWrite &W, json::Path P) {
  json::ObjectMapper O(V, P);
  std::string Address;
  if (!O || !O.map("address", Address) || !O.map("buffer", W.Buffer) ||
      !O.map("distance", W.Distance) || !O.map("behind", W.IsBehind))
    return false;
  if (StringRef(Address).getAsInteger(0, W.Address)) {
    P.field("address").report("expected an address");
    return false;
  }
  return true;
}
