//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FormatVariadic.h"

using namespace llvm;
using namespace llvm::mneme;

static NamedSideEffect findSideEffect(StringRef Key, const json::Value &V) {
  if (StringRef Name = Key; Name.consume_front(LLVMKeyPrefix))
    return {"", getLLVMOptionEffect(Name)};
  const SettingInfo *S = findSetting(Key);
  StringRef Text = V.getAsString().value_or("");
  if (!S || Text.empty())
    return {};
  switch (S->Reach) {
  case SettingReach::Nothing:
    return {};
  case SettingReach::RunsPrograms:
    return {"", SideEffect::RunsPrograms};
  case SettingReach::ReadsFiles:
    return {"", SideEffect::ReadsFiles};
  case SettingReach::Pipeline:
    return findPassEffect(Text);
  case SettingReach::PtxasWords:
    return findPtxasEffect(splitWords(Text));
  }
  llvm_unreachable("all reaches are handled");
}

std::string mneme::toString(const ConfigSideEffect &E) {
  std::string Of = "'" + E.Key + "'";
  if (!E.Name.empty())
    Of = "'" + E.Name + "' in " + Of;
  return (Of + " " + describe(E.Effect)).str();
}

std::vector<ConfigSideEffect> mneme::findSideEffects(const json::Object &Config,
                                                     const json::Object &Own) {
  std::vector<ConfigSideEffect> Found;
  for (const auto &[Key, Value] : Config) {
    const json::Value *Mine = Own.get(Key);
    if (Mine && *Mine == Value)
      continue;
    if (NamedSideEffect E = findSideEffect(Key, Value))
      Found.push_back({StringRef(Key).str(), std::move(E.Name), E.Effect});
  }
  llvm::sort(Found, [](const ConfigSideEffect &A, const ConfigSideEffect &B) {
    return A.Key < B.Key;
  });
  return Found;
}

std::string mneme::getCompileDigest(const ReplayPlan &Plan) {
  const ReplayOptions &O = Plan.options();
  std::string Text = getKey(Plan.compiler().options());
  raw_string_ostream(Text) << '\0' << Plan.irDigest() << '\0' << O.wantsGPUImage()
                           << getHostStrategyName(O.Host.Strategy)
                           << getHostFinishName(O.Host.Finish);
  return toHexString(digest128(Text));
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

Expected<ConfigFile> mneme::readConfigFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  Expected<json::Value> V = parseJSON((*Buffer)->getBuffer());
  if (!V)
    return createFileError(Path, V.takeError());
  auto Refuse = [&](const Twine &Why) {
    return createFileError(Path, createStringError(Why));
  };
  json::Object *O = V->getAsObject();
  if (json::Object *Report = O ? O->getObject("Replay-config") : nullptr)
    O = Report;
  json::Object *Config = O ? O->getObject("config") : nullptr;
  if (!Config)
    return Refuse("has no configuration: expected {\"config\": {...}}");
  ConfigFile File;
  File.Path = Path.str();
  File.Config = std::move(*Config);
  for (auto [Key, Text] : {std::pair("static_hash", &File.StaticHash),
                           std::pair("record_id", &File.RecordId)}) {
    const json::Value *Value = O->get(Key);
    if (!Value || Value->kind() == json::Value::Null)
      continue;
    if (!Value->getAsString())
      return Refuse(formatv("'{0}': {1} is no text", Key, *Value).str());
    *Text = Value->getAsString()->str();
  }
  if (Error E = checkConfig(File.Config))
    return createFileError(Path, std::move(E));
  return std::move(File);
}

Error mneme::refuseSideEffects(StringRef Path,
                               ArrayRef<ConfigSideEffect> Found) {
  if (Found.empty())
    return Error::success();
  return createFileError(
      Path,
      createStringError(
          join(map_range(Found,
                         [](const ConfigSideEffect &E) { return toString(E); }),
               ", ") +
          ": if you trust the file, give --allow-programs"));
}

Error mneme::checkConfigFile(const ConfigFile &File, const ReplayPlan &Plan) {
  const RecordedKernel &K = Plan.kernel();
  if (File.StaticHash.empty() || File.StaticHash == K.StaticHash)
    return Error::success();
  return createFileError(
      File.Path,
      createStringError(formatv("is for the kernel with static_hash {0}, the "
                                "recording is of '{1}' with {2}",
                                File.StaticHash, K.KernelName, K.StaticHash)
                            .str()));
}
