//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SearchSpaceImpl.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Support/Endian.h"
#include <cmath>

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Binding a study to a recording
//===----------------------------------------------------------------------===//

Expr SearchSpace::Impl::foldRecorded(const Expr &E) const {
  return E.fold(
      [&](StringRef Name, Expr::KindTy Kind) -> std::optional<Value> {
        auto It = Recorded.find(Name);
        if (Kind != Expr::Recorded || It == Recorded.end())
          return std::nullopt;
        return It->second;
      });
}

Expected<Value> SearchSpace::Impl::evaluateFixed(const Expr &E) const {
  return E.evaluate([&](StringRef Name, Expr::KindTy) -> Expected<Value> {
    auto It = Recorded.find(Name);
    if (It == Recorded.end())
      return createStringError("'recorded." + Name + "' is not known");
    return It->second;
  });
}

/// Indices of values are doubles, which are exact up to this number.
static constexpr uint64_t MaxCount = uint64_t(1) << 53;

Error SearchSpace::Impl::bindRange(const Parameter &P, BoundParameter &B) {
  Expected<Value> Low = evaluateFixed(P.Low);
  if (!Low)
    return Low.takeError();
  Expected<Value> High = evaluateFixed(P.High);
  if (!High)
    return High.takeError();
  if (*Low > *High)
    return createStringError("the range " + print(*Low) + ".." + print(*High) +
                             " is empty");
  B.Log = P.Scale == Parameter::Log;
  if (B.Log &&
      (*Low <= (P.Kind == Parameter::Int ? Value(int64_t(0)) : Value(0.0))))
    return createStringError("the lower bound " + print(*Low) +
                             " of a logarithmic range is not positive");
  if (P.Kind == Parameter::Real) {
    B.RealLow = std::get<double>(*Low);
    B.RealHigh = std::get<double>(*High);
    return Error::success();
  }

  B.Low = std::get<int64_t>(*Low);
  int64_t Last = std::get<int64_t>(*High);
  if (B.Log) {
    for (int64_t V = B.Low; V <= Last; V *= 2) {
      ++B.Count;
      if (V > Last / 2)
        break;
    }
    return Error::success();
  }
  if (P.Step) {
    Expected<Value> Step = evaluateFixed(P.Step);
    if (!Step)
      return Step.takeError();
    B.Step = std::get<int64_t>(*Step);
    if (B.Step <= 0)
      return createStringError("the step " + print(*Step) +
                               " is not positive");
  }
  uint64_t Steps = (uint64_t(Last) - uint64_t(B.Low)) / uint64_t(B.Step);
  if (Steps >= MaxCount)
    return createStringError("the range " + print(*Low) + ".." + print(*High) +
                             " has too many values");
  B.Count = Steps + 1;
  return Error::success();
}

/// Returns true if the numbers only increase or only decrease.
static bool areOrdered(ArrayRef<Value> Values) {
  if (Values.size() < 3 || (!std::holds_alternative<int64_t>(Values[0]) &&
                            !std::holds_alternative<double>(Values[0])))
    return false;
  bool Up = Values[0] < Values[1];
  for (size_t I = 1; I != Values.size(); ++I)
    if ((Values[I - 1] < Values[I]) != Up)
      return false;
  return true;
}

static Dimension makeDimension(const Parameter &P, unsigned Index,
                               const BoundParameter &B) {
  Dimension D;
  D.Name = P.Name;
  D.Parameter = Index;
  if (P.Kind == Parameter::Real) {
    D.Kind = Dimension::Real;
    D.Low = B.RealLow;
    D.High = B.RealHigh;
    D.Log = B.Log;
    return D;
  }
  if (P.Kind == Parameter::Int || areOrdered(B.Choices))
    D.Kind = Dimension::Ordered;
  D.Count = B.Count;
  D.High = double(B.Count - 1);
  return D;
}

static Dimension makeDimension(const Parameter &P, unsigned Index,
                               const PipelineDecision &PD, unsigned Decision) {
  Dimension D;
  D.Name = P.Name + "/" + PD.Name;
  D.Parameter = Index;
  D.Decision = Decision;
  if (PD.Kind == PipelineDecision::Integer ||
      PD.Kind == PipelineDecision::Length)
    D.Kind = Dimension::Ordered;
  D.Count = PD.Count;
  D.High = double(PD.Count - 1);
  return D;
}

void SearchSpace::Impl::addDimensions(const Parameter &P, BoundParameter &B) {
  unsigned Index = Parameters.size();
  B.FirstDim = Dimensions.size();
  if (B.Space)
    for (auto [Decision, PD] : enumerate(B.Space->decisions()))
      Dimensions.push_back(makeDimension(P, Index, PD, Decision));
  else
    Dimensions.push_back(makeDimension(P, Index, B));
  B.NumDims = Dimensions.size() - B.FirstDim;
}

/// Returns the value of a field that a configuration does not set, in all
/// spellings that a parameter may use for it.
static SmallVector<Value, 2> getRecordedField(StringRef Key,
                                              const RecordedFacts &Recorded) {
  auto It = Recorded.find(Key);
  if (It != Recorded.end())
    return {It->second};
  std::string Level;
  if (auto Opt = Recorded.find("opt_level"); Opt != Recorded.end())
    Level = std::get<std::string>(Opt->second);
  if (Key == "passes")
    return {"clang<O" + Level + ">", "default<O" + Level + ">"};
  if (Key == "codegen_opt") {
    int64_t N;
    return {StringRef(Level).getAsInteger(10, N) ? Value(int64_t(2))
                                                 : Value(N)};
  }
  if (Expected<std::optional<ValueType>> Type = getFieldType(Key); !Type)
    consumeError(Type.takeError());
  else if (*Type == ValueType::Bool)
    return {Value(false)};
  else if (*Type == ValueType::Int)
    return {Value(int64_t(0))};
  else if (*Type == ValueType::Text)
    return {Value(std::string())};
  return {};
}

Error SearchSpace::Impl::bindDefault(const Parameter &P, BoundParameter &B) {
  std::vector<double> First(B.NumDims, 0);
  if (P.Kind == Parameter::Real)
    First[0] = B.RealLow;
  B.Default = First;
  if (P.Default) {
    Expected<Value> V = evaluateFixed(P.Default);
    if (!V)
      return V.takeError();
    std::optional<std::vector<double>> Numbers = encode(B, *V);
    if (!Numbers)
      return createStringError("the default " + print(*V) +
                               " is not one of its values");
    B.Default = *Numbers;
    B.Absent = *V;
    return Error::success();
  }
  Point P0 = makeEmpty();
  B.Absent = getValue(P0, Parameters.size() - 1);
  for (const ConfigField &F : S.Fields) {
    if (F.Is.kind() != Expr::Parameter || F.Is.name() != P.Name)
      continue;
    for (const Value &V : getRecordedField(F.Key, Recorded))
      if (std::optional<std::vector<double>> Numbers = encode(B, V)) {
        B.Default = *Numbers;
        return Error::success();
      }
  }
  return Error::success();
}

Error SearchSpace::Impl::bindParameter(const Parameter &P, BoundParameter &B) {
  switch (P.Kind) {
  case Parameter::Int:
  case Parameter::Real:
    if (Error E = bindRange(P, B))
      return E;
    break;
  case Parameter::Bool:
    B.Choices = {Value(false), Value(true)};
    B.Count = 2;
    break;
  case Parameter::Choice:
    for (const Expr &C : P.Choices) {
      Expected<Value> V = evaluateFixed(C);
      if (!V)
        return V.takeError();
      if (!is_contained(B.Choices, *V))
        B.Choices.push_back(*V);
    }
    B.Count = B.Choices.size();
    break;
  case Parameter::Pipeline: {
    Expected<PipelineSpace> Space = PipelineSpace::parse(P.Space);
    if (!Space)
      return Space.takeError();
    B.Space = std::move(*Space);
    for (const PipelineDecision &D : B.Space->decisions())
      if (D.Count > MaxCount)
        return createStringError("the decision '" + D.Name +
                                 "' has too many values");
    break;
  }
  }
  if (P.When)
    B.When = foldRecorded(P.When);
  if (B.When && B.When.kind() == Expr::Constant &&
      std::get<bool>(B.When.value()))
    B.When = Expr();
  addDimensions(P, B);
  return Error::success();
}

BitVector SearchSpace::Impl::getUses(const Expr &E) const {
  BitVector Uses(S.Parameters.size());
  switch (E.kind()) {
  case Expr::Constant:
  case Expr::Recorded:
    break;
  case Expr::Parameter: {
    unsigned Slot = Slots.lookup(E.name());
    if (Slot < S.Parameters.size())
      Uses.set(Slot);
    else
      Uses |= getUses(Derived[Slot - S.Parameters.size()]);
    break;
  }
  case Expr::Op:
    for (const Expr &O : E.operands())
      Uses |= getUses(O);
    break;
  }
  return Uses;
}

/// Returns true if the evaluation can fail.
bool SearchSpace::Impl::canFail(const Expr &E) const {
  if (E.kind() == Expr::Parameter) {
    unsigned Slot = Slots.lookup(E.name());
    return Slot >= S.Parameters.size() &&
           canFail(Derived[Slot - S.Parameters.size()]);
  }
  if (E.kind() == Expr::Recorded)
    return true; // Not substituted, so its value is unknown.
  if (E.kind() != Expr::Op)
    return false;
  switch (E.op()) {
  case ExprOp::Min:
  case ExprOp::Max:
  case ExprOp::And:
  case ExprOp::Or:
  case ExprOp::Xor:
  case ExprOp::Not:
  case ExprOp::Eq:
  case ExprOp::Ne:
  case ExprOp::Lt:
  case ExprOp::Le:
  case ExprOp::Gt:
  case ExprOp::Ge:
  case ExprOp::Select:
  case ExprOp::ToReal:
    break;
  default:
    return true;
  }
  return any_of(E.operands(), [&](const Expr &O) { return canFail(O); });
}

Error SearchSpace::Impl::bindChecks() {
  auto Add = [&](const Expr &E, bool MustHold, std::string What) {
    Checks.push_back({E, MustHold, std::move(What), getUses(E)});
  };
  for (auto [P, B] : zip(S.Parameters, Parameters))
    if (B.When && canFail(B.When))
      Add(B.When, false, "the condition of '" + P.Name + "'");
  for (const Constraint &C : S.Constraints) {
    Expr E = foldRecorded(C.Holds);
    std::string What = !C.Message.empty()
                           ? C.Message
                           : "'" + C.Holds.print() + "' does not hold";
    if (E.kind() != Expr::Constant)
      Add(E, true, What);
    else if (!std::get<bool>(E.value()))
      return createStringError("no point is valid for this recording: " +
                               What);
  }
  for (auto [F, E, When] : zip(S.Fields, Fields, FieldWhens))
    if (When && (canFail(When) || canFail(E)))
      // Evaluates the field only where it is set.
      Add(Expr::op(ExprOp::Select, {When, Expr::op(ExprOp::Eq, {E, E}), When}),
          false, "field '" + F.Key + "'");
    else if (!When && canFail(E))
      Add(E, false, "field '" + F.Key + "'");
  return Error::success();
}

Error SearchSpace::Impl::bind() {
  for (const Parameter &P : S.Parameters) {
    BoundParameter B;
    if (Error E = bindParameter(P, B))
      return addContext("parameter '" + P.Name + "'", std::move(E));
    Slots[P.Name] = Parameters.size();
    HasConditions |= bool(B.When);
    Parameters.push_back(std::move(B));
    if (Error E = bindDefault(P, Parameters.back()))
      return addContext("parameter '" + P.Name + "'", std::move(E));
  }
  for (const DerivedValue &D : S.Derived) {
    Slots[D.Name] = Parameters.size() + Derived.size();
    Derived.push_back(foldRecorded(D.Is));
  }
  for (const ConfigField &F : S.Fields) {
    Fields.push_back(foldRecorded(F.Is));
    FieldWhens.push_back(F.When ? foldRecorded(F.When) : Expr());
  }
  if (Error E = bindChecks())
    return E;
  return findParts();
}

Expected<SearchSpace> SearchSpace::create(Study S, RecordedFacts Recorded) {
  if (Error E = checkStudy(S))
    return E;
  auto I = std::make_unique<Impl>();
  I->S = std::move(S);
  I->Recorded = std::move(Recorded);
  if (Error E = I->bind())
    return E;
  return SearchSpace(std::move(I));
}

SearchSpace::SearchSpace(std::unique_ptr<Impl> I) : I(std::move(I)) {}
SearchSpace::SearchSpace(SearchSpace &&) = default;
SearchSpace &SearchSpace::operator=(SearchSpace &&) = default;
SearchSpace::~SearchSpace() = default;

const Study &SearchSpace::study() const { return I->S; }
const RecordedFacts &SearchSpace::recorded() const { return I->Recorded; }
ArrayRef<Dimension> SearchSpace::dimensions() const { return I->Dimensions; }

//===----------------------------------------------------------------------===//
// One parameter of a point
//===----------------------------------------------------------------------===//

PipelinePoint SearchSpace::Impl::getPipelinePoint(const Point &P,
                                                  unsigned Parameter) const {
  const BoundParameter &B = Parameters[Parameter];
  return PipelinePoint(P.begin() + B.FirstDim,
                       P.begin() + B.FirstDim + B.NumDims);
}

void SearchSpace::Impl::setPipelinePoint(Point &P, unsigned Parameter,
                                         const PipelinePoint &PP) const {
  copy(PP, P.begin() + Parameters[Parameter].FirstDim);
}

Value SearchSpace::Impl::getValue(const Point &P, unsigned Parameter) const {
  const BoundParameter &B = Parameters[Parameter];
  if (B.Space)
    return B.Space->print(getPipelinePoint(P, Parameter));
  double Number = P[B.FirstDim];
  if (B.Count == 0)
    return Number;
  return getValue(B, uint64_t(Number));
}

Value SearchSpace::Impl::getValue(const BoundParameter &B,
                                  uint64_t Index) const {
  if (!B.Choices.empty())
    return B.Choices[Index];
  // The product may overflow; the sum fits.
  return B.Log ? B.Low << Index
               : int64_t(uint64_t(B.Low) + Index * uint64_t(B.Step));
}

std::optional<std::vector<double>>
SearchSpace::Impl::encode(const BoundParameter &B, const Value &V) const {
  if (B.Space) {
    const std::string *Text = std::get_if<std::string>(&V);
    if (!Text)
      return std::nullopt;
    std::optional<PipelinePoint> PP = B.Space->find(*Text);
    if (!PP)
      return std::nullopt;
    B.Space->canonicalize(*PP);
    return std::vector<double>(PP->begin(), PP->end());
  }
  if (!B.Choices.empty()) {
    auto It = find(B.Choices, V);
    if (It == B.Choices.end())
      return std::nullopt;
    return std::vector<double>{double(It - B.Choices.begin())};
  }
  const int64_t *Int = std::get_if<int64_t>(&V);
  const double *Real = std::get_if<double>(&V);
  if (!Int && !Real)
    return std::nullopt;
  if (B.Count == 0) {
    double D = Real ? *Real : double(*Int);
    if (!(D >= B.RealLow && D <= B.RealHigh))
      return std::nullopt;
    return std::vector<double>{D};
  }
  // JSON does not distinguish 64.0 from 64.
  if (Real && !(std::abs(*Real) < 0x1p62 && std::floor(*Real) == *Real))
    return std::nullopt;
  int64_t N = Int ? *Int : int64_t(*Real);
  if (N < B.Low)
    return std::nullopt;
  if (B.Log) {
    for (uint64_t I = 0; I != B.Count; ++I)
      if (B.Low << I == N)
        return std::vector<double>{double(I)};
    return std::nullopt;
  }
  uint64_t Distance = uint64_t(N) - uint64_t(B.Low);
  if (Distance % B.Step != 0 || Distance / B.Step >= B.Count)
    return std::nullopt;
  return std::vector<double>{double(Distance / B.Step)};
}

void SearchSpace::Impl::setNumbers(Point &P, unsigned Parameter,
                                   ArrayRef<double> Numbers) const {
  copy(Numbers, P.begin() + Parameters[Parameter].FirstDim);
}

void SearchSpace::Impl::clear(Point &P, unsigned Parameter) const {
  const BoundParameter &B = Parameters[Parameter];
  for (unsigned D = B.FirstDim, E = D + B.NumDims; D != E; ++D)
    P[D] = Dimensions[D].Low;
}

Point SearchSpace::Impl::makeEmpty() const {
  Point P(Dimensions.size());
  for (auto [Number, D] : zip(P, Dimensions))
    Number = D.Low;
  return P;
}

//===----------------------------------------------------------------------===//
// Views of points
//===----------------------------------------------------------------------===//

PointView::PointView(const SearchSpace::Impl &I, const Point &P)
    : I(I), P(P), Exists(I.Parameters.size(), -1), Derived(I.Derived.size()) {}

bool PointView::exists(unsigned Parameter) {
  int8_t &Known = Exists[Parameter];
  if (Known >= 0)
    return Known;
  const Expr &When = I.Parameters[Parameter].When;
  bool Result = true;
  if (When) {
    Expected<Value> V = evaluate(When);
    Result = V && std::get<bool>(*V);
    if (!V)
      consumeError(V.takeError());
  }
  Exists[Parameter] = Result;
  return Result;
}

Expected<Value> PointView::getValue(unsigned Slot) {
  if (Slot < I.Parameters.size()) {
    if (exists(Slot))
      return I.getValue(P, Slot);
    return I.Parameters[Slot].Absent;
  }
  std::optional<Value> &Known = Derived[Slot - I.Parameters.size()];
  if (!Known) {
    Expected<Value> V = evaluate(I.Derived[Slot - I.Parameters.size()]);
    if (!V)
      return V;
    Known = std::move(*V);
  }
  return *Known;
}

Expected<Value> PointView::evaluate(const Expr &E) {
  return E.evaluate([&](StringRef Name, Expr::KindTy Kind) -> Expected<Value> {
    if (Kind == Expr::Recorded)
      return createStringError("'recorded." + Name + "' is not known");
    return getValue(I.Slots.lookup(Name));
  });
}

Error PointView::check(const Check &C) {
  Expected<Value> V = evaluate(C.E);
  if (!V)
    return addContext(C.What, V.takeError());
  if (C.MustHold && !std::get<bool>(*V))
    return createStringError(C.What);
  return Error::success();
}

bool PointView::holds(const Check &C) {
  Expected<Value> V = evaluate(C.E);
  if (V)
    return !C.MustHold || std::get<bool>(*V);
  consumeError(V.takeError());
  return false;
}

//===----------------------------------------------------------------------===//
// Points
//===----------------------------------------------------------------------===//

bool SearchSpace::isActive(const Point &P, unsigned Dim) const {
  const Dimension &D = I->Dimensions[Dim];
  if (!PointView(*I, P).exists(D.Parameter))
    return false;
  return !D.Decision ||
         I->Parameters[D.Parameter].Space->isActive(
             I->getPipelinePoint(P, D.Parameter), *D.Decision);
}

BitVector SearchSpace::activity(const Point &P) const {
  BitVector Active(P.size(), true);
  BitVector Existing = I->getExisting(P);
  for (auto [K, B] : enumerate(I->Parameters)) {
    if (!Existing[K]) {
      Active.reset(B.FirstDim, B.FirstDim + B.NumDims);
    } else if (B.Space) {
      unsigned Dim = B.FirstDim;
      for (bool IsActive : B.Space->activity(I->getPipelinePoint(P, K)))
        Active[Dim++] = IsActive;
    }
  }
  return Active;
}

void SearchSpace::canonicalize(Point &P) const {
  for (auto [Number, D] : zip(P, I->Dimensions)) {
    if (!(Number >= D.Low)) // Also if it is NaN.
      Number = D.Low;
    Number = std::min(Number, D.High);
    if (D.Kind != Dimension::Real)
      Number = std::round(Number);
    Number += 0.0; // No negative zero.
  }
  BitVector Existing = I->getExisting(P);
  for (unsigned K = 0; K != I->Parameters.size(); ++K) {
    if (!Existing[K]) {
      I->clear(P, K);
    } else if (I->Parameters[K].Space) {
      PipelinePoint PP = I->getPipelinePoint(P, K);
      I->Parameters[K].Space->canonicalize(PP);
      I->setPipelinePoint(P, K, PP);
    }
  }
}

uint64_t SearchSpace::digest(const Point &P) const {
  SmallVector<support::ulittle64_t, 32> Words(P.size());
  for (auto [Word, Number] : zip_equal(Words, P))
    Word = bit_cast<uint64_t>(Number);
  return digest64(StringRef(reinterpret_cast<const char *>(Words.data()),
                            Words.size() * sizeof(Words[0])));
}

StringMap<Value> SearchSpace::values(const Point &P) const {
  StringMap<Value> Values;
  PointView View(*I, P);
  for (auto [K, Parameter] : enumerate(I->S.Parameters))
    if (View.exists(K))
      Values[Parameter.Name] = I->getValue(P, K);
  return Values;
}

Value SearchSpace::dimensionValue(unsigned Dim, double X) const {
  const Dimension &D = I->Dimensions[Dim];
  if (!D.Decision) {
    const BoundParameter &B = I->Parameters[D.Parameter];
    return B.Count == 0 ? Value(X) : I->getValue(B, uint64_t(X));
  }
  const PipelineDecision &Decision =
      I->Parameters[D.Parameter].Space->decisions()[*D.Decision];
  auto Index = static_cast<uint64_t>(X);
  switch (Decision.Kind) {
  case PipelineDecision::Alternative:
    return Decision.Labels[Index];
  case PipelineDecision::Optional:
    return Index != 0;
  case PipelineDecision::Integer:
  case PipelineDecision::Rank:
  case PipelineDecision::Length:
    break;
  }
  return static_cast<int64_t>(Decision.Low + Index * Decision.Step);
}

Expected<json::Object> SearchSpace::configure(const Point &P) const {
  PointView View(*I, P);
  for (const Check &C : I->Checks)
    if (Error E = View.check(C))
      return E;
  json::Object Config;
  for (auto [F, E, When] : zip(I->S.Fields, I->Fields, I->FieldWhens)) {
    if (When) {
      Expected<Value> Holds = View.evaluate(When);
      if (!Holds)
        return addContext("field '" + F.Key + "'", Holds.takeError());
      if (!std::get<bool>(*Holds))
        continue;
    }
    Expected<Value> V = View.evaluate(E);
    if (!V)
      return addContext("field '" + F.Key + "'", V.takeError());
    Config[F.Key] = toJSON(*V);
  }
  return Config;
}

bool SearchSpace::isAsRecorded(StringRef Key, const json::Value &V) const {
  SmallVector<Value, 2> Recorded = getRecordedField(Key, I->Recorded);
  // A pipeline's other spellings need not be equivalent.
  return !Recorded.empty() && toJSON(Recorded.front()) == V;
}

static bool isParameter(const Expr &E, StringRef Name) {
  return E.kind() == Expr::Parameter && E.name() == Name;
}

std::vector<std::string> SearchSpace::getSources(StringRef Key) const {
  const Study &S = I->S;
  auto Field = find_if(S.Fields, [&](auto &F) { return F.Key == Key; });
  if (Field == S.Fields.end() || (Field->Is.kind() == Expr::Parameter &&
                                  S.findParameter(Field->Is.name())))
    return {};
  std::vector<std::string> Sources;
  BitVector Uses = I->getUses(Field->Is);
  for (unsigned K : Uses.set_bits()) {
    StringRef Name = S.Parameters[K].Name;
    auto Own =
        find_if(S.Fields, [&](auto &F) { return isParameter(F.Is, Name); });
    Sources.push_back(Own == S.Fields.end() ? Name.str() : Own->Key);
  }
  return Sources;
}

bool SearchSpace::isValid(const Point &P) const {
  if (I->Checks.empty())
    return true;
  PointView View(*I, P);
  return all_of(I->Checks, [&](const Check &C) { return View.holds(C); });
}

Point SearchSpace::defaultPoint() const {
  Point P = I->makeEmpty();
  for (auto [K, B] : enumerate(I->Parameters))
    I->setNumbers(P, K, B.Default);
  canonicalize(P);
  return P;
}

Expected<Point> SearchSpace::makePoint(const StringMap<Value> &Values) const {
  Point P = I->makeEmpty();
  unsigned Used = 0;
  for (auto [K, Parameter] : enumerate(I->S.Parameters)) {
    const BoundParameter &B = I->Parameters[K];
    auto It = Values.find(Parameter.Name);
    if (It == Values.end()) {
      I->setNumbers(P, K, B.Default);
      continue;
    }
    ++Used;
    std::optional<std::vector<double>> Numbers = I->encode(B, It->second);
    if (!Numbers)
      return createStringError("parameter '" + Parameter.Name +
                               "' cannot be " + print(It->second));
    I->setNumbers(P, K, *Numbers);
  }
  if (Used != Values.size()) {
    SmallVector<StringRef, 8> Names(Values.keys());
    sort(Names);
    for (StringRef Name : Names)
      if (!I->S.findParameter(Name))
        return createStringError("there is no parameter '" + Name + "'");
  }
  canonicalize(P);
  return P;
}
