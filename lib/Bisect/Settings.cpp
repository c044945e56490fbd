//===----------------------------------------------------------------------===//
//
// Part of the LLVM Project, under the Apache License v2.0 with LLVM Exceptions.
// See https://llvm.org/LICENSE.txt for license information.
// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "llvm/Mneme/Bisect/Settings.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Mneme/Compile/ExternalTools.h"
#include "llvm/Mneme/Compile/LLVMOptions.h"
#include "llvm/Mneme/Replay/Config.h"
#include "llvm/Mneme/Support/Words.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include <set>

using namespace llvm;
using namespace llvm::mneme;

static constexpr StringLiteral LLVMPrefix = "llvm.";
static constexpr StringLiteral LLVMOptionName = "mllvm";

namespace {
struct SettingInfo {
  StringLiteral Key, Option;
  SettingStage Stage;
};
enum FieldType { Bool, Int, Text };
struct FieldInfo {
  StringLiteral Key;
  FieldType Type;
};
} // namespace

static constexpr SettingInfo Settings[] = {
#define BISECT_SETTING(Key, Option, ActsOn) {Key, Option, SettingStage::ActsOn},
#include "llvm/Mneme/Bisect/Settings.def"
};

static constexpr FieldInfo ConfigFields[] = {
#define CONFIG_FIELD(Key, Type, Compiles, Reach, Description) {Key, Type},
#include "llvm/Mneme/Replay/Config.def"
};

SettingStage mneme::getSettingStage(StringRef Key) {
  for (const SettingInfo &S : Settings)
    if (S.Key == Key)
      return S.Stage;
  return SettingStage::Pipeline;
}

StringRef mneme::getOptionName(StringRef Key) {
  if (Key.starts_with(LLVMPrefix))
    return LLVMOptionName;
  for (const SettingInfo &S : Settings)
    if (S.Key == Key)
      return S.Option;
  return "";
}

StringRef mneme::getOptionKey(StringRef Option) {
  if (Option == LLVMOptionName)
    return LLVMPrefix;
  for (const SettingInfo &S : Settings)
    if (S.Option == Option)
      return S.Key;
  return "";
}

static FieldType getType(StringRef Key) {
  for (const FieldInfo &F : ConfigFields)
    if (F.Key == Key)
      return F.Type;
  return Text;
}

//===----------------------------------------------------------------------===//
// Sides
//===----------------------------------------------------------------------===//

static Error refuse(StringRef Option, StringRef Value) {
  return createStringError(formatv("invalid --{0}={1}", Option, Value).str());
}

/// The value of a flag may be left out.
static Error setField(json::Object &Config, StringRef Option, StringRef Key,
                      StringRef Value) {
  switch (getType(Key)) {
  case Bool:
    if (!Value.empty() && Value != "true" && Value != "false" && Value != "0" &&
        Value != "1")
      return refuse(Option, Value);
    Config[Key] = Value != "false" && Value != "0";
    return Error::success();
  case Int: {
    int64_t Number;
    if (Value.getAsInteger(10, Number))
      return refuse(Option, Value);
    Config[Key] = Number;
    return Error::success();
  }
  case Text:
    Config[Key] = json::fixUTF8(Value);
    return Error::success();
  }
  llvm_unreachable("no such type");
}

static Error addLLVMOption(json::Object &Config, StringRef Text) {
  Expected<LLVMOption> O = parseLLVMOption(Text);
  if (!O)
    return O.takeError();
  json::Value &V = Config[LLVMPrefix.str() + O->Name];
  json::Value New = json::fixUTF8(O->Value);
  if (V.kind() == json::Value::Null)
    V = std::move(New);
  else if (json::Array *Many = V.getAsArray())
    Many->push_back(std::move(New));
  else
    V = json::Array{json::Value(V), std::move(New)};
  return Error::success();
}

static Error addFile(json::Object &Config, StringRef Path, bool AllowPrograms) {
  Expected<ConfigFile> File = readConfigFile(Path);
  if (!File)
    return File.takeError();
  if (!AllowPrograms)
    if (Error E = refuseSideEffects(Path, findSideEffects(File->Config)))
      return E;
  for (const auto &KV : File->Config)
    Config[KV.first] = KV.second;
  return Error::success();
}

/// Does the option need a value, in the next word if need be?
static bool needsValue(StringRef Key) {
  return Key == LLVMPrefix || getType(Key) != Bool;
}

static Error parseOption(json::Object &Config, ArrayRef<std::string> Words,
                         size_t &I, bool AllowPrograms) {
  StringRef Word = Words[I];
  auto [Name, Value] = Word.ltrim('-').split('=');
  bool HasValue = Word.contains('=');
  bool IsFile = Name == "config";
  StringRef Key = getOptionKey(Name);
  if (Key.empty() && !IsFile)
    return createStringError(
        formatv("'{0}' is no option of one side alone: these are --config, "
                "--mllvm, --{1}",
                Word,
                join(map_range(Settings,
                               [](const SettingInfo &S) {
                                 return StringRef(S.Option);
                               }),
                     ", --"))
            .str());
  if (!HasValue && (IsFile || needsValue(Key))) {
    if (I + 1 == Words.size())
      return createStringError(formatv("'{0}' needs a value", Word).str());
    Value = Words[++I];
  }
  if (IsFile)
    return addFile(Config, Value, AllowPrograms);
  if (Key == LLVMPrefix)
    return addLLVMOption(Config, Value);
  return setField(Config, Name, Key, Value);
}

Expected<json::Object> mneme::parseSide(StringRef Text, bool AllowPrograms) {
  json::Object Config;
  std::vector<std::string> Words = splitWords(Text);
  for (size_t I = 0; I != Words.size(); ++I) {
    StringRef Word = Words[I];
    Error E = Error::success();
    if (Word.starts_with("-"))
      E = parseOption(Config, Words, I, AllowPrograms);
    else if (Word.consume_front("@") || Word.ends_with(".json"))
      E = addFile(Config, Word, AllowPrograms);
    else if (Config.get("passes"))
      E = createStringError(formatv("unexpected '{0}'", Word).str());
    else
      Config["passes"] = json::fixUTF8(Word);
    if (E)
      return std::move(E);
  }
  // Whether it makes sense as a whole.
  ReplayOptions Scratch;
  if (Error E = applyConfig(Config, Scratch))
    return std::move(E);
  return Config;
}

namespace {
struct ToolName {
  StringLiteral Program, Key;
};
} // namespace

static constexpr ToolName ToolNames[] = {
    {"opt", "opt_tool"},
    {"llc", "llc_tool"},
    {"ptxas", "ptxas"},
    {"clang", "opt_tool"},
};

/// "opt", "opt-21", "opt.exe".
static bool isProgram(StringRef Name, StringRef Program) {
  return Name.consume_front(Program) &&
         (Name.empty() || !isAlnum(Name.front()));
}

Expected<json::Object> mneme::parseTool(StringRef Path) {
  json::Object Config;
  // Whatever it is called, it can say what it is.
  if (!sys::fs::is_directory(Path)) {
    Expected<ToolInfo> Tool = identifyTool(Path);
    if (Tool) {
      Config[getToolConfigKey(Tool->Kind)] = json::fixUTF8(Path);
      return Config;
    }
    consumeError(Tool.takeError());
  }
  if (!sys::fs::exists(Path))
    return createStringError(formatv("no such tool: '{0}'", Path).str());
  bool IsFolder = sys::fs::is_directory(Path);
  for (const ToolName &T : ToolNames) {
    if (!IsFolder && isProgram(sys::path::filename(Path), T.Program))
      Config[T.Key] = json::fixUTF8(Path);
    if (!IsFolder)
      continue;
    for (StringRef Below : {"", "bin"}) {
      SmallString<128> File(Path);
      sys::path::append(File, Below, T.Program);
      if (!Config.get(T.Key) && sys::fs::can_execute(File))
        Config[T.Key] = json::fixUTF8(File);
    }
  }
  if (Config.empty())
    return createStringError(
        formatv("'{0}' is no opt, clang, llc or ptxas, and no folder with "
                "one of them",
                Path)
            .str());
  return Config;
}

//===----------------------------------------------------------------------===//
// Command lines
//===----------------------------------------------------------------------===//

static std::string toText(const json::Value &V) {
  if (std::optional<StringRef> Text = V.getAsString())
    return Text->str();
  return formatv("{0}", V).str();
}

std::vector<std::string> mneme::makeOptions(const json::Object &Config) {
  std::vector<std::string> Options;
  std::set<std::string> Keys;
  for (const auto &KV : Config)
    Keys.insert(KV.first.str());
  for (const std::string &Key : Keys) {
    const json::Value &V = *Config.get(Key);
    StringRef Name = getOptionName(Key);
    if (Name != LLVMOptionName) {
      Options.push_back(("--" + (Name.empty() ? StringRef(Key) : Name) +
                         (V.getAsBoolean() == true ? "" : "=" + toText(V)))
                            .str());
      continue;
    }
    json::Array One{V};
    const json::Array *Values = V.getAsArray();
    for (const json::Value &Value : Values ? *Values : One)
      Options.push_back(
          "--mllvm=" +
          toString(LLVMOption{Key.substr(LLVMPrefix.size()), toText(Value)}));
  }
  return Options;
}
