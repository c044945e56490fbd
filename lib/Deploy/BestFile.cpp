//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Deploy/PackWinner.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/TextError.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace llvm;
using namespace llvm::mneme;

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

/// In the order of MNEME_GRADE_* and MNEME_CODE_*.
static constexpr StringLiteral GradeNames[] = {"same", "proven", "verified",
                                               "unproven"};
static constexpr StringLiteral CodeNames[] = {"proven", "tested", "verified",
                                              "unproven"};

StringRef mneme::getGradeName(uint32_t Grade) { return GradeNames[Grade]; }
StringRef mneme::getCodeName(uint32_t Code) { return CodeNames[Code]; }

/// Sets \p Number to that of a name, from \p First on.
static Error parseName(StringRef Option, StringRef Text,
                       ArrayRef<StringLiteral> Names, uint32_t First,
                       uint32_t &Number) {
  for (Number = First; Number != Names.size(); ++Number)
    if (Text == Names[Number])
      return Error::success();
  return createStringError("invalid --" + Option + "=" + Text + ": expected " +
                           join(Names.drop_front(First).drop_back(), ", ") +
                           " or " + Names.back());
}

Error mneme::parseScope(StringRef Text, PackOptions &O) {
  if (Text != "recorded" && Text != "kernel")
    return createStringError("invalid --scope=" + Text +
                             ": expected recorded or kernel");
  O.Scope = Text == "kernel" ? PackScope::Kernel : PackScope::Recorded;
  return Error::success();
}

Error mneme::parseLaunchShape(StringRef Text, PackOptions &O) {
  return parseName("launch-shape", Text, GradeNames, MNEME_GRADE_PROVEN,
                   O.LaunchShape);
}

Error mneme::parseCode(StringRef Text, PackOptions &O) {
  return parseName("code", Text, CodeNames, MNEME_CODE_PROVEN, O.Code);
}

Error mneme::parseAccept(StringRef Text, PackOptions &O) {
  std::optional<CompareLevel> Level = parseLevel(Text);
  if (!Level)
    return createStringError("invalid --accept=" + Text +
                             ": expected exact, tolerance, envelope or "
                             "unordered");
  O.Accept = *Level;
  return Error::success();
}

Error mneme::parseDeviceMatch(StringRef Text, PackOptions &O) {
  if (Text != "name" && Text != "arch")
    return createStringError("invalid --device-match=" + Text +
                             ": expected name or arch");
  O.MatchesArch = Text == "arch";
  return Error::success();
}

//===----------------------------------------------------------------------===//
// best.json
//===----------------------------------------------------------------------===//

/// Reads the configuration and the code of a winner on one launch; all else is
/// as in \p Like. Returns nothing if one is missing.
static std::optional<InstanceWinner>
readOnInstance(const json::Object *O, const MeasuredWinner &Like) {
  const json::Object *Config = O ? O->getObject("config") : nullptr;
  if (!Config || !O->getString("record_id") || !O->getString("code_hash"))
    return std::nullopt;
  InstanceWinner Own{O->getString("record_id")->str(), *Config, Like};
  Own.Winner.CodeHash = O->getString("code_hash")->str();
  Own.Winner.Provenance["config"] = json::Object(*Config);
  Own.Winner.Provenance["code_hash"] = Own.Winner.CodeHash;
  return Own;
}

/// Adds a winner that differs from the common one.
static bool readInstanceWinner(const json::Object *O,
                               const MeasuredWinner &Like, BestFile &B) {
  std::optional<InstanceWinner> Own = readOnInstance(O, Like);
  const json::Object *Speedup = O ? O->getObject("speedup") : nullptr;
  if (!Own || !Speedup || !O->getInteger("trial"))
    return false;
  json::Object &P = Own->Winner.Provenance;
  P["record_ids"] = json::Array{Own->RecordId};
  P["trial"] = *O->getInteger("trial");
  P["expected"] = json::Object{{"speedup", json::Object(*Speedup)}};
  B.InstanceWinners.push_back(std::move(*Own));
  return true;
}

static bool readTestedArgument(const json::Object &O, TestedLaunch &L) {
  std::optional<int64_t> Index = O.getInteger("index"),
                         Low = O.getInteger("low"), High = O.getInteger("high");
  std::optional<bool> IsSigned = O.getBoolean("signed");
  if (!Index || *Index < 0 || *Index > UINT32_MAX || !Low || !High ||
      !IsSigned || *Low > *High || (!*IsSigned && *Low < 0))
    return false;
  L.Arguments.push_back(
      {unsigned(*Index), *IsSigned, uint64_t(*Low), uint64_t(*High)});
  return true;
}

/// Reads an entry of 'tested'.
static bool readTested(const json::Value &V, MeasuredWinner &W) {
  const json::Object *O = V.getAsObject();
  const json::Array *Arguments = O ? O->getArray("arguments") : nullptr;
  std::optional<StringRef> Id = O ? O->getString("record_id") : std::nullopt;
  int64_t Count = O ? O->getInteger("launches").value_or(0) : 0;
  if (!Arguments || !Id || Count < 1 || Count > UINT32_MAX)
    return false;
  TestedLaunch &L = W.Tested.emplace_back();
  L.RecordId = Id->str();
  L.Count = Count;
  // The upper end of the interval.
  const json::Array *Speedup = O->getArray("speedup");
  if (Speedup && Speedup->size() == 3)
    L.IsSlower = Speedup->back().getAsNumber().value_or(1) < 1;
  // Arguments are guarded.
  const json::Array *Unvaried = O->getArray("unvaried");
  L.KeptMemory = !Unvaried || any_of(*Unvaried, [](const json::Value &I) {
    const json::Object *Input = I.getAsObject();
    return !Input ||
           !Input->getString("input").value_or("").starts_with("argument ");
  });
  return all_of(*Arguments, [&](const json::Value &A) {
    return A.getAsObject() && readTestedArgument(*A.getAsObject(), L);
  });
}

Expected<BestFile> mneme::readBest(const json::Object &Best, StringRef Path) {
  auto Fail = [&](const Twine &Why) {
    return createStringError("'" + Path + "' " + Why);
  };
  if (Best.getString("format") != "mneme-best")
    return Fail("is not the best.json of a study");
  if (int64_t Version = Best.getInteger("version").value_or(0); Version != 1)
    return Fail("has version " + Twine(Version) + ": update Mneme");
  const json::Object *Expected = Best.getObject("expected");
  const json::Object *Config = Best.getObject("config");
  if (!Expected || !Config)
    return Fail("is damaged: 'expected' or 'config' is missing");
  const json::Object *Speedup = Expected->getObject("speedup");
  if (!Best.getInteger("trial") || !Speedup ||
      Speedup->getNumber("low").value_or(0) <= 1)
    return make_error<PackRefusal>(
        "the study has no winner that a re-test confirmed");
  BestFile B;
  B.Path = Path.str();
  B.Kernel = Best.getString("kernel").value_or("").str();
  B.StaticHash = Best.getString("static_hash").value_or("").str();
  if (const json::Array *Ids = Best.getArray("record_ids"))
    for (const json::Value &Id : *Ids)
      B.RecordIds.push_back(Id.getAsString().value_or("").str());
  B.Config = *Config;
  if (const json::Object *Options = Best.getObject("options"))
    B.Options = *Options;
  B.Winner.CodeHash = Best.getString("code_hash").value_or("").str();
  const json::Value *GPU = Best.get("gpu");
  std::optional<bool> IsExact = Best.getBoolean("exact");
  if (!GPU || !IsExact || B.StaticHash.empty() || B.RecordIds.empty() ||
      B.Winner.CodeHash.empty())
    return Fail("does not name the kernel, its code, the GPU or how results "
                "were compared: run the study again with this version");
  // Older versions compared exactly or within a tolerance.
  std::optional<CompareLevel> Level = parseLevel(
      Best.getString("level").value_or(*IsExact ? "exact" : "tolerance"));
  if (!Level || *IsExact != (*Level == CompareLevel::Exact))
    return Fail("is damaged: 'level' and 'exact' contradict each other");
  B.Winner.Level = *Level;
  B.Winner.IsJudgedByApp = Best.getString("judge") == "app";
  B.Winner.OnHost = GPU->kind() == json::Value::Null;
  B.Winner.GPU = GPU->getAsString().value_or("").str();
  for (StringRef Key : {"kernel", "demangled_name", "record_ids", "config",
                        "trial", "expected", "code_hash", "device", "judge",
                        "level", "toolchain", "arch", "opt_level", "launches"})
    if (const json::Value *V = Best.get(Key))
      B.Winner.Provenance[Key] = *V;
  const MeasuredWinner Other = B.Winner; // Of instances: other code.
  if (const json::Array *Tested = Best.getArray("tested")) {
    for (const json::Value &V : *Tested)
      if (!readTested(V, B.Winner))
        return Fail("is damaged: an entry of 'tested' is incomplete");
    B.Winner.Provenance["tested"] = json::Array(*Tested);
  }
  if (B.RecordIds.size() == 1)
    B.Common = {{B.RecordIds.front(), B.Config, B.Winner}};
  else if (const json::Array *Configs = Best.getArray("instance_configs"))
    for (const json::Value &V : *Configs)
      if (std::optional<InstanceWinner> Own =
              readOnInstance(V.getAsObject(), B.Winner))
        B.Common.push_back(std::move(*Own));
  if (!equal(B.Common, B.RecordIds,
             [](const InstanceWinner &Own, const std::string &Id) {
               return Own.RecordId == Id;
             }))
    return Fail("does not have the configuration and the code of each launch: "
                "run the study again with this version");
  if (const json::Array *Own = Best.getArray("instance_winners"))
    for (const json::Value &V : *Own)
      if (!readInstanceWinner(V.getAsObject(), Other, B))
        return Fail("is damaged: a winner in 'instance_winners' is incomplete");
  return B;
}

Expected<BestFile> mneme::parseBestFile(StringRef Text, StringRef Path) {
  Expected<json::Value> V = parseJSON(Text);
  if (!V)
    return quoteText(Path, Text, V.takeError());
  const json::Object *O = V->getAsObject();
  if (!O)
    return createStringError("'" + Path + "' is not the best.json of a study");
  return readBest(*O, Path);
}

/// Explains why the search in the folder of \p Path has not written it.
static Error explainMissing(StringRef Path) {
  StringRef Dir = sys::path::parent_path(Path);
  if (Expected<std::unique_ptr<MemoryBuffer>> Report =
          readTextFile(pathIn(Dir, "report.json"))) {
    Expected<json::Value> V = parseJSON((*Report)->getBuffer());
    const json::Object *O = V ? V->getAsObject() : nullptr;
    const json::Value *Winner = O ? O->get("winner") : nullptr;
    bool HasNone = Winner && Winner->kind() == json::Value::Null;
    if (!V)
      consumeError(V.takeError());
    if (HasNone)
      return make_error<PackRefusal>(
          "the search has no winner: no candidate is significantly faster than "
          "the recorded code; go on with llvm-mneme-evolve --resume");
  } else {
    consumeError(Report.takeError());
  }
  for (StringRef Log : {"history.jsonl", "study.log"})
    if (sys::fs::exists(pathIn(Dir, Log)))
      return createStringError(
          "'" + Path +
          "' does not exist: the search in its folder has not finished; go on "
          "with --resume");
  return Error::success();
}

Expected<BestFile> mneme::readBestFile(StringRef Path) {
  if (!sys::fs::exists(Path))
    if (Error E = explainMissing(Path))
      return std::move(E);
  Expected<std::unique_ptr<MemoryBuffer>> File = readTextFile(Path);
  if (!File)
    return File.takeError();
  return parseBestFile((*File)->getBuffer(), Path);
}
