//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Compile/PassGate.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace llvm::mneme;

StringRef mneme::getPassStageName(PassStage S) {
  return S == PassStage::IR ? "ir" : "codegen";
}

//===----------------------------------------------------------------------===//
// Executions
//===----------------------------------------------------------------------===//

std::string PassExecution::spec() const {
  std::string Text = Pass;
  if (!Unit.empty())
    Text += "@" + Unit;
  return Text + "#" + utostr(Occurrence);
}

json::Value mneme::toJSON(const PassExecution &E) {
  auto OrNull = [](StringRef Text) {
    return Text.empty() ? json::Value(nullptr)
                        : json::Value(json::fixUTF8(Text));
  };
  return json::Object{
      {"number", E.Number ? json::Value(E.Number) : json::Value(nullptr)},
      {"stage", getPassStageName(E.Stage)},
      {"pass", json::fixUTF8(E.Pass)},
      {"unit", OrNull(E.Unit)},
      {"function", OrNull(E.Function)},
      {"occurrence", E.Occurrence},
      {"required", E.Required},
      {"ran", E.Ran},
      {"changed", E.Changed ? json::Value(*E.Changed) : json::Value(nullptr)},
      {"instruction_delta", E.InstructionDelta},
      {"seconds", E.Seconds}};
}

bool mneme::fromJSON(const json::Value &V, PassExecution &E, json::Path P) {
  json::ObjectMapper O(V, P);
  std::optional<unsigned> Number;
  std::optional<std::string> Unit, Function;
  std::string Stage;
  if (!O || !O.map("number", Number) || !O.map("stage", Stage) ||
      !O.map("pass", E.Pass) || !O.map("unit", Unit) ||
      !O.map("function", Function) || !O.map("occurrence", E.Occurrence) ||
      !O.map("required", E.Required) || !O.map("ran", E.Ran) ||
      !O.map("changed", E.Changed) ||
      !O.map("instruction_delta", E.InstructionDelta) ||
      !O.map("seconds", E.Seconds))
    return false;
  for (PassStage S : {PassStage::IR, PassStage::CodeGen})
    if (Stage == getPassStageName(S)) {
      E.Stage = S;
      E.Number = Number.value_or(0);
      E.Unit = Unit.value_or("");
      E.Function = Function.value_or("");
      return true;
    }
  P.field("stage").report("no stage of a compilation");
  return false;
}

json::Value mneme::toJSON(const PassListing &L) {
  json::Array Executions;
  for (const PassExecution &E : L.Executions)
    Executions.push_back(toJSON(E));
  return json::Object{{"executions", std::move(Executions)},
                      {"num_ir", L.NumIR},
                      {"num_all", L.NumAll},
                      {"failure", L.Failure.empty()
                                      ? json::Value(nullptr)
                                      : json::Value(json::fixUTF8(L.Failure))}};
}

//===----------------------------------------------------------------------===//
// Sets of executions
//===----------------------------------------------------------------------===//

/// The items of \p Text. Commas inside brackets are of a name: "(f, g)".
static SmallVector<StringRef, 8> splitItems(StringRef Text) {
  SmallVector<StringRef, 8> Items;
  int Depth = 0;
  size_t Begin = 0;
  for (auto [I, C] : enumerate(Text)) {
    if (C == '(' || C == '<')
      ++Depth;
    else if (C == ')' || C == '>')
      --Depth;
    else if (C == ',' && Depth <= 0) {
      Items.push_back(Text.slice(Begin, I).trim());
      Begin = I + 1;
    }
  }
  Items.push_back(Text.substr(Begin).trim());
  return Items;
}

Expected<PassSet> PassSet::parse(StringRef Text) {
  PassSet Set;
  if (Text.trim() == "none")
    return Set;
  if (Text.trim() == "all") {
    Set.Ranges.push_back({1, UINT_MAX});
    return Set;
  }
  for (StringRef Item : splitItems(Text))
    if (Error E = Set.parseItem(Item))
      return E;
  return Set;
}

Error PassSet::parseItem(StringRef Item) {
  if (Item.empty())
    return createStringError("names nothing where a number, a range or a pass "
                             "should be; say none for no execution");
  if (Item == "all" || Item == "none")
    return createStringError("'" + Item + "' must stand alone");
  return isDigit(Item.front()) || Item.front() == '-' ? parseRange(Item)
                                                      : parseName(Item);
}

Error PassSet::parseRange(StringRef Item) {
  auto [First, Last] = Item.split('-');
  Range R{0, UINT_MAX};
  if (First.getAsInteger(10, R.First) ||
      (!Last.empty() && Last.getAsInteger(10, R.Last)))
    return createStringError("'" + Item +
                             "' is neither a number, as 7, nor a "
                             "range, as 3-7 or 3-");
  if (!Item.contains('-'))
    R.Last = R.First;
  if (!R.First)
    return createStringError("'" + Item + "': numbers begin with 1");
  if (R.Last < R.First)
    return createStringError("'" + Item + "' is a backwards range");
  Ranges.push_back(R);
  return Error::success();
}

Error PassSet::parseName(StringRef Item) {
  Name N;
  N.Text = Item.str();
  auto [Rest, Occurrence] = Item.rsplit('#');
  if (Rest.size() != Item.size() &&
      (Occurrence.getAsInteger(10, N.Occurrence) || !N.Occurrence))
    return createStringError("'" + Item + "': '" + Occurrence +
                             "' is not the number of an occurrence");
  auto [Pass, Unit] = Rest.split('@');
  if (Pass.empty() || (Unit.empty() && Rest.contains('@')))
    return createStringError("'" + Item +
                             "' is no name of a pass, as gvn, "
                             "gvn@kernel or gvn@kernel#2");
  N.Pass = Pass.str();
  N.Unit = Unit.str();
  Names.push_back(std::move(N));
  return Error::success();
}

bool PassSet::contains(unsigned Number) const {
  return any_of(Ranges, [&](const Range &R) {
    return Number >= R.First && Number <= R.Last;
  });
}

bool PassSet::matches(const Name &N, const PassExecution &E) {
  return N.Pass == E.Pass &&
         (N.Unit.empty() || N.Unit == E.Unit || N.Unit == E.Function) &&
         (!N.Occurrence || N.Occurrence == E.Occurrence);
}

bool PassSet::names(const PassExecution &E) const {
  return any_of(Names, [&](const Name &N) { return matches(N, E); });
}
