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
#include "llvm/Mneme/Compile/PtxasControls.h"
#include "llvm/Mneme/Replay/CommandFlags.h"
#include "llvm/Mneme/Support/Digest.h"
#include "llvm/Mneme/Support/FileUtils.h"
#include "llvm/Mneme/Support/JSON.h"
#include "llvm/Mneme/Support/TextError.h"
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
    // The setting is the text itself.
    if ((S->Key == "source" && Text.contains('\n')) ||
        (S->Key == ControlsKey && hasControlsText(Text)))
      return {};
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
  raw_string_ostream(Text) << '\0' << Plan.irDigest() << '\0'
                           << O.wantsGPUImage()
                           << getHostStrategyName(O.Host.Strategy)
                           << getHostFinishName(O.Host.Finish)
                           << O.Host.Interleave;
  return toHexString(digest128(Text));
}

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

Error mneme::applySide(const json::Object &Side, ReplayOptions &O) {
  json::Object Config(Side);
  if (const json::Value *V = Config.get(HostFinishKey)) {
    if (Error E = parseHostFinish(V->getAsString().value_or(""))
                      .moveInto(O.Host.Finish))
      return E;
    Config.erase(HostFinishKey);
  }
  return applyConfig(Config, O);
}

json::Object mneme::makeSideConfig(const ReplayOptions &O) {
  json::Object Config = makeConfig(O);
  if (O.Host.Finish != HostOptions().Finish)
    Config[HostFinishKey] = getHostFinishName(O.Host.Finish);
  return Config;
}

//===----------------------------------------------------------------------===//
// Files
//===----------------------------------------------------------------------===//

/// Returns true for a configuration written by LLNL's Mneme, which has all
/// settings beside the objects "grid" and "block".
static bool isUpstream(const json::Object &O) {
  return O.getObject("grid") && O.getObject("block");
}

/// Converts a configuration of LLNL's Mneme to our keys.
static Expected<json::Object> convertUpstream(const json::Object &Upstream) {
  bool SetsBounds = Upstream.getBoolean("set_launch_bounds").value_or(false);
  json::Object Config;
  for (const auto &[Key, Value] : Upstream) {
    StringRef Name = Key;
    if (Name == "prune" || Name == "internalize") {
      if (Value.getAsBoolean() != true)
        return make_error<KeyError>(
            Name,
            formatv("'{0}': {1} is not supported: expected true", Name, Value)
                .str());
    } else if (Name == "grid" || Name == "block") {
      if (!Value.getAsObject())
        return make_error<KeyError>(
            Name, formatv("'{0}': {1} is not an object", Name, Value).str());
      for (const auto &[Axis, Size] : *Value.getAsObject())
        Config[(Name + "." + StringRef(Axis)).str()] = Size;
    } else if (Name == "max_threads" || Name == "min_blocks_per_sm") {
      // Without launch bounds, these keys have no meaning and may be null or
      // -1.
      if (SetsBounds)
        Config[Name.str()] = Value;
    } else if (Name != "codegen_method") {
      // Serial or parallel code generation gives the same code.
      Config[Name.str()] = Value;
    }
  }
  return std::move(Config);
}

/// Reads "instance_configs" of a best.json. Errors are KeyErrors.
static Error readLaunchConfigs(const json::Object &Best, ConfigFile &File) {
  constexpr StringLiteral Key = "instance_configs";
  const json::Array *Launches = Best.getArray(Key);
  if (!Launches)
    return Error::success();
  for (const json::Value &V : *Launches) {
    const json::Object *Own = V.getAsObject();
    std::optional<StringRef> Id =
        Own ? Own->getString("record_id") : std::nullopt;
    const json::Object *Config = Own ? Own->getObject("config") : nullptr;
    if (!Id || Id->empty() || !Config)
      return make_error<KeyError>(
          Key,
          formatv("'{0}': a launch has no 'record_id' or 'config'", Key).str());
    if (Error E = checkConfig(*Config))
      return make_error<KeyError>(Key, formatv("'{0}': launch {1}: {2}", Key,
                                               *Id, toString(std::move(E)))
                                           .str());
    File.OfLaunches[Id->str()] = *Config;
  }
  return Error::success();
}

const json::Object &ConfigFile::configOf(StringRef Beginning) const {
  auto It = Beginning.empty() ? OfLaunches.end()
                              : OfLaunches.lower_bound(Beginning.str());
  return It != OfLaunches.end() && StringRef(It->first).starts_with(Beginning)
             ? It->second
             : Config;
}

Expected<ConfigFile> mneme::readConfigFile(StringRef Path) {
  Expected<std::unique_ptr<MemoryBuffer>> Buffer = readTextFile(Path);
  if (!Buffer)
    return Buffer.takeError();
  StringRef Text = (*Buffer)->getBuffer();
  SmallVector<StringRef, 2> Keys; // Of the enclosing objects.
  auto Refuse = [&](Error E) {
    return quoteText(Path, Text, locateKey(Text, Keys, std::move(E)));
  };
  Expected<json::Value> V = parseJSON(Text);
  if (!V)
    return Refuse(V.takeError());
  json::Object *O = V->getAsObject();
  if (json::Object *Report = O ? O->getObject("Replay-config") : nullptr) {
    O = Report;
    Keys.push_back("Replay-config");
  }
  json::Object *Config = O ? O->getObject("config") : nullptr;
  bool IsBare = O && !Config && isUpstream(*O);
  if (IsBare)
    Config = O;
  if (!Config)
    return Refuse(make_error<KeyError>(
        "config", "no configuration, expected {\"config\": {...}}"));
  auto RefuseSetting = [&](Error E) {
    if (!IsBare)
      Keys.push_back("config");
    return Refuse(std::move(E));
  };
  if (O->getString("format") == "mneme-best" && O->getInteger("version") != 1)
    return Refuse(make_error<KeyError>(
        "version", "'version': expected 1: another version of Mneme wrote it"));
  ConfigFile File;
  File.Path = Path.str();
  bool IsBest = O->getString("format") == "mneme-best";
  if (IsBest)
    if (Error E = readLaunchConfigs(*O, File))
      return Refuse(std::move(E));
  if (const json::Object *Options = O->getObject("options");
      Options && IsBest) {
    File.Options = *Options;
    ReplayOptions Scratch;
    if (Error E = applyResultOptions(File.Options, Scratch)) {
      Keys.push_back("options");
      return Refuse(std::move(E));
    }
  }
  if (isUpstream(*Config)) {
    Expected<json::Object> Converted = convertUpstream(*Config);
    if (!Converted)
      return RefuseSetting(Converted.takeError());
    File.Config = std::move(*Converted);
  } else {
    File.Config = std::move(*Config);
  }
  for (auto [Key, Text] : {std::pair("static_hash", &File.StaticHash),
                           std::pair("record_id", &File.RecordId)}) {
    const json::Value *Value = O->get(Key);
    if (!Value || Value->kind() == json::Value::Null)
      continue;
    if (!Value->getAsString())
      return Refuse(make_error<KeyError>(
          Key,
          formatv("'{0}': expected a string, got {1}", Key, *Value).str()));
    *Text = Value->getAsString()->str();
  }
  if (Error E = checkConfig(File.Config))
    return RefuseSetting(std::move(E));
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

Error mneme::checkConfigFile(const ConfigFile &File, const RecordedKernel &K) {
  if (File.StaticHash.empty() || File.StaticHash == K.StaticHash)
    return Error::success();
  return createFileError(
      File.Path,
      createStringError(formatv("is for the kernel with static_hash {0}, the "
                                "recording is of '{1}' with {2}",
                                File.StaticHash, K.KernelName, K.StaticHash)
                            .str()));
}
