//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Archive.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Tune/Explain.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include <unistd.h>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral HistoryName = "history.jsonl",
                               CandidatesName = "candidates";

static json::Object makeLine(const EvolvedCandidate &C) {
  json::Array Inner;
  for (const InnerTrial &T : C.Inner) {
    json::Object O{{"values", json::Object(T.Values)}};
    if (T.Estimate)
      O["estimate"] = *T.Estimate;
    if (!T.Failure.empty())
      O["failure"] = T.Failure.name();
    Inner.push_back(std::move(O));
  }
  json::Object O{{"number", C.Number},
                 {"parent", C.Parent ? json::Value(*C.Parent) : nullptr},
                 {"origin", C.Origin},
                 {"description", json::fixUTF8(C.Description)},
                 {"config", json::Object(C.Config)},
                 {"values", json::Object(C.Values)},
                 {"inner", std::move(Inner)},
                 {"cost", C.Cost},
                 {"judgement", toJSON(C.J)}};
  return O;
}

static bool readFailure(const json::Object &O, FailureKind &Failure) {
  std::optional<StringRef> Name = O.getString("failure");
  if (!Name)
    return true;
  std::optional<FailureKind> Kind = FailureKind::parse(*Name);
  if (Kind)
    Failure = *Kind;
  return Kind.has_value();
}

static bool readInner(const json::Array &A, std::vector<InnerTrial> &Inner) {
  for (const json::Value &V : A) {
    const json::Object *O = V.getAsObject();
    const json::Object *Values = O ? O->getObject("values") : nullptr;
    InnerTrial &T = Inner.emplace_back();
    if (!Values || !readFailure(*O, T.Failure))
      return false;
    T.Values = *Values;
    T.Estimate = O->getNumber("estimate");
  }
  return true;
}

/// Reads the parts of a judgement that a search uses.
static bool readJudgement(const json::Object &O, Judgement &J) {
  if (!readFailure(O, J.Failure))
    return false;
  J.Error = O.getString("error").value_or("").str();
  J.IRHash = O.getString("ir_hash").value_or("").str();
  J.CodeHash = O.getString("code_hash").value_or("").str();
  if (std::optional<double> Estimate = O.getNumber("estimate"))
    J.Estimate = *Estimate;
  if (const json::Object *Metrics = O.getObject("metrics"))
    for (const auto &[Key, V] : *Metrics)
      J.Metrics[Key] = V.getAsNumber().value_or(0);
  if (const json::Array *Suspicions = O.getArray("suspicions"))
    for (const json::Value &V : *Suspicions)
      J.Suspicions.push_back(V.getAsString().value_or("").str());
  return true;
}

static bool readLine(StringRef Line, EvolvedCandidate &C) {
  Expected<json::Value> V = parseJSON(Line);
  if (!V) {
    consumeError(V.takeError());
    return false;
  }
  const json::Object *O = V->getAsObject();
  const json::Object *J = O ? O->getObject("judgement") : nullptr;
  if (!J || !O->getInteger("number") || !O->getObject("config") ||
      !O->getObject("values"))
    return false;
  C.Number = *O->getInteger("number");
  if (std::optional<int64_t> Parent = O->getInteger("parent"))
    C.Parent = *Parent;
  C.Origin = O->getString("origin").value_or("").str();
  C.Description = O->getString("description").value_or("").str();
  C.Config = *O->getObject("config");
  C.Values = *O->getObject("values");
  C.Cost = O->getNumber("cost").value_or(0);
  const json::Array *Inner = O->getArray("inner");
  return Inner && readInner(*Inner, C.Inner) && readJudgement(*J, C.J);
}

std::string Archive::pathOf(uint64_t Number) const {
  return pathIn(pathIn(Dir, CandidatesName), std::to_string(Number) + ".cu");
}

Expected<Archive> Archive::open(StringRef Dir, bool Resumes) {
  Archive A;
  A.Dir = Dir.str();
  std::string Path = pathIn(Dir, HistoryName);
  bool Exists = sys::fs::exists(Path);
  if (Exists && !Resumes)
    return createFileError(
        Path, createStringError("there is a search: continue it with --resume, "
                                "or choose another folder with -o"));
  if (std::error_code EC =
          sys::fs::create_directories(pathIn(Dir, CandidatesName)))
    return createFileError(Dir, EC);
  if (!Exists)
    return A;
  Expected<std::unique_ptr<MemoryBuffer>> File = readFile(Path);
  if (!File)
    return File.takeError();
  StringRef Text = (*File)->getBuffer();
  // A killed process may have written half a line.
  size_t End = Text.rfind('\n') + 1;
  for (StringRef Line : split(Text.take_front(End).rtrim('\n'), '\n')) {
    EvolvedCandidate C;
    if (Line.empty())
      continue;
    if (!readLine(Line, C) || C.Number > A.All.size())
      return createFileError(Path, createStringError("damaged file"));
    Expected<std::unique_ptr<MemoryBuffer>> Version =
        readTextFile(A.pathOf(C.Number));
    if (!Version)
      return Version.takeError();
    C.Text = (*Version)->getBuffer().str();
    A.isKnown(C.Text);
    if (C.Number == A.All.size())
      A.All.push_back(std::move(C));
    else
      A.All[C.Number] = std::move(C);
  }
  // Not before, as a damaged file must stay as it is.
  if (End != Text.size() && ::truncate(Path.c_str(), End) != 0)
    return createFileError(Path, errnoAsErrorCode());
  return A;
}

Error Archive::add(EvolvedCandidate C) {
  if (C.Number == All.size())
    if (Error E = writeFileAtomically(pathOf(C.Number), C.Text))
      return E;
  std::string Path = pathIn(Dir, HistoryName);
  std::error_code EC;
  raw_fd_ostream OS(Path, EC, sys::fs::CD_OpenAlways, sys::fs::FA_Write,
                    sys::fs::OF_Append);
  if (EC)
    return createFileError(Path, EC);
  OS << json::Value(makeLine(C)) << '\n';
  OS.close();
  if (OS.has_error()) {
    EC = OS.error();
    OS.clear_error();
    return createFileError(Path, EC);
  }
  if (C.Number == All.size())
    All.push_back(std::move(C));
  else
    All[C.Number] = std::move(C);
  return Error::success();
}

bool Archive::isKnown(StringRef Text) {
  return !Known.insert(toHexString(digest128(Text))).second;
}

/// Returns the cell of a candidate among the elites.
static std::string getCell(const EvolvedCandidate &C) {
  auto Get = [&](StringRef Metric) { return C.J.Metrics.lookup(Metric); };
  return formatv("{0}-{1}-{2}", unsigned(Get("reg_usage") / 16),
                 Log2_64_Ceil(uint64_t(Get("shared_mem_usage")) + 1),
                 unsigned(Get("occupancy") * 4))
      .str();
}

const EvolvedCandidate *Archive::choose(unsigned Island, unsigned Islands,
                                        std::mt19937_64 &Random) const {
  std::map<std::string, const EvolvedCandidate *> Elites;
  const EvolvedCandidate *Best = nullptr;
  for (const EvolvedCandidate &C : All) {
    // The start belongs to all islands.
    if (!C.verified() || (C.Number && C.Number % Islands != Island))
      continue;
    const EvolvedCandidate *&Elite = Elites[getCell(C)];
    if (!Elite || C.score() > Elite->score())
      Elite = &C;
    if (!Best || C.score() > Best->score())
      Best = &C;
  }
  if (Elites.empty() || Random() % 2)
    return Best;
  return std::next(Elites.begin(), Random() % Elites.size())->second;
}

const EvolvedCandidate *Archive::chooseAny(std::mt19937_64 &Random) const {
  std::vector<const EvolvedCandidate *> Verified;
  for (const EvolvedCandidate &C : All)
    if (C.verified())
      Verified.push_back(&C);
  return Verified.empty() ? nullptr : Verified[Random() % Verified.size()];
}

std::vector<const EvolvedCandidate *> Archive::best(size_t Count) const {
  std::vector<const EvolvedCandidate *> Sorted;
  for (const EvolvedCandidate &C : All)
    if (C.verified())
      Sorted.push_back(&C);
  llvm::stable_sort(Sorted, [](const auto *A, const auto *B) {
    return A->score() > B->score();
  });
  StringSet<> Codes;
  erase_if(Sorted, [&](const EvolvedCandidate *C) {
    return !C->J.CodeHash.empty() &&
           !Codes.insert(C->J.CodeHash + printLaunch(C->Config)).second;
  });
  Sorted.resize(std::min(Count, Sorted.size()));
  return Sorted;
}
