//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Proposer.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/LineDiff.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static constexpr unsigned MaxRefused = 3;

Expected<std::string> mneme::applySearchReplace(StringRef Version,
                                                const json::Array &Edits) {
  std::string Text = Version.str();
  for (const json::Value &V : Edits) {
    const json::Object *O = V.getAsObject();
    std::optional<StringRef> Search, Replace;
    if (O) {
      Search = O->getString("search");
      Replace = O->getString("replace");
    }
    if (!Search || !Replace || Search->empty())
      return createStringError("an edit needs \"search\" and \"replace\"");
    size_t At = StringRef(Text).find(*Search);
    if (At == StringRef::npos)
      return createStringError("the text to replace does not occur: '" +
                               Search->take_front(200) + "'");
    if (StringRef(Text).find(*Search, At + 1) != StringRef::npos)
      return createStringError("the text to replace occurs several times: '" +
                               Search->take_front(200) + "'");
    Text.replace(At, Search->size(), Replace->str());
  }
  return Text;
}

Expected<json::Array> mneme::parseSearchReplace(StringRef Diff) {
  json::Array Edits;
  std::string Part[2];
  int Where = -1; // Outside of an edit.
  for (StringRef Line : splitLines(Diff)) {
    if (Line.starts_with("<<<<<<<") && Where < 0) {
      Part[0].clear();
      Part[1].clear();
      Where = 0;
    } else if (Line.starts_with("=======") && Where == 0) {
      Where = 1;
    } else if (Line.starts_with(">>>>>>>") && Where == 1) {
      Edits.push_back(json::Object{{"search", Part[0]}, {"replace", Part[1]}});
      Where = -1;
    } else if (Where >= 0) {
      Part[Where] += Line.str() + "\n";
    }
  }
  if (Where >= 0 || Edits.empty())
    return createStringError(
        "expected <<<<<<< SEARCH, =======, >>>>>>> REPLACE");
  return std::move(Edits);
}

Expected<std::unique_ptr<Proposer>>
Proposer::start(StringRef Command, double Seconds, json::Object Greeting,
                std::function<bool()> Stop) {
  Expected<std::unique_ptr<LineProcess>> Program =
      LineProcess::start(Command, Seconds, Stop);
  if (!Program)
    return Program.takeError();
  if (Error E = (*Program)->send(
          formatv("{0}", json::Value(std::move(Greeting))).str()))
    return std::move(E);
  return std::unique_ptr<Proposer>(
      new Proposer(Command, std::move(*Program), std::move(Stop)));
}

static json::Object makeContext(const EvolvedCandidate &C) {
  return json::Object{{"number", C.Number},
                      {"text", json::fixUTF8(C.Text)},
                      {"speedup", C.J.Estimate ? json::Value(*C.J.Estimate)
                                               : json::Value(nullptr)},
                      {"config", json::Object(C.Config)},
                      {"judgement", toJSON(C.J)}};
}

Expected<Proposal> Proposer::read(const json::Object &Answer,
                                  StringRef Parent) const {
  Proposal P;
  P.Cost = Answer.getNumber("cost").value_or(0);
  // It must not extend the search.
  if (!(P.Cost >= 0))
    return createStringError("expected a \"cost\" of at least 0");
  P.Description = Answer.getString("description").value_or("").str();
  if (std::optional<StringRef> Text = Answer.getString("text")) {
    P.Text = Text->str();
    return std::move(P);
  }
  json::Array Edits;
  if (const json::Array *Given = Answer.getArray("edits")) {
    Edits = *Given;
  } else if (std::optional<StringRef> Diff = Answer.getString("diff")) {
    if (Error E = parseSearchReplace(*Diff).moveInto(Edits))
      return std::move(E);
  } else {
    return createStringError(
        "expected one of \"text\", \"edits\", \"diff\" and \"done\"");
  }
  if (Error E = applySearchReplace(Parent, Edits).moveInto(P.Text))
    return std::move(E);
  return std::move(P);
}

Expected<std::optional<Proposal>>
Proposer::ask(uint64_t Number, const EvolvedCandidate &Parent,
              ArrayRef<const EvolvedCandidate *> Inspirations) {
  auto Fail = [&](Error E) {
    return createStringError("proposer '" + Command +
                             "': " + toString(std::move(E)));
  };
  json::Array Others;
  for (const EvolvedCandidate *C : Inspirations)
    Others.push_back(makeContext(*C));
  json::Object Ask{{"ask", Number},
                   {"parent", makeContext(Parent)},
                   {"inspirations", std::move(Others)}};
  if (Error E =
          Program->send(formatv("{0}", json::Value(std::move(Ask))).str()))
    return Fail(std::move(E));
  for (unsigned Refused = 1;; ++Refused) {
    Expected<std::string> Line = Program->receive();
    if (!Line && Stop()) {
      consumeError(Line.takeError());
      return std::nullopt;
    }
    if (!Line)
      return Fail(Line.takeError());
    Expected<json::Value> V = parseJSON(*Line);
    if (!V)
      return Fail(V.takeError());
    const json::Object *O = V->getAsObject();
    if (O && O->getBoolean("done").value_or(false))
      return std::nullopt;
    Expected<Proposal> P =
        O ? read(*O, Parent.Text)
          : Expected<Proposal>(createStringError("expected a JSON object"));
    if (P)
      return std::move(*P);
    std::string Message = toString(P.takeError());
    if (Refused == MaxRefused)
      return Fail(createStringError(Message));
    if (Error E = Program->send(
            formatv("{0}", json::Value(json::Object{{"error", Message}}))
                .str()))
      return Fail(std::move(E));
  }
}
